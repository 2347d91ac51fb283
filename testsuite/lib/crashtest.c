/* SPDX-License-Identifier: BSD-3-Clause */
#include "crashtest.h"

#include "catalogue/catalogue.h"
#include "meta/index.h"
#include "metatest.h"
#include "temp.h"

/* Seconds after which a run counts as hung. */
#define RUN_LIMIT 60

/* Problems printed for one check. */
#define TELL_MAX 5

char crash_dir[512], prefix[600];

bool slow; /* try every operation, and random kills */

bool slower; /* try all kinds of faults in the large scenes, too */

/* --- Running a command --- */

static void
set_number(const char *name, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	setenv(name, text, 1);
}

/* Runs in the child. */
static void
prepare_env(const struct fault *f)
{
	const char *asan = getenv("ASAN_OPTIONS");
	char text[512];

	if (f->fail_at + f->kill_at == 0 && f->count == NULL)
		return;
	/* The sanitizer's library accepts being preloaded after the shim. */
	snprintf(text, sizeof(text),
		 "%s:verify_asan_link_order=0:detect_leaks=%d",
		 asan != NULL ? asan : "", f->kill_at == 0);
	setenv("ASAN_OPTIONS", text, 1);
	setenv("LD_PRELOAD", getenv("SHIM"), 1);
	if (f->fail_at > 0)
		set_number("SHIM_FAIL_AT", f->fail_at);
	if (f->kill_at > 0)
		set_number("SHIM_KILL_AT", f->kill_at);
	if (f->error != NULL)
		setenv("SHIM_ERRNO", f->error, 1);
	if (f->halve)
		setenv("SHIM_SHORT", "1", 1);
	if (f->sticky)
		setenv("SHIM_STICKY", "1", 1);
	if (f->reads)
		setenv("SHIM_READS", "1", 1);
	if (f->count != NULL)
		setenv("SHIM_COUNT_FILE", f->count, 1);
	if (f->trace != NULL)
		setenv("SHIM_TRACE", f->trace, 1);
}

static void
messages_path(char to[static 600])
{
	snprintf(to, 600, "%s/messages", crash_dir);
}

int
run_command(const char *const *argv, const struct fault *f)
{
	static const struct fault none = { .kill_after = -1 };
	char path[600], messages[600];
	struct timespec pause;
	int status = -1, fd = -1;
	pid_t pid;

	if (f == NULL)
		f = &none;
	snprintf(path, sizeof(path), "%s/%s", getenv("BIN"), argv[0]);
	messages_path(messages);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(open("/dev/null", O_RDWR), 1);
		dup2(fd, 2);
		prepare_env(f);
		alarm(RUN_LIMIT);
		execv(path, (char *const *)argv);
		_exit(126);
	}
	if (pid < 0)
		bail_out("fork");
	if (f->kill_after >= 0) {
		pause.tv_sec = 0;
		pause.tv_nsec = f->kill_after * 1000;
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid)
		bail_out("waitpid");
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* --- Comparing --- */

/* Normalize an index so that equal ones are equal byte by byte: keys sorted,
 * times removed. */
static bool
plain_index(const struct buf *raw, struct buf *out)
{
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *e = NULL;
	bool good = t != NULL;

	buf_clear(out);
	kvtree_foreach (e, kvtree_get(t, "DSET")) {
		if (kvtree_get(e, "FLUSHED") != NULL)
			good = kvtree_set(e, "FLUSHED", "T", NULL) == 0 && good;
	}
	good = good && kvtree_sort(t, NULL) == 0 &&
	       kvtree_encode(t, out, NULL) == 0;
	kvtree_free(t);
	return good;
}

bool
same_index(const struct tree_entry *a, const struct tree_entry *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same = plain_index(&a->data, &x) && plain_index(&b->data, &y) &&
		    x.len == y.len && memcmp(x.data, y.data, x.len) == 0;

	buf_free(&x);
	buf_free(&y);
	return same;
}

bool
is_index(const char *path)
{
	return strcmp(path, ".scr/index.scr") == 0;
}

bool
is_lock(const char *path)
{
	const char *base = path_base(path);

	return strcmp(base, "index.lock") == 0 ||
	       strcmp(base, "index.spare") == 0 || str_starts(base, ".scrkit.");
}

bool
is_metadata(const char *path)
{
	return strncmp(path, ".scr/", 5) == 0;
}

static bool
same_entry(const struct tree_entry *a, const struct tree_entry *b)
{
	if (is_index(a->path))
		return a->mode == b->mode && same_index(a, b);
	return entry_same(a, b, !is_metadata(a->path));
}

void
tell(struct scene *s, const char *what, const char *path)
{
	char shown[256];

	if (s->told++ < TELL_MAX)
		printf("# %s: %s: %s\n", s->name, what,
		       str_printable(shown, sizeof(shown), path));
}

/* Compare an index with the old one, ignoring the restart point and whether the
 * dataset to be deleted is marked complete. */
static bool
same_but_entry(struct kvtree *now, const struct buf *before, const char *id)
{
	struct kvtree *b = kvtree_decode(before->data, before->len, NULL, NULL);
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same = false;

	if (b != NULL) {
		kvtree_remove(now, "CURRENT");
		kvtree_remove(b, "CURRENT");
		kvtree_set(kvtree_get2(now, "DSET", id), "COMPLETE", "1", NULL);
		same = kvtree_sort(now, NULL) == 0 &&
		       kvtree_sort(b, NULL) == 0 &&
		       kvtree_encode(now, &x, NULL) == 0 &&
		       kvtree_encode(b, &y, NULL) == 0 && x.len == y.len &&
		       memcmp(x.data, y.data, x.len) == 0;
	}
	kvtree_free(b);
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Is `now` the old index without dataset 1, ckpt.1? */
static bool
index_lacks_one(const struct tree_entry *now, const struct tree_entry *before)
{
	struct kvtree *n =
		kvtree_decode(now->data.data, now->data.len, NULL, NULL);
	struct kvtree *b =
		kvtree_decode(before->data.data, before->data.len, NULL, NULL);
	bool same = false;

	if (n != NULL && b != NULL) {
		kvtree_remove(n, "CURRENT");
		kvtree_remove(b, "CURRENT");
		kvtree_remove(kvtree_get(b, "DSET"), "1");
		kvtree_remove(kvtree_get(b, "NAME"), "ckpt.1");
		same = tree_same(n, b, true);
	}
	kvtree_free(n);
	kvtree_free(b);
	return same;
}

/* Is this an intermediate state of the index?  A deletion marks the dataset
 * incomplete and removes the restart point before it removes the first file. */
static bool
on_the_way(struct scene *s, const struct tree_entry *now)
{
	const struct tree_entry *b = tree_find(&s->before, now->path);
	struct kvtree *t = NULL, *e = NULL;
	const char *complete = NULL;
	char id[32];
	bool good = false;

	if (s->retires && b != NULL && index_lacks_one(now, b))
		return true;
	if (s->deletes == 0 || b == NULL)
		return false;
	snprintf(id, sizeof(id), "%lld", (long long)s->deletes);
	t = kvtree_decode(now->data.data, now->data.len, NULL, NULL);
	e = kvtree_get2(t, "DSET", id);
	complete = kvtree_value(e, "COMPLETE");
	good = complete != NULL && strcmp(complete, "0") == 0 &&
	       same_but_entry(t, &b->data, id);
	kvtree_free(t);
	return good;
}

bool
is_temporary(const char *path)
{
	char name[256];

	for (const char *p = path; p != NULL; p = strchr(p, '/')) {
		p += *p == '/';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, "/"), p);
		if (temp_is(name))
			return true;
	}
	return false;
}

/* Is an existing entry equal to the old or to the new one? */
static bool
entry_right(struct scene *s, const struct tree_entry *now, bool temps)
{
	const struct tree_entry *b = tree_find(&s->before, now->path);
	const struct tree_entry *a = tree_find(&s->after, now->path);

	if ((a != NULL && same_entry(now, a)) ||
	    (b != NULL && same_entry(now, b)))
		return true;
	if (a == NULL && b == NULL &&
	    (is_lock(now->path) || (temps && is_temporary(now->path))))
		return true;
	return is_index(now->path) && on_the_way(s, now);
}

/* Check the rules that hold at any moment.  `temps`: temporary files are
 * allowed. */
static bool
state_right(struct scene *s, const struct tree *now, bool temps)
{
	bool good = true;

	for (size_t i = 0; i < now->count; i++) {
		if (entry_right(s, &now->list[i], temps))
			continue;
		tell(s, "neither old nor new", now->list[i].path);
		good = false;
	}
	for (size_t i = 0; i < s->before.count; i++) {
		const char *path = s->before.list[i].path;

		/* Files may disappear only if the command removes them. */
		if (is_lock(path) || tree_find(now, path) != NULL ||
		    tree_find(&s->after, path) == NULL)
			continue;
		if (s->retires && (str_eq(path_base(path), "summary.scr") ||
				   str_eq(path_base(path), "rank2file")))
			continue;
		tell(s, "gone", path);
		good = false;
	}
	return good;
}

/* Is the state that of an undisturbed run? */
static bool
finished(struct scene *s, const struct tree *now, bool quiet)
{
	for (size_t i = 0; i < now->count; i++) {
		const char *path = now->list[i].path;
		const struct tree_entry *a = tree_find(&s->after, path);

		if (is_lock(path) ||
		    (a != NULL && same_entry(&now->list[i], a)))
			continue;
		/* A deletion that cannot remove an empty directory leaves it
		 * and reports it. */
		if (s->deletes > 0 && S_ISDIR(now->list[i].mode) &&
		    !is_metadata(path))
			continue;
		if (!quiet)
			tell(s, "not as it should be in the end", path);
		return false;
	}
	for (size_t i = 0; i < s->after.count; i++) {
		const char *path = s->after.list[i].path;

		if (is_lock(path) || tree_find(now, path) != NULL)
			continue;
		if (!quiet)
			tell(s, "missing in the end", path);
		return false;
	}
	return true;
}

bool
index_readable(struct scene *s, const struct tree *now)
{
	struct error err = ERROR_INIT;
	struct catalogue *c = NULL;
	struct index *ix = NULL;
	bool good = false;

	if (tree_find(now, ".scr/index.scr") == NULL) {
		good = tree_find(&s->before, ".scr/index.scr") == NULL;
	} else {
		c = catalogue_open(prefix, &err);
		ix = c != NULL ? catalogue_read(c, &err) : NULL;
		good = ix != NULL && catalogue_notice(c) == NULL;
		index_free(ix);
		catalogue_close(c);
	}
	if (!good)
		tell(s, "index cannot be read", err.text);
	return good;
}

/* --- One disturbed run --- */

bool
has_message(void)
{
	char path[600];
	struct stat st;

	messages_path(path);
	return stat(path, &st) == 0 && st.st_size > 0;
}

void
show_run(const struct scene *s, const struct fault *f, int status)
{
	struct buf text = BUF_INIT;
	char path[600];

	messages_path(path);
	if (s->told > TELL_MAX)
		return;
	printf("# %s: fail at %lu, kill at %lu or after %ld us%s%s%s, %s: "
	       "status %d\n",
	       s->name, f->fail_at, f->kill_at, f->kill_after,
	       f->halve ? ", short" : "", f->sticky ? ", sticky" : "",
	       f->reads ? ", reads count" : "", f->error ? f->error : "EIO",
	       status);
	if (io_read_file(AT_FDCWD, path, 1 << 20, &text, NULL) == 0 &&
	    text.len > 0)
		printf("# %.*s\n", (int)strcspn(text.data, "\n"), text.data);
	buf_free(&text);
}

/* Run the command again, undisturbed.  A completed deletion or drop fails then,
 * because the dataset is not found. */
static bool
run_again(struct scene *s, const struct tree *now)
{
	bool was_finished = finished(s, now, true);
	int status = run_command(s->argv, NULL);
	struct tree then = tree_load(prefix);
	bool good = (status == 0 || (was_finished && status == 1)) &&
		    finished(s, &then, false);

	for (size_t i = 0; i < then.count; i++) {
		const char *base = path_base(then.list[i].path);

		if (!is_temporary(then.list[i].path) &&
		    !str_starts(base, ".scrkit."))
			continue;
		tell(s, "left behind", then.list[i].path);
		good = false;
	}
	if (!good) {
		const struct fault none = { .kill_after = -1 };

		tell(s, "the second run failed", "");
		show_run(s, &none, status);
	}
	tree_free(&then);
	return good;
}

/* Is the exit status plausible for the fault?  A file that the medium cannot
 * read is an erasure, and may be one too many.  No other error may make the
 * command report a dataset as lost. */
static bool
status_right(const struct fault *f, int status)
{
	return status == 1 || (status == 4 && strcmp(f->error, "EIO") == 0);
}

bool
disturbed(struct scene *s, const struct fault *f, unsigned *tally)
{
	struct tree now = tree_load(prefix);
	bool good = true, killed = false;
	int status = 0;

	tree_restore(prefix, &now, &s->before);
	tree_free(&now);
	status = run_command(s->argv, f);
	now = tree_load(prefix);
	killed = status == -SIGKILL;
	if (status < 0 && !killed) {
		tell(s, "crashed", strsignal(-status));
		good = false;
	} else if (status == 0) {
		good = finished(s, &now, false);
	} else if (!killed && !(has_message() && status_right(f, status))) {
		tell(s, "wrong exit status, or no message", "");
		good = false;
	}
	good = state_right(s, &now, killed || f->sticky) && good;
	good = index_readable(s, &now) && good;
	if (!good)
		show_run(s, f, status);
	if (tally != NULL)
		tally[finished(s, &now, true)	     ? DONE
		      : now.count == s->before.count ? NOTHING
						     : PARTLY]++;
	good = run_again(s, &now) && good;
	tree_free(&now);
	return good;
}
