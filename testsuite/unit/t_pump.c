/* SPDX-License-Identifier: BSD-3-Clause */
/* t_pump.c - one file is copied: contents, checksum, holes, failures. */
#include "transfer/pump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "scratch.h"

#define SIZE 1000000 /* no multiple of the block */

static char root[96], source[SIZE], target[SIZE + 1], block[65536];
static struct error why, err;

/* Data, zeros in the middle, and zeros at the end. */
static void
fill(void)
{
	for (size_t i = 0; i < SIZE; i++)
		source[i] = (char)((i < 300000 || i > 700000) && i < 900000
					   ? i % 251 + 1
					   : 0);
}

static int
open_at(const char *name, int flags)
{
	int fd = open(fmt("%s/%s", root, name), flags | O_CLOEXEC, 0600);

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

	is_int(pump_run(&p, &why, &err), 1, "copied");
	ok(p.crc == crc, "the checksum is that of the bytes");
	ok(pread(to, target, sizeof(target), 0) == SIZE &&
		   memcmp(source, target, SIZE) == 0,
	   "all bytes arrived, and no more");
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
	int from = open_at("huge", O_RDWR | O_CREAT | O_EXCL);
	int to = open_at("copy", O_RDWR | O_CREAT | O_EXCL);
	struct pump p = start(from, to);
	uint32_t crc = 0;
	uint64_t end = 0;
	char bytes[10] = "";
	bool same = true;
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		if (pwrite(from, "some data", 9, at[i]) != 9) {
			skip("a terabyte, mostly a hole", "no large files");
			goto out;
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
out:
	close(from);
	close(to);
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
	ok(pump_run(&p, &why, &err) == 0 && why.kind == ERROR_DAMAGED &&
		   says(&why, "source: checksum") && err.kind == ERROR_NONE,
	   "another checksum: the source is bad");
	p = start(from, -1);
	p.size = SIZE + 1;
	ok(pump_run(&p, &why, &err) == 0 && why.kind == ERROR_CORRUPT,
	   "it ends early: the source is bad");
	must(full >= 0);
	p = start(from, full);
	ok(pump_run(&p, &why, &err) == -1 && says(&err, "target") &&
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

int
main(void)
{
	int from = -1;

	scratch_dir(root, sizeof(root));
	fill();
	from = open_at("source", O_RDWR | O_CREAT | O_EXCL);
	must(pwrite(from, source, SIZE, 0) == SIZE);
	copies(from);
	skips_holes();
	fails(from);
	close(from);
	remove_tree(root);
	return tap_done();
}
