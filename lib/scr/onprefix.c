/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/onprefix.h"

#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/written.h"
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

/* Work of rank 0 on the open prefix. */
typedef int on_rank0_fn(struct catalogue *c, void *arg, struct error *err);

static int
on_rank0(const struct run *run, on_rank0_fn *fn, void *arg, struct error *err)
{
	struct catalogue *c = NULL;
	int rc = 0;

	if (run->world.rank == 0) {
		c = catalogue_open(run->p.prefix, err);
		rc = c == NULL ? -1 : fn(c, arg, err);
		/* Close the catalogue of rank 0, and report its notices. */
		if (c != NULL)
			say_warn_lines(catalogue_notice(c));
		catalogue_close(c);
	}
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

struct writing {
	const struct dataset *d;
	bool end;
};

static int
write_entry(struct catalogue *c, void *arg, struct error *err)
{
	const struct writing *w = arg;
	struct kvtree *desc = kvtree_new(err);
	int rc = -1;

	if (desc != NULL && dataset_write(desc, w->d, err) == 0)
		rc = w->end ? catalogue_written_end(c, desc, err)
			    : catalogue_written_begin(c, desc, err);
	kvtree_free(desc);
	return rc;
}

int
onprefix_begin(struct run *run, const struct dataset *d, struct error *err)
{
	struct writing w = { .d = d };

	if (run->begun == d->id)
		return 0;
	if (on_rank0(run, write_entry, &w, err) < 0)
		return -1;
	run->begun = d->id;
	return 0;
}

static int
take_back(struct catalogue *c, void *arg, struct error *err)
{
	const struct dataset *d = arg;
	struct catalogue_options o;

	(void)err;
	onprefix_options(&o);
	catalogue_rollback(c, d->id, &o);
	return 0;
}

void
onprefix_undo(struct run *run, const struct dataset *d)
{
	struct dataset copy = *d;

	run->begun = 0;
	(void)on_rank0(run, take_back, &copy, NULL);
}

int
onprefix_complete(struct run *run, const struct dataset *d, struct error *err)
{
	struct writing w = { .d = d, .end = true };

	if (on_rank0(run, write_entry, &w, err) < 0)
		return -1;
	run->begun = 0;
	onprefix_note(run, d, true);
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

/* A sliding window of `size` checkpoints. */
struct window {
	int64_t newest; /* its newest one; 0: there is no window */
	uint64_t size;
};

/* Choose the datasets to delete, oldest first: those that leave the window. */
static size_t
choose(const struct window *w, const struct index_entry *list, size_t count,
       int64_t *ids)
{
	uint64_t kept = 1;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct index_entry *e = &list[i];

		if (w->newest != 0 && (e->id >= w->newest || !e->desc.is_ckpt ||
				       !index_entry_valid(e) ||
				       kept++ < w->size || e->desc.is_output))
			continue;
		ids[n++] = e->id;
	}
	for (size_t i = 0; i < n / 2; i++) {
		const int64_t id = ids[i];

		ids[i] = ids[n - 1 - i];
		ids[n - 1 - i] = id;
	}
	return n;
}

static int
delete_chosen(struct catalogue *c, void *arg, struct error *err)
{
	struct catalogue_entries all;
	int rc = catalogue_entries(c, &all, err);
	int64_t *ids = mem_alloc(all.count + 1, sizeof(*ids));

	if (rc == 0 && ids == NULL)
		rc = error_no_memory(err);
	if (rc == 0) {
		const size_t count = choose(arg, all.list, all.count, ids);

		rc = delete_all(c, ids, count, err);
	}
	mem_free(ids);
	catalogue_entries_free(&all);
	return rc;
}

int
onprefix_window(struct run *run, const struct dataset *d, struct error *err)
{
	struct window w = { d->id, run->p.prefix_size };

	if (w.size == 0 || !d->is_ckpt)
		return 0;
	return on_rank0(run, delete_chosen, &w, err);
}

int
onprefix_purge(struct run *run, struct error *err)
{
	struct window none = { .newest = 0 };

	if (on_rank0(run, delete_chosen, &none, err) < 0)
		return -1;
	onprefix_note(run, NULL, false);
	return 0;
}

/* --- Calls of the application --- */

struct named {
	const char *name;
	enum catalogue_edit_kind kind;
	bool drop_after;
	int64_t id;  /* result */
	bool absent; /* result: the index has no such dataset */
};

static int
edit_named(struct catalogue *c, void *arg, struct error *err)
{
	struct named *n = arg;
	struct buf word = BUF_INIT;
	struct catalogue_edit e = { .kind = n->kind };
	int rc = -1;

	n->id = find_id(c, n->name, err);
	if (n->id < 0)
		return -1;
	if (buf_printf(&word, "id:%" PRId64, n->id) < 0)
		return error_no_memory(err);
	e.word = word.data;
	rc = catalogue_edit(c, &e, err);
	if (rc == 0 && n->drop_after) {
		e.kind = CATALOGUE_DROP_AFTER;
		rc = catalogue_edit(c, &e, err);
	}
	buf_free(&word);
	return rc;
}

int
onprefix_current(struct run *run, const char *name, struct error *err)
{
	struct named n = { .name = name,
			   .kind = CATALOGUE_CURRENT,
			   .drop_after = run->p.drop_after_current };

	if (on_rank0(run, edit_named, &n, err) < 0)
		return -1;
	team_bytes(&run->world, 0, &n.id, sizeof(n.id));
	run->restart_id = held_find(run->held, n.id) != NULL ? n.id : 0;
	/* Remove datasets newer than `id` from the caches. */
	for (size_t i = held_count(run->held); i > 0; i--) {
		const int64_t is = held_at(run->held, i - 1)->d.id;

		if (is <= n.id)
			break;
		if (held_remove(run, is, err) < 0)
			return -1;
	}
	onprefix_note(run, NULL, false);
	return 0;
}

int
onprefix_drop(struct run *run, const char *name, struct error *err)
{
	struct named n = { .name = name, .kind = CATALOGUE_DROP };

	return on_rank0(run, edit_named, &n, err);
}

static int
delete_named(struct catalogue *c, void *arg, struct error *err)
{
	struct named *n = arg;
	struct error why = ERROR_INIT;

	n->id = find_id(c, n->name, &why);
	n->absent = n->id < 0;
	if (n->absent)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	return delete_all(c, &n->id, 1, err);
}

/* Remove a dataset from the caches by its name; *found: it existed. */
static int
remove_named(struct run *run, const char *name, bool *found, struct error *err)
{
	*found = false;
	for (size_t i = held_count(run->held); i > 0; i--) {
		const struct dataset *d = &held_at(run->held, i - 1)->d;
		const int64_t id = d->id;

		if (d->name == NULL || !str_eq(d->name, name))
			continue;
		*found = true;
		if (run->restart_id == id)
			run->restart_id = 0;
		if (held_remove(run, id, err) < 0)
			return -1;
	}
	if (*found)
		onprefix_note(run, NULL, false);
	return 0;
}

int
onprefix_delete(struct run *run, const char *name, struct error *err)
{
	struct named n = { .name = name };
	bool found = false;
	int absent = 0;

	if (remove_named(run, name, &found, err) < 0 ||
	    on_rank0(run, delete_named, &n, err) < 0)
		return -1;
	absent = n.absent;
	team_bytes(&run->world, 0, &absent, sizeof(absent));
	if (!absent || found)
		return 0;
	return error_set(err, ERROR_ABSENT,
			 "%s: no dataset of this name in the index or the "
			 "caches",
			 str_shown(name));
}

static int
mark_failed(struct catalogue *c, void *arg, struct error *err)
{
	const int64_t *id = arg;

	return catalogue_stamp(c, *id, CATALOGUE_FAILED, err);
}

void
onprefix_failed(struct run *run, int64_t id)
{
	struct error why = ERROR_INIT;

	if (on_rank0(run, mark_failed, &id, &why) < 0)
		say_warn_first("dataset %" PRId64
			       ": not marked failed in the index: %s",
			       id, why.text);
}

/* --- flush.scr --- */

/* Read flush.scr.  An unreadable file is replaced: it only informs the commands
 * about the caches. */
static struct kvtree *
read_flush(int fd, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(fd, FLUSH_FILE, &why);

	if (t != NULL)
		return t;
	if (why.kind != ERROR_ABSENT)
		say_warn("%s: a new file is written", why.text);
	return kvtree_new(err);
}

/* Remove entries of datasets in no cache.  Returns 1 if there were any. */
static int
prune(const struct run *run, struct kvtree *t, struct error *err)
{
	size_t count = 0;
	struct flush_entry *list = flush_entries(t, &count, err);
	int any = 0;

	if (count == (size_t)-1)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (held_find(run->held, list[i].id) != NULL)
			continue;
		kvtree_remove(kvtree_get(t, "DATASET"), num_str(list[i].id));
		any = 1;
	}
	mem_free(list);
	return any;
}

/* Put in the entries that are due.  Returns how many, or -1. */
static int
put_due(const struct run *run, struct kvtree *t, bool *sync, struct error *err)
{
	int count = 0;

	for (size_t i = 0; i < held_count(run->held); i++) {
		const struct held_set *s = held_at(run->held, i);
		const struct flush_entry e = { .id = s->d.id,
					       .in_cache = true,
					       .on_pfs = s->due == DUE_PFS };

		if (s->due == DUE_NOTHING)
			continue;
		if (flush_put(t, &e, &s->d, err) < 0)
			return -1;
		*sync |= e.on_pfs;
		count++;
	}
	return count;
}

static int
write_flush(const struct run *run, int fd, struct error *err)
{
	struct kvtree *t = read_flush(fd, err);
	bool sync = false;
	int pruned = t != NULL ? prune(run, t, err) : -1;
	int rc = pruned < 0 ? -1 : put_due(run, t, &sync, err);

	/* The index lists the datasets on the prefix, too: without this record
	 * they would only be flushed again. */
	if (rc + pruned > 0)
		rc = kvtree_write(t, fd, FLUSH_FILE, sync, err);
	kvtree_free(t);
	return rc;
}

/* app.conf and nodes.scr, once. */
static int
write_job(struct run *run, int fd, struct error *err)
{
	if (!run->job_due)
		return 0;
	if (io_replace(fd, "app.conf", run->app_conf, strlen(run->app_conf),
		       0666, err) < 0 ||
	    nodes_write(fd, run->nodes, err) < 0)
		return -1;
	run->job_due = false;
	return 0;
}

void
onprefix_note(struct run *run, const struct dataset *d, bool on_pfs)
{
	if (run->world.rank == 0) {
		struct error why = ERROR_INIT;
		int fd = 0;
		int rc = 0;

		if (d != NULL)
			held_due(run->held, d->id, on_pfs);
		/* Rank 0: write what is due.  Only the commands read these
		 * files. */
		fd = jobfiles_open(run->p.prefix, true, &why);
		rc = fd < 0 ? -1 : write_job(run, fd, &why);
		if (fd >= 0 && run->held != NULL) {
			if (write_flush(run, fd, rc == 0 ? &why : NULL) < 0)
				rc = -1;
			else
				held_due_done(run->held);
		}
		io_close(fd);
		if (rc < 0 && !run->notes_fail)
			say_warn(
				"%s/" SCR_DIR
				": %s: the job continues; scr_postrun "
				"and other commands do not know of its datasets until "
				"it can write this file",
				run->p.prefix, why.text);
		run->notes_fail = rc < 0;
	}
	/* A rank that goes on may end the job. */
	(void)team_agree(&run->world, 0, NULL);
}

bool
onprefix_has(const struct run *run, int64_t id)
{
	const struct held_set *s = held_find(run->held, id);
	struct jobfiles_flush f = { .count = 0 };
	const struct flush_entry *e = NULL;
	bool has = s != NULL && s->due == DUE_PFS;

	if (run->world.rank == 0 &&
	    jobfiles_flush_read(run->p.prefix, &f, NULL) == 0)
		e = jobfiles_flush_find(&f, id);
	has = team_any(&run->world, has || (e != NULL && e->on_pfs));
	jobfiles_flush_free(&f);
	return has;
}
