/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_table.c - the tables of a report: sets, files, what a rebuild does.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "report/report_impl.h"
#include "str.h"

/* Room for a name made printable. */
#define NAME_TEXT 1024

/* Blanks between two columns. */
#define GAP 2

/* --- Tables --- */

void
report_table_start(struct report_table *t, unsigned columns, unsigned right)
{
	*t = (struct report_table){ .columns = columns, .right = right };
	t->arena = arena_new();
	t->failed = t->arena == NULL;
}

static void
add_cell(struct report_table *t, const char *text)
{
	size_t cap = t->cap > 0 ? t->cap * 2 : 64;
	void *p = NULL;

	if (t->failed || text == NULL) {
		t->failed = true;
		return;
	}
	if (t->count == t->cap) {
		p = mem_realloc(t->cells, cap, sizeof(*t->cells));
		if (p == NULL) {
			t->failed = true;
			return;
		}
		t->cells = p;
		t->cap = cap;
	}
	t->cells[t->count++] = text;
}

void
report_cell(struct report_table *t, const char *fmt, ...)
{
	char text[2 * NAME_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_cell(t, t->failed ? NULL : arena_strdup(t->arena, text));
}

void
report_cell_name(struct report_table *t, const char *name)
{
	char text[NAME_TEXT];

	report_cell(t, "%s", str_printable(text, sizeof(text), name));
}

/* Characters of UTF-8 text; all are taken to be one column wide. */
static size_t
text_width(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
put_blanks(struct report_out *o, size_t n)
{
	report_put(o, "%*s", (int)n, "");
}

static void
put_row(struct report_out *o, const struct report_table *t, size_t row,
	const size_t *width)
{
	const char *const *cell = t->cells + row * t->columns;
	size_t pending = 0; /* blanks: none at the end of a line */

	for (unsigned c = 0; c < t->columns; c++) {
		size_t pad = width[c] - text_width(cell[c]);
		bool right = (t->right >> c & 1) != 0;

		if (width[c] == 0)
			continue;
		if (right)
			pending += pad;
		if (cell[c][0] != '\0') {
			put_blanks(o, pending);
			pending = 0;
			report_put(o, "%s", cell[c]);
		}
		pending += GAP + (right ? 0 : pad);
	}
	report_put(o, "\n");
}

int
report_table_end(struct report_table *t, unsigned indent, struct buf *out,
		 struct error *err)
{
	struct report_out o = { .buf = out, .failed = t->failed };
	size_t width[REPORT_COLUMNS] = { 0 };

	for (size_t i = 0; !o.failed && i < t->count; i++) {
		size_t w = text_width(t->cells[i]);

		if (w > width[i % t->columns])
			width[i % t->columns] = w;
	}
	for (size_t i = 0; !o.failed && i < t->count / t->columns; i++) {
		put_blanks(&o, indent);
		put_row(&o, t, i, width);
	}
	mem_free(t->cells);
	arena_free(t->arena);
	t->cells = NULL;
	t->arena = NULL;
	return report_end(&o, err);
}

/* --- Sets --- */

static const char *
verdict_name(const struct plan_set *s)
{
	if (s->verdict == SET_LOST)
		return "lost";
	if (s->verdict == SET_REBUILDABLE)
		return "can be rebuilt";
	return s->n == 0 ? "gone" : "whole";
}

/* World ranks of the set's members, as text of the plan. */
static const char *
members_text(struct plan *p, const struct plan_set *s)
{
	uint32_t *ranks = mem_alloc((size_t)s->n + 1, sizeof(*ranks));
	const char *text = "?";
	size_t n = 0;

	for (uint32_t m = 0; ranks != NULL && m < s->n; m++)
		if (s->members[m].rank != PLAN_NONE)
			ranks[n++] = s->members[m].rank;
	if (n > 0)
		text = plan_ranks_text(p, ranks, n);
	mem_free(ranks);
	return text;
}

static const char *
lacking_text(struct plan *p, const struct plan_set *s)
{
	uint32_t *ranks = mem_alloc((size_t)s->n + 1, sizeof(*ranks));
	const char *text = "?";
	size_t n = 0;

	for (uint32_t m = 0; ranks != NULL && m < s->n; m++)
		if (s->members[m].rank != PLAN_NONE &&
		    report_member(p, s, m) != REPORT_WHOLE)
			ranks[n++] = s->members[m].rank;
	if (ranks != NULL)
		text = n > 0 ? plan_ranks_text(p, ranks, n) : "";
	mem_free(ranks);
	return text;
}

/* May two neighbours share a row? */
static bool
alike(const struct plan_set *a, const struct plan_set *b)
{
	return a->map == b->map && a->type == b->type && a->n == b->n &&
	       a->sets == b->sets && a->verdict == SET_WHOLE &&
	       b->verdict == SET_WHOLE && a->n > 0 && a->spare == b->spare &&
	       a->failures == b->failures;
}

/* Runs shorter than this keep a row for each set. */
#define RUN_MIN 9

static void
set_cells(struct report_table *t, struct plan *p, size_t first, size_t last)
{
	const struct plan_set *s = &p->sets[first];
	char bytes[32];

	if (first == last)
		report_cell(t, "%u of %u", s->number, s->sets);
	else
		report_cell(t, "%u-%u of %u", s->number, p->sets[last].number,
			    s->sets);
	report_cell(t, "%s", s->map ? "filemaps" : "files");
	report_cell(t, "%s", redset_type_name(s->type));
	if (s->n > 0)
		report_cell(t, "%u of %u",
			    s->verdict == SET_LOST ? 0 : s->spare,
			    report_survives(s));
	else
		report_cell(t, "%s", "");
	report_cell(t, "%s",
		    s->chunk > 0 && first == last
			    ? str_bytes(bytes, sizeof(bytes), s->chunk)
			    : "");
	report_cell(t, "%s", first == last ? members_text(p, s) : "...");
	report_cell(t, "%s", lacking_text(p, s));
	report_cell(t, "%s", verdict_name(s));
	report_cell(t, "%s", s->n > 0 ? "" : s->reason ? s->reason : "");
}

int
report_sets(struct plan *p, struct buf *out, struct error *err)
{
	struct report_table t;
	static const char *const heads[] = {
		"SET",	 "PROTECTS", "SCHEME", "SPARE", "CHUNK",
		"RANKS", "LACKING",  "STATE",  "",
	};
	const unsigned columns = sizeof(heads) / sizeof(heads[0]);

	if (p->nsets == 0)
		return 0;
	report_table_start(&t, columns, 1U << 3 | 1U << 4);
	for (unsigned c = 0; c < columns; c++)
		report_cell(&t, "%s", heads[c]);
	for (size_t i = 0, last; i < p->nsets; i = last + 1) {
		last = i;
		if (report_unused(&p->sets[i]))
			continue;
		while (last + 1 < p->nsets &&
		       alike(&p->sets[i], &p->sets[last + 1]) &&
		       !report_unused(&p->sets[last + 1]))
			last++;
		if (last - i + 1 < RUN_MIN)
			last = i;
		set_cells(&t, p, i, last);
	}
	return report_table_end(&t, 2, out, err);
}

/* --- Files --- */

static const char *
fate_name(enum fate f)
{
	return f == FATE_KEEP	   ? ""
	       : f == FATE_REBUILD ? "can be rebuilt"
				   : "lost";
}

static void
file_cells(struct report_table *t, const struct plan_file *f)
{
	char bytes[32], found[96];

	report_cell(t, "%" PRIu32, f->rank);
	report_cell_name(t, f->path);
	report_cell(t, "%s", str_bytes(bytes, sizeof(bytes), f->attr.size));
	if (f->state == FILE_WRONG_SIZE)
		snprintf(
			found, sizeof(found), "%s: %" PRIu64 " B, not %" PRIu64,
			file_state_name(f->state), f->found_size, f->attr.size);
	else
		snprintf(found, sizeof(found), "%s", file_state_name(f->state));
	report_cell(t, "%s", found);
	report_cell(t, "%s", fate_name(f->fate));
}

static void
map_cells(struct report_table *t, const struct plan *p, int64_t rank)
{
	const struct plan_meta *m = &p->ranks[rank].map;

	report_cell(t, "%" PRId64, rank);
	if (m->name != NULL)
		report_cell_name(t, m->name);
	else
		report_cell(t, "filemap_%" PRId64, rank);
	report_cell(t, "%s", "");
	if (m->why != NULL)
		report_cell_name(t, m->why);
	else
		report_cell(t, "present");
	report_cell(t, "%s", fate_name(m->fate));
}

static void
member_cells(struct report_table *t, const struct plan_member *m)
{
	char bytes[32];
	uint64_t size = m->fate == FATE_KEEP ? m->file_size : 0;

	report_cell(t, "%" PRIu32, m->rank);
	report_cell_name(t, m->name != NULL ? m->name : "redundancy file");
	report_cell(t, "%s",
		    size > 0 ? str_bytes(bytes, sizeof(bytes), size) : "");
	if (m->problem != NULL && m->state != RED_PRESENT)
		report_cell_name(t, m->problem);
	else
		report_cell(t, "%s", red_state_name(m->state));
	report_cell(t, "%s", fate_name(m->fate));
}

static bool
map_shown(const struct plan_rank *r, bool all)
{
	if (r->map.fate != FATE_KEEP)
		return true;
	return all && r->map.name != NULL;
}

#define FILE_COLUMNS 5

int
report_files(const struct plan *p, bool all, size_t limit, struct buf *out,
	     struct error *err)
{
	static const char *const heads[FILE_COLUMNS] = { "RANK", "FILE", "SIZE",
							 "FOUND", "" };
	struct report_table t;
	struct report_out o = { .buf = out };
	size_t rows = 0, most = limit > 0 ? limit : SIZE_MAX;

	report_table_start(&t, FILE_COLUMNS, 1U << 0 | 1U << 2);
	for (unsigned c = 0; c < FILE_COLUMNS; c++)
		report_cell(&t, "%s", heads[c]);
	for (size_t i = 0; i < p->nfiles; i++)
		if ((all || p->files[i].fate != FATE_KEEP) && rows++ < most)
			file_cells(&t, &p->files[i]);
	for (int64_t i = 0; i < p->nranks; i++)
		if (map_shown(&p->ranks[i], all) && rows++ < most)
			map_cells(&t, p, i);
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		for (uint32_t m = 0; m < s->n && !report_unused(s); m++)
			if (s->members[m].rank != PLAN_NONE &&
			    (all || s->members[m].fate != FATE_KEEP) &&
			    rows++ < most)
				member_cells(&t, &s->members[m]);
	}
	if (rows == 0)
		t.count = 0; /* no heading above nothing */
	if (report_table_end(&t, 2, out, err) < 0)
		return -1;
	if (rows > most)
		report_put(&o, "  ... and %zu more\n", rows - most);
	return report_end(&o, err);
}

/* --- What a rebuild does --- */

/* Members whose data or redundancy file is read. */
static const char *
sources_text(struct plan *p, const struct plan_set *s)
{
	bool *used = mem_calloc((size_t)s->n + 1, sizeof(*used));
	uint32_t *ranks = mem_alloc((size_t)s->n + 1, sizeof(*ranks));
	const char *text = "?";
	size_t n = 0;

	if (used == NULL || ranks == NULL)
		goto out;
	for (size_t j = 0; s->solved && j < s->solution.njobs; j++)
		for (uint32_t i = 0; i < s->solution.jobs[j].nin; i++)
			used[s->solution.jobs[j].in[i].member] = true;
	for (uint32_t m = 0; m < s->n; m++)
		if (used[m] && s->members[m].rank != PLAN_NONE)
			ranks[n++] = s->members[m].rank;
	text = n > 0 ? plan_ranks_text(p, ranks, n) : "";
out:
	mem_free(ranks);
	mem_free(used);
	return text;
}

static void
put_action(struct report_out *o, struct plan *p, const struct plan_set *s)
{
	const char *from = sources_text(p, s), *to = lacking_text(p, s);

	report_put(o, "  set %u of %u, %s over the %s: ", s->number, s->sets,
		   redset_type_name(s->type), s->map ? "filemaps" : "files");
	if (s->verdict == SET_LOST)
		report_put(o, "lost: %s\n", s->reason);
	else if (from[0] == '\0')
		report_put(o, "rank %s, from what is recorded of it\n", to);
	else
		report_put(o, "%s %s, computed from %s %s\n",
			   strpbrk(to, " -") ? "ranks" : "rank", to,
			   strpbrk(from, " -") ? "ranks" : "rank", from);
}

int
report_actions(struct plan *p, struct buf *out, struct error *err)
{
	struct report_out o = { .buf = out };
	char in[32], to[32];

	for (size_t i = 0; i < p->nsets; i++)
		if (p->sets[i].verdict != SET_WHOLE)
			put_action(&o, p, &p->sets[i]);
	report_put(&o, "  to be read: %s, to be written: %s\n",
		   str_bytes(in, sizeof(in), p->bytes_read),
		   str_bytes(to, sizeof(to), p->bytes_written));
	return report_end(&o, err);
}
