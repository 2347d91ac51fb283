/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_names.c - where FTI expects the files of converted checkpoints, and
 * what stands in those that describe an execution.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "convert.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/config.h"
#include "ftijob/set.h"
#include "io.h"
#include "path.h"
#include "str.h"

/* --- Names --- */

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

/* --- Texts --- */

/* A number io_mode in the history is by 1000 larger than ckpt_io. */
#define HISTORY "checkpoint_id."

static int
set_history(const struct fti_convert *c, const struct fti_ini *ini, bool moved,
	    struct buf *text, struct error *err)
{
	const char *section = NULL;

	for (size_t i = 0; (section = fti_ini_section(ini, i)) != NULL; i++) {
		const struct fti_ini_value io = { section, "io_mode",
						  c->form.posix ? "1001"
								: "1003" };
		const struct fti_ini_value no_dcp = { section, "is_dcp", "0" };

		if (!str_starts(section, HISTORY))
			continue;
		if (fti_ini_set(text, &io, err) < 0 ||
		    (moved && fti_ini_get(ini, section, "is_dcp") != NULL &&
		     fti_ini_set(text, &no_dcp, err) < 0))
			return -1;
	}
	return 0;
}

int
fti_convert_text(const struct fti_convert *c, int dirfd, const char *path,
		 bool moved, struct buf *out, struct error *err)
{
	const enum fti_name_kind kind = fti_name_parse(path_base(path)).kind;
	const struct fti_ini_value io = { "basic", "ckpt_io",
					  c->form.posix ? "1" : "3" };
	struct fti_ini *ini = NULL;
	int rc = io_read_file(dirfd, path, FTI_INI_MAX, out, err);

	if (rc < 0 || kind == FTI_NAME_TOPOLOGY)
		return rc;
	ini = fti_ini_parse(path, out->data, out->len, err);
	if (ini == NULL)
		rc = -1;
	else if (kind == FTI_NAME_HISTORY)
		rc = set_history(c, ini, moved, out, err);
	else
		rc = fti_ini_set(out, &io, err);
	fti_ini_free(ini);
	return rc;
}
