/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew_transfer_part.c - the part of a transfer that a node carries out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "kvtree/value.h"
#include "mem.h"
#include "site/crew.h"
#include "site/crew_transfer_impl.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

#define SECTION_MAX (UINT64_C(4) << 30)

static const size_t sizes[ARRAYS] = {
	sizeof(struct range),
	sizeof(struct place),
	sizeof(struct item),
	sizeof(struct item),
	1,
};

static int
open_list(const char *path)
{
	return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Read the section.  NULL: *err. */
static struct head *
read_section(const char *path, const char *where, struct error *err)
{
	const int fd = open_list(path);
	uint64_t off = 0, len = 0, sum = sizeof(struct head);
	char text[HASH_TEXT];
	struct head *head = NULL;
	bool valid = false;

	if (fd < 0)
		return error_sys_null(err, "%s: cannot open", path);
	if ((where = value_scan(where, INT64_MAX, &off)) != NULL &&
	    *where == ',' &&
	    (where = value_scan(where + 1, SECTION_MAX, &len)) != NULL &&
	    *where == ',' && len > sizeof(*head)) {
		head = mem_alloc(len, 1);
		valid = io_pread(fd, path, head, len, off, err) == 0 &&
			hash_bytes(head, len, text, err) == 0 &&
			str_eq(text, where + 1) && head->magic == MAGIC;
	}
	close(fd);
	for (int i = 0; valid && i < ARRAYS; i++) {
		valid = head->bytes[i] % sizes[i] == 0 && head->bytes[i] <= len;
		sum += head->bytes[i];
	}
	if (valid && sum == len && ((const char *)head)[len - 1] == '\0')
		return head;
	mem_free(head);
	if (err->kind == ERROR_NONE)
		error_set(err, ERROR_DAMAGED, "%s: not the list of this run",
			  path);
	return NULL;
}

/* A section, on a node. */
struct job {
	const char *path; /* of the list */
	struct head *head;
	const char *at[ARRAYS];
	size_t count[ARRAYS];
	int dirs[DIRS_MAX];
	size_t ndirs;
	struct arena *arena;
	struct put *put;
	struct stripe s[2]; /* from, to */
	struct stripe_sum *sums[2];
};

static const struct item *
item_at(const struct job *j, int side, size_t i)
{
	return (const struct item *)(const void *)j->at[FROM + side] + i;
}

static bool
is_valid(const struct job *j)
{
	const struct place *places = (const void *)j->at[DIRS];

	if (j->count[DIRS] > DIRS_MAX)
		return false;
	for (size_t i = 0; i < j->count[DIRS]; i++)
		if (places[i].path >= j->count[TEXT])
			return false;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < j->count[FROM + side]; i++) {
			const struct item *t = item_at(j, side, i);
			const bool named = t->dir < j->count[DIRS];

			if (t->len == 0 || t->path >= j->count[TEXT] ||
			    (!named && (side == 0 || t->dir != UINT32_MAX)))
				return false;
		}
	return true;
}

static int
open_dirs(struct job *j, struct error *err)
{
	const struct place *p = (const void *)j->at[DIRS];

	for (; j->ndirs < j->count[DIRS]; p++) {
		const char *name = j->at[TEXT] + p->path;
		const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct stat st;

		if (fd < 0)
			return error_sys(err, "%s: cannot open", name);
		j->dirs[j->ndirs++] = fd;
		if (fstat(fd, &st) < 0 || st.st_ino != p->ino ||
		    place_owner(&st) != p->owner)
			return error_set(err, ERROR_DAMAGED,
					 "%s: is another directory here", name);
	}
	return 0;
}

static void
make_side(struct job *j, int side)
{
	const char *last = NULL;
	struct put_file *f = NULL;

	(void)stripe_room(&j->s[side], j->arena, j->count[FROM + side], NULL);
	j->sums[side] = arena_alloc(j->arena, j->count[FROM + side] + 1,
				    sizeof(*j->sums[side]));
	for (size_t i = 0; i < j->count[FROM + side]; i++) {
		const struct item *t = item_at(j, side, i);
		const bool named = t->dir != UINT32_MAX;
		struct stripe_part p = {
			.start = t->start,
			.len = t->len,
			.dirfd = named ? j->dirs[t->dir] : -1,
			.path = named ? j->at[TEXT] + t->path : NULL,
			.off = t->off,
			.sum = t->sum_size > 0 ? i : STRIPE_NO_SUM,
			.sum_off = t->sum_off,
		};
		const struct put_what what = {
			.dirfd = p.dirfd,
			.path = p.path,
			.reread = true,
			.lent = true,
		};

		if (named && side == 1) {
			if (p.path != last)
				f = put_add(j->put, &what, NULL);
			put_what(f)->size += t->len;
			last = p.path;
			p.put = f;
		}
		j->sums[side][i].size = t->sum_size;
		j->s[side].parts[j->s[side].nparts++] = p;
	}
}

/* Copy all ranges, and append the checksums. */
static int
copy(struct job *j, const struct work *work, struct buf *sums,
     struct error *err)
{
	const struct range *g = (const void *)j->at[RANGES];
	struct transfer_options o = {
		.work = work,
		.sums = j->sums[0],
		.sums_to = j->sums[1],
	};

	for (size_t i = 0; i < j->count[RANGES]; i++) {
		o.begin = g[i].begin;
		if (transfer(&j->s[0], j->s[1].nparts > 0 ? &j->s[1] : NULL,
			     g[i].len, &o, err) < 0)
			return -1;
	}
	if (put_commit(j->put, err) < 0)
		return -1;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < j->count[FROM + side]; i++) {
			const struct stripe_sum *sum = &j->sums[side][i];

			if (sum->size == 0)
				continue;
			if (sum->seen != item_at(j, side, i)->len)
				return error_set(err, ERROR_CORRUPT,
						 "%s: not all bytes were read",
						 j->path);
			buf_printf(sums, "%08" PRIx32, (uint32_t)sum->crc);
		}
	return 0;
}

/* For struct put_options.  Opening asks the server, where a stat may be
 * answered from memory. */
static bool
list_is_there(void *arg)
{
	const struct job *j = arg;
	const int fd = open_list(j->path);

	io_close(fd);
	return fd >= 0;
}

int
crew_transfer_part(const char *path, const struct crew_part *part,
		   const struct work *work, struct buf *sums, struct error *err)
{
	struct job j = {
		.path = path,
		.head = read_section(path, part->digest, err),
	};
	const struct put_options how = {
		.par = work->par,
		.work = work,
		.still = list_is_there,
		.arg = &j,
	};
	const char *at = NULL;
	int rc = -1;

	if (j.head == NULL)
		return -1;
	at = (const char *)(j.head + 1);
	for (int i = 0; i < ARRAYS; i++) {
		j.at[i] = at;
		j.count[i] = j.head->bytes[i] / sizes[i];
		at += j.head->bytes[i];
	}
	j.arena = arena_new();
	j.put = put_new(&how, NULL);
	put_keep(j.put); /* they are the caller's */
	if (!is_valid(&j))
		error_set(err, ERROR_DAMAGED, "%s: not a list", path);
	else
		rc = open_dirs(&j, err);
	for (int side = 0; rc == 0 && side < 2; side++)
		make_side(&j, side);
	if (rc == 0)
		rc = copy(&j, work, sums, err);
	put_free(j.put);
	for (size_t i = 0; i < j.ndirs; i++)
		close(j.dirs[i]);
	arena_free(j.arena);
	mem_free(j.head);
	return rc;
}
