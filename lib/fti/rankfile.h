/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rankfile.h - a checkpoint file of one rank, whatever its form: FTI-FF, POSIX
 * with its metadata, or the layers of differential checkpoints.  Its variables,
 * and what its sums prove of them.
 *
 * Input is untrusted.  Any bytes can be opened: what is wrong becomes findings.
 *
 * Ownership: everything belongs to the struct fti_rankfile, except metadata,
 * which belong to the struct fti_metas.  An opened one must not be moved.
 * Threads: any number may read it.
 */
#ifndef FTI_RANKFILE_H
#define FTI_RANKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/check.h"
#include "fti/input.h"
#include "fti/layout.h"
#include "fti/metas.h"
#include "fti/name.h"
#include "fti/posix.h"

enum fti_form {
	FTI_FORM_FF,	 /* FTI-FF */
	FTI_FORM_POSIX,	 /* the variables, one after the other */
	FTI_FORM_LAYERS, /* differential checkpoints with POSIX I/O */
	FTI_FORM_UNKNOWN,
};

struct fti_rankfile_options {
	/* Open this name below this directory.  NULL: the path. */
	int dirfd;
	const char *below;
	struct fti_metas *metas; /* shared by all files */
	const char *meta;	 /* fti_metas_take(); NULL: look for it */
	enum fti_layout layout;	 /* of FTI-FF; FTI_LAYOUTS: find it */
	size_t layer; /* up to which layers count; FTI_DCP_LAST: all */
	/* Take these bytes for those of the file, which may be missing.
	 * Borrowed.  NULL: read the file. */
	const struct fti_source *computed;
	/* The form is known from other files: that of `posix`, or FTI-FF if it
	 * is NULL.  Then metas, meta and layer are not used, and only ordinary
	 * POSIX files get a content. */
	bool known;
	const struct fti_posix_file *posix;
	bool parity; /* the file is the parity of this member */
};

struct fti_rankfile {
	const char *name;		 /* its path, borrowed */
	const struct fti_source *source; /* its bytes */
	struct fti_name label;		 /* what the name says */
	enum fti_form form;
	bool copy, parity;
	int64_t id; /* of the checkpoint; -1: not known */
	/* FTI-FF: its records; also if the form is not known, else NULL. */
	struct fti_file *ff;
	/* POSIX and layers; of a known form only its file. */
	struct fti_described described;
	struct fti_dcp dcp; /* layers */
	size_t layer;	    /* the content is that after it */
	/* Its variables.  None: parity, or `unusable` says why. */
	struct fti_content content;
	char *unusable;
	bool lacks; /* the sizes of some variables are not recorded */

	/* Results of fti_rankfiles_check(). */
	struct fti_checked checked;
	bool *proven; /* for each piece of the content: do sums prove it? */

	/* For the module only. */
	struct fti_source own;
};

/* Open the file `path`.  -1: it cannot be read, ERROR_USAGE (no
 * such layer, or a layer of a file without layers), or as fti_metas_take().
 * Call fti_rankfile_close() afterwards, also after a failure. */
int fti_rankfile_open(struct fti_rankfile *r, const char *path,
		      const struct fti_rankfile_options *o, struct error *err);
void fti_rankfile_close(struct fti_rankfile *r);

/* Compare `count` opened files with their sums, all threads together.  Without
 * `data` only records and sizes are compared.  A file that cannot be read is no
 * error.  -1: as fti_check(). */
int fti_rankfiles_check(struct fti_rankfile *files, size_t count, bool data,
			const struct work *w, struct error *err);

/* Find the first bytes of the variable from `from` on, before `end`, that no
 * sum proves.  false: there are none. */
bool fti_rankfile_unproven(const struct fti_rankfile *r,
			   const struct fti_content_var *v, uint64_t from,
			   uint64_t end, struct fti_range *out);

/* "FTI-FF", "POSIX", "POSIX, differential", "unknown". */
extern const char *const fti_form_names[];

#endif /* FTI_RANKFILE_H */
