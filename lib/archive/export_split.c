/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_split.c - write a dataset to pieces of an archive, by several threads
 * and nodes.
 *
 * Beside each piece that is complete and on disk, a small file records its
 * digest, its size and its manifest.  By these files a node reports what it has
 * written, and a run takes up what an interrupted one has done.  They are
 * removed when the last piece, with the manifest of all files, is in place.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/export_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "container/packed.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "hash.h"
#include "io.h"
#include "kvtree/value.h"
#include "lock.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "site/crew.h"
#include "str.h"
#include "work.h"

#define BLOCK 512 /* of tar */
#define DIGITS 3  /* of a piece's number, at least */

struct piece {
	size_t from, to;   /* of the list, `to` not included */
	const char *path;  /* of the piece */
	const char *noted; /* of the small file beside it */
	char digest[HASH_TEXT];
	struct buf manifest;
	uint64_t bytes;	  /* of its files */
	uint64_t written; /* of the piece */
	bool done;
};

struct split {
	struct exporting x;
	struct piece *list;
	size_t count, cap;
};

/* --- Cutting --- */

static const char *
manifest_name(const struct split *s, size_t piece, char to[static 64])
{
	return str_print(to, 64, DATASET_DIR_PIECE, (uint64_t)piece + 1,
			 (uint64_t)s->count);
}

/* The most bytes that an entry adds to a piece, behind the entry `before`. */
static uint64_t
cost_of(const struct export_entry *e, const struct export_entry *before)
{
	const size_t len = (size_t)(path_base(e->path) - e->path);
	uint64_t cost = ark_bound(e->path, e->size) + manifest_line(e->path);

	/* Its directories. */
	if (e->data && (before == NULL || strncmp(before->path, e->path, len)))
		for (size_t i = 0; i < len; i++)
			if (e->path[i] == '/')
				cost += ark_bound(e->path, 0);
	return cost;
}

/* The most bytes of what follows the users' files: the redundancy, and the
 * metadata of the dataset, with the manifest of all files. */
static int
cost_of_end(struct split *s, uint64_t *cost, struct error *err)
{
	struct exported a = { .x = &s->x, .manifest = BUF_INIT };
	uint64_t redundancy = 0;
	size_t lines = 0;
	int rc = -1;

	a.arena = arena_new();
	for (size_t i = 0; i < s->x.count; i++) {
		const struct export_entry *e = &s->x.list[i];

		lines += manifest_line(e->path);
		redundancy += e->data ? 0 : cost_of(e, NULL);
	}
	if (export_metadata(&a, err) == 0) {
		lines += a.manifest.len;
		*cost = redundancy + a.bound + a.manifest.len +
			ark_bound(s->x.p->dir, lines) +
			manifest_line(s->x.p->dir) +
			2 * strlen(DATASET_DIR_MANIFEST) + BLOCK;
		rc = lines <= MANIFEST_MAX
			     ? 0
			     : error_set(err, ERROR_USAGE,
					 "manifest: too many files");
	}
	buf_free(&a.manifest);
	arena_free(a.arena);
	return rc;
}

static void
new_piece(struct split *s, size_t from)
{
	(void)MEM_ROOM(s->list, s->count, s->cap);
	s->list[s->count++] = (struct piece){
		.from = from,
		.to = from,
		.manifest = BUF_INIT,
	};
}

/* Fill one piece after the other, in the order of the list.  What follows the
 * users' files, and so comes last, does not begin in a piece of theirs if it
 * does not end there. */
static int
cut(struct split *s, struct error *err)
{
	/* Each piece has two entries for its manifest. */
	const uint64_t own =
		2 * (ark_bound(s->x.p->dir, 0) + BLOCK) + BLOCK + ARK_END;
	const uint64_t room = s->x.eo->split / ARK_RECORD * ARK_RECORD;
	const struct export_entry *e = NULL, *largest = NULL;
	uint64_t used = own, least = own, end = 0;
	struct piece *p = NULL;

	if (cost_of_end(s, &end, err) < 0)
		return -1;
	new_piece(s, 0);
	for (size_t i = 0; i < s->x.count; i++) {
		const uint64_t alone = own + cost_of(&s->x.list[i], NULL);

		e = &s->x.list[i];
		p = &s->list[s->count - 1];
		used += cost_of(e, used > own ? e - 1 : NULL);
		end -= e->data ? 0 : alone - own;
		if (p->to > p->from &&
		    (used > room || (!e->data && s->x.list[p->from].data &&
				     used + end > room))) {
			new_piece(s, i);
			p = &s->list[s->count - 1];
			used = alone;
		}
		p->to = i + 1;
		p->bytes += e->size;
		if (alone > least) {
			least = alone;
			largest = e;
		}
	}
	if (used + end > room && used > own)
		new_piece(s, s->x.count);
	if (own + end > least) {
		least = own + end;
		largest = NULL;
	}
	if (s->count > DATASET_DIR_PIECES)
		return error_set(err, ERROR_USAGE,
				 "--split %" PRIu64 ": more than %d pieces",
				 s->x.eo->split, DATASET_DIR_PIECES);
	least = (least + ARK_RECORD - 1) / ARK_RECORD * ARK_RECORD;
	if (least <= room)
		return 0;
	return largest == NULL
		       ? error_set(err, ERROR_USAGE,
				   "%s: the metadata do not fit into a piece "
				   "of %" PRIu64 " bytes: --split %" PRIu64
				   " is the smallest",
				   s->x.p->dir, s->x.eo->split, least)
		       : error_set(err, ERROR_USAGE,
				   "%s: %" PRIu64
				   " bytes do not fit into a piece of %" PRIu64
				   ": --split %" PRIu64 " is the smallest",
				   str_shown(largest->path), largest->size,
				   s->x.eo->split, least);
}

/* Name the pieces, and compute their digests: of all that decides what is in
 * them. */
static int
name_pieces(struct split *s, struct error *err)
{
	struct hash *h = hash_new(HASH_SHA256, err);
	const char *file = s->x.name, *base = path_base(file);
	const int digits = snprintf(NULL, 0, "%zu", s->count) > DIGITS
				   ? snprintf(NULL, 0, "%zu", s->count)
				   : DIGITS;

	for (size_t i = 0; h != NULL && i < s->count; i++) {
		struct piece *p = &s->list[i];
		const char *is = arena_printf(
			s->x.arena, "%s %" PRId64 " %zu of %zu, %s",
			s->x.p->name, s->x.p->id, i, s->count,
			ark_filter_name(s->x.eo->filter));

		p->path = arena_printf(s->x.arena, "%s.%0*zu", file, digits,
				       i + 1);
		p->noted = arena_printf(s->x.arena, "%.*s.%s.%0*zu.done",
					(int)(base - file), file, base, digits,
					i + 1);
		hash_update(h, is, strlen(is) + 1);
		for (size_t k = p->from; k < p->to; k++) {
			const struct export_entry *e = &s->x.list[k];
			const uint64_t about[] = {
				e->size,
				(uint64_t)e->attr.mtime.tv_sec,
				(uint64_t)e->attr.mtime.tv_nsec,
				e->attr.mode,
				e->file != NULL ? e->file->crc : 0,
			};

			hash_update(h, e->path, strlen(e->path) + 1);
			hash_update(h, about, sizeof(about));
		}
		hash_text(h, p->digest);
	}
	hash_free(h);
	if (h == NULL)
		return -1;
	return strlen(path_base(s->list[0].noted)) <= NAME_MAX
		       ? 0
		       : error_set(err, ERROR_USAGE,
				   "%s: too long for the names of pieces: "
				   "choose a shorter name",
				   file);
}

/* Pieces with other numbers would be taken for pieces of this archive. */
static int
refuse_others(const struct split *s, int dir, struct error *err)
{
	const char *file = s->x.name, *base = path_base(file), *name = NULL;
	const char *first = path_base(s->list[0].path);
	const char *last = path_base(s->list[s->count - 1].path);
	const size_t len = strlen(base);
	struct stat st;
	struct dir_walk w;
	int rc = dir_walk(&w, dir, file, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const size_t all = strlen(name);

		if (str_starts(name, base) && name[len] == '.' &&
		    all - len > DIGITS &&
		    strspn(name + len + 1, "0123456789") == all - len - 1 &&
		    (all != strlen(first) || strcmp(name, first) < 0 ||
		     strcmp(name, last) > 0) &&
		    dir_stat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode))
			rc = error_set(err, ERROR_USAGE,
				       "%.*s%s: a piece of an older export: "
				       "remove it first",
				       (int)(base - file), file, name);
	}
	return dir_done(&w, rc, err);
}

/* --- What is done --- */

/* Is the piece complete?  If so, read its manifest. */
static void
look(struct piece *p)
{
	const size_t len = strlen(p->digest);
	struct buf raw = BUF_INIT;
	const char *text = NULL;
	uint64_t size = 0;
	struct stat st;

	p->done = false;
	if (stat(p->path, &st) == 0 && S_ISREG(st.st_mode) &&
	    io_read_file(AT_FDCWD, p->noted, MANIFEST_MAX, &raw, NULL) == 0 &&
	    raw.len > len && str_starts(raw.data, p->digest))
		text = value_scan(raw.data + len + 1, INT64_MAX, &size);
	if (text != NULL && *text == '\n' && size == (uint64_t)st.st_size) {
		p->done = true;
		p->written = size;
		buf_clear(&p->manifest);
		buf_add_str(&p->manifest, text + 1);
	}
	buf_free(&raw);
}

static int
note(const struct piece *p, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = 0;

	buf_printf(&text, "%s %" PRIu64 "\n", p->digest, p->written);
	buf_add(&text, p->manifest.data, p->manifest.len);
	rc = io_replace(AT_FDCWD, p->noted, text.data, text.len, 0666, err);
	buf_free(&text);
	return rc;
}

/* --- Writing --- */

struct job {
	struct split *s;
	struct piece *p;
};

static int
write_piece(void *arg, int fd, uint64_t *written, struct error *err)
{
	const struct job *j = arg;
	struct split *s = j->s;
	const size_t at = (size_t)(j->p - s->list);
	struct exported a = { .x = &s->x, .manifest = BUF_INIT };
	const struct buf nothing = BUF_INIT;
	struct buf all = BUF_INIT;
	char name[64];
	int rc = export_begin(&a, fd, j->p->path, err);

	manifest_name(s, at, name);
	if (rc == 0)
		rc = export_bytes(&a, name, &nothing, err);
	if (rc == 0)
		rc = export_entries(&a, j->p->from, j->p->to, err);
	if (rc == 0 && at == s->count - 1) {
		rc = export_metadata(&a, err);
		for (size_t i = 0; i < at; i++)
			buf_add(&all, s->list[i].manifest.data,
				s->list[i].manifest.len);
		buf_add(&all, a.manifest.data, a.manifest.len);
		if (rc == 0)
			rc = export_image(&a, DATASET_DIR_MANIFEST, &all, err);
	}
	if (rc == 0)
		rc = export_bytes(&a, name, &a.manifest, err);
	if (rc == 0)
		rc = ark_out_close(a.ark, written, err);
	if (rc == 0 && at < s->count - 1) {
		look(j->p);
		rc = j->p->done;
	}
	if (rc == 0) {
		/* It is about to be replaced. */
		(void)unlink(j->p->noted);
		buf_clear(&j->p->manifest);
		buf_add(&j->p->manifest, a.manifest.data, a.manifest.len);
		j->p->written = *written;
	}
	buf_free(&all);
	export_end(&a);
	return rc;
}

static int
put_piece(void *split, size_t i, unsigned worker, struct error *err)
{
	struct split *s = split;
	struct piece *p = &s->list[i];
	int rc = 0;

	(void)worker;
	if (p->done)
		return 0;
	rc = export_file(p->path, true, write_piece, &(struct job){ s, p },
			 err);
	if (rc == 0 && i < s->count - 1)
		rc = note(p, err);
	p->done = rc >= 0;
	return rc < 0 ? -1 : 0;
}

/* Are all but the last one still those of this export?  Where there are no
 * locks, or on a node that was given up, another one may write. */
static int
look_again(struct split *s, struct error *err)
{
	for (size_t i = 0; i < s->count - 1; i++) {
		look(&s->list[i]);
		if (!s->list[i].done)
			return error_set(err, ERROR_SYSTEM,
					 "%s: written by another export; run "
					 "this again",
					 s->list[i].path);
	}
	return 0;
}

/* --- Other nodes --- */

static const char *
digest_of(void *split, size_t from, size_t to, struct arena *a,
	  struct error *err)
{
	const struct split *s = split;
	struct hash *h = hash_new(HASH_SHA256, err);
	char text[HASH_TEXT];

	for (size_t i = from; h != NULL && i <= to && i < s->count; i++)
		hash_update(h, s->list[i].digest, HASH_TEXT);
	if (h == NULL)
		return NULL;
	hash_text(h, text);
	hash_free(h);
	return arena_strdup(a, text);
}

/* What a node has done, the files beside its pieces say, if it has written them
 * to the same directory.  Opening that lets NFS look up again what was not
 * there. */
static bool
answer(void *split, size_t from, const struct json_value *unused)
{
	struct split *s = split;

	(void)unused;
	io_close(export_parent(s->x.name, NULL));
	look(&s->list[from]);
	return s->list[from].done;
}

static int
share(struct split *s, struct error *err)
{
	struct crew *crew = s->x.eo->crew;
	uint64_t *bytes = arena_alloc(s->x.arena, s->count, sizeof(*bytes));
	const struct crew_task task = {
		.argv = s->x.eo->argv,
		.what = "exporting on other nodes",
		.bytes = bytes,
		.count = s->count,
		.digest = digest_of,
		.work = s->x.eo->work,
		.answer = answer,
		.arg = s,
	};
	size_t lost = 1, failed = 0, left = 1;
	int rc = 0;

	while (rc == 0 && lost > 0 && crew->nodes.count > 0 && left > 0) {
		left = 0;
		/* The last one needs what the others have. */
		for (size_t i = 0; i < s->count - 1; i++) {
			bytes[i] = s->list[i].done ? 0 : s->list[i].bytes + 1;
			left += !s->list[i].done;
		}
		if (left > 0)
			rc = crew_work(crew, &task, &lost, &failed, err);
		for (size_t i = 0; i < s->count - 1; i++)
			look(&s->list[i]);
	}
	return rc;
}

/* In a worker: leave only its part to be done. */
static int
take_part(struct split *s, struct error *err)
{
	const char *digest = NULL;
	struct crew_part is;

	if (!crew_part(s->x.eo->part, &is))
		return error_set(err, ERROR_USAGE,
				 "--part: not FROM-TO:DIGEST");
	digest = digest_of(s, is.from, is.to, s->x.arena, err);
	if (digest == NULL)
		return -1;
	if (is.to >= s->count - 1 || !str_eq(digest, is.digest))
		return error_set(err, ERROR_DAMAGED,
				 "the dataset looks different here, or has "
				 "changed since the work was shared out");
	for (size_t i = 0; i < s->count; i++)
		s->list[i].done |= i < is.from || i > is.to;
	return 0;
}

/* --- All --- */

static int
put_pieces(struct split *s, int dir, struct error *err)
{
	const struct export_options *eo = s->x.eo;
	const size_t last = s->count - 1;
	size_t done = 0;
	uint64_t left = 0;
	int rc = eo->part != NULL ? take_part(s, err)
				  : refuse_others(s, dir, err);

	if (rc < 0)
		return -1;
	for (size_t i = 0; i < last; i++)
		if (!s->list[i].done)
			look(&s->list[i]);
	if (eo->crew != NULL)
		rc = share(s, err);
	for (size_t i = 0; i < s->count; i++)
		left += s->list[i].done ? 0 : s->list[i].bytes;
	progress_phase(eo->work->progress, "exporting", left);
	if (rc == 0)
		rc = par_for(eo->work->par, last, 1, put_piece, s, err);
	if (rc == 0 && eo->part == NULL &&
	    (look_again(s, err) < 0 || put_piece(s, last, 0, err) < 0 ||
	     look_again(s, err) < 0 || refuse_others(s, dir, err) < 0))
		rc = -1;
	for (size_t i = 0; i < s->count; i++) {
		done += s->list[i].done;
		s->x.out->written += s->list[i].written;
		if (rc == 0 && eo->part == NULL)
			(void)unlink(s->list[i].noted);
	}
	if (rc < 0 && done > 0 && eo->part == NULL)
		work_say(eo->work,
			 "%s: %zu of %zu pieces are complete: run this again "
			 "for the others",
			 s->x.name, done, s->count);
	return rc;
}

/* Take the number of the name among the locks of its directory. */
static bool
lock_name(const void *base, int lock)
{
	const uint64_t number = fnv_text(base) % INT32_MAX;

	return lock_shares_take(lock, number, number);
}

int
export_split(struct packed *p, const char *file,
	     const struct export_options *eo, struct export_result *out,
	     struct error *err)
{
	struct export_options each = *eo;
	struct split s = {
		.x = { .p = p, .eo = &each, .out = out, .name = file },
	};
	const int dir = export_parent(file, err);
	int lock = -2, rc = -1;

	if (dir >= 0 && eo->part == NULL)
		lock = lock_shares_wait(dir, file, lock_name, path_base(file),
					eo->work->stop, err);
	if (dir >= 0 && lock != -1 && export_list(&s.x, err) == 0 &&
	    cut(&s, err) == 0 && name_pieces(&s, err) == 0) {
		out->pieces = s.count;
		each
			.threads = s.count > eo->threads
					   ? 1
					   : eo->threads / (unsigned)s.count;
		rc = put_pieces(&s, dir, err);
	}
	lock_shares_close(dir, lock);
	io_close(dir);
	for (size_t i = 0; i < s.count; i++)
		buf_free(&s.list[i].manifest);
	mem_free(s.list);
	export_list_free(&s.x);
	return rc;
}
