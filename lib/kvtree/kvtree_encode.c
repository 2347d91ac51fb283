/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_encode.c - from trees to bytes, text and JSON; the files that hold one
 * tree; sorting.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "kvtree/kvtree_impl.h"
#include "kvtree/kvwrite.h"
#include "mem.h"

/* --- Files that hold one tree --- */

struct kvtree *
kvtree_read_file(int dirfd, const char *name, struct error *err)
{
	return kvtree_read_beneath(dirfd, name, NULL, err);
}

struct kvtree *
kvtree_read_beneath(int dirfd, const char *rel, struct stat *st,
		    struct error *err)
{
	struct kvtree *t = NULL;
	struct buf raw = BUF_INIT;
	const int fd = io_open_read(dirfd, rel, err);

	if (fd < 0)
		return NULL;
	if (st != NULL && fstat(fd, st) < 0)
		error_sys(err, "%s: cannot stat", rel);
	else if (io_read_fd(fd, rel, KVTREE_MAX_ENCODED, &raw, err) == 0 &&
		 (t = kvtree_decode_buf(&raw, err)) == NULL)
		error_wrap(err, "%s", rel);
	close(fd);
	buf_free(&raw);
	return t;
}

int
kvtree_read_sound(int dirfd, const char *name, struct buf *out,
		  struct error *err)
{
	size_t len = 0;

	if (io_read_file(dirfd, name, KVTREE_MAX_ENCODED, out, err) < 0)
		return -1;
	return kvtree_body(out->data, out->len, &len, err) == NULL
		       ? error_wrap(err, "%s", name)
		       : 0;
}

int
kvtree_write(const struct kvtree *t, int dirfd, const char *name, bool lazy,
	     struct error *err)
{
	struct buf image = BUF_INIT;
	int rc = kvtree_encode(t, &image, err);

	if (rc < 0)
		error_wrap(err, "%s", name);
	else
		rc = (lazy ? io_replace_lazy : io_replace)(
			dirfd, name, image.data, image.len, 0666, err);
	buf_free(&image);
	return rc;
}

int
kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		  struct error *err)
{
	return kvtree_write(t, dirfd, name, false, err);
}

/* --- From trees to bytes --- */

static char *
put_be(char *p, uint64_t v, size_t bytes)
{
	while (bytes-- > 0)
		*p++ = (char)(v >> (8 * bytes));
	return p;
}

void
kvtree_begin(struct kvwrite *w, struct buf *out, uint32_t children)
{
	char *to = NULL;

	*w = (struct kvwrite){ .out = out, .start = out->len };
	to = kvwrite_room(w, KVTREE_HEADER_SIZE + KVTREE_COUNT_SIZE);
	if (to == NULL)
		return;
	put_be(to + KVTREE_HEADER_SIZE, children, KVTREE_COUNT_SIZE);
	out->len += KVTREE_HEADER_SIZE + KVTREE_COUNT_SIZE;
}

int
kvtree_seal(struct kvwrite *w, struct error *err)
{
	const size_t most =
		KVTREE_MAX_ENCODED - KVTREE_HEADER_SIZE - KVTREE_CRC_SIZE;
	char *end = kvwrite_room(w, KVTREE_CRC_SIZE + 1);
	char *start = end == NULL ? NULL : w->out->data + w->start, *p = start;
	const size_t len = end == NULL ? 0 : (size_t)(end - start);

	if (end == NULL) {
		error_no_memory(err);
	} else if (w->too_deep) {
		error_set(err, ERROR_USAGE, "nested deeper than %d levels",
			  KVTREE_MAX_DEPTH);
	} else if (len - KVTREE_HEADER_SIZE > most) {
		error_set(err, ERROR_USAGE,
			  "metadata would take %zu bytes, at most %zu",
			  len - KVTREE_HEADER_SIZE, most);
	} else {
		/* The header before the elements, the checksum after them. */
		p = put_be(p, KVTREE_MAGIC, 4);
		p = put_be(p, KVTREE_TYPE_TREE, 2);
		p = put_be(p, KVTREE_VERSION, 2);
		p = put_be(p, len + KVTREE_CRC_SIZE, 8);
		put_be(p, KVTREE_FLAG_CRC, 4);
		end = put_be(end, crc_update(0, start, len), KVTREE_CRC_SIZE);
		*end = '\0';
		w->out->len = (size_t)(end - w->out->data);
		return 0;
	}
	w->out->len = w->start;
	if (w->out->data != NULL)
		w->out->data[w->start] = '\0';
	return -1;
}

void
kvtree_put_children(struct kvwrite *w, const struct kvtree *t)
{
	struct kvtree_walk walk;
	const struct kvtree *n = NULL;

	w->failed = w->failed || kvtree_check(t, NULL) < 0;
	if (w->failed)
		return;
	kvtree_walk_start(&walk, t);
	while ((n = kvtree_walk_next(&walk)) != NULL)
		kvwrite_key(w, n->key, (uint32_t)kvtree_count(n));
	w->too_deep = w->too_deep || walk.too_deep;
}

void
kvtree_put_tree(struct kvwrite *w, const char *key, const struct kvtree *t)
{
	kvwrite_key(w, key, (uint32_t)kvtree_count(t));
	kvtree_put_children(w, t);
}

int
kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err)
{
	struct kvwrite w;

	kvtree_begin(&w, out, t == NULL ? 0 : (uint32_t)kvtree_count(t));
	kvtree_put_children(&w, t);
	return kvtree_seal(&w, err);
}

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

/* --- Text (kvtree(5)) --- */

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
