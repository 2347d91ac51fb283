/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "app.h"
#include "arena.h"
#include "error.h"
#include "fti.h"
#include "fti/file.h"
#include "ftijob/tree.h"
#include "mem.h"
#include "num.h"
#include "str.h"

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
	const char *why = NULL;

	if (r->checked.unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", r->checked.unread);
	if (r->unusable != NULL)
		return error_set(err, ERROR_LOST, "%s", r->unusable);
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
	return error_set(err, ERROR_LOST, "%s: %s%s%s", r->name,
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
