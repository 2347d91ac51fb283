/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c - find the layout of an FTI-FF file, read its records, and check them.
 */
#include "fti/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/input.h"
#include "map.h"
#include "mem.h"
#include "num.h"

/* Records are read in steps of so many bytes. */
#define WINDOW 65536

struct reader {
	const struct fti_source *s;
	unsigned char window[WINDOW];
	uint64_t at; /* of the window */
	size_t len;
};

/* `len` <= WINDOW bytes at `off`, or NULL. */
static const unsigned char *
record(struct reader *r, uint64_t off, size_t len, struct error *err)
{
	if (off < r->at || off - r->at > r->len ||
	    r->len - (off - r->at) < len) {
		r->len = 0;
		r->at = off;
		if (off > r->s->size || r->s->size - off < len)
			return error_set_null(err, ERROR_CORRUPT,
					      "beyond the end");
		r->len = r->s->size - off < WINDOW ? (size_t)(r->s->size - off)
						   : WINDOW;
		if (fti_source_read(r->s, r->window, r->len, off, err) < 0) {
			r->len = 0;
			return NULL;
		}
	}
	return r->window + (off - r->at);
}

/* --- Findings --- */

void
fti_find(struct fti_file *f, enum fti_rule rule, struct fti_where where,
	 const char *fmt, ...)
{
	struct fti_finding *n = arena_alloc(f->arena, 1, sizeof(*n));
	char text[ERROR_TEXT_MAX];
	uint64_t at = f->meta_at;
	int len = 0;
	va_list ap;

	if (where.container != SIZE_MAX) {
		at = f->containers[where.container].at;
		len = snprintf(text, sizeof(text),
			       "container %zu: ", where.container);
	} else if (where.block != SIZE_MAX && where.field >= 0) {
		at = f->blocks[where.block].at;
		len = snprintf(text, sizeof(text), "block %zu: ", where.block);
	}
	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	va_end(ap);
	if (where.field >= 0)
		at += fti_format(f->layout)->fields[where.field].at;
	*n = (struct fti_finding){
		.rule = rule,
		.at = where.field < 0 ? -1 : (int64_t)at,
		.block = where.block,
		.container = where.container,
		.field = where.field,
		.text = arena_strdup(f->arena, text),
	};
	*f->tail = n;
	f->tail = &n->next;
	if (f->nfindings++ == 0 || rule > f->worst)
		f->worst = rule;
}

/* --- Records --- */

/*
 * Read all records of blocks and containers.  If they follow the data, the
 * first one is at `start`, and they end at the metadata; else each block
 * follows its records.  Returns 1; 0: they do not fit each other or the file;
 * -1: an error.
 */
static int
read_records(struct fti_file *f, struct reader *r, enum fti_layout l,
	     uint64_t start, const struct fti_meta *m, struct error *err)
{
	const struct fti_format *format = fti_format(l);
	const uint64_t last = f->size - (format->footer ? format->meta : 0);
	uint64_t at = start, data = 0; /* of all containers */

	f->nblocks = f->ncontainers = 0;
	while (at < last) {
		const unsigned char *bytes = NULL;
		struct fti_file_block *b = NULL;
		const uint64_t before = data;

		if (last - at < format->block)
			return 0;
		bytes = record(r, at, format->block, err);
		if (bytes == NULL)
			return -1;
		(void)MEM_ROOM(f->blocks, f->nblocks, f->room_blocks);
		b = &f->blocks[f->nblocks++];
		fti_record_read(l, FTI_BLOCK, bytes, &b->b);
		b->at = at;
		b->first = f->ncontainers;
		at += format->block;
		if (b->b.numvars < 1 ||
		    (uint64_t)b->b.numvars > (last - at) / format->container)
			return 0;
		for (int64_t i = 0; i < b->b.numvars;
		     i++, at += format->container) {
			struct fti_file_container *c = NULL;

			bytes = record(r, at, format->container, err);
			if (bytes == NULL)
				return -1;
			(void)MEM_ROOM(f->containers, f->ncontainers,
				       f->room_containers);
			c = &f->containers[f->ncontainers++];
			*c = (struct fti_file_container){
				.at = at,
				.block = f->nblocks - 1,
				.next = SIZE_MAX,
			};
			fti_record_read(l, FTI_CONTAINER, bytes, &c->c);
			if (c->c.size < 0 ||
			    (uint64_t)c->c.size > INT64_MAX - data)
				return 0;
			data += (uint64_t)c->c.size;
		}
		if (!format->footer && data - before > INT64_MAX - at)
			return 0;
		at += format->footer ? 0 : data - before;
	}
	f->end = format->footer ? f->size : at;
	if (f->nblocks == 0 || format->footer)
		return f->nblocks > 0 && data == start;
	/* B leaves out empty containers at its end. */
	return at == last || (l == FTI_B && ((int64_t)at == m->fs ||
					     (int64_t)at == m->ckpt_size));
}

/* The same from where the metadata say that they begin: two sizes tell it. */
static int
walk(struct fti_file *f, struct reader *r, enum fti_layout l,
     const struct fti_meta *m, struct error *err)
{
	const struct fti_format *format = fti_format(l);
	const uint64_t starts[] = { (uint64_t)m->data_size,
				    f->size - (uint64_t)m->meta_size };
	int rc = 0;

	if (!format->footer)
		return read_records(f, r, l, format->meta, m, err);
	for (size_t i = 0; rc == 0 && i < 2; i++)
		if (starts[i] < f->size - format->meta)
			rc = read_records(f, r, l, starts[i], m, err);
	return rc;
}

/* --- The rules that they follow --- */

/* Is a number what others make of it?  `of` ends the text. */
static void
expect(struct fti_file *f, struct fti_where where, uint64_t got, uint64_t want,
       const char *of)
{
	if (got != want)
		fti_find(f, FTI_RULE_DERIVED, where,
			 "%s is %" PRId64 ", expected %" PRId64 "%s",
			 fti_field_name((enum fti_field)where.field),
			 (int64_t)got, (int64_t)want, of);
}

static void
check_meta(struct fti_file *f)
{
	const struct fti_format *format = fti_format(f->layout);
	const struct fti_meta *m = &f->meta;
	uint64_t data = 0;

	if (!f->meta_good)
		fti_find(f, FTI_RULE_META, FTI_META_FIELD(FTI_HASH),
			 "the metadata record differs from its sum (myHash)");
	if (f->kind == FTI_KIND_PARITY)
		return;
	if (!f->complete) {
		fti_find(f, FTI_RULE_STRUCTURE, FTI_FILE_ITSELF,
			 "the records of its blocks and containers do not fit "
			 "each other, or its size");
		return;
	}
	expect(f, FTI_META_FIELD(FTI_FS), (uint64_t)m->fs, f->end, "");
	expect(f, FTI_META_FIELD(FTI_CKPT_SIZE), (uint64_t)m->ckpt_size, f->end,
	       "");
	if (!format->footer)
		return;
	for (size_t i = 0; i < f->ncontainers; i++)
		data += (uint64_t)f->containers[i].c.size;
	expect(f, FTI_META_FIELD(FTI_META_SIZE), (uint64_t)m->meta_size,
	       f->size - data, "");
	expect(f, FTI_META_FIELD(FTI_DATA_SIZE), (uint64_t)m->data_size, data,
	       "");
}

/* Are flags, bytes in use and place of the container possible?  It begins at
 * `at`. */
static void
check_container(struct fti_file *f, size_t i, uint64_t at)
{
	struct fti_container *c = &f->containers[i].c;

	expect(f, FTI_CONTAINER_FIELD(i, FTI_FPTR), c->fptr, at, "");
	c->fptr = at;
	/* FTI ignores it when it restarts. */
	c->has_ckpt = c->has_ckpt == 1;
	if (c->used >= 0 && c->used <= c->size &&
	    (c->used == 0 ||
	     (at <= f->size && (uint64_t)c->used <= f->size - at)))
		return;
	fti_find(f, FTI_RULE_STRUCTURE, FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE),
		 "chunksize is %" PRId64 ", containersize %" PRId64
		 ", at byte %" PRIu64 " of %" PRIu64,
		 c->used, c->size, at, f->size);
	f->usable = false;
	c->used = 0;
}

/* Check the records against the rules of fti-format(5), and make the list of
 * variables. */
static void
check_records(struct fti_file *f)
{
	const struct fti_format *format = fti_format(f->layout);
	uint64_t at = 0;
	struct map *ids = NULL;
	size_t room = 0;

	if (f->kind == FTI_KIND_NONE)
		return;
	f->usable = f->complete;
	check_meta(f);
	if (!f->complete)
		return;
	if (!format->footer)
		at = format->meta;
	for (size_t b = 0; b < f->nblocks; b++) {
		const struct fti_file_block *block = &f->blocks[b];
		const size_t end = b + 1 < f->nblocks ? f->blocks[b + 1].first
						      : f->ncontainers;
		const uint64_t begin = at;

		if (!format->footer)
			at += format->block +
			      (end - block->first) * format->container;
		for (size_t i = block->first; i < end; i++) {
			check_container(f, i, at);
			at += (uint64_t)f->containers[i].c.size;
		}
		expect(f, FTI_BLOCK_FIELD(b, FTI_DBSIZE),
		       (uint64_t)block->b.dbsize, at - begin, "");
	}
	ids = map_new();
	for (size_t i = 0; i < f->ncontainers; i++) {
		struct fti_container *c = &f->containers[i].c;
		const char *key = num_str(c->id);
		size_t v = map_get(ids, key);
		struct fti_var *var = NULL;
		char of[32];

		if (v == MAP_NONE) {
			(void)MEM_ROOM(f->vars, f->nvars, room);
			v = f->nvars++;
			f->vars[v] = (struct fti_var){ .id = c->id };
			/* The map borrows the key. */
			map_put(ids, arena_strdup(f->arena, key), v);
		}
		var = &f->vars[v];
		/* Check its number and offset. */
		snprintf(of, sizeof(of), " (variable %" PRId32 ")", c->id);
		/* The number of a container and its offset prove each other; if
		 * both are wrong, it is perhaps that of another variable. */
		if ((uint64_t)c->part != var->parts && c->dptr != var->room)
			fti_find(f, FTI_RULE_STRUCTURE,
				 FTI_CONTAINER_FIELD(i, FTI_ID),
				 "id is %" PRId32
				 ", but containerid and dptr do not fit",
				 c->id);
		expect(f, FTI_CONTAINER_FIELD(i, FTI_CONTAINERID),
		       (uint64_t)c->part, var->parts, of);
		expect(f, FTI_CONTAINER_FIELD(i, FTI_DPTR), c->dptr, var->room,
		       of);
		/* Bytes, or the first container of an empty variable. */
		if (f->usable)
			expect(f, FTI_CONTAINER_FIELD(i, FTI_HASCONTENT),
			       c->has_content, c->used > 0 || var->parts == 0,
			       of);
		if (var->parts > 0 && c->used > 0 &&
		    f->containers[var->last].c.used <
			    f->containers[var->last].c.size)
			fti_find(f, FTI_RULE_STRUCTURE,
				 FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE),
				 "has data, but the one before it of variable "
				 "%" PRId32 " is not full",
				 c->id);
		f->containers[i].emptied = c->has_content == 0;
		c->part = (int32_t)var->parts;
		c->dptr = var->room;
		c->has_content = c->used > 0 || var->parts == 0;
		if (var->parts++ == 0)
			var->first = i;
		else
			f->containers[var->last].next = i;
		var->last = i;
		var->size += (uint64_t)c->used;
		var->room += (uint64_t)c->size;
		f->live += (uint64_t)c->used;
		f->allocated += (uint64_t)c->size;
		f->empty += c->has_content == 0;
	}
	map_free(ids);
}

/* --- The layout --- */

struct candidate {
	enum fti_layout layout;
	struct fti_meta meta;
	uint64_t at; /* of the metadata record */
	bool parity, good;
	int complete; /* 1: all records were found */
	int score;
};

/* Judge layout `l` with its metadata at `at`: by its sum, the sizes that agree
 * with the file, and its records.  Returns 0, or -1. */
static int
judge(struct fti_file *f, struct reader *r, struct hash *h, struct candidate *c,
      struct error *err)
{
	const struct fti_format *format = fti_format(c->layout);
	const struct fti_meta *m = &c->meta;
	const int64_t size = (int64_t)f->size;
	const size_t len = FTI_CHECKSUM_SIZE - 1;
	unsigned char sum[HASH_MD5_SIZE];
	const unsigned char *bytes = record(r, c->at, format->meta, err);
	int rc = 0;

	if (bytes == NULL)
		return -1;
	fti_meta_hash(c->layout, bytes, h, sum);
	fti_record_read(c->layout, FTI_META, bytes, &c->meta);
	c->good = memcmp(sum, m->hash, sizeof(sum)) == 0;
	if (c->parity) {
		c->complete = m->fs > 0 && m->fs == size - format->meta &&
			      m->max_fs == m->fs;
		c->score = 2 * c->complete;
	} else {
		c->score = (m->ckpt_size == size) + (m->fs == size) +
			   (format->footer && m->meta_size > 0 &&
			    m->meta_size <= size &&
			    m->data_size == size - m->meta_size);
		/* The text of a checksum tells a record with wrong sizes. */
		if (c->good || c->score > 0 ||
		    (m->checksum[len] == '\0' &&
		     strspn(m->checksum, "0123456789abcdef") == len))
			rc = walk(f, r, c->layout, m, err);
		c->complete = rc;
	}
	if (!c->good && c->score + c->complete < 2)
		c->score = 0;
	else
		c->score += 100 * c->good + 10 * c->complete;
	return rc < 0 ? -1 : 0;
}

struct fti_file *
fti_file_new(const struct fti_source *s)
{
	struct fti_file *f = mem_calloc(1, sizeof(*f));

	f->arena = arena_new();
	f->name = s->name;
	f->size = s->size;
	f->kind = FTI_KIND_NONE;
	f->tail = &f->findings;
	return f;
}

struct fti_file *
fti_file_read(const struct fti_source *s, enum fti_layout layout,
	      struct error *err)
{
	static const enum fti_layout order[] = { FTI_F, FTI_C, FTI_D,
						 FTI_E, FTI_A, FTI_B };
	struct fti_file *f = fti_file_new(s);
	struct reader *r = mem_calloc(1, sizeof(*r));
	struct hash *h = hash_new(HASH_MD5, err);
	struct candidate best = { .score = 0 };
	int rc = 0;

	r->s = s;
	/* Find the layout that fits best. */
	for (size_t i = 0; rc == 0 && i < 2 * FTI_LAYOUTS; i++) {
		struct candidate c = { .layout = order[i / 2],
				       .parity = i % 2 == 1 };
		const struct fti_format *format = fti_format(c.layout);

		if ((layout != FTI_LAYOUTS && layout != c.layout) ||
		    f->size < format->meta)
			continue;
		c.at = format->footer || c.parity ? f->size - format->meta : 0;
		rc = judge(f, r, h, &c, err);
		if (c.score > best.score)
			best = c;
	}
	hash_free(h);
	f->nblocks = f->ncontainers = 0;
	f->layout = best.layout;
	f->meta = best.meta;
	f->meta_at = best.at;
	f->meta_good = best.good;
	if (best.score > 0)
		f->kind = best.parity ? FTI_KIND_PARITY : FTI_KIND_DATA;
	if (rc == 0 && f->kind == FTI_KIND_NONE) {
		fti_find(f, FTI_RULE_FORMAT, FTI_FILE_ITSELF,
			 "no layout of FTI-FF fits");
	} else if (rc == 0 && f->kind == FTI_KIND_DATA) {
		rc = walk(f, r, best.layout, &best.meta, err);
		f->complete = rc > 0;
	}
	mem_free(r);
	if (rc < 0) {
		fti_file_free(f);
		return NULL;
	}
	check_records(f);
	return f;
}

void
fti_file_free(struct fti_file *f)
{
	if (f == NULL)
		return;
	mem_free(f->blocks);
	mem_free(f->containers);
	mem_free(f->vars);
	arena_free(f->arena);
	mem_free(f);
}
