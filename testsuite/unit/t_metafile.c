/* SPDX-License-Identifier: BSD-3-Clause */
/* Single metadata files: detecting their type, and printing them. */
#include <unistd.h>

#include "error.h"
#include "io.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "report/metafile.h"
#include "tap.h"

static char dir[4096];
static char path[4200];

static void
put_file(const char *name, const void *data, size_t len)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (io_replace(-100, path, data, len, 0644, NULL) < 0)
		abort();
}

/* B = 2, A {y, x} */
static void
sample(struct buf *out)
{
	struct kvtree *t = kvtree_new(NULL);

	kvtree_set(t, "B", "2", NULL);
	kvtree_put(kvtree_put(t, "A", NULL), "y", NULL);
	kvtree_put(kvtree_get(t, "A"), "x", NULL);
	kvtree_encode(t, out, NULL);
	kvtree_free(t);
}

static void
prints(struct metafile_options o, const char *want, const char *what)
{
	struct metafile f;
	struct buf out = BUF_INIT;
	bool good = metafile_read(path, &f, NULL) == 0 &&
		    metafile_print(&f, &o, &out, NULL) == 0;

	ok(good, what);
	is_str(good ? out.data : "", want, what);
	if (good)
		metafile_fini(&f);
	buf_free(&out);
}

static void
test_print(void)
{
	struct buf raw = BUF_INIT;
	struct metafile f;

	sample(&raw);
	put_file("a", raw.data, raw.len);
	prints((struct metafile_options){ .tree = false },
	       "  B = 2\n  A\n    y\n    x\n", "keyval, order of the file");
	prints((struct metafile_options){ .sort = true },
	       "  A\n    x\n    y\n  B = 2\n", "keyval, sorted");
	prints((struct metafile_options){ .tree = true },
	       "  B\n    2\n  A\n    y\n    x\n", "tree");
	buf_add(&raw, "body!", 5);
	put_file("reddesc.er.3.xor.grp_1_of_1.mem_2_of_2.redset", raw.data,
		 raw.len);
	prints((struct metafile_options){ .sort = true },
	       "  A\n    x\n    y\n  B = 2\n  (then 5 bytes of redundancy)\n",
	       "a redundancy file");
	prints((struct metafile_options){ .sort = true, .exact = true },
	       "  A\n    x\n    y\n  B = 2\n", "as LLNL's tool");
	put_file("plain", raw.data, raw.len);
	ok(metafile_read(path, &f, NULL) == 0, "trailing bytes");
	is_int((int64_t)f.trailing, 5, "are counted");
	ok(!f.redundancy, "but are no redundancy");
	metafile_fini(&f);
	buf_free(&raw);
}

static void
test_log(void)
{
	static const char text[] =
		"2026-11-20T22:53:38: host=n, jobid=1, event=START, procs=4\n"
		"\033[31mno log line\n";
	struct metafile_options o = { .terminal = true };
	struct metafile f;
	struct buf out = BUF_INIT;

	put_file("log", text, sizeof(text) - 1);
	prints((struct metafile_options){ .tree = false }, text, "a log");
	ok(metafile_read(path, &f, NULL) == 0 && f.tree == NULL, "has no tree");
	ok(metafile_print(&f, &o, &out, NULL) == 0 &&
		   strstr(out.data, "\\x1b[31mno log line\n") != NULL,
	   "on a terminal it cannot drive it");
	metafile_fini(&f);
	buf_free(&out);
	put_file("log", text, 40);
	ok(metafile_read(path, &f, NULL) < 0, "half a line is no log");
	put_file("log", text, sizeof(text)); /* including its NUL */
	ok(metafile_read(path, &f, NULL) < 0, "a NUL is in no log");
}

static void
test_refused(void)
{
	struct error err = ERROR_INIT;
	struct metafile f;

	put_file("empty", "", 0);
	ok(metafile_read(path, &f, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "an empty file");
	put_file("text", "hello\n", 6);
	ok(metafile_read(path, &f, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "some text");
	ok(metafile_read(dir, &f, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "a directory");
	snprintf(path, sizeof(path), "%s/none", dir);
	ok(metafile_read(path, &f, &err) < 0 && err.kind == ERROR_ABSENT,
	   "no file");
}

/* Every truncation and every flipped byte: the file is refused or read, without
 * a crash. */
static void
test_damage(void)
{
	struct buf raw = BUF_INIT;
	struct metafile f;
	bool good = true;

	sample(&raw);
	for (size_t n = 0; n < raw.len; n++) {
		put_file("cut", raw.data, n);
		good = good && metafile_read(path, &f, NULL) < 0;
	}
	ok(good, "every truncation is refused");
	good = true;
	for (size_t i = 0; i < raw.len; i++) {
		raw.data[i] ^= 0x20;
		put_file("flip", raw.data, raw.len);
		if (metafile_read(path, &f, NULL) == 0) {
			/* The decoder accepts unknown flags (formats.md 1.1),
			 * but they are part of the checksum, so the file must
			 * be refused. */
			good = false;
			metafile_fini(&f);
		}
		raw.data[i] ^= 0x20;
	}
	ok(good, "every flipped bit is noticed");
	buf_free(&raw);
}

static void
test_memory(void)
{
	const struct metafile_options o = { .sort = true, .terminal = true };
	struct buf raw = BUF_INIT, out = BUF_INIT;
	struct metafile f;
	struct error err = ERROR_INIT;
	bool good = true, done = false;
	long n = 0;

	sample(&raw);
	put_file("a", raw.data, raw.len);
	for (; !done && n < 1000; n++) {
		error_clear(&err);
		mem_fail_after(n);
		if (metafile_read(path, &f, &err) == 0) {
			done = metafile_print(&f, &o, &out, &err) == 0;
			mem_fail_after(-1);
			metafile_fini(&f);
		}
		mem_fail_after(-1);
		buf_free(&out);
		good = good && (done || err.kind == ERROR_NOMEM);
	}
	ok(good && done && n > 3, "each allocation may fail");
	ok(metafile_read(path, &f, NULL) == 0, "read");
	json_free(metafile_json(&f, path));
	metafile_fini(&f);
	buf_free(&raw);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");
	char command[4300];

	snprintf(dir, sizeof(dir), "%s/t_metafile.XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		abort();
	test_print();
	test_log();
	test_refused();
	test_damage();
	test_memory();
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	ok(system(command) == 0, "nothing is left");
	return tap_done();
}
