/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.c - verb repair of scr_fti: sums, sizes and ids in the records of
 * files whose data are proven.
 */
#include <inttypes.h>

#include "app.h"
#include "error.h"
#include "fti.h"
#include "fti/change.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "mem.h"
#include "output.h"
#include "str.h"

struct repair {
	struct fti_output_options o;
	int64_t id; /* -1: as in the file */
	struct fti_output out;
	struct fti_change *changes;
	size_t nchanges;
};

/* --- The plan --- */

static int
set_id(const struct repair *c, const struct fti_rankfile *r,
       struct fti_draft *d, struct error *err)
{
	/* That of a file that is cut is in its name only. */
	if (c->id < 0 && d->ckpt_id < 0 && r->label.kind == FTI_NAME_RANK)
		d->ckpt_id = r->label.id;
	if (c->id < 0)
		return 0;
	if (!fti_has(d->layout, FTI_CKPT_ID))
		return error_set(err, ERROR_USAGE,
				 "%s: layout %s has no id of the checkpoint; "
				 "the name of the file has it",
				 r->name, fti_format(d->layout)->letter);
	d->ckpt_id = c->id;
	return 0;
}

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	struct repair *c = arg;
	int rc = 0;

	if (fti_remake_proven(r, err) < 0)
		return -1;
	if (r->form != FTI_FORM_FF)
		return error_set(err, ERROR_USAGE,
				 "%s: a POSIX file has no records to repair",
				 r->name);
	rc = fti_describe_repair(d, &r->checked, err);
	if (rc == 0)
		rc = set_id(c, r, d, err);
	if (rc < 0 || c->out.items[i].planned)
		return rc;
	mem_free(c->changes);
	c->changes = NULL;
	rc = fti_sum(d, &c->out.work, err);
	if (rc == 0)
		rc = fti_changes(&r->checked, d, &c->changes, &c->nchanges,
				 err);
	if (rc < 0)
		return -1;
	if (c->o.out == NULL && r->checked.verdict == FTI_INTACT &&
	    !fti_changes_matter(c->changes, c->nchanges))
		return 1;
	/* The parity of a group is over the bytes of its files as FTI wrote
	 * them: if one of them changes, no other one can be rebuilt.  A damaged
	 * record changes back, if its sum proves that. */
	if (c->o.out != NULL || r->ff->meta.max_fs < 0 ||
	    (!r->checked.exact && !d->unproven && c->id < 0))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: the parity of its group is over its bytes as "
			 "they are (level 3): repair a copy (-o), and protect "
			 "that",
			 r->name);
}

/* --- The answer --- */

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	struct repair *c = arg;
	struct buf *out = &c->out.text;

	buf_printf(out, "%s: %s%s", str_shown(r->name),
		   fti_verdict_name(r->checked.verdict),
		   r->checked.verdict == FTI_DAMAGED ? "; its data are intact"
						     : "");
	if (c->out.items[i].skipped) {
		buf_add_str(out, ": nothing to repair\n");
		return buf_check(out, err);
	}
	fti_output_say(&c->out, i, out);
	for (size_t k = 0; k < c->nchanges; k++) {
		buf_printf(out, "  byte %" PRIu64 ": ", c->changes[k].at);
		if (c->changes[k].container != SIZE_MAX)
			buf_printf(out,
				   "container %zu: ", c->changes[k].container);
		else if (c->changes[k].block != SIZE_MAX)
			buf_printf(out, "block %zu: ", c->changes[k].block);
		buf_printf(out, "%s: %s -> %s\n",
			   c->changes[k].field == FTI_PAD
				   ? "bytes of no field"
				   : fti_field_name(c->changes[k].field),
			   c->changes[k].before, c->changes[k].after);
	}
	if (d->size != r->ff->size)
		buf_printf(out, "  size: %" PRIu64 " -> %" PRIu64 " bytes\n",
			   r->ff->size, d->size);
	if (d->unproven)
		buf_add_str(out, "  no sum proves maxFs, ptFs and timestamp, "
				 "which stay as they are\n");
	return buf_check(out, err);
}

/* --- The verb --- */

int
fti_run_repair(const struct fti_call *call)
{
	struct repair c = { .o.in = FTI_INPUT_ALL, .id = -1 };
	struct fti_remake m = {
		.describe = describe,
		.planned = planned,
		.arg = &c,
	};
	const char *id = NULL;
	const struct opt opts[] = {
		OPT_GROUP("Repair"),
		OPT_STRING(0, "id", &id, "N", OPT_ANY,
			   "also set the id of the checkpoint"),
		FTI_OUTPUT_OPTIONS(c.o),
		FTI_IN_PLACE_OPTION(c.o),
		FTI_LAYOUT_OPTION(c.o.in),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&c.o.jobs),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **files = fti_start(call, opts, &count);

	fti_output_check(&c.o, count);
	if (fti_id_parse(id, &c.id, &err) < 0)
		return app_report(STATUS_OK, &err);
	status = fti_output_files(&c.out, &c.o, files, (size_t)count, &m);
	fti_output_end(&c.out);
	mem_free(c.changes);
	return status;
}
