/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_postrun - save the datasets that a job left in the caches of its nodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "app.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/overview.h"
#include "conf.h"
#include "dir.h"
#include "error.h"
#include "hostlist.h"
#include "json.h"
#include "meta/dataset_dir.h"
#include "remote/remote.h"
#include "report/condition.h"
#include "report/hint.h"
#include "report/scavenged.h"
#include "scavenge/scavenge.h"
#include "scavenge/turn.h"
#include "site/interval.h"
#include "site/job_options.h"
#include "site/resmgr.h"
#include "str.h"

/* Default time-outs of a node in seconds: to connect, and of its silence. */
#define CONNECT_SECONDS 10
#define IDLE_SECONDS 30
#define FANOUT 64
/* Bytes to be moved from which on other nodes are worth their start. */
#define SHARED_BYTES (UINT64_C(1) << 30)

struct settings {
	struct job_where where;
	const char *remote, *down, *copy, *moved_from;
	bool plan, containers, no_containers, pack_current, clean;
	bool compare, no_compare;
	const char *dataset; /* as given; NULL: all */
	struct word word;    /* what it means */
	uint64_t fanout, connect, idle, limit, jobs, keep, wait;
	const char *rebuild_on; /* NULL: all, if it is worth it */
};

static const struct app_info info = {
	.name = "scr_postrun",
	.summary =
		"save the datasets that a job left in the caches of its nodes",
	.usage = "[OPTION]...",
	.notes = "Exit status: 0 the newest checkpoint and all output are "
		 "saved; 3 only an older\n"
		 "checkpoint is saved; 4 data are lost; 1 failed or "
		 "unknown: run it again.",
};

static void
parse(struct settings *s, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP("Scavenge"),
		OPT_FLAG('n', "plan", &s->plan,
			 "only report what can be saved; copy nothing"),
		OPT_FLAG(0, "dry-run", &s->plan, NULL),
		OPT_STRING('i', "id", &s->dataset, "ID", OPT_ANY,
			   "save only dataset ID (or name:NAME), even if it "
			   "is unfinished"),
		OPT_FLAG(0, "containers", &s->containers,
			 "pack saved datasets except the restart point "
			 "(SCR_USE_CONTAINERS)"),
		OPT_FLAG(0, "pack-current", &s->pack_current,
			 "also pack the restart point; LLNL's library "
			 "cannot restart from it then"),
		OPT_FLAG(0, "no-containers", &s->no_containers, "do not pack"),
		OPT_FLAG(0, "compare", &s->compare,
			 "compare files without recorded checksums with their "
			 "redundancy (default)"),
		OPT_FLAG(0, "no-compare", &s->no_compare,
			 "do not read copied files again"),
		OPT_U64(0, "keep", &s->keep, "N", 1, INT64_MAX,
			"delete all but the N newest checkpoints afterwards "
			"(SCR_PREFIX_SIZE)"),
		OPT_FLAG(0, "clean", &s->clean,
			 "remove datasets from the caches that are whole on "
			 "the prefix"),
		OPT_GROUP("Which job"),
		APP_OPT_PREFIX(&s->where.prefix),
		JOB_ID_OPTION('J', s->where),
		OPT_STRING('u', "user", &s->where.user, "NAME", OPT_ANY,
			   "the user who ran it"),
		OPT_STRING('w', "nodes", &s->where.nodes, "LIST", OPT_ANY,
			   "its nodes, for example node[1-4]"),
		OPT_STRING('d', "down", &s->down, "LIST", OPT_ANY,
			   "dead nodes, which are not contacted"),
		OPT_STRING('c', "cntldir", &s->where.cntl_base, "DIR", OPT_DIR,
			   "base of the control directory (SCR_CNTL_BASE)"),
		OPT_STRING(0, "cachedir", &s->where.cache_base, "DIR", OPT_DIR,
			   "base of the cache directory (SCR_CACHE_BASE)"),
		JOB_MANAGER_OPTIONS(s->where),
		APP_OPT_MOVED_FROM(&s->moved_from),
		OPT_GROUP("How"),
		OPT_STRING('r', "remote", &s->remote, REMOTE_NAMES, OPT_WORDS,
			   "how to reach the nodes (default SCR_REMOTE)"),
		OPT_STRING('j', "launcher", &s->remote, "NAME", OPT_ANY, NULL),
		OPT_U64('f', "fanout", &s->fanout, "N", 1, 4096,
			"nodes contacted at the same time (default 64)"),
		OPT_U64('t', "connect-timeout", &s->connect, "SECONDS", 1,
			86400, "time-out for reaching a node (default 10)"),
		OPT_U64(0, "node-timeout", &s->idle, "SECONDS", 2, 86400,
			"time-out for a node that is silent (default 30)"),
		OPT_U64(0, "limit", &s->limit, "SECONDS", 1, UINT32_MAX,
			"time-out for one step on a node (default: see "
			"scr_postrun(1))"),
		OPT_U64(0, "wait", &s->wait, "SECONDS", 0, UINT32_MAX,
			"wait for another scavenge of this prefix (default "
			"600)"),
		OPT_U64(0, "jobs", &s->jobs, "N", 1, 1024,
			"threads for rebuilding"),
		OPT_STRING(0, "rebuild-on", &s->rebuild_on, "all|here",
			   OPT_WORDS,
			   "nodes that share a rebuild (default: all, from 1 "
			   "GiB on)"),
		OPT_STRING(0, "copy-program", &s->copy, "FILE", OPT_FILE,
			   "path of scr_copy on the nodes"),
		OPT_END
	};
	struct error err = ERROR_INIT;
	struct app_info is = info;
	bool poststage = false;
	char **args = NULL;
	int count = 0;

	*s = (struct settings){
		.where.by_flush = true,
		.fanout = FANOUT,
		.connect = CONNECT_SECONDS,
		.idle = IDLE_SECONDS,
		.wait = TURN_SECONDS,
	};
	/* LLNL's scr_poststage takes the prefix as an argument, too. */
	is.name = app_called(argc, argv);
	poststage = str_eq(is.name, "scr_poststage");
	if (poststage)
		is.usage = "[OPTION]... [PREFIX]";
	args = app_start(&is, argc, argv, opts, poststage ? &count : NULL);
	if (count > 1 || (count == 1 && s->where.prefix != NULL))
		app_unexpected(args[count - 1]);
	if (count == 1)
		s->where.prefix = args[0];
	if (s->dataset != NULL && word_parse_id(s->dataset, &s->word, &err) < 0)
		app_usage("--id: %s", err.text);
	if (s->containers && s->no_containers)
		app_usage("--containers and --no-containers cannot be used "
			  "together");
	if (s->compare && s->no_compare)
		app_usage("--compare and --no-compare cannot be used together");
	if (s->pack_current && s->no_containers)
		app_usage("--pack-current and --no-containers cannot be used "
			  "together");
}

/* --- Settings --- */

static int
fill_options(const struct settings *s, const struct job *job,
	     struct scavenge_options *o, struct error *err)
{
	const struct conf *c = job->conf;
	struct catalogue *of = NULL;
	bool containers = false;

	if (s->rebuild_on != NULL && !str_eq(s->rebuild_on, "all") &&
	    !str_eq(s->rebuild_on, "here"))
		return error_set(err, ERROR_USAGE,
				 "--rebuild-on: %s: not all or here",
				 s->rebuild_on);
	if (conf_bool(c, "SCR_USE_CONTAINERS", false, &containers, err) < 0 ||
	    conf_bool(c, "SCR_CONTAINER_REDUNDANCY", false, &o->pack_redundancy,
		      err) < 0 ||
	    conf_bytes(c, "SCR_CONTAINER_SIZE", 0, &o->container_size, err) <
		    0 ||
	    conf_u64(c, "SCR_PREFIX_SIZE", 0, &o->keep, err) < 0 ||
	    (conf_is_set(c, "SCR_FILE_BUF_SIZE") &&
	     conf_bytes(c, "SCR_FILE_BUF_SIZE", 0, &o->buffer, err) < 0))
		return -1;
	/* The dataset that --id gives; 0 without the option. */
	o->only = s->word.id;
	if (s->word.name != NULL) {
		of = catalogue_open(job->prefix, err);
		o->only = of == NULL ? -1
				     : catalogue_resolve_now(of, s->dataset,
							     false, err);
		catalogue_close(of);
	}
	if (o->only < 0)
		return -1;
	o->containers = (containers || s->containers) && !s->no_containers;
	o->pack_current = s->pack_current;
	o->wait = s->wait;
	o->clean = s->clean;
	if (s->keep > 0)
		o->keep = s->keep;
	o->remote = (struct remote_options){
		.fanout = (unsigned)s->fanout,
		.connect = (double)s->connect,
		.idle = (double)s->idle,
		.limit = (double)s->limit,
		.stop = app_stop,
		.around = resmgr_launcher(job->rm),
	};
	return remote_choose(s->remote != NULL ? s->remote
					       : conf_get(c, "SCR_REMOTE"),
			     &o->remote, err);
}

/* --- Output --- */

/* What a report names for dataset `id`, if the caches have no more of it. */
static void
next_on_prefix(const struct scavenge *s, int64_t id, char *to, size_t size)
{
	struct catalogue_options look = *s->o->catalogue;
	const struct overview_entry *e = NULL;
	struct overview all;
	struct condition h;

	look.work.log = NULL; /* the scavenge has reported */
	look.deep = look.compare;
	if (overview_init(&all, s->job->prefix, NULL) == 0)
		e = overview_entry(&all, id);
	if (e != NULL) {
		look.index = all.index;
		all.searched = true;
		condition_check(&all, e, &look, &h, NULL);
		snprintf(to, size, "%s", h.next);
		condition_fini(&h);
	}
	overview_fini(&all);
}

/* Find the command to run after a loss; "": there is none.  If nothing of the
 * lost datasets is on the prefix, it shows from what the next job restarts. */
static void
find_next(const struct scavenge *s, const struct settings *set, int status,
	  char *to, size_t size)
{
	struct buf command = BUF_INIT;
	int scr = -1;
	struct stat st;

	to[0] = '\0';
	if (set->plan || (status != STATUS_LOST && status != STATUS_DAMAGED))
		return;
	scr = catalogue_scr_fd(s->prefix);
	for (size_t i = s->plan.count; i-- > 0 && to[0] == '\0';) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		if (d->undecided)
			next_on_prefix(s, d->id, to, size);
		/* Is it lost as far as the caches show, and not just
		 * unknown? */
		if (d->undecided || d->state != SALVAGE_LOST || d->done ||
		    d->unfinished || d->taken != SALVAGE_FREE ||
		    scavenge_is_unknown(d))
			continue;
		if (!d->claimed &&
		    (scr < 0 ||
		     dir_stat(scr, dataset_dir_str(d->id), &st, 0) < 0))
			continue;
		if (d->nranks == 0 || s->o->only == d->id) {
			next_on_prefix(s, d->id, to, size);
			continue;
		}
		/* A rest in the caches may complete it: the same scavenge of
		 * this dataset alone. */
		buf_add_str(&command, "scr_postrun");
		report_add_options(&command, &set->where, set->down,
				   set->remote);
		buf_add_str(&command, " --id");
		report_command(command.data, catalogue_path(s->prefix),
			       catalogue_word_now_str(s->prefix, d->id), to,
			       size);
		buf_clear(&command);
	}
	buf_free(&command);
	if (to[0] == '\0' && catalogue_restart_point(s->prefix) > 0)
		report_command("scr_index", s->job->prefix, NULL, to, size);
}

static int
work(const struct settings *set, struct job *job,
     const struct scavenge_options *o, struct error *err)
{
	struct scavenge s;
	int rc = scavenge_open(&s, job, o, err), status = STATUS_OK;
	char next[4096 + 64] = "";
	struct buf text = BUF_INIT;

	if (rc == 0)
		rc = set->plan ? scavenge_forecast(&s, err)
			       : scavenge_run(&s, err);
	if (rc == 0) {
		status = scavenge_status(&s);
		find_next(&s, set, status, next, sizeof(next));
		if (app_json()) {
			struct json *j = report_scavenge_json(&s);

			json_set_known_str(j, "next", next);
			app_answer(j);
		} else {
			if (set->plan)
				report_salvage(&s.plan, o->rate, &text);
			buf_add_str(&text, "scr_postrun: ");
			report_verdict(&s, &text);
			buf_add_char(&text, '\n');
			status = error_worse_status(status, app_print(&text));
		}
	}
	/* Print the command that makes room for each dataset whose number is
	 * taken. */
	for (size_t i = 0; i < s.plan.count; i++) {
		const struct salvage_dataset *d = &s.plan.datasets[i];

		if (d->done || d->taken != SALVAGE_TAKEN_OLDER)
			continue;
		app_warn("dataset %" PRId64
			 ": this deletes the one on the prefix, and the next "
			 "run saves that of the caches: %s",
			 d->id,
			 report_command_str("scr_index --delete", s.job->prefix,
					    word_id_str(d->id)));
	}
	app_next(next);
	app_debug("asking %.3f s, copying %.3f s, rebuilding %.3f s, packing "
		  "%.3f s",
		  s.seconds[SCAVENGE_ASK], s.seconds[SCAVENGE_COPY],
		  s.seconds[SCAVENGE_BUILD], s.seconds[SCAVENGE_PACK]);
	scavenge_close(&s);
	return status;
}

static int
run(const struct settings *set, struct job *job, struct error *err)
{
	struct catalogue_options look = {
		.work = { APP_WORK, .detail = app_log_note },
		.moved_from = set->moved_from,
		.replace = true,
		.compare = !set->no_compare,
	};
	char copy[4096], rebuild[4096];
	struct scavenge_options o = { .catalogue = &look };
	struct interval_stats past;
	struct hostlist down = HOSTLIST_INIT;
	struct buf said = BUF_INIT;
	struct buf text = BUF_INIT;
	int status = STATUS_OK; /* *err overrides it */

	if ((set->down != NULL && hostlist_add(&down, set->down, err) < 0) ||
	    fill_options(set, job, &o, err) < 0)
		goto out;
	if (job_began(job, err) < 0) {
		if (err->kind == ERROR_ABSENT)
			app_advise(err, "or give --nodes");
		goto out;
	}
	if (remote_resolve(&job->nodes, &o.remote, &said, err) < 0)
		goto out;
	if (said.len > 0)
		app_note("%s", said.data);
	/* Report problems of the configuration; with -v, the sources of its
	 * values. */
	(void)job_notice(job, app_verbosity() > 0, &text);
	app_warn_lines(text.data);
	buf_free(&text);
	look.work.dry_run = set->plan;
	/* Bytes per second of earlier scavenges by the log; 0: unknown. */
	if (set->plan && interval_read_prefix(job->prefix, &past, NULL) == 0)
		o.rate = interval_scavenge_rate(&past);
	o.down = &down;
	o.copy = set->copy != NULL ? set->copy
				   : app_beside(copy, sizeof(copy), "scr_copy");
	if (set->rebuild_on == NULL || !str_eq(set->rebuild_on, "here"))
		o.rebuild = app_beside(rebuild, sizeof(rebuild), "scr_rebuild");
	o.rebuild_least = set->rebuild_on != NULL ? 0 : SHARED_BYTES;
	if (app_work_start(&look.work, set->jobs, set->plan ? NULL : "saving",
			   err) == 0)
		status = work(set, job, &o, err);
	app_work_end(&look.work);
out:
	remote_forget(&o.remote);
	buf_free(&said);
	hostlist_free(&down);
	return status;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct settings s;
	struct job job;
	bool enabled = true;
	int status = STATUS_OK;

	parse(&s, argc, argv);
	app_catch_signals();
	if (job_open(&job, &s.where, &err) < 0)
		return app_finish(app_report(STATUS_OK, &err));
	if (conf_bool(job.conf, "SCR_ENABLE", true, &enabled, &err) == 0)
		status = enabled ? run(&s, &job, &err) : STATUS_OK;
	if (!enabled)
		app_note("SCR_ENABLE is 0: nothing is done");
	status = app_report(status, &err);
	job_close(&job);
	return app_finish(status);
}
