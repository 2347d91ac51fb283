/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - shared by the files of scr_store.
 */
#ifndef CMD_STORE_VERBS_H
#define CMD_STORE_VERBS_H

#include "app.h"
#include "opt.h"

/* The call of a verb. */
struct store_call {
	const struct store_verb *verb;
	int argc;
	char **argv;
};

struct store_verb {
	const char *name;
	const char *usage, *summary;
	int (*run)(const struct store_call *c); /* returns an exit status */
};

/* app_start() for a verb: parse the options, set *count (or NULL) and return
 * the other arguments. */
char **store_start(const struct store_call *c, const struct opt *opts,
		   int *count);

int store_run_mount(const struct store_call *c);
int store_run_rm(const struct store_call *c);
int store_run_status(const struct store_call *c);
int store_run_list(const struct store_call *c);
int store_run_populate(const struct store_call *c);
int store_run_gc(const struct store_call *c);
int store_run_run(const struct store_call *c);
int store_run_drain(const struct store_call *c);
int store_run_extents(const struct store_call *c);
int store_run_check(const struct store_call *c);
int store_run_bench(const struct store_call *c);

#endif /* CMD_STORE_VERBS_H */
