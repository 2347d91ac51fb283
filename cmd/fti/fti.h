/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti.h - shared by the files of scr_fti.
 */
#ifndef CMD_FTI_FTI_H
#define CMD_FTI_FTI_H

#include <stdbool.h>
#include <stdint.h>

#include "app.h"
#include "opt.h"
#include "work.h"

struct error;
struct fti_set;
struct fti_sets;

/* The end of the options of a verb. */
#define FTI_WORK_OPTIONS(jobs) OPT_GROUP("Work"), APP_OPT_JOBS(jobs), OPT_END

/* app_start() for a verb: parse the options, set *count and return the other
 * arguments. */
char **fti_start(const struct app_call *c, const struct opt *opts, int *count);

int fti_run_look(const struct app_call *c); /* list, dump, verify */
int fti_run_extract(const struct app_call *c);
int fti_run_diff(const struct app_call *c);
int fti_run_scan(const struct app_call *c);
int fti_run_repair(const struct app_call *c);
int fti_run_compact(const struct app_call *c);
int fti_run_convert(const struct app_call *c);
int fti_run_pack(const struct app_call *c);
int fti_run_rebuild(const struct app_call *c);
int fti_run_protect(const struct app_call *c);
int fti_run_restart(const struct app_call *c);
int fti_run_archive(const struct app_call *c);

/* --- input.c --- */

bool fti_is_directory(const char *path);

/* --- sets.c --- */

/* What the user says of the geometry; 0: not given. */
struct fti_sets_options {
	uint64_t node_size, group_size;
	bool heads;
};

#define FTI_GEOMETRY_OPTIONS(to) \
	OPT_GROUP("Ranks and nodes (default: from config.fti, or inferred)"), \
		OPT_U64(0, "node-size", &(to).node_size, "N", 1, 1u << 20, \
			"ranks of each node, heads included"), \
		OPT_U64(0, "group-size", &(to).group_size, "N", 2, 31, \
			"nodes of each group"), \
		OPT_FLAG(0, "heads", &(to).heads, \
			 "the first rank of each node writes no files")

/* The directory that the arguments name, "." if there are none; exit if they
 * name more than one. */
const char *fti_one_dir(char **args, int count);

/* The checkpoints below a directory, to be examined, of which there are some.
 * Call fti_sets_free() also after a failure. */
int fti_open_sets(struct fti_sets *s, const char *dir,
		  const struct fti_sets_options *o, const struct work *w,
		  struct error *err);

/* Which of the checkpoints; 0 and NULL: any. */
struct fti_select {
	uint64_t id, level;
	const char *exec;
};

#define FTI_SELECT_OPTIONS(to, least, most) \
	OPT_U64(0, "id", &(to).id, "N", 1, INT32_MAX, \
		"only the checkpoint with this id"), \
		OPT_U64(0, "level", &(to).level, "N", least, most, \
			"only checkpoints of this level"), \
		OPT_STRING(0, "exec", &(to).exec, "ID", OPT_ANY, \
			   "only those of this execution")

bool fti_selects(const struct fti_select *s, const struct fti_set *set);

#define FTI_NEXT_MAX 8192 /* bytes of a command */

/* For commands to run next. */
struct fti_next {
	const char *dir; /* as it was given */
	const struct fti_sets_options *geometry;
	bool checksums; /* they have shown the damage */
};

/* The command that rebuilds the checkpoint. */
void fti_next_rebuild(const struct fti_next *n, const struct fti_sets *s,
		      const struct fti_set *set, char to[static FTI_NEXT_MAX]);

/* The command that makes the file that FTI stops without, of a whole
 * checkpoint.  false: it is there, or its place is not known. */
bool fti_next_topology(const struct fti_next *n, const struct fti_set *set,
		       char to[static FTI_NEXT_MAX]);

/* The command to run next for the checkpoints, or "". */
void fti_next(const struct fti_next *n, const struct fti_sets *s,
	      char to[static FTI_NEXT_MAX]);

/* Refuse a checkpoint that is not whole: set *err, and `next` to the command
 * that mends it, or shows what is wrong.  Returns -1. */
int fti_refuse(const struct fti_next *n, const struct fti_sets *s,
	       const struct fti_set *set, char next[static FTI_NEXT_MAX],
	       struct error *err);

#endif /* CMD_FTI_FTI_H */
