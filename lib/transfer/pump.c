/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/pump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "transfer/put.h"

static int
write_block(const struct pump *p, size_t len, uint64_t at, bool *holes,
	    struct error *err)
{
	int rc = 0;

	if (p->to < 0)
		return 0;
	if (p->put != NULL)
		return put_pwrite(p->put, p->to, p->block, len, at, err);
	rc = io_pwrite_sparse(p->to, p->to_name, p->block, len, at, err);
	if (rc < 0)
		return -1;
	*holes = *holes || rc > 0;
	io_write_behind(p->to, at, len, at + len == p->size);
	return 0;
}

/*
 * The number of bytes to skip from `at` on: whole blocks of a hole.  The block
 * in which the hole ends is not skipped: writing it sets the length of the
 * target, unless other threads copy the rest.  If nothing is written, step()
 * must get all bytes: nothing is skipped.
 */
static uint64_t
hole(const struct pump *p, uint64_t at)
{
	off_t data = 0;
	uint64_t end = at;

	if (p->to < 0 && p->step != NULL)
		return 0;
	data = lseek(p->from, (off_t)at, SEEK_DATA);
	if (data >= 0)
		end = (uint64_t)data;
	else if (errno == ENXIO)
		end = p->size;
	if (end > p->size)
		end = p->size;
	if (p->part && end == p->size)
		return end - at;
	return end > at ? (end - at - 1) / p->room * p->room : 0;
}

/* Is the block all zeros, and so perhaps part of a hole? */
static bool
is_blank(const char *block, size_t n)
{
	return block[0] == '\0' && memcmp(block, block + 1, n - 1) == 0;
}

int
pump_end(struct pump *p, uint32_t crc, bool holes, struct error *why,
	 struct error *err)
{
	const uint32_t want = p->crc;

	p->crc = crc;
	if (p->has_crc && want != crc) {
		error_set(why, ERROR_DAMAGED,
			  "%s: checksum 0x%08" PRIx32 ", expected 0x%08" PRIx32,
			  p->name, crc, want);
		return 0;
	}
	/* The file may end in a hole. */
	if (holes && ftruncate(p->to, (off_t)p->size) < 0)
		return error_sys(err, "%s: cannot set its size", p->to_name);
	return 1;
}

int
pump_run(struct pump *p, struct error *why, struct error *err)
{
	uint32_t crc = 0;
	bool holes = false;
	bool blank = p->part;
	uint64_t skip = 0;
	size_t n = 0;

	for (uint64_t at = p->begin; at < p->size; at += n) {
		if (blank) {
			/* As if `skip` zeros were summed. */
			skip = hole(p, at);
			crc = ~crc_shift(~crc, skip);
			at += skip;
			if (at == p->size)
				break;
		}
		n = p->size - at < p->room ? (size_t)(p->size - at) : p->room;
		if (io_pread(p->from, p->name, p->block, n, at, why) < 0)
			return 0;
		crc = crc_update(crc, p->block, n);
		blank = is_blank(p->block, n);
		if (write_block(p, n, at, &holes, err) < 0 ||
		    (p->step != NULL &&
		     p->step(p->arg, p->block, n, at, err) < 0))
			return -1;
	}
	if (!p->part)
		return pump_end(p, crc, holes, why, err);
	p->crc = crc;
	return 1;
}
