/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * save.c - save one dataset: its nodes copy it to the prefix (gather.c), then
 * it is rebuilt and indexed here.  What index and flush.scr say: whether a
 * number is free, that a dataset is saved, which one is current; and old ones
 * that are deleted.  What follows a save: datasets are packed into containers,
 * and what is whole on the prefix is removed from the caches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/owners.h"
#include "catalogue/share.h"
#include "clock.h"
#include "container/pack.h"
#include "error.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/log.h"
#include "num.h"
#include "progress.h"
#include "room.h"
#include "scavenge/scavenge_impl.h"
#include "site/eventlog.h"
#include "site/job.h"
#include "str.h"
#include "work.h"

void
scavenge_yield(struct scavenge *s, struct salvage_dataset *d,
	       enum salvage_taken how, const char *why)
{
	d->taken = how;
	d->flaw = arena_strdup(s->arena, why);
	work_say(s->work,
		 "dataset %" PRId64 ": not saved; it is still in the caches: "
		 "%s",
		 d->id, d->flaw);
}

int
scavenge_check_number(struct scavenge *s, struct salvage_dataset *d,
		      bool copied, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(s->prefix, &why);
	char text[512];
	struct index_entry e;
	bool older = false;
	int rc = 0;

	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (ix != NULL && index_find_id(ix, d->id, &e, NULL) == 0 &&
	    index_entry_valid(&e) && d->created > 0 && e.desc.created_us > 0 &&
	    e.desc.created_us != (int64_t)d->created) {
		older = !scavenge_is_later(s, &e, d);
		snprintf(text, sizeof(text),
			 "the prefix has %s dataset of this number, %s",
			 older ? "an older" : "a newer",
			 str_shown(e.name ? e.name : "?"));
		scavenge_yield(
			s, d, older ? SALVAGE_TAKEN_OLDER : SALVAGE_TAKEN_NEWER,
			text);
		if (copied)
			rc = catalogue_uncopy(s->prefix, d->id, err);
	}
	index_free(ix);
	return rc;
}

/* Record in flush.scr that the dataset is on the parallel file system, so that
 * the job's library does not flush it again. */
static void
mark_flushed(const struct scavenge *s, int64_t id)
{
	const int dir = catalogue_scr_fd(s->prefix);
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(dir, FLUSH_FILE, &why), *k = NULL;

	if (t == NULL)
		return;
	k = kvtree_get2(t, "DATASET", num_str(id));
	k = kvtree_get(k, "LOCATION");
	if (k != NULL && kvtree_get(k, "PFS") == NULL &&
	    (kvtree_put_first(k, "PFS", &why) == NULL ||
	     kvtree_write_file(t, dir, FLUSH_FILE, &why) < 0))
		work_say(s->work, "%s: not changed", why.text);
	kvtree_free(t);
}

int
scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
		      struct error *err)
{
	struct catalogue_edit e = {
		.kind = CATALOGUE_CURRENT,
		.word = word_id_str(d->id),
		.forward = true,
	};
	/* The restart point of the index before this run. */
	const struct index *ix = s->known.index;
	const char *name = ix == NULL ? NULL : index_current(ix);
	struct salvage_dataset *k = NULL;
	struct index_entry was;
	bool later = false;

	if (name != NULL && index_find_name(ix, name, &was, NULL) == 0) {
		/* It yields if it is bad, or not later than `d`. */
		later = scavenge_is_later(s, &was, d);
		k = salvage_find(&s->plan, was.id);
		if (later && k != NULL && scavenge_look(s, k, err) < 0)
			return -1;
		if (!later || (k != NULL && k->looked && !k->done &&
			       !scavenge_is_unknown(k)))
			e.broken = &was;
	}
	if (catalogue_edit(s->prefix, &e, err) < 0)
		return -1;
	if (d->name != NULL && !str_eq(e.current, d->name))
		work_say(s->work,
			 "dataset %" PRId64
			 ": saved; the restart point stays %s, which is newer",
			 d->id, str_shown(e.current));
	return 0;
}

int
scavenge_find_restart(struct scavenge *s, struct error *err)
{
	const int64_t saved = scavenge_outlook(s).saved;
	const struct salvage_dataset *d = salvage_find(&s->plan, saved);
	struct catalogue_entries all;
	struct fetchable f;
	int rc = 0;

	if (s->stopped || s->o->only > 0)
		return 0;
	/* As in scavenge_add_known(). */
	(void)catalogue_entries(s->prefix, &all, NULL);
	/* The restart point of the index, and then the newest one. */
	for (size_t i = 0; i < 2 * all.count && rc == 0; i++) {
		const struct index_entry *e =
			&all.list[i < all.count ? i : i - all.count];

		if (!index_entry_valid(e))
			continue;
		/* If a checkpoint is or can be saved: does the restart point
		 * stay another one?  Else: can the next job fetch it? */
		if (saved > 0) {
			if (!e->current || d == NULL || e->id == saved ||
			    (s->work->dry_run && !scavenge_is_later(s, e, d)))
				continue;
		} else {
			if (e->current != (i < all.count) || !e->desc.is_ckpt)
				continue;
			rc = catalogue_fetchable(s->prefix, e, s->o->catalogue,
						 &f, err);
			if (rc < 0 || f.status != STATUS_OK)
				continue;
		}
		s->restart =
			arena_printf(s->arena, "%s (dataset %" PRId64 ")",
				     str_shown(e->name ? e->name : "?"), e->id);
		rc = 1;
	}
	catalogue_entries_free(&all);
	return rc < 0 ? -1 : 0;
}

static void
report_pruned(void *arg, int64_t id, const struct delete_result *r,
	      const struct error *why)
{
	const struct scavenge *s = arg;

	(void)r;
	if (why == NULL)
		work_say(s->work,
			 "dataset %" PRId64 ": deleted, older than the %" PRIu64
			 " newest",
			 id, s->o->keep);
}

void
scavenge_prune(struct scavenge *s)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(s->prefix, &err);
	const struct catalogue_keep keep = { .last = s->o->keep };
	size_t count = 0;
	int64_t *ids = ix == NULL ? NULL
				  : catalogue_prune(s->prefix, ix, &keep,
						    &count, &err);
	const struct delete_listener listener = { report_pruned, s };
	int rc = ix == NULL || count == (size_t)-1 ? -1 : 0;

	if (rc == 0)
		rc = catalogue_prune_check(
			s->prefix, ix, &(struct catalogue_goes){ ids, count },
			&keep, s->o->catalogue, &err);
	if (rc == 0)
		rc = catalogue_delete_all(s->prefix, ids, count,
					  s->o->catalogue, &listener, &err);
	if (rc < 0)
		work_say(s->work, "older checkpoints are not all deleted: %s",
			 err.text);
	mem_free(ids);
	index_free(ix);
}

const char *
scavenge_without_id(const char *text, int64_t id)
{
	char start[2][48];

	snprintf(start[0], sizeof(start[0]), "dataset %" PRId64 ": ", id);
	snprintf(start[1], sizeof(start[1]), DATASET_DIR_FMT ": ", id);
	for (size_t i = 0; i < 2; i++)
		if (strncmp(text, start[i], strlen(start[i])) == 0)
			return text + strlen(start[i]);
	return text;
}

/* Let the nodes that are left help with a build. */
static void
ask_for_help(const struct scavenge *s, struct share *share,
	     struct catalogue_options *o)
{
	*share = (struct share){
		.program = s->o->rebuild,
		.least = s->o->rebuild_least,
		.least_each = s->o->rebuild_least / 4,
	};
	crew_take(&share->crew, &s->o->remote);
	for (size_t i = 0; i < s->job->nodes.count; i++)
		if (s->nodes[i].state == SCAVENGE_NODE_ALIVE)
			(void)hostlist_add_name(&share->crew.nodes,
						s->nodes[i].name, NULL);
	o->help = share_build;
	o->helper = share;
}

static int
build(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	const double start = clock_seconds();
	struct catalogue_options o = *s->o->catalogue;
	struct error why = ERROR_INIT;
	struct share share = { .jobs = 0 };
	struct build_result r;
	struct stat st;
	/* Every place that could have it was asked, and has not. */
	const bool gone = d->state == SALVAGE_LOST && !scavenge_is_unknown(d);
	bool in_way = false;
	int rc = 0;

	if (s->o->rebuild != NULL && s->alive > 0)
		ask_for_help(s, &share, &o);
	rc = catalogue_build(s->prefix, d->id, &o, &r, &why);
	rebuild_result_add(&r.rebuild, &share.rebuilt);
	share_close(&share);
	s->seconds[SCAVENGE_BUILD] += clock_seconds() - start;
	if (scavenge_stop(s))
		return error_set(err, ERROR_SYSTEM,
				 "stopped; run it again to resume");
	if (rc < 0) {
		if (s->blocked != NULL)
			return error_set(
				err, ERROR_SYSTEM,
				"dataset %" PRId64 ": not all copied: %s: %s; "
				"it is still in the caches: repair that and "
				"run it again",
				d->id, s->blocked->name, s->blocked->why);
		/* No older dataset has room either. */
		if (room_is_short(&why)) {
			error_pass(err, &why);
			return error_wrap(err, "dataset %" PRId64, d->id);
		}
		d->state = SALVAGE_LOST;
		d->undecided =
			why.kind == ERROR_DAMAGED || why.kind == ERROR_CORRUPT;
		/* An error on the prefix, or of a lock, or a directory in the
		 * place of a file, leaves the data in the caches. */
		in_way = stat(r.way.obstacle, &st) == 0 && S_ISDIR(st.st_mode);
		d->unbuilt = !d->undecided &&
			     ((why.kind != ERROR_LOST &&
			       !(why.kind == ERROR_ABSENT && gone)) ||
			      in_way);
		d->why = arena_printf(
			s->arena, "%s%s%s%s",
			scavenge_without_id(why.text, d->id),
			r.undecided ? "; --no-compare saves it as it is" : "",
			in_way ? "; to be moved away: " : "",
			in_way ? r.way.obstacle : "");
		if (d->found == STATUS_DAMAGED) /* and cannot be mended */
			d->found = scavenge_is_unknown(d) ? STATUS_FAILED
							  : STATUS_LOST;
		work_say(s->work, "dataset %" PRId64 ": %s%s", d->id, d->why,
			 d->unbuilt && d->cached
				 ? "; not saved; it is still in "
				   "the caches"
				 : "");
		return 0;
	}
	d->done = true;
	s->saved_now++;
	mark_flushed(s, d->id);
	return 0;
}

/* Log the dataset with the event or transfer of `l`, as LLNL's scripts do. */
static void
log_line(const struct scavenge *s, const struct salvage_dataset *d,
	 struct log_line l)
{
	struct error why = ERROR_INIT;

	l.time = -1;
	l.user = s->job->user;
	l.job_id = s->job->id;
	l.name = d->name;
	l.dataset = d->id;
	l.procs = l.nodes = l.files = -1;
	if (eventlog_add(s->job->prefix, s->job->conf, &l, &why) < 0)
		work_say(s->work, "%s", why.text);
}

bool
scavenge_is_mendable(const struct salvage_dataset *d)
{
	return d->looked && !d->done && d->found == STATUS_DAMAGED;
}

int
scavenge_save(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	const double start = clock_seconds();
	const double spent = s->seconds[SCAVENGE_COPY];
	const uint64_t copied = s->copied;
	const bool mend = d->state == SALVAGE_LOST && scavenge_is_mendable(d);
	int rc = 0;

	if (d->taken == SALVAGE_FREE &&
	    scavenge_check_number(s, d, false, err) < 0)
		return -1;
	if (d->taken != SALVAGE_FREE)
		return 0;
	if (d->state == SALVAGE_LOST && !mend && s->o->only != d->id) {
		/* Problems on the prefix were reported already. */
		if (d->flaw == NULL)
			work_say(s->work, "dataset %" PRId64 "%s%s: %s: %s",
				 d->id, d->name ? " " : "",
				 d->name ? d->name : "",
				 !scavenge_is_unknown(d) ? "lost"
				 : d->unread		 ? "cannot be read"
							 : "unknown, not lost",
				 d->why);
		return 0;
	}
	s->blocked = NULL;
	progress_subject(s->work->progress, "dataset %" PRId64, d->id);
	log_line(s, d,
		 (struct log_line){
			 .event = "SCAVENGE_START", .secs = -1, .bytes = -1 });
	if (!mend)
		rc = scavenge_copy(s, d, err);
	/* The next plan estimates its duration from this line. */
	if (s->copied > copied)
		log_line(s, d,
			 (struct log_line){
				 .xfer = LOG_SCAVENGE,
				 .to = s->job->prefix_real,
				 .secs = s->seconds[SCAVENGE_COPY] - spent,
				 .bytes = (double)(s->copied - copied),
			 });
	if (rc == 0 && d->taken == SALVAGE_FREE)
		rc = scavenge_check_number(s, d, true, err);
	if (rc == 0 && d->taken == SALVAGE_FREE)
		rc = build(s, d, err);
	if (rc == 0 && mend && d->done)
		work_say(s->work,
			 "dataset %" PRId64 ": repaired on the prefix: %s",
			 d->id, d->flaw);
	log_line(s, d,
		 (struct log_line){
			 .event = "SCAVENGE_END",
			 .secs = clock_seconds() - start,
			 .bytes = -1,
		 });
	return rc;
}

/* --- After a save --- */

static void
try_pack(struct scavenge *s, int64_t id, int64_t restart)
{
	struct owners_guard owners = { s->prefix, id, .o = s->o->catalogue };
	const struct pack_options po = {
		.others = { owners_keep, &owners },
		.size = s->o->container_size,
		.redundancy = s->o->pack_redundancy,
		.work = s->work,
	};
	struct error why = ERROR_INIT;
	struct pack_result r;
	const struct packed_how how = { .lock = true };
	struct packed p;
	int rc = -1;

	if (id == restart && !s->o->pack_current) {
		work_detail(s->work,
			    "dataset %" PRId64
			    ": not packed: the next job restarts from it",
			    id);
		return;
	}
	if (catalogue_packed_open(s->prefix, word_id_str(id), &how,
				  s->o->catalogue, &p, &why) == 0) {
		rc = pack(&p, &po, &r, &why);
		packed_close(&p);
	}
	if (rc < 0)
		work_say(s->work, "dataset %" PRId64 ": %s: not packed", id,
			 why.text);
}

void
scavenge_pack(struct scavenge *s, int64_t was)
{
	const double start = clock_seconds();
	const int64_t restart = catalogue_restart_point(s->prefix);

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		/* With --id, do not touch other datasets. */
		if (d->done && (s->o->only == 0 || d->id == s->o->only))
			try_pack(s, d->id, restart);
		/* An older dataset was not verified, because this one is
		 * saved. */
		if (d->id == was && (d->done || d->looked))
			was = 0;
	}
	if (was > 0 && was != restart)
		try_pack(s, was, restart);
	s->seconds[SCAVENGE_PACK] += clock_seconds() - start;
}

/* Remove the dataset from the caches of all nodes, and add up their bytes.  A
 * node that failed is reported. */
static int
clean(struct scavenge *s, const struct salvage_dataset *d, uint64_t *total,
      struct error *err)
{
	struct scavenge_call call;
	uint32_t *nodes = mem_calloc(s->job->nodes.count + 1, sizeof(*nodes));
	size_t count = 0;
	char why[512];
	int rc = 0;

	for (size_t i = 0; i < s->job->nodes.count; i++)
		if (s->nodes[i].state == SCAVENGE_NODE_ALIVE)
			nodes[count++] = (uint32_t)i;
	scavenge_call_init(&call, s);
	scavenge_call_add(&call, "--id", num_str(d->id));
	scavenge_call_add(&call, "--clean", num_str(d->created));
	rc = scavenge_call_run(&call, s, nodes, count, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct remote_result *r = &call.results[i];
		const char *text = r->out.data;
		struct json_value *j = NULL;
		uint64_t bytes = 0;

		while ((j = scavenge_next_json(&text)) != NULL) {
			if (json_get_u64(j, "cleaned", UINT64_MAX, &bytes))
				*total += bytes;
			json_release(j);
		}
		if (r->state != REMOTE_DONE || r->status != STATUS_OK)
			work_say(s->work, "%s: its cache is not cleaned: %s",
				 call.hosts.names[i],
				 scavenge_reason(r, why, sizeof(why)));
	}
	scavenge_call_end(&call);
	mem_free(nodes);
	return rc;
}

int
scavenge_clean(struct scavenge *s, struct error *err)
{
	struct buf gone = BUF_INIT, left = BUF_INIT;
	uint64_t bytes = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];
		const uint64_t before = bytes;
		struct index *ix = NULL;
		struct index_entry e;
		struct fetchable f;
		bool whole = false;

		if (d->nranks == 0 || (s->o->only > 0 && d->id != s->o->only))
			continue;
		/* Is it whole on the prefix, and this very one?  The index is
		 * read again. */
		if (d->created > 0)
			ix = catalogue_read(s->prefix, err);
		if (d->created > 0 && ix == NULL)
			rc = -1;
		if (ix != NULL && index_find_id(ix, d->id, &e, NULL) == 0 &&
		    index_entry_valid(&e) &&
		    e.desc.created_us == (int64_t)d->created) {
			rc = catalogue_fetchable(s->prefix, &e, s->o->catalogue,
						 &f, err);
			whole = rc == 0 && f.status == STATUS_OK;
		}
		index_free(ix);
		if (whole)
			rc = clean(s, d, &bytes, err);
		/* Nodes that removed nothing say why. */
		if (!whole || bytes > before)
			buf_printf(whole ? &gone : &left, " %" PRId64, d->id);
	}
	if (rc == 0 && gone.len > 0)
		work_say(s->work, "datasets removed from the caches:%s: %s",
			 gone.data, str_size(bytes));
	if (rc == 0 && left.len > 0)
		work_say(s->work,
			 "datasets left in the caches, as not whole on the "
			 "prefix:%s",
			 left.data);
	buf_free(&gone);
	buf_free(&left);
	return rc;
}
