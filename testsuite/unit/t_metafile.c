/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single metadata files: detecting their type, and printing them.  Damaged
 * trees: t_kvtree_code.c.
 */
#include "report/metafile.h"

#include "metatest.h"

static const char *path;

static void
put(const char *name, const void *data, size_t len)
{
	path = here("%s", name);
	write_file(path, data, len);
}

static void
prints(struct metafile_options o, const char *want)
{
	struct metafile f;
	auto_buf out = BUF_INIT;

	must(metafile_read(path, &f, NULL) == 0);
	is_int(metafile_print(&f, &o, &out, NULL), 0, path);
	is_str(out.data, want, label(want));
	metafile_fini(&f);
}

static const char log_text[] =
	"2026-11-20T22:53:38: host=n, jobid=1, event=START, procs=4\n"
	"\033[31mno log line\n";

TEST(log)
{
	struct metafile f;

	put("log", log_text, sizeof(log_text) - 1);
	prints((struct metafile_options){ .tree = false }, log_text);
	prints((struct metafile_options){ .terminal = true },
	       "2026-11-20T22:53:38: host=n, jobid=1, event=START, procs=4\n"
	       "\\x1b[31mno log line\n");
	ok(metafile_read(path, &f, NULL) == 0 && f.tree == NULL, "has no tree");
	metafile_fini(&f);
}

TEST(refused)
{
	static const struct {
		const char *name, *text;
		size_t len;
	} cases[] = {
		{ "log", log_text, 40 },	       /* half a line */
		{ "log", log_text, sizeof(log_text) }, /* a NUL */
		{ "empty", "", 0 },
		{ "text", "hello\n", 6 },
	};
	struct metafile f;

	each (c, cases) {
		put(c->name, c->text, c->len);
		refuses(metafile_read(path, &f, &why), ERROR_CORRUPT, NULL,
			fmt("no metadata: %s", c->name));
	}
	refuses(metafile_read(scratch_root, &f, &why), ERROR_CORRUPT, NULL,
		"a directory");
	refuses(metafile_read(here("none"), &f, &why), ERROR_ABSENT, NULL,
		"no file");
}

int
main(void)
{
	scratch_new();
	return tap_run();
}
