/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - the checkpoints and the files that a command line of scr_fti names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "fti.h"
#include "fti/file.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "report/hint.h"
#include "str.h"

const char *
fti_one_dir(char **args, int count)
{
	if (count > 1)
		app_usage("%s: one directory can be given at a time", args[1]);
	return app_prefix(count > 0 ? args[0] : ".");
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

void
fti_next_rebuild(const struct fti_next *n, const struct fti_sets *s,
		 const struct fti_set *set, char to[static FTI_NEXT_MAX])
{
	const struct fti_sets_options *g = n->geometry;
	struct buf command = BUF_INIT;
	bool several = false;

	for (size_t i = 0; i < s->count; i++)
		several = several || !str_eq(s->list[i].exec, set->exec);
	buf_add_str(&command, "scr_fti rebuild");
	if (several && set->exec[0] != '\0')
		report_add_quoted(&command, " --exec ", set->exec);
	buf_printf(&command, " --level %d --id %" PRIu32, (int)set->level,
		   set->id);
	if (n->checksums)
		buf_add_str(&command, " --checksums");
	if (g->node_size > 0)
		buf_printf(&command, " --node-size %" PRIu64, g->node_size);
	if (g->group_size > 0)
		buf_printf(&command, " --group-size %" PRIu64, g->group_size);
	if (g->heads)
		buf_add_str(&command, " --heads");
	report_command(command.data, NULL, n->dir, to, FTI_NEXT_MAX);
	buf_free(&command);
}

/* Append the path of a file below the directory.  False: the command would be
 * too long. */
static bool
append_path(const struct fti_next *n, const struct fti_part_file *f,
	    struct buf *command)
{
	struct buf path = BUF_INIT;
	bool fits = false;

	path_join(&path, n->dir, f->entry->path, NULL);
	fits = command->len + 5 * path.len + 64 < FTI_NEXT_MAX;
	if (fits)
		report_add_quoted(command, " ", path.data);
	buf_free(&path);
	return fits;
}

/* The command that repairs the files that FTI refuses.  false: none does, as
 * parity is over the files as they are, or it would be too long. */
static bool
fti_next_repair(const struct fti_next *n, const struct fti_set *set,
		char to[static FTI_NEXT_MAX])
{
	struct buf command = BUF_INIT;
	bool fits = set->state == FTI_SET_REFUSED && !set->posix;
	bool any = false;

	to[0] = '\0';
	buf_add_str(&command, "scr_fti repair --in-place");
	for (size_t i = 0; fits && i < set->nranks; i++) {
		const struct fti_part_file *f = set->ranks[i].parts;

		/* Without its own file, a rank has that of its copy. */
		if (!fti_part_usable(f))
			f = &f[FTI_COPY];
		if (f->state != FTI_STATE_REFUSED ||
		    (set->level == FTI_L3 && (f->exact || f->unproven)))
			continue;
		fits = append_path(n, f, &command);
		any = true;
	}
	if (fits && any)
		report_command(command.data, NULL, NULL, to, FTI_NEXT_MAX);
	buf_free(&command);
	return to[0] != '\0';
}

bool
fti_next_topology(const struct fti_next *n, const struct fti_set *set,
		  char to[static FTI_NEXT_MAX])
{
	struct buf path = BUF_INIT;

	to[0] = '\0';
	if (set->no_topology != NULL) {
		path_join(&path, n->dir, set->no_topology, NULL);
		report_command("install -D -m 644 /dev/null", NULL, path.data,
			       to, FTI_NEXT_MAX);
	}
	buf_free(&path);
	return to[0] != '\0';
}

void
fti_next(const struct fti_next *n, const struct fti_sets *s,
	 char to[static FTI_NEXT_MAX])
{
	const struct fti_set *best = NULL;

	to[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		const struct fti_set *set = &s->list[i];
		const bool mend = set->state == FTI_SET_REBUILDABLE;
		/* Does FTI refuse files whose parity, which can be computed, it
		 * would take? */
		bool parity = set->level == FTI_L3 && set->unprotected > 0;

		for (size_t k = 0; k < set->nranks; k++)
			parity = parity && set->ranks[k].parts[FTI_OWN].exact;
		if (set->stuck ||
		    (!mend && !(parity && set->state == FTI_SET_REFUSED) &&
		     (set->state != FTI_SET_WHOLE || set->unprotected == 0)))
			continue;
		if (best == NULL ||
		    (mend && best->state != FTI_SET_REBUILDABLE))
			best = set;
	}
	if (best != NULL)
		fti_next_rebuild(n, s, best, to);
	for (size_t i = 0; to[0] == '\0' && i < s->count; i++)
		(void)fti_next_repair(n, &s->list[i], to);
	for (size_t i = 0; to[0] == '\0' && i < s->count; i++)
		if (s->list[i].state == FTI_SET_WHOLE)
			(void)fti_next_topology(n, &s->list[i], to);
	for (size_t i = 0; to[0] == '\0' && i < s->count; i++)
		if (fti_set_asks_data(&s->list[i]))
			report_command("scr_fti scan --checksums", NULL, n->dir,
				       to, FTI_NEXT_MAX);
}

int
fti_refuse(const struct fti_next *n, const struct fti_sets *s,
	   const struct fti_set *set, char next[static FTI_NEXT_MAX],
	   struct error *err)
{
	if (set->state == FTI_SET_REBUILDABLE)
		fti_next_rebuild(n, s, set, next);
	else if (!fti_next_repair(n, set, next))
		report_command("scr_fti scan --checksums --files", NULL, n->dir,
			       next, FTI_NEXT_MAX);
	return error_set(err, fti_set_states[set->state].error,
			 "checkpoint %" PRIu32 " of %s is %s, not whole: %s",
			 set->id, fti_levels[set->level].name,
			 fti_set_states[set->state].name,
			 set->reason != NULL	? set->reason
			 : set->refusal != NULL ? set->refusal
						: "");
}

int
fti_input_start(struct fti_input *s, const struct fti_input_options *o,
		struct error *err)
{
	*s = (struct fti_input){
		.metas = fti_metas_new(),
		.how = {
			.meta = o->meta,
			.layout = FTI_LAYOUTS,
			.layer = o->layer == UINT64_MAX ? FTI_DCP_LAST
							: (size_t)o->layer,
		},
	};
	s->how.metas = s->metas;
	return o->layout == NULL
		       ? 0
		       : fti_layout_parse(o->layout, &s->how.layout, err);
}

static void
close_files(struct fti_input *s)
{
	for (size_t i = 0; i < s->count; i++)
		fti_rankfile_close(&s->list[i]);
	mem_free(s->list);
	s->list = NULL;
	s->count = 0;
}

void
fti_input_end(struct fti_input *s)
{
	close_files(s);
	fti_metas_free(s->metas);
	s->metas = NULL;
}

int
fti_input_read(struct fti_input *s, char *const *paths, size_t count,
	       const struct work *w, struct error *err)
{
	close_files(s);
	s->list = mem_calloc(count + 1, sizeof(*s->list));

	for (size_t i = 0; i < count; i++)
		if (fti_rankfile_open(&s->list[s->count], paths[i], &s->how,
				      err) == 0) {
			s->count++;
		} else {
			fti_rankfile_close(&s->list[s->count]);
			s->status = app_report(s->status, err);
		}
	return fti_rankfiles_check(s->list, s->count, true, w, err);
}

/* --- Paths --- */

bool
fti_is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void
add_path(struct fti_paths *out, char *path)
{
	(void)MEM_ROOM(out->list, out->count, out->room);
	out->list[out->count++] = path;
}

int
fti_input_expand(char **args, size_t count, struct fti_paths *out,
		 struct arena *arena, const struct work *w, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		const size_t before = out->count;
		const char *slash = str_ends(args[i], "/") ? "" : "/";
		struct fti_tree t;

		if (!fti_is_directory(args[i])) {
			add_path(out, args[i]);
			continue;
		}
		rc = fti_tree_open(&t, args[i], w, err);
		for (size_t k = 0; k < t.count && rc == 0; k++)
			if (t.list[k].level != FTI_TMP &&
			    fti_name_is_of_rank(t.list[k].name.kind))
				add_path(out,
					 arena_printf(arena, "%s%s%s", args[i],
						      slash, t.list[k].path));
		fti_tree_close(&t);
		if (rc == 0 && out->count == before)
			rc = error_set(err, ERROR_ABSENT,
				       "%s: no checkpoint files of FTI",
				       args[i]);
	}
	return rc;
}

/* --- Variables --- */

int
fti_input_check(const struct fti_rankfile *r, struct error *err)
{
	const enum error_kind kind =
		r->checked.open ? ERROR_CORRUPT : ERROR_LOST;
	const char *why = NULL;

	if (r->checked.unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", r->checked.unread);
	if (r->unusable != NULL)
		return error_set(err, kind, "%s", r->unusable);
	if (r->parity)
		return error_set(err, ERROR_ABSENT,
				 "%s: is a parity file: it holds no variables",
				 r->name);
	if (r->form != FTI_FORM_UNKNOWN)
		return 0;
	/* The last one says why there are no metadata. */
	for (const struct fti_finding *n = r->checked.file->findings; n != NULL;
	     n = n->next)
		why = n->text;
	return error_set(err, kind, "%s: %s%s%s", r->name,
			 fti_verdict_names[r->checked.verdict],
			 why != NULL ? ": " : "", why != NULL ? why : "");
}

int64_t *
fti_input_ids(const struct opt_list *list, size_t *count)
{
	int64_t *ids = mem_calloc(list->count + 1, sizeof(*ids));
	struct error err = ERROR_INIT;
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		if (num_i64(list->items[i], INT32_MIN, INT32_MAX, &ids[i],
			    &err) < 0) {
			mem_free(ids);
			app_usage("--variable: %s", err.text);
		}
	qsort(ids, list->count, sizeof(*ids), num_by_id);
	for (size_t i = 0; i < list->count; i++)
		if (i == 0 || ids[i] != ids[i - 1])
			ids[n++] = ids[i];
	*count = n;
	return ids;
}
