/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/health.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "dir.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "json.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "remote/complaints.h"
#include "remote/remote.h"
#include "room.h"
#include "site/job.h"
#include "site/resmgr.h"
#include "str.h"

/* The states as words, for scripts. */
static const char *const words[HEALTH_STATES] = {
	[HEALTH_OK] = "ok",
	[HEALTH_FULL] = "full",
	[HEALTH_SMALL] = "small",
	[HEALTH_UNWRITABLE] = "unwritable",
	[HEALTH_MISSING] = "missing",
	[HEALTH_UNREACHABLE] = "unreachable",
	[HEALTH_REPORTED] = "reported",
	[HEALTH_EXCLUDED] = "excluded",
	[HEALTH_SPECIFIED] = "specified",
};

/* --- On the node: its directories --- */

/* What is wrong with a directory, as a state and as a clause. */
struct finding {
	enum health_state state;
	char why[256];
};

static int
found(struct finding *f, enum health_state state, int errnum)
{
	f->state = state;
	snprintf(f->why, sizeof(f->why), "%s", strerror(errnum));
	return -1;
}

/* The state for the errno of a failed write. */
static enum health_state
state_of(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT    ? HEALTH_FULL
	       : errnum == ENOENT || errnum == ENOTDIR ? HEALTH_MISSING
						       : HEALTH_UNWRITABLE;
}

static int
have_dir(const char *path, struct finding *f)
{
	struct stat st;
	int why = ENOTDIR;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (io_make_dirs(path, 0700, NULL) < 0)
		why = errno;
	else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return found(
		f, state_of(why) == HEALTH_FULL ? HEALTH_FULL : HEALTH_MISSING,
		why);
}

static int
large_enough(const char *path, uint64_t bytes, bool spare, struct finding *f)
{
	struct statvfs fs;
	double size = 0;

	if (bytes == 0)
		return 0;
	if (statvfs(path, &fs) < 0)
		return found(f, HEALTH_MISSING, errno);
	size = (double)fs.f_frsize *
	       (double)(spare ? fs.f_bavail : fs.f_blocks);
	if (size >= (double)bytes)
		return 0;
	f->state = spare ? HEALTH_FULL : HEALTH_SMALL;
	snprintf(f->why, sizeof(f->why), "%s%s, %s needed",
		 str_size((uint64_t)size), spare ? " free" : "",
		 str_size(bytes));
	return -1;
}

enum health_state
health_test_dir(const char *path, uint64_t bytes, bool spare,
		enum health_use use, struct buf *out)
{
	struct finding f = { .state = HEALTH_OK };
	struct error why = ERROR_INIT;
	int fd = -1;

	if (path[0] != '/') {
		f.state = HEALTH_MISSING;
		snprintf(f.why, sizeof(f.why), "not an absolute path");
	} else if (use != HEALTH_RUN || have_dir(path, &f) == 0) {
		fd = dir_open(AT_FDCWD, path);
		if (fd < 0)
			found(&f, HEALTH_MISSING, errno);
	}
	/* Check for too small first: that is worse than full. */
	if (fd >= 0 && use == HEALTH_RUN &&
	    large_enough(path, bytes, false, &f) == 0) {
		if (room_try(fd, &why) < 0)
			found(&f, state_of(why.errnum), why.errnum);
		else if (spare)
			(void)large_enough(path, bytes, true, &f);
	}
	io_close(fd);
	if (f.state != HEALTH_OK)
		buf_printf(out, HEALTH_FAIL "%s: %s: %s\n", words[f.state],
			   path, f.why);
	return f.state;
}

void
health_newest(const char *dir, int64_t *newest)
{
	const int fd = dir_open(AT_FDCWD, dir);
	const char *name = NULL;
	struct buf path = BUF_INIT;
	struct dir_walk w;
	int rc = dir_walk(&w, fd, dir, NULL);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		(void)path_join(&path, dir, name, NULL);
		if (str_starts(name, "node."))
			health_newest(path.data, newest);
		else if (dataset_dir_id(name) > *newest)
			*newest = dataset_dir_id(name);
	}
	(void)dir_done(&w, rc, NULL);
	buf_free(&path);
	io_close(fd);
}

/* --- What is known without probing --- */

/* Set this state and reason for the nodes that are in `list`. */
static void
mark(struct health *h, const struct hostlist *list, enum health_state state,
     const char *why)
{
	struct map *m = hostlist_map(list, NULL);

	for (size_t i = 0; i < h->count; i++) {
		struct health_node *n = &h->nodes[i];

		if (map_get(m, n->name) == MAP_NONE || n->state >= state)
			continue;
		n->state = state;
		n->why = why;
	}
	map_free(m);
}

/* Record the known states, in any order: mark() keeps the worst one, which is
 * the user's. */
static int
mark_known(struct job *j, const struct health_options *o, struct health *h,
	   struct error *err)
{
	const char *text = conf_get(j->conf, "SCR_EXCLUDE_NODES");
	const char *why =
		arena_printf(h->arena, "Reported down by resource manager (%s)",
			     resmgr_name(j->rm));
	struct hostlist reported = HOSTLIST_INIT, excluded = HOSTLIST_INIT;
	int rc = resmgr_down(j->rm, &j->nodes, &reported, err);

	if (rc == 0 && text != NULL && hostlist_add(&excluded, text, err) < 0)
		rc = error_wrap(err, "SCR_EXCLUDE_NODES from %s",
				conf_place(j->conf, "SCR_EXCLUDE_NODES"));
	mark(h, &reported, HEALTH_REPORTED, why);
	mark(h, &excluded, HEALTH_EXCLUDED,
	     "User excluded via SCR_EXCLUDE_NODES");
	if (o->down != NULL)
		mark(h, o->down, HEALTH_SPECIFIED, "Specified as down");
	hostlist_free(&reported);
	hostlist_free(&excluded);
	return rc;
}

/* --- Probing --- */

/* The command that runs on each node, in `arena`. */
static const char **
node_command(const struct job *j, const struct health_options *o,
	     struct arena *arena)
{
	const size_t ndirs = o->reach_only ? 0 : 1 + j->ncaches;
	const char **argv =
		arena_alloc(arena, 5 + 2 * (ndirs + j->ncaches), sizeof(*argv));
	size_t n = 0;

	argv[0] = o->helper;
	argv[++n] = "check-node";
	if (o->use == HEALTH_READ)
		argv[++n] = "--read";
	if (o->free)
		argv[++n] = "--free";
	for (size_t i = 0; i < ndirs; i++) {
		/* A run will use the first control directory. */
		const struct job_cache *dir =
			i == 0 ? &j->cntls[0] : &j->caches[i - 1];

		argv[++n] = i == 0 ? "--cntl" : "--cache";
		/* Always with the size, even 0: a path itself may end in
		 * ":1". */
		argv[++n] = arena_printf(arena, "%s:%" PRIu64, dir->base,
					 dir->bytes);
	}
	for (size_t i = 0; o->newest && i < j->ncaches; i++) {
		argv[++n] = "--newest";
		argv[++n] = j->caches[i].dir;
	}
	return argv;
}

/*
 * Parse the output of a node, which may contain noise from its shell's start-up
 * files.  Appends the reasons to `why`, separated by "; ".  Returns a state, or
 * HEALTH_STATES if `text` contains no answer.
 */
static enum health_state
read_answer(const char *text, struct buf *why, int64_t *newest)
{
	const size_t pass = strlen(HEALTH_PASS), fail = strlen(HEALTH_FAIL);
	enum health_state worst = HEALTH_STATES;
	const char *line = NULL;
	size_t len = 0;

	while ((line = str_line(&text, &len)) != NULL) {
		int s = HEALTH_FULL;

		if (len == pass && strncmp(line, HEALTH_PASS, pass) == 0) {
			worst = worst == HEALTH_STATES ? HEALTH_OK : worst;
			continue;
		}
		(void)sscanf(line, HEALTH_NEWEST "%" SCNd64, newest);
		if (len <= fail || strncmp(line, HEALTH_FAIL, fail) != 0)
			continue;
		line += fail;
		len -= fail;
		/* The state with whose word the line goes on. */
		for (; s < HEALTH_STATES; s++) {
			const size_t n = strlen(words[s]);

			if (len > n && strncmp(line, words[s], n) == 0 &&
			    line[n] == ':')
				break;
		}
		if (s == HEALTH_STATES)
			continue;
		if (worst == HEALTH_STATES || s > (int)worst)
			worst = (enum health_state)s;
		buf_printf(why, "%s%.*s", why->len > 0 ? "; " : "", (int)len,
			   line);
	}
	return worst;
}

static void
judge(struct health_node *n, const struct remote_result *r, struct arena *a)
{
	enum health_state state = HEALTH_STATES;
	struct buf why = BUF_INIT;
	const char *rest = r->err.len > 0 ? r->err.data : r->out.data;
	const char *first = NULL;
	char raw[256];
	size_t len = 0;

	if (r->state == REMOTE_DONE)
		state = read_answer(r->out.data, &why, &n->newest);
	if (state == HEALTH_STATES) {
		/* A state known before the probe stays. */
		state = n->state == HEALTH_OK ? HEALTH_UNREACHABLE : n->state;
		first = str_line(&rest, &len);
		snprintf(raw, sizeof(raw), "%.*s", (int)len,
			 first != NULL ? first : "");
		if (n->why[0] != '\0')
			buf_printf(&why, "%s; ", n->why);
		if (r->state != REMOTE_DONE)
			buf_printf(&why, "Failed to echo UP: %s",
				   r->why != NULL ? r->why : "no answer");
		else
			buf_printf(&why, "its check failed, status %d%s%s",
				   r->status, raw[0] != '\0' ? ": " : "",
				   str_shown(raw));
	}
	n->state = state;
	n->why = why.len > 0 ? arena_strdup(a, why.data) : "";
	buf_free(&why);
}

/* Is a probe of this node useful? */
static bool
to_ask(const struct health_node *n, enum health_use use)
{
	return n->state == HEALTH_OK ||
	       (use == HEALTH_READ && n->state != HEALTH_SPECIFIED);
}

int
health_check(struct job *j, const struct health_options *o, struct health *out,
	     struct error *err)
{
	struct remote_result *results = NULL;
	struct hostlist asked = HOSTLIST_INIT;
	size_t k = 0;
	int rc = 0;

	out->arena = arena_new();
	out->count = j->nodes.count;
	out->nodes =
		arena_alloc(out->arena, out->count + 1, sizeof(*out->nodes));
	for (size_t i = 0; i < out->count; i++) {
		out->nodes[i].name =
			arena_strdup(out->arena, j->nodes.names[i]);
		out->nodes[i].why = "";
	}
	rc = mark_known(j, o, out, err);
	for (size_t i = 0; i < out->count; i++)
		if (to_ask(&out->nodes[i], o->use))
			(void)hostlist_add_name(&asked, out->nodes[i].name,
						NULL);
	results = mem_calloc(asked.count + 1, sizeof(*results));
	if (rc == 0)
		rc = remote_run(&asked, node_command(j, o, out->arena),
				o->remote, results, err);
	for (size_t i = 0; i < out->count && rc == 0; i++) {
		struct health_node *n = &out->nodes[i];

		if (to_ask(n, o->use))
			judge(n, &results[k++], out->arena);
		n->usable =
			n->state == HEALTH_OK ||
			(o->use == HEALTH_READ && n->state < HEALTH_MISSING);
	}
	remote_results_free(results, asked.count);
	mem_free(results);
	hostlist_free(&asked);
	if (rc < 0)
		health_free(out);
	return rc;
}

void
health_free(struct health *h)
{
	arena_free(h->arena);
	memset(h, 0, sizeof(*h));
}

/* --- Output --- */

void
health_bad_nodes(const struct health *h, struct hostlist *out)
{
	for (size_t i = 0; i < h->count; i++)
		if (!h->nodes[i].usable)
			(void)hostlist_add_name(out, h->nodes[i].name, NULL);
}

void
health_reasons(const struct health *h, struct buf *out)
{
	struct complaints c = { .count = 0 };

	for (size_t i = 0; i < h->count; i++)
		if (!h->nodes[i].usable)
			complaints_add(&c, h->nodes[i].name, h->nodes[i].why);
	complaints_take(&c, out);
}

struct json *
health_json(const struct health *h)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < h->count; i++) {
		const struct health_node *n = &h->nodes[i];
		struct json *j = json_new_object();

		json_set_str(j, "name", n->name);
		json_set_str(j, "state", words[n->state]);
		json_set_bool(j, "usable", n->usable);
		json_set_str(j, "reason", n->why);
		if (n->newest > 0)
			json_set_i64(j, "newest", n->newest);
		json_push(list, j);
	}
	return list;
}
