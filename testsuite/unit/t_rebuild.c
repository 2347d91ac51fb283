/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rebuild.c - rebuilds from plans: lost files are restored, and a rebuild
 * that is impossible changes nothing.  (Checksums: t_rebuild_sums.)
 */
#include "rescue/rebuild.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "par.h"
#include "progress.h"
#include "scene.h"
#include "temp.h"
#include "work.h"

static struct scene rs6 = { SCENE(RS, 6, 1, 2, 2) };

static struct scene xor8 = { SCENE(XOR, 8, 2, 1, 2) };

/* Plan and rebuild from the current state. */
static int
rebuild_now(const struct scene *s, const struct rebuild_options *o,
	    struct rebuild_result *r, struct error *err)
{
	struct plan *p = scene_plan(s, 0, err);
	int rc = p != NULL ? rebuild(p, o, r, err) : -1;

	plan_free(p);
	return rc;
}

/* --- Complete rebuilds --- */

/* Some sizes are larger than a block, and none is round. */
static uint64_t
long_size(unsigned rank, unsigned file)
{
	return file == 0 ? 150001 + rank * 40009 : 77 * rank;
}

static void
schemes(unsigned threads)
{
	static const struct {
		enum redset_type type;
		unsigned ranks, sets, failures;
		bool big;
		unsigned lost; /* ranks, as bits */
		uint64_t memory;
	} cases[] = {
		{ REDSET_XOR, 8, 2, 1, false, 1 << 2 | 1 << 7, 0 },
		{ REDSET_XOR, 3, 1, 1, true, 1 << 1, 1 },
		{ REDSET_RS, 4, 1, 1, false, 1 << 3, 0 },
		{ REDSET_RS, 12, 2, 2, false, 1 << 0 | 1 << 2 | 1 << 11,
		  1 << 16 },
		{ REDSET_RS, 7, 1, 3, true, 1 << 1 | 1 << 2 | 1 << 6, 0 },
		{ REDSET_PARTNER, 8, 2, 1, false, 1 << 0 | 1 << 4 | 1 << 3, 0 },
		{ REDSET_PARTNER, 5, 1, 2, true, 1 << 3 | 1 << 4, 0 },
	};
	struct par *par = par_new(threads, NULL);
	struct progress *progress = progress_start("test", true);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s = { .type = cases[i].type,
				   .ranks = cases[i].ranks,
				   .sets = cases[i].sets,
				   .failures = cases[i].failures,
				   .files = 2,
				   .size = cases[i].big ? long_size : NULL };
		const struct rebuild_options o = {
			.work = &(struct work){ .par = par,
						.memory = cases[i].memory,
						.progress = progress },
		};
		struct error err = ERROR_INIT;
		struct rebuild_result r;
		size_t lost = 0;

		scene_make(&s);
		for (unsigned rank = 0; rank < s.ranks; rank++) {
			if (!(cases[i].lost >> rank & 1))
				continue;
			scene_lose(&s, rank);
			lost++;
		}
		ok(rebuild_now(&s, &o, &r, &err) == 0,
		   fmt("%s of %u, %u threads: rebuilt",
		       redset_type_name(s.type), s.ranks, threads));
		ok(scene_same(&s), "all is as it was, with modes, owners and "
				   "times");
		ok(r.files == 2 * lost && r.maps == lost &&
			   r.redundancy == 2 * lost &&
			   r.descriptors == 2 * lost && r.crc_checked == 0,
		   "the result counts what was written");
		ok(r.bytes_written > 0 && r.bytes_read > 0, "and bytes");
		scene_end(&s);
	}
	progress_end(progress);
	par_free(par);
}

/* Data without redundancy, redundancy without data, filemaps alone. */
static void
parts(void)
{
	struct error err = ERROR_INIT;
	struct rebuild_result r;

	scene_make(&rs6);
	scene_lose_reds(&rs6, 1, false);
	scene_lose_reds(&rs6, 4, false);
	scene_lose_reds(&rs6, 0, true);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "redundancy files alone");
	is_int((int64_t)r.redundancy, 3, "three");
	is_int((int64_t)r.descriptors, 3, "and their descriptors");
	must(unlink(scene_red(&rs6, 2, false, false)) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "a redundancy file whose descriptor is there");
	is_int((int64_t)r.descriptors, 0, "which is not written again");
	must(unlink(scene_map(&rs6, 3)) == 0);
	must(unlink(scene_map(&rs6, 5)) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "filemaps alone");
	is_int((int64_t)(r.maps * 100 + r.files), 200, "two, and no file");
	must(unlink(scene_data(&rs6, 4, 1)) == 0);
	must(unlink(scene_data(&rs6, 1, 1)) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "empty files alone");
	is_int((int64_t)r.files, 2, "two");
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "nothing at all");
	is_int((int64_t)(r.files + r.maps + r.redundancy + r.descriptors +
			 r.bytes_written),
	       0, "nothing is written");
}

static void
odd_files(void)
{
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	const char *path = NULL;

	scene_make(&rs6);
	path = scene_data(&rs6, 2, 0);
	must(unlink(path) == 0);
	must(symlink("nowhere", path) == 0);
	must(truncate(scene_data(&rs6, 3, 0), 1) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "a dangling link and a short file are replaced");
	must((unlink(path) == 0 || errno == ENOENT) && mkfifo(path, 0666) == 0);
	must(unlink(scene_map(&rs6, 2)) == 0 &&
	     symlink("/etc/passwd", scene_map(&rs6, 2)) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "a FIFO, and a filemap that is a link");
	must(unlink(path) == 0 && mkdir(path, 0777) == 0);
	must(unlink(scene_data(&rs6, 1, 0)) == 0);
	scene_keep(&rs6);
	ok(rebuild_now(&rs6, NULL, &r, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   says(&err, "cannot rename"),
	   "a directory is not");
	must(rmdir(path) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0, "once it is gone");
	scene_make(&rs6);
}

/* --- Partial rebuilds and refusals --- */

static void
lost(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	struct rebuild_options o = { .partial = true };
	struct rebuild_result r;

	scene_make(&xor8);
	scene_lose(&xor8, 1);
	scene_lose(&xor8, 5);
	scene_lose(&xor8, 2);
	scene_keep(&xor8);
	ok(rebuild_now(&xor8, NULL, &r, &err) < 0, "one of two sets is lost");
	is_int(err.kind, ERROR_LOST, "which is an error");
	ok(says(&err, "set 2 of 2 (XOR over filemaps) cannot be rebuilt: "
		      "2 of 4 members (ranks 1 5) are missing"),
	   "told in words");
	ok(scene_same(&xor8), "nothing was changed");
	ok(rebuild_now(&xor8, &o, &r, &err) == 0, "what can be, can be");
	/* Rank 1 is too short to have data in all stripes, so the parity of
	 * rank 5 can be computed, too. */
	ok(r.files == 2 && r.maps == 1 && r.redundancy == 3,
	   "one of the ranks");
	ok(exists(scene_data(&xor8, 2, 0)) && exists(scene_map(&xor8, 2)) &&
		   !exists(scene_data(&xor8, 5, 0)),
	   "that of the other set");
	p = scene_plan(&xor8, PLAN_HEADERS, &err);
	ok(p != NULL && p->ranks_lost == 2 && p->sets[0].missing == 0 &&
		   p->sets[2].missing == 0,
	   "whose sets are whole again");
	plan_free(p);
	ok(rebuild_now(&xor8, &o, &r, &err) == 0 &&
		   r.files + r.maps + r.redundancy == 0,
	   "a second time there is nothing to do");

	/* Some bytes of a lost set can be computed; files that consist of them
	 * are rebuilt. */
	scene_make(&xor8);
	must(unlink(scene_data(&xor8, 1, 1)) == 0);
	scene_lose_data(&xor8, 5);
	scene_lose_data(&xor8, 7);
	p = scene_plan(&xor8, 0, &err);
	ok(p != NULL && p->sets[3].verdict == SET_LOST &&
		   scene_find(p, 1, 1)->fate == FATE_REBUILD,
	   "an empty file of a lost set");
	ok(rebuild(p, &o, &r, &err) == 0 && r.files >= 1 &&
		   exists(scene_data(&xor8, 1, 1)),
	   "comes back");
	plan_free(p);
}

static atomic_int polls;

static bool
stop_at_once(void)
{
	return true;
}

static bool
stop_later(void)
{
	return ++polls > 2;
}

static void
stopped(void)
{
	struct work w = { .stop = stop_at_once, .memory = 1 };
	const struct rebuild_options o = { .work = &w };
	struct error err = ERROR_INIT;
	struct rebuild_result r;

	rs6.size = long_size;
	scene_make(&rs6);
	rs6.size = NULL;
	scene_lose_data(&rs6, 1);
	scene_keep(&rs6);
	ok(rebuild_now(&rs6, &o, &r, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   err.errnum == EINTR,
	   "stopped at once");
	(void)rmdir(fmt("%s/ckpt/dir_1", scene_prefix(&rs6)));
	ok(scene_same(&rs6), "nothing is left of it");
	w.stop = stop_later;
	ok(rebuild_now(&rs6, &o, &r, &err) < 0 && err.errnum == EINTR,
	   "stopped in the middle");
	ok(scene_same(&rs6) && r.files == 0, "nothing is left of that");
	w.stop = NULL;
	ok(rebuild_now(&rs6, &o, &r, &err) == 0 && r.files == 2,
	   "and done the next time");
}

/* --- Errors during a rebuild --- */

static void
inputs_vanish(void)
{
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	struct plan *p = NULL;

	scene_make(&rs6);
	scene_lose(&rs6, 1);
	p = scene_plan(&rs6, 0, &err);
	must(unlink(scene_data(&rs6, 3, 0)) == 0);
	scene_keep(&rs6);
	ok(rebuild(p, NULL, &r, &err) < 0 && err.kind == ERROR_ABSENT &&
		   says(&err, "rank_3_0.dat"),
	   "a file that was there when the plan was made");
	(void)rmdir(fmt("%s/ckpt/dir_1", scene_prefix(&rs6)));
	ok(scene_same(&rs6), "nothing is changed");
	plan_free(p);
	must(rebuild_now(&rs6, NULL, NULL, NULL) == 0);
	p = scene_plan(&rs6, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK, "a new plan works");
	plan_free(p);

	scene_lose(&rs6, 1);
	p = scene_plan(&rs6, 0, &err);
	must(truncate(scene_red(&rs6, 1 + 1, false, false), 3000) == 0);
	must(truncate(scene_data(&rs6, 3, 0), 10) == 0);
	scene_keep(&rs6);
	ok(rebuild(p, NULL, &r, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "one that was longer then");
	(void)rmdir(fmt("%s/ckpt/dir_1", scene_prefix(&rs6)));
	ok(scene_same(&rs6), "nothing is changed");
	plan_free(p);
}

/* The body behind a damaged header, too. */
static void
salvage_vanishes(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor8);
	flip(scene_red(&xor8, 4, false, false), 60);
	scene_lose(&xor8, 0);
	p = scene_plan(&xor8, 0, &err);
	must(p != NULL && p->sets[2].salvage);
	must(truncate(scene_red(&xor8, 4, false, false), 2000) == 0);
	scene_keep(&xor8);
	ok(rebuild(p, NULL, NULL, &err) < 0 && err.kind == ERROR_CORRUPT &&
		   says(&err, "reddesc.er.4.xor"),
	   "a body that was longer when the plan was made");
	(void)rmdir(fmt("%s/ckpt/dir_0", scene_prefix(&xor8)));
	ok(scene_same(&xor8), "nothing is changed");
	plan_free(p);
}

static void
limits(void)
{
	struct rlimit old, low = { 0 };
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	int rc = 0;

	rs6.size = long_size;
	scene_make(&rs6);
	rs6.size = NULL;
	scene_lose(&rs6, 1);
	scene_keep(&rs6);
	must(getrlimit(RLIMIT_FSIZE, &old) == 0);
	signal(SIGXFSZ, SIG_IGN);
	low.rlim_cur = 65536;
	low.rlim_max = old.rlim_max;
	must(setrlimit(RLIMIT_FSIZE, &low) == 0);
	rc = rebuild_now(&rs6, NULL, &r, &err);
	must(setrlimit(RLIMIT_FSIZE, &old) == 0);
	ok(rc < 0 && err.kind == ERROR_SYSTEM && err.errnum == EFBIG,
	   "files larger than may be written");
	(void)rmdir(fmt("%s/ckpt/dir_1", scene_prefix(&rs6)));
	ok(scene_same(&rs6), "nothing is changed");

	/* A directory of our own has the name of the temporary file. */
	scene_make(&rs6);
	must(unlink(scene_data(&rs6, 1, 0)) == 0);
	{
		char temp[TEMP_NAME_MAX];

		must(mkdir(fmt("%s/ckpt/dir_1/%s", scene_prefix(&rs6),
			       temp_name(temp, "rank_1_0.dat")),
			   0777) == 0);
	}
	ok(rebuild_now(&rs6, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "a directory in the way of a temporary file goes");
}

/* --- After marking files bad --- */

static void
marked(void)
{
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	struct plan *p = NULL;

	scene_make(&rs6);
	flip(scene_data(&rs6, 2, 0), 20);
	flip(scene_red(&rs6, 4, false, false), -1);
	p = scene_plan(&rs6, 0, &err);
	must(p != NULL && plan_status(p) == STATUS_OK);
	ok(plan_mark(p, (size_t)(scene_find(p, 2, 0) - p->files),
		     FILE_WRONG_CRC, &err) == 0 &&
		   plan_mark_body(p, 1, 4, &err) == 0,
	   "a file and a body are known to be wrong");
	ok(rebuild(p, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "both are put right");
	ok(r.files == 1 && r.redundancy == 1 && r.maps == 0, "and no more");
	plan_free(p);
}

/* --- Events --- */

struct events {
	int count;
	char last[1024];
};

static void
note(void *arg, const char *what)
{
	struct events *e = arg;

	e->count++;
	snprintf(e->last, sizeof(e->last), "%s", what);
}

static void
events(void)
{
	struct events e = { .count = 0 };
	const struct rebuild_options o = {
		.work = &(struct work){ .detail = note, .log_arg = &e },
	};
	struct error err = ERROR_INIT;

	scene_make(&xor8);
	scene_lose(&xor8, 2);
	ok(rebuild_now(&xor8, &o, NULL, &err) == 0 && e.count == 0,
	   "nothing special: nothing to tell");
	flip(scene_red(&xor8, 4, false, false), 60);
	scene_lose(&xor8, 0);
	ok(rebuild_now(&xor8, &o, NULL, &err) == 0 && scene_same(&xor8),
	   "parity behind a damaged header");
	is_int(e.count, 1, "is worth a line");
	ok(strstr(e.last, "header was damaged") != NULL &&
		   strncmp(e.last, "reddesc.er.4.xor", 16) == 0,
	   "that names the file");
}

/* --- Memory --- */

static int
rebuild_once(void *arg, struct error *err)
{
	return rebuild_now(arg, NULL, NULL, err);
}

static void
lose_again(void *arg)
{
	struct scene *s = arg;

	scene_lose(s, 2);
	(void)unlink(scene_data(s, 4, 0));
	if (!exists(scene_red(s, 1, false, false)))
		return;
	flip(scene_red(s, 1, false, false), 60);
}

static void
no_memory(void)
{
	static struct scene s = { SCENE(RS, 5, 1, 2, 2), .crc = true };

	scene_make(&s);
	lose_again(&s);
	ok(fails_well(rebuild_once, NULL, &s), "every allocation may fail");
	ok(scene_same(&s), "and nothing is left over");
	scene_end(&s);
}

int
main(void)
{
	umask(022);
	schemes(1);
	schemes(4);
	parts();
	odd_files();
	lost();
	stopped();
	inputs_vanish();
	salvage_vanishes();
	limits();
	marked();
	events();
	no_memory();
	scene_end(&rs6);
	scene_end(&xor8);
	return tap_done();
}
