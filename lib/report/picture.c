/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/picture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/overview.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "report/svg.h"
#include "report/table.h"
#include "str.h"
#include "when.h"

/* Whole rows that look the same share a line from this number of ranks on. */
#define FOLD 2000

/* Lines of ranks, and ranks in a line. */
#define LINES_MAX 1000
#define PER_LINE 16

/* Rows of tables. */
#define ROWS_MAX 200

static const char css[] =
	":root{--whole:#1a7f37;--whole-bg:#dafbe1;--red:#7a4b00;"
	"--red-bg:#fff1c2;--reb:#9a3b00;--reb-bg:#ffd8b5;--lost-bg:#ffd7d9}\n"
	"@media(prefers-color-scheme:dark){:root{--whole:#7ee787;"
	"--whole-bg:#12361d;--red:#ffd966;--red-bg:#453600;--reb:#ffb077;"
	"--reb-bg:#56270a;--lost-bg:#5c1219}}\n"
	"body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);"
	"background:var(--paper);max-width:76em;margin:0 auto;padding:1em}\n"
	"h1{font-size:1.5em;margin:.2em 0;overflow-wrap:anywhere}"
	"h2{font-size:1.15em;margin:1.6em 0 .5em}"
	"p{margin:.4em 0}.dim{color:var(--dim)}"
	"code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\n"
	".state{display:inline-block;padding:.1em .7em;border-radius:1em;"
	"font-weight:600}"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;"
	"margin:.8em 0}dt{color:var(--dim)}"
	"dd{margin:0;grid-column:2;overflow-wrap:anywhere}"
	".w{color:var(--whole);background:var(--whole-bg)}"
	".d{color:var(--red);background:var(--red-bg)}"
	".r{color:var(--reb);background:var(--reb-bg)}"
	".l{color:var(--lost);background:var(--lost-bg);font-weight:700}\n"
	".scroll{overflow-x:auto}"
	"table{border-collapse:collapse;font-size:.93em}"
	"td,th{border-top:1px solid var(--line);padding:.2em .7em;"
	"text-align:left;vertical-align:top}"
	"summary{cursor:pointer;color:var(--mark);font-size:1.1em;"
	"margin:1em 0 .4em}"
	"@media(max-width:32em){dl{grid-template-columns:1fr}dd{margin-bottom:.4em;grid-column:1}"
	"td,th{padding:.2em .3em}}\n";

/* A narrow blank: without it "28" and a circle are "280". */
#define NARROW "\xe2\x80\xaf"

/* By report_cell_state: class, and the sign behind the number of the rank. */
static const struct {
	const char *style, *sign;
} looks[] = {
	[REPORT_WHOLE] = { "w", "" },
	[REPORT_REDUNDANCY] = { "d", NARROW "+" },
	[REPORT_REBUILD] = { "r", NARROW "\xe2\x97\x8b" }, /* a circle */
	[REPORT_LOST] = { "l", NARROW "\xe2\x9c\x95" },	   /* a cross */
};

/* --- Facts --- */

/* The labelled lines of the report, and what a page has to say that leaves its
 * prefix. */
static void
put_facts(const struct condition *h, const struct overview *s, struct buf *out)
{
	struct buf text = BUF_INIT, path = BUF_INIT;
	const char *at = NULL, *line = NULL;
	size_t len = 0;

	report_facts(h, &text);
	if (s == NULL && h->group->job != NULL)
		buf_printf(&text, "  job         %s\n",
			   str_shown(h->group->job));
	if (s != NULL)
		buf_printf(&text, "  prefix      %s\n",
			   str_shown(path_absolute(catalogue_path(s->catalogue),
						   &path, NULL) == 0
					     ? path.data
					     : catalogue_path(s->catalogue)));
	if (h->entry != NULL)
		buf_printf(&text, "  index       %s\n",
			   h->entry->current   ? "the next job restarts from it"
			   : h->entry->valid   ? "listed"
			   : h->entry->indexed ? h->entry->reason
					       : "not listed");
	buf_printf(&text,
		   "  reported    %s UTC, by scrkit " SCRKIT_VERSION "\n",
		   when_utc(clock_now()));
	buf_add_str(out, "<dl>\n");
	at = text.data;
	(void)str_line(&at, &len); /* the name */
	while ((line = str_line(&at, &len)) != NULL) {
		const size_t from =
			len > REPORT_LABEL && memcmp(line + REPORT_LABEL - 2,
						     "  ", 2) == 0
				? REPORT_LABEL
				: 2;

		if (from == REPORT_LABEL)
			buf_printf(out, "<dt>%.*s</dt>",
				   (int)(strstr(line + 2, "  ") - line - 2),
				   line + 2);
		buf_add_str(out, "<dd>");
		svg_escaped(out, str_printed(STR_SHOWN, "%.*s",
					     (int)(len - from), line + from));
		buf_add_str(out, "</dd>\n");
	}
	buf_add_str(out, "</dl>\n");
	buf_free(&text);
	buf_free(&path);
}

/* --- Ranks --- */

static void
put_tip(const void *arg, const struct svg_item *s, struct buf *out)
{
	const struct plan *p = arg;
	const struct ranks_cell *c = s->of;

	if (c == NULL) { /* several rows */
		buf_add_str(out, s->text);
		return;
	}
	buf_printf(out, "rank %" PRIu32 ": %s", c->rank,
		   ranks_state_name(p, c->state));
	if (c->set != PLAN_NONE)
		buf_printf(out, ", set %" PRIu32, p->sets[c->set].number);
}

/* "node 3", "sets 4-9": rows `from` to `to`. */
static const char *
rows_name(const struct ranks *r, size_t from, size_t to, char name[static 64])
{
	const struct ranks_row *a = &r->rows[from];
	const char *what = r->nodes ? "node" : "set";

	if (a->number == RANKS_ALONE)
		return r->nodes ? "unknown" : "each by itself";
	if (to > from)
		return str_print(name, 64, "%ss %" PRIu64 "-%" PRIu64, what,
				 a->number, r->rows[to].number);
	return str_print(name, 64, "%s %" PRIu64, what, a->number);
}

/* A row of ranks, in lines. */
static void
put_row(struct svg *d, const struct ranks *r, const struct ranks_row *row,
	struct svg_row line)
{
	char texts[PER_LINE][24];
	struct svg_item items[PER_LINE];

	line.items = items;
	for (size_t k = 0; k < row->count; k += line.count) {
		line.count =
			row->count - k < PER_LINE ? row->count - k : PER_LINE;
		for (size_t i = 0; i < line.count; i++) {
			const struct ranks_cell *c =
				&r->cells[row->first + k + i];

			items[i] = (struct svg_item){
				.of = c,
				.off = i,
				.len = 1,
				.style = looks[c->state].style,
				.text = str_print(texts[i], sizeof(texts[i]),
						  "%" PRIu32 "%s", c->rank,
						  looks[c->state].sign),
			};
		}
		svg_row(d, &line);
		line.label = "";
	}
}

/* Draw the ranks; first the rows that are not whole. */
static void
put_ranks(const struct condition *h, const struct overview *s, bool alone,
	  struct buf *out)
{
	const char *title = h->entry != NULL && h->entry->name != NULL
				    ? str_shown(h->entry->name)
				    : "";
	struct svg d = {
		.width = 860,
		.left = 14,
		.wide = 82,
		.bar = 20,
		.tip = put_tip,
		.arg = h->plan,
	};
	struct svg_key keys[REPORT_LOST + 1];
	struct ranks r;
	size_t lines = 0, rows = 0, last = 0, n = 0, nkeys = 0;
	bool vital = false; /* is it known what must not be lost next? */
	char name[64], counts[REPORT_LOST + 1][64];

	ranks_init(&r, h->plan, s != NULL ? s->nodes : -1);
	vital = r.nodes &&
		(h->status == STATUS_OK || h->status == STATUS_DAMAGED);
	if (alone)
		svg_text(&d, "head", "dataset %" PRId64 "  %s  %s", h->id,
			 title, condition_state(h));
	for (int i = 0; i <= REPORT_LOST; i++)
		if (r.states[i] > 0)
			keys[nkeys++] = (struct svg_key){
				looks[i].style,
				str_print(counts[i], sizeof(counts[i]),
					  "%zu%s %s", r.states[i],
					  looks[i].sign,
					  ranks_state_name(
						  r.p,
						  (enum report_cell_state)i)),
			};
	svg_keys(&d, keys, nkeys);
	if (vital && r.vital_rows == 0)
		svg_text(&d, "",
			 "The files of any one node may be lost: the "
			 "others can restore them.");
	else if (vital && r.vital_rows == r.nrows)
		svg_text(&d, "",
			 "If the files of any node are lost now, the "
			 "dataset is lost.");
	else if (vital)
		svg_text(&d, "",
			 "If the files of a node marked ! are lost now (%zu of "
			 "%zu), the dataset is lost.",
			 r.vital_rows, r.nrows);
	if (!r.nodes)
		svg_text(&d, "dim",
			 "Which ranks shared a node is not recorded.");
	for (size_t k = 0; k < 2 * r.nrows && lines < LINES_MAX; k++) {
		const size_t i = k % r.nrows;
		const struct ranks_row *row = &r.rows[i];
		struct svg_row line = {
			.label = name,
			.state = "",
			.room = PER_LINE,
		};

		if (row->whole != (k >= r.nrows))
			continue;
		/* The rows that look the same and can share a line. */
		last = i;
		n = row->count;
		while (r.ncells > FOLD && row->whole && last + 1 < r.nrows &&
		       r.rows[last + 1].whole &&
		       (!vital || r.rows[last + 1].vital == row->vital))
			n += r.rows[++last].count;
		str_print(name, sizeof(name), "%s%s",
			  vital && row->vital ? "! " : "",
			  rows_name(&r, i, last, (char[64]){ 0 }));
		if (last == i && row->name != NULL)
			svg_text(&d, "dim", "%s", str_shown(row->name));
		if (last > i) {
			const struct svg_item all = {
				.len = PER_LINE,
				.style = "w",
				.text = str_printed(64, "%zu ranks, all whole",
						    n),
			};

			line.items = &all;
			line.count = 1;
			svg_row(&d, &line);
		} else {
			put_row(&d, &r, row, line);
		}
		lines += last > i ? 1 : (n + PER_LINE - 1) / PER_LINE;
		rows += last + 1 - i;
		k += last - i;
	}
	if (rows < r.nrows)
		svg_text(&d, "dim", "and %zu more", r.nrows - rows);
	svg_end(&d, alone ? "ranks of a dataset" : NULL, out);
	ranks_free(&r);
}

/* --- The page --- */

void
picture_table(struct buf *out, const char *summary, bool open, struct table *t)
{
	const bool any = table_rows(t) > 0;

	if (any)
		buf_printf(out, "<details%s><summary>%s</summary>\n",
			   open ? " open=\"open\"" : "", summary);
	table_html(t, ROWS_MAX, out);
	if (any)
		buf_add_str(out, "</details>\n");
}

static void
put_head(struct buf *out, const char *title)
{
	buf_printf(out,
		   "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		   "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
		   "content=\"width=device-width,initial-scale=1\"/>\n"
		   "<title>%s</title>\n<style>%s%s</style></head><body>\n"
		   "<h1>%s</h1>\n",
		   title, svg_css, css, title);
}

/* Append the page.  Many whole rows share a line, so that it stays readable at
 * 10,000 ranks. */
static int
put_page(const struct condition *h, const struct overview *s, struct buf *out,
	 struct error *err)
{
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	const char *style = h->status == STATUS_OK	  ? "w"
			    : h->status == STATUS_DAMAGED ? "r"
			    : h->status == STATUS_LOST	  ? "l"
							  : "d";
	char title[SVG_SHOWN + 64];
	struct table t;
	size_t more = 0;

	snprintf(title, sizeof(title), "Dataset %" PRId64 "%s%s", h->id,
		 name != NULL ? ": " : "", name != NULL ? svg_shown(name) : "");
	put_head(out, title);
	buf_printf(out, "<p><span class=\"state %s\">%s</span> %s</p>\n", style,
		   condition_state(h), svg_shown(h->why));
	if (h->next[0] != '\0') {
		buf_add_str(out, "<p>next: <code>");
		svg_escaped(out, h->next);
		buf_add_str(out, "</code></p>\n");
	}
	put_facts(h, s, out);
	if (h->plan != NULL) {
		buf_add_str(out, "<h2>Ranks</h2>\n<div class=\"scroll\">");
		put_ranks(h, s, false, out);
		buf_add_str(out, "</div>\n");
		report_sets(h->plan, true, &t);
		picture_table(out, "Redundancy sets", h->plan->nsets <= 16, &t);
		more = report_files(h->plan, false, ROWS_MAX, &t);
		picture_table(out,
			      str_printed(600, "Missing or wrong: %s",
					  report_lacks(h->plan)),
			      false, &t);
		if (more > 0)
			buf_printf(out, "<p class=\"dim\">and %zu more</p>\n",
				   more);
	}
	if (h->containers != NULL) {
		buf_add_str(out, "<h2>Containers</h2>\n<div class=\"scroll\">");
		report_svg(h, false, out);
		buf_add_str(out, "</div>\n");
	}
	if (s != NULL &&
	    timeline_html(catalogue_scr_fd(s->catalogue), h->id, out, err) < 0)
		return -1;
	buf_add_str(out, "<p class=\"dim\">made by scr_inspect --html</p>\n"
			 "</body></html>\n");
	return 0;
}

/* --- Files --- */

int
picture_save(const char *path, const struct buf *text, struct error *err)
{
	if (str_eq(path, "-")) {
		fwrite(text->data, 1, text->len, stdout);
		return 0;
	}
	if (io_check_output(path, err) < 0)
		return -1;
	return io_replace(AT_FDCWD, path, text->data, text->len, 0666, err);
}

int
picture_write(const char *svg, const char *html, const struct condition *h,
	      const struct overview *s, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = 0;

	if (svg != NULL && h->containers == NULL &&
	    (h->plan == NULL || h->plan->nranks <= 0))
		return error_set(
			err, ERROR_USAGE,
			"dataset %" PRId64 ": no containers to draw: %s", h->id,
			h->plan == NULL && h->why[0] != '\0'
				? h->why
				: "it is not packed");
	/* The containers of a packed dataset, else its ranks. */
	if (svg != NULL && h->containers != NULL)
		report_svg(h, true, &text);
	else if (svg != NULL)
		put_ranks(h, s, true, &text);
	if (svg != NULL)
		rc = picture_save(svg, &text, err);
	buf_clear(&text);
	if (rc == 0 && html != NULL)
		rc = put_page(h, s, &text, err) < 0
			     ? -1
			     : picture_save(html, &text, err);
	buf_free(&text);
	return rc;
}

int
picture_runs(const char *html, struct joblog *g, const char *id, const char *of,
	     const struct buf *text, struct error *err)
{
	struct buf page = BUF_INIT;
	int rc = 0;

	put_head(&page,
		 str_printed(SVG_SHOWN + 16, "Runs of %s", svg_path(of)));
	timeline_runs(g, id, 0, &page);
	buf_add_str(&page, "<div class=\"scroll\"><pre>");
	svg_escaped(&page, text->data != NULL ? text->data : "");
	buf_add_str(&page, "</pre></div>\n"
			   "<p class=\"dim\">made by scr_env log --html</p>\n"
			   "</body></html>\n");
	rc = picture_save(html, &page, err);
	buf_free(&page);
	return rc;
}
