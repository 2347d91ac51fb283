/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crash_build.c - scr_index --build on golden and generated datasets, killed
 * and failing at every file operation and killed at random moments.
 */
#include "crashsweep.h"

static void
test_builds(void)
{
	static const struct {
		const char *name, *from, *make;
		bool slow;
		unsigned kills;
	} list[] = {
		{ "build, xor_4", "scr3/xor_4/scavenged/prefix", NULL, false,
		  0 },
		{ "build, xor_8n4", "scr3/xor_8n4/scavenged/prefix", NULL, true,
		  200 },
		{ "build, rs2_8n4", "scr3/rs2_8n4/scavenged/prefix", NULL, true,
		  200 },
		{ "build, generated, with checksums", NULL,
		  "%s/gen_dataset --prefix '%s' --ranks 4 --files 2 "
		  "--type RS --size 300K,20K --crc --lose 1,2",
		  false, 20 },
	};

	each (l, list) {
		struct scene s = {
			.name = l->name,
			.command = "scr_index --build 1",
		};

		if (l->slow && !slow)
			skip(s.name, "SCRKIT_SLOW is not set");
		else if (l->from != NULL && !have_golden(l->from))
			skip(s.name, "no golden data: SCRKIT_GOLDEN");
		else if (!start_with(l->make, l->from))
			ok(false, s.name);
		else
			play(&s, 16, !l->slow, l->kills);
	}
}

int
main(void)
{
	return crash_main(test_builds);
}
