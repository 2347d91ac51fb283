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
#include <sys/random.h>
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
#include "par.h"
#include "path.h"
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
	uint64_t *cut;	     /* the borders of the pieces */
	uint64_t *bytes;     /* of the pieces that are not done */
	size_t pieces, last; /* last: of those that are not done */
	int dirs[DIRS_MAX];
	size_t ndirs;
	const char *path; /* of the list */
	int list;
	uint64_t at; /* its end */
	bool broken; /* it cannot be written */
	struct section *sections;
	size_t count, cap;
	/* By part of `to`: it was made; was dropped; bytes that were written by
	 * nodes. */
	bool *lent, *dropped;
	uint64_t *elsewhere;
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
	for (size_t i = 0; i < r->pieces; i++)
		r->bytes[i] = r->cut[i + 1] - r->cut[i];
}

/* Make the temporary file of a part. */
static int
lend(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct crew_round *r = arg;
	struct put_file *f = r->s[1]->parts[i].put;

	(void)worker;
	if (f == NULL || r->lent[i])
		return 0;
	r->lent[i] = true;
	return work_go_on(r->o->work, err) < 0 ? -1 : put_lend(f, err);
}

/* Count what nodes have written to a part. */
static int
take_back(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct crew_round *r = arg;

	(void)worker;
	if (r->elsewhere[i] == 0)
		return 0;
	return work_go_on(r->o->work, err) < 0
		       ? -1
		       : put_wrote_elsewhere(r->s[1]->parts[i].put,
					     r->elsewhere[i], err);
}

/* For each part of `to`, by the threads for its file system. */
static int
each_part(struct crew_round *r,
	  int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	  struct error *err)
{
	return par_for(work_waiting(r->o->work, r->t->help.dirfd),
		       r->s[1]->nparts, 4, fn, r, err);
}

/* Add what the range has of one side. */
static void
add_items(struct crew_round *r, int side, const struct range *g,
	  struct section *sec, struct buf *arrays)
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
}

static int
add_dirs(const struct crew_round *r, struct buf *arrays, struct error *err)
{
	for (size_t i = 0; i < r->ndirs; i++) {
		struct place place = { .path = arrays[TEXT].len };
		char path[PATH_MAX];
		struct stat st;

		if (dir_name(r->dirs[i], path) < 0 || stat(path, &st) < 0)
			return error_sys(err, "%s: cannot be found", path);
		place.ino = st.st_ino;
		place.owner = place_owner(&st);
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

	for (size_t i = from, k = 0; i <= to; i = k + 1) {
		struct range g = { .begin = r->cut[i] };

		for (k = i; k <= to && r->bytes[k] > 0; k++)
			g.len += r->bytes[k];
		if (g.len == 0)
			continue;
		buf_add(&arrays[RANGES], &g, sizeof(g));
		for (int side = 0; side < 2; side++)
			add_items(r, side, &g, &sec, arrays);
	}
	rc = add_dirs(r, arrays, err);
	if (rc == 0 && arrays[TEXT].len > UINT32_MAX)
		rc = error_set(err, ERROR_USAGE, "%s: too many files for it",
			       r->path);
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
		rc = io_pwrite(r->list, r->path, all.data, all.len, r->at, err);
	if (rc == 0 && to == r->last)
		rc = io_fsync(r->list, r->path, err);
	if (rc == 0)
		where = arena_printf(a, "%" PRIu64 ",%zu,%s", r->at, all.len,
				     sum);
	r->broken = rc < 0;
	r->at += all.len;
	buf_free(&all);
	(void)MEM_ROOM(r->sections, r->count, r->cap);
	r->sections[r->count++] = sec;
	return where;
}

/* For struct crew_task: the last section that begins there is that of this
 * round. */
static bool
take_answer(void *arg, size_t from, const struct json_value *j)
{
	struct crew_round *r = arg;
	struct section *s = &r->sections[r->count - 1];
	const char *sums = NULL;
	size_t n = 0;

	while (s->from != from)
		s--;
	for (int side = 0; side < 2; side++)
		for (size_t k = 0; k < s->count[side]; k++)
			n += s->items[side][k].sum != STRIPE_NO_SUM;
	if (json_get_str(j, "sums", r->arena, &sums, NULL) < 0 ||
	    sums == NULL || strspn(sums, "0123456789abcdef") != 8 * n ||
	    sums[8 * n] != '\0')
		return false;
	s->sums = sums;
	return true;
}

/* Begin the files anew that this section could write to. */
static void
drop_files(struct crew_round *r, const struct section *s)
{
	for (size_t k = 0; k < s->count[1]; k++) {
		const size_t part = s->items[1][k].part;

		if (!r->lent[part])
			continue;
		r->dropped[part] = true;
		r->lent[part] = false;
		put_drop(r->s[1]->parts[part].put);
	}
}

/* What was done, after a round in which nodes were `lost`?  A section that
 * shares a file with one that was lost does not count. */
static void
judge(struct crew_round *r, size_t first, size_t lost)
{
	memset(r->dropped, 0, r->s[1]->nparts + 1);
	for (size_t i = first; lost > 0 && i < r->count; i++)
		if (r->sections[i].sums == NULL)
			drop_files(r, &r->sections[i]);
	for (size_t i = 0; i < r->pieces; i++)
		r->bytes[i] = r->cut[i + 1] - r->cut[i];
	for (size_t i = 0; i < r->count; i++) {
		struct section *s = &r->sections[i];

		for (size_t k = 0; k < s->count[1]; k++)
			if (r->dropped[s->items[1][k].part])
				s->sums = NULL;
		for (size_t k = s->from; s->sums != NULL && k <= s->to; k++)
			r->bytes[k] = 0;
	}
}

static uint32_t
hex(const char *text)
{
	uint32_t n = 0;

	for (int i = 0; i < 8; i++)
		n = n << 4 | (uint32_t)(text[i] <= '9' ? text[i] - '0'
						       : text[i] - 'a' + 10);
	return n;
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

				if (r->s[side]->parts[is->part].put != NULL)
					r->elsewhere[is->part] += is->len;
				if (is->sum == STRIPE_NO_SUM)
					continue;
				atomic_fetch_xor(&sums[side][is->sum].crc,
						 hex(text));
				atomic_fetch_add(&sums[side][is->sum].seen,
						 is->len);
				text += 8;
			}
	}
	return each_part(r, take_back, err);
}

/* Make a list of a name that nobody has. */
static int
make_list(struct crew_round *r, struct error *err)
{
	const struct owner owner = create_owner(r->t->help.dirfd);
	char dir[PATH_MAX], name[TEMP_NAME_MAX];
	uint64_t number = 0;

	r->list = -1;
	r->at = 0;
	if (dir_name(r->t->help.dirfd, dir) < 0 ||
	    getrandom(&number, sizeof(number), 0) < 0)
		return error_sys(err, "%s: no list for nodes", dir);
	temp_number(name, number);
	r->path = arena_printf(r->arena, "%s/%s", dir, name);
	r->list = create_file(r->t->help.dirfd, name, O_WRONLY, 0600, owner);
	return r->list < 0 ? error_sys(err, "%s: no list for nodes", r->path)
			   : 0;
}

/* Let the nodes do what they can.  That they cannot be asked is said, and is no
 * failure. */
static int
ask_nodes(struct crew_round *r, struct error *err)
{
	struct crew *crew = r->t->crew;
	const char *argv[5] = { r->t->program };
	const struct crew_task task = {
		.argv = argv,
		.bytes = r->bytes,
		.count = r->pieces,
		.least = LEAST / 4,
		.wary = true,
		.digest = write_section,
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
	crew->remote.keep = ANSWER_MAX;
	while (lost > 0 && crew->nodes.count > 0) {
		struct error why = ERROR_INIT;
		const size_t first = r->count;

		for (size_t i = 0; i < r->pieces; i++)
			r->last = r->bytes[i] > 0 ? i : r->last;
		if (each_part(r, lend, err) < 0)
			return -1;
		rc = make_list(r, &why);
		r->broken = rc < 0;
		argv[n] = r->path;
		if (rc == 0)
			rc = crew_work(crew, &task, &lost, &failed, &why);
		/* From here on no node opens a file of this round. */
		if (r->list >= 0)
			(void)unlinkat(r->t->help.dirfd, path_base(r->path), 0);
		io_close(r->list);
		if (rc < 0 && !r->broken)
			return error_pass(err, &why);
		if (rc < 0) {
			work_say(r->o->work, "%s: this node works alone",
				 why.text);
			return 0;
		}
		judge(r, first, lost);
	}
	return 0;
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
	};
	struct work work = *o->work;
	struct transfer_options rest = *o;
	const size_t nto = r.s[1]->nparts + 1;
	int rc = 0;

	work.help = NULL;
	rest.work = &work;
	if (h->dirfd < 0 || r.t->crew->nodes.count == 0 ||
	    !is_for_nodes(&r, len))
		return transfer(from, to, len, &rest, err);
	r.arena = arena_new();
	r.lent = arena_alloc(r.arena, nto, sizeof(*r.lent));
	r.dropped = arena_alloc(r.arena, nto, sizeof(*r.dropped));
	r.elsewhere = arena_alloc(r.arena, nto, sizeof(*r.elsewhere));
	cut(&r, len);
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
	for (size_t i = 0; i < r.count; i++) {
		mem_free(r.sections[i].items[0]);
		mem_free(r.sections[i].items[1]);
	}
	mem_free(r.sections);
	arena_free(r.arena);
	return rc;
}
