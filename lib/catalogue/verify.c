/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - scr_index --verify: is a dataset whole?  Change nothing.
 *
 * A plan checks the files, the redundancy and the recorded checksums.  Then the
 * metadata are judged that the library reads at a restart (fetchable.c):
 * without them no job restarts from the files.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "rescue/deep.h"
#include "rescue/part.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "str.h"

/* Buffer size for a path in a sentence. */
#define VERIFY_SHOWN 512

struct verify {
	struct catalogue *c;
	const struct index_entry *e;
	const struct catalogue_options *o;
	struct verify_result *out;
	const struct verify_listener *problems; /* or NULL */
	size_t reported;			/* problems reported so far */
	struct catalogue_dir dir;
	struct catalogue_fetch fetch;
	bool by_hand; /* only the user can repair some of the damage */
	bool map_looked;
	enum error_remedy map;	 /* catalogue_map_flaw() */
	enum error_remedy spare; /* catalogue_plan_mend() */
};

/* Report one problem, and set the status that follows from it; with `fetch`,
 * also whether the library can fetch the dataset. */
__attribute__((format(printf, 4, 5))) static void
say(struct verify *v, int status, bool fetch, const char *fmt, ...)
{
	struct fetchable *f = &v->out->fetch;
	char text[ERROR_TEXT_MAX + VERIFY_SHOWN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->reported++;
	v->out->status = error_worse_status(v->out->status, status);
	if (v->problems != NULL)
		v->problems->tell(v->problems->arg, text);
	if (!fetch || error_worse_status(f->status, status) == f->status)
		return;
	f->status = status;
	snprintf(f->why, sizeof(f->why), "%.*s", (int)sizeof(f->why) - 1, text);
}

/* A problem that keeps the library from fetching the dataset; damage that only
 * matters after another loss. */
#define report(v, status, ...) say(v, status, true, __VA_ARGS__)
#define report_spare(v, ...) say(v, STATUS_DAMAGED, false, __VA_ARGS__)

/* catalogue_map_flaw() of the rank2file that was read, and of the metadata
 * packed with it. */
static enum error_remedy
map_flaw_of(const struct verify *v, char *to, size_t size)
{
	const struct rank2file *r = v->fetch.ranks;
	struct hidden h = { .arena = NULL };
	enum error_remedy mend = REMEDY_NONE;
	struct segmap m;

	if (!segmap_is_packed(r) || segmap_read(&m, r, NULL) < 0)
		return REMEDY_NONE;
	if (hidden_load(&h, v->dir.fd, r, &m, NULL) < 0)
		h = (struct hidden){ .arena = NULL };
	if (packed_map_flaw(r, &h, to, size))
		mend = h.incomplete ? REMEDY_FORCE : REMEDY_REPACK;
	hidden_free(&h);
	segmap_free(&m);
	return mend;
}

/* Report damage of the containers' map, once; `p` may be NULL. */
static void
note_map(struct verify *v, const struct plan *p)
{
	char text[ERROR_TEXT_MAX];

	if (v->map_looked || (p == NULL && v->fetch.ranks == NULL))
		return;
	v->map_looked = p == NULL || p->packed;
	v->map = p != NULL ? catalogue_map_flaw(p, text, sizeof(text))
			   : map_flaw_of(v, text, sizeof(text));
	if (v->map == REMEDY_UNPACK)
		report_spare(v, "%s", text);
	else if (v->map != REMEDY_NONE)
		report(v, STATUS_DAMAGED, "%s", text);
}

/* --- By the plan: files, redundancy, recorded checksums --- */

/* What becomes of a file or filemap, in words, and the status.  What seems lost
 * may exist if something else could not be read. */
static int
judge(const struct plan *p, enum fate f, const char **words)
{
	const bool unknown = plan_status(p) == STATUS_FAILED;

	*words = f == FATE_REBUILD ? "can be rebuilt"
		 : unknown	   ? "unknown"
				   : "lost";
	return f == FATE_REBUILD ? STATUS_DAMAGED
	       : unknown	 ? STATUS_FAILED
				 : STATUS_LOST;
}

static void
report_files(struct verify *v, const struct plan *p)
{
	v->out->files = p->nfiles;
	v->out->total_compared = p->total_compared;
	v->out->nameless = p->maps_lost > 0 || p->unfinished;
	v->out->unread = p->unread > 0;
	plan_find_way(p, &v->out->way);
	v->by_hand = v->by_hand || p->was != NULL;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		char path[VERIFY_SHOWN];
		const char *fate = NULL;
		int status = 0;

		if (f->state == FILE_PRESENT || f->found) {
			v->out->bytes += f->attr.size;
			v->out->unchecked += !f->attr.has_size;
			continue;
		}
		v->out->bad_files++;
		if (f->astray) /* the verdict tells */
			continue;
		status = judge(p, f->fate, &fate);
		str_printable(path, sizeof(path), f->path);
		if (f->state == FILE_WRONG_SIZE)
			report(v, status,
			       "%s: %" PRIu64 " bytes, should be %" PRIu64
			       " (rank %" PRIu32 "): %s",
			       path, f->found_size, f->attr.size, f->rank,
			       fate);
		else
			report(v, status, "%s: %s (rank %" PRIu32 "): %s", path,
			       file_state_name(f->state), f->rank, fate);
	}
}

/* Report lost filemaps: which files the ranks had is unknown. */
static int
report_maps(struct verify *v, const struct plan *p, struct error *err)
{
	uint32_t *lost = mem_alloc((size_t)p->nranks + 1, sizeof(*lost));
	const char *fate = NULL;
	size_t n = 0;
	int status = 0;

	if (lost == NULL)
		return error_no_memory(err);
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		if (r->map.fate == FATE_LOST)
			lost[n++] = (uint32_t)i;
		else if (r->map.fate == FATE_REBUILD)
			report_spare(
				v,
				"filemap of rank %" PRId64
				": %s: can be rebuilt",
				i, r->map.why != NULL ? r->map.why : "missing");
	}
	/* The verdict tells of those that are unknown. */
	status = judge(p, FATE_LOST, &fate);
	if (n > 0 && status != STATUS_FAILED)
		report(v, status,
		       "%s of %s %s: %s, so the files of %zu %s are unknown",
		       n == 1 ? "filemap" : "filemaps", str_plural(n, "rank"),
		       plan_ranks_text(p, lost, n), fate, str_count(n, "rank"));
	mem_free(lost);
	return 0;
}

/* Report damaged or missing redundancy, even if the data are right: they are
 * not protected from the next loss. */
static void
report_set(struct verify *v, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		if (!redset_is_redundant(s->type) || m->found ||
		    (m->fate == FATE_KEEP && m->state != RED_DAMAGED &&
		     m->state != RED_HEADER_DAMAGED))
			continue;
		report_spare(v,
			     "%s, member %" PRIu32 " of %" PRIu32
			     " of set %" PRIu32 " (%s%s): %s",
			     m->name != NULL ? m->name : "redundancy file",
			     i + 1, s->n, s->number, redset_type_name(s->type),
			     s->map ? " over filemaps" : "",
			     m->problem != NULL ? m->problem
						: red_state_name(m->state));
	}
}

/* The verdict of the plan gives the reason of a loss.  If all data are present,
 * or under another name, lost redundancy is only damage. */
static void
report_verdict(struct verify *v, const struct plan *p)
{
	struct error why = ERROR_INIT;

	/* A lost file that no set protects has been reported. */
	if (plan_error(p, &why) == 0 ||
	    (why.kind == ERROR_DAMAGED && p->flaw == NULL && v->reported > 0) ||
	    (v->reported > 0 && p->flaw == NULL && p->nsets == 0 &&
	     p->maps_lost == 0))
		return;
	if (plan_data_status(p) == STATUS_DAMAGED && p->flaw == NULL)
		report_spare(v, "%s", why.text);
	else
		report(v, error_status(why.kind), "%s", why.text);
}

static int
by_plan(struct verify *v, struct plan *p, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct error why = ERROR_INIT;
	int rc = 0;

	/* The plan has compared them. */
	for (size_t i = 0; v->o->checksums && rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (!f->has_crc ||
		    (f->state != FILE_PRESENT && f->state != FILE_WRONG_CRC))
			continue;
		v->out->crc_checked++;
		v->out->crc_bytes += f->attr.size;
	}
	/* With what it finds, more may be lost. */
	if (rc == 0)
		rc = rebuild_search(p, v->o->deep, v->o->checksums, &v->o->work,
				    &r, err);
	if (rc == 0)
		rc = report_maps(v, p, err);
	if (rc == 0) {
		report_files(v, p);
		for (size_t i = 0; i < p->nsets; i++)
			report_set(v, &p->sets[i]);
		for (size_t i = 0; i < r.nfindings; i++) {
			const struct deep_finding *f = &r.findings[i];

			deep_error(p, f, &why);
			v->by_hand = v->by_hand || deep_is_open(p, f);
			report(v, error_status(why.kind), "%s", why.text);
			v->out->bad_files += f->file != PLAN_NONE;
		}
		v->out->undecided = deep_undecided(&r);
		v->out->stuck = deep_stuck(p, &r);
		v->out->deep_sets += r.sets_checked;
		report_verdict(v, p);
		rc = catalogue_fetch_match(&v->fetch, p, err);
	}
	deep_free(&r);
	if (rc == 0)
		note_map(v, p);
	return rc;
}

/* --- What the library reads first --- */

/* Judge the metadata and the index entry, after the files.  Metadata that can
 * be written again are damaged, not lost. */
static void
report_fetch(struct verify *v, bool has_plan)
{
	const struct catalogue_fetch *f = &v->fetch;
	const int status = !has_plan ? STATUS_FAILED
			   : v->out->fetch.status != STATUS_LOST && !f->unproved
				   ? STATUS_DAMAGED
				   : STATUS_LOST;
	char reason[VERIFY_SHOWN];

	v->out->fetch.packed = f->packed;
	if (f->desc.tree != NULL && f->desc.view.complete == 0)
		report(v, STATUS_LOST,
		       SUMMARY_FILE ": the job declared the dataset "
				    "invalid");
	note_map(v, NULL);
	/* LLNL's library fetches no packed dataset, and unpacking writes its
	 * rank2file again. */
	if (f->ranks != NULL && f->ranks->refused != NULL && !f->packed)
		report(v, STATUS_DAMAGED, "%s", f->ranks->refused);
	if (f->no_ranks.kind != ERROR_NONE)
		report(v, status, "%s", f->no_ranks.text);
	if (f->no_summary.kind != ERROR_NONE)
		report(v, status, "%s", f->no_summary.text);
	if (v->e->desc.id == 0)
		return;
	index_entry_reason(v->e, reason, sizeof(reason));
	if (reason[0] != '\0' && (v->e->complete != 1 || !v->e->current))
		report(v, STATUS_DAMAGED, "its index entry: %s", reason);
}

/* --- Without a metadata directory --- */

static void
report_flaw(void *arg, const struct packed_flaw *f)
{
	report(arg,
	       f->file != SIZE_MAX && !f->red ? STATUS_LOST : STATUS_DAMAGED,
	       "%s", f->text);
}

/* Without a directory, or in the layout of SCR 1.1.8. */
static int
verify_gone(struct verify *v, struct error *err)
{
	const struct packed_look look = {
		.work = &v->o->work,
		.sums = v->o->checksums,
		.flaw = report_flaw,
		.arg = v,
	};
	struct packed_health h = { .files = 0 };
	const char *like = NULL;
	struct packed p;
	int rc = 0;

	v->by_hand = true;
	if (v->e->name == NULL || !packed_is_old(v->c->prefix_fd, v->e->name)) {
		rc = catalogue_renamed_meta(v->c, v->e->id, &like, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			report(v, STATUS_LOST,
			       "its metadata directory is missing: its files "
			       "are unknown");
			return 0;
		}
		snprintf(v->out->way.was, PLAN_WAY_MAX,
			 SCR_DIR "/" DATASET_DIR_FMT, v->e->id);
		snprintf(v->out->way.is, PLAN_WAY_MAX, SCR_DIR "/%s", like);
		report(v, STATUS_DAMAGED,
		       "its metadata directory " DATASET_DIR_FMT
		       " is gone; %s looks like it: rename it back",
		       v->e->id, str_shown(like));
		return 0;
	}
	if (catalogue_packed_open(v->c, word_id_str(v->e->id), NULL, v->o, &p,
				  err) < 0)
		return -1;
	rc = packed_check(&p, &look, &h, err);
	if (h.unread > 0)
		report(v, STATUS_FAILED, "%zu %s could not be read: unknown",
		       str_count(h.unread, "file"));
	v->out->files = h.files;
	v->out->bad_files = h.files_bad;
	v->out->bytes = h.bytes;
	v->out->unchecked = h.no_sum;
	v->out->crc_checked = v->o->checksums ? h.files - h.no_sum : 0;
	v->out->crc_bytes = h.read;
	packed_health_free(&h);
	packed_close(&p);
	return rc;
}

/* Report a path that a packed map lists twice. */
static void
report_twins(struct verify *v)
{
	const struct rank2file *r = v->fetch.ranks;
	struct error why = ERROR_INIT;
	struct segmap m;

	if (r == NULL || !segmap_is_packed(r) || segmap_read(&m, r, NULL) < 0)
		return;
	if (segmap_refuse_twins(&m, NULL, ERROR_DAMAGED, "the map is damaged",
				&why) < 0) {
		v->by_hand = true;
		report(v, STATUS_DAMAGED, "%s", why.text);
	}
	segmap_free(&m);
}

/* --- Entry points --- */

/* Read summary and rank2file. */
static int
read_meta(struct verify *v, const struct plan *p, struct error *err)
{
	int64_t by = 0;

	if (catalogue_fetch_read(&v->fetch, &v->dir, v->e, p, err) < 0)
		return -1;
	if (v->fetch.replaced > 0 &&
	    catalogue_replaced(v->c, v->e->id, v->o, &by, NULL) == 0 && by == 0)
		catalogue_fetch_spared(&v->fetch);
	return 0;
}

/* Make the plan, and let others read what is to be read. */
static struct plan *
make_plan(struct verify *v, struct error *err)
{
	const bool shared =
		v->o->help != NULL && (v->o->checksums || v->o->deep);
	struct catalogue_options o = *v->o;
	struct plan *p = NULL;
	int sets = 0;

	o.checksums = o.checksums && !shared;
	p = catalogue_plan_as(v->c, v->dir.id, &o, err);
	if (p == NULL || !shared)
		return p;
	sets = o.help(o.helper, v->c, v->dir.id, v->o, &p, err);
	if (sets > 0 && v->o->checksums && plan_check_kept(p, &o.work, err) < 0)
		sets = -1;
	if (sets > 0 && p->verdict != SET_LOST && p->flaw == NULL) {
		v->out->deep_sets = (size_t)sets - 1;
		return p;
	}
	/* As if there were no others. */
	plan_free(p);
	return sets < 0 ? NULL : catalogue_plan_as(v->c, v->dir.id, v->o, err);
}

static int
verify(struct verify *v, struct error *err)
{
	struct error why = ERROR_INIT;
	struct plan *p = NULL;
	int rc = -1;

	if (catalogue_dir_open(v->c, v->e->id, &v->dir, &why) < 0) {
		if (why.kind == ERROR_ABSENT)
			return verify_gone(v, err);
		return error_pass(err, &why);
	}
	p = make_plan(v, &why);
	if (p == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	rc = read_meta(v, p, err);
	if (rc == 0 && p != NULL)
		rc = by_plan(v, p, err);
	if (rc == 0) {
		report_fetch(v, p != NULL);
		report_twins(v);
	}
	if (p != NULL && v->out->fetch.status == STATUS_OK)
		v->spare = catalogue_plan_mend(p);
	v->out->nameless = v->out->nameless || p == NULL;
	if (rc == 0 && p == NULL)
		report(v, STATUS_FAILED,
		       "no filemaps and no good rank2file: its files are "
		       "unknown");
	/* The plan has the rank2file. */
	v->fetch.ranks = NULL;
	plan_free(p);
	return rc;
}

/* Choose the step that mends what was found. */
static int
finish(struct verify *v, int rc)
{
	v->out->mend = v->out->status != STATUS_DAMAGED || v->by_hand
			       ? REMEDY_NONE
		       : v->map != REMEDY_NONE && v->reported == 1 ? v->map
		       : v->spare > REMEDY_INDEX		   ? v->spare
						 : REMEDY_INDEX;
	catalogue_fetch_free(&v->fetch);
	catalogue_dir_close(&v->dir);
	return rc;
}

int
catalogue_verify(struct catalogue *c, const struct index_entry *e,
		 const struct catalogue_options *o,
		 const struct verify_listener *problems,
		 struct verify_result *out, struct error *err)
{
	struct verify v = { c, e, o, out, problems, .dir = CATALOGUE_DIR_INIT };

	memset(out, 0, sizeof(*out));
	return finish(&v, verify(&v, err));
}

int
catalogue_verify_plan(struct catalogue *c, const struct index_entry *e,
		      const struct plan *p,
		      const struct verify_listener *problems,
		      struct verify_result *out, struct error *err)
{
	const struct catalogue_options o = { .deep = false };
	struct verify v = {
		c, e, &o, out, problems, .dir = CATALOGUE_DIR_INIT
	};

	memset(out, 0, sizeof(*out));
	if (catalogue_dir_open(c, e->id, &v.dir, err) < 0 ||
	    read_meta(&v, p, err) < 0 ||
	    catalogue_fetch_match(&v.fetch, p, err) < 0)
		return finish(&v, -1);
	/* The caller judges what the plan shows. */
	note_map(&v, p);
	report_fetch(&v, true);
	return finish(&v, 0);
}
