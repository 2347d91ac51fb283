/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/input.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "io.h"

static int
read_file(const struct fti_source *s, void *to, size_t len, uint64_t off,
	  struct error *err)
{
	return io_pread(s->fd, s->name, to, len, off, err);
}

int
fti_source_open(struct fti_source *s, int dirfd, const char *path,
		struct error *err)
{
	const int fd = io_open_read(dirfd, path, err);

	*s = (struct fti_source){ .fd = fd, .name = path, .read = read_file };
	if (fd < 0)
		return -1;
	if (fstat(fd, &s->st) < 0) {
		fti_source_close(s);
		return error_sys(err, "%s: cannot stat", path);
	}
	s->size = (uint64_t)s->st.st_size;
	return 0;
}

void
fti_source_close(struct fti_source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int
fti_source_read(const struct fti_source *s, void *to, size_t len, uint64_t off,
		struct error *err)
{
	if (off > s->size || len > s->size - off)
		return error_set(err, ERROR_CORRUPT,
				 "%s: ends at byte %" PRIu64
				 ", expected %zu bytes at %" PRIu64,
				 s->name, s->size, len, off);
	return len == 0 ? 0 : s->read(s, to, len, off, err);
}
