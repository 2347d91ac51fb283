/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_compare.c - compare a file with its packed contents.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "transfer/transfer.h"
#include "work.h"

/* Compute the checksum of a string of `len` bytes. */
static int
sum_of(const struct stripe *s, uint64_t len, const struct work *work,
       uint32_t *crc, struct error *err)
{
	struct stripe_sum sum = { .size = len };
	struct work quiet = *work;
	const struct transfer_options t = { .work = &quiet, .sums = &sum };

	quiet.progress = NULL;
	if (transfer(s, NULL, len, &t, err) < 0)
		return -1;
	*crc = sum.crc;
	return 0;
}

/* The same of the file with the path of `f`, below `dirfd`. */
static int
sum_file(int dirfd, const struct segmap_file *f, const struct work *work,
	 uint32_t *crc, struct error *err)
{
	struct stripe_part part = {
		.len = f->size,
		.dirfd = dirfd,
		.path = f->path,
	};
	const struct stripe there = { f->size > 0, &part };

	return sum_of(&there, f->size, work, crc, err);
}

int
pack_compare(const struct packed *p, size_t file, const struct work *work,
	     bool *same, struct error *err)
{
	const struct segmap_file *f = &p->map.files[file];
	struct stripe packed = { 0, NULL };
	struct arena *arena = NULL;
	uint32_t has = 0, wants = f->crc;
	int rc = sum_file(p->file_fd, f, work, &has, err);

	if (rc == 0 && !f->has_crc) {
		arena = arena_new();
		rc = arena == NULL
			     ? error_no_memory(err)
			     : packed_file(p, &p->map, f, arena, &packed, err);
		if (rc == 0)
			rc = sum_of(&packed, f->size, work, &wants, err);
		arena_free(arena);
	}
	*same = rc == 0 && has == wants;
	return rc;
}

/* Compare a small file, which is packed as a tree. */
static int
compare_tree(const struct packed *p, const struct hidden_file *f, bool *same,
	     struct error *err)
{
	struct buf there = BUF_INIT, packed = BUF_INIT;
	int rc = io_read_file(p->meta_fd, f->name, KVTREE_MAX_ENCODED, &there,
			      err);

	if (rc == 0)
		rc = kvtree_encode(f->tree, &packed, err);
	*same = rc == 0 && there.len == packed.len &&
		memcmp(there.data, packed.data, there.len) == 0;
	buf_free(&packed);
	buf_free(&there);
	return rc;
}

int
pack_compare_hidden(const struct packed *p, const struct hidden_file *f,
		    const struct work *work, bool *same, struct error *err)
{
	const struct segmap_file *s = NULL;
	uint32_t crc = 0;
	int rc = 0;

	if (f->tree != NULL)
		return compare_tree(p, f, same, err);
	s = &p->hidden.red.files[f->at];
	rc = sum_file(p->meta_fd, s, work, &crc, err);
	*same = rc == 0 && s->has_crc && crc == s->crc;
	return rc;
}
