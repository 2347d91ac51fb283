/* SPDX-License-Identifier: BSD-3-Clause */
/* t_pump.c - one file is copied: contents, checksum, holes, failures. */
#include "transfer/pump.h"

#include "scratch.h"
#include "transfer/stripe.h"

#define SIZE 1000000 /* no multiple of the block */

static char source[SIZE], block[65536];
static struct error err;

static int
open_at(const char *name, int flags)
{
	int fd = open(here("%s", name), flags | O_CLOEXEC, 0600);

	must(fd >= 0);
	return fd;
}

static struct pump
start(int from, int to)
{
	why = err = (struct error)ERROR_INIT;
	return (struct pump){
		.from = from,
		.name = "source",
		.size = SIZE,
		.to = to,
		.to_name = "target",
		.block = block,
		.room = sizeof(block),
	};
}

static void
copies(int from)
{
	const uint32_t crc = crc_update(0, source, SIZE);
	int to = open_at("target", O_RDWR | O_CREAT | O_EXCL);
	struct pump p = start(from, to);
	struct stat st;

	ok(pump_run(&p, &why, &err) == 1 && p.crc == crc &&
		   file_holds(here("target"), source, SIZE),
	   "copied: all bytes and their checksum");
	ok(fstat(to, &st) == 0 && st.st_blocks * 512 < 700000,
	   "long runs of zeros are holes");
	close(to);

	p = start(from, -1);
	p.has_crc = true;
	p.crc = crc;
	is_int(pump_run(&p, &why, &err), 1, "without target: summed only");
	p.size = 0;
	p.has_crc = false;
	ok(pump_run(&p, &why, &err) == 1 && p.crc == 0, "an empty file");
}

/* A terabyte with data at both ends and in the middle. */
static void
skips_holes(void)
{
	static const off_t at[] = { 0, (off_t)1 << 39, ((off_t)1 << 40) - 9 };
	auto_fd int from = open_at("huge", O_RDWR | O_CREAT | O_EXCL);
	auto_fd int to = open_at("copy", O_RDWR | O_CREAT | O_EXCL);
	struct pump p = start(from, to);
	uint32_t crc = 0;
	uint64_t end = 0;
	char bytes[10] = "";
	bool same = true;
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		if (pwrite(from, "some data", 9, at[i]) != 9) {
			skip("a terabyte, mostly a hole", "no large files");
			return;
		}
		crc = ~crc_shift(~crc, (uint64_t)at[i] - end);
		crc = crc_update(crc, "some data", 9);
		end = (uint64_t)at[i] + 9;
	}
	p.size = end;
	ok(pump_run(&p, &why, &err) == 1 && p.crc == crc,
	   "a terabyte, mostly a hole: its checksum");
	for (size_t i = 0; i < 3; i++)
		same = same && pread(to, bytes, 9, at[i]) == 9 &&
		       memcmp(bytes, "some data", 9) == 0;
	ok(same && fstat(to, &st) == 0 && (uint64_t)st.st_size == end &&
		   st.st_blocks * 512 < 4000000,
	   "... its data, and the hole");
}

static int
refuse(void *arg, const void *data, size_t len, uint64_t at, struct error *e)
{
	uint64_t *seen = arg;

	must(memcmp(data, source + at, len) == 0 && at == *seen);
	*seen += len;
	return at == 0 ? 0 : error_set(e, ERROR_SYSTEM, "enough");
}

static void
fails(int from)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	uint64_t seen = 0;
	struct pump p = start(from, -1);

	p.has_crc = true;
	p.crc = 1;
	ok(pump_run(&p, &why, &err) == 0 && err.kind == ERROR_NONE &&
		   fails_as(-1, &why, ERROR_DAMAGED, "source: checksum"),
	   "another checksum: the source is bad");
	p = start(from, -1);
	p.size = SIZE + 1;
	ok(pump_run(&p, &why, &err) == 0 && why.kind == ERROR_CORRUPT,
	   "it ends early: the source is bad");
	p = start(from, full);
	ok(fails_as(pump_run(&p, &why, &err), &err, -ENOSPC, "target") &&
		   why.kind == ERROR_NONE,
	   "a full disk is an error of the target");
	close(full);
	p = start(from, -1);
	p.step = refuse;
	p.arg = &seen;
	ok(pump_run(&p, &why, &err) == -1 && says(&err, "enough") &&
		   seen == 2 * sizeof(block),
	   "step() sees block after block, and ends the copy");
}

/* --- Many files, by several threads --- */

#define PIECES ((size_t)PUMP_PIECE)

static const struct {
	size_t size;
	bool known, sparse;
} many[] = {
	{ 0, true, false },	      { 1, true, false },
	{ PIECES - 1, true, false },  { PIECES, true, false },
	{ PIECES + 1, true, false },  { 3 * PIECES + 12345, true, false },
	{ 2 * PIECES, false, false }, { 5 * PIECES + 7, true, true },
};
#define MANY (COUNT(many))

static struct {
	char *data; /* of all files; each begins at an offset of its own */
	_Atomic int opened, closed;
	size_t wrong;	/* a file with another checksum; MANY: none */
	size_t missing; /* one that cannot be opened; MANY: none */
	bool whole[MANY];
	int dir; /* the sources are strings of two parts below it; -1: files */
	struct stripe stripes[MANY];
	struct stripe_part parts[MANY][2];
	char names[MANY][16];
} crew;

static uint64_t
many_size(void *arg, size_t i)
{
	(void)arg;
	return many[i].known ? many[i].size : 0;
}

/* The contents of file `i`. */
static const char *
many_data(size_t i)
{
	return crew.data + (many[i].sparse ? 0 : i + 1);
}

static uint32_t
many_crc(size_t i)
{
	return crc_update(0, many_data(i), many[i].size);
}

/* File `i` as a string: its second half follows the first. */
static const struct stripe *
many_stripe(size_t i)
{
	struct stripe_part *p = crew.parts[i];

	snprintf(crew.names[i], sizeof(crew.names[i]), "from.%zu", i);
	p[0] = (struct stripe_part){ .len = many[i].size / 2,
				     .dirfd = crew.dir,
				     .path = crew.names[i],
				     .sum = STRIPE_NO_SUM };
	p[1] = p[0];
	p[1].start = p[1].off = p[0].len;
	p[1].len = many[i].size - p[0].len;
	crew.stripes[i] = (struct stripe){ 2, p };
	return &crew.stripes[i];
}

static int
many_open(void *arg, size_t i, struct pump *p, struct error *e)
{
	char name[128];

	(void)arg;
	if (i == crew.missing)
		return error_set(e, ERROR_SYSTEM, "file %zu is missing", i) + 1;
	crew.opened++;
	*p = (struct pump){
		.name = "from",
		.size = many[i].size,
		.has_crc = true,
		.crc = many_crc(i) + (i == crew.wrong),
		.to_name = "to",
	};
	snprintf(name, sizeof(name), "%s/from.%zu", scratch_root, i);
	p->from = open(name, O_RDONLY | O_CLOEXEC);
	if (crew.dir >= 0)
		p->stripe = many_stripe(i);
	snprintf(name, sizeof(name), "%s/to.%zu", scratch_root, i);
	p->to = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(p->from >= 0 && p->to >= 0);
	return 1;
}

static int
many_close(void *arg, size_t i, const struct pump *p, int rc, struct error *e)
{
	(void)arg, (void)e;
	close(p->from);
	close(p->to);
	crew.closed++;
	crew.whole[i] = rc == 1 && p->crc == many_crc(i);
	return rc;
}

static int
run_many(unsigned threads)
{
	struct par *par = par_new(threads, &err);
	const struct pump_list l = {
		.par = par,
		.count = MANY,
		.size = many_size,
		.open = many_open,
		.close = many_close,
	};
	int rc = 0;

	must(par != NULL);
	err = (struct error)ERROR_INIT;
	crew.opened = crew.closed = 0;
	memset(crew.whole, 0, sizeof(crew.whole));
	rc = pump_each(&l, &err);
	par_free(par);
	is_int(crew.opened, crew.closed, "no file stays open");
	return rc;
}

static void
copies_many(void)
{
	const size_t most = 6 * PIECES;

	crew.wrong = crew.missing = MANY;
	crew.data = calloc(1, most);
	must(crew.data != NULL);
	/* The sparse file begins with data, and ends with zeros. */
	for (size_t i = 0; i < 4 * PIECES; i++)
		crew.data[i] = (char)(i % 253 + 1);
	for (size_t i = 0; i < MANY; i++) {
		const char *name = here("from.%zu", i);

		write_file(name, many_data(i),
			   many[i].sparse ? 4 * PIECES : many[i].size);
		must(truncate(name, (off_t)many[i].size) == 0);
	}
	/* More threads than files: these are cut in pieces. */
	for (unsigned n = 0; n < 6; n++) {
		const unsigned threads = 1 + n / 2 * 5;
		bool all = true;

		crew.dir = n % 2 == 0 ? -1 : open(scratch_root, O_RDONLY);
		all = run_many(threads) == 1 && crew.closed == MANY;

		for (size_t i = 0; i < MANY; i++)
			all = all && crew.whole[i] &&
			      file_holds(here("to.%zu", i), many_data(i),
					 many[i].size);
		ok(all, fmt("%u threads: all are copied, from %s", threads,
			    crew.dir < 0 ? "files" : "strings"));
		if (crew.dir >= 0)
			close(crew.dir);
	}
	crew.dir = -1;
	for (size_t i = 3; i < MANY; i++) {
		crew.wrong = i;
		ok(run_many(MANY + 1) == 0 && !crew.whole[i] &&
			   fails_as(-1, &err, ERROR_DAMAGED, "from: checksum"),
		   fmt("file %zu has another checksum", i));
	}
	crew.wrong = MANY;
	crew.missing = 5;
	ok(run_many(MANY + 1) == 0 && says(&err, "file 5 is missing"),
	   "one cannot be opened");
	free(crew.data);
}

int
main(void)
{
	auto_fd int from = -1;

	scratch_new();
	/* Data, zeros in the middle, and zeros at the end. */
	for (size_t i = 0; i < SIZE; i++)
		source[i] = (char)((i < 300000 || i > 700000) && i < 900000
					   ? i % 251 + 1
					   : 0);
	from = open_at("source", O_RDWR | O_CREAT | O_EXCL);
	must(pwrite(from, source, SIZE, 0) == SIZE);
	copies(from);
	skips_holes();
	fails(from);
	copies_many();
	return tap_done();
}
