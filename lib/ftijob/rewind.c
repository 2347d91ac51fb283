/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind.c - plan the steps of a restart.
 */
#include "ftijob/rewind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/archive.h"
#include "ftijob/config.h"
#include "ftijob/rewind_impl.h"
#include "ftijob/set.h"
#include "ftijob/tree.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"

#define NANO INT64_C(1000000000)

size_t
rewind_dir_len(const char *path)
{
	return (size_t)(path_base(path) - path);
}

void
rewind_name_backup(struct fti_rewind *r)
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
put_file(struct fti_rewind *r, const struct fti_tree *from,
	 const struct fti_entry *e, struct error *err)
{
	struct fti_step s = { .kind = FTI_STEP_PUT, .from = e->path };
	struct stat st;

	if (path_stat_beneath(from->fd, e->path, &st, err) < 0)
		return -1;
	s.size = (uint64_t)st.st_size;
	s.mtime = st.st_mtim.tv_sec * NANO + st.st_mtim.tv_nsec;
	s.to = fti_archive_home(e->path, r->arena);
	add(r, &s);
	return 0;
}

static int
plan_putting(struct fti_rewind *r, const struct fti_set *set,
	     const struct fti_tree *from, struct error *err)
{
	int rc = 0;
	size_t end = 0;
	const char *last = NULL;
	struct stat st;

	for (size_t i = 0; rc == 0 && i < set->nranks; i++)
		if (set->ranks[i].parts[FTI_OWN].entry != NULL &&
		    (i == 0 || set->whole == NULL))
			rc = put_file(r, from,
				      set->ranks[i].parts[FTI_OWN].entry, err);
	for (size_t i = 0; rc == 0 && i < set->nmetadata; i++) {
		const struct fti_entry *e = &from->list[set->metadata + i];

		if (e->name.kind == FTI_NAME_SECTOR &&
		    (e->level != FTI_ARCHIVE || e->name.id == set->id))
			rc = put_file(r, from, e, err);
	}
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
		rewind_name_backup(r);
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
