/* SPDX-License-Identifier: BSD-3-Clause */
/* conf_builtin.c - default values of the parameters, as in LLNL's SCR
 * (libscr.md 3.4).  If its guide and its code disagree, the code counts. */
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_impl.h"

struct builtin {
	const char *key, *value;
};

/* In alphabetical order, for bsearch. */
static const struct builtin table[] = {
	{ "SCR_CACHE_BASE", "/dev/shm" },
	{ "SCR_CACHE_BYPASS", "1" },
	{ "SCR_CACHE_PURGE", "0" },
	{ "SCR_CACHE_SIZE", "1" },
	{ "SCR_CHECKPOINT_INTERVAL", "0" },
	{ "SCR_CHECKPOINT_OVERHEAD", "0.0" },
	{ "SCR_CHECKPOINT_SECONDS", "0" },
	{ "SCR_CNTL_BASE", "/dev/shm" },
	{ "SCR_CONTAINER_REDUNDANCY", "0" },
	{ "SCR_CONTAINER_SIZE", "107374182400" },
	{ "SCR_COPY_TYPE", "XOR" },
	{ "SCR_CRC_ON_COPY", "0" },
	{ "SCR_CRC_ON_DELETE", "0" },
	{ "SCR_CRC_ON_FLUSH", "1" },
	{ "SCR_DEBUG", "0" },
	{ "SCR_DISTRIBUTE", "1" },
	{ "SCR_DROP_AFTER_CURRENT", "0" },
	{ "SCR_ENABLE", "1" },
	{ "SCR_FETCH", "1" },
	{ "SCR_FETCH_BYPASS", "0" },
	{ "SCR_FETCH_WIDTH", "256" },
	{ "SCR_FILE_BUF_SIZE", "33554432" },
	{ "SCR_FLUSH", "10" },
	{ "SCR_FLUSH_ASYNC", "0" },
	{ "SCR_FLUSH_ASYNC_BW", "209715200" },
	{ "SCR_FLUSH_ASYNC_PERCENT", "0.0" },
	{ "SCR_FLUSH_ASYNC_USLEEP", "1000" },
	{ "SCR_FLUSH_ON_RESTART", "0" },
	{ "SCR_FLUSH_POSTSTAGE", "0" },
	{ "SCR_FLUSH_TYPE", "SYNC" },
	{ "SCR_FLUSH_WIDTH", "256" },
	{ "SCR_GLOBAL_RESTART", "0" },
	{ "SCR_GROUP", "NODE" },
	{ "SCR_HALT_EXIT", "0" },
	{ "SCR_HALT_SECONDS", "0" },
	{ "SCR_LOG_DB_DEBUG", "0" },
	{ "SCR_LOG_DB_ENABLE", "0" },
	{ "SCR_LOG_ENABLE", "0" },
	{ "SCR_LOG_SYSLOG_ENABLE", "1" },
	{ "SCR_LOG_TXT_ENABLE", "1" },
	{ "SCR_MPI_BUF_SIZE", "1048576" },
	{ "SCR_PREFIX_PURGE", "0" },
	{ "SCR_PREFIX_SIZE", "0" },
	{ "SCR_RUNS", "1" },
	{ "SCR_SET_FAILURES", "2" },
	{ "SCR_SET_SIZE", "8" },
	{ "SCR_USE_CONTAINERS", "0" },
	{ "SCR_WATCHDOG", "0" },
};

#define COUNT (sizeof(table) / sizeof(table[0]))

static int
compare(const void *key, const void *entry)
{
	return strcmp(key, ((const struct builtin *)entry)->key);
}

const char *
conf_find_builtin(const char *key)
{
	const struct builtin *b =
		bsearch(key, table, COUNT, sizeof(table[0]), compare);

	return b != NULL ? b->value : NULL;
}

size_t
conf_builtins(void)
{
	return COUNT;
}

const char *
conf_builtin(size_t i, const char **value)
{
	if (i >= COUNT)
		return NULL;
	*value = table[i].value;
	return table[i].key;
}
