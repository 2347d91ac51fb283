/* SPDX-License-Identifier: BSD-3-Clause */
#include <locale.h>

#include "arktest.h"

#define L50 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"

/* Names of all kinds, and sizes around the block size of tar. */
static const struct file all_kinds[] = {
	{ "plain", 10 },
	{ "with blank", 0 },
	{ " first", 1 },
	{ "-rf", 511 },
	{ "new\nline", 512 },
	{ "tab\tquote'\"$*?", 513 },
	{ "back\\slash", 70000 },
	{ "\xc3\xbcml\xc3\xa4ut/\xe6\x97\xa5\xe6\x9c\xac", 1023 },
	{ "e\xcc\x81 apart", 1024 },
	{ "bad\xff\xfe", 1025 },
	{ "half\xc3", 3 },
	{ "sur\xed\xa0\x80rogate", 4 },
	{ L50 L50 L50 L50 L50, 5 },
	{ "a/b/c/d/" L50 "/" L50, 6 },
	{ "deep/" L50 "/" L50 "/" L50 "/" L50 "/" L50 "/" L50 "/x", 7 },
	{ "..dots/...", 8 },
	{ "bad\xff/" L50 L50 L50, 9 },
	{ "last", 300000 },
};
#define ALL_KINDS (COUNT(all_kinds))

/* Compression is slow under valgrind. */
static bool
is_brief(void)
{
	return getenv("SCRKIT_VALGRIND") != NULL;
}

static void
test_round_trip(const char *where)
{
	struct result r;

	for (enum ark_filter z = 0; z < FILTERS; z++) {
		if (is_left_out(z))
			continue;
		write_archive(z, all_kinds, ALL_KINDS);
		r = read_archive(all_kinds, ALL_KINDS);
		ok(is_right(&r),
		   fmt("%s: all names%s", ark_filter_name(z), where));
		is_int(r.count, ALL_KINDS, "... as many as fit");
		r = read_piped(all_kinds, ALL_KINDS);
		ok(is_right(&r), "... from a pipe");
	}
}

TEST(sizes)
{
	const bool slow = getenv("SCRKIT_SLOW") != NULL, brief = is_brief();
	struct file big[] = { { "big", 10 * MIB }, { "small", 1 } };
	struct file many[1000];
	struct result r;

	for (size_t i = 0; i < 1000; i++) {
		many[i].path = strdup(fmt("d%zu/f.%zu", i % 10, i));
		many[i].size = i % 7 * 100;
		must(many[i].path != NULL);
	}
	for (enum ark_filter z = 0; z < FILTERS; z++) {
		const bool all = slow || (z == ARK_NONE && !brief);
		const size_t count = all ? 1000 : brief ? 20 : 100;

		if (is_left_out(z))
			continue;
		big[0].size = all ? 10 * MIB : brief ? MIB / 8 : MIB;
		write_archive(z, big, 2);
		r = read_archive(big, 2);
		ok(is_right(&r), fmt("%s: a large file", ark_filter_name(z)));
		write_archive(z, many, count);
		r = read_archive(many, count);
		ok(is_right(&r), fmt("... %zu files", count));
		write_archive(z, many, 0);
		r = read_archive(many, 0);
		ok(is_right(&r), "... none");
	}
	for (size_t i = 0; i < 1000; i++)
		free((void *)(uintptr_t)many[i].path);
}

/* --- Exchange with other tools --- */

TEST(their_readers)
{
	static const struct {
		const char *tool, *command;
	} readers[] = {
		{ "tar", "tar -C x -xf a" },
		/* bsdtar warns that the C locale cannot show a name, but
		 * extracts it. */
		{ "bsdtar", "LC_ALL=C bsdtar -C x -xf a || :" },
	};

	if (is_brief()) {
		skip("what others read", "under valgrind");
		return;
	}
	for (size_t i = 0; i < ALL_KINDS; i++) {
		fill(i, all_kinds[i].size);
		write_file(fmt("%s/want/%s", root, all_kinds[i].path), content,
			   all_kinds[i].size);
	}
	for (enum ark_filter z = 0; z < FILTERS; z++) {
		write_archive(z, all_kinds, ALL_KINDS);
		each (r, readers) {
			const char *what = fmt("%s: read by %s",
					       ark_filter_name(z), r->tool);

			if (!have(r->tool))
				skip(what, "not installed");
			else if (!ok(run(fmt("rm -rf x && mkdir x && { %s; } "
					     "&& diff -r want x",
					     r->command)),
				     what))
				(void)!system(
					fmt("sed 's/^/# /' %s/log", root));
		}
	}
}

/* --- Write errors --- */

TEST(full)
{
	const struct file big = { "big", 3 * MIB };
	int ends[2], fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	for (enum ark_filter z = 0; z < FILTERS; z++) {
		refuses(write_to(fd, z, few, 4, &why), -ENOSPC,
			"out: cannot write: No space left",
			fmt("%s: a full disk", ark_filter_name(z)));
		refuses(write_to(fd, z, &big, 1, &why), -ENOSPC, NULL,
			"... in the midst of a file");
		must(pipe(ends) == 0 && close(ends[0]) == 0);
		refuses(write_to(ends[1], z, few, 4, &why), -EPIPE, NULL,
			"... a pipe that nobody reads");
		close(ends[1]);
	}
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	refuses(write_to(fd, ARK_NONE, few, 4, &why), -EBADF, NULL,
		"a descriptor that is not for writing");
	close(fd);
}

/* A path that leads out. */
TEST(misuse)
{
	const struct attr attr = { .has_owner = false };
	auto_fd int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct ark_out *out = ark_out_new(fd, "out", ARK_NONE, 1, NULL, &why);

	must(out != NULL);
	refuses(ark_out_begin(out, ARK_FILE, "../x", 1, &attr, &why),
		ERROR_UNSAFE, NULL, "a path that leads out");
	ark_out_free(out);
	ark_out_free(NULL);
	ark_in_free(NULL);
}

TEST(choice)
{
	enum ark_filter filter = ARK_NONE;

	for (enum ark_filter z = 0; z < FILTERS; z++)
		ok(ark_filter_parse(ark_filter_name(z), &filter, NULL) == 0 &&
			   filter == z,
		   fmt("%s, by name", ark_filter_name(z)));
	refuses(ark_filter_parse("", &filter, &why), ERROR_USAGE,
		"none, gzip, xz or zstd", "there is no such compression");
	is_int(ark_fits("x", UINT64_C(1) << 50, &why), 0, "1 PiB");
	ok(ark_fits("x", UINT64_MAX, &why) < 0, "... not 16 EiB");
	ok(ark_fits("\xed\xa0\x80\xed\xb0\x80", 0, &why) < 0, "... nor CESU-8");
}

TEST(round_trips)
{
	test_round_trip(" in the C locale");
	if (setlocale(LC_ALL, "C.UTF-8") != NULL)
		test_round_trip(" in a UTF-8 locale");
	else
		skip("in a UTF-8 locale", "there is none");
}

int
main(void)
{
	start();
	return tap_run();
}
