/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patient.c - preloaded into MPI programs: a rank that waits for others sleeps.
 * So if there are more ranks than cores, a waiting rank does not occupy a core
 * that another rank needs.
 *
 * MPICH over UCX waits by calling ucp_worker_progress() in a loop.  Other MPI
 * libraries do not call it; this shim does not affect them.
 */
#include <dlfcn.h>
#include <time.h>

/* Calls without progress before the first sleep; the shortest and the longest
 * sleep. */
#define IDLE_FREE 50
#define SLEEP_MIN 20000L /* ns */
#define SLEEP_MAX 2000000L

unsigned ucp_worker_progress(void *worker);

unsigned
ucp_worker_progress(void *worker)
{
	static _Thread_local __typeof__(&ucp_worker_progress) next;
	static _Thread_local long idle, ns = SLEEP_MIN;
	unsigned done = 0;

	if (next == NULL)
		next = (__typeof__(next))dlsym(RTLD_NEXT,
					       "ucp_worker_progress");
	done = next(worker);
	if (done > 0) {
		idle = 0;
		ns = SLEEP_MIN;
	} else if (++idle > IDLE_FREE) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
		ns = 2 * ns < SLEEP_MAX ? 2 * ns : SLEEP_MAX;
	}
	return done;
}
