/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * columns.h - the columns of a table that a user chooses (-o), and the one by
 * which it is sorted (--sort).
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

struct error;

#define COLUMNS_MAX 16
/* Enough for the words of all columns of a table. */
#define COLUMNS_WORDS 256

struct columns {
	int list[COLUMNS_MAX]; /* their numbers, in the order shown */
	size_t count;	       /* 0: the default ones */
	int sort;	       /* number + 1; 0: as it is */
	bool descending;
};

/* Choose the columns `text`, words separated by commas.  `words` are those of
 * all columns, from number 0 on, separated by '|'.  ERROR_USAGE. */
int columns_choose(struct columns *c, const char *words, const char *text,
		   struct error *err);

/* Sort by the column `text`; after '-' in descending order.  ERROR_USAGE. */
int columns_sort(struct columns *c, const char *words, const char *text,
		 struct error *err);

/* Add `word` to the words in to[COLUMNS_WORDS], "" at first. */
void columns_add_word(char to[static COLUMNS_WORDS], const char *word);

#endif /* COLUMNS_H */
