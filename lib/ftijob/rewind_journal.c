/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind_journal.c - the file in which the steps of a restart are recorded.
 */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "ftijob/rewind.h"
#include "ftijob/rewind_impl.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "str.h"

#define VERSION 1
#define JOURNAL_BYTES_MAX ((size_t)1 << 30)

static const char *const states[] = {
	[FTI_REWIND_PLANNED] = "planned",
	[FTI_REWIND_BEGUN] = "begun",
	[FTI_REWIND_DONE] = "done",
	[FTI_REWIND_UNDOING] = "undoing",
};

static const char *const kinds[] = {
	[FTI_STEP_HIDE] = "hide",
	[FTI_STEP_MAKE] = "make",
	[FTI_STEP_PUT] = "put",
};

char *
rewind_journal_name(const struct fti_rewind *r, char to[static NUMBERED_MAX])
{
	snprintf(to, NUMBERED_MAX, JOURNAL "%u", r->number);
	return to;
}

/* --- Writing --- */

int
rewind_journal_write(const struct fti_rewind *r, struct error *err)
{
	struct json *j = json_new_object(), *list = json_new_array();
	struct buf text = BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct fti_step *s = &r->steps[i];
		struct json *step = json_new_object();

		json_set_str(step, "step", kinds[s->kind]);
		json_set_known_str(step, "from", s->from);
		json_set_str(step, "to", s->to);
		if (s->kind == FTI_STEP_PUT) {
			json_set_u64(step, "size", s->size);
			json_set_i64(step, "mtime", s->mtime);
		} else if (s->kind == FTI_STEP_HIDE) {
			json_set_bool(step, "directory", s->dir);
		}
		json_push(list, step);
	}
	json_set_u64(j, "version", VERSION);
	json_set_str(j, "state", states[r->state]);
	json_set_str(j, "execution", r->exec);
	json_set_u64(j, "level", r->level);
	json_set_u64(j, "checkpoint_id", r->id);
	json_set_str(j, "config", r->config);
	json_set_bool(j, "outside", r->outside);
	json_set(j, "steps", list);
	json_line(j, &text, NULL);
	rc = io_replace(r->fd, rewind_journal_str(r), text.data, text.len, 0666,
			err);
	buf_free(&text);
	return rc;
}

/* --- Reading --- */

static int
bad(const struct fti_rewind *r, struct error *err)
{
	return error_set(err, ERROR_CORRUPT,
			 "%s/%s: not a journal of a restart", r->root,
			 rewind_journal_str(r));
}

static int
read_step(struct fti_rewind *r, const struct json_value *v, struct error *err)
{
	const char *kind = NULL;
	struct fti_step *s = NULL;
	char hidden[NUMBERED_MAX];
	bool known = false, ours = false;

	(void)MEM_ROOM(r->steps, r->count, r->room);
	s = &r->steps[r->count];
	*s = (struct fti_step){ .kind = FTI_STEP_HIDE };
	if (json_get_str(v, "step", r->arena, &kind, err) < 0 ||
	    json_get_str(v, "from", r->arena, &s->from, err) < 0 ||
	    json_get_str(v, "to", r->arena, &s->to, err) < 0)
		return -1;
	for (int i = 0; kind != NULL && i <= FTI_STEP_PUT; i++)
		if (str_eq(kind, kinds[i])) {
			s->kind = (enum fti_step_kind)i;
			known = true;
		}
	/* What is renamed goes to our own directories, and only there. */
	snprintf(hidden, sizeof(hidden), HIDDEN "%u/", r->number);
	for (const char *at = s->to; at != NULL && !ours;
	     at = strchr(at, '/')) {
		at += at[0] == '/';
		ours = str_starts(at, hidden);
	}
	if (!known || s->to == NULL || !path_is_clean(s->to) ||
	    (s->from == NULL) != (s->kind == FTI_STEP_MAKE) ||
	    (s->from != NULL && !path_is_clean(s->from)) ||
	    (s->kind == FTI_STEP_HIDE) != ours ||
	    (s->kind == FTI_STEP_HIDE &&
	     !json_get_bool(v, "directory", &s->dir)) ||
	    (s->kind == FTI_STEP_PUT &&
	     (!json_get_u64(v, "size", INT64_MAX, &s->size) ||
	      !json_get_i64(v, "mtime", INT64_MIN, INT64_MAX, &s->mtime))))
		return bad(r, err);
	r->count++;
	return 0;
}

int
fti_rewind_parse(struct fti_rewind *r, const char *text, size_t len,
		 struct error *err)
{
	struct json_value *v = json_parse(text, len, err);
	const struct json_value *steps = json_get(v, "steps");
	uint64_t version = 0, level = 0, id = 0;
	const char *state = NULL;
	int rc = 0, at = 0;

	if (v == NULL)
		return error_wrap(err, "%s/%s", r->root, rewind_journal_str(r));
	if (json_get_str(v, "state", r->arena, &state, err) < 0 ||
	    json_get_str(v, "execution", r->arena, &r->exec, err) < 0 ||
	    json_get_str(v, "config", r->arena, &r->config, err) < 0)
		rc = -1;
	while (state != NULL && at <= FTI_REWIND_UNDOING &&
	       !str_eq(state, states[at]))
		at++;
	if (rc == 0 &&
	    (!json_get_u64(v, "version", VERSION, &version) ||
	     !json_get_u64(v, "level", FTI_L4, &level) || level < FTI_L1 ||
	     !json_get_u64(v, "checkpoint_id", UINT32_MAX, &id) ||
	     !json_get_bool(v, "outside", &r->outside) || state == NULL ||
	     at > FTI_REWIND_UNDOING || r->exec == NULL ||
	     !path_is_clean(r->exec) || strchr(r->exec, '/') != NULL ||
	     (r->config != NULL && !path_is_clean(r->config))))
		rc = bad(r, err);
	r->level = (enum fti_level)level;
	r->id = (uint32_t)id;
	r->state = (enum fti_rewind_state)at;
	for (size_t i = 0; rc == 0 && i < json_count(steps); i++)
		rc = read_step(r, json_at(steps, i), err);
	if (rc == 0 && r->config != NULL)
		rewind_name_backup(r);
	json_release(v);
	return rc;
}

int
fti_rewind_find(struct fti_rewind *r, int fd, const char *root,
		struct error *err)
{
	struct buf text = BUF_INIT;
	const char *name = NULL;
	struct dir_walk w;
	uint64_t n = 0;
	int rc = 0;

	*r = (struct fti_rewind){
		.fd = fd,
		.root = root,
		.arena = arena_new(),
	};
	rc = dir_walk(&w, fd, root, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (str_starts(name, JOURNAL) &&
		    num_u64(name + strlen(JOURNAL), 1, UINT32_MAX - 1, &n,
			    NULL) == 0 &&
		    n > r->number)
			r->number = (unsigned)n;
	if (dir_done(&w, rc, err) < 0)
		return -1;
	if (r->number == 0) {
		r->number = 1;
		return 0;
	}
	rc = io_read_file(fd, rewind_journal_str(r), JOURNAL_BYTES_MAX, &text,
			  err);
	if (rc == 0)
		rc = fti_rewind_parse(r, text.data, text.len, err);
	buf_free(&text);
	return rc < 0 ? -1 : 1;
}
