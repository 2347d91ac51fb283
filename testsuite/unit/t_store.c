/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_store.c - files in memory: copying past the cache, the state of a store,
 * and the life of a file from the pool to the pool.
 */
#include "store/store.h"

#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include "pace.h"
#include "scratch.h"
#include "store/file.h"
#include "store/past.h"
#include "store/spill.h"
#include "store/store_impl.h"
#include "store/tend.h"
#include "uppers.h"

#define MIB ((size_t)1 << 20)

static const struct store_options plain;
static unsigned char data[8 << 20];
static struct store *store;

TEST(copy)
{
	static const size_t sizes[] = {
		0,    1,     63,    64,	   4095,  4096,
		4097, 16383, 16384, 16447, 65536, 99991
	};
	static unsigned char to[100200];
	bool good = true;

	each (n, sizes)
		for (size_t from = 0; from < 130; from += 43)
			for (size_t at = 0; at < 130; at += 13) {
				memset(to, 7, sizeof(to));
				past_copy(to + at, data + from, *n);
				good &= !uppers_used() &&
					memcmp(to + at, data + from, *n) == 0 &&
					to[at + *n] == 7 &&
					(at == 0 || to[at - 1] == 7);
			}
	ok(good, "any size and alignment is copied, and nothing else changed");
	ok(past_name()[0] != '\0', "the way has a name");
}

/* A store with one clean file of 8 MiB, in use. */
static const char *
ready(const char *name)
{
	struct tend_populate p = { .size = sizeof(data), .count = 1 };
	char *dir = here("%s", name);
	struct store_status st = { 0 };

	must(mkdir(dir, 0700) == 0);
	must(store_make(dir, &plain, &why) == 0);
	store = store_open(dir, &why);
	must(store != NULL);
	/* Beside other programs, it can say that only large writes gain. */
	for (int k = 0; k < 5 && (k == 0 || st.least > MIB); k++)
		must(tend_measure(store, &why) == 0 &&
		     store_status(store, &st, &why) == 0);
	must(tend_populate(store, &p, &why) == 0 && p.added == 1);
	must(store_use(dir, &why) == 0);
	return dir;
}

static uint64_t
clean_files(void)
{
	struct store_status st;

	must(store_status(store, &st, &why) == 0);
	return st.clean_files;
}

TEST(life)
{
	const char *dir = ready("life");
	char *path = fmt("%s/file.1", dir);
	const struct iovec v[2] = { { data, MIB }, { data + MIB, MIB + 5 } };
	struct tend_done done = { 0 };
	struct store_status st;
	struct stat is;
	bool fast = false;
	int fd = -1;

	must(store_status(store, &st, &why) == 0);
	fd = store_create(AT_FDCWD, path, O_CREAT | O_RDWR | O_EXCL, 0640);
	ok(fd >= 0 && fstat(fd, &is) == 0 && is.st_size == 0 &&
		   (is.st_mode & 07777) == 0640 && clean_files() == 0,
	   "a new file is one of the pool, empty, and has its mode");
	is_int(store_create(AT_FDCWD, path, O_CREAT | O_RDWR, 0600), -1,
	       "one that exists is the kernel's");
	fast = st.least != 0 && st.least <= MIB;
	if (fast) {
		is_int(store_write(fd, data, MIB + 1), MIB + 1,
		       "a large write is done");
		is_int(lseek(fd, 0, SEEK_CUR), MIB + 1, "... and moves on");
		is_int(store_writev(fd, v, 2), 2 * MIB + 5, "so is a vector");
		is_int(store_pwrite(fd, data + 3, 2 * MIB, MIB), 2 * MIB,
		       "and one at an offset");
	} else {
		must(pwrite(fd, data, 3 * MIB + 6, 0) > 0);
	}
	is_int(store_write(fd, data, 100), STORE_KERNEL,
	       "a small one is the kernel's");
	is_int(store_pwrite(fd, data, MIB, 8 * MIB - 100), STORE_KERNEL,
	       "as is one behind the pages that are there");
	ok(fstat(fd, &is) == 0 && is.st_size == (off_t)(3 * MIB + 6),
	   "the size is that of the data");
	store_closing(fd);
	must(close(fd) == 0);
	if (fast) {
		struct buf got = BUF_INIT;

		read_whole(path, &got);
		ok(got.len == 3 * MIB + 6 && memcmp(got.data, data, MIB) == 0 &&
			   memcmp(got.data + MIB, data + 3, 2 * MIB) == 0 &&
			   memcmp(got.data + 3 * MIB, data + 2 * MIB - 1, 6) ==
				   0,
		   "the data are what was written last");
		buf_free(&got);
	}
	ok(tend_once(store, &done, &why) == 0 && done.trimmed == 1 &&
		   stat(path, &is) == 0 &&
		   is.st_blocks * 512 < (off_t)(5 * MIB),
	   "spare pages are freed when nobody has the file");
	ok(store_unlink(AT_FDCWD, path) && !exists(path) && clean_files() == 0,
	   "a deleted file is gone");
	ok(tend_once(store, &done, &why) == 0 && done.cleaned == 1 &&
		   clean_files() == 1,
	   "... and clean when the store was tended");
	fd = store_create(AT_FDCWD, fmt("%s/file.2", dir), O_CREAT | O_RDWR,
			  0600);
	must(fd >= 0 && ftruncate(fd, 4096) == 0);
	{
		char zero[4096], none[4096] = { 0 };

		ok(pread(fd, zero, sizeof(zero), 0) == sizeof(zero) &&
			   memcmp(zero, none, sizeof(zero)) == 0,
		   "the next file does not have its bytes");
	}
	must(close(fd) == 0);
	store_leave();
	store_close(store);
}

TEST(room)
{
	const char *dir = ready("room");
	int fd = store_create(AT_FDCWD, fmt("%s/file", dir), O_CREAT | O_RDWR,
			      0600);
	struct tend_done done = { 0 };

	must(fd >= 0 && pwrite(fd, data, MIB, 0) == MIB);
	store_closing(fd);
	must(close(fd) == 0 && tend_once(store, &done, &why) == 0);
	must(store_unlink(AT_FDCWD, fmt("%s/file", dir)));
	fd = open(fmt("%s/full", dir), O_CREAT | O_RDWR, 0600);
	ok(store_make_room(fd, MIB) && tend_once(store, &done, &why) == 0 &&
		   done.cleaned == 0,
	   "a deleted file that is not clean yet makes room");
	must(tend_populate(store,
			   &(struct tend_populate){ .size = MIB, .count = 2 },
			   &why) == 0 &&
	     clean_files() == 2);
	ok(store_make_room(fd, MIB) && clean_files() == 1, "so do clean ones");
	ok(store_make_room(fd, 9 * MIB) && clean_files() == 0 &&
		   !store_make_room(fd, 1),
	   "and then nothing does");
	close(fd);
	store_leave();
	store_close(store);
}

TEST(relative)
{
	const char *dir = ready("relative");
	struct stat st;
	uint64_t moved = 0;

	must(chdir(dir) == 0);
	strcpy(store->state->spill, "elsewhere");
	atomic_store(&store->state->size, 1);
	write_file("file", data, MIB);
	ok(spill_once(store, &(struct pace){ 0 }, &moved, &why) == 0 &&
		   spill_sweep(store, &moved, &why) == 0 && moved == 0 &&
		   !spill_wants(store, 1 << 30) && lstat("elsewhere", &st) < 0,
	   "a damaged state spills nowhere below the working directory");
	store_leave();
	store_close(store);
}

TEST(nodes)
{
	struct tend_populate p = { .size = 2 * MIB, .count = 3 };
	char *dir = here("nodes");
	struct store_status st;
	struct store *s = NULL;

	must(mkdir(dir, 0700) == 0 && store_make(dir, &plain, &why) == 0);
	must(setenv("HWLOC_SYNTHETIC", "node:2 core:2 pu:1", 1) == 0);
	s = store_open(dir, &why);
	ok(tend_populate(s, &p, &why) == 0 && store_status(s, &st, &why) == 0 &&
		   st.clean_files == 3 && st.node_clean[0] == 4 * MIB &&
		   st.node_clean[1] == 2 * MIB,
	   "clean files are spread over the NUMA nodes");
	must(unsetenv("HWLOC_SYNTHETIC") == 0);
	store_close(s);
}

TEST(refused)
{
	char *dir = here("refused"),
	     *state = fmt("%s/" STORE_META "/state", dir);
	struct buf whole = BUF_INIT;
	bool good = true;

	refuses(store_open(dir, &why), ERROR_ABSENT, dir, "no directory");
	must(mkdir(dir, 0700) == 0);
	refuses(store_open(dir, &why), ERROR_ABSENT, "not a store",
		"a directory is none yet");
	must(chmod(dir, 0777) == 0);
	refuses(store_make(dir, &plain, &why), ERROR_UNSAFE, "chmod go-w",
		"one that others may write to will be none");
	must(chmod(dir, 0700) == 0);
	refuses(store_make("/proc", &plain, &why),
		geteuid() == 0 ? ERROR_USAGE : ERROR_UNSAFE, "/proc",
		"nor one that is not in memory");
	must(store_make(dir, &plain, &why) == 0);
	must(store_make(dir, &plain, &why) == 0);
	read_whole(state, &whole);
	for (size_t n = 0; n < whole.len; n += n / 3 + 1) {
		write_file(state, whole.data, n);
		must(chmod(state, 0600) == 0);
		good &= failed_as(result_pointer(store_open(dir, &why)), &why,
				  ERROR_CORRUPT, "not the state");
		error_clear(&why);
	}
	ok(good, "a state that was cut is refused");
	write_file(state, whole.data, whole.len);
	must(chmod(state, 0640) == 0);
	refuses(store_open(dir, &why), ERROR_UNSAFE, "not the owner's alone",
		"so is one that others may read");
	must(chmod(state, 0600) == 0);
	flip(state, 3);
	refuses(store_open(dir, &why), ERROR_CORRUPT, "not the state",
		"and one of another kind");
	must(unlink(state) == 0 && symlink("/dev/zero", state) == 0);
	refuses(store_open(dir, &why), -ELOOP, NULL, "a link is not followed");
	buf_free(&whole);
}

TEST(no_memory)
{
	char *dir = here("memory");

	must(mkdir(dir, 0700) == 0);
	without_memory (m, 1, "making a store without memory")
		m.rc = store_make(dir, &plain, &m.err);
	without_memory (m, 1, "opening it without memory") {
		struct store *s = store_open(dir, &m.err);

		m.rc = s == NULL ? -1 : 0;
		store_close(s);
	}
}

int
main(void)
{
	struct statfs fs;

	if (statfs("/dev/shm", &fs) < 0 || fs.f_type != 0x01021994) {
		printf("1..0 # SKIP /dev/shm is no tmpfs\n");
		return 0;
	}
	must(setenv("TMPDIR", "/dev/shm", 1) == 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + i / 251 + 1);
	scratch_new();
	return tap_run();
}
