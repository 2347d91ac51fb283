/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cattest.h - a prefix with an index, for the tests of the catalogue, and what
 * they do with datasets of scene.h.
 */
#ifndef CATTEST_H
#define CATTEST_H

#include "catalogue/catalogue.h"
#include "meta/index.h"
#include "metatest.h"
#include "scene.h"
#include "scratch.h"

extern char place[128];

/* A prefix with an index of 1..n (odd: checkpoints, even: outputs), or without
 * one, and with the summaries of all, or without. */
void make_prefix(int n, bool indexed, bool summaries);

/* The catalogue of that prefix; for catalogue_close(). */
struct catalogue *open_prefix(void);

/* catalogue_edit() with a new *e of that kind and name. */
int edit(struct catalogue *c, enum catalogue_edit_kind kind, const char *name,
	 struct catalogue_edit *e, struct error *err);

/* --- Datasets --- */

extern struct scene xor4;

/* What the log was told, a line each. */
extern struct buf said;

/* For catalogue_options.log: adds the line to `said`. */
void hear(void *arg, const char *what);

/* Do the lines hold these words? */
bool heard(const char *words);

/* hear() must not be what fails. */
void be_deaf(void *arg, const char *what);

extern struct catalogue_options options;

/* Build the metadata of the scene below that prefix. */
int build(const char *prefix, struct build_result *r, struct error *err);

/* The entry of the dataset, or id 0. */
struct index *entry(const char *prefix, struct index_entry *e);

/* Write a tree, as tree_of() reads it, and the directories above. */
void put_tree(const char *path, const char *text);

/* Two ranks, three files of a byte. */
void make_flushed(const char *size);

struct told {
	int count;
	char last[1024];
};

/* For catalogue_verify(): counts what is told, in a struct told. */
void count_told(void *arg, const char *what);

/* Verify the scene below that prefix; what is told goes to *t. */
int verify(const char *prefix, struct verify_result *r, struct told *t);

#endif /* CATTEST_H */
