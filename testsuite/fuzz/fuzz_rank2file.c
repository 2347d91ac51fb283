/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank2file and its parts.  The input is a series of files: one byte selects
 * the name (bits 0-2), two give the length, then come the contents (see
 * fuzz_tree.h); an incomplete rest is ignored.  The files are loaded, built
 * into one part, and the part is compared.  Each file is also read as a part by
 * both readers: if the one without a tree accepts a file, the other must accept
 * it, too, with the same result.
 */
#include "fuzz_tree.h"
#include "jobtest.h"
#include "kvtree/kvstream.h"
#include "meta/rank2file_impl.h"

static const char *const names[8] = {
	"rank2file",	 "rank2file.0.0", "rank2file.0.1", "rank2file.0.2",
	"rank2file.1.0", "rank2file.1.2", "rank2file.scr", "rank2file.0.0.scr",
};

/* --- Two readers --- */

enum { RANKS = 40 };

static void
start(struct rank2file *r)
{
	*r = (struct rank2file){ .nranks = RANKS, .arena = arena_new() };
	r->ranks = arena_alloc(r->arena, RANKS, sizeof(*r->ranks));
}

static void
compare(const struct buf *image)
{
	_Atomic unsigned char claimed[RANKS] = { 0 };
	struct rank2file a, b;
	size_t len = 0;
	const char *body = kvtree_body(image->data, image->len, &len, NULL);
	struct rank2file_reader to = {
		.out = &a,
		.claimed = claimed,
	};
	struct kvtree *t = NULL;
	uint64_t x = 0, y = 0;
	struct kvstream from;

	if (body == NULL)
		return;
	start(&a);
	start(&b);
	to.arena = a.arena;
	kvstream_memory(&from, body, len);
	if (rank2file_scan(&to, &from, &x) == 0) {
		t = kvtree_decode(image->data, image->len, NULL, NULL);
		fuzz_require(t != NULL &&
			     rank2file_read_part(&b, t, &y, NULL) == 0 &&
			     x == y);
	}
	/* A reader that fails must leave the ranks empty. */
	fuzz_require(same_job(&a, &b));
	for (size_t i = 0; i < RANKS; i++)
		fuzz_require(!a.ranks[i].present ||
			     a.ranks[i].expected == b.ranks[i].expected);
	kvtree_free(t);
	rank2file_free(&a);
	rank2file_free(&b);
}

/* Write the files of the input. */
static void
unpack(int dirfd, const uint8_t *data, size_t size)
{
	auto_buf image = BUF_INIT;

	while (size >= 3) {
		size_t len = (size_t)data[1] << 8 | data[2];
		int fd = openat(dirfd, names[data[0] & 7],
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		fuzz_image(data, len, &image);
		compare(&image);
		fuzz_require(fd >= 0 && write(fd, image.data, image.len) ==
						(ssize_t)image.len);
		close(fd);
		data += len;
		size -= len;
	}
}

static void
try_load(int dirfd, const char *base)
{
	struct rank2file r;
	struct buf image = BUF_INIT;
	struct kvtree *t = NULL;
	const struct kvtree *k = NULL;
	size_t ranks = 0, present = 0, i = 0;

	if (rank2file_load(dirfd, base, &r, NULL) < 0)
		return;
	fuzz_require(rank2file_encode_part(&r, 0, r.nranks, &image, NULL) == 0);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	fuzz_require(t != NULL);
	kvtree_foreach (k, kvtree_get(t, "RANK"))
		ranks++;
	for (i = 0; i < r.nranks; i++)
		present += r.ranks[i].present;
	fuzz_require(ranks == present);
	kvtree_free(t);
	buf_free(&image);
	rank2file_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4096];
	int dirfd = -1, i = 0;

	snprintf(dir, sizeof(dir), "%s/fuzzXXXXXX", tmp != NULL ? tmp : "/tmp");
	fuzz_require(mkdtemp(dir) != NULL);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_require(dirfd >= 0);
	unpack(dirfd, data, size);
	try_load(dirfd, "rank2file");
	try_load(dirfd, "rank2file.scr");
	for (i = 0; i < 8; i++)
		unlinkat(dirfd, names[i], 0);
	close(dirfd);
	rmdir(dir);
	return 0;
}
