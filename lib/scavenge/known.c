/* SPDX-License-Identifier: BSD-3-Clause */
/* known.c - datasets that flush.scr and the index of the prefix list. */
#include <inttypes.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "rescue/plan.h"
#include "scavenge/nodecache.h"
#include "scavenge/scavenge_impl.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "str.h"

/* --- flush.scr and the index --- */

/*
 * Add a dataset of flush.scr to the plan if it still needs a flush: it counts
 * as lost if no node has it.  Also add it if the index lists it on the prefix:
 * it counts as saved even if all caches are gone.  Kind and name of a dataset
 * in the caches are not those of another one with this number.
 */
static void
add_flushed(struct scavenge *s, const struct flush_entry *e)
{
	const struct index *ix = s->known.index;
	const struct nodecache_dataset like = {
		.id = e->id,
		.name = e->name,
		.ckpt = e->is_ckpt,
		.output = e->is_output,
		.world = -1,
	};
	struct salvage_dataset *d = salvage_find(&s->plan, e->id);
	const char *job = NULL;
	struct dataset is = { .created_us = -1 };
	struct index_entry k;
	const bool described =
		e->desc != NULL && dataset_read(e->desc, &is, NULL) == 0;
	/* Is it of the job whose caches we read? */
	const bool ours =
		described && is.job_id != NULL && str_eq(is.job_id, s->job->id);
	const bool indexed = ix != NULL &&
			     index_find_id(ix, e->id, &k, NULL) == 0 &&
			     index_entry_valid(&k);

	s->flush_ours = s->flush_ours || ours;
	/* A job is rebuilding what nobody has listed as complete. */
	if (!e->in_cache && !e->on_pfs)
		return;
	if (!described)
		is = (struct dataset){ .created_us = -1 };
	if (d != NULL) {
		const struct dataset cached = {
			.name = d->name,
			.created_us = (int64_t)d->created,
		};

		is.name = e->name;
		if (dataset_differs(&cached, &is)) {
			d->listed = ours;
			return;
		}
	}
	if (d == NULL && !flush_needed(e) && !indexed)
		return;
	/* The caches of another job have it, which are not asked. */
	if (d == NULL && !indexed && is.job_id != NULL && !ours) {
		job = str_shown(is.job_id);
		s->others_listed++;
		work_say(s->work,
			 "dataset %" PRId64
			 ": of job %s: not looked for; see --job-id %s",
			 e->id, job, job);
		return;
	}
	d = salvage_dataset(&s->plan, &like, NULL);
	d->listed = true;
	d->flushing = flush_needed(e) && (e->flushing || e->sync_flushing);
	d->ours = ours;
}

bool
scavenge_is_later(const struct scavenge *s, const struct index_entry *e,
		  const struct salvage_dataset *d)
{
	return index_entry_later(e, d->id, (int64_t)d->created,
				 d->ours ? s->job->id : NULL);
}

/* Add a valid checkpoint of the index. */
static struct salvage_dataset *
add_indexed(struct scavenge *s, const struct index_entry *e)
{
	const struct nodecache_dataset like = {
		.id = e->id,
		.name = e->name,
		.created = e->desc.created_us > 0 ? (uint64_t)e->desc.created_us
						  : 0,
		.ckpt = true,
		.output = e->desc.is_output,
		.world = -1,
	};

	return salvage_dataset(&s->plan, &like, NULL);
}

/*
 * Add the checkpoints of the index that are newer than all datasets in the
 * caches: a later job wrote them.  The restart point must not move back to an
 * older one.
 */
static void
add_newer(struct scavenge *s)
{
	for (size_t i = 0; i < s->known.count; i++) {
		const struct index_entry *e = &s->known.list[i];
		bool any = false, newest = true;

		/* Are there checkpoints in the caches, and is `e` later than
		 * all of them? */
		for (size_t k = 0; k < s->plan.count; k++) {
			const struct salvage_dataset *d = &s->plan.datasets[k];

			if (!d->ckpt || !(d->cached || d->listed) ||
			    d->created == 0)
				continue;
			newest = newest && scavenge_is_later(s, e, d);
			any = true;
		}
		if (index_entry_valid(e) && e->desc.is_ckpt && any && newest &&
		    salvage_find(&s->plan, e->id) == NULL)
			(void)add_indexed(s, e);
	}
}

/*
 * Find the datasets that the index claims to be on the prefix.  An entry in
 * flush.scr alone does not count, as no job could restart from the dataset; nor
 * does an entry of another dataset with the same number.
 */
static int
take_claims(struct scavenge *s, struct error *err)
{
	for (size_t i = 0; s->known.index != NULL && i < s->plan.count; i++) {
		struct salvage_dataset *d = &s->plan.datasets[i];
		const int64_t created = (int64_t)d->created;
		struct index_entry e;

		if (index_find_id(s->known.index, d->id, &e, NULL) < 0 ||
		    !index_entry_valid(&e))
			continue;
		d->claimed = created == 0 || e.desc.created_us <= 0 ||
			     created == e.desc.created_us;
		if (d->claimed)
			continue;
		if (scavenge_is_later(s, &e, d)) {
			/* Ids have started again since the job of these caches:
			 * `e` stays, and `d` is not copied. */
			work_say(s->work,
				 "dataset %" PRId64
				 ": the prefix has a newer one of this number: "
				 "the one in the caches is not copied",
				 d->id);
			salvage_leave(d);
			d->name = e.name == NULL
					  ? NULL
					  : arena_strdup(s->arena, e.name);
			d->created = (uint64_t)e.desc.created_us;
			d->ckpt = e.desc.is_ckpt;
			d->output = e.desc.is_output;
			d->claimed = true;
			salvage_plan(&s->plan);
		} else if (scavenge_check_number(s, d, false, err) < 0) {
			return -1;
		}
	}
	return 0;
}

/* The place of a rank in a set, if its redundancy file is on the prefix. */
static void
place_in(const struct plan *p, uint32_t set, uint32_t member,
	 struct arena *arena, struct nodecache_red *to)
{
	const struct plan_set *t = set == PLAN_NONE ? NULL : &p->sets[set];
	const struct plan_member *m =
		t != NULL && t->opened ? &t->members[member] : NULL;
	const struct plan_member *left = NULL;
	struct solve_member has = { .nlost = 0 };

	if (m == NULL || m->state != RED_PRESENT || !m->list.known)
		return;
	(void)plan_member_losses(p, t, m, arena, &has, NULL);
	left = &t->members[(member + t->n - 1) % t->n];
	*to = (struct nodecache_red){
		.there = true,
		.type = t->type,
		.set = t->number,
		.sets = t->sets,
		.member = member + 1,
		.members = t->n,
		.failures = t->failures,
		.chunk = t->chunk,
		.bytes = has.bytes,
		.left = left->list.bytes,
		.left_rank = left->list.known ? (int64_t)left->rank : -1,
		.nlost = has.nlost,
		.lost = has.lost,
	};
}

/* Note what the prefix has of each rank. */
static void
look_for_ranks(struct scavenge *s, struct salvage_dataset *d,
	       const struct catalogue_options *o)
{
	struct error why = ERROR_INIT;
	struct plan *p =
		catalogue_plan(s->prefix, d->id, PLAN_HEADERS, o, &why);
	struct salvage_here *here = NULL;

	/* What cannot be planned is of no use. */
	if (p == NULL || p->nranks < 0 ||
	    (d->world >= 0 && p->nranks != d->world)) {
		plan_free(p);
		return;
	}
	here = arena_alloc(s->arena, (size_t)p->nranks + 1, sizeof(*here));
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		here[i].whole = r->map.fate == FATE_KEEP;
		for (size_t k = 0; k < r->nfiles; k++)
			here[i].whole =
				here[i].whole &&
				p->files[r->first_file + k].fate == FATE_KEEP;
		place_in(p, r->data_set, r->data_member, s->arena,
			 &here[i].red);
		place_in(p, r->map_set, r->map_member, s->arena,
			 &here[i].mapred);
	}
	d->world = p->nranks;
	d->here = here;
	d->nhere = (uint32_t)p->nranks;
	scavenge_judge(&s->plan, d);
	plan_free(p);
}

/*
 * The index does not list the dataset, and the caches have lost it.  A flush or
 * a scavenge that was interrupted may have left all of it on the prefix, or a
 * part that together with the caches is enough.
 */
static int
look_for_rest(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	struct catalogue_options o = *s->o->catalogue;
	enum catalogue_identity is = CATALOGUE_SAME;
	struct error why = ERROR_INIT;
	struct build_result r;

	if (d->state != SALVAGE_LOST || d->unfinished || d->looked ||
	    d->taken != SALVAGE_FREE || catalogue_scr_fd(s->prefix) < 0 ||
	    dir_access(catalogue_scr_fd(s->prefix), dataset_dir_str(d->id),
		       F_OK) < 0)
		return 0;
	d->looked = true;
	if (catalogue_identify(s->prefix, d->id, (int64_t)d->created, &is,
			       err) < 0)
		return -1;
	if (is == CATALOGUE_ANOTHER)
		return 0;
	o.work.dry_run = true;
	o.work.log = NULL;
	o.compare = false;
	if (catalogue_build(s->prefix, d->id, &o, &r, &why) == 0 &&
	    (r.status == STATUS_OK || r.status == STATUS_DAMAGED)) {
		d->found = STATUS_DAMAGED;
		d->flaw = "on the prefix, but not in the index";
	} else {
		d->found = STATUS_LOST;
		look_for_ranks(s, d, &o);
	}
	return 0;
}

int
scavenge_look(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	static const char *const found[] = {
		[STATUS_FAILED] = "unknown whether it is whole",
		[STATUS_DAMAGED] = "damaged",
		[STATUS_LOST] = "lost",
	};
	struct index_entry e;
	struct fetchable f;

	if (!d->claimed)
		return look_for_rest(s, d, err);
	if (d->looked)
		return 0;
	d->looked = true;
	if (index_find_id(s->known.index, d->id, &e, err) < 0 ||
	    catalogue_fetchable(s->prefix, &e, s->o->catalogue, &f, err) < 0)
		return -1;
	d->found = f.status;
	d->done = f.status == STATUS_OK;
	if (d->done && d->ckpt && f.packed && !s->o->pack_current)
		work_say(s->work,
			 "dataset %" PRId64
			 ": saved in containers; LLNL's library cannot "
			 "restart from them: unpack the dataset before a job "
			 "with it starts",
			 d->id);
	if (d->done)
		return 0;
	d->flaw = arena_strdup(s->arena, f.why);
	work_say(s->work, "dataset %" PRId64 ": in the index, but %s: %s",
		 d->id, found[f.status], f.why);
	return 0;
}

/*
 * Did the job end before the dataset was complete?  Its filemaps say so; or it
 * has none, as libscr writes them last, when all ranks have valid files; or
 * neither the caches nor flush.scr list it as completed, which libscr may have
 * been unable to write.
 */
static bool
is_unfinished(const struct scavenge *s, const struct salvage_dataset *d)
{
	const bool described = d->ckpt || d->output;
	bool map = false;

	if (!d->cached || d->claimed || d->listed || d->id == s->o->only)
		return false;
	for (uint32_t i = 0; i < d->nranks; i++)
		for (const struct salvage_holder *h = d->ranks[i].holders;
		     h != NULL; h = h->next) {
			if (h->found.unfinished > 0)
				return true;
			map = map || h->found.map;
		}
	return !d->unread &&
	       (described ? s->flush_ours &&
				    (d->stray || d->state == SALVAGE_LOST)
			  : s->flush_ours || !map);
}

bool
scavenge_is_hopeful(const struct salvage_dataset *d)
{
	if (d->done || d->unfinished || d->taken != SALVAGE_FREE)
		return d->done;
	return d->state != SALVAGE_LOST || scavenge_is_mendable(d);
}

/*
 * Add the newest checkpoint that the index lists as valid and that is older
 * than `before` (microseconds since the epoch): if nothing newer is saved, the
 * next job restarts from it.  NULL: there is none.
 */
static struct salvage_dataset *
add_older(struct scavenge *s, int64_t before)
{
	const struct index_entry *best = NULL;
	struct salvage_dataset *d = NULL;

	for (size_t i = 0; i < s->known.count; i++) {
		const struct index_entry *e = &s->known.list[i];

		if (index_entry_valid(e) && e->desc.is_ckpt &&
		    e->desc.created_us < before &&
		    salvage_find(&s->plan, e->id) == NULL &&
		    (best == NULL ||
		     e->desc.created_us > best->desc.created_us))
			best = e;
	}
	if (best == NULL)
		return NULL;
	d = add_indexed(s, best);
	d->claimed = true;
	return d;
}

int
scavenge_look_ahead(struct scavenge *s, struct error *err)
{
	struct salvage_dataset *d = NULL;
	int64_t before = INT64_MAX;
	bool good = false;

	for (size_t i = s->plan.count; i-- > 0;) {
		d = &s->plan.datasets[i];
		/* A plan calls lost what the prefix lacks, too; a run may still
		 * replace files of that dataset. */
		if (!d->output && (good || !d->ckpt) &&
		    (d->state != SALVAGE_LOST || !s->work->dry_run))
			continue;
		if (scavenge_look(s, d, err) < 0)
			return -1;
		good = good || (d->ckpt && scavenge_is_hopeful(d));
	}
	if (good || s->plan.count == 0 || s->o->only > 0)
		return 0;
	/* Find the checkpoint on the prefix from which the next job restarts,
	 * if none that the caches or flush.scr know can be saved. */
	while (!good && (d = add_older(s, before)) != NULL) {
		before = (int64_t)d->created;
		if (scavenge_look(s, d, err) < 0)
			return -1;
		good = scavenge_is_hopeful(d);
	}
	salvage_plan(&s->plan);
	return 0;
}

int
scavenge_add_known(struct scavenge *s, struct error *err)
{
	struct error why = ERROR_INIT;
	struct jobfiles_flush f = { .count = 0 };

	/* An index that cannot be read is as good as none. */
	if (catalogue_entries(s->prefix, &s->known, &why) < 0)
		work_say(s->work, "%s: not used", why.text);
	if (catalogue_damaged(s->prefix))
		work_say_lines(s->work, catalogue_notice(s->prefix));
	error_clear(&why);
	s->flush_known = jobfiles_flush_read(s->job->prefix, &f, &why) == 0;
	if (!s->flush_known && why.kind != ERROR_ABSENT)
		work_say(s->work, "%s: not used", why.text);
	s->flush_ours = s->flush_known && f.count == 0;
	for (size_t i = 0; s->flush_known && i < f.count; i++)
		add_flushed(s, &f.all[i]);
	jobfiles_flush_free(&f);
	add_newer(s);
	salvage_plan(&s->plan);
	if (take_claims(s, err) < 0)
		return -1;
	for (size_t i = 0; i < s->plan.count; i++)
		s->plan.datasets[i].unfinished =
			is_unfinished(s, &s->plan.datasets[i]);
	return scavenge_look_ahead(s, err);
}
