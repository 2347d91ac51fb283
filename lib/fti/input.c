/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/input.h"

#include <inttypes.h>
#include <unistd.h>

#include "error.h"
#include "hash.h"
#include "io.h"
#include "mem.h"
#include "progress.h"
#include "work.h"

/* Bytes summed at a time: they stay in the cache of a core until then. */
#define STEP ((size_t)256 << 10)

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
	io_close(s->fd);
	s->fd = -1;
}

static int
read_part(const struct fti_source *s, void *to, size_t len, uint64_t off,
	  struct error *err)
{
	return fti_source_read(s->whole, to, len, s->at + off, err);
}

struct fti_source
fti_source_part(const struct fti_source *whole, uint64_t at, uint64_t size)
{
	const uint64_t left = at < whole->size ? whole->size - at : 0;

	return (struct fti_source){
		.size = size < left ? size : left,
		.name = whole->name,
		.read = read_part,
		.whole = whole,
		.at = at,
		.fd = -1,
	};
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

int
fti_source_sum(const struct fti_source *s, uint64_t off, uint64_t len,
	       struct hash *h, const struct work *w, struct error *err)
{
	const size_t most = len < STEP ? (size_t)len : STEP;
	unsigned char *buf = mem_alloc(most + 1, 1);
	int rc = 0;

	while (len > 0) {
		const size_t n = len < most ? (size_t)len : most;

		if (work_go_on(w, err) < 0 ||
		    fti_source_read(s, buf, n, off, err) < 0) {
			rc = -1;
			break;
		}
		hash_update(h, buf, n);
		progress_add(work_or_default(w)->progress, n);
		off += n;
		len -= n;
	}
	mem_free(buf);
	return rc;
}
