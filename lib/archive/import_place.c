/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_place.c - put the files that were read and verified in place, and the
 * dataset, if it is complete, into the index.
 *
 * The last piece of an archive has the manifest of all files.  Those of pieces
 * that were imported before are on the prefix: they are read again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* --- Existing files --- */

/* Has the file on the prefix the same contents? */
static int
compare_file(void *import, size_t i, unsigned worker, struct error *err)
{
	const struct import *x = import;
	struct imported *f = &x->list[i];
	struct error why = ERROR_INIT;
	unsigned char *block = NULL;
	struct hash *h = NULL;
	char sum[HASH_TEXT];
	uint64_t size = 0, left = 0;
	struct stat st;
	int fd = -1;

	(void)worker;
	if (f->perhaps)
		fd = path_open_beneath(catalogue_prefix_fd(x->c), f->path,
				       O_RDONLY | O_NONBLOCK, 0, &why);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		h = hash_new(HASH_SHA256, &why);
		block = mem_alloc(IMPORT_STEP, 1);
		size = left = (uint64_t)st.st_size;
	}
	while (left > 0 && why.kind == ERROR_NONE &&
	       work_go_on(&x->o->work, &why) == 0) {
		const size_t len = left < IMPORT_STEP ? left : IMPORT_STEP;

		if (io_pread(fd, f->path, block, len, size - left, &why) < 0)
			break;
		hash_update(h, block, len);
		work_moved(&x->o->work, len);
		left -= len;
	}
	if (h != NULL && why.kind == ERROR_NONE) {
		hash_text(h, sum);
		f->size = size;
		f->same = str_eq(sum, f->sum);
	}
	hash_free(h);
	mem_free(block);
	io_close(fd);
	return why.kind == ERROR_NONE || why.kind == ERROR_ABSENT
		       ? 0
		       : error_pass(err, &why);
}

/* Find existing files at the targets, and compare them. */
static int
look_around(struct import *x, struct error *err)
{
	const size_t read = put_count(x->put);
	struct stat st;

	for (size_t i = 0; i < read; i++) {
		struct imported *f = &x->list[i];
		const int there = pathcache_look(x->parents, f->path, &st, err);

		if (there < 0)
			return -1;
		put_what(f->put)->kept = there > 0;
		f->odd = there > 0 && !S_ISREG(st.st_mode);
		f->perhaps =
			there > 0 && !f->odd && (uint64_t)st.st_size == f->size;
	}
	progress_phase(x->o->work.progress, "comparing", 0);
	return par_for(x->o->work.par, x->count, 1, compare_file, x, err);
}

/* Count existing files that are the same; refuse others without --force. */
static int
weigh(struct import *x, struct error *err)
{
	bool other = false; /* metadata with other contents */
	int64_t by = 0;

	for (size_t i = 0; i < x->count; i++) {
		const struct imported *f = &x->list[i];
		const bool data = f->kind == PUT_FILE;

		if (!data && !x->out.complete)
			continue;
		x->out.same += data && f->same;
		x->changes = x->changes || (data && !f->same);
		if (f->same || !put_what(f->put)->kept)
			continue;
		if (!x->o->replace || f->odd)
			return error_set(err, ERROR_SYSTEM,
					 "%s: exists with other contents "
					 "(--force replaces it)",
					 str_shown(f->path));
		x->renew = x->renew || data;
		other = other || !data;
	}
	/* Metadata that differ although no file is the same are those of
	 * another dataset with the same number; so are those whose files
	 * earlier pieces have replaced. */
	if (other && x->out.same > 0 && x->out.pieces > 0 &&
	    catalogue_replaced(x->c, x->out.id, x->o, &by, err) < 0)
		return -1;
	x->renew = x->renew || (other && (x->out.same == 0 || by == x->out.id));
	return 0;
}

/* --- Is it the whole dataset? --- */

/* The pieces that are given, or those that are not, as "3, 5-7". */
static const char *
numbers(const struct import *x, bool given)
{
	struct buf list = BUF_INIT;
	const char *text = NULL;
	uint64_t from = 0;

	for (uint64_t k = 1; k <= x->out.pieces + 1; k++) {
		const bool in = k <= x->out.pieces && x->given[k] == given;

		if (in && from == 0)
			from = k;
		if (in || from == 0)
			continue;
		buf_printf(&list, "%s%" PRIu64, list.len > 0 ? ", " : "", from);
		if (from < k - 1)
			buf_printf(&list, "-%" PRIu64, k - 1);
		from = 0;
	}
	text = arena_strdup(x->arena, list.len > 0 ? list.data : "");
	buf_free(&list);
	return text;
}

static void
miss(struct import *x, const struct imported *f)
{
	if (x->out.missing++ == 0)
		x->out.first = f->path;
	x->out.missing_hidden += f->kind != PUT_FILE;
}

/* Add what is not in the pieces to the list.  Metadata are not looked for: what
 * is there may be those of another dataset. */
static int
add_others(struct import *x, struct error *err)
{
	const struct manifest *m = x->manifest;

	if (x->out.pieces == 0)
		return 0;
	x->out.given = numbers(x, true);
	x->out.lacking = numbers(x, false);
	x->out.last = x->last;
	if (m == NULL)
		return 0;
	for (size_t i = 0; i < x->count; i++)
		if (!str_eq(path_base(x->list[i].path), DATASET_DIR_MANIFEST) ||
		    x->list[i].kind == PUT_FILE)
			if (import_compare(m, &x->list[i], err) < 0)
				return error_wrap(err, DATASET_DIR_MANIFEST);
	for (size_t i = 0; i < m->count; i++) {
		struct imported f = {
			.path = m->entries[i].path,
			.perhaps = x->sizes == NULL,
			.same = x->sizes != NULL,
			.size = x->sizes != NULL ? x->sizes[i] : 0,
		};

		if (map_get(x->by_path, f.path) != MAP_NONE)
			continue;
		if (x->out.lacking[0] == '\0')
			return error_set(err, ERROR_CORRUPT,
					 "%s: is in no piece",
					 str_shown(f.path));
		if (import_classify(&f, &x->out.id, err) < 0)
			return -1;
		if (f.kind != PUT_FILE) {
			miss(x, &f);
			continue;
		}
		memcpy(f.sum, m->entries[i].sum, HASH_TEXT);
		(void)MEM_ROOM(x->list, x->count, x->cap);
		x->list[x->count++] = f;
	}
	return 0;
}

static void
judge(struct import *x)
{
	const size_t read = put_count(x->put);

	for (size_t i = read; i < x->count; i++)
		if (!x->list[i].same)
			miss(x, &x->list[i]);
	x->out.complete = x->manifest != NULL && x->out.missing == 0;
	if (!x->out.complete)
		x->count = read;
	for (size_t i = read; i < x->count; i++) {
		map_put(x->by_path, x->list[i].path, i);
		x->out.files++;
		x->out.bytes += x->list[i].size;
	}
}

/* Check that the list has exactly the files that the rank2file names. */
static int
check_ranks(const struct import *x, struct error *err)
{
	struct rank2file_image *images =
		arena_alloc(x->arena, x->count + 1, sizeof(*images));
	bool *named = arena_alloc(x->arena, x->count + 1, sizeof(*named));
	struct rank2file r = { .nranks = 0 };
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < put_count(x->put); i++) {
		const struct put_what *what = put_what(x->list[i].put);

		if (what->image != NULL)
			images[n++] = (struct rank2file_image){
				path_base(what->path),
				what->image,
				what->image_size,
			};
	}
	rc = rank2file_load_images(images, n, RANK2FILE_FILE, &r, err);
	for (size_t i = 0; i < r.nranks && rc == 0; i++)
		for (size_t k = 0; k < r.ranks[i].nfiles && rc == 0; k++) {
			const struct rank2file_file *f = &r.ranks[i].files[k];
			const size_t at = map_get(x->by_path, f->path);

			if (at == MAP_NONE)
				rc = error_set(err, ERROR_CORRUPT,
					       "%s: named by its rank2file, "
					       "but missing from the archive",
					       str_shown(f->path));
			else if (f->nsegs > 0 ||
				 (f->has_size && f->size != x->list[at].size))
				rc = error_set(err, ERROR_CORRUPT,
					       "%s: differs from its rank2file",
					       str_shown(f->path));
			else
				named[at] = true;
		}
	for (size_t i = 0; i < x->count && rc == 0; i++)
		if (x->list[i].kind == PUT_FILE && !named[i])
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: not in its rank2file",
				       str_shown(x->list[i].path));
	rank2file_free(&r);
	return rc;
}

/* --- In place --- */

int
import_make_way(void *import, const struct put *p, struct error *err)
{
	struct import *x = import;
	const char **paths =
		arena_alloc(x->arena, x->count + 1, sizeof(*paths));
	struct owners_write w = {
		.id = x->out.id,
		.paths = paths,
		.replace = x->o->replace,
	};

	(void)p;
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].kind == PUT_FILE)
			paths[w.count++] = x->list[i].path;
	if (owners_make_way(x->c, &w, x->o, err) < 0)
		return -1;
	if (x->out.complete)
		return x->renew ? catalogue_supersede(x->c, w.id, true, x->o,
						      err)
				: 0;
	return x->changes && x->known
		       ? catalogue_retire(x->c, w.id, w.id, x->o, err)
		       : 0;
}

void
import_take_back(void *import)
{
	const struct import *x = import;

	/* Others may be about to write. */
	if (!x->part)
		catalogue_rollback(x->c, x->out.id, x->o);
}

/* May the index, or a summary from which --add would take it, call a dataset
 * with this number whole? */
static int
look_up(struct import *x, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(x->c, &why);
	struct index_entry e;
	struct stat st;
	/* Without an index, what is there may be what an import left that was
	 * killed: other contents are refused by look_around(). */
	const bool listed = ix != NULL && catalogue_notice(x->c) == NULL &&
			    index_find_id(ix, x->out.id, &e, NULL) == 0;

	index_free(ix);
	if (listed && !x->o->replace)
		return error_set(err, ERROR_SYSTEM,
				 "the index has a dataset %" PRId64
				 " already (--force replaces it)",
				 x->out.id);
	x->known = listed ||
		   path_stat_beneath(catalogue_prefix_fd(x->c),
				     arena_printf(x->arena,
						  SCR_DIR "/" DATASET_DIR_FMT
							  "/" SUMMARY_FILE,
						  x->out.id),
				     &st, NULL) == 0;
	return 0;
}

static int
place(struct import *x, struct error *err)
{
	struct build_result b = { .name = "" };

	for (size_t i = 0; i < x->ndirs; i++) {
		struct attr a = x->dirs[i].attr;

		/* A later piece has files for it. */
		if (!x->out.complete)
			a.mode |= 0700;
		put_dir(x->put, catalogue_prefix_fd(x->c), x->dirs[i].path, &a);
	}
	for (size_t i = 0; i < put_count(x->put); i++)
		if (!x->out.complete && x->list[i].kind != PUT_FILE)
			put_what(x->list[i].put)->kind = PUT_KINDS; /* never */
	/* So that the guard is asked, also if all files are there. */
	if (put_count(x->put) > 0)
		put_what(put_at(x->put, 0))->replaces = true;
	if (put_commit(x->put, err) < 0 ||
	    (x->out.complete &&
	     catalogue_build(x->c, x->out.id, x->o, &b, err) < 0)) {
		/* A dataset that the index may list keeps its files; so does
		 * another process that writes the same ones, as others may for
		 * a node that was given up. */
		if (!x->part && err->errnum != EBUSY &&
		    err->kind != ERROR_ABSENT &&
		    !catalogue_may_list(x->c, x->out.id))
			put_undo(x->put);
		return -1;
	}
	memcpy(x->out.name, b.name, sizeof(x->out.name));
	return 0;
}

/* --- All --- */

int
import_commit(struct import *x, struct export_result *out, struct error *err)
{
	int rc = 0;

	if (x->out.id <= 0)
		return error_set(err, ERROR_CORRUPT,
				 "the archive has no metadata of a dataset");
	x->out.complete = x->out.pieces == 0;
	if (look_up(x, err) < 0 || add_others(x, err) < 0 ||
	    look_around(x, err) < 0)
		rc = -1;
	if (rc == 0 && x->out.pieces > 0)
		judge(x);
	if (rc == 0 &&
	    ((x->out.complete && check_ranks(x, err) < 0) ||
	     weigh(x, err) < 0 || (!x->o->work.dry_run && place(x, err) < 0)))
		rc = -1;
	if (rc < 0)
		room_explain(catalogue_prefix_fd(x->c), 0, err);
	x->done = rc == 0 && x->out.complete && !x->o->work.dry_run;
	if (x->sizes != NULL && x->out.complete)
		x->out.same -= x->out.same < x->nodes.placed ? x->out.same
							     : x->nodes.placed;
	*out = x->out;
	return rc;
}
