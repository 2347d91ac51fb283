/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_file.c - files of FTI as text and JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "hash.h"
#include "json.h"
#include "mem.h"
#include "num.h"
#include "report/fti.h"
#include "report/table.h"
#include "str.h"
#include "when.h"

/* Problems shown of a file; scr_fti dump --json has all. */
#define SHOWN 20

/* --- Facts --- */

int
report_fti_status(const struct fti_rankfile *r)
{
	switch (r->checked.verdict) {
	case FTI_INTACT:
		return STATUS_OK;
	case FTI_UNREAD:
		return STATUS_FAILED;
	case FTI_REFUSED:
		return STATUS_DAMAGED;
	default:
		return r->checked.data_good ? STATUS_DAMAGED
		       : r->checked.open    ? STATUS_FAILED
					    : STATUS_LOST;
	}
}

/* The checkpoint that layer `i` is of. */
static int32_t
layer_id(const struct fti_rankfile *r, size_t i)
{
	const int32_t id = fti_dcp_id(&r->dcp, i);

	return id < 0 ? r->described.posix->id : id;
}

/* The state of each container: "", "empty", "damaged", "wrong sum", "wrong
 * record" or "unknown".  For mem_free(). */
static const char **
container_states(const struct fti_checked *c)
{
	const struct fti_file *f = c->file;
	const char **states = mem_calloc(f->ncontainers + 1, sizeof(*states));

	for (const struct fti_finding *n = f->findings; n != NULL; n = n->next)
		if (n->container < f->ncontainers &&
		    states[n->container] == NULL)
			states[n->container] =
				n->rule == FTI_RULE_DATA  ? "damaged"
				: n->rule == FTI_RULE_SUM ? "wrong sum"
							  : "wrong record";
	for (size_t i = 0; i < f->ncontainers; i++)
		if (states[i] == NULL)
			states[i] = f->containers[i].c.used == 0 ? "empty"
				    : c->verdict == FTI_UNREAD	 ? "unknown"
								 : "";
	return states;
}

/* --- Sizes and variables --- */

static void
list_ff(const struct fti_file *f, struct buf *out)
{
	const int64_t written = fti_written(f->layout, &f->meta);
	struct table t;

	if (f->kind != FTI_KIND_NONE)
		buf_printf(out, "  layout      %s (FTI %s)",
			   fti_format(f->layout)->letter,
			   fti_format(f->layout)->versions);
	if (f->kind == FTI_KIND_PARITY)
		buf_printf(out,
			   "\n  parity      %s for a file of %" PRId64
			   " bytes\n",
			   str_size(f->meta_at), f->meta.ckpt_size);
	if (f->kind == FTI_KIND_DATA) {
		if (fti_has(f->layout, FTI_CKPT_ID))
			buf_printf(out, ", checkpoint %" PRId64,
				   f->meta.ckpt_id);
		if (written >= 0)
			buf_printf(out, ", written %s UTC", when_utc(written));
		buf_printf(
			out,
			"\n  size        %s (%" PRIu64 " bytes)\n"
			"  variables   %zu in %zu %s in %zu %s: %s in use of "
			"%s (%.0f %%)\n",
			str_size(f->size), f->size, f->nvars,
			str_count(f->ncontainers, "container"),
			str_count(f->nblocks, "block"), str_size(f->live),
			str_size(f->allocated),
			f->allocated == 0 ? 100.0
					  : 100.0 * (double)f->live /
						    (double)f->allocated);
	}
	if (f->nvars == 0)
		return;
	buf_add_char(out, '\n');
	table_start(&t, ">VARIABLE|>BYTES|>RESERVED|>CONTAINERS");
	for (size_t i = 0; i < f->nvars; i++)
		table_cells(&t, "%" PRId32 "\t%" PRIu64 "\t%" PRIu64 "\t%zu",
			    f->vars[i].id, f->vars[i].size, f->vars[i].room,
			    f->vars[i].parts);
	table_end(&t, 2, out);
}

static void
list_posix(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_content *c = &r->content;
	const struct fti_described *d = &r->described;
	struct table t;

	buf_printf(out, "  form        %s", fti_form_names[r->form]);
	if (r->copy || r->parity)
		buf_printf(out, ", %s of %s", r->copy ? "copy" : "parity",
			   str_shown(d->file->name));
	if (r->id >= 0)
		buf_printf(out, ", checkpoint %" PRId64, r->id);
	buf_printf(out,
		   "\n  metadata    %s\n  size        %s (%" PRIu64 " bytes)\n",
		   str_shown(d->path), str_size(r->source->size),
		   r->source->size);
	if (r->form == FTI_FORM_LAYERS && r->dcp.nlayers > 0)
		buf_printf(out,
			   "  layers      %zu of blocks of %" PRIu32
			   " bytes; the variables are those after layer %zu\n",
			   r->dcp.nlayers, r->dcp.block, r->layer);
	if (r->unusable != NULL)
		buf_printf(out, "  variables   unknown: %s\n",
			   str_shown(r->unusable));
	else if (r->lacks)
		buf_add_str(out,
			    "  variables   without those whose size after this "
			    "layer is not recorded\n");
	if (c->nvars == 0)
		return;
	buf_add_char(out, '\n');
	table_start(&t, ">VARIABLE|>BYTES|TYPE|DIMENSIONS|NAME");
	for (size_t i = 0; i < c->nvars; i++) {
		const struct fti_content_var *v = &c->vars[i];
		const struct fti_posix_var *is = v->described;
		const char *type = is != NULL ? fti_type_name(is->type) : NULL;
		struct buf dims = BUF_INIT; /* "2 x 3", slowest first */

		for (uint32_t k = 0; is != NULL && k < is->ndims; k++)
			buf_printf(&dims, "%s%" PRIu64, k > 0 ? " x " : "",
				   is->dims[k]);
		table_cells(&t, "%" PRId32 "\t%" PRIu64, v->id, v->size);
		if (type == NULL && is != NULL && is->type_size > 0)
			table_cell(&t, "%" PRId32 " bytes", is->type_size);
		else
			table_cell(&t, "%s", type != NULL ? type : "");
		table_cell(&t, "%s", dims.len > 0 ? dims.data : "");
		table_name(&t, is != NULL ? is->name : "");
		buf_free(&dims);
	}
	table_end(&t, 2, out);
}

/* --- Structure --- */

/* Fields of a container that are shown. */
static const enum fti_field shown[] = {
	FTI_ID,	  FTI_CONTAINERID, FTI_HASCONTENT,    FTI_DPTR,
	FTI_FPTR, FTI_CHUNKSIZE,   FTI_CONTAINERSIZE,
};
#define SHOWN_FIELDS (sizeof(shown) / sizeof(shown[0]))

static void
dump_posix(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_dcp *d = &r->dcp;
	const struct fti_content *c = &r->content;
	const char **states = mem_calloc(d->nlayers + 1, sizeof(*states));
	struct table t;

	for (const struct fti_finding *n = r->checked.file->findings; n != NULL;
	     n = n->next)
		if (n->block < d->nlayers)
			states[n->block] = "damaged";
	if (d->nlayers > 0) {
		buf_add_char(out, '\n');
		table_start(&t, ">LAYER|>CHECKPOINT|>BYTES|>BLOCKS|>BLOCKS "
				"AT|STATE");
		for (size_t i = 0; i < d->nlayers; i++)
			table_cells(&t,
				    "%zu\t%" PRId32 "\t%" PRIu64 "\t%" PRIu64
				    "\t%" PRIu64 "\t%s",
				    i, layer_id(r, i), d->file->layers[i].size,
				    d->layers[i].blocks, d->layers[i].at,
				    states[i] == NULL ? "" : states[i]);
		table_end(&t, 2, out);
	}
	mem_free(states);
	if (c->npieces == 0)
		return;
	buf_add_char(out, '\n');
	table_start(&t, ">VARIABLE|>OFFSET|>BYTES|>AT|>LAYER|STATE");
	for (size_t i = 0; i < c->nvars; i++)
		for (size_t k = 0; k < c->vars[i].count; k++) {
			const size_t n = c->vars[i].first + k;
			const struct fti_piece *p = &c->pieces[n];

			table_cells(&t,
				    "%" PRId32 "\t%" PRIu64 "\t%" PRIu64
				    "\t%" PRIu64 "\t%s",
				    c->vars[i].id, p->off, p->len, p->at,
				    r->form == FTI_FORM_LAYERS
					    ? num_str(fti_dcp_layer(d, p->at))
					    : "");
			table_cell(&t, "%s",
				   r->checked.verdict == FTI_UNREAD ? "unknown"
				   : !r->checked.data_read || r->proven[n]
					   ? ""
					   : "not proven");
		}
	table_end(&t, 2, out);
}

static void
dump_ff(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_file *f = r->ff;
	const char **states = NULL;
	char hex[HASH_MD5_TEXT], sum[FTI_CHECKSUM_SIZE + 1] = "";
	struct table t;

	if (f->kind == FTI_KIND_NONE)
		return;
	states = container_states(&r->checked);
	memcpy(sum, f->meta.checksum, FTI_CHECKSUM_SIZE);
	buf_printf(out,
		   "\n  metadata    at %" PRIu64 ": checksum %s, myHash %s",
		   f->meta_at, str_shown(sum),
		   hash_hex(hex, f->meta.hash, HASH_MD5_SIZE));
	for (enum fti_field i = FTI_CKPT_SIZE; i <= FTI_TIMESTAMP; i++)
		if (fti_has(f->layout, i))
			buf_printf(out, ", %s %" PRId64, fti_field_name(i),
				   fti_member(i, &f->meta));
	buf_add_char(out, '\n');
	if (f->nblocks > 0) {
		buf_add_char(out, '\n');
		table_start(&t, ">BLOCK|>NUMVARS|>DBSIZE|>RECORD AT");
		for (size_t i = 0; i < f->nblocks; i++)
			table_cells(&t,
				    "%zu\t%" PRId64 "\t%" PRId64 "\t%" PRIu64,
				    i, f->blocks[i].b.numvars,
				    f->blocks[i].b.dbsize, f->blocks[i].at);
		table_end(&t, 2, out);
	}
	if (f->ncontainers > 0) {
		buf_add_char(out, '\n');
		table_start(&t,
			    ">BLOCK|>ID|>CONTAINERID|>HASCONTENT|>DPTR|>FPTR|"
			    ">CHUNKSIZE|>CONTAINERSIZE|HASH|STATE");
		for (size_t i = 0; i < f->ncontainers; i++) {
			const struct fti_container *k = &f->containers[i].c;

			table_cell(&t, "%zu", f->containers[i].block);
			for (size_t n = 0; n < SHOWN_FIELDS; n++)
				table_cell(&t, "%" PRId64,
					   fti_member(shown[n], k));
			table_cells(&t, "%s\t%s",
				    hash_hex(hex, k->hash, HASH_MD5_SIZE),
				    states[i]);
		}
		table_end(&t, 2, out);
	}
	mem_free(states);
}

void
report_fti_problems(const struct fti_checked *c, struct buf *out)
{
	size_t n = 0;

	for (const struct fti_finding *p = c->file->findings; p != NULL;
	     p = p->next)
		if (n++ >= SHOWN)
			continue;
		else if (p->at >= 0)
			buf_printf(out, "  byte %" PRId64 ": %s\n", p->at,
				   p->text);
		else
			buf_printf(out, "  %s\n", p->text);
	if (n > SHOWN)
		buf_printf(out, "  and %zu more\n", n - SHOWN);
}

void
report_fti_text(const struct fti_rankfile *r, enum report_fti_depth depth,
		struct buf *out)
{
	buf_printf(out, "%s: %s%s\n", str_shown(r->name),
		   fti_verdict_names[r->checked.verdict],
		   r->checked.verdict == FTI_DAMAGED && r->checked.data_good
			   ? "; its data are intact"
			   : "");
	if (r->checked.unread != NULL)
		buf_printf(out, "  %s\n", str_shown(r->checked.unread));
	report_fti_problems(&r->checked, out);
	if (depth >= REPORT_FTI_VARIABLES && r->ff != NULL)
		list_ff(r->ff, out);
	else if (depth >= REPORT_FTI_VARIABLES)
		list_posix(r, out);
	if (depth >= REPORT_FTI_RECORDS && r->ff != NULL)
		dump_ff(r, out);
	else if (depth >= REPORT_FTI_RECORDS)
		dump_posix(r, out);
}

/* --- JSON --- */

/* The sizes of a file, and its variables. */
static void
set_variables(struct json *j, const struct fti_file *f)
{
	struct json *list = NULL;
	const int64_t written = fti_written(f->layout, &f->meta);

	if (f->kind == FTI_KIND_DATA && written >= 0)
		json_set_time(j, "written", written);
	json_set_u64(j, "size", f->size);
	if (f->kind != FTI_KIND_DATA)
		return;
	json_set_u64(j, "used_bytes", f->live);
	json_set_u64(j, "reserved_bytes", f->allocated);
	json_set_u64(j, "block_count", f->nblocks);
	json_set_u64(j, "container_count", f->ncontainers);
	list = json_new_array();
	for (size_t i = 0; i < f->nvars; i++) {
		struct json *v = json_new_object();

		json_set_i64(v, "variable", f->vars[i].id);
		json_set_u64(v, "size", f->vars[i].size);
		json_set_u64(v, "reserved_bytes", f->vars[i].room);
		json_set_u64(v, "container_count", f->vars[i].parts);
		json_push(list, v);
	}
	json_set(j, "variables", list);
}

/* All records; the fields of the metadata record by FTI's names. */
static void
set_records(struct json *j, const struct fti_checked *c)
{
	const struct fti_file *f = c->file;
	struct json *meta = NULL, *list = NULL;
	const char **states = NULL;
	char hex[HASH_MD5_TEXT], sum[FTI_CHECKSUM_SIZE + 1] = "";

	if (f->kind == FTI_KIND_NONE)
		return;
	meta = json_new_object();
	memcpy(sum, f->meta.checksum, FTI_CHECKSUM_SIZE);
	json_set_u64(meta, "offset", f->meta_at);
	json_set_str(meta, "checksum", sum);
	json_set_str(meta, "myHash",
		     hash_hex(hex, f->meta.hash, HASH_MD5_SIZE));
	for (enum fti_field i = FTI_CKPT_ID; i < FTI_TIMESTAMP; i++)
		if (fti_has(f->layout, i))
			json_set_i64(meta, fti_field_name(i),
				     fti_member(i, &f->meta));
	json_set_u64(meta, "timestamp", f->meta.timestamp);
	json_set(j, "metadata_record", meta);
	if (f->kind != FTI_KIND_DATA)
		return;
	list = json_new_array();
	for (size_t i = 0; i < f->nblocks; i++) {
		struct json *b = json_new_object();

		json_set_u64(b, "block", i);
		json_set_u64(b, "offset", f->blocks[i].at);
		json_set_i64(b, "numvars", f->blocks[i].b.numvars);
		json_set_i64(b, "dbsize", f->blocks[i].b.dbsize);
		json_push(list, b);
	}
	json_set(j, "blocks", list);
	states = container_states(c);
	list = json_new_array();
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_file_container *k = &f->containers[i];
		struct json *e = json_new_object();

		json_set_u64(e, "block", k->block);
		json_set_u64(e, "offset", k->at);
		for (size_t n = 0; n < SHOWN_FIELDS; n++)
			json_set_i64(e,
				     shown[n] == FTI_ID
					     ? "variable"
					     : fti_field_name(shown[n]),
				     fti_member(shown[n], &k->c));
		json_set_str(e, "hash",
			     hash_hex(hex, k->c.hash, HASH_MD5_SIZE));
		json_set_str(e, "state", states[i]);
		json_push(list, e);
	}
	json_set(j, "fti_containers", list);
	mem_free(states);
}

static void
set_posix(struct json *j, const struct fti_rankfile *r, bool pieces)
{
	const struct fti_content *c = &r->content;
	struct json *list = json_new_array(), *of = NULL;

	json_set_str(j, "metadata_file", r->described.path);
	json_set_u64(j, "size", r->source->size);
	for (size_t i = 0; !r->parity && i < c->nvars; i++) {
		const struct fti_content_var *v = &c->vars[i];
		const struct fti_posix_var *d = v->described;
		struct json *one = json_new_object();

		json_set_i64(one, "variable", v->id);
		if (d != NULL) {
			json_set_known_str(one, "name", d->name);
			json_set_known_str(one, "type", fti_type_name(d->type));
		}
		json_set_u64(one, "size", v->size);
		of = d != NULL && d->ndims > 0 ? json_new_array() : NULL;
		for (uint32_t k = 0; of != NULL && k < d->ndims; k++)
			json_set_u64(of, NULL, d->dims[k]);
		if (of != NULL)
			json_set(one, "dimensions", of);
		of = pieces ? json_new_array() : NULL;
		for (size_t k = v->first; pieces && k < v->first + v->count;
		     k++) {
			const struct fti_piece *p = &c->pieces[k];
			struct json *e = json_new_object();

			json_set_u64(e, "offset", p->off);
			json_set_u64(e, "length", p->len);
			json_set_u64(e, "file_offset", p->at);
			if (r->form == FTI_FORM_LAYERS)
				json_set_u64(e, "layer",
					     fti_dcp_layer(&r->dcp, p->at));
			json_set_bool(e, "data_intact", r->proven[k]);
			json_push(of, e);
		}
		if (pieces)
			json_set(one, "pieces", of);
		json_push(list, one);
	}
	if (!r->parity)
		json_set(j, "variables", list);
	else
		json_free(list);
	list = json_new_array();
	for (size_t i = 0; i < r->dcp.nlayers; i++) {
		struct json *e = json_new_object();

		json_set_u64(e, "layer", i);
		json_set_i64(e, "checkpoint_id", layer_id(r, i));
		json_set_u64(e, "offset", r->dcp.layers[i].at);
		json_set_u64(e, "size", r->dcp.file->layers[i].size);
		json_set_u64(e, "block_count", r->dcp.layers[i].blocks);
		json_push(list, e);
	}
	json_set(j, "layers", list);
}

struct json *
report_fti_file_json(const struct fti_rankfile *r, enum report_fti_depth depth)
{
	static const char *const states[] = {
		[FTI_INTACT] = "intact",   [FTI_REFUSED] = "refused",
		[FTI_DAMAGED] = "damaged", [FTI_FOREIGN] = "foreign",
		[FTI_UNREAD] = "unknown",
	};
	struct json *j = json_new_object(), *list = json_new_array();

	json_set_str(j, "file", r->name);
	json_set_str(j, "state", states[r->checked.verdict]);
	json_set_str(j, "verdict", fti_verdict_names[r->checked.verdict]);
	json_set_i64(j, "status", report_fti_status(r));
	json_set_bool(j, "data_intact", r->checked.data_good);
	json_set_known_str(j, "reason", r->checked.unread);
	if (r->form != FTI_FORM_UNKNOWN) {
		const bool ff = r->form == FTI_FORM_FF;

		json_set_str(j, "format", ff ? "FTI-FF" : "POSIX");
		if (ff)
			json_set_str(j, "fti_layout",
				     fti_format(r->ff->layout)->letter);
		json_set_str(j, "kind",
			     r->parity ? "parity"
			     : r->copy ? "copy"
				       : "data");
		/* Nothing protects it: it may be any number. */
		if (r->id >= 0 && !r->parity)
			json_set_i64(j, "checkpoint_id", r->id);
	}
	for (const struct fti_finding *n = r->checked.file->findings; n != NULL;
	     n = n->next) {
		struct json *e = json_new_object();

		json_set_str(e, "problem", n->text);
		json_set_known_i64(e, "offset", n->at);
		if (n->field >= 0)
			json_set_str(e, "field",
				     fti_field_name((enum fti_field)n->field));
		if (n->block != SIZE_MAX)
			json_set_u64(e, "block", n->block);
		if (n->container != SIZE_MAX)
			json_set_u64(e, "container_number", n->container);
		json_push(list, e);
	}
	json_set(j, "problems", list);
	if (depth >= REPORT_FTI_VARIABLES && r->ff != NULL)
		set_variables(j, r->ff);
	if (depth >= REPORT_FTI_RECORDS && r->ff != NULL)
		set_records(j, &r->checked);
	if (depth >= REPORT_FTI_VARIABLES && r->ff == NULL)
		set_posix(j, r, depth >= REPORT_FTI_RECORDS);
	return j;
}
