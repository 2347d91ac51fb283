/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - shared by the verbs of scr_fti that write files: where each
 * checkpoint file is written, the run, and the answer.
 */
#ifndef CMD_FTI_OUTPUT_H
#define CMD_FTI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "fti.h"
#include "fti/remake.h"
#include "ftijob/renew.h"
#include "input.h"
#include "opt.h"
#include "report/fti.h"
#include "work.h"

struct arena;
struct error;

struct fti_output_options {
	const char *out; /* a file or directory, or NULL */
	bool in_place, replace, dry_run;
	struct fti_input_options in;
	uint64_t jobs;
};

#define FTI_OUTPUT_OPTIONS(to) \
	OPT_GROUP("Output"), \
		OPT_STRING('o', "output", &(to).out, "OUT", OPT_FILE, \
			   "file to write, or directory of files"), \
		OPT_FLAG(0, "replace", &(to).replace, \
			 "replace existing files"), \
		OPT_FLAG('n', "dry-run", &(to).dry_run, \
			 "report what would be written, and write nothing")
#define FTI_IN_PLACE_OPTION(to) \
	OPT_FLAG(0, "in-place", &(to).in_place, "replace the files themselves")

/* The files to write.  All strings belong to it. */
struct fti_output {
	const struct fti_output_options *o;
	struct work work;
	struct fti_remake_item *items;
	size_t count, room;
	int *roots; /* open directories */
	size_t nroots, room_roots;
	/* Of the file that was placed last: its directory, and where in its
	 * path the part begins that is below the root. */
	const char *last;
	size_t rest;
	struct arena *arena;
	struct buf text; /* the answer, printed when all is done */
	/* Add the last lines of the answer.  NULL: none. */
	void (*total)(void *arg, struct buf *out);
	int status;	  /* the worst of the refused files */
	const char *next; /* the command to run then, or NULL */
};

/* Check the options of a verb that takes FILE...; exit if they are wrong. */
void fti_output_check(const struct fti_output_options *o, int count);

/* What --to says: A to F, or posix. */
struct fti_output_form {
	const char *text;
	bool posix;	    /* write POSIX files */
	enum fti_layout to; /* else this layout */
};

/* Take the options --to, --output, and --ini, which may be NULL; exit if they
 * are wrong. */
void fti_output_form(const struct fti_output_options *o, const char *ini,
		     struct fti_output_form *form);

/* Start the work.  fti_output_end() afterwards, also after a failure. */
int fti_output_start(struct fti_output *p, const struct fti_output_options *o,
		     struct error *err);
void fti_output_end(struct fti_output *p);

/* Set dirfd, path, name and replace of the file to be written at `path`, whose
 * directories need not exist. */
int fti_output_place(struct fti_output *p, const char *path,
		     struct fti_job *job, struct error *err);

/* The same for the metadata of POSIX files: at `ini`; NULL: in the directory of
 * `first`. */
int fti_output_place_ini(struct fti_output *p, const char *ini,
			 const char *first, struct fti_job *job,
			 struct error *err);

/* Add an item for each file: in place, or below or at the path of -o. */
int fti_output_add(struct fti_output *p, char **files, size_t count,
		   struct error *err);

/* Report an error, with what helps against it.  Returns an exit status. */
int fti_output_report(struct error *err);

/* Run, and print the text.  The caller has set the functions of *m, but for
 * that of refused files.  Returns an exit status. */
int fti_output_run(struct fti_output *p, struct fti_remake *m);

/* Start the work, add an item for each file, and run. */
int fti_output_files(struct fti_output *p, const struct fti_output_options *o,
		     char **files, size_t count, struct fti_remake *m);

/* The answer in JSON: what was written, or would be, after result `rc` of
 * fti_remake(). */
void fti_output_answer(const struct fti_output *p, int rc);

/* Append ": written to NAME" of item `i`, or what it is with --dry-run. */
void fti_output_say(const struct fti_output *p, size_t i, struct buf *out);

/* The id of an option; NULL: *out stays. */
int fti_id_parse(const char *text, int64_t *out, struct error *err);

/*
 * What the verbs that write files answer with --json.
 *
 *	struct fti_answer a = { .dry_run = o.dry_run };
 *
 *	fti_answer_file(&a, &(struct fti_done){
 *		.path = path, .action = "write", .rank = -1, .size = size });
 *	a.bytes_written = bytes;
 *	fti_answer_end(&a);
 *
 * Without --json the functions do nothing.  Texts printed by app_print() become
 * the member "answer" by themselves.  A verb that writes data to stdout calls
 * app_answer_stop() instead.
 */
struct fti_answer {
	bool dry_run;
	uint64_t bytes_read; /* 0: not known */
	uint64_t bytes_written;
	const char *next;   /* the command to run next, or NULL */
	struct json *more;  /* members of this verb alone, or NULL; is taken */
	struct json *files; /* for the functions only */
};

/* A file that a verb writes, moves or removes. */
struct fti_done {
	const char *path;
	const char *action; /* "write", "rebuild", "hide" ... */
	const char *kind;   /* "data", "copy", "parity"; NULL: of none */
	const char *from;   /* what it is made from; NULL: no single file */
	int64_t rank;	    /* -1: of none */
	int64_t size;	    /* bytes; -1: not known */
};

/* Add a file that was written, moved or removed, or would be. */
void fti_answer_file(struct fti_answer *a, const struct fti_done *d);

/* Add the files of a plan. */
void fti_answer_plan(struct fti_answer *a, const char *action,
		     const struct fti_rebuild_file *files, size_t count);

/* Give the answer, also after a failure: what was done until then. */
void fti_answer_end(struct fti_answer *a);

/* A verb that works on one directory. */
struct fti_verb {
	struct fti_sets_options o;
	struct work work;
	uint64_t jobs;
	const char *dir;
	int fd;		    /* of it, while the verb runs */
	struct fti_next at; /* for commands to run next */
	/* What it gives. */
	struct fti_answer answer;
	struct buf out; /* printed in the end */
	char next[FTI_NEXT_MAX];
	int status;
};

/* Parse the options. */
void fti_verb_start(struct fti_verb *v, const struct app_call *c,
		    const struct opt *opts);

/* Start the work, run, and give the answer.  `locks`: other verbs that do wait,
 * but for a dry run.  Returns an exit status. */
int fti_verb_run(struct fti_verb *v, bool locks,
		 int (*run)(void *arg, struct error *err), void *arg);

#endif /* CMD_FTI_OUTPUT_H */
