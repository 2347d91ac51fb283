/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prefix STEP...: datasets between the caches and the prefix, in a job as
 * SCR_Init() begins it, but without the state machine of scr.h.  Steps:
 *
 *   write=NAME[:FLAGS[:BYTES]]  write a dataset: NAME/rank_R, and of even ranks
 *                     NAME/sub/R/b; FLAGS as in scr.h (1); flush it if due
 *   flush=ID          flush dataset ID now
 *   fetch             print "fetched ID NAME" or "fetched nothing"; then compare
 *                     its files with what was written
 *   flip=ID           change a byte of each rank in the caches
 *   finalize, restart
 *   current=NAME, drop=NAME, delete=NAME, failed=ID
 *   held              print the datasets in the caches
 *
 * and, for which each rank R prints a line "R: ...", in the order of ranks:
 *
 *   groups            NAME=lowest rank of its group, for each group
 *   stores            base, directory, COUNT, number of sharers; "off"
 *   levels            word, interval, type, members of its set
 *
 * Rank 0 prints "STEP -> ok", or "STEP -> failed" and says why on stderr.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "scr/fetching.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/onprefix.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "team/say.h"

static struct run *run;
static long bytes = 1000;

/* --- Files --- */

/* Bytes that differ from rank to rank, file to file, and dataset to dataset. */
static void
contents(const char *name, unsigned char *to, long n)
{
	uint32_t seed = 1;

	for (; *name != '\0'; name++)
		seed = seed * 31 + (unsigned char)*name;
	for (long i = 0; i < n; i++) {
		seed = seed * 1664525U + 1013904223U;
		to[i] = (unsigned char)(seed >> 24);
	}
}

static void
write_file(struct outset *o, const char *name, long n, struct error *err)
{
	unsigned char *data = malloc((size_t)n + 1);
	char file[SCR_MAX_FILENAME];
	FILE *f = NULL;

	contents(name, data, n);
	if (outset_route(o, name, file, err) < 0)
		say_abort("%s", err->text);
	f = fopen(file, "w");
	if (f == NULL || fwrite(data, 1, (size_t)n, f) != (size_t)n ||
	    fclose(f) != 0)
		say_abort("%s: cannot be written", file);
	free(data);
}

/* The names of this rank's files; returns how many. */
static int
names_of(const char *name, char to[2][512])
{
	const unsigned rank = run->world.rank;

	snprintf(to[0], sizeof(to[0]), "%s/rank_%u", name, rank);
	snprintf(to[1], sizeof(to[1]), "%s/sub/%u/b", name, rank);
	return rank % 2 == 0 ? 2 : 1;
}

static int
write_set(const char *what, struct error *err)
{
	static char name[256];
	char files[2][512];
	int flags = SCR_FLAG_CHECKPOINT;
	const struct dataset *d = NULL;

	sscanf(what, "%255[^:]:%d:%ld", name, &flags, &bytes);
	if (output_start(run, name, flags, err) < 0)
		return -1;
	for (int i = 0, n = names_of(name, files); i < n; i++)
		write_file(run->out, files[i], i == 0 ? bytes : 3, err);
	return output_complete(run, true, &d, err);
}

/* Find a fetched file by the cache's name for it. */
static bool
same(const struct held_set *s, const char *name, long n)
{
	unsigned char *is = malloc((size_t)n + 1), *want = malloc((size_t)n);
	char path[8192];
	bool equal = false;
	FILE *f = NULL;

	if (s->bypass)
		snprintf(path, sizeof(path), "%s/%s", run->p.prefix, name);
	else
		snprintf(path, sizeof(path), "%s/%s", s->dir,
			 strrchr(name, '/') + 1);
	f = fopen(path, "r");
	contents(name, want, n);
	if (f != NULL) {
		equal = fread(is, 1, (size_t)n + 1, f) == (size_t)n &&
			memcmp(is, want, (size_t)n) == 0;
		fclose(f);
	}
	if (!equal)
		printf("%u: %s differs\n", run->world.rank, path);
	free(is);
	free(want);
	return equal;
}

static int
fetch(struct error *err)
{
	const struct held_set *s = NULL;
	char files[2][512];
	bool good = true;

	if (fetching_latest(run, err) < 0)
		return -1;
	s = held_find(run->held, run->restart_id);
	if (run->world.rank == 0 && run->restart_id == 0)
		printf("fetched nothing\n");
	else if (run->world.rank == 0)
		printf("fetched %lld %s%s\n", (long long)run->restart_id,
		       s != NULL ? s->d.name : "?",
		       s != NULL && s->bypass ? " in place" : "");
	if (s == NULL)
		return run->restart_id == 0 ? 0 : -1;
	for (int i = 0, n = names_of(s->d.name, files); i < n; i++)
		good &= same(s, files[i], i == 0 ? bytes : 3);
	return team_any(&run->world, !good)
		       ? error_set(err, ERROR_CORRUPT, "wrong contents")
		       : 0;
}

/* --- Answers, in the order of ranks --- */

static void
print_groups(void)
{
	for (size_t i = 0; i < run->groups.count; i++)
		printf(" %s=%u/%u", run->groups.list[i].name,
		       run->groups.list[i].of[run->world.rank],
		       run->groups.list[i].count);
}

static void
print_stores(void)
{
	for (size_t i = 0; i < run->stores.count; i++) {
		const struct device *s = &run->stores.list[i];

		if (s->enabled)
			printf(" %s %llu of %u%s", s->dir,
			       (unsigned long long)s->count, s->sharers.size,
			       s == run->stores.control ? " control" : "");
		else
			printf(" %s off", s->base);
	}
}

static void
print_levels(void)
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
in_turn(void (*print)(void))
{
	for (uint32_t r = 0; r < run->world.size; r++) {
		if (r == run->world.rank) {
			printf("%u:", r);
			print();
			printf("\n");
			fflush(stdout);
			usleep(20000); /* mpiexec prints lines as they arrive */
		}
		MPI_Barrier(run->world.comm);
	}
}

/* --- Steps --- */

static void
print_held(void)
{
	if (run->world.rank != 0)
		return;
	printf("held:");
	for (size_t i = 0; i < run->held->count; i++)
		printf(" %s%s", run->held->list[i]->d.name,
		       run->held->list[i]->kept ? "!" : "");
	printf("\n");
}

/* Change a byte of this rank's first file in cache. */
static int
flip(long long id, struct error *err)
{
	const struct held_set *s = held_find(run->held, id);
	char path[8192];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/rank_%u", s->dir, run->world.rank);
	fd = open(path, O_WRONLY);
	if (fd < 0 || pwrite(fd, "\001", 1, 77) != 1 || close(fd) < 0)
		return error_sys(err, "%s", path);
	return 0;
}

static int
step(const char *arg, struct error *err)
{
	const char *value = strchr(arg, '=');
	const size_t n = value != NULL ? (size_t)(value - arg) : strlen(arg);
	const long long id = value != NULL ? atoll(value + 1) : 0;

	value = value != NULL ? value + 1 : "";
	if (strncmp(arg, "write", n) == 0)
		return write_set(value, err);
	if (strncmp(arg, "flush", n) == 0)
		return flushing_now(run, id, false, err);
	if (strncmp(arg, "fetch", n) == 0)
		return fetch(err);
	if (strncmp(arg, "finalize", n) == 0)
		return flushing_finalize(run) ? 0 : -1;
	if (strncmp(arg, "restart", n) == 0)
		return flushing_restart(run) ? 0 : -1;
	if (strncmp(arg, "current", n) == 0)
		return onprefix_current(run, value, err);
	if (strncmp(arg, "drop", n) == 0)
		return onprefix_drop(run, value, err);
	if (strncmp(arg, "delete", n) == 0)
		return onprefix_delete(run, value, err);
	if (strncmp(arg, "failed", n) == 0)
		return onprefix_failed(run, id), 0;
	if (strncmp(arg, "flip", n) == 0)
		return flip(id, err);
	if (strncmp(arg, "held", n) == 0)
		print_held();
	else if (strncmp(arg, "groups", n) == 0)
		in_turn(print_groups);
	else if (strncmp(arg, "stores", n) == 0)
		in_turn(print_stores);
	else if (strncmp(arg, "levels", n) == 0)
		in_turn(print_levels);
	else
		return error_set(err, ERROR_USAGE, "%s: unknown", arg);
	return 0;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	setvbuf(stdout, NULL, _IOLBF, 0);
	MPI_Init(&argc, &argv);
	run = run_begin(NULL, &err);
	if (run == NULL)
		say_abort("%s", err.text);
	for (int i = 1; i < argc; i++) {
		int rc = step(argv[i], &err);

		if (run->world.rank == 0)
			printf("%s -> %s\n", argv[i], rc < 0 ? "failed" : "ok");
		if (run->world.rank == 0 && rc < 0)
			say_error("%s: %s", argv[i], err.text);
		error_clear(&err);
	}
	flushing_wait(run, INT64_MAX);
	run_end(run);
	MPI_Finalize();
	return 0;
}
