/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/posix.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "crc.h"
#include "error.h"
#include "fti/input.h"
#include "mem.h"
#include "work.h"

#define FILE_HEADER 8  /* block size and stack size */
#define LAYER_HEADER 8 /* id and number of variables */
#define VAR_HEADER 12  /* in layer 0: id and size */
#define BLOCK_HEADER 6 /* in later layers: id and number of the block */
#define BLOCK_ID_BITS 18

/* Bytes that are read at a time for sums: some blocks. */
#define STEP ((size_t)256 << 10)

/* --- Structure --- */

static int
corrupt(const struct fti_dcp *d, size_t layer, const char *what,
	struct error *err)
{
	return error_set(err, ERROR_CORRUPT, "%s: layer %zu: %s",
			 d->source->name, layer, what);
}

/* Read an integer at *at, before `end`, and move *at behind it. */
static int
read_int(const struct fti_dcp *d, uint64_t *at, uint64_t end, size_t size,
	 uint64_t *out, struct error *err)
{
	uint64_t raw = 0;

	if (end - *at < size)
		return error_set(err, ERROR_CORRUPT,
				 "%s: a layer ends within a header at byte "
				 "%" PRIu64,
				 d->source->name, *at);
	if (fti_source_read(d->source, &raw, size, *at, err) < 0)
		return -1;
	*at += size;
	*out = le64toh(raw);
	return 0;
}

static uint64_t
blocks_of(const struct fti_dcp *d, uint64_t size)
{
	return size / d->block + (size % d->block != 0);
}

int
fti_dcp_read(struct fti_dcp *d, const struct fti_posix_file *f,
	     const struct fti_source *s, struct error *err)
{
	uint64_t at = 0, begin = 0, n = 0, id = 0;
	size_t room = 0;
	struct fti_dcp_var v;

	*d = (struct fti_dcp){ .file = f, .source = s };
	if (f->nlayers == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: its metadata have no layers", s->name);
	if (read_int(d, &at, s->size, 4, &n, err) < 0)
		return -1;
	if (n < FTI_DCP_BLOCK_MIN || n > FTI_DCP_BLOCK_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "%s: blocks of %" PRIu64 " bytes", s->name, n);
	d->block = (uint32_t)n;
	d->layers = mem_calloc(f->nlayers, sizeof(*d->layers));

	for (size_t i = 0; i < f->nlayers; i++, d->nlayers++) {
		const uint64_t skip = i == 0 ? FILE_HEADER : 0;
		const uint64_t record = BLOCK_HEADER + (uint64_t)d->block;
		struct fti_dcp_layer *l = &d->layers[i];

		if (f->layers[i].size > s->size - begin ||
		    f->layers[i].size < skip)
			return error_set(err, ERROR_CORRUPT,
					 "%s: ends at byte %" PRIu64
					 ", but layer %zu has %" PRIu64
					 " bytes at %" PRIu64,
					 s->name, s->size, i, f->layers[i].size,
					 begin);
		l->at = begin + skip;
		l->end = begin = begin + f->layers[i].size;
		if (read_int(d, &l->at, l->end, 4, &id, err) < 0 ||
		    read_int(d, &l->at, l->end, 4, &n, err) < 0)
			return -1;
		l->before = (int32_t)(uint32_t)id;
		/* The variables of layer 0: their sizes say where the next one
		 * is. */
		at = l->at;
		for (uint64_t k = 0; i == 0 && k < n; k++) {
			if (read_int(d, &at, l->end, 4, &id, err) < 0 ||
			    read_int(d, &at, l->end, 8, &v.size, err) < 0)
				return -1;
			v.id = (int32_t)(uint32_t)id;
			v.at = at;
			if (blocks_of(d, v.size) > (l->end - at) / d->block)
				return corrupt(
					d, 0, "a variable ends behind it", err);
			(void)MEM_ROOM(d->vars, d->nvars, room);
			d->vars[d->nvars++] = v;
			l->blocks += blocks_of(d, v.size);
			at += blocks_of(d, v.size) * d->block;
		}
		if (i == 0 && at != l->end)
			return corrupt(d, 0, "has bytes of no variable", err);
		if (i > 0 && (l->end - l->at) % record != 0)
			return corrupt(d, i, "is not a whole number of blocks",
				       err);
		if (i > 0)
			l->blocks = (l->end - l->at) / record;
	}
	return 0;
}

void
fti_dcp_fini(struct fti_dcp *d)
{
	mem_free(d->layers);
	mem_free(d->vars);
	d->layers = NULL;
	d->vars = NULL;
	d->nlayers = d->nvars = 0;
}

size_t
fti_dcp_layer(const struct fti_dcp *d, uint64_t at)
{
	size_t low = 0, high = d->nlayers;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (d->layers[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int32_t
fti_dcp_id(const struct fti_dcp *d, size_t layer)
{
	return layer < d->nlayers && d->nlayers - layer > 1
		       ? d->layers[layer + 1].before
		       : -1;
}

/* --- Content --- */

/* A variable after the layer. */
struct var {
	int32_t id;
	uint64_t size;
	uint64_t nblocks, first; /* in the table */
	bool found;		 /* a layer has a part of it */
	bool unknown;		 /* its size is not known */
};

struct state {
	const struct fti_dcp *d;
	size_t layer;
	bool oldest;	  /* of these sizes: those of layer 0 */
	struct var *vars; /* by id */
	size_t nvars;
	uint64_t *table; /* for each block its offset in the file; 0: none */
	uint64_t nblocks;
};

static int
by_id(const void *a, const void *b)
{
	const struct var *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static struct var *
find(const struct state *s, int32_t id)
{
	const struct var key = { .id = id };

	return bsearch(&key, s->vars, s->nvars, sizeof(*s->vars), by_id);
}

/* List the variables with the sizes that are recorded for the layer. */
static int
list_vars(struct state *s, struct error *err)
{
	const struct fti_posix_file *f = s->d->file;
	const uint64_t most = s->d->source->size / s->d->block;

	s->oldest = s->layer == 0 && s->d->nlayers > 1;
	s->nvars = s->oldest ? s->d->nvars : f->nvars;
	s->vars = mem_calloc(s->nvars + 1, sizeof(*s->vars));

	for (size_t i = 0; i < s->nvars; i++) {
		struct var *v = &s->vars[i];

		v->id = s->oldest ? s->d->vars[i].id : f->vars[i].id;
		v->size = s->oldest ? s->d->vars[i].size : f->vars[i].size;
		v->first = s->nblocks;
		v->nblocks = blocks_of(s->d, v->size);
		if (v->nblocks > most - s->nblocks)
			return error_set(err, ERROR_CORRUPT,
					 "%s: variable %" PRId32 " has %" PRIu64
					 " bytes, more than there are blocks",
					 s->d->source->name, v->id, v->size);
		s->nblocks += v->nblocks;
	}
	qsort(s->vars, s->nvars, sizeof(*s->vars), by_id);
	for (size_t i = 1; i < s->nvars; i++)
		if (s->vars[i].id == s->vars[i - 1].id)
			return error_set(err, ERROR_CORRUPT,
					 "%s: variable %" PRId32
					 " occurs twice",
					 s->d->source->name, s->vars[i].id);
	s->table = mem_calloc((size_t)s->nblocks + 1, sizeof(*s->table));
	return 0;
}

/* Block `i` of the variable is at `at`. */
static void
put_block(struct state *s, struct var *v, uint64_t i, uint64_t at)
{
	v->found = true;
	if (i < v->nblocks)
		s->table[v->first + i] = at;
	else if (s->layer + 1 < s->d->nlayers)
		v->unknown = true; /* it has shrunk since */
}

/* Read the header of a block at *at, and move *at to the block. */
static int
read_record(const struct fti_dcp *d, uint64_t *at, uint64_t end, int32_t *id,
	    uint64_t *number, struct error *err)
{
	uint64_t record = 0;

	if (read_int(d, at, end, BLOCK_HEADER, &record, err) < 0)
		return -1;
	*id = (int32_t)(record & ((1 << BLOCK_ID_BITS) - 1));
	*number = record >> BLOCK_ID_BITS;
	return 0;
}

/* Returns as fti_content_dcp(). */
static int
add_vars(struct fti_content *c, struct state *s, struct error *err)
{
	const struct fti_posix_file *f = s->d->file;
	const uint64_t block = s->d->block;
	int lacks = 0;

	for (size_t i = 0; i < s->nvars; i++) {
		const struct var *v =
			find(s, s->oldest ? s->d->vars[i].id : f->vars[i].id);
		const uint64_t *at = s->table + v->first;

		if (v->unknown || (!v->found && s->layer + 1 < s->d->nlayers)) {
			lacks |= v->unknown;
			continue;
		}
		fti_content_add_var(c, v->id);
		/* Its pieces: runs of blocks that follow each other in the
		 * file. */
		for (uint64_t b = 0, end = 0; b < v->nblocks; b = end) {
			for (end = b + 1; end < v->nblocks && at[b] != 0 &&
					  at[end] == at[end - 1] + block;
			     end++)
				;
			if (at[b] == 0)
				return error_set(err, ERROR_CORRUPT,
						 "%s: variable %" PRId32
						 ": block %" PRIu64
						 " is in no layer",
						 s->d->source->name, v->id, b);
			fti_content_add_piece(c, at[b],
					      end == v->nblocks
						      ? v->size - b * block
						      : (end - b) * block);
		}
		/* What the ini says of it; nearly always they are in the same
		 * order. */
		for (size_t k = 0; k < f->nvars; k++) {
			const struct fti_posix_var *of =
				&f->vars[(i + k) % f->nvars];

			if (of->id == v->id) {
				c->vars[c->nvars - 1].described = of;
				break;
			}
		}
	}
	return lacks;
}

/* Is it a variable of layer 0? */
static bool
is_old(const struct fti_dcp *d, int32_t id)
{
	size_t i = 0;

	while (i < d->nvars && d->vars[i].id != id)
		i++;
	return i < d->nvars;
}

int
fti_content_dcp(struct fti_content *c, struct fti_dcp *d, size_t newest,
		struct error *err)
{
	struct state s = { .d = d, .layer = newest };
	int rc = 0;

	*c = (struct fti_content){ .source = d->source };
	if (newest == FTI_DCP_LAST)
		s.layer = d->nlayers - 1;
	if (s.layer >= d->nlayers)
		return error_set(err, ERROR_USAGE, "%s: has layers 0 to %zu",
				 d->source->name, d->nlayers - 1);
	rc = list_vars(&s, err);
	for (size_t i = 0; rc == 0 && i < d->nvars; i++) {
		const struct fti_dcp_var *old = &d->vars[i];
		struct var *v = find(&s, old->id);
		const uint64_t n = blocks_of(d, old->size);

		if (v == NULL)
			continue;
		v->found = true;
		if (old->size != v->size && s.layer + 1 < d->nlayers)
			v->unknown = true;
		for (uint64_t b = 0; b < n && b < v->nblocks; b++)
			put_block(&s, v, b, old->at + b * d->block);
	}
	for (size_t l = 1; l <= s.layer && rc == 0; l++) {
		struct fti_dcp_layer *layer = &d->layers[l];
		uint64_t at = layer->at, number = 0, last = 0;
		int32_t id = 0, last_id = -1;

		for (; rc == 0 && at < layer->end; at += d->block) {
			const uint64_t begin = at;
			struct var *v = NULL;

			rc = read_record(d, &at, layer->end, &id, &number, err);
			if (rc < 0)
				break;
			v = find(&s, id);
			if (layer->odd == 0 &&
			    (id == last_id ? number <= last
					   : v == NULL && !is_old(d, id)))
				layer->odd = begin;
			if (v != NULL)
				put_block(&s, v, number, at);
			last = number;
			last_id = id;
		}
	}
	if (rc == 0)
		rc = add_vars(c, &s, err);
	mem_free(s.vars);
	mem_free(s.table);
	return rc;
}

/* --- Sums --- */

struct summing {
	const struct fti_dcp *d;
	const struct work *w;
	struct hash *block, *md5, *crc;
	unsigned char *buf; /* STEP bytes */
};

/* Sum `count` blocks from `at`, each with a header of so many bytes. */
static int
sum_run(struct summing *s, uint64_t at, uint64_t count, size_t header,
	struct error *err)
{
	const size_t block = s->d->block, record = header + block;

	while (count > 0) {
		const size_t most = STEP / record;
		const size_t n = count < most ? (size_t)count : most;

		if (work_go_on(s->w, err) < 0 ||
		    fti_source_read(s->d->source, s->buf, n * record, at, err) <
			    0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			const void *data = s->buf + i * record + header;
			const uint32_t crc =
				htole32(crc_update(0, data, block));
			unsigned char sum[HASH_MD5_SIZE];

			hash_update(s->block, data, block);
			hash_sum(s->block, sum);
			hash_update(s->md5, sum, sizeof(sum));
			hash_update(s->crc, &crc, sizeof(crc));
		}
		work_moved(s->w, n * record);
		at += n * record;
		count -= n;
	}
	return 0;
}

int
fti_dcp_sum(const struct fti_dcp *d, size_t layer, struct fti_dcp_sums *sums,
	    const struct work *w, struct error *err)
{
	struct summing s = {
		.d = d,
		.w = work_or_default(w),
		.block = hash_new(HASH_MD5, err),
		.md5 = hash_new(HASH_MD5, err),
		.crc = hash_new(HASH_MD5, err),
		.buf = mem_alloc(STEP, 1),
	};
	const struct fti_dcp_layer *l = &d->layers[layer];
	int rc = 0;

	if (layer > 0)
		rc = sum_run(&s, l->at, l->blocks, BLOCK_HEADER, err);
	for (size_t i = 0; layer == 0 && i < d->nvars && rc == 0; i++)
		rc = sum_run(&s, d->vars[i].at, blocks_of(d, d->vars[i].size),
			     0, err);
	if (rc == 0) {
		hash_text(s.md5, sums->md5);
		hash_text(s.crc, sums->crc);
	}
	mem_free(s.buf);
	hash_free(s.crc);
	hash_free(s.md5);
	hash_free(s.block);
	return rc;
}
