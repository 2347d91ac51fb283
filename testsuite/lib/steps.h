/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h - tables of changes to the files of a scene, and what a plan says
 * after each of them.
 */
#ifndef STEPS_H
#define STEPS_H

#include "scene.h"

/* In the tree at the start of a file, make the node KEY>KEY... with this value,
 * or remove it (NULL); "*" stands for each child. */
void edit_keys(const char *file, const char *path, const char *value);

/*
 * Change files by commands, separated by "; ":
 *     new                 make the scene anew
 *     keep                scene_keep()
 *     lose RANKS..., data RANKS..., reds RANKS..., mapreds RANKS...
 *     rm FILES...         remove, also a directory
 *     flip FILES BYTE...
 *     cut FILES SIZE      also to a larger size; negative: by so many bytes
 *     text FILES [WORD], fifo FILES, dir FILES, link FILES TARGET
 *                         in the place of the file
 *     copy FILES FILES    the contents of the first one
 *     tree FILES FILES    all below the first directory
 *     set FILES KEY>KEY... [VALUE]
 *                         edit_keys()
 * RANKS: "3" or "0-3".  FILES: the files of these ranks; "f3.0" data file 0,
 * "m3" filemap, "r3" redundancy file, "d3" its descriptor, "R3" and "D3" those
 * over filemaps; "@/x" file or VALUE x below the prefix, or in the
 * first cache.
 */
void scene_do(struct scene *s, const char *commands);

/* Does each of these files exist, or none? */
bool scene_has(const struct scene *s, const char *files, bool yes);

/*
 * A new plan as text, valid until the next call.  The first line is the error,
 * as "refused corrupt: ...", or the verdict, as "lost: ...".  Lines for what is
 * not all right follow, as
 *     rank_1_0.dat wrong size 5, rebuild
 *     m3 missing, lost
 *     r2 damaged, rebuild: its problem
 *     set 1: 2 missing, 0 spare, salvage, flaw: ..., lost: ...
 *     3 files, 1 maps, 2 reds missing; 1 files, 0 maps, 2 ranks lost; 9 bytes
 *     to write
 */
const char *scene_told(const struct scene *s, unsigned flags);

/* After the changes, scene_told() begins with the first part of `says` and has
 * the others, which are separated by '|'.  The part "back": scene_rebuilds(),
 * too. */
struct scene_step {
	const char *what, *change, *says;
};

void scene_steps(struct scene *s, unsigned flags,
		 const struct scene_step *steps, size_t n);

#define SCENE_STEPS(s, flags, steps) \
	scene_steps(s, flags, steps, sizeof(steps) / sizeof((steps)[0]))

/* A rebuild after the changes.  If it fails with an error of this kind, all
 * files are as before it, else as they were kept.  `says`: a part of the error,
 * or of "2 files, 1 maps, 3 reds, 3 descriptors, 0 sums wrong". */
struct scene_attempt {
	const char *what, *change;
	enum error_kind fails;
	const char *says;
};

void scene_attempts(struct scene *s, const struct scene_attempt *list,
		    size_t n);

#define SCENE_ATTEMPTS(s, list) \
	scene_attempts(s, list, sizeof(list) / sizeof((list)[0]))

#endif /* STEPS_H */
