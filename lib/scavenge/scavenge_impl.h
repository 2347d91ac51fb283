/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge_impl.h - shared by the sources of scavenge.h and salvage.h.
 */
#ifndef SCAVENGE_SCAVENGE_IMPL_H
#define SCAVENGE_SCAVENGE_IMPL_H

#include "container/joint.h"
#include "hostlist.h"
#include "scavenge/scavenge.h"

struct json_value;

/* Set state, why and missing of `d`, after its ranks were assigned to nodes. */
void scavenge_judge(struct salvage *p, struct salvage_dataset *d);

/* --- ask.c --- */

/* List the caches of all nodes, and mark those that failed. */
int scavenge_ask(struct scavenge *s, struct error *err);

/*
 * ERROR_SYSTEM: no node that took part in the job has a directory of it, though
 * something may be left to save.  We look for the wrong job, or in the wrong
 * place: nothing is known to be lost.
 */
int scavenge_check_places(const struct scavenge *s, struct error *err);

/* --- known.c --- */

/* Read the index and flush.scr, which list the datasets that are or should be
 * on the prefix.  Verify those that decide which datasets are saved. */
int scavenge_add_known(struct scavenge *s, struct error *err);

/* Verify the datasets that decide which are saved: all output, and checkpoints
 * from the newest on to the first that is or can be saved. */
int scavenge_look_ahead(struct scavenge *s, struct error *err);

/* Verify, once, a dataset that the index claims to be on the prefix; sets
 * d->done or d->flaw. */
int scavenge_look(struct scavenge *s, struct salvage_dataset *d,
		  struct error *err);

/* Can the dataset be on the prefix after this run? */
bool scavenge_is_hopeful(const struct salvage_dataset *d);

/* Can the dataset be repaired on the prefix, without a copy? */
bool scavenge_is_mendable(const struct salvage_dataset *d);

/* Was a stop requested?  Once true, s->stopped stays set. */
bool scavenge_stop(struct scavenge *s);

/* Note what is wrong with a node, and report to the log what was noted. */
void scavenge_complain(struct scavenge *s, uint32_t node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void scavenge_report(struct scavenge *s);

/* Why the command failed on a node: the first line of its stderr is the most
 * exact reason.  It may be in to[size]. */
const char *scavenge_reason(const struct remote_result *r, char *to,
			    size_t size);

/* The command did not end on the node: conclude its state.  Its cache is not
 * used.  It may have what is missing, unless it is dead. */
int scavenge_unreached(struct scavenge *s, uint32_t node,
		       const struct remote_result *r, struct error *err);

/* A call of scr_copy on many nodes. */
/* Without a limit of the user, a node may take so many seconds to list its
 * cache, and a second more for so many bytes to copy: one that only talks would
 * never end. */
#define SCAVENGE_SECONDS 600.0
#define SCAVENGE_RATE (1 << 20)
#define SCAVENGE_ARGS 12 /* arguments that the caller may add to argv */
struct scavenge_call {
	size_t argc;
	const char **argv; /* in the arena of the scavenge */
	struct remote_options remote;
	struct hostlist hosts;
	struct remote_result *results; /* one for each node */
};

/* Set the arguments that all calls share. */
void scavenge_call_init(struct scavenge_call *c, struct scavenge *s);
/* Add an option with a value, which is borrowed. */
void scavenge_call_add(struct scavenge_call *c, const char *option,
		       const char *value);
/* Run it on `count` nodes, given by their numbers. */
int scavenge_call_run(struct scavenge_call *c, struct scavenge *s,
		      const uint32_t *nodes, size_t count, struct error *err);
void scavenge_call_end(struct scavenge_call *c);

/* The next line of *text that is a JSON object, for json_release(); NULL: there
 * are no more. */
struct json_value *scavenge_next_json(const char **text);

/* Let the nodes copy the dataset to the prefix. */
int scavenge_copy(struct scavenge *s, struct salvage_dataset *d,
		  struct error *err);

/* --- gather_pack.c --- */

/* A dataset that its nodes copy straight into containers. */
struct scavenge_packing {
	const struct salvage_dataset *d;
	int root_fd;   /* the directory of the dataset */
	uint64_t size; /* bytes of a container */
	struct joint_how how;
	uint32_t nranks; /* of the job */
	uint32_t *order; /* these, as packed */
};

/* 1: the dataset goes into containers, and the layout is written for the nodes;
 * 0: as files; -1.  `dir` is its directory, below the prefix.
 * scavenge_packing_end() must follow. */
int scavenge_packing_begin(struct scavenge_packing *k, struct scavenge *s,
			   const struct salvage_dataset *d, const char *dir,
			   struct error *err);
/* All nodes have copied all: name the containers, and write the map. */
int scavenge_packing_place(struct scavenge_packing *k, struct error *err);
void scavenge_packing_end(struct scavenge_packing *k);

/* --- save.c --- */

/* `text` without the prefix "dataset ID: " or "scr.dataset.ID: ". */
const char *scavenge_without_id(const char *text, int64_t id);

/* Copy, rebuild and index one dataset, and set d->done if it is saved.  -1: the
 * scavenge could not act, or was stopped. */
int scavenge_save(struct scavenge *s, struct salvage_dataset *d,
		  struct error *err);

/* Find out how many bytes of the dataset a run will copy: d->bytes. */
int scavenge_measure(struct scavenge *s, struct salvage_dataset *d,
		     struct error *err);

/* Leave `d` in the caches: a dataset that stays is in the way, as `why`
 * tells. */
void scavenge_yield(struct scavenge *s, struct salvage_dataset *d,
		    enum salvage_taken how, const char *why);

/* Leave `d` in the caches if another dataset that is valid in the index has its
 * number.  The index is read again: another job may have written one since.
 * With `copied`, nodes have copied files of `d`: the other one must not keep
 * their metadata. */
int scavenge_check_number(struct scavenge *s, struct salvage_dataset *d,
			  bool copied, struct error *err);

/* Is the dataset `e` of the index later than `d`?  If flush.scr lists `d` as
 * one of this job, the job is the last that ran on the prefix. */
bool scavenge_is_later(const struct scavenge *s, const struct index_entry *e,
		       const struct salvage_dataset *d);

/* Mark `d` in the index as the checkpoint to restart from. */
int scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
			  struct error *err);

/* Set s->restart: the verdict names the restart point if it is not the
 * checkpoint that is or can be saved; without one, that of the index which is
 * whole. */
int scavenge_find_restart(struct scavenge *s, struct error *err);

/* Delete checkpoints older than the newest s->o->keep.  If that fails, nothing
 * is lost: it is only reported. */
void scavenge_prune(struct scavenge *s);

/* Remove from the caches the datasets that are whole on the prefix.  What is
 * removed and what is left is logged. */
int scavenge_clean(struct scavenge *s, struct error *err);

/*
 * Pack the saved datasets, and checkpoint `was`, the restart point before the
 * run (0: none).  LLNL's library cannot fetch packed datasets, so the present
 * restart point is not packed, unless s->o->pack_current.  If packing fails,
 * this is logged, and the dataset stays as files.
 */
void scavenge_pack(struct scavenge *s, int64_t was);

#endif /* SCAVENGE_SCAVENGE_IMPL_H */
