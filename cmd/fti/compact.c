/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compact.c - verb compact of scr_fti: one container for each variable.
 */
#include <inttypes.h>

#include "app.h"
#include "error.h"
#include "fti.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "output.h"
#include "str.h"

struct compact {
	struct fti_output_options o;
	uint64_t room; /* percent */
	struct fti_output out;
	uint64_t before, after; /* bytes of all files */
};

/* Is the file as it would be written? */
static bool
is_compact(const struct fti_rankfile *r, const struct fti_draft *d)
{
	const struct fti_file *f = r->ff;

	if (r->checked.verdict != FTI_INTACT || f->nblocks != 1 ||
	    f->ncontainers != d->ncontainers)
		return false;
	for (size_t i = 0; i < f->ncontainers; i++)
		if (f->containers[i].c.size != d->containers[i].c.size)
			return false;
	return true;
}

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	const struct compact *c = arg;
	const struct fti_meta *m = NULL;

	(void)i;
	if (fti_remake_proven(r, err) < 0)
		return -1;
	if (r->form != FTI_FORM_FF)
		return error_set(err, ERROR_USAGE,
				 "%s: a POSIX file has no containers", r->name);
	if (fti_describe_compact(d, &r->content, (unsigned)c->room,
				 r->ff->layout, err) < 0)
		return -1;
	d->ckpt_id = r->ff->meta.ckpt_id;
	d->timestamp = r->ff->meta.timestamp;
	if (c->o.out == NULL && is_compact(r, d))
		return 1;
	/* Copies and parity are of the file as it is. */
	m = &r->ff->meta;
	if (c->o.out != NULL || (m->max_fs < 0 && m->pt_fs < 0))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: %s of its group fit its bytes as they are (level "
			 "%d): compact a copy (-o), and protect that",
			 r->name, m->max_fs < 0 ? "the copies" : "the parity",
			 m->max_fs < 0 ? 2 : 3);
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	struct compact *c = arg;
	struct buf *out = &c->out.text;
	const struct fti_file *f = r->ff;
	const bool skipped = c->out.items[i].skipped;
	const uint64_t after = skipped ? f->size : d->size;

	c->before += f->size;
	c->after += after;
	buf_printf(out, "%s: ", str_shown(r->name));
	if (skipped) {
		buf_add_str(out, "one container for each variable: nothing to "
				 "do\n");
		return buf_check(out, err);
	}
	buf_printf(out, "%zu %s -> %zu, %" PRIu64 " -> %" PRIu64 " bytes",
		   str_count(f->ncontainers, "container"), d->ncontainers,
		   f->size, after);
	fti_output_say(&c->out, i, out);
	return buf_check(out, err);
}

static void
total(void *arg, struct buf *out)
{
	const struct compact *c = arg;
	const bool less = c->after <= c->before;
	const uint64_t by = less ? c->before - c->after : c->after - c->before;

	buf_printf(out, "%s %" PRIu64 " bytes (%s, %.0f %%)\n",
		   less ? "saves" : "takes", by, str_size(by),
		   c->before == 0 ? 0.0
				  : 100.0 * (double)by / (double)c->before);
}

int
fti_run_compact(const struct fti_call *call)
{
	struct compact c = { .o.in = FTI_INPUT_ALL, .out.total = total };
	struct fti_remake m = {
		.describe = describe,
		.planned = planned,
		.arg = &c,
	};
	const struct opt opts[] = {
		OPT_GROUP("Containers"),
		OPT_U64(0, "room", &c.room, "PERCENT", 0, 1000000,
			"reserve more bytes than each variable has"),
		FTI_OUTPUT_OPTIONS(c.o),
		FTI_IN_PLACE_OPTION(c.o),
		FTI_LAYOUT_OPTION(c.o.in),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&c.o.jobs),
		OPT_END,
	};
	int count = 0, status = STATUS_OK;
	char **files = fti_start(call, opts, &count);

	fti_output_check(&c.o, count);
	status = fti_output_files(&c.out, &c.o, files, (size_t)count, &m);
	fti_output_end(&c.out);
	return status;
}
