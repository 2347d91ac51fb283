/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/segmap.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/dataset_dir.h"

struct mark {
	const char *container;
	uint64_t off, len;
};

void
marks_free(struct marks *m)
{
	mem_free(m->list);
	kvtree_free(m->tree);
	*m = (struct marks){ .count = 0 };
}

static int
by_place(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	int c = strcmp(x->container, y->container);

	if (c != 0)
		return c;
	return x->off < y->off ? -1 : x->off > y->off;
}

int
marks_load(struct marks *m, int meta_fd, struct error *err)
{
	const struct kvtree *file = NULL, *off = NULL;
	struct error why = ERROR_INIT;
	size_t n = 0;

	m->tree = kvtree_read_beneath(meta_fd, DATASET_DIR_MARK, NULL, &why);
	if (m->tree == NULL)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	kvtree_foreach (file, kvtree_get(m->tree, "FILE"))
		n += kvtree_count(file);
	m->list = mem_calloc(n + 1, sizeof(*m->list));
	if (m->list == NULL)
		return error_no_memory(err);
	kvtree_foreach (file, kvtree_get(m->tree, "FILE")) {
		kvtree_foreach (off, file) {
			struct mark *to = &m->list[m->count++];

			to->container = kvtree_key(file);
			if (!value_number(kvtree_key(off), INT64_MAX,
					  &to->off) ||
			    kvtree_u64(off, "LENGTH", INT64_MAX, &to->len,
				       err) < 0)
				return error_set(err, ERROR_CORRUPT,
						 "%s: not a mark of a rebuild",
						 DATASET_DIR_MARK);
		}
	}
	qsort(m->list, m->count, sizeof(*m->list), by_place);
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
marks_hit(const struct marks *m, const char *container, uint64_t off,
	  uint64_t len)
{
	size_t lo = 0, hi = m->count;
	const struct mark end = { container, off + len - 1, 0 };

	/* Find the last mark that begins at or before the last byte.  Marks of
	 * one container do not overlap. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_place(&m->list[mid], &end) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || strcmp(m->list[lo - 1].container, container) != 0)
		return false;
	return m->list[lo - 1].off + m->list[lo - 1].len > off;
}

bool
marks_any(const struct marks *marks, const struct segmap *m, size_t first,
	  size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (marks_hit(marks, m->containers[m->segs[i].container].name,
			      m->segs[i].off, m->segs[i].len))
			return true;
	return false;
}
