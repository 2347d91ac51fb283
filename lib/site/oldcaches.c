/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/oldcaches.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "site/job.h"
#include "str.h"

#define STEM "scr."

/* At most so many are named. */
#define NAMED_MAX 5

struct found {
	int fd; /* BASE/USER */
	const char *ours;
	size_t count;
	uint64_t bytes;
	struct buf names;
};

static int
add(void *arg, const char *name, struct error *err)
{
	struct found *f = arg;
	uint64_t bytes = 0;

	(void)err;
	if (!str_starts(name, STEM) || str_eq(name + strlen(STEM), f->ours) ||
	    io_tree_size(f->fd, name, &bytes, NULL) < 0 || bytes == 0)
		return 0;
	f->bytes += bytes;
	if (f->count++ < NAMED_MAX)
		buf_printf(&f->names, "%s%s", f->count > 1 ? ", " : "",
			   str_shown(name));
	else if (f->count == NAMED_MAX + 1)
		buf_add_str(&f->names, ", ...");
	return 0;
}

/* One base directory. */
static void
describe(const struct job *j, const char *base, struct buf *out)
{
	struct found f = { .ours = j->id, .names = BUF_INIT };
	struct buf path = BUF_INIT;

	if (path_join(&path, base, j->user, NULL) < 0)
		return;
	f.fd = dir_open(AT_FDCWD, path.data);
	if (f.fd >= 0 && dir_each(f.fd, path.data, add, &f, NULL) == 0 &&
	    f.count > 0)
		buf_printf(out,
			   "%s: %zu %s of other jobs, %s (%s): if these have "
			   "ended, save them with --job-id ID --clean, or "
			   "delete them\n",
			   path.data, str_count(f.count, "cache"),
			   str_size(f.bytes), f.names.data);
	io_close(f.fd);
	buf_free(&f.names);
	buf_free(&path);
}

int
oldcaches_describe(const struct job *j, struct buf *out, struct error *err)
{
	for (size_t i = 0; i < j->ncaches; i++)
		describe(j, j->caches[i].base, out);
	return buf_check(out, err);
}
