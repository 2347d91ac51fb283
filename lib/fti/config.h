/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h - what FTI's configuration and its list of nodes say of the geometry
 * of a job (fti.md 4, 9).  Both are small ini files, read by inih.
 */
#ifndef FTI_CONFIG_H
#define FTI_CONFIG_H

struct error;
struct fti_geometry;

/*
 * Set node_size, group_size and head from config.fti, unless *g has them.  A
 * value out of its range is ERROR_CORRUPT.
 */
int fti_config_read(int dirfd, const char *path, struct fti_geometry *g,
		    struct error *err);

/* Set the number of nodes from Topology.fti, unless *g has it. */
int fti_topology_read(int dirfd, const char *path, struct fti_geometry *g,
		      struct error *err);

#endif /* FTI_CONFIG_H */
