/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h - the rows of a table in a text file, testsuite/unit/damage.table,
 * which says how it is written.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stddef.h>

#include "scratch.h"

#define ROW_FIELDS 6

struct row {
	const char *field[ROW_FIELDS]; /* "": there are no more */
	const char *next;	       /* NULL: before the first row */
};

/* Read the next row of a section, which has to be there.  False: no more. */
bool row_next(struct row *r, const char *section);

#endif /* ROWS_H */
