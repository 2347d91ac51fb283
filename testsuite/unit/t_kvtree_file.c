/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree files.
 */
#include "metatest.h"

static void
test_files(void)
{
	struct kvtree *t = tree_of("NODES>4\n"), *u = NULL;
	struct stat st;

	umask(022);
	ok(kvtree_write_file(t, AT_FDCWD, "a.kv", NULL) == 0, "write");
	ok(stat("a.kv", &st) == 0 && st.st_size == 44 &&
		   (st.st_mode & 0777) == 0644,
	   "size and mode");
	u = kvtree_read_file(AT_FDCWD, "a.kv", &why);
	ok(tree_says(u, "NODES>4\n"), "read");
	kvtree_free(u);
	refuses(kvtree_read_file(AT_FDCWD, "none.kv", &why), ERROR_ABSENT,
		"none.kv", "no such file");
	must(truncate("a.kv", 30) == 0);
	ok(kvtree_read_file(AT_FDCWD, "a.kv", &why) == NULL,
	   "a truncated file");
	is_str(why.text, "a.kv: needs 44 bytes, has 30: truncated", "why");
	must(truncate("a.kv", 0) == 0);
	ok(kvtree_read_file(AT_FDCWD, "a.kv", &why) == NULL, "an empty file");
	is_str(why.text, "a.kv: empty file: interrupted write", "why");
	ok(kvtree_write_file(t, AT_FDCWD, "no/dir.kv", &why) < 0, "no place");
	ok(kvtree_read_file(AT_FDCWD, ".", &why) == NULL, "a directory");
	must(unlink("a.kv") == 0);
	kvtree_free(t);
}

static int
try_read(void *arg, struct error *err)
{
	struct kvtree *t = kvtree_read_file(AT_FDCWD, arg, err);

	kvtree_free(t);
	return t != NULL ? 0 : -1;
}

static void
test_memory(void)
{
	auto_kvtree *t = kvtree_new(NULL);
	char name[] = "large.kv";

	for (int i = 0; i < 5000; i++)
		kvtree_set(t, fmt("key %d", i), "1", NULL);
	kvtree_write_file(t, AT_FDCWD, name, NULL);
	ok(fail_each_alloc(try_read, name) > 4, "reading survives ENOMEM");
	without_memory (m, 1, "writing does") {
		m.rc = kvtree_write_file(t, AT_FDCWD, "fails.kv", &m.err);
	}
	unlink("fails.kv");
	unlink(name);
}

int
main(void)
{
	scratch_new();
	must(chdir(scratch_root) == 0);
	test_files();
	test_memory();
	ok(rmdir(scratch_root) == 0, "nothing is left behind");
	return tap_done();
}
