/* SPDX-License-Identifier: BSD-3-Clause */
#include "scavenge/copy_layout.h"

#include <inttypes.h>
#include <stddef.h>

#include "error.h"
#include "kvtree/kvtree.h"
#include "num.h"

int
copy_layout_add(struct kvtree *t, int64_t rank, struct layout_rank r,
		struct error *err)
{
	struct kvtree *k =
		kvtree_put(kvtree_put(t, "RANK", err), num_str(rank), err);

	return k == NULL || kvtree_set_u64(k, "START", r.start, err) < 0 ||
			       kvtree_set_u64(k, "BYTES", r.bytes, err) < 0
		       ? -1
		       : 0;
}

int
copy_layout_get(const struct kvtree *t, int64_t rank, struct layout_rank *out,
		uint64_t *size, struct error *err)
{
	const struct kvtree *k = kvtree_get2(t, "RANK", num_str(rank));

	if (k != NULL && kvtree_u64(t, "SIZE", INT64_MAX, size, NULL) == 0 &&
	    *size > 0 &&
	    kvtree_u64(k, "START", INT64_MAX, &out->start, NULL) == 0 &&
	    kvtree_u64(k, "BYTES", INT64_MAX - out->start, &out->bytes, NULL) ==
		    0)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "layout: no place for rank %" PRId64, rank);
}
