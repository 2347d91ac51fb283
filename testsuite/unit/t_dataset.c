/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/copied.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"

#include "metatest.h"

static const char full[] =
	"ID>7\nNAME>ckpt.7\nFLAG_CKPT>1\nFLAG_OUTPUT>0\n"
	"CREATED>1795215218613360\nUSER>golduser\nJOBNAME>goldjob\n"
	"JOBID>1000\nCLUSTER>goldcluster\nCKPT>3\nFILES>14\nSIZE>158686\n"
	"COMPLETE>1\n";
#define PART \
	"ID>1\nNAME>a/b c\nFLAG_CKPT>0\nFLAG_OUTPUT>1\nCREATED>5\nUSER>u\n" \
	"JOBID>j\n"

#define WORD(text) ((text) != NULL ? (text) : "-")

/* All members. */
static const char *
shown(const struct dataset *d)
{
	return fmt("%d %s %d%d %d %lld %s %s %s %s %d %llu %d", (int)d->id,
		   WORD(d->name), d->is_ckpt, d->is_output, (int)d->ckpt_id,
		   (long long)d->created_us, WORD(d->user), WORD(d->job_name),
		   WORD(d->job_id), WORD(d->cluster), (int)d->files,
		   (unsigned long long)d->bytes, d->complete);
}

/* Records are read, and written in the library's order.  Copies of them last
 * longer than the tree. */
TEST(round_trip)
{
	static const struct {
		const char *text, *shown, *again;
	} cases[] = {
		{ full,
		  "7 ckpt.7 10 3 1795215218613360 golduser goldjob 1000 "
		  "goldcluster 14 158686 1",
		  full },
		{ PART, "1 a/b c 01 -1 5 u - j - -1 0 -1", PART },
		/* SCR 1.1.8's has no flags, but is a checkpoint. */
		{ "ID>1\nCKPT>1\nNEW>x\n", "1 - 10 1 -1 - - - - -1 0 -1",
		  NULL },
	};
	struct dataset d;

	each (c, cases) {
		struct kvtree *t = tree_of(c->text);
		auto_kvtree *again = kvtree_new(NULL);
		auto_arena *a = arena_new();
		struct dataset copy;

		is_int(dataset_read(t, &d, NULL), 0, label(c->text));
		is_str(shown(&d), c->shown, "... as it is");
		must(dataset_copy(&copy, &d, a, NULL) == 0);
		kvtree_free(t);
		is_str(shown(&copy), c->shown, "... copied");
		ok(dataset_write(again, &copy, NULL) == 0 &&
			   (c->again == NULL || tree_says(again, c->again)),
		   "... and written");
	}
	is_int(dataset_read(NULL, &d, NULL), 0, "no descriptor");
	is_str(shown(&d), "0 - 00 -1 -1 - - - - -1 0 -1", "... nothing known");
}

static int
read_one(const struct kvtree *t, struct error *err)
{
	struct dataset d;

	return dataset_read(t, &d, err);
}

/* Messages name the key first. */
static int
read_named(const struct kvtree *t, struct error *err)
{
	const char *key = kvtree_key(kvtree_first(t));

	return read_one(t, err) < 0 && str_starts(err->text, key) ? -1 : 0;
}

TEST(damage)
{
	static const char *const bad[] = {
		"ID>x\n",
		"ID>2147483648\n",
		"ID>1\nID>2\n",
		"NAME>a\nNAME>b\n",
		"NAME\n",
		"FLAG_CKPT>2\n",
		"FLAG_OUTPUT>yes\n",
		"CREATED>-5\n",
		"CKPT>-1\n",
		"FILES>-1\n",
		"SIZE>-1\n",
		"COMPLETE>\n",
		"USER\n",
		"JOBID>1\nJOBID>2\n",
		"SIZE>9223372036854775808\n",
	};
	auto_kvtree *t = tree_of(full);
	struct dataset d;

	trees_refused(bad, COUNT(bad), read_named);
	tree_damaged(full, 50, 26, read_one);
	dataset_read(t, &d, NULL);
	without_memory (m, 1, "no memory to write") {
		auto_kvtree *made = kvtree_new(&m.err);

		m.rc = made == NULL ? -1 : dataset_write(made, &d, &m.err);
	}
}

TEST(names)
{
	static const struct {
		const char *name;
		bool ok;
	} names[] = {
		{ "ckpt.1", true }, { "a b/c", true }, { "\xc3\xa4", true },
		{ "", false },	    { "a\nb", false }, { "a\x7f", false },
	};
	/* Names with a number: the text before it, the least and the most, the
	 * text behind it. */
	static const struct {
		int64_t (*number)(const char *name);
		const char *head;
		int least;
		uint64_t most;
		const char *tail;
	} numbered[] = {
		{ dataset_dir_id, "scr.dataset.", 1, INT32_MAX, "" },
		{ dataset_dir_packed, "packed.", 0, INT64_MAX, ".scr" },
		{ filemap_name_rank, "filemap_", 0, INT32_MAX, "" },
		{ copied_name_rank, "copied_", 0, INT32_MAX, ".scr" },
	};
	static const char *const wrong[] = {
		"-1", "07", "00", "", "7x", " 7", "99999999999999999999", "/",
	};
	char name[1025];

	each (n, names)
		ok(dataset_name_ok(n->name) == n->ok, label(n->name));
	memset(name, 'x', sizeof(name));
	name[1024] = '\0';
	ok(!dataset_name_ok(name), "a name of 1024 bytes");
	ok(dataset_name_ok(name + 1), "a name of 1023 bytes");
	each (d, numbered) {
		const char *h = d->head, *t = d->tail;

		is_int(d->number(fmt("%s0%s", h, t)), d->least ? -1 : 0, h);
		is_int(d->number(fmt("%s12%s", h, t)), 12, h);
		is_int(d->number(fmt("%s%" PRIu64 "%s", h, d->most, t)),
		       (int64_t)d->most, h);
		is_int(d->number(fmt("%s%" PRIu64 "%s", h, d->most + 1, t)), -1,
		       h);
		each (w, wrong)
			is_int(d->number(fmt("%s%s%s", h, *w, t)), -1, *w);
		ok(d->number(fmt("x%s7%s", h, t)) < 0 &&
			   d->number(fmt("%s7%s.bak", h, t)) < 0 &&
			   d->number(fmt("%s7%s/x", h, t)) < 0 &&
			   (*t == '\0' || d->number(fmt("%s7", h)) < 0) &&
			   d->number("") < 0,
		   "other names");
	}
	is_str(filemap_name(name, sizeof(name), 12), "filemap_12",
	       "... and back");
	is_str(copied_name(name, 12), "copied_12.scr", "... and back");
}

TEST(dir)
{
	static const struct {
		const char *name;
		enum dataset_dir_kind kind;
		uint32_t rank;
	} cases[] = {
		{ "summary.scr", DATASET_DIR_SUMMARY, 99 },
		{ "rank2file", DATASET_DIR_RANK2FILE, 99 },
		{ "rank2file.0.8192", DATASET_DIR_RANK2FILE_PART, 99 },
		{ "filemap_12", DATASET_DIR_FILEMAP, 12 },
		{ "filemap_12x", DATASET_DIR_FOREIGN, 99 },
		{ "reddesc.er.3.redset", DATASET_DIR_DESCRIPTOR, 3 },
		{ "reddescmap.er.2.xor.grp_1_of_2.mem_2_of_4.redset",
		  DATASET_DIR_REDUNDANCY, 2 },
		{ "copied_4.scr", DATASET_DIR_COPIED, 99 },
		{ "packed.8192.scr", DATASET_DIR_PACKED, 99 },
		{ "packed.1x.scr", DATASET_DIR_FOREIGN, 99 },
		{ "packed.scr", DATASET_DIR_FOREIGN, 99 },
		{ ".scr", DATASET_DIR_CONTAINERS, 99 },
		{ "manifest.sha256", DATASET_DIR_KEPT, 99 },
		{ "manifest.2-of-4.sha256", DATASET_DIR_KEPT, 99 },
		{ "manifest.5-of-4.sha256", DATASET_DIR_FOREIGN, 99 },
		{ "manifest.0-of-4.sha256", DATASET_DIR_FOREIGN, 99 },
		{ "manifest.02-of-4.sha256", DATASET_DIR_FOREIGN, 99 },
		{ "rebuild.scr", DATASET_DIR_MARKED, 99 },
		{ ".scrkit.gone", DATASET_DIR_DELETED, 99 },
		{ ".scrkit.lock", DATASET_DIR_LOCK, 99 },
		{ ".scrkit-0123456789abcdef.tmp", DATASET_DIR_TEMP, 99 },
		{ "rank_7.state_file", DATASET_DIR_LEFT, 99 },
		{ "scavenge.o1000", DATASET_DIR_LEFT, 99 },
		{ "notes.txt", DATASET_DIR_FOREIGN, 99 },
		{ "", DATASET_DIR_FOREIGN, 99 },
	};

	each (c, cases) {
		uint32_t rank = 99;

		is_int(dataset_dir_kind(c->name, &rank), c->kind, c->name);
		is_int(rank, c->rank, "... and its rank");
	}
	ok(dataset_dir_is_recovery("filemap_0") &&
		   !dataset_dir_is_recovery("rank2file"),
	   "what a rebuild starts from");
}

/* What is known: cmd/scr_index.bats. */
TEST(json)
{
	struct json *obj = json_new_object();
	struct dataset d;
	auto_free char *text = NULL;

	dataset_read(NULL, &d, NULL);
	dataset_json(&d, obj);
	text = json_text(obj);
	ok(strstr(text, "\"id\": null") != NULL &&
		   strstr(text, "\"bytes\": null") != NULL &&
		   strstr(text, "\"complete\": null") != NULL,
	   "JSON of nothing known");
}
