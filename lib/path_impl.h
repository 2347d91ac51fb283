/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path_impl.h - shared by the sources of path.h.
 */
#ifndef PATH_IMPL_H
#define PATH_IMPL_H

#include <sys/types.h>

/*
 * openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS for kernels that have
 * none: open the relative path `rel` below rootfd, resolving links here.
 * Returns a descriptor, or -1 with errno: EXDEV if the path leads out, ELOOP if
 * there are too many links, or the last component is one and `flags` has
 * O_NOFOLLOW.  O_CREAT creates only a last component that is no link.
 */
int path_walk(int rootfd, const char *rel, int flags, mode_t mode);

#endif /* PATH_IMPL_H */
