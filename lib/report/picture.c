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
#include "num.h"
#include "path.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "report/xml.h"
#include "str.h"
#include "when.h"

/* Whole rows that look the same share a line from this number of ranks on; so
 * do equal cells of a row. */
#define FOLD 2000
#define FOLD_CELLS 24

/* Lines of the map, of the table of sets and of the list of files. */
#define LINES_MAX 1000
#define SETS_MAX 200
#define FILES_MAX 200

static const char css[] =
	":root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;"
	"--paper:#fff;--line:#d1d9e0;--whole:#1a7f37;--whole-bg:#dafbe1;"
	"--red:#7a4b00;--red-bg:#fff1c2;--reb:#9a3b00;--reb-bg:#ffd8b5;"
	"--lost:#b00020;--lost-bg:#ffd7d9;--mark:#0969da}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;"
	"--paper:#0d1117;--line:#3d444d;--whole:#7ee787;--whole-bg:#12361d;"
	"--red:#ffd966;--red-bg:#453600;--reb:#ffb077;--reb-bg:#56270a;"
	"--lost:#ff9aa2;--lost-bg:#5c1219;--mark:#4493f8}}\n"
	"body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);"
	"background:var(--paper);max-width:76em;margin:0 auto;padding:1em}\n"
	"h1{font-size:1.5em;margin:.2em 0;overflow-wrap:anywhere}"
	"h2{font-size:1.15em;margin:1.6em 0 .5em}"
	"p{margin:.4em 0}.dim{color:var(--dim)}"
	"code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\n"
	".state{display:inline-block;padding:.1em .7em;border-radius:1em;"
	"font-weight:600}"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;"
	"margin:.8em 0}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}"
	"\n.row{display:flex;gap:.6em;border-top:1px solid var(--line);"
	"padding:3px 0}.row>span{flex:0 0 7.5em;overflow-wrap:anywhere}"
	".row>div{display:flex;flex-wrap:wrap;gap:2px;align-items:start}"
	".vital>span::after{content:\" !\";color:var(--lost);font-weight:700}"
	"\n.c{font:11px/18px ui-monospace,monospace;min-width:2.6em;"
	"text-align:center;padding:0 3px;border-radius:3px}"
	".w{color:var(--whole);background:var(--whole-bg)}"
	".d{color:var(--red);background:var(--red-bg)}"
	".r{color:var(--reb);background:var(--reb-bg)}"
	".l{color:var(--lost);background:var(--lost-bg);font-weight:700}\n"
	".scroll{overflow-x:auto}.scroll svg{background:#fff}"
	"table{border-collapse:collapse;font-size:.93em}"
	"td,th{border-top:1px solid var(--line);padding:.2em .7em;"
	"text-align:left;vertical-align:top}"
	"summary{cursor:pointer;color:var(--mark)}"
	"@media(max-width:32em){.row>span{flex-basis:4.6em}"
	"dl{grid-template-columns:1fr}dd{margin-bottom:.4em}"
	"td,th{padding:.2em .3em}}\n";

/* Pixels, cells in a line, and lines. */
#define LEFT 140
#define TOP 84
#define CELL 13
#define PITCH 15
#define PER_LINE 64
#define SVG_LINES 2000

/* A blank at which no line ends: without it "28" and a circle are "280". */
#define NARROW "\xe2\x80\xaf"

/* By report_cell_state: class, and the sign behind the number of the rank; and
 * the colour in an SVG. */
static const struct {
	const char *style, *sign, *fill;
} looks[] = {
	[REPORT_WHOLE] = { "w", "", "#2e9e4f" },
	[REPORT_REDUNDANCY] = { "d", NARROW "+", "#e0b400" },
	[REPORT_REBUILD] = { "r", NARROW "\xe2\x97\x8b", /* a circle */
			     "#e8772e" },
	[REPORT_LOST] = { "l", NARROW "\xe2\x9c\x95", /* a cross */
			  "#c8102e" },
};

/* --- Head --- */

static void
put_fact(struct buf *out, const char *key, const char *value)
{
	if (value != NULL && value[0] != '\0')
		buf_printf(out, "<dt>%s</dt><dd>%s</dd>\n", key,
			   xml_shown(value));
}

static void
put_facts(const struct condition *h, const struct overview *s, struct buf *out)
{
	const struct dataset *d = h->entry != NULL ? &h->entry->desc : NULL;
	struct buf path = BUF_INIT;

	buf_add_str(out, "<dl>\n");
	if (s == NULL)
		put_fact(out, "job", h->group->job);
	else
		put_fact(out, "prefix",
			 path_absolute(catalogue_path(s->catalogue), &path,
				       NULL) == 0
				 ? path.data
				 : catalogue_path(s->catalogue));
	buf_free(&path);
	if (d != NULL && d->id > 0) {
		put_fact(out, "kind",
			 d->is_ckpt && d->is_output ? "checkpoint and output"
			 : d->is_output		    ? "output"
						    : "checkpoint");
		if (d->created_us > 0)
			put_fact(
				out, "created",
				str_printed(48, "%s UTC",
					    when_utc(d->created_us / 1000000)));
		put_fact(out, "user", d->user);
		put_fact(out, "job", d->job_id);
	}
	if (h->entry != NULL)
		put_fact(out, "index",
			 h->entry->current   ? "the next job restarts from it"
			 : h->entry->valid   ? "listed"
			 : h->entry->indexed ? h->entry->reason
					     : "not listed");
	if (h->plan != NULL) {
		put_fact(out, "size",
			 str_printed(128, "%" PRId64 " ranks, %zu %s, %s",
				     h->plan->nranks,
				     str_count(h->plan->nfiles, "file"),
				     str_size(h->plan->bytes)));
		put_fact(out, "redundancy", report_scheme(h->plan));
		if (report_may_lose(h->plan, h->status))
			put_fact(out, "tolerates",
				 report_spare(h->plan, false));
	}
	put_fact(out, "reported",
		 str_printed(128, "%s UTC, by scrkit " SCRKIT_VERSION,
			     when_utc(clock_now())));
	buf_add_str(out, "</dl>\n");
}

/* --- Ranks --- */

static void
put_row_number(const struct ranks *r, const struct ranks_row *row,
	       struct buf *out)
{
	if (row->number == RANKS_ALONE)
		buf_add_str(out, r->nodes ? "unknown" : "each by itself");
	else
		buf_printf(out, "%s %" PRIu64, r->nodes ? "node" : "set",
			   row->number);
}

static void
put_row_name(const struct ranks *r, const struct ranks_row *row,
	     struct buf *out)
{
	if (row->name != NULL)
		buf_add_str(out, xml_path(row->name));
	else
		put_row_number(r, row, out);
}

static void
put_cells(const struct ranks *r, const struct ranks_row *row, struct buf *out)
{
	const size_t last = row->first + row->count;
	const struct ranks_cell *c = r->cells;

	for (size_t i = row->first, end; i < last; i = end) {
		const char *number = NULL;

		/* Equal ones, of consecutive ranks, share a cell. */
		for (end = i + 1; end < last && c[end].state == c[i].state &&
				  c[end].rank == c[end - 1].rank + 1;)
			end++;
		if (r->ncells <= FOLD || end - i < FOLD_CELLS)
			end = i + 1;
		number = end > i + 1 ? str_printed(32, "%" PRIu32 "-%" PRIu32,
						   c[i].rank, c[end - 1].rank)
				     : num_str(c[i].rank);
		buf_printf(out, "<span class=\"c %s\" title=\"rank%s %s: %s",
			   looks[c[i].state].style, end > i + 1 ? "s" : "",
			   number, ranks_state_name(r->p, c[i].state));
		if (c[i].set != PLAN_NONE && end == i + 1)
			buf_printf(out, ", set %" PRIu32,
				   r->p->sets[c[i].set].number);
		buf_printf(out, "\">%s%s</span>", number,
			   looks[c[i].state].sign);
	}
}

/* Rows first ... last, all whole, in one line. */
static void
put_folded(const struct ranks *r, size_t first, size_t last, struct buf *out)
{
	size_t n = 0;

	for (size_t i = first; i <= last; i++)
		n += r->rows[i].count;
	if (r->rows[first].name == NULL && r->rows[last].name == NULL &&
	    r->rows[last].number != RANKS_ALONE) {
		buf_printf(out, "%s %" PRIu64 "-%" PRIu64,
			   r->nodes ? "nodes" : "sets", r->rows[first].number,
			   r->rows[last].number);
	} else {
		put_row_name(r, &r->rows[first], out);
		buf_add_str(out, " to ");
		put_row_name(r, &r->rows[last], out);
	}
	buf_printf(out,
		   "</span><div><span class=\"c w\">%zu %s, all "
		   "whole</span>",
		   str_count(n, "rank"));
}

static void
put_ranks(const struct condition *h, const struct overview *s, struct buf *out)
{
	struct ranks r;
	size_t lines = 0, rows = 0, last = 0;
	bool vital = false; /* is it known what must not be lost next? */

	ranks_init(&r, h->plan, s != NULL ? s->nodes : -1);
	vital = r.nodes &&
		(h->status == STATUS_OK || h->status == STATUS_DAMAGED);
	if (r.ncells == 0)
		goto out;
	buf_printf(out, "<h2>Ranks by %s</h2>\n<p>",
		   r.nodes ? "node" : "redundancy set");
	for (int i = 0; i <= REPORT_LOST; i++)
		if (r.states[i] > 0)
			buf_printf(out, "<span class=\"c %s\">%zu%s</span> %s ",
				   looks[i].style, r.states[i], looks[i].sign,
				   ranks_state_name(r.p,
						    (enum report_cell_state)i));
	buf_add_str(out, "</p>\n");
	if (vital && r.vital_rows == 0)
		buf_add_str(out, "<p>The files of any one node may be lost: "
				 "the others can restore them.</p>\n");
	else if (vital && r.vital_rows == r.nrows)
		buf_add_str(out, "<p>If the files of any node are lost now, "
				 "the dataset is lost.</p>\n");
	else if (vital)
		buf_printf(out,
			   "<p>If the files of a node marked <b>!</b> are lost "
			   "now (%zu of %zu), the dataset is lost.</p>\n",
			   r.vital_rows, r.nrows);
	if (!r.nodes)
		buf_add_str(out, "<p class=\"dim\">Which ranks shared "
				 "a node is not recorded.</p>\n");
	/* First the rows that are not whole. */
	for (size_t k = 0; k < 2 * r.nrows && lines < LINES_MAX; k++) {
		const size_t i = k % r.nrows;
		const struct ranks_row *row = &r.rows[i];

		if (row->whole != (k >= r.nrows))
			continue;
		/* The rows that look the same and can share a line. */
		last = i;
		while (r.ncells > FOLD && row->whole && last + 1 < r.nrows &&
		       row[last + 1 - i].whole &&
		       (!vital || row[last + 1 - i].vital == row->vital))
			last++;
		lines++;
		buf_printf(out, "<div class=\"row%s\"><span>",
			   vital && row->vital ? " vital" : "");
		if (last > i + 1) {
			put_folded(&r, i, last, out);
		} else {
			last = i;
			put_row_name(&r, row, out);
			buf_add_str(out, "</span><div>");
			put_cells(&r, row, out);
		}
		buf_add_str(out, "</div></div>\n");
		rows += last + 1 - i;
		k += last - i;
	}
	if (rows < r.nrows)
		buf_printf(out, "<p class=\"dim\">and %zu more</p>\n",
			   r.nrows - rows);
out:
	ranks_free(&r);
}

/* --- Sets and files --- */

static void
put_sets(const struct plan *p, struct buf *out)
{
	size_t shown = 0, total = 0;

	for (size_t i = 0; i < p->nsets; i++)
		total += redset_is_redundant(p->sets[i].type) &&
			 !report_unused(&p->sets[i]);
	if (total == 0)
		return;
	buf_printf(out,
		   "<h2>Redundancy sets</h2>\n<details%s><summary>%zu %s"
		   "</summary><div class=\"scroll\"><table>\n<tr><th>set</th>"
		   "<th>over</th><th>scheme</th><th>ranks</th><th>state</th>"
		   "<th>can lose</th></tr>\n",
		   total <= 16 ? " open=\"open\"" : "",
		   str_count(total, "set"));
	/* First those that are not whole. */
	for (int whole = 0; whole < 2; whole++)
		for (size_t i = 0; i < p->nsets; i++) {
			const struct plan_set *s = &p->sets[i];

			if (!redset_is_redundant(s->type) || report_unused(s) ||
			    (s->verdict == SET_WHOLE) != (whole == 1))
				continue;
			if (shown++ >= SETS_MAX)
				continue;
			buf_printf(out,
				   "<tr><td>%" PRIu32
				   "</td><td>%s</td><td>%s</td><td>",
				   s->number, s->map ? "filemaps" : "files",
				   redset_type_name(s->type));
			for (uint32_t m = 0; m < s->n && m < 64; m++)
				buf_printf(
					out, "%s ",
					s->members[m].rank == PLAN_NONE
						? "?"
						: num_str(s->members[m].rank));
			if (s->n > 64)
				buf_printf(out, "and %" PRIu32 " more",
					   s->n - 64);
			buf_printf(out, "</td><td>%s%s%s</td><td>",
				   report_set_state(p, s),
				   s->reason != NULL ? ": " : "",
				   s->reason != NULL ? xml_shown(s->reason)
						     : "");
			if ((s->opened || s->sampled) && s->verdict != SET_LOST)
				buf_printf(out, "%" PRIu32, s->spare);
			buf_add_str(out, "</td></tr>\n");
		}
	if (total > SETS_MAX)
		buf_printf(out,
			   "<tr><td colspan=\"6\">and %zu more</td></tr>\n",
			   total - SETS_MAX);
	buf_add_str(out, "</table></div></details>\n");
}

static void
put_files(const struct plan *p, struct buf *out)
{
	size_t bad = 0, shown = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		bad += p->files[i].fate != FATE_KEEP;
	if (bad == 0)
		return;
	buf_printf(out,
		   "<h2>Files</h2>\n<details><summary>%zu %s missing or "
		   "wrong</summary><div class=\"scroll\"><table>\n",
		   str_count(bad, "file"));
	for (size_t i = 0; i < p->nfiles && shown < FILES_MAX; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->fate == FATE_KEEP)
			continue;
		shown++;
		buf_printf(out,
			   "<tr><td>rank %" PRIu32 "</td><td>%s</td><td>%s</td>"
			   "<td>%s</td></tr>\n",
			   f->rank, xml_path(f->path),
			   file_state_name(f->state),
			   f->fate == FATE_LOST ? report_loss(p)
						: "can be rebuilt");
	}
	if (shown < bad)
		buf_printf(out,
			   "<tr><td colspan=\"4\">and %zu more</td></tr>\n",
			   bad - shown);
	buf_add_str(out, "</table></div></details>\n");
}

/* --- The page --- */

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
	char title[XML_SHOWN + 64];
	struct buf svg = BUF_INIT;

	snprintf(title, sizeof(title), "Dataset %" PRId64 "%s%s", h->id,
		 name != NULL ? ": " : "", name != NULL ? xml_shown(name) : "");
	buf_printf(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\"/>\n"
		"<title>%s</title>\n<style>%s%s</style></head><body>\n"
		"<h1>%s</h1>\n<p><span class=\"state %s\">%s</span> %s</p>\n",
		title, css, timeline_css, title, style, condition_state(h),
		xml_shown(h->why));
	if (h->next[0] != '\0') {
		buf_add_str(out, "<p>next: <code>");
		xml_escaped(out, h->next);
		buf_add_str(out, "</code></p>\n");
	}
	put_facts(h, s, out);
	if (h->plan != NULL) {
		put_ranks(h, s, out);
		put_sets(h->plan, out);
		put_files(h->plan, out);
	}
	if (h->containers != NULL) {
		report_svg(h, &svg);
		/* Within HTML an SVG has no declaration. */
		buf_printf(out,
			   "<h2>Containers</h2>\n<div class=\"scroll\">%s"
			   "</div>\n",
			   strstr(svg.data, "<svg"));
		buf_free(&svg);
	}
	if (s != NULL &&
	    timeline_html(catalogue_scr_fd(s->catalogue), h->id, out, err) < 0)
		return -1;
	buf_add_str(out, "<p class=\"dim\">made by scr_inspect --html</p>\n"
			 "</body></html>\n");
	return 0;
}

/* --- The ranks as an SVG --- */

static size_t
lines_of(const struct ranks_row *row)
{
	return (row->count + PER_LINE - 1) / PER_LINE;
}

/* Style, ground, title and legend. */
static void
put_svg_head(const struct condition *h, const struct ranks *r, struct buf *out)
{
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	int x = 8;

	buf_printf(out,
		   "<style>text{font:12px sans-serif}"
		   ".head{font-size:18px}rect{width:%dpx;height:%dpx}",
		   CELL, CELL);
	for (int s = 0; s <= REPORT_LOST; s++)
		buf_printf(out, ".s%d{fill:%s}", s, looks[s].fill);
	buf_printf(out, "</style>\n<rect style=\"width:100%%;height:100%%\" "
			"fill=\"#fff\"/>\n");
	buf_printf(out,
		   "<text class=\"head\" x=\"8\" y=\"24\">dataset "
		   "%" PRId64 "  %s  %s</text>\n",
		   h->id, xml_shown(name != NULL ? name : ""),
		   condition_state(h));
	for (int s = 0; s <= REPORT_LOST; s++) {
		if (r->states[s] == 0)
			continue;
		buf_printf(out,
			   "<rect class=\"s%d\" x=\"%d\" y=\"44\"/><text "
			   "x=\"%d\" y=\"55\">%zu %s</text>\n",
			   s, x, x + PITCH + 2, r->states[s],
			   ranks_state_name(r->p, (enum report_cell_state)s));
		x += 240;
	}
}

/* Append an SVG: the containers of a packed dataset, else its ranks.
 * ERROR_USAGE: neither is known. */
static int
put_svg(const struct condition *h, const struct overview *s, struct buf *out,
	struct error *err)
{
	struct ranks r;
	size_t lines = 0, shown = 0, line = 0;

	if (h->containers != NULL) {
		report_svg(h, out);
		return 0;
	}
	if (h->plan == NULL || h->plan->nranks <= 0)
		return error_set(
			err, ERROR_USAGE,
			"dataset %" PRId64 ": no containers to draw: %s", h->id,
			h->plan == NULL && h->why[0] != '\0'
				? h->why
				: "it is not packed");
	ranks_init(&r, h->plan, s != NULL ? s->nodes : -1);
	while (shown < r.nrows && lines < SVG_LINES)
		lines += lines_of(&r.rows[shown++]);
	xml_svg(out, LEFT + PER_LINE * PITCH + 8, TOP + lines * PITCH + 24,
		"ranks of a dataset");
	put_svg_head(h, &r, out);
	for (size_t i = 0; i < shown; line += lines_of(&r.rows[i++])) {
		const struct ranks_row *row = &r.rows[i];

		buf_printf(out, "<text x=\"8\" y=\"%zu\">",
			   TOP + line * PITCH + 11);
		put_row_number(&r, row, out);
		buf_add_str(out, "</text>\n");
		for (size_t k = 0; k < row->count; k++) {
			const struct ranks_cell *c = &r.cells[row->first + k];

			buf_printf(out,
				   "<rect class=\"s%d\" x=\"%zu\" y=\"%zu\">"
				   "<title>rank %" PRIu32 ": %s</title></rect>"
				   "\n",
				   (int)c->state, LEFT + k % PER_LINE * PITCH,
				   TOP + (line + k / PER_LINE) * PITCH, c->rank,
				   ranks_state_name(r.p, c->state));
		}
	}
	if (shown < r.nrows)
		buf_printf(out, "<text x=\"8\" y=\"%zu\">and %zu more</text>\n",
			   TOP + line * PITCH + 14, r.nrows - shown);
	buf_add_str(out, "</svg>\n");
	ranks_free(&r);
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

	if (svg != NULL)
		rc = put_svg(h, s, &text, err) < 0
			     ? -1
			     : picture_save(svg, &text, err);
	buf_clear(&text);
	if (rc == 0 && html != NULL)
		rc = put_page(h, s, &text, err) < 0
			     ? -1
			     : picture_save(html, &text, err);
	buf_free(&text);
	return rc;
}
