/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_json.c - files and checkpoints of FTI as JSON.
 */
#include "report/fti_json.h"

#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "ftijob/set.h"
#include "ftijob/tree.h"
#include "json.h"
#include "mem.h"
#include "report/fti.h"
#include "report/fti_impl.h"
#include "str.h"

/* --- Files --- */

static const char *
state_of(const struct fti_rankfile *r)
{
	static const char *const names[] = {
		[FTI_INTACT] = "intact",   [FTI_REFUSED] = "refused",
		[FTI_DAMAGED] = "damaged", [FTI_FOREIGN] = "foreign",
		[FTI_UNREAD] = "unknown",
	};

	return names[r->checked.verdict];
}

static void
set_layout(struct json *j, enum fti_layout layout)
{
	json_set_str(j, "fti_layout", fti_format(layout)->letter);
}

static void
set_hash(struct json *j, const char *key,
	 const unsigned char hash[static HASH_MD5_SIZE])
{
	char hex[HASH_MD5_TEXT];

	json_set_str(j, key, hash_hex(hex, hash, HASH_MD5_SIZE));
}

static struct json *
problem_json(const struct fti_finding *f)
{
	struct json *j = json_new_object();

	json_set_str(j, "problem", f->text);
	json_set_known_i64(j, "offset", f->at);
	if (f->field >= 0)
		json_set_str(j, "field",
			     fti_field_name((enum fti_field)f->field));
	if (f->block != SIZE_MAX)
		json_set_u64(j, "block", f->block);
	if (f->container != SIZE_MAX)
		json_set_u64(j, "container_number", f->container);
	return j;
}

static struct json *
variable_json(const struct fti_var *v)
{
	struct json *j = json_new_object();

	json_set_i64(j, "variable", v->id);
	json_set_u64(j, "size", v->size);
	json_set_u64(j, "reserved_bytes", v->room);
	json_set_u64(j, "container_count", v->parts);
	return j;
}

/* The head of a file and its variables. */
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
	for (size_t i = 0; i < f->nvars; i++)
		json_push(list, variable_json(&f->vars[i]));
	json_set(j, "variables", list);
}

/* The fields of the metadata record by FTI's names. */
static struct json *
meta_json(const struct fti_file *f)
{
	const struct fti_meta *m = &f->meta;
	struct json *j = json_new_object();
	char sum[FTI_CHECKSUM_SIZE + 1] = "";

	memcpy(sum, m->checksum, FTI_CHECKSUM_SIZE);
	json_set_u64(j, "offset", f->meta_at);
	json_set_str(j, "checksum", sum);
	set_hash(j, "myHash", m->hash);
	for (enum fti_field i = FTI_CKPT_ID; i < FTI_TIMESTAMP; i++)
		if (fti_has(f->layout, i))
			json_set_i64(j, fti_field_name(i),
				     report_fti_number(m, i));
	json_set_u64(j, "timestamp", m->timestamp);
	return j;
}

static struct json *
block_json(const struct fti_file *f, size_t i)
{
	const struct fti_file_block *b = &f->blocks[i];
	struct json *j = json_new_object();

	json_set_u64(j, "block", i);
	json_set_u64(j, "offset", b->at);
	json_set_i64(j, "numvars", b->b.numvars);
	json_set_i64(j, "dbsize", b->b.dbsize);
	return j;
}

static struct json *
container_json(const struct fti_file_container *k, const char *state)
{
	struct json *j = json_new_object();

	json_set_u64(j, "block", k->block);
	json_set_u64(j, "offset", k->at);
	json_set_i64(j, "variable", k->c.id);
	json_set_i64(j, "containerid", k->c.part);
	json_set_u64(j, "hascontent", k->c.has_content);
	json_set_u64(j, "dptr", k->c.dptr);
	json_set_u64(j, "fptr", k->c.fptr);
	json_set_i64(j, "chunksize", k->c.used);
	json_set_i64(j, "containersize", k->c.size);
	set_hash(j, "hash", k->c.hash);
	json_set_str(j, "state", state);
	return j;
}

static void
set_records(struct json *j, const struct fti_checked *c)
{
	const struct fti_file *f = c->file;
	struct json *blocks = NULL, *containers = NULL;
	const char **states = NULL;

	if (f->kind == FTI_KIND_NONE)
		return;
	json_set(j, "metadata_record", meta_json(f));
	if (f->kind != FTI_KIND_DATA)
		return;
	blocks = json_new_array();
	for (size_t i = 0; i < f->nblocks; i++)
		json_push(blocks, block_json(f, i));
	json_set(j, "blocks", blocks);
	states = report_fti_container_states(c);
	containers = states == NULL ? NULL : json_new_array();
	for (size_t i = 0; states != NULL && i < f->ncontainers; i++)
		json_push(containers,
			  container_json(&f->containers[i], states[i]));
	json_set(j, "fti_containers", containers);
	mem_free(states);
}

/* --- POSIX files --- */

static struct json *
piece_json(const struct fti_rankfile *r, size_t i)
{
	const struct fti_piece *p = &r->content.pieces[i];
	struct json *j = json_new_object();

	json_set_u64(j, "offset", p->off);
	json_set_u64(j, "length", p->len);
	json_set_u64(j, "file_offset", p->at);
	if (r->form == FTI_FORM_LAYERS)
		json_set_u64(j, "layer", fti_dcp_layer(&r->dcp, p->at));
	json_set_bool(j, "data_intact", r->proven[i]);
	return j;
}

static struct json *
posix_variable_json(const struct fti_rankfile *r,
		    const struct fti_content_var *v, bool pieces)
{
	struct json *j = json_new_object(), *list = NULL;
	const struct fti_posix_var *d = v->described;

	json_set_i64(j, "variable", v->id);
	if (d != NULL) {
		json_set_known_str(j, "name", d->name);
		json_set_known_str(j, "type", fti_type_name(d->type));
	}
	json_set_u64(j, "size", v->size);
	if (d != NULL && d->ndims > 0) {
		list = json_new_array();
		for (uint32_t i = 0; i < d->ndims; i++)
			json_push_u64(list, d->dims[i]);
		json_set(j, "dimensions", list);
	}
	if (!pieces)
		return j;
	list = json_new_array();
	for (size_t i = 0; i < v->count; i++)
		json_push(list, piece_json(r, v->first + i));
	json_set(j, "pieces", list);
	return j;
}

static struct json *
layer_json(const struct fti_rankfile *r, size_t i)
{
	const struct fti_dcp *d = &r->dcp;
	const int32_t id = fti_dcp_id(d, i);
	struct json *j = json_new_object();

	json_set_u64(j, "layer", i);
	json_set_i64(j, "checkpoint_id", id < 0 ? r->described.posix->id : id);
	json_set_u64(j, "offset", d->layers[i].at);
	json_set_u64(j, "size", d->file->layers[i].size);
	json_set_u64(j, "block_count", d->layers[i].blocks);
	return j;
}

static void
set_posix(struct json *j, const struct fti_rankfile *r,
	  enum report_fti_depth depth)
{
	const struct fti_content *c = &r->content;
	struct json *list = json_new_array();

	json_set_str(j, "metadata_file", r->described.path);
	json_set_u64(j, "size", r->source->size);
	if (!r->parity) {
		for (size_t i = 0; i < c->nvars; i++)
			json_push(list, posix_variable_json(
						r, &c->vars[i],
						depth >= REPORT_FTI_RECORDS));
		json_set(j, "variables", list);
		list = json_new_array();
	}
	for (size_t i = 0; i < r->dcp.nlayers; i++)
		json_push(list, layer_json(r, i));
	json_set(j, "layers", list);
}

/* --- Any file --- */

static void
set_form(struct json *j, const struct fti_rankfile *r)
{
	if (r->form == FTI_FORM_UNKNOWN)
		return;
	json_set_str(j, "format", r->form == FTI_FORM_FF ? "FTI-FF" : "POSIX");
	if (r->form == FTI_FORM_FF)
		set_layout(j, r->ff->layout);
	json_set_str(j, "kind",
		     r->parity ? "parity"
		     : r->copy ? "copy"
			       : "data");
	/* Nothing protects it: it may be any number. */
	if (r->id >= 0 && !r->parity)
		json_set_i64(j, "checkpoint_id", r->id);
}

struct json *
report_fti_file_json(const struct fti_rankfile *r, enum report_fti_depth depth)
{
	struct json *j = json_new_object(), *list = json_new_array();

	json_set_str(j, "file", r->name);
	json_set_str(j, "state", state_of(r));
	json_set_str(j, "verdict", fti_verdict_name(r->checked.verdict));
	json_set_i64(j, "status", report_fti_status(r));
	json_set_bool(j, "data_intact", r->checked.data_good);
	json_set_known_str(j, "reason", r->checked.unread);
	set_form(j, r);
	for (const struct fti_finding *n = r->checked.file->findings; n != NULL;
	     n = n->next)
		json_push(list, problem_json(n));
	json_set(j, "problems", list);
	if (depth >= REPORT_FTI_VARIABLES && r->ff != NULL)
		set_variables(j, r->ff);
	if (depth >= REPORT_FTI_RECORDS && r->ff != NULL)
		set_records(j, &r->checked);
	if (depth >= REPORT_FTI_VARIABLES && r->ff == NULL)
		set_posix(j, r, depth);
	return j;
}

/* --- Checkpoints --- */

static void
push_part(struct json *list, const struct fti_rank *r, enum fti_part part)
{
	const struct fti_part_file *p = &r->parts[part];
	struct json *j = json_new_object();

	if (p->entry != NULL)
		json_set_str(j, "path", p->entry->path);
	json_set_u64(j, "rank", r->rank);
	json_set_u64(j, "node", r->node);
	json_set_str(j, "kind", report_fti_part(part));
	if (p->entry != NULL)
		json_set_u64(j, "size", p->entry->size);
	json_set_str(j, "found", fti_state_name(p->state));
	json_set_known_str(j, "problem", p->problem);
	json_push(list, j);
}

static struct json *
files_json(const struct fti_set *set)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < set->nranks; i++) {
		push_part(list, &set->ranks[i], FTI_OWN);
		if (set->level == FTI_L2)
			push_part(list, &set->ranks[i], FTI_COPY);
		if (set->level == FTI_L3)
			push_part(list, &set->ranks[i], FTI_PARITY);
	}
	return list;
}

static struct json *
set_json(const struct fti_set *set, bool chosen, bool files)
{
	struct json *j = json_new_object();

	json_set_str(j, "level", fti_level_name(set->level));
	if (set->id != 0)
		json_set_u64(j, "checkpoint_id", set->id);
	if (set->whole != NULL || set->posix || set->layout_known)
		json_set_str(j, "format",
			     set->whole != NULL ? "MPI-IO"
			     : set->posix	? "POSIX"
						: "FTI-FF");
	if (!set->posix && set->layout_known)
		set_layout(j, set->layout);
	json_set_str(j, "state", fti_set_state_name(set->state));
	json_set_known_str(j, "reason", set->reason);
	json_set_known_str(j, "refusal", set->refusal);
	json_set_bool(j, "is_current", chosen);
	json_set_u64(j, "rank_count", set->nranks);
	json_set_u64(j, "ranks_bad", set->bad);
	json_set_u64(j, "bytes", set->bytes);
	json_set_time(j, "written", set->written);
	if (files)
		json_set(j, "files", files_json(set));
	return j;
}

static struct json *
execution_json(const struct fti_sets *s, size_t first, size_t end, bool files)
{
	const struct fti_set *best = fti_sets_choice(s, s->list[first].exec);
	const struct fti_geometry *g = &s->list[first].geometry;
	struct json *j = json_new_object(), *list = json_new_array();

	json_set_str(j, "execution", s->list[first].exec);
	if (g->nodes > 0)
		json_set_u64(j, "node_count", g->nodes);
	if (g->node_size > 0)
		json_set_u64(j, "node_size", g->node_size);
	if (g->group_size > 0)
		json_set_u64(j, "group_size", g->group_size);
	if (g->head >= 0)
		json_set_bool(j, "heads", g->head > 0);
	for (size_t i = first; i < end; i++)
		json_push(list,
			  set_json(&s->list[i], &s->list[i] == best, files));
	json_set(j, "fti_checkpoints", list);
	return j;
}

struct json *
report_fti_sets_json(const struct fti_sets *s, bool files)
{
	struct json *list = json_new_array();

	for (size_t i = 0, k = 0; i < s->count; i = k) {
		while (k < s->count && str_eq(s->list[k].exec, s->list[i].exec))
			k++;
		json_push(list, execution_json(s, i, k, files));
	}
	return list;
}

/* --- What verbs did --- */

struct json *
report_fti_done_json(const struct report_fti_done *d)
{
	struct json *j = json_new_object();

	json_set_str(j, "path", d->path);
	json_set_str(j, "action", d->action);
	json_set_known_str(j, "kind", d->kind);
	json_set_known_str(j, "from", d->from);
	json_set_known_i64(j, "rank", d->rank);
	json_set_known_i64(j, "size", d->size);
	return j;
}
