/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_posix.c - POSIX files of FTI as text: variables, layers, and where the
 * bytes of variables are.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "fti/file.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "mem.h"
#include "report/fti_impl.h"
#include "report/table.h"
#include "str.h"

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

void
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

void
report_fti_dump_posix(const struct fti_rankfile *r, struct buf *out)
{
	if (r->dcp.nlayers > 0)
		add_layers(r, out);
	if (r->content.npieces > 0)
		add_pieces(r, out);
}
