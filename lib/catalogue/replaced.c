/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replaced.c - datasets whose files another one replaces: the mark is set
 * before the first one is replaced, read, and taken back.
 *
 * First the index: the entry is marked incomplete, and CURRENT moves on, so
 * that no job restarts from a mixture.  Then the summary, from which --add or a
 * rebuilt index would take the dataset again.  It keeps the descriptor but says
 * COMPLETE = 0, which also stops LLNL's `scr_index --add` and `--build`.  Both
 * record which dataset replaces the files.  Its files may have the same sizes,
 * so only recorded checksums prove which files are still those of the dataset.
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
#include "room.h"
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

/* Write to `to`, NUM_TEXT bytes, a number that changes if one of the files that
 * dataset `id` owns is replaced, removed, or comes back. */
static int
fingerprint(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	    char *to)
{
	struct par *par = work_waiting(&o->work, c->prefix_fd);
	const unsigned n = par != NULL ? par_threads(par) : 1;
	struct prints k = {
		.arena = arena_new(),
		.parents = mem_calloc(n, sizeof(*k.parents)),
	};
	const struct rank2file_file *f = NULL;
	struct error why = ERROR_INIT;
	struct catalogue_names names;
	int rc = catalogue_names_of(c, id, o, &names, &why);

	if (k.parents == NULL)
		rc = -1;
	while (rc == 0 && (f = catalogue_names_next(&names)) != NULL) {
		if (f->path == NULL || f->nsegs > 0)
			continue;
		if (!MEM_ROOM(k.paths, k.count, k.cap) ||
		    (k.paths[k.count++] = arena_strdup(k.arena, f->path)) ==
			    NULL)
			rc = -1;
	}
	catalogue_names_free(&names);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		k.parents[i] = pathcache_new(c->prefix_fd);
		rc = k.parents[i] == NULL ? -1 : 0;
	}
	if (rc == 0)
		rc = par_for(par, k.count, 0, add_print, &k, &why);
	if (rc == 0)
		num_text(to, k.sum);
	for (unsigned i = 0; k.parents != NULL && i < n; i++)
		pathcache_free(k.parents[i]);
	mem_free(k.parents);
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

static int
read_marks(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	   struct marks *m, struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary s = { .complete = -1 };
	struct kvtree *t = catalogue_summary(c, id, &s, NULL, &why);
	struct index *read = NULL;
	const struct index *ix = NULL;
	const char *print = NULL;
	struct index_entry e;

	*m = (struct marks){ .by = 0 };
	if (t == NULL && !catalogue_is_verdict(&why))
		return error_pass(err, &why);
	/*
	 * Without room to mark the summary, it was removed.  So a complete
	 * summary was written later, or will be marked before the first file is
	 * replaced.
	 */
	if (t != NULL && s.replaced > 0) {
		m->by = s.replaced;
		print = kvtree_value(t, SUMMARY_FINGERPRINT);
	} else if (t == NULL || s.complete != 1) {
		error_clear(&why);
		ix = catalogue_index(c, o, &read, &why);
		if (ix == NULL && !catalogue_is_verdict(&why)) {
			kvtree_free(t);
			return error_pass(err, &why);
		}
		if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
		    e.complete == 0 && e.replaced > 0) {
			m->by = e.replaced;
			print = index_extra(ix, id, SUMMARY_FINGERPRINT);
		}
	}
	if (print != NULL)
		snprintf(m->print, sizeof(m->print), "%s", print);
	index_free(read);
	kvtree_free(t);
	return 0;
}

/* Are the files those that they were when the mark was set? */
static bool
is_same(struct catalogue *c, int64_t id, const struct marks *m,
	const struct catalogue_options *o)
{
	char now[NUM_TEXT];

	return m->print[0] != '\0' && fingerprint(c, id, o, now) == 0 &&
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
	return error_set_remedy(
		err, REMEDY_INDEX, ERROR_DAMAGED,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files; it can be built again only if checksums "
		"prove that its files are still present",
		id, by);
}

int
catalogue_refuse_unproved(const struct plan *p, int64_t by, struct error *err)
{
	if (by == 0 || p->older_summary || plan_sums_all(p))
		return 0;
	return error_set(
		err, ERROR_LOST,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files, and no checksums show which of them are "
		"left",
		p->id, by);
}

/* --- Setting the mark --- */

struct retirement {
	int64_t id, by; /* the same: another dataset takes the number */
	const struct catalogue_options *o;
	char print[NUM_TEXT]; /* of its files as they are (replaced.c); "" */
};

static int
mark_entry(struct index *ix, const struct retirement *r, struct error *err)
{
	const char *shown = NULL;
	struct index_entry e;

	if (index_find_id(ix, r->id, &e, NULL) < 0 ||
	    (r->by != r->id && e.complete == 0 && !e.current))
		return 1;
	shown = str_shown(e.name != NULL ? e.name : "?");
	if (r->by == r->id) {
		work_say(&r->o->work,
			 "dataset %" PRId64 " (%s): replaced by another "
			 "dataset with the same number",
			 r->id, shown);
		return catalogue_forget(ix, r->id, err);
	}
	work_say(&r->o->work,
		 "dataset %" PRId64 " (%s): marked unfinished: dataset "
		 "%" PRId64 " replaces its files",
		 r->id, shown, r->by);
	if (index_retire(ix, r->id, err) < 0)
		return -1;
	if (r->print[0] != '\0')
		index_set_extra(ix, r->id, SUMMARY_FINGERPRINT, r->print, err);
	if (e.current)
		index_set_extra(ix, r->id, INDEX_WAS_CURRENT, "1", err);
	return index_set_extra(ix, r->id, INDEX_REPLACED, num_str(r->by), err);
}

/* Mark the index entry, and open the metadata directory. 1: the dataset has
 * none. */
static int
begin(struct catalogue *c, struct retirement *r, struct catalogue_dir *d,
      struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue_change t;
	int rc = catalogue_begin(c, &t, err);

	if (rc == 0)
		rc = mark_entry(t.ix, r, err);
	if (catalogue_end(&t, rc, err) < 0)
		return -1;
	if (catalogue_dir_open(c, r->id, d, &why) == 0)
		return 0;
	return why.kind == ERROR_ABSENT ? 1 : error_pass(err, &why);
}

int
catalogue_retire(struct catalogue *c, int64_t id, int64_t by,
		 const struct catalogue_options *o, struct error *err)
{
	struct retirement r = { .id = id, .by = by, .o = o };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;
	struct summary s;
	int rc = 0;

	/* Without the fingerprint, the mark cannot be taken back. */
	if (fingerprint(c, id, o, r.print) < 0)
		r.print[0] = '\0';
	rc = begin(c, &r, &d, err);
	if (rc == 0)
		t = summary_load(d.fd, SUMMARY_FILE, NULL, &s, &why);
	if (why.kind == ERROR_NOMEM)
		rc = error_pass(err, &why);
	/* Only a summary that has COMPLETE = 1 needs a mark. */
	if (t != NULL && s.complete == 1) {
		kvtree_set_i64(t, "COMPLETE", 0, err);
		kvtree_set_i64(t, SUMMARY_REPLACED, by, err);
		if (r.print[0] != '\0')
			kvtree_set(t, SUMMARY_FINGERPRINT, r.print, err);
		if (catalogue_write_summary(&d, t, &why) < 0)
			/* Without room for the mark, remove the summary: the
			 * index entry has the descriptor, too. */
			rc = room_is_short(&why)
				     ? catalogue_dir_unlink(&d, SUMMARY_FILE,
							    err)
				     : error_pass(err, &why);
	}
	kvtree_free(t);
	catalogue_dir_close(&d);
	return rc < 0 ? -1 : 0;
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
		kvtree_set_i64(t, "COMPLETE", 1, err);
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
restore_entry(struct catalogue *c, int64_t id, struct error *err)
{
	static const char *const marks[] = { INDEX_REPLACED,
					     SUMMARY_FINGERPRINT,
					     INDEX_WAS_CURRENT };
	struct catalogue_change t;
	struct index_entry e, now;
	const char *current = NULL;
	bool back = false;
	int rc = catalogue_begin(c, &t, err);

	if (rc < 0 || index_find_id(t.ix, id, &e, NULL) < 0 ||
	    e.complete != 0 || e.replaced == 0)
		return catalogue_end(&t, rc < 0 ? -1 : 1, err);
	current = index_current(t.ix);
	/* CURRENT has moved to a smaller number, unless a later checkpoint has
	 * become the current one since. */
	back = index_extra(t.ix, id, INDEX_WAS_CURRENT) != NULL &&
	       (current == NULL ||
		(index_find_name(t.ix, current, &now, NULL) == 0 &&
		 now.id < id));
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		index_set_extra(t.ix, id, marks[i], NULL, err);
	rc = index_set_extra(t.ix, id, "COMPLETE", "1", err);
	if (rc == 0 && back)
		rc = index_set_current(t.ix, e.name, err);
	return catalogue_end(&t, rc, err);
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
		if (restore_summary(c, ids[i], &why) < 0 ||
		    restore_entry(c, ids[i], &why) < 0)
			work_say(&o->work,
				 "dataset %" PRId64
				 ": stays unfinished, though "
				 "none of its files was replaced: %s",
				 ids[i], why.text);
		else
			work_say(&o->work,
				 "dataset %" PRId64
				 ": valid again: none of its files was "
				 "replaced",
				 ids[i]);
	}
	mem_free(ids);
	index_free(ix);
}

/* --- Another dataset with the same number --- */

static void
compare_times(int64_t a, int64_t b, enum catalogue_identity *out)
{
	if (a > 0 && b > 0 && a != b)
		*out = CATALOGUE_ANOTHER;
	else if ((a <= 0 || b <= 0) && *out == CATALOGUE_SAME)
		*out = CATALOGUE_UNSURE;
}

int
catalogue_identify(struct catalogue *c, int64_t id, int64_t created,
		   enum catalogue_identity *out, struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue_desc desc = { .tree = NULL };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct index *ix = catalogue_read(c, &why);
	struct index_entry e;

	*out = CATALOGUE_SAME;
	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	error_clear(&why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0)
		compare_times(e.desc.created_us, created, out);
	index_free(ix);
	if (catalogue_dir_open(c, id, &d, &why) == 0 &&
	    catalogue_read_summary(&d, &desc, &why) == 0)
		compare_times(desc.view.created_us, created, out);
	catalogue_desc_free(&desc);
	catalogue_dir_close(&d);
	return catalogue_is_verdict(&why) ? 0 : error_pass(err, &why);
}

/* What a scavenge copies into the metadata directory. */
#define COPIED_KINDS \
	(CATALOGUE_KIND(FILEMAP) | CATALOGUE_KIND(REDUNDANCY) | \
	 CATALOGUE_KIND(DESCRIPTOR) | CATALOGUE_KIND(COPIED))

int
catalogue_uncopy(struct catalogue *c, int64_t id, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = catalogue_dir_open(c, id, &d, err);

	if (rc == 0)
		rc = catalogue_dir_clear(&d, COPIED_KINDS, err);
	catalogue_dir_close(&d);
	return rc;
}

int
catalogue_supersede(struct catalogue *c, int64_t id, bool all,
		    const struct catalogue_options *o, struct error *err)
{
	struct retirement r = { .id = id, .by = id, .o = o };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	unsigned kinds = CATALOGUE_KIND(RANK2FILE_PART) |
			 CATALOGUE_KIND(PACKED) | CATALOGUE_KIND(COPY);
	int rc = begin(c, &r, &d, err);

	if (all)
		kinds |= COPIED_KINDS | CATALOGUE_KIND(KEPT) |
			 CATALOGUE_KIND(MARKED);
	/* Remove the summary first, and rank2file last: without rank2file, its
	 * copy would still be read. */
	if (rc == 0 && (catalogue_dir_unlink(&d, SUMMARY_FILE, err) < 0 ||
			catalogue_dir_clear(&d, kinds, err) < 0 ||
			catalogue_dir_unlink(&d, RANK2FILE_FILE, err) < 0 ||
			io_sync_dir(d.fd, d.name, err) < 0))
		rc = -1;
	catalogue_dir_close(&d);
	return rc < 0 ? -1 : 0;
}
