/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_print.c - print, convert to JSON, and sort trees.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json.h"
#include "kvtree/kvtree_impl.h"
#include "mem.h"

static int
too_deep(struct error *err)
{
	return error_set(err, ERROR_USAGE, "nested deeper than %d levels",
			 KVTREE_MAX_DEPTH);
}

/* The only child of `n` if it is a leaf, else NULL. */
static const struct kvtree *
leaf_of(const struct kvtree *n)
{
	const struct kvtree *v = kvtree_child(n);

	return v != NULL && v->next == NULL && kvtree_child(v) == NULL ? v
								       : NULL;
}

/* --- Text (formats.md 12) --- */

int
kvtree_print(const struct kvtree *t, enum kvtree_style style, struct buf *out,
	     struct error *err)
{
	const size_t before = out->len;
	const struct kvtree *n = NULL, *value = NULL;
	struct kvtree_walk w;
	int rc = 0;

	kvtree_walk_start(&w, t);
	while (rc == 0 && (n = kvtree_walk_next(&w)) != NULL) {
		value = style == KVTREE_KEYVAL ? leaf_of(n) : NULL;
		if (buf_printf(out, "%*s%s%s%s\n", (int)(2 * w.depth), "",
			       n->key, value != NULL ? " = " : "",
			       value != NULL ? value->key : "") < 0)
			rc = error_no_memory(err);
		if (value != NULL) /* the leaf is printed already */
			kvtree_walk_next(&w);
	}
	if (w.too_deep)
		rc = too_deep(err);
	if (rc < 0 && out->data != NULL) {
		out->len = before;
		out->data[before] = '\0';
	}
	return rc;
}

/* --- JSON --- */

/* NULL makes printing fail, rather than print a part. */
static struct json *
object_of(const struct kvtree *t, size_t depth)
{
	struct json *j = depth > KVTREE_MAX_DEPTH ? NULL : json_new_object();
	const struct kvtree *n = NULL, *value = NULL;

	for (n = kvtree_child(t); n != NULL && j != NULL; n = n->next) {
		value = depth < KVTREE_MAX_DEPTH ? leaf_of(n) : NULL;
		if (value != NULL)
			json_set_str(j, n->key, value->key);
		else if (kvtree_child(n) == NULL)
			json_set_null(j, n->key);
		else
			json_set(j, n->key, object_of(n, depth + 1));
	}
	return j;
}

struct json *
kvtree_json(const struct kvtree *t)
{
	return object_of(t, 1);
}

/* --- Sort --- */

/* A child and the first bytes of its key as a big-endian number.  Most
 * comparisons need no more than this number. */
struct sorted {
	uint64_t start;
	struct kvtree *node;
};

static int
by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->node->key, y->node->key);
}

static void
sort_level(struct kvtree *t, struct sorted *list)
{
	struct kvtree *n = NULL, *chain = NULL;
	size_t count = 0;
	bool in_order = true;

	kvtree_foreach (n, t) {
		const char *key = n->key;
		uint64_t start = 0;

		for (int i = 0; i < 8; i++) {
			start = start << 8 | (unsigned char)*key;
			key += *key != '\0';
		}
		list[count] = (struct sorted){ start, n };
		if (count > 0 && by_key(&list[count - 1], &list[count]) > 0)
			in_order = false;
		count++;
	}
	if (in_order)
		return;
	qsort(list, count, sizeof(*list), by_key);
	while (count-- > 0) {
		list[count].node->next = chain;
		chain = list[count].node;
	}
	kvtree_level_relink(t, chain);
}

int
kvtree_sort(struct kvtree *t, struct error *err)
{
	const struct kvtree *n = NULL;
	struct sorted *list = NULL;
	struct kvtree_walk w;
	size_t most = t == NULL ? 0 : kvtree_count(t), count = 0;

	if (most == 0)
		return 0;
	/* Check and allocate first, so that a failure changes nothing. */
	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL) {
		count = kvtree_count(n);
		if (count > most)
			most = count;
	}
	if (w.too_deep)
		return too_deep(err);
	list = mem_alloc(most, sizeof(*list));
	if (list == NULL) {
		kvtree_tree_of(t)->failed = true;
		return error_no_memory(err);
	}
	sort_level(t, list);
	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL)
		if (kvtree_child(n) != NULL)
			sort_level((struct kvtree *)n, list);
	mem_free(list);
	return 0;
}
