/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashtest.h - run a command on a prefix and disturb it: kill it at each of
 * its file operations or at random moments, make operations fail.  Whatever
 * happens: the index can be read, what was valid is as it was, no file bears
 * its final name with anything but its final contents, and the same command
 * run again leads to the same end as one that was never disturbed.
 *
 * Environment: BIN, SHIM, GEN; SCRKIT_SLOW for every operation instead of every
 * fifth; SCRKIT_SLOW=2 for all ways of failing on the large cases, too.
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
extern bool slow;   /* every operation, and random kills */
extern bool slower; /* in every way also where there are many operations */

/* --- Running a command --- */

/* Settings of the shim for one run; all 0: not preloaded. */
struct fault {
	unsigned long fail_at, kill_at;
	const char *error; /* NULL: EIO */
	bool halve, sticky, reads;
	const char *count, *trace; /* files to write; or NULL */
	long kill_after; /* without the shim: SIGKILL after this many us; -1 */
};

/* Run BIN/argv[0]; stderr goes to the file of messages.  Returns the exit
 * status, or -signal. */
int run_command(const char *const *argv, const struct fault *f);

/* --- What is compared --- */

/* Are both the same index? */
bool same_index(const struct tree_entry *a, const struct tree_entry *b);

/* Is it the index, or is it metadata?  `path` is below the prefix. */
bool is_index(const char *path);

/* Locks and marks come and go. */
bool is_lock(const char *path);
bool is_metadata(const char *path);

/* One scenario: what is run, from where it starts, where it ends. */
struct scene {
	const char *name;
	const char *argv[ARGS_MAX];
	struct tree before, after;
	int64_t deletes; /* this dataset goes, step by step; 0: none */
	unsigned long count, reads; /* operations; with reads */
	char *transfers;	    /* by operation: does it transfer bytes? */
	unsigned told;
};

/* Print a complaint about `path`, unless there were many. */
void tell(struct scene *s, const char *what, const char *path);

/* A temporary file, or one in a directory on its way? */
bool is_temporary(const char *path);

/* Can the index be read, or is there none, as before? */
bool index_readable(struct scene *s, const struct tree *now);

/* --- One disturbed run --- */

/* Has the last command printed anything to stderr? */
bool has_message(void);

/* Show what went wrong in a run. */
void show_run(const struct scene *s, const struct fault *f, int status);

enum outcome { NOTHING, PARTLY, DONE, OUTCOMES };

/*
 * Start from `before`, run with the fault, check, run again, check.  Counts
 * what came of it in tally (may be NULL).
 */
bool disturbed(struct scene *s, const struct fault *f, unsigned *tally);

#endif /* CRASHTEST_H */
