/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * params.h - the parameters in force, the same on all ranks (scrkit.conf(5)).
 * Rank 0 reads the configuration files; the application has set others with
 * SCR_Config(). conf.h has the precedence.
 */
#ifndef SCR_PARAMS_H
#define SCR_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct conf;
struct error;
struct settings;
struct team;

struct params {
	bool enable;
	/* User, job and directories. */
	const char *prefix; /* absolute, normal */
	const char *user, *job_id;
	const char *job_name, *cluster; /* NULL: not recorded */
	const char *cntl_base, *cache_base;
	/* Cache. */
	uint64_t cache_size;
	bool cache_bypass, cache_purge;
	const char *copy_type, *group;
	uint32_t set_size, set_failures;
	uint64_t mpi_buf_size; /* bytes */
	bool copy_metadata;
	bool crc_on_flush; /* sums of files that bypass the cache */
	/* Restart and fetch. */
	bool distribute, fetch, fetch_bypass, flush_on_restart, global_restart;
	bool any_ranks;	 /* of any job's checkpoint all ranks read all files */
	bool start_over; /* although checkpoints exist */
	uint32_t fetch_width, restart_attempts;
	const char *current; /* SCR_CURRENT; NULL: not set */
	bool drop_after_current;
	/* Flush. */
	uint32_t flush;	      /* flush every `flush` checkpoints; 0: never */
	uint32_t flush_width; /* ranks that copy at a time */
	uint64_t flush_bw;    /* bytes per second of all ranks; 0: no limit */
	double flush_percent; /* of the time that a rank copies; 0: all */
	bool flush_async;
	bool flush_poststage; /* SCR_Finalize() waits for no flush */
	const char *flush_type;
	bool use_containers;
	uint64_t container_size, container_align; /* bytes; not 0 */
	bool container_redundancy;
	uint64_t prefix_size;
	bool prefix_purge;
	/* Pace. */
	uint64_t ckpt_interval, ckpt_seconds;
	double ckpt_overhead; /* percent */
	bool ckpt_implied;    /* none of these is set: INTERVAL_SECONDS */
	uint64_t halt_seconds;
	bool halt_exit;
	uint32_t debug;
};

/*
 * Read the configuration: on rank 0 the files, on every rank the environment.
 * The values of rank 0 count on all ranks, except cntl_base and cache_base.
 * Values that do not parse are replaced by their built-in ones; conf_notice()
 * on rank 0 reports them.  *c is for conf_close(); the strings of *p lie in *c
 * or `a`.  `s` has the settings of SCR_Config(); NULL: none.  Collective.
 * ERROR_NOMEM; ERROR_USAGE: the user or the job id cannot be part of a path.
 */
int params_read(struct params *p, struct conf **c, const struct settings *s,
		const struct team *world, struct arena *a, struct error *err);

/* The value of `key` in force; NULL: none, or the built-in one. */
const char *params_value(const struct params *p, const struct conf *c,
			 const char *key);

#endif /* SCR_PARAMS_H */
