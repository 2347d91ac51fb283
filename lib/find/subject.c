/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * subject.c - find, lock and plan the dataset that the command line names.
 */
#include "find/subject.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "dir.h"
#include "error.h"
#include "lock.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/plan.h"
#include "str.h"

/* The lock of one metadata directory. */
struct subject_lock {
	int dirfd, lock;
};

static void
subject_init(struct subject *s)
{
	*s = (struct subject){ .id = -1, .arena = arena_new() };
	locate_caches_init(&s->caches);
}

void
subject_fini(struct subject *s)
{
	for (size_t i = 0; i < s->nlocks; i++) {
		lock_give(s->locks[i].dirfd, s->locks[i].lock);
		close(s->locks[i].dirfd);
	}
	mem_free(s->locks);
	locate_caches_fini(&s->caches);
	arena_free(s->arena);
	*s = (struct subject){ .id = -1 };
}

/* --- Words, directories --- */

static int
by_word(struct subject *s, const char *prefix, const char *word,
	struct error *err)
{
	struct catalogue *c = catalogue_open(prefix, err);

	s->kind = SUBJECT_PREFIX;
	if (c == NULL)
		return -1;
	s->prefix = prefix;
	s->id = catalogue_resolve_now(c, word, false, err);
	catalogue_close(c);
	return s->id < 0 ? -1 : 0;
}

/* Check that s->caches holds exactly one dataset, and take it. */
static int
by_caches(struct subject *s, struct error *err)
{
	const struct locate_group *g = s->caches.groups;

	if (s->caches.count > 1)
		return error_set(err, ERROR_USAGE,
				 "%zu datasets lie there, " DATASET_DIR_FMT
				 " of %s the first: name the directories of "
				 "one",
				 s->caches.count, g->id, g->job);
	s->kind = SUBJECT_CACHES;
	s->prefix = NULL; /* in which its name was looked up */
	s->id = g->id;
	s->dirs = g->dirs;
	s->ndirs = g->ndirs;
	return 0;
}

static int
by_dirs(struct subject *s, const char *const *args, size_t count,
	struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct error why = ERROR_INIT;
		size_t found = 0;

		if (locate_caches_add(&s->caches, args[i], &found, &why) < 0 &&
		    why.kind != ERROR_ABSENT)
			return error_pass(err, &why);
		if (found == 0)
			return error_set(err, ERROR_USAGE,
					 "%s: no dataset directory of a cache; "
					 "several arguments must be those, of "
					 "one dataset",
					 args[i]);
	}
	return by_caches(s, err);
}

int
subject_find(struct subject *s, const char *prefix, const char *const *args,
	     size_t count, struct error *err)
{
	struct locate_place at = { .kind = LOCATE_FILE };
	struct error why = ERROR_INIT;
	struct word w;
	size_t found = 0;
	int rc = -1;

	subject_init(s);
	if (count > 1)
		return by_dirs(s, args, count, err);
	word_parse(args[0], &w);
	if (w.marked)
		return by_word(s, prefix, args[0], err);
	rc = locate_path(args[0], s->arena, &at, &why);
	if (rc < 0 && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (rc == 0 && at.kind == LOCATE_DATASET) {
		s->kind = SUBJECT_PREFIX;
		s->prefix = at.prefix;
		s->id = at.id;
		return 0;
	}
	if (rc == 0 && at.kind == LOCATE_CACHE)
		return by_dirs(s, args, 1, err);
	/* A checkpoint and its directory often have the same name.  So look up
	 * the word first, then search below the directory. */
	if (by_word(s, prefix, args[0], &why) == 0)
		return 0;
	error_pass(err, &why);
	if (rc < 0 || at.kind != LOCATE_OTHER || why.kind != ERROR_ABSENT)
		return -1;
	if (locate_caches_add(&s->caches, args[0], &found, &why) < 0 ||
	    found == 0)
		return -1;
	error_clear(err);
	return by_caches(s, err);
}

/* --- Redundancy files on the command line --- */

int
subject_find_files(struct subject *s, const char *prefix, enum redset_type type,
		   const char *const *args, size_t count, struct error *err)
{
	struct locate_place at;
	char *dir = NULL, *slash = NULL;
	bool outside = false;

	subject_init(s);
	s->kind = SUBJECT_FILES;
	/* "map" or a type, rather than a file. */
	if (count > 0 && (str_eq(args[0], "map") ||
			  redset_type_of_word(args[0]) != REDSET_TYPES)) {
		s->map = str_eq(args[0], "map");
		args++;
		count--;
	}
	if (count == 0)
		return error_set(err, ERROR_USAGE, "no redundancy file given");
	s->nnames = count;
	s->names = arena_alloc(s->arena, count, sizeof(*s->names));
	for (size_t i = 0; i < count; i++) {
		struct redset_name n;
		size_t stem = 0;

		if (!redset_name_parse(path_base(args[i]), &n, &stem))
			return error_set(
				err, ERROR_USAGE,
				"%s: not the name of a redundancy file",
				args[i]);
		if (!n.descriptor && n.type != type)
			return error_set(err, ERROR_USAGE,
					 "%s: a file of type %s, not %s",
					 args[i], redset_type_name(n.type),
					 redset_type_name(type));
		s->names[i] = path_normal_in(s->arena, "", args[i], NULL);
		outside = outside || !path_is_clean(s->names[i]);
	}
	/* If all are below the working directory, use ".", as LLNL's tools
	 * expect. */
	s->dir = ".";
	if (outside) {
		/* The nearest directory that contains each name. */
		s->dir = dir = arena_strdup(s->arena, s->names[0]);
		slash = strrchr(dir, '/');
		*(slash != NULL ? slash : dir) = '\0';
	}
	for (size_t i = 0; outside && i < count; i++)
		while (dir[0] != '\0' && path_below(s->names[i], dir) == NULL) {
			slash = strrchr(dir, '/');
			*(slash != NULL ? slash : dir) = '\0';
		}
	if (outside && dir[0] == '\0')
		return error_set(err, ERROR_USAGE,
				 "%s and %s: not in one directory", s->names[0],
				 s->names[count - 1]);
	for (size_t i = 0; outside && i < count; i++)
		s->names[i] = path_below(s->names[i], dir);
	if (locate_path(s->dir, s->arena, &at, err) < 0)
		return -1;
	s->prefix = prefix;
	if (prefix == NULL && at.kind == LOCATE_DATASET) {
		s->prefix = at.prefix;
		s->id = at.id;
	}
	return 0;
}

/* --- Locks --- */

int
subject_lock(struct subject *s, const struct catalogue_options *o,
	     struct error *err)
{
	const size_t n = s->kind == SUBJECT_CACHES ? s->ndirs : 1;

	s->locks = mem_calloc(n, sizeof(*s->locks));
	for (size_t i = 0; i < n; i++) {
		const char *dir =
			s->kind == SUBJECT_FILES ? s->dir
			: s->kind == SUBJECT_CACHES
				? arena_printf(s->arena, "%s/.scr", s->dirs[i])
				: arena_printf(s->arena,
					       "%s/" SCR_DIR
					       "/" DATASET_DIR_FMT,
					       s->prefix, s->id);
		const int fd = dir_open(AT_FDCWD, dir);
		int lock = -1;

		/* If the directory is missing, the plan will report it. */
		if (fd < 0)
			continue;
		lock = lock_take(fd, dir, &o->work, err);
		if (lock == -1) {
			close(fd);
			return -1;
		}
		s->locks[s->nlocks++] = (struct subject_lock){ fd, lock };
	}
	return 0;
}

/* --- The plan --- */

struct plan *
subject_plan(const struct subject *s, struct catalogue *c, bool checksums,
	     const struct catalogue_options *o, struct error *err)
{
	const struct plan_options po = {
		.flags = (o->deep ? PLAN_HEADERS : PLAN_SCHEMES) |
			 (checksums ? PLAN_CHECKSUMS : 0u),
		.moved_from = o->moved_from,
		.work = &o->work,
	};
	struct error why = ERROR_INIT;
	struct plan *p = NULL;

	if (s->kind == SUBJECT_FILES)
		return plan_files(
			&(struct plan_by_hand){
				.dir = s->dir,
				.prefix = s->prefix,
				.names = (const char *const *)s->names,
				.nnames = s->nnames,
				.map = s->map,
			},
			&po, err);
	if (s->kind == SUBJECT_CACHES)
		return plan_caches(s->dirs, s->ndirs, &po, err);
	p = catalogue_plan(c, s->id, po.flags, o, &why);
	if (p == NULL && why.kind == ERROR_ABSENT)
		error_set(err, ERROR_ABSENT, "%s: no redundancy can rebuild it",
			  why.text);
	else if (p == NULL)
		error_pass(err, &why);
	return p;
}

void
subject_add_rebuilt(struct subject *s, const struct plan *p)
{
	const char **names = NULL;
	size_t n = 0;

	if (s->kind != SUBJECT_FILES)
		return;
	for (size_t i = 0; i < p->nsets; i++)
		n += p->sets[i].n;
	names = arena_alloc(s->arena, n + 1, sizeof(*names));
	n = 0;
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; m < p->sets[i].n; m++)
			if (p->sets[i].members[m].name != NULL)
				names[n++] = arena_strdup(
					s->arena, p->sets[i].members[m].name);
	s->names = names;
	s->nnames = n;
}
