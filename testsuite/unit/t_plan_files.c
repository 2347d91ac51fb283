/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of redundancy files that are given by hand; plans for which the headers
 * of redundancy files are read, in any state.
 */
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

static struct scene bare8 = { SCENE(RS, 8, 2, 2, 2) };

/* Where the files of a scene are: with filemaps below a prefix, or in one
 * directory with nothing but headers. */
struct where {
	char dir[128], prefix[128], sub[32];
};

static void
locate(struct where *w, const struct scene *s, bool map)
{
	const bool bare = s->flat != NULL;

	snprintf(w->dir, sizeof(w->dir), "%s",
		 bare && !map ? scene_node(s, 0) : scene_meta(s, 0));
	snprintf(w->prefix, sizeof(w->prefix), "%s",
		 bare ? "" : scene_prefix(s));
	snprintf(w->sub, sizeof(w->sub), "%s", bare && !map ? s->flat : "");
}

static struct plan *
plan_by_hand(const struct where *w, const struct names *n, bool map,
	     struct error *err)
{
	const char *prefix = w->prefix[0] != '\0' ? w->prefix : NULL;
	const struct plan_options o = {
		.moved_from = prefix == NULL ? OLD : NULL,
	};

	return plan_files(&(struct plan_by_hand){ w->dir, prefix, n->list,
						  n->count, map },
			  &o, err);
}

/* --- Plans and rebuilds after losses --- */

#define WITH_DESCRIPTOR 0x100 /* of rank 0 */

static const struct {
	const char *what;
	struct scene *s;
	const char *flat, *change;
	unsigned ranks; /* whose files are named */
	bool map;
	int status;
	const char *back, *gone; /* NULL: all is as it was */
} cases[] = {
	{ "whole", &xor8, NULL, "new", 0xff, false, STATUS_OK, NULL, NULL },
	{ "first the filemaps", &xor8, NULL, "lose 2 5", 0xff, true,
	  STATUS_DAMAGED, "m2 R5 D5", "f2.0" },
	{ "then the files", &xor8, NULL, "", 0xff, false, STATUS_DAMAGED, NULL,
	  NULL },
	/* A named file that is missing counts as lost. */
	{ "a name of a file that is not there", &xor8, NULL, "reds 3", 0xff,
	  false, STATUS_DAMAGED, NULL, NULL },
	/* LLNL's helpers are called once for each set. */
	{ "one set of two, the other is damaged as well", &xor8, NULL,
	  "new; data 2 3", 0x51, false, STATUS_DAMAGED, "f2.0", "f3.0" },
	{ "then the other", &xor8, NULL, "", 0xaa, false, STATUS_DAMAGED, NULL,
	  NULL },
	{ "one set over filemaps of two", &xor8, NULL, "rm m2 m3", 0x55, true,
	  STATUS_DAMAGED, "m2", "m3" },
	{ "and then the other", &xor8, NULL, "", 0xaa, true, STATUS_DAMAGED,
	  NULL, NULL },
	{ "headers alone: whole", &bare8, "", "new", 0xff, false, STATUS_OK,
	  NULL, NULL },
	{ "three ranks lost", &bare8, "", "data 2 4 7; reds 2 4 7", 0xff, false,
	  STATUS_DAMAGED, NULL, NULL },
	{ "headers in another directory", &bare8, "deep/down/", "new", 0xff,
	  false, STATUS_OK, NULL, NULL },
	{ "three ranks lost", &bare8, "deep/down/", "data 2 4 7; reds 2 4 7",
	  0xff, false, STATUS_DAMAGED, NULL, NULL },
	/* Files that are not named are missing, but are written to the
	 * directory of the others. */
	{ "two names of the four of one set, and a descriptor", &bare8, "",
	  "new; data 2 6; reds 2 6", 0x11 | WITH_DESCRIPTOR, false,
	  STATUS_DAMAGED, NULL, NULL },
	{ "one set of two, the missing file named, too", &bare8, "",
	  "data 2; reds 2", 0x55, false, STATUS_DAMAGED, NULL, NULL },
	{ "three are lost", &bare8, "", "data 0 2 4; reds 0 2 4", 0x55, false,
	  STATUS_LOST, "", "f0.0 f2.0 f4.0" },
	/* Filemaps are beside the named files. */
	{ "a set over filemaps alone: whole", &bare8, ".scr", "new", 0x55, true,
	  STATUS_OK, NULL, NULL },
	{ "what the other one has lost is of no concern", &bare8, ".scr",
	  "rm m3", 0x55, true, STATUS_OK, "", "m3" },
	{ "both lost one", &bare8, ".scr", "rm m4", 0xff, true, STATUS_DAMAGED,
	  NULL, NULL },
	{ "ranks 0 2 4 6) are missing; RS can restore 2", &bare8, ".scr",
	  "rm m0 m2 m4 m6 R0", 0xff, true, STATUS_LOST, "", "m0 m2 m4 m6" },
};

TEST(losses)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scene *s = cases[i].s;
		struct names n = { .count = 0 };
		auto_plan *p = NULL;
		struct where w;

		s->flat = cases[i].flat;
		scene_do(s, cases[i].change);
		locate(&w, s, cases[i].map);
		name_reds(&n, s, cases[i].ranks, cases[i].map, w.sub);
		if (cases[i].ranks & WITH_DESCRIPTOR)
			add_name(&n, w.sub, scene_red(s, 0, false, true));
		p = plan_by_hand(&w, &n, cases[i].map, &why);
		if (p == NULL)
			printf("# %s\n", why.text);
		is_int(p ? plan_status(p) : STATUS_FAILED, cases[i].status,
		       cases[i].what);
		if (p == NULL)
			continue;
		ok((rebuild(p, NULL, NULL, &why) < 0) ==
			   (cases[i].status == STATUS_LOST),
		   "... rebuilt if nothing is lost");
		if (i + 1 == COUNT(cases))
			ok(says(&why, cases[i].what), "... they are named");
		ok(cases[i].gone == NULL
			   ? scene_same(s)
			   : scene_has(s, cases[i].back, true) &&
				     scene_has(s, cases[i].gone, false),
		   "... these files come back, and no others");
	}
}

/* --- Misuse --- */

TEST(misuse)
{
	static const char red[] =
		"reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset";
	char dir[200], prefix[200], gone[210];
	const struct {
		const char *what, *dir, *prefix;
		const char *name; /* or NULL: none */
		enum error_kind kind;
		const char *says;
	} wrong[] = {
		{ "no name and no prefix", dir, NULL, NULL, ERROR_ABSENT, "" },
		{ "no such directory", gone, prefix, red, ERROR_ABSENT, "" },
		{ "no such prefix", dir, gone, red, ERROR_ABSENT, "" },
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
	auto_plan *p = NULL;

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	snprintf(gone, sizeof(gone), "%s/gone", dir);
	link_by_anyone("/etc", fmt("%s/out", dir));
	each (w, wrong) {
		const struct plan_by_hand h = {
			.dir = w->dir,
			.prefix = w->prefix,
			.names = &w->name,
			.nnames = w->name != NULL,
		};

		ok(plan_files(&h, NULL, &why) == NULL && why.kind == w->kind &&
			   says(&why, w->says),
		   w->what);
	}
	p = plan_files(&(struct plan_by_hand){ dir, prefix, NULL, 0, false },
		       NULL, &why);
	ok(p != NULL && plan_status(p) == STATUS_OK, "no name at all");
}

/* --- Memory --- */

struct planned {
	struct where w;
	struct names n;
};

static void
no_memory(struct scene *s)
{
	struct planned x = { .n = { .count = 0 } };

	scene_do(s, "new; data 1");
	locate(&x.w, s, false);
	name_reds(&x.n, s, 0xff, false, x.w.sub);
	without_memory (m, 2, "every allocation may fail") {
		const struct planned *it = &x;
		struct plan *p = plan_by_hand(&it->w, &it->n, false, &m.err);
		bool good = p != NULL && plan_status(p) == STATUS_DAMAGED;

		plan_free(p);
		m.rc = good	   ? 0
		       : p == NULL ? -1
				   : error_set(&m.err, ERROR_DAMAGED, "!");
	}
}

TEST(no_memory)
{
	bare8.flat = "";
	no_memory(&bare8);
	no_memory(&xor8);
}

/* --- Headers --- */

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2) };

/* --- One bad file --- */

/* It will be written anew, and nothing else is missing. */

/* --- Headers that contradict each other --- */

/* The first header is not always the right one: the majority decides. */

/* --- Damaged headers, good bodies --- */

/* Which lists of files survive depends on the neighbours. */

/* --- Headers and filemaps --- */

#define SIZE_OF(file) "DESC>1>FILE>" #file ">*>SIZE"

/* --- Redundancy of filemaps --- */

/* --- PARTNER --- */

TEST(opened)
{
	auto_scene rs5 = { SCENE(RS, 5, 1, 2, 2) };
	auto_scene wide = { SCENE(XOR, 8, 2, 1, 1) };
	auto_scene partner = { SCENE(PARTNER, 4, 1, 2, 1) };

	scene_table(&xor4, PLAN_HEADERS, "open bad file");
	scene_table(&wide, PLAN_HEADERS, "open other set");
	scene_table(&xor4, PLAN_HEADERS, "open majority");
	scene_table(&rs5, PLAN_HEADERS, "open rs majority");
	scene_table(&xor4, PLAN_HEADERS, "open salvage");
	scene_table(&rs5, PLAN_HEADERS, "open rs salvage");
	scene_table(&xor4, PLAN_HEADERS, "open lists");
	scene_table(&xor4, PLAN_HEADERS, "open flaws");
	scene_table(&xor4, PLAN_HEADERS, "open map sets");
	scene_table(&partner, PLAN_HEADERS, "open partner sizes");
	scene_end(&xor4);
}
