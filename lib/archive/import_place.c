/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_place.c - put the files that were read and verified in place, and the
 * dataset, if it is complete, into the index.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "arena.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* --- Existing files --- */

/* Has the existing file, of `st`, the contents of f? */
static int
is_same(struct import *x, const struct imported *f, const struct stat *st,
	bool *same, struct error *err)
{
	char sum[HASH_TEXT];
	ssize_t n = 0;
	int fd = -1;

	*same = false;
	if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size != f->size)
		return 0;
	fd = path_open_beneath(catalogue_prefix_fd(x->c), f->path,
			       O_RDONLY | O_NONBLOCK, 0, err);
	while (fd >= 0 && (n = read(fd, x->block, IMPORT_STEP)) > 0 &&
	       work_go_on(&x->o->work, err) == 0) {
		hash_update(x->hash, x->block, (size_t)n);
		work_pace(&x->o->work, (uint64_t)n);
	}
	if (n < 0)
		error_sys(err, "%s: cannot read", f->path);
	io_close(fd);
	hash_text(x->hash, sum);
	*same = str_eq(sum, f->sum);
	return fd < 0 || n != 0 ? -1 : 0;
}

/* Find existing files at the targets.  Identical ones are counted; others are
 * refused without --force. */
static int
look_around(struct import *x, struct error *err)
{
	bool other = false, same = false; /* metadata with other contents */
	int64_t by = 0;
	struct stat st;

	for (size_t i = 0; i < put_count(x->put); i++) {
		const struct imported *f = &x->list[i];
		int there = 0;

		if (f->kind != PUT_FILE && !x->out.complete)
			continue;
		there = pathcache_look(x->parents, f->path, &st, err);
		if (there < 0)
			return -1;
		x->changes = x->changes || (there == 0 && f->kind == PUT_FILE);
		if (there == 0)
			continue;
		put_what(f->put)->kept = true;
		if (is_same(x, f, &st, &same, err) < 0)
			return -1;
		if (same) {
			x->out.same += f->kind == PUT_FILE;
			continue;
		}
		if (!x->o->replace || !S_ISREG(st.st_mode))
			return error_set(err, ERROR_SYSTEM,
					 "%s: exists with other contents "
					 "(--force replaces it)",
					 str_shown(f->path));
		other = other || f->kind != PUT_FILE;
		if (f->kind == PUT_FILE)
			x->renew = x->changes = true;
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
		 * another process that writes the same ones. */
		if (err->errnum != EBUSY && err->kind != ERROR_ABSENT &&
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
	if (look_up(x, err) < 0 ||
	    (x->out.pieces > 0 && import_check_pieces(x, err) < 0) ||
	    (x->out.complete && check_ranks(x, err) < 0) ||
	    look_around(x, err) < 0 ||
	    (!x->o->work.dry_run && place(x, err) < 0))
		rc = -1;
	if (rc < 0)
		room_explain(catalogue_prefix_fd(x->c), 0, err);
	x->done = rc == 0 && x->out.complete && !x->o->work.dry_run;
	*out = x->out;
	return rc;
}
