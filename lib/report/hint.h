/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.h - command lines for the user to run. */
#ifndef REPORT_HINT_H
#define REPORT_HINT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Write a command that works on one dataset: "scr_index -p DIR --build 5",
 * quoted for the shell.  `word` names the dataset: see catalogue_word().
 * Without -p if `prefix` is the working directory.  Returns `to`.
 */
char *report_command(const char *command, const char *prefix, const char *word,
		     char *to, size_t size);

/* The command of report_command() that mends what a look of this kind finds. */
const char *report_build(bool deep, bool checksums);

#endif /* REPORT_HINT_H */
