/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - the checkpoints that a command line of scr_fti names.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/set.h"
#include "path.h"
#include "report/hint.h"
#include "str.h"

const char *
fti_one_dir(char **args, int count)
{
	if (count > 1)
		app_usage("%s: one directory can be given at a time", args[1]);
	return count > 0 ? args[0] : ".";
}

int
fti_open_sets(struct fti_sets *s, const char *dir,
	      const struct fti_sets_options *o, const struct work *w,
	      struct error *err)
{
	struct fti_geometry g = {
		.node_size = (uint32_t)o->node_size,
		.group_size = (uint32_t)o->group_size,
		.head = o->heads ? 1 : -1,
	};

	if (fti_sets_open(s, dir, &g, w, err) < 0)
		return -1;
	return s->count > 0 ? 0
			    : error_set(err, ERROR_ABSENT,
					"%s: no checkpoint files of FTI", dir);
}

bool
fti_selects(const struct fti_select *s, const struct fti_set *set)
{
	return (s->id == 0 || s->id == set->id) &&
	       (s->level == 0 || s->level == (uint64_t)set->level) &&
	       (s->exec == NULL || str_eq(s->exec, set->exec));
}

/* --- Next commands --- */

/* Append an option. */
__attribute__((format(printf, 3, 4))) static void
add(char *to, size_t size, const char *fmt, ...)
{
	const size_t len = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + len, size - len, fmt, ap);
	va_end(ap);
}

void
fti_next_rebuild(const struct fti_next *n, const struct fti_sets *s,
		 const struct fti_set *set, char *to, size_t size)
{
	const struct fti_sets_options *g = n->geometry;
	char command[FTI_NEXT_MAX] = "scr_fti rebuild";
	char with[FTI_NEXT_MAX];
	bool several = false;

	for (size_t i = 0; i < s->count; i++)
		several = several || !str_eq(s->list[i].exec, set->exec);
	if (several && set->exec[0] != '\0') {
		report_command("scr_fti rebuild --exec", NULL, set->exec, with,
			       sizeof(with));
		/* report_command() sets the name of the program. */
		snprintf(command, sizeof(command), "%s",
			 strstr(with, "scr_fti"));
	}
	add(command, sizeof(command), " --level %d --id %" PRIu32,
	    (int)set->level, set->id);
	if (n->checksums)
		add(command, sizeof(command), " --checksums");
	if (g->node_size > 0)
		add(command, sizeof(command), " --node-size %" PRIu64,
		    g->node_size);
	if (g->group_size > 0)
		add(command, sizeof(command), " --group-size %" PRIu64,
		    g->group_size);
	if (g->heads)
		add(command, sizeof(command), " --heads");
	report_command(command, NULL, n->dir, to, size);
}

bool
fti_next_repair(const struct fti_next *n, const struct fti_set *set, char *to,
		size_t size)
{
	char command[FTI_NEXT_MAX] = "scr_fti repair --in-place";
	struct buf path = BUF_INIT;
	bool fits = set->state == FTI_SET_REFUSED && set->level != FTI_L3;

	to[0] = '\0';
	for (size_t i = 0; fits && i < set->nranks; i++) {
		const struct fti_part_file *f = &set->ranks[i].parts[FTI_OWN];

		if (f->entry == NULL || f->state != FTI_STATE_REFUSED)
			continue;
		fits = path_join(&path, n->dir, f->entry->path, NULL) == 0 &&
		       strlen(command) + 5 * path.len + 64 < size;
		if (!fits)
			break;
		report_command(command, NULL, path.data, to, size);
		/* report_command() sets the name of the program. */
		snprintf(command, sizeof(command), "%s", strstr(to, "scr_fti"));
	}
	buf_free(&path);
	if (!fits)
		to[0] = '\0';
	return to[0] != '\0';
}

void
fti_next(const struct fti_next *n, const struct fti_sets *s, char *to,
	 size_t size)
{
	const struct fti_set *best = NULL;

	to[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		const struct fti_set *set = &s->list[i];
		const bool mend = set->state == FTI_SET_REBUILDABLE;

		if (!mend &&
		    (set->state != FTI_SET_WHOLE || set->unprotected == 0))
			continue;
		if (best == NULL ||
		    (mend && best->state != FTI_SET_REBUILDABLE))
			best = set;
	}
	if (best != NULL)
		fti_next_rebuild(n, s, best, to, size);
	for (size_t i = 0; best == NULL && i < s->count; i++)
		if (fti_next_repair(n, &s->list[i], to, size))
			return;
}
