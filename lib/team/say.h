/* SPDX-License-Identifier: BSD-3-Clause */
/* say.h - messages of the library: one line on stderr for each, with the rank
 * and the host that prints it. stdout is only used for SCR_DEBUG. */
#ifndef TEAM_SAY_H
#define TEAM_SAY_H

/* Set what messages show.  Before, they show rank -1 and an unknown host. */
void say_as(int rank, const char *host, int debug);

/* SCR_DEBUG: on stdout, if it is at least `level`. */
void say_debug(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A problem that the job survives:  "SCR v3.1.0 WARNING: rank 3 on node7: ...".
 */
void say_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Each line of a notice is a problem of its own.  NULL: none. */
void say_warn_lines(const char *text);

/* A call of the application fails. */
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* End the job: a call in the wrong state, or a failure of a rank that the
 * others would wait for.  The exit status of the job is 255. */
#define say_abort(...) say_abort_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void say_abort_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* TEAM_SAY_H */
