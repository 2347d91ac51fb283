/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each bit of a small FTI-FF file is flipped in turn, in each layout: checking
 * never calls a file intact in which the bit matters, and repair gives the file
 * as it was, bit for bit, or refuses.  It refuses damaged data; of damaged
 * records only those that nothing else tells, and these are not called lost.
 */
#include "fti/change.h"
#include "fti/draft.h"
#include "ftibytes.h"
#include "ftitest.h"

/* Variables 1, 2, 7; the first two have two containers, the last container is
 * empty. */
#define VARS 3
static const uint64_t sizes[VARS] = { 48, 10, 5 };
static const int32_t ids[VARS] = { 1, 2, 7 };

static const struct part {
	size_t var;
	uint64_t size, used;
} parts[] = {
	{ 0, 40, 40 }, { 1, 24, 10 }, { 2, 5, 5 }, /* the second block: */
	{ 0, 16, 8 },  { 1, 12, 0 },
};
#define PARTS (COUNT(parts))
#define BLOCK 3 /* the second block begins here */

static unsigned char bytes[VARS][48];
static struct fti_source sources[VARS];
static struct fti_raw raw[VARS];

/* What nothing protects: a flip goes unnoticed, and no reader could notice it
 * in a single file (scr_fti(1)). */
static bool
may_go_unnoticed(enum fti_layout l, int field, const struct fti_draft *d,
		 size_t container)
{
	switch (field) {
	case FTI_PAD:
	case FTI_CKPT_ID:
		return true;
	case FTI_ID:
	case FTI_IDX:
	case FTI_HASCKPT:
		return l != FTI_A;
	case FTI_CHUNK_HASH: /* nobody reads that of an empty one */
		return l != FTI_A && d->containers[container].c.used == 0;
	case FTI_HASCONTENT: /* of a container without bytes */
		return l == FTI_B && d->containers[container].c.used == 0;
	default:
		return false;
	}
}

/* --- The file --- */

TEST(make_vars)
{
	for (size_t i = 0; i < VARS; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			bytes[i][k] = (unsigned char)(17 * i + 5 * k + 1);
		fti_source_memory(&sources[i], bytes[i], sizes[i], "raw");
		raw[i] = (struct fti_raw){ ids[i], &sources[i] };
	}
}

/* Describe the file, after fti_describe_pack() of its variables. */
static void
make_draft(struct fti_draft *d, enum fti_layout l)
{
	struct fti_draft_container *list =
		mem_calloc(PARTS, sizeof(*d->containers));
	uint64_t dptr[VARS] = { 0 };
	int32_t part[VARS] = { 0 };

	must(fti_describe_pack(d, raw, VARS, 0, l, NULL) == 0);
	must(list != NULL);
	for (size_t i = 0; i < PARTS; i++) {
		const struct part *p = &parts[i];

		list[i] = d->containers[p->var];
		list[i].c.part = part[p->var]++;
		list[i].c.dptr = dptr[p->var];
		list[i].c.used = (int64_t)p->used;
		list[i].c.size = (int64_t)p->size;
		list[i].c.has_content = p->used > 0;
		dptr[p->var] += p->size;
	}
	mem_free(d->containers);
	d->containers = list;
	d->ncontainers = d->room_containers = PARTS;
	must(MEM_ROOM(d->blocks, d->nblocks, d->room_blocks));
	d->blocks[d->nblocks++] = (struct fti_draft_block){ .first = BLOCK };
	d->ckpt_id = 3;
	d->timestamp = 1234567890123456789;
}

/* --- Which byte it is --- */

struct place {
	int field; /* FTI_PAD: none */
	size_t container;
	bool data;
};

static int
field_at(enum fti_layout l, enum fti_field first, enum fti_field last,
	 size_t at)
{
	for (int f = (int)first; f <= (int)last; f++) {
		const struct fti_place *p = &fti_format(l)->fields[f];

		if (at >= p->at && at < (size_t)p->at + p->size)
			return f;
	}
	return FTI_PAD;
}

static struct place
place_of(const struct fti_draft *d, size_t at)
{
	const struct fti_format *format = fti_format(d->layout);
	const size_t meta = format->footer ? d->size - format->meta : 0;

	if (at >= meta && at < meta + format->meta)
		return (struct place){ field_at(d->layout, FTI_CHECKSUM,
						FTI_TIMESTAMP, at - meta),
				       SIZE_MAX, false };
	for (size_t b = 0; b < d->nblocks; b++) {
		const size_t begin = d->blocks[b].at;
		const size_t n = at - begin - format->block;

		if (at < begin || at >= begin + fti_draft_records_size(d, b))
			continue;
		if (at < begin + format->block)
			return (struct place){ field_at(d->layout, FTI_NUMVARS,
							FTI_DBSIZE, at - begin),
					       SIZE_MAX, false };
		return (struct place){
			field_at(d->layout, FTI_ID, FTI_CHUNK_HASH,
				 n % format->container),
			d->blocks[b].first + n / format->container, false
		};
	}
	/* Bytes that are reserved, but not in use. */
	for (size_t i = 0; i < d->ncontainers; i++) {
		const struct fti_container *k = &d->containers[i].c;

		if (at >= k->fptr + (uint64_t)k->used &&
		    at < k->fptr + (uint64_t)k->size)
			return (struct place){ FTI_PAD, i, false };
	}
	return (struct place){ FTI_PAD, SIZE_MAX, true };
}

/* --- Flips --- */

struct counts {
	size_t flips, unnoticed, refused, repaired, open;
	bool seen[FTI_FIELDS + 1]; /* fields in which a flip goes unnoticed */
	bool bad;
};

static bool
holds_vars(const struct fti_content *c)
{
	for (size_t i = 0; i < VARS; i++) {
		const struct fti_content_var *v = fti_content_var(c, ids[i]);
		unsigned char got[sizeof(bytes[0])];

		if (v == NULL || v->size != sizes[i] ||
		    fti_content_read(c, v, got, sizes[i], 0, NULL) < 0 ||
		    memcmp(got, bytes[i], sizes[i]) != 0)
			return false;
	}
	return true;
}

/* Is the file intact, with the variables?  `id`: an id may be another one. */
static bool
is_good(const struct buf *image, bool id)
{
	struct fti_source s;
	struct fti_checked c = { .source = &s };
	struct fti_content content = { .nvars = 0 };
	bool good = false;

	fti_source_memory(&s, image->data, image->len, "image");
	c.file = fti_file_read(&s, FTI_LAYOUTS, NULL);
	must(c.file != NULL && fti_check(&c, 1, true, NULL, NULL) == 0);
	good = c.verdict == FTI_INTACT &&
	       fti_content_file(&content, c.file, &s, NULL) == 0 &&
	       (id || holds_vars(&content));
	fti_content_fini(&content);
	fti_checked_fini(&c);
	fti_file_free(c.file);
	return good;
}

/* Repair the file.  False: it is refused. */
static bool
repair(const struct fti_checked *c, struct buf *out, bool *unproven)
{
	auto_fti_draft d;
	auto_mem struct fti_change *list = NULL;
	size_t count = 0;
	const bool can = fti_describe_repair(&d, c, NULL) == 0;

	*unproven = can && d.unproven;
	if (can) {
		if (d.ckpt_id < 0)
			d.ckpt_id = 3;
		ftitest_image(&d, out);
		must(fti_changes(c, &d, &list, &count, NULL) == 0);
	}
	return can;
}

static void
judge(struct counts *n, const struct fti_draft *d, const struct fti_checked *c,
      struct place p, const struct buf *image)
{
	auto_buf out = BUF_INIT;
	bool unproven = false;
	const bool can = repair(c, &out, &unproven);

	n->flips++;
	if (c->verdict == FTI_INTACT) {
		n->unnoticed++;
		n->seen[p.field] = true;
		if (p.data ||
		    !may_go_unnoticed(d->layout, p.field, d, p.container)) {
			printf("# layout %d: field %d of container %zu\n",
			       (int)d->layout, p.field, p.container);
			n->bad = true;
		}
	}
	if (!can) {
		n->refused++;
		n->open += c->open;
		if (!p.data && !c->open) {
			printf("# layout %d: lost, field %d of container %zu\n",
			       (int)d->layout, p.field, p.container);
			n->bad = true;
		}
		n->bad |= c->verdict == FTI_INTACT || c->verdict == FTI_REFUSED;
	} else {
		n->repaired++;
		if (!is_good(&out,
			     p.field == FTI_ID && c->verdict == FTI_INTACT)) {
			printf("# layout %d: repaired, field %d of container "
			       "%zu\n",
			       (int)d->layout, p.field, p.container);
			n->bad = true;
		}
		if (c->verdict != FTI_INTACT && !unproven &&
		    (out.len != image->len ||
		     memcmp(out.data, image->data, out.len) != 0)) {
			printf("# layout %d: not as before, field %d of "
			       "container %zu\n",
			       (int)d->layout, p.field, p.container);
			n->bad = true;
		}
	}
}

/* The fields, for the table in the page. */
static void
print_unnoticed(const struct counts *n, enum fti_layout l)
{
	printf("# layout %s: %zu flips, %zu unnoticed, %zu refused, %zu "
	       "repaired, %zu unknown; unprotected:",
	       fti_format(l)->letter, n->flips, n->unnoticed, n->refused,
	       n->repaired, n->open);
	for (int f = 0; f <= FTI_FIELDS; f++)
		if (n->seen[f])
			printf(" %s",
			       f == FTI_PAD
				       ? "(bytes of no field)"
				       : fti_field_name((enum fti_field)f));
	printf("\n");
}

TEST(flips)
{
	for (int l = 0; l < FTI_LAYOUTS; l++) {
		struct counts n = { .flips = 0 };
		auto_buf image = BUF_INIT, right = BUF_INIT;
		auto_fti_draft d;

		make_draft(&d, (enum fti_layout)l);
		ftitest_image(&d, &image);
		ftitest_image(&d, &right);
		ok(is_good(&image, false),
		   fmt("layout %d: the file is intact", l));
		for (size_t bit = 0; bit < 8 * image.len; bit++) {
			struct fti_source s;
			struct fti_checked c = { .source = &s };

			image.data[bit / 8] ^= (char)(1 << bit % 8);
			fti_source_memory(&s, image.data, image.len, "flipped");
			c.file = fti_file_read(&s, FTI_LAYOUTS, NULL);
			must(c.file != NULL &&
			     fti_check(&c, 1, true, NULL, NULL) == 0);
			judge(&n, &d, &c, place_of(&d, bit / 8), &right);
			fti_checked_fini(&c);
			fti_file_free(c.file);
			image.data[bit / 8] ^= (char)(1 << bit % 8);
		}
		print_unnoticed(&n, (enum fti_layout)l);
		ok(!n.bad && n.unnoticed > 0,
		   fmt("33.13: layout %d: no flip that matters goes "
		       "unnoticed, what is repaired is right, no record is "
		       "lost",
		       l));
		ok(n.repaired > n.unnoticed,
		   fmt("layout %d: more files can be repaired", l));
	}
}
