/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_share.c - have pieces of an archive imported by other nodes.
 *
 * The caller has read the last piece, and so the manifest of all files.  A node
 * imports other pieces as any process imports pieces before the last one: it
 * compares them with their own manifest, and puts those files in place that
 * replace none.  It answers with a sum over their names, checksums, sizes,
 * times and inodes.  If the caller, with the checksums of its manifest, finds
 * the same sum, these files are what the archive has; else it reads the pieces
 * itself.  So nodes can only save time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
#include "meta/dataset_dir.h"
#include "path.h"
#include "site/crew.h"
#include "str.h"
#include "stream.h"
#include "work.h"

/* Add a file of the job to `sum`, as it is on the prefix; its size is set.  If
 * it is not there, it is left out. */
static void
add_file(struct import *x, const char *path, const char *checksum,
	 uint64_t *size, uint64_t *sum)
{
	unsigned char bytes[HASH_SHA256_SIZE];
	uint64_t one = 0;
	char text[256];
	struct stat st;

	if (pathcache_lstat(x->parents, path, &st, NULL) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
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

/* Import piece `i`.  1: it has metadata, which get their names only together
 * with those of the last piece. */
static int
import_piece(struct import *x, const char *const *paths, size_t i,
	     struct crew_part *is, struct import_sum *total, struct error *err)
{
	const int fd = stream_open(paths[i], err);
	const int rc = fd < 0 ? -1 : import_read(x, fd, paths[i], err);
	const size_t n = is->to - is->from + 1;
	const char *same = is->digest;
	struct export_result r;

	io_close(fd);
	if (rc == 0 && i == is->from)
		same = digest(x, paths + i, n, x->arena, err);
	if (rc < 0 || same == NULL)
		return -1;
	if (!str_eq(same, is->digest) || x->out.pieces == 0 ||
	    x->manifest != NULL)
		return error_set(err, ERROR_DAMAGED,
				 "the archive looks different here, or has "
				 "changed since the work was shared out");
	if (x->out.hidden > 0)
		return 1;
	if (import_commit(x, &r, err) < 0)
		return -1;
	for (size_t k = 0; k < x->count; k++)
		add_file(x, x->list[k].path, x->list[k].sum, &x->list[k].size,
			 &total->sum);
	total->placed += r.files - r.same;
	total->pieces++;
	return 0;
}

int
import_part(struct catalogue *c, const struct catalogue_options *o,
	    const char *const *paths, struct crew_part *is,
	    struct import_sum *total, struct error *err)
{
	int rc = 0;

	for (size_t i = is->from; rc == 0 && i <= is->to; i++) {
		struct import *x = import_new(c, o, err);

		rc = x == NULL ? -1 : import_piece(x, paths, i, is, total, err);
		import_free(x);
	}
	return rc < 0 ? -1 : 0;
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
			pathcache_look(x->parents, x->list[i].path, &st,
				       NULL) == 0;
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
	size_t lost = 1, failed = 0;
	struct buf path = BUF_INIT;
	struct stat st;
	int rc = 0;

	if (x->did != NULL || x->manifest == NULL)
		return 0;
	x->did = arena_alloc(x->arena, count, sizeof(*x->did));
	x->ndid = count;
	if (!is_plain(x))
		return 0;
	while (*r.paths != NULL)
		r.paths++;
	while (rc == 0 && lost > 0 && crew->nodes.count > 0) {
		r.count = 0;
		for (size_t i = 0; rc == 0 && i < count; i++) {
			if (x->did[i] || stat(paths[i], &st) < 0 ||
			    !S_ISREG(st.st_mode))
				continue;
			rc = path_absolute(paths[i], &path, err);
			r.paths[r.count] = arena_strdup(x->arena, path.data);
			r.at[r.count] = i;
			bytes[r.count++] = (uint64_t)st.st_size + 1;
		}
		r.paths[r.count] = NULL;
		task.count = r.count;
		if (r.count == 0)
			break;
		if (rc == 0)
			rc = crew_work(crew, &task, &lost, &failed, err);
	}
	buf_free(&path);
	return rc < 0 ? -1 : 0;
}

bool
import_did(const struct import *x, size_t i)
{
	return i < x->ndid && x->did[i];
}

bool
import_confirm(struct import *x)
{
	const struct manifest *m = x->manifest;
	uint64_t sum = 0;

	if (x->nodes.pieces == 0)
		return true;
	x->sizes = arena_alloc(x->arena, m->count, sizeof(*x->sizes));
	for (size_t i = 0; i < m->count; i++)
		if (map_get(x->by_path, m->entries[i].path) == MAP_NONE &&
		    dataset_dir_is_data(m->entries[i].path))
			add_file(x, m->entries[i].path, m->entries[i].sum,
				 &x->sizes[i], &sum);
	if (sum == x->nodes.sum)
		return true;
	work_say(&x->o->work, "what nodes have put in place is not found here: "
			      "their pieces are read here");
	x->sizes = NULL;
	return false;
}
