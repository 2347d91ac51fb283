/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.h - what tests of things on disk share: a scratch directory, files
 * in it, damage to them, and memory that runs out.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "nomem.h"
#include "tap.h"

/* A test cannot go on: not what it is to test is broken, but itself. */
_Noreturn void bail_out(const char *what);

/* Give up, unless `good`. */
void must_be(bool good, const char *what);

#define must(cond) must_be((cond), #cond)

/* The same numbers in every run. */
uint32_t below(uint32_t n);

/* One of many buffers in turn: good for the next 250 calls. */
__attribute__((format(printf, 1, 2))) char *fmt(const char *format, ...);

/* --- Files --- */

/* Is there anything of that name?  A symbolic link is not followed. */
bool exists(const char *path);

/* Make the directories above `path`. */
void make_parents(const char *path);

/* Write a file anew, with mode 0666 less the umask, and the directories
 * above it. */
void write_file(const char *path, const void *data, size_t len);
void write_text(const char *path, const char *text);

/* Replace the contents of `out` by those of the file; for buf_free(). */
void read_whole(const char *path, struct buf *out);

/* Damage the byte at `off`, from the end if negative; the time stays. */
void flip(const char *path, long off);

/* Change the tree at the start of a file by fn(tree); what follows it (the
 * body of a redundancy file) stays. */
void edit_tree(const char *path, void (*fn)(struct kvtree *t, void *arg),
	       void *arg);

/* Remove a file or directory and all below it, if there is one. */
void remove_tree(const char *path);

/* A directory of the test's own, made the first time, emptied after that. */
void scratch_dir(char *root, size_t size);

/* --- Files of a directory that is known by its descriptor --- */

/* Write a file, as far as that succeeds. */
void put_file(int dir, const char *name, const char *text);

/* Does the file hold `text`, and nothing else? */
bool holds_at(int dir, const char *name, const char *text);

/* As exists(), below `dir`. */
bool exists_at(int dir, const char *name);

/* The permissions of a file, or -1. */
int mode_of(int dir, const char *name);

/* --- Errors --- */

/* Does the text hold these words? */
bool says(const struct error *err, const char *words);

#endif /* SCRATCH_H */
