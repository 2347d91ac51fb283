/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.c - verbs of scr_env: the job, its parameters, node lists.
 */
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "conf.h"
#include "env.h"
#include "error.h"
#include "hostlist.h"
#include "json.h"
#include "num.h"
#include "run/runfile.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* --- The job --- */

/* Append a list of nodes as a line; an empty list appends nothing, or 0 if the
 * number was requested. */
static void
put_nodes(const struct hostlist *h, const struct env_look *l, struct buf *out)
{
	if (l->count) {
		buf_printf(out, "%zu\n", h->count);
	} else if (h->count > 0) {
		if (l->plain)
			(void)hostlist_plain(
				h, l->separator != NULL ? l->separator : ",",
				out, NULL);
		else
			(void)hostlist_text(h, out, NULL);
		buf_add_char(out, '\n');
	}
}

static void
put_dirs(const struct job_cache *dirs, size_t count, const struct env_look *l,
	 struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s%s", l->base ? dirs[i].base : dirs[i].dir,
			   l->line && i + 1 < count ? " " : "\n");
}

int
env_ask(const struct job_where *w, const enum env_question *q, size_t count,
	const struct env_look *l)
{
	struct hostlist down = HOSTLIST_INIT;
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	int64_t n = 0;
	struct job j;
	int rc = env_open_job(&j, w, &err);

	if (rc < 0)
		return app_report(STATUS_OK, &err);
	for (size_t i = 0; i < count && rc == 0; i++)
		switch (q[i]) {
		case ENV_NODES:
		case ENV_DOWN:
			rc = env_job_nodes(&j, &err);
			if (rc == 0 && q[i] == ENV_DOWN)
				rc = resmgr_down(j.rm, &j.nodes, &down, &err);
			if (rc == 0)
				put_nodes(q[i] == ENV_DOWN ? &down : &j.nodes,
					  l, &out);
			hostlist_free(&down);
			break;
		case ENV_CNTL:
			/* scr_list_dir prints all of them, the verbs only
			 * one. */
			put_dirs(j.cntls, l->line ? j.ncntls : 1, l, &out);
			break;
		case ENV_CACHE:
			put_dirs(j.caches, j.ncaches, l, &out);
			break;
		case ENV_END_TIME:
		case ENV_RUN_NODES:
			rc = q[i] == ENV_END_TIME
				     ? job_end_time(&j, &n, &err)
				     : jobfiles_nodes(j.prefix, &n, &err);
			if (rc == 0)
				buf_printf(&out, "%" PRId64 "\n", n);
			break;
		case ENV_USER:
		case ENV_JOB_ID:
			buf_printf(&out, "%s\n",
				   q[i] == ENV_USER ? j.user : j.id);
			break;
		}
	job_close(&j);
	return env_finish(rc, &out, &err);
}

int
env_question(const struct env_call *c)
{
	const bool argument = c->tool->which == ENV_ARGUMENT;
	enum env_question q =
		argument ? ENV_CNTL : (enum env_question)c->tool->which;
	struct job_where w = { .prefix = NULL };
	struct env_look l = { .line = argument };
	const struct opt of_nodes[] = {
		OPT_FLAG('e', "expand", &l.plain,
			 "every name, separated by commas"),
		OPT_FLAG('c', "count", &l.count, "only the number of nodes"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	const struct opt of_dirs[] = {
		OPT_FLAG('b', "base", &l.base, "without user and job"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	int count = 0;
	char **args = env_start(c,
				q == ENV_NODES			  ? of_nodes
				: q == ENV_CNTL || q == ENV_CACHE ? of_dirs
								  : of_dirs + 1,
				&count);

	if (!argument && count > 0)
		app_unexpected(args[0]);
	if (argument && count != 1)
		app_usage("no kind of directory given: control or cache");
	if (argument && str_eq(args[0], "cache"))
		q = ENV_CACHE;
	else if (argument && !str_eq(args[0], "control"))
		app_usage("%s: neither control nor cache", args[0]);
	return env_ask(&w, &q, 1, &l);
}

int
env_run(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	const struct opt opts[] = { ENV_JOB_OPTIONS(w), OPT_END };
	struct json *json = NULL;
	struct job j;
	int rc = 0;

	env_start(c, opts, NULL);
	if (env_open_job(&j, &w, &err) < 0)
		return app_report(STATUS_OK, &err);
	json = app_json() ? json_new_object() : NULL;
	rc = run_record_show(j.prefix, "", &out, json, &err);
	if (rc == 0 && json != NULL)
		app_answer(json);
	else if (rc == 0 && out.len == 0)
		app_note("%s: scr_run was not used", j.prefix_real);
	else
		json_free(json);
	job_close(&j);
	return env_finish(rc, &out, &err);
}

/* --- Parameters --- */

struct listing {
	struct job *job;
	bool value; /* print only the value */
	struct json *list;
	struct buf out;
};

/* A value in force. */
struct shown {
	const char *name, *value;
	const char *source;	    /* "environment", the path of a file, ... */
	size_t line;		    /* of that file; 0: none */
	const struct conf_param *p; /* NULL: a key that is no parameter */
};

/* "NAME=VALUE", the source, and for numbers the unit, with tabs between. */
static void
put_shown(struct listing *t, const struct shown *s)
{
	const char *unit = s->p == NULL	   ? NULL
			   : s->p->ignored ? "no effect"
					   : s->p->unit;

	if (t->list != NULL) {
		struct json *j = json_new_object();

		json_set_str(j, "name", s->name);
		json_set_str(j, "value", s->value);
		json_set_str(j, "source", s->source);
		if (s->line > 0)
			json_set_u64(j, "line", s->line);
		if (s->p != NULL && s->p->unit != NULL)
			json_set_str(j, "unit", s->p->unit);
		if (s->p != NULL)
			json_set_bool(j, "ignored", s->p->ignored);
		json_push(t->list, j);
		return;
	}
	if (t->value) {
		buf_printf(&t->out, "%s\n", s->value);
		return;
	}
	buf_printf(&t->out, "%s=%s\t%s", s->name, s->value, s->source);
	if (s->line > 0)
		buf_printf(&t->out, ":%zu", s->line);
	buf_printf(&t->out, "%s%s\n", unit != NULL ? "\t" : "",
		   unit != NULL ? unit : "");
}

/* What is found out, unless it is set: the job knows it. */
static bool
find_out(const struct job *j, const char *key, struct shown *s)
{
	const struct {
		const char *key, *value, *from;
	} known[] = {
		{ "SCR_PREFIX", j->prefix_real, j->prefix_from },
		{ "SCR_USER_NAME", j->user, j->user_from },
		{ "SCR_JOB_ID", j->id, j->id_from },
	};

	for (size_t i = 0; i < 3; i++) {
		if (!str_eq(key, known[i].key) ||
		    (conf_is_set(j->conf, key) &&
		     !str_eq(known[i].from, "given")))
			continue;
		s->value = known[i].value;
		s->source = known[i].from;
		s->line = 0;
		return true;
	}
	return false;
}

static int
put_key(struct listing *t, const char *key, struct error *err)
{
	struct conf *c = t->job->conf;
	const struct conf_group *groups = NULL;
	const size_t count = conf_groups(c, key, &groups);
	struct shown s = {
		.name = key,
		.value = conf_get(c, key),
		.source = conf_source(c, key),
		.line = conf_line(c, key),
		.p = conf_param(key),
	};
	union conf_value v;

	/* The value in force. */
	if (!find_out(t->job, key, &s) && s.p != NULL &&
	    !conf_in_force(c, s.p, &v)) {
		s.value = s.p->value;
		s.source = "built in";
		s.line = 0;
	}
	if (s.value == NULL)
		return error_set(err, ERROR_ABSENT,
				 "%s: not set, and without a default", key);
	if (!conf_repeats(key) || count == 0) {
		put_shown(t, &s);
		return 0;
	}
	/* A parameter with several lines or properties. */
	for (size_t i = 0; i < count; i++) {
		const struct conf_group *g = &groups[i];
		struct buf text = BUF_INIT;

		buf_add_str(&text, g->value);
		for (size_t k = 0; k < g->npairs; k++)
			buf_printf(&text, " %s=%s", g->pairs[k].key,
				   g->pairs[k].value);
		s = (struct shown){ .name = g->key,
				    .value = text.data,
				    .source = conf_source(c, g->key),
				    .line = g->number };
		put_shown(t, &s);
		buf_free(&text);
	}
	return 0;
}

int
env_conf(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	size_t skip = 0;
	int count = 0, status = STATUS_OK;
	const struct conf_param *p = NULL;
	const char *key = NULL;
	struct shown s;
	struct job j;
	struct listing t = { .job = &j };
	const struct opt opts[] = {
		OPT_FLAG(0, "value", &t.value, "only the value"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	char **args = env_start(c, opts, &count);

	if (env_open_job(&j, &w, &err) < 0)
		return app_report(STATUS_OK, &err);
	t.list = app_json() ? json_new_array() : NULL;
	/* Older notices were printed when the job was opened. */
	if (conf_notice(j.conf) != NULL)
		skip = strlen(conf_notice(j.conf));
	/* A parameter without effect, or a value, is worth a line only if it is
	 * set. */
	for (size_t i = 0; count == 0 && (p = conf_param_at(i)) != NULL; i++)
		if (((!p->ignored && p->value != NULL) ||
		     conf_is_set(j.conf, p->name) ||
		     find_out(&j, p->name, &s)) &&
		    put_key(&t, p->name, &err) < 0)
			status = app_report(status, &err);
	for (size_t i = 0; count == 0 && (key = conf_list_at(i)) != NULL; i++)
		if (conf_is_set(j.conf, key) && put_key(&t, key, &err) < 0)
			status = app_report(status, &err);
	for (; *args != NULL; args++)
		if (put_key(&t, *args, &err) < 0)
			status = app_report(status, &err);
	if (conf_notice(j.conf) != NULL)
		app_warn_lines(conf_notice(j.conf) + skip);
	job_close(&j);
	if (t.list != NULL) {
		app_answer_list("parameters", t.list);
		return status;
	}
	return error_worse_status(status, env_finish(0, &t.out, &err));
}

/* --- Node lists --- */

/* How the lists in the arguments are combined. */
enum operation { OP_UNION, OP_MINUS, OP_BOTH };

/* Parse the number of an option, which must not be 0; 0: option not given. */
static int64_t
signed_number(const char *option, const char *text)
{
	struct error err = ERROR_INIT;
	int64_t n = 0;

	if (text == NULL)
		return 0;
	if (num_i64(text, -(int64_t)HOSTLIST_MAX, HOSTLIST_MAX, &n, &err) < 0)
		app_usage("%s: %s", option, err.text);
	if (n == 0)
		app_usage("%s: nodes are counted from 1, or from -1", option);
	return n;
}

int
env_hostlist(const struct env_call *c)
{
	struct env_look look = { .plain = false };
	const char *nth_text = NULL, *keep_text = NULL, *name = NULL;
	int op = OP_UNION, count = 0, rc = 0;
	bool repeats = false;
	const struct opt opts[] = {
		OPT_GROUP("Lists: of several the union, or"),
		OPT_VERB('m', "minus", &op, OP_MINUS,
			 "nodes of the first list that are in no other"),
		OPT_VERB('i', "intersect", &op, OP_BOTH,
			 "nodes that are in all lists"),
		OPT_GROUP("What to print of it"),
		OPT_FLAG('e', "expand", &look.plain, "every name"),
		OPT_STRING('d', "delimiter", &look.separator, "TEXT", OPT_ANY,
			   "between the names of --expand (default a comma)"),
		OPT_FLAG('c', "count", &look.count, "number of nodes"),
		OPT_STRING('n', "nth", &nth_text, "N", OPT_ANY,
			   "the Nth, from 1; from the end: -1"),
		OPT_STRING('s', "size", &keep_text, "N", OPT_ANY,
			   "only the first N, or the last -N"),
		OPT_FLAG(0, "repeats", &repeats, "keep repeated names"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct hostlist h = HOSTLIST_INIT, other = HOSTLIST_INIT;
	struct buf out = BUF_INIT;
	char **args = env_start(c, opts, &count);
	int64_t nth = 0, keep = 0;

	if (count == 0)
		app_usage("no node list given, for example node[1-4,7]");
	nth = signed_number("--nth", nth_text);
	keep = signed_number("--size", keep_text);
	rc = hostlist_add(&h, args[0], &err);
	for (size_t i = 1; rc == 0 && args[i] != NULL; i++) {
		rc = hostlist_add(op == OP_UNION ? &h : &other, args[i], &err);
		if (rc == 0 && op != OP_UNION)
			rc = op == OP_MINUS ? hostlist_minus(&h, &other, &err)
					    : hostlist_both(&h, &other, &err);
		hostlist_free(&other);
	}
	if (rc == 0 && !repeats)
		rc = hostlist_uniq(&h, &err);
	if (rc == 0 && keep != 0)
		hostlist_keep(&h, keep);
	if (rc == 0 && nth != 0) {
		name = hostlist_nth(&h, nth);
		if (name != NULL)
			buf_printf(&out, "%s\n", name);
		else
			rc = error_set(&err, ERROR_ABSENT,
				       "there is no node %" PRId64
				       " in a list of %zu",
				       nth, h.count);
	} else if (rc == 0) {
		put_nodes(&h, &look, &out);
	}
	hostlist_free(&h);
	return env_finish(rc, &out, &err);
}
