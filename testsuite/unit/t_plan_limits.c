/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_limits.c - plans with names that exceed limits, and without memory.
 */
#include "rescue/plan.h"

#include <errno.h>
#include <sys/resource.h>

#include "rescue/plan_impl.h"
#include "steps.h"

static struct scene scene = { SCENE(XOR, 4, 1, 1, 2) };

TEST(crafted_names)
{
	static const struct {
		const char *name;
		const char *says; /* NULL: can be planned */
		enum error_kind kind;
	} names[] = {
		{ "filemap_3999999", NULL, ERROR_NONE },
		{ "filemap_300", NULL, ERROR_NONE },
		{ "filemap_4194304", "too large for any job", ERROR_CORRUPT },
		{ "filemap_2147483647", "too large for any job",
		  ERROR_CORRUPT },
		{ "reddesc.er.0.xor.grp_1_of_1.mem_1_of_4000.redset", NULL,
		  ERROR_NONE },
		{ "reddesc.er.0.xor.grp_1_of_1.mem_1_of_4097.redset",
		  "too large for any job", ERROR_CORRUPT },
		{ "reddesc.er.0.xor.grp_1_of_1.mem_1_of_100000000.redset",
		  "far more", ERROR_CORRUPT },
		{ "reddesc.er.0.xor.grp_7_of_100000000.mem_1_of_4.redset", NULL,
		  ERROR_NONE },
		{ "reddesc.er.99999999.xor.grp_1_of_1.mem_1_of_4.redset",
		  "too large for any job", ERROR_CORRUPT },
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		auto_plan *p = NULL;
		struct rusage u, v;

		if (i == 0 && getenv("SCRKIT_SLOW") == NULL) {
			skip(names[i].name, "SCRKIT_SLOW is not set");
			continue;
		}
		scene_make(&scene);
		remove_tree(scene_meta(&scene, 0));
		write_text(fmt("%s/%s", scene_meta(&scene, 0), names[i].name),
			   "x");
		getrusage(RUSAGE_SELF, &u);
		p = scene_plan(&scene, PLAN_HEADERS, &why);
		getrusage(RUSAGE_SELF, &v);
		if (names[i].says == NULL)
			ok(p != NULL && plan_status(p) == STATUS_FAILED,
			   names[i].name);
		else
			ok(p == NULL && why.kind == names[i].kind &&
				   says(&why, names[i].says),
			   names[i].name);
		if (p != NULL)
			plan_error(p, &why);
		printf("# %s\n", why.text);
		ok(v.ru_maxrss - u.ru_maxrss < 1 << 20,
		   "less than a GiB was used");
	}
}

TEST(no_memory)
{
	static struct scene s = { SCENE(RS, 8, 2, 2, 2), .crc = true };

	scene_do(&s, "new; lose 2; rm m3 f5.0; flip r4 40; flip f7.0 40");
	ok(scene_plan_fails_well(&s, PLAN_HEADERS | PLAN_CHECKSUMS,
				 STATUS_DAMAGED),
	   "every allocation may fail");
	scene_do(&s, "lose 0 6");
	ok(scene_plan_fails_well(&s, 0, STATUS_LOST),
	   "also where something is lost");
	scene_end(&s);
}

/* Which errors mean a damaged file, which an error of the system, and after
 * which nothing is known of the bytes. */
TEST(blame)
{
	static const struct {
		int errnum;
		bool blames, unread;
	} cases[] = {
		{ ENOENT, true, false },  { EIO, false, true },
		{ EISDIR, true, false },  { EUCLEAN, false, true },
		{ ENXIO, true, false },	  { ENOTDIR, true, false },
		{ EMFILE, false, false }, { EACCES, false, false },
		{ ENOMEM, false, false }, { ENOSPC, false, false },
	};

	each (c, cases) {
		errno = c->errnum;
		error_sys(&why, "file");
		ok(plan_blames_file(&why) == c->blames,
		   fmt("%s: %s", why.text, c->blames ? "its fault" : "ours"));
		ok(error_is_unread(&why) == c->unread, "... unread?");
	}
}

/* Sets for a dataset without redundancy, as large as a code allows, and one
 * rank larger.  Too large a set is refused before a file is looked at. */
TEST(largest_sets)
{
	static const struct {
		enum redset_type type;
		unsigned ranks, size, failures;
		const char *says; /* NULL: can be made */
	} cases[] = {
		{ REDSET_XOR, 255, 4096, 1, NULL },
		{ REDSET_XOR, 256, 4096, 1,
		  "a set of 256 ranks is too large for XOR with 1 failure (at "
		  "most 255): set sizes up to 128 are possible" },
		{ REDSET_XOR, 256, 128, 1, NULL },
		{ REDSET_XOR, 256, 129, 1, "a set of 256 ranks" },
		{ REDSET_RS, 251, 4096, 5, NULL },
		{ REDSET_RS, 252, 4096, 5,
		  "with 5 failures (at most 251): set sizes up to 126" },
	};
	struct scene s = { .type = REDSET_SINGLE, .files = 1, .bare = true };

	each (c, cases) {
		auto_plan *p = NULL;
		int rc = -1;

		if (s.ranks != c->ranks) {
			scene_end(&s);
			s.ranks = s.sets = c->ranks;
			scene_make(&s);
		}
		p = scene_plan(&s, PLAN_HEADERS, &why);
		must(p != NULL);
		rc = plan_protect(p, c->type, c->size, c->failures, &why);
		if (c->says == NULL)
			ok(rc == 0 && plan_status(p) == STATUS_DAMAGED,
			   fmt("%s, %u ranks, sets of %u or more",
			       redset_type_name(c->type), c->ranks, c->size));
		else
			ok(rc < 0 && why.kind == ERROR_USAGE &&
				   says(&why, c->says),
			   fmt("refused: %s", c->says));
	}
	scene_end(&s);
}
