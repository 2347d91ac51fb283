/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - the checkpoint files that a command line of scr_fti names.
 */
#ifndef CMD_FTI_INPUT_H
#define CMD_FTI_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "fti/rankfile.h"
#include "opt.h"

struct error;
struct work;

struct fti_input_options {
	const char *layout; /* of FTI-FF; NULL: to be found */
	const char *meta;   /* of POSIX files; NULL: to be found */
	uint64_t layer;
};
#define FTI_INPUT_ALL ((struct fti_input_options){ .layer = UINT64_MAX })

#define FTI_INPUT_OPTIONS(to) \
	OPT_GROUP("Files"), \
		OPT_STRING(0, "layout", &(to).layout, "A|B|C|D|E|F", \
			   OPT_WORDS, \
			   "expect this layout of FTI-FF (default: found)"), \
		OPT_STRING(0, "meta", &(to).meta, "FILE", OPT_FILE, \
			   "metadata of POSIX files: sector<s>-group<g>.fti, " \
			   "or a directory of such files (default: found)"), \
		OPT_U64(0, "layer", &(to).layer, "N", 0, UINT32_MAX, \
			"take differential files as they were after layer N " \
			"(default: the newest)")

/* Files, opened and checked. */
struct fti_input {
	struct fti_metas *metas;
	struct fti_rankfile *list;
	size_t count;
	int status; /* the worst of those that could not be opened */
};

/* Open and check the files; an error of one is reported, and the others are
 * checked.  -1: nothing could be checked.  For fti_input_close(), also after a
 * failure. */
int fti_input_open(struct fti_input *s, char **paths, size_t count,
		   const struct fti_input_options *o, const struct work *w,
		   struct error *err);
void fti_input_close(struct fti_input *s);

/* How to open them.  `metas` is borrowed. */
int fti_input_how(const struct fti_input_options *o, struct fti_metas *metas,
		  struct fti_rankfile_options *out, struct error *err);

/* Can variables be read from the file?  -1: ERROR_LOST; ERROR_SYSTEM: it could
 * not be read; ERROR_ABSENT: it is parity. */
int fti_input_check(const struct fti_rankfile *r, struct error *err);

/* The ids of -v, ascending, each once; for mem_free().  NULL: an error. */
int32_t *fti_input_ids(const struct opt_list *list, size_t *count,
		       struct error *err);

#endif /* CMD_FTI_INPUT_H */
