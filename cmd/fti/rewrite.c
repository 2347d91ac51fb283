/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewrite.c - verbs repair and pack of scr_fti: sums, sizes and ids in the
 * records of files whose data are proven; a checkpoint file from raw variables.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "fti.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/npy.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "str.h"

/* --- Repair --- */

struct repair {
	struct fti_output_options o;
	int64_t id; /* -1: as in the file */
	struct fti_output out;
};

static int
describe_repair(void *arg, size_t i, const struct fti_rankfile *r,
		struct fti_draft *d, struct error *err)
{
	struct repair *c = arg;
	const enum fti_level level = fti_level_of(r->name);
	bool parity = false;

	(void)i;
	if (fti_remake_proven(r, err) < 0)
		return -1;
	if (r->form != FTI_FORM_FF)
		return error_set(err, ERROR_USAGE,
				 "%s: a POSIX file has no records to repair",
				 r->name);
	if (fti_describe_repair(d, &r->checked, err) < 0)
		return -1;
	if (c->id >= 0 && !fti_has(d->layout, FTI_CKPT_ID))
		return error_set(err, ERROR_USAGE,
				 "%s: layout %s has no id of the checkpoint; "
				 "the name of the file has it",
				 r->name, fti_format(d->layout)->letter);
	if (c->id >= 0)
		d->ckpt_id = c->id;
	/* The directory tells the level: files of others than 3 and 2 have no
	 * maxFs and no ptFs, whatever a damaged record says. */
	if (d->unproven && level != FTI_NO_LEVEL && level != FTI_TMP) {
		d->max_fs = level == FTI_L3 ? d->max_fs : -1;
		d->pt_fs = level == FTI_L2 ? d->pt_fs : -1;
	}
	if (c->o.out == NULL && r->checked.verdict == FTI_INTACT &&
	    d->ckpt_id == r->ff->meta.ckpt_id)
		return 1;
	/* The parity of a group is over the bytes of its files as FTI wrote
	 * them: if one of them changes, no other one can be rebuilt.  A damaged
	 * record changes back, if its sum proves that. */
	parity = level == FTI_L3 || d->max_fs >= 0 ||
		 (level == FTI_NO_LEVEL && r->ff->meta.max_fs < -1);
	if (c->o.out != NULL || !parity ||
	    (!r->checked.exact && !d->unproven && c->id < 0))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: the parity of its group is over its bytes as "
			 "they are (level 3): repair a copy (-o), and protect "
			 "that",
			 r->name);
}

static int
planned_repair(void *arg, size_t i, const struct fti_rankfile *r,
	       const struct fti_draft *d, struct error *err)
{
	struct repair *c = arg;
	struct buf *out = &c->out.text;

	(void)err;
	buf_printf(out, "%s: %s%s", str_shown(r->name),
		   fti_verdict_names[r->checked.verdict],
		   r->checked.verdict == FTI_DAMAGED ? "; its data are intact"
						     : "");
	if (c->out.items[i].skipped) {
		buf_add_str(out, ": nothing to repair\n");
		return 0;
	}
	fti_output_say(&c->out, i, out);
	report_fti_problems(&r->checked, out);
	if (d->ckpt_id != r->ff->meta.ckpt_id)
		buf_printf(
			out,
			"  byte %" PRIu64 ": ckptId: %" PRId64 " -> %" PRId64
			"\n",
			r->ff->meta_at +
				fti_format(d->layout)->fields[FTI_CKPT_ID].at,
			r->ff->meta.ckpt_id, d->ckpt_id);
	if (d->size != r->ff->size)
		buf_printf(out, "  size: %" PRIu64 " -> %" PRIu64 " bytes\n",
			   r->ff->size, d->size);
	if (d->unproven)
		buf_add_str(out, "  no sum proves maxFs, ptFs and timestamp\n");
	return 0;
}

int
fti_run_repair(const struct app_call *call)
{
	struct repair c = { .o.in = FTI_INPUT_ALL, .id = -1 };
	struct fti_remake m = {
		.describe = describe_repair,
		.planned = planned_repair,
		.arg = &c,
	};
	uint64_t id = UINT64_MAX;
	const struct opt opts[] = {
		OPT_GROUP("Repair"),
		OPT_U64(0, "id", &id, "N", 0, INT32_MAX,
			"also set the id of the checkpoint"),
		FTI_OUTPUT_OPTIONS(c.o),
		FTI_IN_PLACE_OPTION(c.o),
		FTI_LAYOUT_OPTION(c.o.in),
		FTI_WORK_OPTIONS(&c.o.jobs, &c.o.rate),
	};
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **files = fti_start(call, opts, &count);

	fti_output_check(&c.o, count);
	c.id = (int64_t)id;
	if (fti_output_start(&c.out, &c.o, &err) < 0 ||
	    fti_output_add(&c.out, files, (size_t)count, &err) < 0)
		status = app_report(STATUS_OK, &err);
	else
		status = fti_output_run(&c.out, &m);
	fti_output_end(&c.out);
	return status;
}

/* --- Pack --- */

/* A variable: the bytes of a file, without a header. */
struct var {
	struct fti_source file, bytes;
	bool opened;
};

struct pack {
	struct fti_output_options o;
	struct fti_output_form form;
	int64_t id;
	uint64_t room;
	const char *ini;
	bool numpy;
	struct fti_output out;
	struct var *vars;
	struct fti_raw *raw;
	size_t count;
	struct fti_draft draft;
	struct fti_posix sector;
	struct buf text; /* metadata of a POSIX file */
};

static int
write_pack(struct pack *c, char **args, size_t count, struct fti_writer *w,
	   struct error *err)
{
	const bool posix = c->form.posix;
	struct fti_job file = { .draft = &c->draft },
		       ini = { .text = &c->text };
	struct timespec now = { .tv_sec = 0 };

	/* "ID=FILE" */
	for (; c->count < count; c->count++) {
		struct var *v = &c->vars[c->count];
		const char *arg = args[c->count], *name = strchr(arg, '=');
		uint64_t skip = 0;
		int64_t id = 0;

		if (name == NULL)
			return error_set(err, ERROR_USAGE,
					 "%s: expected ID=FILE", arg);
		if (num_i64(arena_strndup(c->out.arena, arg,
					  (size_t)(name - arg)),
			    0, INT32_MAX, &id, err) < 0)
			return error_wrap(err, "%s", arg);
		if (fti_source_open(&v->file, AT_FDCWD, name + 1, err) < 0)
			return -1;
		v->opened = true;
		if (c->numpy && fti_npy_read(&v->file, &skip, err) < 0)
			return -1;
		v->bytes = fti_source_part(&v->file, skip, UINT64_MAX);
		c->raw[c->count] = (struct fti_raw){ (int32_t)id, &v->bytes };
	}
	if (fti_describe_pack(&c->draft, c->raw, c->count, (unsigned)c->room,
			      c->form.to, err) < 0)
		return -1;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	c->draft.timestamp =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	c->draft.ckpt_id = c->id;
	c->draft.raw = posix;
	if (fti_output_place(&c->out, c->o.out, &file, err) < 0 ||
	    (posix &&
	     fti_output_place_ini(&c->out, c->ini, c->o.out, &ini, err) < 0) ||
	    fti_writer_add(w, &file, err) < 0 ||
	    (posix && fti_writer_add(w, &ini, err) < 0) ||
	    fti_writer_room(w, err) < 0)
		return -1;
	if (c->o.dry_run)
		return 0;
	if (fti_writer_run(w, 0, 1, err) < 0)
		return -1;
	if (posix) {
		fti_posix_start(&c->sector, (int32_t)c->id, 1);
		fti_posix_set(&c->sector, 0, path_base(file.path), &c->draft);
		if (fti_posix_finish(&c->sector, ini.name, &c->text, err) < 0 ||
		    fti_writer_run(w, 1, 1, err) < 0)
			return -1;
	}
	return fti_writer_commit(w, err);
}

int
fti_run_pack(const struct app_call *call)
{
	struct pack c = { .id = -1 };
	uint64_t id = UINT64_MAX;
	const struct opt opts[] = {
		OPT_GROUP("File"),
		OPT_STRING(0, "to", &c.form.text, "A|B|C|D|E|F|posix",
			   OPT_WORDS, "layout of FTI-FF, or a POSIX file"),
		OPT_U64(0, "id", &id, "N", 0, INT32_MAX,
			"id of the checkpoint"),
		OPT_U64(0, "room", &c.room, "PERCENT", 0, 1000000,
			"reserve more bytes than each variable has"),
		OPT_STRING(0, "ini", &c.ini, "FILE", OPT_FILE,
			   "with a POSIX file: the metadata file to write "
			   "(default: sector0-group0.fti beside it)"),
		OPT_FLAG(0, "numpy", &c.numpy,
			 "the variables are NumPy files (.npy)"),
		FTI_OUTPUT_OPTIONS(c.o),
		FTI_WORK_OPTIONS(&c.o.jobs, &c.o.rate),
	};
	struct error err = ERROR_INIT;
	struct fti_writer *w = NULL;
	int count = 0, status = STATUS_OK, rc = -1;
	char **args = fti_start(call, opts, &count);
	struct fti_answer a = { .dry_run = c.o.dry_run };

	c.id = (int64_t)id;
	if (count == 0)
		app_usage("no variable given (ID=FILE)");
	fti_output_form(&c.o, c.ini, &c.form);
	if (c.id < 0 && (c.form.posix || fti_has(c.form.to, FTI_CKPT_ID)))
		app_usage("give --id");
	if (c.form.posix && c.room > 0)
		app_usage("--room is for FTI-FF");
	c.vars = mem_calloc((size_t)count + 1, sizeof(*c.vars));
	c.raw = mem_calloc((size_t)count + 1, sizeof(*c.raw));
	if (fti_output_start(&c.out, &c.o, &err) == 0) {
		w = fti_writer_new(&c.out.work);
		rc = write_pack(&c, args, (size_t)count, w, &err);
	}
	fti_writer_free(w);
	app_work_end(&c.out.work);
	if (rc == 0) {
		buf_printf(&c.out.text,
			   "%s: %s, %zu %s, %" PRIu64 " bytes: %s\n",
			   str_shown(c.o.out),
			   c.form.posix ? "POSIX" : c.form.text,
			   str_count(c.draft.ncontainers, "variable"),
			   c.draft.size,
			   a.dry_run ? "would be written" : "written");
		fti_answer_file(&a, &(struct fti_done){
					    .path = c.o.out,
					    .action = "write",
					    .rank = -1,
					    .size = (int64_t)c.draft.size,
				    });
		a.bytes_written = a.dry_run ? 0 : c.draft.size;
		fti_answer_end(&a);
		status = app_print_unless_quiet(&c.out.text);
	} else {
		status = fti_output_report(&err);
	}
	fti_posix_fini(&c.sector);
	buf_free(&c.text);
	fti_draft_fini(&c.draft);
	for (size_t i = 0; i <= c.count; i++)
		if (c.vars[i].opened)
			fti_source_close(&c.vars[i].file);
	mem_free(c.vars);
	mem_free(c.raw);
	fti_output_end(&c.out);
	return status;
}
