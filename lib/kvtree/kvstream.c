/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/kvstream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "crc.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"

#define WINDOW ((size_t)256 << 10)

void
kvstream_memory(struct kvstream *s, const char *body, size_t len)
{
	*s = (struct kvstream){
		.in = { .p = (const unsigned char *)body,
			.end = (const unsigned char *)body + len },
		.fd = -1,
	};
}

void
kvstream_close(struct kvstream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	mem_free(s->buffer);
	s->buffer = NULL;
	s->fd = -1;
}

/* Move the rest of the window to the front, and read more behind it. */
void
kvstream_fill(struct kvstream *s)
{
	size_t have = (size_t)(s->in.end - s->in.p), len = WINDOW - have;

	if (len > s->left)
		len = (size_t)s->left;
	memmove(s->buffer, s->in.p, have);
	if (io_pread(s->fd, "", s->buffer + have, len, s->off, NULL) < 0) {
		s->in.irregular = true;
		s->left = len = 0;
	}
	s->crc = crc_update(s->crc, s->buffer + have, len);
	s->off += len;
	s->left -= len;
	s->in.p = s->buffer;
	s->in.end = s->buffer + have + len;
}

int
kvstream_open(struct kvstream *s, int dirfd, const char *name)
{
	size_t size = 0;
	struct stat st;

	*s = (struct kvstream){
		.fd = io_open_read(dirfd, name, NULL),
		.buffer = mem_alloc(WINDOW, 1),
	};
	s->in.p = s->in.end = s->buffer;
	if (s->fd < 0 || s->buffer == NULL || fstat(s->fd, &st) < 0 ||
	    st.st_size < KVTREE_MIN_ENCODED)
		goto fail;
	s->left = (uint64_t)st.st_size - KVTREE_CRC_SIZE;
	kvstream_fill(s);
	if (s->in.irregular ||
	    kvtree_peek(s->in.p, kvstream_left(s), &size, NULL) < 0 ||
	    size != (size_t)st.st_size || !kvtree_has_crc(s->in.p))
		goto fail;
	s->in.p += KVTREE_HEADER_SIZE;
	return 0;
fail:
	kvstream_close(s);
	return -1;
}

bool
kvstream_good(struct kvstream *s)
{
	uint32_t want = 0;

	if (s->in.irregular || kvstream_left(s) > 0)
		return false;
	return s->fd < 0 ||
	       (io_pread(s->fd, "", &want, sizeof(want), s->off, NULL) == 0 &&
		be32toh(want) == s->crc);
}
