/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashsweep.h - disturb a command at each of its file operations in every way,
 * and kill it at random moments; see crashtest.h.
 */
#ifndef CRASHSWEEP_H
#define CRASHSWEEP_H

#include "crashtest.h"

/* --- Every operation --- */

/* Run without faults, to keep the result and to count the operations. */
bool measure(struct scene *s);

struct mode {
	const char *what;
	struct fault fault;
	bool fails, kills, transfers;
	bool quick; /* part of a quick run */
};

#define MODES 9
extern const struct mode modes[MODES];

/* --- Random moments --- */

/* One disturbed run; see disturbed(). */
typedef bool disturb_fn(struct scene *s, const struct fault *f,
			unsigned *tally);

/* Kill the command at `kills` random moments; one check for all. */
void random_kills(struct scene *s, unsigned kills, disturb_fn *disturb);

/* --- Initial state --- */

/* Does the shell command exit with 0? */
bool system_is_ok(const char *command);

/* Do the golden data contain that file or directory? */
bool have_golden(const char *path);

/* Make the prefix: a copy of golden data `from` or, if NULL, by a shell
 * command, formatted with the directory of the generators and the prefix. */
bool start_with(const char *format, const char *from);

/* Free what measure() loaded. */
void scene_fini(struct scene *s);

/* Run all sweeps on a scene whose prefix exists. */
void play(struct scene *s, bool brief, unsigned kills);

/* For main(): find a scratch directory, run the tests, clean up. */
int crash_main(void (*tests)(void));

#endif /* CRASHSWEEP_H */
