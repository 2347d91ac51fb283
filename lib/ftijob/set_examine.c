/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_examine.c - read the files of a checkpoint.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/input.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "ftijob/tree.h"
#include "mem.h"
#include "work.h"

struct batch {
	struct fti_source sources[FTI_BATCH];
	struct fti_checked checked[FTI_BATCH];
	struct fti_part_file *to[FTI_BATCH];
	size_t count;
};

static void
end_batch(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		fti_checked_fini(&b->checked[i]);
		fti_file_free(b->checked[i].file);
		fti_source_close(&b->sources[i]);
	}
	memset(b, 0, sizeof(*b));
}

/* --- One file --- */

int
fti_set_problem(struct fti_sets *s, struct fti_part_file *to, const char *text,
		struct error *err)
{
	to->problem = arena_strdup(s->arena, text);
	return to->problem == NULL ? error_no_memory(err) : 0;
}

/* The id that the file records differs from its name's. */
static int
check_label(struct fti_sets *s, const struct fti_set *set,
	    struct fti_part_file *to, struct error *err)
{
	const struct fti_name *n = &to->entry->name;
	char text[128];

	/* FTI leaves the id of parity unset when it rebuilds it. */
	if (n->kind == FTI_NAME_PARITY || n->kind == FTI_NAME_DCP ||
	    !fti_has(set->layout, FTI_CKPT_ID) ||
	    to->meta.ckpt_id == (int64_t)n->id || to->state != FTI_STATE_GOOD)
		return 0;
	snprintf(text, sizeof(text),
		 "ckptId is %" PRId64 ", not that of its "
		 "name",
		 to->meta.ckpt_id);
	to->state = FTI_STATE_REFUSED;
	to->exact = false;
	return fti_set_problem(s, to, text, err);
}

static int
take(struct fti_sets *s, struct fti_set *set, const struct fti_checked *c,
     struct fti_part_file *to, struct error *err)
{
	static const enum fti_state states[] = {
		[FTI_INTACT] = FTI_STATE_GOOD,
		[FTI_REFUSED] = FTI_STATE_REFUSED,
		[FTI_DAMAGED] = FTI_STATE_DAMAGED,
		[FTI_FOREIGN] = FTI_STATE_DAMAGED,
		[FTI_UNREAD] = FTI_STATE_UNKNOWN,
	};
	const struct fti_file *f = c->file;
	const bool parity = to->entry->name.kind == FTI_NAME_PARITY;

	to->state = states[c->verdict];
	to->data_good = c->data_good;
	to->exact = c->verdict == FTI_INTACT ||
		    (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
	to->meta = f->meta;
	if (f->kind != FTI_KIND_NONE &&
	    (f->kind == FTI_KIND_PARITY) != parity) {
		to->state = FTI_STATE_DAMAGED;
		to->data_good = to->exact = false;
		return fti_set_problem(
			s, to,
			parity ? "holds no parity"
			       : "holds parity, not a checkpoint",
			err);
	}
	if (f->kind != FTI_KIND_NONE && !set->layout_known) {
		set->layout = f->layout;
		set->layout_known = true;
	}
	if (c->unread != NULL || f->nfindings > 0)
		return fti_set_problem(
			s, to,
			c->unread != NULL ? c->unread : f->findings->text, err);
	return check_label(s, set, to, err);
}

/* --- All files --- */

static int
run_batch(struct fti_sets *s, struct fti_set *set, struct batch *b, bool data,
	  const struct work *w, struct error *err)
{
	int rc = fti_check(b->checked, b->count, data, w, err);

	for (size_t i = 0; i < b->count && rc == 0; i++)
		rc = take(s, set, &b->checked[i], b->to[i], err);
	end_batch(b);
	return rc;
}

static int
add_to_batch(struct fti_sets *s, struct fti_set *set, struct batch *b,
	     struct fti_part_file *to, struct error *err)
{
	struct fti_source *from = &b->sources[b->count];
	struct error why = ERROR_INIT;
	struct fti_file *f = NULL;

	if (fti_source_open(from, s->tree->fd, to->entry->path, &why) == 0)
		f = fti_file_read(from,
				  set->layout_known ? set->layout : FTI_LAYOUTS,
				  &why);
	if (f == NULL) {
		fti_source_close(from);
		if (why.kind == ERROR_NOMEM)
			return error_pass(err, &why);
		to->state = FTI_STATE_UNKNOWN;
		return fti_set_problem(s, to, why.text, err);
	}
	b->checked[b->count].file = f;
	b->checked[b->count].source = from;
	b->to[b->count++] = to;
	return 0;
}

static int
read_parts(struct fti_sets *s, struct fti_set *set, enum fti_part part,
	   bool data, const struct work *w, struct error *err)
{
	struct batch *b = mem_calloc(1, sizeof(*b));
	int rc = b == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < set->nranks && rc == 0; i++) {
		struct fti_part_file *to = &set->ranks[i].parts[part];

		if (to->entry == NULL)
			continue;
		rc = add_to_batch(s, set, b, to, err);
		if (rc == 0 && b->count == FTI_BATCH)
			rc = run_batch(s, set, b, data, w, err);
	}
	if (rc == 0)
		rc = run_batch(s, set, b, data, w, err);
	if (b != NULL)
		end_batch(b);
	mem_free(b);
	return rc;
}

int
fti_set_examine(struct fti_sets *s, struct fti_set *set, bool data,
		const struct work *w, struct error *err)
{
	set->data_read = data;
	if (set->posix && fti_set_read_posix(s, set, data, w, err) < 0)
		return -1;
	for (int p = 0; p < FTI_PARTS && !set->posix; p++)
		if (read_parts(s, set, (enum fti_part)p, data, w, err) < 0)
			return -1;
	return fti_set_judge(s, set, err);
}
