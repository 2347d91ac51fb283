/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/naming.h"

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "path.h"

int
naming_begin(struct naming *n, const char *prefix, struct arena *a,
	     struct error *err)
{
	struct buf path = BUF_INIT;
	int rc = path_absolute(".", &path, err);

	*n = (struct naming){ .prefix = prefix };
	if (rc == 0)
		n->cwd = arena_strdup(a, path.data);
	if (n->cwd != NULL && path_below(n->cwd, prefix) == NULL &&
	    path_real(prefix, &path, NULL) == 0)
		n->real = arena_strdup(a, path.data);
	buf_free(&path);
	return rc < 0 || n->cwd != NULL ? rc : error_no_memory(err);
}

const char *
naming_path(const struct naming *n, struct arena *a, const char *name,
	    struct error *err)
{
	const char *path =
		path_normal_in(a, name[0] == '/' ? "" : n->cwd, name, err);
	const char *rest = NULL;

	if (path != NULL && n->real != NULL &&
	    path_below(path, n->prefix) == NULL)
		rest = path_below(path, n->real);
	return rest != NULL ? path_normal_in(a, n->prefix, rest, err) : path;
}
