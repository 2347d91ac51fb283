/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.c - verb convert of scr_fti: checkpoint files in another layout, or
 * as POSIX files with their metadata.
 */
#include <inttypes.h>

#include "fti.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "path.h"
#include "str.h"

/* --- One file --- */

const char *
fti_convert_form(const struct fti_rankfile *r)
{
	return r->form == FTI_FORM_FF ? fti_format(r->ff->layout)->letter
				      : fti_form_names[r->form];
}

const char *
fti_convert_to(const struct fti_convert *c)
{
	return c->form.posix ? "POSIX" : fti_format(c->form.to)->letter;
}

/* Does the layout have all of the time, or only its low 32 bits? */
static bool
has_time(enum fti_layout l)
{
	return fti_format(l)->fields[FTI_TIMESTAMP].size == 8;
}

int
fti_convert_describe(const struct fti_convert *c, const struct fti_rankfile *r,
		     const struct attr *attr, struct fti_draft *d,
		     struct fti_convert_notes *notes, struct error *err)
{
	const uint64_t mtime = (uint64_t)attr->mtime.tv_sec * 1000000000 +
			       (uint64_t)attr->mtime.tv_nsec;
	const struct fti_meta *m = r->form == FTI_FORM_FF ? &r->ff->meta : NULL;
	int rc = fti_remake_proven(r, err);
	bool holds = false, has = false;

	if (rc < 0)
		return -1;
	if (c->form.posix)
		rc = fti_describe_posix(d, &r->content, err);
	else if (m != NULL && !c->compact)
		rc = fti_describe_same(d, &r->checked, c->form.to, err);
	else
		rc = fti_describe_compact(d, &r->content, 0, c->form.to, err);
	if (rc < 0)
		return -1;
	holds = d->raw || fti_has(d->layout, FTI_CKPT_ID);
	has = m != NULL ? m->ckpt_id >= 0 : r->described.posix->id >= 0;
	d->ckpt_id = !holds ? -1 : c->id >= 0 ? c->id : r->id;
	d->timestamp = m != NULL ? m->timestamp : mtime;
	notes->id = holds && c->id < 0 && !has && r->id >= 0;
	notes->time = !d->raw && (m == NULL || (!has_time(r->ff->layout) &&
						has_time(d->layout)));
	/* The low 32 bits are known: the last such time before the file was
	 * complete. */
	if (notes->time)
		d->timestamp = mtime - ((mtime - d->timestamp) & UINT32_MAX);
	if (d->ckpt_id < 0 && holds)
		return error_set(err, ERROR_USAGE,
				 "%s: neither the file nor its name has the "
				 "id of the checkpoint; --id sets it",
				 r->name);
	return 0;
}

void
fti_convert_say(const struct fti_convert_notes *notes, struct buf *out)
{
	if (notes->id)
		buf_add_str(out, "  id of the checkpoint: from the name\n");
	if (notes->time)
		buf_add_str(out, "  time of the checkpoint: modification time "
				 "of the file\n");
}

/* --- Files --- */

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	struct fti_convert *c = arg;

	return fti_convert_describe(c, r, &c->out.items[i].attr, d, &c->notes,
				    err);
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	struct fti_convert *c = arg;
	struct buf *out = &c->out.text;
	const char *from = fti_convert_form(r);

	if (d->raw && c->before >= 0 && c->before != d->ckpt_id)
		return error_set(err, ERROR_USAGE,
				 "%s: is of checkpoint %" PRId64
				 ", another file of %" PRId64
				 ": one metadata file has one checkpoint",
				 r->name, d->ckpt_id, c->before);
	c->before = d->ckpt_id;
	buf_printf(out, "%s: %s -> %s, %zu %s, %" PRIu64 " bytes",
		   str_shown(r->name), from, fti_convert_to(c),
		   str_count(r->content.nvars, "variable"), d->size);
	fti_output_say(&c->out, i, out);
	fti_convert_say(&c->notes, out);
	return 0;
}

static void
written(void *arg, size_t i, const struct fti_draft *d)
{
	struct fti_convert *c = arg;

	if (!c->form.posix)
		return;
	if (c->sector.arena == NULL)
		fti_posix_start(&c->sector, (int32_t)d->ckpt_id, c->out.count);
	fti_posix_set(&c->sector, i, path_base(c->out.items[i].out.path), d);
}

static int
finish(void *arg, struct error *err)
{
	struct fti_convert *c = arg;

	return c->form.posix ? fti_posix_finish(&c->sector, c->job.name,
						&c->text, err)
			     : 0;
}

static int
convert_files(struct fti_convert *c, char **files, size_t count,
	      struct error *err)
{
	struct fti_remake m = {
		.texts = &c->job,
		.ntexts = c->form.posix,
		.describe = describe,
		.planned = planned,
		.written = written,
		.finish = finish,
		.arg = c,
	};
	int status = STATUS_OK;

	if (fti_output_add(&c->out, files, count, err) < 0 ||
	    (c->form.posix &&
	     fti_output_place_ini(&c->out, c->ini, c->out.items[0].out.name,
				  &c->job, err) < 0))
		return app_report(STATUS_OK, err);
	c->job.text = &c->text;
	status = fti_output_run(&c->out, &m);
	fti_posix_fini(&c->sector);
	buf_free(&c->text);
	return status;
}

/* --- The verb --- */

int
fti_run_convert(const struct app_call *call)
{
	struct fti_convert c = {
		.o.in = FTI_INPUT_ALL,
		.id = -1,
		.before = -1,
	};
	uint64_t id = UINT64_MAX, ckpt = UINT64_MAX;
	const struct opt opts[] = {
		OPT_GROUP("Conversion"),
		OPT_STRING(0, "to", &c.form.text, "A|B|C|D|E|F|posix",
			   OPT_WORDS, "layout of FTI-FF, or POSIX files"),
		OPT_FLAG(0, "compact", &c.compact,
			 "one container for each variable"),
		OPT_U64(0, "checkpoint", &ckpt, "N", 0, INT32_MAX,
			"below a directory: only checkpoints with this id"),
		OPT_U64(0, "id", &id, "N", 0, INT32_MAX,
			"id of the checkpoint (default: of the file, or its "
			"name)"),
		OPT_STRING(0, "ini", &c.ini, "FILE", OPT_FILE,
			   "with POSIX files: the metadata file to write "
			   "(default: sector0-group0.fti beside them)"),
		FTI_OUTPUT_OPTIONS(c.o),
		FTI_INPUT_OPTIONS(c.o.in),
		FTI_GEOMETRY_OPTIONS(c.geometry),
		FTI_WORK_OPTIONS(&c.o.jobs, &c.o.rate),
	};
	struct error err = ERROR_INIT;
	bool tree = false;
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	if (count == 0)
		app_usage("no file or directory given");
	fti_output_form(&c.o, c.ini, &c.form);
	for (int i = 0; i < count && count > 1; i++)
		if (fti_is_directory(args[i]))
			app_usage("%s: a directory is converted alone",
				  args[i]);
	if (c.form.posix && count > FTI_POSIX_MEMBERS)
		app_usage("a group has at most %d files: convert their "
			  "directory",
			  FTI_POSIX_MEMBERS);
	c.id = (int64_t)id;
	c.ckpt = (int64_t)ckpt;
	tree = fti_is_directory(args[0]);
	if (tree && (c.id >= 0 || c.ini != NULL || c.o.in.meta != NULL ||
		     c.o.in.layer != UINT64_MAX))
		app_usage("--id, --ini, --meta and --layer are for files");
	if (!tree && c.ckpt >= 0)
		app_usage("--checkpoint is for a directory");
	if (fti_output_start(&c.out, &c.o, &err) < 0)
		status = app_report(STATUS_OK, &err);
	else
		status = tree ? fti_convert_tree(&c, args[0], &err)
			      : convert_files(&c, args, (size_t)count, &err);
	fti_output_end(&c.out);
	return status;
}
