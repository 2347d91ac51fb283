/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace.h"

#include <time.h>

#include "clock.h"

/* Seconds.  A shorter rest would end far too late; of one that did end late,
 * this much is made good. */
#define REST 0.002
#define CREDIT 0.1
/* Seconds.  Who moves less than the rate allows may catch up with this much. */
#define SLACK 1.0

bool
pace_keep(struct pace *p, uint64_t len)
{
	const double now = clock_seconds();
	const double began = p->block > 0 ? p->block : p->start;
	struct timespec wait = { .tv_nsec = 0 };
	double until = 0, left = 0, due = atomic_load(&p->due);

	if (p->rate > 0)
		do {
			until = due == 0	    ? now
				: due < now - SLACK ? now - SLACK
						    : due;
			until += (double)len / (double)p->rate;
		} while (!atomic_compare_exchange_weak(&p->due, &due, until));
	if (p->percent > 0)
		p->owed += (now - began) * (100 / p->percent - 1);
	if (p->owed >= REST && until < now + p->owed)
		until = now + p->owed;
	do {
		if (p->stop != NULL && p->stop(p->arg))
			return false;
		left = until - clock_seconds();
		wait.tv_nsec = (long)((left < 0.1 ? left : 0.1) * 1e9);
	} while (left > 0 && (nanosleep(&wait, NULL), true));
	if (p->percent > 0) {
		p->block = clock_seconds();
		p->owed -= p->block - now;
		if (p->owed < -CREDIT)
			p->owed = -CREDIT;
	}
	return true;
}
