/* SPDX-License-Identifier: BSD-3-Clause */
/* nodecache_impl.h - shared by the sources of nodecache.h. */
#ifndef SCAVENGE_NODECACHE_IMPL_H
#define SCAVENGE_NODECACHE_IMPL_H

#include "scavenge/nodecache.h"

/* Set *problem to the text of `why`, unless there is one: later ones usually
 * follow from the first. */
void nodecache_note(struct arena *a, const char **problem,
		    const struct error *why);

/* May what could not be read be there, and whole?  Missing or damaged it is
 * only if it could be read. */
bool nodecache_hides(const struct error *why);

#endif /* SCAVENGE_NODECACHE_IMPL_H */
