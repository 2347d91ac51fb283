/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_impl.h - the check of one dataset, shared by verify.c and
 * verify_plan.c.  No other file includes it.
 */
#ifndef CATALOGUE_VERIFY_IMPL_H
#define CATALOGUE_VERIFY_IMPL_H

#include "catalogue/renamed.h"
#include "catalogue/whole.h"

/* Buffer size for a path in a sentence. */
#define VERIFY_SHOWN 512

struct verify {
	struct catalogue *c;
	const struct index_entry *e;
	const struct catalogue_options *o;
	struct verify_result *out;
	const struct verify_listener *problems; /* or NULL */
	size_t reported;			/* problems reported so far */
	struct catalogue_dir dir;
	struct catalogue_fetch fetch;
	struct catalogue_renamed renamed;
	bool by_hand; /* only the user can repair some of the damage */
	bool map_looked;
	enum verify_mend map;	    /* catalogue_map_flaw() */
	size_t astray, astray_lost; /* files below renamed.from; those that
				       cannot be rebuilt */
};

/* Report one problem, and set the status that follows from it; with `fetch`,
 * also whether the library can fetch the dataset. */
void verify_say(struct verify *v, int status, bool fetch, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A problem that keeps the library from fetching the dataset; damage that only
 * matters after another loss. */
#define verify_report(v, status, ...) verify_say(v, status, true, __VA_ARGS__)
#define verify_report_spare(v, ...) \
	verify_say(v, STATUS_DAMAGED, false, __VA_ARGS__)

/* Report damage of the containers' map, once; `p` may be NULL. */
void verify_report_map(struct verify *v, const struct plan *p);

/* Is this missing file below a directory that was renamed?  The first missing
 * file shows which directory is missing. */
bool verify_is_astray(struct verify *v, const char *path,
		      const struct attr *attr);
void verify_report_astray(struct verify *v);

/* --- verify_plan.c --- */

int verify_by_plan(struct verify *v, struct plan *p, struct error *err);

/* Report what else plan `p` shows, which the caller judges: renamed
 * directories, and files that the job cannot read. */
void verify_report_names(struct verify *v, const struct plan *p);

#endif /* CATALOGUE_VERIFY_IMPL_H */
