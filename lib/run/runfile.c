/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/runfile.h"

#include <errno.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "lock.h"
#include "str.h"

#define RECORD_MAX ((size_t)64 << 20)

static const char *const words[] = { "starting", "running", "pausing", "saving",
				     "ended" };
#define WORDS (sizeof(words) / sizeof(words[0]))

const char *
run_state_word(enum run_state s)
{
	return words[s];
}

int
run_record_write(int scr, const struct run_record *r, struct error *err)
{
	struct json *j = json_new_object(), *list = json_new_array();
	struct buf text = BUF_INIT;
	int rc = -1;

	json_set_str(j, "state", words[r->state]);
	json_set_i64(j, "since", r->since);
	json_set_time(j, "since_time", r->since);
	json_set_str(j, "job_id", r->job);
	json_set_str(j, "host", r->host);
	json_set_i64(j, "pid", r->pid);
	json_set_i64(j, "runs", r->runs);
	json_set_i64(j, "runs_left", r->left);
	json_set_known_str(j, "why", r->why);
	if (r->dataset > 0)
		json_set_i64(j, "newest_dataset", r->dataset);
	if (r->state == RUN_ENDED)
		json_set_i64(j, "status", r->status);
	/* As members of objects, words that are not UTF-8 keep their bytes. */
	for (const char *const *w = r->argv; *w != NULL; w++) {
		struct json *word = json_new_object();

		json_set_str(word, "word", *w);
		json_push(list, word);
	}
	json_set(j, "command", list);
	list = json_new_array();
	for (size_t i = 0; i < r->bad.count; i++) {
		struct json *node = json_new_object();

		json_set_str(node, "node", r->bad.names[i]);
		json_set_str(node, "why",
			     r->reasons != NULL ? r->reasons[i] : NULL);
		json_push(list, node);
	}
	json_set(j, "excluded", list);
	if (json_line(j, &text, err) == 0 && buf_add_char(&text, '\n') == 0)
		rc = io_replace_lazy(scr, RUN_RECORD, text.data, text.len, 0666,
				     err);
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
	const char **argv = NULL, *state = NULL, *name = NULL;
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
	if (name == NULL || r->job == NULL || argv == NULL ||
	    !json_get_i64(v, "pid", 0, INT64_MAX, &r->pid) ||
	    !json_get_i64(v, "since", 0, INT64_MAX, &r->since) ||
	    !json_get_i64(v, "runs", 0, INT64_MAX, &r->runs) ||
	    !json_get_i64(v, "runs_left", -1, INT64_MAX, &r->left)) {
		error_set(err, ERROR_CORRUPT, "not a record of scr_run");
		goto out;
	}
	if (json_get_i64(v, "status", 0, 255, &status))
		r->status = (int)status;
	(void)json_get_i64(v, "newest_dataset", 1, INT64_MAX, &r->dataset);
	/* A word that is missing ends the command. */
	for (size_t i = 0; i < count; i++)
		if (json_get_str(json_at(list, i), "word", a, &argv[i], err) <
		    0)
			goto out;
	r->argv = argv;
	list = json_get(v, "excluded");
	r->reasons = arena_alloc(a, json_count(list) + 1, sizeof(*r->reasons));
	for (size_t i = 0; r->reasons != NULL && i < json_count(list); i++) {
		const struct json_value *node = json_at(list, i);

		if (json_get_str(node, "node", a, &name, err) < 0 ||
		    json_get_str(node, "why", a, &r->reasons[i], err) < 0 ||
		    hostlist_add_name(&r->bad, name != NULL ? name : "", err) <
			    0)
			goto out;
	}
	rc = r->reasons != NULL ? 0 : error_no_memory(err);
out:
	if (rc < 0 && err != NULL && err->kind == ERROR_CORRUPT)
		error_wrap(err, "%s", RUN_RECORD);
	json_release(v);
	buf_free(&text);
	return rc;
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
