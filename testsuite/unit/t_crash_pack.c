/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crash_pack.c - scr_container pack, unpack and repack, and rebuilds inside
 * containers, killed and failing at every file operation and killed at random
 * moments: the dataset is whole in one of its forms, with every byte.
 */
#include "crashpack.h"

#define PACK "scr_container pack --size=3000 "
#define SAME "scr_container pack --size=3000 --with-redundancy 1"

/* The datasets that the tests start with. */
enum base { FILES, PACKED, ALL_PACKED, NO_SUMS, BASES };
static struct tree bases[BASES];

static void
start_from(enum base base)
{
	auto_tree now = tree_load(prefix);

	tree_restore(prefix, &now, &bases[base]);
}

static void
free_bases(void)
{
	for (size_t i = 0; i < BASES; i++)
		tree_free(&bases[i]);
}

static bool
shell(const char *command)
{
	return command == NULL ||
	       system_is_ok(
		       fmt("PATH=$BIN:$PATH; cd \"$SCR_PREFIX\"/" CRASH_META
			   " && %s",
			   command));
}

/* Remove the checksums that packing recorded: other writers of containers may
 * not record any. */
static bool
forget_sums(void)
{
	struct rank2file r;
	struct kvtree *k = NULL;
	bool good = false;
	auto_fd int fd =
		open(fmt("%s/" CRASH_META, prefix), O_RDONLY | O_DIRECTORY);

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
	return good;
}

/* Generate the dataset, and pack it. */
static void
make_bases(const char *how, const char *size)
{
	bool good =
		start_with(fmt("%%s/gen_dataset -q --prefix '%%s' %s && "
			       "\"$BIN\"/scr_index -q --build 1 --checksums",
			       how),
			   NULL);

	bases[FILES] = tree_load(prefix);
	good = good && shell(fmt("scr_container -q pack --size=%s 1", size));
	bases[PACKED] = tree_load(prefix);
	start_from(FILES);
	good = good && shell(fmt("scr_container -q pack --size=%s "
				 "--with-redundancy 1",
				 size));
	bases[ALL_PACKED] = tree_load(prefix);
	must(good && forget_sums());
	bases[NO_SUMS] = tree_load(prefix);
}

/* --- Scenes --- */

static const struct form {
	const char *name;
	enum base base;
	const char *damage;  /* shell command, to be repaired; or NULL */
	const char *command; /* the disturbed one */
	const char *again;   /* second command; NULL: the same again */
	bool all;	     /* all kinds of faults, and random kills */
} forms[] = {
	{ "pack", FILES, NULL, PACK "1", NULL, false },
	{ "pack --with-redundancy", FILES, NULL, SAME, NULL, true },
	{ "pack --keep", FILES, NULL, PACK "--keep 1", NULL, false },
	{ "pack, then to another size", FILES, NULL, PACK "1",
	  "scr_container pack --size=1M 1", false },
	{ "pack, given up", FILES, NULL, SAME, "scr_container unpack 1",
	  false },
	{ "unpack", PACKED, NULL, "scr_container unpack 1", NULL, false },
	{ "unpack, with redundancy", ALL_PACKED, NULL, "scr_container unpack 1",
	  NULL, true },
	{ "unpack, given up", ALL_PACKED, NULL, "scr_container unpack 1", SAME,
	  false },
	{ "repack, smaller", PACKED, NULL, "scr_container repack --size=1700 1",
	  NULL, true },
	{ "repack, larger", ALL_PACKED, NULL,
	  "scr_container repack --size=5K 1", NULL, false },
	{ "repack, other order", PACKED, NULL,
	  "scr_container repack --order=name 1", NULL, false },
	{ "repack, given up", ALL_PACKED, NULL,
	  "scr_container repack --size=1700 1", "scr_container unpack 1",
	  false },
	{ "repack, then to another size", PACKED, NULL,
	  "scr_container repack --size=1700 1",
	  "scr_container repack --size=2K 1", false },
	{ "rebuild, a container is missing", ALL_PACKED,
	  "rm " SEGMAP_DIR "/ctr.0.scr", "scr_rebuild 1", NULL, true },
	{ "rebuild, a container is cut short", ALL_PACKED,
	  "truncate -s 1000 " SEGMAP_DIR "/ctr.5.scr", "scr_rebuild 1", NULL,
	  false },
	{ "rebuild without checksums", NO_SUMS, "rm " SEGMAP_DIR "/ctr.0.scr",
	  "scr_rebuild 1", NULL, false },
	{ "rebuild, redundancy is missing", ALL_PACKED,
	  "rm " SEGMAP_DIR "/red.4.scr", "scr_rebuild 1", NULL, false },
	{ "rebuild, wrong bytes", ALL_PACKED,
	  "printf xyz | dd of=" SEGMAP_DIR
	  "/ctr.2.scr bs=1 seek=1000 conv=notrunc status=none",
	  "scr_rebuild --checksums 1", NULL, false },
	{ "build, a container is missing", ALL_PACKED,
	  "scr_index -q --drop ckpt.1 && rm " SEGMAP_DIR "/ctr.0.scr",
	  "scr_index --build 1", NULL, false },
};

/* With more ranks than one part of the metadata holds, there are too many
 * operations to try each. */
static const struct form two_parts[] = {
	{ "pack, two parts", FILES, NULL, "scr_container pack --size=100K 1",
	  NULL, false },
	{ "unpack, two parts", PACKED, NULL, "scr_container unpack 1", NULL,
	  false },
	{ "repack, two parts", PACKED, NULL,
	  "scr_container repack --size=30K 1", NULL, false },
};

static struct pack_scene
start_form(const struct form *f)
{
	start_from(f->base);
	must(shell(f->damage));
	return (struct pack_scene){
		.s = { .name = f->name,
		       .command = f->command,
		       .again = f->again,
		       .rules = &pack_rules },
		.plain = &bases[FILES],
		.whole = f->damage != NULL ? &bases[f->base] : NULL,
	};
}

static void
test_two_parts(void)
{
	if (!slow) {
		skip("9000 ranks", "SCRKIT_SLOW is not set");
		return;
	}
	make_bases("--ranks 9000 --nodes 4 --type SINGLE --size 100", "100K");
	for (size_t i = 0; i < 3; i++) {
		struct pack_scene x = start_form(&two_parts[i]);

		if (ok(measure(&x.s, false), x.s.name))
			random_kills(&x.s, 20);
		scene_fini(&x.s);
	}
	free_bases();
}

/* An interrupted rebuild has extended a container that has no checksums.  No
 * command may take the hole for data, or remove the mark of the rebuild. */
static void
test_holes(void)
{
	static const char *const refused[] = {
		"scr_container unpack 1", "scr_container repack --size=1700 1"
	};
	static const struct form form = { .name = "a hole",
					  .base = NO_SUMS,
					  .damage = "rm " SEGMAP_DIR
						    "/ctr.0.scr" };
	struct pack_scene x = start_form(&form);
	const struct tree_entry *hole = NULL;
	struct fault f = { 0 };
	struct tree was = { .count = 0 }, now;

	/* Kill one operation later each time, until the hole exists. */
	while (hole == NULL || hole->data.len == 0) {
		f.kill_at++;
		tree_free(&was);
		must(run_command("scr_rebuild 1", &f) == -SIGKILL);
		was = tree_load(prefix);
		hole = tree_find(&was, CRASH_META SEGMAP_DIR "/ctr.0.scr");
	}
	for (size_t i = 0; i < 2; i++) {
		ok(run_command(refused[i], NULL) == 3 && has_message(),
		   refused[i]);
		now = tree_load(prefix);
		ok(same_state(&x.s, &now, &was, false, false),
		   "nothing is changed");
		tree_free(&now);
	}
	ok(run_command("scr_rebuild 1", NULL) == 0 && pack_rules.whole(&x.s),
	   "repaired after all");
	tree_free(&was);
}

static void
test_all(void)
{
	test_two_parts();
	/* One rank on each of four nodes.  The first file is empty; all files
	 * together fill a little more than six containers. */
	make_bases("--ranks 4 --files 2 --size 0,5000", "3000");
	each (f, forms) {
		struct pack_scene x = start_form(f);

		play(&x.s, SANITIZED ? 3 : 6, f->all, f->all ? 200 : 0);
	}
	test_holes();
	free_bases();
}

int
main(void)
{
	return crash_main(test_all);
}
