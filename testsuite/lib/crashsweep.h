/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashsweep.h - disturb a command at each of its file operations in every way,
 * and kill it at random moments; see crashtest.h.
 */
#ifndef CRASHSWEEP_H
#define CRASHSWEEP_H

#include "crashtest.h"

/* --- Initial state --- */

/* Does the shell command exit with 0? */
bool system_is_ok(const char *command);

/* Do the golden data contain that file or directory? */
bool have_golden(const char *path);

/* Make the prefix: a copy of golden data `from` or, if NULL, by a shell
 * command, formatted with the directory of the generators and the prefix. */
bool start_with(const char *format, const char *from);

/* --- Scenes --- */

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
