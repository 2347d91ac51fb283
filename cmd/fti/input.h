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

struct arena;
struct error;
struct work;

struct fti_input_options {
	const char *layout; /* of FTI-FF; NULL: to be found */
	const char *meta;   /* of POSIX files; NULL: to be found */
	uint64_t layer;
};
#define FTI_INPUT_ALL ((struct fti_input_options){ .layer = UINT64_MAX })

#define FTI_LAYOUT_OPTION(to) \
	OPT_GROUP("Files"), \
		OPT_STRING(0, "layout", &(to).layout, "A|B|C|D|E|F", \
			   OPT_WORDS, \
			   "expect this layout of FTI-FF (default: found)")
#define FTI_INPUT_OPTIONS(to) \
	FTI_LAYOUT_OPTION(to), \
		OPT_STRING(0, "meta", &(to).meta, "FILE", OPT_FILE, \
			   "metadata of POSIX files: sector<s>-group<g>.fti, " \
			   "or a directory of such files (default: found)"), \
		OPT_U64(0, "layer", &(to).layer, "N", 0, UINT32_MAX, \
			"take differential files as they were after layer N " \
			"(default: the newest)")

/* Some files, opened and checked. */
struct fti_input {
	struct fti_metas *metas;
	struct fti_rankfile_options how;
	struct fti_rankfile *list;
	size_t count;
	int status; /* the worst of those that could not be opened */
};

/* ERROR_USAGE: no such layout.  For fti_input_end(), also after a failure. */
int fti_input_start(struct fti_input *s, const struct fti_input_options *o,
		    struct error *err);
void fti_input_end(struct fti_input *s);

/* Close the files of the last call, open these and check them; an error of one
 * is reported, and the others are checked.  -1: nothing could be checked. */
int fti_input_read(struct fti_input *s, char *const *paths, size_t count,
		   const struct work *w, struct error *err);

/* A list of paths, for mem_free(). */
struct fti_paths {
	char **list;
	size_t count, room;
};

/* List the files that the arguments name; of directories, all checkpoint files
 * of FTI below them.  Strings belong to the arena, or are the arguments. */
int fti_input_expand(char **args, size_t count, struct fti_paths *out,
		     struct arena *arena, const struct work *w,
		     struct error *err);

/* Can variables be read from the file?  -1: ERROR_LOST; ERROR_SYSTEM: it could
 * not be read; ERROR_ABSENT: it is parity. */
int fti_input_check(const struct fti_rankfile *r, struct error *err);

/* The ids of -v, ascending (num_by_id()), each once; for mem_free().  Exit if
 * one is wrong. */
int64_t *fti_input_ids(const struct opt_list *list, size_t *count);

#endif /* CMD_FTI_INPUT_H */
