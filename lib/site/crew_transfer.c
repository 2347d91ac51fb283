/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew_transfer.c - share a transfer out: cut it, write the list, and see what
 * becomes of it.
 */
#include "site/crew_transfer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "create.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "site/crew.h"
#include "site/crew_transfer_impl.h"
#include "str.h"
#include "temp.h"
#include "transfer/put.h"
#include "work.h"

/* Reaching the nodes takes longer than to copy less than this. */
#define LEAST ((uint64_t)64 << 20)
/* Smaller files take as long to be made as to be written. */
#define FILE_LEAST ((uint64_t)1 << 20)

#define PIECES 16 /* for each node */
#define ALIGN ((uint64_t)1 << 20)
#define ANSWER_MAX ((size_t)64 << 20)

/* The base of the list's temporary name. */
#define LIST "transfer"

/* What the caller keeps of an item. */
struct share {
	size_t part, sum;
	uint64_t len;
};

/* What a node was asked to do. */
struct section {
	size_t from, to; /* pieces */
	struct share *items[2];
	size_t count[2];  /* FROM, TO */
	const char *sums; /* the answer; NULL: none, or it does not count */
};

struct crew_round {
	struct crew_transfer *t;
	const struct stripe *s[2]; /* from, to */
	const struct transfer_options *o;
	struct arena *arena;
	uint64_t *cut;	 /* the borders of the pieces */
	uint64_t *bytes; /* of the pieces that are not done */
	bool *done;
	size_t pieces;
	int dirs[DIRS_MAX];
	size_t ndirs;
	int list;
	uint64_t at; /* its end */
	struct section *sections;
	size_t count, cap;
	bool *dropped; /* by part of `to` */
	int *kept;     /* files whose inodes must not be used again */
	size_t nkept, kept_cap;
};

static int
dir_of(const struct stripe_part *p)
{
	return p->put != NULL ? put_what(p->put)->dirfd : p->dirfd;
}

/* The path of an open directory.  -1 with errno. */
static int
dir_name(int fd, char path[static PATH_MAX])
{
	const ssize_t n = readlink(
		fd == AT_FDCWD ? "/proc/self/cwd"
			       : str_printed(40, "/proc/self/fd/%d", fd),
		path, PATH_MAX - 1);

	path[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -1 : 0;
}

static uint32_t
dir_index(struct crew_round *r, int fd)
{
	size_t i = 0;

	while (i < r->ndirs && r->dirs[i] != fd)
		i++;
	if (i == r->ndirs && i < DIRS_MAX)
		r->dirs[r->ndirs++] = fd;
	return (uint32_t)i;
}

/* Can other nodes do it: is all of it in files, and are they large? */
static bool
is_for_nodes(struct crew_round *r, uint64_t len)
{
	size_t files = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < r->s[side]->nparts; i++) {
			const struct stripe_part *p = &r->s[side]->parts[i];

			if (p->mem != NULL ||
			    (side == 1 && p->put == NULL && p->path != NULL) ||
			    (side == 0 && p->path == NULL))
				return false;
			files += p->put != NULL;
			if ((p->put != NULL || p->path != NULL) &&
			    dir_index(r, dir_of(p)) >= DIRS_MAX)
				return false;
		}
	return len >= LEAST && files <= len / FILE_LEAST;
}

/* Cut at the borders of small files, and where the servers' stripes of large
 * ones may begin. */
static void
cut(struct crew_round *r, uint64_t len)
{
	const struct stripe *by = r->s[1]->nparts > 0 ? r->s[1] : r->s[0];
	const size_t most = r->t->crew->nodes.count * PIECES;
	const uint64_t begin = r->o->begin, end = begin + len;
	const uint64_t piece =
		len / most < ALIGN ? ALIGN : len / most / ALIGN * ALIGN;

	r->cut = arena_alloc(r->arena, len / piece + 2, sizeof(*r->cut));
	r->cut[0] = begin;
	for (uint64_t at = begin + piece; at < end; at += piece) {
		const struct stripe_part *p = stripe_part_at(by, at);
		uint64_t border = at;

		if (p != NULL && p->start < at)
			border =
				p->len < piece
					? p->start
					: at - (p->off + at - p->start) % ALIGN;
		if (border > r->cut[r->pieces])
			r->cut[++r->pieces] = border;
	}
	r->cut[++r->pieces] = end;
	r->bytes = arena_alloc(r->arena, r->pieces, sizeof(*r->bytes));
	r->done = arena_alloc(r->arena, r->pieces, sizeof(*r->done));
	for (size_t i = 0; i < r->pieces; i++)
		r->bytes[i] = r->cut[i + 1] - r->cut[i];
}

/* Make the temporary file, unless it exists.  Returns its inode; 0: *err. */
static uint64_t
lend(struct put_file *f, struct error *err)
{
	const int fd = put_open(f, err);
	struct stat st;
	int rc = -1;

	if (fd < 0)
		return 0;
	rc = fstat(fd, &st);
	if (rc < 0)
		error_sys(err, "%s: cannot stat", put_what(f)->path);
	return put_wrote(f, 0, err) < 0 || rc < 0 ? 0 : st.st_ino;
}

/* Add what the range has of one side. */
static int
add_items(struct crew_round *r, int side, const struct range *g,
	  struct section *sec, struct buf *arrays, struct error *err)
{
	const struct stripe *s = r->s[side];
	const struct stripe_sum *sums = side == 0 ? r->o->sums : r->o->sums_to;
	const struct stripe_part *p = stripe_part_at(s, g->begin);
	const char *last = NULL;
	uint32_t last_at = 0;
	size_t cap = sec->count[side];

	for (; p != NULL && p < s->parts + s->nparts &&
	       p->start < g->begin + g->len;
	     p++) {
		const char *path =
			p->put != NULL ? put_what(p->put)->path : p->path;
		const uint64_t skip =
			p->start < g->begin ? g->begin - p->start : 0;
		struct item item = {
			.start = p->start + skip,
			.len = p->len - skip,
			.off = p->off + skip,
			.sum_off = p->sum_off + skip,
			.dir = UINT32_MAX,
		};
		struct share *is = NULL;

		if (item.start + item.len > g->begin + g->len)
			item.len = g->begin + g->len - item.start;
		if (sums != NULL && p->sum != STRIPE_NO_SUM)
			item.sum_size = sums[p->sum].size;
		if (p->put != NULL && (item.lent = lend(p->put, err)) == 0)
			return -1;
		if (path != NULL) {
			item.dir = dir_index(r, dir_of(p));
			if (path != last)
				last_at = (uint32_t)arrays[TEXT].len;
			if (path != last)
				buf_add(&arrays[TEXT], path, strlen(path) + 1);
			item.path = last_at;
			last = path;
		}
		buf_add(&arrays[side == 0 ? FROM : TO], &item, sizeof(item));
		(void)MEM_ROOM(sec->items[side], sec->count[side], cap);
		is = &sec->items[side][sec->count[side]++];
		*is = (struct share){
			.part = (size_t)(p - s->parts),
			.sum = item.sum_size > 0 ? p->sum : STRIPE_NO_SUM,
			.len = item.len,
		};
	}
	return arrays[TEXT].len > UINT32_MAX
		       ? error_set(err, ERROR_USAGE, "too many files")
		       : 0;
}

static int
add_dirs(const struct crew_round *r, struct buf *arrays, struct error *err)
{
	for (size_t i = 0; i < r->ndirs; i++) {
		struct place place = { .path = arrays[TEXT].len };
		char path[PATH_MAX];
		struct stat st;

		if (dir_name(r->dirs[i], path) < 0 || stat(path, &st) < 0)
			return error_sys(err, "a directory: cannot be named");
		place.ino = st.st_ino;
		buf_add(&arrays[DIRS], &place, sizeof(place));
		buf_add(&arrays[TEXT], path, strlen(path) + 1);
	}
	return 0;
}

/* For struct crew_task: write a section for these pieces, and say where it
 * is. */
static const char *
write_section(void *arg, size_t from, size_t to, struct arena *a,
	      struct error *err)
{
	struct crew_round *r = arg;
	struct section sec = { .from = from, .to = to };
	struct buf arrays[ARRAYS] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT,
				      BUF_INIT };
	struct buf all = BUF_INIT;
	struct head head = { .magic = MAGIC };
	char sum[HASH_TEXT];
	const char *where = NULL;
	int rc = 0;

	for (size_t i = from, k = 0; rc == 0 && i <= to; i = k + 1) {
		struct range g = { .begin = r->cut[i] };

		for (k = i; k <= to && r->bytes[k] > 0; k++)
			g.len += r->bytes[k];
		if (g.len == 0)
			continue;
		buf_add(&arrays[RANGES], &g, sizeof(g));
		for (int side = 0; rc == 0 && side < 2; side++)
			rc = add_items(r, side, &g, &sec, arrays, err);
	}
	if (rc == 0)
		rc = add_dirs(r, arrays, err);
	for (int i = 0; i < ARRAYS; i++)
		head.bytes[i] = arrays[i].len;
	buf_add(&all, &head, sizeof(head));
	for (int i = 0; i < ARRAYS; i++) {
		buf_add(&all, arrays[i].data, arrays[i].len);
		buf_free(&arrays[i]);
	}
	if (rc == 0)
		rc = hash_bytes(all.data, all.len, sum, err);
	if (rc == 0)
		rc = io_pwrite(r->list, LIST, all.data, all.len, r->at, err);
	if (rc == 0)
		rc = io_fsync(r->list, LIST, err);
	if (rc == 0)
		where = arena_printf(a, "%" PRIu64 ",%zu,%s", r->at, all.len,
				     sum);
	r->at += all.len;
	buf_free(&all);
	(void)MEM_ROOM(r->sections, r->count, r->cap);
	r->sections[r->count++] = sec;
	return where;
}

/* For struct crew_task. */
static void
take_answer(void *arg, const struct json_value *j)
{
	struct crew_round *r = arg;
	uint64_t from = 0;

	if (!json_get_u64(j, "part", SIZE_MAX, &from))
		return;
	for (size_t i = r->count; i-- > 0;) {
		struct section *s = &r->sections[i];
		size_t n = 0;

		if (s->from != from)
			continue;
		for (int side = 0; side < 2; side++)
			for (size_t k = 0; k < s->count[side]; k++)
				n += s->items[side][k].sum != STRIPE_NO_SUM;
		if (json_get_str(j, "sums", r->arena, &s->sums, NULL) < 0 ||
		    s->sums == NULL ||
		    strspn(s->sums, "0123456789abcdef") != 8 * n ||
		    s->sums[8 * n] != '\0')
			s->sums = NULL;
		return;
	}
}

/* Nodes that may still write were given up: begin the files anew that they
 * could write to. */
static int
drop_files(struct crew_round *r, const struct section *s, struct error *err)
{
	for (size_t k = 0; k < s->count[1]; k++) {
		const size_t part = s->items[1][k].part;
		struct put_file *f = r->s[1]->parts[part].put;
		int fd = -1;

		if (f == NULL || r->dropped[part])
			continue;
		r->dropped[part] = true;
		fd = put_open(f, err);
		if (fd < 0)
			return -1;
		(void)MEM_ROOM(r->kept, r->nkept, r->kept_cap);
		r->kept[r->nkept] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (r->kept[r->nkept] < 0)
			return error_sys(err, "%s: cannot be begun anew",
					 put_what(f)->path);
		r->nkept++;
		put_drop(f);
	}
	return 0;
}

/* What was done, after a round in which nodes were `lost`?  A section that
 * shares a file with one that was lost does not count. */
static int
judge(struct crew_round *r, size_t first, size_t lost, struct error *err)
{
	int rc = 0;

	memset(r->dropped, 0, r->s[1]->nparts + 1);
	for (size_t i = first; lost > 0 && rc == 0 && i < r->count; i++)
		if (r->sections[i].sums == NULL)
			rc = drop_files(r, &r->sections[i], err);
	for (size_t i = 0; i < r->count; i++) {
		struct section *s = &r->sections[i];
		bool counts = s->sums != NULL;

		for (size_t k = 0; k < s->count[1]; k++)
			counts = counts && !r->dropped[s->items[1][k].part];
		if (!counts)
			s->sums = NULL;
	}
	memset(r->done, 0, r->pieces * sizeof(*r->done));
	for (size_t i = 0; i < r->pieces; i++)
		r->bytes[i] = r->cut[i + 1] - r->cut[i];
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = r->sections[i].from;
		     r->sections[i].sums != NULL && k <= r->sections[i].to; k++)
			r->bytes[k] = 0;
	return rc;
}

/* Add up what the nodes have answered. */
static int
take_sums(struct crew_round *r, struct error *err)
{
	struct stripe_sum *sums[2] = { r->o->sums, r->o->sums_to };

	for (size_t i = 0; i < r->count; i++) {
		const struct section *s = &r->sections[i];
		const char *text = s->sums;

		for (int side = 0; text != NULL && side < 2; side++)
			for (size_t k = 0; k < s->count[side]; k++) {
				const struct share *is = &s->items[side][k];
				struct put_file *f =
					r->s[side]->parts[is->part].put;
				uint32_t crc = 0;

				if (f != NULL &&
				    put_wrote_elsewhere(f, is->len, err) < 0)
					return -1;
				if (is->sum == STRIPE_NO_SUM)
					continue;
				(void)sscanf(text, "%8" SCNx32, &crc);
				text += 8;
				atomic_fetch_xor(&sums[side][is->sum].crc, crc);
				atomic_fetch_add(&sums[side][is->sum].seen,
						 is->len);
			}
	}
	return 0;
}

/* Let the nodes do what they can. */
static int
ask_nodes(struct crew_round *r, struct error *err)
{
	struct crew *crew = r->t->crew;
	const char *argv[5] = { r->t->program };
	char dir[PATH_MAX];
	const struct crew_task task = {
		.argv = argv,
		.bytes = r->bytes,
		.count = r->pieces,
		.digest = write_section,
		.done = r->done,
		.work = r->o->work,
		.answer = take_answer,
		.arg = r,
	};
	size_t lost = 1, failed = 0, n = 1;
	int rc = 0;

	if (r->t->jobs > 0)
		argv[n++] =
			arena_printf(r->arena, "--jobs=%" PRIu64, r->t->jobs);
	if (r->o->work->memory > 0)
		argv[n++] = arena_printf(r->arena, "--memory=%" PRIu64,
					 r->o->work->memory);
	if (dir_name(r->t->dirfd, dir) < 0)
		return 0;
	argv[n] = arena_printf(r->arena, "%s/%s", dir, temp_str(LIST));
	crew->remote.keep = ANSWER_MAX;
	while (rc == 0 && lost > 0 && crew->nodes.count > 0) {
		const size_t first = r->count;

		rc = crew_work(crew, &task, &lost, &failed, err);
		if (rc == 0)
			rc = judge(r, first, lost, err);
	}
	return rc;
}

int
crew_transfer(struct transfer_help *h, const struct stripe *from,
	      const struct stripe *to, uint64_t len,
	      const struct transfer_options *o, struct error *err)
{
	const struct stripe nothing = { 0, NULL };
	struct crew_round r = {
		.t = (struct crew_transfer *)h,
		.s = { from, to != NULL ? to : &nothing },
		.o = o,
		.list = -1,
	};
	struct work work = *o->work;
	struct transfer_options rest = *o;
	int rc = 0;

	work.help = NULL;
	rest.work = &work;
	if (r.t->crew->nodes.count == 0 || !is_for_nodes(&r, len))
		return transfer(from, to, len, &rest, err);
	r.arena = arena_new();
	r.dropped = mem_calloc(r.s[1]->nparts + 1, sizeof(*r.dropped));
	cut(&r, len);
	r.list = temp_make(r.t->dirfd, LIST, 0600, create_owner(r.t->dirfd));
	if (r.list >= 0)
		rc = ask_nodes(&r, err);
	for (size_t i = 0, k = 0; rc == 0 && i < r.pieces; i = k + 1) {
		uint64_t bytes = 0;

		for (k = i; k < r.pieces && r.bytes[k] > 0; k++)
			bytes += r.bytes[k];
		rest.begin = r.cut[i];
		if (bytes > 0)
			rc = transfer(from, to, bytes, &rest, err);
	}
	if (rc == 0)
		rc = take_sums(&r, err);
	if (r.list >= 0)
		(void)temp_remove(r.t->dirfd, LIST);
	io_close(r.list);
	for (size_t i = 0; i < r.nkept; i++)
		close(r.kept[i]);
	for (size_t i = 0; i < r.count; i++) {
		mem_free(r.sections[i].items[0]);
		mem_free(r.sections[i].items[1]);
	}
	mem_free(r.sections);
	mem_free(r.kept);
	mem_free(r.dropped);
	arena_free(r.arena);
	return rc;
}
