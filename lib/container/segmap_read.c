/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segmap_read.c - read a segment map from a rank2file.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "container/segmap.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "meta/rank2file.h"
#include "meta/value.h"
#include "par.h"
#include "path.h"
#include "str.h"

/* Size of a printable path. */
#define SHOWN_MAX 512

struct reader {
	struct segmap *m;
	struct map *names; /* container name -> index */
	size_t room;	   /* capacity of m->containers */
	/* Most segments lie in the same container as the previous one. */
	const char *last_name;
	uint32_t last;
};

static int
add_container(struct reader *r, const char *name, uint32_t *out,
	      struct error *err)
{
	struct segmap *m = r->m;
	size_t at = map_get(r->names, name);
	char shown[SHOWN_MAX];

	if (at != MAP_NONE) {
		*out = (uint32_t)at;
		return 0;
	}
	if (!path_is_clean(name))
		return error_set(err, ERROR_UNSAFE,
				 "container %s: not a plain path below the "
				 "dataset's directory",
				 str_printable(shown, sizeof(shown), name));
	if (m->ncontainers >= SEGMAP_CONTAINERS_MAX)
		return error_set(err, ERROR_CORRUPT, "too many containers");
	if (!MEM_ROOM(m->containers, m->ncontainers, r->room))
		return error_no_memory(err);
	if (map_put(r->names, name, m->ncontainers) < 0)
		return error_no_memory(err);
	m->containers[m->ncontainers] = (struct segmap_container){
		.name = name,
	};
	*out = (uint32_t)m->ncontainers++;
	return 0;
}

/* Equal names of one part usually are the same string. */
static bool
same_name(const char *last, const char *name)
{
	return last == name || (last != NULL && strcmp(last, name) == 0);
}

static int
read_seg(struct reader *r, const struct rank2file_seg *from, struct segment *to,
	 struct error *err)
{
	struct segmap_container *c = NULL;

	if (!same_name(r->last_name, from->file)) {
		if (add_container(r, from->file, &r->last, err) < 0)
			return -1;
		r->last_name = from->file;
	}
	*to = (struct segment){ r->last, from->off, from->len };
	if (from->len == 0)
		return error_set(err, ERROR_CORRUPT, "of no bytes");
	if (from->off > (uint64_t)INT64_MAX - from->len)
		return error_set(err, ERROR_CORRUPT, "beyond 2^63");
	if (from->len > (uint64_t)INT64_MAX - r->m->bytes)
		return error_set(err, ERROR_CORRUPT,
				 "more than 2^63 bytes in all");
	c = &r->m->containers[r->last];
	if (from->off + from->len > c->used)
		c->used = from->off + from->len;
	return 0;
}

static int
read_file(struct reader *r, const struct rank2file_file *from,
	  struct segmap_file *to, struct error *err)
{
	struct segmap *m = r->m;
	char shown[SHOWN_MAX];
	uint64_t sum = 0;

	to->first = m->nsegs;
	to->nsegs = from->nsegs;
	to->start = m->bytes;
	for (size_t i = 0; i < from->nsegs; i++) {
		struct segment *s = &m->segs[m->nsegs++];

		if (read_seg(r, &from->segs[i], s, err) < 0)
			return error_wrap(
				err, "rank %" PRIu32 ", %s, segment %zu",
				to->rank,
				str_printable(shown, sizeof(shown), to->path),
				i);
		m->bytes += s->len;
		sum += s->len;
	}
	if (!to->has_size && from->nsegs > 0)
		to->size = sum;
	return 0;
}

/* Child FILE of CTR: recorded size and checksum of containers. */
static int
read_containers(struct reader *r, const struct kvtree *table, struct error *err)
{
	const struct kvtree *k = NULL;

	kvtree_foreach (k, table) {
		const struct kvtree *size = kvtree_get(k, "SIZE");
		const struct kvtree *crc = kvtree_get(k, "CRC");
		struct segmap_container *c = NULL;
		uint32_t at = 0;

		if (add_container(r, kvtree_key(k), &at, err) < 0)
			return -1;
		c = &r->m->containers[at];
		c->has_size = size != NULL;
		c->has_crc = crc != NULL;
		if ((size != NULL &&
		     value_u64(size, INT64_MAX, &c->size, err) < 0) ||
		    (crc != NULL &&
		     value_u32(crc, UINT32_MAX, &c->crc, err) < 0))
			return -1;
	}
	return 0;
}

static int
read_table(struct reader *r, const struct kvtree *t, struct error *err)
{
	const struct kvtree *size = kvtree_get(t, "SIZE");

	r->m->moving = kvtree_get(t, "MOVING") != NULL;
	if (size != NULL &&
	    value_u64(size, INT64_MAX, &r->m->container_size, err) < 0)
		return error_wrap(err, "CTR");
	if (read_containers(r, kvtree_get(t, "FILE"), err) < 0)
		return error_wrap(err, "CTR");
	return 0;
}

static struct segmap_file
file_of(uint32_t rank, const struct rank2file_file *f)
{
	return (struct segmap_file){
		.rank = rank,
		.path = f->path,
		.size = f->size,
		.has_size = f->has_size,
		.has_crc = f->has_crc,
		.crc = f->crc,
	};
}

/* Read one file after another.  Handles every case, and reports errors. */
static int
read_all(struct reader *r, const struct rank2file *from, struct error *err)
{
	struct segmap *m = r->m;

	m->nfiles = m->nsegs = 0;
	m->bytes = 0;
	for (size_t i = 0; i < from->nranks; i++) {
		for (size_t k = 0; k < from->ranks[i].nfiles; k++) {
			const struct rank2file_file *f =
				&from->ranks[i].files[k];
			struct segmap_file *to = &m->files[m->nfiles++];

			*to = file_of((uint32_t)i, f);
			if (read_file(r, f, to, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* --- By several threads --- */

/*
 * Ranks are read in batches.  First the files and segments of each batch are
 * counted, which gives the place of its results; then they are stored there.
 * Unusual cases (a container missing from the table, an invalid segment) are
 * left to read_all().
 */
#define RANK_BATCH ((size_t)4096)

struct batch {
	size_t files, segs; /* counts; later, indexes of the first */
	uint64_t bytes;
};

struct run {
	struct segmap *m;
	const struct rank2file *from;
	const struct map *names;
	struct batch *batches;
	size_t nbatches;
	_Atomic uint64_t *used; /* end of the last segment, by container */
	atomic_bool unusual;
};

static size_t
batch_end(const struct run *r, size_t i)
{
	size_t left = r->from->nranks - i * RANK_BATCH;

	return i * RANK_BATCH + (left < RANK_BATCH ? left : RANK_BATCH);
}

static int
count_batch(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct batch b = { .files = 0 };

	(void)worker;
	(void)err;
	for (size_t k = i * RANK_BATCH; k < batch_end(r, i); k++) {
		const struct rank2file_rank *rank = &r->from->ranks[k];

		b.files += rank->nfiles;
		for (size_t f = 0; f < rank->nfiles; f++) {
			const struct rank2file_file *e = &rank->files[f];

			b.segs += e->nsegs;
			for (size_t s = 0; s < e->nsegs; s++)
				if (e->segs[s].len > INT64_MAX - b.bytes)
					r->unusual = true;
				else
					b.bytes += e->segs[s].len;
		}
	}
	r->batches[i] = b;
	return 0;
}

/* Turn counts into the place of each batch.  Returns the totals. */
static struct batch
place_batches(struct run *r)
{
	struct batch at = { .files = 0 };

	for (size_t i = 0; i < r->nbatches; i++) {
		struct batch b = r->batches[i];

		r->batches[i] = at;
		at.files += b.files;
		at.segs += b.segs;
		if (b.bytes > INT64_MAX - at.bytes)
			r->unusual = true;
		else
			at.bytes += b.bytes;
	}
	return at;
}

/* Cache of one worker: the last container, and the end of its segments seen so
 * far. */
struct spot {
	const char *name;
	uint32_t container;
	uint64_t used;
};

static void
leave(const struct run *r, const struct spot *s)
{
	_Atomic uint64_t *to = &r->used[s->container];
	uint64_t was = 0;

	if (s->name == NULL)
		return;
	was = atomic_load_explicit(to, memory_order_relaxed);
	while (was < s->used &&
	       !atomic_compare_exchange_weak(to, &was, s->used))
		;
}

static bool
enter(const struct run *r, struct spot *s, const char *name)
{
	size_t at = map_get(r->names, name);

	leave(r, s);
	if (at == MAP_NONE)
		return false;
	*s = (struct spot){ .name = name, .container = (uint32_t)at };
	return true;
}

static bool
fill_file(const struct run *r, const struct rank2file_file *from,
	  struct segmap_file *to, struct batch *at, struct spot *spot)
{
	uint64_t sum = 0;

	to->first = at->segs;
	to->nsegs = from->nsegs;
	to->start = at->bytes;
	for (size_t i = 0; i < from->nsegs; i++) {
		const struct rank2file_seg *s = &from->segs[i];

		if (!same_name(spot->name, s->file) && !enter(r, spot, s->file))
			return false;
		if (s->len == 0 || s->off > (uint64_t)INT64_MAX - s->len)
			return false;
		if (s->off + s->len > spot->used)
			spot->used = s->off + s->len;
		r->m->segs[at->segs++] = (struct segment){
			spot->container,
			s->off,
			s->len,
		};
		sum += s->len;
	}
	at->bytes += sum;
	if (!to->has_size && from->nsegs > 0)
		to->size = sum;
	return true;
}

static int
fill_batch(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct batch at = r->batches[i];
	struct spot spot = { .name = NULL };

	(void)worker;
	(void)err;
	for (size_t k = i * RANK_BATCH; k < batch_end(r, i); k++) {
		const struct rank2file_rank *rank = &r->from->ranks[k];

		for (size_t f = 0; f < rank->nfiles; f++) {
			struct segmap_file *to = &r->m->files[at.files++];

			*to = file_of((uint32_t)k, &rank->files[f]);
			if (!fill_file(r, &rank->files[f], to, &at, &spot)) {
				r->unusual = true;
				return 0;
			}
		}
	}
	leave(r, &spot);
	return 0;
}

/* --- The whole map --- */

static int
for_batches(struct run *r, struct par *par,
	    int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	    struct error *err)
{
	if (par != NULL)
		return par_for(par, r->nbatches, 1, fn, r, err);
	for (size_t i = 0; i < r->nbatches; i++)
		fn(r, i, 0, err);
	return 0;
}

/* 0: done; 1: left to read_all(). */
static int
fill(struct run *r, struct par *par, struct error *err)
{
	struct segmap *m = r->m;

	if (r->unusual || par == NULL || par_threads(par) == 1)
		return 1;
	r->used = mem_calloc(m->ncontainers + 1, sizeof(*r->used));
	if (r->used == NULL)
		return error_no_memory(err);
	if (for_batches(r, par, fill_batch, err) < 0)
		return -1;
	for (size_t i = 0; i < m->ncontainers && !r->unusual; i++)
		m->containers[i].used = r->used[i];
	return r->unusual;
}

static int
make(struct run *r, const struct batch *total, struct par *par,
     struct error *err)
{
	struct reader rd = { .m = r->m };
	int rc = -1;

	if (segmap_init(r->m, total->files, err) < 0)
		return -1;
	r->m->nfiles = total->files;
	r->m->nsegs = total->segs;
	r->m->bytes = total->bytes;
	r->names = rd.names = map_new();
	r->m->segs = mem_calloc(total->segs + 1, sizeof(*r->m->segs));
	if (rd.names == NULL || r->m->segs == NULL)
		error_no_memory(err);
	else
		rc = read_table(&rd, r->from->containers, err);
	if (rc == 0)
		rc = fill(r, par, err);
	if (rc == 1)
		rc = read_all(&rd, r->from, err);
	map_free(rd.names);
	if (rc < 0)
		segmap_free(r->m);
	return rc;
}

int
segmap_read_par(struct segmap *m, const struct rank2file *from, struct par *par,
		struct error *err)
{
	struct run r = {
		.m = m,
		.from = from,
		.nbatches = (from->nranks + RANK_BATCH - 1) / RANK_BATCH,
	};
	struct batch total;
	int rc = -1;

	*m = (struct segmap){ .arena = NULL };
	r.batches = mem_calloc(r.nbatches + 1, sizeof(*r.batches));
	if (r.batches == NULL)
		return error_no_memory(err);
	if (for_batches(&r, par, count_batch, err) == 0) {
		total = place_batches(&r);
		rc = make(&r, &total, par, err);
	}
	mem_free(r.used);
	mem_free(r.batches);
	return rc;
}

int
segmap_read(struct segmap *m, const struct rank2file *r, struct error *err)
{
	return segmap_read_par(m, r, NULL, err);
}
