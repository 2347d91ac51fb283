/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/haltfile.h"

#include <stddef.h>

#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "num.h"

int
halt_read_checkpoints(const struct kvtree *t, int64_t *out, struct error *err)
{
	if (kvtree_i64(t, "CheckpointsLeft", INT64_MIN, INT64_MAX, out, err) <
	    0)
		return -1;
	if (*out > INT32_MAX && *out <= UINT32_MAX)
		*out -= INT64_C(1) << 32;
	return 0;
}

int
halt_read(const struct kvtree *t, struct halt *out, struct error *err)
{
	const struct {
		const char *key;
		int64_t *to;
	} numbers[] = {
		{ "ExitBefore", &out->exit_before },
		{ "ExitAfter", &out->exit_after },
		{ "HaltSeconds", &out->halt_seconds },
	};
	const struct kvtree *k = kvtree_get(t, "ExitReason");
	size_t i = 0;

	out->reason = NULL;
	if (k != NULL && value_str(k, &out->reason, err) < 0)
		return -1;
	k = kvtree_get(t, HALT_OBEYED);
	out->obeyed = NULL;
	if (k != NULL && value_str(k, &out->obeyed, err) < 0)
		return -1;
	out->checkpoints_left = -1;
	if (kvtree_get(t, "CheckpointsLeft") != NULL) {
		if (halt_read_checkpoints(t, &out->checkpoints_left, err) < 0)
			return -1;
		if (out->checkpoints_left < 0)
			out->checkpoints_left = 0;
	}
	/* LLNL's tool also writes negative values (scr-dataset(5)).  They mean
	 * that the time or count was reached. */
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int64_t *to = numbers[i].to;

		*to = -1;
		if (kvtree_get(t, numbers[i].key) == NULL)
			continue;
		if (kvtree_i64(t, numbers[i].key, INT64_MIN, INT64_MAX, to,
			       err) < 0)
			return -1;
		*to = *to < 0 ? 0 : *to;
	}
	return 0;
}

/* The keys become the first ones, as by LLNL's tool (kvtree(5)). */
int
halt_set_reason(struct kvtree *t, const char *reason, struct error *err)
{
	kvtree_remove(t, HALT_OBEYED);
	return kvtree_set_first(t, "ExitReason", reason, err);
}

int
halt_set_number(struct kvtree *t, const char *key, int64_t value,
		struct error *err)
{
	return kvtree_set_first(t, key, value < 0 ? NULL : num_str(value), err);
}
