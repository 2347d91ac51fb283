/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue.h - operations on the index of a prefix and on its datasets.
 *
 * Every change locks PREFIX/.scr/index.lock, reads and changes the index, and
 * replaces index.scr atomically.  A damaged index is never overwritten: it is
 * kept as index.scr.bak (the next one as index.scr.bak.1 ...).  If the index is
 * damaged or missing, a new one is built from the dataset directories, and
 * catalogue_notice() reports it.
 */
#ifndef CATALOGUE_CATALOGUE_H
#define CATALOGUE_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "catalogue/word.h"
#include "error.h"
#include "meta/redset.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "work.h"

struct buf;
struct index;
struct index_entry;
struct json;
struct kvtree;
struct packed;
struct packed_how;
struct packed_health;

struct catalogue; /* opaque: an open prefix */

/* Open the prefix directory `path`.  Its .scr need not exist.  ERROR_ABSENT: no
 * such directory. */
struct catalogue *catalogue_open(const char *path, struct error *err);
void catalogue_close(struct catalogue *c);

/* The index is locked for each change.  Wait for the lock only until `stop`. */
void catalogue_stop_on(struct catalogue *c, bool (*stop)(void));

const char *
catalogue_path(const struct catalogue *c); /* as given to catalogue_open() */
int catalogue_prefix_fd(const struct catalogue *c);
int catalogue_scr_fd(const struct catalogue *c); /* PREFIX/.scr, or -1 */

/* Open PREFIX/.scr, unless it is open; with `make`, make it if it is missing.
 * ERROR_ABSENT. */
int catalogue_open_scr(struct catalogue *c, bool make, struct error *err);

/* Messages for the user from reading the index: lines without the last newline,
 * or NULL.  Valid until the next read or change, or catalogue_close(). */
const char *catalogue_notice(const struct catalogue *c);

/* Was index.scr damaged when it was last read? */
bool catalogue_damaged(const struct catalogue *c);

/*
 * Read the index without a lock; for index_free().  If index.scr is damaged, or
 * missing although there are dataset directories, return an index built from
 * the directories, set catalogue_notice(), and write nothing.  ERROR_ABSENT:
 * neither an index nor dataset directories.
 */
struct index *catalogue_read(struct catalogue *c, struct error *err);

/* The same, but the notice stays that of the last read or change. */
struct index *catalogue_read_quietly(struct catalogue *c, struct error *err);

/* The index, and its entries as index_entries() returns them.  Without an
 * index, there are none. */
struct catalogue_entries {
	struct index *index; /* NULL: none */
	struct index_entry *list;
	size_t count;
};

/* Read the index; for catalogue_entries_free(), also on failure. */
int catalogue_entries(struct catalogue *c, struct catalogue_entries *out,
		      struct error *err);
void catalogue_entries_free(struct catalogue_entries *e);

/* May the index have an entry of dataset `id`?  Also if it cannot be read. */
bool catalogue_may_list(struct catalogue *c, int64_t id);

enum catalogue_edit_kind {
	CATALOGUE_DROP,	      /* `word` */
	CATALOGUE_DROP_AFTER, /* all with a larger id than `word` */
	CATALOGUE_DROP_ALL,
	CATALOGUE_CURRENT, /* make `word`, a checkpoint, the restart point */
	CATALOGUE_UNCURRENT,
};

/* A change of the index that does not touch files of datasets. */
struct catalogue_edit {
	enum catalogue_edit_kind kind;
	const char *word;
	struct json *names; /* NULL, or an array that receives the names
			       dropped */
	/* CATALOGUE_CURRENT: verify the dataset, and refuse one that the
	 * library cannot fetch (struct fetchable).  NULL: do not verify. */
	const struct catalogue_options *look;
	/* CATALOGUE_CURRENT: a valid restart point that was created later
	 * stays, which another job may have written meanwhile; but not `broken`
	 * (or NULL), which is known to be bad. */
	bool forward;
	const struct index_entry *broken;
	/* Results: */
	size_t count;	    /* number of entries dropped */
	char current[1024]; /* restart point after the change; "": none */
	char current_word[1024 + WORD_ID_SIZE]; /* its catalogue_name_word() */
	/* Without a restart point: the newest valid checkpoint, which the next
	 * job tries; "": none. */
	char next_word[1024 + WORD_ID_SIZE];
	bool moved;	  /* the restart point has changed */
	char reason[128]; /* why the new restart point is not valid; "":
			       valid */
	int64_t refused;  /* id of the dataset that cannot be fetched; 0:
			       none */
};

/* Apply `e` and fill in its results.  ERROR_ABSENT: no such dataset, or not a
 * checkpoint.  With e->refused: see fetchable_error(). */
int catalogue_edit(struct catalogue *c, struct catalogue_edit *e,
		   struct error *err);

/* Remove dataset `id` from the index, even if it has no name; see
 * index_remove().  ERROR_ABSENT. */
int catalogue_forget(struct index *ix, int64_t id, struct error *err);

/* --- Datasets --- */

struct catalogue_options {
	struct work work;
	const char *moved_from; /* recorded prefix path, of the user; or NULL */
	bool checksums; /* read every file: compare with the recorded checksums,
			   and record missing ones (rank2file) */
	bool deep;	/* first check the redundancy against the data */
	/* catalogue_build(): the same, if the content of a file cannot be
	 * proved by a recorded checksum.  A scavenge has just copied it. */
	bool compare;
	/* The index, if the caller has read it and does not change it.  Then it
	 * is not read again for each dataset.  NULL: it is read when needed. */
	const struct index *index;
	/* replace files of other datasets, after retiring these; otherwise such
	 * files are an error */
	bool replace;
	/* share_build(), share_verify(): others carry out the plan; or NULL. */
	int (*help)(void *helper, struct catalogue *c, int64_t id,
		    const struct catalogue_options *o, struct plan **plan,
		    struct error *err);
	void *helper;
};

/* Make a plan by plan_prefix() with PLAN_* `flags`.  If the recorded prefix
 * path cannot be determined from the files, use the one in the index. */
struct plan *catalogue_plan(struct catalogue *c, int64_t id, unsigned flags,
			    const struct catalogue_options *o,
			    struct error *err);

/* The step that mends what `p`, of which no data are lost, shows. */
enum error_remedy catalogue_plan_mend(const struct plan *p);

struct build_result {
	char name[1024]; /* of the dataset */
	int status;	 /* STATUS_OK.  STATUS_DAMAGED: see `left`; in a dry
			    run, a rebuild is needed.  After a failure: not
			    indexed */
	size_t ranks, files;
	uint64_t bytes;
	struct rebuild_result rebuild; /* in a dry run: what would be rebuilt */
	bool descriptor_guessed;       /* flush.scr had no descriptor: see
				    scr_index(1) */
	/* the step that repairs the map of the containers */
	enum error_remedy map;
	char map_flaw[ERROR_TEXT_MAX];
	/* data and redundancy differ, and it is unknown which is wrong */
	bool undecided;
	bool compared; /* checksums were compared, also if not asked for */
	bool deep;     /* the result was compared with redundancy */
	bool barred;   /* failed: the job may not read some files */
	struct plan_way way;
	/* the first damage that the build could not repair, of what no restart
	 * needs; "": none */
	char left[ERROR_TEXT_MAX];
	bool dry_run;
};

/*
 * scr_index --build: make a plan, rebuild what is missing, write rank2file and
 * summary, and add the dataset to the index.  A repeated build changes nothing;
 * a failed build leaves nothing behind.  ERROR_ABSENT; ERROR_LOST;
 * ERROR_DAMAGED: the deep check failed and cannot be repaired; ...
 */
int catalogue_build(struct catalogue *c, int64_t id,
		    const struct catalogue_options *o, struct build_result *out,
		    struct error *err);

/* Rebuild the filemaps that are missing, and what else can be rebuilt, of a
 * dataset of which other files may still come.  *restored: filemaps written.
 * Nothing is indexed. */
int catalogue_restore_maps(struct catalogue *c, int64_t id,
			   const struct catalogue_options *o, size_t *restored,
			   struct error *err);

/* scr_index --add: add dataset `id`, which has a summary, to the index, if its
 * files are present and of the recorded sizes.  Its name is appended to
 * `name`. */
int catalogue_add(struct catalogue *c, int64_t id,
		  const struct catalogue_options *o, struct buf *name,
		  struct error *err);

/* --- Would a job get it back? --- */

/*
 * Would the library of SCR 3.1 fetch a dataset from the prefix, and get the
 * right bytes?  The terms "whole" and "saved" mean
 * this.
 *
 * All of these must hold: the index entry is valid; summary.scr is complete,
 * and describes the dataset of the entry; rank2file and all of its parts can be
 * read, and have every rank; every file is present, regular, readable by its
 * owner, and has the recorded size.
 */
struct fetchable {
	/*
	 * STATUS_OK: the library would fetch it.  STATUS_DAMAGED:
	 * catalogue_build() can repair it.  STATUS_LOST.  STATUS_FAILED:
	 * unknown, because something could not be read (no permission, I/O
	 * error).
	 */
	int status;
	/* The files are in containers: libscr fetches them, LLNL's library only
	 * after the dataset is unpacked. */
	bool packed;
	bool unsafe;	/* a path leaves the prefix */
	char why[1024]; /* the reason if status is not STATUS_OK */
};

/*
 * Check dataset e->id.  Of `e`, its index entry, the id is required; without a
 * descriptor (e->desc.id is 0), the entry is not judged.  Costs one stat for
 * each file, and reading its summary, rank2file and, if there are any,
 * filemaps.  With o->checksums the files are read, too. -1: no memory, or
 * stopped.
 */
int catalogue_fetchable(struct catalogue *c, const struct index_entry *e,
			const struct catalogue_options *o,
			struct fetchable *out, struct error *err);

/* Set *err to the reason, with a kind that gives the same status (ERROR_UNSAFE:
 * also if a path leaves the prefix).  Returns -1; 0 if the dataset can be
 * fetched, perhaps only by libscr. */
int fetchable_error(const struct fetchable *f, struct error *err);

/* --- Verify --- */

struct verify_result {
	/* STATUS_OK; STATUS_DAMAGED: catalogue_build() can repair it;
	 * STATUS_LOST; STATUS_FAILED: a file could not be read */
	int status;
	/* status without filemaps and redundancy, which the library does not
	 * read */
	struct fetchable fetch;
	enum error_remedy mend;
	size_t files, bad_files;
	uint64_t bytes; /* of the files present */
	/* What was compared.  Unless a file is missing: */
	size_t unchecked;    /* files of which no size is recorded */
	bool total_compared; /* the descriptor gives their total */
	size_t crc_checked;  /* files whose checksum was compared */
	uint64_t crc_bytes;  /* the bytes read for that */
	size_t deep_sets;    /* redundancy sets compared with the data */
	struct plan_way way; /* also for the directory of its metadata */
	bool undecided;	     /* of deep_undecided() */
	bool stuck;	     /* of deep_stuck() */
	bool nameless;	     /* nothing names the files of some ranks */
	bool unread;	     /* an I/O error kept something from being read */
};

/* Called with a sentence for each problem. */
struct verify_listener {
	void (*tell)(void *arg, const char *what);
	void *arg;
};

/*
 * scr_index --verify: is dataset e->id whole (struct fetchable)?  Of `e`, its
 * index entry, the id is required; without a descriptor (e->desc.id is 0), the
 * entry is not judged.  With o->checksums, also compare recorded checksums;
 * with o->deep, also the redundancy.  `problems` may be NULL.  Nothing is
 * changed.  -1: something could not be read, and it is unknown whether it is
 * whole.
 */
int catalogue_verify(struct catalogue *c, const struct index_entry *e,
		     const struct catalogue_options *o,
		     const struct verify_listener *problems,
		     struct verify_result *out, struct error *err);

/* The same for a dataset whose files plan `p` has checked: judge only the
 * metadata that a restart needs. */
int catalogue_verify_plan(struct catalogue *c, const struct index_entry *e,
			  const struct plan *p,
			  const struct verify_listener *problems,
			  struct verify_result *out, struct error *err);

/* --- Redundancy --- */

struct protect_options {
	/* See plan_protect(). */
	enum redset_type type;
	uint32_t set_size, failures;
	const struct catalogue_options *o;
};

/*
 * Add redundancy to dataset `id`.  A flushed dataset has no filemaps, so they
 * are first made from its rank2file.  Files may be in containers.  With
 * o->dry_run, nothing is written.  *out receives the number of sets, files and
 * bytes.  ERROR_USAGE: the dataset has another kind of redundancy, or too few
 * ranks.  ERROR_DAMAGED: the dataset is not complete.
 */
int protect(struct catalogue *c, int64_t id, const struct protect_options *po,
	    struct rebuild_result *out, struct error *err);

/* --- Packed datasets --- */

/* packed_map_flaw() of the plan, which may be NULL.  Returns the step that
 * repairs it. */
enum error_remedy catalogue_map_flaw(const struct plan *p, char *to,
				     size_t size);

/* Are there containers in the directory of the dataset? */
bool catalogue_in_containers(struct catalogue *c, int64_t id);

/* Call packed_open() for the dataset that `word` names; it can also be a
 * directory of layout 1. */
int catalogue_packed_open(struct catalogue *c, const char *word,
			  const struct packed_how *how,
			  const struct catalogue_options *o, struct packed *p,
			  struct error *err);

/* The summary of a dataset of SCR 1.1.8, in the form of today; for
 * kvtree_free().  ERROR_DAMAGED: the dataset is not complete. */
struct kvtree *catalogue_old_summary(const struct packed *p, struct error *err);

/* The checkpoint that the next job tries first: the current one, else the
 * newest valid one.  0: none, or the index cannot be read. */
int64_t catalogue_restart_point(struct catalogue *c);

/* Before a dataset that is not packed is read, whose files may be those of
 * another dataset: catalogue_refuse_replaced().  `copied`: with checksums of
 * what is there.  ERROR_DAMAGED: its redundancy contradicts what no checksum
 * proves, and the copy would look right. */
int catalogue_packed_prove(struct catalogue *c, const struct packed *p,
			   bool copied, const struct catalogue_options *o,
			   struct error *err);

/*
 * If a fetch of dataset `id` has failed, and all its files are right now,
 * remove the FAILED stamp from its index entry, so that LLNL's library tries
 * the dataset again.
 */
int catalogue_forgive(struct catalogue *c, int64_t id,
		      const struct catalogue_options *o, struct error *err);

/* Can redundancy repair the damage in `h`?  Return STATUS_DAMAGED (also if no
 * data are damaged), STATUS_LOST, or STATUS_FAILED: the map contradicts itself.
 * If the check itself fails, return the status of *err. */
int catalogue_packed_outlook(struct catalogue *c, const struct packed *p,
			     const struct packed_health *h,
			     const struct catalogue_options *o,
			     struct error *err);

/* An error with a remedy, that files or containers are damaged: make it
 * ERROR_LOST, if no redundancy can repair that. */
void catalogue_packed_judge(struct catalogue *c, const struct packed *p,
			    const struct catalogue_options *o,
			    struct error *err);

/* --- Replacing files --- */

/*
 * Call before the first file of dataset `id` is replaced by one of dataset
 * `by`.  Afterwards, on disk: the index entry is incomplete and records `by`,
 * CURRENT is the checkpoint before it (or nothing), and the summary says
 * COMPLETE = 0.  A dataset that is not in the index is no error.
 */
int catalogue_retire(struct catalogue *c, int64_t id, int64_t by,
		     const struct catalogue_options *o, struct error *err);

/*
 * Call if dataset `by` could not be written after all, and no process writes
 * its files any more.  Each dataset that was retired for it, and none of whose
 * files was replaced, becomes valid again, and current if it was.  This is
 * logged, and so is a failure.  If `by` is 0: the same for each dataset that no
 * command writes now.
 */
void catalogue_rollback(struct catalogue *c, int64_t by,
			const struct catalogue_options *o);

/* Held by a scavenge, in PREFIX/.scr: scavenge/turn.h. */
#define CATALOGUE_SCAVENGE_LOCK "scavenge.lock"

/* *by: the dataset that has replaced files of dataset `id`, by the marks of
 * catalogue_retire(); only recorded checksums then prove which files belong to
 * `id`.  0: none, or it is proved that none was replaced, and that no process
 * is about to. */
int catalogue_replaced(struct catalogue *c, int64_t id,
		       const struct catalogue_options *o, int64_t *by,
		       struct error *err);

/* Refuse such a dataset without reading checksums:  ERROR_DAMAGED. */
int catalogue_refuse_replaced(struct catalogue *c, int64_t id,
			      const struct catalogue_options *o,
			      struct error *err);

/* Refuse it if the plan `p`, made with PLAN_CHECKSUMS, does not prove all
 * files:  ERROR_LOST.  Nothing is refused if `by` is 0. */
int catalogue_refuse_unproved(const struct plan *p, int64_t by,
			      struct error *err);

/*
 * Call before another dataset takes the number `id`. Remove index entry,
 * summary and rank2file of the old dataset; with `all`, also its filemaps and
 * redundancy.  Its files stay.
 */
int catalogue_supersede(struct catalogue *c, int64_t id, bool all,
			const struct catalogue_options *o, struct error *err);

/* Remove what a scavenge has copied into the metadata directory of a dataset
 * that has a rank2file: the filemaps and redundancy of another one. */
int catalogue_uncopy(struct catalogue *c, int64_t id, struct error *err);

enum catalogue_identity {
	CATALOGUE_SAME, /* or there is none */
	CATALOGUE_ANOTHER,
	CATALOGUE_UNSURE, /* the creation time of one of them is unknown */
};

/* Is the dataset that the index or its summary has under the number `id` the
 * one created at `created` (microseconds since the epoch; 0: unknown)? */
int catalogue_identify(struct catalogue *c, int64_t id, int64_t created,
		       enum catalogue_identity *out, struct error *err);

/* --- Delete and prune --- */

struct delete_result {
	size_t files, dirs;
	size_t kept;	/* files kept: another dataset names them too, or they
			   are not regular files below the prefix */
	uint64_t bytes; /* bytes freed */
};

/* Called for each dataset.  `why` is NULL: it is deleted; in a dry run it would
 * be. */
struct delete_listener {
	void (*done)(void *arg, int64_t id, const struct delete_result *r,
		     const struct error *why);
	void *arg;
};

/*
 * Delete datasets, in this order: the files that rank2file or filemaps name,
 * the metadata directory, directories that become empty (never the prefix
 * itself), and finally the index entry.  Files that no metadata name, and files
 * that a remaining dataset names, are kept.  The entry is marked COMPLETE = 0
 * first, so an interrupted delete never leaves a valid checkpoint; run it again
 * to finish.
 *
 * Stop at the first dataset that fails: those after it are unchanged, unless
 * the process was killed; then up to 128 of them may be marked incomplete.
 * ERROR_CORRUPT: the files of this or another dataset cannot be determined;
 * nothing of it was changed.  The metadata of every dataset are read once, the
 * index once for every 128 that are deleted.
 */
int catalogue_delete_all(struct catalogue *c, const int64_t *ids, size_t count,
			 const struct catalogue_options *o,
			 const struct delete_listener *listener,
			 struct error *err);

/* What a prune keeps; a dataset stays if one of the rules says so. */
struct catalogue_keep {
	size_t last;	   /* the newest valid ones; 0: one */
	size_t daily;	   /* the newest valid one of each of as many days that
			      have one */
	const char *since; /* those flushed at this stamp or later; or NULL */
	bool outputs;	   /* output datasets go, too, counted for themselves */
};

/* The ids of datasets to be deleted. */
struct catalogue_goes {
	const int64_t *ids;
	size_t count;
};

/*
 * Return the ids of the datasets that scr_index --prune deletes, oldest first,
 * for mem_free(): the checkpoints, valid or not, that no rule of `keep` keeps,
 * except the current one, and those newer than the keep->last newest valid
 * ones.  If there are fewer valid ones, nothing is deleted.  Without
 * keep->outputs, output datasets are kept.  On failure, return NULL with *count
 * (size_t)-1:  ERROR_DAMAGED:  `ix` was rebuilt, so it does not
 * reliably show which datasets to keep.
 */
int64_t *catalogue_prune(const struct catalogue *c, const struct index *ix,
			 const struct catalogue_keep *keep, size_t *count,
			 struct error *err);

/* Before these are deleted: ERROR_DAMAGED if fewer than keep->last of the
 * checkpoints that are kept are whole.  Their checksums and redundancy are
 * compared: all bytes are read. */
int catalogue_prune_check(struct catalogue *c, const struct index *ix,
			  const struct catalogue_goes *goes,
			  const struct catalogue_keep *keep,
			  const struct catalogue_options *o, struct error *err);

/* --- Words that name a dataset (word.h) --- */

/*
 * Return the id of the dataset that the word `text` names: one in the index,
 * with a directory, or in flush.scr.  `ix` may be NULL: there is no index.
 * -1: ERROR_ABSENT; ERROR_USAGE: the word is the name of one dataset and the
 * number of another, or the name of several.  A name in the index is that of
 * one dataset, whatever other datasets are called.
 */
int64_t catalogue_resolve(struct catalogue *c, const struct index *ix,
			  const char *text, struct error *err);

/* The same, after reading the index.  With `all`, a dataset in the index has no
 * precedence over others of its name. */
int64_t catalogue_resolve_now(struct catalogue *c, const char *text, bool all,
			      struct error *err);

/* Write the word for dataset `id`, for a command to be run: "4", or "id:4" if
 * another dataset is named "4".  Return `to`. */
const char *catalogue_word(struct catalogue *c, const struct index *ix,
			   int64_t id, char to[static WORD_ID_SIZE]);
const char *catalogue_word_now(struct catalogue *c, int64_t id,
			       char to[static WORD_ID_SIZE]);

/* The same as arguments of a function, valid until the end of the block. */
#define catalogue_word_str(c, ix, id) \
	catalogue_word(c, ix, id, (char[WORD_ID_SIZE]){ 0 })
#define catalogue_word_now_str(c, id) \
	catalogue_word_now(c, id, (char[WORD_ID_SIZE]){ 0 })

/* Does flush.scr say that dataset `id` is in the caches of the job's nodes? */
bool catalogue_in_cache(struct catalogue *c, int64_t id);

/* The name that its metadata or flush.scr record of dataset `id`, which the
 * index does not name; NULL: unknown.  Borrowed from `c`. */
const char *catalogue_recorded_name(struct catalogue *c, const struct index *ix,
				    int64_t id);

/* If the index lacks dataset `id`, but lists a newer one of its name, return
 * that one; else 0.  An index has one dataset of a name. */
int64_t catalogue_namesake(struct catalogue *c, const struct index *ix,
			   int64_t id);

/* Return the name of `e`, or "name:NAME" (in `scratch`) if the name alone does
 * not name it. */
const char *catalogue_name_word(struct catalogue *c, const struct index *ix,
				const struct index_entry *e,
				struct buf *scratch);

/* Write the words for datasets that begin with `typed`, one per line, newest
 * first: names of those in the index, or with "id:" numbers; and the numbers of
 * others that have a directory.  Check for write errors
 * with ferror(to). */
int catalogue_words(struct catalogue *c, const struct index *ix,
		    const char *typed, FILE *to, struct error *err);

/* Return the ids of all datasets in the index, newest first; or, if `text` is
 * not NULL, the one id from catalogue_resolve().  For mem_free(). */
int64_t *catalogue_ids(struct catalogue *c, const struct index *ix,
		       const char *text, size_t *count, struct error *err);

/* Return the ids of all directories PREFIX/.scr/scr.dataset.ID, ascending, for
 * mem_free().  On failure, *count is (size_t)-1. */
int64_t *catalogue_dirs(struct catalogue *c, size_t *count, struct error *err);

#endif /* CATALOGUE_CATALOGUE_H */
