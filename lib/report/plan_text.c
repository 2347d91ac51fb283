/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_text.c - plans as text: what a dataset is, what is missing, and what can
 * be rebuilt.
 */
#include "report/plan_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "meta/dataset.h"
#include "report/containers.h"
#include "report/report_impl.h"
#include "rescue/deep.h"
#include "rescue/rebuild.h"
#include "scheme/scheme.h"
#include "str.h"
#include "when.h"

/* Size of a list of ranks. */
#define RANKS_TEXT 120

const char *
report_state(int status)
{
	return status == STATUS_OK	  ? "whole"
	       : status == STATUS_DAMAGED ? "damaged"
	       : status == STATUS_LOST	  ? "lost"
					  : "unknown";
}

const char *
report_loss(const struct plan *p)
{
	return report_state(plan_status(p) == STATUS_FAILED ? STATUS_FAILED
							    : STATUS_LOST);
}

const char *
report_set_state(const struct plan *p, const struct plan_set *s)
{
	if (s->verdict == SET_LOST)
		return report_loss(p);
	if (s->verdict == SET_REBUILDABLE)
		return report_state(STATUS_DAMAGED);
	return report_state(s->n == 0 ? STATUS_LOST : STATUS_OK);
}

bool
report_unused(const struct plan_set *s)
{
	return s->n > 0 && !s->opened && !s->sampled;
}

bool
report_has_data_sets(const struct plan *p)
{
	for (size_t i = 0; i < p->nsets; i++)
		if (!p->sets[i].map)
			return true;
	return false;
}

enum report_cell_state
report_member(const struct plan *p, const struct plan_set *s, uint32_t m)
{
	const struct plan_member *pm = &s->members[m];
	enum fate data = FATE_KEEP;

	if (pm->rank == PLAN_NONE)
		return s->verdict == SET_LOST ? REPORT_LOST : REPORT_REBUILD;
	if (pm->rank < p->nranks) {
		const struct plan_rank *r = &p->ranks[pm->rank];

		if (s->map)
			data = r->map.fate;
		else if (!r->map_known && r->map.fate == FATE_LOST)
			data = FATE_LOST;
		for (size_t f = 0; !s->map && f < r->nfiles; f++)
			if (p->files[r->first_file + f].fate > data)
				data = p->files[r->first_file + f].fate;
	}
	/* If the user gave the sets, files are listed by member only. */
	for (size_t f = 0; pm->files != NULL && f < pm->list.nfiles; f++)
		if (pm->files[f] != PLAN_NONE &&
		    p->files[pm->files[f]].fate > data)
			data = p->files[pm->files[f]].fate;
	if (data != FATE_KEEP)
		return data == FATE_LOST ? REPORT_LOST : REPORT_REBUILD;
	return pm->fate == FATE_KEEP ? REPORT_WHOLE : REPORT_REDUNDANCY;
}

/* --- Clauses --- */

char *
report_lacks_text(const struct plan *p, char to[static REPORT_CLAUSE])
{
	char part[3][96];
	size_t n = 0, nred = 0, len = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].fate != FATE_KEEP)
			sum += p->files[i].attr.size;
	/* p->red_missing counts only files that can be rebuilt. */
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; m < p->sets[i].n; m++)
			nred += p->sets[i].members[m].fate != FATE_KEEP;
	if (p->files_missing > 0)
		snprintf(part[n++], sizeof(part[0]), "%zu %s (%s)",
			 str_count(p->files_missing, "file"), str_size(sum));
	if (p->maps_missing > 0)
		snprintf(part[n++], sizeof(part[0]), "%zu %s",
			 str_count(p->maps_missing, "filemap"));
	if (nred > 0)
		snprintf(part[n++], sizeof(part[0]), "%zu redundancy %s",
			 str_count(nred, "file"));
	snprintf(to, REPORT_CLAUSE, "nothing");
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(to + len, REPORT_CLAUSE - len, "%s%s",
					i == 0	     ? ""
					: i == n - 1 ? " and "
						     : ", ",
					part[i]);
	return to;
}

char *
report_scheme_text(const struct plan *p, char to[static REPORT_CLAUSE])
{
	bool data = report_has_data_sets(p);
	const struct plan_set *first = NULL;
	const struct scheme *scheme = NULL;
	uint32_t small = UINT32_MAX, large = 0, count = 0;
	const char *checks = NULL, *members = NULL;

	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->map == data || report_unused(s))
			continue;
		count++;
		if (s->n == 0)
			continue;
		if (first == NULL)
			first = s;
		small = s->n < small ? s->n : small;
		large = s->n > large ? s->n : large;
	}
	if (first == NULL)
		return str_print(to, REPORT_CLAUSE, "none");
	scheme = scheme_of(first->type);
	checks = scheme->label != NULL && first->failures >= scheme->label_from
			 ? str_printed(24, " %s%u", scheme->label,
				       first->failures)
			 : "";
	members = !redset_is_redundant(first->type)
			  ? " (no copy and no parity is kept)"
		  : small == large
			  ? str_printed(64, ", %u %s of %u",
					str_count(count, "set"), small)
			  : str_printed(64, ", %u %s of %u to %u",
					str_count(count, "set"), small, large);
	return str_print(to, REPORT_CLAUSE, "%s%s%s%s",
			 redset_type_name(first->type), checks, members,
			 data ? "" : ", over the filemaps only");
}

bool
report_may_lose(const struct plan *p, int status)
{
	return p != NULL && (status == STATUS_OK || status == STATUS_DAMAGED);
}

char *
report_spare_text(const struct plan *p, bool rebuilt,
		  char to[static REPORT_CLAUSE])
{
	const size_t size = REPORT_CLAUSE;
	uint32_t least = UINT32_MAX, most = 0;
	size_t critical = 0, n = 0;

	/* Containers hold files of several ranks. */
	if (p->packed && report_has_data_sets(p)) {
		n = plan_container_spare(p, rebuilt, &critical);
		if (n > 0)
			return str_print(to, size, "the loss of any %zu %s",
					 str_count(n, "container"));
		return str_print(to, size,
				 "no loss: each of %zu containers is needed",
				 critical);
	}
	/* Filemaps can only lower the number: without them the data files have
	 * no names. */
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		uint32_t spare = rebuilt ? s->failures : s->spare;

		if (report_unused(s))
			continue;
		if (s->verdict == SET_LOST || s->n == 0)
			spare = 0;
		least = spare < least ? spare : least;
		most = !s->map && spare > most ? spare : most;
	}
	if (most == 0 || p->exposed || !report_has_data_sets(p))
		return str_print(to, size, "no loss");
	if (least == most)
		return str_print(to, size, "the loss of any %u %s in each set",
				 str_count(least, "rank"));
	if (least == 0)
		return str_print(to, size,
				 "no loss in some sets, %u %s in others",
				 str_count(most, "rank"));
	return str_print(to, size,
			 "the loss of any %u %s in each set, up to %u in some",
			 str_count(least, "rank"), most);
}

/* --- Summary --- */

/* Behind the state of a damaged dataset: what it lacks; "all of it can be
 * rebuilt", and the tolerance or the reason. */
static void
put_damage(struct buf *out, const struct plan *p, int status)
{
	const bool damaged =
		plan_status(p) == STATUS_DAMAGED && p->flaw == NULL;
	const size_t n = p->nranks > 0 ? (size_t)p->nranks : 0;
	bool *lacks = mem_calloc(n + 1, sizeof(*lacks));
	uint32_t *ranks = mem_alloc(n + 1, sizeof(*ranks));
	struct error why = ERROR_INIT;
	const char *list = NULL;
	int room = RANKS_TEXT;
	size_t k = 0;

	/* ": ranks 4 5 lack ...": world ranks with missing or damaged files,
	 * ascending, cut if they are too many to read, and what. */
	for (size_t i = 0; i < n; i++)
		lacks[i] = p->ranks[i].map.fate != FATE_KEEP;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].fate != FATE_KEEP && p->files[i].rank < n)
			lacks[p->files[i].rank] = true;
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; m < p->sets[i].n; m++)
			if (p->sets[i].members[m].fate != FATE_KEEP &&
			    p->sets[i].members[m].rank < n)
				lacks[p->sets[i].members[m].rank] = true;
	for (size_t i = 0; i < n; i++)
		if (lacks[i])
			ranks[k++] = (uint32_t)i;
	if (k > 0) {
		list = plan_ranks_text(p, ranks, k);
		buf_printf(out, ": %s ", str_plural(k, "rank"));
		if (strlen(list) <= RANKS_TEXT) {
			buf_printf(out, "%s", list);
		} else {
			while (room > 0 && list[room] != ' ')
				room--;
			buf_printf(out, "%.*s ... (%zu in all)", room, list, k);
		}
		buf_printf(out, " %s %s", k == 1 ? "lacks" : "lack",
			   report_lacks(p));
	}
	mem_free(lacks);
	mem_free(ranks);
	if (!damaged)
		plan_error(p, &why);
	if (damaged && report_may_lose(p, status) && p->undecided)
		buf_printf(out, "; whether it can be rebuilt is unknown\n"
				"  tolerates   no loss\n");
	else if (damaged && report_may_lose(p, status))
		buf_printf(out,
			   "; all of it can be rebuilt\n"
			   "  tolerates   %s; after a rebuild %s\n",
			   report_spare(p, false), report_spare(p, true));
	else if (damaged)
		buf_printf(out, "\n");
	else if (p->flaw == NULL && report_may_lose(p, plan_data_status(p)))
		buf_printf(out,
			   "; no data are lost\n"
			   "  because     %s\n"
			   "  tolerates   %s\n",
			   why.text, report_spare(p, false));
	else
		buf_printf(out, "\n  because     %s\n", why.text);
}

void
report_summary(const struct plan *p, const struct dataset *d,
	       const struct containers *k, int status, struct buf *out)
{
	const char *root = str_shown(p->places[0].root);

	buf_printf(out, "dataset");
	if (p->id > 0)
		buf_printf(out, " %" PRId64, p->id);
	if (d != NULL && d->name != NULL)
		buf_printf(out, "  %s", str_shown(d->name));
	buf_printf(out, "\n");
	if (d != NULL && d->id > 0) {
		buf_printf(out, "  kind        %s",
			   d->is_ckpt	  ? "checkpoint"
			   : d->is_output ? "output"
					  : "unknown");
		if (d->is_ckpt && d->ckpt_id >= 0)
			buf_printf(out, " %" PRId64, d->ckpt_id);
		if (d->is_ckpt && d->is_output)
			buf_add_str(out, " and output");
		if (d->created_us > 0)
			buf_printf(out, ", made %s",
				   when_local(d->created_us / 1000000));
		if (d->user != NULL)
			buf_printf(out, " by %s", str_shown(d->user));
		if (d->job_id != NULL)
			buf_printf(out, ", job %s", str_shown(d->job_id));
		buf_printf(out, "\n");
	}
	if (p->nplaces > 1)
		buf_printf(out, "  where       %zu directories: %s and so on\n",
			   p->nplaces, root);
	else
		buf_printf(out, "  where       %s\n", root);
	if (p->moved && p->recorded_root != NULL)
		buf_printf(out, "  moved       it was written as %s\n",
			   str_shown(p->recorded_root));
	if (p->nranks >= 0) {
		buf_printf(out, "  size        %" PRId64 " %s, %zu %s, %s",
			   str_count(p->nranks, "rank"),
			   str_count(p->nfiles, "file"), str_size(p->bytes));
		if (p->maps_lost > p->maps_unplaced)
			buf_printf(out, "; the files of %zu %s are unknown",
				   str_count(p->maps_lost - p->maps_unplaced,
					     "rank"));
		buf_printf(out, "\n");
	}
	buf_printf(out, "  redundancy  %s\n", report_scheme(p));
	if (k != NULL)
		report_containers_head(k, out);
	buf_printf(out, "  state       %s", report_state(status));
	if (plan_status(p) != STATUS_OK)
		put_damage(out, p, status);
	else if (report_may_lose(p, status))
		buf_printf(out, "\n  tolerates   %s\n", report_spare(p, false));
	else
		buf_printf(out, "\n");
}

/* --- Rebuilds and deep checks --- */

void
report_rebuilt(const struct rebuild_result *r, struct buf *out)
{
	buf_printf(out,
		   "rebuilt: %zu %s, %zu %s, %zu redundancy %s, %zu %s; %s "
		   "written",
		   str_count(r->files, "file"), str_count(r->maps, "filemap"),
		   str_count(r->redundancy, "file"),
		   str_count(r->descriptors, "descriptor"),
		   str_size(r->bytes_written));
	if (r->crc_checked > 0)
		buf_printf(out, "; %zu %s compared",
			   str_count(r->crc_checked, "checksum"));
	if (r->crc_wrong > 0)
		buf_printf(out, ", %zu wrong %s repaired",
			   str_count(r->crc_wrong, "file"));
	buf_printf(out, "\n");
}

void
report_deep(const struct plan *p, const struct deep_result *r, struct buf *out)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		struct error text = ERROR_INIT;

		deep_error(p, &r->findings[i], &text);
		buf_printf(out, "  deep check  %s\n", text.text);
	}
	buf_printf(out, "  deep check  %zu %s read (%s): %s",
		   str_count(r->sets_checked, "set"), str_size(r->bytes_read),
		   r->nfindings > 0	 ? "see above"
		   : r->sets_checked > 0 ? "data and redundancy agree"
					 : "nothing to compare");
	if (r->sets_partly > 0)
		buf_printf(out, "; %zu %s compared only in part",
			   str_count(r->sets_partly, "set"));
	if (r->sets_skipped > 0)
		buf_printf(out, "; %zu %s not compared, something is missing",
			   str_count(r->sets_skipped, "set"));
	buf_printf(out, "\n");
}
