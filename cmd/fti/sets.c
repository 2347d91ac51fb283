/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - the checkpoints that a command line of scr_fti names.
 */
#include "error.h"
#include "fti.h"
#include "fti/set.h"
#include "fti/tree.h"

int
fti_open_sets(struct fti_tree *t, struct fti_sets *s, const char *dir,
	      const struct fti_sets_options *o, const struct work *w,
	      struct error *err)
{
	struct fti_geometry g = {
		.node_size = (uint32_t)o->node_size,
		.group_size = (uint32_t)o->group_size,
		.head = o->heads ? 1 : -1,
	};

	if (fti_tree_open(t, dir, w, err) < 0 ||
	    fti_sets_open(s, t, &g, err) < 0)
		return -1;
	return s->count > 0 ? 0
			    : error_set(err, ERROR_ABSENT,
					"%s: no checkpoint files of FTI", dir);
}
