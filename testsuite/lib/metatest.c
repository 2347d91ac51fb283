/* SPDX-License-Identifier: BSD-3-Clause */
#include <ftw.h>

#include "metatest.h"

bool
tree_add(struct kvtree *t, const char *text)
{
	char key[4096];

	while (*text != '\0') {
		struct kvtree *at = t;

		do {
			size_t len = strcspn(text, ">\n");

			if (len >= sizeof(key))
				return false;
			memcpy(key, text, len);
			key[len] = '\0';
			at = kvtree_put(at, key, NULL);
			text += len;
		} while (at != NULL && *text == '>' && *text++ != '\0');
		if (at == NULL)
			return false;
		text += *text == '\n';
	}
	return true;
}

struct kvtree *
tree_of(const char *text)
{
	struct kvtree *t = kvtree_new(NULL);

	must(t != NULL && tree_add(t, text));
	return t;
}

const char *
label(const char *text)
{
	static char to[256];

	str_printable(to, sizeof(to), *text != '\0' ? text : "(empty)");
	return to;
}

void
tree_clear(struct kvtree *t)
{
	while (kvtree_first(t) != NULL)
		kvtree_remove(t, kvtree_key(kvtree_first(t)));
}

bool
tree_is(const struct kvtree *t, const void *data, size_t len)
{
	auto_buf b = BUF_INIT;
	return t != NULL && kvtree_encode(t, &b, NULL) == 0 && b.len == len &&
	       memcmp(b.data, data, len) == 0;
}

bool
tree_same(const struct kvtree *a, const struct kvtree *b, bool sorted)
{
	auto_kvtree *x = kvtree_new(NULL), *y = kvtree_new(NULL);
	auto_buf raw = BUF_INIT;
	bool same = false;

	if (kvtree_merge(x, a, NULL) == 0 && kvtree_merge(y, b, NULL) == 0 &&
	    (!sorted ||
	     (kvtree_sort(x, NULL) == 0 && kvtree_sort(y, NULL) == 0)) &&
	    kvtree_encode(x, &raw, NULL) == 0)
		same = tree_is(y, raw.data, raw.len);
	return same;
}

bool
tree_says(const struct kvtree *t, const char *text)
{
	auto_kvtree *want = tree_of(text);
	return t != NULL && tree_same(t, want, false);
}

char *
json_text(struct json *j)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	must(f != NULL && json_print(j, f, NULL) == 0 && fclose(f) == 0);
	return text;
}

size_t
tree_flip_each(const struct kvtree *t,
	       void (*fn)(const struct kvtree *t, void *arg), void *arg)
{
	auto_buf b = BUF_INIT;
	size_t i = 0, readable = 0;

	must(kvtree_encode(t, &b, NULL) == 0);
	b.data[19] = 0; /* flags without checksum: the image ends before it */
	b.data[15] = (char)((b.len - 4) & 0xff);
	b.data[14] = (char)((b.len - 4) >> 8 & 0xff);
	for (i = KVTREE_HEADER_SIZE; i < b.len - 4; i++) {
		unsigned char bit = (unsigned char)(1u << (i * 5 % 8));
		struct kvtree *flipped = NULL;

		b.data[i] = (char)((unsigned char)b.data[i] ^ bit);
		flipped = kvtree_decode(b.data, b.len - 4, NULL, NULL);
		if (flipped != NULL) {
			readable++;
			fn(flipped, arg);
		}
		kvtree_free(flipped);
		b.data[i] = (char)((unsigned char)b.data[i] ^ bit);
	}
	return readable;
}

/* The `n`th node below `t` in preorder, or NULL.  Decrements *n on the way. */
static struct kvtree *
tree_nth(struct kvtree *t, size_t *n, struct kvtree **parent)
{
	struct kvtree *k = NULL, *in = NULL;

	kvtree_foreach (k, t) {
		*parent = t;
		if ((*n)-- == 0)
			return k;
		in = tree_nth(k, n, parent);
		if (in != NULL)
			return in;
	}
	return NULL;
}

size_t
tree_drop_each(const struct kvtree *t,
	       void (*fn)(const struct kvtree *t, void *arg), void *arg)
{
	size_t i = 0, n = 0;

	for (i = 0;; i++) {
		struct kvtree *copy = kvtree_new(NULL), *node = NULL;
		struct kvtree *parent = NULL;

		must(copy != NULL && kvtree_merge(copy, t, NULL) == 0);
		n = i;
		node = tree_nth(copy, &n, &parent);
		if (node != NULL) {
			kvtree_remove(parent, kvtree_key(node));
			fn(copy, arg);
		}
		kvtree_free(copy);
		if (node == NULL)
			return i;
	}
}

void
trees_refused(const char *const *bad, size_t count, TREE_READER(read))
{
	for (size_t i = 0; i < count; i++) {
		auto_kvtree *t = tree_of(bad[i]);
		struct error err = ERROR_INIT;

		ok(read(t, &err) < 0 && err.kind == ERROR_CORRUPT,
		   label(bad[i]));
		printf("# %s\n", err.text);
	}
}

struct reading {
	TREE_READER(read);
	const struct kvtree *t;
	size_t odd;
};

static void
read_damaged(const struct kvtree *t, void *arg)
{
	struct reading *r = arg;
	struct error err = ERROR_INIT;

	r->odd += r->read(t, &err) < 0 && err.kind != ERROR_CORRUPT;
}

void
tree_damaged(const char *text, size_t flipped, size_t dropped,
	     TREE_READER(read))
{
	auto_kvtree *t = tree_of(text);
	struct reading r = { read, t, 0 };

	ok(tree_flip_each(t, read_damaged, &r) > flipped, "flipped bytes");
	is_int(tree_drop_each(t, read_damaged, &r), dropped, "missing keys");
	is_int(r.odd, 0, "... are read or corrupt");
	without_memory (m, 0, "no memory to read")
		m.rc = read(t, &m.err);
}

bool
golden_whole(void)
{
	return access("scr3/MANIFEST.md", F_OK) == 0;
}

bool
golden_enter(const char *what)
{
	const char *golden = getenv("SCRKIT_GOLDEN");

	if (golden != NULL && chdir(golden) == 0 && access("scr3", F_OK) == 0)
		return true;
	skip(what, "SCRKIT_GOLDEN is not set, or has no scr3");
	return false;
}

const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

struct found found;

static int
note_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_D)
		return 0;
	found.paths =
		mem_realloc(found.paths, found.count + 1, sizeof(*found.paths));
	found.paths[found.count++] = mem_strdup(path);
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool
find_files(const char *dir)
{
	found.count = 0;
	found.paths = NULL;
	if (nftw(dir, note_file, 32, FTW_PHYS) < 0)
		return false;
	if (found.count > 0)
		qsort(found.paths, found.count, sizeof(*found.paths), by_name);
	return true;
}

void
forget_files(void)
{
	for (size_t i = 0; i < found.count; i++)
		mem_free(found.paths[i]);
	mem_free(found.paths);
}
