/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_share.c - have pieces of an archive imported by other nodes.
 *
 * The caller is given all pieces, and has read the last one, and so the
 * manifest of all files.  A node imports other pieces as any process imports
 * pieces before the last one: it compares them with their own manifest, and
 * puts their files in place if they replace none.  It answers with a sum over
 * their names, checksums, sizes, times and inodes.  If the caller, with the
 * checksums of its manifest, finds all other files and the same sum, these
 * are what the archive has; else it reads the pieces itself.  So nodes can
 * only save time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/ark.h"
#include "archive/import_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "json.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "site/crew.h"
#include "str.h"
#include "stream.h"
#include "work.h"

/* Command lines have at most so many bytes of paths: to ssh, one is a single
 * argument, of 128 KiB. */
#define PATHS_MAX ((size_t)64 << 10)

/* --- All pieces --- */

/* Is it a piece of an archive of dataset *id (not positive: of any)? */
static bool
is_piece(const char *path, const struct work *work, int64_t *id,
	 uint64_t *piece, uint64_t *pieces)
{
	const int fd = stream_open(path, NULL);
	struct ark_in *ark =
		fd < 0 ? NULL : ark_in_new(fd, path, work->stop, NULL);
	struct ark_entry e;
	bool is = false;

	if (ark != NULL && ark_in_next(ark, &e, NULL) > 0) {
		struct imported f = { .path = e.path };

		is = import_classify(&f, id, NULL) == 0 &&
		     f.meta == DATASET_DIR_KEPT && e.attr.size == 0 &&
		     dataset_dir_piece(path_base(e.path), piece, pieces);
	}
	ark_in_free(ark);
	io_close(fd);
	return is;
}

size_t
import_last(const char *const *paths, size_t count, const struct work *work)
{
	bool *seen = mem_calloc(count + 1, sizeof(*seen));
	size_t last = count;
	int64_t id = -1;
	bool all = true;

	for (size_t i = 0; all && i < count; i++) {
		uint64_t k = 0, n = 0;
		struct stat st;

		all = !str_eq(paths[i], "-") && stat(paths[i], &st) == 0 &&
		      S_ISREG(st.st_mode) &&
		      is_piece(paths[i], work, &id, &k, &n) && n == count &&
		      !seen[k];
		seen[all ? k : 0] = true;
		last = k == count ? i : last;
	}
	mem_free(seen);
	return all ? last : count;
}

/* --- What is in place --- */

/* Add a file of the job to `sum`, as it is on the prefix; its size is set.
 * False: it is not there. */
static bool
add_file(struct import *x, const char *path, const char *checksum,
	 uint64_t *size, uint64_t *sum)
{
	unsigned char bytes[HASH_SHA256_SIZE];
	uint64_t one = 0;
	char text[256];
	struct stat st;

	if (work_stopped(&x->o->work) ||
	    pathcache_lstat(x->parents, path, &st, NULL) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	snprintf(text, sizeof(text), " %s %" PRIu64 " %jd.%09ld %ju", checksum,
		 *size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		 (uintmax_t)st.st_ino);
	hash_update(x->hash, path, strlen(path));
	hash_update(x->hash, text, strlen(text));
	hash_sum(x->hash, bytes);
	memcpy(&one, bytes, sizeof(one));
	/* A number of JSON. */
	*sum = (*sum + one) & INT64_MAX;
	return true;
}

/* What must be the same on the nodes: the archive, and its pieces. */
static const char *
digest(struct import *x, const char *const *paths, size_t count,
       struct arena *a, struct error *err)
{
	struct buf all = BUF_INIT;
	char text[HASH_TEXT];
	struct stat st;
	int rc = 0;

	buf_printf(&all, "%" PRId64 " %" PRIu64, x->out.id, x->out.pieces);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = stat(paths[i], &st);
		buf_printf(&all, " %jd %jd.%09ld", (intmax_t)st.st_size,
			   (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	}
	rc = rc < 0 ? error_sys(err, "a piece cannot be read")
		    : hash_bytes(all.data, all.len, text, err);
	buf_free(&all);
	return rc < 0 ? NULL : arena_strdup(a, text);
}

/* --- In a node --- */

/* Read pieces up to one with metadata, which get their names only together with
 * those of the last piece, and put the files of the others in place. */
static int
import_some(struct import *x, const char *const *paths,
	    const struct crew_part *is, struct import_sum *total,
	    struct error *err)
{
	const char *same = NULL;
	struct export_result r;
	int rc = 0;

	for (size_t i = is->from; rc == 0 && i <= is->to; i++) {
		const int fd = stream_open(paths[i], err);

		rc = fd < 0 ? -1 : import_read(x, fd, paths[i], err);
		io_close(fd);
		if (x->out.hidden > 0)
			break;
		total->pieces++;
	}
	if (rc == 0)
		same = digest(x, paths + is->from, is->to - is->from + 1,
			      x->arena, err);
	if (same == NULL)
		return -1;
	if (!str_eq(same, is->digest) || x->out.pieces == 0 ||
	    x->manifest != NULL)
		return error_set(err, ERROR_DAMAGED,
				 "the archive looks different here, or has "
				 "changed since the work was shared out");
	if (total->pieces > 0 && import_commit(x, &r, err) < 0)
		return -1;
	for (size_t i = 0; total->pieces > 0 && i < x->count; i++) {
		struct imported *f = &x->list[i];

		if (f->kind == PUT_FILE &&
		    !add_file(x, f->path, f->sum, &f->size, &total->sum))
			return error_set(err, ERROR_SYSTEM,
					 "%s: is not in place",
					 str_shown(f->path));
	}
	total->placed = total->pieces > 0 ? r.files - r.same : 0;
	return 0;
}

int
import_part(struct catalogue *c, const struct catalogue_options *o,
	    const char *const *paths, const struct crew_part *is,
	    struct import_sum *total, struct error *err)
{
	struct import *x = import_new(c, o, err);
	int rc = -1;

	if (x != NULL) {
		x->part = true;
		rc = import_some(x, paths, is, total, err);
	}
	import_free(x);
	return rc;
}

/* --- Here --- */

/* A round: pieces that are left, and their numbers. */
struct round {
	struct import *x;
	const char **paths;
	size_t *at, count;
};

static const char *
digest_of(void *round, size_t from, size_t to, struct arena *a,
	  struct error *err)
{
	const struct round *r = round;

	return digest(r->x, r->paths + from, to - from + 1, a, err);
}

static bool
take_answer(void *round, size_t from, const struct json_value *j)
{
	struct round *r = round;
	struct import_sum *s = &r->x->nodes, got;

	if (!json_get_u64(j, "piece_count", r->count - from, &got.pieces) ||
	    !json_get_u64(j, "files_placed", INT64_MAX, &got.placed) ||
	    !json_get_u64(j, "sum", INT64_MAX, &got.sum))
		return false;
	for (size_t i = from; i < from + got.pieces; i++)
		r->x->did[r->at[i]] = true;
	s->pieces += got.pieces;
	s->placed += got.placed;
	s->sum = (s->sum + got.sum) & INT64_MAX;
	return true;
}

/* Is nothing there that would be replaced, or be called whole? */
static bool
is_plain(const struct import *x)
{
	bool plain = x->out.pieces > 0 && !catalogue_may_list(x->c, x->out.id);
	struct stat st;

	for (size_t i = 0; plain && i < x->count; i++)
		plain = x->list[i].kind == PUT_FILE ||
			pathcache_lstat(x->parents, x->list[i].path, &st,
					NULL) < 0;
	return plain;
}

int
import_share(struct import *x, struct crew *crew, const char **argv,
	     const char *const *paths, size_t count, struct error *err)
{
	struct round r = {
		.x = x,
		.paths = argv,
		.at = arena_alloc(x->arena, count, sizeof(*r.at)),
	};
	uint64_t *bytes = arena_alloc(x->arena, count, sizeof(*bytes));
	struct crew_task task = {
		.argv = argv,
		.what = "importing on other nodes",
		.bytes = bytes,
		.digest = digest_of,
		.work = &x->o->work,
		.answer = take_answer,
		.arg = &r,
	};
	size_t lost = 0, failed = 0;
	struct buf path = BUF_INIT;
	struct stat st;
	int rc = 0;

	if (count < 2 || x->last == NULL || !is_plain(x))
		return 0;
	x->did = arena_alloc(x->arena, count, sizeof(*x->did));
	while (*r.paths != NULL)
		r.paths++;
	for (size_t from = 0, to = 0;
	     rc == 0 && from<count; from = lost> 0 ? from : to) {
		size_t room = PATHS_MAX;

		r.count = 0;
		for (to = from; rc == 0 && to < count; to++) {
			if (x->did[to] || str_eq(paths[to], x->last) ||
			    stat(paths[to], &st) < 0)
				continue;
			rc = path_absolute(paths[to], &path, err);
			if (r.count > 0 && path.len >= room)
				break;
			room -= path.len < room ? path.len : room;
			r.paths[r.count] = arena_strdup(x->arena, path.data);
			r.at[r.count] = to;
			bytes[r.count++] = (uint64_t)st.st_size + 1;
		}
		r.paths[r.count] = NULL;
		task.count = r.count;
		lost = 0;
		if (crew->nodes.count == 0)
			break;
		if (rc == 0 && r.count > 0)
			rc = crew_work(crew, &task, &lost, &failed, err);
		x->asked = x->asked || r.count > 0;
	}
	buf_free(&path);
	return rc;
}

bool
import_did(const struct import *x, size_t i)
{
	return x != NULL && x->did != NULL && x->did[i];
}

bool
import_confirm(struct import *x)
{
	const struct manifest *m = x->manifest;
	bool same = true;
	uint64_t sum = 0;

	if (x->nodes.pieces == 0)
		return true;
	x->sizes = arena_alloc(x->arena, m->count, sizeof(*x->sizes));
	for (size_t i = 0; same && i < m->count; i++)
		same = map_get(x->by_path, m->entries[i].path) != MAP_NONE ||
		       (dataset_dir_is_data(m->entries[i].path) &&
			add_file(x, m->entries[i].path, m->entries[i].sum,
				 &x->sizes[i], &sum));
	if (same && sum == x->nodes.sum) {
		x->out.piece = 0;
		return true;
	}
	work_say(&x->o->work, "what nodes have put in place is not found here: "
			      "their pieces are read here");
	x->sizes = NULL;
	return false;
}
