/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_error.c - a plan in words: states of files, ranks, what is lost and why,
 * and what is in the way of a repair.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "num.h"
#include "path.h"
#include "rescue/plan.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* --- Names --- */

const char *
file_state_name(enum file_state s)
{
	static const char *const names[FILE_STATES] = {
		"present",	   "missing",	     "wrong size",
		"not a file",	   "wrong checksum", "cannot be read",
		"never completed", "not in cache",
	};

	return (unsigned)s < FILE_STATES ? names[s] : "unknown";
}

const char *
red_state_name(enum red_state s)
{
	static const char *const names[] = {
		"present", "missing", "header damaged", "damaged", "unchecked",
	};

	return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s]
							      : "unknown";
}

/* plan_ranks_text() into any arena; sorts `ranks`.  NULL: no memory. */
static const char *
ranks_in(struct arena *a, uint32_t *ranks, size_t count)
{
	struct buf text = BUF_INIT;
	const char *out = NULL;

	qsort(ranks, count, sizeof(*ranks), num_by_u32);
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;

		while (end < count && ranks[end] <= ranks[end - 1] + 1)
			end++;
		buf_printf(&text, i ? " %u" : "%u", ranks[i]);
		if (ranks[end - 1] > ranks[i])
			buf_printf(&text,
				   ranks[end - 1] > ranks[i] + 1 ? "-%u"
								 : " %u",
				   ranks[end - 1]);
		i = end;
	}
	if (!text.failed)
		out = arena_strdup(a, text.len ? text.data : "");
	buf_free(&text);
	return out;
}

const char *
plan_ranks_text(const struct plan *p, const uint32_t *ranks, size_t count)
{
	uint32_t *copy = mem_alloc(count + 1, sizeof(*copy));
	const char *text = NULL;

	if (copy != NULL && count > 0)
		memcpy(copy, ranks, count * sizeof(*copy));
	if (copy != NULL)
		text = ranks_in(p->arena, copy, count);
	mem_free(copy);
	return text != NULL ? text : "?";
}

/* --- Errors --- */

/* Report the first lost file or filemap that is in no set with remaining files.
 * Sets are numbered by their first ranks.  So if whole sets are lost, the first
 * rank without a filemap belonged to the first of these sets. */
static int
lost_outside(const struct plan *p, struct error *err)
{
	const struct plan_set *gone = NULL;

	for (size_t i = 0; i < p->nsets && gone == NULL; i++)
		if (p->sets[i].n == 0 && p->sets[i].map &&
		    p->sets[i].verdict == SET_LOST)
			gone = &p->sets[i];
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		if (r->map.fate == FATE_LOST && gone != NULL)
			return error_set(
				err, ERROR_LOST,
				"dataset %lld: no member is left of set %u of "
				"%u (%s over filemaps), to which rank %lld "
				"belongs; the files of %zu of %lld ranks are "
				"unknown",
				(long long)p->id, gone->number, gone->sets,
				redset_type_name(gone->type), (long long)i,
				p->maps_lost, (long long)p->nranks);
		if (r->map.fate == FATE_LOST)
			return error_set(
				err, ERROR_LOST,
				"dataset %lld: the filemap of rank %lld is "
				"lost (%s) and no redundancy is left that "
				"could rebuild it; the files of %zu of %lld "
				"ranks are unknown",
				(long long)p->id, (long long)i, r->map.why,
				p->maps_lost, (long long)p->nranks);
		for (size_t f = 0; f < r->nfiles; f++) {
			const struct plan_file *pf =
				&p->files[r->first_file + f];

			if (pf->fate == FATE_LOST)
				return error_set(
					err, ERROR_LOST,
					"dataset %lld: %s of rank %lld: %s, "
					"and no redundancy is left that could "
					"rebuild it",
					(long long)p->id, str_shown(pf->path),
					(long long)i,
					file_state_name(pf->state));
		}
	}
	return error_set(err, ERROR_LOST, "dataset %lld: data are lost",
			 (long long)p->id);
}

/* Write "; NAME: problem" if a file of the set is present but damaged, because
 * the user may be able to repair it.  Else "". */
static const char *
first_problem(const struct plan *p, const struct plan_set *s, char *to,
	      size_t size)
{
	const char *name = NULL, *why = NULL;

	to[0] = '\0';
	for (uint32_t i = 0; i < s->n && why == NULL; i++) {
		const struct plan_member *m = &s->members[i];

		name = m->name;
		why = m->problem;
		if (why == NULL && s->map && m->rank < p->nranks) {
			name = p->ranks[m->rank].map.name;
			why = p->ranks[m->rank].map.why;
		}
		if (name == NULL)
			why = NULL; /* missing: nothing to repair */
	}
	if (why != NULL && str_starts(why, name))
		snprintf(to, size, "; %s", why);
	else if (why != NULL)
		snprintf(to, size, "; %s: %s", name, why);
	return to;
}

/* "; the files of 2 of 4 ranks are unknown" if filemaps are lost, else "". */
static const char *
unknown_files(const struct plan *p)
{
	if (p->maps_lost <= p->maps_unplaced)
		return "";
	return plan_or_brief(
		arena_printf(p->arena,
			     "; the files of %zu of %lld ranks are unknown",
			     p->maps_lost - p->maps_unplaced,
			     (long long)p->nranks),
		"");
}

/* A set that is lost although files of it are left; NULL: none.  Lost filemaps
 * are no cause if all files are known without them. */
static const struct plan_set *
lost_set(const struct plan *p)
{
	const bool maps = p->maps_unplaced < p->maps_lost || p->files_lost == 0;

	for (size_t i = 0; i < p->nsets; i++)
		if (p->sets[i].verdict == SET_LOST && p->sets[i].n > 0 &&
		    (maps || !p->sets[i].map))
			return &p->sets[i];
	return NULL;
}

/* Something could not be read, so it is unknown whether data are lost. */
static int
unread_error(const struct plan *p, struct error *err)
{
	const struct plan_set *s = lost_set(p);

	if (s == NULL)
		return error_set(
			err, ERROR_SYSTEM,
			"dataset %lld: %s, and no redundancy can rebuild it%s",
			(long long)p->id, p->first_unread, unknown_files(p));
	return error_set(err, ERROR_SYSTEM,
			 "dataset %lld: %s; without it, set %u of %u (%s%s) "
			 "cannot be rebuilt: %s",
			 (long long)p->id, p->first_unread, s->number, s->sets,
			 redset_type_name(s->type),
			 s->map ? " over filemaps" : "", s->reason);
}

/* No file is known to be lost, but nothing names those of some ranks. */
static int
unclaimed_error(const struct plan *p, struct error *err)
{
	struct error why = ERROR_INIT;
	const struct rank2file *r = plan_rank2file(p, &why);
	const char *flaw = r != NULL		 ? r->flaw
			   : why.text[0] != '\0' ? why.text
						 : "rank2file: missing";
	int64_t rank = 0;

	while (p->ranks[rank].map.fate != FATE_LOST)
		rank++;
	return error_set(err, ERROR_SYSTEM,
			 "dataset %lld: nothing names the files of %zu of %lld "
			 "ranks (filemap_%lld: %s%s%s): %s",
			 (long long)p->id, p->maps_lost - p->maps_unplaced,
			 (long long)p->nranks, (long long)rank,
			 p->ranks[rank].map.why, flaw != NULL ? "; " : "",
			 flaw != NULL ? flaw : "", p->unclaimed);
}

static int
lost_error(const struct plan *p, struct error *err)
{
	const struct plan_set *s = lost_set(p);
	char problem[ERROR_TEXT_MAX / 2];

	/* No data are lost, only filemaps in caches. */
	if (p->maps_unplaced > 0 && plan_data_status(p) == STATUS_DAMAGED)
		return error_set(
			err, ERROR_LOST,
			"dataset %lld: %zu %s lost: redundancy headers name "
			"the files, but nothing tells where they belong on "
			"the prefix",
			(long long)p->id, p->maps_lost,
			p->maps_lost == 1 ? "filemap is" : "filemaps are");
	if (s == NULL)
		return lost_outside(p, err);
	return error_set(err, ERROR_LOST,
			 "dataset %lld: set %u of %u (%s%s) cannot be "
			 "rebuilt: %s%s%s",
			 (long long)p->id, s->number, s->sets,
			 redset_type_name(s->type),
			 s->map ? " over filemaps" : "", s->reason,
			 first_problem(p, s, problem, sizeof(problem)),
			 unknown_files(p));
}

int
plan_error(const struct plan *p, struct error *err)
{
	const struct plan_file *f = p->files;
	/* Where only redundancy is lost, the data count. */
	const bool barred =
		p->barred > 0 &&
		(p->verdict != SET_LOST ||
		 (p->unread == 0 && plan_data_status(p) == STATUS_FAILED));

	if (p->flaw != NULL)
		return error_set(err,
				 p->flaw_status == STATUS_LOST ? ERROR_LOST
				 : p->flaw_status == STATUS_DAMAGED
					 ? ERROR_DAMAGED
					 : ERROR_SYSTEM,
				 "dataset %lld: %s", (long long)p->id, p->flaw);
	if (p->verdict == SET_LOST && p->unread == 0 && p->unfinished)
		return error_set(err, ERROR_SYSTEM,
				 "dataset %lld: the copy into its containers "
				 "was cut off: what is missing may still be in "
				 "the caches",
				 (long long)p->id);
	if (p->verdict == SET_LOST && p->unread == 0 &&
	    plan_status(p) == STATUS_FAILED)
		return unclaimed_error(p, err);
	if (p->verdict == SET_LOST && !barred)
		return p->unread > 0 ? unread_error(p, err)
				     : lost_error(p, err);
	if (barred) {
		while (f->state != FILE_PRESENT || !f->barred)
			f++;
		errno = EACCES;
		return error_sys(err, "dataset %lld: %s%s: cannot read",
				 (long long)p->id, str_shown(f->path),
				 p->barred == 1
					 ? ""
					 : str_printed(48, " (and %zu more %s)",
						       str_count(p->barred - 1,
								 "file")));
	}
	if (p->unproved != NULL)
		return error_set_remedy(
			err, REMEDY_PARTIAL, ERROR_SYSTEM,
			"dataset %lld: what is lost can only be computed from "
			"the bytes behind the damaged header of %s, which "
			"nothing confirms: unknown",
			(long long)p->id, p->unproved);
	if (p->verdict == SET_WHOLE)
		return 0;
	return error_set(err, ERROR_DAMAGED,
			 "dataset %lld: %zu %s, %zu %s and %zu redundancy %s "
			 "are missing and can be rebuilt",
			 (long long)p->id, str_count(p->files_rebuild, "file"),
			 str_count(p->maps_missing, "filemap"),
			 str_count(p->red_missing, "file"));
}

/* --- Why a set is lost --- */

const char *
plan_or_brief(const char *text, const char *brief)
{
	return text != NULL ? text : brief;
}

const char *
plan_explain(const struct plan_set *s, const struct solve_member *losses,
	     const bool *any, struct arena *arena)
{
	static const char brief[] = "too many members are missing";
	uint32_t ranks[PLAN_SET_MAX];
	const char *names = NULL, *text = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if ((any[i] || losses[i].body_lost) &&
		    s->members[i].rank != PLAN_NONE)
			ranks[n++] = s->members[i].rank;
	names = ranks_in(arena, ranks, n);
	if (names == NULL)
		return brief;
	text = scheme_of(s->type)->explain(
		arena,
		&(struct scheme_loss){ names, n, s->n, s->failures, s->type });
	return plan_or_brief(text, brief);
}

const char *
plan_unknown_lists(const struct plan_set *s, const bool *any,
		   struct arena *arena)
{
	uint32_t ranks[PLAN_SET_MAX], all[PLAN_SET_MAX];
	const char *names = NULL, *all_names = NULL, *text = NULL;
	size_t n = 0, nall = 0, nameless = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		bool unknown = !m->list.known &&
			       (any[i] || redset_is_redundant(s->type));

		if (unknown && m->rank == PLAN_NONE)
			nameless++;
		else if (unknown)
			ranks[n++] = m->rank;
		if ((unknown || any[i]) && m->rank != PLAN_NONE)
			all[nall++] = m->rank;
	}
	if (n + nameless == 0)
		return NULL;
	names = ranks_in(arena, ranks, n);
	all_names = ranks_in(arena, all, nall);
	if (names == NULL || all_names == NULL)
		text = NULL;
	else if (nameless > 0)
		text = arena_printf(
			arena,
			"%s%s%s%zu of its %u members are missing, and the "
			"only lists of their files with them",
			nall > 0 ? "ranks " : "", all_names,
			nall > 0 ? " and another " : "", nameless, s->n);
	else if (n == nall)
		text = arena_printf(
			arena,
			"%s %s and the neighbours that hold their lists of "
			"files are missing",
			n == 1 ? "rank" : "ranks", names);
	else
		text = arena_printf(
			arena,
			"ranks %s are missing, and with them the only lists of "
			"files of %s %s",
			all_names, n == 1 ? "rank" : "ranks", names);
	return plan_or_brief(text, "lists of files are lost");
}

/* --- What is in the way of a repair --- */

/* Is `name` a directory?  An empty one makes way for the file (io_rename()). */
static bool
blocks(int dirfd, const char *name)
{
	int fd = path_open_dir(dirfd, name, NULL);
	const bool does = fd >= 0 && !dir_is_empty(fd);

	io_close(fd);
	return does;
}

/* Write the path of `name`, among the metadata of the place, if it is in the
 * way. */
static bool
meta_obstacle(const struct plan *p, uint32_t place, const char *name, char *to,
	      size_t size)
{
	const struct place *at = &p->places[place];

	return name != NULL && blocks(at->meta_fd, name) &&
	       snprintf(to, size, "%s/%s", at->meta, name) < (int)size;
}

/* The same of a container, which is written in place: all that is no file is in
 * the way, and a link to nothing. */
static bool
seg_obstacle(const struct plan *p, const struct segment *s, bool red, char *to,
	     size_t size)
{
	const struct place *at = &p->places[0];
	const char *path = plan_seg_path(p, s, red);
	char link[PATH_MAX], leads[PATH_MAX];
	struct stat st;

	return s->gone &&
	       ((path_stat_beneath(at->meta_fd, path, &st, NULL) == 0 &&
		 !S_ISREG(st.st_mode) &&
		 snprintf(to, size, "%s/%s", at->meta, path) < (int)size) ||
		(path_dangles(at->meta_fd, path, link, leads) &&
		 snprintf(to, size, "%s/%s", at->meta, link) < (int)size));
}

/* A file that a rebuild writes takes the place of anything but a directory.  A
 * scavenge leaves a dataset alone whose files all have the right size; else it
 * replaces wrong ones. */
static bool
find_obstacle(const struct plan *p, char *to, size_t size)
{
	static const char *const names[] = { SUMMARY_FILE, RANK2FILE_FILE,
					     RANK2FILE_FILE ".0.0" };
	bool seen = false; /* a scavenge sees that the dataset is lost */

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!p->places[0].cache &&
		    meta_obstacle(p, 0, names[i], to, size))
			return true;
	for (size_t i = 0; i < p->nfiles && !seen; i++)
		seen = p->files[i].fate == FATE_LOST &&
		       p->files[i].state != FILE_WRONG_CRC;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		const struct place *at = &p->places[f->place];
		const bool lost = p->flaw == NULL && !seen &&
				  f->fate == FATE_LOST &&
				  f->state == FILE_WRONG_CRC && !f->packed;
		const bool dir = f->fate != FATE_KEEP &&
				 f->state == FILE_WRONG_TYPE &&
				 blocks(at->root_fd, f->path);

		if ((lost || dir) &&
		    snprintf(to, size, "%s/%s", at->root, f->path) < (int)size)
			return true;
		for (size_t k = 0; f->fate == FATE_REBUILD && k < f->nsegs; k++)
			if (seg_obstacle(p, &f->segs[k], false, to, size))
				return true;
	}
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_meta *m = &p->ranks[i].map;

		if (m->fate == FATE_REBUILD &&
		    meta_obstacle(p, m->place, m->name, to, size))
			return true;
	}
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t k = 0; k < p->sets[i].n; k++) {
			const struct plan_member *m = &p->sets[i].members[k];

			if (m->fate != FATE_REBUILD)
				continue;
			if (meta_obstacle(p, m->place, m->name, to, size))
				return true;
			for (size_t l = 0; l < m->red->nsegs; l++)
				if (seg_obstacle(p, &m->red->segs[l], true, to,
						 size))
					return true;
		}
	to[0] = '\0';
	return false;
}

void
plan_find_way(const struct plan *p, struct plan_way *out)
{
	memset(out, 0, sizeof(*out));
	(void)find_obstacle(p, out->obstacle, sizeof(out->obstacle));
	if (p->was != NULL && strlen(p->was) < sizeof(out->was) &&
	    strlen(p->is) < sizeof(out->is)) {
		snprintf(out->was, sizeof(out->was), "%s", p->was);
		snprintf(out->is, sizeof(out->is), "%s", p->is);
	}
}
