/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crash_import.c - archives imported beside another dataset, killed and
 * failing at every file operation and killed at random moments.  A file with
 * its final name has its bytes, the other dataset is unchanged, and the same
 * command run again imports the rest.
 */
#include "crashsweep.h"

/* Commands that make the exported dataset, and the prefix of the import. */
static const char made[] =
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
	return start_with(made, NULL) && system_is_ok(command) &&
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

int
main(void)
{
	return crash_main(test_imports);
}
