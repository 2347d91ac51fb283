/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashsweep.h - every way of disturbing a command at every one of its file
 * operations, and killing it at random moments; see crashtest.h.
 */
#ifndef CRASHSWEEP_H
#define CRASHSWEEP_H

#include "crashtest.h"

/* --- Every operation in turn --- */

/* Run without faults, for what comes of it and to count operations. */
bool measure(struct scene *s);

struct mode {
	const char *what;
	struct fault fault;
	bool fails, kills, transfers;
	bool quick; /* tried also where time is short */
};

#define MODES 9
extern const struct mode modes[MODES];

/* --- Random moments --- */

/* One disturbed run, as disturbed() is. */
typedef bool disturb_fn(struct scene *s, const struct fault *f,
			unsigned *tally);

/* Kill the command at so many random moments: one check. */
void random_kills(struct scene *s, unsigned kills, disturb_fn *disturb);

/* --- Where to start from --- */

/* Does the shell command end with status 0? */
bool system_is_ok(const char *command);

/* Is that file or directory in the golden data? */
bool have_golden(const char *path);

/* Make the prefix: a copy of golden data `from`, or (NULL) by a shell command
 * with the directory of the generators and the prefix in it. */
bool start_with(const char *format, const char *from);

/* Free what measure() has loaded. */
void scene_fini(struct scene *s);

/* All sweeps over one scene, whose prefix is made. */
void play(struct scene *s, bool brief, unsigned kills);

/* Find a place to work in, run the tests, clean up: for main(). */
int crash_main(void (*tests)(void));

#endif /* CRASHSWEEP_H */
