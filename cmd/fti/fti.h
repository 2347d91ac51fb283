/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti.h - shared by the files of scr_fti.
 */
#ifndef CMD_FTI_FTI_H
#define CMD_FTI_FTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app.h"
#include "buf.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "fti/write.h"
#include "ftijob/renew.h"
#include "opt.h"
#include "report/fti.h"
#include "work.h"

/* The end of the options of a verb. */
#define FTI_WORK_OPTIONS(jobs, rate) \
	OPT_GROUP("Work"), APP_OPT_JOBS(jobs), APP_OPT_LIMIT_RATE(rate), OPT_END

/* app_start() for a verb: parse the options, set *count and return the other
 * arguments. */
char **fti_start(const struct app_call *c, const struct opt *opts, int *count);

int fti_run_look(const struct app_call *c); /* list, dump, verify */
int fti_run_extract(const struct app_call *c);
int fti_run_diff(const struct app_call *c);
int fti_run_scan(const struct app_call *c);
int fti_run_repair(const struct app_call *c);
int fti_run_convert(const struct app_call *c);
int fti_run_pack(const struct app_call *c);
int fti_run_rebuild(const struct app_call *c);
int fti_run_protect(const struct app_call *c);
int fti_run_restart(const struct app_call *c);
int fti_run_archive(const struct app_call *c);

bool fti_is_directory(const char *path);

/* --- sets.c: the checkpoints that a command line names --- */

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

/* --- sets.c: the files that a command line names --- */

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

/* Can variables be read from the file?  -1: ERROR_LOST, or ERROR_CORRUPT if no
 * sum disproves them; ERROR_SYSTEM: it could not be read; ERROR_ABSENT: it is
 * parity. */
int fti_input_check(const struct fti_rankfile *r, struct error *err);

/* The ids of -v, ascending (num_by_id()), each once; for mem_free().  Exit if
 * one is wrong. */
int64_t *fti_input_ids(const struct opt_list *list, size_t *count);

/* --- output.c: where verbs that write put each checkpoint file, the run, and
 * the answer --- */

struct fti_output_options {
	const char *out; /* a file or directory, or NULL */
	bool in_place, replace, dry_run;
	struct fti_input_options in;
	uint64_t jobs, rate;
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

/* The answer in JSON: what was written, or would be, after result `rc` of
 * fti_remake(). */
void fti_output_answer(const struct fti_output *p, int rc);

/* Append ": written to NAME" of item `i`, or what it is with --dry-run. */
void fti_output_say(const struct fti_output *p, size_t i, struct buf *out);

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

/* Wait until no other node rebuilds files there. */
int fti_verb_wait(const struct fti_verb *v, struct error *err);

/* Start the work, run, and give the answer.  `locks`: other verbs that do wait,
 * but for a dry run.  Returns an exit status. */
int fti_verb_run(struct fti_verb *v, bool locks,
		 int (*run)(void *arg, struct error *err), void *arg);

/* --- convert.c, convert_tree.c --- */

/* What a file could not say of its new form. */
struct fti_convert_notes {
	bool id;   /* its id is from its name */
	bool time; /* its time is that of its modification */
};

struct fti_convert {
	struct fti_output_options o;
	struct fti_output_form form;
	bool compact;	 /* one container for each variable */
	int64_t id;	 /* of the checkpoint; -1: of the files */
	const char *ini; /* metadata to write; NULL: beside the file */
	struct fti_sets_options geometry;
	int64_t ckpt; /* id of the only one below a directory, or -1 */
	struct fti_output out;
	/* Of files: */
	struct fti_convert_notes notes;
	int64_t before;		 /* id of the files before; -1: none */
	struct fti_posix sector; /* their metadata, */
	struct buf text;	 /* as text, */
	struct fti_job job;	 /* which is written */
};

/* Describe the new form of a file with these attributes. */
int fti_convert_describe(const struct fti_convert *c,
			 const struct fti_rankfile *r, const struct attr *attr,
			 struct fti_draft *d, struct fti_convert_notes *notes,
			 struct error *err);

/* "D", "POSIX": of a file, and of what is written. */
const char *fti_convert_form(const struct fti_rankfile *r);
const char *fti_convert_to(const struct fti_convert *c);

/* Append the notes. */
void fti_convert_say(const struct fti_convert_notes *notes, struct buf *out);

/* Convert all checkpoints below a directory.  Returns an exit status. */
int fti_convert_tree(struct fti_convert *c, const char *dir, struct error *err);

#endif /* CMD_FTI_FTI_H */
