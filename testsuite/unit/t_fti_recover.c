/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are missing or damaged, from copies.  Those of each pattern of
 * lost nodes of golden checkpoints, byte for byte: fti_rebuild.bats. */
#include "ftijob/recover.h"
#include "ftitest.h"

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
		  "error 2: ") != NULL,
	   "a level without copies: absent, not lost");
	ok(strstr(obtained("Ckpt3-Rank1.fti", NULL, true),
		  "not in a directory <execution>/<level>") != NULL,
	   "no directories of FTI");
	ok(strstr(obtained(path, here("none"), true), "error ") != NULL,
	   "a directory that is missing");
}

TEST(unread)
{
	const char *copy = NULL;

	make("Local/");
	copy = here("Local/node0/E/l2/Ckpt3-Pcof0.fti");
	must(unlink(copy) == 0 && symlink("nowhere", copy) == 0);
	ok(strstr(obtained(here("Local/node1/E/l2/Ckpt3-Rank1.fti"), NULL,
			   true),
		  "Pcof0.fti is unknown: ") != NULL,
	   "a copy that cannot be read is not lost");
}

TEST(obtain)
{
	test_copies("Local/");
	test_copies("");
	make("Local/");
	remove_tree(scratch_root);
}
