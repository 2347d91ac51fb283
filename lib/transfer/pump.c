/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/pump.h"

#include <inttypes.h>
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

int
pump_run(struct pump *p, struct error *why, struct error *err)
{
	uint32_t crc = 0;
	bool holes = false;
	size_t n = 0;

	for (uint64_t at = 0; at < p->size; at += n) {
		n = p->size - at < p->room ? (size_t)(p->size - at) : p->room;
		if (io_pread(p->from, p->name, p->block, n, at, why) < 0)
			return 0;
		crc = crc_update(crc, p->block, n);
		if (write_block(p, n, at, &holes, err) < 0 ||
		    (p->step != NULL &&
		     p->step(p->arg, p->block, n, at, err) < 0))
			return -1;
	}
	if (p->has_crc && p->crc != crc) {
		error_set(why, ERROR_DAMAGED,
			  "%s: checksum 0x%08" PRIx32 ", expected 0x%08" PRIx32,
			  p->name, crc, p->crc);
		return 0;
	}
	p->crc = crc;
	/* The file may end in a hole. */
	if (holes && ftruncate(p->to, (off_t)p->size) < 0)
		return error_sys(err, "%s: cannot set its size", p->to_name);
	return 1;
}
