/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition.h - the condition of one dataset, on a prefix or in caches: whole,
 * damaged, lost; and that as JSON.  Nothing on disk is changed.
 */
#ifndef REPORT_CONDITION_H
#define REPORT_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/locate.h"
#include "catalogue/overview.h"
#include "error.h"
#include "rescue/deep.h"

struct containers;
struct json;
struct plan;

/* What a look at one dataset gave. */
struct condition {
	int64_t id;
	const struct overview_entry *entry; /* on a prefix; else NULL */
	const struct locate_group *group;   /* in caches; else NULL */
	int status;  /* STATUS_OK, _DAMAGED, _LOST; _FAILED: could not look */
	bool absent; /* it is not on the prefix, and the index does not say so:
			never flushed, or not to the end */
	struct plan *plan; /* NULL: only a rank2file tells its files */
	struct verify_result verify; /* valid without a plan */
	struct buf problems;	     /* the same, a line each */
	struct deep_result deep;     /* valid if deep_done */
	bool deep_done;
	struct containers *containers; /* NULL: not packed, or not looked at */
	char why[ERROR_TEXT_MAX];      /* one sentence where status is not OK */
};

/*
 * Check dataset `e`: a plan with all headers where there are filemaps, else
 * the files that rank2file names; o->checksums and o->deep also read the data.
 * What is wrong with the dataset goes to *out; -1: lack of memory, failing
 * reads.  For condition_fini(), in any case.
 */
int condition_check(struct overview *s, const struct overview_entry *e,
		    const struct catalogue_options *o, struct condition *out,
		    struct error *err);

/*
 * After condition_check(): see how the containers are if the dataset is packed,
 * and its map can be read.  They may turn out to be worse than what the files
 * need, so that out->status changes.
 */
int condition_check_containers(struct overview *s,
			       const struct catalogue_options *o,
			       struct condition *out, struct error *err);

/*
 * The same as both for a packed dataset in the layout of SCR 1.1.8 (packed.h),
 * which is none of the survey's entries.  ERROR_ABSENT as overview_find().
 */
int condition_check_old(struct overview *s, const char *name,
			const struct catalogue_options *o,
			struct condition *out, struct error *err);

/* The same for a dataset in caches. */
int condition_check_group(const struct locate_group *g,
			  const struct catalogue_options *o,
			  struct condition *out, struct error *err);
void condition_fini(struct condition *h);

/* "whole", "damaged", "lost", "unknown", "in cache", "not complete". */
const char *condition_state(const struct condition *h);

/* --- JSON (scr_inspect(1)) --- */

/* One dataset; `detail`: with its plan, `all_files`: and all files of it. */
struct json *condition_json(const struct condition *h, bool detail,
			    bool all_files);

/* The prefix, taking over `datasets`, an array of the above. */
struct json *condition_prefix_json(const struct overview *s,
				   struct json *datasets);

#endif /* REPORT_CONDITION_H */
