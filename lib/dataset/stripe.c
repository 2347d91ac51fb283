/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.c - reading and writing logical byte strings.
 */
#include "dataset/stripe.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"

/* Start writing back a file once this much of it was written, so that the
 * final fsync does not have to wait for all of it. */
#define WRITEBACK_STEP ((uint64_t)4 << 20)

/* Neighbouring slots a part may be in. */
#define SLOT_WAYS 8

struct slot {
	const struct stripe_part *part; /* NULL: free */
	int fd;
};

struct stripe_cache {
	size_t mask;
	bool write;
	struct slot *slots;
};

struct stripe_cache *
stripe_cache_new(size_t slots, bool write)
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
	return c;
}

void
stripe_cache_drop(struct stripe_cache *c)
{
	for (size_t i = 0; i <= c->mask; i++) {
		if (c->slots[i].part != NULL)
			close(c->slots[i].fd);
		c->slots[i].part = NULL;
	}
}

void
stripe_cache_free(struct stripe_cache *c)
{
	if (c == NULL)
		return;
	stripe_cache_drop(c);
	mem_free(c->slots);
	mem_free(c);
}

/* The part's slot, or the one it may take: free if there is one nearby. */
static struct slot *
find_slot(struct stripe_cache *c, const struct stripe_part *p)
{
	/* Parts stand in arrays: the low bits of the address say little. */
	uint64_t h = (uint64_t)(uintptr_t)p / sizeof(*p) * 0x9e3779b97f4a7c15u;
	struct slot *take = &c->slots[(h >> 32) & c->mask];

	for (size_t i = 0; i < SLOT_WAYS; i++) {
		struct slot *s = &c->slots[((h >> 32) + i) & c->mask];

		if (s->part == p)
			return s;
		if (s->part == NULL && take->part != NULL)
			take = s;
	}
	return take;
}

/* The part's file, open; borrowed. */
static int
part_fd(struct stripe_cache *c, const struct stripe_part *p, struct error *err)
{
	struct slot *s = find_slot(c, p);
	int flags = c->write ? O_WRONLY : O_RDONLY;
	int fd = -1;

	if (s->part == p)
		return s->fd;
	fd = path_open_beneath(p->dirfd, p->path, flags | O_NONBLOCK, 0, err);
	if (fd < 0)
		return -1;
	if (!c->write)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (s->part != NULL)
		close(s->fd);
	s->part = p;
	s->fd = fd;
	return fd;
}

static void
sum_up(struct stripe_sum *sums, const struct stripe_part *p, uint64_t in_part,
       const void *data, size_t len)
{
	struct stripe_sum *s = NULL;
	uint64_t end = p->sum_off + in_part + len;
	uint32_t crc = 0;

	if (sums == NULL || p->sum == STRIPE_NO_SUM)
		return;
	s = &sums[p->sum];
	crc = crc_update(0, data, len);
	if (end < s->size)
		crc = crc_shift(crc, s->size - end);
	atomic_fetch_xor_explicit(&s->crc, crc, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->seen, len, memory_order_relaxed);
}

/* First part that ends behind `off`. */
static size_t
part_at(const struct stripe *s, uint64_t off)
{
	size_t lo = 0, hi = s->nparts;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->parts[mid].start + s->parts[mid].len > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int
read_part(const struct stripe_part *p, struct stripe_cache *c, uint64_t at,
	  unsigned char *data, size_t len, struct error *err)
{
	int fd = -1;

	if (p->mem != NULL) {
		memcpy(data, p->mem + at, len);
		return 0;
	}
	fd = part_fd(c, p, err);
	if (fd < 0)
		return -1;
	return io_pread(fd, p->path, data, len, p->off + at, err);
}

static int
write_part(const struct stripe_part *p, struct stripe_cache *c, uint64_t at,
	   const unsigned char *data, size_t len, struct error *err)
{
	uint64_t off = p->off + at;
	int fd = -1;

	if (p->mem != NULL) {
		memcpy(p->mem + at, data, len);
		return 0;
	}
	fd = part_fd(c, p, err);
	if (fd < 0 || io_pwrite(fd, p->path, data, len, off, err) < 0)
		return -1;
	if (off / WRITEBACK_STEP != (off + len) / WRITEBACK_STEP)
		(void)sync_file_range(fd, (off64_t)off, (off64_t)len,
				      SYNC_FILE_RANGE_WRITE);
	return 0;
}

int
stripe_read(const struct stripe *s, struct stripe_cache *c, uint64_t off,
	    void *data, size_t len, struct stripe_sum *sums, struct error *err)
{
	unsigned char *to = data;

	for (size_t i = part_at(s, off); len > 0; i++) {
		const struct stripe_part *p =
			i < s->nparts ? &s->parts[i] : NULL;
		uint64_t at = 0;
		size_t n = len;

		if (p == NULL || p->start > off) {
			if (p != NULL && p->start - off < n)
				n = (size_t)(p->start - off);
			memset(to, 0, n);
			off += n;
			to += n;
			len -= n;
			if (p == NULL || len == 0)
				break;
		}
		at = off - p->start;
		n = p->len - at < len ? (size_t)(p->len - at) : len;
		if (read_part(p, c, at, to, n, err) < 0)
			return -1;
		sum_up(sums, p, at, to, n);
		off += n;
		to += n;
		len -= n;
	}
	return 0;
}

int
stripe_write(const struct stripe *s, struct stripe_cache *c, uint64_t off,
	     const void *data, size_t len, struct stripe_sum *sums,
	     struct error *err)
{
	const unsigned char *from = data;

	for (size_t i = part_at(s, off); len > 0 && i < s->nparts; i++) {
		const struct stripe_part *p = &s->parts[i];
		uint64_t at = 0;
		size_t n = 0;

		if (p->start > off) {
			if (p->start - off >= len)
				break;
			n = (size_t)(p->start - off);
			off += n;
			from += n;
			len -= n;
		}
		at = off - p->start;
		n = p->len - at < len ? (size_t)(p->len - at) : len;
		if (write_part(p, c, at, from, n, err) < 0)
			return -1;
		sum_up(sums, p, at, from, n);
		off += n;
		from += n;
		len -= n;
	}
	return 0;
}

bool
stripe_is_padding(const struct stripe *s, uint64_t off)
{
	return part_at(s, off) >= s->nparts;
}
