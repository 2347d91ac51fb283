/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_sets.c - plans for datasets with redundancy sets that lost members,
 * are missing as a whole, have older ones beside them, or are in the caches of
 * several nodes.
 */
#include "rescue/rebuild.h"
#include "rows.h"
#include "steps.h"

/* --- Too many members missing --- */

TEST(each_scheme)
{
	static const enum redset_type types[] = { REDSET_XOR, REDSET_RS,
						  REDSET_PARTNER,
						  REDSET_SINGLE };
	struct row r = { .next = NULL };

	while (row_next(&r, "sets schemes")) {
		auto_scene s = { .files = 2 };
		char type[16];

		must(sscanf(r.field[0], "%15s %u %u %u", type, &s.ranks,
			    &s.sets, &s.failures) == 4);
		each (t, types)
			if (str_eq(redset_type_name(*t), type))
				s.type = *t;
		scene_make(&s);
		scene_step(&s, 0, r.field[1], r.field[2], r.field[3]);
	}
}

/* Ranks that lost only their files, or only their redundancy. */

/* --- Sets without any remaining file --- */

/* --- Files of an earlier attempt --- */

/* Copy the redundancy files of the ranks in `mask` from `from` to `to`. */
static void
copy_reds(const struct scene *from, const struct scene *to, unsigned mask)
{
	auto_buf b = BUF_INIT;

	for (unsigned r = 0; r < from->ranks; r++) {
		for (int map = 0; map < 2 && mask >> r & 1; map++) {
			const char *path = scene_red(from, r, map, false);

			read_whole(path, &b);
			write_file(fmt("%s/%s", scene_meta(to, r),
				       path_base(path)),
				   b.data, b.len);
		}
	}
}

static uint64_t
older_size(unsigned rank, unsigned file)
{
	return 77 + rank + file;
}

static void
older_attempt(enum redset_type type, unsigned sets, unsigned failures,
	      unsigned mask)
{
	static struct scene now = { SCENE(XOR, 8, 2, 1, 2) };
	struct scene old = {
		.type = type,
		.ranks = sets == 1 ? 8 : 6,
		.sets = sets,
		.failures = failures,
		.files = 2,
		.size = older_size,
	};
	const char *what = fmt("beside files %#x of an older %s", mask,
			       redset_type_name(type));

	scene_make(&now);
	scene_make(&old);
	copy_reds(&old, &now, mask);
	scene_end(&old);
	scene_keep(&now);
	is_int(scene_status(&now, 0, &why), STATUS_OK, fmt("whole %s", what));
	is_int(scene_status(&now, PLAN_HEADERS, &why), STATUS_OK,
	       fmt("also looking at headers, %s", what));
	scene_step(&now, PLAN_HEADERS, what, "lose 2 5", "damaged: |back");
	scene_end(&now);
}

/* --- Caches --- */

TEST(caches)
{
	auto_scene s = { SCENE(XOR, 8, 2, 1, 2), .cache = true };
	auto_plan *p = NULL;
	const char *two[] = { NULL, NULL };

	scene_make(&s);
	p = scene_plan(&s, PLAN_HEADERS, &why);
	ok(p != NULL && plan_status(p) == STATUS_OK && p->id == SCENE_ID &&
		   p->nplaces == 4 && p->nranks == 8 &&
		   p->recorded_root == NULL,
	   "four nodes, whole");
	is_int(scene_find(p, 5, 1)->place, 2, "rank 5 is on the third");
	is_str(scene_find(p, 5, 1)->path, "rank_5_1.dat",
	       "its files lie there by their base names");
	plan_free(p);

	scene_table(&s, 0, "sets cache lost");
	p = scene_plan(&s, 0, &why);
	ok(p != NULL && rebuild(p, NULL, NULL, &why) == 0, "rebuilt");
	plan_free(p);
	ok(exists(fmt("%s/rank_5_0.dat", scene_node(&s, 0))) &&
		   exists(fmt("%s/.scr/filemap_4", scene_node(&s, 0))),
	   "there they are");
	is_int(scene_status(&s, PLAN_HEADERS, &why), STATUS_OK, "whole again");
	scene_table(&s, 0, "sets cache kept");

	scene_do(&s, "new; lose 1");
	scene_plan_no_memory(&s, 0, STATUS_DAMAGED);
	scene_make(&s);
	two[0] = scene_node(&s, 0);
	two[1] = scene_node(&s, 1);
	p = plan_caches(two, 2, NULL, &why);
	ok(p != NULL && plan_status(p) == STATUS_LOST && p->maps_lost == 4,
	   "half of the nodes are not enough");
}

/* The same metadata on two nodes, as left by a restart on other nodes.  If the
 * plan read the second files, it would report the damage. */

/* Bypass: data files were written directly to the prefix, without
 * redundancy. */

TEST(steps)
{
	static const struct {
		enum redset_type type;
		unsigned sets, failures, mask;
	} older[] = {
		{ REDSET_XOR, 1, 1, 0x07 }, { REDSET_XOR, 1, 1, 0x24 },
		{ REDSET_XOR, 2, 1, 0x01 }, { REDSET_XOR, 2, 1, 0x22 },
		{ REDSET_RS, 1, 3, 0x07 },  { REDSET_PARTNER, 1, 1, 0x06 },
	};
	struct scene partner = { SCENE(PARTNER, 4, 1, 1, 2) };
	struct scene single = { SCENE(SINGLE, 4, 4, 0, 2) };
	auto_scene cached = { SCENE(XOR, 4, 1, 1, 1), .cache = true };
	struct scene xor12 = { SCENE(XOR, 12, 3, 1, 1) };

	scene_table(&partner, 0, "sets partner");
	scene_table(&single, 0, "sets single");
	scene_table(&xor12, 0, "sets vanished");
	scene_table(&xor12, 0, "sets more vanished");
	scene_table(&xor12, PLAN_HEADERS, "sets vanished");
	scene_end(&partner);
	scene_end(&single);
	scene_end(&xor12);
	each (o, older)
		older_attempt(o->type, o->sets, o->failures, o->mask);
	scene_table(&cached, PLAN_HEADERS, "sets twice");
	scene_table(&cached, PLAN_CHECKSUMS, "sets bypass");
}
