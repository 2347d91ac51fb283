/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_split.c - write a dataset to pieces of an archive, by several threads
 * and nodes.
 *
 * Beside each piece that is complete and on disk, a small file records the
 * digest of the export, its size and its manifest.  By these files a node
 * reports what it has written, and a run takes up what an interrupted one has
 * done.  They are removed when the last piece, with the manifest of all files,
 * is in place.
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
#include "buf.h"
#include "container/packed.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "io.h"
#include "lock.h"
#include "meta/dataset_dir.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "site/crew.h"
#include "str.h"
#include "work.h"

#define BLOCK 512 /* of tar */
#define DIGITS 3  /* of a piece's number, at least */

/* --- Cutting --- */

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

/* Fill one piece after the other, in the order of the list.  What follows the
 * users' files, and so comes last, does not begin in a piece of theirs if it
 * does not end there; the metadata and the manifest of all files are in the
 * last piece. */
static int
cut(struct exporting *x, struct error *err)
{
	/* Each piece has two entries for its manifest. */
	const uint64_t own =
		2 * (ark_bound(x->p->dir, 0) + BLOCK) + BLOCK + ARK_END;
	const uint64_t room = x->eo->split / ARK_RECORD * ARK_RECORD;
	const struct export_entry *largest = NULL;
	struct export_piece *p = export_add_piece(x, 0);
	uint64_t used = own, least = own, end = 0;
	size_t lines = 0;

	for (size_t i = 0; i < x->count; i++) {
		lines += manifest_line(x->list[i].path);
		end += x->list[i].data ? 0 : cost_of(&x->list[i], NULL);
	}
	if (lines > MANIFEST_MAX)
		return error_set(err, ERROR_USAGE, "manifest: too many files");
	end += ark_bound(x->p->dir, lines) + manifest_line(x->p->dir) +
	       2 * strlen(DATASET_DIR_MANIFEST) + BLOCK;
	for (size_t i = 0; i < x->images; i++) {
		const struct export_entry *e = &x->list[i];
		const uint64_t alone = own + cost_of(e, NULL);

		used += cost_of(e, used > own ? e - 1 : NULL);
		end -= e->data ? 0 : alone - own;
		if (p->to > p->from &&
		    (used > room || (!e->data && x->list[p->from].data &&
				     used + end > room))) {
			p = export_add_piece(x, i);
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
		p = export_add_piece(x, x->images);
	p->to = x->count;
	if (own + end > least) {
		least = own + end;
		largest = NULL;
	}
	if (x->npieces > DATASET_DIR_PIECES)
		return error_set(err, ERROR_USAGE,
				 "--split %" PRIu64 ": more than %d pieces",
				 x->eo->split, DATASET_DIR_PIECES);
	least = (least + ARK_RECORD - 1) / ARK_RECORD * ARK_RECORD;
	if (least <= room)
		return 0;
	return largest == NULL
		       ? error_set(err, ERROR_USAGE,
				   "%s: the metadata do not fit into a piece "
				   "of %" PRIu64 " bytes: --split %" PRIu64
				   " is the smallest",
				   x->p->dir, x->eo->split, least)
		       : error_set(err, ERROR_USAGE,
				   "%s: %" PRIu64
				   " bytes do not fit into a piece of %" PRIu64
				   ": --split %" PRIu64 " is the smallest",
				   str_shown(largest->path), largest->size,
				   x->eo->split, least);
}

/* Name the pieces, and compute the digest. */
static int
name_pieces(struct exporting *x, struct error *err)
{
	struct buf all = BUF_INIT;
	const char *file = x->file, *base = path_base(file);
	const int len = snprintf(NULL, 0, "%zu", x->npieces);
	int rc = 0;

	buf_printf(&all, "%s %" PRId64 " %s", x->p->name, x->p->id,
		   ark_filter_name(x->eo->filter));
	for (size_t i = 0; i < x->npieces; i++) {
		struct export_piece *p = &x->pieces[i];
		const char *number = str_printed(
			32, ".%0*zu", len > DIGITS ? len : DIGITS, i + 1);

		p->path = arena_printf(x->arena, "%s%s", file, number);
		p->note = arena_printf(x->arena, "%.*s.%s%s.done",
				       (int)(base - file), file, base, number);
		buf_printf(&all, " %zu", p->to);
	}
	for (size_t i = 0; i < x->count; i++) {
		const struct export_entry *e = &x->list[i];
		const uint64_t about[] = {
			e->size,
			(uint64_t)e->attr.mtime.tv_sec,
			(uint64_t)e->attr.mtime.tv_nsec,
			e->attr.mode,
			e->file != NULL ? e->file->crc : 0,
		};

		buf_add(&all, e->path, strlen(e->path) + 1);
		buf_add(&all, about, sizeof(about));
		if (e->image != NULL)
			buf_add(&all, e->image, e->size);
	}
	rc = hash_bytes(all.data, all.len, x->digest, err);
	buf_free(&all);
	if (rc == 0 && strlen(path_base(x->pieces[0].note)) > NAME_MAX)
		rc = error_set(err, ERROR_USAGE,
			       "%s: too long for the names of pieces: choose a "
			       "shorter name",
			       file);
	return rc;
}

/* Pieces with other numbers would be taken for pieces of this archive. */
static int
refuse_others(const struct exporting *x, int dir, struct error *err)
{
	const char *base = path_base(x->file), *name = NULL;
	const char *first = path_base(x->pieces[0].path);
	const char *last = path_base(x->pieces[x->npieces - 1].path);
	const size_t len = strlen(base);
	struct stat st;
	struct dir_walk w;
	int rc = dir_walk(&w, dir, x->file, err);

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
				       (int)(base - x->file), x->file, name);
	}
	return dir_done(&w, rc, err);
}

/* --- Writing --- */

static const char *
head_of(const struct exporting *x, uint64_t size, char to[static 128])
{
	return str_print(to, 128, "%s %" PRIu64 "\n", x->digest, size);
}

bool
export_is_done(struct exporting *x, size_t i, struct buf *manifest)
{
	struct export_piece *p = &x->pieces[i];
	struct buf note = BUF_INIT;
	char head[128];
	struct stat st;

	p->done = false;
	if (stat(p->path, &st) == 0 && S_ISREG(st.st_mode) &&
	    io_read_file(AT_FDCWD, p->note, MANIFEST_MAX, &note, NULL) == 0 &&
	    note.len > 0)
		p->done = str_starts(note.data,
				     head_of(x, (uint64_t)st.st_size, head));
	if (p->done)
		p->written = (uint64_t)st.st_size;
	if (p->done && manifest != NULL)
		buf_add(manifest, note.data + strlen(head),
			note.len - strlen(head));
	buf_free(&note);
	return p->done;
}

static int
put_piece(void *exporting, size_t i, unsigned worker, struct error *err)
{
	struct exporting *x = exporting;
	struct export_piece *p = &x->pieces[i];
	struct buf manifest = BUF_INIT, note = BUF_INIT;
	char head[128];
	int rc = 0;

	(void)worker;
	if (p->done)
		return 0;
	rc = export_piece(x, i, &manifest, err);
	if (rc == 0 && i < x->npieces - 1) {
		buf_add_str(&note, head_of(x, p->written, head));
		buf_add(&note, manifest.data, manifest.len);
		rc = io_replace(AT_FDCWD, p->note, note.data, note.len, 0666,
				err);
	}
	p->done = rc >= 0;
	buf_free(&manifest);
	buf_free(&note);
	return rc < 0 ? -1 : 0;
}

/* --- Other nodes --- */

/* What a node has done, the files beside its pieces say, if it has written them
 * to the same directory.  Opening that lets NFS look up again what was not
 * there. */
static bool
answer(void *exporting, size_t from, const struct json_value *unused)
{
	struct exporting *x = exporting;

	(void)unused;
	io_close(export_parent(x->file, NULL));
	return export_is_done(x, from, NULL);
}

/* What is not done? */
static size_t
look(struct exporting *x, uint64_t *bytes)
{
	size_t left = 0;

	for (size_t i = 0; i < x->npieces - 1; i++) {
		bytes[i] =
			export_is_done(x, i, NULL) ? 0 : x->pieces[i].bytes + 1;
		left += bytes[i] > 0;
	}
	return left;
}

/* All but the last piece, which needs what the others have. */
static int
share(struct exporting *x, struct error *err)
{
	struct crew *crew = x->eo->crew;
	uint64_t *bytes = arena_alloc(x->arena, x->npieces, sizeof(*bytes));
	const struct crew_task task = {
		.argv = x->eo->argv,
		.what = "exporting on other nodes",
		.bytes = bytes,
		.count = x->npieces - 1,
		.same = x->digest,
		.work = x->eo->work,
		.answer = answer,
		.arg = x,
	};
	size_t lost = 1, failed = 0;

	while (look(x, bytes) > 0 && crew != NULL && lost > 0 &&
	       crew->nodes.count > 0)
		if (crew_work(crew, &task, &lost, &failed, err) < 0)
			return -1;
	return 0;
}

/* In a worker: leave only its part to be done. */
static int
take_part(struct exporting *x, struct error *err)
{
	struct crew_part is;

	if (!crew_part(x->eo->part, &is))
		return error_set(err, ERROR_USAGE,
				 "--part: not FROM-TO:DIGEST");
	if (is.to >= x->npieces - 1 || !str_eq(x->digest, is.digest))
		return error_set(err, ERROR_DAMAGED,
				 "the dataset looks different here, or has "
				 "changed since the work was shared out");
	for (size_t i = 0; i < x->npieces; i++)
		x->pieces[i].done =
			i < is.from || i > is.to || export_is_done(x, i, NULL);
	return 0;
}

/* --- All --- */

/* Are all but the last one those of this export?  Where there are no locks, or
 * on a node that was given up, another one may write. */
static int
take_manifests(struct exporting *x, struct error *err)
{
	for (size_t i = 0; i < x->npieces - 1; i++)
		if (!export_is_done(x, i, &x->all))
			return error_set(err, ERROR_SYSTEM,
					 "%s: written by another export; run "
					 "this again",
					 x->pieces[i].path);
	return 0;
}

static int
put_pieces(struct exporting *x, int dir, struct error *err)
{
	const bool part = x->eo->part != NULL;
	const size_t last = x->npieces - 1;
	uint64_t left = 0;
	size_t done = 0;
	int rc = part ? take_part(x, err) : refuse_others(x, dir, err);

	if (rc == 0 && !part)
		rc = share(x, err);
	for (size_t i = 0; i <= last; i++)
		left += x->pieces[i].done ? 0 : x->pieces[i].bytes;
	progress_phase(x->eo->work->progress, "exporting", left);
	if (rc == 0)
		rc = par_for(x->eo->work->par, last, 1, put_piece, x, err);
	if (part)
		return rc;
	if (rc == 0 &&
	    (take_manifests(x, err) < 0 || put_piece(x, last, 0, err) < 0 ||
	     take_manifests(x, err) < 0 || refuse_others(x, dir, err) < 0))
		rc = -1;
	for (size_t i = 0; i <= last; i++) {
		done += x->pieces[i].done;
		if (rc == 0)
			(void)unlink(x->pieces[i].note);
	}
	if (rc < 0 && done > 0)
		work_say(x->eo->work,
			 "%s: %zu of %zu pieces are complete: run this again "
			 "for the others",
			 x->file, done, x->npieces);
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
export_split(struct exporting *x, struct error *err)
{
	int dir = -1, lock = -2, rc = -1;

	if (cut(x, err) < 0 || name_pieces(x, err) < 0)
		return -1;
	dir = export_parent(x->file, err);
	if (dir >= 0 && x->eo->part == NULL)
		lock = lock_shares_wait(dir, x->file, lock_name,
					path_base(x->file), x->eo->work->stop,
					err);
	if (dir >= 0 && lock != -1)
		rc = put_pieces(x, dir, err);
	lock_shares_close(dir, lock);
	io_close(dir);
	return rc;
}
