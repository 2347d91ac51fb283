/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/redset.h"
#include "metatest.h"

static void
test_good_names(void)
{
	static const char name[] =
		"reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset";
	struct redset_name n;
	char text[256];
	size_t stem = 0;

	ok(redset_name_parse(name, &n, NULL), "a name");
	ok(!n.map && !n.descriptor && n.rank == 12 && n.type == REDSET_XOR &&
		   n.set == 3 && n.sets == 4 && n.member == 2 && n.members == 8,
	   "... all of it");
	is_str(redset_name_format(text, sizeof(text), &n, NULL), name,
	       "... and back");
	ok(redset_name_parse(name, &n, &stem) && stem == 10,
	   "... its stem too");
	ok(redset_name_parse("reddescmap.er.0.redset", &n, NULL) && n.map &&
		   n.descriptor && n.rank == 0,
	   "a descriptor of filemaps");
	is_str(redset_name_format(text, sizeof(text), &n, NULL),
	       "reddescmap.er.0.redset", "... and back");
	ok(redset_name_parse("reddescmap.er.0.redset", &n, &stem) && n.map &&
		   stem == 13,
	   "... its stem too");
	ok(redset_name_parse("red.3.7.rs.grp_1_of_1.mem_1_of_4.redset", &n,
			     &stem) &&
		   stem == 5 && n.rank == 7 && n.type == REDSET_RS && !n.map,
	   "a bare one, whose stem has dots");
	is_str(redset_name_format(text, sizeof(text), &n, "red.3"),
	       "red.3.7.rs.grp_1_of_1.mem_1_of_4.redset", "... and back");
	ok(redset_name_parse("red.3.7.redset", &n, &stem) && stem == 5 &&
		   n.rank == 7 && n.descriptor,
	   "... its descriptor");
	ok(redset_name_parse("a.1.single.grp_2_of_4.mem_1_of_1.redset", &n,
			     &stem) &&
		   n.type == REDSET_SINGLE,
	   "single");
	ok(redset_name_parse("a.1.partner.grp_2_of_4.mem_1_of_2.redset", &n,
			     &stem) &&
		   n.type == REDSET_PARTNER,
	   "partner");
	is_str(redset_type_name(REDSET_PARTNER), "PARTNER",
	       "... as descriptors say it");
}

static void
test_bad_names(void)
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

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
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
	is_int((int64_t)wrong, 0, "no beginning of a name is one");
	for (i = 0; i < 8 * (sizeof(whole) - 1); i++) {
		memcpy(text, whole, sizeof(whole));
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
		if (redset_name_parse(text, &n, NULL))
			wrong += strcmp(redset_name_format(again, sizeof(again),
							   &n, NULL),
					text) != 0;
	}
	is_int((int64_t)wrong, 0, "changed names are refused, or new ones");
}

int
main(void)
{
	test_good_names();
	test_bad_names();
	return tap_done();
}
