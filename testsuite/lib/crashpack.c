/* SPDX-License-Identifier: BSD-3-Clause */
#include "crashpack.h"

#include "container/hidden.h"
#include "meta/dataset_dir.h"

#define CRASH_USER "ckpt.1/"

/* --- Comparing without the generation --- */

static bool
is_part_name(const char *base)
{
	return dataset_dir_packed(base) >= 0 ||
	       str_starts(base, "rank2file.0.");
}

/* Encode `t` in place of the image in `raw`.  A NULL tree leaves it as it
 * is. */
static void
encode_again(struct kvtree *t, struct buf *raw)
{
	if (t == NULL)
		return;
	buf_clear(raw);
	must(kvtree_encode(t, raw, NULL) == 0);
	kvtree_free(t);
}

/* The top file of rank2file names all parts.  Remove their numbers. */
static void
plain_top(struct buf *raw)
{
	static const char *const named[] = { "HIDDEN", "COPY" };
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *ctr = kvtree_get(t, "CTR"), *k = NULL;

	kvtree_foreach (k, kvtree_get(t, "RANK"))
		must(kvtree_set(k, "FILE", "N", NULL) == 0);
	for (int i = 0; i < 2; i++) {
		k = kvtree_get(ctr, named[i]);
		must(k == NULL ||
		     kvtree_set_u64(ctr, named[i], kvtree_count(k), NULL) == 0);
	}
	encode_again(t, raw);
}

/* Remove all times that the kernel sets. */
static void
plain_times(struct kvtree *t)
{
	static const char *const times[] = { "ATIME_SECS", "ATIME_NSECS",
					     "CTIME_SECS", "CTIME_NSECS" };
	struct kvtree *k = NULL;

	for (int i = 0; i < 4; i++)
		kvtree_remove(t, times[i]);
	kvtree_foreach (k, t)
		plain_times(k);
}

static void
plain_attrs(struct buf *raw)
{
	static const char *const lists[] = { "META", "RED" };
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *k = NULL;

	plain_times(kvtree_get(t, "FILE"));
	/* The scene's directories are as old as the run. */
	plain_times(kvtree_get(t, "DIR"));
	kvtree_foreach (k, kvtree_get(t, "DIR")) {
		kvtree_remove(k, "MTIME_SECS");
		kvtree_remove(k, "MTIME_NSECS");
	}
	for (int i = 0; i < 2; i++)
		kvtree_foreach (k, kvtree_get(t, lists[i]))
			plain_times(kvtree_get(k, "ATTR"));
	encode_again(t, raw);
}

static void
plain_entry(struct tree_entry *e)
{
	const char *base = path_base(e->path);
	bool packed = false;
	unsigned long number = 0;

	if (str_starts(base, RANK2FILE_COPY))
		base += strlen(RANK2FILE_COPY);
	packed = dataset_dir_packed(base) >= 0;
	if (str_eq(base, "rank2file"))
		plain_top(&e->data);
	if (packed)
		plain_attrs(&e->data);
	if (!is_part_name(base))
		return;
	/* Keep the number of the part, drop that of the generation. */
	number = strtoul(base + strlen(packed ? "packed." : "rank2file.0."),
			 NULL, 10);
	base = fmt("%.*s%s.%lu.N", (int)(base - e->path), e->path,
		   packed ? "packed" : "rank2file.0",
		   number / RANK2FILE_PART_RANKS);
	mem_free(e->path);
	e->path = mem_strdup(base);
	must(e->path != NULL);
}

/* The tree below the prefix without all that may differ between runs. */
static struct tree
form_load(void)
{
	struct tree t = tree_load(prefix);

	for (size_t i = 0; i < t.count; i++)
		plain_entry(&t.list[i]);
	if (t.count > 0)
		qsort(t.list, t.count, sizeof(*t.list), tree_compare);
	return t;
}

/* The user's files and the packed metadata files keep their times. */
static bool
keeps_times(const char *path)
{
	const char *base = path_base(path);

	return !is_metadata(path) || str_starts(base, "filemap_") ||
	       str_starts(base, "reddesc");
}

/* --- Is the dataset whole? --- */

static int
run_verify(void)
{
	return run_command("scr_container verify 1", NULL);
}

/* Does every extracted file have the bytes recorded in x->plain? */
static bool
bytes_right(struct pack_scene *x)
{
	bool good = true;
	struct tree t;

	remove_tree("out");
	if (run_command("scr_container extract -C out 1", NULL) != 0) {
		tell(&x->s, "cannot be extracted", "");
		return false;
	}
	t = tree_load("out");
	for (size_t i = 0; i < x->plain->count; i++) {
		const struct tree_entry *p = &x->plain->list[i], *e = NULL;

		if (!str_starts(p->path, CRASH_USER) || S_ISDIR(p->mode))
			continue;
		e = tree_find(&t, p->path);
		if (e != NULL && entry_same_data(e, p))
			continue;
		tell(&x->s, "other bytes", p->path);
		good = false;
	}
	tree_free(&t);
	return good;
}

/* The top file of rank2file lists the containers and the packed metadata, and
 * its parts map their contents.  Do all come from the same change of form?
 * `clean`: without a part that must be read from its copy. */
static bool
map_agrees(struct pack_scene *x, bool clean)
{
	struct error err = ERROR_INIT;
	struct rank2file r;
	struct segmap m;
	struct hidden h;
	auto_fd int fd =
		open(fmt("%s/" CRASH_META, prefix), O_RDONLY | O_DIRECTORY);
	bool good = true;

	if (fd < 0 || rank2file_load(fd, "rank2file", &r, &err) < 0 ||
	    segmap_read(&m, &r, &err) < 0 ||
	    hidden_load(&h, fd, &r, &m, &err) < 0) {
		tell(&x->s, "cannot be read", err.text);
		return false;
	}
	good = !clean || (r.flaw == NULL && h.flaw == NULL);
	for (size_t i = 0; i < m.ncontainers; i++)
		good = good && m.containers[i].has_size &&
		       m.containers[i].used > 0;
	if (!good)
		tell(&x->s, "parts of rank2file are of two switches", "");
	hidden_free(&h);
	segmap_free(&m);
	rank2file_free(&r);
	return good;
}

/* The struct scene is the first member of struct pack_scene. */
static bool
is_whole(struct scene *s)
{
	struct pack_scene *x = (struct pack_scene *)s;

	if (run_verify() != 0) {
		tell(s, "verify finds flaws", "");
		return false;
	}
	if (run_command("scr_rebuild --deep -n 1", NULL) != 0) {
		tell(s, "data and redundancy do not agree", "");
		return false;
	}
	return bytes_right(x) && map_agrees(x, false);
}

/* A dataset that is to be repaired need not be whole. */
static bool
is_right(struct scene *s, bool known)
{
	struct pack_scene *x = (struct pack_scene *)s;

	if (known)
		return map_agrees(x, true);
	if (x->whole == NULL)
		return is_whole(s);
	switch (run_verify()) {
	case 0:
		return bytes_right(x);
	case 3:
		return true;
	default:
		tell(s, "verify says neither whole nor repairable", "");
		return false;
	}
}

/* --- States allowed at any moment --- */

/* Are all bytes still right that were right before? */
static bool
right_bytes_stay(const struct tree_entry *now, const struct tree_entry *was,
		 const struct tree_entry *right)
{
	for (size_t i = 0; i < was->data.len && i < right->data.len; i++)
		if (was->data.data[i] == right->data.data[i] &&
		    (i >= now->data.len ||
		     now->data.data[i] != right->data.data[i]))
			return false;
	return true;
}

/* Is this metadata that a change of form rewrites? */
static bool
is_of_packing(const char *path)
{
	const char *rest = NULL;

	if (!str_starts(path, CRASH_META))
		return false;
	rest = path + strlen(CRASH_META);
	if (str_starts(rest, RANK2FILE_COPY))
		rest += strlen(RANK2FILE_COPY);
	return is_part_name(rest) || str_eq(rest, "rank2file") ||
	       str_eq(rest, SEGMAP_DIR) ||
	       (str_starts(rest, SEGMAP_DIR "/") &&
		segmap_is_container(path_base(rest)));
}

static bool
may_be(const struct scene *s, const struct tree_entry *now)
{
	const struct pack_scene *x = (const struct pack_scene *)s;
	const struct tree_entry *b = tree_find(&s->before, now->path);
	const struct tree_entry *p = tree_find(x->plain, now->path);
	const struct tree_entry *w =
		x->whole ? tree_find(x->whole, now->path) : NULL;

	if (w != NULL && b != NULL)
		return right_bytes_stay(now, b, w);
	if (is_of_packing(now->path))
		return true; /* verify and --deep judge its contents */
	if (p != NULL)
		return same_item(s, now, p);
	return x->whole != NULL && str_eq(now->path, CRASH_META "rebuild.scr");
}

const struct rules pack_rules = {
	.load = form_load,
	.keeps_time = keeps_times,
	.may_be = may_be,
	.may_go = is_of_packing,
	.whole = is_whole,
	.right = is_right,
};
