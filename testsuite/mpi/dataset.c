/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset TYPE FAILURES SIZE LISTS - write dataset 1 into the caches of the
 * nodes, without the rest of libscr.  The files of rank R are
 *   - those of LISTS/list.R, with lines "NAME BYTES" (BYTES "-": the file is
 *     routed, but not written); without list.R the rank has no files
 *   - or, if LISTS is a snapshot of LLNL's caches, those of its filemap_R.
 * Environment:
 *   SHOW     the rank that prints where its files go
 *   BYPASS   files are written directly to the prefix
 *   WORLD    all ranks share the store
 *   INVALID  the rank that reports its files as not valid
 *   SLICE    SCR_MPI_BUF_SIZE
 */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "path.h"
#include "scr/outset.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "team/say.h"

static struct error err;
static char base[PATH_MAX], dir[PATH_MAX + 32], host[64];
static struct dataset set = {
	.id = 1,
	.name = "ckpt.1",
	.is_ckpt = true,
	.ckpt_id = 1,
	.created_us = 1795215223000000,
	.user = "tester",
	.job_id = "j1",
	.files = -1,
	.complete = -1,
};

static void
need(int rc)
{
	if (rc < 0)
		say_abort("%s", err.text);
}

static const char *
setting(const char *name, const char *instead)
{
	const char *value = getenv(name);

	return value == NULL ? instead : value;
}

/* Find the sets of the level.  The number in its host name tells the node of a
 * rank. */
static void
find_sets(struct run *run, struct level *l, char **argv)
{
	static uint64_t node[1024];
	struct group nodes = { .name = GROUPS_NODE };
	struct sets_job j = { .nranks = run->world.size,
			      .size = (uint32_t)atoi(argv[3]),
			      .failures = (uint32_t)atoi(argv[2]) };
	const uint64_t mine = (uint64_t)atoi(host + strlen("node"));

	team_gather64(&run->world, mine, node);
	need(groups_table(node, j.nranks, run->arena, &nodes, &err));
	j.group = nodes.of;
	while (strcmp(redset_type_name(j.type), argv[1]) != 0)
		j.type++;
	need(sets_find(&j, run->world.rank, run->arena, &l->set, &err));
	team_part(&run->world, l->set.ranks, l->set.members, l->set.member,
		  &l->members);
	need(groups_team(&nodes, &run->world, run->arena, &l->store->sharers,
			 &err));
}

static void
make_dirs(const struct store *s)
{
	char meta[PATH_MAX + 64], *ssd = getenv("SSD");

	snprintf(base, sizeof(base), "%s/tester/scr.j1", ssd);
	snprintf(dir, sizeof(dir), "%s/scr.dataset.1", base);
	snprintf(meta, sizeof(meta), "%s/.scr", dir);
	if (s->sharers.rank == 0)
		need(io_make_dirs(meta, 0770, &err));
	need(io_make_dirs(".scr", 0777, &err));
	MPI_Barrier(MPI_COMM_WORLD);
}

static void
route(struct outset *o, const struct run *run, const char *name, char *file)
{
	need(outset_route(o, name, file, &err));
	if ((int)run->world.rank == atoi(setting("SHOW", "-1")))
		printf("%s -> %s\n", name, file);
}

/* Bytes that differ from rank to rank and from file to file. */
static void
fill(const char *file, long bytes, uint32_t seed)
{
	FILE *f = fopen(file, "w");

	if (f == NULL)
		say_abort("%s: cannot be made", file);
	for (seed = seed * 2654435761U + 1; bytes-- > 0;) {
		seed = seed * 1664525U + 1013904223U;
		fputc((int)(seed >> 24), f);
	}
	fclose(f);
}

static void
write_list(struct outset *o, const struct run *run, FILE *list)
{
	char name[2048], bytes[32], file[SCR_MAX_FILENAME];
	uint32_t count = 0;

	while (fscanf(list, "%2047s %31s", name, bytes) == 2) {
		route(o, run, name, file);
		count++;
		if (bytes[0] != '-')
			fill(file, atol(bytes), run->world.rank * 100 + count);
	}
	fclose(list);
}

/* Copy a file of LLNL's dataset, with its mode and times. */
static void
copy(const struct filemap_file *f, const char *from, const char *to)
{
	const struct timespec times[2] = { f->attr.atime, f->attr.mtime };
	char path[2 * PATH_MAX];
	char *data = NULL;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", from, path_base(f->cache_path));
	data = malloc(f->attr.size + 1);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, data, f->attr.size + 1) != (ssize_t)f->attr.size)
		say_abort("%s: cannot be read", path);
	close(fd);
	fd = open(to, O_WRONLY | O_CREAT, 0600);
	need(io_pwrite(fd, to, data, f->attr.size, 0, &err));
	if (fchmod(fd, f->attr.mode & 07777) < 0 || futimens(fd, times) < 0)
		say_abort("%s: cannot be set", to);
	close(fd);
	free(data);
}

static void
write_golden(struct outset *o, struct run *run, const char *snapshot)
{
	char from[PATH_MAX], map[PATH_MAX + 32], file[SCR_MAX_FILENAME];
	struct filemap fm;
	struct kvtree *t = NULL;

	snprintf(from, sizeof(from),
		 "%s/nodes/%s/cache/golduser/scr.1000/scr.dataset.1", snapshot,
		 host);
	snprintf(map, sizeof(map), "%s/.scr/filemap_%u", from, run->world.rank);
	t = kvtree_read_file(AT_FDCWD, map, &err);
	if (t == NULL || filemap_read(t, run->arena, &fm, &err) < 0)
		say_abort("%s", err.text);
	for (size_t i = fm.nfiles; i-- > 0;) {
		const char *at = strstr(fm.files[i].orig, "/prefix/");
		char name[PATH_MAX];

		snprintf(name, sizeof(name), "%s/%s", run->p.prefix, at + 8);
		route(o, run, name, file);
		copy(&fm.files[i], from, file);
	}
	kvtree_free(t);
}

/* List the dataset as held_commit() does. */
static void
commit(const struct run *run, const struct level *l)
{
	struct kvtree *t = kvtree_new(&err), *e = kvtree_put(t, "DSET", &err);
	int fd = open(base, O_RDONLY | O_DIRECTORY);
	const struct flush_entry in_cache = { .id = set.id, .in_cache = true };

	e = kvtree_put(e, "1", &err);
	need(dataset_write(kvtree_put(e, "DSETDESC", &err), &set, &err));
	need(kvtree_set(e, "BYPASS", l->bypass ? "1" : "0", &err));
	need(kvtree_set(e, "PATH", dir, &err));
	if (l->store->sharers.rank == 0)
		need(kvtree_write_file(t, fd, CINDEX_FILE, &err));
	close(fd);
	kvtree_free(t);
	t = kvtree_new(&err);
	fd = jobfiles_open(run->p.prefix, true, &err);
	need(flush_put(t, &in_cache, &set, &err));
	if (run->world.rank == 0)
		need(kvtree_write_file(t, fd, FLUSH_FILE, &err));
	kvtree_free(t);
	close(fd);
}

int
main(int argc, char **argv)
{
	struct group group = { .name = GROUPS_NODE };
	struct store store = { .group = &group };
	struct level level = { .word = "0", .store = &store };
	struct run run = { .arena = arena_new() };
	char list[PATH_MAX + 32];
	struct outset *o = NULL;
	bool valid = true;
	FILE *f = NULL;
	int rc = 0;

	MPI_Init(&argc, &argv);
	gethostname(host, sizeof(host) - 1);
	team_world(&run.world);
	say_as((int)run.world.rank, host, 0);
	run.p.prefix = getenv("PREFIX");
	run.p.mpi_buf_size = (uint64_t)atoll(setting("SLICE", "1048576"));
	level.bypass = getenv("BYPASS") != NULL;
	if (getenv("WORLD") != NULL)
		group.name = GROUPS_WORLD;
	find_sets(&run, &level, argv);
	make_dirs(&store);
	o = outset_begin(&run, &level, dir, 1, &err);
	if (o == NULL)
		say_abort("%s", err.text);
	snprintf(list, sizeof(list), "%s/list.%u", argv[4], run.world.rank);
	f = fopen(list, "r");
	snprintf(list, sizeof(list), "%s/nodes", argv[4]);
	if (f != NULL)
		write_list(o, &run, f);
	else if (access(list, F_OK) == 0)
		write_golden(o, &run, argv[4]);
	valid = (int)run.world.rank != atoi(setting("INVALID", "-1"));
	rc = outset_complete(o, valid, &set, &err);
	if (rc == 0)
		commit(&run, &level);
	else
		say_error("%s", err.text);
	outset_free(o);
	team_free(&run.world);
	arena_free(run.arena);
	MPI_Finalize();
	return rc < 0;
}
