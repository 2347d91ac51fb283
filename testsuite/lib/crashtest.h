/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashtest.h - run a command on a prefix and disturb it: kill it at each of
 * its file operations or at random moments, or make operations fail.  In every
 * case the index must be readable, valid files must be unchanged, and a file
 * with its final name must have its final contents.  The same command run again
 * must give the result of an undisturbed run.
 *
 * Environment: BIN, SHIM, GEN.  SCRKIT_SLOW tries every operation instead of
 * every fifth; SCRKIT_SLOW=2 also tries all kinds of faults in the large
 * scenes.
 */
#ifndef CRASHTEST_H
#define CRASHTEST_H

#include <sys/wait.h>
#include <time.h>

#include "path.h"
#include "str.h"
#include "tap.h"
#include "treetest.h"

#define ARGS_MAX 6

extern char crash_dir[512], prefix[600];
extern bool slow;   /* try every operation, and random kills */
extern bool slower; /* try all kinds of faults in the large scenes, too */

/* --- Running a command --- */

/* Settings of the shim for one run.  If all are 0, it is not preloaded. */
struct fault {
	unsigned long fail_at, kill_at;
	const char *error; /* NULL: EIO */
	bool halve, sticky, reads;
	const char *count, *trace; /* files that the shim writes, or NULL */
	long kill_after; /* us until SIGKILL, without the shim; or -1 */
};

/* Run BIN/argv[0] with stderr in the file of messages.  Returns the exit
 * status, or -signal. */
int run_command(const char *const *argv, const struct fault *f);

/* --- Comparing --- */

/* Are both indexes equal? */
bool same_index(const struct tree_entry *a, const struct tree_entry *b);

/* Is `path`, below the prefix, the index?  Is it metadata? */
bool is_index(const char *path);

/* Is it a lock or a mark?  They may appear and disappear. */
bool is_lock(const char *path);
bool is_metadata(const char *path);

/* One scenario: a command, its initial state and its final state. */
struct scene {
	const char *name;
	const char *argv[ARGS_MAX];
	struct tree before, after;
	int64_t deletes; /* id of the dataset that it deletes; 0: none */
	/* It replaces files of dataset 1, and takes that dataset out of the
	 * index first. */
	bool retires;
	unsigned long count, reads; /* operations: without reads; with */
	char *transfers; /* for each operation: does it transfer bytes? */
	unsigned told;
};

/* Print a problem with `path`, unless too many were printed. */
void tell(struct scene *s, const char *what, const char *path);

/* Is it a temporary file, or in a temporary directory? */
bool is_temporary(const char *path);

/* Is the index readable, or missing as it was before? */
bool index_readable(struct scene *s, const struct tree *now);

/* --- One disturbed run --- */

/* Did the last command print anything to stderr? */
bool has_message(void);

/* Print how a run went wrong. */
void show_run(const struct scene *s, const struct fault *f, int status);

enum outcome { NOTHING, PARTLY, DONE, OUTCOMES };

/*
 * Restore `before`, run with the fault, check, run again, check.  Counts the
 * outcome in `tally` (may be NULL).
 */
bool disturbed(struct scene *s, const struct fault *f, unsigned *tally);

#endif /* CRASHTEST_H */
