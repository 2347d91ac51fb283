/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extract.c - verb extract of scr_fti: variables of a checkpoint file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "fti.h"
#include "fti/draft.h"
#include "fti/npy.h"
#include "ftijob/recover.h"
#include "mem.h"
#include "num.h"
#include "report/hint.h"
#include "str.h"

/* Ranges without proof that are named, of each variable. */
#define SHOWN 10

/* A variable that is written. */
struct item {
	const struct fti_content_var *var;
	uint64_t off, len; /* of the bytes in it */
	struct fti_draft draft;
	struct fti_job job;
};

struct extract {
	struct fti_output_options o;
	struct opt_list words; /* of -v */
	const char *range, *type, *from;
	bool numpy, force;
	/* The run. */
	struct fti_output out;
	const char *path;
	int64_t *ids; /* ascending; none: all variables */
	size_t nids;
	struct fti_input input;
	struct fti_rankfile file;
	struct fti_obtain obtain;
	const struct fti_content_var **by_id;
	struct fti_dtype dtype;
	struct item *items;
	size_t count;
};

/* --- Which bytes --- */

/* Does the answer go to stdout? */
static bool
is_stream(const struct extract *x)
{
	return x->o.out == NULL || str_eq(x->o.out, "-");
}

static int
add_item(struct extract *x, const struct fti_content_var *v, struct error *err)
{
	struct item *it = &x->items[x->count];
	const char *colon = x->range == NULL ? NULL : strchr(x->range, ':');
	char off[64];
	struct fti_dtype type = x->dtype;
	struct buf head = BUF_INIT;

	*it = (struct item){ .var = v, .len = v->size };
	x->count++;
	/* The part of it that --range wants. */
	if (x->range != NULL &&
	    (colon == NULL || (size_t)(colon - x->range) >= sizeof(off)))
		return error_set(err, ERROR_USAGE,
				 "--range: %s: expected OFFSET:LENGTH",
				 x->range);
	if (colon != NULL) {
		snprintf(off, sizeof(off), "%.*s", (int)(colon - x->range),
			 x->range);
		if (num_bytes(off, UINT64_MAX, &it->off, err) < 0 ||
		    (colon[1] != '\0' &&
		     num_bytes(colon + 1, UINT64_MAX, &it->len, err) < 0))
			return error_wrap(err, "--range");
		if (colon[1] == '\0' && it->off <= v->size)
			it->len = v->size - it->off;
	}
	if (it->off > v->size || it->len > v->size - it->off)
		return error_set(err, ERROR_USAGE,
				 "--range: variable %" PRId32 " has %" PRIu64
				 " bytes",
				 v->id, v->size);
	fti_describe_bytes(&it->draft, &x->file.content, v, it->off, it->len);
	if (!x->numpy)
		return 0;
	/* The header of NumPy. */
	if (x->type == NULL)
		fti_dtype_recorded(v->described, &type);
	if (fti_npy_header(&type, it->len, v->described, &head, err) < 0) {
		buf_free(&head);
		return error_wrap(err, "variable %" PRId32, v->id);
	}
	it->draft.head = arena_strndup(x->out.arena, head.data, head.len);
	it->draft.head_size = head.len;
	buf_free(&head);
	return 0;
}

static void
forget_items(struct extract *x)
{
	for (size_t i = 0; i < x->count; i++)
		fti_draft_fini(&x->items[i].draft);
	mem_free(x->by_id);
	mem_free(x->items);
	x->by_id = NULL;
	x->items = NULL;
	x->count = 0;
}

/* Choose the variables: both lists are in order. */
static int
choose(struct extract *x, struct error *err)
{
	const struct fti_content *c = &x->file.content;
	const size_t most = x->nids > 0 ? x->nids : c->nvars;
	size_t k = 0;

	forget_items(x);
	x->by_id = fti_content_sorted(c, err);
	if (x->by_id == NULL)
		return -1;
	x->items = mem_calloc(most + 1, sizeof(*x->items));

	if (x->nids == 0 && x->file.lacks)
		app_warn("%s: the sizes of some variables are not recorded "
			 "after layer %zu: left out",
			 x->path, x->file.layer);
	for (size_t i = 0; i < most; i++) {
		const int64_t id = x->nids > 0 ? x->ids[i] : x->by_id[i]->id;

		while (k < c->nvars && x->by_id[k]->id < id)
			k++;
		if (k == c->nvars || x->by_id[k]->id != id)
			return error_set(
				err, ERROR_ABSENT,
				"%s: %s variable %" PRId64 "%s", x->path,
				x->file.lacks ? "after this layer the size is "
						"not recorded of"
					      : "has no",
				id,
				x->file.lacks ? ", or it has no such one" : "");
		if (add_item(x, x->by_id[k], err) < 0)
			return -1;
	}
	return 0;
}

/* --- Where the bytes come from --- */

/* Are the bytes of the file not to be had, so that others may give them? */
static bool
is_spoiled(const struct extract *x, const struct error *err)
{
	return err->kind == ERROR_LOST ||
	       (err->kind == ERROR_CORRUPT && x->file.checked.open);
}

/* Take the file, or the bytes that are computed in its place, if they can be
 * given out.  -1: is_spoiled(), or another error. */
static int
take(struct extract *x, const struct fti_source *computed, struct error *err)
{
	struct fti_rankfile_options how = x->input.how;
	struct fti_range r;

	forget_items(x);
	fti_rankfile_close(&x->file);
	how.computed = computed;
	if (fti_rankfile_open(&x->file, x->path, &how, err) < 0 ||
	    fti_rankfiles_check(&x->file, 1, true, &x->out.work, err) < 0 ||
	    fti_input_check(&x->file, err) < 0 || choose(x, err) < 0)
		return -1;
	/* Do sums prove all bytes that are wanted? */
	for (size_t i = 0; i < x->count; i++) {
		const struct item *it = &x->items[i];

		if (fti_rankfile_unproven(&x->file, it->var, it->off,
					  it->off + it->len, &r))
			return error_set(
				err,
				x->file.checked.open ? ERROR_CORRUPT
						     : ERROR_LOST,
				"%s: variable %" PRId32
				" is damaged: bytes %" PRIu64 " to %" PRIu64,
				x->path, it->var->id, r.off, r.off + r.len - 1);
	}
	return 0;
}

/* Take the file from its copy or its group instead. */
static int
take_from_group(struct extract *x, struct error *err)
{
	struct fti_obtain *o = &x->obtain;
	int rc = fti_obtain_open(o, x->path, x->from, &x->out.work, err);

	/* Files of the group may be damaged, too: then all are read. */
	for (int data = 0; rc == 0 && data < 2; data++) {
		rc = fti_obtain_source(o, data > 0, &x->out.work, err);
		if (rc == 0)
			rc = take(x, o->source, err);
		if (rc == 0 || !is_spoiled(x, err))
			return rc;
		rc = data > 0 ? -1 : 0;
	}
	/* Of files that contradict each other, one was perhaps the wrong
	 * one. */
	if (rc < 0 && err->kind == ERROR_LOST && o->conflict != NULL)
		rc = error_set(err, ERROR_SYSTEM, "%s", o->conflict);
	return rc;
}

/* Take the bytes from where they are good.  Returns an exit status. */
static int
find_bytes(struct extract *x)
{
	struct error err = ERROR_INIT, why = ERROR_INIT, again = ERROR_INIT;
	const size_t len = strlen(x->path);
	const char *reason = NULL;
	char next[ERROR_TEXT_MAX];
	bool missing = false, spoiled = false;
	int status = STATUS_OK;

	if (take(x, NULL, &err) == 0)
		return STATUS_OK;
	missing = err.kind == ERROR_ABSENT && x->file.source == NULL;
	spoiled = is_spoiled(x, &err);
	if (!missing && !spoiled)
		return app_report(STATUS_OK, &err);
	if (take_from_group(x, &why) == 0) {
		app_warn("%s: %s; its bytes come from %s", x->path,
			 missing ? "missing" : "damaged",
			 x->obtain.level == FTI_L2 ? "its copy"
						   : "the parity of its group");
		return STATUS_OK;
	}
	if (x->force && !missing) {
		if (take(x, NULL, &again) == 0)
			return STATUS_OK;
		/* Name what no sum proves. */
		for (size_t i = 0; i < x->count; i++) {
			const struct item *it = &x->items[i];
			const uint64_t end = it->off + it->len;
			struct fti_range r;
			size_t n = 0;

			for (uint64_t at = it->off; fti_rankfile_unproven(
				     &x->file, it->var, at, end, &r);
			     at = r.off + r.len)
				if (n++ < SHOWN)
					app_warn("%s: variable %" PRId32
						 ": bytes %" PRIu64
						 " to %" PRIu64
						 " are not proven by any sum",
						 x->path, it->var->id, r.off,
						 r.off + r.len - 1);
			if (n > SHOWN)
				app_warn("%s: variable %" PRId32
					 ": nor are %zu more ranges",
					 x->path, it->var->id, n - SHOWN);
		}
		if (x->count > 0)
			return STATUS_LOST;
	}
	/* The bytes cannot be had: `err` is of the file, `why` of its group. */
	reason = why.text;
	if (str_starts(reason, x->path) && str_starts(reason + len, ": "))
		reason += len + 2;
	status = error_status(err.kind);
	if (why.kind == ERROR_LOST && err.kind != ERROR_CORRUPT)
		status = STATUS_LOST;
	else if (why.kind != ERROR_ABSENT)
		status = STATUS_FAILED; /* nobody knows what the group has */
	app_error("%s; %s%s", err.text, reason,
		  spoiled && x->file.content.nvars > 0
			  ? " (--force extracts it nevertheless)"
			  : "");
	if (x->obtain.root != NULL)
		app_next(report_command("scr_fti scan --checksums", NULL,
					x->obtain.root, next, sizeof(next)));
	return status;
}

/* --- Files --- */

static int
write_files(struct extract *x, struct error *err)
{
	struct fti_writer *w = fti_writer_new(&x->out.work);
	const bool below = x->nids != 1 || str_ends(x->o.out, "/") ||
			   fti_is_directory(x->o.out);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < x->count; i++) {
		struct item *it = &x->items[i];
		const char *to = x->o.out;

		if (below)
			to = arena_printf(x->out.arena, "%s/var%" PRId32 ".%s",
					  to, it->var->id,
					  x->numpy ? "npy" : "bin");
		it->job.draft = &it->draft;
		rc = fti_output_place(&x->out, to, &it->job, err);
		if (rc == 0)
			rc = fti_writer_add(w, &it->job, err);
	}
	if (rc == 0)
		rc = fti_writer_room(w, err);
	if (rc == 0 && !x->o.dry_run &&
	    (fti_writer_run(w, 0, x->count, err) < 0 ||
	     fti_writer_commit(w, err) < 0))
		rc = -1;
	fti_writer_free(w);
	return rc;
}

/* --- The verb --- */

static int
run(struct extract *x)
{
	struct error err = ERROR_INIT;
	struct fti_answer a = { .dry_run = x->o.dry_run };
	int status = STATUS_OK, rc = 0;

	if (fti_output_start(&x->out, &x->o, &err) < 0 ||
	    fti_input_start(&x->input, &x->o.in, &err) < 0)
		return app_report(STATUS_OK, &err);
	status = find_bytes(x);
	if (status != STATUS_OK && (!x->force || x->count == 0))
		return status;
	if (is_stream(x)) {
		if (!x->o.dry_run)
			rc = fti_stream(&x->items[0].draft, STDOUT_FILENO,
					&x->out.work, &err);
		return rc < 0 ? app_report(status, &err) : status;
	}
	if (write_files(x, &err) < 0)
		return app_report(status, &err);
	app_work_end(&x->out.work); /* erases the progress line */
	for (size_t i = 0; i < x->count; i++) {
		const struct item *it = &x->items[i];
		const uint64_t size = it->draft.head_size + it->len;

		buf_printf(&x->out.text,
			   "variable %" PRId32 ": %" PRIu64 " bytes %s %s\n",
			   it->var->id, it->len,
			   a.dry_run ? "would be written to" : "written to",
			   str_shown(it->job.name));
		fti_answer_file(&a, &(struct fti_done){
					    .path = it->job.name,
					    .action = "write",
					    .kind = "data",
					    .from = x->path,
					    .rank = -1,
					    .size = (int64_t)size,
				    });
		a.bytes_read += it->len;
		a.bytes_written += a.dry_run ? 0 : size;
	}
	fti_answer_end(&a);
	return error_worse_status(status, app_print_unless_quiet(&x->out.text));
}

int
fti_run_extract(const struct app_call *call)
{
	struct extract x = { .o.in = FTI_INPUT_ALL, .file.own.fd = -1 };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_LIST('v', "variable", &x.words, "ID", OPT_ANY,
			 "only this variable (can be given several times; "
			 "default: all)"),
		OPT_STRING(0, "range", &x.range, "OFFSET:LENGTH", OPT_ANY,
			   "only these bytes of each variable"),
		OPT_FLAG(0, "force", &x.force, "also data that no sum proves"),
		OPT_GROUP("Output"),
		OPT_STRING('o', "output", &x.o.out, "OUT", OPT_FILE,
			   "file for one variable, directory for several; -: "
			   "standard output"),
		OPT_FLAG(0, "replace", &x.o.replace, "replace existing files"),
		OPT_FLAG(0, "numpy", &x.numpy, "write NumPy files (.npy)"),
		OPT_STRING(0, "dtype", &x.type, "TYPE", OPT_ANY,
			   "their element type, such as f8 (default: as "
			   "recorded by FTI, or u1)"),
		OPT_FLAG('n', "dry-run", &x.o.dry_run,
			 "verify, report what would be written, and write "
			 "nothing"),
		FTI_INPUT_OPTIONS(x.o.in),
		OPT_STRING(0, "from", &x.from, "DIR", OPT_DIR,
			   "look here for copies or parity if the file is "
			   "missing or damaged (default: as FTI has its "
			   "directories)"),
		FTI_WORK_OPTIONS(&x.o.jobs, &x.o.rate),
	};
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	x.ids = fti_input_ids(&x.words, &x.nids);
	if (count == 0)
		app_usage("no file given");
	if (count > 1)
		app_usage("one file can be extracted at a time");
	if (is_stream(&x) && x.words.count != 1)
		app_usage("give -o DIR for several variables, or one -v ID");
	if (is_stream(&x) && app_json())
		app_usage("--json needs -o OUT");
	if (is_stream(&x) && x.o.replace)
		app_usage("--replace needs -o OUT");
	if (x.type != NULL && !x.numpy)
		app_usage("--dtype needs --numpy");
	if (x.type != NULL && fti_dtype_parse(x.type, &x.dtype, &err) < 0)
		app_usage("--dtype: %s", err.text);
	x.path = args[0];
	status = run(&x);
	forget_items(&x);
	fti_rankfile_close(&x.file); /* before what it reads from */
	fti_obtain_close(&x.obtain);
	fti_input_end(&x.input);
	mem_free(x.ids);
	opt_list_free(&x.words);
	fti_output_end(&x.out);
	return status;
}
