/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.c - verbs of scr_env: the job, its parameters, node lists.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "conf.h"
#include "env.h"
#include "error.h"
#include "hostlist.h"
#include "json.h"
#include "num.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* --- The job --- */

int
env_put_nodes(const struct hostlist *h, const struct env_look *l,
	      struct buf *out, struct error *err)
{
	const char *separator = l->separator != NULL ? l->separator : ",";

	if (l->count)
		buf_printf(out, "%zu", h->count);
	else if (h->count == 0)
		return 0;
	else if ((l->plain ? hostlist_plain(h, separator, out, err)
			   : hostlist_text(h, out, err)) < 0)
		return -1;
	buf_add_char(out, '\n');
	return 0;
}

static void
put_dirs(const struct job_cache *dirs, size_t count, const struct env_look *l,
	 struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s%s", l->base ? dirs[i].base : dirs[i].dir,
			   l->line && i + 1 < count ? " " : "\n");
}

static int
put_down(struct job *j, const struct env_look *l, struct buf *out,
	 struct error *err)
{
	struct hostlist down = HOSTLIST_INIT;
	int rc = -1;

	if (env_job_nodes(j, err) < 0)
		return -1;
	rc = resmgr_down(j->rm, &j->nodes, &down, err);
	if (rc == 0)
		rc = env_put_nodes(&down, l, out, err);
	hostlist_free(&down);
	return rc;
}

static int
answer(struct job *j, enum env_question q, const struct env_look *l,
       struct buf *out, struct error *err)
{
	int64_t n = 0;

	switch (q) {
	case ENV_NODES:
		return env_job_nodes(j, err) < 0
			       ? -1
			       : env_put_nodes(&j->nodes, l, out, err);
	case ENV_DOWN:
		return put_down(j, l, out, err);
	case ENV_CNTL:
		/* scr_list_dir prints all of them, the verbs only one. */
		put_dirs(j->cntls, l->line ? j->ncntls : 1, l, out);
		return 0;
	case ENV_CACHE:
		put_dirs(j->caches, j->ncaches, l, out);
		return 0;
	case ENV_END_TIME:
		if (job_end_time(j, &n, err) < 0)
			return -1;
		break;
	case ENV_RUN_NODES:
		if (jobfiles_nodes(j->prefix, &n, err) < 0)
			return -1;
		break;
	case ENV_USER:
	case ENV_JOB_ID:
		buf_printf(out, "%s\n", q == ENV_USER ? j->user : j->id);
		return 0;
	}
	buf_printf(out, "%" PRId64 "\n", n);
	return 0;
}

int
env_ask(const struct job_where *w, const enum env_question *q, size_t count,
	const struct env_look *l)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	struct job j;
	int rc = env_open_job(&j, w, &err);

	if (rc < 0)
		return app_report(STATUS_OK, &err);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = answer(&j, q[i], l, &out, &err);
	job_close(&j);
	return env_finish(rc, &out, &err);
}

int
env_question(const struct env_call *c)
{
	const enum env_question q = (enum env_question)c->tool->which;
	struct job_where w = { .prefix = NULL };
	const struct env_look l = { .plain = false };
	const struct opt opts[] = { ENV_JOB_OPTIONS(w), OPT_END };

	env_options(c, opts);
	return env_ask(&w, &q, 1, &l);
}

int
env_nodes(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct env_look l = { .plain = false };
	const enum env_question q = ENV_NODES;
	const struct opt opts[] = {
		OPT_FLAG('e', "expand", &l.plain,
			 "every name, separated by commas"),
		OPT_FLAG('c', "count", &l.count, "only the number of nodes"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};

	env_options(c, opts);
	return env_ask(&w, &q, 1, &l);
}

int
env_dirs(const struct env_call *c)
{
	const bool argument = c->tool->which == ENV_ARGUMENT;
	enum env_question q =
		argument ? ENV_CNTL : (enum env_question)c->tool->which;
	struct job_where w = { .prefix = NULL };
	struct env_look l = { .line = argument };
	const struct opt opts[] = {
		OPT_FLAG('b', "base", &l.base, "without user and job"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	int count = 0;
	char **args = NULL;

	if (!argument) {
		env_options(c, opts);
		return env_ask(&w, &q, 1, &l);
	}
	args = env_start(c, opts, &count);
	if (count != 1)
		app_usage("no kind of directory given: control or cache");
	if (str_eq(args[0], "cache"))
		q = ENV_CACHE;
	else if (!str_eq(args[0], "control"))
		app_usage("%s: neither control nor cache", args[0]);
	return env_ask(&w, &q, 1, &l);
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

/* Print one line of a parameter with several lines or properties. */
static void
put_group(struct listing *t, const struct conf_group *g)
{
	struct buf text = BUF_INIT;
	struct shown s = { .name = g->key, .line = g->number };

	buf_add_str(&text, g->value);
	for (size_t i = 0; i < g->npairs; i++)
		buf_printf(&text, " %s=%s", g->pairs[i].key, g->pairs[i].value);
	s.value = text.data;
	s.source = conf_source(t->job->conf, g->key);
	if (text.failed)
		t->out.failed = true;
	else
		put_shown(t, &s);
	buf_free(&text);
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

/* The value of `key` in force. */
static int
look_up(const struct listing *t, const char *key, struct shown *s,
	struct error *err)
{
	struct conf *c = t->job->conf;
	union conf_value v;

	*s = (struct shown){
		.name = key,
		.value = conf_get(c, key),
		.source = conf_source(c, key),
		.line = conf_line(c, key),
		.p = conf_param(key),
	};
	if (find_out(t->job, key, s))
		return 0;
	if (s->p != NULL && !conf_in_force(c, s->p, &v)) {
		s->value = s->p->value;
		s->source = "built in";
		s->line = 0;
	}
	if (s->value != NULL)
		return 0;
	return error_set(err, ERROR_ABSENT,
			 "%s: not set, and without a default", key);
}

static int
put_key(struct listing *t, const char *key, struct error *err)
{
	const struct conf_group *groups = NULL;
	const size_t count = conf_groups(t->job->conf, key, &groups);
	struct shown s;

	if (look_up(t, key, &s, err) < 0)
		return -1;
	if (!conf_repeats(key) || count == 0)
		put_shown(t, &s);
	else
		for (size_t i = 0; i < count; i++)
			put_group(t, &groups[i]);
	return 0;
}

/* Has the parameter a value?  One without effect is worth a line only if it is
 * set. */
static bool
in_force(const struct listing *t, const struct conf_param *p)
{
	struct shown s;

	if (p->ignored || p->value == NULL)
		return conf_is_set(t->job->conf, p->name) ||
		       find_out(t->job, p->name, &s);
	return true;
}

static int
put_all(struct listing *t, int status)
{
	const struct conf_param *p = NULL;
	struct error err = ERROR_INIT;
	const char *key = NULL;

	for (size_t i = 0; (p = conf_param_at(i)) != NULL; i++)
		if (in_force(t, p) && put_key(t, p->name, &err) < 0)
			status = app_report(status, &err);
	for (size_t i = 0; (key = conf_list_at(i)) != NULL; i++)
		if (conf_is_set(t->job->conf, key) && put_key(t, key, &err) < 0)
			status = app_report(status, &err);
	return status;
}

int
env_conf(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	const char *before = NULL;
	size_t skip = 0;
	int count = 0, status = STATUS_OK;
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
	before = conf_notice(j.conf);
	skip = before != NULL ? strlen(before) : 0;
	if (count == 0)
		status = put_all(&t, status);
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

static int
combine(struct hostlist *h, char **args, enum operation op, struct error *err)
{
	struct hostlist other = HOSTLIST_INIT;
	int rc = hostlist_add(h, args[0], err);

	for (size_t i = 1; rc == 0 && args[i] != NULL; i++) {
		if (op == OP_UNION) {
			rc = hostlist_add(h, args[i], err);
			continue;
		}
		rc = hostlist_add(&other, args[i], err);
		if (rc == 0)
			rc = op == OP_MINUS ? hostlist_minus(h, &other, err)
					    : hostlist_both(h, &other, err);
		hostlist_free(&other);
	}
	return rc;
}

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

struct list_request {
	enum operation op;
	bool repeats;
	int64_t nth, keep;
	struct env_look look;
};

static int
list_answer(char **args, const struct list_request *r, struct buf *out,
	    struct error *err)
{
	struct hostlist h = HOSTLIST_INIT;
	const char *name = NULL;
	int rc = -1;

	if (combine(&h, args, r->op, err) < 0 ||
	    (!r->repeats && hostlist_uniq(&h, err) < 0))
		goto out;
	if (r->keep != 0)
		hostlist_keep(&h, r->keep);
	if (r->nth != 0) {
		name = hostlist_nth(&h, r->nth);
		rc = name != NULL ? 0
				  : error_set(err, ERROR_ABSENT,
					      "there is no node %" PRId64
					      " in a list of %zu",
					      r->nth, h.count);
		if (rc == 0)
			buf_printf(out, "%s\n", name);
	} else {
		rc = env_put_nodes(&h, &r->look, out, err);
	}
out:
	hostlist_free(&h);
	return rc;
}

int
env_hostlist(const struct env_call *c)
{
	struct list_request r = { .op = OP_UNION };
	const char *nth = NULL, *keep = NULL;
	int op = OP_UNION, count = 0;
	const struct opt opts[] = {
		OPT_GROUP("Lists: of several the union, or"),
		OPT_VERB('m', "minus", &op, OP_MINUS,
			 "nodes of the first list that are in no other"),
		OPT_VERB('i', "intersect", &op, OP_BOTH,
			 "nodes that are in all lists"),
		OPT_GROUP("What to print of it"),
		OPT_FLAG('e', "expand", &r.look.plain, "every name"),
		OPT_STRING('d', "delimiter", &r.look.separator, "TEXT", OPT_ANY,
			   "between the names of --expand (default a comma)"),
		OPT_FLAG('c', "count", &r.look.count, "number of nodes"),
		OPT_STRING('n', "nth", &nth, "N", OPT_ANY,
			   "the Nth, from 1; from the end: -1"),
		OPT_STRING('s', "size", &keep, "N", OPT_ANY,
			   "only the first N, or the last -N"),
		OPT_FLAG(0, "repeats", &r.repeats, "keep repeated names"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	char **args = env_start(c, opts, &count);

	if (count == 0)
		app_usage("no node list given, for example node[1-4,7]");
	r.op = (enum operation)op;
	r.nth = signed_number("--nth", nth);
	r.keep = signed_number("--size", keep);
	return env_finish(list_answer(args, &r, &out, &err), &out, &err);
}
