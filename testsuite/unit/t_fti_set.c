/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of a checkpoint of which files are missing.  The verdicts on
 * files of the real FTI: fti_evidence.bats. */
#include "ftijob/set.h"
#include "ftitest.h"

#define CONFIG "[basic]\nnode_size = 1\ngroup_size = 2\nhead = 0\n"

/* Rank `rank` of checkpoint 3 at level 1, on node `rank`. */
static void
make_l1(int rank)
{
	write_text(here("Local/node%d/E/l1/Ckpt3-Rank%d.fti", rank, rank),
		   rank == 0 ? FTIBYTES_DATA0 : FTIBYTES_DATA1);
}

/* Its file and copy at level 2. */
static void
make_l2(int rank)
{
	write_text(here("Local/node%d/E/l2/Ckpt3-Rank%d.fti", rank, rank),
		   rank == 0 ? FTIBYTES_DATA0 : FTIBYTES_DATA1);
	write_text(here("Local/node%d/E/l2/Ckpt3-Pcof%d.fti", rank, rank),
		   rank == 0 ? FTIBYTES_DATA1 : FTIBYTES_DATA0);
}

/* A tree with the metadata of both levels. */
static void
make(void)
{
	scratch_new();
	write_text(here("config.fti"), CONFIG);
	write_text(here("Meta/E/l1/sector0-group0.fti"), FTIBYTES_META);
	write_text(here("Meta/E/l2/sector0-group0.fti"), FTIBYTES_META);
}

/* "state: reason" of the checkpoint of the level. */
static const char *
judged(enum fti_level level)
{
	const struct fti_geometry unknown = { .head = -1 };
	struct fti_sets s;
	struct error err = ERROR_INIT;
	const char *text = "none";

	if (fti_sets_open(&s, scratch_root, &unknown, NULL, &err) < 0)
		text = fmt("error: %s", err.text);
	for (size_t i = 0; i < s.count; i++) {
		struct fti_set *set = &s.list[i];

		if (set->level != level)
			continue;
		must(fti_set_examine(&s, set, true, NULL, &err) == 0);
		text = fmt("%s: %s", fti_set_states[set->state].name,
			   set->reason == NULL ? "" : set->reason);
	}
	fti_sets_free(&s);
	return text;
}

static void
says_of(enum fti_level level, const char *words, const char *name)
{
	const char *text = judged(level);

	if (!ok(strstr(text, words) != NULL, name))
		printf("# %s\n", text);
}

TEST(elsewhere)
{
	make();
	make_l1(0);
	says_of(FTI_L1, "lost: 1 of 2", "nothing else has the file");
	make_l2(0);
	says_of(FTI_L1, "unknown: 1 of 2", "the node has its copy at L2");
	says_of(FTI_L1, "the copy at L2 may give it", "says where");
	must(unlink(here("Local/node0/E/l2/Ckpt3-Pcof0.fti")) == 0);
	says_of(FTI_L1, "lost: 1 of 2", "L2 has no copy of it");
	write_text(here("Global/E/l4/Ckpt3-mpiio.fti"),
		   FTIBYTES_DATA0 FTIBYTES_DATA1);
	says_of(FTI_L1, "L4 has a file of the rank", "one file of all ranks");
	remove_tree(here("Global"));
	make_l2(1);
	says_of(FTI_L1,
		"Local/node1/E/l2/Ckpt3-Rank1.fti at L2 may give it: copy it "
		"to Local/node1/E/l1/Ckpt3-Rank1.fti",
		"of a node without a directory");
	/* A name with a rank that no job has says nothing. */
	make_l2(0);
	write_text(here("Local/node1/E/l2/Ckpt3-Rank16777216.fti"), "");
	must(unlink(here("Local/node1/E/l2/Ckpt3-Rank1.fti")) == 0 &&
	     unlink(here("Local/node1/E/l2/Ckpt3-Pcof1.fti")) == 0);
	says_of(FTI_L2, "rebuildable: 1 of 2", "beside a stray file");
	remove_tree(here("Local/node1"));
	make_l2(1);
	must(rename(here("Local/node0"), here("Local/a")) == 0 &&
	     rename(here("Local/node1"), here("Local/b")) == 0);
	write_text(here("Meta/E/Topology.fti"), "[topology]\n0 = a\n1 = b\n");
	says_of(FTI_L1, "copy it to Local/b/E/l1/Ckpt3-Rank1.fti",
		"directories with the names of hosts");
	remove_tree(scratch_root);
}

TEST(unread)
{
	const struct fti_geometry unknown = { .head = -1 };
	const struct fti_rank *r = NULL;
	const char *path = NULL;
	struct fti_sets s;

	make();
	make_l2(0);
	make_l2(1);
	must(fti_sets_open(&s, scratch_root, &unknown, NULL, NULL) == 0 &&
	     s.count == 1 &&
	     fti_set_examine(&s, &s.list[0], false, NULL, NULL) == 0);
	r = &s.list[0].ranks[0];
	must(r->parts[FTI_OWN].exact);
	path = here("Local/node0/E/l2/Ckpt3-Rank0.fti");
	must(unlink(path) == 0 && symlink("nowhere", path) == 0 &&
	     fti_set_examine(&s, &s.list[0], true, NULL, NULL) == 0);
	ok(r->parts[FTI_OWN].state == FTI_STATE_UNKNOWN &&
		   !r->parts[FTI_OWN].exact,
	   "nothing is computed from a file that can no longer be read");
	fti_sets_free(&s);
	remove_tree(scratch_root);
}
