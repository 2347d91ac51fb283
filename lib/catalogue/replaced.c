/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replaced.c - datasets whose files another one has replaced: the mark of
 * catalogue_retire().  Files of the other dataset may have the same sizes, so
 * only recorded checksums prove which files are still its own.
 *
 * The mark is taken back if none of the files was replaced, because space ran
 * out or the command was ended before its first rename.  The mark has a
 * fingerprint of the files at that time: inode, size and times of each.  A file
 * that is renamed over another has another inode and change time.  So an equal
 * fingerprint proves that all files are still the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/describe.h"
#include "catalogue/owners.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "lock.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "num.h"
#include "par.h"
#include "path.h"
#include "rescue/plan.h"
#include "rescue/plan_sums.h"
#include "str.h"
#include "work.h"

/* --- The fingerprint --- */

struct prints {
	struct arena *arena;
	const char **paths;
	size_t count, cap;
	struct pathcache **parents; /* by worker */
	_Atomic uint64_t sum;
};

static int
take_path(void *arg, const struct rank2file_file *f, struct error *err)
{
	struct prints *k = arg;

	if (f->path == NULL || f->nsegs > 0)
		return 0;
	if (!MEM_ROOM(k->paths, k->count, k->cap))
		return error_no_memory(err);
	k->paths[k->count] = arena_strdup(k->arena, f->path);
	return k->paths[k->count++] == NULL ? error_no_memory(err) : 0;
}

/* Add the checksum of path, inode and times of one file: 0 if it is missing. */
static int
add_print(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct prints *k = arg;
	const char *path = k->paths[i];
	struct error why = ERROR_INIT;
	uint64_t is[6] = { 0 };
	uint32_t crc = 0;
	struct stat st;

	if (pathcache_lstat(k->parents[worker], path, &st, &why) == 0) {
		is[0] = (uint64_t)st.st_ino;
		is[1] = (uint64_t)st.st_size;
		is[2] = (uint64_t)st.st_mtim.tv_sec;
		is[3] = (uint64_t)st.st_mtim.tv_nsec;
		is[4] = (uint64_t)st.st_ctim.tv_sec;
		is[5] = (uint64_t)st.st_ctim.tv_nsec;
	} else if (!catalogue_is_verdict(&why) && why.errnum != ENOTDIR) {
		return error_pass(err, &why);
	}
	crc = crc_update(0, path, strlen(path));
	k->sum += crc_update(crc, is, sizeof(is));
	return 0;
}

static int
add_prints(struct prints *k, struct catalogue *c,
	   const struct catalogue_options *o, struct error *err)
{
	struct par *par = work_waiting(&o->work, c->prefix_fd);
	const unsigned n = par != NULL ? par_threads(par) : 1;
	int rc = 0;

	k->parents = mem_calloc(n, sizeof(*k->parents));
	if (k->parents == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		k->parents[i] = pathcache_new(c->prefix_fd);
		rc = k->parents[i] == NULL ? error_no_memory(err) : 0;
	}
	if (rc == 0)
		rc = par_for(par, k->count, 0, add_print, k, err);
	for (unsigned i = 0; i < n; i++)
		pathcache_free(k->parents[i]);
	mem_free(k->parents);
	return rc;
}

int
catalogue_fingerprint(struct catalogue *c, int64_t id,
		      const struct catalogue_options *o, char *to)
{
	struct prints k = { .arena = arena_new() };
	struct error why = ERROR_INIT;
	int rc = k.arena == NULL ? error_no_memory(&why)
				 : owners_each(c, id, o, take_path, &k, &why);

	if (rc == 0)
		rc = add_prints(&k, c, o, &why);
	if (rc == 0)
		num_text(to, k.sum);
	mem_free(k.paths);
	arena_free(k.arena);
	return rc;
}

/* --- Is it still the same? --- */

/* The marks of a dataset. */
struct marks {
	int64_t by;	      /* 0: it has none */
	char print[NUM_TEXT]; /* "": not recorded */
};

static void
take_mark(struct marks *m, int64_t by, const char *print)
{
	m->by = by;
	if (print != NULL)
		snprintf(m->print, sizeof(m->print), "%s", print);
}

static int
read_marks(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	   struct marks *m, struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary s = { .complete = -1 };
	struct kvtree *t = catalogue_summary(c, id, &s, NULL, &why);
	struct index *read = NULL;
	const struct index *ix = NULL;
	struct index_entry e;
	const bool complete = t != NULL && s.complete == 1;

	*m = (struct marks){ .by = 0 };
	if (t == NULL && !catalogue_is_verdict(&why))
		return error_pass(err, &why);
	if (t != NULL && s.replaced > 0)
		take_mark(m, s.replaced, kvtree_value(t, SUMMARY_FINGERPRINT));
	kvtree_free(t);
	/*
	 * Without room to mark the summary, it was removed.  So a complete
	 * summary was written later, or will be marked before the first file is
	 * replaced.
	 */
	if (m->by > 0 || complete)
		return 0;
	error_clear(&why);
	ix = catalogue_index(c, o, &read, &why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    e.complete == 0 && e.replaced > 0)
		take_mark(m, e.replaced,
			  index_extra(ix, id, SUMMARY_FINGERPRINT));
	index_free(read);
	return ix == NULL && !catalogue_is_verdict(&why) ? error_pass(err, &why)
							 : 0;
}

/* Are the files those that they were when the mark was set? */
static bool
is_same(struct catalogue *c, int64_t id, const struct marks *m,
	const struct catalogue_options *o)
{
	char now[NUM_TEXT];

	return m->print[0] != '\0' &&
	       catalogue_fingerprint(c, id, o, now) == 0 &&
	       str_eq(now, m->print);
}

/* Does a command still write dataset `id`, or may one do so? */
static bool
is_written(struct catalogue *c, int64_t id)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	bool busy = false;
	int lock = io_trylock(c->scr_fd, CATALOGUE_SCAVENGE_LOCK, true, &why);

	io_close(lock);
	if (lock >= 0 && catalogue_dir_open(c, id, &d, NULL) == 0)
		busy = lock_busy(d.fd);
	catalogue_dir_close(&d);
	return lock < 0 || busy;
}

int
catalogue_replaced(struct catalogue *c, int64_t id,
		   const struct catalogue_options *o, int64_t *by,
		   struct error *err)
{
	struct marks m;

	if (read_marks(c, id, o, &m, err) < 0)
		return -1;
	*by = m.by;
	if (m.by > 0 && !is_written(c, m.by) && is_same(c, id, &m, o))
		*by = 0;
	return 0;
}

/* --- Refusing --- */

int
catalogue_refuse_replaced(struct catalogue *c, int64_t id,
			  const struct catalogue_options *o, struct error *err)
{
	int64_t by = 0;

	if (catalogue_replaced(c, id, o, &by, err) < 0)
		return -1;
	if (by == 0)
		return 0;
	error_set(
		err, ERROR_DAMAGED,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files; it can be built again only if checksums "
		"prove that its files are still present",
		id, by);
	return error_remedy(err, REMEDY_INDEX);
}

int
catalogue_unproved(int64_t id, int64_t by, struct error *err)
{
	return error_set(
		err, ERROR_LOST,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files, and no checksums show which of them are "
		"left",
		id, by);
}

int
catalogue_refuse_unproved(const struct plan *p, int64_t by, struct error *err)
{
	return by == 0 || p->older_summary || plan_sums_all(p)
		       ? 0
		       : catalogue_unproved(p->id, by, err);
}

/* --- Taking the mark back --- */

/* The summary first: an index that calls the dataset valid comes last. */
static int
restore_summary(struct catalogue *c, int64_t id, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct index *ix = NULL;
	struct summary s = { .complete = -1 };
	struct kvtree *t = catalogue_summary(c, id, &s, NULL, NULL);
	int rc = 0;

	if (t == NULL) {
		/* There was no room to mark it: it was removed. */
		ix = catalogue_read(c, err);
		t = ix == NULL ? NULL
			       : summary_build(index_desc(ix, id), 1, err);
		rc = t == NULL ? -1 : 0;
	} else {
		kvtree_remove(t, SUMMARY_REPLACED);
		kvtree_remove(t, SUMMARY_FINGERPRINT);
		rc = kvtree_set_i64(t, "COMPLETE", 1, err);
	}
	if (rc == 0)
		rc = catalogue_dir_open(c, id, &d, err);
	if (rc == 0)
		rc = catalogue_write_summary(&d, t, err);
	catalogue_dir_close(&d);
	kvtree_free(t);
	index_free(ix);
	return rc;
}

static int
restore_entry(struct index *ix, void *arg, struct error *err)
{
	static const char *const marks[] = { INDEX_REPLACED,
					     SUMMARY_FINGERPRINT,
					     INDEX_WAS_CURRENT };
	const int64_t id = *(const int64_t *)arg;
	const char *current = index_current(ix);
	struct index_entry e, now;
	bool back = false;

	if (index_find_id(ix, id, &e, NULL) < 0 || e.complete != 0 ||
	    e.replaced == 0)
		return 1;
	/* Only if no newer checkpoint has become the current one since. */
	back = index_extra(ix, id, INDEX_WAS_CURRENT) != NULL &&
	       (current == NULL ||
		(index_find_name(ix, current, &now, NULL) == 0 &&
		 index_entry_newer(&e, &now)));
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (index_set_extra(ix, id, marks[i], NULL, err) < 0)
			return -1;
	if (index_set_extra(ix, id, "COMPLETE", "1", err) < 0)
		return -1;
	return back ? index_set_current(ix, e.name, err) : 0;
}

static int
restore(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	struct error *err)
{
	if (restore_summary(c, id, err) < 0 ||
	    catalogue_change(c, restore_entry, &id, err) < 0)
		return -1;
	work_say(&o->work,
		 "dataset %" PRId64 ": valid again: none of its files was "
		 "replaced",
		 id);
	return 0;
}

void
catalogue_rollback(struct catalogue *c, int64_t by,
		   const struct catalogue_options *o)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(c, NULL);
	struct catalogue_options with_index = *o;
	size_t count = 0;
	int64_t *ids = ix == NULL ? NULL : catalogue_dirs(c, &count, &why);

	with_index.index = ix;
	for (size_t i = 0; ids != NULL && i < count; i++) {
		struct marks m;

		if (read_marks(c, ids[i], &with_index, &m, NULL) < 0 ||
		    m.by == 0 || ids[i] == m.by ||
		    (by == 0 ? is_written(c, m.by) : m.by != by) ||
		    !is_same(c, ids[i], &m, o))
			continue;
		if (restore(c, ids[i], o, &why) < 0)
			work_say(&o->work,
				 "dataset %" PRId64
				 ": stays unfinished, though "
				 "none of its files was replaced: %s",
				 ids[i], why.text);
	}
	mem_free(ids);
	index_free(ix);
}
