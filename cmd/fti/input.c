/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <stdlib.h>

#include "app.h"
#include "error.h"
#include "fti/file.h"
#include "mem.h"
#include "num.h"

int
fti_input_how(const struct fti_input_options *o, struct fti_metas *metas,
	      struct fti_rankfile_options *out, struct error *err)
{
	*out = (struct fti_rankfile_options){
		.metas = metas,
		.meta = o->meta,
		.layout = FTI_LAYOUTS,
		.layer = o->layer == UINT64_MAX ? FTI_DCP_LAST
						: (size_t)o->layer,
	};
	return o->layout == NULL
		       ? 0
		       : fti_layout_parse(o->layout, &out->layout, err);
}

int
fti_input_open(struct fti_input *s, char **paths, size_t count,
	       const struct fti_input_options *o, const struct work *w,
	       struct error *err)
{
	struct fti_rankfile_options how;

	*s = (struct fti_input){ .status = STATUS_OK };
	s->metas = fti_metas_new(err);
	if (s->metas == NULL || fti_input_how(o, s->metas, &how, err) < 0)
		return -1;
	s->list = mem_calloc(count + 1, sizeof(*s->list));
	if (s->list == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		if (fti_rankfile_open(&s->list[s->count], paths[i], &how,
				      err) == 0) {
			s->count++;
		} else {
			fti_rankfile_close(&s->list[s->count]);
			s->status = app_report(s->status, err);
		}
	return fti_rankfiles_check(s->list, s->count, true, w, err);
}

void
fti_input_close(struct fti_input *s)
{
	for (size_t i = 0; i < s->count; i++)
		fti_rankfile_close(&s->list[i]);
	mem_free(s->list);
	fti_metas_free(s->metas);
	*s = (struct fti_input){ .count = 0 };
}

int
fti_input_check(const struct fti_rankfile *r, struct error *err)
{
	const char *why = NULL;

	if (r->unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", r->unread);
	if (r->unusable != NULL)
		return error_set(err, ERROR_LOST, "%s", r->unusable);
	if (r->parity)
		return error_set(err, ERROR_ABSENT,
				 "%s: is a parity file: it holds no variables",
				 r->name);
	if (r->form != FTI_FORM_UNKNOWN)
		return 0;
	/* The last one says why there are no metadata. */
	for (const struct fti_finding *n = r->findings; n != NULL; n = n->next)
		why = n->text;
	return error_set(err, ERROR_LOST, "%s: %s%s%s", r->name,
			 fti_verdict_name(r->verdict), why != NULL ? ": " : "",
			 why != NULL ? why : "");
}

static int
by_number(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

int32_t *
fti_input_ids(const struct opt_list *list, size_t *count, struct error *err)
{
	int32_t *ids = mem_calloc(list->count + 1, sizeof(*ids));
	size_t n = 0;
	int64_t id = 0;

	*count = 0;
	if (ids == NULL) {
		error_no_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (num_i64(list->items[i], INT32_MIN, INT32_MAX, &id, err) <
		    0) {
			mem_free(ids);
			error_wrap(err, "--variable");
			return NULL;
		}
		ids[i] = (int32_t)id;
	}
	if (list->count > 0)
		qsort(ids, list->count, sizeof(*ids), by_number);
	for (size_t i = 0; i < list->count; i++)
		if (i == 0 || ids[i] != ids[i - 1])
			ids[n++] = ids[i];
	*count = n;
	return ids;
}
