/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/onprefix.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "num.h"
#include "room.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "str.h"
#include "team/say.h"

/* --- Helpers --- */

static void
warn_line(void *arg, const char *line)
{
	(void)arg;
	say_warn("%s", line);
}

void
onprefix_options(struct catalogue_options *o)
{
	*o = (struct catalogue_options){ .replace = true };
	o->work.log = warn_line;
}

/* Rank 0 works on the open prefix; on other ranks *c is NULL. */
static int
open_prefix(const struct run *run, struct catalogue **c, struct error *err)
{
	*c = run->world.rank == 0 ? catalogue_open(run->p.prefix, err) : NULL;
	return run->world.rank == 0 && *c == NULL ? -1 : 0;
}

/* Report its notices; `rc` as for team_agree(), which ends the work. */
static int
close_prefix(const struct run *run, struct catalogue *c, int rc,
	     struct error *err)
{
	if (c != NULL)
		say_warn_lines(catalogue_notice(c));
	catalogue_close(c);
	return team_agree(&run->world, rc, err);
}

/* The id of the dataset with this name in the index; or -1. */
static int64_t
find_id(struct catalogue *c, const char *name, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index_entry e;
	struct index *ix = catalogue_read(c, &why);
	int64_t id = -1;

	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (ix == NULL)
		return error_set(err, ERROR_ABSENT, "%s: not in the index",
				 str_shown(name));
	if (index_find_name(ix, name, &e, err) == 0)
		id = e.id;
	index_free(ix);
	return id;
}

/* --- A dataset that the job writes --- */

/* `map` NULL: it is complete. */
static int
write_entry(const struct run *run, const struct dataset *d,
	    const enum catalogue_map *map, struct error *err)
{
	struct catalogue *c = NULL;
	int rc = open_prefix(run, &c, err);

	if (c != NULL) {
		struct kvtree *desc = kvtree_new(err);

		rc = desc == NULL ? -1 : dataset_write(desc, d, err);
		if (rc == 0)
			rc = map == NULL ? catalogue_written_end(c, desc, err)
					 : catalogue_written_begin(c, desc,
								   *map, err);
		kvtree_free(desc);
	}
	return close_prefix(run, c, rc, err);
}

int
onprefix_begin(struct run *run, const struct dataset *d, enum catalogue_map map,
	       struct error *err)
{
	struct held_set *s = held_find(run->held, d->id);

	if (s->begun)
		return 0;
	if (write_entry(run, d, &map, err) < 0)
		return -1;
	s->begun = true;
	return 0;
}

void
onprefix_undo(struct run *run, const struct dataset *d)
{
	struct catalogue *c = NULL;
	struct catalogue_options o;
	const int rc = open_prefix(run, &c, NULL);

	held_find(run->held, d->id)->begun = false;
	onprefix_options(&o);
	if (c != NULL)
		catalogue_rollback(c, d->id, &o);
	(void)close_prefix(run, c, rc, NULL);
}

int
onprefix_complete(struct run *run, const struct dataset *d, struct error *err)
{
	if (write_entry(run, d, NULL, err) < 0)
		return -1;
	held_find(run->held, d->id)->begun = false;
	onprefix_note(run, d, HELD_PFS);
	return 0;
}

/* --- Delete --- */

static void
report_deleted(void *arg, int64_t id, const struct delete_result *r,
	       const struct error *why)
{
	(void)arg;
	(void)r;
	if (why == NULL)
		say_debug("dataset %" PRId64 ": deleted from the prefix", id);
}

static int
delete_all(struct catalogue *c, const int64_t *ids, size_t count,
	   struct error *err)
{
	const struct delete_listener listener = { .done = report_deleted };
	struct catalogue_options o;

	onprefix_options(&o);
	if (count == 0)
		return 0;
	return catalogue_delete_all(c, ids, count, &o, &listener, err);
}

/* Delete the datasets that leave the window of `size` checkpoints, whose newest
 * one is `newest` (0: all datasets); oldest first. */
static int
delete_window(const struct run *run, int64_t newest, uint64_t size,
	      struct error *err)
{
	struct catalogue_entries all = { .index = NULL };
	struct catalogue *c = NULL;
	int64_t *ids = NULL;
	uint64_t kept = 1;
	size_t first = 0;
	int rc = open_prefix(run, &c, err);

	if (c != NULL) {
		rc = catalogue_entries(c, &all, err);
		first = all.count;
		ids = mem_alloc(all.count + 1, sizeof(*ids));
		if (rc == 0 && ids == NULL)
			rc = error_no_memory(err);
	}
	for (size_t i = 0; rc == 0 && i < all.count; i++) {
		const struct index_entry *e = &all.list[i];

		if (newest != 0 && (e->id >= newest || !e->desc.is_ckpt ||
				    !index_entry_valid(e) || kept++ < size ||
				    e->desc.is_output))
			continue;
		ids[--first] = e->id;
	}
	if (c != NULL && rc == 0)
		rc = delete_all(c, ids + first, all.count - first, err);
	mem_free(ids);
	catalogue_entries_free(&all);
	return close_prefix(run, c, rc, err);
}

int
onprefix_window(struct run *run, const struct dataset *d, struct error *err)
{
	if (run->p.prefix_size == 0 || !d->is_ckpt)
		return 0;
	return delete_window(run, d->id, run->p.prefix_size, err);
}

int
onprefix_purge(struct run *run, struct error *err)
{
	if (delete_window(run, 0, 0, err) < 0)
		return -1;
	onprefix_note(run, NULL, HELD_NOTED);
	return 0;
}

/* --- Calls of the application --- */

/* Edit the entry of a dataset; rank 0: *id becomes its id. */
static int
edit_named(const struct run *run, const char *name,
	   enum catalogue_edit_kind kind, bool drop_after, int64_t *id,
	   struct error *err)
{
	struct catalogue_edit e = { .kind = kind };
	struct catalogue *c = NULL;
	struct buf word = BUF_INIT;
	int rc = open_prefix(run, &c, err);

	if (c != NULL) {
		*id = find_id(c, name, err);
		rc = *id < 0 ? -1 : 0;
		if (rc == 0 && buf_printf(&word, "id:%" PRId64, *id) < 0)
			rc = error_no_memory(err);
		e.word = word.data;
		if (rc == 0)
			rc = catalogue_edit(c, &e, err);
		if (rc == 0 && drop_after) {
			e.kind = CATALOGUE_DROP_AFTER;
			rc = catalogue_edit(c, &e, err);
		}
	}
	buf_free(&word);
	return close_prefix(run, c, rc, err);
}

int
onprefix_current(struct run *run, const char *name, struct error *err)
{
	const struct held *h = run->held;
	const struct held_set *s = NULL;
	int64_t id = 0;

	if (edit_named(run, name, CATALOGUE_CURRENT, run->p.drop_after_current,
		       &id, err) < 0)
		return -1;
	team_bytes(&run->world, 0, &id, sizeof(id));
	s = held_find(h, id);
	run->restart_id = s != NULL && !s->barred && !run->p.any_ranks ? id : 0;
	/* Remove newer datasets from the caches. */
	while (h->count > 0 && h->list[h->count - 1]->d.id > id)
		if (held_remove(run, h->list[h->count - 1]->d.id, err) < 0)
			return -1;
	onprefix_note(run, NULL, HELD_NOTED);
	return 0;
}

int
onprefix_drop(struct run *run, const char *name, struct error *err)
{
	struct error why = ERROR_INIT;
	int64_t id = 0;

	if (edit_named(run, name, CATALOGUE_DROP, false, &id, &why) == 0)
		return 0;
	if (why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	say_warn_first("SCR_Drop: %s", why.text);
	return 0;
}

int
onprefix_delete(struct run *run, const char *name, struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue *c = NULL;
	bool found = false;
	int absent = 0, rc = 0;
	int64_t id = 0;

	for (size_t i = run->held->count; i-- > 0;) {
		const struct dataset *d = &run->held->list[i]->d;

		if (d->name == NULL || !str_eq(d->name, name))
			continue;
		found = true;
		if (run->restart_id == d->id)
			run->restart_id = 0;
		if (held_remove(run, d->id, err) < 0)
			return -1;
	}
	if (found)
		onprefix_note(run, NULL, HELD_NOTED);
	rc = open_prefix(run, &c, err);
	if (c != NULL) {
		id = find_id(c, name, &why);
		absent = id < 0;
		if (id >= 0)
			rc = delete_all(c, &id, 1, err);
		else if (why.kind != ERROR_ABSENT)
			rc = error_pass(err, &why);
	}
	if (close_prefix(run, c, rc, err) < 0)
		return -1;
	team_bytes(&run->world, 0, &absent, sizeof(absent));
	if (!absent || found)
		return 0;
	return error_set(err, ERROR_ABSENT,
			 "%s: no dataset of this name in the index or the "
			 "caches",
			 str_shown(name));
}

void
onprefix_failed(struct run *run, int64_t id)
{
	struct error why = ERROR_INIT;
	struct catalogue *c = NULL;
	int rc = 0;

	/* The end of its flush would call it good. */
	flushing_wait(run, id);
	rc = open_prefix(run, &c, &why);
	if (c != NULL)
		rc = catalogue_stamp(c, id, CATALOGUE_FAILED, &why);
	if (close_prefix(run, c, rc, &why) < 0)
		say_warn_first("dataset %" PRId64
			       ": not marked failed in the index: %s",
			       id, why.text);
}

int
onprefix_none_kept(const struct run *run, struct error *err)
{
	struct catalogue_entries all = { .index = NULL };
	struct catalogue_options o;
	struct catalogue *c = NULL;
	struct verify_result is;
	int rc = open_prefix(run, &c, err);

	onprefix_options(&o);
	o.checksums = true;
	if (c != NULL)
		(void)catalogue_entries(c, &all, NULL);
	for (size_t i = 0; rc == 0 && i < all.count; i++) {
		const struct index_entry *e = &all.list[i];

		if (e->desc.is_ckpt && e->complete == 1 && e->failed != NULL &&
		    (catalogue_verify(c, e, &o, NULL, &is, NULL) < 0 ||
		     is.status != STATUS_LOST))
			rc = error_set(err, ERROR_SYSTEM,
				       "dataset %" PRId64 " (%s): marked "
				       "failed in the index, but not lost",
				       e->id, e->name != NULL ? e->name : "");
	}
	catalogue_entries_free(&all);
	return close_prefix(run, c, rc, err);
}

/* --- flush.scr --- */

/* Remove the entries of datasets in no cache, and put in those that are due, or
 * that an earlier run could not put in.  An unreadable file is replaced: it
 * only informs the commands about the caches. */
static int
write_flush(const struct run *run, int fd, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(fd, FLUSH_FILE, &why);
	struct flush_entry *list = NULL;
	bool sync = false, changed = false;
	size_t count = 0;
	int rc = 0;

	if (t == NULL && why.kind != ERROR_ABSENT)
		say_warn("%s: a new file is written", why.text);
	if (t == NULL)
		t = kvtree_new(err);
	if (t != NULL)
		list = flush_entries(t, &count, err);
	if (t == NULL || count == (size_t)-1) {
		kvtree_free(t);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		if (held_find(run->held, list[i].id) != NULL)
			continue;
		kvtree_remove(kvtree_get(t, "DATASET"), num_str(list[i].id));
		changed = true;
	}
	for (size_t i = 0; rc == 0 && i < run->held->count; i++) {
		const struct held_set *s = run->held->list[i];
		struct flush_entry e = { .id = s->d.id, .in_cache = true };
		size_t k = 0;

		while (k < count && list[k].id != s->d.id)
			k++;
		/* The flush of a job that was killed has ended, too. */
		if (s->due == HELD_NOTED && k < count &&
		    !list[k].sync_flushing && !list[k].flushing)
			continue;
		e.flushing = s->due == HELD_FLUSHING && s->flying;
		e.sync_flushing = s->due == HELD_FLUSHING && !s->flying;
		e.on_pfs = s->due == HELD_PFS || (s->due == HELD_NOTED &&
						  k < count && list[k].on_pfs);
		rc = flush_put(t, &e, &s->d, err);
		sync |= e.on_pfs;
		changed = true;
	}
	mem_free(list);
	/* The index lists the datasets on the prefix, too: without this record
	 * they would only be flushed again. */
	if (rc == 0 && changed)
		rc = kvtree_write(t, fd, FLUSH_FILE, sync, err);
	kvtree_free(t);
	return rc;
}

/* Rank 0: one warning, until a file can be written again. */
static void
not_noted(struct run *run, const struct error *why)
{
	if (!run->notes_fail)
		say_warn("%s/" SCR_DIR
			 ": %s: the job continues; the scavenge and other "
			 "commands do not know of its datasets until it can "
			 "write this file",
			 run->p.prefix, why->text);
	run->notes_fail = true;
}

bool
onprefix_unwritable(struct run *run, const struct error *why)
{
	if (why->errnum != EROFS && !room_is_short(why))
		return false;
	not_noted(run, why);
	return true;
}

static void
forget_noted(const struct held *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->list[i]->due != HELD_FLUSHING)
			held->list[i]->due = HELD_NOTED;
}

void
onprefix_note(struct run *run, const struct dataset *d, enum held_place is)
{
	struct held_set *s = d != NULL ? held_find(run->held, d->id) : NULL;

	if (s != NULL)
		s->due = is;
	if (run->world.rank == 0) {
		struct error why = ERROR_INIT;
		int fd = 0, rc = 0;

		/* Write what is due: app.conf and nodes.scr once, flush.scr.
		 * Only the commands read these files. */
		fd = jobfiles_open(run->p.prefix, true, &why);
		rc = fd < 0 ? -1 : 0;
		if (rc == 0 && run->job_due) {
			if (io_replace(fd, "app.conf", run->app_conf,
				       strlen(run->app_conf), 0666, &why) < 0 ||
			    nodes_write(fd, run->nodes, &why) < 0)
				rc = -1;
			run->job_due = rc < 0;
		}
		if (fd >= 0 && run->held != NULL) {
			if (write_flush(run, fd, rc == 0 ? &why : NULL) < 0)
				rc = -1;
			else
				forget_noted(run->held);
		}
		io_close(fd);
		if (rc < 0)
			not_noted(run, &why);
		else
			run->notes_fail = false;
	} else if (run->held != NULL) {
		forget_noted(run->held);
	}
	/* A rank that goes on may end the job. */
	(void)team_agree(&run->world, 0, NULL);
}

void
onprefix_moving(const struct run *run, const struct dataset *d, bool fetched)
{
	const int fd = run->world.rank != 0
			       ? -1
			       : jobfiles_open(run->p.prefix, true, NULL);
	struct kvtree *t = NULL;
	struct flush_entry e;

	if (fd < 0)
		return;
	t = kvtree_read_file(fd, FLUSH_FILE, NULL);
	if (t == NULL)
		t = kvtree_new(NULL);
	if (fetched || flush_find(t, d->id, &e, NULL) < 0)
		/* Of the caches, only onprefix_note() says that a dataset is
		 * complete: one that is not may be removed now. */
		e = (struct flush_entry){ .id = d->id, .on_pfs = fetched };
	e.sync_flushing = true;
	if (t != NULL && flush_put(t, &e, d, NULL) == 0)
		(void)kvtree_write(t, fd, FLUSH_FILE, false, NULL);
	kvtree_free(t);
	io_close(fd);
}

/* Rank 0: a job that was killed may have listed it there, and not have noted
 * that. */
static bool
index_has(const struct run *run, const struct dataset *d)
{
	struct catalogue *c = catalogue_open(run->p.prefix, NULL);
	struct index *ix = c != NULL ? catalogue_read(c, NULL) : NULL;
	struct index_entry e;
	const bool has =
		ix != NULL && index_find_id(ix, d->id, &e, NULL) == 0 &&
		index_entry_valid(&e) && e.desc.created_us == d->created_us &&
		e.name != NULL && d->name != NULL && str_eq(e.name, d->name);

	index_free(ix);
	catalogue_close(c);
	return has;
}

bool
onprefix_valid(const struct run *run, int64_t id)
{
	const struct held_set *s = held_find(run->held, id);

	return team_any(&run->world, run->world.rank == 0 && s != NULL &&
					     index_has(run, &s->d));
}

bool
onprefix_has(const struct run *run, int64_t id)
{
	const struct held_set *s = held_find(run->held, id);
	struct jobfiles_flush f = { .count = 0 };
	const struct flush_entry *e = NULL;
	bool has = s != NULL && s->due == HELD_PFS;

	if (run->world.rank == 0 &&
	    jobfiles_flush_read(run->p.prefix, &f, NULL) == 0)
		e = jobfiles_flush_find(&f, id);
	has |= e != NULL && e->on_pfs;
	if (run->world.rank == 0 && s != NULL && !has)
		has = index_has(run, &s->d);
	has = team_any(&run->world, has);
	jobfiles_flush_free(&f);
	return has;
}
