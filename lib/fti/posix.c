/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/posix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/content.h"
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

/* The section of a member that is read, and what its next keys begin with. */
struct reading {
	struct fti_posix *p;
	struct fti_posix_file *f;
	char section[NUM_TEXT];
	char prefix[KEY_MAX];
};

/* Name the next keys. */
__attribute__((format(printf, 2, 3))) static void
set_prefix(struct reading *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->prefix, sizeof(r->prefix), fmt, ap);
	va_end(ap);
}

static const char *
key_of(const struct reading *r, const char *key, char to[static 2 * KEY_MAX])
{
	snprintf(to, 2 * (size_t)KEY_MAX, "%s%s", r->prefix, key);
	return to;
}

/* A value, or NULL.  An empty value is none. */
static const char *
get(const struct reading *r, const char *key)
{
	char name[2 * KEY_MAX];
	const char *text =
		fti_ini_get(r->p->ini, r->section, key_of(r, key, name));

	return text == NULL || text[0] == '\0' ? NULL : text;
}

/* A number; *missing if there is no such key (NULL: an error). */
static int
get_number(const struct reading *r, const char *key, struct fti_ini_range range,
	   const int64_t *missing, int64_t *out, struct error *err)
{
	char name[2 * KEY_MAX];

	if (missing != NULL && get(r, key) == NULL) {
		*out = *missing;
		return 0;
	}
	return fti_ini_number(r->p->ini, r->section, key_of(r, key, name),
			      range, out, err);
}

/* A number of bytes. */
static int
get_bytes(const struct reading *r, const char *key, const int64_t *missing,
	  uint64_t *out, struct error *err)
{
	int64_t n = 0;

	if (get_number(r, key, (struct fti_ini_range){ 0, INT64_MAX }, missing,
		       &n, err) < 0)
		return -1;
	*out = (uint64_t)n;
	return 0;
}

/* A number that may be missing: -1. */
static int
get_small(const struct reading *r, const char *key, int32_t *out,
	  struct error *err)
{
	const int64_t none = -1;
	int64_t n = 0;

	if (get_number(r, key, (struct fti_ini_range){ -1, INT32_MAX }, &none,
		       &n, err) < 0)
		return -1;
	*out = (int32_t)n;
	return 0;
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
	const int64_t after = (int64_t)end;
	int64_t id = 0;
	const int64_t none = 0;
	int64_t n = 0;

	set_prefix(r, "var%zu_", j);
	if (get_number(r, "id", ids, NULL, &id, err) < 0 ||
	    get_small(r, "typeid", &v->type, err) < 0 ||
	    get_small(r, "typesize", &v->type_size, err) < 0 ||
	    get_bytes(r, "size", NULL, &v->size, err) < 0 ||
	    get_bytes(r, "pos", &after, &v->at, err) < 0)
		return -1;
	v->id = (int32_t)id;
	v->name = get_text(r, "name");
	v->idchar = get_text(r, "idchar");
	if (!r->p->layered &&
	    (v->at > r->f->size || v->size > r->f->size - v->at))
		return error_set(
			err, ERROR_CORRUPT,
			"%s: [%s] var%zu: %" PRIu64 " bytes at %" PRIu64
			", but its file has %" PRIu64 " bytes",
			r->p->name, r->section, j, v->size, v->at, r->f->size);
	if (get_number(r, "ndims", (struct fti_ini_range){ 0, DIMS_MAX }, &none,
		       &n, err) < 0)
		return -1;
	v->ndims = (uint32_t)n;
	v->dims = arena_alloc(r->p->arena, v->ndims + 1, sizeof(*v->dims));
	if (v->dims == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < v->ndims; i++) {
		set_prefix(r, "var%zu_dim%" PRIu32, j, i);
		if (get_bytes(r, "", NULL, &v->dims[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The number of the variables or layers, which have this key. */
static size_t
count_keys(struct reading *r, const char *begin, const char *end)
{
	size_t n = 0;

	for (set_prefix(r, "%s0", begin); get(r, end) != NULL;
	     set_prefix(r, "%s%zu", begin, ++n))
		;
	return n;
}

static int
read_layers(struct reading *r, struct error *err)
{
	struct fti_posix_file *f = r->f;

	f->nlayers = count_keys(r, "dcp_layer", "_size");
	f->layers =
		arena_alloc(r->p->arena, f->nlayers + 1, sizeof(*f->layers));
	if (f->layers == NULL)
		return error_no_memory(err);
	for (size_t l = 0; l < f->nlayers; l++) {
		set_prefix(r, "dcp_layer%zu", l);
		if (get_bytes(r, "_size", NULL, &f->layers[l].size, err) < 0)
			return -1;
		f->layers[l].sum = get(r, "_hash");
	}
	return 0;
}

static int
read_file(struct reading *r, struct error *err)
{
	struct fti_posix_file *f = r->f;
	const int64_t none = 0;
	uint64_t end = 0;

	if (fti_ini_text(r->p->ini, r->section, "ckpt_file_name", &f->name,
			 err) < 0)
		return -1;
	if (!path_is_clean(f->name) || strchr(f->name, '/') != NULL)
		return error_set(err, ERROR_CORRUPT,
				 "%s: [%s] ckpt_file_name: not a file name",
				 r->p->name, r->section);
	r->prefix[0] = '\0';
	if (get_bytes(r, "ckpt_file_size", NULL, &f->size, err) < 0 ||
	    get_bytes(r, "ckpt_file_maxs", &none, &f->max_size, err) < 0)
		return -1;
	f->sum = get(r, "ckpt_checksum");
	f->parity_sum = get(r, "rsed_checksum");
	f->nvars = count_keys(r, "var", "_id");
	f->vars = arena_alloc(r->p->arena, f->nvars + 1, sizeof(*f->vars));
	if (f->vars == NULL)
		return error_no_memory(err);
	for (size_t j = 0; j < f->nvars; j++) {
		if (read_var(r, j, end, err) < 0)
			return -1;
		end = r->p->layered ? 0 : f->vars[j].at + f->vars[j].size;
	}
	return r->p->layered ? read_layers(r, err) : 0;
}

/* Count the members: up to the last one that has a file. */
static size_t
count_files(struct reading *r)
{
	size_t n = 0;

	for (size_t i = 0; i < FTI_POSIX_MEMBERS; i++) {
		num_text(r->section, i);
		if (get(r, "ckpt_file_name") != NULL)
			n = i + 1;
	}
	return n;
}

static int
read_all(struct fti_posix *p, struct error *err)
{
	struct reading r = { .p = p, .section = INFO };
	struct fti_name name;

	p->layered = str_eq(get_text(&r, "ckpt_type"), "dcp");
	if (get_small(&r, "ckpt_id", &p->id, err) < 0)
		return -1;
	p->nfiles = count_files(&r);
	if (p->nfiles == 0)
		return error_set(err, ERROR_CORRUPT,
				 "%s: describes no checkpoint file", p->name);
	p->files = arena_alloc(p->arena, p->nfiles, sizeof(*p->files));
	if (p->files == NULL)
		return error_no_memory(err);
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
	if (p == NULL) {
		fti_ini_free(ini);
		error_no_memory(err);
		return NULL;
	}
	p->ini = ini;
	p->name = fti_ini_name(ini);
	p->arena = arena_new();
	if (p->arena == NULL)
		error_no_memory(err);
	else if (read_all(p, err) == 0)
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
fti_posix_free(struct fti_posix *p)
{
	if (p == NULL)
		return;
	arena_free(p->arena);
	fti_ini_free(p->ini);
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
		if (fti_content_add_var(c, v->id, err) < 0 ||
		    fti_content_add_piece(c, v->at, v->size, err) < 0)
			return -1;
		c->vars[i].described = v;
	}
	return 0;
}
