/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/dataset_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "kvtree/value.h"
#include "lock.h"
#include "meta/copied.h"
#include "meta/dataset.h"
#include "meta/filemap.h"
#include "meta/rank2file.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "path.h"
#include "str.h"
#include "temp.h"

#define STEM "scr.dataset."
#define PACKED_STEM "packed."
#define PACKED_END ".scr"

int
dataset_dir_open_scr(int prefix_fd, const char *prefix, bool make,
		     struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = -1;

	if (make && create_dir(prefix_fd, SCR_DIR, 0777,
			       create_owner(prefix_fd)) == 0) {
		if (io_sync_dir(prefix_fd, prefix, err) < 0)
			return -1;
	} else if (make && errno != EEXIST) {
		return error_sys(err, "%s/" SCR_DIR ": cannot make", prefix);
	}
	fd = path_open_dir(prefix_fd, SCR_DIR, &why);
	if (fd >= 0)
		return fd;
	if (why.kind != ERROR_ABSENT)
		return error_as(err, &why, "%s/%s", prefix, why.text);
	errno = ENOENT;
	return error_sys(err, "%s/" SCR_DIR, prefix);
}

bool
dataset_dir_is_data(const char *path)
{
	return path_is_clean(path) && path_below(path, SCR_DIR) == NULL &&
	       path_below(path, CONF_PREFIX_FILE) == NULL;
}

int64_t
dataset_dir_id(const char *name)
{
	const int64_t id = value_in_name(name, STEM, DATASET_ID_MAX, "");

	return id > 0 ? id : -1;
}

int64_t
dataset_dir_packed(const char *name)
{
	return value_in_name(name, PACKED_STEM, INT64_MAX, PACKED_END);
}

bool
dataset_dir_piece(const char *name, uint64_t *piece, uint64_t *pieces)
{
	static const char start[] = "manifest.", middle[] = "-of-";

	if (!str_starts(name, start))
		return false;
	name = value_scan(name + strlen(start), DATASET_DIR_PIECES, piece);
	if (name == NULL || !str_starts(name, middle))
		return false;
	name = value_scan(name + strlen(middle), DATASET_DIR_PIECES, pieces);
	return name != NULL && str_eq(name, ".sha256") && *piece > 0 &&
	       *piece <= *pieces;
}

bool
dataset_dir_is_copy(const char *name, char *to)
{
	const bool copy = str_starts(name, RANK2FILE_COPY);

	snprintf(to, NAME_MAX + 1, "%s",
		 name + (copy ? strlen(RANK2FILE_COPY) : 0));
	return copy;
}

static const struct {
	enum dataset_dir_kind kind;
	const char *pattern;
} names[] = {
	{ DATASET_DIR_COPY, RANK2FILE_COPY RANK2FILE_FILE },
	{ DATASET_DIR_COPY, RANK2FILE_COPY RANK2FILE_FILE ".[0-9]*.[0-9]*" },
	{ DATASET_DIR_COPY, RANK2FILE_COPY PACKED_STEM "[0-9]*" PACKED_END },
	{ DATASET_DIR_SUMMARY, SUMMARY_FILE },
	{ DATASET_DIR_RANK2FILE, RANK2FILE_FILE },
	{ DATASET_DIR_RANK2FILE_PART, RANK2FILE_FILE ".[0-9]*.[0-9]*" },
	{ DATASET_DIR_CONTAINERS, SCR_DIR },
	{ DATASET_DIR_KEPT, DATASET_DIR_MANIFEST },
	{ DATASET_DIR_MARKED, DATASET_DIR_MARK },
	{ DATASET_DIR_DELETED, DATASET_DIR_GONE },
	{ DATASET_DIR_LOCK, LOCK_FILE },
	{ DATASET_DIR_LOCK, LOCK_SHARES_FILE },
	/* temporary files of redset and shuffile */
	{ DATASET_DIR_LEFT, "reddesc.er.er" },
	{ DATASET_DIR_LEFT, "reddescmap.er.er" },
	{ DATASET_DIR_LEFT, "reddesc.er.shuffile" },
	{ DATASET_DIR_LEFT, "reddescmap.er.shuffile" },
	/* of AXL, and of both scavenges (LLNL's and ours) */
	{ DATASET_DIR_LEFT, "rank_[0-9]*.state_file" },
	{ DATASET_DIR_LEFT, "scavenge.[oe]*" },
	{ DATASET_DIR_LEFT, "scavenge.shares" },
};

enum dataset_dir_kind
dataset_dir_kind(const char *name, uint32_t *rank)
{
	const int64_t mapped = filemap_name_rank(name);
	struct redset_name red;
	uint64_t piece = 0, pieces = 0;

	if (mapped >= 0) {
		if (rank != NULL)
			*rank = (uint32_t)mapped;
		return DATASET_DIR_FILEMAP;
	}
	if (redset_name_parse(name, &red, NULL)) {
		if (rank != NULL)
			*rank = red.rank;
		return red.descriptor ? DATASET_DIR_DESCRIPTOR
				      : DATASET_DIR_REDUNDANCY;
	}
	if (copied_name_rank(name) >= 0)
		return DATASET_DIR_COPIED;
	if (temp_is(name))
		return DATASET_DIR_TEMP;
	if (dataset_dir_piece(name, &piece, &pieces))
		return DATASET_DIR_KEPT;
	if (dataset_dir_packed(name) >= 0)
		return DATASET_DIR_PACKED;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_glob(name, names[i].pattern))
			return names[i].kind;
	return DATASET_DIR_FOREIGN;
}

bool
dataset_dir_is_aside(const char *name)
{
	const char *end = strrchr(name, '.');
	char base[NAME_MAX + 1];

	if (end == NULL ||
	    !(str_eq(end, ".old") || str_glob(end, ".old[0-9]*")))
		return false;
	snprintf(base, sizeof(base), "%.*s", (int)(end - name), name);
	return str_glob(base, "ctr.[0-9]*.scr") ||
	       dataset_dir_kind(base, NULL) != DATASET_DIR_FOREIGN;
}

bool
dataset_dir_is_recovery(const char *name)
{
	const enum dataset_dir_kind kind = dataset_dir_kind(name, NULL);

	return kind == DATASET_DIR_FILEMAP || kind == DATASET_DIR_REDUNDANCY ||
	       kind == DATASET_DIR_DESCRIPTOR;
}
