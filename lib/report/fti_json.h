/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_json.h - files and checkpoints of FTI as JSON: the same facts as in the
 * texts of fti.h (scrkit-json(5)).
 */
#ifndef REPORT_FTI_JSON_H
#define REPORT_FTI_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct fti_rankfile;
struct fti_sets;
struct json;

/* How much of a file: its verdict and problems; also its variables; also all
 * records. */
enum report_fti_depth {
	REPORT_FTI_VERDICT,
	REPORT_FTI_VARIABLES,
	REPORT_FTI_RECORDS,
};

/* An object for the array checkpoint_files. */
struct json *report_fti_file_json(const struct fti_rankfile *r,
				  enum report_fti_depth depth);

/* The array executions; with `files` also the files of each rank. */
struct json *report_fti_sets_json(const struct fti_sets *s, bool files);

/* A file that a verb writes, moves or removes. */
struct report_fti_done {
	const char *path;
	const char *action; /* "write", "rebuild", "hide" ... */
	const char *kind;   /* "data", "copy", "parity"; NULL: of none */
	const char *from;   /* what it is made from; NULL: no single file */
	int64_t rank;	    /* -1: of none */
	int64_t size;	    /* bytes; -1: not known */
};

/* An object for the array files. */
struct json *report_fti_done_json(const struct report_fti_done *d);

#endif /* REPORT_FTI_JSON_H */
