/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition.h - the condition of one dataset on a prefix or in caches (whole,
 * damaged or lost), as text and JSON (scr_inspect(1)).  Nothing on disk is
 * changed.
 */
#ifndef REPORT_CONDITION_H
#define REPORT_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/overview.h"
#include "error.h"
#include "find/locate.h"
#include "report/table.h"
#include "rescue/deep.h"
#include "style.h"

struct containers;
struct json;
struct plan;

/* Result of the check of one dataset. */
struct condition {
	int64_t id;
	const struct overview_entry *entry; /* on a prefix; else NULL */
	const char *prefix;		    /* its path */
	const struct locate_group *group;   /* in caches; else NULL */
	int status; /* STATUS_OK, _DAMAGED or _LOST; _FAILED: unknown */
	/* unfinished: the index does not claim that it is on the prefix,
	 * because it was never flushed, or not completely */
	bool absent;
	bool packed;		/* whole or not, its files are in containers:
			struct fetchable */
	enum error_remedy mend; /* what repairs all damage */
	int64_t namesake;  /* catalogue_namesake(), of a whole dataset; or 0 */
	struct plan *plan; /* NULL: nothing names its files, or it could not be
			      made */
	struct verify_result verify; /* valid without a plan */
	struct buf problems;	     /* its problems, one line each */
	struct deep_result deep;     /* valid if deep_done */
	bool deep_done;
	struct containers *containers; /* NULL: not packed, or not checked */
	char why[ERROR_TEXT_MAX];      /* one sentence if status is not OK */
	/* the command to run next, or ""; the functions below that print text
	 * leave it out: it comes last */
	char next[ERROR_TEXT_MAX];
};

/*
 * Check dataset `e`: make its plan.  o->checksums and o->deep also read the
 * data.  Problems of the dataset go to *out. -1: it could not be checked.
 * Call condition_fini() also on failure.  `e` is borrowed until then.
 */
int condition_check(struct overview *s, const struct overview_entry *e,
		    const struct catalogue_options *o, struct condition *out,
		    struct error *err);

/*
 * Check the containers of a packed dataset whose map can be read; after
 * condition_check().  If only the containers are damaged, out->status becomes
 * STATUS_DAMAGED.
 */
int condition_check_containers(struct overview *s,
			       const struct catalogue_options *o,
			       struct condition *out, struct error *err);

/*
 * Check the packed dataset in the layout of SCR 1.1.8 (packed.h) that `word`
 * names, which is no entry of the overview, with its containers.  ERROR_ABSENT
 * as overview_find().
 */
int condition_check_old(struct overview *s, const char *word,
			const struct catalogue_options *o,
			struct condition *out, struct error *err);

/* Check a dataset in caches; `prefix` (or NULL) is the one for its next step.
 * Errors as condition_check(). */
int condition_check_group(const struct locate_group *g, const char *prefix,
			  const struct catalogue_options *o,
			  struct condition *out, struct error *err);
void condition_fini(struct condition *h);

/* "whole", "damaged", "lost", "unknown", "in cache", "unfinished". */
const char *condition_state(const struct condition *h);

/* Can a build of this dataset write the index anew? */
bool condition_buildable(const struct condition *h);

/* If the index is damaged, and nothing else is to be done, building `whole`, a
 * dataset that is whole, or 0, writes it again: h->next. */
void condition_next_remade(const struct overview *s, int64_t whole,
			   struct condition *h);

/* --- Text (condition_text.c) --- */

/* Everything is appended to a buf. */

/* A prefix: index, halt conditions, nodes. */
void report_prefix(const struct overview *s, struct buf *out);

/* A table of datasets: its columns, and the row of one. */
extern const struct table_column report_overview[];
void report_overview_row(struct table *t, const struct condition *h);

/* Why a dataset is not whole: one line for each reason, or none. */
void report_reasons(const struct condition *h, struct buf *out);

struct report_choice {
	bool map, all_files;
	bool all_containers; /* list the whole ones, too */
	struct style style;
};

/* What it is and what is wrong with it, as labelled lines; its sets, files and
 * containers. */
void report_detail(const struct condition *h, const struct report_choice *c,
		   struct buf *out);

/* --- JSON (condition_text.c) --- */

/* One dataset; `detail`: with its plan; `all_files`: with all its files. */
struct json *condition_json(const struct condition *h, bool detail,
			    bool all_files);

/* The prefix; takes ownership of `datasets`, an array of condition_json(). */
struct json *condition_prefix_json(const struct overview *s,
				   struct json *datasets);

#endif /* REPORT_CONDITION_H */
