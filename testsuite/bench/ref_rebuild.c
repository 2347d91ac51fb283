/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_rebuild - the reference for rebuilds in `make bench`: only the reads, the
 * arithmetic, the checksums and the writes of a rebuild of one set.  One file
 * for each rank, all of the same size.  No metadata except the size of a
 * header, no attributes, no temporary files, no sync, no error recovery.
 *
 *   ref_rebuild xor|rs K THREADS SIZE OUT DATA RED [DATA RED]...
 *
 * One DATA RED pair for each member, "-" "-" for a lost one.  Results are
 * OUT/data.M and OUT/red.M (body only).
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isa-l.h>

#include "common.h"
#include "encode/code.h"

#define BLOCK ((size_t)128 << 10)

static struct code code;
static uint64_t chunk, size, nblocks;
static int data[CODE_MAX], red[CODE_MAX], out_data[CODE_MAX], out_red[CODE_MAX];
static uint64_t body_at[CODE_MAX];
static struct recipe *recipes[CODE_MAX];
static bool lost[CODE_MAX];
static atomic_size_t next;
static _Atomic uint32_t sum;

static void
block(size_t i, unsigned char *memory)
{
	unsigned stripe = (unsigned)(i / nblocks);
	uint64_t off = i % nblocks * BLOCK;
	const struct recipe *r = recipes[stripe];
	size_t len = chunk - off < BLOCK ? (size_t)(chunk - off) : BLOCK;
	unsigned char *part[CODE_MAX];
	void *v[CODE_MAX];

	for (unsigned k = 0; k < r->nin + r->nout; k++)
		v[k] = part[k] = memory + k * BLOCK;
	for (unsigned k = 0; k < r->nin; k++) {
		struct code_slot s = code_slot(&code, r->in[k], stripe);
		uint64_t at = s.index * chunk + off;
		size_t n = len;

		if (!s.check && at + n > size) {
			n = at < size ? (size_t)(size - at) : 0;
			memset(part[k] + n, 0, len - n);
		}
		if (pread(s.check ? red[r->in[k]] : data[r->in[k]], part[k], n,
			  (off_t)(s.check ? body_at[r->in[k]] + at : at)) !=
		    (ssize_t)n)
			die("read");
		if (!s.check)
			sum ^= crc32_gzip_refl(0, part[k], n);
	}
	if (code.type == CODE_XOR)
		xor_gen((int)r->nin + 1, (int)((len + 31) & ~31ul), v);
	else
		ec_encode_data((int)len, (int)r->nin, (int)r->nout, r->tables,
			       part, part + r->nin);
	for (unsigned k = 0; k < r->nout; k++) {
		struct code_slot s = code_slot(&code, r->out[k], stripe);
		uint64_t at = s.index * chunk + off;
		size_t n = len;

		if (!s.check && at + n > size)
			n = at < size ? (size_t)(size - at) : 0;
		if (!s.check)
			sum ^= crc32_gzip_refl(0, part[r->nin + k], n);
		if (pwrite(s.check ? out_red[r->out[k]] : out_data[r->out[k]],
			   part[r->nin + k], n, (off_t)at) != (ssize_t)n)
			die("write");
	}
}

static void *
work(void *arg)
{
	unsigned char *memory = aligned_alloc(4096, (CODE_MAX + 1) * BLOCK);
	size_t i = 0;

	while ((i = next++) < nblocks * code.n)
		block(i, memory);
	free(memory);
	return arg;
}

static int
create(const char *dir, const char *what, unsigned m)
{
	char name[4096];
	int fd = -1;

	snprintf(name, sizeof(name), "%s/%s.%u", dir, what, m);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		die(name);
	return fd;
}

int
main(int argc, char **argv)
{
	unsigned char head[20];

	if (argc < 10)
		return 2;
	code.type = strcmp(argv[1], "rs") == 0 ? CODE_RS : CODE_XOR;
	code.k = (unsigned)strtoul(argv[2], NULL, 10);
	size = strtoull(argv[4], NULL, 10);
	code.n = (unsigned)(argc - 6) / 2;
	chunk = code_chunk_size(&code, size);
	nblocks = (chunk + BLOCK - 1) / BLOCK;
	for (unsigned m = 0; m < code.n; m++) {
		lost[m] = strcmp(argv[6 + 2 * m], "-") == 0;
		if (lost[m]) {
			out_data[m] = create(argv[5], "data", m);
			out_red[m] = create(argv[5], "red", m);
			continue;
		}
		data[m] = open(argv[6 + 2 * m], O_RDONLY);
		red[m] = open(argv[7 + 2 * m], O_RDONLY);
		if (data[m] < 0 || red[m] < 0 ||
		    pread(red[m], head, sizeof(head), 0) != sizeof(head))
			die(argv[7 + 2 * m]);
		for (int i = 8; i < 16; i++)
			body_at[m] = body_at[m] << 8 | head[i];
	}
	for (unsigned s = 0; s < code.n; s++) {
		recipes[s] = recipe_new(&code, s, lost, NULL);
		if (recipes[s] == NULL)
			die("recipe");
	}
	in_threads((unsigned)strtoul(argv[3], NULL, 10), work);
	return 0;
}
