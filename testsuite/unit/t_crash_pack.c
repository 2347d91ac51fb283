/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_container pack, unpack and repack, and rebuilds inside containers, killed
 * and failing at every file operation and killed at random moments: the dataset
 * is whole in one of its forms, with every byte.  The rules of crashsweep.h,
 * but names may differ in the number of the generation, and:
 *
 *   - The index is readable, and everything outside the dataset is unchanged.
 *   - A file that has the name of one of the dataset's files is that file.
 *   - `scr_container verify` and `scr_rebuild --deep --dry-run` find nothing,
 *     and every file is extracted with its bytes.  For a damaged dataset: if
 *     verify calls it whole, it is; bytes that were right are still right.
 *   - Exit status 0 means that everything was done.  Any other status comes
 *     with a message.
 *   - The same command run again succeeds, with the result of an undisturbed
 *     run.
 */
#include "container/hidden.h"
#include "container/segmap.h"
#include "crashsweep.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"

#define CRASH_META ".scr/scr.dataset.1/"
#define CRASH_USER "ckpt.1/"

struct pack_scene {
	struct scene s;		  /* its rules are pack_rules */
	const struct tree *plain; /* the dataset as files */
	const struct tree *whole; /* after a repair; else NULL */
};

/* --- Comparing without the generation --- */

static bool
is_part_name(const char *base)
{
	return dataset_dir_packed(base) >= 0 ||
	       str_starts(base, "rank2file.0.");
}

/* Encode `t` in place of the image in `raw`.  A NULL tree leaves it as it
 * is. */
static void
encode_again(struct kvtree *t, struct buf *raw)
{
	if (t == NULL)
		return;
	buf_clear(raw);
	must(kvtree_encode(t, raw, NULL) == 0);
	kvtree_free(t);
}

/* The top file of rank2file names all parts.  Remove their numbers. */
static void
plain_top(struct buf *raw)
{
	static const char *const named[] = { "HIDDEN", "COPY" };
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *ctr = kvtree_get(t, "CTR"), *k = NULL;

	kvtree_foreach (k, kvtree_get(t, "RANK"))
		must(kvtree_set(k, "FILE", "N", NULL) == 0);
	for (int i = 0; i < 2; i++) {
		k = kvtree_get(ctr, named[i]);
		must(k == NULL ||
		     kvtree_set_u64(ctr, named[i], kvtree_count(k), NULL) == 0);
	}
	encode_again(t, raw);
}

/* Remove all times that the kernel sets. */
static void
plain_times(struct kvtree *t)
{
	static const char *const times[] = { "ATIME_SECS", "ATIME_NSECS",
					     "CTIME_SECS", "CTIME_NSECS" };
	struct kvtree *k = NULL;

	for (int i = 0; i < 4; i++)
		kvtree_remove(t, times[i]);
	kvtree_foreach (k, t)
		plain_times(k);
}

static void
plain_attrs(struct buf *raw)
{
	static const char *const lists[] = { "META", "RED" };
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, NULL);
	struct kvtree *k = NULL;

	plain_times(kvtree_get(t, "FILE"));
	/* The scene's directories are as old as the run. */
	plain_times(kvtree_get(t, "DIR"));
	kvtree_foreach (k, kvtree_get(t, "DIR")) {
		kvtree_remove(k, "MTIME_SECS");
		kvtree_remove(k, "MTIME_NSECS");
	}
	for (int i = 0; i < 2; i++)
		kvtree_foreach (k, kvtree_get(t, lists[i]))
			plain_times(kvtree_get(k, "ATTR"));
	encode_again(t, raw);
}

static void
plain_entry(struct tree_entry *e)
{
	const char *base = path_base(e->path);
	bool packed = false;
	unsigned long number = 0;

	if (str_starts(base, RANK2FILE_COPY))
		base += strlen(RANK2FILE_COPY);
	packed = dataset_dir_packed(base) >= 0;
	if (str_eq(base, "rank2file"))
		plain_top(&e->data);
	if (packed)
		plain_attrs(&e->data);
	if (!is_part_name(base))
		return;
	/* Keep the number of the part, drop that of the generation. */
	number = strtoul(base + strlen(packed ? "packed." : "rank2file.0."),
			 NULL, 10);
	base = fmt("%.*s%s.%lu.N", (int)(base - e->path), e->path,
		   packed ? "packed" : "rank2file.0",
		   number / RANK2FILE_PART_RANKS);
	mem_free(e->path);
	e->path = mem_strdup(base);
	must(e->path != NULL);
}

/* The tree below the prefix without all that may differ between runs. */
static struct tree
form_load(void)
{
	struct tree t = tree_load(prefix);

	for (size_t i = 0; i < t.count; i++)
		plain_entry(&t.list[i]);
	if (t.count > 0)
		qsort(t.list, t.count, sizeof(*t.list), tree_compare);
	return t;
}

/* The user's files and the packed metadata files keep their times. */
static bool
keeps_times(const char *path)
{
	const char *base = path_base(path);

	return !is_metadata(path) || str_starts(base, "filemap_") ||
	       str_starts(base, "reddesc");
}

/* --- Is the dataset whole? --- */

static int
run_verify(void)
{
	return run_command("scr_container verify 1", NULL);
}

/* Does every extracted file have the bytes recorded in x->plain? */
static bool
bytes_right(struct pack_scene *x)
{
	bool good = true;
	struct tree t;

	remove_tree("out");
	if (run_command("scr_container extract -C out 1", NULL) != 0) {
		tell(&x->s, "cannot be extracted", "");
		return false;
	}
	t = tree_load("out");
	for (size_t i = 0; i < x->plain->count; i++) {
		const struct tree_entry *p = &x->plain->list[i], *e = NULL;

		if (!str_starts(p->path, CRASH_USER) || S_ISDIR(p->mode))
			continue;
		e = tree_find(&t, p->path);
		if (e != NULL && entry_same_data(e, p))
			continue;
		tell(&x->s, "other bytes", p->path);
		good = false;
	}
	tree_free(&t);
	return good;
}

/* The top file of rank2file lists the containers and the packed metadata, and
 * its parts map their contents.  Do all come from the same change of form?
 * `clean`: without a part that must be read from its copy. */
static bool
map_agrees(struct pack_scene *x, bool clean)
{
	struct error err = ERROR_INIT;
	struct rank2file r;
	struct segmap m;
	struct hidden h;
	auto_fd int fd =
		open(fmt("%s/" CRASH_META, prefix), O_RDONLY | O_DIRECTORY);
	bool good = true;

	if (fd < 0 || rank2file_load(fd, "rank2file", &r, &err) < 0 ||
	    segmap_read(&m, &r, &err) < 0 ||
	    hidden_load(&h, fd, &r, &m, &err) < 0) {
		tell(&x->s, "cannot be read", err.text);
		return false;
	}
	good = !clean || (r.flaw == NULL && h.flaw == NULL);
	for (size_t i = 0; i < m.ncontainers; i++)
		good = good && m.containers[i].has_size &&
		       m.containers[i].used > 0;
	if (!good)
		tell(&x->s, "parts of rank2file are of two switches", "");
	hidden_free(&h);
	segmap_free(&m);
	rank2file_free(&r);
	return good;
}

/* The struct scene is the first member of struct pack_scene. */
static bool
is_whole(struct scene *s)
{
	struct pack_scene *x = (struct pack_scene *)s;

	if (run_verify() != 0) {
		tell(s, "verify finds flaws", "");
		return false;
	}
	if (run_command("scr_rebuild --deep -n 1", NULL) != 0) {
		tell(s, "data and redundancy do not agree", "");
		return false;
	}
	return bytes_right(x) && map_agrees(x, false);
}

/* A dataset that is to be repaired need not be whole. */
static bool
is_right(struct scene *s, bool known)
{
	struct pack_scene *x = (struct pack_scene *)s;

	if (known)
		return map_agrees(x, true);
	if (x->whole == NULL)
		return is_whole(s);
	switch (run_verify()) {
	case 0:
		return bytes_right(x);
	case 3:
		return true;
	default:
		tell(s, "verify says neither whole nor repairable", "");
		return false;
	}
}

/* --- States allowed at any moment --- */

/* Are all bytes still right that were right before? */
static bool
right_bytes_stay(const struct tree_entry *now, const struct tree_entry *was,
		 const struct tree_entry *right)
{
	for (size_t i = 0; i < was->data.len && i < right->data.len; i++)
		if (was->data.data[i] == right->data.data[i] &&
		    (i >= now->data.len ||
		     now->data.data[i] != right->data.data[i]))
			return false;
	return true;
}

/* Is this metadata that a change of form rewrites? */
static bool
is_of_packing(const char *path)
{
	const char *rest = NULL;

	if (!str_starts(path, CRASH_META))
		return false;
	rest = path + strlen(CRASH_META);
	if (str_starts(rest, RANK2FILE_COPY))
		rest += strlen(RANK2FILE_COPY);
	return is_part_name(rest) || str_eq(rest, "rank2file") ||
	       str_eq(rest, SEGMAP_DIR) ||
	       (str_starts(rest, SEGMAP_DIR "/") &&
		segmap_is_container(path_base(rest)));
}

static bool
may_be(const struct scene *s, const struct tree_entry *now)
{
	const struct pack_scene *x = (const struct pack_scene *)s;
	const struct tree_entry *b = tree_find(&s->before, now->path);
	const struct tree_entry *p = tree_find(x->plain, now->path);
	const struct tree_entry *w =
		x->whole ? tree_find(x->whole, now->path) : NULL;

	if (w != NULL && b != NULL)
		return right_bytes_stay(now, b, w);
	if (is_of_packing(now->path))
		return true; /* verify and --deep judge its contents */
	if (p != NULL)
		return same_item(s, now, p);
	return x->whole != NULL && str_eq(now->path, CRASH_META "rebuild.scr");
}

static const struct rules pack_rules = {
	.load = form_load,
	.keeps_time = keeps_times,
	.may_be = may_be,
	.may_go = is_of_packing,
	.whole = is_whole,
	.right = is_right,
};

/* --- Tests --- */

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
