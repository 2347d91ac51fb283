/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crash_pack.c - scr_container pack, unpack and repack, and rebuilds inside
 * containers, killed and failing at every file operation and killed at random
 * moments: the dataset is whole in one of its forms, with every byte.
 */
#include "crashpack.h"

/* One rank on each of four nodes.  The first file is empty; all files together
 * fill a little more than six containers. */
static const char made[] =
	"%s/gen_dataset -q --prefix '%s' --ranks 4 --files 2 --size 0,5000 && "
	"\"$BIN\"/scr_index -q --build 1 --checksums";

#define SIZE "--size=3000"
#define CTR "\"$SCR_PREFIX\"/" CRASH_META SEGMAP_DIR "/"

static bool
shell(const char *command)
{
	return command == NULL || system_is_ok(command);
}

/* Load the dataset as files; free with tree_free(). */
static struct tree
make_plain(void)
{
	if (!start_with(made, NULL))
		bail_out("no dataset");
	return tree_load(prefix);
}

/* --- Forms --- */

struct form {
	const char *name;
	const char *before;	    /* shell command before the test, or NULL */
	const char *argv[ARGS_MAX]; /* the disturbed command */
	const char *again[ARGS_MAX]; /* second command; NULL: the same again */
	bool no_sums;		     /* remove the checksums of packed files */
	bool all;		     /* all kinds of faults */
	unsigned kills;		     /* at random moments */
};

#define PACK "\"$BIN\"/scr_container -q pack " SIZE " "
#define PACK_ALL PACK "--with-redundancy "

static const struct form forms[] = {
	{ .name = "pack", .argv = { "scr_container", "pack", SIZE, "1" } },
	{ .name = "pack --with-redundancy",
	  .argv = { "scr_container", "pack", SIZE, "--with-redundancy", "1" },
	  .all = true,
	  .kills = 200 },
	{ .name = "pack --keep",
	  .argv = { "scr_container", "pack", SIZE, "--keep", "1" } },
	{ .name = "pack, given up",
	  .argv = { "scr_container", "pack", SIZE, "--with-redundancy", "1" },
	  .again = { "scr_container", "unpack", "1" } },
	{ .name = "unpack",
	  .before = PACK "1",
	  .argv = { "scr_container", "unpack", "1" } },
	{ .name = "unpack, with redundancy",
	  .before = PACK_ALL "1",
	  .argv = { "scr_container", "unpack", "1" },
	  .all = true,
	  .kills = 200 },
	{ .name = "unpack, given up",
	  .before = PACK_ALL "1",
	  .argv = { "scr_container", "unpack", "1" },
	  .again = { "scr_container", "pack", SIZE, "--with-redundancy",
		     "1" } },
	{ .name = "repack, smaller",
	  .before = PACK "1",
	  .argv = { "scr_container", "repack", "--size=1700", "1" },
	  .all = true,
	  .kills = 200 },
	{ .name = "repack, larger",
	  .before = PACK_ALL "1",
	  .argv = { "scr_container", "repack", "--size=5K", "1" } },
	{ .name = "repack, other order",
	  .before = PACK "1",
	  .argv = { "scr_container", "repack", "--order=name", "1" } },
	{ .name = "repack, given up",
	  .before = PACK_ALL "1",
	  .argv = { "scr_container", "repack", "--size=1700", "1" },
	  .again = { "scr_container", "unpack", "1" } },
	{ .name = "repack, then to another size",
	  .before = PACK "1",
	  .argv = { "scr_container", "repack", "--size=1700", "1" },
	  .again = { "scr_container", "repack", "--size=2K", "1" } },
};

static void
test_forms(const struct tree *plain)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct pack_scene x = {
			.s.name = forms[i].name,
			.plain = plain,
		};

		memcpy(x.s.argv, forms[i].argv, sizeof(x.s.argv));
		memcpy(x.again, forms[i].again, sizeof(x.again));
		if (start_with(made, NULL) && shell(forms[i].before))
			form_play(&x, forms[i].all, forms[i].kills);
		else
			ok(false, x.s.name);
		form_fini(&x);
	}
}

/* With more ranks than one part of the metadata holds, there are too many
 * operations to try each. */
static void
test_many_ranks(void)
{
	static const char many[] =
		"%s/gen_dataset -q --prefix '%s' --ranks 9000 --nodes 4 "
		"--type SINGLE --size 100 && "
		"\"$BIN\"/scr_index -q --build 1 --checksums";
	static const struct form list[] = {
		{ .name = "pack, two parts",
		  .argv = { "scr_container", "pack", "--size=100K", "1" } },
		{ .name = "unpack, two parts",
		  .before = "\"$BIN\"/scr_container -q pack --size 100K 1",
		  .argv = { "scr_container", "unpack", "1" } },
		{ .name = "repack, two parts",
		  .before = "\"$BIN\"/scr_container -q pack --size 100K 1",
		  .argv = { "scr_container", "repack", "--size=30K", "1" } },
	};
	struct tree plain;

	if (!slow) {
		skip("9000 ranks", "SCRKIT_SLOW is not set");
		return;
	}
	if (!start_with(many, NULL))
		bail_out("no dataset");
	plain = tree_load(prefix);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct pack_scene x = { .s.name = list[i].name,
					.plain = &plain };

		memcpy(x.s.argv, list[i].argv, sizeof(x.s.argv));
		if (ok(start_with(many, NULL) && shell(list[i].before) &&
			       form_measure(&x),
		       x.s.name))
			form_kills(&x, 20);
		form_fini(&x);
	}
	tree_free(&plain);
}

/* --- Repairs --- */

static const struct form repairs[] = {
	{ .name = "rebuild, a container is missing",
	  .before = "rm " CTR "ctr.0.scr",
	  .argv = { "scr_rebuild", "1" },
	  .all = true,
	  .kills = 200 },
	{ .name = "rebuild, a container is cut short",
	  .before = "truncate -s 1000 " CTR "ctr.5.scr",
	  .argv = { "scr_rebuild", "1" } },
	{ .name = "rebuild without checksums",
	  .before = "rm " CTR "ctr.0.scr",
	  .argv = { "scr_rebuild", "1" },
	  .no_sums = true },
	{ .name = "rebuild, redundancy is missing",
	  .before = "rm " CTR "red.4.scr",
	  .argv = { "scr_rebuild", "1" } },
	{ .name = "rebuild, wrong bytes",
	  .before = "printf xyz | dd of=" CTR
		    "ctr.2.scr bs=1 seek=1000 conv=notrunc status=none",
	  .argv = { "scr_rebuild", "--checksums", "1" } },
	{ .name = "build, a container is missing",
	  .before =
		  "\"$BIN\"/scr_index -q --drop ckpt.1 && rm " CTR "ctr.0.scr",
	  .argv = { "scr_index", "--build", "1" } },
};

/* Remove the checksums that packing recorded: other writers of containers may
 * not record any. */
static bool
forget_sums(void)
{
	struct rank2file r;
	char dir[700];
	struct kvtree *k = NULL;
	bool good = false;
	int fd = -1;

	snprintf(dir, sizeof(dir), "%s/" CRASH_META, prefix);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || rank2file_load(fd, "rank2file", &r, NULL) < 0)
		return false;
	kvtree_foreach (k, kvtree_get2(r.top, "CTR", "FILE"))
		kvtree_remove(k, "CRC");
	for (size_t i = 0; i < r.nranks; i++)
		for (size_t n = 0; n < r.ranks[i].nfiles; n++) {
			r.ranks[i].files[n].has_crc = false;
			r.ranks[i].files[n].node = NULL;
		}
	r.generation = r.unused;
	good = rank2file_store(fd, "rank2file", &r, NULL) == 0;
	rank2file_free(&r);
	close(fd);
	return good;
}

static void
test_repairs(const struct tree *plain)
{
	for (size_t i = 0; i < sizeof(repairs) / sizeof(repairs[0]); i++) {
		const struct form *r = &repairs[i];
		struct tree whole = { .count = 0 };
		struct pack_scene x = {
			.s.name = r->name,
			.plain = plain,
			.whole = &whole,
		};

		memcpy(x.s.argv, r->argv, sizeof(x.s.argv));
		if (start_with(made, NULL) && shell(PACK_ALL "1") &&
		    (!r->no_sums || forget_sums())) {
			whole = tree_load(prefix);
			if (shell(r->before))
				form_play(&x, r->all, r->kills);
			else
				ok(false, x.s.name);
		}
		form_fini(&x);
		tree_free(&whole);
	}
}

/* An interrupted rebuild has extended a container that has no checksums.  No
 * command may take the hole for data, or remove the mark of the rebuild. */
static void
test_holes(const struct tree *plain)
{
	static const char *const rebuild[] = { "scr_rebuild", "1", NULL };
	static const char *const verbs[][5] = {
		{ "scr_container", "unpack", "1" },
		{ "scr_container", "repack", "--size=1700", "1" },
	};
	struct fault f = { .kill_after = -1 };
	struct pack_scene x = { .s.name = "a hole", .plain = plain };
	struct tree was = { .count = 0 }, now;
	const struct tree_entry *hole = NULL;

	if (!start_with(made, NULL) || !shell(PACK_ALL "1") || !forget_sums() ||
	    !shell("rm " CTR "ctr.0.scr"))
		bail_out("no dataset");
	/* Kill one operation later each time, until the hole exists. */
	while (hole == NULL || hole->data.len == 0) {
		f.kill_at++;
		tree_free(&was);
		if (run_command(rebuild, &f) != -SIGKILL)
			bail_out("it was never there");
		was = tree_load(prefix);
		hole = tree_find(&was, CRASH_META SEGMAP_DIR "/ctr.0.scr");
	}
	for (size_t i = 0; i < 2; i++) {
		ok(run_command(verbs[i], NULL) == 3 && has_message(),
		   verbs[i][1]);
		now = tree_load(prefix);
		ok(odd_one(&now, &was, false) == NULL &&
			   odd_one(&was, &now, false) == NULL,
		   "nothing is changed");
		tree_free(&now);
	}
	ok(run_command(rebuild, NULL) == 0 && is_whole(&x),
	   "repaired after all");
	tree_free(&was);
}

static void
test_all(void)
{
	struct tree plain;

	setenv("SCR_PREFIX", prefix, 1);
	plain = make_plain();
	test_forms(&plain);
	test_many_ranks();
	test_repairs(&plain);
	test_holes(&plain);
	tree_free(&plain);
}

int
main(void)
{
	return crash_main(test_all);
}
