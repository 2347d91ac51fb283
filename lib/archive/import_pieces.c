/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_pieces.c - are pieces of an archive the whole dataset?
 *
 * The last piece has the manifest of all files.  Those of pieces that were
 * imported before are on the prefix: they are read again.
 */
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
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "work.h"

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

/* Compare a file on the prefix with its sum. */
static int
check_file(void *import, size_t i, unsigned worker, struct error *err)
{
	const struct import *x = import;
	struct imported *f = &x->list[put_count(x->put) + i];
	struct error why = ERROR_INIT;
	const int fd = path_open_beneath(catalogue_prefix_fd(x->c), f->path,
					 O_RDONLY | O_NONBLOCK, 0, &why);
	struct hash *h = NULL;
	unsigned char *block = NULL;
	char sum[HASH_TEXT];
	struct stat st;
	ssize_t n = 0;
	int rc = -1;

	(void)worker;
	if (fd < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	if (fstat(fd, &st) < 0)
		error_sys(err, "%s: cannot stat", f->path);
	else if (!S_ISREG(st.st_mode))
		rc = 0;
	else if ((h = hash_new(HASH_SHA256, err)) != NULL)
		rc = 1;
	block = rc > 0 ? mem_alloc(IMPORT_STEP, 1) : NULL;
	while (rc > 0 && (n = read(fd, block, IMPORT_STEP)) > 0) {
		hash_update(h, block, (size_t)n);
		f->size += (uint64_t)n;
		work_moved(&x->o->work, (uint64_t)n);
		if (work_go_on(&x->o->work, err) < 0)
			rc = -1;
	}
	if (n < 0)
		rc = error_sys(err, "%s: cannot read", f->path);
	if (rc > 0) {
		hash_text(h, sum);
		f->right = str_eq(sum, f->sum);
	}
	hash_free(h);
	mem_free(block);
	io_close(fd);
	return rc < 0 ? -1 : 0;
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

	for (size_t i = 0; i < x->count; i++)
		if (!str_eq(path_base(x->list[i].path), DATASET_DIR_MANIFEST) ||
		    x->list[i].kind == PUT_FILE)
			if (import_compare(m, &x->list[i], err) < 0)
				return error_wrap(err, DATASET_DIR_MANIFEST);
	for (size_t i = 0; i < m->count; i++) {
		struct imported f = { .path = m->entries[i].path };

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

int
import_check_pieces(struct import *x, struct error *err)
{
	const size_t read = put_count(x->put);

	x->out.given = numbers(x, true);
	x->out.lacking = numbers(x, false);
	x->out.last = x->last;
	if (x->manifest == NULL)
		return 0;
	if (add_others(x, err) < 0)
		return -1;
	progress_phase(x->o->work.progress, "comparing", 0);
	if (par_for(x->o->work.par, x->count - read, 1, check_file, x, err) < 0)
		return -1;
	for (size_t i = read; i < x->count; i++)
		if (!x->list[i].right)
			miss(x, &x->list[i]);
	x->out.complete = x->out.missing == 0;
	if (!x->out.complete)
		x->count = read;
	for (size_t i = read; i < x->count; i++) {
		map_put(x->by_path, x->list[i].path, i);
		x->out.files++;
		x->out.same++;
		x->out.bytes += x->list[i].size;
	}
	return 0;
}
