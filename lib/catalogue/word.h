/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * word.h - the words by which users name a dataset of a prefix.
 *
 * "id:4" is dataset number 4, and "name:4" the dataset with the name "4".  Any
 * other word is a name, and also a number if it looks like one;
 * catalogue_resolve() finds the dataset, and refuses a word that is the name of
 * one dataset and the number of another.  A dataset named "id:4" is
 * "name:id:4".
 *
 * Numbers from paths, metadata and other programs are not words.  To pass such
 * a number to a function that takes a word, format it with WORD_ID_FMT.
 */
#ifndef CATALOGUE_WORD_H
#define CATALOGUE_WORD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "str.h"

struct error;

/* The word of a number, for an int64_t; a buffer size for it; and the word as
 * an argument of a function, valid until the end of the block. */
#define WORD_ID_FMT "id:%" PRId64
#define WORD_ID_SIZE 24
#define word_id_str(id) str_printed(WORD_ID_SIZE, WORD_ID_FMT, id)

#define WORD_NAME "name:"

/* What a word can mean. */
struct word {
	const char *name; /* the name, part of the word; NULL: no name */
	int64_t id;	  /* the number; -1: no number */
	bool marked;	  /* begins with "id:" or "name:" */
};

void word_parse(const char *text, struct word *w);

/* Parse the value of an option that takes an id, so a plain number is always a
 * number: N, id:N or name:NAME.  Else ERROR_USAGE. */
int word_parse_id(const char *text, struct word *w, struct error *err);

#endif /* CATALOGUE_WORD_H */
