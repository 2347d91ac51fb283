/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cattest.h - shared by the tests of the catalogue: a prefix with an index, and
 * operations on the datasets of scene.h.
 */
#ifndef CATTEST_H
#define CATTEST_H

#include "catalogue/catalogue.h"
#include "meta/index.h"
#include "metatest.h"
#include "scene.h"

/* Make a prefix with datasets 1..n: odd ids are checkpoints, even ids outputs.
 * `indexed`: write the index.  `summaries`: write their summaries. */
void make_prefix(int n, bool indexed, bool summaries);

/* Open the catalogue of that prefix; close with catalogue_close(). */
struct catalogue *open_prefix(void);

/* Call catalogue_edit() with a new edit of that kind and name. */
int edit(struct catalogue *c, enum catalogue_edit_kind kind, const char *name,
	 struct catalogue_edit *e, struct error *err);

extern struct scene xor4;

/* All lines that were logged. */
extern struct buf said;

/* For catalogue_options.log: appends the line to `said`. */
void hear(void *arg, const char *what);

/* Does `said` contain these words? */
bool heard(const char *words);

/* A log function that does nothing, for tests in which allocations fail. */
void be_deaf(void *arg, const char *what);

extern struct catalogue_options options;

/* Build the metadata of the scene below that prefix. */
int build(const char *prefix, struct build_result *r, struct error *err);

/* Read the index entry of the dataset; its id is 0 if there is none. */
struct index *entry(const char *prefix, struct index_entry *e);

/* Write a tree, given as text for tree_of(), and make the directories above. */
void put_tree(const char *path, const char *text);

/* Make a flushed dataset of two ranks with three files of one byte. */
void make_flushed(void);

struct told {
	int count;
	char last[1024];
};

/* For catalogue_verify(): counts the reports in a struct told. */
void count_told(void *arg, const char *what);

/* Verify the scene below that prefix: `why`; *t counts the reports. */
int verify(const char *prefix, struct verify_result *r, struct told *t);

#endif /* CATTEST_H */
