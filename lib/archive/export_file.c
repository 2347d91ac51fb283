/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_file.c - write the archive to a file, which gets its name when it is
 * complete and on disk.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "archive/export.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"

/* Open the directory of `file`. */
static int
open_dir(const char *file, struct error *err)
{
	char dir[PATH_MAX];
	int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s", (int)(path_base(file) - file), file);
	fd = open(dir[0] != '\0' ? dir : ".",
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		error_sys(err, "%s: cannot make", file);
	return fd;
}

int
export_to(struct packed *p, const char *file, const struct export_options *eo,
	  struct export_result *out, struct error *err)
{
	const char *base = NULL;
	struct put *put = NULL;
	struct put_file *f = NULL;
	int dir = -1, fd = -1, rc = -1;

	if (file == NULL || str_eq(file, "-"))
		return export_dataset(p, STDOUT_FILENO, "standard output", eo,
				      out, err);
	if (io_check_output(file, err) < 0)
		return -1;
	base = path_base(file);
	dir = open_dir(file, err);
	if (dir < 0)
		return -1;
	put = put_new(&(struct put_options){ .par = NULL }, err);
	if (put != NULL)
		f = put_add(put,
			    &(struct put_what){ .dirfd = dir,
						.path = base,
						.size = UINT64_MAX },
			    err);
	if (f != NULL)
		fd = put_open(f, err);
	if (fd >= 0 && export_dataset(p, fd, file, eo, out, err) == 0) {
		put_set_size(f, out->written);
		if (put_wrote(f, out->written, err) == 0)
			rc = put_commit(put, err);
	}
	if (rc < 0)
		room_explain(dir, 0, err);
	put_free(put);
	close(dir);
	return rc;
}
