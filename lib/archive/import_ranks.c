/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_ranks.c - compare the files of an archive with its rank2file.
 */
#include "archive/import_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"

static bool
is_ranks(const struct imported *f)
{
	return f->meta == DATASET_DIR_RANK2FILE ||
	       f->meta == DATASET_DIR_RANK2FILE_PART;
}

/* Read the archive's rank2file. */
static int
load_ranks(const struct imported *list, size_t count, struct rank2file *out,
	   struct error *err)
{
	struct rank2file_image *images = mem_calloc(count + 1, sizeof(*images));
	size_t n = 0;
	int rc = -1;

	if (images == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct put_what *what = put_what(list[i].put);

		if (is_ranks(&list[i]))
			images[n++] = (struct rank2file_image){
				path_base(what->path),
				what->image,
				what->image_size,
			};
	}
	rc = rank2file_load_images(images, n, RANK2FILE_FILE, out, err);
	mem_free(images);
	return rc;
}

/* Find a file of the rank2file in the archive, and mark it in `named`. */
static int
match(const struct imported *list, const struct map *by,
      const struct rank2file_file *f, bool *named, struct error *err)
{
	const size_t at = map_get(by, f->path);

	if (at == MAP_NONE)
		return error_set(
			err, ERROR_CORRUPT,
			"%s: named by its rank2file, but missing from the "
			"archive",
			str_shown(f->path));
	if (f->nsegs > 0 || (f->has_size && f->size != list[at].size))
		return error_set(err, ERROR_CORRUPT,
				 "%s: differs from its rank2file",
				 str_shown(f->path));
	named[at] = true;
	return 0;
}

int
import_check_ranks(const struct imported *list, size_t count, struct error *err)
{
	struct rank2file r = { .nranks = 0 };
	struct map *by = map_new();
	bool *named = mem_calloc(count + 1, sizeof(*named));
	int rc = by == NULL || named == NULL ? error_no_memory(err)
					     : load_ranks(list, count, &r, err);

	for (size_t i = 0; i < count && rc == 0; i++)
		if (map_put(by, list[i].path, i) < 0)
			rc = error_no_memory(err);
	for (size_t i = 0; i < r.nranks && rc == 0; i++)
		for (size_t k = 0; k < r.ranks[i].nfiles && rc == 0; k++)
			rc = match(list, by, &r.ranks[i].files[k], named, err);
	for (size_t i = 0; i < count && rc == 0 && named != NULL; i++)
		if (list[i].kind == PUT_FILE && !named[i])
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: not in its rank2file",
				       str_shown(list[i].path));
	if (r.arena != NULL)
		rank2file_free(&r);
	mem_free(named);
	map_free(by);
	return rc;
}
