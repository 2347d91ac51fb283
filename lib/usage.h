/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.h - verbs and arguments in the usage lines of --help, for
 * completions. */
#ifndef USAGE_H
#define USAGE_H

struct buf;

/*
 * Append one line for each verb of each usage line, or one for a usage line
 * without a verb: "verb", TAB, VERB or "-", TAB, ARGUMENTS or "-", TAB, KINDS
 * or "any", TAB, "usage", TAB.  ARGUMENTS and KINDS are separated by blanks;
 * the last one also applies to all further arguments.
 *
 * `usage` is the text after `name` in "Usage: NAME ...", as in app_info:
 * "pack|list [OPTION]... DATASET...\n       NAME cat DATASET FILE...".  A first
 * word in lower case is a verb, or several verbs joined by '|'.  The kind of an
 * argument follows from its name: "dataset" if the name contains DATASET,
 * "packed" for PATH (of a file in the containers of the first argument, a
 * dataset), "file" for FILE or ARCHIVE, "dir" for DIR, "words" for lower-case words
 * separated by '|', else "any".  Returns 0, or -1 if there is no memory.
 */
int usage_dump(const char *name, const char *usage, struct buf *out);

#endif /* USAGE_H */
