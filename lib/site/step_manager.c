/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_manager.c - how each resource manager tells what runs, and ends it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hostlist.h"
#include "site/resmgr_impl.h"
#include "site/step_impl.h"
#include "str.h"

static void
add_words(struct step_command *c, const char *const *words)
{
	for (; *words != NULL; words++)
		step_add_word(c, *words);
}

/* The next line of *text, ended by a NUL; NULL: there is none. */
static char *
next_line(char **text)
{
	return *text == NULL || **text == '\0' ? NULL : strsep(text, "\n");
}

/* The next word of *line, ended by a NUL; NULL: there is none. */
static char *
next_word(char **line)
{
	char *word = NULL;

	while (*line != NULL) {
		word = strsep(line, " \t\r");
		if (*word != '\0')
			return word;
	}
	return NULL;
}

/* The variable of the environment, or "". */
static const char *
env(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? value : "";
}

static bool
is_number(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* Run it, and give each line of what it prints to `line`. */
static int
each_line(const struct step_where *w, const struct step_command *c,
	  int (*line)(const struct step_where *w, char *text, void *arg,
		      struct error *err),
	  void *arg, struct error *err)
{
	struct buf out = BUF_INIT;
	char *rest = NULL, *text = NULL;
	int rc = step_run(w, c, &out, err);

	rest = out.data;
	while (rc == 0 && (text = next_line(&rest)) != NULL)
		rc = line(w, text, arg, err);
	buf_free(&out);
	return rc;
}

/* --- SLURM --- */

/* "1234.5", "1234+0.5", "1234_7.5": a step that srun started.  Those with
 * names, batch, extern, interactive, are the allocation itself. */
static int
slurm_line(const struct step_where *w, char *text, void *arg, struct error *err)
{
	char *id = next_word(&text), *dot = NULL;

	(void)w;
	if (id == NULL || !isdigit((unsigned char)id[0]))
		return 0;
	dot = strrchr(id, '.');
	if (dot == NULL || !is_number(dot + 1))
		return 0;
	/* The step we run in. */
	if (str_eq(dot + 1, env("SLURM_STEP_ID")) &&
	    strncmp(id, env("SLURM_JOB_ID"), (size_t)(dot - id)) == 0 &&
	    env("SLURM_JOB_ID")[dot - id] == '\0')
		return 0;
	return hostlist_add_name(arg, id, err);
}

static int
slurm_list(const struct step_where *w, struct hostlist *out, struct error *err)
{
	const char *const words[] = { "squeue",	 "-h", "-s", "-j",
				      w->job_id, "-o", "%i", NULL };
	struct step_command c = { .count = 0 };
	struct error why = ERROR_INIT;

	add_words(&c, words);
	if (each_line(w, &c, slurm_line, out, &why) == 0)
		return 0;
	/* The job itself is over: then nothing of it runs. */
	if (strstr(why.text, "Invalid job id") != NULL)
		return 0;
	return step_give(err, &why);
}

static void
slurm_signal(const struct step_where *w, bool hard, struct step_command *c)
{
	(void)w;
	step_add_word(c, "scancel");
	step_add_word(c, hard ? "--signal=KILL" : "--signal=TERM");
}

/* --- Flux --- */

/*
 * The steps are the jobs of the instance that the job is.  In it we ask the
 * instance around us; from outside, the way leads through a proxy.  Without
 * either, `flux jobs` would list the user's allocations.
 */
static bool
flux_inside(const struct step_where *w)
{
	return *env("FLUX_ENCLOSING_ID") != '\0' &&
	       (w->around || str_eq(w->job_id, env("FLUX_ENCLOSING_ID")));
}

static int
flux_check(const struct step_where *w, struct error *err)
{
	if (!w->around || flux_inside(w))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "this is not inside of a Flux job: give --job-id");
}

static void
flux_words(const struct step_where *w, struct step_command *c)
{
	const char *const proxy[] = { "flux", "proxy", w->job_id, NULL };

	if (!flux_inside(w))
		add_words(c, proxy);
	step_add_word(c, "flux");
}

/* Ids in base 58 begin with a florin sign, or with f where the locale has
 * none. */
static const char *
flux_digits(const char *id)
{
	return str_starts(id, "\xc6\x92") ? id + 2 : id + (*id == 'f');
}

/* An id in decimal, and the same in base 58: we may know ours as either. */
static int
flux_line(const struct step_where *w, char *text, void *arg, struct error *err)
{
	const char *own = env("FLUX_JOB_ID");
	char *id = next_word(&text), *other = next_word(&text);

	(void)w;
	if (id == NULL || !is_number(id) || str_eq(id, own) ||
	    (other != NULL && str_eq(flux_digits(other), flux_digits(own))))
		return 0;
	return hostlist_add_name(arg, id, err);
}

static int
flux_list(const struct step_where *w, struct hostlist *out, struct error *err)
{
	const char *const words[] = { "jobs",	 "-n", "-f",
				      "running", "-o", "{id.dec} {id.f58}",
				      NULL };
	struct step_command c = { .count = 0 };

	flux_words(w, &c);
	add_words(&c, words);
	return each_line(w, &c, flux_line, out, err);
}

static void
flux_signal(const struct step_where *w, bool hard, struct step_command *c)
{
	flux_words(w, c);
	step_add_word(c, "job");
	step_add_word(c, "kill");
	step_add_word(c, hard ? "--signal=SIGKILL" : "--signal=SIGTERM");
}

/* --- LSF with jsrun --- */

/* jsrun's own commands speak of the allocation they are called in. */
static int
lsf_check(const struct step_where *w, struct error *err)
{
	if (w->around || str_eq(w->job_id, env("LSB_JOBID")))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "job %s: steps of an LSF job can be stopped only from "
			 "inside of it",
			 w->job_id);
}

/* A table: the id of the step is the first column, its state the last. */
static int
lsf_line(const struct step_where *w, char *text, void *arg, struct error *err)
{
	char *id = next_word(&text), *word = NULL;
	bool running = false;

	(void)w;
	while ((word = next_word(&text)) != NULL)
		running = str_eq(word, "Running");
	if (!running || !is_number(id))
		return 0;
	return hostlist_add_name(arg, id, err);
}

static int
lsf_list(const struct step_where *w, struct hostlist *out, struct error *err)
{
	struct step_command c = { .count = 0 };

	step_add_word(&c, "jslist");
	return each_line(w, &c, lsf_line, out, err);
}

static void
lsf_signal(const struct step_where *w, bool hard, struct step_command *c)
{
	(void)w;
	step_add_word(c, "jskill");
	if (hard) {
		step_add_word(c, "-s");
		step_add_word(c, "KILL");
	}
}

/* --- PBS with ALPS --- */

struct alps {
	struct hostlist *out;
	char apid[32]; /* of the application that the lines are about */
};

/* "1234.sdb" and "1234" are the same job. */
static bool
same_job(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n == strcspn(b, ".") && strncmp(a, b, n) == 0;
}

/* "Ap[0]: apid 2286202, pagg ..." begins an application; a later line says
 * "Batch System ID = 1234.sdb". */
static int
alps_line(const struct step_where *w, char *text, void *arg, struct error *err)
{
	static const char apid[] = "apid ", batch[] = "Batch System ID = ";
	struct alps *a = arg;
	char *at = strstr(text, apid), *id = NULL;

	if (at != NULL) {
		at += strlen(apid);
		snprintf(a->apid, sizeof(a->apid), "%.*s",
			 (int)strspn(at, "0123456789"), at);
	}
	at = strstr(text, batch);
	if (at == NULL || a->apid[0] == '\0')
		return 0;
	at += strlen(batch);
	id = next_word(&at);
	if (id == NULL || !same_job(id, w->job_id))
		return 0;
	return hostlist_add_name(a->out, a->apid, err);
}

static int
alps_list(const struct step_where *w, struct hostlist *out, struct error *err)
{
	struct alps a = { .out = out };
	struct step_command c = { .count = 0 };

	step_add_word(&c, "apstat");
	step_add_word(&c, "-avv");
	return each_line(w, &c, alps_line, &a, err);
}

static void
alps_signal(const struct step_where *w, bool hard, struct step_command *c)
{
	(void)w;
	step_add_word(c, "apkill");
	step_add_word(c, hard ? "-9" : "-15");
}

/* --- All of them --- */

static const struct step_manager managers[] = {
	{ "slurm", "squeue", NULL, slurm_list, slurm_signal },
	{ "flux", "flux", flux_check, flux_list, flux_signal },
	{ "lsf", "jslist", lsf_check, lsf_list, lsf_signal },
	{ "pbs", "apstat", NULL, alps_list, alps_signal },
};

#define MANAGERS (sizeof(managers) / sizeof(managers[0]))

const struct step_manager *
step_manager_find(const char *name)
{
	for (size_t i = 0; i < MANAGERS; i++)
		if (name != NULL && str_eq(name, managers[i].name))
			return &managers[i];
	return NULL;
}

const char *
step_manager_here(void)
{
	for (size_t i = 0; i < MANAGERS; i++)
		if (resmgr_has(managers[i].command))
			return managers[i].name;
	return NULL;
}
