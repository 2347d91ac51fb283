/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashsweep.h - run a command on a prefix and disturb it: kill it at each of
 * its file operations or at random moments, or make operations fail.  In every
 * case the index must be readable, valid files must be unchanged, and a file
 * with its final name must have its final contents.  The same command run again
 * must give the result of an undisturbed run.
 *
 * Environment: BIN, SHIM, GEN.  SCRKIT_SLOW tries every operation instead of a
 * sample; SCRKIT_SLOW=2 also tries all kinds of faults in the large scenes.
 */
#ifndef CRASHSWEEP_H
#define CRASHSWEEP_H

#include "treetest.h"

#define ARGS_MAX 7

/* The scratch directory, which is the working directory, and the prefix below
 * it, which is SCR_PREFIX. */
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
	long kill_after; /* us until SIGKILL, without the shim; 0: none */
};

/* Run BIN/`command`, words with a blank between them, with stderr in the file
 * of messages.  Returns the exit status, or -signal. */
int run_command(const char *command, const struct fault *f);

/* Did the last command print anything to stderr? */
bool has_message(void);

/* --- Scenes --- */

/* One scenario: a command, its initial state and its final state. */
struct scene {
	const char *name, *command;
	const char *again;	   /* second command; NULL: the same again */
	const struct rules *rules; /* other than those of this file, or NULL */
	struct tree before, after;
	int64_t deletes; /* id of the dataset that it deletes; 0: none */
	/* It replaces files of dataset 1, and takes that dataset out of the
	 * index first. */
	bool retires;
	/* As loaded by the rules: before, after the first command, after the
	 * second. */
	struct tree begin, done, end;
	unsigned long count, reads; /* operations: without reads; with */
	char *transfers; /* for each operation: does it transfer bytes? */
	unsigned told;
};

struct rules {
	/* Load the prefix, without what differs between runs. */
	struct tree (*load)(void);
	/* Has the file the same time in every run? */
	bool (*keeps_time)(const char *path);
	/* May this entry be there at any moment, although it is neither in
	 * `before` nor in `after`?  May this path be gone? */
	bool (*may_be)(const struct scene *s, const struct tree_entry *now);
	bool (*may_go)(const char *path);
	/* Is the dataset whole?  Is it what it may be at any moment, and,
	 * if `known`, like a state that was examined, but for what load()
	 * removes? */
	bool (*whole)(struct scene *s);
	bool (*right)(struct scene *s, bool known);
};

/* Print a problem with `path`, unless too many were printed. */
void tell(struct scene *s, const char *what, const char *path);

/* Print how a run went wrong. */
void show_run(const struct scene *s, const struct fault *f, int status);

/* --- Comparing --- */

bool is_metadata(const char *path);
bool same_item(const struct scene *s, const struct tree_entry *a,
	       const struct tree_entry *b);

/* Have both trees the same entries?  Locks are ignored unless `clean`: then
 * those in `now` must be in `want`.  Prints what differs unless `quiet`. */
bool same_state(struct scene *s, const struct tree *now,
		const struct tree *want, bool clean, bool quiet);

/* --- One disturbed run --- */

/* Load the prefix as the scene compares it. */
struct tree scene_load(const struct scene *s);

/* Restore the prefix to its state before the command. */
void set_back(const struct scene *s);

enum outcome { NOTHING, PARTLY, DONE, OUTCOMES };

/*
 * Restore `before`, run with the fault, check, run again, check.  Counts the
 * outcome in `tally` (may be NULL).
 */
bool disturbed(struct scene *s, const struct fault *f, unsigned *tally);

/* --- Initial state --- */

/* Does the shell command exit with 0? */
bool system_is_ok(const char *command);

/* Do the golden data contain that file or directory? */
bool have_golden(const char *path);

/* Make the prefix: a copy of golden data `from` or, if NULL, by a shell
 * command, formatted with the directory of the generators and the prefix. */
bool start_with(const char *format, const char *from);

/* --- Sweeps --- */

/* Run both commands without faults, to keep the results and to count the
 * operations, those that read only if `every`. */
bool measure(struct scene *s, bool every);

/* Kill the command at `kills` random moments; one check for all. */
void random_kills(struct scene *s, unsigned kills);

/*
 * Run a scene whose prefix exists: measure it, disturb each operation (of each
 * sweep `few` if the run is a quick one), kill it at random moments, and free
 * what was loaded.  `all`: all kinds of faults, if the run is not a quick one.
 */
void play(struct scene *s, unsigned few, bool all, unsigned kills);

/* Free what measure() loaded. */
void scene_fini(struct scene *s);

/* For main(): find a scratch directory, run the tests, clean up. */
int crash_main(void (*tests)(void));

#endif /* CRASHSWEEP_H */
