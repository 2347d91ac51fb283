/* SPDX-License-Identifier: BSD-3-Clause */
/* held_read.c - read the lists of datasets in the caches of all nodes, when the
 * job starts. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "path.h"
#include "scr/common.h"
#include "scr/held.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "team/say.h"

/* --- cindex.scrinfo of this node --- */

/*
 * Make an entry from a listed one.  NULL with ERROR_CORRUPT: it is unusable;
 * ERROR_NOMEM.  Only the base of its path is used, to find the store: it comes
 * from disk, and may be from another node.
 */
static struct held_set *
entry_of(const struct run *run, const struct cindex_entry *l, struct error *err)
{
	struct device *st =
		l->path != NULL ? stores_find(&run->stores, l->path) : NULL;
	struct held_set *e = NULL;
	struct dataset d;
	char job[PATH_MAX];

	if (st != NULL &&
	    (!st->enabled || dataset_dir_id(path_base(l->path)) != l->id))
		st = NULL;
	if (st != NULL) {
		snprintf(job, sizeof(job), "%s", st->dir);
		if (st->global)
			job[strlen(job) - strlen(path_base(job)) - 1] = '\0';
		if (path_below(l->path, job) == NULL)
			st = NULL;
	}
	if (dataset_read(l->desc, &d, err) < 0)
		return NULL;
	if (d.id != l->id || d.id > DATASET_ID_MAX || d.name == NULL ||
	    !dataset_name_ok(d.name)) {
		error_set(err, ERROR_CORRUPT, "no valid descriptor");
	} else if (st == NULL) {
		error_set(err, ERROR_CORRUPT,
			  "not in a cache directory of this job");
	} else {
		e = held_entry(&d, st, l->bypass);
		if (e == NULL)
			error_no_memory(err);
	}
	return e;
}

static uint64_t
created(const struct held_set *s)
{
	return s->d.created_us > 0 ? (uint64_t)s->d.created_us : 0;
}

/* The datasets that the cindex of this node lists, on each rank. */
struct listed {
	struct held_set **list; /* NULL: others have it now */
	size_t count, cap;
	char *current;	     /* or NULL */
	struct error unread; /* the leader: why it could not be read; its
				entries are unknown */
};

static void
listed_free(struct listed *l)
{
	for (size_t i = 0; i < l->count; i++)
		held_entry_free(l->list[i]);
	mem_free(l->list);
	mem_free(l->current);
}

/* Decode; no bytes: no entries.  Unless `strict`, unusable entries are left
 * out, with a warning. */
static int
decode(const struct run *run, const struct buf *b, bool strict,
       struct listed *out, struct error *err)
{
	struct kvtree *t = b->len > 0
				   ? kvtree_decode(b->data, b->len, NULL, err)
				   : kvtree_new(err);
	const char *current = t != NULL ? cindex_current(t) : NULL;
	struct cindex_entry *all = NULL;
	size_t count = 0;
	int rc = -1;

	if (t != NULL)
		all = cindex_entries(t, &count, err);
	if (t != NULL && count != SIZE_MAX)
		rc = 0;
	if (rc == 0 && current != NULL &&
	    (out->current = mem_strdup(current)) == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct error why = ERROR_INIT;
		struct held_set *e = entry_of(run, &all[i], &why);

		if (e != NULL && MEM_ROOM(out->list, out->count, out->cap)) {
			out->list[out->count++] = e;
		} else if (e != NULL || strict || why.kind == ERROR_NOMEM) {
			held_entry_free(e);
			rc = e != NULL ? error_no_memory(err)
				       : error_pass(err, &why);
		} else if (held_leads(run)) {
			say_warn("%s/%s: dataset %lld: left out: %s",
				 run->stores.control->dir, CINDEX_FILE,
				 (long long)all[i].id, why.text);
		}
	}
	mem_free(all);
	kvtree_free(t);
	return rc;
}

/* The leader reads and shares the bytes with its node; all decode them.  A
 * missing file is empty, and so is a damaged one. */
static int
read_cindex(const struct run *run, struct listed *out, struct error *err)
{
	const struct device *control = run->stores.control;
	struct error why = ERROR_INIT;
	struct buf bytes = BUF_INIT;
	int rc = 0;

	if (held_leads(run)) {
		const int fd = held_open_dir(control->dir, &why);

		rc = fd < 0 ? -1
			    : io_read_file(fd, CINDEX_FILE, KVTREE_MAX_ENCODED,
					   &bytes, &why);
		if (rc < 0 && why.kind != ERROR_NOMEM) {
			if (fd < 0 || why.kind != ERROR_ABSENT)
				say_warn("%s/%s: treated as missing",
					 control->dir, why.text);
			if (why.kind == ERROR_SYSTEM)
				error_as(&out->unread, &why, "%s: %s/%s",
					 run->host, control->dir, why.text);
			buf_clear(&bytes);
			rc = 0;
		}
		io_close(fd);
	}
	rc = team_share(&control->sharers, 0, rc, &bytes, &why);
	if (rc == 0 && decode(run, &bytes, false, out, &why) < 0 &&
	    (rc = why.kind == ERROR_NOMEM ? -1 : 0) == 0 && held_leads(run))
		say_warn("%s/%s: %s: treated as missing", control->dir,
			 CINDEX_FILE, why.text);
	rc = team_agree(&run->world, rc, &why);
	buf_free(&bytes);
	return rc < 0 ? error_pass(err, &why) : 0;
}

/* --- The datasets of all nodes --- */

/* Add an entry that rank `from` lists; `mine` is the entry of this rank's node
 * with the same id, or NULL. */
static int
adopt(const struct run *run, struct held *h, uint32_t from,
      const struct held_set *mine, struct error *err)
{
	struct buf bytes = BUF_INIT;
	struct listed l = { .count = 0 };
	struct held_set *e = NULL;
	int rc = 0;

	if (run->world.rank == from) {
		struct kvtree *t = kvtree_new(err);

		rc = t == NULL ? -1 : held_encode(t, mine, err);
		if (rc == 0)
			rc = kvtree_encode(t, &bytes, err);
		kvtree_free(t);
	}
	rc = team_share(&run->world, from, rc, &bytes, err);
	if (rc == 0) {
		rc = decode(run, &bytes, true, &l, err);
		if (rc == 0 && !MEM_ROOM(h->list, h->count, h->cap))
			rc = error_no_memory(err);
		if (rc == 0) {
			e = l.list[0];
			l.list[0] = NULL;
			e->older = mine != NULL && created(mine) != created(e);
			e->here = mine != NULL && !e->older;
			held_insert(h, e);
		}
		rc = team_agree(&run->world, rc, err);
	}
	listed_free(&l);
	buf_free(&bytes);
	return rc;
}

/* --- Datasets of other prefixes --- */

/* To which prefix does the dataset belong, by the directory of the first file
 * in the filemaps on this node? */
static enum jobfiles_origin
origin(const struct run *run, const struct held_set *s, struct buf *whose)
{
	enum jobfiles_origin of = JOBFILES_HERE;
	struct arena *a = arena_new();
	const char *name = NULL, *place = NULL;
	struct dir_walk w;
	struct filemap m;
	char path[PATH_MAX];
	int fd = -1, rc = 0;

	snprintf(path, sizeof(path), "%s/" SCR_DIR, s->dir);
	fd = dir_open(AT_FDCWD, path);
	rc = fd < 0 || a == NULL ? -1 : 0;
	if (rc == 0) {
		rc = dir_walk(&w, fd, path, NULL);
		while (rc == 0 && place == NULL &&
		       (name = dir_next(&w)) != NULL) {
			const int64_t rank = filemap_name_rank(name);

			if (rank >= 0 &&
			    held_filemap(s, (uint32_t)rank, a, &m, NULL) == 0 &&
			    m.nfiles > 0)
				place = m.files[0].dir;
		}
		(void)dir_done(&w, rc, NULL);
	}
	of = jobfiles_origin(run->p.prefix, place, whose);
	io_close(fd);
	arena_free(a);
	return of;
}

/* Is the dataset in flush.scr of `prefix`?  `flushed`: also on the prefix. */
static bool
in_flush_file(const char *prefix, const struct dataset *d, bool flushed)
{
	const struct flush_entry *e = NULL;
	struct jobfiles_flush f;
	struct dataset listed;
	bool is = false;

	if (jobfiles_flush_read(prefix, &f, NULL) < 0)
		return false;
	e = jobfiles_flush_find(&f, d->id);
	if (e != NULL && e->desc != NULL && (e->on_pfs || !flushed) &&
	    dataset_read(e->desc, &listed, NULL) == 0)
		is = !dataset_differs(&listed, d);
	jobfiles_flush_free(&f);
	return is;
}

bool
held_flushed(const struct run *run, const struct held_set *s, struct buf *whose)
{
	const enum jobfiles_origin of = origin(run, s, whose);

	if (of == JOBFILES_HERE && buf_add_str(whose, run->p.prefix) < 0)
		return false;
	return of != JOBFILES_GONE && in_flush_file(whose->data, &s->d, true);
}

/*
 * Leave the dataset alone if a filemap of a node says that it belongs to
 * another prefix; `mine` is the entry of this rank's node, or NULL.  If that
 * prefix does not exist, this one may have been moved: then flush.scr, which
 * has moved with it, lists the dataset.  One of this prefix with the same id
 * on other nodes is left alone, too: its files would have to be moved to where
 * those of the other one are.  *left: it is left alone.
 */
static int
leave_foreign(const struct run *run, struct held *h, int64_t id,
	      struct held_set **mine, bool *left, struct error *err)
{
	struct held_set *e = mine != NULL ? *mine : NULL;
	struct buf whose = BUF_INIT;
	bool foreign = false;
	uint64_t first = 0;
	int rc = 0;

	if (e != NULL && held_leads(run)) {
		const enum jobfiles_origin of = origin(run, e, &whose);

		foreign = of == JOBFILES_ELSEWHERE ||
			  (of == JOBFILES_GONE &&
			   !in_flush_file(run->p.prefix, &e->d, false));
	}
	first = team_least(&run->world, foreign ? run->world.rank : UINT64_MAX);
	*left = first != UINT64_MAX;
	if (foreign && first == run->world.rank)
		say_warn("dataset %lld `%s' in the cache is of the prefix %s: "
			 "left alone",
			 (long long)id, e->d.name, whose.data);
	if (*left && id > h->other_id)
		h->other_id = id;
	if (*left && e != NULL) {
		if (MEM_ROOM(h->others, h->nothers, h->others_cap)) {
			h->others[h->nothers++] = e;
			*mine = NULL;
		} else {
			rc = error_no_memory(err);
		}
	}
	buf_free(&whose);
	return team_agree(&run->world, rc, err);
}

/* --- All datasets --- */

/* Merge the lists of all nodes, in the order of ids.  A node that returns may
 * list an older dataset, whose id was reused since: the newest one counts. */
static int
merge(const struct run *run, struct held *h, struct listed *l,
      struct error *err)
{
	size_t at = 0;

	for (;;) {
		const uint64_t mine = at < l->count
					      ? (uint64_t)l->list[at]->d.id
					      : UINT64_MAX;
		const uint64_t id = team_least(&run->world, mine);
		struct held_set **e = NULL;
		uint64_t when = 0, newest = 0, from = 0;
		bool left = false;

		if (id == UINT64_MAX)
			return 0;
		if (mine == id)
			e = &l->list[at++];
		if (leave_foreign(run, h, (int64_t)id, e, &left, err) < 0)
			return -1;
		if (left)
			continue;
		when = e != NULL ? created(*e) : 0;
		newest = team_most(&run->world, when);
		from = team_least(&run->world, e != NULL && when == newest
						       ? run->world.rank
						       : UINT64_MAX);
		if (adopt(run, h, (uint32_t)from, e != NULL ? *e : NULL, err) <
		    0)
			return -1;
	}
}

/* The value of CURRENT of the lowest rank that has one. */
static int
merge_current(const struct run *run, struct held *h, const struct listed *l,
	      struct error *err)
{
	const char *mine = l->current;
	const uint64_t from = team_least(
		&run->world, mine != NULL ? run->world.rank : UINT64_MAX);
	struct buf name = BUF_INIT;
	int rc = 0;

	if (from == UINT64_MAX)
		return 0;
	if (run->world.rank == from && buf_add_str(&name, mine) < 0)
		rc = error_no_memory(err);
	rc = team_share(&run->world, (uint32_t)from, rc, &name, err);
	if (rc == 0) {
		h->current = mem_strdup(name.len > 0 ? name.data : "");
		rc = team_agree(&run->world,
				h->current == NULL ? error_no_memory(err) : 0,
				err);
	}
	buf_free(&name);
	return rc;
}

/* --- Leftovers of interrupted runs --- */

/* Remove leftovers of interrupted runs in the directories of the job. */
static void
sweep(const struct run *run, const struct held *h)
{
	for (size_t i = 0; i < run->stores.count; i++) {
		const struct device *st = &run->stores.list[i];
		struct error why = ERROR_INIT;
		const char *name = NULL;
		struct dir_walk w;
		int fd = -1, rc = 0;

		if (!st->enabled || st->sharers.rank != 0)
			continue;
		fd = held_open_dir(st->dir, &why);
		rc = fd < 0 ? -1 : dir_walk(&w, fd, st->dir, &why);
		while (rc == 0 && (name = dir_next(&w)) != NULL) {
			const int64_t id = dataset_dir_id(name);
			const struct held_set *is =
				id > 0 ? held_find(h, id) : NULL;
			/* If the cindex does not list it, it may be damaged. */
			const bool older =
				is != NULL &&
				(is->older ||
				 (!is->here &&
				  common_differs(fd, name, is->d.created_us)));
			bool stays = id <= 0 ||
				     (is != NULL && is->store == st && !older);

			for (size_t k = 0; k < h->nothers; k++)
				stays |= h->others[k]->d.id == id &&
					 h->others[k]->store == st;
			if (stays)
				continue;
			if (older)
				say_warn("%s/%s: removed: other nodes have a "
					 "newer dataset with this id",
					 st->dir, name);
			else
				say_debug("%s/%s: removed: no node lists this "
					  "dataset",
					  st->dir, name);
			held_erase(fd, st, name);
		}
		if (fd < 0 || dir_done(&w, rc, &why) < 0)
			say_warn("%s: leftovers of interrupted runs are not "
				 "removed",
				 why.text);
		io_close(fd);
	}
}

int
held_open(struct run *run, struct held **out, struct error *err)
{
	struct held *h = mem_calloc(1, sizeof(*h));
	struct listed l = { .count = 0 };
	int rc = team_agree(&run->world, h == NULL ? error_no_memory(err) : 0,
			    err);

	*out = NULL;
	if (rc == 0)
		rc = read_cindex(run, &l, err);
	if (rc == 0)
		rc = merge(run, h, &l, err);
	/* The lists of other nodes suffice.  If no node lists anything, the
	 * directories of this node must not be removed as leftovers. */
	if (rc == 0 && h->count == 0)
		rc = team_agree(&run->world,
				l.unread.kind == ERROR_NONE
					? 0
					: error_pass(err, &l.unread),
				err);
	if (rc == 0)
		rc = merge_current(run, h, &l, err);
	listed_free(&l);
	if (rc < 0) {
		held_close(h);
		return -1;
	}
	*out = h;
	sweep(run, h);
	return team_agree(&run->world, 0, err);
}
