/* SPDX-License-Identifier: BSD-3-Clause */
/* regain_string.c - the strings of a rank during a rebuild, its data and the
 * body of its redundancy file: present files, and replacements of lost files;
 * with the checksum of each. */
#include "scr/regain_impl.h"

#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "path.h"

/* Index of a file in the filemap of this rank; SIZE_MAX: in none. */
static size_t
place_of(const struct regain_string *s, size_t file)
{
	const uint32_t at = s->m->files == NULL ? PLAN_NONE : s->m->files[file];

	return at == PLAN_NONE ? SIZE_MAX
			       : at - s->p->ranks[s->m->rank].first_file;
}

static bool
file_lost(const struct regain_string *s, size_t i)
{
	if (s->map)
		return s->p->ranks[s->m->rank].map.fate == FATE_REBUILD;
	return s->m->files == NULL || s->m->files[i] == PLAN_NONE ||
	       s->p->files[s->m->files[i]].state != FILE_PRESENT;
}

int
regain_string_open(struct regain_string *s, struct error *err)
{
	const size_t n = s->m->list.nfiles;

	s->sums = arena_alloc(s->g->arena, n, sizeof(*s->sums));
	s->in = stripe_cache_new(1, false, s->sums);
	s->out = stripe_cache_new(1, true, s->sums);
	if (s->sums == NULL || s->in == NULL || s->out == NULL)
		return error_no_memory(err);
	for (int body = 0; body < 2; body++)
		if (stripe_room(&s->present[body], s->g->arena, n, err) < 0 ||
		    stripe_room(&s->made[body], s->g->arena, n, err) < 0)
			return -1;
	return 0;
}

void
regain_string_close(struct regain_string *s)
{
	stripe_cache_free(s->in);
	stripe_cache_free(s->out);
}

/* --- New files --- */

static void
add_part(struct stripe *to, const struct stripe_part *p)
{
	if (p->len > 0)
		to->parts[to->nparts++] = *p;
}

/* Create a file of `size` bytes that begins with an image, to be named later.
 * Returns its temporary name; NULL: error. */
static const char *
create(struct regain_string *s, struct regain_built is, const void *image,
       size_t len, uint64_t size, struct error *err)
{
	int fd = regain_create(s->g, &is.temp, err), rc = -1;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)size) < 0)
		error_sys(err, "%s", is.name);
	else
		rc = io_pwrite(fd, is.name, image, len, 0, err);
	close(fd);
	if (rc == 0)
		rc = regain_add_built(s->g, s->built, &is, err);
	return rc < 0 ? NULL : is.temp;
}

/* Add a file at the end of the data, or create a replacement. */
static int
add_file(struct regain_string *s, size_t i, struct error *err)
{
	const struct redset_file *f = &s->m->list.files[i];
	const struct regain_built is = { .name = path_base(f->path),
					 .dirfd = regain_fd(s->g, s->map),
					 .has_attr = true,
					 .attr = f->attr,
					 .file = place_of(s, i) };
	struct stripe_part part = { .start = s->bytes,
				    .len = f->attr.size,
				    .dirfd = is.dirfd,
				    .path = is.name,
				    .sum = i };

	if (!path_is_clean(is.name))
		return error_set(err, ERROR_UNSAFE, "%s: not a file name",
				 f->path);
	s->sums[i].size = f->attr.size;
	s->bytes += f->attr.size;
	if (!file_lost(s, i)) {
		add_part(&s->present[0], &part);
		return 0;
	}
	part.dirfd = s->g->metafd;
	part.path = create(s, is, NULL, 0, f->attr.size, err);
	if (part.path == NULL)
		return -1;
	add_part(&s->made[0], &part);
	return 0;
}

/* Add the body, or create a replacement of a lost redundancy file, with its
 * header, and its descriptor.  `salvage`: copy the body that lies behind a
 * damaged header. */
static int
add_red(struct regain_string *s, bool salvage, struct error *err)
{
	struct regain_built is = { .name = s->m->name,
				   .dirfd = s->g->metafd,
				   .file = SIZE_MAX };
	struct plan_red_image red;
	struct stripe_part part = { .dirfd = s->g->metafd,
				    .sum = STRIPE_NO_SUM };
	char block[16384];
	int rc = 0;

	plan_red_image(s->m, &red);
	part.len = red.body_size;
	part.path = s->m->name;
	part.off = red.body_start;
	if (part.path != NULL)
		add_part(&s->present[1], &part);
	if (s->m->fate != FATE_REBUILD || red.header == NULL)
		return 0;
	part.off = red.header_size;
	part.path = create(s, is, red.header, red.header_size,
			   red.header_size + red.body_size, err);
	if (part.path == NULL)
		return -1;
	add_part(&s->made[1], &part);
	is.name = red.descriptor_name;
	if (red.descriptor != NULL &&
	    create(s, is, red.descriptor, red.descriptor_size,
		   red.descriptor_size, err) == NULL)
		return -1;
	if (s->m->state != RED_HEADER_DAMAGED || !salvage)
		return 0;
	for (uint64_t at = 0; rc == 0 && at < red.body_size;
	     at += sizeof(block)) {
		const uint64_t left = red.body_size - at;
		const size_t len =
			left < sizeof(block) ? (size_t)left : sizeof(block);

		rc = regain_string_read(s, true, at, block, len, err);
		if (rc == 0)
			rc = stripe_write(&s->made[1], s->out, at, block, len,
					  err);
	}
	return rc;
}

int
regain_string_create(struct regain_string *s, bool salvage, struct error *err)
{
	for (size_t i = 0; i < s->m->list.nfiles; i++)
		if (add_file(s, i, err) < 0)
			return -1;
	return add_red(s, salvage, err);
}

/* --- Reading --- */

int
regain_string_read(struct regain_string *s, bool body, uint64_t at, char *data,
		   size_t len, struct error *err)
{
	const struct stripe *from = &s->present[body];

	while (len > 0) {
		const struct stripe_part *p = stripe_part_at(from, at);
		const uint64_t left = stripe_cut(from, at) - at;
		const size_t n = left < len ? (size_t)left : len;
		struct error why = ERROR_INIT;

		if (stripe_read(from, s->in, at, data, n, &why) < 0) {
			if (p->sum == STRIPE_NO_SUM ||
			    place_of(s, p->sum) == SIZE_MAX)
				return error_pass(err, &why);
			memset(data, 0, n);
			regain_mark(s->g, place_of(s, p->sum), FILE_UNREAD);
		}
		at += n;
		data += n;
		len -= n;
	}
	return 0;
}

/* --- Checksums --- */

void
regain_string_verify(struct regain_string *s)
{
	const struct regain_part *p = &s->g->parts[0];

	stripe_cache_drop(s->in);
	stripe_cache_drop(s->out);
	for (size_t i = 0; i < s->m->list.nfiles; i++) {
		const size_t at = place_of(s, i);
		const struct stripe_sum *sum = &s->sums[i];
		struct regain_built *built = s->built->list;
		bool whole = false, right = false;

		if (at >= p->fm.nfiles || !p->fm.files[at].has_crc)
			continue;
		whole = sum->seen == p->fm.files[at].attr.size;
		right = whole && sum->crc == p->fm.files[at].crc;
		if (file_lost(s, i)) {
			while (built->file != at)
				built++;
			built->wrong = !right;
		} else if (whole && p->states[at] == FILE_PRESENT) {
			regain_mark(s->g, at,
				    right ? FILE_PRESENT : FILE_WRONG_CRC);
		}
	}
}
