/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store_impl.h - the state of a store that all its processes map, and the slots
 * of the pool in it.
 *
 * A slot is one file: clean in the pool, or taken and being written.  Who
 * changes the word `is` of a slot with a compare-and-swap owns the slot until
 * the next change.  The state is a hint, the directories are the truth: a slot
 * without its file, or a file without a slot, costs a failed system call, and
 * tend_once() puts it right.
 */
#ifndef STORE_STORE_IMPL_H
#define STORE_STORE_IMPL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "store/store.h"

/* Not in all C libraries, and not all machines have headers of the kernel. */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif
#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#endif

#define STORE_MAGIC "scrkst1" /* with its end, 8 bytes */
#define STORE_SLOTS 1024
#define STORE_EARLIER 512
#define STORE_NODES 64 /* of NUMA; higher ones count as the last */
#define STORE_NO_WRITE UINT64_MAX

/* Pages are freed in units of large ones, which are not split. */
#define STORE_HUGE ((uint64_t)2 << 20)
#define STORE_ROUND(size) (((size) + STORE_HUGE - 1) / STORE_HUGE * STORE_HUGE)

enum slot_is {
	SLOT_EMPTY,
	SLOT_BUSY,  /* being changed by a process */
	SLOT_CLEAN, /* a file of the pool */
	SLOT_TAKEN, /* by a process; 0: it left spare pages behind */
};

struct slot {
	_Atomic uint32_t word;		/* enum slot_is + 4 * process */
	uint32_t node;			/* of NUMA */
	_Atomic uint64_t ino, capacity; /* of the file; bytes of pages */
	/* A write that makes the file larger is under way: the size before it,
	 * or where it begins if that is more, and after.  STORE_NO_WRITE: none
	 * is. */
	_Atomic uint64_t before, after;
	_Atomic uint32_t writing; /* one such write at a time */
	uint32_t unused;
};

/* The size of the last file whose name has this pattern (not 0). */
struct earlier {
	_Atomic uint32_t pattern;
	_Atomic uint64_t size;
};

struct state {
	char magic[8];
	uint32_t slots; /* STORE_SLOTS */
	uint32_t unused;
	/* Until when spill_once() looks for nothing: milliseconds of
	 * clock_seconds(). */
	_Atomic uint64_t rest;
	_Atomic uint64_t size, pool, spill_size, spill_rate, page;
	_Atomic uint32_t least; /* 0: never copy */
	_Atomic uint32_t clean; /* number of clean slots */
	_Atomic uint32_t given; /* counts deleted files; a futex */
	/* Files of the pool for unknown names, until all of them were small. */
	_Atomic uint32_t guesses;
	char spill[STORE_PATH_MAX]; /* absolute; any other text: none */
	char job[STORE_JOB_MAX];
	struct earlier earlier[STORE_EARLIER];
	struct slot slot[STORE_SLOTS];
};

struct store {
	char dir[STORE_PATH_MAX]; /* absolute, links resolved */
	const char *given;	  /* as the user of store_use() knows it */
	dev_t dev;
	struct state *state;
};

/* Paths below the store, of STORE_ROOM bytes: no descriptors are kept, since a
 * program may close those that it does not know, and use their numbers. */
#define STORE_ROOM (STORE_PATH_MAX + 64)
char *store_state_path(const struct store *s, char *to);
char *store_pool_path(const struct store *s, uint32_t slot, char *to);
char *store_dirty_path(const struct store *s, const char *name, char *to);

/* The name under which this process gives away its next file. */
void store_dirty_name(char *to, size_t size);

static inline enum slot_is
slot_is(const struct slot *l)
{
	return (enum slot_is)(atomic_load(&l->word) & 3);
}

static inline uint32_t
slot_pid(const struct slot *l)
{
	return atomic_load(&l->word) >> 2;
}

/* Does the process of the slot still run, as far as can be seen?  If not, a
 * lease of the file proves it. */
bool store_slot_lives(const struct slot *l);

/* Change the slot for this process.  False: it was not `from`. */
bool store_slot_swap(struct state *t, struct slot *l, enum slot_is from,
		     enum slot_is to);

/* This process leaves its slot behind for tend_once(). */
void store_slot_orphan(struct state *t, struct slot *l);

/* Bytes that may be added to the pool. */
uint64_t store_pool_room(const struct store *s);

/*
 * Does nobody else have the file open, so that nobody can see that its pages
 * are taken?  Then the file can be opened by others only after
 * store_unlease().
 */
bool store_lease(int fd);
void store_unlease(int fd);

/* Write `n` bytes at `off` of the file that is mapped at `base`: its last bytes
 * by the kernel, which sets size and times and finds all errors, the others
 * past the cache.  False: not all. */
#define STORE_TAIL ((size_t)64)
#define STORE_WRITE_LEAST ((size_t)8192)
bool store_put(int fd, unsigned char *base, const void *data, size_t n,
	       off_t off);

/* renameat2(2), which not every C library has. */
int store_move(int fromdir, const char *from, int todir, const char *to,
	       unsigned flags);

/* The stores that this process uses; NULL: no more. */
struct store *store_at(unsigned i);

/* Can the name be in a store of this process?  No system call. */
bool store_seems(int dirfd, const char *path);

/*
 * Open the directory of `path`, if it is in one of these stores, and copy the
 * last component to `base`.  -1: it is not.  An absolute path has to begin as
 * the user or the kernel calls the store; what links lead there is not seen.
 */
int store_enter(int dirfd, const char *path, char base[NAME_MAX + 1],
		struct store **in);

/* Make the best clean slot for a file of `size` bytes (UINT64_MAX: unknown),
 * on this NUMA node if there is one, busy.  NULL: none is clean. */
struct slot *store_claim(struct store *s, uint64_t size);

/* Somebody left work for tend_run(). */
void store_signal(struct state *t);

/* Has the open file no extended attributes, but the label that `like` has? */
bool store_plain(int fd, int like);

/* A file of the owner alone, with one name. */
bool store_own(const struct stat *is);

/* The pattern of the last component of a name, which files of one series share:
 * digits do not count.  Never 0. */
uint32_t store_pattern(const char *name);
/* The size of the last file of the pattern; UINT64_MAX: unknown; 0 if unknown
 * names were all of small files. */
#define STORE_GUESSES 4
uint64_t store_earlier(const struct store *s, uint32_t pattern);
void store_remember(struct store *s, uint32_t pattern, uint64_t size);

#endif /* STORE_STORE_IMPL_H */
