/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "clock.h"
#include "error.h"
#include "mem.h"
#include "pace.h"
#include "par.h"
#include "progress.h"
#include "str.h"

/* A call that takes at most this many seconds is served on the node. */
#define LOCAL_CALL 30e-6

/* For slower calls: one thread per this many seconds, within bounds. */
#define CALL_PER_THREAD 16e-6
#define WAITING_MIN 16u
#define WAITING_MAX 64u

#define PROBES 3

struct waiting {
	struct par *par; /* NULL: not needed, or not decided yet */
	bool measured;
};

static bool
stopped(void *work)
{
	return work_stopped(work);
}

int
work_start(struct work *w, unsigned jobs, struct error *err)
{
	w->par = par_new(jobs > 0 ? jobs : par_cpus(), err);
	if (w->par == NULL)
		return -1;
	if (jobs == 0) {
		w->waiting = mem_calloc(1, sizeof(*w->waiting));
		if (w->waiting == NULL)
			return error_no_memory(err);
	}
	if (w->rate > 0) {
		w->pace = mem_calloc(1, sizeof(*w->pace));
		if (w->pace == NULL)
			return error_no_memory(err);
		*w->pace = (struct pace){ w->rate, .stop = stopped, .arg = w };
	}
	return 0;
}

void
work_end(struct work *w)
{
	if (w->waiting != NULL)
		par_free(w->waiting->par);
	mem_free(w->waiting);
	mem_free(w->pace);
	par_free(w->par);
	w->pace = NULL;
	w->waiting = NULL;
	w->par = NULL;
}

struct par *
work_waiting(const struct work *w, int dirfd)
{
	struct waiting *v = w != NULL ? w->waiting : NULL;
	char name[64];
	struct stat st;

	if (v == NULL)
		return w != NULL ? w->par : NULL;
	if (!v->measured && dirfd != -1) {
		double call = 1;
		unsigned n = WAITING_MAX;

		/* Seconds for a call: the minimum of several, each with a new
		 * name, which no cache can hold. */
		for (int i = 0; i < PROBES; i++) {
			double start = clock_seconds(), took = 0;

			snprintf(name, sizeof(name), ".scrkit-probe.%d.%.9f", i,
				 start);
			(void)fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);
			took = clock_seconds() - start;
			call = took < call ? took : call;
		}
		if (call < LOCAL_CALL * WAITING_MAX)
			n = (unsigned)(call / CALL_PER_THREAD);
		n = n < WAITING_MIN ? WAITING_MIN : n;
		n = n < WAITING_MAX ? n : WAITING_MAX;
		/* If they cannot be started, the work only takes longer. */
		if (call > LOCAL_CALL && n > par_threads(w->par))
			v->par = par_new(n, NULL);
		v->measured = true;
	}
	return v->par != NULL ? v->par : w->par;
}

const struct work *
work_or_default(const struct work *w)
{
	static const struct work alone = { .par = NULL };

	return w != NULL ? w : &alone;
}

void
work_moved(const struct work *w, uint64_t bytes)
{
	if (w != NULL)
		progress_add(w->progress, bytes);
	work_pace(w, bytes);
}

void
work_pace(const struct work *w, uint64_t bytes)
{
	if (w != NULL && w->pace != NULL)
		(void)pace_keep(w->pace, bytes);
}

bool
work_stopped(const struct work *w)
{
	return w->stop != NULL && w->stop();
}

int
work_go_on(const struct work *w, struct error *err)
{
	if (w == NULL || !work_stopped(w))
		return 0;
	errno = EINTR;
	return error_sys(err, "stopped");
}

static void
pass_line(void (*to)(void *arg, const char *line), void *arg, const char *fmt,
	  va_list ap)
{
	char text[ERROR_TEXT_MAX + 256];

	if (to == NULL)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	to(arg, text);
}

void
work_say(const struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pass_line(w->log, w->log_arg, fmt, ap);
	va_end(ap);
}

void
work_say_lines(const struct work *w, const char *text)
{
	const char *line = NULL;
	size_t len = 0;

	while ((line = str_line(&text, &len)) != NULL)
		work_say(w, "%.*s", (int)len, line);
}

void
work_detail(const struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pass_line(w->detail, w->log_arg, fmt, ap);
	va_end(ap);
}
