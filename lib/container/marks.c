/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/marks.h"

#include <errno.h>
#include <unistd.h>

#include "container/segmap.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "meta/dataset_dir.h"
#include "num.h"

int
marks_load(struct kvtree **marks, int meta_fd, struct error *err)
{
	const struct kvtree *file = NULL, *off = NULL;
	struct error why = ERROR_INIT;
	uint64_t n = 0;

	*marks = kvtree_read_beneath(meta_fd, DATASET_DIR_MARK, NULL, &why);
	if (*marks == NULL)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	kvtree_foreach (file, kvtree_get(*marks, "FILE")) {
		kvtree_foreach (off, file) {
			if (!value_number(kvtree_key(off), INT64_MAX, &n) ||
			    kvtree_u64(off, "LENGTH", INT64_MAX, &n, err) < 0)
				return error_set(err, ERROR_CORRUPT,
						 "%s: not a mark of a rebuild",
						 DATASET_DIR_MARK);
		}
	}
	return 0;
}

int
marks_remove(int meta_fd, struct error *err)
{
	if (unlinkat(meta_fd, DATASET_DIR_MARK, 0) == 0)
		return io_sync_dir(meta_fd, DATASET_DIR_MARK, err);
	return errno == ENOENT
		       ? 0
		       : error_sys(err, "%s: cannot remove", DATASET_DIR_MARK);
}

bool
marks_has(const struct kvtree *marks, const char *container, uint64_t off)
{
	const struct kvtree *list = kvtree_get(marks, "FILE");

	return list != NULL &&
	       kvtree_get2(list, container, num_str(off)) != NULL;
}

bool
marks_any(const struct kvtree *marks, const struct segmap *m, size_t first,
	  size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (marks_has(marks, m->containers[m->segs[i].container].name,
			      m->segs[i].off))
			return true;
	return false;
}
