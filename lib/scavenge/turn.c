/* SPDX-License-Identifier: BSD-3-Clause */
#include "scavenge/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "str.h"
#include "work.h"

#define LOCK CATALOGUE_SCAVENGE_LOCK
#define HOLDER_TEXT 512

/* Nanoseconds between two attempts. */
#define PAUSE 100000000

/* Name the scavenge that holds the lock. */
static const char *
read_holder(int scr, char to[static HOLDER_TEXT])
{
	char text[HOLDER_TEXT / 2] = "";
	int fd = io_open(scr, LOCK, O_RDONLY, 0, NULL);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);

	io_close(fd);
	text[n > 0 ? n : 0] = '\0';
	snprintf(to, HOLDER_TEXT, "%s%s",
		 text[0] == '\0' ? "another scavenge" : "the scavenge of ",
		 str_shown(text));
	return to;
}

/* Tell those who wait whose scavenge it is; NULL: nobody's.  A failure does not
 * matter. */
static void
write_holder(int lock, const char *job)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	if (ftruncate(lock, 0) == 0 && job != NULL)
		dprintf(lock, "job %s on %s (process %ld)", job, host,
			(long)getpid());
}

static bool
is_held(int fd, const struct error *why)
{
	return fd < 0 && why->errnum == EWOULDBLOCK;
}

/* The lock is held: try again until it is not, or the time is over. */
static int
await(int scr, const struct turn *t, const char *holder, struct error *why)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	const double end = clock_seconds() + (double)t->seconds;
	int fd = -1;

	if (t->seconds > 0)
		work_say(t->work,
			 "%s: %s is working here: waiting for it, at most "
			 "%" PRIu64 " s",
			 t->prefix, holder, t->seconds);
	while (is_held(fd, why) && clock_seconds() < end &&
	       !work_stopped(t->work)) {
		nanosleep(&pause, NULL);
		error_clear(why);
		fd = io_trylock(scr, LOCK, t->job != NULL, why);
	}
	return fd;
}

int
turn_take(int scr, const struct turn *t, struct error *err)
{
	char holder[HOLDER_TEXT];
	struct error why = ERROR_INIT;
	int fd = io_trylock(scr, LOCK, t->job != NULL, &why);

	if (is_held(fd, &why)) {
		read_holder(scr, holder);
		fd = await(scr, t, holder, &why);
	}
	if (is_held(fd, &why))
		return error_set(
			err, ERROR_SYSTEM,
			"%s: %s is working here: run this again when it has "
			"ended, or use a longer --wait",
			t->prefix, holder);
	if (fd < 0 && lock_unsupported(&why)) {
		(void)unlinkat(scr, LOCK, 0);
		work_say(t->work,
			 "%s: " LOCK_NONE ": do not start a second scavenge",
			 t->prefix);
		return -2;
	}
	if (fd < 0) {
		work_say(t->work, "%s: continuing without a lock", why.text);
		return -2;
	}
	if (t->job != NULL)
		write_holder(fd, t->job);
	return fd;
}

void
turn_end(int lock)
{
	if (lock < 0)
		return;
	write_holder(lock, NULL);
	close(lock);
}
