/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading of archives that are damaged, malicious, or written by other tools.
 */
#include "arktest.h"

/* --- Damage --- */

/* read_archive() of the few files, from a pipe that holds the whole archive. */
static struct result
read_held(const void *data, size_t len)
{
	struct result r;
	int ends[2];

	must(len < 60000 && pipe(ends) == 0);
	must(write(ends[1], data, len) == (ssize_t)len);
	close(ends[1]);
	r = read_from(ends[0], few, 4);
	close(ends[0]);
	return r;
}

/* For every `step`-th prefix of an archive: an error, or all files. */
TEST(truncated)
{
	const size_t step = getenv("SCRKIT_SLOW") ? 1 : 211;
	auto_buf all = BUF_INIT;

	for (enum ark_filter z = 0; z < FILTERS; z++) {
		if (is_left_out(z))
			continue;
		size_t wrong = 0, lost = 0;

		write_archive(z, few, 4);
		read_whole(path, &all);
		for (size_t len = 0; len < all.len; len += step) {
			struct result r;

			write_file(path, all.data, len);
			for (int piped = 0; piped < 2; piped++) {
				r = piped ? read_held(all.data, len)
					  : read_archive(few, 4);
				wrong += r.err.kind != ERROR_NONE &&
					 r.err.kind != ERROR_CORRUPT;
				lost += r.err.kind == ERROR_NONE &&
					(!r.in_order || !r.data);
			}
		}
		is_int(wrong, 0,
		       fmt("%s: cut: CORRUPT or all right",
			   ark_filter_name(z)));
		is_int(lost, 0, "... never half of it");
	}
}

/* Flip every `step`-th byte.  If the compression has checksums of the data, the
 * data are right or there is an error; a name or a date may be wrong. */
TEST(flipped)
{
	const size_t step = getenv("SCRKIT_SLOW") ? 1 : 53;
	auto_buf all = BUF_INIT;

	for (enum ark_filter z = 0; z < FILTERS; z++) {
		if (is_left_out(z))
			continue;
		size_t odd = 0, wrong = 0, errors = 0;

		write_archive(z, few, 4);
		read_whole(path, &all);
		for (size_t at = 0; at < all.len; at += step) {
			struct result r;

			all.data[at] ^= 0x5a;
			write_file(path, all.data, all.len);
			all.data[at] ^= 0x5a;
			r = read_archive(few, 4);
			errors += r.err.kind != ERROR_NONE;
			odd += r.err.kind != ERROR_NONE &&
			       r.err.kind != ERROR_CORRUPT &&
			       r.err.kind != ERROR_UNSAFE;
			wrong += r.err.kind == ERROR_NONE && !r.data;
		}
		is_int(odd, 0,
		       fmt("%s: flipped: CORRUPT or UNSAFE",
			   ark_filter_name(z)));
		ok(errors > 0, "... which happens");
		if (z == ARK_XZ)
			is_int(wrong, 0, "... never wrong data");
	}
}

/* --- Malicious entries --- */

/* Append a tar header for an entry of `size` bytes. */
static void
add_header(struct buf *to, const char *name, char type, const char *link,
	   uint64_t size)
{
	unsigned char h[512] = { 0 };
	unsigned sum = 8 * ' ';

	memcpy(h, name, strlen(name) < 100 ? strlen(name) : 100);
	memcpy(h + 100,
	       "0000644\0"
	       "0000001\0"
	       "0000001\0",
	       24);
	if (size < UINT64_C(1) << 33) {
		snprintf((char *)h + 124, 12, "%011llo",
			 (unsigned long long)size);
	} else { /* GNU's binary numbers */
		h[124] = 0x80;
		for (int i = 0; i < 8; i++)
			h[135 - i] = (unsigned char)(size >> 8 * i);
	}
	memcpy(h + 136, "14524760000\0", 12);
	h[156] = (unsigned char)type;
	memcpy(h + 157, link, strlen(link));
	memcpy(h + 257,
	       "ustar\0"
	       "00",
	       8);
	for (size_t i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? 0 : h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
	must(buf_add(to, h, 512) == 0);
}

static void
add_data(struct buf *to, const char *data, size_t len)
{
	static const char zeros[512];

	must(buf_add(to, data, len) == 0 &&
	     buf_add(to, zeros, (512 - len % 512) % 512) == 0);
}

/* An entry, with optional pax lines before it, and a map of holes as its data;
 * type 0: a file. */
struct crafted {
	const char *name;
	char type;
	const char *link;
	uint64_t size;
	const char *map;
	const char *lines[5];
};

/* Write an archive with that entry. */
static void
craft(const struct crafted *c)
{
	auto_buf pax = BUF_INIT, all = BUF_INIT;
	char map[516] = "";

	for (size_t i = 0; i < 5 && c->lines[i] != NULL; i++) {
		size_t len = strlen(c->lines[i]) + 2; /* blank and line feed */
		size_t digits = len < 9 ? 1 : len < 98 ? 2 : 3;

		must(buf_printf(&pax, "%zu %s\n", len + digits, c->lines[i]) ==
		     0);
	}
	if (pax.len > 0) {
		add_header(&all, "pax", 'x', "", pax.len);
		add_data(&all, pax.data, pax.len);
	}
	add_header(&all, c->name, c->type ? c->type : '0',
		   c->link ? c->link : "", c->size);
	if (c->map != NULL) {
		snprintf(map, sizeof(map), "%s", c->map);
		add_data(&all, map, sizeof(map));
	}
	must(buf_add(&all, (char[1024]){ 0 }, 1024) == 0);
	write_file(path, all.data, all.len);
}

/* The entry that walk() saw last, and its error. */
static struct ark_entry last;
static struct error err;

/* Read the archive.  Returns the number of entries, or -1. */
static int
walk(bool reading)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0, rc = -1;
	struct ark_in *in = NULL;
	static char name[4096];
	struct ark_entry e;
	size_t got = 0;

	must(fd >= 0);
	error_clear(&err);
	in = ark_in_new(fd, "in", NULL, &err);
	while (in != NULL && (rc = ark_in_next(in, &e, &err)) > 0) {
		n++;
		last = e;
		snprintf(name, sizeof(name), "%s", e.path);
		last.path = name;
		do {
			rc = !reading
				     ? 0
				     : ark_in_read(in, back, 65536, &got, &err);
		} while (rc == 0 && got > 0);
		if (rc < 0)
			break;
	}
	ark_in_free(in);
	close(fd);
	return rc < 0 ? -1 : n;
}

/* Is the archive refused with such an error? */
static bool
is_refused(bool reading, enum error_kind kind, const char *words)
{
	return walk(reading) < 0 && err.kind == kind && says(&err, words);
}

TEST(refused)
{
	static const struct crafted bad[] = {
		{ "/etc/passwd", .type = '0' },
		{ "../x", .type = '0' },
		{ "a/../../x", .type = '0' },
		{ "a//b", .type = '0' },
		{ "a/./b", .type = '0' },
		{ ".//etc/passwd", .type = '0' },
		{ "..", .type = '5' },
		{ "../", .type = '5' },
		{ "/", .type = '5' },
		{ "a//", .type = '5' },
		{ "", .type = '0' },
		{ ".", .type = '0' },
		{ "hard", .type = '1', .link = "other" },
		{ "soft", .type = '2', .link = "/etc/passwd" },
		{ "char", .type = '3' },
		{ "block", .type = '4' },
		{ "fifo", .type = '6' },
		{ "x", .type = '0', .lines = { "path=/etc/passwd" } },
		{ "x", .type = '2', .lines = { "linkpath=\xc3\xa4" } },
		/* Two names, one of which could be hidden behind the other. */
		{ "x", .type = '1',
		  .lines = { "linkpath=\xc3\xa4", "path=\xc3\xb6" } },
	};

	each (b, bad) {
		craft(b);
		ok(is_refused(true, ERROR_UNSAFE, b->lines[0] ? "" : b->name),
		   fmt("refused: \"%s\", type %c", b->name, b->type));
	}
	craft(&(struct crafted){ .name = "./././a/b/", .type = '5' });
	ok(walk(true) == 1 && last.kind == ARK_DIR &&
		   strcmp(last.path, "a/b") == 0 &&
		   (last.attr.mode & 07777) == 0644,
	   "a directory");
	craft(&(struct crafted){ .name = "./", .type = '5' });
	is_int(walk(true), 0, "the directory above all is not told");
}

/* A file with holes, as GNU tar and bsdtar store it. */
#define SPARSE(real) \
	{ \
		"GNU.sparse.major=1", "GNU.sparse.minor=0", \
			"GNU.sparse.name=holes", "GNU.sparse.realsize=" real \
	}
#define MAP "2\n50000\n4\n100000\n0\n"

TEST(sizes)
{
	static const struct {
		struct crafted c;
		bool reading;
		const char *says;
	} bad[] = {
		{ { "huge", .size = UINT64_C(1) << 60 },
		  false,
		  "huge: an impossible size" },
		{ { "short", .size = 5000 }, true, "in: short: " },
		{ { "short", .size = 5000 }, false, "" },
		{ { "shorter", .size = UINT64_C(1) << 40 }, false, "" },
		/* Data behind the end of a file with holes. */
		{ { "x", .size = 516, .map = MAP, .lines = SPARSE("10") },
		  true,
		  "" },
		{ { "x", .size = 516, .map = MAP,
		    .lines = SPARSE("1152921504606846976") },
		  true,
		  "holes: an impossible size" },
	};

	each (b, bad) {
		craft(&b->c);
		ok(is_refused(b->reading, ERROR_CORRUPT, b->says),
		   fmt("refused: %s of %llu bytes%s", b->c.name,
		       (unsigned long long)b->c.size,
		       b->reading ? "" : ", which nobody reads"));
	}
	craft(&(struct crafted){ .name = "x",
				 .size = 516,
				 .map = MAP,
				 .lines = SPARSE("100000") });
	ok(walk(true) == 1 && strcmp(last.path, "holes") == 0 &&
		   last.attr.size == 100000,
	   "a file with holes");
}

/* Data that are not read are skipped. */
TEST(skipped)
{
	const struct file files[] = { { "a", 3 * MIB }, { "b", MIB }, few[0] };

	for (enum ark_filter z = 0; z < FILTERS; z++) {
		if (is_left_out(z))
			continue;
		write_archive(z, files, 3);
		ok(walk(false) == 3 && strcmp(last.path, few[0].path) == 0,
		   fmt("%s: skipped, to the last", ark_filter_name(z)));
	}
}

/* --- Decompression bombs --- */

TEST(bombs)
{
	static const struct {
		const char *name, *command;
	} bombs[] = {
		{ "a map of holes",
		  "{ head -c -1024 a; echo 9999999; yes 0 | head -c 80000000; }"
		  " | gzip >b && mv b a" },
	};
	struct rusage before, after;

	if (!have("gzip")) {
		skip("bombs", "gzip is not installed");
		return;
	}
	getrusage(RUSAGE_SELF, &before);
	craft(&(struct crafted){ .name = "x",
				 .size = UINT64_C(1) << 32,
				 .lines = SPARSE("1000") });
	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		must(run(bombs[i].command));
		ok(is_refused(true, ERROR_CORRUPT,
			      "too many bytes before the next file"),
		   fmt("%s without end", bombs[i].name));
	}
	getrusage(RUSAGE_SELF, &after);
	printf("# %ld KiB\n", after.ru_maxrss - before.ru_maxrss);
	ok(after.ru_maxrss - before.ru_maxrss < 300000,
	   "... take no memory to speak of");
}

/* --- Archives of other tools --- */

TEST(their_writers)
{
	static const struct {
		const char *tool, *command;
	} writers[] = {
		{ "tar", "tar -C x --format=ustar -cf a ." },
		{ "tar", "tar -C x --format=gnu -czf a dir" },
		{ "tar", "tar -C x --format=pax -S -cf a dir" },
		{ "tar", "tar -C x --format=v7 -cf a dir" },
		{ "bsdtar", "bsdtar -C x --format=pax --zstd -cf a dir" },
	};

	must(run("mkdir x x/dir && echo one >x/dir/1 && echo two >x/dir/2 && "
		 "truncate -s 1M x/dir/holes && echo end >>x/dir/holes"));
	each (w, writers) {
		if (!have(w->tool)) {
			skip(w->command, "not installed");
			continue;
		}
		if (!ok(run(fmt("rm -f a a.*; %s", w->command)), w->command))
			continue;
		if (!is_int(walk(true), 4, "... is read"))
			printf("# %s\n", err.text);
		must(run("ln -s 1 x/dir/link"));
		must(run(fmt("rm -f a a.*; %s", w->command)));
		ok(is_refused(true, ERROR_UNSAFE, "dir/link: a link"),
		   "... but no link");
		must(run("rm x/dir/link"));
	}
}

TEST(foreign)
{
	static const char text[] =
		"This is no archive, and not even long enough.\n";
	auto_fd int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	write_text(path, "");
	ok(is_refused(true, ERROR_CORRUPT, ""), "an empty file");
	write_text(path, text);
	ok(is_refused(true, ERROR_CORRUPT, ""), "another file");
	fill(5, 100000);
	write_file(path, content, 100000);
	ok(is_refused(true, ERROR_CORRUPT, ""), "noise");
	ok(ark_in_new(dir, "in", NULL, &err) == NULL &&
		   err.kind == ERROR_SYSTEM,
	   "a directory");
}

/* Write the first of the few files after a file of `size` zeros. */
static void
write_large(uint64_t size)
{
	const struct attr attr = { .has_owner = false };
	auto_fd int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct ark_out *out = ark_out_new(fd, "out", ARK_ZSTD, 2, NULL, &err);

	memset(content, 0, MIB);
	must(ark_out_begin(out, ARK_FILE, "big", size, &attr, &err) == 0);
	for (uint64_t at = 0; at < size; at += MIB)
		must(ark_out_data(out, content,
				  size - at < MIB ? size - at : MIB,
				  &err) == 0);
	must(ark_out_end(out, &err) == 0 && put(out, 1, few, &err) == 0);
	must(ark_out_close(out, &(uint64_t){ 0 }, &err) == 0);
	ark_out_free(out);
}

static void
read_large(uint64_t size, const char *what)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ark_in *in = ark_in_new(fd, "in", NULL, &err);
	uint64_t sum = 0;
	size_t got = 0;
	struct ark_entry e;

	must(in != NULL && ark_in_next(in, &e, &err) == 1);
	while (ark_in_read(in, back, MIB, &got, &err) == 0 && got > 0)
		sum += got;
	is_int(sum, size, what);
	ok(ark_in_next(in, &e, &err) == 1 && e.attr.size == few[0].size,
	   "... and the one behind");
	ark_in_free(in);
}

/* More than 8 GiB. */
TEST(large)
{
	const uint64_t size = (UINT64_C(8) << 30) + 1;

	if (getenv("SCRKIT_SLOW") == NULL) {
		skip("files of 8 GiB", "only with SLOW=1");
		return;
	}
	write_large(size);
	read_large(size, "pax zstd: 8 GiB and a byte");
}

int
main(void)
{
	start();
	return tap_run();
}
