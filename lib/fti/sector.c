/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/sector.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/content.h"
#include "fti/draft.h"
#include "fti/ini.h"
#include "fti/posix.h"
#include "num.h"

/* --- The text of a file --- */

#define KEY_MAX 64

/* What is written, and the texts that an ini file cannot hold. */
struct printing {
	struct buf *out;
	const char *bad;
};

/* Write a line whose key is formatted. */
__attribute__((format(printf, 3, 4))) static void
text(struct printing *p, const char *value, const char *fmt, ...)
{
	char key[KEY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	if (!fti_ini_can_hold(value))
		p->bad = value;
	fti_ini_add(p->out, key, value);
}

/* A number as an argument of text(), valid until the end of the block. */
#define number(n) num_text((char[NUM_TEXT]){ 0 }, (uint64_t)(n))
#define small(n) signed_text((char[NUM_TEXT]){ 0 }, n)

static const char *
signed_text(char to[static NUM_TEXT], int32_t n)
{
	snprintf(to, NUM_TEXT, "%" PRId32, n);
	return to;
}

static void
print_var(struct printing *p, const struct fti_posix_var *v, size_t j)
{
	text(p, small(v->id), "var%zu_id", j);
	if (v->type >= 0)
		text(p, small(v->type), "var%zu_typeid", j);
	if (v->type_size >= 0)
		text(p, small(v->type_size), "var%zu_typesize", j);
	text(p, number(v->size), "var%zu_size", j);
	text(p, number(v->at), "var%zu_pos", j);
	text(p, v->name, "var%zu_name", j);
	text(p, v->idchar, "var%zu_idchar", j);
	text(p, number(v->ndims), "var%zu_ndims", j);
	for (uint32_t i = 0; i < v->ndims; i++)
		text(p, number(v->dims[i]), "var%zu_dim%" PRIu32, j, i);
}

static void
print_file(struct printing *p, const struct fti_posix_file *f, size_t member)
{
	buf_printf(p->out, "\n[%zu]\n", member);
	text(p, f->name, "ckpt_file_name");
	text(p, number(f->size), "ckpt_file_size");
	text(p, number(f->max_size), "ckpt_file_maxs");
	if (f->sum != NULL)
		text(p, f->sum, "ckpt_checksum");
	for (size_t j = 0; j < f->nvars; j++)
		print_var(p, &f->vars[j], j);
	for (size_t l = 0; l < f->nlayers; l++) {
		text(p, number(f->layers[l].size), "dcp_layer%zu_size", l);
		if (f->layers[l].sum != NULL)
			text(p, f->layers[l].sum, "dcp_layer%zu_hash", l);
		for (size_t j = 0; j < f->nvars; j++) {
			text(p, small(f->vars[j].id), "dcp_layer%zu_var%zu_id",
			     l, j);
			text(p, number(f->vars[j].size),
			     "dcp_layer%zu_var%zu_size", l, j);
		}
	}
	if (f->parity_sum != NULL)
		text(p, f->parity_sum, "rsed_checksum");
	buf_add_char(p->out, '\n');
}

int
fti_posix_print(const struct fti_posix *posix, struct buf *out,
		struct error *err)
{
	struct printing p = { .out = out };

	buf_clear(out);
	buf_add_str(out, "\n[ckpt_info]\n");
	text(&p, posix->layered ? "dcp" : "full", "ckpt_type");
	if (posix->id >= 0)
		text(&p, small(posix->id), "ckpt_id");
	buf_add_char(out, '\n');
	for (size_t i = 0; i < posix->nfiles; i++)
		print_file(&p, &posix->files[i], i);
	buf_add_char(out, '\n');
	if (p.bad != NULL)
		return error_set(err, ERROR_USAGE,
				 "\"%s\": an ini file cannot hold this name",
				 p.bad);
	return buf_check(out, err);
}

int
fti_sector_start(struct fti_sector *s, int32_t id, size_t members,
		 struct error *err)
{
	*s = (struct fti_sector){ .arena = arena_new() };
	if (s->arena == NULL)
		return error_no_memory(err);
	s->posix.id = id;
	s->posix.files =
		arena_alloc(s->arena, members, sizeof(*s->posix.files));
	if (s->posix.files == NULL)
		return error_no_memory(err);
	s->posix.nfiles = members;
	return 0;
}

void
fti_sector_fini(struct fti_sector *s)
{
	arena_free(s->arena);
	*s = (struct fti_sector){ .arena = NULL };
}

static struct fti_posix_var
describe(const struct fti_draft_container *c)
{
	struct fti_posix_var v = {
		.type = -1,
		.type_size = -1,
		.name = "",
		.idchar = "",
	};

	if (c->var->described != NULL)
		v = *c->var->described;
	v.id = c->c.id;
	v.size = (uint64_t)c->c.used;
	v.at = c->c.fptr;
	return v;
}

int
fti_sector_set(struct fti_sector *s, size_t member, const char *name,
	       const struct fti_draft *d, struct error *err)
{
	struct fti_posix_file *f = &s->posix.files[member];

	f->name = arena_strdup(s->arena, name);
	f->sum = arena_strndup(s->arena, d->meta.checksum,
			       sizeof(d->meta.checksum) - 1);
	f->vars = arena_alloc(s->arena, d->ncontainers + 1, sizeof(*f->vars));
	if (f->name == NULL || f->sum == NULL || f->vars == NULL)
		return error_no_memory(err);
	f->size = d->size;
	f->nvars = d->ncontainers;
	for (size_t i = 0; i < d->ncontainers; i++)
		f->vars[i] = describe(&d->containers[i]);
	return 0;
}

int
fti_sector_print(struct fti_sector *s, const char *name, struct buf *out,
		 struct error *err)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < s->posix.nfiles; i++)
		if (s->posix.files[i].name == NULL)
			return error_set(err, ERROR_USAGE,
					 "%s: member %zu of the group has no "
					 "file",
					 name, i);
		else if (s->posix.files[i].size > largest)
			largest = s->posix.files[i].size;
	for (size_t i = 0; i < s->posix.nfiles; i++)
		s->posix.files[i].max_size = largest;
	s->posix.name = name;
	if (fti_posix_print(&s->posix, out, err) < 0)
		return error_wrap(err, "%s", name);
	return 0;
}
