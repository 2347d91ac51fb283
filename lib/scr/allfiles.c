/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/allfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "path.h"
#include "scr/fetching.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/run.h"
#include "team/team.h"

struct file {
	const char *at;	  /* in `raw` */
	const char *dir;  /* in the cache, to be removed; or NULL */
	const char *copy; /* there, or NULL */
};

/* `raw` has for each file the rank that wrote it, and what lists_add() adds. */
struct allfiles {
	const struct run *run;
	const struct held_set *set;
	struct arena *arena;
	uint32_t ranks;
	bool packed;
	const char *root; /* of containers */
	struct buf raw;
	size_t count;
	struct file *files;   /* in the order of ranks */
	struct file **sorted; /* by path */
};

/* Returns the rank of a file, whose name, size and so on become *out. */
static uint32_t
take(const struct file *is, struct rank2file_file *out)
{
	const char *at = is->at;
	uint32_t rank = 0;

	memcpy(&rank, at, sizeof(rank));
	at += sizeof(rank);
	lists_take(&at, out, NULL);
	return rank;
}

/* --- Gathering --- */

static void
encode(const struct lists *l, struct buf *b)
{
	for (size_t i = 0; i < l->count; i++) {
		(void)buf_add(b, &l->ranks[i], sizeof(l->ranks[i]));
		lists_add(b, &l->files[i], NULL);
	}
}

/* Collect the notes of all ranks on rank 0, and give them to all. */
static int
exchange(const struct team *world, const struct lists *mine, struct arena *a,
	 struct buf *all, struct error *err)
{
	struct team_note note = { .rank = 0 };
	const struct team_mail out = { mine->count > 0, &note };
	struct team_mail in = { 0, NULL };
	struct buf b = BUF_INIT;
	int rc = 0;

	encode(mine, &b);
	rc = buf_check(&b, err);
	note.data = b.data;
	note.len = b.len;
	rc = team_notes(world, rc, &out, a, &in, err);
	for (size_t i = 0; rc == 0 && i < in.count; i++)
		rc = buf_add(all, in.notes[i].data, in.notes[i].len);
	if (rc < 0 && err->kind == ERROR_NONE)
		error_no_memory(err);
	buf_free(&b);
	return team_share(world, 0, rc, all, err);
}

static int
by_path(const void *a, const void *b)
{
	struct rank2file_file x, y;

	(void)take(*(struct file *const *)a, &x);
	(void)take(*(struct file *const *)b, &y);
	return strcmp(x.path, y.path);
}

static int
by_rank(const void *a, const void *b)
{
	const struct file *f = a, *g = b;
	struct rank2file_file x, y;
	const uint32_t r = take(f, &x), q = take(g, &y);

	if (r != q)
		return r < q ? -1 : 1;
	return f->at < g->at ? -1 : f->at > g->at;
}

/* Find the files in `raw`, and sort them. */
static int
sort(struct allfiles *all, struct error *err)
{
	const char *at = all->raw.data, *end = at + all->raw.len;
	struct rank2file_file f;
	size_t n = 0;

	for (const char *p = at; p < end; n++) {
		p += sizeof(uint32_t);
		lists_take(&p, &f, NULL);
	}
	all->files = arena_alloc(all->arena, n + 1, sizeof(*all->files));
	all->sorted = arena_alloc(all->arena, n + 1, sizeof(*all->sorted));
	if (all->files == NULL || all->sorted == NULL)
		return error_no_memory(err);
	for (; all->count < n; all->count++) {
		all->files[all->count].at = at;
		all->sorted[all->count] = &all->files[all->count];
		at += sizeof(uint32_t);
		lists_take(&at, &f, NULL);
	}
	qsort(all->files, n, sizeof(*all->files), by_rank);
	qsort(all->sorted, n, sizeof(*all->sorted), by_path);
	return 0;
}

struct allfiles *
allfiles_gather(const struct run *run, const struct held_set *s,
		struct arena *a, struct error *err)
{
	struct allfiles *all = arena_alloc(a, 1, sizeof(*all));
	struct lists mine;

	if (team_agree(&run->world, all == NULL ? error_no_memory(err) : 0,
		       err) < 0 ||
	    lists_read(run, &s->d, true, a, &mine, err) < 0)
		return NULL;
	all->run = run;
	all->set = s;
	all->arena = a;
	all->ranks = mine.nranks;
	all->packed = mine.packed;
	all->root = mine.root;
	if (exchange(&run->world, &mine, a, &all->raw, err) < 0 ||
	    team_agree(&run->world, sort(all, err), err) < 0) {
		buf_free(&all->raw);
		return NULL;
	}
	return all;
}

/* --- Files --- */

uint32_t
allfiles_ranks(const struct allfiles *all)
{
	return all->ranks;
}

int
allfiles_get(const struct allfiles *all, size_t i, uint32_t *rank,
	     struct rank2file_file *out)
{
	if (i >= all->count)
		return -1;
	*rank = take(&all->files[i], out);
	return 0;
}

static int
is_path(const void *path, const void *file)
{
	struct rank2file_file f;

	(void)take(*(struct file *const *)file, &f);
	return strcmp(path, f.path);
}

/* The directory of the copy of a file in the cache of this node, which other
 * ranks use, too; below the directory of the dataset, which the next
 * SCR_Init() removes if this job is killed. */
static const char *
copy_dir(const struct allfiles *all, const struct file *is)
{
	return arena_printf(all->arena, "%s/%u.%td", all->set->dir,
			    all->run->world.rank, is - all->files);
}

/* Copy a file that is in containers into the cache. */
static int
copy(const struct allfiles *all, struct file *is, struct rank2file_file *f,
     struct error *err)
{
	const char *dir = copy_dir(all, is);
	const char *to = dir == NULL ? NULL
				     : arena_printf(all->arena, "%s/%s", dir,
						    path_base(f->path));
	struct attr none = { .has_size = false };
	const struct lists one = { .count = 1,
				   .files = f,
				   .packed = true,
				   .root = all->root,
				   .attrs = &none };

	if (to == NULL || lists_segs(f, all->arena, err) < 0)
		return error_no_memory(err);
	/* A rank of this node that has ended removes the first one. */
	for (int i = 0; i < 100 && is->dir == NULL; i++) {
		if (mkdir(all->set->dir, 0700) < 0 && errno != EEXIST)
			break;
		if (mkdir(dir, 0700) == 0 || errno == EEXIST)
			is->dir = dir;
		else if (errno != ENOENT)
			break;
	}
	if (is->dir == NULL)
		return error_sys(err, "%s: cannot create", dir);
	if (fetching_copy(all->run, all->set->store, all->arena, &one, &to,
			  err) != FETCH_DONE)
		return -1;
	is->copy = to;
	return 0;
}

int
allfiles_route(const struct allfiles *all, const char *path,
	       char file[static SCR_MAX_FILENAME], struct error *err)
{
	struct file **at = all->count == 0
				   ? NULL
				   : bsearch(path, all->sorted, all->count,
					     sizeof(*all->sorted), is_path);
	struct rank2file_file f;
	const char *to = NULL;

	if (at == NULL)
		return error_set(err, ERROR_ABSENT,
				 "%s: dataset %lld `%s' has no such file", path,
				 (long long)all->set->d.id, all->set->d.name);
	(void)take(*at, &f);
	if (all->packed && (*at)->copy == NULL && copy(all, *at, &f, err) < 0)
		return -1;
	to = all->packed ? (*at)->copy
			 : arena_printf(all->arena, "%s/%s", all->run->p.prefix,
					path);
	if (to == NULL)
		return error_no_memory(err);
	if (snprintf(file, SCR_MAX_FILENAME, "%s", to) >= SCR_MAX_FILENAME)
		return error_set(err, ERROR_USAGE,
				 "%s: its path in the cache is too long", path);
	if (dir_access(AT_FDCWD, file, R_OK) < 0)
		return error_sys(err, "%s", file);
	return 0;
}

void
allfiles_end(struct allfiles *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->count; i++)
		if (all->files[i].dir != NULL)
			(void)io_remove_tree(AT_FDCWD, all->files[i].dir, NULL);
	/* The last rank of the node removes it. */
	(void)rmdir(all->set->dir);
	buf_free(&all->raw);
}
