/* SPDX-License-Identifier: BSD-3-Clause */
/* regain_string.c - the data string of a rank during a rebuild: present files,
 * and replacements of lost files; with the checksum of each. */
#include "dir.h"
#include "scr/regain_impl.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"

static const char *
name_of(const struct regain_string *s, size_t file)
{
	return path_base(s->m->list.files[file].path);
}

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

/* The file at `at` of the string; there is one. */
static size_t
file_at(const struct regain_string *s, uint64_t at)
{
	size_t lo = 0, hi = s->m->list.nfiles;

	while (hi - lo > 1) {
		const size_t mid = lo + (hi - lo) / 2;

		if (s->start[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* --- Reading and writing --- */

int
regain_string_open(struct regain_string *s, struct error *err)
{
	const size_t n = s->m->list.nfiles;

	s->in.fd = s->out.fd = -1;
	s->start = arena_alloc(s->g->arena, n + 1, sizeof(*s->start));
	s->temps = arena_alloc(s->g->arena, n, sizeof(*s->temps));
	s->sums = arena_alloc(s->g->arena, n, sizeof(*s->sums));
	if (s->start == NULL || s->temps == NULL || s->sums == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++)
		s->start[i + 1] = s->start[i] + s->m->list.files[i].attr.size;
	return 0;
}

void
regain_string_close(struct regain_string *s)
{
	if (s->in.fd >= 0)
		close(s->in.fd);
	if (s->out.fd >= 0)
		close(s->out.fd);
}

uint64_t
regain_string_bytes(const struct regain_string *s)
{
	return s->start[s->m->list.nfiles];
}

/* Open a file to read it, or its replacement to write. */
static int
open_strip(struct regain_string *s, bool out, size_t file, struct error *err)
{
	struct regain_strip *strip = out ? &s->out : &s->in;

	if (strip->fd >= 0 && strip->file == file)
		return strip->fd;
	if (strip->fd >= 0)
		close(strip->fd);
	strip->file = file;
	if (!out)
		return strip->fd = io_open_read(regain_fd(s->g, s->map),
						name_of(s, file), err);
	strip->fd = dir_open_file(s->g->metafd, s->temps[file],
				  O_WRONLY | O_CLOEXEC, 0);
	return strip->fd < 0 ? error_sys(err, "%s", s->temps[file]) : strip->fd;
}

/* Add `len` bytes at `at` of a file to its checksum. */
static void
add_sum(struct regain_string *s, size_t file, uint64_t at, const void *data,
	size_t len)
{
	const uint64_t size = s->m->list.files[file].attr.size;
	struct regain_sum *sum = &s->sums[file];

	sum->seen += len;
	sum->crc ^= crc_shift(crc_update(0, data, len), size - at - len);
}

static int
write_part(struct regain_string *s, size_t file, uint64_t at, const char *data,
	   size_t len, struct error *err)
{
	int fd = -1;

	if (s->temps[file] == NULL) /* not lost */
		return 0;
	fd = open_strip(s, true, file, err);
	if (fd < 0 || io_pwrite(fd, name_of(s, file), data, len, at, err) < 0)
		return -1;
	add_sum(s, file, at, data, len);
	return 0;
}

/* Read a part of a file.  An unreadable file of the application is marked. */
static int
read_part(struct regain_string *s, size_t file, uint64_t at, char *data,
	  size_t len, struct error *err)
{
	const size_t place = place_of(s, file);
	struct error why = ERROR_INIT;
	int fd = open_strip(s, false, file, &why);

	if (fd >= 0 &&
	    io_pread(fd, name_of(s, file), data, len, at, &why) == 0) {
		add_sum(s, file, at, data, len);
		return 0;
	}
	if (place == SIZE_MAX)
		return error_pass(err, &why);
	memset(data, 0, len);
	regain_mark(s->g, place, FILE_UNREAD);
	return 0;
}

int
regain_string_move(struct regain_string *s, bool out, uint64_t at, char *data,
		   size_t len, struct error *err)
{
	const uint64_t all = regain_string_bytes(s);

	while (len > 0 && at < all) {
		const size_t f = file_at(s, at);
		const uint64_t left = s->start[f + 1] - at;
		const size_t part = left < len ? (size_t)left : len;
		const uint64_t off = at - s->start[f];

		if ((out ? write_part(s, f, off, data, part, err)
			 : read_part(s, f, off, data, part, err)) < 0)
			return -1;
		at += part;
		data += part;
		len -= part;
	}
	if (!out)
		memset(data, 0, len);
	return 0;
}

/* --- New files --- */

int
regain_add_built(struct regain *g, struct regain_builts *out,
		 const struct regain_built *f, struct error *err)
{
	if (!MEM_ROOM(out->list, out->count, out->cap))
		return error_no_memory(err);
	out->list[out->count] = *f;
	out->list[out->count].name = arena_strdup(g->arena, f->name);
	return out->list[out->count++].name == NULL ? error_no_memory(err) : 0;
}

int
regain_string_create(struct regain_string *s, struct regain_builts *out,
		     struct error *err)
{
	for (size_t i = 0; i < s->m->list.nfiles; i++) {
		const struct redset_file *f = &s->m->list.files[i];
		struct regain_built is = { .name = name_of(s, i),
					   .dirfd = regain_fd(s->g, s->map),
					   .has_attr = true,
					   .attr = f->attr,
					   .file = place_of(s, i) };
		int fd = -1, rc = 0;

		if (!file_lost(s, i))
			continue;
		if (!path_is_clean(is.name))
			return error_set(err, ERROR_UNSAFE,
					 "%s: not a file name", f->path);
		fd = regain_create(s->g, &s->temps[i], err);
		if (fd < 0)
			return -1;
		if (ftruncate(fd, (off_t)f->attr.size) < 0)
			rc = error_sys(err, "%s", is.name);
		close(fd);
		is.temp = s->temps[i];
		if (rc < 0 || regain_add_built(s->g, out, &is, err) < 0)
			return -1;
	}
	return 0;
}

/* --- Checksums --- */

/* The result for file `place` of the filemap. */
static struct regain_built *
built_of(struct regain_builts *out, size_t place)
{
	size_t i = 0;

	while (out->list[i].file != place)
		i++;
	return &out->list[i];
}

void
regain_string_verify(struct regain_string *s, struct regain_builts *out)
{
	const struct regain_part *p = &s->g->parts[0];

	for (size_t i = 0; i < s->m->list.nfiles; i++) {
		const size_t at = place_of(s, i);
		const struct regain_sum *sum = &s->sums[i];
		bool whole = false, right = false;

		if (at >= p->fm.nfiles || !p->fm.files[at].has_crc)
			continue;
		whole = sum->seen == p->fm.files[at].attr.size;
		right = whole && sum->crc == p->fm.files[at].crc;
		if (s->temps[i] != NULL)
			built_of(out, at)->wrong = !right;
		else if (whole && p->states[at] == FILE_PRESENT)
			regain_mark(s->g, at,
				    right ? FILE_PRESENT : FILE_WRONG_CRC);
	}
}
