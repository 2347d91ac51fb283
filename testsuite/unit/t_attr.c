/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/attr.h"

#include "kvtree/kvscan.h"
#include "metatest.h"

static const char full[] = "ATIME_NSECS>935130957\nATIME_SECS>1795215223\n"
			   "CTIME_NSECS>1\nCTIME_SECS>2\nGID>20\nMODE>33188\n"
			   "MTIME_NSECS>0\nMTIME_SECS>1795215224\n"
			   "SIZE>18446744\nUID>10\n";

static void
test_round_trip(void)
{
	struct kvtree *t = tree_of(full), *copy = kvtree_new(NULL);
	struct attr a;

	is_int(attr_read(t, &a, NULL), 0, "attributes are read");
	ok(a.has_size && a.has_owner && a.has_times, "... all of them");
	is_int((int64_t)a.size, 18446744, "... size");
	is_int(a.mode, 0100644, "... mode");
	is_int(a.uid, 10, "... owner");
	is_int(a.gid, 20, "... group");
	is_int(a.atime.tv_sec, 1795215223, "... time of access");
	is_int(a.atime.tv_nsec, 935130957, "... its fraction");
	is_int(a.mtime.tv_sec, 1795215224, "... time of change");
	is_int(attr_write(copy, &a, NULL), 0, "attributes are written");
	ok(tree_same(copy, t, false), "... in the order of their keys");
	kvtree_free(t);
	kvtree_free(copy);
}

/* Attributes that are written and read separately. */
static void
test_parts(void)
{
	struct kvtree *t = NULL, *copy = NULL;
	struct attr a;

	t = tree_of("SIZE>0x10\n");
	is_int(attr_read(t, &a, NULL), 0, "size alone");
	ok(a.has_size && !a.has_owner && !a.has_times && a.size == 16,
	   "... hexadecimal as LLNL reads it");
	kvtree_free(t);

	t = tree_of("MODE>33188\nUID>0\nATIME_SECS>5\n");
	is_int(attr_read(t, &a, NULL), 0, "half an owner, half a time");
	ok(!a.has_owner && !a.has_times, "... are none");
	copy = kvtree_new(NULL);
	is_int(attr_write(copy, &a, NULL), 0, "nothing to write");
	is_int((int64_t)kvtree_count(copy), 0, "... and nothing is");
	kvtree_free(t);

	t = tree_of("ATIME_SECS>18446744073709551615\nMTIME_SECS>0\n");
	is_int(attr_read(t, &a, NULL), 0, "a time before 1970");
	ok(a.has_times && a.atime.tv_sec == -1, "... has wrapped");
	is_int(attr_write(copy, &a, NULL), 0, "... and is written");
	is_str(kvtree_value(copy, "ATIME_SECS"), "18446744073709551615",
	       "... as it was");
	is_int(attr_read(NULL, &a, NULL), 0, "no tree is no attributes");
	kvtree_free(t);
	kvtree_free(copy);
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"SIZE>-1\n",
		"SIZE>9223372036854775808\n",
		"SIZE>1\nSIZE>2\n",
		"SIZE\n",
		"SIZE>12x\n",
		"SIZE> 12\n",
		"SIZE>\n",
		"MODE>4294967296\n",
		"UID>root\n",
		"GID>1e3\n",
		"ATIME_NSECS>1000000000\n",
		"MTIME_SECS>18446744073709551616\n",
	};
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kvtree *t = tree_of(bad[i]);
		struct error err = ERROR_INIT;
		struct attr a;

		is_int(attr_read(t, &a, &err), -1, label(bad[i]));
		is_int(err.kind, ERROR_CORRUPT, err.text);
		kvtree_free(t);
	}
}

/* Reading without a tree gives the same result for plain input: returns 1 if it
 * was plain. */
static int
scan(const struct kvtree *t, const struct attr *want, bool good)
{
	struct buf raw = BUF_INIT;
	struct kvscan s = { .p = NULL };
	struct attr a;
	size_t len = 0;

	if (kvtree_encode(t, &raw, NULL) < 0)
		abort();
	s.p = (const unsigned char *)kvtree_body(raw.data, raw.len, &len, NULL);
	s.end = s.p + len;
	attr_scan(&s, &a);
	buf_free(&raw);
	if (s.irregular)
		return 0;
	return good && s.p == s.end && memcmp(&a, want, sizeof(a)) == 0 ? 1
									: -1;
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	struct attr a;
	int rc = attr_read(t, &a, &err);

	if ((rc < 0 && err.kind != ERROR_CORRUPT) || scan(t, &a, rc == 0) < 0)
		++*(int *)arg;
}

static void
test_scan(void)
{
	static const char *const odd[] = {
		"SIZE>0x10\n",
		"",
		"UID>5\nUID>6\n",
		"SIZE>5\n",
		"ATIME_SECS>18446744073709551615\nMTIME_SECS>0\n",
	};
	struct kvtree *t = tree_of(full);
	struct attr a;

	is_int(attr_read(t, &a, NULL), 0, "attributes with a tree");
	is_int(scan(t, &a, true), 1, "attributes without a tree");
	kvtree_set(t, "MTIME_NSECS", "1000000000", NULL);
	is_int(scan(t, &a, true), 0, "... not with wrong ones");
	kvtree_free(t);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		t = tree_of(odd[i]);
		is_int(scan(t, &a, true), 0, label(odd[i]));
		kvtree_free(t);
	}
}

static void
test_damage(void)
{
	struct kvtree *t = tree_of(full);
	int odd = 0;

	ok(tree_flip_each(t, read_any, &odd) > 50, "flipped bytes");
	is_int(odd, 0, "... are read or corrupt");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 20, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	kvtree_free(t);
}

static int
write_all(void *arg, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : attr_write(t, arg, err);

	kvtree_free(t);
	return rc;
}

/* A file in $TMPDIR that disappears when it is closed. */
static int
scratch_file(void)
{
	char name[4096];
	const char *dir = getenv("TMPDIR");
	int fd = -1;

	snprintf(name, sizeof(name), "%s/attrXXXXXX",
		 dir != NULL ? dir : "/tmp");
	fd = mkstemp(name);
	unlink(name);
	return fd;
}

static const struct owner none = { .set = false };

static void
test_apply(void)
{
	struct attr a = { .has_owner = true, .has_times = true }, got;
	struct stat st;
	int fd = scratch_file();

	a.mode = 0104751;
	a.uid = getuid();
	a.gid = getgid();
	a.atime = (struct timespec){ .tv_sec = 100, .tv_nsec = 5 };
	a.mtime =
		(struct timespec){ .tv_sec = 1795215223, .tv_nsec = 935130957 };
	is_int(attr_apply(&a, fd, "file", none, NULL, NULL), 0,
	       "attributes are applied");
	is_int(fstat(fd, &st), 0, "stat");
	is_int(st.st_mode & 07777, 0751, "... without set-id bits");
	attr_from_stat(&got, &st);
	ok(got.has_size && got.has_owner && got.has_times, "from stat: all");
	is_int(got.mode, S_IFREG | 0751, "... mode with type");
	is_int(got.mtime.tv_sec, 1795215223, "... time of change");
	is_int(got.mtime.tv_nsec, 935130957, "... its fraction");
	is_int(got.atime.tv_sec, 100, "... time of access");

	a.has_owner = false;
	a.mtime.tv_sec = 7;
	is_int(attr_apply(&a, fd, "file", none, NULL, NULL), 0, "times alone");
	fstat(fd, &st);
	is_int(st.st_mode & 07777, 0751, "... mode as before");
	is_int(st.st_mtime, 7, "... time");
	close(fd);
	a.has_owner = true;
	ok(attr_apply(&a, fd, "file", none, NULL, NULL) < 0,
	   "a closed file is an error");
}

/* Not being the owner, do not set the owner or set-id bits.  Needs root. */
static void
test_apply_foreign(void)
{
	struct attr a = {
		.has_owner = true, .mode = 06755, .uid = 12345, .gid = 12345
	};
	struct stat st;
	int fd = scratch_file();

	if (geteuid() != 0) {
		skip("giving away a file", "not root");
		close(fd);
		return;
	}
	if (fchown(fd, 65534, 65534) < 0 || setegid(65534) < 0 ||
	    seteuid(65534) < 0) {
		skip("giving away a file", "cannot become nobody");
		close(fd);
		return;
	}
	is_int(attr_apply(&a, fd, "file", none, NULL, NULL), 0,
	       "a file that is not ours to give");
	ok(seteuid(0) == 0 && setegid(0) == 0, "... back to root");
	fstat(fd, &st);
	is_int(st.st_mode & 07777, 0755, "... has no set-id bits");
	is_int(st.st_uid, 65534, "... and its owner");
	is_int(attr_apply(&a, fd, "file", none, NULL, NULL), 0,
	       "root does not take over the recorded owner");
	fstat(fd, &st);
	is_int(st.st_mode & 07777, 0755, "... nor set-id bits");
	is_int(st.st_uid, 65534, "... the owner stays");
	is_int(attr_apply(&a, fd, "file", (struct owner){ true, 1, 2 }, NULL,
			  NULL),
	       0, "the owner of the prefix is given");
	fstat(fd, &st);
	is_int(st.st_uid, 1, "... as user");
	is_int(st.st_gid, 2, "... and group");
	is_int(st.st_mode & 07777, 0755, "... and no set-id bits");
	close(fd);
}

int
main(void)
{
	struct kvtree *t = tree_of(full);
	struct attr a;

	test_round_trip();
	test_parts();
	test_refused();
	test_damage();
	test_scan();
	attr_read(t, &a, NULL);
	ok(fail_each_alloc(write_all, &a) > 0, "no memory to write");
	kvtree_free(t);
	test_apply();
	test_apply_foreign();
	return tap_done();
}
