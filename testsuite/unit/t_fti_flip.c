/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each bit of a small FTI-FF file is flipped in turn, in each layout: checking
 * never calls a file intact in which the bit matters, and repair gives the file
 * as it was, bit for bit, or refuses.  It refuses damaged data, and damaged
 * records that nothing else tells; these are not called lost.
 */
#include "fti/draft.h"
#include "ftitest.h"

/* Variables 1, 2, 7; the first and the last have two containers.  The last
 * container is empty, the one before it of its variable is full: if a bit of
 * its chunksize is flipped, only its hascontent tells that. */
#define VARS 3
static const uint64_t sizes[VARS] = { 48, 10, 5 };
static const int32_t ids[VARS] = { 1, 2, 7 };

static const struct part {
	size_t var;
	uint64_t size, used;
} parts[] = {
	{ 0, 40, 40 }, { 1, 24, 10 }, { 2, 5, 5 }, /* the second block: */
	{ 0, 16, 8 },  { 2, 16, 0 },
};
#define PARTS (COUNT(parts))
#define BLOCK 3 /* the second block begins here */

/* Bytes of no field. */
#define FTI_PAD FTI_FIELDS

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
	/* As of levels 2 and 3 in one: a flip must not be taken for -1. */
	d->max_fs = 0x12345;
	d->pt_fs = 0x2345;
}

/* --- Which byte it is --- */

struct place {
	int field; /* FTI_PAD: none */
	size_t container;
	bool data;
};

/* The bytes at `to` are a record. */
static void
map_record(struct place *to, enum fti_layout l, enum fti_record r,
	   size_t container)
{
	const int end = fti_first_field[r + 1];

	for (size_t i = 0; i < fti_record_size(l, r); i++)
		to[i] = (struct place){ FTI_PAD, container, false };
	for (int f = fti_first_field[r]; f < end; f++) {
		const struct fti_place *p = &fti_format(l)->fields[f];

		for (size_t i = 0; i < p->size; i++)
			to[p->at + i].field = f;
	}
}

static void
map_bytes(struct place *map, const struct fti_draft *d)
{
	const struct fti_format *format = fti_format(d->layout);

	for (size_t i = 0; i < d->size; i++)
		map[i] = (struct place){ FTI_PAD, SIZE_MAX, true };
	for (size_t i = 0; i < PARTS; i++) {
		const struct fti_container *k = &d->containers[i].c;
		const size_t b = i >= BLOCK;

		/* Bytes that are reserved, but not in use. */
		for (int64_t at = k->used; at < k->size; at++)
			map[k->fptr + (uint64_t)at] =
				(struct place){ FTI_PAD, i, false };
		map_record(map + d->blocks[b].at, d->layout, FTI_BLOCK,
			   SIZE_MAX);
		map_record(map + d->blocks[b].at + format->block +
				   (i - d->blocks[b].first) * format->container,
			   d->layout, FTI_CONTAINER, i);
	}
	map_record(map + (format->footer ? d->size - format->meta : 0),
		   d->layout, FTI_META, SIZE_MAX);
}

/* --- Flips --- */

struct counts {
	bool fields; /* whole ones are overwritten */
	size_t flips, unnoticed, repaired;
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
	const bool can = fti_describe_repair(&d, c, NULL) == 0;

	*unproven = can && d.unproven;
	if (can) {
		if (d.ckpt_id < 0)
			d.ckpt_id = 3;
		ftitest_image(&d, out);
	}
	return can;
}

static void
expect(struct counts *n, bool good, const char *what, enum fti_layout l,
       struct place p)
{
	if (good)
		return;
	printf("# layout %s: %s: %s of container %zu\n", fti_format(l)->letter,
	       what,
	       p.field == FTI_PAD ? "no field"
				  : fti_field_name((enum fti_field)p.field),
	       p.container);
	n->bad = true;
}

static void
judge(struct counts *n, const struct fti_draft *d, const struct fti_checked *c,
      struct place p, const struct buf *image)
{
	const enum fti_layout l = d->layout;
	const bool intact = c->verdict == FTI_INTACT;
	auto_buf out = BUF_INIT;
	bool unproven = false;
	const bool can = repair(c, &out, &unproven);

	n->flips++;
	n->unnoticed += intact;
	n->repaired += can;
	n->seen[p.field] |= intact;
	expect(n,
	       !intact || n->fields ||
		       (!p.data &&
			may_go_unnoticed(l, p.field, d, p.container)),
	       "unnoticed", l, p);
	if (!can) {
		expect(n,
		       (p.data || c->open) && !intact &&
			       c->verdict != FTI_REFUSED,
		       "lost", l, p);
		return;
	}
	expect(n, is_good(&out, p.field == FTI_ID && (intact || n->fields)),
	       "repaired", l, p);
	expect(n, !unproven || n->fields, "unproven", l, p);
	expect(n,
	       intact || unproven || n->fields ||
		       (out.len == image->len &&
			memcmp(out.data, image->data, out.len) == 0),
	       "not as before", l, p);
}

/* Read, check and judge the file that the image is now. */
static void
look(struct counts *n, const struct fti_draft *d, const struct buf *image,
     struct place p, const struct buf *right)
{
	struct fti_source s;
	struct fti_checked c = { .source = &s };

	fti_source_memory(&s, image->data, image->len, "flipped");
	c.file = fti_file_read(&s, FTI_LAYOUTS, NULL);
	must(c.file != NULL && fti_check(&c, 1, false, NULL, NULL) == 0);
	expect(n,
	       c.verdict < FTI_DAMAGED || c.open || fti_repairable(&c) ||
		       p.data,
	       "lost without data", d->layout, p);
	fti_checked_fini(&c);
	fti_file_free(c.file);
	c = (struct fti_checked){ .source = &s };
	c.file = fti_file_read(&s, FTI_LAYOUTS, NULL);
	must(c.file != NULL && fti_check(&c, 1, true, NULL, NULL) == 0);
	judge(n, d, &c, p, right);
	fti_checked_fini(&c);
	fti_file_free(c.file);
}

/* Overwrite 4 or 8 bytes of records: whole fields, or parts of two.  Several
 * fields may be unproven then, but the data are not lost. */
static void
fill(struct counts *n, const struct fti_draft *d, struct buf *image,
     const struct place *map, const struct buf *right)
{
	static const char fills[][9] = {
		"\177\377\377\377",
		"\0\0\0\0\0\0\0\0",
		"\377\377\377\377\377\377\377\377",
	};
	static const size_t lengths[] = { 4, 8, 8 };

	for (size_t at = 0; at < image->len; at++)
		for (size_t i = 0; i < COUNT(fills); i++) {
			bool data = at + lengths[i] > image->len;
			struct place p = map[at];

			for (size_t k = 0; !data && k < lengths[i]; k++) {
				data = map[at + k].data;
				if (map[at + k].field == FTI_ID)
					p.field = FTI_ID;
			}
			if (data)
				continue;
			memcpy(image->data + at, fills[i], lengths[i]);
			if (memcmp(image->data, right->data, right->len) != 0)
				look(n, d, image, p, right);
			memcpy(image->data + at, right->data + at, lengths[i]);
		}
}

TEST(flips)
{
	for (int l = 0; l < FTI_LAYOUTS; l++) {
		struct counts n = { .flips = 0 }, o = { .fields = true };
		auto_buf image = BUF_INIT, right = BUF_INIT;
		auto_mem struct place *map = NULL;
		auto_fti_draft d;

		make_draft(&d, (enum fti_layout)l);
		ftitest_image(&d, &image);
		ftitest_image(&d, &right);
		map = mem_calloc(image.len, sizeof(*map));
		must(map != NULL);
		map_bytes(map, &d);
		ok(is_good(&image, false),
		   fmt("layout %d: the file is intact", l));
		for (size_t bit = 0; bit < 8 * image.len; bit++) {
			image.data[bit / 8] ^= (char)(1 << bit % 8);
			look(&n, &d, &image, map[bit / 8], &right);
			image.data[bit / 8] ^= (char)(1 << bit % 8);
		}
		/* For the table in the page. */
		printf("# layout %s: %zu flips, %zu unnoticed, %zu repaired; "
		       "unprotected:",
		       fti_format((enum fti_layout)l)->letter, n.flips,
		       n.unnoticed, n.repaired);
		for (int f = 0; f < FTI_FIELDS; f++)
			if (n.seen[f])
				printf(" %s",
				       fti_field_name((enum fti_field)f));
		printf("\n");
		ok(!n.bad && n.unnoticed > 0,
		   fmt("33.13: layout %d: no flip that matters goes "
		       "unnoticed, what is repaired is right, no record is "
		       "lost",
		       l));
		ok(n.repaired > n.unnoticed,
		   fmt("layout %d: more files can be repaired", l));
		fill(&o, &d, &image, map, &right);
		printf("# layout %s: %zu fields overwritten, %zu unnoticed, "
		       "%zu repaired\n",
		       fti_format((enum fti_layout)l)->letter, o.flips,
		       o.unnoticed, o.repaired);
		ok(!o.bad,
		   fmt("33.13: layout %d: no data are lost by fields of "
		       "records that are overwritten",
		       l));
	}
}
