/* SPDX-License-Identifier: BSD-3-Clause */
#include "crc.h"

#include <isa-l/crc.h>
#include <zlib.h>

#include "simd.h"

uint32_t
crc_update(uint32_t crc, const void *data, size_t len)
{
	/* ISA-L inverts before and after, as zlib does, so a CRC can be
	 * continued. */
	crc = crc32_gzip_refl(crc, data, len);
	simd_leave();
	return crc;
}

uint32_t
crc_shift(uint32_t crc, uint64_t len)
{
	_Static_assert(sizeof(z_off_t) == 8, "zlib with 64-bit lengths");

	if (len > INT64_MAX) { /* zlib's length is signed */
		crc = (uint32_t)crc32_combine(crc, 0, INT64_MAX);
		len -= INT64_MAX;
		if (len > INT64_MAX) {
			crc = (uint32_t)crc32_combine(crc, 0, INT64_MAX);
			len -= INT64_MAX;
		}
	}
	return (uint32_t)crc32_combine(crc, 0, (z_off_t)len);
}
