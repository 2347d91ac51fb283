/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.c - a thread that shows progress, once a second on a terminal and
 * whenever SIGUSR1 arrives.
 *
 * There is no signal handler: SIGUSR1 is blocked while the job runs (par.c
 * blocks all signals in its workers), and the thread waits for it.
 */
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "mem.h"
#include "str.h"
#include "style.h"

#define NUMBERS_MAX 192
#define LINE_MAX_LEN 512
#define COLUMNS_DEFAULT 80
#define SUBJECT_MAX 128

/* Erases the rest of the terminal's line. */
#define ERASE "\033[K"

struct progress {
	atomic_uint_least64_t done, total; /* bytes */
	char *what;
	pthread_mutex_t lock; /* of the phase and of what it works on */
	char subject[SUBJECT_MAX];
	const char *phase; /* NULL: none has begun */
	double start;	   /* of the phase */
	pthread_t thread;
	bool running; /* the thread was started */
	bool draw;    /* show a line once a second */
	bool drawn;   /* a line is shown; used by the thread only */
	const struct progress_beat *beat; /* or NULL */
	atomic_bool ending;
	sigset_t old_mask; /* of the thread that called progress_start() */
};

static void
usr1_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
}

/* "7 s", "3 min 20 s", "1 h 5 min", "2 d 3 h" */
static void
duration(char *to, size_t size, double seconds)
{
	unsigned long s;

	if (!(seconds < 1000 * 86400.0)) {
		snprintf(to, size, "over 1000 d");
		return;
	}
	s = (unsigned long)seconds;
	if ((double)s < seconds) /* round up: no "0 s left" before the end */
		s++;
	if (s < 60)
		snprintf(to, size, "%lu s", s);
	else if (s < 3600)
		snprintf(to, size, "%lu min %lu s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(to, size, "%lu h %lu min", s / 3600, s / 60 % 60);
	else
		snprintf(to, size, "%lu d %lu h", s / 86400, s / 3600 % 24);
}

int
progress_text(const char *what, uint64_t done, uint64_t total, double seconds,
	      char *to, unsigned size)
{
	const double rate = seconds > 0 ? (double)done / seconds : 0;
	/* false: no data yet, or out of range */
	const bool known = rate >= 1 && rate < 1e18;
	char text[NUMBERS_MAX], name[LINE_MAX_LEN], left[32];
	size_t len = 0, room = 0;
	int n = 0;

	/* Sizes, and if they can be estimated rate and time left. */
	if (total == 0)
		snprintf(text, sizeof(text), " %s", str_size(done));
	else
		snprintf(text, sizeof(text), " %3u %% %s of %s",
			 done < total ? (unsigned)((double)done * 100 /
						   (double)total)
				      : 100,
			 str_size(done), str_size(total));
	len = strlen(text);
	if (known)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					", %s/s", str_size((uint64_t)rate));
	if (known && done < total) {
		duration(left, sizeof(left), (double)(total - done) / rate);
		snprintf(text + len, sizeof(text) - len, ", %s left", left);
	}
	str_printable(name, sizeof(name), what);
	/* In a narrow terminal the name is cut first, the numbers last. */
	room = size > strlen(text) ? size - strlen(text) - 1 : 0;
	len = strlen(name);
	if (len > room) {
		len = room;
		while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--; /* inside a UTF-8 character */
	}
	n = snprintf(to, size, "%.*s%s", (int)len, name, text);
	return size > 0 && n >= (int)size ? (int)size - 1 : n;
}

/*
 * Show the line, with one call; a failure is ignored, as stderr is all we have.
 * On a terminal it replaces the previous one, and the cursor returns to its
 * start, so that a message overwrites it.  Elsewhere it ends with a newline.  A
 * background job does not draw on the terminal unless SIGUSR1 asks.
 */
static void
show(struct progress *p, bool asked)
{
	const pid_t foreground = tcgetpgrp(STDERR_FILENO);
	char line[LINE_MAX_LEN], out[LINE_MAX_LEN + 16];
	unsigned size = sizeof(line);
	char name[LINE_MAX_LEN];
	struct winsize terminal;
	uint64_t done = 0, total = 0;
	double start = 0;
	int n;

	if (!asked && foreground >= 0 && foreground != getpgrp())
		return;
	if (p->draw) {
		if (ioctl(STDERR_FILENO, TIOCGWINSZ, &terminal) < 0 ||
		    terminal.ws_col == 0)
			terminal.ws_col = COLUMNS_DEFAULT;
		size = terminal.ws_col < size ? terminal.ws_col : size;
	}
	pthread_mutex_lock(&p->lock);
	progress_get(p, &done, &total);
	start = p->start;
	snprintf(name, sizeof(name), "%s%s%s%s%s", p->what,
		 p->subject[0] != '\0' || p->phase != NULL ? ": " : "",
		 p->subject,
		 p->subject[0] != '\0' && p->phase != NULL ? ", " : "",
		 p->phase != NULL ? p->phase : "");
	pthread_mutex_unlock(&p->lock);
	progress_text(name, done, total, clock_seconds() - start, line, size);
	n = snprintf(out, sizeof(out), p->draw ? "\r%s" ERASE "\r" : "%s\n",
		     line);
	(void)!write(STDERR_FILENO, out, (size_t)n);
	p->drawn = p->draw;
}

static void *
watch(void *arg)
{
	struct progress *p = arg;
	const struct timespec second = { .tv_sec = 1 };
	const bool ticks = p->draw || p->beat != NULL;
	uint64_t done = 0, total = 0;
	unsigned waited = 0;
	sigset_t set;

	usr1_set(&set);
	for (;;) {
		int sig = sigtimedwait(&set, NULL, ticks ? &second : NULL);

		if (atomic_load(&p->ending))
			break;
		if (sig == SIGUSR1 || (p->draw && sig < 0 && errno == EAGAIN))
			show(p, sig == SIGUSR1);
		if (p->beat == NULL || ++waited < p->beat->seconds)
			continue;
		waited = 0;
		progress_get(p, &done, &total);
		p->beat->call(p->beat->arg, done, total);
	}
	if (p->drawn)
		(void)!write(STDERR_FILENO, "\r" ERASE, strlen("\r" ERASE));
	return NULL;
}

struct progress *
progress_start(const char *what, bool quiet, const struct progress_beat *beat)
{
	struct progress *p = mem_calloc(1, sizeof(*p));
	sigset_t set, all;

	if (p == NULL)
		return NULL;
	p->what = mem_strdup(what);
	if (p->what == NULL) {
		mem_free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->draw = !quiet && style_can_draw(STDERR_FILENO);
	p->beat = beat;
	p->start = clock_seconds();
	/* The new thread inherits the mask of this one: block all signals in
	 * it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &p->old_mask);
	p->running = pthread_create(&p->thread, NULL, watch, p) == 0;
	pthread_sigmask(SIG_SETMASK, &p->old_mask, NULL);
	if (p->running) { /* else run without progress */
		usr1_set(&set);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	return p;
}

void
progress_end(struct progress *p)
{
	const struct timespec now = { .tv_sec = 0 };
	sigset_t set;

	if (p == NULL)
		return;
	if (p->running) {
		atomic_store(&p->ending, true);
		pthread_kill(p->thread, SIGUSR1); /* wakes it */
		pthread_join(p->thread, NULL);
		/* Discard a late SIGUSR1, which would end the process. */
		usr1_set(&set);
		while (sigtimedwait(&set, NULL, &now) == SIGUSR1)
			;
		pthread_sigmask(SIG_SETMASK, &p->old_mask, NULL);
	}
	pthread_mutex_destroy(&p->lock);
	mem_free(p->what);
	mem_free(p);
}

void
progress_subject(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (p == NULL)
		return;
	va_start(ap, fmt);
	pthread_mutex_lock(&p->lock);
	vsnprintf(p->subject, sizeof(p->subject), fmt, ap);
	p->phase = NULL;
	pthread_mutex_unlock(&p->lock);
	va_end(ap);
}

void
progress_phase(struct progress *p, const char *phase, uint64_t bytes)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->phase = phase;
	p->start = clock_seconds();
	atomic_store(&p->done, 0);
	atomic_store(&p->total, bytes);
	pthread_mutex_unlock(&p->lock);
}

void
progress_add(struct progress *p, uint64_t bytes)
{
	if (p != NULL)
		atomic_fetch_add_explicit(&p->done, bytes,
					  memory_order_relaxed);
}

void
progress_get(const struct progress *p, uint64_t *done, uint64_t *total)
{
	*done = p == NULL
			? 0
			: atomic_load_explicit(&p->done, memory_order_relaxed);
	*total = p == NULL ? 0
			   : atomic_load_explicit(&p->total,
						  memory_order_relaxed);
}
