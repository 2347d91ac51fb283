/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.c - scr_index --build: check, rebuild, record.
 *
 * Nothing on disk changes until it is known that the dataset can be made
 * complete, and the index entry is written last.  So whatever was valid stays
 * valid if a build is interrupted, and the build can be repeated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "catalogue/share.h"
#include "container/joint.h"
#include "container/segmap.h"
#include "error.h"
#include "lock.h"
#include "mem.h"
#include "meta/index.h"
#include "rescue/deep.h"
#include "rescue/part.h"
#include "str.h"
#include "work.h"

struct build {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct catalogue_options strict; /* `o`, or with checksums */
	int64_t replaced; /* the dataset that replaced its files; 0 */
	struct build_result *out;
	struct catalogue_dir dir;
	char subject[32]; /* "dataset 5" */
	struct index *ix; /* before the build; NULL: not usable */
	struct plan *plan;
	struct rank2file old; /* before the build */
	bool have_old;
	struct catalogue_desc desc;
	bool described; /* desc is known */
	bool helped;	/* others may have written files */
	bool changed;	/* a file was written */
	bool doubtful;	/* redundancy contradicts what was built */
};

/* --- Existing metadata --- */

/* Read the index and rank2file, if they are usable. */
static int
read_old(struct build *b, struct error *err)
{
	enum catalogue_state state = CATALOGUE_GOOD;
	struct rank2file r = { .nranks = 0 };
	struct error why = ERROR_INIT;

	if (catalogue_load(b->c, &b->ix, &state, &why) < 0)
		return error_pass(err, &why);
	error_clear(&why);
	if (rank2file_load(b->dir.fd, RANK2FILE_FILE, &b->old, &why) == 0) {
		b->have_old = true;
		return 0;
	}
	if (why.kind != ERROR_CORRUPT && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (why.kind == ERROR_CORRUPT)
		work_say(&b->o->work, "%s: %s: not used", b->dir.name,
			 why.text);
	if (b->o->work.dry_run)
		return 0;
	/* Does what is left of a damaged rank2file have checksums?  They are
	 * recorded anew, so they are compared first.  A dry run only promises
	 * what a look finds. */
	error_clear(&why);
	if (rank2file_load_left(b->dir.fd, &r, &why) < 0 &&
	    !catalogue_is_verdict(&why))
		return error_pass(err, &why);
	for (size_t i = 0; i < r.nranks && !b->strict.checksums; i++)
		for (size_t k = 0; k < r.ranks[i].nfiles; k++)
			b->strict.checksums |= r.ranks[i].files[k].has_crc;
	b->strict.compare |= b->strict.checksums;
	b->out->compared = b->strict.checksums;
	rank2file_free(&r);
	return 0;
}

/* --- Deep check of the redundancy --- */

static bool
is_unknown(const struct plan *p)
{
	return p->verdict != SET_LOST && plan_status(p) == STATUS_FAILED;
}

/* Report what the deep check finds and marks.  ERROR_DAMAGED: it cannot be
 * determined which file is wrong. */
static int
look_closer(struct build *b, bool deep, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct error why = ERROR_INIT;
	int rc = 0;

	if (b->o->compare && deep)
		catalogue_say_unproved(b->plan, b->subject, &b->o->work);
	if (rebuild_search(b->plan, deep, b->o->checksums && b->o->work.dry_run,
			   &b->o->work, &r, err) < 0)
		return -1;
	b->out->undecided = deep_stuck(b->plan, &r) && !is_unknown(b->plan);
	for (size_t i = 0; i < r.nfindings && rc == 0; i++) {
		const struct deep_finding *f = &r.findings[i];
		const bool located = !deep_is_open(b->plan, f);

		deep_error(b->plan, f, &why);
		if (!located &&
		    (is_unknown(b->plan) ||
		     (b->plan->verdict == SET_LOST &&
		      plan_data_status(b->plan) != STATUS_DAMAGED))) {
			rc = plan_error(b->plan, err);
		} else if (!located) {
			rc = error_as(err, &why, "%s: %s", b->subject,
				      why.text);
		} else {
			work_say(&b->o->work, "%s: %s", b->subject, why.text);
			if (f->file != PLAN_NONE && !b->o->work.dry_run)
				plan_sums_forget(b->plan, f->file);
		}
	}
	deep_free(&r);
	return rc == 0 && b->plan->flaw != NULL ? plan_error(b->plan, err) : rc;
}

/* --- Datasets with a plan --- */

/* Does the rebuild have anything to write? */
static bool
needs_rebuild(const struct plan *p)
{
	return p->files_rebuild + p->maps_missing + p->red_missing > 0 ||
	       p->verdict != SET_WHOLE;
}

static int
mend(struct build *b, struct error *err)
{
	struct owners_guard owners = { b->c, b->dir.id, .o = b->o };
	struct rebuild_options ro = {
		.work = &b->o->work,
		.guard = { owners_ask, &owners, owners_failed },
	};
	const struct plan *p = b->plan;
	int lock = -1, rc = 0;

	if (!needs_rebuild(p))
		return 0;
	/* Who still writes, given up by others, loses its files to this
	 * process. */
	lock = plan_lock_sets(p, b->o->work.stop, NULL);
	ro.unlocked = b->helped || lock == -1;
	for (size_t i = 0; i < p->nfiles; i++)
		b->plan->files[i].sum.wanted = p->files[i].fate == FATE_REBUILD;
	rc = rebuild(b->plan, &ro, &b->out->rebuild, err);
	lock_shares_close(p->places[0].meta_fd, lock);
	if (rc < 0) {
		b->out->undecided = b->out->rebuild.undecided;
		return -1;
	}
	/* A set was left alone: nothing is recorded of what contradicts
	 * itself. */
	if (p->undecided) {
		b->out->undecided = true;
		return error_set_remedy(
			err, REMEDY_CHOOSE, ERROR_DAMAGED,
			"%s: a redundancy set contradicts itself, and nothing "
			"shows what is wrong in it; others were rebuilt",
			b->subject);
	}
	b->changed =
		b->changed || b->out->rebuild.files + b->out->rebuild.maps > 0;
	/* The rebuild may have found more damaged files. */
	for (size_t i = 0; i < p->nfiles; i++)
		b->plan->files[i].sum.wanted |=
			p->files[i].fate == FATE_REBUILD;
	if (!b->o->checksums)
		return 0;
	return plan_sums_read(b->plan, true, &b->o->work, err);
}

/* No checksum is recorded of files that are older than recorded, or whose
 * redundancy contradicts them, or could not be compared with them. */
static void
forget_unproven(struct build *b)
{
	const struct plan *p = b->plan;

	for (size_t i = 0; i < p->nfiles; i++) {
		const uint32_t at = p->ranks[p->files[i].rank].data_set;
		const struct plan_set *s =
			at != PLAN_NONE ? &p->sets[at] : NULL;

		if (!p->files[i].has_crc &&
		    (p->files[i].older ||
		     (s != NULL && redset_is_redundant(s->type) &&
		      (s->doubtful || s->verdict == SET_LOST))))
			b->plan->files[i].sum.known = false;
		b->doubtful = b->doubtful || (s != NULL && s->doubtful);
	}
}

/* Add the checksums that were computed to rank2file.  True: there was one that
 * is not recorded. */
static bool
add_sums(struct build *b)
{
	const struct plan *p = b->plan;
	bool news = false;

	for (size_t i = 0; i < b->old.nranks; i++) {
		for (size_t k = 0; k < b->old.ranks[i].nfiles; k++) {
			const size_t at = p->ranks[i].first_file + k;
			struct rank2file_file *to = &b->old.ranks[i].files[k];

			if (!p->files[at].sum.known ||
			    (to->has_size && to->has_crc))
				continue;
			news = true;
			to->node = NULL; /* `to` has all keys of the node */
			to->has_size = to->has_crc = true;
			to->size = p->files[at].attr.size;
			to->crc = p->files[at].sum.crc;
		}
	}
	return news;
}

/* Make the rank2file of the plan.  Files are in the order of the filemaps, as
 * in LLNL's tool. */
static int
ranks_of_plan(const struct build *b, struct rank2file *out, struct error *err)
{
	const struct plan *p = b->plan;
	struct rank2file_file *files = NULL;

	out->arena = arena_new();
	out->nranks = (size_t)p->nranks;
	out->ranks = arena_alloc(out->arena, out->nranks, sizeof(*out->ranks));
	files = arena_alloc(out->arena, p->nfiles + 1, sizeof(*files));
	if (out->ranks == NULL || files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < p->nfiles; i++)
		files[i] = (struct rank2file_file){
			.path = p->files[i].path,
			.has_size = p->files[i].sum.known,
			.has_crc = p->files[i].sum.known,
			.size = p->files[i].attr.size,
			.crc = p->files[i].sum.crc,
		};
	for (size_t i = 0; i < out->nranks; i++)
		out->ranks[i] = (struct rank2file_rank){
			.present = true,
			.nfiles = p->ranks[i].nfiles,
			.files = files + p->ranks[i].first_file,
		};
	return 0;
}

/* Write rank2file, summary and index entry. */
static int
record(struct build *b, const struct rank2file *r, struct error *err)
{
	const char *root = b->plan->moved ? b->plan->recorded_root : NULL;

	if (catalogue_record_ranks(&b->dir, b->have_old ? &b->old : NULL, r,
				   &b->changed, err) < 0)
		return -1;
	/* A flush into containers may not have ended.  Without their table, as
	 * its file was lost, none of them is removed. */
	if (r->containers != NULL || !segmap_is_packed(r))
		joint_end(b->dir.fd, r->containers);
	if (catalogue_record_summary(&b->dir, &b->desc, &b->changed, err) < 0)
		return -1;
	return catalogue_record_entry(b->c, &b->desc, root, b->changed, b->o,
				      err);
}

/* Find the descriptor; report a composed one, or one that disagrees with the
 * filemaps. */
static int
describe(struct build *b, struct error *err)
{
	const struct catalogue_sources from = { b->c, &b->dir, b->ix, b->plan,
						b->o };
	const struct dataset *v = &b->desc.view;

	if (catalogue_describe(&from, &b->desc, err) < 0 ||
	    catalogue_check_given_up(&b->dir, &b->desc, err) < 0)
		return -1;
	b->out->descriptor_guessed = b->desc.composed;
	memcpy(b->out->name, v->name,
	       strnlen(v->name, sizeof(b->out->name) - 1));
	if (b->desc.composed)
		work_say(&b->o->work,
			 "%s: no descriptor found: identified as %s %s, by "
			 "the log and the names of its files",
			 b->subject, v->is_ckpt ? "checkpoint" : "output",
			 str_shown(v->name));
	if (v->files >= 0 && (v->files != (int64_t)b->plan->nfiles ||
			      v->bytes != b->plan->bytes))
		work_say(&b->o->work,
			 "%s: its descriptor says %" PRId64 " files of %" PRIu64
			 " bytes, its filemaps %zu files of %" PRIu64 " bytes",
			 b->subject, v->files, v->bytes, b->plan->nfiles,
			 b->plan->bytes);
	return 0;
}

static int
build_plan(struct build *b, struct error *err)
{
	struct rank2file r = { .arena = NULL };
	struct error why = ERROR_INIT;
	struct plan *p = b->plan, *now = NULL;
	bool flushed = true;
	int rc = -1;

	b->out->ranks = p->nranks > 0 ? (size_t)p->nranks : 0;
	b->out->files = p->nfiles;
	b->out->bytes = p->bytes;
	if (p->nranks <= 0)
		return error_set(err, ERROR_CORRUPT,
				 "%s: its number of ranks is not recorded",
				 b->subject);
	if (p->verdict == SET_LOST) {
		plan_error(p, err);
		if (plan_data_status(p) != STATUS_DAMAGED)
			return -1;
		work_say(&b->o->work,
			 "%s: no data are lost, but redundancy is: %s",
			 b->subject, err != NULL ? err->text : "");
		error_clear(err);
	}
	if (!b->described && describe(b, err) < 0)
		return -1;
	if (b->o->work.dry_run) {
		b->out->rebuild.files = p->files_rebuild;
		b->out->rebuild.maps = p->maps_missing;
		b->out->rebuild.redundancy = p->red_missing;
		if (needs_rebuild(p))
			b->out->status = STATUS_DAMAGED;
		return 0;
	}
	if (p->outdated) {
		/* Summary and rank2file are those of an older dataset with this
		 * number, whose files have been replaced. */
		rank2file_free(&b->old);
		b->have_old = false;
		b->changed = true;
		if (catalogue_supersede(b->c, b->dir.id, false, b->o, err) < 0)
			return -1;
	}
	if (mend(b, err) < 0)
		return -1;
	forget_unproven(b);
	/* For a packed dataset, rank2file is the map of the containers.  For a
	 * flushed one, it is the witness: nothing else names the files. */
	for (int64_t i = 0; i < p->nranks; i++)
		flushed = flushed && p->ranks[i].composed;
	if (b->have_old && (p->packed || flushed)) {
		if (!p->packed)
			b->have_old = !add_sums(b);
		rc = record(b, &b->old, err);
		/* The map was damaged, and has been written again: what is left
		 * of it? */
		if (rc == 0 && b->old.flaw != NULL)
			now = catalogue_plan_as(b->c, b->dir.id, b->o, NULL);
		if (now != NULL)
			b->out->map =
				catalogue_map_flaw(now, b->out->map_flaw,
						   sizeof(b->out->map_flaw));
		plan_free(now);
	} else if (ranks_of_plan(b, &r, err) == 0) {
		rc = record(b, &r, err);
	}
	/* Remove the records of copying, as rank2file now has the checksums.
	 * The dataset is whole with them, too. */
	if (rc == 0 && p->copied &&
	    catalogue_dir_clear(&b->dir, CATALOGUE_KIND(COPIED), &why) < 0)
		work_say(&b->o->work, "%s: kept", why.text);
	rank2file_free(&r);
	return rc;
}

/* --- Entry point --- */

/* Let others rebuild, if the dataset may be built. */
static int
get_help(struct build *b, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	if (b->o->work.dry_run || b->replaced > 0 || b->plan->nranks <= 0)
		return 0;
	b->described = describe(b, &why) == 0;
	if (b->described)
		rc = b->o->help(b->o->helper, b->c, b->dir.id, b->o, &b->plan,
				err);
	b->helped = b->changed = rc > 0;
	return rc < 0 ? -1 : 0;
}

static int
build(struct build *b, int64_t id, struct error *err)
{
	if (catalogue_dir_open(b->c, id, &b->dir, err) < 0 ||
	    (!b->o->work.dry_run &&
	     catalogue_dir_lock(b->c, &b->dir, b->o, err) < 0) ||
	    catalogue_replaced(b->c, id, b->o, &b->replaced, err) < 0)
		return -1;
	b->strict.checksums = b->o->checksums || b->replaced > 0;
	/* No checksum is recorded of what its redundancy contradicts. */
	b->strict.compare = b->o->compare || b->strict.checksums;
	b->out->compared = b->strict.checksums;
	if (read_old(b, err) < 0)
		return -1;
	b->plan = catalogue_build_plan(b->c, b->dir.id, b->o, err);
	if (b->plan == NULL || (b->o->help != NULL && get_help(b, err) < 0))
		return -1;
	/* A lost dataset is not built, whatever its other files contain. */
	if (b->o->checksums && plan_data_status(b->plan) != STATUS_LOST &&
	    plan_sums_compare(b->plan, &b->o->work, err) < 0)
		return -1;
	b->out->map = catalogue_map_flaw(b->plan, b->out->map_flaw,
					 sizeof(b->out->map_flaw));
	/* What only the bytes behind a damaged header give may turn out to be
	 * lost. */
	if (b->plan->flaw != NULL ||
	    (b->plan->unproved == NULL && is_unknown(b->plan)))
		return plan_error(b->plan, err);
	if (catalogue_refuse_unproved(b->plan, b->replaced, err) < 0 ||
	    look_closer(
		    b, b->o->deep || (b->o->compare && !plan_provable(b->plan)),
		    err) < 0)
		return -1;
	return is_unknown(b->plan) ? plan_error(b->plan, err)
				   : build_plan(b, err);
}

static void
note_left(void *arg, const char *what)
{
	struct build_result *out = arg;

	if (out->left[0] == '\0')
		snprintf(out->left, sizeof(out->left), "%s", what);
}

/* Does the dataset claim to be complete?  Then what it lacks is damage.  Where
 * the index does not tell, a summary does, also one that cannot be read. */
static bool
is_claimed(const struct build *b, struct index_entry *e)
{
	struct catalogue_desc s = { .tree = NULL };
	struct error why = ERROR_INIT;
	bool claimed = false;

	if (b->ix != NULL && !b->c->remade)
		return index_find_id(b->ix, b->dir.id, e, NULL) == 0 &&
		       e->complete == 1;
	claimed = catalogue_read_summary(&b->dir, &s, &why) < 0
			  ? why.kind != ERROR_ABSENT
			  : s.complete == 1;
	catalogue_desc_free(&s);
	return claimed;
}

/* Look at what was built, or in a dry run at what is there.  A job must be able
 * to restart from it; other damage that is left is told. */
static int
look_after(struct build *b, struct error *err)
{
	const struct rebuild_result *done = &b->out->rebuild;
	const bool rebuilt =
		!b->out->dry_run && (b->helped || rebuild_wrote(done));
	struct catalogue_options quiet = {
		.work = b->o->work,
		.moved_from = b->o->moved_from,
		.deep = b->doubtful || (b->o->deep && rebuilt),
		.checksums = b->o->checksums && rebuilt,
	};
	const struct verify_listener left = { note_left, b->out };
	struct index_entry e = { .id = b->dir.id, .complete = -1 };
	struct verify_result r;

	if (b->out->dry_run && !is_claimed(b, &e))
		return 0;
	b->out->deep = quiet.deep;
	quiet.work.log = quiet.work.detail = NULL;
	quiet.work.progress = NULL;
	if (catalogue_verify(b->c, &e, &quiet, &left, &r, err) < 0)
		return -1;
	/* What could not be read may be right. */
	b->out->status = error_worse_status(
		b->out->status, r.unread ? STATUS_FAILED : r.status);
	if (b->out->dry_run && b->ix == NULL)
		b->out->status =
			error_worse_status(b->out->status, STATUS_DAMAGED);
	/* The map of the containers is mended by another command. */
	if (b->out->dry_run || r.mend >= REMEDY_REPACK)
		return 0;
	return fetchable_error(&r.fetch, err) < 0
		       ? error_wrap(err, "%s: after the build", b->subject)
		       : 0;
}

int
catalogue_build(struct catalogue *c, int64_t id,
		const struct catalogue_options *o, struct build_result *out,
		struct error *err)
{
	struct error why = ERROR_INIT;
	struct build b = {
		.c = c,
		.o = &b.strict,
		.strict = *o,
		.out = out,
		.dir = CATALOGUE_DIR_INIT,
	};
	int rc = -1;

	memset(out, 0, sizeof(*out));
	snprintf(b.subject, sizeof(b.subject), "dataset %" PRId64, id);
	out->status = STATUS_OK;
	out->dry_run = o->work.dry_run;
	c->building = id;
	rc = build(&b, id, &why);
	if (rc == 0)
		rc = look_after(&b, &why);
	c->building = 0;
	if (rc < 0)
		out->status = error_status(why.kind);
	if (b.plan != NULL) {
		out->barred = b.plan->barred > 0;
		plan_find_way(b.plan, &out->way);
	}
	plan_free(b.plan);
	catalogue_desc_free(&b.desc);
	rank2file_free(&b.old);
	index_free(b.ix);
	catalogue_dir_close(&b.dir);
	if (rc < 0)
		error_pass(err, &why);
	return rc;
}

int
catalogue_restore_maps(struct catalogue *c, int64_t id,
		       const struct catalogue_options *o, size_t *restored,
		       struct error *err)
{
	struct owners_guard owners = { c, id, .o = o };
	const struct rebuild_options ro = {
		.work = &o->work,
		.guard = { owners_ask, &owners, owners_failed },
		.extent = REBUILD_PARTIAL,
	};
	struct catalogue_dir dir = CATALOGUE_DIR_INIT;
	struct rebuild_result result = { .maps = 0 };
	struct plan *p = NULL;
	int rc = -1;

	if (catalogue_dir_open(c, id, &dir, err) < 0 ||
	    catalogue_dir_lock(c, &dir, o, err) < 0)
		goto out;
	p = catalogue_plan_as(c, id, o, err);
	if (p != NULL)
		rc = p->maps_missing > 0 ? rebuild(p, &ro, &result, err) : 0;
	*restored = result.maps;
out:
	plan_free(p);
	catalogue_dir_close(&dir);
	return rc;
}
