/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - the state of the library between SCR_Init() and SCR_Finalize().
 * Nothing outlives SCR_Finalize(): the next SCR_Init() starts fresh. */
#ifndef SCR_RUN_H
#define SCR_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "scr/levels.h"
#include "scr/pacing.h"
#include "scr/params.h"
#include "scr/stores.h"
#include "team/groups.h"
#include "team/team.h"

struct arena;
struct conf;
struct cores; /* team/cores.h: where threads copy */
struct error;
struct held; /* held.h: the datasets in the caches */
struct held_set;
struct flights; /* flushing_async.c: flushes in the background */
struct owned;	/* owned.h: the owners of files on the prefix */
struct outset;	/* outset.h: the dataset being written */
struct restart; /* restart.h: the dataset being read */
struct kvtree;

struct run {
	struct team world, node; /* node: the ranks of this host */
	uint32_t nodes;		 /* number of hosts */
	const char *host;
	struct arena *arena; /* lives as long as the run */
	struct conf *conf;
	struct params p;
	struct groups groups;
	struct stores stores;
	struct levels levels;
	struct cores *cores; /* NULL: each rank copies alone */
	struct held *held;
	struct flights *flights; /* NULL: the job waits for each flush */
	struct owned *owned;	 /* NULL: no dataset in bypass yet */
	struct outset *out;	 /* NULL: no dataset is being written */
	struct restart *in;	 /* NULL: none is being read */
	/* Numbers of the last dataset and of the last checkpoint; `numbered`:
	 * no number on the prefix is higher. */
	int64_t dataset_id, ckpt_id;
	int64_t first_id; /* of the first dataset that this run wrote, or 0 */
	bool numbered;
	/*
	 * Times at which the application began to compute, and to write a
	 * dataset: by clock_seconds(); the latter in seconds since 1970, too.
	 */
	double computes_since, writes_since;
	int64_t writes_time;
	struct pacing pace;
	bool no_log; /* the log of events cannot be written */
	/* Rank 0: the contents of app.conf; it and nodes.scr are not written
	 * yet; the last onprefix_note() failed. */
	const char *app_conf;
	bool job_due, notes_fail;
	bool replaces; /* a flush has warned that older datasets are retired */
	bool no_redundancy; /* ... that there is none to be packed */
	bool one_prefix;    /* all nodes have the same one: flushing_plan.c */
	int64_t restart_id; /* the dataset to restart from; 0: none */
	struct held_set *away; /* it, if it stays on the prefix; or NULL */
	/* The dataset whose restart could not begin, and was not ended. */
	int64_t unbegun;
	bool rejected; /* the application has rejected a checkpoint */
	/* A file of `away` could not be copied into the cache, which says
	 * nothing of the checkpoint: none is read any more. */
	bool unread;
};

/* Start the run with the settings of SCR_Config(), step by step; on failure all
 * steps are undone.  Collective. */
struct run *run_begin(const struct kvtree *s, struct error *err);
void run_end(struct run *run);

#endif /* SCR_RUN_H */
