/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - shared by the files of scr_store.
 */
#ifndef CMD_STORE_VERBS_H
#define CMD_STORE_VERBS_H

#include <limits.h>
#include <stdbool.h>

#include "app.h"
#include "opt.h"
#include "store/store.h"

struct error;

/* app_start() for a verb: parse the options, set *count (NULL: there are
 * none) and return the other arguments. */
char **store_start(const struct app_call *c, const struct opt *opts,
		   int *count);
/* app_stop() for those who give an argument. */
bool store_stop(void *unused);

/* make.c */
int store_run_mount(const struct app_call *c);
int store_run_rm(const struct app_call *c);
int store_run_populate(const struct app_call *c);

/* The options of a store as given; 0 and "": not given. */
struct store_given {
	uint64_t size, pool, spill_size, spill_rate;
	const char *spill, *job;
};
#define STORE_OPTIONS(to) \
	OPT_BYTES('s', "size", &(to).size, "SIZE", 1 << 20, UINT64_C(1) << 50, \
		  "bytes of its files and pool (default: of the file " \
		  "system)"), \
		OPT_BYTES(0, "pool", &(to).pool, "SIZE", 1 << 20, \
			  UINT64_C(1) << 50, \
			  "bytes of the pool (default: half of the size)"), \
		OPT_STRING(0, "spill", &(to).spill, "DIR", OPT_DIR, \
			   "directory on a disk for what does not fit"), \
		OPT_BYTES(0, "spill-size", &(to).spill_size, "SIZE", 1 << 20, \
			  UINT64_C(1) << 50, \
			  "bytes on that disk (default: no limit)"), \
		OPT_BYTES(0, "spill-rate", &(to).spill_rate, "RATE", 1024, \
			  UINT64_C(1) << 50, \
			  "bytes per second to it (default: no limit)"), \
		OPT_STRING(0, "job", &(to).job, "ID", OPT_ANY, \
			   "job with which the store ends, see gc")

/* The store of a job that does not run would be removed at once: refuse it. */
int store_check_job(const char *job, struct error *err);

/* Make the directory `dir`, which may be missing, a store with these options.
 * Unless `change`, one that is a store stays as it is. */
int store_set(const char *dir, const struct store_given *given, bool change,
	      struct error *err);

/*
 * Open a store.  Root gets the rights of its owner until store_left(), so that
 * a user's links and names lead nowhere that the user may not go.  Call
 * store_left() also after a failure, with NULL.
 */
struct store *store_entered(const char *dir, struct error *err);
void store_left(struct store *s);

/* Remove a store with all its files, also those on the disk, its directory and
 * what `scr_store mount` mounted.  If a process uses it: only by `force`. */
int store_remove(const char *dir, bool force, struct error *err);

/* status.c */
int store_run_status(const struct app_call *c);
int store_run_gc(const struct app_call *c);

/* Add the stores that the arguments name; else $SCR_STORE; else the STORE lines
 * with TYPE=MEMORY of the configuration.  For a directory that is none: those
 * in it.  Exit if nothing is named. */
void store_names(struct opt_list *to, char **args);
void store_names_free(struct opt_list *l);

/* run.c */
int store_run_run(const struct app_call *c);

/* Write the path of libscr_preload.so to `to`: beside the running program, else
 * where it was to be installed. */
bool store_preload(char to[static PATH_MAX], struct error *err);

/* The others */
int store_run_drain(const struct app_call *c);
int store_run_extents(const struct app_call *c);
int store_run_check(const struct app_call *c);
int store_run_bench(const struct app_call *c);

#endif /* CMD_STORE_VERBS_H */
