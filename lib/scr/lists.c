/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/lists.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "path.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "site/jobfiles.h"

/* Bytes that a reader gathers before it sends them. */
#define ROUND_BYTES ((size_t)1 << 20)

#define PACKED "its files are in containers: unpack the dataset first"

int
lists_open(const struct run *run, int64_t id, struct error *err)
{
	const int scr = jobfiles_open(run->p.prefix, false, err);
	int fd = -1;

	if (scr < 0)
		return -1;
	fd = path_open_dir(scr, dataset_dir_str(id), err);
	close(scr);
	return fd < 0 ? error_wrap(err, "%s/" SCR_DIR, run->p.prefix) : fd;
}

/* --- Files in a note --- */

struct line {
	uint64_t size;
	uint32_t crc;
	bool has_size, has_crc;
};

void
lists_add(struct buf *b, const struct rank2file_file *f)
{
	struct line l;

	memset(&l, 0, sizeof(l));
	l.size = f->size;
	l.crc = f->crc;
	l.has_size = f->has_size;
	l.has_crc = f->has_crc;
	(void)buf_add(b, &l, sizeof(l));
	(void)buf_add(b, f->path, strlen(f->path) + 1);
}

void
lists_take(const char **at, struct rank2file_file *f)
{
	struct line l;

	memcpy(&l, *at, sizeof(l));
	*f = (struct rank2file_file){ .path = *at + sizeof(l),
				      .has_size = l.has_size,
				      .has_crc = l.has_crc,
				      .size = l.size,
				      .crc = l.crc };
	*at = f->path + strlen(f->path) + 1;
}

size_t
lists_count(const struct team_note *n)
{
	const char *at = n->data, *end = at + n->len;
	struct rank2file_file f;
	size_t count = 0;

	for (; at < end; count++)
		lists_take(&at, &f);
	return count;
}

/* --- The parts, which rank 0 finds --- */

/* Encode the parts for the others: the offset and the name of each. */
static int
find_parts(const struct run *run, int64_t id, struct arena *a, struct buf *out,
	   struct error *err)
{
	const int fd = lists_open(run, id, err);
	struct rank2file_parts p;
	int rc = -1;

	if (fd < 0)
		return -1;
	rc = rank2file_list(fd, RANK2FILE_FILE, a, &p, err);
	close(fd);
	if (rc < 0)
		return -1;
	if (p.packed)
		return error_set(err, ERROR_USAGE, PACKED);
	if (p.nranks != run->world.size)
		return error_set(err, ERROR_USAGE,
				 "written by %zu ranks, but this job has %u: "
				 "start %zu ranks",
				 p.nranks, run->world.size, p.nranks);
	for (size_t i = 0; i < p.count; i++) {
		const struct rank2file_part_at *at = &p.parts[i];

		(void)buf_add(out, &at->offset, sizeof(at->offset));
		(void)buf_add(out, at->name, strlen(at->name) + 1);
	}
	return buf_check(out, err);
}

static size_t
take_parts(const struct buf *b, struct rank2file_part_at *to)
{
	const char *at = b->data, *end = at + b->len;
	size_t n = 0;

	while (at < end) {
		struct rank2file_part_at p;

		memcpy(&p.offset, at, sizeof(p.offset));
		p.name = at + sizeof(p.offset);
		at = p.name + strlen(p.name) + 1;
		if (to != NULL)
			to[n] = p;
		n++;
	}
	return n;
}

/* --- Sending lists --- */

/* A note: this, then the files. */
struct head {
	uint64_t expected, count; /* files */
};

struct spreading {
	const struct run *run;
	struct team_mail out;
	size_t cap, bytes;   /* of `out` */
	struct arena *round; /* what `out` points to */
	struct arena *keep;
	struct team_note mine; /* the received list of this rank */
	bool twice;	       /* it was received twice */
	bool more;	       /* a rank has more to send */
	bool over;	       /* a rank failed: end */
};

/* Send the gathered lists; `more`: this rank will have more.  Collective. */
static int
send_round(struct spreading *s, bool more, struct error *err)
{
	struct team_mail in = { 0, NULL };

	s->over = team_notes(&s->run->world, 0, &s->out, s->keep, &in, err) < 0;
	s->more = false;
	if (s->over)
		return -1;
	for (size_t i = 0; i < in.count; i++) {
		s->twice |= s->mine.data != NULL;
		s->mine = in.notes[i];
	}
	s->out.count = s->bytes = 0;
	arena_reset(s->round);
	s->more = team_any(&s->run->world, more);
	return 0;
}

/* Add a rank of a part that this rank reads. */
static int
add_rank(void *arg, size_t rank, const struct rank2file_rank *r,
	 struct error *err)
{
	struct spreading *s = arg;
	const struct head h = { r->expected, r->nfiles };
	struct team_note *n = NULL;
	struct buf b = BUF_INIT;
	int rc = 0;

	buf_add(&b, &h, sizeof(h));
	for (size_t i = 0; rc == 0 && i < r->nfiles; i++) {
		if (r->files[i].nsegs > 0)
			rc = error_set(err, ERROR_USAGE, PACKED);
		lists_add(&b, &r->files[i]);
	}
	if (rc == 0)
		rc = buf_check(&b, err);
	if (rc == 0 && s->bytes > 0 && s->bytes + b.len > ROUND_BYTES)
		rc = send_round(s, true, err);
	if (rc == 0 && !MEM_ROOM(s->out.notes, s->out.count, s->cap))
		rc = error_no_memory(err);
	if (rc == 0) {
		n = &s->out.notes[s->out.count];
		n->rank = (uint32_t)rank;
		n->len = b.len;
		n->data = arena_strndup(s->round, b.data, b.len);
		if (n->data == NULL)
			rc = error_no_memory(err);
	}
	if (rc == 0) {
		s->out.count++;
		s->bytes += b.len;
	}
	buf_free(&b);
	return rc;
}

/* --- Reading --- */

/* Read the parts of this rank, and send every rank its list. 1: the parts must
 * be read as a whole. */
static int
spread(struct spreading *s, int64_t id, const struct buf *names, bool whole,
       struct error *err)
{
	const struct team *world = &s->run->world;
	const size_t count = take_parts(names, NULL);
	struct rank2file_part_at *parts =
		arena_alloc(s->keep, count, sizeof(*parts));
	const struct rank2file_visit visit = {
		.nranks = world->size,
		.whole = whole,
		.take = add_rank,
		.arg = s,
	};
	int fd = -1, rc = 0;
	uint64_t worst = 0;

	if (parts == NULL)
		rc = error_no_memory(err);
	else
		(void)take_parts(names, parts);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (i * world->size / count != world->rank)
			continue;
		if (fd < 0)
			fd = lists_open(s->run, id, err);
		rc = fd < 0 ? -1
			    : rank2file_each_rank(fd, &parts[i], &visit, err);
	}
	io_close(fd);
	if (rc != 0)
		s->out.count = 0;
	while (!s->over) {
		if (send_round(s, false, err) < 0 || !s->more)
			break;
	}
	worst = team_most(world, rc < 0 || s->over ? 2 : rc > 0 ? 1 : 0);
	if (worst == 2)
		return team_agree(world, rc < 0 || s->over ? -1 : 0, err);
	return (int)worst;
}

/* --- The list of this rank --- */

static int
take_list(const struct spreading *s, struct arena *a, struct lists *out,
	  struct error *err)
{
	const char *at = s->mine.data;
	const char *end = at != NULL ? at + s->mine.len : NULL;
	const uint32_t rank = s->run->world.rank;
	struct head h = { 0, 0 };

	*out = (struct lists){ 0 };
	if (s->twice)
		return error_set(err, ERROR_CORRUPT,
				 RANK2FILE_FILE ": rank %u is in two parts",
				 rank);
	if (at != NULL) {
		memcpy(&h, at, sizeof(h));
		at += sizeof(h);
	}
	if (at == NULL || h.expected > h.count)
		return error_set(
			err, ERROR_DAMAGED,
			RANK2FILE_FILE ": files of rank %u are missing", rank);
	out->files = arena_alloc(a, h.count, sizeof(*out->files));
	if (out->files == NULL)
		return error_no_memory(err);
	while (at < end) {
		struct rank2file_file *f = &out->files[out->count++];

		lists_take(&at, f);
		if (!path_is_clean(f->path) || !dataset_dir_is_data(f->path) ||
		    strlen(f->path) + strlen(s->run->p.prefix) + 2 >
			    SCR_MAX_FILENAME)
			return error_set(
				err, ERROR_UNSAFE,
				RANK2FILE_FILE
				": %s: not a valid path of a data file",
				f->path);
	}
	return 0;
}

int
lists_read(const struct run *run, int64_t id, struct arena *a,
	   struct lists *out, struct error *err)
{
	const struct team *world = &run->world;
	struct spreading s = { .run = run, .keep = a, .round = arena_new() };
	struct buf names = BUF_INIT;
	int rc = s.round == NULL ? error_no_memory(err) : 0;

	if (rc == 0 && world->rank == 0)
		rc = find_parts(run, id, a, &names, err);
	rc = team_share(world, 0, rc, &names, err);
	if (rc == 0)
		rc = spread(&s, id, &names, false, err);
	if (rc > 0) {
		s.mine.data = NULL;
		s.twice = false;
		rc = spread(&s, id, &names, true, err);
	}
	if (rc == 0)
		rc = team_agree(world, take_list(&s, a, out, err), err);
	mem_free(s.out.notes);
	arena_free(s.round);
	buf_free(&names);
	return rc;
}
