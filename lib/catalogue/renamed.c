/* SPDX-License-Identifier: BSD-3-Clause */
/* renamed.c - find directories that somebody renamed by hand: their files are
 * not lost. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset.h"
#include "meta/summary.h"
#include "num.h"
#include "path.h"
#include "rescue/plan.h"
#include "str.h"

/* Limits: missing directories searched for, names examined, and directories
 * that match. */
#define SEARCHES_MAX 64
#define LOOKS_MAX ((size_t)16384)
#define CANDIDATES_MAX ((size_t)64)

/* --- Metadata directories --- */

/* A directory in .scr that no dataset has by its name. */
struct stray {
	const char *name;
	int64_t id; /* of the dataset, by its summary or by its name */
};

struct catalogue_strays {
	struct arena *arena;
	struct stray *list;
	size_t count, cap;
};

void
catalogue_strays_free(struct catalogue_strays *s)
{
	if (s == NULL)
		return;
	mem_free(s->list);
	arena_free(s->arena);
	mem_free(s);
}

/* "x.scr.dataset.4.old" -> 4; -1: no such name. */
static int64_t
id_in_name(const char *name)
{
	const char *at = strstr(name, DATASET_DIR_STEM);
	char digits[NUM_TEXT];
	int64_t id = -1;
	size_t n = 0;

	if (at == NULL)
		return -1;
	at += strlen(DATASET_DIR_STEM);
	n = strspn(at, "0123456789");
	if (n == 0 || n >= sizeof(digits))
		return -1;
	memcpy(digits, at, n);
	digits[n] = '\0';
	return num_i64(digits, 1, DATASET_ID_MAX, &id, NULL) == 0 ? id : -1;
}

static int
add_stray(void *arg, const char *name, struct error *err)
{
	const struct catalogue *c = arg;
	struct catalogue_strays *s = c->strays;
	struct kvtree *tree = NULL;
	struct summary sum;
	struct dataset d = { .id = -1 };
	struct stat st;
	int fd = -1;

	if (dataset_dir_id(name) >= 0 ||
	    dir_stat(c->scr_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	fd = path_open_beneath(c->scr_fd, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
	if (fd < 0)
		return 0;
	tree = summary_load(fd, SUMMARY_FILE, NULL, &sum, NULL);
	if (tree == NULL || dataset_read(sum.desc, &d, NULL) < 0 || d.id <= 0)
		d.id = id_in_name(name);
	kvtree_free(tree);
	close(fd);
	if (d.id <= 0)
		return 0;
	if (!MEM_ROOM(s->list, s->count, s->cap))
		return error_no_memory(err);
	s->list[s->count].id = d.id;
	s->list[s->count].name = arena_strdup(s->arena, name);
	return s->list[s->count++].name == NULL ? error_no_memory(err) : 0;
}

/* List them once: a check of many datasets asks for each. */
static int
list_strays(struct catalogue *c, struct error *err)
{
	int rc = 0;

	c->strays = mem_calloc(1, sizeof(*c->strays));
	if (c->strays == NULL)
		return error_no_memory(err);
	c->strays->arena = arena_new();
	if (c->strays->arena == NULL)
		rc = error_no_memory(err);
	else if (c->scr_fd >= 0)
		rc = dir_each(c->scr_fd, SCR_DIR, add_stray, c, err);
	if (rc < 0) {
		catalogue_strays_free(c->strays);
		c->strays = NULL;
	}
	return rc;
}

int
catalogue_renamed_meta(struct catalogue *c, int64_t id, const char **name,
		       struct error *err)
{
	if (c->strays == NULL && list_strays(c, err) < 0)
		return -1;
	for (size_t i = 0; c->strays != NULL && i < c->strays->count; i++)
		if (c->strays->list[i].id == id) {
			*name = c->strays->list[i].name;
			return 1;
		}
	return 0;
}

/* --- Directories of data --- */

/* A directory beside the missing one that has the missing file. */
struct candidate {
	const char *to;	  /* the directory */
	const char *file; /* the file in it */
	bool alike;	  /* its name resembles that of the missing one */
	bool barred;	  /* it is, and this user may not look into it */
};

struct lookalike {
	struct catalogue *c;
	const char *parent; /* of the missing directory; "": the prefix */
	const char *name;   /* of the missing directory */
	const char *rest;   /* of the file's path, below it */
	const struct attr *attr;
	struct arena *arena;
	struct candidate list[CANDIDATES_MAX];
	bool sure; /* resembling is not enough */
	size_t count;
};

/*
 * Is there a file with these attributes?  Renaming a directory changes neither
 * size nor time of its files.  So in a directory whose name does not resemble
 * the missing one, the file must have the recorded size and time.
 */
static bool
has_file(const struct catalogue *c, const char *path, const struct attr *attr,
	 bool alike, struct error *why)
{
	struct stat st;

	if (path_stat_beneath(c->prefix_fd, path, &st, why) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (attr->has_size && (uint64_t)st.st_size != attr->size)
		return false;
	return alike || (attr->has_size &&
			 (!attr->has_times ||
			  (st.st_mtim.tv_sec == attr->mtime.tv_sec &&
			   st.st_mtim.tv_nsec == attr->mtime.tv_nsec)));
}

/* Does the directory `name` contain the missing file?  "ckpt.4.old" and
 * "old-ckpt.4" resemble "ckpt.4"; "ckpt.40" does not. */
static int
try_name(void *arg, const char *name, struct error *err)
{
	struct lookalike *l = arg;
	struct candidate *k = &l->list[l->count];
	const char *at = strstr(name, l->name);
	const char after = at != NULL ? at[strlen(l->name)] : '0';
	struct error why = ERROR_INIT;
	bool has = false;

	if (l->c->looks++ >= LOOKS_MAX || l->count == CANDIDATES_MAX)
		return 1;
	if (str_eq(name, SCR_DIR))
		return 0;
	*k = (struct candidate){
		.to = arena_printf(l->arena, "%s%s%s", l->parent,
				   l->parent[0] != '\0' ? "/" : "", name),
		.file = arena_printf(l->arena, "%s%s%s/%s", l->parent,
				     l->parent[0] != '\0' ? "/" : "", name,
				     l->rest),
		.alike = !str_is_digit(after),
	};
	if (k->to == NULL || k->file == NULL)
		return error_no_memory(err);
	has = has_file(l->c, k->file, l->attr, k->alike && !l->sure, &why);
	k->barred = k->alike && why.errnum == EACCES;
	l->count += has || k->barred;
	return 0;
}

/* The candidate whose file belongs to no other dataset; preferably one that has
 * it, and with a similar name.  NULL: none. */
static const struct candidate *
choose(const struct lookalike *l, struct owners_guard *asks)
{
	const char *paths[CANDIDATES_MAX];
	bool owned[CANDIDATES_MAX] = { false };
	const struct candidate *best = NULL;

	for (size_t i = 0; i < l->count; i++)
		paths[i] = l->list[i].file;
	if (l->count == 0 ||
	    owners_keep(asks, paths, l->count, owned, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < l->count; i++)
		if (!owned[i] &&
		    (best == NULL || (best->barred && !l->list[i].barred) ||
		     (l->list[i].alike && !l->list[i].barred && !best->alike)))
			best = &l->list[i];
	return best;
}

/*
 * Set out->from to the topmost directory above the missing file `path` that is
 * missing, and out->to to a sibling that has this file.  On failure, nothing is
 * found.
 */
static void
find(const char *path, const struct attr *attr, struct catalogue_renamed *out)
{
	struct catalogue *c = out->asks.catalogue;
	struct lookalike l = {
		.c = c, .attr = attr, .parent = "", .sure = out->sure
	};
	const struct candidate *best = NULL;
	struct error why = ERROR_INIT;
	char *slash = NULL, *parent = NULL;
	struct stat st;
	int fd = -1;

	out->looked = true;
	if (!path_is_clean(path) || strlen(path) >= sizeof(out->from) ||
	    c->searches++ >= SEARCHES_MAX)
		return;
	snprintf(out->from, sizeof(out->from), "%s", path);
	for (slash = strchr(out->from, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (path_stat_beneath(c->prefix_fd, out->from, &st, &why) < 0)
			break;
		*slash = '/';
	}
	l.arena = arena_new();
	if (slash != NULL && why.kind == ERROR_ABSENT && l.arena != NULL)
		parent = arena_strdup(l.arena, out->from);
	if (parent != NULL) {
		l.rest = path + strlen(parent) + 1;
		l.name = parent;
		slash = strrchr(parent, '/');
		if (slash != NULL) {
			*slash = '\0';
			l.parent = parent;
			l.name = slash + 1;
		}
		fd = slash == NULL ? c->prefix_fd
				   : path_open_dir(c->prefix_fd, parent, NULL);
		if (fd >= 0 && dir_each(fd, l.parent, try_name, &l, NULL) >= 0)
			best = choose(&l, &out->asks);
		if (slash != NULL)
			io_close(fd);
	}
	if (best != NULL) {
		snprintf(out->to, sizeof(out->to), "%s", best->to);
		out->barred = best->barred;
	} else
		out->from[0] = '\0';
	arena_free(l.arena);
}

bool
catalogue_renamed_file(struct catalogue_renamed *r, const struct plan_file *f)
{
	char to[sizeof(r->to)];
	size_t n = 0;

	if (f->state != FILE_MISSING || f->nsegs > 0 || f->path == NULL)
		return false;
	if (!r->looked)
		find(f->path, &f->attr, r);
	n = strlen(r->from);
	if (n == 0 || r->barred || strncmp(f->path, r->from, n) != 0 ||
	    f->path[n] != '/')
		return false;
	if (snprintf(to, sizeof(to), "%s%s", r->to, f->path + n) >=
		    (int)sizeof(to) ||
	    !has_file(r->asks.catalogue, to, &f->attr, !r->sure, NULL))
		return false;
	r->files++;
	r->lost += f->fate == FATE_LOST;
	return true;
}
