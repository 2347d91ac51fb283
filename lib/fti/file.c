/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c - find the layout of an FTI-FF file, and read its records.
 */
#include "fti/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/input.h"
#include "mem.h"

/* Records are read in steps of so many bytes. */
#define WINDOW 65536

/* Records are looked for in so many last bytes of a file that is cut. */
#define TAIL ((size_t)1 << 20)

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

/* The way through all records. */
struct way {
	uint64_t start; /* of the first block record */
	uint64_t end;	/* of the blocks */
	uint64_t last;	/* of records */
	/* In this block the number of containers follows from dbsize; or if
	 * sizes are to be believed, where the next one begins follows from
	 * them.  SIZE_MAX: all is as the records say. */
	size_t odd;
	bool by_sizes;
	uint64_t at, data; /* of the next record; bytes of the containers of
			      the last block */
	/* The first block whose containers have more or fewer bytes than it
	 * says, or where the way ended. */
	size_t doubt;
};

/* The bytes that the containers of a block have, as its record says. */
static uint64_t
bytes_of(enum fti_layout l, const struct fti_block *b, uint64_t containers)
{
	const struct fti_format *format = fti_format(l);
	const uint64_t records = format->block + containers * format->container;

	return (uint64_t)b->dbsize - (format->footer ? 0 : records);
}

/*
 * Read the next block record of the way and its container records.  Returns 1;
 * 0: numvars cannot be right; -1: an error.
 */
static int
read_block(struct fti_file *f, struct reader *r, enum fti_layout l,
	   struct way *way, struct error *err)
{
	const bool odd = way->odd == f->nblocks && !way->by_sizes;
	const struct fti_format *format = fti_format(l);
	const unsigned char *bytes = record(r, way->at, format->block, err);
	struct fti_file_block *b = NULL;
	uint64_t n = 0, room = 0;

	if (bytes == NULL)
		return -1;
	(void)MEM_ROOM(f->blocks, f->nblocks, f->room_blocks);
	b = &f->blocks[f->nblocks++];
	fti_record_read(l, FTI_BLOCK, bytes, &b->b);
	b->at = way->at;
	b->first = f->ncontainers;
	way->at += format->block;
	way->data = 0;
	room = (way->last - way->at) / format->container;
	n = odd ? room : (uint64_t)b->b.numvars;
	if (n < 1 || n > room)
		return 0;
	for (uint64_t i = 0; i < n; i++, way->at += format->container) {
		struct fti_file_container *c = NULL;

		if (odd && i > 0 && way->data == bytes_of(l, &b->b, i))
			return 1;

		bytes = record(r, way->at, format->container, err);
		if (bytes == NULL)
			return -1;
		(void)MEM_ROOM(f->containers, f->ncontainers,
			       f->room_containers);
		c = &f->containers[f->ncontainers++];
		*c = (struct fti_file_container){ .at = way->at };
		fti_record_read(l, FTI_CONTAINER, bytes, &c->c);
		c->block = f->nblocks - 1;
		c->next = SIZE_MAX;
		c->used = c->c.used;
		way->data += (uint64_t)c->c.size;
	}
	return !odd || way->data == bytes_of(l, &b->b, n);
}

/*
 * All blocks.  If their records follow the data, they end at the metadata; else
 * each block follows its records, which say where the next one begins.  Returns
 * as read_block(); 0 also if they end elsewhere; 2: there, but the containers
 * of a block have more or fewer bytes than it says.
 */
static int
go(struct fti_file *f, struct reader *r, enum fti_layout l, struct way *way,
   struct error *err)
{
	const struct fti_format *format = fti_format(l);
	bool sure = true;
	uint64_t data = 0; /* of all containers */

	f->nblocks = f->ncontainers = 0;
	way->at = way->start;
	while (way->at < way->end) {
		const struct fti_file_block *b = NULL;
		const uint64_t begin = way->at;
		const bool odd = way->odd == f->nblocks;
		uint64_t size = 0;
		int rc = 0;

		if (sure)
			way->doubt = f->nblocks;
		if (way->last < way->at || way->last - way->at < format->block)
			return 0;
		rc = read_block(f, r, l, way, err);
		if (rc != 1)
			return rc;
		b = &f->blocks[f->nblocks - 1];
		sure = sure &&
		       (odd ||
			way->data ==
				bytes_of(l, &b->b, f->ncontainers - b->first));
		data += way->data;
		if (format->footer)
			continue;
		size = odd && way->by_sizes ? way->at - begin + way->data
					    : (uint64_t)b->b.dbsize;
		if (size > way->end - begin || size < way->at - begin)
			return 0;
		way->at = begin + size;
	}
	/* The first block record follows the data: it is not a later one. */
	if (sure && format->footer && data != way->start)
		return 0;
	return f->nblocks == 0 ? 0 : sure ? 1 : 2;
}

/* Where the records begin that end behind the `len` bytes, the last ones before
 * byte `end` of the file; 0: there are none.  The containers of each block have
 * as many bytes as it says, without gaps, from the begin of the file. */
static uint64_t
find_records(enum fti_layout l, const unsigned char *tail, size_t len,
	     uint64_t end)
{
	const struct fti_format *format = fti_format(l);
	uint64_t next = UINT64_MAX; /* where the block behind begins */
	uint64_t total = 0;

	for (size_t at = len, n = 1;
	     at >= format->block + n * format->container; n++) {
		const unsigned char *b =
			tail + at - format->block - n * format->container;
		uint64_t first = 0, data = 0;
		struct fti_block block;
		bool fits = fti_get(l, FTI_NUMVARS, b) == (int64_t)n;

		for (size_t i = 0; fits && i < n; i++) {
			struct fti_container c;

			fti_record_read(
				l, FTI_CONTAINER,
				b + format->block + i * format->container, &c);
			first = i == 0 ? c.fptr : first;
			fits = c.size >= 0 && c.used >= 0 && c.used <= c.size &&
			       c.fptr - first == data &&
			       (uint64_t)c.size <= end;
			data += (uint64_t)c.size;
		}
		if (!fits)
			continue;
		fti_record_read(l, FTI_BLOCK, b, &block);
		if ((uint64_t)block.dbsize != data ||
		    (next != UINT64_MAX && first + data != next))
			continue;
		total = next == UINT64_MAX ? first + data : total;
		next = first;
		at = (size_t)(b - tail);
		n = 0;
		if (first == 0)
			return end - len + at == total ? total : 0;
	}
	return 0;
}

/*
 * Find all records.  Where one number is damaged, another one has the same: the
 * size of the file, numvars or dbsize.  Returns 1; 2: a damaged number was
 * found; 0: they do not fit; -1: an error.
 */
static int
walk(struct fti_file *f, struct reader *r, enum fti_layout l,
     const struct fti_meta *m, struct error *err)
{
	const struct fti_format *format = fti_format(l);
	const uint64_t size = f->size + f->cut, footer = size - format->meta;
	/* B leaves out empty containers at its end. */
	const uint64_t ends[] = { (uint64_t)m->fs, (uint64_t)m->ckpt_size,
				  size };
	uint64_t starts[] = { (uint64_t)m->data_size,
			      size - (uint64_t)m->meta_size, UINT64_MAX };
	struct way doubtful = { .end = 0 };

	for (size_t n = 0; n < 6; n++) {
		const size_t i = n % 3;
		struct way way = {
			.end = format->footer ? footer : ends[i],
			.last = format->footer ? footer : f->size,
			.odd = SIZE_MAX,
		};
		int rc = 0;

		/* Those that end at the metadata, whatever these say. */
		if (n == 2 && format->footer && f->cut == 0) {
			const size_t len =
				footer < TAIL ? (size_t)footer : TAIL;
			unsigned char *tail = mem_alloc(len + 1, 1);
			uint64_t start = 0;

			rc = fti_source_read(r->s, tail, len, footer - len,
					     err);
			if (rc == 0)
				start = find_records(l, tail, len, footer);
			mem_free(tail);
			if (rc < 0)
				return -1;
			starts[2] = start == 0 ? UINT64_MAX : start;
		}
		way.start = format->footer ? starts[i] : format->meta;
		if (way.start > footer || way.end > INT64_MAX)
			continue;
		rc = go(f, r, l, &way, err);
		if (rc == 2 && doubtful.end == 0)
			doubtful = way;
		if (rc == 1 || rc < 0)
			return rc == 1 && i > 0 ? 2 : rc;
		/* First all other sizes of the file. */
		way.odd = way.doubt;
		for (int k = format->footer; n >= 3 && k < 2; k++) {
			way.by_sizes = k == 0;
			rc = go(f, r, l, &way, err);
			if (rc == 1 || rc < 0)
				return rc == 1 ? 2 : rc;
		}
	}
	return doubtful.end == 0 ? 0 : go(f, r, l, &doubtful, err);
}

/* --- The layout --- */

struct candidate {
	enum fti_layout layout;
	struct fti_meta meta;
	uint64_t at; /* of the metadata record */
	bool parity, good;
	int complete; /* 2: with a damaged number */
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
		c->score += 100 * c->good + (c->complete == 1 ? 10 : 0) +
			    (c->complete == 2 ? 5 : 0);
	return rc < 0 ? -1 : 0;
}

/* --- A file that is cut in its metadata record --- */

/* Find the layout of which the end of the record, or all of it, is missing. */
static int
find_cut(struct fti_file *f, const struct fti_source *s, enum fti_layout only,
	 struct candidate *best, struct error *err)
{
	const size_t len = f->size < TAIL ? (size_t)f->size : TAIL;
	unsigned char *tail = mem_alloc(len + 1, 1);
	int rc = fti_source_read(s, tail, len, f->size - len, err);

	for (int l = FTI_F; rc == 0 && l >= FTI_C; l--) {
		const struct fti_format *format = fti_format(l);

		for (uint8_t cut = format->meta; cut > 0 && best->score == 0;
		     cut--) {
			const size_t rest = (size_t)format->meta - cut;
			uint64_t start = 0;

			if (len < rest ||
			    (only != FTI_LAYOUTS && (int)only != l))
				continue;
			start = find_records((enum fti_layout)l, tail,
					     len - rest, f->size - rest);
			if (start == 0)
				continue;
			best->layout = (enum fti_layout)l;
			best->at = f->size - rest;
			best->score = 1;
			f->cut = cut;
			best->meta = (struct fti_meta){
				.ckpt_id = -1,
				.ckpt_size = (int64_t)(f->size + cut),
				.fs = (int64_t)(f->size + cut),
				.data_size = (int64_t)start,
				.meta_size = (int64_t)(f->size + cut - start),
				.max_fs = -1,
				.pt_fs = -1,
			};
		}
	}
	mem_free(tail);
	return rc;
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
	if (rc == 0 && best.score == 0)
		rc = find_cut(f, s, layout, &best, err);
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
	fti_file_check(f);
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
