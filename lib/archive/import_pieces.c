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

static void
miss(struct import *x, const struct imported *f)
{
	if (x->out.missing++ == 0)
		x->out.first = f->path;
	x->out.missing_hidden += f->kind != PUT_FILE;
}

/* Add what is not in the pieces to the list.  Metadata are not looked for: what
 * is there may be those of another dataset. */
int
import_add_others(struct import *x, struct error *err)
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
			.perhaps = true,
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

void
import_judge(struct import *x)
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
