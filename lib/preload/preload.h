/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - what libscr_preload.so offers to libraries that know it, by
 * dlsym(3). */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

/* Use the store `dir` in this process.  Returns 0, or -1. */
int scr_preload_use(const char *dir);

#endif /* PRELOAD_PRELOAD_H */
