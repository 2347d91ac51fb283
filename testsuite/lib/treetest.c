/* SPDX-License-Identifier: BSD-3-Clause */
#include "treetest.h"

int
tree_compare(const void *a, const void *b)
{
	const struct tree_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* nftw() passes no argument to its function. */
static struct tree *tree_into;

static size_t tree_skip;

static int
tree_visit(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	struct tree *t = tree_into;
	struct tree_entry *e = NULL;

	(void)ftw;
	if (strlen(path) <= tree_skip)
		return 0;
	must_be(flag != FTW_DNR && flag != FTW_NS, path);
	t->list = mem_realloc(t->list, t->count + 1, sizeof(*t->list));
	must(t->list != NULL);
	e = &t->list[t->count++];
	*e = (struct tree_entry){
		.path = mem_strdup(path + tree_skip),
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mtime = st->st_mtim,
	};
	must(e->path != NULL);
	if (S_ISREG(st->st_mode))
		read_whole(path, &e->data);
	return 0;
}

struct tree
tree_load(const char *root)
{
	struct tree t = { .count = 0 };

	tree_into = &t;
	tree_skip = strlen(root) + 1;
	must_be(nftw(root, tree_visit, 16, FTW_PHYS) == 0, root);
	if (t.count > 0)
		qsort(t.list, t.count, sizeof(*t.list), tree_compare);
	tree_into = NULL;
	return t;
}

void
tree_free(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		mem_free(t->list[i].path);
		buf_free(&t->list[i].data);
	}
	mem_free(t->list);
	*t = (struct tree){ .count = 0 };
}

struct tree_entry *
tree_find(const struct tree *t, const char *path)
{
	const struct tree_entry key = { .path = (char *)path };

	return t->count == 0 ? NULL
			     : bsearch(&key, t->list, t->count,
				       sizeof(*t->list), tree_compare);
}

bool
entry_same_data(const struct tree_entry *a, const struct tree_entry *b)
{
	return a->data.len == b->data.len &&
	       (a->data.len == 0 ||
		memcmp(a->data.data, b->data.data, a->data.len) == 0);
}

bool
entry_same(const struct tree_entry *a, const struct tree_entry *b, bool times)
{
	return a->mode == b->mode && entry_same_data(a, b) &&
	       (!times || S_ISDIR(a->mode) ||
		(a->mtime.tv_sec == b->mtime.tv_sec &&
		 a->mtime.tv_nsec == b->mtime.tv_nsec));
}

static void
tree_write(int root, const struct tree_entry *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   e->mtime };
	auto_fd int fd = -1;

	if (S_ISDIR(e->mode)) {
		must_be(mkdirat(root, e->path, 0777) == 0 &&
				fchmodat(root, e->path, e->mode & 07777, 0) ==
					0,
			e->path);
		return;
	}
	fd = openat(root, e->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	must_be(fd >= 0 && S_ISREG(e->mode) &&
			io_pwrite(fd, e->path, e->data.data, e->data.len, 0,
				  NULL) == 0 &&
			fchmod(fd, e->mode & 07777) == 0 &&
			futimens(fd, times) == 0,
		e->path);
}

void
tree_restore(const char *root, const struct tree *now, const struct tree *want)
{
	auto_fd int fd = open(root, O_RDONLY | O_DIRECTORY);

	must_be(fd >= 0, root);
	/* Backwards, so that the files in a directory are removed before it. */
	for (size_t i = now->count; i-- > 0;) {
		const struct tree_entry *e = &now->list[i];
		const struct tree_entry *w = tree_find(want, e->path);

		if ((w == NULL || !entry_same(e, w, true)) &&
		    unlinkat(fd, e->path, S_ISDIR(e->mode) ? AT_REMOVEDIR : 0) <
			    0)
			bail_out(e->path);
	}
	for (size_t i = 0; i < want->count; i++) {
		const struct tree_entry *w = &want->list[i];
		const struct tree_entry *e = tree_find(now, w->path);

		if (e == NULL || !entry_same(e, w, true))
			tree_write(fd, w);
	}
}
