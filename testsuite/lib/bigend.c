/* SPDX-License-Identifier: BSD-3-Clause */
#include "bigend.h"

#include <endian.h>

#include "buf.h"

int
bigend_add32(struct buf *b, uint32_t v)
{
	v = htobe32(v);
	return buf_add(b, &v, sizeof(v));
}

int
bigend_add64(struct buf *b, uint64_t v)
{
	v = htobe64(v);
	return buf_add(b, &v, sizeof(v));
}
