/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of moved prefixes, with unsafe paths, crafted names, and the largest
 * sets. */
#include "rescue/plan_impl.h"
#include "steps.h"

static struct scene moved = { SCENE(XOR, 4, 1, 1, 2),
			      .was = "/old/place/prefix" };

/* --- Inferred, given, or recorded --- */

/* Of many files, only some are compared. */
static uint64_t
small(unsigned rank, unsigned file)
{
	return 10 + rank + file;
}

/* 300 characters: too long a name for any file system. */

/* If the recorded prefix is wrong, the paths of the files decide. */

TEST(roots)
{
	auto_scene many = { SCENE(SINGLE, 2, 2, 0, 300), .size = small,
			    .was = "/p" };
	auto_scene s = { SCENE(XOR, 4, 1, 1, 2), .was = "/old/place",
			 .prefix = "/old/place" };

	scene_table(&moved, 0, "root all there");
	scene_table(&moved, 0, "root moves");
	scene_table(&moved, 0, "root several");
	scene_table(&moved, 0, "root none fits");
	scene_table(&many, 0, "root sample");
	scene_table(&s, 0, "root recorded");
	s.prefix = "/quite/elsewhere";
	scene_table(&s, 0, "root contradicted");
}

/* The prefix is reached through a symbolic link. */
TEST(linked)
{
	auto_scene s = { SCENE(XOR, 4, 1, 1, 2) };
	struct plan *p = NULL;
	char link[128];

	scene_make(&s);
	snprintf(link, sizeof(link), "%s/link", s.root);
	must(symlink("prefix", link) == 0);
	p = plan_at(link, SCENE_ID, NULL, &why);
	ok(p != NULL && !p->moved && plan_status(p) == STATUS_OK,
	   "a prefix reached through a link has not moved");
	plan_free(p);
	s.was = link;
	scene_make(&s);
	must(symlink("prefix", link) == 0);
	scene_do(&s, "data 0-3");
	p = plan_at(link, SCENE_ID, NULL, &why);
	ok(p != NULL && !p->moved && strcmp(p->recorded_root, link) == 0,
	   "nor one that was recorded so");
	plan_free(p);
	/* A relative path, from inside the prefix. */
	must(chdir(s.root) == 0);
	s.was = NULL;
	scene_make(&s);
	must(chdir(s.root) == 0);
	p = plan_at("prefix", SCENE_ID, NULL, &why);
	ok(p != NULL && !p->moved &&
		   strcmp(p->recorded_root, scene_prefix(&s)) == 0,
	   "nor one that is named from where one is");
	plan_free(p);
	must(chdir("/") == 0);
}

/* --- Paths that must not be followed --- */

TEST(unsafe_paths)
{
	static char long_path[4200], brim[4091], path[5000];
	static const struct {
		bool below; /* below the prefix */
		const char *path;
	} paths[] = {
		{ false, "/etc" },
		{ false, "etc" },
		{ false, "" },
		{ true, "/../../../../../etc" },
		{ true, "x" },
		{ true, "/.." },
		{ true, long_path },
		{ true, brim }, /* too long with the file's name added */
		{ false, long_path },
	};
	auto_scene s = { SCENE(SINGLE, 2, 2, 0, 2) };
	auto_plan *p = NULL;
	char prefix[128];

	memset(long_path, 'x', sizeof(long_path) - 1);
	for (size_t i = 0; i < sizeof(long_path) - 1; i += 200)
		long_path[i] = '/';
	memcpy(brim, long_path, sizeof(brim) - 1);
	scene_make(&s);
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&s));
	each (t, paths) {
		scene_make(&s);
		snprintf(path, sizeof(path), "%s%s", t->below ? prefix : "",
			 t->path);
		edit_keys(scene_map(&s, 1), "FILE>*>META>PATH", path);
		scene_step(&s, 0, t->path, fmt("from %s", prefix),
			   "refused unsafe: |filemap_1: ");
	}
	scene_table(&s, 0, "root unsafe");
	scene_do(&s, "new; set m1 FILE>*>META>PATH @");
	p = scene_plan(&s, 0, NULL);
	ok(p != NULL && strcmp(scene_find(p, 1, 0)->path, "rank_1_0.dat") == 0,
	   "files may lie in the prefix itself");
}

/* --- Memory --- */

TEST(no_memory)
{
	scene_make(&moved);
	scene_lose(&moved, 3);
	for (int given = 0; given < 2; given++)
		without_memory (m, 2, given ? "the root is given" : "found") {
			const struct plan_options o = {
				.moved_from = given ? moved.was : NULL,
			};
			auto_plan *p = scene_plan_with(&moved, &o, &m.err);

			m.rc = p != NULL ? 0 : -1;
			if (p != NULL &&
			    !(p->moved && plan_status(p) == STATUS_DAMAGED))
				m.rc = error_set(&m.err, ERROR_DAMAGED, "!");
		}
}

static struct scene scene = { SCENE(XOR, 4, 1, 1, 2) };

TEST(limits_crafted_names)
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

TEST(limits_no_memory)
{
	static struct scene s = { SCENE(RS, 8, 2, 2, 2), .crc = true };

	scene_do(&s, "new; lose 2; rm m3 f5.0; flip r4 40; flip f7.0 40");
	scene_plan_no_memory(&s, PLAN_HEADERS | PLAN_CHECKSUMS, STATUS_DAMAGED);
	scene_do(&s, "lose 0 6");
	scene_plan_no_memory(&s, 0, STATUS_LOST);
	scene_end(&s);
}

/* Which errors mean a damaged file, which an error of the system, and after
 * which nothing is known of the bytes. */
TEST(limits_blame)
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
TEST(limits_largest_sets)
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
	auto_scene s = { .type = REDSET_SINGLE, .files = 1, .bare = true };

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
}
