/* SPDX-License-Identifier: BSD-3-Clause */
/* say.h - messages of the library: one line on stderr for each, with the rank
 * and the host that prints it. stdout is only used for SCR_DEBUG. */
#ifndef TEAM_SAY_H
#define TEAM_SAY_H

#include <stdbool.h>

/* Set what messages show.  Before, they show rank -1 and an unknown host. */
void say_as(int rank, const char *host, bool debug);

enum say_kind {
	SAY_DEBUG, /* on stdout, if SCR_DEBUG is set */
	SAY_WARN,  /* a problem that the job survives */
	SAY_ERROR, /* a call of the application fails */
};

/* "SCR v3.1.0 WARNING: rank 3 on node7: ..." */
void say_line(enum say_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define say_debug(...) say_line(SAY_DEBUG, __VA_ARGS__)
#define say_warn(...) say_line(SAY_WARN, __VA_ARGS__)
#define say_error(...) say_line(SAY_ERROR, __VA_ARGS__)

/* What all ranks know is said by rank 0 alone. */
bool say_first(void);
#define say_debug_first(...) (say_first() ? say_debug(__VA_ARGS__) : (void)0)
#define say_warn_first(...) (say_first() ? say_warn(__VA_ARGS__) : (void)0)

/* Each line of a notice is a problem of its own.  NULL: none. */
void say_warn_lines(const char *text);

/* End the job: a call in the wrong state, or a failure of a rank that the
 * others would wait for.  The exit status of the job is 255. */
#define say_abort(...) say_abort_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void say_abort_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* TEAM_SAY_H */
