/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are missing or damaged, from copies; those of lost nodes of golden
 * checkpoints, level 2 and 3, computed from the others, byte for byte. */
#include <glob.h>
#include <inttypes.h>

#include "ftibytes.h"
#include "ftijob/recover.h"
#include "ftijob/tree.h"
#include "ftitest.h"
#include "scratch.h"
#include "str.h"

/* --- Copies --- */

/* A level 2 of two nodes; `above` is put before node<k>. */
static void
make(const char *above)
{
	scratch_new();
	write_text(here("config.fti"),
		   "[basic]\nnode_size = 1\ngroup_size = 2\nhead = 0\n");
	write_text(here("Meta/E/l2/sector0-group0.fti"), FTIBYTES_META);
	write_text(here("%snode0/E/l2/Ckpt3-Rank0.fti", above), FTIBYTES_DATA0);
	write_text(here("%snode0/E/l2/Ckpt3-Pcof0.fti", above), FTIBYTES_DATA1);
	write_text(here("%snode1/E/l2/Ckpt3-Rank1.fti", above), FTIBYTES_DATA1);
	write_text(here("%snode1/E/l2/Ckpt3-Pcof1.fti", above), FTIBYTES_DATA0);
}

/* The bytes of the file, or why there are none. */
static const char *
obtained(const char *path, const char *from, bool data)
{
	struct fti_obtain o;
	struct error err = ERROR_INIT;
	const char *text = NULL;
	char got[16] = "";

	if (fti_obtain_open(&o, path, from, NULL, &err) < 0 ||
	    fti_obtain_source(&o, data, NULL, &err) < 0)
		text = fmt("error %d: %s", err.kind, err.text);
	else if (o.source->size < sizeof(got) &&
		 fti_source_read(o.source, got, (size_t)o.source->size, 0,
				 NULL) == 0)
		text = fmt("%s", got);
	fti_obtain_close(&o);
	return text;
}

static void
test_copies(const char *above)
{
	const char *node = NULL, *path = NULL;

	make(above);
	node = here("%snode0", above);
	path = fmt("%s/E/l2/Ckpt3-Rank0.fti", node);
	is_str(obtained(path, NULL, true), FTIBYTES_DATA0, "a damaged file");
	must(unlink(path) == 0);
	is_str(obtained(path, NULL, false), FTIBYTES_DATA0, "a missing file");
	remove_tree(node);
	is_str(obtained(path, NULL, true), FTIBYTES_DATA0, "a missing node");
	is_str(obtained(path, scratch_root, true), FTIBYTES_DATA0,
	       "below a directory");
}

TEST(none)
{
	const char *path = NULL;

	make("Local/");
	path = here("Local/node1/E/l2/Ckpt3-Rank1.fti");
	remove_tree(here("Local/node0"));
	ok(strstr(obtained(path, NULL, true), "error 8: ") != NULL,
	   "the copy is lost, too");
	ok(strstr(obtained(here("Local/node1/E/l2/Ckpt4-Rank1.fti"), NULL,
			   true),
		  "no other files of this checkpoint") != NULL,
	   "another checkpoint");
	ok(strstr(obtained(here("Local/node1/E/l1/Ckpt3-Rank1.fti"), NULL,
			   true),
		  "has no copy or parity at this level") != NULL,
	   "a level without copies");
	ok(strstr(obtained("Ckpt3-Rank1.fti", NULL, true),
		  "not in a directory <execution>/<level>") != NULL,
	   "no directories of FTI");
	ok(strstr(obtained(path, here("none"), true), "error ") != NULL,
	   "a directory that is missing");
}

TEST(obtain)
{
	test_copies("Local/");
	test_copies("");
	make("Local/");
	without_memory (m, 2, "each allocation fails") {
		struct fti_obtain o;

		m.rc = fti_obtain_open(
			&o, (here("Local/node0/E/l2/Ckpt3-Rank0.fti")), NULL,
			NULL, &m.err);
		if (m.rc == 0)
			m.rc = fti_obtain_source(&o, true, NULL, &m.err);
		fti_obtain_close(&o);
	}
	remove_tree(scratch_root);
}

/* --- Golden checkpoints --- */

#define NODES 4

/* Let the files of some nodes be lost, or all of parity. */
static void
lose(struct fti_set *set, unsigned nodes, struct fti_part_file *saved)
{
	for (size_t i = 0; i < set->nranks; i++) {
		struct fti_rank *r = &set->ranks[i];

		for (int p = 0; p < FTI_PARTS; p++) {
			const struct fti_rank *at =
				p == FTI_COPY ? fti_set_neighbour(set, r, false)
					      : r;

			saved[i * FTI_PARTS + (size_t)p] = r->parts[p];
			if (nodes >> at->node & 1)
				r->parts[p] = (struct fti_part_file){
					.state = FTI_STATE_MISSING
				};
		}
	}
}

static bool
is_file(const struct fti_source *s, const struct fti_tree *t, const char *path,
	size_t part)
{
	auto_buf want = BUF_INIT;
	auto_mem unsigned char *got = NULL;
	bool same = false;

	read_whole(fmt("%s/%s", t->root, path), &want);
	/* The record behind the parity is not computed. */
	same = part == FTI_PARITY ? s->size <= want.len : s->size == want.len;
	got = mem_alloc((size_t)s->size + 1, 1);
	must(got != NULL);
	return same && fti_source_read(s, got, (size_t)s->size, 0, NULL) == 0 &&
	       memcmp(got, want.data, (size_t)s->size) == 0;
}

/* Returns the number of files that could be had. */
static unsigned
compare_all(struct fti_sets *s, struct fti_set *set,
	    const struct fti_part_file *saved, unsigned *wrong)
{
	unsigned found = 0;

	for (size_t i = 0; i < set->nranks; i++) {
		struct fti_recover *r =
			fti_recover_new(s, set, &set->ranks[i], NULL);

		must(r != NULL);
		for (size_t p = 0; p < FTI_PARTS; p++) {
			const struct fti_part_file *f =
				&saved[i * FTI_PARTS + p];
			struct error err = ERROR_INIT;
			const struct fti_source *from = NULL;

			if (f->entry == NULL)
				continue;
			from = fti_recover_source(r, &set->ranks[i],
						  (enum fti_part)p, &err);
			found += from != NULL;
			if (from == NULL)
				*wrong += err.kind != ERROR_LOST;
			else
				*wrong += !is_file(from, &s->tree,
						   f->entry->path, p);
		}
		fti_recover_free(r);
	}
	return found;
}

/* Can the files of these nodes be had? */
static bool
is_solvable(enum fti_level level, unsigned nodes)
{
	const unsigned next = (nodes << 1 | nodes >> (NODES - 1)) & 15;
	const unsigned count = (nodes & 1) + (nodes >> 1 & 1) +
			       (nodes >> 2 & 1) + (nodes >> 3 & 1);

	return level == FTI_L2 ? (nodes & next) == 0 : count <= 2;
}

static void
test_case(const char *path)
{
	const struct fti_geometry given = { .head = -1 };
	auto_mem struct fti_part_file *saved = NULL;
	unsigned wrong = 0, lost = 0, want = 0;
	struct fti_sets s;
	struct fti_set *set = NULL;

	must(fti_sets_open(&s, path, &given, NULL, NULL) == 0 && s.count == 1);
	set = &s.list[0];
	must(fti_set_examine(&s, set, true, NULL, NULL) == 0);
	saved = mem_calloc(set->nranks * FTI_PARTS, sizeof(*saved));
	must(saved != NULL);
	for (size_t i = 0; i < set->nranks * FTI_PARTS; i++)
		want += set->ranks[i / FTI_PARTS].parts[i % FTI_PARTS].entry !=
			NULL;
	for (unsigned nodes = 0; nodes < 1u << NODES; nodes++) {
		lose(set, nodes, saved);
		if ((compare_all(&s, set, saved, &wrong) == want) !=
		    is_solvable(set->level, nodes))
			lost++;
		for (size_t i = 0; i < set->nranks * FTI_PARTS; i++)
			set->ranks[i / FTI_PARTS].parts[i % FTI_PARTS] =
				saved[i];
	}
	is_int(wrong, 0,
	       fmt("%s: all files have the bytes that FTI wrote", path));
	is_int(lost, 0, fmt("%s: all patterns of lost nodes", path));
	fti_sets_free(&s);
}

TEST(golden)
{
	glob_t configs;

	if (!ftitest_enter("golden files"))
		return;
	must(glob("*/L[23]/config.fti", 0, NULL, &configs) == 0);
	for (size_t i = 0; i < configs.gl_pathc; i++)
		if (!str_starts(configs.gl_pathv[i], "loss")) {
			*strrchr(configs.gl_pathv[i], '/') = '\0';
			test_case(configs.gl_pathv[i]);
		}
	globfree(&configs);
}
