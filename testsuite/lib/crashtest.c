/* SPDX-License-Identifier: BSD-3-Clause */
#include "crashsweep.h"

#include "catalogue/catalogue.h"
#include "meta/index.h"
#include "metatest.h"

/* Seconds after which a run counts as hung. */
#define RUN_LIMIT 60

/* Problems printed for one check. */
#define TELL_MAX 5

char crash_dir[512], prefix[600];
bool slow, slower;

/* --- Running a command --- */

/* The file of the last command's messages, below crash_dir. */
static const char messages[] = "messages";

static const char *
number(unsigned long n)
{
	return n > 0 ? fmt("%lu", n) : NULL;
}

/* Runs in the child. */
static void
prepare_env(const struct fault *f)
{
	const char *asan = getenv("ASAN_OPTIONS");
	const struct {
		const char *name, *value;
	} list[] = {
		{ "LD_PRELOAD", getenv("SHIM") },
		{ "SHIM_FAIL_AT", number(f->fail_at) },
		{ "SHIM_KILL_AT", number(f->kill_at) },
		{ "SHIM_ERRNO", f->error },
		{ "SHIM_SHORT", number(f->halve) },
		{ "SHIM_STICKY", number(f->sticky) },
		{ "SHIM_READS", number(f->reads) },
		{ "SHIM_COUNT_FILE", f->count },
		{ "SHIM_TRACE", f->trace },
		/* The sanitizer's library accepts being preloaded after the
		 * shim. */
		{ "ASAN_OPTIONS",
		  fmt("%s:verify_asan_link_order=0:detect_leaks=%d",
		      asan != NULL ? asan : "", f->kill_at == 0) },
	};

	if (f->fail_at + f->kill_at == 0 && f->count == NULL)
		return;
	each (l, list)
		if (l->value != NULL)
			setenv(l->name, l->value, 1);
}

/* Runs in the child. */
static _Noreturn void
execute(const char *command, const struct fault *f)
{
	char *text = fmt("%s", command), *argv[ARGS_MAX + 1] = { NULL };
	int fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (size_t n = 0; n < ARGS_MAX; n++)
		argv[n] = strtok(n == 0 ? text : NULL, " ");
	dup2(open("/dev/null", O_RDWR), 1);
	dup2(fd, 2);
	prepare_env(f);
	alarm(RUN_LIMIT);
	execv(fmt("%s/%s", getenv("BIN"), argv[0]), argv);
	_exit(126);
}

int
run_command(const char *command, const struct fault *f)
{
	static const struct fault none;
	int status = -1;
	pid_t pid;

	if (f == NULL)
		f = &none;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		execute(command, f);
	must(pid > 0);
	if (f->kill_after > 0) {
		nanosleep(&(struct timespec){ 0, f->kill_after * 1000 }, NULL);
		kill(pid, SIGKILL);
	}
	must(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* --- Comparing --- */

static struct kvtree *
decode(const struct tree_entry *e)
{
	return kvtree_decode(e->data.data, e->data.len, NULL, NULL);
}

static bool
same_index(const struct tree_entry *a, const struct tree_entry *b)
{
	struct kvtree *trees[2] = { decode(a), decode(b) }, *e = NULL;
	bool same = trees[0] != NULL && trees[1] != NULL;

	for (int i = 0; i < 2; i++)
		kvtree_foreach (e, kvtree_get(trees[i], "DSET"))
			if (kvtree_get(e, "FLUSHED") != NULL)
				must(kvtree_set(e, "FLUSHED", "T", NULL) == 0);
	same = same && tree_same(trees[0], trees[1], true);
	kvtree_free(trees[0]);
	kvtree_free(trees[1]);
	return same;
}

static bool
is_index(const char *path)
{
	return strcmp(path, ".scr/index.scr") == 0;
}

/* Is it a lock or a mark?  They may appear and disappear. */
static bool
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

bool
same_item(const struct scene *s, const struct tree_entry *a,
	  const struct tree_entry *b)
{
	if (is_index(a->path))
		return a->mode == b->mode && same_index(a, b);
	return entry_same(a, b,
			  s->rules != NULL ? s->rules->keeps_time(a->path)
					   : !is_metadata(a->path));
}

/* The path of an entry that is missing from `want` or differs from it, or NULL.
 */
static const char *
odd_one(const struct scene *s, const struct tree *t, const struct tree *want,
	bool clean)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_entry *e = &t->list[i];
		const struct tree_entry *w = tree_find(want, e->path);

		if (is_lock(e->path) && !(clean && w == NULL &&
					  str_starts(path_base(e->path), ".")))
			continue;
		/* A deletion that cannot remove an empty directory leaves it
		 * and reports it. */
		if (w == NULL && s->deletes > 0 && S_ISDIR(e->mode) &&
		    !is_metadata(e->path))
			continue;
		/* Entries of two generations have the same name here. */
		if (w == NULL || !same_item(s, e, w) ||
		    (i > 0 && str_eq(t->list[i - 1].path, e->path)))
			return e->path;
	}
	return NULL;
}

bool
same_state(struct scene *s, const struct tree *now, const struct tree *want,
	   bool clean, bool quiet)
{
	const char *more = odd_one(s, now, want, clean);
	const char *less = odd_one(s, want, now, false);

	if (!quiet && more != NULL)
		tell(s, "not as it should be in the end", more);
	if (!quiet && less != NULL)
		tell(s, "missing or another in the end", less);
	return more == NULL && less == NULL;
}

void
tell(struct scene *s, const char *what, const char *path)
{
	char shown[256];

	if (s->told++ < TELL_MAX)
		printf("# %s: %s: %s\n", s->name, what,
		       str_printable(shown, sizeof(shown), path));
}

/* Is this an intermediate state of the index?  A deletion marks the dataset
 * incomplete and removes the restart point before it removes the first file.
 * What replaces files of dataset 1, ckpt.1, removes its entry first. */
static bool
on_the_way(struct scene *s, const struct tree_entry *now)
{
	const struct tree_entry *b = tree_find(&s->before, now->path);
	struct kvtree *is = NULL, *was = NULL, *e = NULL;
	bool good = false;

	if (b == NULL || (s->deletes == 0 && !s->retires))
		return false;
	is = decode(now);
	was = decode(b);
	kvtree_remove(is, "CURRENT");
	kvtree_remove(was, "CURRENT");
	if (s->retires) {
		kvtree_remove(kvtree_get(was, "DSET"), "1");
		kvtree_remove(kvtree_get(was, "NAME"), "ckpt.1");
		good = true;
	} else {
		e = kvtree_get2(is, "DSET", fmt("%lld", (long long)s->deletes));
		good = kvtree_get2(e, "COMPLETE", "0") != NULL &&
		       kvtree_set(e, "COMPLETE", "1", NULL) == 0;
	}
	good = good && is != NULL && was != NULL && tree_same(is, was, true);
	kvtree_free(is);
	kvtree_free(was);
	return good;
}

/* Is it a temporary file, or in a temporary directory? */
static bool
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

/* Is an existing entry one that may be there at any moment?  `temps`: temporary
 * files are allowed. */
static bool
entry_right(struct scene *s, const struct tree_entry *now, bool temps)
{
	const struct tree_entry *b = tree_find(&s->before, now->path);
	const struct tree_entry *a = tree_find(&s->after, now->path);

	if ((a != NULL && same_item(s, now, a)) ||
	    (b != NULL && same_item(s, now, b)))
		return true;
	if (a == NULL && b == NULL &&
	    (is_lock(now->path) || (temps && is_temporary(now->path))))
		return true;
	if (s->rules != NULL)
		return s->rules->may_be(s, now);
	return is_index(now->path) && on_the_way(s, now);
}

/* May the path be gone?  Else files disappear only if the command removes
 * them. */
static bool
may_go(const struct scene *s, const char *path)
{
	return is_lock(path) || (s->rules != NULL && s->rules->may_go(path)) ||
	       (s->retires && (str_eq(path_base(path), "summary.scr") ||
			       str_eq(path_base(path), "rank2file")));
}

static bool
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

/* Check the rules that hold at any moment. */
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

		if (may_go(s, path) || tree_find(now, path) != NULL ||
		    tree_find(&s->after, path) == NULL)
			continue;
		tell(s, "gone", path);
		good = false;
	}
	return index_readable(s, now) && good;
}

/* --- One disturbed run --- */

bool
has_message(void)
{
	struct stat st;

	return stat(messages, &st) == 0 && st.st_size > 0;
}

void
show_run(const struct scene *s, const struct fault *f, int status)
{
	auto_buf text = BUF_INIT;

	if (s->told > TELL_MAX)
		return;
	printf("# %s: fail at %lu, kill at %lu or after %ld us%s%s%s, %s: "
	       "status %d\n",
	       s->name, f->fail_at, f->kill_at, f->kill_after,
	       f->halve ? ", short" : "", f->sticky ? ", sticky" : "",
	       f->reads ? ", reads count" : "", f->error ? f->error : "EIO",
	       status);
	if (io_read_file(AT_FDCWD, messages, 1 << 20, &text, NULL) == 0 &&
	    text.len > 0)
		printf("# %.*s\n", (int)strcspn(text.data, "\n"), text.data);
}

struct tree
scene_load(const struct scene *s)
{
	return s->rules != NULL ? s->rules->load() : tree_load(prefix);
}

void
set_back(const struct scene *s)
{
	auto_tree now = tree_load(prefix);

	tree_restore(prefix, &now, &s->before);
}

/* Run the second command, undisturbed.  A completed deletion or drop fails if
 * it is run again, because the dataset is not found. */
static bool
run_again(struct scene *s, bool was_finished)
{
	static const struct fault none;
	int status = run_command(s->again ? s->again : s->command, NULL);
	struct tree then = scene_load(s);
	bool good = status == 0 ||
		    (s->rules == NULL && was_finished && status == 1);

	good = same_state(s, &then, &s->end, true, false) && good &&
	       (s->rules == NULL || s->rules->right(s, true));
	tree_free(&then);
	if (!good) {
		tell(s, "the second run failed", "");
		show_run(s, &none, status);
	}
	return good;
}

/* Is the exit status plausible for the fault?  A file that the medium cannot
 * read is an erasure, and may be one too many; of a container it is damage, if
 * it can be restored.  No other error may make the command report a dataset as
 * lost. */
static bool
status_right(const struct scene *s, const struct fault *f, int status)
{
	return status == 1 ||
	       (str_eq(f->error, "EIO") &&
		(status == 4 || (s->rules != NULL && status == 3)));
}

bool
disturbed(struct scene *s, const struct fault *f, unsigned *tally)
{
	auto_tree now, loaded = { .count = 0 };
	const struct tree *form = &now;
	bool good = true, killed = false, is_done = false, known = false;
	int status = 0;

	set_back(s);
	status = run_command(s->command, f);
	now = tree_load(prefix);
	if (s->rules != NULL) {
		loaded = s->rules->load();
		form = &loaded;
	}
	killed = status == -SIGKILL;
	is_done = same_state(s, form, &s->done, false, status != 0);
	known = same_state(s, form, &s->done, true, true) ||
		same_state(s, form, &s->begin, true, true);
	if (status < 0 && !killed) {
		tell(s, "crashed", strsignal(-status));
		good = false;
	} else if (status == 0) {
		good = is_done;
	} else if (!killed && !(has_message() && status_right(s, f, status))) {
		tell(s, "wrong exit status, or no message", "");
		good = false;
	}
	good = state_right(s, &now, killed || f->sticky) && good &&
	       (s->rules == NULL || s->rules->right(s, known));
	if (!good)
		show_run(s, f, status);
	if (tally != NULL)
		tally[is_done			     ? DONE
		      : now.count == s->before.count ? NOTHING
						     : PARTLY]++;
	return run_again(s, is_done) && good;
}
