/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - verbs status and gc of scr_store. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "report/table.h"
#include "site/job.h"
#include "site/resmgr.h"
#include "store/spill.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

/* --- Which stores --- */

/* Add the store `dir`, or the stores in it of those that the caller may enter;
 * if there are none, `dir` itself. */
static void
add_name(struct opt_list *to, const char *dir)
{
	char pattern[PATH_MAX];
	glob_t g = { .gl_pathc = 0 };
	size_t i = 0;

	snprintf(pattern, sizeof(pattern), "%s/" STORE_META, dir);
	if (access(pattern, F_OK) < 0) {
		snprintf(pattern, sizeof(pattern), "%s/?*/" STORE_META, dir);
		(void)glob(pattern, GLOB_NOESCAPE, NULL, &g);
	}
	do {
		char *name = mem_strdup(i < g.gl_pathc ? g.gl_pathv[i] : dir);

		if (i < g.gl_pathc)
			*strrchr(name, '/') = '\0';
		if (MEM_ROOM(to->items, to->count, to->cap))
			to->items[to->count++] = name;
	} while (++i < g.gl_pathc);
	globfree(&g);
}

void
store_names(struct opt_list *to, char **args)
{
	const char *env = getenv("SCR_STORE"), *dir = NULL;
	char *copy = mem_strdup(env != NULL ? env : ""), *rest = copy;
	const struct job_where where = { .prefix = NULL };
	const struct conf_group *g = NULL;
	struct error err = ERROR_INIT;
	struct job j;
	size_t n = 0;

	for (; *args != NULL; args++)
		add_name(to, *args);
	for (n = to->count; n == 0 && (dir = strsep(&rest, ":")) != NULL;)
		if (*dir != '\0')
			add_name(to, dir);
	mem_free(copy);
	if (to->count > 0)
		return;
	if (job_open(&j, &where, &err) < 0)
		app_usage("%s", err.text);
	n = conf_groups(j.conf, "STORE", &g);
	for (size_t i = 0; i < n; i++) {
		dir = conf_property(&g[i], "TYPE");
		if (dir != NULL && strcasecmp(dir, "MEMORY") == 0)
			add_name(to, geteuid() == 0
					     ? g[i].value
					     : str_printed(PATH_MAX, "%s/%s",
							   g[i].value, j.user));
	}
	job_close(&j);
	if (to->count == 0)
		app_usage("no store is named, in $SCR_STORE or configured");
}

void
store_names_free(struct opt_list *l)
{
	while (l->count > 0)
		mem_free((char *)l->items[--l->count]);
	opt_list_free(l);
}

/* Does the job of the store run?  1, 0; -1: unknown. */
static int
job_runs(struct resmgr *r, const char *job)
{
	return r == NULL || job[0] == '\0' ? -1 : resmgr_runs(r, job);
}

/* --- status --- */

static const struct fact {
	const char *key;
	size_t at;
	bool bytes;
} facts[] = {
#define FACT(key, name) key, offsetof(struct store_status, name)
	{ FACT("page", page), true },
	{ FACT("least", least), true },
	{ FACT("memory_size", size), true },
	{ FACT("memory_used", used), true },
	{ FACT("memory_free", free), true },
	{ FACT("clean_bytes", clean), true },
	{ FACT("dirty_bytes", dirty), true },
	{ FACT("spilled_bytes", spilled), true },
	{ FACT("clean_files", clean_files), false },
	{ FACT("dirty_files", dirty_files), false },
	{ FACT("taken_files", taken_files), false },
	{ FACT("orphans", orphans), false },
};
#define FACTS (sizeof(facts) / sizeof(facts[0]))

static void
add_status(struct table *t, struct json *list, const char *dir,
	   const struct store_options *o, const struct store_status *st,
	   int runs)
{
	static const char *const words[] = { "unknown", "ended", "runs" };
	struct json *j = json_new_object(), *nodes = json_new_array();

	table_name(t, dir);
	json_set_str(j, "store", dir);
	for (const struct fact *f = facts; f < facts + FACTS; f++) {
		const uint64_t *is = (const void *)((const char *)st + f->at);

		json_set_u64(j, f->key, *is);
		if (f->bytes)
			table_size(t, *is);
	}
	table_cell(t, "%s", o->job[0] == '\0' ? "-" : str_shown(o->job));
	table_cell(t, "%s", o->job[0] == '\0' ? "-" : words[runs + 1]);
	for (size_t i = 0; i < 64; i++)
		if (st->node_clean[i] > 0) {
			struct json *n = json_new_object();

			json_set_u64(n, "numa_node", i);
			json_set_u64(n, "clean_bytes", st->node_clean[i]);
			json_push(nodes, n);
			app_note("%s: NUMA node %zu: %s clean", dir, i,
				 str_size(st->node_clean[i]));
		}
	json_set(j, "numa", nodes);
	json_set_u64(j, "size_limit", o->size);
	json_set_u64(j, "pool_limit", o->pool);
	json_set_known_str(j, "spill", o->spill);
	json_set_known_str(j, "job_id", o->job);
	if (runs >= 0)
		json_set_bool(j, "job_runs", runs == 1);
	json_push(list, j);
}

int
store_run_status(const struct app_call *c)
{
	const struct opt opts[] = { OPT_END };
	struct json *list = json_new_array();
	struct error err = ERROR_INIT;
	struct opt_list names = { .count = 0 };
	struct buf out = BUF_INIT;
	struct resmgr *rm = NULL;
	struct table t;
	int count = 0, status = STATUS_OK;

	store_names(&names, store_start(c, opts, &count));
	rm = resmgr_open(NULL, NULL, NULL);
	table_start(&t, "STORE|>PAGE|>LEAST|>SIZE|>USED|>FREE|>CLEAN|>DIRTY|"
			">SPILLED|JOB|STATE");
	for (size_t i = 0; i < names.count; i++) {
		struct store *s = store_entered(names.items[i], &err);
		struct store_status st;
		struct store_options o;
		char dir[STORE_PATH_MAX], path[PATH_MAX];

		if (s != NULL && store_status(s, &st, &err) == 0) {
			store_options(s, &o);
			snprintf(dir, sizeof(dir), "%s", store_dir(s));
			if (spill_dir(s, path)[0] != '\0')
				(void)io_tree_size(AT_FDCWD, path, &st.spilled,
						   NULL);
		}
		store_left(s);
		if (err.kind == ERROR_NONE)
			add_status(&t, list, dir, &o, &st, job_runs(rm, o.job));
		status = app_report(status, &err);
	}
	table_drop_empty(&t);
	table_end(&t, 0, &out);
	app_answer_list("stores", list);
	if (!app_json())
		(void)app_print(&out);
	buf_free(&out);
	resmgr_close(rm);
	store_names_free(&names);
	return status;
}

/* --- gc --- */

int
store_run_gc(const struct app_call *c)
{
	bool dry_run = false, unlinked = false;
	const struct opt opts[] = {
		OPT_FLAG('n', "dry-run", &dry_run,
			 "only report which stores would be removed"),
		OPT_FLAG(0, "unlinked", &unlinked,
			 "remove spilled files to which no link in the store "
			 "leads"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct opt_list names = { .count = 0 };
	uint64_t swept = 0;
	struct tend_done done = { .cleaned = 0 };
	struct resmgr *rm = NULL;
	struct json *j = NULL;
	int count = 0, status = STATUS_OK;

	store_names(&names, store_start(c, opts, &count));
	rm = resmgr_open(NULL, NULL, NULL);
	for (size_t i = 0; i < names.count && !app_stop(); i++) {
		const char *dir = names.items[i];
		struct store_options o = { .job = "" };
		struct store *s = store_entered(dir, &err);
		bool gone = false;

		if (s != NULL)
			store_options(s, &o);
		store_left(s);
		gone = job_runs(rm, o.job) == 0;
		s = NULL;
		if (err.kind == ERROR_NONE && !gone && !dry_run) {
			s = store_entered(dir, &err);
			if (s != NULL)
				(void)tend_once(s, &done, &err);
			if (s != NULL && unlinked && err.kind == ERROR_NONE)
				(void)spill_sweep(s, &swept, &err);
			store_left(s);
		} else if (err.kind == ERROR_NONE && gone && !dry_run) {
			(void)store_remove(dir, false, &err);
		}
		/* Another process tends it, or it is none. */
		if (err.errnum == EWOULDBLOCK || err.kind == ERROR_ABSENT)
			error_clear(&err);
		else if (gone && err.kind == ERROR_NONE)
			app_warn("%s: job %s has ended: %s", dir, o.job,
				 dry_run ? "would be removed" : "removed");
		status = app_report(status, &err);
	}
	app_note("%" PRIu64 " files cleaned, %" PRIu64 " dropped, %" PRIu64
		 " recovered, %" PRIu64 " trimmed, %" PRIu64 " spilled",
		 done.cleaned, done.dropped, done.recovered, done.trimmed,
		 done.spilled);
	j = json_new_object();
	json_set_u64(j, "files_cleaned", done.cleaned);
	json_set_u64(j, "files_dropped", done.dropped);
	json_set_u64(j, "files_recovered", done.recovered);
	json_set_u64(j, "files_trimmed", done.trimmed);
	json_set_u64(j, "files_spilled", done.spilled);
	json_set_u64(j, "spilled_files_removed", swept);
	app_answer(j);
	resmgr_close(rm);
	store_names_free(&names);
	return status;
}
