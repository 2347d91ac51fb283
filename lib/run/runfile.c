/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "lock.h"
#include "meta/index.h"
#include "site/jobfiles.h"
#include "str.h"

#define RECORD_MAX ((size_t)64 << 20)

static const char *const words[] = { "starting", "running", "pausing", "saving",
				     "ended" };
#define WORDS (sizeof(words) / sizeof(words[0]))

/* An array of objects {key: name, "why": reason}. */
static struct json *
names_json(const struct hostlist *h, const char *key,
	   const char *const *reasons)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < h->count; i++) {
		struct json *one = json_new_object();

		json_set_str(one, key, h->names[i]);
		if (reasons != NULL)
			json_set_str(one, "why", reasons[i]);
		json_push(list, one);
	}
	return list;
}

/* Read it. */
static int
read_names(const struct json_value *all, const char *key, struct hostlist *out,
	   const char ***reasons, struct arena *a, struct error *err)
{
	const size_t count = json_count(all);
	const char *name = NULL,
		   **why = arena_alloc(a, count + 1, sizeof(*why));

	for (size_t i = 0; i < count; i++)
		if (json_get_str(json_at(all, i), key, a, &name, err) < 0 ||
		    json_get_str(json_at(all, i), "why", a, &why[i], err) < 0 ||
		    hostlist_add_name(out, name != NULL ? name : "", err) < 0)
			return -1;
		else if (why[i] == NULL)
			why[i] = "";
	*reasons = why;
	return 0;
}

int
run_record_write(int scr, const struct run_record *r, struct error *err)
{
	struct json *j = json_new_object(), *list = json_new_array();
	struct buf text = BUF_INIT;
	int rc = 0;

	json_set_str(j, "state", words[r->state]);
	json_set_i64(j, "since", r->since);
	json_set_time(j, "since_time", r->since);
	json_set_str(j, "job_id", r->job);
	json_set_str(j, "host", r->host);
	json_set_i64(j, "pid", r->pid);
	json_set_i64(j, "runs", r->runs);
	json_set_i64(j, "runs_left", r->left);
	json_set_known_str(j, "why", r->why);
	json_set_known_str(j, "directory", r->dir);
	json_set_known_str(j, "nodes", r->nodes);
	json_set_i64(j, "written", clock_now());
	if (r->dataset > 0)
		json_set_i64(j, "newest_dataset", r->dataset);
	json_set_known_i64(j, "status", r->status);
	json_set_i64(j, "given_back", r->given_back);
	/* As members of objects, words that are not UTF-8 keep their bytes. */
	for (const char *const *w = r->argv; *w != NULL; w++) {
		struct json *word = json_new_object();

		json_set_str(word, "word", *w);
		json_push(list, word);
	}
	json_set(j, "command", list);
	json_set(j, "excluded", names_json(&r->bad, "node", r->reasons));
	json_set_known_str(j, "mark", r->mark);
	json_set(j, "steps", names_json(&r->steps, "step", NULL));
	(void)json_line(j, &text, NULL);
	buf_add_char(&text, '\n');
	rc = io_replace_lazy(scr, RUN_RECORD, text.data, text.len, 0644, err);
	buf_free(&text);
	return rc;
}

int
run_record_read(int scr, struct run_record *r, struct arena *a,
		struct error *err)
{
	struct buf text = BUF_INIT;
	struct json_value *v = NULL;
	const struct json_value *list = NULL;
	const char **argv = NULL, **unused = NULL, *state = NULL, *name = NULL;
	size_t count = 0;
	int64_t status = 0;
	int rc = -1;

	*r = (struct run_record){ .status = -1 };
	if (io_read_file(scr, RUN_RECORD, RECORD_MAX, &text, err) < 0)
		goto out;
	v = json_parse(text.data != NULL ? text.data : "", text.len, err);
	if (v == NULL || json_get_str(v, "state", a, &state, err) < 0 ||
	    json_get_str(v, "job_id", a, &r->job, err) < 0 ||
	    json_get_str(v, "host", a, &r->host, err) < 0 ||
	    json_get_str(v, "mark", a, &r->mark, err) < 0 ||
	    json_get_str(v, "directory", a, &r->dir, err) < 0 ||
	    json_get_str(v, "nodes", a, &r->nodes, err) < 0 ||
	    json_get_str(v, "why", a, &r->why, err) < 0)
		goto out;
	for (size_t i = 0; state != NULL && i < WORDS; i++)
		if (str_eq(state, words[i])) {
			r->state = (enum run_state)i;
			name = state;
		}
	list = json_get(v, "command");
	count = json_count(list);
	argv = arena_alloc(a, count + 1, sizeof(*argv));
	if (name == NULL || r->job == NULL ||
	    !json_get_i64(v, "pid", 0, INT64_MAX, &r->pid) ||
	    !json_get_i64(v, "since", 0, INT64_MAX, &r->since) ||
	    !json_get_i64(v, "runs", 0, INT64_MAX, &r->runs) ||
	    !json_get_i64(v, "runs_left", -1, INT64_MAX, &r->left)) {
		error_set(err, ERROR_CORRUPT, "not a record of scr_run");
		goto out;
	}
	if (json_get_i64(v, "status", 0, 255, &status))
		r->status = (int)status;
	(void)json_get_i64(v, "written", 1, INT64_MAX, &r->written);
	(void)json_get_i64(v, "given_back", 0, INT64_MAX, &r->given_back);
	(void)json_get_i64(v, "newest_dataset", 1, INT64_MAX, &r->dataset);
	/* A word that is missing ends the command. */
	for (size_t i = 0; i < count; i++)
		if (json_get_str(json_at(list, i), "word", a, &argv[i], err) <
		    0)
			goto out;
	r->argv = argv;
	if (read_names(json_get(v, "excluded"), "node", &r->bad, &r->reasons, a,
		       err) == 0)
		rc = read_names(json_get(v, "steps"), "step", &r->steps,
				&unused, a, err);
out:
	if (rc < 0 && err != NULL && err->kind == ERROR_CORRUPT)
		error_wrap(err, "%s", RUN_RECORD);
	json_release(v);
	buf_free(&text);
	return rc;
}

int
run_record_is_mine(int scr, struct error *err)
{
	struct stat st;

	if (fstatat(scr, RUN_RECORD, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	return error_set(err, ERROR_UNSAFE,
			 RUN_RECORD " is not yours alone, and is not obeyed: "
				    "run this as its owner");
}

/* Does the wrapper live?  Its lock shows it, or else how old the record is. */
static bool
lives(int scr, const struct run_record *r)
{
	const int fd = openat(scr, RUN_LOCK, O_RDONLY | O_CLOEXEC);
	const bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
	const int why = errno;

	io_close(fd);
	return locked &&
	       (why == EWOULDBLOCK || clock_now() < r->written + RUN_LEASE);
}

/* What takes over from a wrapper that was killed, in `a`. */
static const char *
resume_command(const char *prefix, struct arena *a)
{
	const char *usual = getenv("SCR_PREFIX");

	if (str_eq(prefix, usual != NULL && *usual != '\0' ? usual : "."))
		return "scr_run --resume";
	return arena_printf(a,
			    strpbrk(prefix, " '\"\\$&;()<>|*?`") == NULL
				    ? "scr_run -p %s --resume"
				    : "scr_run -p '%s' --resume",
			    prefix);
}

int
run_record_show(const char *prefix, const char *indent, struct buf *out,
		struct json *j, struct error *err)
{
	struct error why = ERROR_INIT;
	struct arena *a = arena_new();
	struct run_record r = { .status = -1 }; /* r.job is NULL: none */
	struct json *nodes = json_new_array();
	char stamp[INDEX_STAMP_SIZE];
	const int scr = jobfiles_open(prefix, false, &why);
	/* The wrapper was killed. */
	const bool dead = scr >= 0 && run_record_read(scr, &r, a, &why) == 0 &&
			  r.state != RUN_ENDED && !lives(scr, &r);
	const char *next = dead ? resume_command(prefix, a) : NULL;

	json_set_bool(j, "exists", r.job != NULL);
	if (r.job != NULL) {
		buf_printf(out, "%sscr_run     %s%s since %s, run %" PRId64,
			   indent, dead ? "killed while " : "", words[r.state],
			   index_stamp(stamp, r.since), r.runs);
		if (r.left >= 0)
			buf_printf(out, ", %" PRId64 " left", r.left);
		if (r.state == RUN_ENDED)
			buf_printf(out, ", status %d", r.status);
		buf_printf(out, ", job %s, %s process %" PRId64 "%s%s\n",
			   str_shown(r.job), r.host != NULL ? r.host : "?",
			   r.pid, next != NULL ? ": " : "",
			   next != NULL ? next : "");
		json_set_str(j, "state", dead ? "killed" : words[r.state]);
		json_set_time(j, "time", r.since);
		json_set_str(j, "job_id", r.job);
		json_set_str(j, "host", r.host != NULL ? r.host : "");
		json_set_i64(j, "process_id", r.pid);
		json_set_i64(j, "run_count", r.runs);
		json_set_known_i64(j, "runs_left", r.left);
		json_set_known_str(j, "reason", r.why);
		json_set_i64(j, "newest_id", r.dataset);
		json_set_known_i64(j, "job_status",
				   r.state == RUN_ENDED ? r.status : -1);
		json_set_known_str(j, "next", next);
	}
	for (size_t i = 0; i < r.bad.count; i++) {
		struct json *node = json_new_object();

		buf_printf(out, "%snot used    %s: %s\n", indent,
			   r.bad.names[i], r.reasons[i]);
		json_set_str(node, "name", r.bad.names[i]);
		json_set_bool(node, "usable", false);
		json_set_known_str(node, "reason", r.reasons[i]);
		json_push(nodes, node);
	}
	json_set(j, "nodes", nodes);
	io_close(scr);
	hostlist_free(&r.bad);
	hostlist_free(&r.steps);
	arena_free(a);
	return why.kind == ERROR_NONE || why.kind == ERROR_ABSENT
		       ? 0
		       : error_pass(err, &why);
}

int
run_record_lock(int scr, struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = io_trylock(scr, RUN_LOCK, true, &why);

	if (fd >= 0)
		return fd;
	if (why.kind == ERROR_SYSTEM && why.errnum == EWOULDBLOCK)
		return error_pass(err, &why);
	return lock_unsupported(&why) ? -2 : error_pass(err, &why);
}
