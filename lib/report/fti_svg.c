/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_svg.c - an FTI-FF file as an SVG picture: the whole file as a row, a row
 * for each block with its containers, and a list of the variables.
 *
 * Small containers that are neighbours share a box, and blocks share rows if
 * there are many.
 */
#include <inttypes.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "mem.h"
#include "path.h"
#include "report/fti.h"
#include "report/svg.h"
#include "str.h"

/* Rows of blocks, and lines of variables. */
#define ROWS_MAX 32
#define VARIABLES_MAX 48

/* What tooltips tell about. */
struct drawing {
	const struct fti_file *f;
	const char **states; /* by container */
	size_t per;	     /* blocks of a row */
	/* by container; its place is in its row */
	struct svg_item *items;
};

static uint64_t
sum(int64_t bytes)
{
	return bytes < 0 ? 0 : (uint64_t)bytes;
}

/* "block 0", "blocks 0-3": those of a row. */
static const char *
row_name(const struct drawing *g, size_t first, char to[static 64])
{
	const size_t last = first + g->per < g->f->nblocks ? first + g->per - 1
							   : g->f->nblocks - 1;

	return last > first ? str_print(to, 64, "blocks %zu-%zu", first, last)
			    : str_print(to, 64, "block %zu", first);
}

static void
put_block_tip(const void *arg, const struct svg_item *s, struct buf *out)
{
	const struct drawing *g = arg;
	const struct fti_file_block *b = s->of;
	char name[64];

	buf_add_str(out, row_name(g, (size_t)(b - g->f->blocks), name));
}

static void
put_tip(const void *arg, const struct svg_item *s, struct buf *out)
{
	const struct drawing *g = arg;
	const struct fti_file_container *c = s->of;
	const struct fti_container *k = &c->c;
	const char *state = g->states[c - g->f->containers];

	buf_printf(out,
		   "variable %" PRId32 ", container %" PRId32
		   ", at byte %" PRIu64 "\n%" PRId64 " bytes, %" PRId64
		   " in use: bytes %" PRIu64 " to %" PRIu64
		   " of the variable%s%s",
		   k->id, k->part, k->fptr, k->size, k->used, k->dptr,
		   k->dptr + sum(k->used), state[0] != '\0' ? "\n" : "", state);
}

/* The rows: what each takes of the file, and its containers. */
static void
put_rows(struct svg *d, const struct drawing *g)
{
	const struct fti_file *f = g->f;
	const size_t nrows = (f->nblocks + g->per - 1) / g->per;
	struct svg_item *all = mem_calloc(nrows + 1, sizeof(*all));
	struct svg_row *rows = mem_calloc(nrows + 1, sizeof(*rows));
	const struct svg_row file = {
		.label = str_printed(64, "the file: %zu %s",
				     str_count(f->nblocks, "block")),
		.ground = "meta",
		.tip = "records",
		.size = UINT64_MAX,
		.room = f->size > 0 ? f->size : 1,
		.items = all,
		.count = nrows,
	};
	uint64_t widest = 1;
	char name[64];

	for (size_t i = 0; i < nrows; i++) {
		const struct fti_file_block *b = &f->blocks[i * g->per];
		const size_t next = (i + 1) * g->per;
		const size_t first = b->first;
		const size_t end = next < f->nblocks ? f->blocks[next].first
						     : f->ncontainers;
		struct svg_item *is = &all[i];

		*is = (struct svg_item){ .of = b, .style = "many" };
		if (end > first)
			is->off = f->containers[first].c.fptr;
		for (size_t k = first; k < end; k++) {
			g->items[k].off = is->len;
			is->len += g->items[k].len;
			is->used += g->items[k].used;
		}
		rows[i].items = &g->items[first];
		rows[i].count = end - first;
		widest = is->len > widest ? is->len : widest;
	}
	d->tip = put_block_tip;
	svg_row(d, &file);
	d->tip = put_tip;
	d->thin = 0.4;
	for (size_t i = 0; i < nrows; i++) {
		rows[i].room = widest;
		rows[i].label = str_printed(
			256, "%s: %zu %s, %s of %s in use",
			row_name(g, i * g->per, name),
			str_count(rows[i].count, "container"),
			str_size(all[i].used), str_size(all[i].len));
		svg_row(d, &rows[i]);
	}
	mem_free(all);
	mem_free(rows);
}

int
report_fti_svg(const struct fti_checked *c, struct buf *out, struct error *err)
{
	static const struct svg_key keys[] = {
		{ "many", "in use" },
		{ "many pale", "reserved" },
		{ "meta", "records" },
		{ "bad", "damaged" },
	};
	const struct fti_file *f = c->file;
	struct drawing g = { .f = f, .per = 1 };
	struct arena *texts = NULL;
	struct svg d = {
		.left = SVG_MARGIN,
		.wide = 100 - 2 * SVG_MARGIN,
		.bar = 24,
		.mixed = "many",
		.pale = true,
		.arg = &g,
		.items = "containers",
		.wrong = "damaged",
	};

	if (f->kind != FTI_KIND_DATA)
		return error_set(err, ERROR_USAGE,
				 "%s: no blocks to draw: it is %s", f->name,
				 f->kind == FTI_KIND_PARITY
					 ? "a file of parity"
					 : "not an FTI-FF file");
	if (!f->usable)
		return error_set(err, ERROR_CORRUPT,
				 "%s: cannot draw it: its structure is damaged",
				 f->name);
	texts = arena_new();
	g.items = mem_calloc(f->ncontainers + 1, sizeof(*g.items));
	g.states = report_fti_container_states(c);
	if (f->nblocks > ROWS_MAX)
		g.per = (f->nblocks + ROWS_MAX - 1) / ROWS_MAX;
	for (size_t i = 0; i < f->nvars; i++)
		for (size_t k = f->vars[i].first; k != SIZE_MAX;
		     k = f->containers[k].next)
			g.items[k].style = svg_hue(i);
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;
		struct svg_item *is = &g.items[i];

		is->of = &f->containers[i];
		is->len = sum(k->size);
		is->used = sum(k->used);
		is->bad =
			g.states[i][0] != '\0' && !str_eq(g.states[i], "empty");
		is->text = arena_printf(texts, "%" PRId32, k->id);
		if (is->style == NULL)
			is->style = svg_hue(0);
	}
	svg_text(&d, "head", "%s", str_shown(path_base(f->name)));
	svg_text(&d, "dim", "layout %s (FTI %s), %s",
		 fti_format(f->layout)->letter, fti_format(f->layout)->versions,
		 str_size(f->size));
	svg_text(&d, c->verdict == FTI_DAMAGED ? "alarm" : "dim", "%s",
		 fti_verdict_names[c->verdict]);
	svg_text(&d, "dim", "%s of %s in use (%.0f %%)", str_size(f->live),
		 str_size(f->allocated),
		 f->allocated == 0
			 ? 100.0
			 : 100.0 * (double)f->live / (double)f->allocated);
	svg_keys(&d, keys, sizeof(keys) / sizeof(keys[0]));
	put_rows(&d, &g);
	for (size_t i = 0; i < f->nvars && i < VARIABLES_MAX; i++) {
		const struct fti_var *v = &f->vars[i];
		const struct svg_key key = {
			svg_hue(i),
			str_printed(256, "variable %" PRId32 ": %s in %zu %s",
				    v->id, str_size(v->size),
				    str_count(v->parts, "container")),
		};

		svg_keys(&d, &key, 1);
	}
	if (f->nvars > VARIABLES_MAX)
		svg_text(&d, "dim", "and %zu more variables",
			 f->nvars - VARIABLES_MAX);
	svg_end(&d, f->name, out);
	arena_free(texts);
	mem_free(g.items);
	mem_free(g.states);
	return 0;
}
