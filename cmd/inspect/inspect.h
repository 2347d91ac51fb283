/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inspect.h - shared by the files of scr_inspect.
 */
#ifndef CMD_INSPECT_INSPECT_H
#define CMD_INSPECT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "columns.h"
#include "find/locate.h"
#include "opt.h"
#include "report/condition.h"
#include "str.h"

struct json;

/* Options and state. */
struct inspect {
	/* Options. */
	const char *prefix, *mode;
	const char *svg, *html;	     /* files for pictures */
	const char *columns, *order; /* of the list, as given, or NULL */
	struct columns chosen;
	struct opt_list datasets;
	bool sort;
	uint64_t jobs;
	struct catalogue_options look;
	struct report_choice choice;
	/* State. */
	size_t nargs;
	int status;
	bool counting; /* only count the datasets to be drawn */
	size_t drawn;  /* their number */
	struct locate_caches caches;
	struct json *files, *prefixes, *groups; /* with --json */
	struct buf out;
	struct buf last; /* next steps that are for several datasets */
	bool apart;	 /* a blank line comes before them */
};

/* Is a picture asked for? */
static inline bool
inspect_draws(const struct inspect *in)
{
	return in->svg != NULL || in->html != NULL;
}

/* Is a picture written to standard output, in place of text? */
static inline bool
inspect_on_stdout(const struct inspect *in)
{
	return (in->svg != NULL && str_eq(in->svg, "-")) ||
	       (in->html != NULL && str_eq(in->html, "-"));
}

/* --- options.c --- */

/* Fill in the options; a wrong one is a usage error.  Returns the arguments. */
char **inspect_parse(struct inspect *in, int argc, char **argv);

#endif /* CMD_INSPECT_INSPECT_H */
