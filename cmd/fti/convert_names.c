/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_names.c - where FTI expects the files of converted checkpoints.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "convert.h"
#include "ftijob/set.h"
#include "path.h"
#include "str.h"

/* The directory of the metadata of an execution: that of Topology.fti. */
static const char *
meta_dir(const struct fti_convert_names *n)
{
	const char *exec = n->set->exec;

	for (size_t i = 0; i < n->tree->count; i++) {
		const struct fti_entry *e = &n->tree->list[i];

		if (e->name.kind == FTI_NAME_TOPOLOGY && str_eq(e->exec, exec))
			return arena_strndup(
				n->arena, e->path,
				(size_t)(path_base(e->path) - e->path));
	}
	return arena_printf(n->arena, "Meta/%s%s", exec,
			    exec[0] != '\0' ? "/" : "");
}

const char *
fti_convert_sector(const struct fti_convert_names *n, size_t group)
{
	const uint32_t size = n->set->geometry.node_size;
	const enum fti_level level = n->moved ? FTI_L4 : n->set->level;
	const struct fti_name name = {
		.kind = FTI_NAME_SECTOR,
		.sector = (uint32_t)(group / size),
		.rank = (uint32_t)(group % size),
	};
	const char *dir = meta_dir(n);
	char base[FTI_NAME_MAX];

	if (dir == NULL)
		return NULL;
	fti_name_format(&name, base);
	return level == FTI_ARCHIVE
		       ? arena_printf(n->arena, "%s%s/Ckpt_%" PRIu32 "/%s", dir,
				      fti_level_dir(level), n->set->id, base)
		       : arena_printf(n->arena, "%s%s/%s", dir,
				      fti_level_dir(level), base);
}

const char *
fti_convert_moved(struct arena *arena, const char *path, int64_t id,
		  uint32_t rank)
{
	const struct fti_name name = {
		.kind = FTI_NAME_RANK,
		.id = (uint32_t)id,
		.rank = rank,
	};
	char base[FTI_NAME_MAX];
	/* "Global/<exec>/dCP/" */
	char *up = arena_strndup(arena, path, (size_t)(path_base(path) - path));

	if (up == NULL)
		return NULL;
	if (up[0] != '\0')
		up[strlen(up) - 1] = '\0';
	return arena_printf(arena, "%.*s%s/%s", (int)(path_base(up) - up), up,
			    fti_level_dir(FTI_L4),
			    fti_name_format(&name, base));
}
