/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * joint.h - containers that several processes fill together, each with bytes of
 * its own (container-format(5)), before a map names them.
 *
 * A container is in a temporary directory (temp.h) until one process has heard
 * of all of its bytes: joint_place() then puts it in its place.  A reader never
 * finds a part of one.
 *
 * The directory is that of the layout, which says where each byte of this
 * dataset goes.  The next run of an interrupted job takes up what is there, and
 * removes what is of other layouts: so a process of a run that was cut off,
 * which still writes, writes the same bytes, or none of this layout.
 */
#ifndef CONTAINER_JOINT_H
#define CONTAINER_JOINT_H

#include <stdbool.h>
#include <stdint.h>

struct attr;
struct error;
struct joint; /* opaque: the containers that this process writes to */
struct kvtree;
struct segmap;

/* The dataset's directory has this file, under its temporary name (temp_str()),
 * while no map names the containers; who plans for others puts the plan into
 * it. */
#define JOINT_MARK "containers"

/* The layout: the sum of these of all ranks, with the places and numbers of
 * their bytes; of container size, alignment and time of creation. */
uint64_t joint_layout(uint64_t a, uint64_t b, uint64_t c);

/*
 * Make the directory of the containers in that of the dataset, which has no
 * map.  `resume`: what an interrupted run with this layout left there is taken
 * up, if there is anything: then *left is set.  All else is removed.  One
 * process does it, before all others begin.
 */
int joint_begin(int root_fd, uint64_t layout, bool resume, bool *left,
		struct error *err);

/*
 * Has it begun, and not come to the top file of the map?  Then no map was lost,
 * and what is there is evidence only if a map can be read, and no byte that it
 * names is missing.
 */
bool joint_is_unfinished(int root_fd);

/* Can a map be read, from whatever file of it?  What it names stays. */
bool joint_is_mapped(int root_fd);

/* It is given up: what it has left goes, unless a map can be read. */
void joint_give_up(int root_fd);

/* It has ended: remove what is not a container that `ctr`, the CTR of the map,
 * names in its tables; NULL: there is no such map. */
void joint_end(int root_fd, const struct kvtree *ctr);

struct joint_how {
	uint64_t layout;
	unsigned mode; /* of new files, & ~umask */
	/* The containers have their names already: they are compared, and what
	 * differs is mended. */
	bool placed;
};

/*
 * Begin to write the segments of `m` (segmap_cut()), which is borrowed, as is
 * the directory of the dataset.  Free it with joint_free(), which removes
 * nothing.  NULL: ERROR_NOMEM.
 */
struct joint *joint_new(int root_fd, const struct segmap *m,
			struct joint_how how, struct error *err);
void joint_free(struct joint *j); /* NULL is ignored */

/*
 * A descriptor to read and write the container of this index in the map,
 * borrowed until joint_wrote(); -1 with *err.  joint_wrote() counts one of its
 * segments as written; with the last one the container is synced and closed.
 * Any thread may call them.
 */
int joint_open(struct joint *j, uint32_t container, struct error *err);
int joint_wrote(struct joint *j, uint32_t container, struct error *err);

/* When all processes have written their bytes: set the size of a container, its
 * owner and mode, and, unless it is `placed`, put it in its place, where
 * joint_sync() puts it on disk. */
int joint_place(int root_fd, const char *name, struct joint_how how,
		uint64_t size, const struct attr *attr, struct error *err);
int joint_sync(int root_fd, struct error *err);

#endif /* CONTAINER_JOINT_H */
