/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_obstacle.c - what is in the way of a repair.  A file that a rebuild
 * writes takes the place of anything but a directory.  A scavenge leaves a
 * dataset alone whose files all have the right size; else it replaces wrong
 * ones.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "meta/rank2file.h"
#include "meta/summary.h"
#include "path.h"
#include "rescue/plan.h"

/* Write the path of `name`, below `dir`, if that is a directory. */
static bool
is_directory(const char *dir, int fd, const char *name, char *to, size_t size)
{
	struct stat st;

	return name != NULL && path_stat_beneath(fd, name, &st, NULL) == 0 &&
	       S_ISDIR(st.st_mode) &&
	       snprintf(to, size, "%s/%s", dir, name) < (int)size;
}

static bool
meta_obstacle(const struct plan *p, uint32_t place, const char *name, char *to,
	      size_t size)
{
	const struct place *at = &p->places[place];

	return is_directory(at->meta, at->meta_fd, name, to, size);
}

bool
plan_obstacle(const struct plan *p, char *to, size_t size)
{
	static const char *const names[] = { SUMMARY_FILE, RANK2FILE_FILE,
					     RANK2FILE_FILE ".0.0" };
	bool seen = false; /* a scavenge sees that the dataset is lost */

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!p->places[0].cache &&
		    meta_obstacle(p, 0, names[i], to, size))
			return true;
	for (size_t i = 0; i < p->nfiles && !seen; i++)
		seen = p->files[i].fate == FATE_LOST &&
		       p->files[i].state != FILE_WRONG_CRC;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		const struct place *at = &p->places[f->place];

		if (p->flaw == NULL && !seen && f->fate == FATE_LOST &&
		    f->state == FILE_WRONG_CRC && !f->packed &&
		    snprintf(to, size, "%s/%s", at->root, f->path) < (int)size)
			return true;
		if (f->fate != FATE_KEEP && f->state == FILE_WRONG_TYPE &&
		    is_directory(at->root, at->root_fd, f->path, to, size))
			return true;
		for (size_t k = 0; f->fate == FATE_REBUILD && k < f->nsegs; k++)
			if (f->segs[k].gone &&
			    meta_obstacle(p, 0, f->segs[k].path, to, size))
				return true;
	}
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_meta *m = &p->ranks[i].map;

		if (m->fate == FATE_REBUILD &&
		    meta_obstacle(p, m->place, m->name, to, size))
			return true;
	}
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t k = 0; k < p->sets[i].n; k++) {
			const struct plan_member *m = &p->sets[i].members[k];

			if (m->fate == FATE_REBUILD &&
			    meta_obstacle(p, m->place, m->name, to, size))
				return true;
		}
	to[0] = '\0';
	return false;
}
