/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_tree.h"
#include "store/file.h"
#include "store/store_impl.h"
#include "store/tend.h"

/*
 * The state of a store, damaged while it is used.  The input changes words of a
 * sound one: each ten bytes are the number of a word of the first 16, or of a
 * slot (from 16 on), the slot, and the value.  Whatever it says: opening it,
 * asking for its status, writing, deleting and tending end, and a file has what
 * was written to it.
 */

#define RECORD 10
#define BYTES ((size_t)1 << 20)

static char dir[64];
static struct store *sound; /* our mapping of it */
static struct state image;

static void
begin(void)
{
	const struct store_options o = { .pool = 8 << 20 };

	strcpy(dir, "/dev/shm/fuzzXXXXXX");
	fuzz_require(mkdtemp(dir) != NULL && store_make(dir, &o, NULL) == 0);
	sound = store_open(dir, NULL);
	fuzz_require(sound != NULL && store_use(dir, NULL) == 0);
	sound->state->least = 16384;
	memcpy(&image, sound->state, sizeof(image));
}

__attribute__((destructor)) static void
end(void)
{
	if (dir[0] != '\0')
		(void)io_remove_tree(AT_FDCWD, dir, NULL);
	store_close(sound);
}

/* A sound state again, with a clean file. */
static void
renew(void)
{
	struct tend_populate p = { .size = 2 << 20, .count = 1 };

	remove_tree(fmt("%s/" STORE_META "/pool/0", dir));
	memcpy(sound->state, &image, sizeof(image));
	fuzz_require(tend_populate(sound, &p, NULL) == 0 && p.added == 1);
}

static void
damage(const uint8_t *data, size_t size)
{
	unsigned char *at = NULL;

	for (; size >= RECORD; data += RECORD, size -= RECORD) {
		const size_t word = data[0] % 24;

		at = word < 16 ? (unsigned char *)sound->state + 8 * word
			       : (unsigned char *)&sound->state
						 ->slot[data[1] % 3] +
					 8 * (word - 16) % sizeof(struct slot);
		memcpy(at, data + 2, 8);
	}
}

FUZZ(store)
{
	static unsigned char written[BYTES], is[BYTES];
	struct tend_done done = { 0 };
	struct store_status status;
	struct store *s = NULL;
	const char *path = NULL;
	int fd = -1;

	if (dir[0] == '\0')
		begin();
	renew();
	damage(data, size);
	path = fmt("%s/file", dir);
	memset(written, 7, sizeof(written));
	fd = store_create(AT_FDCWD, path, O_CREAT | O_RDWR, 0600);
	if (fd < 0)
		fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (store_pwrite(fd, written, BYTES, 0) == STORE_KERNEL)
		fuzz_require(pwrite(fd, written, BYTES, 0) == BYTES);
	damage(data, size);
	fuzz_require(pread(fd, is, BYTES, 0) == BYTES &&
		     memcmp(is, written, BYTES) == 0);
	store_closing(fd);
	close(fd);
	s = store_open(dir, NULL);
	if (s != NULL) {
		fuzz_require(store_status(s, &status, NULL) == 0);
		(void)tend_once(s, &done, NULL);
		store_close(s);
	}
	if (!store_unlink(AT_FDCWD, path))
		unlink(path);
	damage(data, size);
	(void)tend_once(sound, &done, NULL);
	remove_tree(fmt("%s/" STORE_META "/dirty", dir));
	fuzz_require(mkdir(fmt("%s/" STORE_META "/dirty", dir), 0700) == 0);
}
