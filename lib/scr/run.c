/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/run.h"

#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "mem.h"
#include "scr/events.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/memory.h"
#include "scr/onprefix.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/owned.h"
#include "scr/regain.h"
#include "scr/restart.h"
#include "scr/setting.h"
#include "team/cores.h"
#include "team/say.h"

/* Set the world team, and read the configuration. */
static int
find_params(struct run *run, const struct kvtree *s, struct error *err)
{
	char host[HOST_NAME_MAX + 1] = "";
	int rc = 0;

	team_world(&run->world);
	run->arena = arena_new();
	if (run->arena == NULL)
		rc = error_no_memory(err);
	else if (gethostname(host, sizeof(host) - 1) < 0)
		rc = error_sys(err, "host name");
	else if ((run->host = arena_strdup(run->arena, host)) == NULL)
		rc = error_no_memory(err);
	if (team_agree(&run->world, rc, err) < 0)
		return -1;
	say_as((int)run->world.rank, run->host, false);
	if (params_read(&run->p, &run->conf, s, &run->world, run->arena, err) <
	    0)
		return -1;
	say_as((int)run->world.rank, run->host, run->p.debug > 0);
	if (run->world.rank == 0)
		say_warn_lines(conf_notice(run->conf));
	return 0;
}

/* Find groups, and the ranks of this host; write app.conf and nodes.scr. */
static int
find_ranks(struct run *run, const struct kvtree *s, struct error *err)
{
	const struct group *node = NULL;
	struct buf text = BUF_INIT;
	int rc = 0;

	if (groups_make(&run->groups, &run->world, run->host, run->conf,
			run->arena, err) < 0)
		return -1;
	node = groups_find(&run->groups, GROUPS_NODE);
	run->nodes = node->count;
	rc = groups_team(node, &run->world, run->arena, &run->node, err);
	if (s == NULL || settings_text(s, &text) == 0)
		run->app_conf =
			arena_strdup(run->arena, text.len > 0 ? text.data : "");
	buf_free(&text);
	run->job_due = true;
	if (rc == 0 && run->app_conf == NULL)
		rc = error_no_memory(err);
	if (team_agree(&run->world, rc, err) < 0)
		return -1;
	onprefix_note(run, NULL, HELD_NOTED);
	return 0;
}

struct run *
run_begin(const struct kvtree *s, struct error *err)
{
	struct run *run = mem_calloc(1, sizeof(*run));
	struct log_line start = events_line(NULL);
	bool threads = false, flushed = false;

	/* There is no team yet to agree with the other ranks. */
	if (run == NULL) {
		say_abort("out of memory");
		return NULL;
	}
	run->world = run->node = (struct team)TEAM_INIT;
	if (find_params(run, s, err) < 0)
		goto fail;
	if (!run->p.enable)
		return run;
	if (find_ranks(run, s, err) < 0 || stores_make(run, err) < 0 ||
	    levels_make(run, err) < 0)
		goto fail;
	for (size_t i = 0; i < run->stores.count; i++)
		threads |= run->stores.list[i].threads ||
			   run->stores.list[i].memory;
	threads |= run->p.flush_async;
	if (cores_find(&run->world, &run->node, threads, &run->cores, err) < 0)
		goto fail;
	memory_begin(run);
	if (held_open(run, &run->held, err) < 0)
		goto fail;
	pacing_begin(run);
	flushing_async_begin(run);
	output_number(run);
	if (run->p.prefix_purge && onprefix_purge(run, err) < 0)
		goto fail;
	start.event = "START";
	start.procs = run->world.size;
	start.nodes = run->nodes;
	events_add(run, &start);
	if (regain_all(run, err) < 0 || restart_find(run, err) < 0)
		goto fail;
	/* Flush the datasets that should be on the prefix.  With
	 * SCR_GLOBAL_RESTART the job reads them there, so the caches are purged
	 * if all flushes succeed. */
	flushed = flushing_restart(run);
	if (run->p.any_ranks)
		restart_from_prefix(run);
	if (flushed && run->p.global_restart) {
		run->restart_id = 0;
		if (held_purge(run, err) < 0)
			goto fail;
		onprefix_note(run, NULL, HELD_NOTED);
	}
	memory_tend(run);
	events_compute(run, true);
	return run;
fail:
	run_end(run);
	return NULL;
}

void
run_end(struct run *run)
{
	flushing_async_end(run, false);
	outset_free(run->out);
	restart_free(run->in);
	owned_free(run->owned);
	memory_end(run);
	held_entry_free(run->away);
	held_close(run->held);
	cores_free(run->cores);
	levels_free(&run->levels);
	stores_free(&run->stores);
	team_free(&run->node);
	team_free(&run->world);
	conf_close(run->conf);
	arena_free(run->arena);
	mem_free(run);
}
