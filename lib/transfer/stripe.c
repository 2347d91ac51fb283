/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.c - read and write logical byte strings.
 */
#include "transfer/stripe.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arena.h"
#include "crc.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "transfer/put.h"

/* Smaller parts take only a few reads: no read-ahead is requested. */
#define READ_AHEAD_MIN ((uint64_t)1 << 20)

/* Number of neighbouring slots that a part may use. */
#define SLOT_WAYS 8

struct slot {
	const struct stripe_part *part; /* NULL: free */
	int fd;				/* -1: no file opened here */
	uint64_t from, to; /* the range of the part that `crc` covers */
	uint32_t crc;
};

struct stripe_cache {
	size_t mask;
	bool write;
	struct stripe_sum *sums;
	struct slot *slots;
	struct pathcache_pair dirs;
};

int
stripe_room(struct stripe *s, struct arena *arena, size_t n, struct error *err)
{
	*s = (struct stripe){
		.parts = arena_alloc(arena, n + 1, sizeof(*s->parts)),
	};
	return s->parts == NULL ? error_no_memory(err) : 0;
}

void
stripe_add(struct stripe *s, const struct stripe_part *b)
{
	struct stripe_part *a = s->nparts > 0 ? &s->parts[s->nparts - 1] : NULL;

	if (a != NULL && a->path == b->path && b->path != NULL &&
	    a->dirfd == b->dirfd && a->off + a->len == b->off &&
	    a->start + a->len == b->start && a->sum == STRIPE_NO_SUM &&
	    b->sum == STRIPE_NO_SUM)
		a->len += b->len;
	else
		s->parts[s->nparts++] = *b;
}

struct stripe_cache *
stripe_cache_new(size_t slots, bool write, struct stripe_sum *sums)
{
	struct stripe_cache *c = mem_calloc(1, sizeof(*c));
	size_t size = 16;

	if (c == NULL)
		return NULL;
	while (size < slots)
		size *= 2;
	c->slots = mem_calloc(size, sizeof(*c->slots));
	if (c->slots == NULL) {
		mem_free(c);
		return NULL;
	}
	c->mask = size - 1;
	c->write = write;
	c->sums = sums;
	return c;
}

/* Add the checksum of a slot to the checksum of the whole. */
static void
flush_sum(const struct stripe_cache *c, struct slot *s)
{
	const struct stripe_part *p = s->part;
	struct stripe_sum *sum = NULL;
	uint64_t end = 0;

	if (s->to == s->from)
		return;
	sum = &c->sums[p->sum];
	end = p->sum_off + s->to;
	if (end < sum->size)
		s->crc = crc_shift(s->crc, sum->size - end);
	atomic_fetch_xor_explicit(&sum->crc, s->crc, memory_order_relaxed);
	atomic_fetch_add_explicit(&sum->seen, s->to - s->from,
				  memory_order_relaxed);
	s->from = s->to = 0;
	s->crc = 0;
}

static void
empty_slot(const struct stripe_cache *c, struct slot *s)
{
	if (s->part == NULL)
		return;
	flush_sum(c, s);
	io_close(s->fd);
	s->part = NULL;
}

void
stripe_cache_drop(struct stripe_cache *c)
{
	for (size_t i = 0; i <= c->mask; i++)
		empty_slot(c, &c->slots[i]);
}

void
stripe_cache_free(struct stripe_cache *c)
{
	if (c == NULL)
		return;
	stripe_cache_drop(c);
	pathcache_pair_fini(&c->dirs);
	mem_free(c->slots);
	mem_free(c);
}

static int
open_part(struct stripe_cache *c, const struct stripe_part *p,
	  struct error *err)
{
	const int flags =
		(c->write ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC;
	struct pathcache *dir = NULL;
	const char *base = NULL;
	int parent = -1, fd = -1;

	/* The cached directory is usually that of the previous file. */
	dir = pathcache_pair_at(&c->dirs, p->dirfd);
	if (dir != NULL)
		parent = pathcache_parent(dir, p->path, &base, NULL);
	if (parent >= 0)
		fd = dir_open_file(parent, base, flags | O_NOFOLLOW, 0);
	if (fd >= 0 && (c->write ? !create_may_change(parent, fd)
				 : !p->readable && !path_owner_reads(fd))) {
		close(fd);
		fd = -1;
	}
	/* O_NOFOLLOW refuses symbolic links.  path_open_beneath() follows a
	 * link that stays below dirfd, and reports every other error. */
	return fd >= 0 ? fd
		       : path_open_beneath(p->dirfd, p->path, flags, 0, err);
}

/* The slot of a part, with its file open; borrowed.  A part without a slot
 * takes over a free one if there is one nearby. */
static struct slot *
part_slot(struct stripe_cache *c, const struct stripe_part *p,
	  struct error *err)
{
	/* Parts are elements of arrays, so the low bits of their addresses
	 * differ little: hash the address. */
	uint64_t h = (uint64_t)(uintptr_t)p / sizeof(*p) * 0x9e3779b97f4a7c15u;
	struct slot *s = &c->slots[(h >> 32) & c->mask];
	int fd = -1;

	for (size_t i = 0; i < SLOT_WAYS; i++) {
		struct slot *is = &c->slots[((h >> 32) + i) & c->mask];

		if (is->part == p)
			return is;
		if (is->part == NULL && s->part != NULL)
			s = is;
	}
	if (p->mem == NULL && p->put == NULL && p->path != NULL) {
		fd = open_part(c, p, err);
		if (fd < 0)
			return NULL;
		if (!c->write && p->len >= READ_AHEAD_MIN)
			(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	empty_slot(c, s);
	*s = (struct slot){ .part = p, .fd = fd };
	return s;
}

/* Update the running checksum of the slot.  Bytes that follow the last ones
 * only extend it; other bytes need flush_sum(), which costs as much as summing
 * about ten kilobytes. */
static void
sum_up(const struct stripe_cache *c, struct slot *s, uint64_t at,
       const void *data, size_t len)
{
	if (c->sums == NULL || s->part->sum == STRIPE_NO_SUM)
		return;
	if (s->to != at)
		flush_sum(c, s);
	if (s->to == s->from)
		s->from = s->to = at;
	s->crc = crc_update(s->crc, data, len);
	s->to += len;
}

const struct stripe_part *
stripe_part_at(const struct stripe *s, uint64_t off)
{
	size_t lo = 0, hi = s->nparts;

	/* Find the first part that ends after `off`. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->parts[mid].start + s->parts[mid].len > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < s->nparts ? &s->parts[lo] : NULL;
}

/* The end of `p`, the part at `off`, or of the gap before it. */
static uint64_t
cut_at(const struct stripe_part *p, uint64_t off)
{
	if (p == NULL)
		return UINT64_MAX;
	return p->start > off ? p->start : p->start + p->len;
}

uint64_t
stripe_cut(const struct stripe *s, uint64_t off)
{
	return cut_at(stripe_part_at(s, off), off);
}

int
stripe_read(const struct stripe *s, struct stripe_cache *c, uint64_t off,
	    void *data, size_t len, struct error *err)
{
	unsigned char *to = data;
	size_t n = 0;

	for (; len > 0; off += n, to += n, len -= n) {
		const struct stripe_part *p = stripe_part_at(s, off);
		const uint64_t end = cut_at(p, off);
		struct slot *slot = NULL;
		uint64_t at = 0; /* in the part */

		n = end - off < len ? (size_t)(end - off) : len;
		if (p == NULL || p->start > off) {
			memset(to, 0, n);
			continue;
		}
		slot = part_slot(c, p, err);
		if (slot == NULL)
			return -1;
		at = off - p->start;
		if (p->mem != NULL)
			memcpy(to, p->mem + at, n);
		else if (io_pread(slot->fd, p->path, to, n, p->off + at, err) <
			 0)
			return -1;
		sum_up(c, slot, at, to, n);
	}
	return 0;
}

int
stripe_write(const struct stripe *s, struct stripe_cache *c, uint64_t off,
	     const void *data, size_t len, struct error *err)
{
	const unsigned char *from = data;
	size_t n = 0;

	for (; len > 0; off += n, from += n, len -= n) {
		const struct stripe_part *p = stripe_part_at(s, off);
		const uint64_t end = cut_at(p, off);
		struct slot *slot = NULL;
		uint64_t at = 0; /* in the part */
		int rc = 0;

		n = end - off < len ? (size_t)(end - off) : len;
		if (p == NULL || p->start > off)
			continue;
		slot = part_slot(c, p, err);
		if (slot == NULL)
			return -1;
		at = off - p->start;
		sum_up(c, slot, at, from, n);
		if (p->mem != NULL)
			memcpy(p->mem + at, from, n);
		else if (p->put != NULL)
			rc = put_write(p->put, from, n, p->off + at, err);
		else if (p->path != NULL)
			rc = io_pwrite(slot->fd, p->path, from, n, p->off + at,
				       err);
		if (rc < 0)
			return -1;
		if (p->mem == NULL && p->put == NULL && p->path != NULL)
			io_write_behind(slot->fd, p->off + at, n, false);
	}
	return 0;
}

/* --- Workers --- */

struct stripe_worker *
stripe_workers_new(struct par *par, size_t block, size_t slots,
		   struct stripe_sum *in_sums, struct stripe_sum *out_sums,
		   struct error *err)
{
	const unsigned n = par_threads(par);
	struct stripe_worker *all = mem_calloc(n, sizeof(*all));
	struct rlimit limit = { .rlim_cur = 1024 };
	rlim_t room = 0;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	room = limit.rlim_cur == RLIM_INFINITY ? 1024 : limit.rlim_cur;
	/* For each of the two caches of each worker.  The table size is rounded
	 * up to a power of two. */
	room = room / 4 / n / 2;
	if (room < slots)
		slots = room > 2 ? (size_t)room : 2;
	for (unsigned i = 0; all != NULL && i < n; i++) {
		struct stripe_worker *w = &all[i];

		w->block = mem_aligned(4096, block);
		w->in = stripe_cache_new(slots, false, in_sums);
		w->out = stripe_cache_new(slots, true, out_sums);
		if (w->block == NULL || w->in == NULL || w->out == NULL) {
			stripe_workers_free(par, all);
			all = NULL;
		}
	}
	if (all == NULL)
		error_no_memory(err);
	return all;
}

static int
free_worker(void *arg, size_t i, unsigned thread, struct error *err)
{
	struct stripe_worker *w = arg;

	(void)thread;
	(void)err;
	stripe_cache_free(w[i].in);
	stripe_cache_free(w[i].out);
	mem_free(w[i].block);
	return 0;
}

void
stripe_workers_free(struct par *par, struct stripe_worker *w)
{
	if (w != NULL)
		(void)par_for(par, par_threads(par), 1, free_worker, w, NULL);
	mem_free(w);
}
