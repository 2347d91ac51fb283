/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fnv.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "store/past.h"
#include "store/store_impl.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define TMPFS 0x01021994 /* of statfs(2) */

/* --- Paths --- */

char *
store_state_path(const struct store *s, char *to)
{
	snprintf(to, STORE_ROOM, "%s/" STORE_META "/state", s->dir);
	return to;
}

char *
store_pool_path(const struct store *s, uint32_t slot, char *to)
{
	snprintf(to, STORE_ROOM, "%s/" STORE_META "/pool/%u", s->dir, slot);
	return to;
}

char *
store_dirty_path(const struct store *s, const char *name, char *to)
{
	snprintf(to, STORE_ROOM, "%s/" STORE_META "/dirty/%s", s->dir, name);
	return to;
}

void
store_dirty_name(char *to, size_t size)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(to, size, "%ld.%lld.%ld", (long)syscall(SYS_gettid),
		 (long long)now.tv_sec, now.tv_nsec);
}

/* --- Slots --- */

bool
store_slot_lives(const struct slot *l)
{
	const uint32_t pid = slot_pid(l);

	return pid != 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

bool
store_slot_swap(struct state *t, struct slot *l, enum slot_is from,
		enum slot_is to)
{
	uint32_t was = atomic_load(&l->word), pid = 0;

	if (to == SLOT_BUSY || to == SLOT_TAKEN)
		pid = (uint32_t)getpid();
	if ((was & 3) != from ||
	    !atomic_compare_exchange_strong(&l->word, &was, to + 4 * pid))
		return false;
	if (from == SLOT_CLEAN)
		atomic_fetch_sub(&t->clean, 1);
	if (to == SLOT_CLEAN)
		atomic_fetch_add(&t->clean, 1);
	return true;
}

void
store_slot_orphan(struct state *t, struct slot *l)
{
	atomic_store(&l->word, SLOT_TAKEN);
	store_signal(t);
}

int
store_move(int fromdir, const char *from, int todir, const char *to,
	   unsigned flags)
{
	return (int)syscall(SYS_renameat2, fromdir, from, todir, to, flags);
}

void
store_signal(struct state *t)
{
	atomic_fetch_add(&t->given, 1);
	(void)syscall(SYS_futex, &t->given, FUTEX_WAKE, 1, NULL, NULL, 0);
}

uint64_t
store_pool_room(const struct store *s)
{
	const uint64_t most = atomic_load(&s->state->pool);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < STORE_SLOTS; i++)
		if (slot_is(&s->state->slot[i]) == SLOT_CLEAN)
			bytes += atomic_load(&s->state->slot[i].capacity);
	return bytes < most ? most - bytes : 0;
}

/* --- Files --- */

bool
store_lease(int fd)
{
	/* Who opens the file meanwhile waits, and its holder is told by a
	 * signal: one that nobody dies of. */
	return fcntl(fd, F_SETSIG, SIGURG) == 0 &&
	       fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

void
store_unlease(int fd)
{
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	(void)fcntl(fd, F_SETSIG, 0);
}

bool
store_put(int fd, unsigned char *base, const void *data, size_t n, off_t off)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t body = n - STORE_TAIL;
	unsigned char *to = base + off;
	unsigned char *from = to - ((uintptr_t)to & (page - 1));

	if (pwrite(fd, (const char *)data + body, STORE_TAIL,
		   off + (off_t)body) != (ssize_t)STORE_TAIL)
		return false;
	/* Many small pages are mapped at once, or one after the other by an
	 * older kernel. */
	if (madvise(from, (size_t)(to + body - from), MADV_POPULATE_WRITE) ==
		    0 ||
	    errno == EINVAL) {
		past_copy(to, data, body);
		return true;
	}
	return pwrite(fd, data, body, off) == (ssize_t)body;
}

/* SELinux labels each file. */
#define LABEL "security.selinux"

bool
store_plain(int fd, int like)
{
	char names[sizeof(LABEL) + 1], a[256], b[256];
	const ssize_t n = flistxattr(fd, names, sizeof(names));
	ssize_t len = 0;

	if (n == 0 || (n < 0 && errno == ENOTSUP))
		return true;
	if (n != sizeof(LABEL) || memcmp(names, LABEL, sizeof(LABEL)) != 0)
		return false;
	len = fgetxattr(fd, LABEL, a, sizeof(a));
	return len >= 0 && fgetxattr(like, LABEL, b, sizeof(b)) == len &&
	       memcmp(a, b, (size_t)len) == 0;
}

bool
store_own(const struct stat *is)
{
	return S_ISREG(is->st_mode) && is->st_nlink == 1 &&
	       is->st_uid == geteuid();
}

/* --- Earlier files --- */

uint32_t
store_pattern(const char *name)
{
	uint64_t h = FNV_START, run = h;
	bool digit = false;

	/* Temporary names have hexadecimal digits: a run of these with a
	 * decimal one among them counts as one character. */
	for (;; name++) {
		const char c = *name;
		const bool decimal = c >= '0' && c <= '9';

		digit = digit || decimal;
		if (!decimal && (c < 'a' || c > 'f')) {
			if (digit)
				run = fnv_byte(h, '#');
			digit = false;
			if (c == '\0')
				return (uint32_t)(run >> 32) | 1;
			h = run = fnv_byte(run, c);
		} else {
			run = fnv_byte(run, c);
		}
	}
}

static struct earlier *
earlier_of(const struct store *s, uint32_t pattern)
{
	return &s->state->earlier[pattern / 2 % STORE_EARLIER];
}

uint64_t
store_earlier(const struct store *s, uint32_t pattern)
{
	const struct earlier *e = earlier_of(s, pattern);

	if (atomic_load(&e->pattern) == pattern)
		return atomic_load(&e->size);
	return atomic_load(&s->state->guesses) > 0 ? UINT64_MAX : 0;
}

void
store_remember(struct store *s, uint32_t pattern, uint64_t size)
{
	struct earlier *e = earlier_of(s, pattern);
	const uint32_t was = atomic_load(&e->pattern);

	if (size >= STORE_FILE_LEAST)
		atomic_store(&s->state->guesses, STORE_GUESSES);
	else if (was != 0 && was != pattern &&
		 atomic_load(&e->size) >= STORE_FILE_LEAST)
		return; /* worth more */
	atomic_store(&e->size, size);
	atomic_store(&e->pattern, pattern);
}

void
store_expect(struct store *s, const char *name, uint64_t size)
{
	store_remember(s, store_pattern(name), size);
}

/* --- The store --- */

/* A directory that only the caller may change. */
static int
check_dir(const char *path, struct stat *is, struct error *err)
{
	if (lstat(path, is) < 0)
		return error_sys(err, "%s", path);
	if (!S_ISDIR(is->st_mode))
		return error_set(err, ERROR_UNSAFE, "%s: not a directory",
				 path);
	if (is->st_uid != geteuid())
		return error_set(err, ERROR_UNSAFE,
				 "%s: belongs to user %lu: a store is its "
				 "owner's alone",
				 path, (unsigned long)is->st_uid);
	if ((is->st_mode & 022) != 0)
		return error_set(err, ERROR_UNSAFE,
				 "%s: others may write to it: chmod go-w",
				 path);
	return 0;
}

static struct store *
new_store(const char *dir, struct error *err)
{
	struct store *s = mem_calloc(1, sizeof(*s));
	struct buf real = BUF_INIT;
	struct stat is;
	int rc = -1;

	if (s == NULL)
		return error_no_memory_null(err);
	if (path_real(dir, &real, err) < 0)
		rc = -1;
	else if (real.len >= sizeof(s->dir))
		error_set(err, ERROR_USAGE, "%s: the path is too long", dir);
	else
		rc = check_dir(real.data, &is, err);
	if (rc == 0) {
		memcpy(s->dir, real.data, real.len);
		s->dev = is.st_dev;
	} else {
		mem_free(s);
		s = NULL;
	}
	buf_free(&real);
	return s;
}

static bool
is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Map the state, which is untrusted until its owner is known. */
static int
map_state(struct store *s, int flags, struct error *err)
{
	char path[STORE_ROOM];
	struct state *t = NULL;
	struct stat is;
	int fd = open(store_state_path(s, path),
		      O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
		      0600);

	if (fd < 0 || fstat(fd, &is) < 0) {
		(void)(errno == ENOENT ? error_set(err, ERROR_ABSENT,
						   "%s: not a store", s->dir)
				       : error_sys(err, "%s", path));
		io_close(fd);
		return -1;
	}
	if (!store_own(&is) || (is.st_mode & 077) != 0) {
		error_set(err, ERROR_UNSAFE, "%s: not the owner's alone", path);
	} else if (flags != 0 && ftruncate(fd, sizeof(*t)) < 0) {
		error_sys(err, "%s", path);
	} else if (flags == 0 && is.st_size != sizeof(*t)) {
		error_set(err, ERROR_CORRUPT, "%s: not the state of a store",
			  path);
	} else {
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
		if (t == MAP_FAILED)
			error_sys(err, "%s: cannot map", path);
		else
			s->state = t;
	}
	io_close(fd);
	if (s->state == NULL)
		return -1;
	if (flags == 0 &&
	    (memcmp(t->magic, STORE_MAGIC, sizeof(t->magic)) != 0 ||
	     t->slots != STORE_SLOTS || !is_text(t->spill, STORE_PATH_MAX) ||
	     !is_text(t->job, STORE_JOB_MAX)))
		return error_set(err, ERROR_CORRUPT,
				 "%s: not the state of a store", path);
	return 0;
}

/* STORE/.scrkit-store/`name`. */
static int
check_meta(const struct store *s, const char *name, bool make,
	   struct error *err)
{
	char path[STORE_ROOM];
	struct stat is;

	snprintf(path, sizeof(path), "%s/" STORE_META "%s", s->dir, name);
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_sys(err, "%s", path);
	if (!make && lstat(path, &is) < 0 && errno == ENOENT)
		return error_set(err, ERROR_ABSENT, "%s: not a store", s->dir);
	if (check_dir(path, &is, err) < 0)
		return -1;
	return is.st_dev == s->dev
		       ? 0
		       : error_set(err, ERROR_UNSAFE,
				   "%s: on another file system", path);
}

static int
check_metas(const struct store *s, bool make, struct error *err)
{
	return check_meta(s, "", make, err) < 0 ||
			       check_meta(s, "/pool", make, err) < 0 ||
			       check_meta(s, "/dirty", make, err) < 0
		       ? -1
		       : 0;
}

struct store *
store_open(const char *dir, struct error *err)
{
	struct store *s = new_store(dir, err);

	if (s != NULL &&
	    (check_metas(s, false, err) < 0 || map_state(s, 0, err) < 0)) {
		store_close(s);
		s = NULL;
	}
	return s;
}

void
store_close(struct store *s)
{
	if (s != NULL && s->state != NULL)
		munmap(s->state, sizeof(*s->state));
	mem_free(s);
}

/* A new state gets its magic last: who opens it before sees none. */
static void
fill(struct state *t)
{
	for (uint32_t i = 0; i < STORE_SLOTS; i++)
		atomic_store(&t->slot[i].before, STORE_NO_WRITE);
	t->slots = STORE_SLOTS;
	atomic_store(&t->guesses, STORE_GUESSES);
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(t->magic, STORE_MAGIC, sizeof(t->magic));
}

int
store_make(const char *dir, const struct store_options *o, struct error *err)
{
	struct error why = ERROR_INIT;
	struct store *s = new_store(dir, err);
	struct statfs fs;
	uint64_t size = 0;
	int rc = -1;

	if (s == NULL)
		return -1;
	if (o->spill[0] != '\0' && o->spill[0] != '/')
		error_set(err, ERROR_USAGE, "%s: not an absolute path",
			  o->spill);
	else if (statfs(s->dir, &fs) < 0)
		error_sys(err, "%s", s->dir);
	else if (fs.f_type != TMPFS)
		error_set(err, ERROR_USAGE, "%s: not in memory (tmpfs)", dir);
	else if (check_metas(s, true, err) == 0) {
		rc = map_state(s, 0, &why);
		if (rc < 0 && why.kind == ERROR_ABSENT) {
			rc = map_state(s, O_CREAT | O_EXCL, err);
			if (rc == 0)
				fill(s->state);
		} else if (rc < 0) {
			error_pass(err, &why);
		}
	}
	if (rc == 0) {
		struct state *t = s->state;

		size = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
		if (o->size != 0 && o->size < size)
			size = o->size;
		atomic_store(&t->size, size);
		atomic_store(&t->pool, o->pool != 0 ? o->pool : size / 2);
		atomic_store(&t->spill_size, o->spill_size);
		atomic_store(&t->spill_rate, o->spill_rate);
		memcpy(t->spill, o->spill, sizeof(t->spill));
		memcpy(t->job, o->job, sizeof(t->job));
	}
	store_close(s);
	return rc;
}

const char *
store_dir(const struct store *s)
{
	return s->dir;
}

void
store_options(const struct store *s, struct store_options *o)
{
	const struct state *t = s->state;

	*o = (struct store_options){
		.size = atomic_load(&t->size),
		.pool = atomic_load(&t->pool),
		.spill_size = atomic_load(&t->spill_size),
		.spill_rate = atomic_load(&t->spill_rate),
	};
	memcpy(o->spill, t->spill, sizeof(o->spill));
	memcpy(o->job, t->job, sizeof(o->job));
}

int
store_status(const struct store *s, struct store_status *to, struct error *err)
{
	const struct state *t = s->state;
	struct statfs fs;

	if (statfs(s->dir, &fs) < 0)
		return error_sys(err, "%s", s->dir);
	*to = (struct store_status){
		.size = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize,
		.free = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize,
		.used = (uint64_t)(fs.f_blocks - fs.f_bfree) *
			(uint64_t)fs.f_bsize,
		.page = atomic_load(&t->page),
		.least = atomic_load(&t->least),
	};
	for (uint32_t i = 0; i < STORE_SLOTS; i++) {
		const struct slot *l = &t->slot[i];
		const uint64_t capacity = atomic_load(&l->capacity);
		const uint32_t node =
			l->node < STORE_NODES ? l->node : STORE_NODES - 1;

		switch (slot_is(l)) {
		case SLOT_CLEAN:
			to->clean += capacity;
			to->clean_files++;
			to->node_clean[node] += capacity;
			break;
		case SLOT_TAKEN:
			to->taken_files++;
			to->orphans += !store_slot_lives(l);
			break;
		default:
			break;
		}
	}
	return 0;
}
