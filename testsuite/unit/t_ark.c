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

/* The number of names of all_kinds that the format can hold. */
static size_t
held(enum made format)
{
	size_t n = 0;

	for (size_t i = 0; i < ALL_KINDS; i++)
		n += holds(format, all_kinds[i].path);
	return n;
}

static void
test_round_trip(const char *where)
{
	struct result r;

	for (size_t p = 0; p < PAIRS; p++) {
		if (is_left_out(p))
			continue;
		write_archive(p, all_kinds, ALL_KINDS);
		r = read_archive(pairs[p].format, all_kinds, ALL_KINDS);
		ok(is_right(&r), fmt("%s: all names%s", pair_name(p), where));
		is_int(r.count, held(pairs[p].format), "... as many as fit");
		r = read_piped(pairs[p].format, all_kinds, ALL_KINDS);
		if (pairs[p].format == SEVEN)
			ok(r.err.kind == ERROR_USAGE && says(&r.err, "pipe"),
			   "... not from a pipe");
		else
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
	for (size_t p = 0; p < PAIRS; p++) {
		const bool all =
			slow || (pairs[p].filter == ARK_NONE && !brief);
		const size_t count = all ? 1000 : brief ? 20 : 100;

		if (is_left_out(p))
			continue;
		big[0].size = all ? 10 * MIB : brief ? MIB / 8 : MIB;
		write_archive(p, big, 2);
		r = read_archive(pairs[p].format, big, 2);
		ok(is_right(&r), fmt("%s: a large file", pair_name(p)));
		write_archive(p, many, count);
		r = read_archive(pairs[p].format, many, count);
		ok(is_right(&r), fmt("... %zu files", count));
		write_archive(p, many, 0);
		r = read_archive(pairs[p].format, many, 0);
		ok(pairs[p].format == ZIP ? r.err.kind == ERROR_CORRUPT
					  : is_right(&r),
		   "... none");
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
	for (size_t p = 0; p < OWN_PAIRS; p++) {
		write_archive(p, all_kinds, ALL_KINDS);
		each (r, readers) {
			const char *what =
				fmt("%s: read by %s", pair_name(p), r->tool);

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

	for (size_t p = 0; p < OWN_PAIRS; p++) {
		refuses(write_to(fd, pairs[p].filter, PAX, few, 4, &why),
			-ENOSPC, "out: cannot write: No space left",
			fmt("%s: a full disk", pair_name(p)));
		refuses(write_to(fd, pairs[p].filter, PAX, &big, 1, &why),
			-ENOSPC, NULL, "... in the midst of a file");
		must(pipe(ends) == 0 && close(ends[0]) == 0);
		refuses(write_to(ends[1], pairs[p].filter, PAX, few, 4, &why),
			-EPIPE, NULL, "... a pipe that nobody reads");
		close(ends[1]);
	}
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	refuses(write_to(fd, ARK_NONE, PAX, few, 4, &why), -EBADF, NULL,
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

	for (int z = ARK_NONE; z <= ARK_ZSTD; z++)
		ok(ark_filter_parse(ark_filter_name(z), &filter, NULL) == 0 &&
			   (int)filter == z,
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
