/* SPDX-License-Identifier: BSD-3-Clause */
#include "cattest.h"
#include "meta/summary.h"

void
make_prefix(int n, bool indexed, bool summaries)
{
	auto_index *ix = index_new(NULL);

	scratch_new();
	must(mkdir(here(".scr"), 0777) == 0);
	for (int i = 1; i <= n; i++) {
		auto_kvtree *d = tree_of(
			fmt("ID>%d\nNAME>set.%d\nFLAG_CKPT>%d\nFLAG_OUTPUT>%d\n"
			    "CKPT>%d\nFILES>2\nSIZE>2048\nCOMPLETE>1\n",
			    i, i, i % 2, !(i % 2), i));
		auto_kvtree *s = summary_build(d, 1, NULL);
		const char *dir = here(".scr/scr.dataset.%d", i);

		must(index_add(ix, d, 1, "2026-11-20T23:00:34", NULL) == 0);
		if (summaries) {
			must(mkdir(dir, 0777) == 0);
			must(kvtree_write_file(s, AT_FDCWD,
					       fmt("%s/summary.scr", dir),
					       NULL) == 0);
		}
	}
	if (indexed)
		must(kvtree_write_file(index_tree(ix), AT_FDCWD,
				       here(".scr/index.scr"), NULL) == 0);
}

struct catalogue *
open_prefix(void)
{
	struct catalogue *c = catalogue_open(scratch_root, NULL);

	must(c != NULL);
	return c;
}

int
edit(struct catalogue *c, enum catalogue_edit_kind kind, const char *name,
     struct catalogue_edit *e, struct error *err)
{
	*e = (struct catalogue_edit){ .kind = kind, .word = name };
	return catalogue_edit(c, e, err);
}

struct scene xor4 = {
	.type = REDSET_XOR,
	.ranks = 4,
	.sets = 1,
	.failures = 1,
	.files = 2,
};

struct buf said;

void
hear(void *arg, const char *what)
{
	(void)arg;
	must(buf_add_str(&said, what) == 0 && buf_add_char(&said, '\n') == 0);
}

bool
heard(const char *words)
{
	if (said.len > 0 && strstr(said.data, words) != NULL)
		return true;
	printf("# heard \"%s\"\n", said.len > 0 ? said.data : "");
	return false;
}

void
be_deaf(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

struct catalogue_options options = { .work = { .log = hear } };

int
build(const char *prefix, struct build_result *r, struct error *err)
{
	struct catalogue *c = catalogue_open(prefix, err);
	int rc = -1;

	if (c == NULL)
		return -1;
	buf_clear(&said);
	rc = catalogue_build(c, SCENE_ID, &options, r, err);
	catalogue_close(c);
	return rc;
}

struct index *
entry(const char *prefix, struct index_entry *e)
{
	auto_catalogue *c = catalogue_open(prefix, NULL);
	struct index *ix = catalogue_read(c, NULL);

	*e = (struct index_entry){ .id = 0 };
	if (ix != NULL)
		(void)index_find_id(ix, SCENE_ID, e, NULL);
	return ix;
}

void
put_tree(const char *path, const char *text)
{
	auto_kvtree *t = tree_of(text);

	make_parents(path);
	must(kvtree_write_file(t, AT_FDCWD, path, NULL) == 0);
}

void
make_flushed(void)
{
	scratch_new();
	for (int i = 0; i < 3; i++)
		write_text(here("d/f%d", i), "x");
	put_tree(here(".scr/scr.dataset.7/summary.scr"),
		 "DSET>ID>7\nDSET>NAME>fl\nDSET>FLAG_CKPT>1\nDSET>CKPT>1\n"
		 "DSET>FILES>3\nDSET>SIZE>3\nCOMPLETE>1\nVERSION>6\n");
	put_tree(here(".scr/scr.dataset.7/rank2file"),
		 "RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>0\n");
	put_tree(here(".scr/scr.dataset.7/rank2file.0.0"),
		 "RANKS>2\nLEVEL>0\nRANK>1>FILE>d/f2\nRANK>0>FILE>d/f1\n"
		 "RANK>0>FILE>d/f0\n");
}

void
count_told(void *arg, const char *what)
{
	struct told *t = arg;

	t->count++;
	snprintf(t->last, sizeof(t->last), "%s", what);
}

int
verify(const char *prefix, struct verify_result *r, struct told *t)
{
	const struct verify_listener problems = { count_told, t };
	const struct index_entry entry = { .id = SCENE_ID, .complete = -1 };
	auto_catalogue *c = catalogue_open(prefix, &why);

	t->count = 0;
	t->last[0] = '\0';
	return c == NULL ? -1
			 : catalogue_verify(c, &entry, &options, &problems, r,
					    &why);
}
