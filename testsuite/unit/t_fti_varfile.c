/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables written to files and to descriptors. */
#include "fti/varfile.h"

#include <errno.h>
#include <sys/stat.h>

#include "ftibytes.h"
#include "par.h"
#include "scratch.h"
#include "work.h"

static int dir = -1;

static void
start(void)
{
	if (dir >= 0)
		close(dir);
	scratch_new();
	dir = open(scratch_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir >= 0);
}

/* A variable of two pieces, in the wrong order in the file. */
static const char bytes[] = "world, hello ";

static void
two_pieces(struct fti_content *c, struct fti_source *s)
{
	*c = (struct fti_content){ .source = s };
	fti_source_memory(s, bytes, 13, "file");
	must(fti_content_add_var(c, 1, NULL) == 0 &&
	     fti_content_add_piece(c, 7, 6, NULL) == 0 &&
	     fti_content_add_piece(c, 0, 7, NULL) == 0 &&
	     fti_content_add_var(c, 2, NULL) == 0);
}

TEST(files)
{
	struct fti_content c;
	struct fti_source s;
	struct work dry = { .dry_run = true };

	start();
	two_pieces(&c, &s);
	{
		const struct fti_varfile list[] = {
			{ &c, &c.vars[1], 0, 0, NULL, 0, "empty" },
			{ &c, &c.vars[0], 0, 13, NULL, 0, "all" },
			{ &c, &c.vars[0], 4, 5, NULL, 0, "range" },
			{ &c, &c.vars[1], 0, 0, "head", 4, "head" },
			{ &c, &c.vars[0], 6, 5, ">", 1, "sub/both" },
		};

		must(fti_varfiles_write(dir, list, 5, false, &dry, NULL) == 0);
		ok(!exists_at(dir, "all"), "a dry run");
		must(fti_varfiles_write(dir, list, 5, false, NULL, NULL) == 0);
		ok(holds_at(dir, "empty", "") &&
			   holds_at(dir, "all", "hello world, ") &&
			   holds_at(dir, "range", "o wor") &&
			   holds_at(dir, "head", "head") &&
			   holds_at(dir, "sub/both", ">world"),
		   "files");
		put_file(dir, "all", "old");
		must(unlinkat(dir, "head", 0) == 0);
		refuses(fti_varfiles_write(dir, list + 1, 3, false, NULL, &why),
			ERROR_USAGE, "all: exists", "a name that exists");
		ok(holds_at(dir, "all", "old") && !exists_at(dir, "head"),
		   "nothing is written");
		ok(fti_varfiles_write(dir, list + 1, 3, true, NULL, NULL) ==
				   0 &&
			   holds_at(dir, "all", "hello world, ") &&
			   holds_at(dir, "head", "head"),
		   "replaced");
	}
	fti_content_fini(&c);
}

TEST(stream)
{
	struct fti_content c;
	struct fti_source s;
	int fd[2];
	char read_back[32] = "";

	two_pieces(&c, &s);
	{
		const struct fti_varfile x = { &c,  &c.vars[0], 0,   13,
					       "<", 1,		NULL };

		must(pipe(fd) == 0);
		must(fti_varfile_stream(fd[1], &x, NULL, NULL) == 0);
		close(fd[1]);
		must(read(fd[0], read_back, sizeof(read_back)) == 14);
		is_str(read_back, "<hello world, ", "to a pipe");
		close(fd[0]);
		fd[0] = open("/dev/full", O_WRONLY);
		ok(fd[0] < 0 ||
			   (fti_varfile_stream(fd[0], &x, NULL, &why) < 0 &&
			    why.errnum == ENOSPC),
		   "a full disk");
		if (fd[0] >= 0)
			close(fd[0]);
		s.size = 12;
		fd[0] = open("/dev/null", O_WRONLY);
		refuses(fti_varfile_stream(fd[0], &x, NULL, &why),
			ERROR_CORRUPT, NULL, "a file that became shorter");
		close(fd[0]);
	}
	fti_content_fini(&c);
}

/* --- More than 4 GiB: zeros with a few other bytes --- */

#define HUGE (((uint64_t)4 << 30) + 200000)

static int
read_huge(const struct fti_source *s, void *to, size_t len, uint64_t off,
	  struct error *err)
{
	(void)s;
	(void)err;
	memset(to, 0, len);
	if (off + len == HUGE)
		((char *)to)[len - 1] = 'z';
	return 0;
}

static void
test_huge(void)
{
	struct fti_source s = { .size = HUGE, .name = "x", .read = read_huge };
	struct fti_content c = { .source = &s };
	struct work w = { .par = par_new(2, NULL) };
	struct stat st;
	char last = 0;
	int fd = -1;

	start();
	must(fti_content_add_var(&c, 1, NULL) == 0 &&
	     fti_content_add_piece(&c, 0, HUGE, NULL) == 0);
	{
		const struct fti_varfile x = { &c,  &c.vars[0], 0,     HUGE,
					       "h", 1,		"huge" };

		must(fti_varfiles_write(dir, &x, 1, false, &w, NULL) == 0);
	}
	fd = openat(dir, "huge", O_RDONLY);
	must(fd >= 0 && fstat(fd, &st) == 0);
	must(pread(fd, &last, 1, (off_t)HUGE) == 1);
	ok((uint64_t)st.st_size == HUGE + 1 && last == 'z', "more than 4 GiB");
	ok(st.st_blocks < 10000, "zeros are holes");
	close(fd);
	fti_content_fini(&c);
	par_free(w.par);
	start();
}

static int
use_all(void *arg, struct error *err)
{
	struct fti_content *c = arg;
	const struct fti_varfile list[] = {
		{ c, &c->vars[0], 0, 13, "x", 1, "a" },
		{ c, &c->vars[1], 0, 0, NULL, 0, "b" },
	};

	if (fti_varfiles_write(dir, list, 2, true, NULL, err) < 0) {
		ok(!exists_at(dir, "a") || holds_at(dir, "a", "xhello world, "),
		   "all or nothing");
		return -1;
	}
	return fti_varfile_stream(open("/dev/null", O_WRONLY), list, NULL, err);
}

TEST(no_memory)
{
	struct fti_content c;
	struct fti_source s;

	if (getenv("SCRKIT_VALGRIND") != NULL)
		skip("more than 4 GiB", "under valgrind");
	else
		test_huge();
	two_pieces(&c, &s);
	ok(fails_well(use_all, NULL, &c), "each allocation fails");
	fti_content_fini(&c);
}
