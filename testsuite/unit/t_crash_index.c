/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_index --build on golden and generated datasets, commands that change the
 * index, --delete, and imports of archives, killed and failing at every file
 * operation and killed at random moments.  The index is the old or the new one;
 * a file with its final name has its bytes, another dataset is unchanged, and
 * the same command run again completes the rest.
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

/* Used without golden data: two checkpoints and an output. */
static const char made_index[] =
	"for i in 1 2 3; do %1$s/gen_dataset --prefix '%2$s' --id $i --size 2K "
	"$([ $i = 2 ] && echo --output) >/dev/null && "
	"\"$BIN\"/scr_index -q --prefix '%2$s' --build $i || exit 1; done; "
	"\"$BIN\"/scr_index -q --prefix '%2$s' --current ckpt.3";

static void
test_edits(void)
{
	static const struct {
		const char *verb, *value;
		int64_t deletes;
	} list[] = {
		{ "--add", "%s.3", 0 },	      { "--drop", "%s.3", 0 },
		{ "--drop-all", "", 0 },      { "--drop-after", "ckpt.1", 0 },
		{ "--current", "ckpt.1", 0 }, { "--uncurrent", "", 0 },
		{ "--delete", "%s.3", 3 },
	};
	static const char from[] = "scr3/index_multi/prefix_after_run";
	bool golden = have_golden(from);

	each (l, list) {
		char value[32], command[64];
		struct scene s = {
			.name = l->verb,
			.command = command,
			.deletes = l->deletes,
		};

		snprintf(value, sizeof(value), l->value,
			 golden ? "both" : "ckpt");
		snprintf(command, sizeof(command), "scr_index %s %s", l->verb,
			 value);
		if (!start_with(made_index, golden ? from : NULL))
			ok(false, s.name);
		else
			play(&s, 12, true, 0);
	}
}

/* Commands that make the exported dataset, and the prefix of the import. */
static const char exported[] =
	"%s/gen_dataset -q --prefix '%s' --ranks 4 --files 2 --size 0,5000 && "
	"\"$BIN\"/scr_index -q --build 1 --checksums";
static const char other[] =
	"%s/gen_dataset -q --prefix '%s' --id 2 --ranks 2 --size 3000 && "
	"\"$BIN\"/scr_index -q --build 2";

#define IMPORT "\"$BIN\"/scr_archive -q import --force archive && "

static const struct archive {
	const char *name;
	const char *how;    /* options of export */
	const char *packed; /* command before the export */
	const char *before; /* command before the import */
	bool all;	    /* all kinds of faults */
	bool retires;
	unsigned kills;
} archives[] = {
	{ "import, pax", "", "true", "true", true, false, 200 },
	{ "import, zstd, was packed", "--compress zstd",
	  "\"$BIN\"/scr_container -q pack --size 3000 --with-redundancy 1",
	  "true", false, false, 0 },
	{ "import, other bytes are there", "", "true",
	  IMPORT "printf other >\"$SCR_PREFIX\"/ckpt.1/rank_1.ckpt", false,
	  true, 0 },
	{ "import, some of it is there", "", "true",
	  IMPORT "rm \"$SCR_PREFIX\"/ckpt.1/rank_2*", false, false, 0 },
	{ "import, it is deleted but for its files", "", "true",
	  IMPORT "\"$BIN\"/scr_index -q --drop ckpt.1 && "
		 "rm -r \"$SCR_PREFIX\"/.scr/scr.dataset.1",
	  false, false, 0 },
};

static bool
start_import(const struct archive *a)
{
	char command[1000];

	snprintf(command, sizeof(command),
		 "%s && \"$BIN\"/scr_archive -q export %s -o archive 1",
		 a->packed, a->how);
	unlink("archive");
	return start_with(exported, NULL) && system_is_ok(command) &&
	       start_with(other, NULL) && system_is_ok(a->before);
}

static void
test_imports(void)
{
	each (t, archives) {
		const struct archive *a = t;
		struct scene s = {
			.name = a->name,
			.retires = a->retires,
			.command = "scr_archive import --force archive",
		};

		if (start_import(a))
			play(&s, 10, a->all, a->kills);
		else
			ok(false, s.name);
	}
}

static void
test_all(void)
{
	test_builds();
	test_edits();
	test_imports();
}

int
main(void)
{
	return crash_main(test_all);
}
