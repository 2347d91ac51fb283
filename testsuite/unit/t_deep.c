/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_deep.c - comparison of redundancy and data: a changed byte is found
 * anywhere, and attributed to a file if possible.
 */
#include "rescue/deep_impl.h"

#include "progress.h"
#include "rescue/rebuild.h"
#include "rescue/rescue_impl.h"
#include "rows.h"
#include "steps.h"

/* A check of the whole dataset, with its plan. */
struct checked {
	struct plan *p;
	struct deep_result r;
	struct error err;
	int rc;
};

static struct checked
check_with(const struct scene *s, struct par *par, uint64_t memory)
{
	struct checked c = { .err = ERROR_INIT, .rc = -1 };
	struct progress *progress = progress_start("test", true, NULL);

	c.p = scene_plan(s, PLAN_HEADERS, &c.err);
	if (c.p != NULL)
		c.rc = deep_check(c.p,
				  &(struct work){ .par = par,
						  .memory = memory,
						  .progress = progress },
				  &c.r, &c.err);
	progress_end(progress);
	if (c.rc < 0)
		printf("# %s\n", c.err.text);
	return c;
}

static void
done(struct checked *c)
{
	deep_free(&c->r);
	plan_free(c->p);
}

/* A finding as text: "file OFFSET of RANK.NUMBER", "body of RANK", "rank RANK",
 * "nobody in SET". */
static const char *
told(const struct checked *c, size_t i)
{
	const struct deep_finding *f = &c->r.findings[i];
	const struct plan_set *s = NULL;
	const struct plan_file *file = NULL;

	if (c->rc < 0 || i >= c->r.nfindings)
		return "nothing";
	s = &c->p->sets[f->set];
	if (f->member == PLAN_NONE)
		return fmt("nobody in %s %u", s->map ? "map" : "set",
			   s->number);
	if (f->in_body)
		return fmt("body of %u", s->members[f->member].rank);
	if (f->file == PLAN_NONE)
		return fmt("rank %u", s->members[f->member].rank);
	file = &c->p->files[f->file];
	return fmt("%llu in %s", (unsigned long long)f->file_off,
		   strrchr(file->path, '/') + 1);
}

/* Rebuild the damaged files; is everything as before? */
static void
repaired(struct scene *s, struct checked *c, const char *what)
{
	int rc = c->rc;

	for (size_t i = 0; rc == 0 && i < c->r.nfindings; i++) {
		const struct deep_finding *f = &c->r.findings[i];

		if (f->member == PLAN_NONE)
			rc = -1;
		else if (f->in_body)
			rc = plan_mark_body(c->p, f->set, f->member, &c->err);
		else
			rc = plan_mark(c->p, f->file, FILE_WRONG_CRC, &c->err);
	}
	ok(rc == 0 && rebuild(c->p, NULL, NULL, &c->err) == 0 && scene_same(s),
	   fmt("%s: repaired", what));
}

/* What a check finds after changes: all findings, with the number of bytes
 * where it is not one, and a part of the message of the first; or how many sets
 * agree. */
struct found {
	const char *what, *change, *all, *words;
	bool repair; /* put it right from the findings */
};

static void
finds(struct scene *s, const struct found *f)
{
	const char *all = "";
	struct checked c;

	scene_do(s, f->change);
	c = check_with(s, NULL, 0);
	for (size_t i = 0; c.rc == 0 && i < c.r.nfindings; i++) {
		const unsigned long long bytes = c.r.findings[i].bytes;

		all = fmt("%s%s%s", all, i > 0 ? "; " : "", told(&c, i));
		if (bytes != 1)
			all = fmt("%s (%llu)", all, bytes);
	}
	if (c.rc == 0 && c.r.nfindings == 0)
		all = fmt("%zu agree, %zu skipped", (size_t)c.r.sets_checked,
			  (size_t)c.r.sets_skipped);
	is_str(all, f->all, f->what);
	if (c.r.nfindings > 0)
		ok(deep_error(c.p, &c.r.findings[0], &c.err) < 0 &&
			   c.err.kind == ERROR_DAMAGED &&
			   says(&c.err, f->words),
		   fmt("%s: in words", f->what));
	if (f->repair)
		repaired(s, &c, f->what);
	done(&c);
}

/* --- One byte, every scheme --- */

static const struct kind {
	struct scene s;
	bool names; /* is the culprit identified without checksums? */
} schemes[] = {
	{ { SCENE(XOR, 4, 1, 1, 2) }, false },
	{ { SCENE(RS, 5, 1, 1, 2) }, false },
	{ { SCENE(RS, 6, 1, 2, 2) }, true },
	{ { SCENE(RS, 7, 1, 3, 2) }, true },
	{ { SCENE(PARTNER, 4, 1, 1, 2) }, false },
	{ { SCENE(PARTNER, 5, 1, 2, 2) }, true },
};

/* The last byte of a file, a body, and redundancy over filemaps, which have no
 * recorded checksums. */
static const struct found named[] = {
	{ "a file", "flip f2.0 -1", "373 in rank_2_0.dat",
	  "rank_2_0.dat of rank 2: its contents are damaged, the first "
	  "difference is at byte 373",
	  true },
	{ "a body", "flip r3 -5", "body of 3", "mem_4_of_", true },
	{ "over filemaps", "flip R1 -1", "body of 1", "over filemaps", false },
};

static const struct found unnamed[] = {
	{ "a file", "new; flip f2.0 -1", "nobody in set 1", "", false },
	{ "a body", "new; flip r3 -200", "nobody in set 1", "unknown", false },
	{ "over filemaps", "new; flip R1 -1", "body of 1", "over filemaps",
	  false },
};

static void
one_byte(const struct kind *t, bool crc)
{
	auto_scene s = t->s;
	const bool names = crc || t->names;
	struct found file = names ? named[0] : unnamed[0];
	struct checked c;
	uint64_t bytes = 0;

	if (!names)
		file.words = s.type == REDSET_PARTNER
				     ? "which of them is wrong is unknown"
				     : "is inconsistent: 1 byte differs";
	s.crc = crc;
	printf("# %s k=%u%s\n", redset_type_name(s.type), s.failures,
	       crc ? " with checksums" : "");
	scene_make(&s);
	c = check_with(&s, NULL, 0);
	ok(c.rc == 0 && c.r.nfindings == 0 && c.r.sets_checked == 2 &&
		   c.r.sets_skipped == 0,
	   "all sets are checked and agree");
	for (size_t i = 0; i < 2 * s.ranks; i++) {
		const struct plan_member *m = &c.p->sets[i % 2].members[i / 2];

		bytes += m->file_size - m->red->body_start + m->list.bytes;
	}
	is_int(c.r.bytes_read, bytes, "all bytes are read");
	done(&c);
	finds(&s, &file);
	finds(&s, names ? &named[1] : &unnamed[1]);
	finds(&s, t->names ? &named[2] : &unnamed[2]);
}

/* --- Several bytes, and sets --- */

static uint64_t
five_mib(unsigned rank, unsigned file)
{
	(void)file;
	return rank == 0 ? (uint64_t)5 << 20 : 100;
}

static const struct scene rs2 = { SCENE(RS, 6, 1, 2, 2) };
static const struct scene rs3 = { SCENE(RS, 7, 1, 3, 2) };
static const struct scene rs2_sums = { SCENE(RS, 6, 1, 2, 2), .crc = true };
static const struct scene xor_sums = { SCENE(XOR, 4, 1, 1, 2), .crc = true };
static const struct scene copies2 = { SCENE(PARTNER, 6, 1, 2, 1) };
static const struct scene copies3 = { SCENE(PARTNER, 6, 1, 3, 1) };
static const struct scene sums3 = { SCENE(PARTNER, 6, 1, 3, 1), .crc = true };
static const struct scene large = { SCENE(PARTNER, 3, 1, 2, 1),
				    .size = five_mib };
static const struct scene two_sets = { SCENE(XOR, 8, 2, 1, 2) };
static const struct scene single = { SCENE(SINGLE, 8, 8, 0, 2) };

TEST(more_bytes)
{
	static const struct {
		const char *name;
		const struct scene *scene;
	} scenes[] = {
		{ "rs2", &rs2 },	   { "rs3", &rs3 },
		{ "rs2_sums", &rs2_sums }, { "xor_sums", &xor_sums },
		{ "copies2", &copies2 },   { "copies3", &copies3 },
		{ "sums3", &sums3 },	   { "large", &large },
		{ "two_sets", &two_sets }, { "single", &single },
	};
	struct row r = { .next = NULL };

	while (row_next(&r, "deep")) {
		const struct found f = {
			.what = r.field[1],
			.change = r.field[2],
			.all = r.field[3],
			.words = r.field[4],
			.repair = *r.field[5] != '\0',
		};

		each (x, scenes) {
			auto_scene s = *x->scene;

			if (strcmp(x->name, r.field[0]) == 0)
				finds(&s, &f);
		}
	}
}

/* --- Sizes --- */

static uint64_t
uneven(unsigned rank, unsigned file)
{
	/* Empty, one byte, and lengths around the block size. */
	static const uint64_t sizes[] = { 0,	  1,	  131072, 131073,
					  300001, 262144, 4095 };

	return sizes[(rank * 2 + file) % 7];
}

/* Two members are found to be wrong, each in a stripe of its own.  In a third,
 * which both take part in, nothing is left to show that no other is, too. */
TEST(explained)
{
	static const struct {
		const struct scene *scene;
		const char *what, *change;
		size_t undecided;
	} rows[] = {
		{ &rs2, "apart: all is explained",
		  "new; flip f2.0 200; flip f3.0 300", 0 },
		{ &rs2, "together once: it may be a third member",
		  "new; flip f2.0 50 200; flip f3.0 50 300", 1 },
		{ &rs2_sums, "together once: checksums will tell",
		  "new; flip f2.0 50 200; flip f3.0 50 300", 0 },
		{ &rs3, "together, where a third check piece confirms it",
		  "new; flip f2.1 200 500; flip f3.1 200 500", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_scene s = *rows[i].scene;
		struct deep_result r = { .nfindings = 0 };
		auto_plan *p = NULL;
		size_t undecided = 0;

		scene_make(&s);
		scene_do(&s, rows[i].change);
		p = scene_plan(&s, PLAN_HEADERS, NULL);
		must(p != NULL && deep_search(p, NULL, &r, NULL) == 0);
		for (size_t k = 0; k < r.nfindings; k++)
			undecided += !deep_is_located(&r.findings[k]);
		is_int((int64_t)undecided, (int64_t)rows[i].undecided,
		       rows[i].what);
		ok(p->undecided == (undecided > 0) && r.nfindings >= 2,
		   fmt("%s: both files are found", rows[i].what));
		deep_free(&r);
	}
}

TEST(blocks)
{
	static const uint64_t memory[] = { 1, 0, 200000, UINT64_C(1) << 50 };
	auto_par *par = par_new(4, NULL);
	auto_scene s = schemes[3].s; /* RS k=3, n=7 */
	struct checked c;
	bool good = true;

	s.size = uneven;
	scene_make(&s);
	must(uneven(2, 0) == 300001);
	for (size_t i = 0; i < 8; i++) {
		if (i == 4)
			scene_do(&s, "flip f2.0 4096 300000 131072");
		c = check_with(&s, par, memory[i % 4]);
		good &= c.rc == 0 && c.r.nfindings == i / 4;
		if (i >= 4)
			good &= strcmp(told(&c, 0), "4096 in rank_2_0.dat") ==
					0 &&
				c.r.findings[0].bytes == 3;
		done(&c);
	}
	ok(good, "blocks of any size agree and disagree alike");
}

static uint64_t
nothing(unsigned rank, unsigned file)
{
	(void)rank;
	(void)file;
	return 0;
}

TEST(empty_and_unread)
{
	static const struct found empty = { "empty files agree", "new",
					    "2 agree, 0 skipped", "", false };
	struct scene s = two_sets;
	struct deep_result r;
	struct plan *p = NULL;

	scene_make(&s);
	p = scene_plan(&s, 0, &why);
	ok(deep_check(p, NULL, &r, &why) == 0 && r.sets_checked == 0 &&
		   r.sets_skipped == 4,
	   "sets whose headers were not read are skipped");
	deep_free(&r);
	plan_free(p);
	scene_end(&s);
	for (unsigned i = 0; i < 6; i++) {
		s = schemes[i].s;
		s.files = 1;
		s.size = nothing;
		finds(&s, &empty);
		scene_end(&s);
	}
}

TEST(reading_fails)
{
	for (size_t i = 2; i < 6; i += 3) {
		auto_scene s = schemes[i].s;
		struct deep_result r;
		auto_plan *p = NULL;

		s.files = 1;
		scene_make(&s);
		p = scene_plan(&s, PLAN_HEADERS, &why);
		must(truncate(scene_data(&s, 1, 0), 3) == 0);
		refuses(deep_check(p, NULL, &r, &why), ERROR_CORRUPT,
			"rank_1_0.dat", "a file that was cut short since");
		must(unlink(scene_red(&s, 1, true, false)) == 0);
		ok(deep_check(p, NULL, &r, &why) < 0 && r.nfindings == 0,
		   "or is gone");
	}
}

/* --- Memory --- */

TEST(no_memory)
{
	for (size_t i = 0; i < 6; i++) {
		auto_scene s = schemes[i].s;
		auto_plan *p = NULL;

		scene_do(&s, "new; flip f2.0 10; flip R1 -1");
		p = scene_plan(&s, PLAN_HEADERS, &why);
		without_memory (m, 2,
				fmt("%s: every allocation may fail",
				    redset_type_name(s.type))) {
			struct deep_result r;

			m.rc = deep_check(p, NULL, &r, &m.err);
			if (m.rc == 0 && r.nfindings != 2)
				m.rc = error_set(&m.err, ERROR_CORRUPT,
						 "%zu findings", r.nfindings);
			deep_free(&r);
		}
	}
}

/* --- Findings reported by threads in any order --- */

/* Findings of one culprit, in the order in which threads report them. */
TEST(any_order)
{
	auto_scene scene = { SCENE(XOR, 4, 1, 1, 1) };
	static const uint32_t found[][2] = {
		{ 3, 50 }, { 2, 70 }, { 2, 60 }, { 2, 65 }, { 4, 0 },
	};
	struct deep_result r = { .nfindings = 0 };
	struct deep d = { .out = &r };

	scene_make(&scene);
	d.p = scene_plan(&scene, PLAN_HEADERS, NULL);
	must(d.p != NULL && pthread_mutex_init(&d.lock, NULL) == 0);
	for (size_t i = 0; i < COUNT(found); i++) {
		const struct deep_finding f = {
			.set = 1,
			.stripe = found[i][0],
			.first = found[i][1],
			.bytes = 1,
			.file = PLAN_NONE,
		};

		must(deep_found(&d, &f, NULL) == 0);
	}
	ok(r.nfindings == 1 && r.findings[0].bytes == 5 &&
		   r.findings[0].stripe == 2 && r.findings[0].first == 60,
	   "the first byte of the first stripe is remembered");
	for (uint32_t i = 1; i < 20; i++)
		must(deep_found(&d,
				&(struct deep_finding){ .set = 1,
							.member = i,
							.file = PLAN_NONE },
				NULL) == 0);
	is_int(r.nfindings, 20, "others are findings of their own");
	deep_free(&r);
	pthread_mutex_destroy(&d.lock);
	without_memory (m, 2, "no memory for findings") {
		r = (struct deep_result){ .nfindings = 0 };
		d = (struct deep){ .p = d.p, .out = &r };
		m.rc = 0;
		pthread_mutex_init(&d.lock, NULL);
		for (uint32_t i = 0; m.rc == 0 && i < 20; i++)
			m.rc = deep_found(
				&d,
				&(struct deep_finding){ .set = 1,
							.member = i,
							.file = PLAN_NONE },
				&m.err);
		pthread_mutex_destroy(&d.lock);
		deep_free(&r);
	}
	plan_free(d.p);
}

int
main(void)
{
	each (s, schemes) {
		one_byte(s, false);
		one_byte(s, true);
	}
	return tap_run();
}
