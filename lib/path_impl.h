/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path_impl.h - shared by the sources of path.h.
 */
#ifndef PATH_IMPL_H
#define PATH_IMPL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, and with trusted
 * links that lead out (path.h): open the relative path `rel` below rootfd,
 * resolving links here.  If `strict`, only links that lead out are followed,
 * and none back to a directory below the root.
 * Returns a descriptor, or -1 with errno: EXDEV if the path leads out, ELOOP if
 * there are too many links, or the last component is one and `flags` has
 * O_NOFOLLOW.  O_CREAT creates only a last component that is no link.
 */
int path_walk(int rootfd, const char *rel, int flags, mode_t mode, bool strict);

#endif /* PATH_IMPL_H */
