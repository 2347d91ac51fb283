/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_text.c - files of FTI as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "hash.h"
#include "mem.h"
#include "report/fti.h"
#include "report/fti_impl.h"
#include "report/table.h"
#include "str.h"
#include "when.h"

/* --- POSIX files --- */

/* "2 x 3", slowest first. */
static void
dims_cell(struct table *t, const struct fti_posix_var *v)
{
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; v != NULL && i < v->ndims; i++)
		buf_printf(&text, "%s%" PRIu64, i > 0 ? " x " : "", v->dims[i]);
	table_cell(t, "%s", text.len > 0 ? text.data : "");
	buf_free(&text);
}

static void
type_cell(struct table *t, const struct fti_posix_var *v)
{
	const char *name = v != NULL ? fti_type_name(v->type) : NULL;

	if (name != NULL)
		table_cell(t, "%s", name);
	else if (v != NULL && v->type_size > 0)
		table_cell(t, "%" PRId32 " bytes", v->type_size);
	else
		table_cell(t, "%s", "");
}

/* report_fti_list() and report_fti_dump() of a POSIX file, without the
 * verdict. */
static void
report_fti_list_posix(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_content *c = &r->content;
	struct table t;
	const struct fti_described *d = &r->described;

	buf_printf(out, "  form        %s", fti_form_name(r->form));
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

		table_cell(&t, "%" PRId32, v->id);
		table_cell(&t, "%" PRIu64, v->size);
		type_cell(&t, v->described);
		dims_cell(&t, v->described);
		table_name(&t, v->described != NULL ? v->described->name : "");
	}
	table_end(&t, 2, out);
}

/* --- Structure --- */

static void
add_layers(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_dcp *d = &r->dcp;
	const char **states = mem_calloc(d->nlayers + 1, sizeof(*states));
	struct table t;

	if (states == NULL) {
		out->failed = true;
		return;
	}
	for (const struct fti_finding *n = r->checked.file->findings; n != NULL;
	     n = n->next)
		if (n->block < d->nlayers)
			states[n->block] = "damaged";
	buf_add_char(out, '\n');
	table_start(&t, ">LAYER|>CHECKPOINT|>BYTES|>BLOCKS|>BLOCKS AT|STATE");
	for (size_t i = 0; i < d->nlayers; i++) {
		const int32_t id = fti_dcp_id(d, i);

		table_cell(&t, "%zu", i);
		table_cell(&t, "%" PRId32,
			   id < 0 ? r->described.posix->id : id);
		table_cell(&t, "%" PRIu64, d->file->layers[i].size);
		table_cell(&t, "%" PRIu64, d->layers[i].blocks);
		table_cell(&t, "%" PRIu64, d->layers[i].at);
		table_cell(&t, "%s", states[i] == NULL ? "" : states[i]);
	}
	table_end(&t, 2, out);
	mem_free(states);
}

static void
add_pieces(const struct fti_rankfile *r, struct buf *out)
{
	const bool layers = r->form == FTI_FORM_LAYERS;
	const struct fti_content *c = &r->content;
	struct table t;

	buf_add_char(out, '\n');
	table_start(&t, ">VARIABLE|>OFFSET|>BYTES|>AT|>LAYER|STATE");
	for (size_t i = 0; i < c->nvars; i++)
		for (size_t k = 0; k < c->vars[i].count; k++) {
			const size_t n = c->vars[i].first + k;
			const struct fti_piece *p = &c->pieces[n];

			table_cell(&t, "%" PRId32, c->vars[i].id);
			table_cell(&t, "%" PRIu64, p->off);
			table_cell(&t, "%" PRIu64, p->len);
			table_cell(&t, "%" PRIu64, p->at);
			if (layers)
				table_cell(&t, "%zu",
					   fti_dcp_layer(&r->dcp, p->at));
			else
				table_cell(&t, "%s", "");
			table_cell(&t, "%s",
				   r->checked.verdict == FTI_UNREAD ? "unknown"
				   : !r->checked.data_read || r->proven[n]
					   ? ""
					   : "not proven");
		}
	table_end(&t, 2, out);
}

static void
report_fti_dump_posix(const struct fti_rankfile *r, struct buf *out)
{
	if (r->dcp.nlayers > 0)
		add_layers(r, out);
	if (r->content.npieces > 0)
		add_pieces(r, out);
}

/* Problems shown of a file; scr_fti dump --json has all. */
#define SHOWN 20

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
		return r->checked.data_good ? STATUS_DAMAGED : STATUS_LOST;
	}
}

void
report_fti_verdict(const struct fti_rankfile *r, struct buf *out)
{
	size_t n = 0;

	buf_printf(out, "%s: %s%s\n", str_shown(r->name),
		   fti_verdict_name(r->checked.verdict),
		   r->checked.verdict == FTI_DAMAGED && r->checked.data_good
			   ? "; its data are intact"
			   : "");
	if (r->checked.unread != NULL)
		buf_printf(out, "  %s\n", str_shown(r->checked.unread));
	for (const struct fti_finding *p = r->checked.file->findings; p != NULL;
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

/* --- Sizes and variables --- */

static void
add_head(const struct fti_file *f, struct buf *out)
{
	const int64_t written = fti_written(f->layout, &f->meta);
	char when[WHEN_TEXT];

	if (f->kind == FTI_KIND_NONE)
		return;
	buf_printf(out, "  layout      %s (FTI %s)",
		   fti_format(f->layout)->letter,
		   fti_format(f->layout)->versions);
	if (f->kind == FTI_KIND_PARITY) {
		buf_printf(out,
			   "\n  parity      %s for a file of %" PRId64
			   " bytes\n",
			   str_size(f->meta_at), f->meta.ckpt_size);
		return;
	}
	if (fti_has(f->layout, FTI_CKPT_ID))
		buf_printf(out, ", checkpoint %" PRId64, f->meta.ckpt_id);
	if (written >= 0)
		buf_printf(out, ", written %s UTC",
			   when_shown(when, written, true));
	buf_printf(out, "\n  size        %s (%" PRIu64 " bytes)\n",
		   str_size(f->size), f->size);
	buf_printf(out,
		   "  variables   %zu in %zu %s in %zu %s: %s in use of %s "
		   "(%.0f %%)\n",
		   f->nvars, f->ncontainers,
		   str_plural(f->ncontainers, "container"), f->nblocks,
		   str_plural(f->nblocks, "block"), str_size(f->live),
		   str_size(f->allocated),
		   f->allocated == 0
			   ? 100.0
			   : 100.0 * (double)f->live / (double)f->allocated);
}

static void
list_ff(const struct fti_file *f, struct buf *out)
{
	struct table t;

	add_head(f, out);
	if (f->nvars == 0)
		return;
	buf_add_char(out, '\n');
	table_start(&t, ">VARIABLE|>BYTES|>RESERVED|>CONTAINERS");
	for (size_t i = 0; i < f->nvars; i++) {
		table_cell(&t, "%" PRId32, f->vars[i].id);
		table_cell(&t, "%" PRIu64, f->vars[i].size);
		table_cell(&t, "%" PRIu64, f->vars[i].room);
		table_cell(&t, "%zu", f->vars[i].parts);
	}
	table_end(&t, 2, out);
}

/* --- Records --- */

int64_t
report_fti_number(const struct fti_meta *m, enum fti_field field)
{
	const int64_t numbers[] = {
		[FTI_CKPT_ID] = m->ckpt_id,
		[FTI_CKPT_SIZE] = m->ckpt_size,
		[FTI_META_SIZE] = m->meta_size,
		[FTI_DATA_SIZE] = m->data_size,
		[FTI_FS] = m->fs,
		[FTI_MAX_FS] = m->max_fs,
		[FTI_PT_FS] = m->pt_fs,
		[FTI_TIMESTAMP] = (int64_t)m->timestamp,
	};

	return numbers[field];
}

const char **
report_fti_container_states(const struct fti_checked *c)
{
	const struct fti_file *f = c->file;
	const char **states = mem_calloc(f->ncontainers + 1, sizeof(*states));

	if (states == NULL)
		return NULL;
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

static void
add_containers(const struct fti_checked *c, struct buf *out)
{
	const struct fti_file *f = c->file;
	const char **states = report_fti_container_states(c);
	char hex[HASH_MD5_TEXT];
	struct table t;

	if (states == NULL) {
		out->failed = true;
		return;
	}
	buf_add_char(out, '\n');
	table_start(&t, ">BLOCK|>ID|>CONTAINERID|>HASCONTENT|>DPTR|>FPTR|"
			">CHUNKSIZE|>CONTAINERSIZE|HASH|STATE");
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;

		table_cell(&t, "%zu", f->containers[i].block);
		table_cell(&t, "%" PRId32, k->id);
		table_cell(&t, "%" PRId32, k->part);
		table_cell(&t, "%u", k->has_content);
		table_cell(&t, "%" PRIu64, k->dptr);
		table_cell(&t, "%" PRIu64, k->fptr);
		table_cell(&t, "%" PRId64, k->used);
		table_cell(&t, "%" PRId64, k->size);
		table_cell(&t, "%s", hash_hex(hex, k->hash, HASH_MD5_SIZE));
		table_cell(&t, "%s", states[i]);
	}
	table_end(&t, 2, out);
	mem_free(states);
}

static void
dump_ff(const struct fti_rankfile *r, struct buf *out)
{
	const struct fti_file *f = r->ff;
	char hex[HASH_MD5_TEXT];
	char sum[FTI_CHECKSUM_SIZE + 1] = "";

	if (f->kind == FTI_KIND_NONE)
		return;
	buf_add_char(out, '\n');
	memcpy(sum, f->meta.checksum, FTI_CHECKSUM_SIZE);
	buf_printf(out, "  metadata    at %" PRIu64 ": checksum %s, myHash %s",
		   f->meta_at, str_shown(sum),
		   hash_hex(hex, f->meta.hash, HASH_MD5_SIZE));
	for (enum fti_field i = FTI_CKPT_SIZE; i <= FTI_TIMESTAMP; i++)
		if (fti_has(f->layout, i))
			buf_printf(out, ", %s %" PRId64, fti_field_name(i),
				   report_fti_number(&f->meta, i));
	buf_add_char(out, '\n');
	if (f->nblocks > 0) {
		struct table t;

		buf_add_char(out, '\n');
		table_start(&t, ">BLOCK|>NUMVARS|>DBSIZE|>RECORD AT");
		for (size_t i = 0; i < f->nblocks; i++) {
			table_cell(&t, "%zu", i);
			table_cell(&t, "%" PRId64, f->blocks[i].b.numvars);
			table_cell(&t, "%" PRId64, f->blocks[i].b.dbsize);
			table_cell(&t, "%" PRIu64, f->blocks[i].at);
		}
		table_end(&t, 2, out);
	}
	if (f->ncontainers > 0)
		add_containers(&r->checked, out);
}

/* --- All forms --- */

void
report_fti_list(const struct fti_rankfile *r, struct buf *out)
{
	report_fti_verdict(r, out);
	if (r->ff != NULL)
		list_ff(r->ff, out);
	else
		report_fti_list_posix(r, out);
}

void
report_fti_dump(const struct fti_rankfile *r, struct buf *out)
{
	report_fti_list(r, out);
	if (r->ff != NULL)
		dump_ff(r, out);
	else
		report_fti_dump_posix(r, out);
}
