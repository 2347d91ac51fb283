/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/halt.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "scratch.h"

static char root[256];

/* A path in the scratch directory. */
static char *
at(const char *rel)
{
	return fmt("%s/%s", root, rel);
}

#define FILE_AT "p/.scr/halt.scr"

/* --- Changes --- */

struct wish {
	const char *reason, *key;
	int64_t value;
	int fail;
};

static int
wish(struct kvtree *t, void *arg, struct error *err)
{
	const struct wish *w = arg;

	if (w->reason != NULL && halt_set_reason(t, w->reason, err) < 0)
		return -1;
	if (w->key != NULL && halt_set_number(t, w->key, w->value, err) < 0)
		return -1;
	return w->fail ? error_set(err, ERROR_USAGE, "not so") : 0;
}

/* The result of the last load() or set(). */
static struct halt_state s;

static int
load(struct error *err)
{
	halt_state_free(&s);
	return halt_load(at("p"), &s, err);
}

static int
set(const char *reason, const char *key, int64_t value, unsigned flags,
    struct error *err)
{
	struct wish w = { reason, key, value, 0 };

	halt_state_free(&s);
	return halt_update(at("p"), flags, wish, &w, &s, err);
}

/* Make an empty prefix, or one in which a job ran. */
static void
fresh(void)
{
	scratch_dir(root, sizeof(root));
	must(mkdir(at("p"), 0777) == 0);
}

static void
test_first(void)
{
	struct error err = ERROR_INIT;

	fresh();
	ok(load(&err) == 0 && !s.exists && !s.damaged &&
		   s.is.checkpoints_left == -1,
	   "before the first run there is nothing");
	ok(set(NULL, "ExitAfter", -1, 0, &err) == 0 && !s.exists &&
		   !exists(at("p/.scr")),
	   "nothing to take back, nothing is made");
	ok(set("why not", NULL, 0, HALT_CREATE | HALT_DRY_RUN, &err) == 0 &&
		   s.exists && !exists(at("p/.scr")),
	   "a dry run makes nothing");
	is_str(s.is.reason, "why not", "... but tells");
	ok(set("why not", NULL, 0, HALT_CREATE, &err) == 0 && s.created,
	   "a first condition makes directory and file");
	is_str(s.path.data, at(FILE_AT), "... at its place");
	ok(set(NULL, "CheckpointsLeft", 0, HALT_CREATE, &err) == 0 &&
		   !s.created && s.is.checkpoints_left == 0,
	   "a second one is added");
	ok(load(&err) == 0 && s.exists && s.is.checkpoints_left == 0,
	   "both are read");
	is_str(s.is.reason, "why not", "... the first, too");
	halt_state_free(&s);
	is_int(halt_load(at("none"), &s, &err), -1, "no such prefix");
	ok(err.kind == ERROR_ABSENT && says(&err, "none: cannot open"),
	   "... is told");
	is_int(set(NULL, NULL, 0, 0, NULL), 0, "no struct to tell");
}

/* A job keeps the file open and locked, so a change must keep the inode. */
static void
test_in_place(void)
{
	struct buf old = BUF_INIT, new = BUF_INIT;
	struct stat a, b;
	struct wish w = { "later", NULL, 0, 1 };
	struct error err = ERROR_INIT;

	fresh();
	must(set("first", "ExitAfter", 5, HALT_CREATE, NULL) == 0);
	must(stat(at(FILE_AT), &a) == 0);
	read_whole(at(FILE_AT), &old);
	must(set(NULL, "ExitAfter", -1, 0, NULL) == 0);
	ok(stat(at(FILE_AT), &b) == 0 && a.st_ino == b.st_ino &&
		   b.st_size < a.st_size,
	   "rewritten in place, and cut");
	must(set(NULL, "ExitAfter", 5, 0, NULL) == 0);
	read_whole(at(FILE_AT), &old);
	halt_state_free(&s);
	is_int(halt_update(at("p"), HALT_CREATE, wish, &w, &s, &err), -1,
	       "a change that fails");
	is_str(err.text, "not so", "... says why");
	read_whole(at(FILE_AT), &new);
	ok(old.len == new.len &&memcmp(old.data, new.data, old.len) == 0,
	   "... leaves the file");
	must(unlink(at(FILE_AT)) == 0);
	ok(halt_update(at("p"), HALT_CREATE, wish, &w, &s, NULL) < 0 &&
		   !exists(at(FILE_AT)),
	   "... and makes none");
	buf_free(&old);
	buf_free(&new);
}

static void
test_damaged(void)
{
	struct error err = ERROR_INIT;
	struct buf raw = BUF_INIT;

	fresh();
	write_text(at(FILE_AT), "junk\n");
	ok(load(&err) == 0 && s.exists && s.damaged &&
		   s.why.kind == ERROR_CORRUPT && s.is.reason == NULL,
	   "junk is damaged");
	is_int(set("x", NULL, 0, HALT_CREATE, &err), -1,
	       "... and is not changed");
	ok(err.kind == ERROR_CORRUPT && says(&err, "not changed"), "... so");
	read_whole(at(FILE_AT), &raw);
	is_str(raw.data, "junk\n", "... really");
	ok(set("x", NULL, 0, HALT_CREATE | HALT_FORCE, &err) == 0 &&
		   !s.damaged && !s.created,
	   "by force it is");
	is_str(s.is.reason, "x", "... with the new condition");
	read_whole(at(FILE_AT ".bak"), &raw);
	is_str(raw.data, "junk\n", "... and is kept aside");
	/* An invalid value. */
	must(set("y", "ExitAfter", 7, 0, NULL) == 0);
	read_whole(at(FILE_AT), &raw);
	flip(at(FILE_AT), -1);
	ok(load(NULL) == 0 && s.damaged, "a wrong checksum");
	write_file(at(FILE_AT), raw.data, raw.len);
	must(truncate(at(FILE_AT), (off_t)raw.len + 9) == 0);
	ok(load(NULL) == 0 && !s.damaged && s.is.exit_after == 7,
	   "bytes behind the image are not");
	must(truncate(at(FILE_AT), (off_t)raw.len - 1) == 0);
	ok(load(NULL) == 0 && s.damaged, "one byte short is");
	must(truncate(at(FILE_AT), 0) == 0);
	ok(load(NULL) == 0 && s.exists && !s.damaged, "an empty file is not");
	ok(set("z", NULL, 0, HALT_CREATE, NULL) == 0 && s.created,
	   "... and takes a condition");
	must(truncate(at(FILE_AT), 2 << 20) == 0);
	ok(load(NULL) == 0 && s.damaged, "2 MiB of zeros are");
	ok(set("z", NULL, 0, HALT_CREATE | HALT_FORCE, NULL) == 0,
	   "... and replaced by force");
	buf_free(&raw);
}

static void
bad_value(struct kvtree *t, void *arg)
{
	must(kvtree_set(t, arg, "soon", NULL) == 0);
}

static void
test_bad_value(void)
{
	struct error err = ERROR_INIT;
	char key[] = "ExitBefore";

	fresh();
	must(set("x", NULL, 0, HALT_CREATE, NULL) == 0);
	edit_tree(at(FILE_AT), bad_value, key);
	ok(load(NULL) == 0 && s.damaged && says(&s.why, "ExitBefore"),
	   "a value that is none is damage");
	is_int(set(NULL, "ExitAfter", 1, HALT_CREATE, &err), -1,
	       "... is not kept");
	ok(set(NULL, "ExitAfter", 1, HALT_CREATE | HALT_FORCE, &err) == 0,
	   "... but by force");
	ok(load(NULL) == 0 && !s.damaged && s.is.exit_after == 1 &&
		   s.is.reason == NULL,
	   "... thrown away");
}

static void
test_odd_files(void)
{
	struct error err = ERROR_INIT;

	fresh();
	must(mkdir(at("p/.scr"), 0777) == 0 &&
	     symlink("/nonexistent/x", at(FILE_AT)) == 0);
	is_int(load(&err), -1, "a symbolic link");
	ok(err.kind == ERROR_UNSAFE && says(&err, at(FILE_AT)),
	   "... is unsafe");
	is_int(set("x", NULL, 0, HALT_CREATE, &err), -1, "... to write, too");
	is_int(err.kind, ERROR_UNSAFE, "... so");
	must(unlink(at(FILE_AT)) == 0 && mkdir(at(FILE_AT), 0777) == 0);
	ok(load(&err) == 0 && s.damaged, "a directory is damage");
	is_int(set("x", NULL, 0, HALT_CREATE, &err), -1, "... to write, too");
	must(rmdir(at(FILE_AT)) == 0 && rmdir(at("p/.scr")) == 0);
	write_text(at("p/.scr"), "no directory");
	is_int(load(&err), -1, ".scr is a file");
	is_int(set("x", NULL, 0, HALT_CREATE, &err), -1, "... to write, too");
	ok(says(&err, "/.scr"), "... is told");
}

/* Another user's halt file. */
static void
test_foreign(void)
{
	struct error err = ERROR_INIT;
	struct stat st;
	pid_t pid = -1;
	int status = 0;

	fresh();
	must(set("x", NULL, 0, HALT_CREATE, NULL) == 0);
	must(chmod(at(FILE_AT), 0444) == 0 && chmod(root, 0755) == 0 &&
	     chmod(at("p/.scr"), 0555) == 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 &&
		    (setegid(65534) < 0 || seteuid(65534) < 0))
			_exit(77);
		/* The other user may not be able to reach the scratch
		 * directory. */
		if (stat(at(FILE_AT), &st) < 0)
			_exit(77);
		if (load(NULL) < 0 || s.damaged || s.is.reason == NULL)
			_exit(1);
		if (set("y", NULL, 0, HALT_CREATE, &err) == 0 ||
		    err.errnum != EACCES || !says(&err, at(FILE_AT)))
			_exit(2);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip("one that may only be read is read", "no other user");
	else
		is_int(WEXITSTATUS(status), 0,
		       "one that may only be read is read");
	must(chmod(at("p/.scr"), 0755) == 0);
}

/* A process that never releases the lock. */
static void
test_held(void)
{
	int fd = -1;

	fresh();
	must(set("x", NULL, 0, HALT_CREATE, NULL) == 0);
	fd = open(at(FILE_AT), O_RDWR | O_CLOEXEC);
	must(fd >= 0 && flock(fd, LOCK_SH) == 0);
	ok(load(NULL) == 0 && s.is.reason != NULL,
	   "a file that stays locked is read all the same");
	close(fd);
}

static void
test_remove(void)
{
	bool was = true;
	struct error err = ERROR_INIT;

	fresh();
	ok(halt_remove(at("p"), false, &was, &err) == 0 && !was,
	   "nothing to remove, not even .scr");
	must(set("x", NULL, 0, HALT_CREATE, NULL) == 0);
	ok(halt_remove(at("p"), true, &was, &err) == 0 && was &&
		   exists(at(FILE_AT)),
	   "a dry run removes nothing");
	ok(halt_remove(at("p"), false, &was, &err) == 0 && was &&
		   !exists(at(FILE_AT)),
	   "it is removed");
	ok(halt_remove(at("p"), false, &was, &err) == 0 && !was, "... once");
	write_text(at(FILE_AT), "junk");
	ok(halt_remove(at("p"), false, &was, &err) == 0 && !exists(at(FILE_AT)),
	   "junk, too");
	must(symlink("/nonexistent/x", at(FILE_AT)) == 0);
	ok(halt_remove(at("p"), false, &was, &err) == 0 && !exists(at(FILE_AT)),
	   "a symbolic link, itself");
	is_int(halt_remove(at("none"), false, &was, &err), -1,
	       "but no prefix is an error");
}

/* --- Memory --- */

static int
load_it(void *arg, struct error *err)
{
	struct halt_state mine;
	int rc = halt_load(arg, &mine, err);

	if (rc == 0)
		halt_state_free(&mine);
	return rc;
}

static int
update_it(void *arg, struct error *err)
{
	struct wish w = { "another reason", "ExitAfter", 77, 0 };
	struct halt_state mine;
	int rc = halt_update(arg, HALT_CREATE, wish, &w, &mine, err);

	if (rc == 0)
		halt_state_free(&mine);
	return rc;
}

static int
check_it(void *arg, struct error *err)
{
	struct buf lines = BUF_INIT;
	bool stop = false;
	int rc = halt_check(arg, NULL, 1000, &stop, &lines, err);

	if (!stop)
		rc = error_set(err, ERROR_LOST, "go on?");
	buf_free(&lines);
	return rc;
}

static int
text_it(void *arg, struct error *err)
{
	struct halt_state mine;
	struct buf text = BUF_INIT;
	int rc = halt_load(arg, &mine, err);

	if (rc == 0) {
		rc = halt_text(&mine, &text, err);
		halt_state_free(&mine);
	}
	buf_free(&text);
	return rc;
}

static void
test_memory(void)
{
	fresh();
	must(set("X", "ExitBefore", 5, HALT_CREATE, NULL) == 0);
	ok(fails_well(load_it, NULL, at("p")), "no memory to read");
	ok(fails_well(update_it, NULL, at("p")), "no memory to change");
	ok(fails_well(check_it, NULL, at("p")), "no memory to check: stop");
	ok(fails_well(text_it, NULL, at("p")), "no memory to list");
}

int
main(void)
{
	setenv("TZ", "UTC", 1);
	test_first();
	test_in_place();
	test_damaged();
	test_bad_value();
	test_odd_files();
	test_foreign();
	test_held();
	test_remove();
	test_memory();
	halt_state_free(&s);
	remove_tree(root);
	return tap_done();
}
