/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of a plan made by hand. */
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "report/condition.h"
#include "report/hint.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "rescue/deep.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "style.h"
#include "tap.h"

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

static void
test_whole(void)
{
	struct sample s;
	struct buf b = BUF_INIT;
	char text[256];

	sample_init(&s);
	is_str(report_spare(&s.p, false, text, sizeof(text)),
	       "the loss of any 1 rank in each set", "spare of a whole set");
	is_str(report_scheme(&s.p, text, sizeof(text)), "XOR, 1 set of 4",
	       "scheme");
	is_str(report_lacks(&s.p, text, sizeof(text)), "nothing", "lacks");
	report_summary(&s.p, NULL, NULL, plan_data_status(&s.p), &b);
	ok(has(&b, "dataset 7\n") && has(&b, "state       whole\n"), "summary");
	buf_clear(&b);
	report_files(&s.p, false, 0, &b);
	ok(b.len == 0, "no list of problems");
	report_files(&s.p, true, 0, &b);
	ok(has(&b, "a/\\x1b[1m") && !has(&b, "\033"),
	   "names are made printable");
	buf_clear(&b);
	report_files(&s.p, true, 3, &b);
	ok(has(&b, "... and 5 more"), "a limit");
	is_int(plan_data_status(&s.p), STATUS_OK, "status");
	sample_fini(&s);
	buf_free(&b);
}

static void
test_damaged(void)
{
	const struct style plain = { .width = 20 };
	struct sample s;
	struct buf b = BUF_INIT;
	char text[256];

	sample_init(&s);
	lose(&s, 2, FATE_REBUILD);
	is_str(report_spare(&s.p, false, text, sizeof(text)), "no loss",
	       "spare now");
	is_str(report_spare(&s.p, true, text, sizeof(text)),
	       "the loss of any 1 rank in each set", "spare after a rebuild");
	is_str(report_lacks(&s.p, text, sizeof(text)),
	       "1 file (1.0 KiB) and 1 redundancy file", "lacks");
	report_map(&s.p, &plain, &b);
	ok(has(&b, "2 o\n") && has(&b, "3 #\n"),
	   "map, a cell a line where it is narrow");
	buf_clear(&b);
	report_actions(&s.p, &b);
	ok(has(&b, "XOR over the files: rank 2"), "actions");
	buf_clear(&b);
	report_sets(&s.p, &b);
	ok(has(&b, "0 of 1") && has(&b, "can be rebuilt"), "sets");
	is_int(plan_data_status(&s.p), STATUS_DAMAGED, "status");
	sample_fini(&s);
	buf_free(&b);
}

static void
test_lost(void)
{
	const struct style utf8 = { .utf8 = true, .color = true };
	struct sample s;
	struct buf b = BUF_INIT;

	sample_init(&s);
	lose(&s, 1, FATE_LOST);
	lose(&s, 3, FATE_LOST);
	report_summary(&s.p, NULL, NULL, plan_data_status(&s.p), &b);
	ok(has(&b, "state       lost: ranks 1 3 lack 2 files") &&
		   has(&b, "ranks are missing"),
	   "summary");
	buf_clear(&b);
	report_map(&s.p, &utf8, &b);
	ok(has(&b, "1 \033[31m\u00d7\033[0m"), "map in colours");
	is_int(plan_data_status(&s.p), STATUS_LOST, "status");
	/* All redundancy is lost, but no data. */
	s.files[1].fate = s.files[3].fate = FATE_KEEP;
	s.files[1].state = s.files[3].state = FILE_PRESENT;
	s.p.files_lost = s.p.files_missing = 0;
	is_int(plan_data_status(&s.p), STATUS_DAMAGED,
	       "lost redundancy is damage");
	/* A set without any remaining file. */
	s.set.n = 0;
	buf_clear(&b);
	report_sets(&s.p, &b);
	report_map(&s.p, &utf8, &b);
	ok(has(&b, "lost") && has(&b, "none of its files is left"),
	   "a set that is gone");
	sample_fini(&s);
	buf_free(&b);
}

static void
test_command(void)
{
	char t[128];

	is_str(report_command("scr_rebuild", ".", "5", t, sizeof(t)),
	       "scr_rebuild 5", "in the working directory");
	is_str(report_command("scr_index --build", "/p/a b", "5", t, sizeof(t)),
	       "scr_index -p '/p/a b' --build 5", "quoted for the shell");
	is_str(report_command("scr_index --build", "it's", "5", t, sizeof(t)),
	       "scr_index -p 'it'\\''s' --build 5", "a quote inside");
	is_str(report_command("scr_container list", ".", "a'b c", t, sizeof(t)),
	       "scr_container list 'a'\\''b c'", "a word with both");
	is_str(report_command("scr_rebuild", ".", "", t, sizeof(t)),
	       "scr_rebuild ''", "an empty word");
	is_str(report_state(99), "unknown", "no such state");
}

static int
all_reports(struct sample *s, struct buf *b, struct error *err)
{
	const struct style style = { .utf8 = true };
	const struct rebuild_result r = { .files = 1,
					  .crc_checked = 2,
					  .crc_wrong = 1 };
	struct deep_finding found = { .member = PLAN_NONE, .file = PLAN_NONE };
	const struct deep_result d = { .sets_checked = 1,
				       .nfindings = 1,
				       .findings = &found };

	report_summary(&s->p, NULL, NULL, plan_data_status(&s->p), b);
	report_sets(&s->p, b);
	report_files(&s->p, true, 0, b);
	report_map(&s->p, &style, b);
	report_actions(&s->p, b);
	report_rebuilt(&r, b);
	report_deep(&s->p, &d, b);
	return buf_check(b, err);
}

static void
test_memory(void)
{
	struct sample s;
	struct buf b = BUF_INIT;
	struct error err = ERROR_INIT;
	bool good = true;
	long n = 0;
	int rc = -1;

	sample_init(&s);
	lose(&s, 2, FATE_REBUILD);
	for (; rc < 0 && n < 10000; n++) {
		error_clear(&err);
		buf_free(&b);
		mem_fail_after(n);
		rc = all_reports(&s, &b, &err);
		mem_fail_after(-1);
		good = good && (rc == 0 || err.kind == ERROR_NOMEM);
	}
	ok(good && rc == 0 && n > 5, "each allocation may fail");
	json_free(plan_json(&s.p, true));
	sample_fini(&s);
	buf_free(&b);
}

int
main(void)
{
	test_whole();
	test_damaged();
	test_lost();
	test_command();
	test_memory();
	return tap_done();
}
