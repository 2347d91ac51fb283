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
struct kvtree;
struct team;

/* Type, member and name; kind and limits are in the table of conf.h. */
/* clang-format off */
#define PARAMS(X) \
	X(const char *, prefix, "SCR_PREFIX") /* absolute, normal */ \
	X(const char *, user, "SCR_USER_NAME") \
	X(const char *, job_id, "SCR_JOB_ID") \
	X(bool, enable, "SCR_ENABLE") \
	X(const char *, job_name, "SCR_JOB_NAME") /* NULL: not recorded */ \
	X(const char *, cluster, "SCR_CLUSTER_NAME") /* the same */ \
	X(uint64_t, cache_size, "SCR_CACHE_SIZE") \
	X(bool, cache_bypass, "SCR_CACHE_BYPASS") \
	X(bool, cache_purge, "SCR_CACHE_PURGE") \
	X(const char *, copy_type, "SCR_COPY_TYPE") \
	X(const char *, group, "SCR_GROUP") \
	X(uint32_t, set_size, "SCR_SET_SIZE") \
	X(uint32_t, set_failures, "SCR_SET_FAILURES") \
	X(uint64_t, mpi_buf_size, "SCR_MPI_BUF_SIZE") /* bytes */ \
	X(bool, copy_metadata, "SCR_COPY_METADATA") \
	X(bool, crc_on_flush, "SCR_CRC_ON_FLUSH") /* of files in bypass */ \
	X(bool, distribute, "SCR_DISTRIBUTE") \
	X(bool, fetch, "SCR_FETCH") \
	X(bool, fetch_bypass, "SCR_FETCH_BYPASS") \
	X(uint32_t, fetch_width, "SCR_FETCH_WIDTH") \
	X(bool, any_ranks, "SCR_RESTART_ANY_RANKS") \
	X(uint32_t, restart_attempts, "SCR_RESTART_ATTEMPTS") \
	X(bool, start_over, "SCR_START_OVER") /* although checkpoints exist */ \
	X(bool, flush_on_restart, "SCR_FLUSH_ON_RESTART") \
	X(bool, global_restart, "SCR_GLOBAL_RESTART") \
	X(const char *, current, "SCR_CURRENT") /* NULL: not set */ \
	X(bool, drop_after_current, "SCR_DROP_AFTER_CURRENT") \
	X(uint32_t, flush, "SCR_FLUSH") /* 0: never */ \
	X(uint32_t, flush_width, "SCR_FLUSH_WIDTH") /* ranks at a time */ \
	X(uint64_t, flush_bw, "SCR_FLUSH_ASYNC_BW") /* bytes/s of all */ \
	X(double, flush_percent, "SCR_FLUSH_ASYNC_PERCENT") /* 0: all */ \
	X(bool, flush_async, "SCR_FLUSH_ASYNC") \
	X(bool, flush_poststage, "SCR_FLUSH_POSTSTAGE") \
	X(const char *, flush_type, "SCR_FLUSH_TYPE") \
	X(bool, use_containers, "SCR_USE_CONTAINERS") \
	X(uint64_t, container_size, "SCR_CONTAINER_SIZE") /* bytes; not 0 */ \
	X(uint64_t, container_align, "SCR_CONTAINER_ALIGN") /* the same */ \
	X(bool, container_redundancy, "SCR_CONTAINER_REDUNDANCY") \
	X(uint64_t, prefix_size, "SCR_PREFIX_SIZE") \
	X(bool, prefix_purge, "SCR_PREFIX_PURGE") \
	X(uint64_t, ckpt_interval, "SCR_CHECKPOINT_INTERVAL") \
	X(uint64_t, ckpt_seconds, "SCR_CHECKPOINT_SECONDS") \
	X(double, ckpt_overhead, "SCR_CHECKPOINT_OVERHEAD") /* percent */ \
	X(uint64_t, halt_seconds, "SCR_HALT_SECONDS") \
	X(bool, halt_exit, "SCR_HALT_EXIT") \
	X(uint32_t, debug, "SCR_DEBUG")
/* clang-format on */

struct params {
#define PARAMS_MEMBER(type, member, name) type member;
	PARAMS(PARAMS_MEMBER)
	const char *cntl_base, *cache_base; /* of this rank */
	bool ckpt_implied; /* no SCR_CHECKPOINT_...: INTERVAL_SECONDS */
};

/*
 * Read the configuration: on rank 0 the files, on every rank the environment.
 * The values of rank 0 count on all ranks, except cntl_base and cache_base.
 * Values that do not parse are replaced by their built-in ones; conf_notice()
 * on rank 0 reports them.  *c is for conf_close(); the strings of *p lie in *c
 * or `a`.  `s` has the settings of SCR_Config(); NULL: none.  Collective.
 * ERROR_NOMEM; ERROR_USAGE: the user or the job id cannot be part of a path.
 */
int params_read(struct params *p, struct conf **c, const struct kvtree *s,
		const struct team *world, struct arena *a, struct error *err);

/* The value of `key` in force; NULL: none, or the built-in one. */
const char *params_value(const struct params *p, const struct conf *c,
			 const char *key);

#endif /* SCR_PARAMS_H */
