/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of a plan made by hand. */
#include <stdlib.h>

#include "arena.h"
#include "json.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "rescue/deep.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "scratch.h"
#include "style.h"

#define N 4

/* A XOR set of four ranks with one file each. */
struct sample {
	struct plan p;
	struct place place;
	struct plan_rank ranks[N];
	struct plan_file files[N];
	struct plan_member members[N];
	struct plan_set set;
	uint32_t index[N];
};

static void
sample_init(struct sample *s)
{
	static const char *const paths[N] = { "a/0", "a/\033[1m", "a/2",
					      "a/3" };

	*s = (struct sample){ .place = { .root = "/p", .meta = "/p/.scr/x" } };
	for (uint32_t i = 0; i < N; i++) {
		s->index[i] = i;
		s->ranks[i] = (struct plan_rank){
			.map_known = true,
			.first_file = i,
			.nfiles = 1,
			.data_member = i,
			.map_set = PLAN_NONE,
		};
		s->files[i] = (struct plan_file){
			.rank = i,
			.path = paths[i],
			.attr = { .size = 1024 },
		};
		s->members[i] = (struct plan_member){
			.rank = i,
			.name = "reddesc",
			.list = { .known = true, .nfiles = 1 },
			.files = &s->index[i],
		};
	}
	s->set = (struct plan_set){
		.type = REDSET_XOR,
		.number = 1,
		.sets = 1,
		.n = N,
		.failures = 1,
		.spare = 1,
		.chunk = 342,
		.opened = true,
		.members = s->members,
	};
	s->p = (struct plan){
		.arena = arena_new(),
		.id = 7,
		.nplaces = 1,
		.places = &s->place,
		.nranks = N,
		.ranks = s->ranks,
		.nfiles = N,
		.files = s->files,
		.nsets = 1,
		.sets = &s->set,
		.bytes = 4096,
	};
}

static void
sample_fini(struct sample *s)
{
	arena_free(s->p.arena);
}

/* Rank `r` has lost its file and its redundancy. */
static void
lose(struct sample *s, uint32_t r, enum fate fate)
{
	s->files[r].state = FILE_MISSING;
	s->files[r].fate = fate;
	s->members[r].state = RED_MISSING;
	s->members[r].fate = fate;
	s->set.verdict = fate == FATE_LOST ? SET_LOST : SET_REBUILDABLE;
	s->set.reason = "ranks are missing";
	s->set.spare = 0;
	s->p.verdict = s->set.verdict;
	s->p.files_missing++;
	if (fate == FATE_LOST)
		s->p.files_lost++;
	else
		s->p.files_rebuild++;
}

static bool
has(const struct buf *b, const char *text)
{
	return b->data != NULL && strstr(b->data, text) != NULL;
}

/* What a prefix with such a plan does not show: scr_inspect.bats has the
 * rest. */
TEST(odd)
{
	const struct style narrow = { .width = 20 };
	const struct style utf8 = { .utf8 = true, .color = true };
	struct sample s;
	auto_buf b = BUF_INIT;

	sample_init(&s);
	report_files(&s.p, true, 3, &b);
	ok(has(&b, "a/\\x1b[1m") && !has(&b, "\033"), "printable names");
	ok(has(&b, "... and 5 more"), "a limit");
	lose(&s, 2, FATE_REBUILD);
	is_str(report_spare(&s.p, true), "the loss of any 1 rank in each set",
	       "spare after a rebuild");
	buf_clear(&b);
	report_map(&s.p, &narrow, &b);
	ok(has(&b, "2 o\n") && has(&b, "3 #\n"), "a narrow map");
	is_int(plan_data_status(&s.p), STATUS_DAMAGED, "status");
	sample_fini(&s);

	sample_init(&s);
	lose(&s, 1, FATE_LOST);
	lose(&s, 3, FATE_LOST);
	buf_clear(&b);
	report_summary(&s.p, NULL, NULL, plan_data_status(&s.p), &b);
	ok(has(&b, "state       lost: ranks 1 3 lack 2 files") &&
		   has(&b, "ranks are missing"),
	   "summary");
	is_int(plan_data_status(&s.p), STATUS_LOST, "status");
	/* A set without any remaining file. */
	s.set.n = 0;
	buf_clear(&b);
	report_sets(&s.p, &b);
	report_map(&s.p, &utf8, &b);
	ok(has(&b, "lost") && has(&b, "none of its files is left"),
	   "a set that is gone");
	sample_fini(&s);
}

TEST(command)
{
	static const struct {
		const char *verb, *prefix, *name, *want;
	} list[] = {
		{ "scr_rebuild", ".", "5", "scr_rebuild 5" },
		{ "scr_index --build", "/p/a b", "5",
		  "scr_index -p '/p/a b' --build 5" },
		{ "scr_index --build", "it's", "5",
		  "scr_index -p 'it'\\''s' --build 5" },
		{ "scr_container list", ".", "a'b c",
		  "scr_container list 'a'\\''b c'" },
		{ "scr_rebuild", ".", "", "scr_rebuild ''" },
	};
	char t[128];

	each (l, list)
		is_str(report_command(l->verb, l->prefix, l->name, t,
				      sizeof(t)),
		       l->want, "a command, quoted for the shell");
	is_str(report_state(99), "unknown", "no such state");
}

static int
all_reports(void *arg, struct error *err)
{
	const struct style style = { .utf8 = true };
	const struct rebuild_result r = { .files = 1,
					  .crc_checked = 2,
					  .crc_wrong = 1 };
	struct deep_finding found = { .member = PLAN_NONE, .file = PLAN_NONE };
	const struct deep_result d = { .sets_checked = 1,
				       .nfindings = 1,
				       .findings = &found };
	struct sample *s = arg;
	auto_buf b = BUF_INIT;
	int rc = -1;

	report_summary(&s->p, NULL, NULL, plan_data_status(&s->p), &b);
	report_sets(&s->p, &b);
	report_files(&s->p, true, 0, &b);
	report_map(&s->p, &style, &b);
	report_actions(&s->p, &b);
	report_rebuilt(&r, &b);
	report_deep(&s->p, &d, &b);
	rc = buf_check(&b, err);
	return rc;
}

TEST(no_memory)
{
	struct sample s;

	sample_init(&s);
	lose(&s, 2, FATE_REBUILD);
	ok(fail_each_alloc(all_reports, &s) > 4, "each allocation may fail");
	json_free(plan_json(&s.p, true));
	sample_fini(&s);
}
