/* SPDX-License-Identifier: BSD-3-Clause */
/* rank2file_spare.c - restore a part of a packed dataset's map from the same
 * tables in packed.N.scr, if both of its copies are lost. */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"

/* Read file `name`, which must be sound, and have the checksum in `list`. */
static struct kvtree *
read_sound(int dirfd, const char *file, const char *name,
	   const struct kvtree *list)
{
	struct buf raw = BUF_INIT;
	struct kvtree *t = NULL;

	if (io_read_file(dirfd, file, KVTREE_MAX_ENCODED, &raw, NULL) == 0 &&
	    (list == NULL ||
	     rank2file_has_sum(kvtree_get(list, name), raw.data, raw.len)))
		t = kvtree_decode(raw.data, raw.len, NULL, NULL);
	buf_free(&raw);
	return t;
}

int
rank2file_make_part(const struct rank2file_base *base, int dirfd,
		    const char *name, const struct kvtree *list,
		    struct buf *out)
{
	char file[sizeof(RANK2FILE_COPY) + RANK2FILE_SPARE_NAME];
	const char *first = file + strlen(RANK2FILE_COPY);
	uint64_t level = 0, writer = 0;
	struct kvtree *t = NULL;
	int rc = -1;

	if (!rank2file_part_scan(base, name, &level, &writer) || level > 0)
		return -1;
	snprintf(file, sizeof(file), RANK2FILE_COPY RANK2FILE_SPARE_FMT,
		 writer);
	t = read_sound(dirfd, first, first, list);
	if (t == NULL)
		t = read_sound(dirfd, file, first, list);
	buf_clear(out);
	if (kvtree_get(t, RANK2FILE_SPARE) != NULL)
		rc = kvtree_encode(kvtree_get(t, RANK2FILE_SPARE), out, NULL);
	kvtree_free(t);
	return rc;
}
