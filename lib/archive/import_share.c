/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_share.c - have pieces of an archive read by other nodes.
 *
 * A node imports its pieces into a directory beneath the prefix, as if that
 * were a prefix, and writes there, when all is compared and on disk, an archive
 * of the headers of each piece.  The caller reads these, and takes the bytes
 * from the directory instead of the archive.  What no node has staged is left
 * to the caller.
 *
 * Each round has a directory of a name that nobody used before.  So a node that
 * was given up and still runs writes where nobody looks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "site/crew.h"
#include "str.h"
#include "temp.h"
#include "work.h"

/* In the directory: a link to a piece, and when that is staged, its headers. */
#define PIECE(i) str_printed(32, "%zu", i)
#define HEADERS(i) str_printed(32, "%zu.headers", i)

/* --- In a node --- */

int
import_stage(struct catalogue *stage, const struct catalogue_options *o,
	     size_t i, struct error *err)
{
	const int dir = catalogue_prefix_fd(stage);
	const char *to = HEADERS(i);
	struct import *x = import_new(stage, o, err);
	char path[PATH_MAX] = "";
	uint64_t bytes = 0;
	int in = -1, out = -1, rc = -1;

	if (x == NULL)
		return -1;
	if (readlinkat(dir, PIECE(i), path, sizeof(path) - 1) >= 0)
		in = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (in >= 0)
		out = temp_make(dir, to, 0600, create_owner(dir));
	if (out < 0)
		error_sys(err, "%s: cannot be read or staged", path);
	else
		x->headers =
			ark_out_new(out, to, ARK_NONE, 1, o->work.stop, err);
	if (x->headers != NULL && import_read(x, in, path, err) == 0 &&
	    ark_out_close(x->headers, &bytes, err) == 0 &&
	    io_fsync(out, to, err) == 0 && put_commit(x->put, err) == 0)
		rc = temp_commit(dir, to) < 0
			     ? error_sys(err, "%s: cannot stage", path)
			     : io_sync_dir(dir, to, err);
	ark_out_free(x->headers);
	io_close(in);
	io_close(out);
	import_free(x);
	return rc;
}

/* --- Here --- */

/* What all rounds for pieces of this name have. */
static const char *
root_of(const char *name, char to[static TEMP_NAME_MAX])
{
	const char *base = path_base(name), *end = strrchr(base, '.');

	return temp_name(to, end == NULL
				     ? base
				     : str_printed(NAME_MAX + 1, "%.*s",
						   (int)(end - base), base));
}

void
import_clear(const struct import *x, const char *name)
{
	char root[TEMP_NAME_MAX];

	(void)io_remove_tree(catalogue_scr_fd(x->c), root_of(name, root), NULL);
}

/* Make the directory, with links to the pieces that are to be read. */
static int
make_stage(struct import *x, const char *const *paths,
	   const struct crew_task *t, const char **argv, struct error *err)
{
	const int scr = catalogue_scr_fd(x->c);
	const struct owner owner = create_owner(scr);
	struct buf path = BUF_INIT;
	char root[TEMP_NAME_MAX], name[TEMP_NAME_MAX];
	uint64_t number = 0;
	int rc = path_real(catalogue_path(x->c), &path, err);

	if (rc < 0 || getrandom(&number, sizeof(number), 0) < 0)
		return error_sys(err, "no directory for nodes");
	root_of(paths[0], root);
	temp_number(name, number);
	*argv = arena_printf(x->arena, "--prefix=%s/" SCR_DIR "/%s/%s",
			     path.data, root, name);
	(void)create_dir(scr, root, 0700, owner);
	(void)create_dir(scr, str_printed(64, "%s/%s", root, name), 0700,
			 owner);
	x->stage =
		path_open_dir(scr, str_printed(64, "%s/%s", root, name), err);
	rc = x->stage < 0 ? -1 : 0;
	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		rc = path_absolute(paths[i], &path, err);
		if (rc == 0 && t->bytes[i] > 0 &&
		    symlinkat(path.data, x->stage, PIECE(i)) < 0)
			rc = error_sys(err, "%s: cannot link", paths[i]);
	}
	buf_free(&path);
	return rc;
}

static bool
is_staged(void *import, size_t from, const struct json_value *unused)
{
	const struct import *x = import;

	(void)unused;
	return faccessat(x->stage, HEADERS(from), F_OK, 0) == 0;
}

/* Take what nodes have staged. */
static int
take(struct import *x, const char *const *paths, size_t count, bool *done,
     struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const int fd = done[i] ? -1
				       : openat(x->stage, HEADERS(i),
						O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		rc = import_read(x, fd, paths[i], err);
		close(fd);
		done[i] = true;
	}
	return rc;
}

bool *
import_share(struct import *x, struct crew *crew, const char **argv,
	     const char *const *paths, size_t count, struct error *err)
{
	uint64_t *bytes = arena_alloc(x->arena, count, sizeof(*bytes));
	bool *done = mem_calloc(count, sizeof(*done));
	const struct crew_task task = {
		.argv = argv,
		.what = "importing on other nodes",
		.bytes = bytes,
		.count = count,
		.same = "",
		.work = &x->o->work,
		.answer = is_staged,
		.arg = x,
	};
	size_t lost = 1, failed = 0, left = 1;
	struct stat st;
	int rc = 0;

	while (*argv != NULL)
		argv++;
	import_clear(x, paths[0]);
	while (rc == 0 && lost > 0 && crew->nodes.count > 0) {
		left = 0;
		for (size_t i = 0; i < count; i++) {
			bytes[i] = !done[i] && stat(paths[i], &st) == 0 &&
						   S_ISREG(st.st_mode)
					   ? (uint64_t)st.st_size + 1
					   : 0;
			left += bytes[i] > 0;
		}
		if (left == 0)
			break;
		rc = make_stage(x, paths, &task, argv, err);
		if (rc == 0)
			rc = crew_work(crew, &task, &lost, &failed, err);
		if (rc == 0)
			rc = take(x, paths, count, done, err);
		io_close(x->stage);
		x->stage = -1;
		import_clear(x, paths[0]);
	}
	if (rc == 0)
		return done;
	mem_free(done);
	return NULL;
}
