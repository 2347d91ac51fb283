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

/* Nanoseconds between two attempts. */
#define PAUSE 100000000

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

int
turn_take(int scr, const struct turn *t, struct error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	const double end = clock_seconds() + (double)t->seconds;
	char holder[256] = "";
	const char *whose = "another scavenge";
	struct error why = ERROR_INIT;
	int fd = io_trylock(scr, LOCK, t->job != NULL, &why), named = -1;

	if (is_held(fd, &why)) {
		named = io_open(scr, LOCK, O_RDONLY, 0, NULL);
		if (named >= 0 &&
		    pread(named, holder, sizeof(holder) - 1, 0) > 0)
			whose = "the scavenge of ";
		io_close(named);
		if (t->seconds > 0)
			work_say(t->work,
				 "%s: %s%s is working here: waiting for it, at "
				 "most %" PRIu64 " s",
				 t->prefix, whose, str_shown(holder),
				 t->seconds);
	}
	while (is_held(fd, &why) && clock_seconds() < end &&
	       !work_stopped(t->work)) {
		nanosleep(&pause, NULL);
		error_clear(&why);
		fd = io_trylock(scr, LOCK, t->job != NULL, &why);
	}
	if (is_held(fd, &why))
		return error_set(
			err, ERROR_SYSTEM,
			"%s: %s%s is working here: run this again when it has "
			"ended, or use a longer --wait",
			t->prefix, whose, str_shown(holder));
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
