/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/location.h"

#include <stddef.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "path.h"

const char *
fti_location_cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL || slash == path)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

static int
dir_of(const char *path, struct buf *out, struct error *err)
{
	struct buf dir = BUF_INIT;
	int rc = 0;

	buf_add(&dir, path, (size_t)(path_base(path) - path));
	buf_add_char(&dir, '.');
	rc = buf_check(&dir, err);
	if (rc == 0 && path_real(dir.data, out, NULL) < 0)
		rc = path_absolute(dir.data, out, err);
	buf_free(&dir);
	return rc;
}

int
fti_location_of(const char *path, struct fti_location *out, struct error *err)
{
	struct buf dir = BUF_INIT;
	const char *level = NULL, *exec = NULL;
	int rc = dir_of(path, &dir, err);

	*out = (struct fti_location){ .level = FTI_NO_LEVEL };
	if (rc == 0) {
		out->dir = mem_strdup(dir.data);
		out->above = mem_strdup(dir.data);
	}
	buf_free(&dir);
	if (rc < 0 || out->dir == NULL || out->above == NULL)
		return rc < 0 ? rc : error_no_memory(err);
	level = fti_location_cut(out->above);
	if (level != NULL)
		out->level = fti_level_parse(level);
	if (out->level != FTI_NO_LEVEL)
		exec = fti_location_cut(out->above);
	if (exec != NULL) {
		out->exec = exec;
		return 0;
	}
	mem_free(out->above);
	out->above = NULL;
	return 0;
}

void
fti_location_fini(struct fti_location *p)
{
	mem_free(p->dir);
	mem_free(p->above);
	*p = (struct fti_location){ .level = FTI_NO_LEVEL };
}
