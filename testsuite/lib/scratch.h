/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.h - shared by tests of files: a scratch directory, files in it,
 * damage to them, and errors.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

/* What most tests call. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "str.h"
#include "tap.h"
#include "temp.h"
#include "work.h"

struct manifest;
struct fti_ini;
struct stripe_cache;
struct put;
struct conf;
struct catalogue;
struct fti_posix;
struct hash;
struct index;
struct map;
struct plan;
struct recipe;

/* End the test: its environment, not the tested code, is broken. */
_Noreturn void bail_out(const char *what);

/* bail_out(), unless `good`. */
void must_be(bool good, const char *what);

#define must(cond) must_be((cond), #cond)

/* A pseudo-random number below `n`; the same series in every run. */
uint32_t below(uint32_t n);

/* Format into one of 250 buffers used in turn. */
__attribute__((format(printf, 1, 2))) char *fmt(const char *format, ...);

/* In a child: become a user without rights, or end with 77. */
void become_nobody(void);

/* May this process give files to others? */
bool may_give(void);

/* To be asked whether to stop: yes, after so many times no. */
extern _Atomic int stop_after;
bool is_stopped(void);

/* --- Variables that are freed at the end of their block --- */

#define auto_buf __attribute__((cleanup(buf_free))) struct buf
#define auto_hostlist __attribute__((cleanup(hostlist_free))) struct hostlist
#define auto_fti_content \
	__attribute__((cleanup(fti_content_fini))) struct fti_content
#define auto_fti_draft __attribute__((cleanup(fti_draft_fini))) struct fti_draft
#define auto_hidden __attribute__((cleanup(hidden_free))) struct hidden
#define auto_nodecache __attribute__((cleanup(nodecache_free))) struct nodecache
#define auto_rank2file __attribute__((cleanup(rank2file_free))) struct rank2file
#define auto_salvage __attribute__((cleanup(salvage_free))) struct salvage
#define auto_segmap __attribute__((cleanup(segmap_free))) struct segmap
#define auto_tree __attribute__((cleanup(tree_free))) struct tree

/* Pointers: auto_kvtree *t = ... */
#define auto_arena __attribute__((cleanup(free_arena))) struct arena
#define auto_catalogue __attribute__((cleanup(free_catalogue))) struct catalogue
#define auto_hash __attribute__((cleanup(free_hash))) struct hash
#define auto_index __attribute__((cleanup(free_index))) struct index
#define auto_fti_posix __attribute__((cleanup(free_fti_posix))) struct fti_posix
#define auto_kvtree __attribute__((cleanup(free_kvtree))) struct kvtree
#define auto_map __attribute__((cleanup(free_map))) struct map
#define auto_recipe __attribute__((cleanup(free_recipe))) struct recipe
#define auto_conf __attribute__((cleanup(free_conf))) struct conf
#define auto_put __attribute__((cleanup(free_put))) struct put
#define auto_stripe_cache \
	__attribute__((cleanup(free_stripe_cache))) struct stripe_cache
#define auto_fti_ini __attribute__((cleanup(free_fti_ini))) struct fti_ini
#define auto_manifest __attribute__((cleanup(free_manifest))) struct manifest
#define auto_par __attribute__((cleanup(free_par))) struct par
#define auto_plan __attribute__((cleanup(free_plan))) struct plan

/* auto_fd int fd = open(...) */
#define auto_fd __attribute__((cleanup(close_fd)))

/* Of any type, from mem_alloc() or malloc(): auto_mem char *p = ... */
#define auto_mem __attribute__((cleanup(free_mem)))
#define auto_free __attribute__((cleanup(free_malloc)))

void close_fd(const int *fd);
void free_arena(struct arena **p);
void free_conf(struct conf **p);
void free_put(struct put **p);
void free_stripe_cache(struct stripe_cache **p);
void free_fti_ini(struct fti_ini **p);
void free_manifest(struct manifest **p);
void free_catalogue(struct catalogue **p);
void free_fti_posix(struct fti_posix **p);
void free_hash(struct hash **p);
void free_index(struct index **p);
void free_kvtree(struct kvtree **p);
void free_map(struct map **p);
void free_par(struct par **p);
void free_plan(struct plan **p);
void free_recipe(struct recipe **p);
void free_mem(void *p);
void free_malloc(void *p);

/* --- Files --- */

/* Does the path exist?  A symbolic link is not followed. */
bool exists(const char *path);

/* Make the parent directories of `path`. */
void make_parents(const char *path);

/* Write a file, replacing an old one, with mode 0666 less the umask.  Makes its
 * parent directories. */
void write_file(const char *path, const void *data, size_t len);
void write_text(const char *path, const char *text);

/* Does the file consist of these bytes? */
bool file_holds(const char *path, const void *data, size_t len);

/* Replace the contents of `out` by those of the file; free with buf_free(). */
void read_whole(const char *path, struct buf *out);

/* Flip the byte at `off` (negative: from the end), keeping the file's time. */
void flip(const char *path, long off);

/* Change the tree at the start of a file by fn(tree).  The rest of the file
 * (the body of a redundancy file) is kept. */
void edit_tree(const char *path, void (*fn)(struct kvtree *t, void *arg),
	       void *arg);

/* Remove a file or directory recursively; it may be missing. */
void remove_tree(const char *path);

/* Make a link in a directory that anybody may write to from now on: the code
 * under test must not trust it. */
void link_by_anyone(const char *to, const char *path);

/* Make a scratch directory in the first call, empty it in later ones.  The
 * process removes it when it ends. */
void scratch_dir(char *root, size_t size);

/* The scratch directory of a test that needs only one: make or empty it, the
 * same and open it until the next call, a path in it (from fmt()). */
extern char scratch_root[96];
void scratch_new(void);
int scratch_fd(void);
__attribute__((format(printf, 1, 2))) char *here(const char *format, ...);

/* --- Files of a directory given by its descriptor --- */

/* Write a file; errors are ignored. */
void put_file(int dir, const char *name, const char *text);

/* Are these the exact contents of the file? */
bool holds_at(int dir, const char *name, const char *text);

/* exists() for a name below `dir`. */
bool exists_at(int dir, const char *name);

/* The permissions of a file, or -1. */
int mode_of(int dir, const char *name);

/* --- Errors --- */

/* The error of the call that is tested; none when a test begins. */
extern struct error why;

/* Does the error's text contain these words? */
bool says(const struct error *err, const char *words);

/* Did a call that returned `rc` fail, `how` being the kind of its error or
 * minus its errno, with a text that contains these words (NULL: any)? */
bool failed_as(int64_t rc, const struct error *err, int how, const char *words);

/* The same; clears the error. */
bool fails_as(int rc, struct error *err, int how, const char *words);

/* Check that. */
#define is_error(rc, err, how, words, what) \
	ok(fails_as((rc), (err), (how), (words)), (what))

/* The same of a call that returns -1 or NULL, and fills `why`. */
#define refuses(call, how, words, what) \
	ok(failed_as(RESULT(call), &why, (how), (words)), (what))
/* clang-format off */
#define RESULT(call) \
	_Generic((call), int: result_int, int64_t: result_int, \
		 default: result_pointer)(call)
/* clang-format on */
int64_t result_int(int64_t rc);
int64_t result_pointer(const void *p);

/* --- Failing allocations --- */

/*
 * Run the block, which sets m.rc and fills m.err, with its 1st, 2nd ...
 * allocation and all later ones failing, until no allocation fails: it may
 * succeed with less memory, but fail only as ERROR_NOMEM.  Checks that, and
 * that the block needs at least `least` allocations.  Beyond 96 allocations
 * only a sample of them fails, but all with SCRKIT_SLOW.
 *
 *	without_memory (m, 2, "reading without memory")
 *		m.rc = thing_read(&thing, &m.err);
 *
 * without_memory_after() evaluates `redo` before each try.
 */
#define without_memory(m, least, what) \
	without_memory_after (m, (void)0, least, what)
#define without_memory_after(m, redo, least, what) \
	for (struct nomem m = { .n = -1 }; \
	     nomem_next(&m, (least), (what), __FILE__, __LINE__) && \
	     (redo, nomem_begin(&m));)

struct nomem {
	int rc;
	struct error err;
	long n; /* the allocation that fails; -1: before the first try */
};

bool nomem_next(struct nomem *m, long least, const char *what, const char *file,
		int line);

bool nomem_begin(struct nomem *m);

/* --- Bytes --- */

/* Append big-endian integers, the byte order of kvtree files.  -1: out of
 * memory. */
int bigend_add32(struct buf *b, uint32_t v);
int bigend_add64(struct buf *b, uint64_t v);

#endif /* SCRATCH_H */
