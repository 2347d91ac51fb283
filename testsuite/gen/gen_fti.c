/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen_fti - an FTI job of one rank on each of its nodes, with an FTI-FF
 * checkpoint of level 1: config.fti, Topology.fti and the files of the ranks.
 *
 *   gen_fti DIR NODES BYTES LAYOUT
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti/draft.h"
#include "ftibytes.h"
#include "io.h"
#include "num.h"

#define EXEC "2026-01-01_00-00-00"

/* Words that do not compress, another series for each rank. */
static int
read_words(const struct fti_source *s, void *to, size_t len, uint64_t off,
	   struct error *err)
{
	unsigned char *bytes = to;
	const uint64_t *seed = s->arg;

	(void)err;
	for (size_t i = 0; i < len; i++) {
		const uint64_t at = (off + i) / 8 + *seed;
		uint64_t x = at * UINT64_C(0x9e3779b97f4a7c15);

		x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
		bytes[i] = (unsigned char)(x >> (8 * ((off + i) % 8)));
	}
	return 0;
}

static int
write_text(int dir, const char *path, const struct buf *text, struct error *err)
{
	return io_replace(dir, path, text->data, text->len, 0666, err);
}

static int
write_config(int dir, const char *root, uint64_t nodes, struct error *err)
{
	struct buf b = BUF_INIT;
	char path[4096];
	int rc = 0;

	buf_printf(&b,
		   "[basic]\nhead = 0\nnode_size = 1\nckpt_dir = ./Local\n"
		   "glbl_dir = ./Global\nmeta_dir = ./Meta\ngroup_size = %d\n"
		   "ckpt_io = 3\n[restart]\nfailure = 1\nexec_id = %s\n"
		   "[advanced]\nlocal_test = 1\n",
		   (int)nodes, EXEC);
	rc = write_text(dir, "config.fti", &b, err);
	buf_clear(&b);
	buf_add_str(&b, "[topology]\n");
	for (uint64_t n = 0; n < nodes; n++)
		buf_printf(&b, "%d = node%d\n", (int)n, (int)n);
	snprintf(path, sizeof(path), "%s/Meta/%s", root, EXEC);
	if (rc < 0 || io_make_dirs(path, 0777, err) < 0 ||
	    write_text(dir, "Meta/" EXEC "/Topology.fti", &b, err) < 0)
		rc = -1;
	buf_free(&b);
	return rc;
}

static int
write_rank(int dir, unsigned rank, uint64_t size, enum fti_layout layout,
	   struct error *err)
{
	uint64_t seed = (uint64_t)rank << 40;
	struct fti_source s = { .size = size + 1000 * rank,
				.name = "generated",
				.read = read_words,
				.arg = &seed };
	const struct fti_raw raw = { 1, &s };
	struct fti_draft d;
	char path[256];
	const struct fti_job job = { .draft = &d, .dirfd = dir, .path = path };
	int rc = fti_describe_pack(&d, &raw, 1, 0, layout, err);

	snprintf(path, sizeof(path),
		 "Local/node%u/" EXEC "/l1/Ckpt1-Rank%u.fti", rank, rank);
	d.ckpt_id = 1;
	if (rc == 0)
		rc = fti_write(&job, 1, NULL, err);
	fti_draft_fini(&d);
	return rc;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	enum fti_layout layout = FTI_F;
	uint64_t nodes = 0, size = 0;
	int dir = -1, rc = -1;

	if (argc != 5)
		return 2;
	if (num_u64(argv[2], 2, 31, &nodes, &err) == 0 &&
	    num_u64(argv[3], 1, UINT64_C(1) << 50, &size, &err) == 0 &&
	    fti_layout_parse(argv[4], &layout, &err) == 0 &&
	    io_make_dirs(argv[1], 0777, &err) == 0) {
		dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = write_config(dir, argv[1], nodes, &err);
	}
	for (unsigned r = 0; r < nodes && rc == 0; r++)
		rc = write_rank(dir, r, size, layout, &err);
	if (rc < 0)
		fprintf(stderr, "gen_fti: %s\n", err.text);
	close(dir);
	return rc < 0;
}
