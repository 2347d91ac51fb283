/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_rebuild - rebuild lost files of a dataset from redundancy.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "find/subject.h"
#include "json.h"
#include "lock.h"
#include "opt.h"
#include "rebuild/part.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "rescue/deep.h"
#include "rescue/part.h"
#include "rescue/plan.h"
#include "scheme/scheme.h"
#include "stop.h"
#include "str.h"

/* Lines about files that --dry-run shows without -v. */
#define FILES_SHOWN 200

struct settings {
	int by_hand; /* scheme of the given sets: a redset_type; -1: none */
	const char *protect; /* name of a scheme, or NULL */
	uint64_t set_size, failures;
	const char *prefix;
	bool dry_run, verify, partial;
	struct part part; /* of other nodes */
	struct catalogue_options look;
};

static const struct app_info info = {
	.name = "scr_rebuild",
	.summary = "rebuild missing and damaged files of a dataset",
	.usage = "[OPTION]... DATASET|DIR...\n"
		 "       scr_rebuild --SCHEME [map] FILE...",
	.notes = "DATASET is a name or number on the prefix, name:NAME or "
		 "id:NUMBER; DIR its\n"
		 "directory below PREFIX/.scr, or its directories in the "
		 "caches of one or more\n"
		 "nodes; FILE a redundancy file, SCHEME its type (--xor "
		 "and so on).\n"
		 "Exit status: 0 done, or nothing to do; 1 failed; 2 "
		 "usage; 3 damaged, but no\n"
		 "data are lost (--dry-run: they can be rebuilt); 4 data are "
		 "lost.",
};

/* --- The work --- */

/* What the command to run next depends on. */
struct outcome {
	struct next_case next;
	bool barred;	    /* the job may not read some files */
	struct json *json;  /* the answer; or NULL */
	size_t sets;	    /* that --deep compared */
	bool sums, deep;    /* the rebuild compared checksums, redundancy */
	struct share share; /* what other nodes have done */
};

/* Mark damage found by --deep as lost, so that it is rebuilt.  Fails if the
 * damaged file cannot be identified. */
static int
look_closer(const struct settings *s, struct plan *p, struct outcome *o,
	    struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	int rc = 0;

	if (rebuild_search(p, s->look.deep, s->part.checksums && s->dry_run,
			   &s->look.work, &r, err) < 0)
		return -1;
	o->next.undecided = deep_stuck(p, &r);
	o->sets = r.sets_checked + o->share.sets;
	for (size_t i = 0; rc == 0 && i < r.nfindings; i++) {
		struct error why = ERROR_INIT;

		deep_error(p, &r.findings[i], &why);
		if (!deep_is_open(p, &r.findings[i]))
			app_warn("%s", why.text);
		else
			rc = error_pass(err, &why);
		if (rc < 0 && r.findings[i].unread == NULL)
			error_remedy(err, REMEDY_CHOOSE);
	}
	deep_free(&r);
	return rc;
}

/* Verify the rebuilt dataset: read all data and redundancy again. */
static int
verify(const struct settings *s, const struct subject *t, struct catalogue *c,
       struct json *j, struct error *err)
{
	struct catalogue_options o = s->look;
	struct deep_result r = { .nfindings = 0 };
	struct plan *p = NULL;
	int rc = -1;

	o.deep = true;
	p = subject_plan(t, c, true, &o, err);
	if (p == NULL)
		return -1;
	if (plan_status(p) != STATUS_OK) {
		plan_error(p, err);
		error_wrap(err, "after the rebuild");
	} else if (deep_check(p, &s->look.work, &r, err) == 0) {
		rc = 0;
		if (j != NULL)
			json_set(j, "verified", plan_json_deep(p, &r));
		if (r.nfindings > 0) {
			rc = deep_error(p, &r.findings[0], err);
			error_wrap(err, "read again");
		} else if (j == NULL && s->verify && app_verbosity() >= 0) {
			printf("verified: %zu %s read again (%s), data and "
			       "redundancy agree\n",
			       str_count(r.sets_checked, "set"),
			       str_size(r.bytes_read));
		}
		deep_free(&r);
	}
	plan_free(p);
	return rc;
}

/* Add the command that does `what` to *err. */
static void
advise(struct error *err, const char *command, const char *prefix,
       const char *word, const char *what)
{
	app_advise(err, str_printed(9000, "%s %s",
				    report_command_str(command, prefix, word),
				    what));
}

/* Run the rebuild; a dry run checks the room for it.  Returns an exit status;
 * errors go to *err. */
static int
carry_out(const struct settings *s, struct subject *t, struct catalogue *c,
	  struct plan *p, struct outcome *o, struct error *err)
{
	struct rebuild_result r = { .files = 0 };
	int status = plan_data_status(p), rc = 0, lock = -2;
	struct work w = s->look.work;
	struct owners_guard owners = { c, t->id, .o = &s->look };
	struct rebuild_options ro = {
		.work = &w,
		.guard = { c != NULL ? owners_ask : NULL, &owners,
			   owners_failed },
		.extent = s->partial ? REBUILD_UNPROVED : REBUILD_ALL,
	};
	struct buf text = BUF_INIT;

	if (p->was != NULL || (p->verdict == SET_LOST && !s->partial &&
			       status != STATUS_DAMAGED)) {
		plan_error(p, err);
		if (s->dry_run) /* the plan says so */
			error_clear(err);
		return status;
	}
	w.detail = w.log; /* report damage found while reading */
	if (c != NULL && !s->dry_run)
		lock = plan_lock_sets(p, app_stop, err);
	ro.unlocked = lock == -2 && o->share.written;
	rc = lock == -1 ? -1 : rebuild(p, &ro, &r, err);
	lock_shares_close(p->places[0].meta_fd, lock);
	rebuild_result_add(&r, &o->share.rebuilt);
	o->sums = r.crc_checked > 0 || r.crc_wrong > 0;
	o->deep = r.deep;
	o->next.undecided = o->next.undecided || r.undecided ||
			    (p->undecided && !s->dry_run);
	if (rc < 0)
		return error_status(err->kind);
	if (s->dry_run)
		return status;
	if (app_json()) {
		json_set(o->json, "rebuilt", rebuild_json(&r));
	} else {
		report_rebuilt(&r, &text);
		app_print_unless_quiet(&text);
		if (t->kind == SUBJECT_CACHES && app_verbosity() >= 0 &&
		    p->verdict != SET_LOST)
			printf("rebuilt for the scavenge only, not for a "
			       "restart from these caches: save the dataset "
			       "with scr_postrun\n");
	}
	if (p->verdict == SET_LOST) {
		plan_error(p, err); /* report the part that is lost */
		return plan_data_status(p);
	}
	if (p->unproved != NULL)
		return STATUS_FAILED;
	return p->undecided ? STATUS_DAMAGED : STATUS_OK;
}

/* What a rebuild would do. */
static void
show_plan(const struct plan *p, struct json *j)
{
	struct buf text = BUF_INIT;

	if (app_json()) {
		json_set(j, "plan", plan_json(p, false));
		return;
	}
	report_summary(p, NULL, NULL, plan_data_status(p), &text);
	if (p->was == NULL) {
		buf_add_str(&text, "\nwhat a rebuild would do\n");
		report_actions(p, &text);
	}
	buf_add_char(&text, '\n');
	report_files(p, false, app_verbosity() > 0 ? 0 : FILES_SHOWN, &text);
	app_print_unless_quiet(&text);
}

/* There is nothing to rebuild, as far as was compared.  `mend`: but something
 * else is to be repaired. */
static void
say_nothing(const struct settings *s, const struct plan *p, bool sums,
	    size_t sets, enum error_remedy mend)
{
	size_t known = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		known += p->files[i].has_crc;
	printf("%s: all files, filemaps and redundancy files are present",
	       mend == REMEDY_NONE ? "nothing to rebuild"
	       : mend == REMEDY_UNPACK
		       ? "damaged: a container, which no rebuild "
			 "repairs; not damaged"
		       : "damaged: the map of the containers, "
			 "which no rebuild repairs; not damaged");
	if (sums)
		printf("; checksums of %zu of %zu files compared", known,
		       p->nfiles);
	if (s->look.deep)
		printf(sets > 0 ? "; data and redundancy agree"
				: "; no redundancy to compare the data with");
	if (!sums || !s->look.deep)
		printf("; not compared: %s%s%s",
		       sums ? "" : "checksums (--checksums)",
		       sums || s->look.deep ? "" : ", ",
		       s->look.deep ? "" : "redundancy (--deep)");
	printf("\n");
}

/* `c` is that of the prefix, NULL if the dataset is in caches. */
static int
work_on(const struct settings *s, struct subject *t, struct catalogue *c,
	struct json *j, struct outcome *o, struct error *err)
{
	struct plan *p = NULL;
	int64_t replaced = 0;
	int status = STATUS_OK;
	char flaw[ERROR_TEXT_MAX];
	enum error_remedy mend = REMEDY_NONE;
	bool sums = false, rebuilt = false;

	if (c != NULL &&
	    catalogue_replaced(c, t->id, &s->look, &replaced, err) < 0)
		return error_status(err->kind);
	sums = s->part.checksums || replaced > 0;
	p = part_share(&s->part, t, c, replaced, &o->share, err);
	if (p == NULL) {
		if (err->kind == ERROR_ABSENT && t->kind == SUBJECT_PREFIX)
			advise(err, "scr_index --verify", t->prefix,
			       catalogue_word_now_str(c, t->id),
			       "checks what was flushed");
		return error_status(err->kind);
	}
	if (catalogue_refuse_unproved(p, replaced, err) < 0 ||
	    look_closer(s, p, o, err) < 0) {
		status = error_worse_status(error_status(err->kind),
					    plan_data_status(p));
		goto out;
	}
	status = plan_status(p);
	o->barred = p->barred > 0;
	plan_find_way(p, &o->next.way);
	if (status == STATUS_OK && !s->dry_run &&
	    rebuild_finish(p, &s->look.work, err) < 0) {
		status = error_status(err->kind);
		goto out;
	}
	/* A rebuild does not repair a damaged map; files are rebuilt first. */
	mend = c != NULL ? catalogue_map_flaw(p, flaw, sizeof(flaw))
			 : REMEDY_NONE;
	if (mend != REMEDY_NONE)
		app_warn("dataset %" PRId64 ": %s", t->id, flaw);
	if (status == STATUS_OK && !rebuild_wrote(&o->share.rebuilt)) {
		if (!app_json() && app_verbosity() >= 0)
			say_nothing(s, p, sums, o->sets, mend);
	} else {
		if (s->dry_run)
			show_plan(p, j);
		status = carry_out(s, t, c, p, o, err);
		rebuilt = status == STATUS_OK;
	}
	/* What --deep has mended is compared again. */
	if (status == STATUS_OK && (s->verify || (s->look.deep && rebuilt)) &&
	    !s->dry_run) {
		subject_add_rebuilt(t, p);
		if (verify(s, t, c, j, err) < 0)
			status = error_status(err->kind);
		if (status == STATUS_DAMAGED) {
			o->next.remedy = REMEDY_LOOK;
			o->next.deep = true;
			o->next.checksums = s->part.checksums;
		}
	}
	if (status == STATUS_OK && mend != REMEDY_NONE) {
		status = STATUS_DAMAGED;
		o->next.remedy = mend;
	}
out:
	plan_free(p);
	return status;
}

/* --protect: add redundancy to a dataset that has none. */
static int
make_safe(const struct settings *s, const struct subject *t,
	  struct catalogue *c, struct json *j, struct error *err)
{
	const struct protect_options po = {
		.type = redset_type_of_word(s->protect),
		.set_size = (uint32_t)s->set_size,
		.failures = (uint32_t)s->failures,
		.o = &s->look,
	};
	struct rebuild_result r = { .files = 0 };

	if (t->kind != SUBJECT_PREFIX) {
		error_set(err, ERROR_USAGE,
			  "--protect is for datasets on a prefix");
		return STATUS_USAGE;
	}
	if (protect(c, t->id, &po, &r, err) < 0)
		return error_status(err->kind);
	if (j != NULL)
		json_set(j, "protected", rebuild_json(&r));
	else if (app_verbosity() >= 0 && r.redundancy == 0)
		printf("dataset %" PRId64 ": has this redundancy already\n",
		       t->id);
	else if (app_verbosity() >= 0)
		printf("dataset %" PRId64 ": %s %zu redundancy files, %s\n",
		       t->id,
		       s->dry_run ? "would be protected by" : "protected by",
		       r.redundancy, str_size(r.bytes_written));
	if (s->verify && !s->dry_run && verify(s, t, c, j, err) < 0)
		return error_status(err->kind);
	return STATUS_OK;
}

/* Find the command to run next; "": there is none.  `why`: what stopped the
 * rebuild. */
static void
find_next(const struct settings *s, const struct subject *t,
	  struct catalogue *c, struct next_case n, const struct error *why,
	  char next[static ERROR_TEXT_MAX])
{
	const bool lost = n.status == STATUS_LOST || why->kind == ERROR_ABSENT;

	next[0] = '\0';
	if (n.status == STATUS_USAGE || why->remedy == REMEDY_DECIDE ||
	    (s->dry_run && n.status == STATUS_OK))
		return;
	if (n.remedy != REMEDY_LOOK) {
		n.deep = s->look.deep;
		n.checksums = s->part.checksums;
	}
	/* What was found, what stopped a rebuild, as a full disk, or what
	 * --protect needs first. */
	if ((n.status == STATUS_FAILED && n.way.obstacle[0] != '\0') ||
	    (!n.undecided &&
	     ((s->dry_run && n.remedy == REMEDY_NONE &&
	       n.status != STATUS_FAILED) ||
	      (n.status == STATUS_FAILED && error_may_pass(why)) ||
	      (s->protect != NULL && n.status == STATUS_DAMAGED))))
		n.remedy = REMEDY_REBUILD;
	/* A refusal says all.  A report also knows the records that no rebuild
	 * uses, and other nodes. */
	n.look = why->kind != ERROR_UNSAFE;
	if (lost || (t->kind == SUBJECT_CACHES && n.remedy == REMEDY_NONE))
		n.remedy = n.look ? REMEDY_LOOK : REMEDY_NONE;
	if (t->kind == SUBJECT_CACHES && n.status != STATUS_OK) {
		report_next_dirs(&n, t->dirs, t->ndirs, s->prefix, next);
	} else if (c != NULL) {
		/* The report knows more. */
		if (lost) {
			n.status = STATUS_FAILED;
			n.way = (struct plan_way){ .was = "" };
		}
		report_next_now(c, t->id, &n, next);
	}
}

static int
run(struct settings *s, const char *const *args, size_t count)
{
	struct error err = ERROR_INIT;
	struct json *j = app_json() ? json_new_object() : NULL;
	struct subject t;
	struct catalogue *c = NULL;
	struct outcome o = { .next.status = STATUS_FAILED, .json = j };
	char next[ERROR_TEXT_MAX] = "";
	int status = STATUS_FAILED;
	int rc = s->by_hand >= 0
			 ? subject_find_files(&t, s->prefix,
					      (enum redset_type)s->by_hand,
					      args, count, &err)
			 : subject_find(&t, app_prefix(s->prefix), args, count,
					&err);

	if (rc < 0 && err.kind == ERROR_ABSENT && t.prefix != NULL)
		advise(&err, "scr_inspect", t.prefix, NULL, "shows its state");
	/* Also for redundancy files on the command line, if they belong to a
	 * dataset. */
	if (rc == 0 && t.prefix != NULL && t.id > 0) {
		c = catalogue_open(t.prefix, &err);
		rc = c == NULL ? -1 : 0;
		if (c != NULL)
			catalogue_stop_on(c, app_stop);
	}
	/* Caches, and files given by hand, may be others on each node. */
	if (rc == 0 && t.kind == SUBJECT_PREFIX && s->part.part == NULL &&
	    share_join(&s->part.nodes))
		exit(STATUS_OK);
	if (rc == 0 && share_lacks_nodes(&s->part.nodes))
		app_usage("--remote and --node-timeout need --nodes");
	if (rc == 0 && s->part.nodes.list != NULL && t.kind != SUBJECT_PREFIX)
		rc = error_set(&err, ERROR_USAGE,
			       "--nodes is for datasets on a prefix");
	if (rc == 0 && s->part.part != NULL &&
	    work_start(&s->look.work, (unsigned)s->part.jobs, &err) == 0)
		status = part_run(&s->part, &t, c, &err);
	else if (rc == 0 &&
		 (s->dry_run || subject_lock(&t, &s->look, &err) == 0) &&
		 app_work_start(&s->look.work, s->part.jobs, "rebuild", &err) ==
			 0)
		status = s->protect != NULL ? make_safe(s, &t, c, j, &err)
					    : work_on(s, &t, c, j, &o, &err);
	else
		status = error_status(err.kind);
	app_work_end(&s->look.work);
	if (c != NULL)
		report_remedy(&err, c, t.id);
	/* The status is that of the data, the error that of a set. */
	o.next.kept = status == STATUS_DAMAGED && err.kind == ERROR_LOST;
	o.next.status = status;
	/* What the rebuild compared shows only if it is compared. */
	s->part.checksums = s->part.checksums || o.sums || s->protect != NULL;
	s->look.deep = s->look.deep || o.deep;
	if (t.kind != SUBJECT_FILES && s->part.part == NULL &&
	    !stop_say(&err,
		      t.prefix != NULL ? t.prefix
		      : t.ndirs > 0    ? t.dirs[0]
				       : app_prefix(s->prefix),
		      o.barred)) {
		find_next(s, &t, c, o.next, &err, next);
		json_set_known_str(j, "next", next);
		app_next(next);
	}
	/* With --partial the status is not the one of the error. */
	app_report(status, &err);
	if (j != NULL)
		app_answer(j);
	catalogue_close(c);
	subject_fini(&t);
	launch_leave(&s->part.nodes.launch);
	return status;
}

/* --- The command line --- */

#define BY_HAND(NAME, word, ...) \
	OPT_VERB(0, #word, &s->by_hand, REDSET_##NAME, "of type " #NAME)

static char **
parse(struct settings *s, int argc, char **argv, int *count)
{
	struct catalogue_options *o = &s->look;
	const struct redset_format *f = NULL;
	enum redset_type type = REDSET_TYPES;
	char words[64];
	const struct opt opts[] = {
		OPT_GROUP("Rebuild"),
		OPT_FLAG('n', "dry-run", &s->dry_run,
			 "only report what would be rebuilt, and from what"),
		OPT_FLAG(0, "partial", &s->partial,
			 "rebuild the sets that can be, even if others are "
			 "lost, and from what nothing confirms"),
		OPT_FLAG(0, "checksums", &s->part.checksums,
			 "first compare recorded checksums; rebuild damaged "
			 "files"),
		OPT_FLAG(0, "deep", &o->deep,
			 "first compare redundancy with data; rebuild what is "
			 "identified as damaged"),
		OPT_FLAG(0, "verify", &s->verify,
			 "afterwards read all data and redundancy again, and "
			 "compare"),
		OPT_GROUP("Redundancy for a dataset that has none"),
		OPT_STRING(0, "protect", &s->protect,
			   scheme_made_words(words, sizeof(words)), OPT_WORDS,
			   "compute it from the files, all of which must be "
			   "present"),
		OPT_U64(0, "set-size", &s->set_size, "N", 2, 4096,
			"minimum number of ranks in a set (default 8)"),
		OPT_U64(0, "failures", &s->failures, "K", 1, 255,
			"lost ranks in each set that rs can restore (default "
			"2)"),
		OPT_GROUP("Where"),
		APP_OPT_PREFIX(&s->prefix),
		APP_OPT_MOVED_FROM(&o->moved_from),
		OPT_GROUP("Other nodes"),
		SHARE_OPTIONS(s->part.nodes),
		OPT_STRING(0, CREW_PART, &s->part.part, "PART", OPT_ANY, NULL),
		OPT_FLAG(0, SHARE_BUILD, &s->part.build, NULL),
		OPT_FLAG(0, SHARE_COMPARE, &o->compare, NULL),
		OPT_GROUP("Redundancy files given by hand"),
		REDSET_TYPES_REDUNDANT(BY_HAND),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&s->part.jobs),
		APP_OPT_MEMORY(&o->work.memory, 1 << 20,
			       "memory for buffers (default: 4 MiB for each "
			       "thread)"),
		APP_OPT_LIMIT_RATE(&o->work.rate),
		OPT_END,
	};

	argv = app_start(&info, argc, argv, opts, count);
	if (*count == 0)
		app_usage("no dataset given: its name, number or directory");
	if (s->part.nodes.list != NULL &&
	    (s->protect != NULL || s->by_hand >= 0))
		app_usage("--nodes cannot be used with --protect, or with "
			  "redundancy files");
	if (s->protect == NULL && s->set_size + s->failures > 0)
		app_usage("--set-size and --failures need --protect");
	if (s->protect == NULL)
		return argv;
	type = redset_type_of_word(s->protect);
	if (type == REDSET_TYPES || scheme_of(type)->chunk == NULL)
		app_usage("--protect: %s is not one of %s", s->protect,
			  scheme_made_words(words, sizeof(words)));
	f = redset_format(type);
	if (f->key == NULL && s->failures > f->failures)
		app_usage("--failures: %s tolerates %" PRIu32, f->word,
			  f->failures);
	if (s->by_hand >= 0 || s->partial || s->look.deep || s->part.checksums)
		app_usage("--protect can be used with --set-size, --failures, "
			  "--dry-run and --verify only");
	return argv;
}

int
main(int argc, char **argv)
{
	struct settings s = {
		.by_hand = -1,
		.look.work = { APP_WORK, .detail = app_log_note },
	};
	const char *name = app_called(argc, argv);
	enum redset_type type = REDSET_TYPES;
	int count = 0;

	/* LLNL's helper has the scheme in its name: "scr_rebuild_xor". */
	if (str_starts(name, "scr_rebuild_"))
		type = redset_type_of_word(name + strlen("scr_rebuild_"));
	if (type != REDSET_TYPES && redset_is_redundant(type))
		s.by_hand = (int)type;
	argv = parse(&s, argc, argv, &count);
	s.look.work.dry_run = s.dry_run;
	s.part.look = &s.look;
	app_catch_signals();
	return app_finish(run(&s, (const char *const *)argv, (size_t)count));
}
