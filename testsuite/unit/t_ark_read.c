/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading of archives that are damaged, malicious, or written by other tools.
 */
#include "archive/ark.h"

#include <sys/resource.h>

#include "arktest.h"

/* Is this pair left out?  Decompression is slow under valgrind. */
static bool
is_left_out(size_t pair)
{
	return (getenv("SCRKIT_VALGRIND") != NULL &&
		pairs[pair].filter != ARK_NONE) ||
	       !can_make(pair);
}

/* --- Damage --- */

/* read_archive() of the few files, from a pipe that holds the whole archive. */
static struct result
read_held(const void *data, size_t len, enum made format)
{
	struct result r;
	int ends[2];

	must(len < 60000 && pipe(ends) == 0);
	must(write(ends[1], data, len) == (ssize_t)len);
	close(ends[1]);
	r = read_from(ends[0], format, few, 4);
	close(ends[0]);
	return r;
}

/* For every `step`-th prefix of an archive: an error, or all files. */
static void
test_truncated(void)
{
	const size_t step = getenv("SCRKIT_SLOW") ? 1 : 211;
	struct buf all = BUF_INIT;

	for (size_t p = 0; p < PAIRS; p++) {
		if (is_left_out(p))
			continue;
		size_t wrong = 0, lost = 0;

		write_archive(p, few, 4);
		read_whole(path, &all);
		for (size_t len = 0; len < all.len; len += step) {
			struct result r;

			write_file(path, all.data, len);
			for (int piped = 0; piped < 2; piped++) {
				r = piped ? read_held(all.data, len,
						      pairs[p].format)
					  : read_archive(pairs[p].format, few,
							 4);
				wrong += r.err.kind != ERROR_NONE &&
					 r.err.kind != ERROR_CORRUPT &&
					 r.err.kind != ERROR_USAGE;
				lost += r.err.kind == ERROR_NONE &&
					(!r.in_order || !r.data);
			}
		}
		is_int((int64_t)wrong, 0,
		       fmt("%s: cut: CORRUPT or all right", pair_name(p)));
		is_int((int64_t)lost, 0, "... never half of it");
	}
	buf_free(&all);
}

/* Flip every `step`-th byte.  If the format has checksums of the data, the data
 * are right or there is an error; a name or a date may be wrong. */
static void
test_flipped(void)
{
	const size_t step = getenv("SCRKIT_SLOW") ? 1 : 53;
	struct buf all = BUF_INIT;

	for (size_t p = 0; p < PAIRS; p++) {
		if (is_left_out(p))
			continue;
		size_t odd = 0, wrong = 0, errors = 0;

		write_archive(p, few, 4);
		read_whole(path, &all);
		for (size_t at = 0; at < all.len; at += step) {
			struct result r;

			all.data[at] ^= 0x5a;
			write_file(path, all.data, all.len);
			all.data[at] ^= 0x5a;
			r = read_archive(pairs[p].format, few, 4);
			errors += r.err.kind != ERROR_NONE;
			odd += r.err.kind != ERROR_NONE &&
			       r.err.kind != ERROR_CORRUPT &&
			       r.err.kind != ERROR_UNSAFE;
			wrong += r.err.kind == ERROR_NONE && !r.data;
		}
		is_int((int64_t)odd, 0,
		       fmt("%s: flipped: CORRUPT or UNSAFE", pair_name(p)));
		ok(errors > 0, "... which happens");
		if (pairs[p].sums)
			is_int((int64_t)wrong, 0, "... never wrong data");
	}
	buf_free(&all);
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

/* Append a line "LENGTH KEY=VALUE" of a pax header. */
static void
add_pax(struct buf *to, const char *line)
{
	size_t len = strlen(line) + 2; /* blank and line feed */
	size_t digits = len < 9 ? 1 : len < 98 ? 2 : 3;

	must(buf_printf(to, "%zu %s\n", len + digits, line) == 0);
}

/* An entry, with optional pax lines before it and `len` bytes of data. */
struct crafted {
	const char *name;
	char type;
	const char *link;
	uint64_t size;
	const char *data;
	size_t len;
	const char *lines[5];
};

/* Write an archive with that entry. */
static void
craft(const struct crafted *c)
{
	struct buf pax = BUF_INIT, all = BUF_INIT;

	for (size_t i = 0; i < 5 && c->lines[i] != NULL; i++)
		add_pax(&pax, c->lines[i]);
	if (pax.len > 0) {
		add_header(&all, "pax", 'x', "", pax.len);
		add_data(&all, pax.data, pax.len);
	}
	add_header(&all, c->name, c->type, c->link ? c->link : "", c->size);
	add_data(&all, c->data, c->len);
	must(buf_add(&all, (char[1024]){ 0 }, 1024) == 0);
	write_file(path, all.data, all.len);
	buf_free(&pax);
	buf_free(&all);
}

/* Read the archive.  Returns the number of entries, or -1. */
static int
walk(bool reading, struct ark_entry *last, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0, rc = -1;
	struct ark_in *in = NULL;
	static char name[4096];
	struct ark_entry e;
	size_t got = 0;

	must(fd >= 0);
	error_clear(err);
	in = ark_in_new(fd, "in", NULL, err);
	while (in != NULL && (rc = ark_in_next(in, &e, err)) > 0) {
		n++;
		*last = e;
		snprintf(name, sizeof(name), "%s", e.path);
		last->path = name;
		do {
			rc = !reading ? 0
				      : ark_in_read(in, back, 65536, &got, err);
		} while (rc == 0 && got > 0);
		if (rc < 0)
			break;
	}
	if (in != NULL && rc < 0)
		must(ark_in_next(in, &e, NULL) < 0);
	ark_in_free(in);
	close(fd);
	return rc < 0 ? -1 : n;
}

static void
test_refused(void)
{
	static const struct {
		const char *name, type, *link, *line;
	} bad[] = {
		{ "/etc/passwd", '0', "", NULL },
		{ "../x", '0', "", NULL },
		{ "a/../../x", '0', "", NULL },
		{ "a//b", '0', "", NULL },
		{ "a/./b", '0', "", NULL },
		{ ".//etc/passwd", '0', "", NULL },
		{ "..", '5', "", NULL },
		{ "../", '5', "", NULL },
		{ "/", '5', "", NULL },
		{ "a//", '5', "", NULL },
		{ "", '0', "", NULL },
		{ ".", '0', "", NULL },
		{ "hard", '1', "other", NULL },
		{ "soft", '2', "/etc/passwd", NULL },
		{ "char", '3', "", NULL },
		{ "block", '4', "", NULL },
		{ "fifo", '6', "", NULL },
		{ "x", '0', "", "path=/etc/passwd" },
		{ "x", '2', "", "linkpath=\xc3\xa4" },
	};
	struct error err = ERROR_INIT;
	struct ark_entry e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		craft(&(struct crafted){
			.name = bad[i].name,
			.type = bad[i].type,
			.link = bad[i].link,
			.lines = { bad[i].line },
		});
		ok(walk(true, &e, &err) < 0 && err.kind == ERROR_UNSAFE &&
			   says(&err, bad[i].line ? "" : bad[i].name),
		   fmt("refused: \"%s\", type %c", bad[i].name, bad[i].type));
	}
	/* Two names, one of which could be hidden behind the other. */
	craft(&(struct crafted){
		.name = "x",
		.type = '1',
		.lines = { "linkpath=\xc3\xa4", "path=\xc3\xb6" } });
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_UNSAFE,
	   "refused: a hard link that is not ASCII");
	craft(&(struct crafted){ .name = "./././a/b/", .type = '5' });
	ok(walk(true, &e, &err) == 1 && e.kind == ARK_DIR &&
		   strcmp(e.path, "a/b") == 0 && (e.attr.mode & 07777) == 0644,
	   "a directory");
	craft(&(struct crafted){ .name = "./", .type = '5' });
	is_int(walk(true, &e, &err), 0, "the directory above all is not told");
}

static void
test_sizes(void)
{
	struct error err = ERROR_INIT;
	struct ark_entry e;

	craft(&(struct crafted){
		.name = "huge", .type = '0', .size = UINT64_C(1) << 60 });
	ok(walk(false, &e, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "huge: an impossible size"),
	   "refused: 1 EiB");
	craft(&(struct crafted){ .name = "short", .type = '0', .size = 5000 });
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "in: short: "),
	   "refused: less data than it says");
	ok(walk(false, &e, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "... even if nobody reads them");
	craft(&(struct crafted){
		.name = "shorter", .type = '0', .size = UINT64_C(1) << 40 });
	ok(walk(false, &e, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "... and all the more if it is 1 TiB");
}

/* Data that are not read are skipped; in files by seeking. */
static void
test_skipped(void)
{
	const struct file files[] = { { "a", 3 * MIB }, { "b", MIB }, few[0] };
	struct error err = ERROR_INIT;
	struct ark_entry e;

	for (size_t p = 0; p < PAIRS; p++) {
		if (is_left_out(p))
			continue;
		write_archive(p, files, 3);
		is_int(walk(false, &e, &err), 3,
		       fmt("%s: skipped", pair_name(p)));
		ok(strcmp(e.path, few[0].path) == 0, "... to the last");
	}
}

/* Files with holes, as GNU tar and bsdtar store them. */
static void
test_sparse(void)
{
	static const char map[516] = "2\n50000\n4\n100000\n0\n";
	struct crafted c = { .name = "x",
			     .type = '0',
			     .size = 516,
			     .data = map,
			     .len = 516,
			     .lines = { "GNU.sparse.major=1",
					"GNU.sparse.minor=0",
					"GNU.sparse.name=holes",
					"GNU.sparse.realsize=100000" } };
	struct error err = ERROR_INIT;
	struct ark_entry e;

	craft(&c);
	ok(walk(true, &e, &err) == 1 && strcmp(e.path, "holes") == 0 &&
		   e.attr.size == 100000,
	   "a file with holes");
	c.lines[3] = "GNU.sparse.realsize=10";
	craft(&c);
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "refused: data behind its end");
	c.lines[3] = "GNU.sparse.realsize=1152921504606846976";
	craft(&c);
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "holes: an impossible size"),
	   "refused: a hole of 1 EiB");
}

/* --- Decompression bombs --- */

static void
test_bombs(void)
{
	const struct crafted c = {
		.name = "x",
		.type = '0',
		.size = UINT64_C(1) << 32,
		.lines = { "GNU.sparse.major=1", "GNU.sparse.minor=0",
			   "GNU.sparse.name=bomb", "GNU.sparse.realsize=1000" }
	};
	struct error err = ERROR_INIT;
	struct rusage before, after;
	struct ark_entry e;

	if (!have("gzip")) {
		skip("bombs", "gzip is not installed");
		return;
	}
	getrusage(RUSAGE_SELF, &before);
	craft(&c);
	must(run("{ head -c -1024 a; echo 9999999; yes 0 | head -c 80000000; } "
		 "| gzip >b && mv b a"));
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "too many bytes before the next file"),
	   "a map of holes without end");
	must(run("{ printf 070701; printf '%080d' 0 | tr 0 1; "
		 "printf '0800000000000000'; head -c 100000000 /dev/zero; } "
		 "| gzip >a"));
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "too many bytes before the next file"),
	   "a name without end");
	getrusage(RUSAGE_SELF, &after);
	printf("# %ld KiB\n", after.ru_maxrss - before.ru_maxrss);
	ok(after.ru_maxrss - before.ru_maxrss < 300000,
	   "... take no memory to speak of");
}

/* --- Archives of other tools --- */

static void
test_their_writers(void)
{
	static const struct {
		const char *tool, *command;
	} writers[] = {
		{ "tar", "tar -C x --format=ustar -cf a ." },
		{ "tar", "tar -C x --format=gnu -czf a dir" },
		{ "tar", "tar -C x --format=pax -S -cf a dir" },
		{ "tar", "tar -C x --format=v7 -cf a dir" },
		{ "bsdtar", "bsdtar -C x --format=pax --zstd -cf a dir" },
		{ "bsdtar", "bsdtar -C x --format=zip -cf a dir" },
		{ "cpio", "cd x && find . | cpio -o -H newc >../a" },
		{ "cpio", "cd x && find . | cpio -o -H odc >../a" },
		{ "cpio", "cd x && find dir | cpio -o -H bin >../a" },
		{ "7zz",
		  "cd x && 7zz a -snl -t7z ../a dir && mv ../a.7z ../a" },
		{ "7zz",
		  "cd x && 7zz a -snl -tzip ../a dir && mv ../a.zip ../a" },
	};
	struct error err = ERROR_INIT;
	struct ark_entry e;

	must(run("mkdir x x/dir && echo one >x/dir/1 && echo two >x/dir/2 && "
		 "truncate -s 1M x/dir/holes && echo end >>x/dir/holes"));
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		if (!have(writers[i].tool)) {
			skip(writers[i].command, "not installed");
			continue;
		}
		if (!ok(run(fmt("rm -f a a.*; %s", writers[i].command)),
			writers[i].command))
			continue;
		if (!is_int(walk(true, &e, &err), 4, "... is read"))
			printf("# %s\n", err.text);
		must(run("ln -s 1 x/dir/link"));
		must(run(fmt("rm -f a a.*; %s", writers[i].command)));
		ok(walk(true, &e, &err) < 0 && err.kind == ERROR_UNSAFE &&
			   says(&err, "dir/link: a link"),
		   "... but no link");
		must(run("rm x/dir/link"));
	}
}

static void
test_foreign(void)
{
	struct error err = ERROR_INIT;
	struct ark_entry e;

	write_text(path, "");
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "an empty file");
	write_text(path, "This is no archive, and not even long enough.\n");
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "another file");
	fill(5, 100000);
	write_file(path, content, 100000);
	ok(walk(true, &e, &err) < 0 && err.kind == ERROR_CORRUPT, "noise");
	ok(ark_in_new(-1, "in", NULL, &err) == NULL && err.kind == ERROR_SYSTEM,
	   "no file");
}

/* Write the first of the few files after a file of `size` zeros. */
static void
write_large(uint64_t size, struct error *err)
{
	const struct attr attr = { .has_owner = false };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct ark_out *out = ark_out_new(fd, "out", ARK_ZSTD, 2, NULL, err);

	memset(content, 0, MIB);
	must(ark_out_begin(out, "big", size, &attr, err) == 0);
	for (uint64_t at = 0; at < size; at += MIB)
		must(ark_out_data(out, content,
				  size - at < MIB ? size - at : MIB, err) == 0);
	must(ark_out_end(out, err) == 0 && put(out, 1, few, err) == 0);
	must(ark_out_close(out, err) == 0);
	ark_out_free(out);
	close(fd);
}

static void
read_large(uint64_t size, const char *what, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ark_in *in = ark_in_new(fd, "in", NULL, err);
	uint64_t sum = 0;
	size_t got = 0;
	struct ark_entry e;

	must(in != NULL && ark_in_next(in, &e, err) == 1);
	while (ark_in_read(in, back, MIB, &got, err) == 0 && got > 0)
		sum += got;
	is_int((int64_t)sum, (int64_t)size, what);
	ok(ark_in_next(in, &e, err) == 1 && e.attr.size == few[0].size,
	   "... and the one behind");
	ark_in_free(in);
	close(fd);
}

/* More than 8 GiB in tar, more than 4 GiB in zip. */
static void
test_large(void)
{
	const uint64_t size = (UINT64_C(8) << 30) + 1;
	struct error err = ERROR_INIT;

	if (getenv("SCRKIT_SLOW") == NULL) {
		skip("files of 8 GiB", "only with SLOW=1");
		return;
	}
	write_large(size, &err);
	read_large(size, "pax zstd: 8 GiB and a byte", &err);
	if (!have("bsdtar")) {
		skip("... in zip", "bsdtar is not installed");
		return;
	}
	must(run("mv a b && bsdtar -c --format=zip -f a @b && rm b"));
	read_large(size, "... in zip", &err);
}

int
main(void)
{
	start();
	test_bombs(); /* first, because it measures memory */
	test_truncated();
	test_flipped();
	test_refused();
	test_sizes();
	test_skipped();
	test_sparse();
	test_their_writers();
	test_foreign();
	test_large();
	return finish();
}
