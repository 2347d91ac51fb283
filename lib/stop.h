/* SPDX-License-Identifier: BSD-3-Clause */
/* stop.h - errors against which no command helps. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

struct error;

/*
 * If no command helps against the error in *err, but what its sentence then
 * says does, return true: room, a file system that can be written, or the owner
 * of `place`, a prefix or cache (NULL: not known).  `barred`: the owner can do
 * something about it (report_chmod()).  Said once, it is not said again.
 */
bool stop_say(struct error *err, const char *place, bool barred);

#endif /* STOP_H */
