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
 *     from PATH           the old name of the prefix, for this plan
 *     lose RANKS..., data RANKS..., reds RANKS..., mapreds RANKS...
 *     rm FILES...         remove, also a directory
 *     flip FILES BYTE...
 *     cut FILES SIZE      also to a larger size; negative: by so many bytes
 *     text FILES [WORD], fifo FILES, dir FILES [WORD], link FILES TARGET
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
 *     at /old/name: path of file 1 of rank 1 (of a moved prefix)
 *     set 1: 2 missing, 0 spare, salvage, flaw: ..., lost: ...
 *     3 files, 1 maps, 2 reds missing; 1 files, 0 maps, 2 ranks lost; 9 bytes
 *     to write
 */
const char *scene_told(const struct scene *s, unsigned flags);

/* After the changes, scene_told() begins with the first part of `says` and has
 * the others, which are separated by '|'.  The part "back": scene_rebuilds(),
 * too. */
void scene_step(struct scene *s, unsigned flags, const char *what,
		const char *change, const char *says);

/* The same for each row of a section (rows.h): what, change, says.  Or a
 * rebuild after the change: "rebuilt: " and a part of "2 files, 1 maps, 3 reds,
 * 3 descriptors, 0 sums wrong", all files are as they were kept; or
 * "fails KIND:" and a part of the error, all files are as before it. */
void scene_table(struct scene *s, unsigned flags, const char *section);

#endif /* STEPS_H */
