/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All kvtree files written by LLNL's programs ($SCRKIT_GOLDEN): decoding and
 * encoding gives the same bytes, printing the same text as LLNL's tools.
 */
#include "metatest.h"

#define BLOCK "##### "

/* This file has a flipped bit on purpose. */
#define DAMAGED \
	"scr3/dmg_corrupt_redset/before/.scr/scr.dataset.1/" \
	"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset"

static bool
read_into(const char *path, struct buf *out)
{
	struct error err = ERROR_INIT;

	if (io_read_file(AT_FDCWD, path, SIZE_MAX, out, &err) == 0)
		return true;
	printf("# %s\n", err.text);
	return false;
}

/* --- Round trips --- */

static bool
is_kvtree(const struct buf *raw)
{
	return raw->len >= 4 && memcmp(raw->data, "\x95\x1f\xc3\xf5", 4) == 0;
}

/* Is the image at the start of `raw` reproduced? */
static bool
survives(const char *path, const struct buf *raw)
{
	struct error err = ERROR_INIT;
	size_t used = 0;
	struct kvtree *t = kvtree_decode(raw->data, raw->len, &used, &err);
	bool good = tree_is(t, raw->data, used);

	if (!good)
		printf("# %s: %s\n", path, t ? "differs" : err.text);
	kvtree_free(t);
	return good;
}

static void
test_round_trips(const char *dir, int at_least)
{
	struct buf raw = BUF_INIT;
	int count = 0, good = 0;
	char what[64];
	size_t i = 0;

	if (!find_files(dir)) {
		skip(dir, "no such golden data");
		return;
	}
	for (i = 0; i < found.count; i++) {
		/* Damaged files: see test_bad(), and the one of dmg_*. */
		if (strstr(found.paths[i], "/kvtree_bad/") != NULL ||
		    str_ends(found.paths[i], DAMAGED) ||
		    !read_into(found.paths[i], &raw) || !is_kvtree(&raw))
			continue;
		count++;
		good += survives(found.paths[i], &raw);
	}
	snprintf(what, sizeof(what), "%s: %d files, bit for bit", dir, count);
	if (!golden_whole())
		at_least = 1;
	ok(good == count && count >= at_least, what);
	forget_files();
	buf_free(&raw);
}

/* --- Damaged files --- */

/* NULL: can be read */
static const struct {
	const char *name, *says;
} bad[] = {
	{ "badcrc", "checksum mismatch: file says 0x24e02a5e, contents give "
		    "0x47e7f37a" },
	{ "badmagic", "not a kvtree file: magic 0x941fc3f5 at byte 0" },
	{ "badtype", "type 2 at byte 4, expected 1" },
	{ "badversion", "version 2 at byte 6, expected 1" },
	{ "deep2000", "nested deeper than 256 levels at byte 1556" },
	{ "dupkeys", NULL },
	{ "extra_in_body", "tree ends at byte 24, 4 bytes follow before the "
			   "end of the image" },
	{ "good", NULL },
	{ "hugecount", "count 2147483647 at byte 20 leaves the image" },
	{ "hugesize", "size 4611686018427387904 at byte 8 is too large, at "
		      "most 1073741824" },
	{ "noflag_nocrc", NULL },
	{ "nonul", "count 1 at byte 20 leaves the image" },
	{ "short_header", "header needs 20 bytes, has 10: truncated" },
	{ "size19", "size 19 at byte 8 is too small, at least 28" },
	{ "size20", "size 20 at byte 8 is too small, at least 28" },
	{ "size20_noflag", "size 20 at byte 8 is too small, at least 24" },
	{ "size22", "size 22 at byte 8 is too small, at least 28" },
	{ "trailing", NULL },
	{ "truncated", "needs 58 bytes, has 52: truncated" },
	{ "unknown_flag", NULL },
	{ "zero_length", "empty file: interrupted write" },
};

static void
test_bad(void)
{
	struct error err = ERROR_INIT;
	struct kvtree *t = NULL;
	char path[64], want[200];
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(path, sizeof(path), "scr3/kvtree_bad/%s.kv",
			 bad[i].name);
		error_clear(&err);
		t = kvtree_read_file(AT_FDCWD, path, &err);
		want[0] = '\0';
		if (bad[i].says != NULL)
			snprintf(want, sizeof(want), "%s: %s", path,
				 bad[i].says);
		is_str(err.text, want, path);
		if (strcmp(bad[i].name, "dupkeys") == 0)
			ok(kvtree_count(t) == 1 &&
				   kvtree_count(kvtree_get(t, "A")) == 2 &&
				   kvtree_get2(t, "A", "1") ==
					   kvtree_first(kvtree_get(t, "A")) &&
				   kvtree_get2(t, "A", "2") != NULL,
			   "keys that are there twice are merged");
		kvtree_free(t);
	}
	if (!find_files("scr3/kvtree_bad"))
		return;
	is_int((int64_t)found.count, sizeof(bad) / sizeof(bad[0]) + 1,
	       "those are all");
	forget_files();
}

/* --- Printouts --- */

/* Options with which a printout was made. */
struct manner {
	enum kvtree_style style;
	bool sorted;
};

static bool
prints_as(const char *path, struct manner how, const char *text, size_t len)
{
	struct error err = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(AT_FDCWD, path, &err);
	struct buf b = BUF_INIT;
	bool good = false;

	/* The only file that LLNL's tool could not read either. */
	if (strcmp(path, DAMAGED) == 0)
		return t == NULL && len > 9 && memmem(text, len, "ERROR", 5);
	good = t != NULL && (!how.sorted || kvtree_sort(t, &err) == 0) &&
	       kvtree_print(t, how.style, &b, &err) == 0 && b.len == len &&
	       (len == 0 || memcmp(b.data, text, len) == 0);

	if (!good)
		printf("# %s: %s\n", path, t ? "differs" : err.text);
	buf_free(&b);
	kvtree_free(t);
	return good;
}

/*
 * Find the file `name` of the snapshot `dir`.  Of identical files only one was
 * kept.  Lines of dir.dedup.txt are "name TAB path of the kept one", relative
 * to the parent of the snapshot's directory.
 */
static bool
locate(char *path, size_t size, const char *dir, const char *name)
{
	struct buf list = BUF_INIT;
	char line[4200];
	const char *p = NULL;
	bool good = false;

	snprintf(path, size, "%s/%s", dir, name);
	if (access(path, F_OK) == 0)
		return true;
	snprintf(path, size, "%s.dedup.txt", dir);
	if (!read_into(path, &list))
		return false;
	snprintf(line, sizeof(line), "%s\t", name);
	for (p = list.data; p != NULL && *p != '\0';) {
		if (strncmp(p, line, strlen(line)) == 0) {
			p += strlen(line);
			snprintf(path, size, "%.*s%.*s",
				 (int)(base_name(dir) - dir), dir,
				 (int)strcspn(p, "\n"), p);
			good = true;
			break;
		}
		p = strchr(p, '\n');
		p = p != NULL ? p + 1 : NULL;
	}
	buf_free(&list);
	if (!good)
		printf("# %s: not in %s\n", name, dir);
	return good;
}

/* The start of the next block at or after `p`, or NULL. */
static const char *
next_block(const char *p)
{
	if (strncmp(p, BLOCK, strlen(BLOCK)) == 0)
		return p;
	p = strstr(p, "\n" BLOCK);
	return p != NULL ? p + 1 : NULL;
}

/* Compare the printout `list` of files below `dir`.  Returns the number of
 * equal blocks; -1 - number if the next one differs. */
static int
compare_list(const char *list, const char *dir, struct manner how)
{
	struct buf text = BUF_INIT;
	const char *p = NULL, *end = NULL;
	char name[4096], path[8192];
	int count = 0, wrong = 0;

	if (!read_into(list, &text))
		return -1;
	for (p = next_block(text.data); p != NULL; p = end) {
		p += strlen(BLOCK);
		if (strncmp(p, "./", 2) == 0)
			p += 2;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, "\n"), p);
		p += strcspn(p, "\n") + 1;
		end = next_block(p);
		count++;
		if (!locate(path, sizeof(path), dir, name) ||
		    !prints_as(path, how, p,
			       end != NULL ? (size_t)(end - p) : strlen(p)))
			wrong++;
	}
	buf_free(&text);
	return wrong > 0 ? -1 - wrong : count;
}

static void
test_samples(void)
{
	static const struct {
		const char *list;
		struct manner how;
		int blocks;
	} lists[] = {
		{ "scr3/kvtree_samples/print_tree.txt",
		  { KVTREE_TREE, false },
		  17 },
		{ "scr3/kvtree_samples/print_keyval.txt",
		  { KVTREE_KEYVAL, false },
		  12 },
		{ "scr3/kvtree_samples/scr_print_default.txt",
		  { KVTREE_KEYVAL, true },
		  12 },
	};
	size_t i = 0;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		is_int(compare_list(lists[i].list, "scr3/kvtree_samples",
				    lists[i].how),
		       lists[i].blocks, lists[i].list);
}

/* X.print.txt has the files of the snapshot X. */
static void
test_snapshots(void)
{
	const struct manner how = { KVTREE_TREE, false };
	char dir[4096], what[64];
	int total = 0, lists = 0, wrong = 0, n = 0;
	size_t i = 0;

	if (!find_files("scr3"))
		return;
	for (i = 0; i < found.count; i++) {
		if (!str_ends(found.paths[i], ".print.txt"))
			continue;
		snprintf(dir, sizeof(dir), "%.*s",
			 (int)(strlen(found.paths[i]) - strlen(".print.txt")),
			 found.paths[i]);
		n = compare_list(found.paths[i], dir, how);
		lists++;
		total += n;
		wrong += n <= 0;
	}
	snprintf(what, sizeof(what), "%d lists of %d printouts", lists, total);
	ok(wrong == 0 &&
		   (golden_whole() ? lists >= 60 && total >= 1000 : lists > 0),
	   what);
	forget_files();
}

int
main(void)
{
	if (!golden_enter("kvtree files of LLNL SCR"))
		return tap_done();
	test_round_trips("scr3", 1000);
	test_round_trips("containers", 10);
	test_bad();
	test_samples();
	test_snapshots();
	return tap_done();
}
