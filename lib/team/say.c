/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/say.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "path.h"
#include "str.h"

#ifndef SCR_VERSION
#define SCR_VERSION "of unknown version"
#endif

/* A message is one write, so that those of several ranks do not mix. */
#define LINE_MAX_BYTES 4096

static struct {
	int rank;
	char host[256];
	bool debug;
} who = { -1, "unknown host", false };

void
say_as(int rank, const char *host, bool debug)
{
	who.rank = rank;
	who.debug = debug;
	snprintf(who.host, sizeof(who.host), "%s", host);
}

/* Print "SCR v3.1.0 SEVERITY: rank R on HOST: text" with `end`. */
static void __attribute__((format(printf, 3, 0)))
line(FILE *to, const char *severity, const char *fmt, va_list ap,
     const char *end)
{
	char text[LINE_MAX_BYTES];
	int len = snprintf(text, sizeof(text),
			   "SCR %s%s: rank %d on %s: ", SCR_VERSION, severity,
			   who.rank, who.host);
	const size_t room = sizeof(text) - (size_t)len;

	vsnprintf(text + len, room, fmt, ap);
	fflush(stdout);
	fprintf(to, "%s%s\n", text, end);
	fflush(to);
}

bool
say_first(void)
{
	return who.rank <= 0;
}

void
say_line(enum say_kind kind, const char *fmt, ...)
{
	static const char *const severity[] = { "", " WARNING", " ERROR" };
	va_list ap;

	if (kind == SAY_DEBUG && !who.debug)
		return;
	va_start(ap, fmt);
	line(kind == SAY_DEBUG ? stdout : stderr, severity[kind], fmt, ap, "");
	va_end(ap);
}

void
say_warn_lines(const char *text)
{
	const char *from = NULL;
	size_t len = 0;

	while ((from = str_line(&text, &len)) != NULL)
		say_warn("%.*s", (int)len, from);
}

void
say_abort_at(const char *file, int number, const char *fmt, ...)
{
	const struct timespec moment = { .tv_sec = 1 };
	char at[256];
	va_list ap;

	snprintf(at, sizeof(at), " @ %s:%d", path_base(file), number);
	va_start(ap, fmt);
	line(stderr, " ABORT", fmt, ap, at);
	va_end(ap);
	/* A launcher may drop unread output when the job is aborted. */
	nanosleep(&moment, NULL);
	MPI_Abort(MPI_COMM_WORLD, -1);
	abort();
}
