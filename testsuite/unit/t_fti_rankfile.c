/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint files of a rank: where metadata are found.  Content of golden
 * files: fti_extract.bats. */
#include "fti/rankfile.h"

#include "ftitest.h"

static struct fti_rankfile_options
options(struct fti_metas *m)
{
	return (struct fti_rankfile_options){ .metas = m,
					      .layout = FTI_LAYOUTS,
					      .layer = FTI_DCP_LAST };
}

/* --- Where metadata are found --- */

#define META FTIBYTES_META
#define DATA FTIBYTES_DATA0
#define DATA1 FTIBYTES_DATA1

/* Open `path` below the root, and describe it on a line. */
static const char *
seen(const char *path, const char *meta)
{
	struct fti_metas *m = fti_metas_new();
	struct fti_rankfile_options o = options(m);
	struct error err = ERROR_INIT;
	struct fti_rankfile r;
	const struct fti_finding *second = NULL;
	const char *text = NULL;

	must(m != NULL);
	o.meta = meta;
	if (fti_rankfile_open(&r, path, &o, &err) < 0 ||
	    fti_rankfiles_check(&r, 1, true, NULL, &err) < 0)
		text = fmt("error %d: %s", err.kind, err.text);
	else
		second = r.checked.file->findings;
	if (second != NULL)
		second = second->next;
	if (text == NULL)
		text = fmt("%s: %s%s%s", fti_form_names[r.form],
			   fti_verdict_names[r.checked.verdict],
			   second != NULL ? ": " : "",
			   second != NULL ? second->text : "");
	fti_rankfile_close(&r);
	fti_metas_free(m);
	return text;
}

/* Metadata that describe the file, and some that do not. */
TEST(places)
{
	static const struct {
		const char *file, *meta;
		bool found;
	} cases[] = {
		{ "Local/node0/E/l3/Ckpt3-Rank0.fti",
		  "Meta/E/l3/sector0-group0.fti", true },
		{ "Local/E/l1/Ckpt3-Rank0.fti", "Meta/E/l1/sector12-group3.fti",
		  true },
		{ "node0/E/l1/Ckpt3-Rank0.fti", "m/E/l1/sector0-group0.fti",
		  true },
		{ "E/l1/Ckpt3-Rank0.fti", "m/E/l1/sector0-group0.fti", true },
		{ "copy/host1/scratch/u/Local/node0/E/l2/Ckpt3-Rank0.fti",
		  "copy/Meta/E/l2/sector0-group0.fti", true },
		{ "Global/E/l4_archive/Ckpt3-Rank0.fti",
		  "Meta/E/l4_archive/Ckpt_3/sector0-group0.fti", true },
		{ "Global/E/l4/Ckpt3-Rank0.fti",
		  "Meta/E/l4_archive/Ckpt_3/sector0-group0.fti", true },
		{ "Local/node0/E/lL4Dir/Ckpt3-Rank0.fti",
		  "Meta/E/l4/sector0-group0.fti", true },
		{ "anywhere/Ckpt3-Rank0.fti", "anywhere/sector0-group0.fti",
		  true },
		{ "Local/E/l1/Ckpt3-Rank0.fti", "Meta/F/l1/sector0-group0.fti",
		  false },
		{ "Local/E/l1/Ckpt4-Rank0.fti", "Meta/E/l1/sector0-group0.fti",
		  false },
		{ "Local/E/l1/Ckpt3-Rank0.fti", "Meta/E/l1/sector0-group0",
		  false },
		{ "x/E/other/Ckpt3-Rank0.fti", "Meta/E/l1/sector0-group0.fti",
		  false },
	};

	each (c, cases) {
		scratch_new();
		write_text(here("%s", c->file), DATA);
		write_text(here("%s", c->meta), META);
		is_str(seen(here("%s", c->file), NULL),
		       c->found ? "POSIX: intact"
				: "unknown: not an FTI-FF file: no metadata of "
				  "POSIX files describe it",
		       fmt("%s by %s", c->file, c->meta));
	}
}

/* Links, damaged metadata, metadata that the user gives. */
TEST(given)
{
	const char *file = NULL, *meta = NULL;

	scratch_new();
	file = here("in/L/E/l1/Ckpt3-Rank0.fti");
	meta = here("out/E/l1/sector0-group0.fti");
	write_text(file, DATA);
	write_text(meta, META);
	link_by_anyone("../out", here("in/Meta"));
	link_by_anyone(meta, here("in/L/E/l1/sector0-group0.fti"));
	ok(strstr(seen(file, NULL), "unknown: ") != NULL,
	   "links that lead out are not followed");
	is_str(seen(file, meta), "POSIX: intact", "metadata that are given");
	is_str(seen(file, here("out/E/l1")), "POSIX: intact",
	       "their directory");
	ok(strstr(seen(file, here("none")), "error 2: ") != NULL,
	   "missing ones");
	write_text(meta, "[0]\nckpt_file_name = Ckpt3-Rank5.fti\n"
			 "ckpt_file_size = 10\n");
	ok(strstr(seen(file, meta), "does not describe Ckpt3-Rank0.fti") !=
		   NULL,
	   "those of other files");
	write_text(meta, "[0]\nckpt_file_name = Ckpt3-Rank0.fti\n");
	ok(strstr(seen(file, meta), "ckpt_file_size") != NULL, "damaged ones");
	must(unlink(here("in/Meta")) == 0);
	must(unlink(here("in/L/E/l1/sector0-group0.fti")) == 0);
	write_text(here("in/Meta/E/l1/sector0-group0.fti"),
		   "[0]\nckpt_file_name = Ckpt3-Rank0.fti\n");
	ok(strstr(seen(file, NULL), "ckpt_file_size") != NULL,
	   "damaged ones that are found");
}

TEST(copies)
{
	struct fti_metas *m = fti_metas_new();
	struct fti_rankfile_options o = options(m);
	struct fti_rankfile r;
	struct fti_source s;
	char *path = NULL;

	scratch_new();
	path = here("L/node1/E/l2/Ckpt3-Pcof1.fti");
	write_text(here("Meta/E/l2/sector0-group0.fti"), META);
	write_text(path, DATA);
	is_str(seen(path, NULL), "POSIX: intact",
	       "a copy is that of the left neighbour's file");
	write_text(path, DATA1);
	is_str(seen(path, NULL), "POSIX: damaged", "another file is not");
	path = here("L/node0/E/l2/Ckpt3-Pcof0.fti");
	write_text(path, DATA1);
	is_str(seen(path, NULL), "POSIX: intact", "the ring is closed");
	/* Bytes that are computed stand for a file that is missing. */
	fti_source_memory(&s, DATA1, 10, "computed");
	o.computed = &s;
	path = here("gone/node1/E/l2/Ckpt3-Rank1.fti");
	ok(fti_rankfile_open(&r, path, &o, &why) == 0 &&
		   fti_rankfiles_check(&r, 1, true, NULL, &why) == 0 &&
		   r.form == FTI_FORM_POSIX && r.checked.data_good &&
		   r.id == 3 && r.content.nvars == 2,
	   "a file that is computed");
	fti_rankfile_close(&r);
	o.layer = 0;
	refuses(fti_rankfile_open(&r, path, &o, &why), ERROR_USAGE, NULL,
		"no layers");
	fti_rankfile_close(&r);
	fti_metas_free(m);
}
