/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/source.h"

#include <fcntl.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "team/redundancy.h"

int
source_open(struct source *s, struct redundancy_file *files, size_t nfiles,
	    struct error *err)
{
	*s = (struct source){ .files = files, .nfiles = nfiles };
	for (size_t i = 0; i < SOURCE_OPEN; i++)
		s->fd[i] = -1;
	s->start = mem_calloc(nfiles + 1, sizeof(*s->start));
	if (s->start == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < nfiles; i++) {
		if (!files[i].has_crc)
			files[i].crc = 0;
		s->start[i + 1] = s->start[i] + files[i].attr.size;
	}
	return 0;
}

void
source_close(struct source *s)
{
	for (size_t i = 0; i < SOURCE_OPEN; i++)
		if (s->start != NULL && s->fd[i] >= 0)
			close(s->fd[i]);
	mem_free(s->start);
	s->start = NULL;
}

uint64_t
source_bytes(const struct source *s)
{
	return s->start[s->nfiles];
}

bool
source_summed(const struct source *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (!s->files[i].has_crc)
			return false;
	return true;
}

int
source_read(struct source *s, uint64_t at, void *to, size_t len,
	    struct error *err)
{
	size_t low = 0, high = s->nfiles;
	char *next = to;

	/* The last file that starts at or before `at`: not an empty one. */
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (s->start[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	for (size_t i = low; len > 0; i++) {
		struct redundancy_file *f = &s->files[i];
		const uint64_t left = s->start[i + 1] - at;
		const size_t n = left < len ? (size_t)left : len;
		const size_t slot = i % SOURCE_OPEN;
		int *fd = &s->fd[slot];

		if (n == 0)
			continue;
		/* Most reads are in the previous file. */
		if (*fd < 0 || s->open[slot] != i) {
			io_close(*fd);
			*fd = io_open_read(AT_FDCWD, f->path, err);
			s->open[slot] = i;
		}
		if (*fd < 0 ||
		    io_pread(*fd, f->path, next, n, at - s->start[i], err) < 0)
			return -1;
		if (!f->has_crc)
			f->crc ^= crc_shift(crc_update(0, next, n), left - n);
		at += n;
		next += n;
		len -= n;
	}
	return 0;
}
