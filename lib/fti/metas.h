/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metas.h - the metadata of POSIX files (posix.h), found from the path of a
 * checkpoint file.
 *
 * FTI keeps the files of a level in <ckpt_dir>/[node<k>/]<exec>/<level>, or
 * below its global directory, and their metadata in <meta_dir>/<exec>/<level>
 * (fti-format(5)).  So from <exec> upwards each directory may be the common
 * one, and each directory in it the one of metadata; the nearest are taken.
 * Files that were copied alone may have their metadata beside them.  Nothing
 * outside of the common directory is read, whatever links say.
 *
 * Each directory is read once, for all files that need it.
 *
 * Ownership: all results belong to the struct fti_metas.  Threads: one at a
 * time.
 */
#ifndef FTI_METAS_H
#define FTI_METAS_H

#include <stdbool.h>

#include "fti/name.h"

struct error;
struct fti_metas; /* opaque */
struct fti_posix;
struct fti_posix_file;

/* What metadata say of a file. */
struct fti_described {
	const char
		*path; /* of the metadata, as given or absolute; NULL: none */
	const struct fti_posix *posix;
	const struct fti_posix_file *file;
	bool copy;   /* the file is the copy of file->name */
	bool parity; /* it is the parity of this member */
	/* If there are none: why a file that may have them was not read. */
	const char *problem;
};

/* An empty cache for fti_metas_free(). */
struct fti_metas *fti_metas_new(void);
void fti_metas_free(struct fti_metas *m); /* NULL is ignored */

/*  Find the metadata of the file `path`, which need not exist.  Without any,
 * out->path is NULL.  -1: as fti_location_of(). */
int fti_metas_find(struct fti_metas *m, const char *path,
		   struct fti_described *out, struct error *err);

/* Take them from `meta`, an ini file or a directory of such files.
 * ERROR_ABSENT: they do not describe the file; or as fti_posix_read(). */
int fti_metas_take(struct fti_metas *m, const char *meta, const char *path,
		   struct fti_described *out, struct error *err);

/* Where a checkpoint file is in FTI's directories (fti-format(5)):
 * <above>/<exec>/<level>/<file>. */
struct fti_location {
	char *dir; /* that of the file, absolute */
	/* Absolute; NULL: the directories have other names. */
	char *above;
	const char *exec; /* of the execution */
	enum fti_level level;
};

/*  The place of the file `path`, which need not exist.  -1: ERROR_SYSTEM, the
 * working directory is not known.  Call fti_location_fini()
 * also after a failure. */
int fti_location_of(const char *path, struct fti_location *out,
		    struct error *err);
void fti_location_fini(struct fti_location *p);

/* Cut the last component from an absolute path.  Returns it, or NULL: the
 * directory above is "/". */
const char *fti_location_cut(char *path);

#endif /* FTI_METAS_H */
