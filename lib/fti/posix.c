/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/posix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/check.h"
#include "fti/draft.h"
#include "fti/ini.h"
#include "fti/input.h"
#include "fti/name.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "str.h"

#define INFO "ckpt_info"

/* More dimensions than any variable of FTI has. */
#define DIMS_MAX 64

#define KEY_MAX 64

/* A key, valid until the end of the block. */
#define KEY(...) key_of((char[KEY_MAX]){ 0 }, __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static const char *
key_of(char to[static KEY_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to, KEY_MAX, fmt, ap);
	va_end(ap);
	return to;
}

/* --- Reading --- */

static const struct fti_ini_range bytes = { 0, INT64_MAX },
				  small_numbers = { -1, INT32_MAX };

/* The section of a member that is read. */
struct reading {
	struct fti_posix *p;
	struct fti_posix_file *f;
	char section[NUM_TEXT];
};

/* A value, or NULL.  An empty value is none. */
static const char *
get(const struct reading *r, const char *key)
{
	const char *text = fti_ini_get(r->p->ini, r->section, key);

	return text == NULL || text[0] == '\0' ? NULL : text;
}

/* A number.  If the key may be missing, *out stays then. */
static int
get_number(const struct reading *r, const char *key, struct fti_ini_range range,
	   bool optional, int64_t *out, struct error *err)
{
	return optional && get(r, key) == NULL
		       ? 0
		       : fti_ini_number(r->p->ini, r->section, key, range, out,
					err);
}

static const char *
get_text(const struct reading *r, const char *key)
{
	const char *text = get(r, key);

	return text == NULL ? "" : text;
}

/* Read variable `j`, which follows byte `end` if the ini does not say where it
 * is. */
static int
read_var(struct reading *r, size_t j, uint64_t end, struct error *err)
{
	struct fti_posix_var *v = &r->f->vars[j];
	const struct fti_ini_range ids = { INT32_MIN, INT32_MAX };
	const struct fti_ini_range most = { 0, DIMS_MAX };
	int64_t id = 0, type = -1, type_size = -1, size = 0, at = (int64_t)end;
	int64_t ndims = 0, dim = 0;

	if (get_number(r, KEY("var%zu_id", j), ids, false, &id, err) < 0 ||
	    get_number(r, KEY("var%zu_typeid", j), small_numbers, true, &type,
		       err) < 0 ||
	    get_number(r, KEY("var%zu_typesize", j), small_numbers, true,
		       &type_size, err) < 0 ||
	    get_number(r, KEY("var%zu_size", j), bytes, false, &size, err) <
		    0 ||
	    get_number(r, KEY("var%zu_pos", j), bytes, true, &at, err) < 0)
		return -1;
	*v = (struct fti_posix_var){
		.id = (int32_t)id,
		.type = (int32_t)type,
		.type_size = (int32_t)type_size,
		.size = (uint64_t)size,
		.at = (uint64_t)at,
		.name = get_text(r, KEY("var%zu_name", j)),
		.idchar = get_text(r, KEY("var%zu_idchar", j)),
	};
	if (size > INT64_MAX - at)
		return error_set(err, ERROR_CORRUPT,
				 "%s: [%s] var%zu: %" PRIu64
				 " bytes at %" PRIu64,
				 r->p->name, r->section, j, v->size, v->at);
	if (get_number(r, KEY("var%zu_ndims", j), most, true, &ndims, err) < 0)
		return -1;
	v->ndims = (uint32_t)ndims;
	v->dims = arena_alloc(r->p->arena, v->ndims + 1, sizeof(*v->dims));
	for (uint32_t i = 0; i < v->ndims; i++) {
		if (get_number(r, KEY("var%zu_dim%" PRIu32, j, i), bytes, false,
			       &dim, err) < 0)
			return -1;
		v->dims[i] = (uint64_t)dim;
	}
	return 0;
}

static int
read_file(struct reading *r, struct error *err)
{
	struct fti_posix_file *f = r->f;
	struct arena *a = r->p->arena;
	const bool layered = r->p->layered;
	uint64_t end = 0;
	int64_t size = 0, most = 0;

	if (fti_ini_text(r->p->ini, r->section, "ckpt_file_name", &f->name,
			 err) < 0)
		return -1;
	if (!path_is_clean(f->name) || strchr(f->name, '/') != NULL)
		return error_set(err, ERROR_CORRUPT,
				 "%s: [%s] ckpt_file_name: not a file name",
				 r->p->name, r->section);
	if (get_number(r, "ckpt_file_size", bytes, false, &size, err) < 0 ||
	    get_number(r, "ckpt_file_maxs", bytes, true, &most, err) < 0)
		return -1;
	f->size = (uint64_t)size;
	f->max_size = (uint64_t)most;
	f->sum = get(r, "ckpt_checksum");
	f->parity_sum = get(r, "rsed_checksum");
	/* What is left of a sum tells nothing. */
	if (f->parity_sum != NULL && strlen(f->parity_sum) < FTI_DIGITS_ALIKE)
		f->parity_sum = NULL;
	while (get(r, KEY("var%zu_id", f->nvars)) != NULL)
		f->nvars++;
	while (layered && get(r, KEY("dcp_layer%zu_size", f->nlayers)) != NULL)
		f->nlayers++;
	f->vars = arena_alloc(a, f->nvars + 1, sizeof(*f->vars));
	f->layers = arena_alloc(a, f->nlayers + 1, sizeof(*f->layers));

	for (size_t j = 0; j < f->nvars; j++) {
		if (read_var(r, j, end, err) < 0)
			return -1;
		end = layered ? 0 : f->vars[j].at + f->vars[j].size;
	}
	for (size_t l = 0; l < f->nlayers; l++) {
		if (get_number(r, KEY("dcp_layer%zu_size", l), bytes, false,
			       &size, err) < 0)
			return -1;
		f->layers[l].size = (uint64_t)size;
		f->layers[l].sum = get(r, KEY("dcp_layer%zu_hash", l));
	}
	return 0;
}

static int
read_all(struct fti_posix *p, struct error *err)
{
	struct reading r = { .p = p, .section = INFO };
	struct fti_name name;
	int64_t id = -1;

	p->layered = str_eq(get_text(&r, "ckpt_type"), "dcp");
	if (get_number(&r, "ckpt_id", small_numbers, true, &id, err) < 0)
		return -1;
	p->id = (int32_t)id;
	/* Members, up to the last one that has a file. */
	for (size_t i = 0; i < FTI_POSIX_MEMBERS; i++) {
		num_text(r.section, i);
		if (get(&r, "ckpt_file_name") != NULL)
			p->nfiles = i + 1;
	}
	if (p->nfiles == 0)
		return error_set(err, ERROR_CORRUPT,
				 "%s: describes no checkpoint file", p->name);
	p->files = arena_alloc(p->arena, p->nfiles, sizeof(*p->files));
	for (size_t i = 0; i < p->nfiles; i++) {
		r.f = &p->files[i];
		num_text(r.section, i);
		if (read_file(&r, err) < 0)
			return -1;
	}
	/* Old versions of FTI have it in the name only. */
	name = fti_name_parse(p->files[0].name);
	if (p->id < 0 && name.kind == FTI_NAME_RANK)
		p->id = (int32_t)name.id;
	return 0;
}

struct fti_posix *
fti_posix_take(struct fti_ini *ini, struct error *err)
{
	struct fti_posix *p = NULL;

	if (ini == NULL)
		return NULL;
	p = mem_calloc(1, sizeof(*p));
	p->ini = ini;
	p->name = fti_ini_name(ini);
	p->arena = arena_new();
	if (read_all(p, err) == 0)
		return p;
	fti_posix_free(p);
	return NULL;
}

struct fti_posix *
fti_posix_read(int dirfd, const char *path, struct error *err)
{
	return fti_posix_take(fti_ini_read(dirfd, path, err), err);
}

void
fti_posix_fini(struct fti_posix *p)
{
	arena_free(p->arena);
	fti_ini_free(p->ini);
	*p = (struct fti_posix){ .id = -1 };
}

void
fti_posix_free(struct fti_posix *p)
{
	if (p != NULL)
		fti_posix_fini(p);
	mem_free(p);
}

const char *
fti_type_name(int32_t type)
{
	static const char *const names[] = {
		"char",		"short",	 "int",
		"long",		"unsigned char", "unsigned short",
		"unsigned int", "unsigned long", "float",
		"double",	"long double",
	};

	return type >= 0 && (size_t)type < sizeof(names) / sizeof(names[0])
		       ? names[type]
		       : NULL;
}

int
fti_content_posix(struct fti_content *c, const struct fti_posix_file *f,
		  const struct fti_source *s, struct error *err)
{
	*c = (struct fti_content){ .source = s };
	for (size_t i = 0; i < f->nvars; i++) {
		const struct fti_posix_var *v = &f->vars[i];

		if (v->at > s->size || v->size > s->size - v->at)
			return error_set(err, ERROR_CORRUPT,
					 "%s: ends at byte %" PRIu64
					 ", but variable %" PRId32
					 " has %" PRIu64 " bytes at %" PRIu64,
					 s->name, s->size, v->id, v->size,
					 v->at);
		fti_content_add_var(c, v->id);
		fti_content_add_piece(c, v->at, v->size);
		c->vars[i].described = v;
	}
	return 0;
}

/* --- Writing --- */

/* What is written, and the texts that an ini file cannot hold. */
struct printing {
	struct buf *out;
	const char *bad;
};

static void
text(struct printing *p, const char *key, const char *value)
{
	if (!fti_ini_can_hold(value))
		p->bad = value;
	fti_ini_add(p->out, key, value);
}

static void
number(struct printing *p, const char *key, int64_t n)
{
	text(p, key, KEY("%" PRId64, n));
}

int
fti_posix_print(const struct fti_posix *posix, struct buf *out,
		struct error *err)
{
	struct printing p = { .out = out };

	buf_clear(out);
	buf_add_str(out, "\n[ckpt_info]\n");
	text(&p, "ckpt_type", "full");
	if (posix->id >= 0)
		number(&p, "ckpt_id", posix->id);
	buf_add_char(out, '\n');
	for (size_t m = 0; m < posix->nfiles; m++) {
		const struct fti_posix_file *f = &posix->files[m];

		buf_printf(out, "\n[%zu]\n", m);
		text(&p, "ckpt_file_name", f->name);
		number(&p, "ckpt_file_size", (int64_t)f->size);
		number(&p, "ckpt_file_maxs", (int64_t)f->max_size);
		if (f->sum != NULL)
			text(&p, "ckpt_checksum", f->sum);
		for (size_t j = 0; j < f->nvars; j++) {
			const struct fti_posix_var *v = &f->vars[j];

			number(&p, KEY("var%zu_id", j), v->id);
			if (v->type >= 0)
				number(&p, KEY("var%zu_typeid", j), v->type);
			if (v->type_size >= 0)
				number(&p, KEY("var%zu_typesize", j),
				       v->type_size);
			number(&p, KEY("var%zu_size", j), (int64_t)v->size);
			number(&p, KEY("var%zu_pos", j), (int64_t)v->at);
			text(&p, KEY("var%zu_name", j), v->name);
			text(&p, KEY("var%zu_idchar", j), v->idchar);
			number(&p, KEY("var%zu_ndims", j), v->ndims);
			for (uint32_t i = 0; i < v->ndims; i++)
				number(&p, KEY("var%zu_dim%" PRIu32, j, i),
				       (int64_t)v->dims[i]);
		}
		buf_add_char(out, '\n');
	}
	buf_add_char(out, '\n');
	if (p.bad != NULL)
		return error_set(err, ERROR_USAGE,
				 "\"%s\": an ini file cannot hold this name",
				 p.bad);
	return 0;
}

void
fti_posix_start(struct fti_posix *p, int32_t id, size_t members)
{
	*p = (struct fti_posix){
		.id = id,
		.arena = arena_new(),
		.nfiles = members,
	};
	p->files = arena_alloc(p->arena, members, sizeof(*p->files));
}

void
fti_posix_set(struct fti_posix *p, size_t member, const char *name,
	      const struct fti_draft *d)
{
	struct fti_posix_file *f = &p->files[member];

	f->name = arena_strdup(p->arena, name);
	f->sum = arena_strndup(p->arena, d->meta.checksum,
			       sizeof(d->meta.checksum) - 1);
	f->vars = arena_alloc(p->arena, d->ncontainers + 1, sizeof(*f->vars));

	f->size = d->size;
	f->nvars = d->ncontainers;
	for (size_t i = 0; i < d->ncontainers; i++) {
		const struct fti_draft_container *c = &d->containers[i];
		struct fti_posix_var *v = &f->vars[i];

		*v = (struct fti_posix_var){
			.type = -1,
			.type_size = -1,
			.name = "",
			.idchar = "",
		};
		if (c->var->described != NULL)
			*v = *c->var->described;
		v->id = c->c.id;
		v->size = (uint64_t)c->c.used;
		v->at = c->c.fptr;
	}
}

int
fti_posix_finish(struct fti_posix *p, const char *name, struct buf *out,
		 struct error *err)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].name == NULL)
			return error_set(err, ERROR_USAGE,
					 "%s: member %zu of the group has no "
					 "file",
					 name, i);
		else if (p->files[i].size > largest)
			largest = p->files[i].size;
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].max_size = largest;
	p->name = name;
	if (fti_posix_print(p, out, err) < 0)
		return error_wrap(err, "%s", name);
	return 0;
}
