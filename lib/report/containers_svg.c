/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers_svg.c - the containers of a dataset as an SVG picture: a row for
 * each container, a box for each range of a file, with a tooltip that names the
 * file.
 */
#include <inttypes.h>

#include "buf.h"
#include "mem.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/svg.h"
#include "report/xml.h"
#include "str.h"

/* Limits: boxes (approximate), rows, containers with a row each. */
#define BOXES_MAX 20000
#define ROWS_MAX 1000
#define ALONE_MAX 200

#define LABEL_MAX 18 /* characters left of a row */

static void
put_tip(const void *arg, const struct svg_item *item, struct buf *out)
{
	const struct container_picture *p = arg;
	const struct container_span *s = item->of;

	buf_printf(out,
		   "%s\nrank %" PRIu32 ", %" PRIu64 " bytes from byte %" PRIu64
		   " of %" PRIu64 " at offset %" PRIu64 " of %s%s",
		   xml_path(s->file->path), s->file->rank, s->len, s->at,
		   s->file->size, s->off,
		   xml_path(p->k->list[s->container].name),
		   s->bad ? "\nmissing or wrong" : "");
}

static void
put_row(struct svg *d, const struct container_row *r,
	const struct svg_item *items)
{
	const struct container_picture *p = d->arg;
	const struct container *c = &p->k->list[r->first];
	const bool shared = r->last > r->first;
	char name[256], state[64];
	struct buf tip = BUF_INIT;
	size_t files = 0;
	struct svg_row row = {
		.label = container_row_name(p->k, r, LABEL_MAX, name,
					    sizeof(name)),
		.state = container_row_state(p->k, r, state, sizeof(state)),
		.alarm = c->state != CONTAINER_WHOLE,
		/* Files are drawn over the container, so what stays visible
		 * belongs to no file. */
		.ground = !shared			? "none"
			  : c->state == CONTAINER_WHOLE ? "many"
							: "bad",
		.size = c->size,
		.room = p->room,
		.items = &items[p->first[r->first]],
		.count = shared ? 0
				: p->first[r->first + 1] - p->first[r->first],
	};

	for (size_t i = r->first; i <= r->last; i++)
		files += p->k->list[i].files;
	buf_add_str(&tip, xml_path(c->name));
	if (shared)
		buf_printf(&tip, " to %s", xml_path(p->k->list[r->last].name));
	buf_printf(&tip, "\n%s%" PRIu64 " bytes, parts of %zu %s\n%s",
		   shared ? "each " : "", c->size, str_count(files, "file"),
		   container_state_name(c->state));
	row.tip = tip.data;
	svg_row(d, &row);
	buf_free(&tip);
}

void
report_svg(const struct condition *h, bool alone, struct buf *out)
{
	static const struct svg_key keys[] = {
		{ "h0", "files, one colour for a rank" },
		{ "many", "small files, or containers" },
		{ "none", "of no file" },
		{ "bad", "missing or wrong" },
	};
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	const char *title = str_printed(512, "dataset %" PRId64 "  %s", h->id,
					name != NULL ? name : "");
	struct container_picture p;
	struct svg d = {
		.width = 1200,
		.left = 12.5,
		.wide = 71.5,
		.bar = 18,
		.mixed = "many",
		.shades = true,
		.tip = put_tip,
		.arg = &p,
		.items = "parts of files",
		.wrong = "missing or wrong",
	};
	struct svg_item *items = NULL;
	struct buf line = BUF_INIT;
	size_t n = 0;

	container_picture(h->containers, ALONE_MAX, ROWS_MAX, &p);
	n = p.first[p.k->count];
	items = mem_calloc(n + 1, sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[i] = (struct svg_item){
			.of = &p.spans[i],
			.off = p.spans[i].off,
			.len = p.spans[i].len,
			.style = svg_hue(p.spans[i].file->rank),
			.bad = p.spans[i].bad,
		};
	/* As few share a box as the number of boxes allows. */
	while (svg_boxes(&d, items, n, p.room) > BOXES_MAX)
		d.thin = d.thin > 0 ? 2 * d.thin : 0.25;
	report_containers_line(p.k, &line);
	if (alone)
		svg_text(&d, "head", "%s", str_shown(title));
	svg_text(&d, "", "containers: %s; a full row: %s", line.data,
		 str_size(p.room));
	buf_free(&line);
	svg_keys(&d, keys, sizeof(keys) / sizeof(keys[0]));
	for (size_t i = 0; i < p.shown; i++) {
		if (p.rows[i].section)
			svg_text(&d, "", "redundancy");
		put_row(&d, &p.rows[i], items);
	}
	if (p.more > 0)
		svg_text(&d, "", "... and %zu more containers", p.more);
	svg_end(&d, alone ? title : NULL, out);
	mem_free(items);
	container_picture_free(&p);
}
