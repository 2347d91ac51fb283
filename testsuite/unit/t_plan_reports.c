/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_reports.c - plans from reports of processes about their ranks must
 * equal plans from the directories.
 */
#include "scheme/solve.h"

#include "steps.h"

#define RANKS 8

/* A report, and the memory that it points to. */
struct said {
	struct plan_report reports[RANKS];
	struct plan_red_report reds[RANKS][2];
	struct buf files[RANKS][3];
	enum file_state states[RANKS][4];
	size_t n;
};

/* Report a redundancy file, if it exists. */
static void
say_red(struct said *s, const struct scene *sc, unsigned rank, bool map)
{
	struct plan_report *r = &s->reports[s->n];
	struct buf *raw = &s->files[rank][1 + map];
	const char *path = scene_red(sc, rank, map, false);

	if (io_read_file(AT_FDCWD, path, SIZE_MAX / 2, raw, NULL) < 0)
		return;
	s->reds[rank][r->nreds++] = (struct plan_red_report){
		.name = path_base(path),
		.header = raw->data,
		.header_size = raw->len,
		.size = raw->len,
	};
}

/* Report everything that plan `p`, made from directories, found on a rank. */
static void
say(struct said *s, const struct scene *sc, const struct plan *p)
{
	*s = (struct said){ .n = 0 };
	for (unsigned i = 0; i < sc->ranks; i++) {
		struct plan_report *r = &s->reports[s->n];

		*r = (struct plan_report){ .rank = i, .reds = s->reds[i] };
		if (io_read_file(AT_FDCWD, scene_map(sc, i), SIZE_MAX / 2,
				 &s->files[i][0], NULL) == 0) {
			r->map = s->files[i][0].data;
			r->map_size = s->files[i][0].len;
			r->files = s->states[i];
			r->nfiles = p->ranks[i].nfiles;
			for (size_t f = 0; f < r->nfiles; f++)
				s->states[i][f] =
					p->files[p->ranks[i].first_file + f]
						.state;
		}
		say_red(s, sc, i, false);
		say_red(s, sc, i, true);
		s->n += r->map != NULL || r->nreds > 0;
	}
}

static void
said_fini(struct said *s)
{
	for (unsigned i = 0; i < RANKS; i++)
		for (unsigned k = 0; k < 3; k++)
			buf_free(&s->files[i][k]);
}

/* Only the plan over files takes the lists of a lost set from filemaps, too,
 * and so may solve a part of it: this part is not compared. */
static bool
same_set(const struct plan_set *a, const struct plan_set *b)
{
	bool same = a->map == b->map && a->type == b->type &&
		    a->number == b->number && a->n == b->n &&
		    a->verdict == b->verdict && a->missing == b->missing &&
		    (a->verdict == SET_LOST ||
		     (a->solution == NULL) == (b->solution == NULL)) &&
		    a->spare == b->spare &&
		    (a->reason == NULL) == (b->reason == NULL);

	if (same && a->verdict != SET_LOST && a->solution != NULL)
		same = a->solution->njobs == b->solution->njobs &&
		       a->solution->nlost == b->solution->nlost;
	for (uint32_t m = 0; same && m < a->n; m++)
		same = a->members[m].rank == b->members[m].rank &&
		       a->members[m].state == b->members[m].state &&
		       a->members[m].fate == b->members[m].fate;
	return same;
}

static bool
same_plan(const struct plan *a, const struct plan *b)
{
	bool same = a->nranks == b->nranks && a->nfiles == b->nfiles &&
		    a->nsets == b->nsets && a->verdict == b->verdict &&
		    a->files_rebuild == b->files_rebuild &&
		    a->files_lost == b->files_lost &&
		    (a->verdict == SET_LOST || a->bytes_read == b->bytes_read);

	for (size_t i = 0; same && i < a->nfiles; i++)
		same = strcmp(a->files[i].path, b->files[i].path) == 0 &&
		       a->files[i].state == b->files[i].state &&
		       a->files[i].fate == b->files[i].fate;
	for (size_t i = 0; same && i < a->nsets; i++)
		same = same_set(&a->sets[i], &b->sets[i]);
	return same;
}

static void
each_scheme(struct scene s)
{
	static const struct {
		const char *what, *change;
	} losses[] = {
		{ "all is there", "new" },
		{ "files of a rank are lost", "data 3" },
		{ "and its redundancy", "reds 3" },
		{ "and those of another", "data 5; reds 5" },
	};

	s.cache = true;
	each (l, losses) {
		auto_plan *p = NULL, *q = NULL;
		struct said said;

		scene_do(&s, l->change);
		p = scene_plan(&s, PLAN_HEADERS, &why);
		must(p != NULL);
		say(&said, &s, p);
		q = plan_reports(SCENE_ID, said.reports, said.n, &why);
		said_fini(&said); /* only borrowed */
		ok(q != NULL && same_plan(p, q) &&
			   plan_error(p, NULL) == plan_error(q, NULL),
		   fmt("%s: %s", redset_type_name(s.type), l->what));
	}
	scene_end(&s);
}

/* A rank without remaining files: its filemap is rebuilt first. */
TEST(lost_rank)
{
	auto_scene sc = { SCENE(RS, 6, 1, 2, 2), .cache = true };
	struct plan *p = NULL;
	struct said s;

	scene_make(&sc);
	p = scene_plan(&sc, PLAN_HEADERS, NULL);
	must(p != NULL);
	say(&s, &sc, p);
	plan_free(p);
	memmove(&s.reports[2], &s.reports[3], 3 * sizeof(s.reports[0]));
	p = plan_reports(SCENE_ID, s.reports, 5, &why);
	ok(p != NULL && p->ranks[2].map.fate == FATE_REBUILD &&
		   p->verdict == SET_REBUILDABLE && p->nsets == 2 &&
		   p->sets[0].solution->njobs > 0 &&
		   p->sets[1].solution->njobs > 0,
	   "both sets of a lost rank have a solution");
	plan_free(p);
	s.reports[0].nfiles--;
	refuses(plan_reports(SCENE_ID, s.reports, 5, &why), ERROR_USAGE, NULL,
		"states that do not fit the filemap");
	s.reds[1][0].name = "filemap_1";
	refuses(plan_reports(SCENE_ID, s.reports, 5, &why), ERROR_USAGE, NULL,
		"a name of no redundancy file");
	refuses(plan_reports(SCENE_ID, NULL, 0, &why), ERROR_ABSENT, NULL,
		"no reports");
	said_fini(&s);
}

/* The set over data, or over filemaps, of a rank. */
static const struct plan_set *
set_of(const struct plan *p, uint32_t rank, bool map)
{
	const struct plan_rank *r = &p->ranks[rank];

	return &p->sets[map ? r->map_set : r->data_set];
}

/* With the reports of one of two sets, that set gets the same verdict as in the
 * plan of both, and the plan knows which files of it must be written. */
TEST(one_set)
{
	auto_scene sc = { SCENE(XOR, 8, 2, 1, 2), .cache = true };
	auto_plan *p = NULL, *q = NULL;
	const struct plan_set *set = NULL;
	const struct plan_red *red = NULL;
	struct said s;
	size_t n = 0;

	scene_do(&sc, "new; data 3; reds 3");
	p = scene_plan(&sc, PLAN_HEADERS, NULL);
	must(p != NULL);
	say(&s, &sc, p);
	set = set_of(p, 3, false);
	for (size_t i = 0; i < s.n; i++)
		if (set_of(p, s.reports[i].rank, false) == set)
			s.reports[n++] = s.reports[i];
	must(n == 4);
	q = plan_reports(SCENE_ID, s.reports, n, &why);
	must(q != NULL);
	ok(q->nranks == 8 && q->verdict == SET_LOST,
	   "the ranks of the other set count as lost");
	ok(same_set(set, set_of(q, 3, false)) &&
		   same_set(set_of(p, 3, true), set_of(q, 3, true)),
	   "the sets of the reports are as in the plan of all");
	ok(set_of(q, 3, false)->verdict == SET_REBUILDABLE,
	   "what is lost of them can be rebuilt");
	red = set_of(q, 3, false)->members[q->ranks[3].data_member].red;
	ok(red->header_size > 0 && red->descriptor.image_size > 0 &&
		   red->descriptor.name != NULL &&
		   red->body_start == red->header_size &&
		   red->body_size == set->chunk,
	   "the image of a lost redundancy file");
	said_fini(&s);
}

int
main(void)
{
	each_scheme((struct scene){ SCENE(XOR, 8, 2, 1, 2) });
	each_scheme((struct scene){ SCENE(RS, 8, 1, 3, 2) });
	each_scheme((struct scene){ SCENE(PARTNER, 8, 2, 1, 2) });
	each_scheme((struct scene){ SCENE(SINGLE, 8, 8, 0, 2) });
	return tap_run();
}
