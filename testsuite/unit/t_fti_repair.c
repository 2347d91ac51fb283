/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repair of FTI-FF files that FTI refuses: they become those that it accepted
 * ($SCRKIT_GOLDEN).  Damaged ones: fti_write.bats, t_fti_flip.
 */
#include "fti/draft.h"
#include "ftibytes.h"
#include "ftitest.h"
#include "hash.h"
#include "puttest.h"

/* Write `t` repaired to "repaired".  Could all be proven? */
static bool
repair(const struct ftitest *t)
{
	struct fti_draft d;
	bool proven = false;

	must(fti_describe_repair(&d, &t->checked, NULL) == 0);
	proven = !d.unproven;
	return ftitest_write(&d, "repaired", true, NULL) == 0 && proven;
}

/* Read a file, with 0 in its last byte, which layouts C to F do not use. */
static void
read_padded(const char *path, struct buf *b)
{
	read_whole(path, b);
	b->data[b->len - 1] = 0;
}

static bool
same_files(const char *a, const char *b)
{
	auto_buf x = BUF_INIT, y = BUF_INIT;

	read_padded(a, &x);
	read_padded(b, &y);
	return x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

/* Replace sums of empty containers by that of no bytes: the tested rule is that
 * of the readers, while the golden repaired files have kept the old sums. */
static void
renew_empty(const char *path, const char *to)
{
	struct ftitest t;
	auto_buf b = BUF_INIT;
	struct hash *h = hash_new(HASH_MD5, NULL);
	unsigned char none[HASH_MD5_SIZE];

	must(h != NULL && hash_sum(h, none, NULL) == 0);
	hash_free(h);
	ftitest_open(&t, path);
	read_whole(path, &b);
	for (size_t i = 0; i < t.checked.file->ncontainers; i++) {
		const struct fti_file_container *c =
			&t.checked.file->containers[i];

		if (c->c.has_content == 0)
			memcpy(b.data + c->at +
				       fti_format(FTI_F)
					       ->fields[FTI_CHUNK_HASH]
					       .at,
			       none, sizeof(none));
	}
	write_file(to, b.data, b.len);
	ftitest_close(&t);
}

/* Make a file as FTI would have written it: an empty container has some sum,
 * and the checksum is over it. */
static void
make_stale(const char *path)
{
	struct ftitest t;
	auto_buf b = BUF_INIT;
	auto_hash *h = hash_new(HASH_MD5, NULL);
	struct fti_file *f = NULL;
	char *record = NULL;

	ftitest_open(&t, path);
	read_whole(path, &b);
	must(h != NULL && t.checked.file->empty > 0);
	f = t.checked.file;
	for (size_t i = 0; i < f->ncontainers; i++) {
		struct fti_container *c = &f->containers[i].c;

		memset(c->hash, c->has_content ? c->hash[0] : 0x55,
		       c->has_content ? 1 : sizeof(c->hash));
		fti_record_write(f->layout, FTI_CONTAINER, c,
				 b.data + f->containers[i].at);
		must(hash_update(h, c->hash, sizeof(c->hash), NULL) == 0);
	}
	must(hash_text(h, f->meta.checksum, NULL) == 0);
	record = b.data + f->meta_at;
	fti_record_write(f->layout, FTI_META, &f->meta, record);
	must(fti_meta_hash(f->layout, record, h, f->meta.hash, NULL) == 0);
	fti_record_write(f->layout, FTI_META, &f->meta, record);
	write_file(path, b.data, b.len);
	ftitest_close(&t);
}

static void
check_refused(const char *path, const char *what)
{
	struct ftitest t, after;

	ftitest_open(&t, path);
	ok(t.checked.verdict == FTI_REFUSED, fmt("%s: FTI refuses it", what));
	ok(repair(&t), fmt("%s: repaired", what));
	ftitest_open(&after, here("repaired"));
	ok(after.checked.verdict == FTI_INTACT &&
		   after.checked.file->layout == t.checked.file->layout &&
		   after.checked.file->meta.ckpt_id ==
			   t.checked.file->meta.ckpt_id &&
		   after.checked.file->meta.timestamp ==
			   t.checked.file->meta.timestamp,
	   fmt("%s: intact", what));
	ftitest_close(&after);
	ftitest_close(&t);
}

static const char *
write_as(const struct ftitest *t, enum fti_layout layout)
{
	struct fti_draft d;
	const char *name = fmt("as%d", layout);

	must(fti_describe_same(&d, &t->checked, layout, NULL) == 0 &&
	     ftitest_write(&d, name, true, NULL) == 0);
	return here("%s", name);
}

/* The last checkpoint of the example in FTI's document. */
static void
test_shrunk(const char *root)
{
	struct ftitest_golden *list = NULL;
	const size_t count = ftitest_list(&list);
	size_t found = 0;

	puttest_root_new();
	for (size_t i = 0; i < count; i++) {
		const char *set = strrchr(list[i].set, '/') + 1;
		struct ftitest t;

		if (list[i].ckpt != 7)
			continue;
		ftitest_open(&t, list[i].path);
		if (!fti_format(t.checked.file->layout)->footer) {
			ftitest_close(&t);
			continue;
		}
		found++;
		check_refused(list[i].path, fmt("%s %u", set, list[i].rank));
		if (t.checked.file->layout == FTI_F) {
			const char *want = here("want");

			renew_empty(fmt("%s/repaired-F/Ckpt7-Rank%u.fti", root,
					list[i].rank),
				    want);
			ok(same_files(want, here("repaired")),
			   "all bytes are those that FTI accepted");
			/* No golden set of C has this checkpoint. */
			want = write_as(&t, FTI_C);
			make_stale(want);
			check_refused(want, "C");
		}
		ftitest_close(&t);
	}
	ftitest_free(list, count);
	if (found == 0)
		skip("shrunk variables", "not among the golden files");
}

int
main(void)
{
	const char *root = ftitest_root();

	if (root == NULL) {
		skip("repair", "no golden data of FTI");
		return tap_done();
	}
	root = mem_strdup(root);
	test_shrunk(root);
	mem_free((void *)(uintptr_t)root);
	return tap_done();
}
