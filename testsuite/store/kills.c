/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kills DIR PRELOAD ROUNDS SEED - kill writers at random moments.  In each
 * round some threads and processes write files of known bytes below the store
 * DIR, with PRELOAD in them ("": none, and DIR is any directory), and note in
 * shared memory what they begin and what they have done.  They are all killed,
 * tend_once() puts right what is wrong, and then:
 *  - a file has all bytes of writes that returned, and none that was not
 *    written; a closed one is whole, a deleted one gone, a renamed one has one
 *    name
 *  - each clean file has size 0, its pages, and zeros in them; nothing is left
 *    taken or dirty; if DIR is a mount point, all its bytes are in files that
 *    are there
 * The first that is not so ends it with status 1, and the round's seed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "store/store_impl.h"
#include "store/tend.h"

enum {
	WORKERS = 5, /* each with its own files; the last two are processes */
	FILES = 4,   /* of each */
	BLOCK = 192 << 10,
	BLOCKS = 24, /* of the file that three threads write together */
	LONGEST = 3 << 20,
	CLEAN = 10,
	CAPACITY = 4 << 20,
};

enum is { NOTHING, CREATING, WRITING, CLOSED, RENAMING, RENAMED, DELETING };

struct note {
	_Atomic int is;
	_Atomic unsigned seed;
	_Atomic size_t begun, done; /* bytes of writes */
};

static struct journal {
	_Atomic unsigned long long moments[DELETING + 1], counted, again;
	_Atomic unsigned writes; /* of all files, in this round */
	struct note file[WORKERS][FILES];
	_Atomic unsigned shared_seed;
	_Atomic bool block[BLOCKS];
	_Atomic bool shared_open;
} * j;

static uint64_t
byte_of(unsigned seed, size_t at)
{
	return (seed * 0x9e3779b97f4a7c15u ^ at / 8 * 0xc2b2ae3d27d4eb4fu) | 1;
}

static void
fill(unsigned seed, size_t at, size_t n, uint64_t *to)
{
	for (size_t i = 0; i < n / 8; i++)
		to[i] = byte_of(seed, at + 8 * i);
}

static char *
name_of(char *to, int worker, int file, const char *end)
{
	snprintf(to, 32, "worker%d.%d%s", worker, file, end);
	return to;
}

_Noreturn static void
fail(const char *what, const char *name, long a, long b)
{
	fprintf(stderr, "kills: seed %u: %s: %s: %ld, %ld (%s)\n",
		j->shared_seed, name, what, a, b, strerror(errno));
	exit(1);
}

/* --- Those that are killed --- */

/* Write all of a file, in one of several ways. */
static void
write_file(struct note *n, const char *name, unsigned seed, unsigned *r)
{
	static __thread uint64_t data[LONGEST / 8];
	const size_t size = (rand_r(r) % (LONGEST / 4096) + 1) * 4096u;
	const size_t piece = (rand_r(r) % 160 + 4) * 4096u;
	const int way = rand_r(r) % 5;
	int fd = open(name, O_CREAT | O_RDWR | O_EXCL, 0600);
	FILE *f = way == 3 ? fdopen(fd, "w") : NULL;

	if (fd < 0)
		fail("open", name, errno, 0);
	n->is = WRITING;
	fill(seed, 0, size, data);
	for (size_t at = 0, m = 0; at < size; at += m) {
		const char *from = (char *)data + at;
		struct iovec v[2];
		ssize_t got = 0;

		m = size - at < piece ? size - at : piece;
		v[0] = (struct iovec){ (void *)(uintptr_t)from, m / 2 };
		v[1] = (struct iovec){ (void *)(uintptr_t)(from + m / 2),
				       m - m / 2 };
		n->begun = at + m;
		j->writes++;
		if (way == 0)
			got = pwrite(fd, from, m, (off_t)at);
		else if (way == 1)
			got = writev(fd, v, 2);
		else if (way == 3)
			got = (ssize_t)fwrite(from, 1, m, f);
		else
			got = write(fd, from, m);
		if (got != (ssize_t)m)
			fail("write", name, got, (long)m);
		if (way != 3) /* else it may be in the buffer */
			n->done = at + m;
		/* What is there is written once more. */
		if (way == 4 && pwrite(fd, data, at + m, 0) < 0)
			fail("pwrite", name, (long)at, (long)m);
	}
	if (f != NULL ? fclose(f) != 0 : close(fd) < 0)
		fail("close", name, 0, 0);
	n->done = size;
	n->is = CLOSED;
}

static void *
work(void *arg)
{
	const int me = (int)(intptr_t)arg;
	unsigned r = j->shared_seed + (unsigned)me * 7919;
	char name[32], other[32];

	for (int i = 0;; i = (i + 1) % FILES) {
		struct note *n = &j->file[me][i];

		if (n->is == RENAMED || n->is == CLOSED) {
			name_of(name, me, i, n->is == RENAMED ? "" : ".tmp");
			n->is = DELETING;
			if (unlink(name) < 0)
				fail("unlink", name, 0, 0);
		}
		n->is = NOTHING;
		n->seed = (unsigned)rand_r(&r);
		n->begun = n->done = 0;
		n->is = CREATING;
		name_of(name, me, i, ".tmp");
		write_file(n, name, n->seed, &r);
		if (rand_r(&r) % 2 == 0) {
			n->is = RENAMING;
			if (rename(name, name_of(other, me, i, "")) < 0)
				fail("rename", name, 0, 0);
			n->is = RENAMED;
		}
	}
	return NULL;
}

static int shared_fd;

/* Every third block of the shared file, the last ones first or last. */
static void *
work_shared(void *arg)
{
	static __thread uint64_t data[BLOCK / 8];

	for (intptr_t i = (intptr_t)arg; i < BLOCKS; i += 3) {
		const intptr_t b = j->shared_seed % 2 ? BLOCKS - 1 - i : i;

		fill(j->shared_seed, (size_t)b * BLOCK, BLOCK, data);
		if (pwrite(shared_fd, data, BLOCK, b * BLOCK) == BLOCK)
			j->block[b] = true;
	}
	return arg;
}

_Noreturn static void
child(void)
{
	pthread_t t;

	/* They end with whoever would kill them. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared_fd = open("shared", O_CREAT | O_RDWR, 0600);
	j->shared_open = true;
	for (intptr_t i = 0; i < 3; i++)
		pthread_create(&t, NULL, work_shared, (void *)i);
	for (intptr_t i = WORKERS - 2; i < WORKERS; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work((void *)i);
		}
	for (intptr_t i = 0; i < WORKERS - 2; i++)
		pthread_create(&t, NULL, work, (void *)i);
	for (;;)
		pause();
}

/* --- What is left of it --- */

/* -1: there is no such file. */
static long
check_bytes(const char *name, unsigned seed, size_t least, size_t most)
{
	static uint64_t is[LONGEST / 8], want[LONGEST / 8];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, is, sizeof(is));

	if (n < 0)
		return -1;
	close(fd);
	if ((size_t)n < least || (size_t)n > most)
		fail("size, expected", name, n, (long)least);
	fill(seed, 0, (size_t)n, want);
	for (size_t i = 0; i < (size_t)n / 8; i++)
		if (is[i] != want[i])
			fail("no data within its size", name, (long)(8 * i), n);
	return n;
}

static void
check_file(int worker, int file)
{
	const struct note *n = &j->file[worker][file];
	const int is = n->is;
	char name[32], other[32];
	long size = -1, old = -1;

	j->moments[is]++;
	name_of(name, worker, file, ".tmp");
	name_of(other, worker, file, "");
	size = check_bytes(name, n->seed,
			   is == CREATING || is == NOTHING ? 0 : n->done,
			   is == CREATING ? 0 : n->begun);
	old = check_bytes(other, n->seed, n->done, n->done);
	if ((is == WRITING || is == CLOSED) && (size < 0 || old >= 0))
		fail("its names", name, size, old);
	if (is == RENAMED && (old < 0 || size >= 0))
		fail("its names", other, size, old);
	if (is == RENAMING && (size < 0) == (old < 0))
		fail("two names, or none", name, size, old);
	if (is == NOTHING && (size >= 0 || old >= 0))
		fail("there is", name, size, old);
	unlink(name);
	unlink(other);
}

static void
check_shared(void)
{
	static uint64_t is[BLOCK / 8], want[BLOCK / 8];
	int fd = open("shared", O_RDONLY);

	if (fd < 0 && j->shared_open)
		fail("missing", "shared", 0, 0);
	for (int b = 0; b < BLOCKS; b++) {
		if (!j->block[b])
			continue;
		fill(j->shared_seed, (size_t)b * BLOCK, BLOCK, want);
		if (pread(fd, is, BLOCK, (off_t)b * BLOCK) != BLOCK ||
		    memcmp(is, want, BLOCK) != 0)
			fail("a block that was written", "shared", b,
			     (long)lseek(fd, 0, SEEK_END));
	}
	if (fd >= 0)
		close(fd);
	unlink("shared");
}

/* Bytes of all files below a directory. */
static uint64_t
bytes_below(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e = NULL;
	uint64_t sum = 0;
	char below[1024];
	struct stat is;

	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 || lstat(below, &is) < 0)
			continue;
		sum += (uint64_t)is.st_blocks * 512;
		if (S_ISDIR(is.st_mode))
			sum += bytes_below(below);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

static unsigned
count_names(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n - 2;
}

static bool
is_left(const struct store *s)
{
	for (uint32_t i = 0; i < STORE_SLOTS; i++)
		if (slot_is(&s->state->slot[i]) == SLOT_TAKEN)
			return true;
	return false;
}

static void
check_pool(struct store *s, unsigned round)
{
	static char zeros[CAPACITY], page[CAPACITY];
	struct state *t = s->state;
	char path[STORE_ROOM], read_path[STORE_ROOM] = "";
	unsigned clean = 0;
	struct stat is;

	for (uint32_t i = 0; i < STORE_SLOTS; i++) {
		struct slot *l = &t->slot[i];
		const uint64_t capacity = atomic_load(&l->capacity);
		int fd = -1;

		if (slot_is(l) == SLOT_EMPTY)
			continue;
		store_pool_path(s, i, path);
		if (slot_is(l) != SLOT_CLEAN)
			fail("a slot is left", path, slot_is(l), slot_pid(l));
		fd = open(path, O_RDWR);
		if (fd < 0 || fstat(fd, &is) < 0 || is.st_size != 0 ||
		    is.st_nlink != 1 || is.st_ino != l->ino ||
		    (uint64_t)is.st_blocks * 512 < capacity || capacity == 0)
			fail("not clean", path, fd, (long)is.st_blocks);
		if (clean == round % CLEAN && round % 4 == 0) {
			strcpy(read_path, path);
			if (ftruncate(fd, CAPACITY) < 0 ||
			    read(fd, page, CAPACITY) != CAPACITY ||
			    memcmp(page, zeros, CAPACITY) != 0)
				fail("not of zeros", path, (long)capacity, 0);
		}
		clean++;
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/" STORE_META "/pool", s->dir);
	if (count_names(path) != clean || atomic_load(&t->clean) != clean)
		fail("clean files, names", path, clean, count_names(path));
	snprintf(path, sizeof(path), "%s/" STORE_META "/dirty", s->dir);
	if (count_names(path) != 0)
		fail("files are left", path, count_names(path), 0);
	/* That one is not clean any more. */
	unlink(read_path);
}

static void
check_account(const char *path)
{
	struct statvfs fs;
	uint64_t all = 0, is = 0;
	struct stat st, up;

	if (stat("..", &up) < 0 || stat(".", &st) < 0 ||
	    up.st_dev == st.st_dev || statvfs(".", &fs) < 0)
		return;
	all = (fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	is = bytes_below(".");
	if (all != is)
		fail("bytes used, in files", path, (long)all, (long)is);
	j->counted++;
}

/* --- All of it --- */

static void
one_round(struct store *s, char **argv, unsigned round, unsigned seed,
	  struct tend_done *done)
{
	/* The moment, in writes, so that a busy machine does not matter.
	 * Mostly few: with many, files are deleted and recycled. */
	const unsigned most = round % 4 == 0 ? 600 : round % 4 == 1 ? 40 : 150;
	struct tend_populate p = { .size = CAPACITY };
	struct error err = ERROR_INIT;
	unsigned r = seed, writes = 0, again = 0;
	pid_t pid = -1;

	if (s != NULL) {
		const unsigned clean = atomic_load(&s->state->clean);

		atomic_store(&s->state->least, 16384);
		p.count = clean < CLEAN ? CLEAN - clean : 0;
		if (tend_populate(s, &p, &err) < 0)
			fail(err.text, "populate", 0, 0);
	}
	memset(j->file, 0, sizeof(j->file));
	memset((void *)j->block, 0, sizeof(j->block));
	j->shared_open = false;
	j->writes = 0;
	j->shared_seed = seed;
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		if (s != NULL) {
			setenv("LD_PRELOAD", argv[2], 1);
			setenv("SCR_STORE", s->dir, 1);
		}
		/* The journal is descriptor 3. */
		execl("/proc/self/exe", "kills", "writes", "3", NULL);
		_exit(99);
	}
	setpgid(pid, pid);
	/* It has begun. */
	for (int i = 0; i < 5000 && !j->shared_open; i++)
		usleep(200);
	writes = (unsigned)rand_r(&r) % most;
	for (int i = 0; i < 5000 && j->writes < writes; i++)
		usleep(200);
	usleep((unsigned)rand_r(&r) % 500);
	kill(-pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		fail("waitpid", "child", 0, 0);
	while (waitpid(-1, NULL, 0) > 0)
		continue; /* its children are ours (subreaper) */
	/* Whoever looks at a process in /proc keeps its files open for a moment
	 * after its end. */
	do {
		if (s != NULL && tend_once(s, done, &err) < 0)
			fail(err.text, "tend", 0, 0);
	} while (s != NULL && is_left(s) && ++again < 1000 &&
		 usleep(1000) == 0);
	j->again += again > 0;
	for (int w = 0; w < WORKERS; w++)
		for (int i = 0; i < FILES; i++)
			check_file(w, i);
	check_shared();
	if (s != NULL) {
		check_account(s->dir);
		check_pool(s, round);
	}
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct tend_done done = { 0 };
	struct store *s = NULL;
	unsigned seed = 0, rounds = 0;
	int fd = -1;

	if (argc == 3) {
		j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED,
			 3, 0);
		if (j == MAP_FAILED)
			return 1;
		child();
	}
	if (argc != 5 || chdir(argv[1]) < 0)
		return 2;
	fd = memfd_create("journal", 0);
	if (fd != 3)
		dup2(fd, 3);
	if (ftruncate(3, sizeof(*j)) < 0)
		return 1;
	j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	s = argv[2][0] == '\0' ? NULL : store_open(".", &err);
	if (s == NULL && argv[2][0] != '\0')
		fail(err.text, argv[1], 0, 0);
	rounds = (unsigned)atoi(argv[3]);
	seed = (unsigned)atoi(argv[4]);
	for (unsigned i = 0; i < rounds; i++) {
		one_round(s, argv, i, seed + i, &done);
	}
	printf("%u rounds: nothing %llu creating %llu writing %llu closed %llu "
	       "renaming %llu renamed %llu deleting %llu; cut %llu trimmed %llu "
	       "recycled %llu, again %llu; counted %llu\n",
	       rounds, j->moments[0], j->moments[1], j->moments[2],
	       j->moments[3], j->moments[4], j->moments[5], j->moments[6],
	       (unsigned long long)done.recovered,
	       (unsigned long long)done.trimmed,
	       (unsigned long long)done.cleaned, j->again, j->counted);
	store_close(s);
	return 0;
}
