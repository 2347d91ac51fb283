/* SPDX-License-Identifier: BSD-3-Clause */
/* api.c - the functions of scr.h: check the state of the library and arguments
 * that must be the same on all ranks, and report failures. */
#pragma GCC visibility push(default)
#include "scr/scr.h"
#pragma GCC visibility pop

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "conf.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset.h"
#include "scr/fetching.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/onprefix.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/pacing.h"
#include "scr/restart.h"
#include "scr/run.h"
#include "scr/setting.h"
#include "str.h"
#include "team/say.h"

#define FAILURE 1

enum state { UNINIT, IDLE, RESTART, CHECKPOINT, OUTPUT };

static const char *const region[] = {
	[RESTART] = "restart", [CHECKPOINT] = "checkpoint", [OUTPUT] = "output"
};

/* There is one library per process, as there is one MPI_COMM_WORLD. */
static struct {
	enum state state;
	bool failed; /* the call that began the region failed */
	/* NULL: not initialised, or initialisation failed */
	struct run *run;
	struct kvtree *settings; /* NULL: nothing is set */
} lib;

/* --- States --- */

/* End the job unless the library is in state `want`, which `call` requires. */
static void
check(enum state want, const char *call)
{
	/* The application knows about the failure, and left the region. */
	if (want == IDLE && lib.failed)
		lib.state = IDLE;
	if (lib.state == want)
		return;
	if (lib.state == UNINIT)
		say_abort("Must call SCR_Init() before %s()", call);
	if (want != IDLE && want != UNINIT)
		say_abort("Must call SCR_Start_%s() before %s()", region[want],
			  call);
	if (lib.state != IDLE)
		say_abort("Must call SCR_Complete_%s() before %s()",
			  region[lib.state], call);
	say_abort("Called %s() from invalid state %d", call, lib.state);
}

static bool
enabled(void)
{
	return lib.run != NULL && lib.run->p.enable;
}

/* Begin a region with the result of the call. */
static int
enter(enum state s, int rc)
{
	lib.state = s;
	lib.failed = rc != SCR_SUCCESS;
	return rc;
}

static void
leave(void)
{
	lib.state = IDLE;
	lib.failed = false;
}

/* --- Failures --- */

/* Rank 0 reports why a call failed on all ranks.  The others wait: they may end
 * the job next. */
static int
fail(const char *call, const struct error *err)
{
	int rank = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		say_error("%s: %s", call, err->text);
	MPI_Barrier(MPI_COMM_WORLD);
	return FAILURE;
}

/*
 * End the job unless all ranks passed the same text; `of` names the argument.
 */
static void
check_same(const struct team *t, const char *text, const char *of)
{
	if (!team_same(t, text))
		say_abort("%s must be identical on all processes", of);
}

/* --- Begin and end --- */

/* Free all state. */
static void
end(void)
{
	if (lib.run != NULL)
		run_end(lib.run);
	kvtree_free(lib.settings);
	memset(&lib, 0, sizeof(lib)); /* UNINIT */
}

/* SCR_HALT_EXIT: if a condition is met, end the job in the way the application
 * would:  SCR_Finalize() runs first. */
static void
leave_if_halted(void)
{
	if (!pacing_leave(lib.run))
		return;
	(void)flushing_finalize(lib.run);
	end();
	MPI_Finalize();
	exit(EXIT_SUCCESS);
}

int
SCR_Init(void)
{
	struct error err = ERROR_INIT;
	int mpi = 0;

	if (lib.state != UNINIT)
		say_abort("Called SCR_Init() when already initialized");
	MPI_Initialized(&mpi);
	if (!mpi)
		say_abort("Must call MPI_Init() before SCR_Init()");
	lib.state = IDLE;
	lib.run = run_begin(lib.settings, &err);
	if (lib.run == NULL)
		return fail("SCR_Init", &err);
	if (!enabled())
		return FAILURE;
	leave_if_halted();
	return SCR_SUCCESS;
}

int
SCR_Finalize(void)
{
	const bool was = enabled();

	check(IDLE, "SCR_Finalize");
	if (was)
		(void)flushing_finalize(lib.run);
	if (was)
		pacing_end(lib.run);
	end();
	return was ? SCR_SUCCESS : FAILURE;
}

char *
SCR_Get_version(void)
{
	static char version[] = SCR_VERSION;

	return version;
}

/* --- Configuration --- */

/* The queried value, for free(), or NULL. */
static char *
answer(const struct setting *is, const struct params *p, const struct conf *c)
{
	const struct conf_group *g = NULL;
	const size_t count = conf_groups(c, is->key, &g);
	const char *value = NULL;

	for (size_t i = 0; is->child != NULL && i < count && value == NULL; i++)
		if (str_eq(g[i].value, is->value))
			value = conf_property(&g[i], is->child);
	if (is->child == NULL && conf_repeats(is->key) && count > 1)
		say_error("SCR_Config: %s has several values", is->key);
	else if (is->child == NULL)
		value = params_value(p, c, is->key);
	return value != NULL ? mem_strdup(value) : NULL;
}

const char *
SCR_Config(const char *config)
{
	const bool before = lib.state == UNINIT;
	struct error err = ERROR_INIT;
	struct team world = TEAM_INIT;
	struct conf *c = NULL;
	struct arena *a = NULL;
	struct setting is;
	struct params p;
	char *out = NULL;
	int rc = 0;

	if (config == NULL || *config == '\0')
		return NULL;
	a = arena_new();
	if (a == NULL)
		say_abort("SCR_Config: out of memory");
	/* Before SCR_Init() the request is the same on all ranks; later ones
	 * are queries only, and no other rank takes part. */
	if (before) {
		team_world(&world);
		check_same(&world, config, "SCR_Config string");
	}
	rc = setting_parse(config, a, &is, &err);
	if (rc == 0 && (is.kind == SETTING_SET || is.kind == SETTING_UNSET)) {
		check(UNINIT, "SCR_Config");
		if (lib.settings == NULL)
			lib.settings = kvtree_new(&err);
		rc = lib.settings == NULL
			     ? -1
			     : settings_change(lib.settings, &is, &err);
	}
	if (rc == 0 && is.kind == SETTING_QUERY && before)
		rc = params_read(&p, &c, lib.settings, &world, a, &err);
	if (rc == 0 && c != NULL)
		out = answer(&is, &p, c);
	if (rc == 0 && is.kind == SETTING_QUERY && lib.run != NULL)
		out = answer(&is, &lib.run->p, lib.run->conf);
	conf_close(c);
	team_free(&world);
	if (rc < 0)
		say_abort("SCR_Config: %s", err.text);
	arena_free(a);
	return out;
}

const char *
SCR_Configf(const char *format, ...)
{
	const char *out = NULL;
	char *text = NULL;
	va_list ap;
	int len = 0;

	va_start(ap, format);
	len = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	text = len >= 0 ? mem_alloc((size_t)len + 1, 1) : NULL;
	if (text == NULL)
		say_abort("SCR_Configf: out of memory");
	va_start(ap, format);
	vsnprintf(text, (size_t)len + 1, format, ap);
	va_end(ap);
	out = SCR_Config(text);
	mem_free(text);
	return out;
}

/* --- Files --- */

int
SCR_Route_file(const char *name, char *file)
{
	struct error err = ERROR_INIT;
	size_t len = 0;
	int rc = 0;

	if (name == NULL || *name == '\0' || file == NULL)
		return FAILURE;
	len = strlen(name);
	if (len >= SCR_MAX_FILENAME)
		say_abort("file name (%s) is longer than SCR_MAX_FILENAME (%d)",
			  name, SCR_MAX_FILENAME);
	memcpy(file, name, len + 1);
	if (lib.state == UNINIT || lib.state == IDLE || !enabled())
		return SCR_SUCCESS;
	if (lib.failed)
		return FAILURE;
	if (lib.state == RESTART)
		rc = restart_route(lib.run->in, name, file, &err);
	else
		rc = outset_route(lib.run->out, name, file, &err);
	if (rc == 0)
		return SCR_SUCCESS;
	if (lib.state == RESTART && lib.run->away != NULL)
		lib.run->unread |=
			err.kind == ERROR_SYSTEM || err.kind == ERROR_NOMEM;
	say_error("SCR_Route_file: %s", err.text); /* of this rank alone */
	return FAILURE;
}

/* --- Restart --- */

/* The name of the dataset to restart from, if there is one. */
static void
name_restart(char *name)
{
	const struct held_set *s = restart_set(lib.run);

	if (s != NULL && name != NULL)
		snprintf(name, SCR_MAX_FILENAME, "%s", s->d.name);
}

int
SCR_Have_restart(int *flag, char *name)
{
	struct error err = ERROR_INIT;

	check(IDLE, "SCR_Have_restart");
	if (flag == NULL)
		return FAILURE;
	*flag = 0;
	if (!enabled())
		return FAILURE;
	/* The program left out SCR_Complete_restart(). */
	if (lib.run->restart_id == lib.run->unbegun &&
	    restart_set(lib.run) != NULL)
		(void)restart_end(lib.run, false, NULL);
	restart_check(lib.run);
	if (lib.run->restart_id == 0 && fetching_latest(lib.run, &err) < 0)
		return fail("SCR_Have_restart", &err);
	*flag = lib.run->restart_id != 0;
	name_restart(name);
	return SCR_SUCCESS;
}

int
SCR_Start_restart(char *name)
{
	struct error err = ERROR_INIT;

	check(IDLE, "SCR_Start_restart");
	if (!enabled())
		return enter(RESTART, FAILURE);
	if (restart_set(lib.run) == NULL)
		say_abort("Can only call SCR_Start_restart() if "
			  "SCR_Have_restart() indicates a checkpoint is "
			  "available");
	name_restart(name);
	lib.run->in = restart_begin(lib.run, &err);
	return enter(RESTART, lib.run->in != NULL
				      ? SCR_SUCCESS
				      : fail("SCR_Start_restart", &err));
}

int
SCR_Complete_restart(int valid)
{
	struct error err = ERROR_INIT;
	const bool failed = lib.failed;

	check(RESTART, "SCR_Complete_restart");
	leave();
	if (!enabled())
		return FAILURE;
	restart_free(lib.run->in);
	lib.run->in = NULL;
	if (restart_end(lib.run, valid && !failed, &err) == 0)
		return SCR_SUCCESS;
	/* SCR_Start_restart() has reported why it failed. */
	return failed ? FAILURE : fail("SCR_Complete_restart", &err);
}

int
SCR_Restart_ranks(int *ranks)
{
	check(RESTART, "SCR_Restart_ranks");
	if (ranks == NULL || lib.failed)
		return FAILURE;
	*ranks = (int)restart_ranks(lib.run->in);
	return SCR_SUCCESS;
}

int
SCR_Restart_files(int i, int *rank, char *name)
{
	uint32_t from = 0;

	check(RESTART, "SCR_Restart_files");
	if (i < 0 || rank == NULL || name == NULL || lib.failed ||
	    restart_file(lib.run->in, (size_t)i, &from, name) < 0)
		return FAILURE;
	*rank = (int)from;
	return SCR_SUCCESS;
}

/* --- Checkpoint and output --- */

/* Ask `fn` outside of regions. */
static int
ask(const char *call, int *flag, bool (*fn)(struct run *run))
{
	check(IDLE, call);
	if (flag == NULL)
		return FAILURE;
	*flag = 0;
	if (!enabled())
		return FAILURE;
	flushing_look(lib.run);
	*flag = fn(lib.run);
	return SCR_SUCCESS;
}

int
SCR_Need_checkpoint(int *flag)
{
	return ask("SCR_Need_checkpoint", flag, pacing_need);
}

/* Begin a dataset; `s` is the state of its region. */
static int
start(enum state s, const char *call, const char *name, int flags)
{
	struct error err = ERROR_INIT;
	const struct team *world = NULL;

	check(IDLE, call);
	if (!enabled())
		return enter(s, FAILURE);
	world = &lib.run->world;
	if (name != NULL && *name == '\0')
		name = NULL;
	check_same(world, name, "Dataset name provided to SCR_Start_output");
	if (team_most(world, (uint64_t)(unsigned)flags) !=
	    team_least(world, (uint64_t)(unsigned)flags))
		say_abort("Dataset flags provided to SCR_Start_output must be "
			  "identical on all processes");
	flushing_look(lib.run);
	if (output_start(lib.run, name, flags, &err) < 0)
		return enter(s, fail(call, &err));
	return enter(s, SCR_SUCCESS);
}

/* Complete the dataset. */
static int
complete(enum state s, const char *call, int valid)
{
	const struct dataset *d = NULL;
	struct error err = ERROR_INIT;
	const bool failed = lib.failed;

	check(s, call);
	leave();
	if (failed || !enabled())
		return FAILURE;
	flushing_look(lib.run);
	if (output_complete(lib.run, valid != 0, &d, &err) < 0)
		return fail(call, &err);
	if (d->is_ckpt) {
		pacing_wrote(lib.run);
		leave_if_halted();
	}
	return SCR_SUCCESS;
}

int
SCR_Start_output(const char *name, int flags)
{
	return start(OUTPUT, "SCR_Start_output", name, flags);
}

int
SCR_Complete_output(int valid)
{
	return complete(OUTPUT, "SCR_Complete_output", valid);
}

int
SCR_Start_checkpoint(void)
{
	return start(CHECKPOINT, "SCR_Start_checkpoint", NULL,
		     SCR_FLAG_CHECKPOINT);
}

int
SCR_Complete_checkpoint(int valid)
{
	return complete(CHECKPOINT, "SCR_Complete_checkpoint", valid);
}

/* --- Datasets on the prefix --- */

/* What the three functions have in common. */
static int
named(const char *call, const char *name,
      int (*fn)(struct run *run, const char *name, struct error *err))
{
	struct error err = ERROR_INIT;
	char what[64];

	check(IDLE, call);
	if (!enabled() || name == NULL || *name == '\0')
		return FAILURE;
	snprintf(what, sizeof(what), "Dataset name provided to %s", call);
	check_same(&lib.run->world, name, what);
	flushing_wait(lib.run, INT64_MAX);
	return fn(lib.run, name, &err) < 0 ? fail(call, &err) : SCR_SUCCESS;
}

int
SCR_Current(const char *name)
{
	return named("SCR_Current", name, onprefix_current);
}

int
SCR_Drop(const char *name)
{
	return named("SCR_Drop", name, onprefix_drop);
}

int
SCR_Delete(const char *name)
{
	return named("SCR_Delete", name, onprefix_delete);
}

/* --- Pace --- */

int
SCR_Should_exit(int *flag)
{
	return ask("SCR_Should_exit", flag, pacing_should_exit);
}
