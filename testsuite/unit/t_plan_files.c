/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_files.c - plans for redundancy files given by hand, as for LLNL's
 * rebuild helpers: with a prefix and its filemaps, or with only the headers.
 */
#include "rescue/plan.h"

#include "path.h"
#include "rescue/rebuild.h"
#include "steps.h"

#define OLD "/cache/scr.dataset.7" /* recorded directory of the files */

/* Two sets, so that the files of one set can be given. */
static struct scene xor8 = { SCENE(XOR, 8, 2, 1, 2) };

struct names {
	const char *list[64];
	char text[64][256];
	size_t count;
};

static void
add_name(struct names *n, const char *dir, const char *path)
{
	char *to = n->text[n->count];

	snprintf(to, sizeof(n->text[0]), "%s%s", dir, path_base(path));
	n->list[n->count++] = to;
}

/* Names below `dir` of the redundancy files of the ranks in the bit mask. */
static void
name_reds(struct names *n, const struct scene *s, unsigned ranks, bool map,
	  const char *dir)
{
	for (unsigned r = 0; r < s->ranks; r++)
		if (ranks >> r & 1)
			add_name(n, dir, scene_red(s, r, map, false));
}

static struct plan *
plan_by_hand(const char *dir, const char *prefix, const struct names *n,
	     bool map, struct error *err)
{
	const struct plan_options o = {
		.moved_from = prefix == NULL ? OLD : NULL,
	};

	return plan_files(
		&(struct plan_by_hand){ dir, prefix, n->list, n->count, map },
		&o, err);
}

/* Plan and rebuild: the status of the plan, or STATUS_FAILED. */
static int
by_hand(const char *dir, const char *prefix, const struct names *n, bool map)
{
	struct error err = ERROR_INIT;
	struct plan *p = plan_by_hand(dir, prefix, n, map, &err);
	int status = p ? plan_status(p) : STATUS_FAILED;

	if (p == NULL || rebuild(p, NULL, NULL, &err) < 0)
		printf("# %s\n", err.text);
	plan_free(p);
	return status;
}

/* --- With a prefix --- */

/* Plans and rebuilds after losses; LLNL's helpers are called once for each
 * set. */
static void
with_prefix(void)
{
	static const struct {
		const char *what, *change;
		unsigned ranks; /* whose files are named */
		bool map;
		const char *back, *gone; /* NULL: all is as it was */
	} cases[] = {
		{ "first the filemaps", "lose 2 5", 0xff, true, "m2 R5 D5",
		  "f2.0" },
		{ "then the files", "", 0xff, false, NULL, NULL },
		/* A named file that is missing counts as lost. */
		{ "a name of a file that is not there", "reds 3", 0xff, false,
		  NULL, NULL },
		{ "one set of two, the other is damaged as well",
		  "new; data 2 3", 0x51, false, "f2.0", "f3.0" },
		{ "then the other", "", 0xaa, false, NULL, NULL },
		{ "one set over filemaps of two", "rm m2 m3", 0x55, true, "m2",
		  "m3" },
		{ "and then the other", "", 0xaa, true, NULL, NULL },
	};
	char dir[200], prefix[200];

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct names n = { .count = 0 };

		name_reds(&n, &xor8, cases[i].ranks, cases[i].map, "");
		scene_do(&xor8, cases[i].change);
		is_int(by_hand(dir, prefix, &n, cases[i].map), STATUS_DAMAGED,
		       cases[i].what);
		ok(cases[i].gone == NULL
			   ? scene_same(&xor8)
			   : scene_has(&xor8, cases[i].back, true) &&
				     scene_has(&xor8, cases[i].gone, false),
		   "... these files come back, and no others");
	}
}

/* --- With only the headers --- */

static struct scene bare8 = { SCENE(RS, 8, 2, 2, 2) };

static void
bare(const char *sub)
{
	struct names n = { .count = 0 };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char dir[128];

	bare8.flat = sub;
	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s", scene_node(&bare8, 0));
	name_reds(&n, &bare8, 0xff, false, sub);
	is_int(by_hand(dir, NULL, &n, false), STATUS_OK,
	       fmt("headers alone, in \"%s\": whole", sub));
	scene_do(&bare8, "data 2 4 7; reds 2 4 7");
	p = plan_by_hand(dir, NULL, &n, false, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED &&
		   p->files_rebuild == 6 && p->nfiles == 16 &&
		   p->maps_missing == 0,
	   "three ranks lost");
	plan_free(p);
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED, "rebuilt");
	ok(scene_same(&bare8), "as it was");
}

/* Files that are not named are missing, but are written to the directory of the
 * others. */
static void
bare_fewer_names(void)
{
	struct names n = { .count = 0 };
	char dir[128];

	bare8.flat = "";
	scene_do(&bare8, "new; data 2 6; reds 2 6");
	snprintf(dir, sizeof(dir), "%s", scene_node(&bare8, 0));
	name_reds(&n, &bare8, 0x11, false, "");
	add_name(&n, "", scene_red(&bare8, 0, false, true));
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED,
	       "two names of the four of one set, and a descriptor");
	ok(scene_same(&bare8), "bring the other two back");
	scene_do(&bare8, "data 2; reds 2");
	n.count = 0;
	name_reds(&n, &bare8, 0x55, false, "");
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED,
	       "one set of two, the missing file named, too");
	ok(scene_same(&bare8), "it comes back");
	scene_do(&bare8, "data 0 2 4; reds 0 2 4");
	is_int(by_hand(dir, NULL, &n, false), STATUS_LOST, "three are lost");
}

/* Filemaps are beside the named files. */
static void
maps_alone(void)
{
	struct names n = { .count = 0 };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char dir[128];

	bare8.flat = ".scr";
	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&bare8, 0));
	name_reds(&n, &bare8, 0x55, true, "");
	is_int(by_hand(dir, NULL, &n, true), STATUS_OK,
	       "a set over filemaps alone: whole");
	scene_do(&bare8, "rm m3");
	is_int(by_hand(dir, NULL, &n, true), STATUS_OK,
	       "what the other one has lost is of no concern");
	scene_do(&bare8, "rm m4");
	n.count = 0;
	name_reds(&n, &bare8, 0xff, true, "");
	is_int(by_hand(dir, NULL, &n, true), STATUS_DAMAGED, "both lost one");
	ok(scene_same(&bare8), "they come back");

	scene_do(&bare8, "rm m0 m2 m4 m6 R0");
	p = plan_by_hand(dir, NULL, &n, true, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST, "too many are lost");
	plan_error(p, &err);
	ok(says(&err, "members (ranks 0 2 4 6) are missing; RS can restore 2"),
	   "they are named");
	plan_free(p);
}

/* --- Misuse --- */

static void
misuse(void)
{
	static const char red[] =
		"reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset";
	char dir[200], prefix[200];
	const struct {
		const char *what, *dir, *prefix;
		const char *name; /* or NULL: none */
		enum error_kind kind;
		const char *says;
	} cases[] = {
		{ "no name and no prefix", dir, NULL, NULL, ERROR_ABSENT, "" },
		{ "no such directory", "/nonexistent", prefix, red,
		  ERROR_ABSENT, "" },
		{ "no such prefix", dir, "/nonexistent", red, ERROR_ABSENT,
		  "" },
		{ "headers name files elsewhere", dir, NULL, red, ERROR_UNSAFE,
		  OLD },
		{ "... what to do", dir, NULL, red, ERROR_UNSAFE,
		  "--moved-from" },
		{ "not the name of a redundancy file", dir, prefix, "filemap_3",
		  ERROR_USAGE, "filemap_3" },
		{ "a name that leaves the directory", dir, prefix,
		  fmt("../%s", red), ERROR_UNSAFE, "" },
		{ "or is in one that does", dir, prefix, fmt("out/%s", red),
		  ERROR_UNSAFE, "" },
	};
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	must(symlink("/etc", fmt("%s/out", dir)) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plan_by_hand h = {
			.dir = cases[i].dir,
			.prefix = cases[i].prefix,
			.names = &cases[i].name,
			.nnames = cases[i].name != NULL,
		};

		ok(plan_files(&h, NULL, &err) == NULL &&
			   err.kind == cases[i].kind &&
			   says(&err, cases[i].says),
		   cases[i].what);
	}
	p = plan_files(&(struct plan_by_hand){ dir, prefix, NULL, 0, false },
		       NULL, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK, "no name at all");
	plan_free(p);
}

/* --- Memory --- */

struct planned {
	const char *dir, *prefix;
	struct names n;
};

static int
plan_once(void *arg, struct error *err)
{
	const struct planned *x = arg;
	struct plan *p = plan_by_hand(x->dir, x->prefix, &x->n, false, err);
	bool good = p != NULL && plan_status(p) == STATUS_DAMAGED;

	plan_free(p);
	return good ? 0 : p == NULL ? -1 : error_set(err, ERROR_DAMAGED, "!");
}

static void
no_memory(struct scene *s, bool bare_files)
{
	struct planned x = { .prefix = NULL };
	char dir[200], prefix[200];

	scene_make(s);
	scene_lose_data(s, 1);
	snprintf(dir, sizeof(dir), "%s", scene_meta(s, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(s));
	x.dir = dir;
	x.prefix = bare_files ? NULL : prefix;
	name_reds(&x.n, s, 0xff, false, "");
	ok(fails_well(plan_once, NULL, &x), "every allocation may fail");
}

int
main(void)
{
	umask(022);
	with_prefix();
	bare("");
	bare("deep/down/");
	bare_fewer_names();
	maps_alone();
	misuse();
	bare8.flat = "";
	no_memory(&bare8, true);
	no_memory(&xor8, false);
	scene_end(&xor8);
	scene_end(&bare8);
	return tap_done();
}
