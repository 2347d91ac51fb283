/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts [SCRIPT]...: the groups, stores, descriptors and cached datasets of a
 * job, without the rest of libscr.  For each question (groups, stores, levels,
 * held) each rank R prints a line "R: ...", in the order of ranks:
 *
 *   groups            NAME=lowest rank of its group, for each group
 *   stores            base, directory, COUNT, number of sharers; "off"
 *   levels            word, interval, type, members of its set
 *   start=ID[:o]      make room and directories for dataset ID ("o": output)
 *   commit=ID         list it
 *   keep=ID           mark it as the only good copy
 *   remove=ID, purge, place=ID, current=NAME
 *   held              the datasets: id, name, "+" if this node lists it
 *
 * A step that fails is printed by rank 0 as "failed: ...", and ends the job
 * with status 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "conf.h"
#include "error.h"
#include "scr/held.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "team/say.h"

/* --- The job --- */

static void
fail(const struct run *run, const struct error *err)
{
	if (run->world.rank == 0)
		fprintf(stderr, "failed: %s\n", err->text);
	MPI_Barrier(run->world.comm);
	MPI_Finalize();
	exit(1);
}

static uint64_t
number(const struct conf *c, const char *key, uint64_t otherwise)
{
	uint64_t n = otherwise;

	(void)conf_u64(c, key, otherwise, &n, NULL);
	return n;
}

static const char *
word(const struct conf *c, const char *key, const char *otherwise)
{
	const char *value = conf_get(c, key);

	return value != NULL ? value : otherwise;
}

static void
set_params(struct run *run)
{
	const struct conf *c = run->conf;

	run->p = (struct params){
		.prefix = ".",
		.user = word(c, "USER", getenv("USER")),
		.job_id = word(c, "SCR_JOB_ID", "defjobid"),
		.cntl_base = word(c, "SCR_CNTL_BASE", "/dev/shm"),
		.cache_base = word(c, "SCR_CACHE_BASE", "/dev/shm"),
		.cache_size = number(c, "SCR_CACHE_SIZE", 1),
		.cache_bypass = number(c, "SCR_CACHE_BYPASS", 1) != 0,
		.copy_type = word(c, "SCR_COPY_TYPE", "XOR"),
		.group = word(c, "SCR_GROUP", "NODE"),
		.set_size = (uint32_t)number(c, "SCR_SET_SIZE", 8),
		.set_failures = (uint32_t)number(c, "SCR_SET_FAILURES", 2),
		.flush_type = "SYNC",
	};
}

static void
begin(struct run *run)
{
	static char host[256];
	struct error err = ERROR_INIT;
	const struct group *node = NULL;

	team_world(&run->world);
	gethostname(host, sizeof(host) - 1);
	say_as((int)run->world.rank, host, 0);
	run->host = host;
	run->arena = arena_new();
	run->conf = conf_open(&(struct conf_where){ .prefix = "." }, &err);
	if (run->arena == NULL || run->conf == NULL)
		say_abort("%s", err.text);
	set_params(run);
	if (groups_make(&run->groups, &run->world, host, run->conf, run->arena,
			&err) < 0)
		fail(run, &err);
	node = groups_find(&run->groups, GROUPS_NODE);
	run->nodes = node->count;
	if (groups_team(node, &run->world, run->arena, &run->node, &err) < 0 ||
	    stores_make(run, &err) < 0 || levels_make(run, &err) < 0 ||
	    held_open(run, &run->held, &err) < 0)
		fail(run, &err);
}

static void
end(struct run *run)
{
	held_close(run->held);
	levels_free(&run->levels);
	stores_free(&run->stores);
	team_free(&run->world);
	conf_close(run->conf);
	arena_free(run->arena);
}

/* --- Answers, in the order of ranks --- */

static void
print_groups(const struct run *run)
{
	for (size_t i = 0; i < run->groups.count; i++)
		printf(" %s=%u/%u", run->groups.list[i].name,
		       run->groups.list[i].of[run->world.rank],
		       run->groups.list[i].count);
}

static void
print_stores(const struct run *run)
{
	for (size_t i = 0; i < run->stores.count; i++) {
		const struct store *s = &run->stores.list[i];

		if (s->enabled)
			printf(" %s %llu of %u%s", s->dir,
			       (unsigned long long)s->count, s->sharers.size,
			       s == run->stores.control ? " control" : "");
		else
			printf(" %s off", s->base);
	}
}

static void
print_levels(const struct run *run)
{
	for (size_t i = 0; i < run->levels.count; i++) {
		const struct level *l = &run->levels.list[i];

		printf(" %s/%u%s %s(%s%u) ", l->word, l->interval,
		       l->output ? "o" : "", redset_type_name(l->type),
		       redset_type_name(l->set.type), l->set.failures);
		for (uint32_t m = 0; m < l->set.members; m++)
			printf("%s%u", m > 0 ? "," : "", l->set.ranks[m]);
		if (l->members.size != l->set.members ||
		    l->members.rank != l->set.member)
			printf(" but its team differs");
	}
}

static void
print_held(const struct run *run)
{
	for (size_t i = 0; i < run->held->count; i++) {
		const struct held_set *s = run->held->list[i];

		printf(" %lld=%s%s", (long long)s->d.id, s->d.name,
		       s->here ? "+" : "");
	}
	if (run->held->current != NULL)
		printf(" current %s", run->held->current);
}

static void
in_turn(const struct run *run, void (*print)(const struct run *))
{
	for (uint32_t r = 0; r < run->world.size; r++) {
		if (r == run->world.rank) {
			printf("%u:", r);
			print(run);
			printf("\n");
			fflush(stdout);
			usleep(20000); /* mpiexec prints lines as they arrive */
		}
		MPI_Barrier(run->world.comm);
	}
}

/* --- Steps --- */

static struct dataset
describe(long long id, bool output)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s.%lld", output ? "out" : "ckpt", id);
	return (struct dataset){
		.id = id,
		.name = name,
		.is_ckpt = !output,
		.is_output = output,
		.ckpt_id = output ? -1 : id,
		.created_us = 1795215293017311,
		.user = "tester",
		.files = -1,
		.complete = -1,
	};
}

static int
start(struct run *run, const char *what, struct error *err)
{
	char *rest = NULL;
	const long long id = strtoll(what, &rest, 10);
	const bool output = strcmp(rest, ":o") == 0;
	const struct dataset d = describe(id, output);
	const struct held_set *s = NULL;
	const struct level *l = levels_choose(
		&run->levels, output ? SCR_FLAG_OUTPUT : SCR_FLAG_CHECKPOINT,
		id);
	char path[4096];
	FILE *f = NULL;

	if (held_start(run, l, &d, &s, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/rank_%u", s->dir, run->world.rank);
	f = fopen(path, "w");
	if (f == NULL || fclose(f) != 0)
		say_abort("%s: cannot be written", path);
	return 0;
}

static int
commit(struct run *run, long long id, struct error *err)
{
	struct dataset d = held_find(run->held, id)->d;

	d.files = run->world.size;
	d.bytes = 0;
	d.complete = 1;
	return held_commit(run, &d, err);
}

static int
step(struct run *run, const char *arg, struct error *err)
{
	const char *value = strchr(arg, '=');
	const size_t n = value != NULL ? (size_t)(value - arg) : strlen(arg);
	const long long id = value != NULL ? atoll(value + 1) : 0;

	if (strcmp(arg, "groups") == 0)
		in_turn(run, print_groups);
	else if (strcmp(arg, "stores") == 0)
		in_turn(run, print_stores);
	else if (strcmp(arg, "levels") == 0)
		in_turn(run, print_levels);
	else if (strcmp(arg, "held") == 0)
		in_turn(run, print_held);
	else if (strcmp(arg, "purge") == 0)
		return held_purge(run, err);
	else if (strncmp(arg, "start", n) == 0)
		return start(run, value + 1, err);
	else if (strncmp(arg, "commit", n) == 0)
		return commit(run, id, err);
	else if (strncmp(arg, "keep", n) == 0)
		held_find(run->held, id)->kept = true;
	else if (strncmp(arg, "remove", n) == 0)
		return held_remove(run, id, err);
	else if (strncmp(arg, "place", n) == 0)
		return held_place(run, id, err);
	else if (strncmp(arg, "current", n) == 0)
		return held_set_current(run, value + 1, err);
	else
		return error_set(err, ERROR_USAGE, "%s: unknown", arg);
	return 0;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct run run = { .restart_id = 0 };

	MPI_Init(&argc, &argv);
	begin(&run);
	for (int i = 1; i < argc; i++)
		if (step(&run, argv[i], &err) < 0)
			fail(&run, &err);
	end(&run);
	MPI_Finalize();
	return 0;
}
