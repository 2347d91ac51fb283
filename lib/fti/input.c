/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"
#include "fti/file.h"
#include "hash.h"
#include "io.h"
#include "mem.h"
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
		work_moved(w, n);
		off += n;
		len -= n;
	}
	mem_free(buf);
	return rc;
}

void
fti_content_add_var(struct fti_content *c, int32_t id)
{
	(void)MEM_ROOM(c->vars, c->nvars, c->room_vars);
	c->vars[c->nvars++] = (struct fti_content_var){
		.id = id,
		.first = c->npieces,
	};
}

void
fti_content_add_piece(struct fti_content *c, uint64_t at, uint64_t len)
{
	struct fti_content_var *v = &c->vars[c->nvars - 1];

	if (len == 0)
		return;
	(void)MEM_ROOM(c->pieces, c->npieces, c->room_pieces);
	c->pieces[c->npieces++] =
		(struct fti_piece){ .off = v->size, .at = at, .len = len };
	v->count++;
	v->size += len;
}

int
fti_content_file(struct fti_content *c, const struct fti_file *f,
		 const struct fti_source *s, struct error *err)
{
	*c = (struct fti_content){ .source = s };
	if (f->kind != FTI_KIND_DATA || !f->usable)
		return error_set(err, ERROR_CORRUPT, "%s: %s", f->name,
				 f->findings != NULL ? f->findings->text
						     : "holds no variables");
	for (size_t i = 0; i < f->nvars; i++) {
		fti_content_add_var(c, f->vars[i].id);
		for (size_t k = f->vars[i].first; k != SIZE_MAX;
		     k = f->containers[k].next)
			fti_content_add_piece(
				c, f->containers[k].c.fptr,
				(uint64_t)f->containers[k].c.used);
	}
	return 0;
}

void
fti_content_fini(struct fti_content *c)
{
	mem_free(c->vars);
	mem_free(c->pieces);
	*c = (struct fti_content){ .source = NULL };
}

static int
by_id(const void *a, const void *b)
{
	const struct fti_content_var *x = *(struct fti_content_var *const *)a;
	const struct fti_content_var *y = *(struct fti_content_var *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

const struct fti_content_var **
fti_content_sorted(const struct fti_content *c, struct error *err)
{
	const struct fti_content_var **list =
		mem_calloc(c->nvars + 1, sizeof(struct fti_content_var *));

	for (size_t i = 0; i < c->nvars; i++)
		list[i] = &c->vars[i];
	if (c->nvars > 0)
		qsort(list, c->nvars, sizeof(struct fti_content_var *), by_id);
	for (size_t i = 1; i < c->nvars; i++)
		if (list[i]->id == list[i - 1]->id) {
			error_set(err, ERROR_CORRUPT,
				  "%s: variable %" PRId32 " occurs twice",
				  c->source->name, list[i]->id);
			mem_free(list);
			return NULL;
		}
	return list;
}

size_t
fti_content_piece(const struct fti_content *c, const struct fti_content_var *v,
		  uint64_t off)
{
	size_t low = v->first, high = v->first + v->count;

	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (c->pieces[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

int
fti_content_read(const struct fti_content *c, const struct fti_content_var *v,
		 void *to, size_t len, uint64_t off, struct error *err)
{
	const struct fti_piece *p = NULL;

	if (off > v->size || len > v->size - off)
		return error_set(err, ERROR_USAGE,
				 "%s: variable %" PRId32 " has %" PRIu64
				 " bytes",
				 c->source->name, v->id, v->size);
	if (len == 0)
		return 0;
	for (p = &c->pieces[fti_content_piece(c, v, off)]; len > 0; p++) {
		const uint64_t skip = off - p->off;
		const size_t n =
			len < p->len - skip ? len : (size_t)(p->len - skip);

		if (fti_source_read(c->source, to, n, p->at + skip, err) < 0)
			return -1;
		to = (char *)to + n;
		off += n;
		len -= n;
	}
	return 0;
}
