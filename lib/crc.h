/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc.h - CRC-32 (zlib's: polynomial 0xEDB88320 reflected, initial value and
 * final exclusive-or 0xFFFFFFFF; kvtree(5) and scr-dataset(5)), by ISA-L.
 */
#ifndef CRC_H
#define CRC_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of `len` more bytes after data whose CRC is `crc` (start: 0). */
uint32_t crc_update(uint32_t crc, const void *data, size_t len);

/*
 * Advance `crc` over `len` bytes that follow, so that it can be combined by
 * exclusive-or: crc(A then B) = crc_shift(crc(A), len(B)) ^ crc(B).  So parts
 * of a file may be summed in any order, by any thread.
 */
uint32_t crc_shift(uint32_t crc, uint64_t len);

#endif /* CRC_H */
