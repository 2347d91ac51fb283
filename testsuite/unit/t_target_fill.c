/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_target_fill.c - files that are created when their first byte arrives: small
 * and large ones, by several threads, with few descriptors, with leftovers and
 * links in the way.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "arena.h"
#include "crc.h"
#include "par.h"
#include "scratch.h"
#include "transfer/stripe.h"
#include "transfer/target.h"
#include "transfer/transfer.h"

enum { FILES = 400, BYTES = 24 << 20 };

static char root[96];
static int rootfd = -1;
static unsigned char *data;
static struct par *one; /* a pool of one thread */

/* A dataset: the source of its bytes, and its files. */
struct work {
	struct targets t;
	struct attr attrs[FILES];
	struct stripe_part from[1], to[FILES];
	struct stripe_sum sums[FILES];
	struct stripe in, out;
	uint64_t len;
};

static void
add(struct work *w, size_t i, const char *path, uint64_t size)
{
	struct target what = {
		.kind = TARGET_FILE,
		.dirfd = rootfd,
		.path = arena_strdup(w->t.arena, path),
		.size = size,
		.filled = true,
		.attr = &w->attrs[i],
	};
	const struct target *t = NULL;

	w->attrs[i] = (struct attr){
		.has_owner = true,
		.has_times = true,
		.mode = 0100400 + (uint32_t)i % 0200,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime = { .tv_sec = 1000000 + (time_t)i, .tv_nsec = 5 },
	};
	t = targets_add(&w->t, &what, NULL);
	must(t != NULL);
	if (size == 0)
		return;
	w->sums[i].size = size;
	w->to[w->out.nparts++] = (struct stripe_part){
		.start = w->len,
		.len = size,
		.dirfd = rootfd,
		.path = t->path,
		.sum = i,
		.file = (size_t)(t - w->t.list),
	};
	w->len += size;
}

/* Sizes from 0 to more than a worker processes at once. */
static void
start(struct work *w, size_t files)
{
	memset(w, 0, sizeof(*w));
	if (rootfd >= 0)
		close(rootfd);
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(rootfd >= 0 && targets_init(&w->t, NULL) == 0);
	w->out.parts = w->to;
	for (size_t i = 0; i < files; i++) {
		uint64_t size = i % 100 == 7 ? 5000000
				: below(9)   ? below(20000)
					     : 0;

		add(w, i, fmt("d%zu/sub/f%zu", i % 5, i), size);
	}
	must(w->len <= BYTES);
	w->from[0] = (struct stripe_part){
		.len = w->len,
		.mem = data,
		.sum = STRIPE_NO_SUM,
	};
	w->in = (struct stripe){ 1, w->from };
}

static int
fill(struct work *w, struct par *par, struct error *err)
{
	const struct transfer_options o = { .par = par, .sums_to = w->sums };

	if (targets_prepare(&w->t, par, err) < 0)
		return -1;
	return targets_transfer(&w->t, &w->in, &w->out, w->len, &o, err);
}

/* Has the file the right contents, mode and time? */
static bool
right(const struct work *w, size_t i)
{
	const struct target *t = &w->t.list[i];
	const struct stripe_part *p = NULL;
	struct buf got = BUF_INIT;
	struct stat st;
	bool good = fstatat(rootfd, t->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (st.st_mode & 07777) == (t->attr->mode & 07777) &&
		    st.st_mtim.tv_sec == t->attr->mtime.tv_sec &&
		    io_read_file(rootfd, t->path, BYTES, &got, NULL) == 0 &&
		    got.len == t->size;

	for (size_t k = 0; p == NULL && k < w->out.nparts; k++)
		if (w->to[k].sum == i)
			p = &w->to[k];
	if (good && p != NULL)
		good = memcmp(got.data, data + p->start, got.len) == 0 &&
		       w->sums[i].crc == crc_update(0, got.data, got.len);
	buf_free(&got);
	return good;
}

static bool
all_right(const struct work *w)
{
	bool good = true;

	for (size_t i = 0; i < w->t.count; i++)
		good &= right(w, i);
	return good;
}

/* The number of targets with their final names. */
static size_t
files_there(const struct work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->t.count; i++)
		n += exists(fmt("%s/%s", root, w->t.list[i].path));
	return n;
}

/* The number of temporary files. */
static size_t
temps_there(void)
{
	char line[32] = "0";
	FILE *f = popen(fmt("find %s -name '.scrkit*' | wc -l", root), "r");

	must(f != NULL && fgets(line, sizeof(line), f) != NULL);
	pclose(f);
	return (size_t)strtoul(line, NULL, 10);
}

static void
round_trip(unsigned threads, size_t files)
{
	static struct work w;
	struct error err = ERROR_INIT;
	struct par *par = par_new(threads, NULL);

	start(&w, files);
	is_int(fill(&w, par, &err), 0, "filled");
	is_int((int64_t)files_there(&w), 0,
	       "nothing has its name before the commit");
	is_int(targets_commit(&w.t, par, &err), 0, "put in place");
	ok(all_right(&w), fmt("%zu files, %u threads: contents, modes, times",
			      files, threads));
	is_int((int64_t)temps_there(), 0, "nothing else is left");
	targets_discard(&w.t);
	targets_fini(&w.t);
	par_free(par);
}

/* Far fewer descriptors than files or threads. */
static void
few_descriptors(void)
{
	static struct work w;
	struct rlimit old, few;
	struct par *par = par_new(4, NULL);
	struct error err = ERROR_INIT;

	start(&w, FILES);
	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few = old;
	few.rlim_cur = 256;
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	ok(fill(&w, par, &err) == 0 && targets_commit(&w.t, par, &err) == 0 &&
		   all_right(&w),
	   "with 256 descriptors");
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	targets_fini(&w.t);
	par_free(par);
}

/* The path of the temporary file for `base` in `dir`. */
static const char *
temp_in(const char *dir, const char *base)
{
	char temp[IO_TEMP_MAX];

	return fmt("%s/%s/%s", root, dir, io_temp_name(temp, base));
}

static void
leftovers(void)
{
	static struct work w;
	struct buf got = BUF_INIT;
	struct error err = ERROR_INIT;

	start(&w, 20);
	must(mkdir(fmt("%s/d1", root), 0700) == 0 &&
	     mkdir(fmt("%s/d1/sub", root), 0700) == 0);
	write_file(fmt("%s/precious", root), "precious", 8);
	write_file(temp_in("d1/sub", "f1"), "left over", 9);
	must(symlink("../../precious", temp_in("d1/sub", "f6")) == 0);
	must(link(fmt("%s/precious", root), temp_in("d1/sub", "f11")) == 0);
	must(mkdir(temp_in(".", "d0"), 0700) == 0 &&
	     symlink(root, fmt("%s/link", temp_in(".", "d0"))) == 0 &&
	     mkdir(fmt("%s/sub", temp_in(".", "d0")), 0700) == 0);
	write_file(fmt("%s/sub/other", temp_in(".", "d0")), "left over", 9);
	write_file(temp_in(".", "d3"), "left over", 9);
	ok(fill(&w, one, &err) == 0 && targets_commit(&w.t, one, &err) == 0 &&
		   all_right(&w),
	   "leftovers are replaced");
	ok(!exists(fmt("%s/d0/link", root)) &&
		   !exists(fmt("%s/d0/sub/other", root)) && temps_there() == 0,
	   "what was left in a new directory is gone");
	must(io_read_file(rootfd, "precious", 100, &got, NULL) == 0);
	is_str(got.data, "precious", "what they are linked to is not");
	buf_free(&got);
	targets_fini(&w.t);

	start(&w, 20);
	must(symlink("/tmp", fmt("%s/d2", root)) == 0);
	ok(fill(&w, one, &err) < 0 && err.kind == ERROR_UNSAFE, err.text);
	targets_discard(&w.t);
	is_int((int64_t)temps_there(), 0, "nothing is left of it");
	targets_fini(&w.t);
}

/* Many files in existing empty directories, as packing leaves them.  Such a
 * directory is replaced only if that cannot be noticed. */
static void
into_empty(void)
{
	static struct work w;
	struct error err = ERROR_INIT;
	struct stat was[4], is[4];
	size_t n = 0;

	start(&w, 0);
	for (size_t d = 0; d < 4; d++) {
		must(mkdir(fmt("%s/e%zu", root, d), 0700) == 0 &&
		     chmod(fmt("%s/e%zu", root, d), 02751) == 0);
		for (size_t i = 0; i < 20; i++, n++)
			add(&w, n, fmt("e%zu/f%zu", d, i), 100 * i + 1);
	}
	write_file(fmt("%s/e1/there", root), "already", 7);
	must(setxattr(fmt("%s/e2", root), "trusted.scrkit", "x", 1, 0) == 0 ||
	     errno == ENOTSUP || errno == EPERM);
	must(chmod(fmt("%s/e3", root), 0400) == 0);
	for (size_t d = 0; d < 4; d++)
		must(stat(fmt("%s/e%zu", root, d), &was[d]) == 0);
	w.from[0].len = w.len;
	must(targets_prepare(&w.t, one, NULL) == 0);
	ok(w.t.list[0].tree != TARGET_NO_TREE &&
		   w.t.list[60].tree == TARGET_NO_TREE,
	   "one that cannot be written stays: others say so");
	must(chmod(fmt("%s/e3", root), 0700) == 0);
	targets_discard(&w.t);
	ok(stat(fmt("%s/e0", root), &is[0]) == 0 &&
		   is[0].st_ino == was[0].st_ino && temps_there() == 0,
	   "discarded: the empty directory stands as before");
	ok(fill(&w, one, &err) == 0 && targets_commit(&w.t, one, &err) == 0 &&
		   all_right(&w) && temps_there() == 0,
	   "filled into directories that were there");
	for (size_t d = 0; d < 4; d++)
		must(stat(fmt("%s/e%zu", root, d), &is[d]) == 0);
	ok(is[0].st_ino != was[0].st_ino && is[0].st_mode == was[0].st_mode,
	   "an empty one is replaced, by one with its mode");
	ok(is[1].st_ino == was[1].st_ino && exists(fmt("%s/e1/there", root)),
	   "one that is not empty is not");
	ok(is[2].st_ino == was[2].st_ino, "nor one with attributes");
	targets_fini(&w.t);

	start(&w, 0);
	for (size_t i = 0; i < 20; i++)
		add(&w, i, fmt("new/f%zu", i), 10);
	w.from[0].len = w.len;
	must(fill(&w, one, NULL) == 0);
	must(mkdir(fmt("%s/new", root), 0777) == 0);
	write_file(fmt("%s/new/f3", root), "came in between", 15);
	ok(targets_commit(&w.t, one, &err) < 0 && says(&err, "cannot rename"),
	   "what came in between is not replaced");
	targets_discard(&w.t);
	ok(temps_there() == 0 && exists(fmt("%s/new/f3", root)) &&
		   !exists(fmt("%s/new/f4", root)),
	   "nor is anything left");
	targets_fini(&w.t);
}

/* --- Without memory --- */

static struct work again;

static void
begin_again(void *arg)
{
	(void)arg;
	targets_discard(&again.t);
	targets_fini(&again.t);
	start(&again, 30);
}

static int
fill_again(void *arg, struct error *err)
{
	(void)arg;
	return fill(&again, one, err);
}

int
main(void)
{
	umask(022);
	one = par_new(1, NULL);
	data = malloc(BYTES);
	must(one != NULL && data != NULL);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	round_trip(1, FILES);
	round_trip(3, FILES);
	round_trip(2, 1);
	few_descriptors();
	leftovers();
	into_empty();
	ok(fails_well(fill_again, begin_again, NULL), "no memory");
	targets_discard(&again.t);
	targets_fini(&again.t);
	close(rootfd);
	remove_tree(root);
	free(data);
	par_free(one);
	return tap_done();
}
