/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/redset.h"
#include "metatest.h"

TEST(good_names)
{
	static const struct {
		const char *name;
		const char *stem; /* if any is allowed, else NULL */
		const char *parts;
	} names[] = {
		{ "reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset", NULL,
		  "rank 12, XOR 3/4 2/8" },
		{ "reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset",
		  "reddesc.er", "rank 12, XOR 3/4 2/8" },
		{ "reddescmap.er.0.redset", NULL, "map, rank 0" },
		{ "reddescmap.er.0.redset", "reddescmap.er", "map, rank 0" },
		{ "red.3.7.rs.grp_1_of_1.mem_1_of_4.redset", "red.3",
		  "rank 7, RS 1/1 1/4" },
		{ "red.3.7.redset", "red.3", "rank 7" },
		{ "a.1.single.grp_2_of_4.mem_1_of_1.redset", "a",
		  "rank 1, SINGLE 2/4 1/1" },
		{ "a.1.partner.grp_2_of_4.mem_1_of_2.redset", "a",
		  "rank 1, PARTNER 2/4 1/2" },
	};

	each (t, names) {
		const char *stem = t->stem, *parts = NULL;
		struct redset_name n;
		char again[256];
		size_t len = 0;

		ok(redset_name_parse(t->name, &n, stem ? &len : NULL) &&
			   (stem == NULL || len == strlen(stem)),
		   t->name);
		parts = fmt("%srank %u", n.map ? "map, " : "", n.rank);
		if (!n.descriptor)
			parts = fmt("%s, %s %u/%u %u/%u", parts,
				    redset_type_name(n.type), n.set, n.sets,
				    n.member, n.members);
		is_str(parts, t->parts, "... all of it");
		is_str(redset_name_format(again, sizeof(again), &n, stem),
		       t->name, "... and back");
	}
}

TEST(bad_names)
{
	static const char *const bad[] = {
		"",
		"reddesc.er",
		"reddesc.er.",
		"reddesc.er.redset",
		"reddesc.er.er",
		"reddesc.er.shuffile",
		"reddesc.er.1.redset.bak",
		"reddesc.er.01.redset",
		"reddesc.er.-1.redset",
		"reddesc.er.100000001.redset",
		"reddesc.er.99999999999999999999.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset.tmp",
		"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4",
		"reddesc.er.1.XOR.grp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xo.grp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xorgrp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_01_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_0_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_2_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_5_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_0_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_1_of_0.redset",
		"reddesc.er.1.xor.grp_1.mem_1_of_4.redset",
		"reddesc.er.1.xor.mem_1_of_4.grp_1_of_1.redset",
		"reddesc.er.1..grp_1_of_1.mem_2_of_4.redset",
	};
	static const char whole[] =
		"reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset";
	struct redset_name n;
	char text[256], again[256];
	size_t i = 0, stem = 0, wrong = 0;

	for (i = 0; i < COUNT(bad); i++) {
		ok(!redset_name_parse(bad[i], &n, NULL), label(bad[i]));
		ok(!redset_name_parse(bad[i], &n, &stem), "... with any stem");
	}
	ok(!redset_name_parse("old_reddesc.er.1.redset", &n, NULL) &&
		   !redset_name_parse("red.1.redset", &n, NULL),
	   "other stems, if they are none requested");
	ok(!redset_name_parse("a/red.1.redset", &n, &stem), "a path");
	ok(!redset_name_parse(".1.redset", &n, &stem), "no stem");
	for (i = 0; i < sizeof(whole) - 1; i++) {
		snprintf(text, sizeof(text), "%.*s", (int)i, whole);
		wrong += redset_name_parse(text, &n, NULL) ||
			 redset_name_parse(text, &n, &stem);
	}
	is_int(wrong, 0, "no beginning of a name is one");
	for (i = 0; i < 8 * (sizeof(whole) - 1); i++) {
		memcpy(text, whole, sizeof(whole));
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
		if (redset_name_parse(text, &n, NULL))
			wrong += strcmp(redset_name_format(again, sizeof(again),
							   &n, NULL),
					text) != 0;
	}
	is_int(wrong, 0, "changed names are refused, or new ones");
}
