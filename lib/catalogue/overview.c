/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overview.c - all datasets of a prefix, from all sources.
 */
#include "catalogue/overview.h"

#include <inttypes.h>
#include <stdlib.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "num.h"

/* Buffer size for the reason why an entry is not valid. */
#define REASON_MAX 256

static void
note(struct overview *s, const char *text)
{
	/* If memory is short, lose the note rather than fail. */
	(void)(buf_add_str(&s->notes, text) == 0 &&
	       buf_add_char(&s->notes, '\n'));
}

/* --- Entries --- */

/* Find dataset `id` among the first `count` entries, which are sorted. */
static struct overview_entry *
entry_of(const struct overview *s, size_t count, int64_t id)
{
	struct overview_entry key = { .id = id };

	return count == 0 ? NULL
			  : bsearch(&key, s->entries, count, sizeof(key),
				    num_by_id);
}

const struct overview_entry *
overview_entry(const struct overview *s, int64_t id)
{
	return entry_of(s, s->count, id);
}

/* Return the entry of dataset `id`; append a new one if none of the first
 * `sorted` is its. */
static struct overview_entry *
need_entry(struct overview *s, size_t sorted, int64_t id, struct error *err)
{
	struct overview_entry *e = entry_of(s, sorted, id);

	if (e != NULL)
		return e;
	if (!MEM_ROOM(s->entries, s->count, s->cap))
		return error_no_memory_null(err);
	e = &s->entries[s->count++];
	*e = (struct overview_entry){ .id = id, .reason = "" };
	return e;
}

static void
sort_entries(struct overview *s)
{
	if (s->count > 1)
		qsort(s->entries, s->count, sizeof(*s->entries), num_by_id);
}

/* Copy a descriptor, whose strings are freed with their tree. */
static int
keep_desc(struct overview *s, struct overview_entry *e, const struct dataset *d,
	  struct error *err)
{
	if (dataset_copy(&e->desc, d, s->arena, err) < 0)
		return -1;
	if (e->name == NULL)
		e->name = e->desc.name;
	return 0;
}

/* --- Index --- */

static int
take_index(struct overview *s, struct error *err)
{
	size_t count = 0;
	struct index_entry *list = index_entries(s->index, &count, err);
	char reason[REASON_MAX];
	int rc = 0;

	if (count == (size_t)-1)
		return -1;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct overview_entry *e = need_entry(s, 0, list[i].id, err);

		if (e == NULL) {
			rc = -1;
			break;
		}
		e->name = list[i].name;
		e->desc = list[i].desc;
		e->indexed = true;
		e->current = list[i].current;
		e->valid = index_entry_valid(&list[i]);
		e->finished = list[i].complete == 1;
		index_entry_reason(&list[i], reason, sizeof(reason));
		e->reason = arena_strdup(s->arena, reason);
		rc = e->reason == NULL ? error_no_memory(err) : 0;
	}
	sort_entries(s);
	mem_free(list);
	return rc;
}

static int
read_index(struct overview *s, struct error *err)
{
	struct error why = ERROR_INIT;

	s->index = catalogue_read(s->catalogue, &why);
	index_newest(s->index, s->newest);
	if (s->index == NULL && why.kind == ERROR_NOMEM)
		return error_pass(err, &why);
	if (s->index == NULL) {
		s->unread = why.kind != ERROR_ABSENT;
		s->no_index = arena_strdup(s->arena, why.text);
		return s->no_index == NULL ? error_no_memory(err) : 0;
	}
	if (catalogue_notice(s->catalogue) == NULL)
		return take_index(s, err);
	/* After a scavenge, a prefix may have no index yet.  This is no damage,
	 * and each dataset is reported as not indexed; but no dataset has a
	 * summary then. */
	s->remade = catalogue_damaged(s->catalogue) || s->newest[0] > 0;
	if (s->remade) {
		note(s, catalogue_notice(s->catalogue));
		return take_index(s, err);
	}
	index_free(s->index);
	s->index = NULL;
	s->no_index = "there is no index.scr";
	return 0;
}

/* --- Directories --- */

/* Does the index that is skipped name dataset `id`? */
static bool
is_skipped(const struct overview *s, int64_t id)
{
	struct index_entry e, same;

	return s->skip != NULL && index_find_id(s->skip, id, &e, NULL) == 0 &&
	       e.name != NULL &&
	       index_find_name(s->skip, e.name, &same, NULL) == 0 &&
	       same.id == id;
}

/* Read the kvtree file `name` below PREFIX/.scr.  NULL: it is missing, or
 * unreadable because of *why (noted). */
static struct kvtree *
read_tree(struct overview *s, const char *name, struct error *why)
{
	const int scr_fd = catalogue_scr_fd(s->catalogue);
	struct kvtree *tree = NULL;

	if (scr_fd >= 0)
		tree = kvtree_read_beneath(scr_fd, name, NULL, why);
	if (why->kind != ERROR_NONE && why->kind != ERROR_ABSENT)
		note(s, why->text);
	return tree;
}

static int
take_summary(struct overview *s, struct overview_entry *e, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *tree = NULL;
	struct summary sum = { .desc = NULL };
	struct dataset d;
	const char *said = NULL;
	int rc = 0;

	tree = read_tree(
		s, str_printed(80, DATASET_DIR_FMT "/" SUMMARY_FILE, e->id),
		&why);
	if (why.kind == ERROR_NOMEM)
		return error_pass(err, &why);
	if (tree != NULL && summary_read(tree, &sum, &why) < 0)
		sum.desc = NULL;
	said = kvtree_value(sum.desc, "NAME");
	if (dataset_read(sum.desc, &d, &why) < 0)
		d.id = -1;
	/* A sound one of another dataset names that. */
	if (d.id == e->id) {
		rc = keep_desc(s, e, &d, err);
	} else if (s->any_name && said != NULL && d.id < 0) {
		e->name = arena_strdup(s->arena, said);
		rc = e->name == NULL ? error_no_memory(err) : 0;
	}
	kvtree_free(tree);
	return rc;
}

/* --- flush.scr, halt.scr, nodes.scr --- */

static int
take_flush(struct overview *s, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *tree = read_tree(s, FLUSH_FILE, &why);
	size_t count = 0, sorted = s->count;
	struct flush_entry *list =
		tree != NULL ? flush_entries(tree, &count, &why) : NULL;
	int rc = 0;

	if (count == (size_t)-1) {
		note(s, why.text);
		count = 0;
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct overview_entry *e = NULL;
		struct dataset d;

		if (is_skipped(s, list[i].id))
			continue;
		e = need_entry(s, sorted, list[i].id, err);
		if (e == NULL) {
			rc = -1;
			break;
		}
		e->in_cache = list[i].in_cache;
		e->on_pfs = list[i].on_pfs;
		e->flushing = list[i].flushing || list[i].sync_flushing;
		if (e->desc.id == 0 && list[i].desc != NULL &&
		    dataset_read(list[i].desc, &d, NULL) == 0 && d.id == e->id)
			rc = keep_desc(s, e, &d, err);
		if (rc == 0 && e->name == NULL && list[i].name != NULL) {
			e->name = arena_strdup(s->arena, list[i].name);
			rc = e->name == NULL ? error_no_memory(err) : 0;
		}
	}
	sort_entries(s);
	mem_free(list);
	kvtree_free(tree);
	return rc;
}

/* --- Build and search --- */

int
overview_collect(struct overview *s, struct error *err)
{
	size_t count = 0, sorted = s->count;
	int64_t *ids = catalogue_dirs(s->catalogue, &count, err);
	int rc = count == (size_t)-1 ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct overview_entry *e = NULL;

		if (is_skipped(s, ids[i]))
			continue;
		e = need_entry(s, sorted, ids[i], err);
		if (e == NULL) {
			rc = -1;
			break;
		}
		e->has_dir = true;
		if (e->desc.id == 0)
			rc = take_summary(s, e, err);
	}
	sort_entries(s);
	mem_free(ids);
	return rc < 0 ? -1 : take_flush(s, err);
}

int
overview_init(struct overview *s, const char *path, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *nodes = NULL;

	*s = (struct overview){ .nodes = -1, .notes = BUF_INIT };
	s->arena = arena_new();
	s->catalogue = catalogue_open(path, err);
	if (s->catalogue == NULL || read_index(s, err) < 0 ||
	    overview_collect(s, err) < 0)
		return -1;
	nodes = read_tree(s, NODES_FILE, &why);
	if (nodes != NULL && nodes_read(nodes, &s->nodes, &why) < 0) {
		error_wrap(&why, "%s", NODES_FILE);
		note(s, why.text);
		s->nodes = -1;
	}
	kvtree_free(nodes);
	error_clear(&why);
	s->halt_tree = read_tree(s, HALT_FILE, &why);
	s->has_halt = s->halt_tree != NULL &&
		      halt_read(s->halt_tree, &s->halt, &why) == 0;
	if (s->halt_tree != NULL && !s->has_halt) {
		error_wrap(&why, "%s", HALT_FILE);
		note(s, why.text);
	}
	return 0;
}

void
overview_fini(struct overview *s)
{
	mem_free(s->entries);
	kvtree_free(s->halt_tree);
	index_free(s->index);
	catalogue_close(s->catalogue);
	arena_free(s->arena);
	buf_free(&s->notes);
	*s = (struct overview){ .nodes = -1 };
}

const struct overview_entry *
overview_find(struct overview *s, const char *text, struct error *err)
{
	const int64_t id = catalogue_resolve(s->catalogue, s->index, text, err);
	const struct overview_entry *e = id > 0 ? overview_entry(s, id) : NULL;

	if (id > 0 && e == NULL)
		error_set(err, ERROR_ABSENT,
			  "dataset %" PRId64 ": was created just now in %s", id,
			  catalogue_path(s->catalogue));
	return e;
}
