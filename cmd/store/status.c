/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - verbs status, list and gc of scr_store. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "conf.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "report/table.h"
#include "site/job.h"
#include "site/memory.h"
#include "site/resmgr.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

/* --- Which stores --- */

static void
add_name(void *to, const char *dir)
{
	struct store_names *n = to;

	if (MEM_ROOM(n->list, n->count, n->cap))
		n->list[n->count++] = mem_strdup(dir);
}

void
store_names_free(struct store_names *n)
{
	while (n->count > 0)
		mem_free(n->list[--n->count]);
	mem_free(n->list);
}

/* The stores of libscr: BASE/USER. */
static void
add_configured(struct store_names *to)
{
	const struct job_where where = { .prefix = NULL };
	const struct conf_group *g = NULL;
	struct error err = ERROR_INIT;
	struct job j;
	size_t n = 0;

	if (job_open(&j, &where, &err) < 0)
		app_usage("%s", err.text);
	n = conf_groups(j.conf, "STORE", &g);
	for (size_t i = 0; i < n; i++) {
		const char *type = conf_property(&g[i], "TYPE");

		if (type != NULL && strcasecmp(type, "MEMORY") == 0)
			add_name(to, str_printed(STORE_PATH_MAX, "%s/%s",
						 g[i].value, j.user));
	}
	job_close(&j);
}

void
store_names(struct store_names *to, char **args)
{
	const char *env = getenv("SCR_STORE");
	char *copy = mem_strdup(env != NULL ? env : ""), *rest = copy;
	const char *dir = NULL;

	*to = (struct store_names){ .list = NULL };
	for (; *args != NULL; args++)
		add_name(to, *args);
	while (to->count == 0 && (dir = strsep(&rest, ":")) != NULL)
		if (*dir != '\0')
			add_name(to, dir);
	mem_free(copy);
	if (to->count == 0)
		add_configured(to);
	if (to->count == 0)
		app_usage("no store given, in $SCR_STORE or configured: "
			  "scr_store list names those of this node");
}

/* --- status --- */

/* Does the job of the store run?  1, 0; -1: unknown. */
static int
job_runs(struct resmgr *r, const struct store_options *o)
{
	return r == NULL || o->job[0] == '\0' ? -1 : resmgr_runs(r, o->job);
}

static struct json *
status_json(const char *dir, const struct store_options *o,
	    const struct store_status *st, int runs)
{
	struct json *j = json_new_object(), *nodes = json_new_array();

	json_set_str(j, "store", dir);
	json_set_u64(j, "page", st->page);
	json_set_u64(j, "size", o->size);
	json_set_u64(j, "used", st->used);
	json_set_u64(j, "free", st->free);
	json_set_or_null(j, "least", st->least == 0 ? -1 : (int64_t)st->least);
	json_set_u64(j, "pool", o->pool);
	json_set_u64(j, "clean", st->clean);
	json_set_u64(j, "clean_files", st->clean_files);
	for (size_t i = 0; i < 64; i++)
		if (st->node_clean[i] > 0) {
			struct json *n = json_new_object();

			json_set_u64(n, "node", i);
			json_set_u64(n, "clean", st->node_clean[i]);
			json_push(nodes, n);
		}
	json_set(j, "numa", nodes);
	json_set_u64(j, "dirty", st->dirty);
	json_set_u64(j, "dirty_files", st->dirty_files);
	json_set_u64(j, "taken", st->taken_files);
	json_set_u64(j, "orphans", st->orphans);
	json_set_known_str(j, "spill", o->spill);
	json_set_known_str(j, "job", o->job);
	if (runs >= 0)
		json_set_bool(j, "runs", runs == 1);
	return j;
}

static void
status_row(struct table *t, const char *dir, const struct store_options *o,
	   const struct store_status *st, int runs)
{
	static const char *const runs_words[] = { "unknown", "ended", "runs" };
	struct buf warm = BUF_INIT;

	table_name(t, dir);
	table_size(t, st->page);
	table_cell(t, "%s", st->least == 0 ? "never" : str_size(st->least));
	table_size(t, o->size);
	table_size(t, st->used);
	buf_printf(&warm, "%s", str_size(st->clean));
	for (size_t i = 0; i < 64; i++)
		if (st->node_clean[i] > 0 && st->node_clean[i] != st->clean)
			buf_printf(&warm, " %zu:%s", i,
				   str_size(st->node_clean[i]));
	table_cell(t, "%s", warm.data);
	table_size(t, st->dirty);
	table_cell(t, "%" PRIu64 "/%" PRIu64, st->taken_files, st->orphans);
	table_name(t, o->spill[0] != '\0' ? o->spill : "-");
	if (o->job[0] == '\0')
		table_cell(t, "-");
	else
		table_cell(t, "%s (%s)", str_shown(o->job),
			   runs_words[runs + 1]);
	buf_free(&warm);
}

int
store_run_status(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };
	struct json *list = NULL, *answer = NULL;
	struct error err = ERROR_INIT;
	struct table t = { .arena = NULL };
	struct buf out = BUF_INIT;
	struct store_names names;
	struct resmgr *rm = NULL;
	int status = STATUS_OK;

	store_names(&names, store_start(c, opts, NULL));
	rm = resmgr_open(NULL, NULL, NULL);
	list = json_new_array();
	table_start(&t, "STORE|>PAGE|>COPIES|>SIZE|>USED|>WARM|>DIRTY|>TAKEN|"
			"SPILL|JOB");
	for (size_t i = 0; i < names.count; i++) {
		struct store *s = store_entered(names.list[i], &err);
		struct store_status st;
		struct store_options o;
		char dir[STORE_PATH_MAX];

		if (s != NULL && store_status(s, &st, &err) == 0) {
			store_options(s, &o);
			snprintf(dir, sizeof(dir), "%s", store_dir(s));
		}
		store_left(s);
		if (err.kind == ERROR_NONE) {
			const int runs = job_runs(rm, &o);

			json_push(list, status_json(dir, &o, &st, runs));
			status_row(&t, dir, &o, &st, runs);
		}
		status = app_report(status, &err);
	}
	table_drop_empty(&t);
	table_end(&t, 0, &out);
	answer = json_new_object();
	json_set(answer, "stores", list);
	if (app_json())
		app_answer(answer);
	else
		(void)app_print(&out);
	buf_free(&out);
	resmgr_close(rm);
	store_names_free(&names);
	return status;
}

int
store_run_list(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };
	struct json *list = json_new_array();
	struct store_names n = { .list = NULL };
	struct buf out = BUF_INIT;

	if (*store_start(c, opts, NULL) != NULL)
		app_usage("list takes no argument");
	memory_stores(add_name, &n);
	for (size_t i = 0; i < n.count; i++) {
		buf_printf(&out, "%s\n", str_shown(n.list[i]));
		json_push_str(list, n.list[i]);
	}
	store_names_free(&n);
	if (!app_json()) {
		json_free(list);
		return app_print(&out);
	}
	app_answer_list("stores", list);
	buf_free(&out);
	return STATUS_OK;
}

/* --- gc --- */

int
store_run_gc(const struct store_call *c)
{
	bool dry_run = false;
	const struct opt opts[] = {
		OPT_FLAG('n', "dry-run", &dry_run,
			 "only report which stores would be removed"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct store_names n = { .list = NULL };
	struct tend_done done = { .cleaned = 0 };
	struct resmgr *rm = NULL;
	int status = STATUS_OK;
	char **args = store_start(c, opts, NULL);

	if (*args != NULL)
		store_names(&n, args);
	else
		memory_stores(add_name, &n);
	rm = resmgr_open(NULL, NULL, NULL);
	for (size_t i = 0; i < n.count && !app_stop(); i++) {
		struct store *s = store_entered(n.list[i], &err);
		struct store_options o = { .size = 0 };
		bool gone = false;

		if (s != NULL)
			store_options(s, &o);
		store_left(s);
		gone = job_runs(rm, &o) == 0;
		s = s != NULL && !gone && !dry_run
			    ? store_entered(n.list[i], &err)
			    : NULL;
		/* Another process may tend it: so it is tended. */
		if (s != NULL && tend_once(s, &done, &err) < 0 &&
		    err.errnum == EWOULDBLOCK)
			error_clear(&err);
		store_left(s);
		if (gone && !dry_run)
			(void)store_remove(n.list[i], false, &err);
		if (gone && err.kind == ERROR_NONE)
			app_warn("%s: job %s has ended: %s", n.list[i], o.job,
				 dry_run ? "would be removed" : "removed");
		status = app_report(status, &err);
	}
	app_note("%" PRIu64 " files cleaned, %" PRIu64 " dropped, %" PRIu64
		 " recovered, %" PRIu64 " trimmed, %" PRIu64 " spilled",
		 done.cleaned, done.dropped, done.recovered, done.trimmed,
		 done.spilled);
	if (app_json()) {
		struct json *j = json_new_object();

		json_set_u64(j, "cleaned", done.cleaned);
		json_set_u64(j, "dropped", done.dropped);
		json_set_u64(j, "recovered", done.recovered);
		json_set_u64(j, "trimmed", done.trimmed);
		json_set_u64(j, "spilled", done.spilled);
		app_answer(j);
	}
	resmgr_close(rm);
	store_names_free(&n);
	return status;
}
