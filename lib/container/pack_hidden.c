/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_hidden.c - collect the metadata files that a scavenge leaves, nine for
 * each rank: small kvtree files are packed as trees, the others go into
 * containers of their own.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/redset.h"

/* Larger kvtree files go into a container. */
#define TREE_MAX ((size_t)1 << 20)

struct name {
	const char *name;
	uint32_t rank;
	uint32_t group; /* see struct segmap_file */
	bool tree;	/* expected to be a kvtree file */
};

struct names {
	struct packing *w;
	struct name *list;
	size_t count, cap;
};

static int
add_name(void *arg, const char *name, struct error *err)
{
	struct names *n = arg;
	struct name e = { .rank = 0 };
	struct redset_name red;

	switch (dataset_dir_kind(name, &e.rank)) {
	case DATASET_DIR_FILEMAP:
	case DATASET_DIR_DESCRIPTOR:
		e.tree = true;
		break;
	case DATASET_DIR_REDUNDANCY:
		if (n->w->spread && redset_name_parse(name, &red, NULL))
			e.group = red.member;
		break;
	default:
		return 0;
	}
	if (!MEM_ROOM(n->list, n->count, n->cap))
		return error_no_memory(err);
	e.name = arena_strdup(n->w->arena, name);
	if (e.name == NULL)
		return error_no_memory(err);
	n->list[n->count++] = e;
	return 0;
}

static int
by_group(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Read the file as a tree, if encoding the tree gives the same bytes. */
static int
read_tree(struct packing *w, const struct stat *st, int fd,
	  struct hidden_file *f, struct error *err)
{
	struct hidden *h = &w->hidden;
	struct buf raw = BUF_INIT, again = BUF_INIT;
	struct kvtree *t = NULL;
	int rc = 0;

	if (st->st_size > (off_t)TREE_MAX)
		return 0;
	rc = io_read_fd(fd, f->name, TREE_MAX, &raw, err);
	if (rc == 0)
		t = kvtree_decode(raw.data, raw.len, NULL, NULL);
	if (t != NULL)
		rc = kvtree_encode(t, &again, err);
	if (rc < 0 || t == NULL || again.len != raw.len ||
	    memcmp(again.data, raw.data, raw.len) != 0) {
		kvtree_free(t);
		t = NULL;
	}
	if (t != NULL) {
		h->trees[h->ntrees++] = t;
		f->tree = t;
	}
	buf_free(&again);
	buf_free(&raw);
	return rc;
}

static int
add_file(struct packing *w, const struct name *n, struct error *err)
{
	struct hidden *h = &w->hidden;
	struct hidden_file f = { .name = n->name, .rank = n->rank };
	struct stat *st = &w->red_stats[h->nfiles];
	int fd = dir_open_file(w->p->meta_fd, n->name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			       0);
	int rc = -1;

	if (fd < 0)
		return error_sys(err, "%s: cannot open", n->name);
	if (fstat(fd, st) < 0) {
		error_sys(err, "%s: cannot stat", n->name);
		goto out;
	}
	if (!S_ISREG(st->st_mode)) {
		error_set(err, ERROR_DAMAGED, "%s: not a plain file", n->name);
		goto out;
	}
	attr_from_stat(&f.attr, st);
	if (n->tree && read_tree(w, st, fd, &f, err) < 0)
		goto out;
	if (f.tree == NULL) {
		f.at = h->red.nfiles++;
		h->red.files[f.at] = (struct segmap_file){
			.path = n->name,
			.group = n->group,
			.size = (uint64_t)st->st_size,
			.has_size = true,
		};
	}
	rc = hidden_add(h, &f, err);
out:
	close(fd);
	return rc;
}

int
pack_hidden_list(struct packing *w, uint64_t size, struct error *err)
{
	struct names n = { .w = w };
	struct hidden *h = &w->hidden;
	int rc = -1;

	if (w->p->layout != 3)
		return error_set(err, ERROR_USAGE,
				 "%s: this layout has no redundancy",
				 w->p->name);
	if (dir_each(w->p->meta_fd, w->p->dir, add_name, &n, err) < 0)
		goto out;
	if (n.count > 0)
		qsort(n.list, n.count, sizeof(*n.list), by_group);
	w->red_stats = mem_calloc(n.count + 1, sizeof(*w->red_stats));
	h->trees = mem_calloc(n.count + 1, sizeof(*h->trees));
	h->trees_cap = n.count + 1;
	if (w->red_stats == NULL || h->trees == NULL) {
		error_no_memory(err);
		goto out;
	}
	if (segmap_init(&h->red, n.count, err) < 0)
		goto out;
	for (size_t i = 0; i < n.count; i++)
		if (add_file(w, &n.list[i], err) < 0)
			goto out;
	rc = segmap_cut(&h->red, SEGMAP_REDUNDANCY, size, 0, err);
out:
	mem_free(n.list);
	return rc;
}
