/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"
#include "path.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/memory.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"

#define DIR_MODE 0770

/* --- Entries --- */

void
held_entry_free(struct held_set *e)
{
	if (e != NULL)
		arena_free(e->arena);
	mem_free(e);
}

struct held_set *
held_entry(const struct dataset *d, struct device *st, bool bypass)
{
	struct held_set *e = mem_calloc(1, sizeof(*e));

	if (e == NULL || (e->arena = arena_new()) == NULL ||
	    dataset_copy(&e->d, d, e->arena, NULL) < 0 ||
	    (e->dir = arena_printf(e->arena, "%s/" DATASET_DIR_FMT, st->dir,
				   d->id)) == NULL) {
		held_entry_free(e);
		return NULL;
	}
	e->store = st;
	e->bypass = bypass;
	return e;
}

/* The first entry whose id is at least `id`. */
static size_t
place_of(const struct held *h, int64_t id)
{
	size_t i = h->count;

	while (i > 0 && h->list[i - 1]->d.id >= id)
		i--;
	return i;
}

void
held_insert(struct held *h, struct held_set *e)
{
	const size_t at = place_of(h, e->d.id);

	memmove(&h->list[at + 1], &h->list[at],
		(h->count - at) * sizeof(h->list[0]));
	h->list[at] = e;
	h->count++;
}

struct held_set *
held_find(const struct held *h, int64_t id)
{
	const size_t i = place_of(h, id);

	return i < h->count && h->list[i]->d.id == id ? h->list[i] : NULL;
}

const struct held_set *
held_after(const struct held *h, int64_t id)
{
	const size_t i = place_of(h, id + 1);

	return i < h->count ? h->list[i] : NULL;
}

int
held_filemap(const struct held_set *s, uint32_t rank, struct arena *a,
	     struct filemap *out, struct error *err)
{
	const char *path =
		arena_printf(a, "%s/" SCR_DIR "/%s", s->dir, filemap_str(rank));
	struct kvtree *t = NULL;
	int rc = -1;

	if (path == NULL)
		return error_no_memory(err);
	t = kvtree_read_file(AT_FDCWD, path, err);
	if (t != NULL)
		rc = filemap_read(t, a, out, err);
	kvtree_free(t);
	return rc;
}

struct held_set *
held_bar(struct held *h, int64_t id, const char *why)
{
	struct held_set *e = held_find(h, id);

	if (e == NULL)
		return NULL;
	e->barred = true;
	if (why != NULL && (why = arena_strdup(e->arena, why)) == NULL)
		why = "out of memory";
	e->refused = why;
	return e;
}

void
held_close(struct held *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < h->count; i++)
		held_entry_free(h->list[i]);
	for (size_t i = 0; i < h->nothers; i++)
		held_entry_free(h->others[i]);
	mem_free(h->others);
	mem_free(h->list);
	mem_free(h->current);
	mem_free(h);
}

/* --- cindex.scrinfo of this node --- */

bool
held_leads(const struct run *run)
{
	return run->stores.control->sharers.rank == 0;
}

int
held_open_dir(const char *path, struct error *err)
{
	const int fd = dir_open_plain(AT_FDCWD, path);

	if (fd < 0)
		return error_sys(err, "%s: cannot open", path);
	return fd;
}

int
held_encode(struct kvtree *t, const struct held_set *e, struct error *err)
{
	return cindex_add(t, &e->d, e->bypass, e->dir, err);
}

/* Write the list, if this rank leads the node; `lazy`: after a crash of the
 * node the old list may reappear. */
static int
write_cindex(const struct run *run, const struct held *h, bool lazy,
	     struct error *err)
{
	const char *dir = run->stores.control->dir;
	struct kvtree *t = NULL;
	int fd = -1, rc = -1;

	if (!held_leads(run))
		return 0;
	t = kvtree_new(err);
	fd = held_open_dir(dir, err);
	rc = t == NULL || fd < 0 ? -1 : 0;
	if (rc == 0 && h->current != NULL)
		rc = cindex_set_current(t, h->current, err);
	for (size_t i = 0; rc == 0 && i < h->nothers; i++)
		rc = held_encode(t, h->others[i], err);
	/* Those that this node lists; newest first, as in LLNL's files. */
	for (size_t i = h->count; rc == 0 && i-- > 0;)
		if (h->list[i]->here && !h->list[i]->going)
			rc = held_encode(t, h->list[i], err);
	if (rc == 0)
		rc = kvtree_write(t, fd, CINDEX_FILE, lazy, err);
	io_close(fd);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s: %s", run->host, dir) : 0;
}

/* --- Directories --- */

void
held_erase(int fd, const struct device *st, const char *name)
{
	struct error why = ERROR_INIT;

	if (st->tends != NULL)
		memory_forget(st, fd, name);
	if (io_remove_tree(fd, name, &why) < 0)
		say_warn("%s/%s: cannot be removed: %s", st->dir, name,
			 why.text);
}

/* Make and open a directory; if it must be `fresh`, one that exists is an
 * error. */
static int
make_dir(int fd, const char *name, mode_t mode, bool fresh)
{
	if (create_dir(fd, name, mode, create_owner(fd)) < 0 &&
	    (fresh || errno != EEXIST))
		return -1;
	return dir_open_plain(fd, name);
}

/* Make the directories of a dataset, if this rank is responsible.  With
 * `fresh`, an existing directory is removed first. */
static int
make_dirs(const struct run *run, const struct held_set *s, bool fresh,
	  struct error *err)
{
	const mode_t mode = s->store->memory ? STORES_MEMORY_MODE : DIR_MODE;
	const char *name = path_base(s->dir);
	int up = -1, fd = -1, meta = -1;

	if (s->store->sharers.rank != 0)
		return 0;
	up = held_open_dir(s->store->dir, err);
	if (up < 0)
		return error_wrap(err, "%s", run->host);
	if (fresh)
		held_erase(up, s->store, name);
	fd = make_dir(up, name, mode, fresh);
	if (fd >= 0)
		meta = make_dir(fd, SCR_DIR, mode, fresh);
	if (meta < 0)
		error_sys(err, "%s: %s: cannot be made", run->host, s->dir);
	io_close(fd);
	close(up);
	if (meta < 0)
		return -1;
	close(meta);
	return 0;
}

/* --- Removal --- */

/* Free an entry that no cindex lists, and remove its directory, if this rank is
 * responsible. */
static void
discard(struct held_set *e)
{
	const struct device *st = e->store;
	struct error why = ERROR_INIT;
	int fd = -1;

	if (st->sharers.rank == 0) {
		fd = held_open_dir(st->dir, &why);
		if (fd >= 0)
			held_erase(fd, st, path_base(e->dir));
		else
			say_warn("%s: not removed: %s", e->dir, why.text);
	}
	io_close(fd);
	held_entry_free(e);
}

/*
 * Remove the datasets marked as `going`, first from each cindex.  After an
 * eviction, an old cindex that reappears in a crash does no harm: a partly
 * deleted dataset lacks a file, and a whole one may stay.
 */
static int
remove_going(const struct run *run, struct held *h, bool evicted,
	     struct error *err)
{
	bool listed = false;
	size_t left = 0;
	int rc = 0;

	for (size_t i = 0; i < h->count; i++)
		listed |= h->list[i]->going &&
			  (h->list[i]->here || h->list[i]->older);
	if (listed)
		rc = write_cindex(run, h, evicted, err);
	rc = team_agree(&run->world, rc, err);
	for (size_t i = 0; i < h->count; i++) {
		struct held_set *e = h->list[i];

		if (rc < 0)
			e->going = false;
		if (e->going)
			discard(e);
		else
			h->list[left++] = e;
	}
	h->count = left;
	return rc;
}

int
held_remove(struct run *run, int64_t id, struct error *err)
{
	struct held_set *e = held_find(run->held, id);

	if (e == NULL)
		return 0;
	if (e->flying)
		flushing_wait(run, id);
	e->going = true;
	return remove_going(run, run->held, false, err);
}

int
held_purge(struct run *run, struct error *err)
{
	struct held *h = run->held;

	for (size_t i = 0; i < h->count; i++)
		h->list[i]->going = true;
	return h->count > 0 ? remove_going(run, h, false, err) : 0;
}

/* Choose the datasets to evict for one more dataset in `st`: the same on all
 * ranks. */
static bool
choose(struct held *h, const struct device *st)
{
	const struct held_set *newest = NULL; /* if no checkpoint is kept */
	bool ckpt_kept = false, any = false;
	uint64_t n = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct held_set *e = h->list[i];

		n += e->store == st;
		if (e->store == st && e->d.is_ckpt) {
			newest = e->barred ? newest : e;
			ckpt_kept |= e->kept;
		}
	}
	if (ckpt_kept || st->count < 2)
		newest = NULL;
	for (size_t i = 0; i < h->count && n >= st->count; i++) {
		struct held_set *e = h->list[i];

		if (e->store != st || e->kept || e == newest)
			continue;
		e->going = true;
		any = true;
		n--;
	}
	return any;
}

/* Make room for one more dataset in `st`: wait for the flush of one that has to
 * go. */
static int
make_room(struct run *run, const struct device *st, struct error *err)
{
	struct held *h = run->held;
	const double since = clock_seconds();
	int64_t waits = 0;
	bool any = false;

	while ((any = choose(h, st))) {
		const struct held_set *busy = NULL;

		for (size_t i = h->count; i-- > 0;)
			if (h->list[i]->going && h->list[i]->flying)
				busy = h->list[i];
		if (busy == NULL)
			break;
		for (size_t i = 0; i < h->count; i++)
			h->list[i]->going = false;
		waits = busy->d.id;
		flushing_wait(run, waits);
	}
	if (waits > 0)
		say_warn_first("Waiting on async flush of dataset %lld: the "
			       "cache is full (SCR_CACHE_SIZE): %.3f seconds",
			       (long long)waits, clock_seconds() - since);
	return any ? remove_going(run, h, true, err) : 0;
}

/* --- Life of a dataset --- */

/*
 * Make room for dataset `id`: one of another prefix that has this number is
 * removed if that prefix has it whole.  If a node must keep its one, all do:
 * ERROR_USAGE.
 */
static int
give_way(struct run *run, int64_t id, struct error *err)
{
	struct held *h = run->held;
	struct buf whose = BUF_INIT;
	struct held_set *e = NULL;
	bool flushed = false;
	uint64_t first = 0;
	size_t at = 0;
	int rc = 0;

	if (id > h->other_id)
		return 0;
	while (at < h->nothers && h->others[at]->d.id != id)
		at++;
	e = at < h->nothers ? h->others[at] : NULL;
	if (e != NULL && held_leads(run))
		flushed = held_flushed(run, e, &whose);
	if (e != NULL && held_leads(run) && !flushed)
		rc = error_set(err, ERROR_USAGE,
			       "%s: %s: is of another prefix, and keeps its "
			       "place: save it with the prefix %s, or set "
			       "another SCR_JOB_ID",
			       run->host, e->dir, str_shown(whose.data));
	rc = team_agree(&run->world, rc, err);
	if (rc == 0) {
		first = team_least(&run->world,
				   flushed ? run->world.rank : UINT64_MAX);
		if (first == run->world.rank)
			say_warn("dataset %lld of the prefix %s is flushed "
				 "there: removed from the cache",
				 (long long)id, whose.data);
		if (e != NULL) {
			h->others[at] = h->others[--h->nothers];
			rc = write_cindex(run, h, true, err);
		}
		rc = team_agree(&run->world, rc, err);
		if (e != NULL && rc == 0)
			discard(e);
		else
			held_entry_free(e);
	}
	buf_free(&whose);
	return rc;
}

int
held_start(struct run *run, const struct level *level, const struct dataset *d,
	   const struct held_set **out, struct error *err)
{
	struct held *h = run->held;
	struct held_set *e = NULL;
	int rc = 0;

	if (held_find(h, d->id) != NULL)
		return error_set(err, ERROR_USAGE,
				 "dataset %lld: already in the cache",
				 (long long)d->id);
	if (give_way(run, d->id, err) < 0)
		return -1;
	if (make_room(run, level->store, err) < 0)
		return -1;
	e = held_entry(d, level->store, level->bypass);
	rc = e == NULL ? error_no_memory(err) : make_dirs(run, e, true, err);
	if (rc == 0 && !MEM_ROOM(h->list, h->count, h->cap))
		rc = error_no_memory(err);
	if (team_agree(&run->world, rc, err) < 0) {
		if (e != NULL)
			discard(e);
		return -1;
	}
	held_insert(h, e);
	*out = e;
	return 0;
}

int
held_place(struct run *run, int64_t id, struct error *err)
{
	return team_agree(&run->world,
			  make_dirs(run, held_find(run->held, id), false, err),
			  err);
}

int
held_commit(struct run *run, const struct dataset *d, struct error *err)
{
	struct held_set *e = held_find(run->held, d->id);
	struct dataset now;
	int fd = -1, rc = dataset_copy(&now, d, e->arena, err);

	/* `d` may be the descriptor of `e`. */
	if (rc == 0)
		e->d = now;
	/* The cache of a node was synced as a whole. */
	if (rc == 0 && e->store->global && e->store->sharers.rank == 0) {
		fd = held_open_dir(e->store->dir, err);
		rc = fd < 0 ? -1 : io_sync_dir(fd, e->store->dir, err);
		io_close(fd);
	}
	e->here = true;
	if (rc == 0)
		rc = write_cindex(run, run->held, false, err);
	return team_agree(&run->world, rc, err);
}

int
held_set_current(struct run *run, const char *name, struct error *err)
{
	struct held *h = run->held;
	char *copy = mem_strdup(name);

	if (team_agree(&run->world, copy == NULL ? error_no_memory(err) : 0,
		       err) < 0) {
		mem_free(copy);
		return -1;
	}
	mem_free(h->current);
	h->current = copy;
	return team_agree(&run->world, write_cindex(run, h, false, err), err);
}
