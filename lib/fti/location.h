/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * location.h - where a checkpoint file is in FTI's directories (fti.md 4):
 * <above>/<exec>/<level>/<file>.
 */
#ifndef FTI_LOCATION_H
#define FTI_LOCATION_H

#include "fti/name.h"

struct error;

struct fti_location {
	char *dir; /* that of the file, absolute */
	/* Absolute; NULL: the directories have other names. */
	char *above;
	const char *exec; /* of the execution */
	enum fti_level level;
};

/* The place of the file `path`, which need not exist.  -1: ERROR_NOMEM,
 * ERROR_SYSTEM (the working directory is not known).  Call fti_location_fini()
 * also after a failure. */
int fti_location_of(const char *path, struct fti_location *out,
		    struct error *err);
void fti_location_fini(struct fti_location *p);

/* Cut the last component from an absolute path.  Returns it, or NULL: the
 * directory above is "/". */
const char *fti_location_cut(char *path);

#endif /* FTI_LOCATION_H */
