/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers_text.c - containers as a line, a table and a map for the terminal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "container/segmap.h"
#include "mem.h"
#include "path.h"
#include "report/containers.h"
#include "report/table.h"
#include "str.h"
#include "style.h"

/* Rows shown of the table of damaged containers. */
#define DAMAGED_SHOWN 40

/* In the map, similar neighbours share a row if there are more than ALONE_MAX
 * containers.  At most ROWS_MAX rows are drawn. */
#define ALONE_MAX 40
#define ROWS_MAX 200

#define LABEL 18 /* columns of "  ctr.1000-1999   " */
#define STATE 16 /* of "  wrong checksum" */
#define WIDTH 80 /* if unknown */

/* --- A line, a table --- */

void
report_containers_head(const struct containers *k, struct buf *out)
{
	const struct packed *p = &k->packed;
	size_t files = 0;

	for (size_t i = 0; i < p->map.nfiles; i++)
		files += p->map.files[i].nsegs > 0;
	buf_printf(out, "  containers  %zu", p->map.ncontainers);
	if (p->map.container_size > 0)
		buf_printf(out, " of %s", str_size(p->map.container_size));
	buf_printf(out, ", %s in %zu %s", str_size(p->map.bytes),
		   str_count(files, "file"));
	if (p->hidden.map.ncontainers > 0)
		buf_printf(out, ", redundancy in %zu more",
			   p->hidden.map.ncontainers);
	if (p->hidden.map.nfiles > 0)
		buf_add_str(out, ", metadata packed too");
	if (p->map.moving)
		buf_add_str(out, "; a repack was interrupted");
	if (k->damaged > 0)
		buf_printf(out, "; %zu damaged", k->damaged);
	buf_add_char(out, '\n');
}

void
report_containers_table(const struct containers *k, bool all, struct buf *out)
{
	struct table t;
	size_t rows = 0, most = all ? SIZE_MAX : DAMAGED_SHOWN;

	table_start(&t, "CONTAINER|>SIZE|>FILL|>FILES|STATE");
	for (size_t i = 0; i < k->count; i++) {
		const struct container *c = &k->list[i];
		const char *state = container_state_name(c->state);
		uint64_t full = k->packed.map.container_size;

		if ((!all && c->state == CONTAINER_WHOLE) || rows++ >= most)
			continue;
		full = full < c->size ? c->size : full;
		table_name(&t, c->name);
		table_cells(&t, "%s\t%.1f %%\t%zu", str_size(c->size),
			    full > 0 ? 100.0 * (double)c->used / (double)full
				     : 0.0,
			    c->files);
		if (c->state == CONTAINER_SHORT || c->state == CONTAINER_LONG)
			table_cell(&t, "%s: %" PRIu64 " B, not %" PRIu64, state,
				   c->have, c->size);
		else
			table_cell(&t, "%s", state);
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
	if (rows > most)
		buf_printf(out, "  ... and %zu more (-v: all)\n", rows - most);
}

/* --- The map for the terminal --- */

enum look { LOOK_ODD, LOOK_EVEN, LOOK_MANY, LOOK_NONE, LOOK_BAD, LOOKS };

static const struct {
	const char *utf8, *ascii, *color, *meaning;
} looks[LOOKS] = {
	[LOOK_ODD] = { "\u2588", "#", "32", NULL },
	[LOOK_EVEN] = { "\u2592", "=", "36", "one file, the next" },
	[LOOK_MANY] = { "\u2591", "%", "34", "several small ones" },
	[LOOK_NONE] = { "\u00b7", ".", "2", "of no file" },
	[LOOK_BAD] = { "\u00d7", "X", "31", "missing or wrong" },
};

struct canvas {
	struct buf *out;
	const struct style *style;
	const struct containers *k;
	struct container_span *spans;
	size_t *first;			/* of containers_spans() */
	uint64_t room;			/* bytes of the largest container */
	unsigned cells;			/* its cells */
	const struct segmap_file *last; /* file of the last cell drawn */
	enum look shade;		/* its shade */
	bool seen[LOOKS];
};

static void
put_look(struct canvas *d, enum look l, unsigned count)
{
	const char *text = d->style->utf8 ? looks[l].utf8 : looks[l].ascii;

	if (count == 0)
		return;
	d->seen[l] = true;
	if (d->style->color)
		buf_printf(d->out, "\033[%sm", looks[l].color);
	for (; count > 0; count--)
		buf_add_str(d->out, text);
	if (d->style->color)
		buf_add_str(d->out, "\033[0m");
}

/* First byte of cell `i` of `n` in `size` bytes. */
static uint64_t
cell_start(uint64_t size, unsigned i, unsigned n)
{
	return size / n * i + size % n * i / n;
}

/* Choose the symbol for the bytes from `lo` to `hi`.  *at is the first span
 * that may reach them, and is advanced; `end` is the end of the container's
 * spans. */
static enum look
look_of(struct canvas *d, size_t *at, size_t end, uint64_t lo, uint64_t hi)
{
	const struct container_span *s = d->spans;
	const struct segmap_file *most = NULL, *last = NULL;
	uint64_t best = 0;
	unsigned files = 0;

	while (*at < end && s[*at].off + s[*at].len <= lo)
		++*at;
	for (size_t i = *at; i < end && s[i].off < hi; i++) {
		uint64_t from = s[i].off > lo ? s[i].off : lo;
		uint64_t to = s[i].off + s[i].len;

		to = to < hi ? to : hi;
		if (to <= from)
			continue;
		if (s[i].bad)
			return LOOK_BAD;
		files += s[i].file != last;
		last = s[i].file;
		if (to - from > best) {
			best = to - from;
			most = s[i].file;
		}
	}
	if (most == NULL)
		return LOOK_NONE;
	if (files > 2)
		return LOOK_MANY;
	if (d->last != most)
		d->shade = d->shade == LOOK_ODD ? LOOK_EVEN : LOOK_ODD;
	d->last = most;
	return d->shade;
}

/* Draw `n` cells of a container. */
static void
put_bar(struct canvas *d, size_t container, unsigned n)
{
	const uint64_t size = d->k->list[container].size;
	size_t at = d->first[container];
	enum look before = LOOK_NONE;
	unsigned run = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t lo = cell_start(size, i, n);
		uint64_t hi = cell_start(size, i + 1, n);
		enum look l = look_of(d, &at, d->first[container + 1], lo,
				      hi > lo ? hi : lo + 1);

		if (l != before) {
			put_look(d, before, run);
			run = 0;
		}
		before = l;
		run++;
	}
	put_look(d, before, run);
}

/* The last container of the row that begins with `i`: neighbours that look the
 * same share it. */
static size_t
row_end(const struct containers *k, size_t i)
{
	const struct container *c = &k->list[i];
	const bool folds =
		k->count > ALONE_MAX &&
		(c->state == CONTAINER_WHOLE || c->state == CONTAINER_MISSING);

	for (; folds && i + 1 < k->count &&
	       k->list[i + 1].redundancy == c->redundancy &&
	       k->list[i + 1].size == c->size &&
	       k->list[i + 1].state == c->state;)
		i++;
	return i;
}

/* The name without directory and ".scr": "ctr.0". */
static const char *
short_name(const struct container *c, char to[static 256])
{
	const char *base = path_base(c->name);

	str_printable(to, 256, base);
	if (segmap_is_container(base) && strlen(to) > 4)
		to[strlen(to) - 4] = '\0';
	return to;
}

static void
put_row(struct canvas *d, size_t first, size_t last)
{
	const struct container *c = &d->k->list[first];
	const double part = (double)c->size / (double)d->room;
	unsigned n = (unsigned)(part * d->cells + 0.999);
	char name[256], other[256];
	const char *number = NULL;
	size_t len = 0;

	n = n > d->cells ? d->cells : n;
	short_name(c, name);
	if (last > first)
		number = strrchr(short_name(&d->k->list[last], other), '.');
	if (number != NULL)
		str_print(name, sizeof(name), "%s-%s",
			  str_printed(128, "%s", name), number + 1);
	for (len = strlen(name); str_width(name, len) > LABEL - 4;)
		len--;
	buf_printf(d->out, "  %.*s%*s", (int)len, name,
		   LABEL - 2 - (int)str_width(name, len), "");
	if (last > first || c->state == CONTAINER_MISSING ||
	    c->state == CONTAINER_TYPE)
		put_look(d, c->state == CONTAINER_WHOLE ? LOOK_MANY : LOOK_BAD,
			 n);
	else
		put_bar(d, first, n);
	if (last > first)
		buf_printf(d->out, "%*s  %zu %s", (int)(d->cells - n), "",
			   last - first + 1, container_state_name(c->state));
	else if (c->state != CONTAINER_WHOLE)
		buf_printf(d->out, "%*s  %s", (int)(d->cells - n), "",
			   container_state_name(c->state));
	buf_add_char(d->out, '\n');
}

void
report_containers_map(const struct containers *k, const struct style *style,
		      struct buf *out)
{
	const unsigned width = style->width > 0 ? style->width : WIDTH;
	const unsigned beside =
		k->damaged > 0 || k->count > ALONE_MAX ? LABEL + STATE : LABEL;
	struct canvas d = { .out = out, .style = style, .k = k, .room = 1 };
	size_t rows = 0;

	d.spans = containers_spans(k, &d.first);
	d.cells = width > beside ? width - beside : 1;
	for (size_t i = 0; i < k->count; i++)
		d.room = k->list[i].size > d.room ? k->list[i].size : d.room;
	buf_printf(out, "  bytes by container (a full row: %s)\n",
		   str_size(d.room));
	for (size_t i = 0, last = 0; i < k->count; i = last + 1, rows++) {
		if (rows == ROWS_MAX) {
			buf_printf(out, "  ... and %zu more\n", k->count - i);
			break;
		}
		if (i > 0 && k->list[i].redundancy &&
		    !k->list[i - 1].redundancy)
			buf_add_str(out, "  and of the redundancy\n");
		last = row_end(k, i);
		put_row(&d, i, last);
	}
	/* The two shades are explained together. */
	d.seen[LOOK_EVEN] |= d.seen[LOOK_ODD];
	for (int l = LOOK_EVEN; l < LOOKS; l++) {
		if (!d.seen[l])
			continue;
		buf_printf(out, "%*s", LABEL, "");
		if (l == LOOK_EVEN) {
			put_look(&d, LOOK_ODD, 1);
			buf_add_char(out, ' ');
		}
		put_look(&d, (enum look)l, 1);
		buf_printf(out, " %s\n", looks[l].meaning);
	}
	mem_free(d.spans);
	mem_free(d.first);
}
