/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.h - command lines for the user to run. */
#ifndef REPORT_HINT_H
#define REPORT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"

struct catalogue;

/*
 * Write a command that works on one dataset: "scr_index -p DIR --build 5",
 * quoted for the shell.  `word` names the dataset: see catalogue_word(); NULL:
 * the command takes none.  Without -p if `prefix` is the default one, or NULL.
 * Returns `to`.
 */
char *report_command(const char *command, const char *prefix, const char *word,
		     char *to, size_t size);

/* The same for dataset `id` of a prefix. */
char *report_next(const char *command, struct catalogue *c, int64_t id,
		  char *to, size_t size);

/* The command of report_command() that repairs the damage found by a check of
 * this kind; NULL: none does. */
const char *report_mend(enum verify_mend mend, bool deep, bool checksums);

#endif /* REPORT_HINT_H */
