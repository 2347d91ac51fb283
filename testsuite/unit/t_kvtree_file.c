/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree files.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metatest.h"

/* formats.md 1.2: NODES = 4. */
static const unsigned char nodes[] = {
	0x95, 0x1f, 0xc3, 0xf5, 0,   1, 0, 1, 0, 0,   0,    0,	  0,	0,    0,
	0x2c, 0,    0,	  0,	1,   0, 0, 0, 1, 'N', 'O',  'D',  'E',	'S',  0,
	0,    0,    0,	  1,	'4', 0, 0, 0, 0, 0,   0xcb, 0x4f, 0x2f, 0xc1,
};

static bool
write_raw(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(name, "wb");
	bool good = f != NULL && fwrite(data, 1, len, f) == len;

	return f != NULL && fclose(f) == 0 && good;
}

static void
test_files(void)
{
	struct kvtree *t = tree_of("NODES>4\n"), *u = NULL;
	struct error err = ERROR_INIT;
	struct stat st;

	umask(022);
	ok(kvtree_write_file(t, AT_FDCWD, "a.kv", NULL) == 0, "write");
	ok(stat("a.kv", &st) == 0 && st.st_size == sizeof(nodes) &&
		   (st.st_mode & 0777) == 0644,
	   "size and mode");
	u = kvtree_read_file(AT_FDCWD, "a.kv", &err);
	ok(tree_is(u, nodes, sizeof(nodes)), "read");
	kvtree_free(u);
	ok(kvtree_read_file(AT_FDCWD, "none.kv", &err) == NULL &&
		   err.kind == ERROR_ABSENT && strstr(err.text, "none.kv"),
	   "no such file");
	ok(write_raw("b.kv", nodes, 30), "a truncated file");
	ok(kvtree_read_file(AT_FDCWD, "b.kv", &err) == NULL, "is not read");
	is_str(err.text, "b.kv: needs 44 bytes, has 30: truncated", "why");
	ok(write_raw("b.kv", nodes, 0), "an empty file");
	ok(kvtree_read_file(AT_FDCWD, "b.kv", &err) == NULL, "is not read");
	is_str(err.text, "b.kv: empty file: interrupted write", "why");
	ok(kvtree_write_file(t, AT_FDCWD, "no/dir.kv", &err) < 0, "no place");
	ok(kvtree_read_file(AT_FDCWD, ".", &err) == NULL, "a directory");
	unlink("a.kv");
	unlink("b.kv");
	kvtree_free(t);
}

/* Read large and small files in turn into the same tree. */
static int
try_read(void *arg, struct error *err)
{
	struct kvtree *t = kvtree_read_file(AT_FDCWD, arg, err);

	kvtree_free(t);
	return t != NULL ? 0 : -1;
}

static int
try_write(void *arg, struct error *err)
{
	struct kvtree *t = arg;

	return kvtree_write_file(t, AT_FDCWD, "fails.kv", err);
}

static void
test_memory(void)
{
	struct kvtree *t = kvtree_new(NULL);
	char key[32], name[] = "large.kv";

	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		kvtree_set(t, key, "1", NULL);
	}
	kvtree_write_file(t, AT_FDCWD, name, NULL);
	ok(fail_each_alloc(try_read, name) > 4, "reading survives ENOMEM");
	ok(fail_each_alloc(try_write, t) > 0, "writing does");
	unlink("fails.kv");
	unlink(name);
	kvtree_free(t);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/t_kvtree.XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL || chdir(dir) < 0) {
		perror(dir);
		return 1;
	}
	test_files();
	test_memory();
	ok(rmdir(dir) == 0, "nothing is left behind");
	return tap_done();
}
