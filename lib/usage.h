/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage.h - what the usage lines of --help say, for completions.
 */
#ifndef USAGE_H
#define USAGE_H

struct buf;

/*
 * Add one line for each verb of each usage line, or for a usage line without a
 * verb: "verb", TAB, VERB or "-", TAB, ARGUMENTS or "-", TAB, KINDS or "any",
 * TAB, "usage", TAB.  ARGUMENTS and KINDS have blanks between; the last stands
 * for all further ones.
 *
 * `usage` is what stands behind `name` in "Usage: NAME ...", as in app_info:
 * "pack|list [OPTION]... DATASET...\n       NAME cat DATASET FILE...".  Words
 * in lower case in the first place are verbs.  The kind of an argument follows
 * from its name: with DATASET in it "dataset", FILE or ARCHIVE "file", DIR
 * "dir"; words in lower case, separated by '|', "words"; others "any".
 * Returns 0, or -1 if there is no memory.
 */
int usage_dump(const char *name, const char *usage, struct buf *out);

#endif /* USAGE_H */
