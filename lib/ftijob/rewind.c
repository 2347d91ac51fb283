/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind.c - plan the steps of a restart, and record them in its journal.
 */
#include "ftijob/rewind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/archive.h"
#include "ftijob/rewind_impl.h"
#include "ftijob/set.h"
#include "ftijob/tree.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "str.h"

#define NANO INT64_C(1000000000)

size_t
rewind_dir_len(const char *path)
{
	return (size_t)(path_base(path) - path);
}

/* Set r->backup: where a copy of r->config stays. */
static void
name_backup(struct fti_rewind *r)
{
	r->backup = arena_printf(r->arena, "%.*s" BACKUP "%u",
				 (int)rewind_dir_len(r->config), r->config,
				 r->number);
}

void
fti_rewind_free(struct fti_rewind *r)
{
	mem_free(r->steps);
	arena_free(r->arena);
	r->steps = NULL;
	r->arena = NULL;
	r->count = 0;
}

static void
add(struct fti_rewind *r, const struct fti_step *s)
{
	(void)MEM_ROOM(r->steps, r->count, r->room);
	r->steps[r->count++] = *s;
}

static int
by_from(const void *a, const void *b)
{
	return strcmp(((const struct fti_step *)a)->from,
		      ((const struct fti_step *)b)->from);
}

/* --- Putting --- */

static int
plan_putting(struct fti_rewind *r, const struct fti_set *set,
	     const struct fti_tree *from, struct error *err)
{
	size_t count = 0, end = 0;
	const struct fti_entry **list = fti_set_files(set, from, &count);
	const char *last = NULL;
	struct stat st;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct fti_step s = { .kind = FTI_STEP_PUT,
				      .from = list[i]->path };

		rc = path_stat_beneath(from->fd, s.from, &st, err);
		if (rc < 0)
			break;
		s.size = (uint64_t)st.st_size;
		s.mtime = st.st_mtim.tv_sec * NANO + st.st_mtim.tv_nsec;
		s.to = fti_archive_home(s.from, r->arena);
		add(r, &s);
	}
	mem_free(list);
	if (rc < 0)
		return -1;
	end = r->count;
	for (size_t i = 0; i < end; i++) {
		const char *to = r->steps[i].to;

		if (r->steps[i].kind != FTI_STEP_PUT ||
		    (last != NULL && fti_tree_beside(last, to)))
			continue;
		last = to;
		/* The missing directories above it. */
		for (const char *at = to; (at = strchr(at, '/')) != NULL;
		     at++) {
			struct fti_step s = { .kind = FTI_STEP_MAKE };
			struct error why = ERROR_INIT;
			bool known = false;

			s.to = arena_strndup(r->arena, to, (size_t)(at - to));
			for (size_t k = end; k < r->count && !known; k++)
				known = str_eq(r->steps[k].to, s.to);
			if (known ||
			    path_stat_beneath(r->fd, s.to, &st, &why) == 0)
				continue;
			if (why.kind != ERROR_ABSENT)
				return error_pass(err, &why);
			add(r, &s);
		}
	}
	return 0;
}

/* --- The plan --- */

int
fti_rewind_plan(struct fti_rewind *r, unsigned number, const struct fti_tree *t,
		const struct fti_set *set, const struct fti_tree *from,
		struct error *err)
{
	const bool put = set->level == FTI_ARCHIVE || from != t;
	size_t kept = 0;

	*r = (struct fti_rewind){
		.fd = t->fd,
		.root = t->root,
		.number = number,
		.level = put ? FTI_L4 : set->level,
		.id = set->id,
		.outside = from != t,
		.arena = arena_new(),
	};
	r->exec = arena_strdup(r->arena, set->exec);
	if (t->config != NULL) {
		r->config = arena_strdup(r->arena, t->config);
		name_backup(r);
	}
	for (size_t i = 0; i < t->count; i++) {
		const struct fti_entry *e = &t->list[i];
		const enum fti_name_kind kind = e->name.kind;
		const bool all = e->level < r->level ||
				 (e->level == FTI_DCP && r->level == FTI_L4) ||
				 (e->level == r->level && put);
		/* Files of other checkpoints in the same directories: POSIX
		 * ones have none. */
		const bool other =
			e->level == r->level && e->name.id != r->id &&
			(kind == FTI_NAME_RANK || kind == FTI_NAME_COPY ||
			 kind == FTI_NAME_PARITY);

		struct fti_step s = { .kind = FTI_STEP_HIDE, .dir = all };
		const size_t len = rewind_dir_len(e->path);
		const char *dir = NULL;
		int above = 0;

		if (!str_eq(e->exec, r->exec) || (!all && !other))
			continue;
		if (len == 0)
			return error_set(err, ERROR_USAGE,
					 "%s: is a directory of one level; "
					 "give the directory that all "
					 "directories of FTI are in",
					 r->root);
		/* Hide the file, or the directory of its level, below a
		 * directory of our own beside it. */
		dir = arena_strndup(r->arena, e->path, len - 1);
		s.from = all ? dir : e->path;
		above = (int)rewind_dir_len(dir);
		s.to = arena_printf(r->arena, "%.*s" HIDDEN "%u/%s", above,
				    s.from, r->number, s.from + above);
		add(r, &s);
	}
	/* Each directory once. */
	if (r->count > 0)
		qsort(r->steps, r->count, sizeof(*r->steps), by_from);
	for (size_t i = 1; i < r->count; i++)
		if (!str_eq(r->steps[i].from, r->steps[kept].from))
			r->steps[++kept] = r->steps[i];
	if (r->count > 0)
		r->count = kept + 1;
	return put ? plan_putting(r, set, from, err) : 0;
}

/* --- The configuration --- */

int
rewind_config_text(const struct fti_rewind *r, const struct buf *old,
		   struct buf *out, struct error *err)
{
	const struct fti_ini_value failure = { "restart", "failure", "1",
					       false };
	const struct fti_ini_value exec = { "restart", "exec_id", r->exec,
					    false };

	buf_clear(out);
	buf_add(out, old->data, old->len);
	if (fti_ini_set(out, &failure, err) < 0 ||
	    fti_ini_set(out, &exec, err) < 0)
		return error_wrap(err, "%s/%s", r->root, r->config);
	return 0;
}

int
fti_rewind_config_ready(const struct fti_rewind *r, struct error *err)
{
	struct buf old = BUF_INIT, new = BUF_INIT;
	int rc = 1;

	if (r->config == NULL)
		return 1;
	rc = io_read_file(r->fd, r->config, FTI_INI_MAX, &old, err);
	rc = rc < 0 || rewind_config_text(r, &old, &new, err) < 0
		     ? -1
		     : buf_equal(&old, &new);
	buf_free(&old);
	buf_free(&new);
	return rc;
}

/* Is `dir` base/[node<k>/]exec/l<n>? */
static bool
is_level_dir(const struct fti_rewind *r, const char *dir, const char *base)
{
	const char *rest = str_eq(base, ".") ? dir : path_below(dir, base);
	char node[32] = "";
	size_t len = 0;
	uint32_t k = 0;

	if (rest == NULL)
		return false;
	len = strcspn(rest, "/");
	if (len < sizeof(node)) {
		memcpy(node, rest, len);
		if (fti_name_node(node, &k) && rest[len] == '/')
			rest += len + 1;
	}
	len = strlen(r->exec);
	return strncmp(rest, r->exec, len) == 0 && rest[len] == '/' &&
	       str_eq(rest + len + 1, fti_levels[r->level].dir);
}

int
fti_rewind_looks(const struct fti_rewind *r, const char *path,
		 struct buf *expected, struct error *err)
{
	struct fti_config c = { .ini = NULL };
	struct error why = ERROR_INIT;
	struct buf base = BUF_INIT;
	const char *key = r->level == FTI_L4 ? "glbl_dir" : "ckpt_dir";
	const char *dir = fti_tree_dir(r->arena, path);
	const char *value = NULL;
	int rc = 1;

	if (r->config == NULL)
		return 1;
	rc = fti_config_open(&c, r->fd, r->config, err);
	value = r->level == FTI_L4 ? c.glbl_dir : c.ckpt_dir;
	if (rc == 0 && value == NULL) {
		buf_printf(expected, "%s has no %s", r->config, key);
	} else if (rc == 0 &&
		   fti_config_dir(r->root, r->config, value, &base, &why) < 0) {
		rc = why.kind == ERROR_UNSAFE ? 0 : error_pass(err, &why);
		buf_printf(expected, "%s of %s leads out of the directory", key,
			   r->config);
	} else if (rc == 0 && is_level_dir(r, dir, base.data)) {
		rc = 1;
	} else if (rc == 0) {
		buf_printf(expected, "%s of %s is %s, and the files are in %s",
			   key, r->config, value, dir);
	}
	fti_config_close(&c);
	buf_free(&base);
	return rc;
}

/* --- The journal --- */

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
		name_backup(r);
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
