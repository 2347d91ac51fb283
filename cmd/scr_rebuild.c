/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_rebuild - compute from redundancy what a dataset has lost.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "arena.h"
#include "buf.h"
#include "dataset/plan.h"
#include "dataset/plan_json.h"
#include "dataset/report.h"
#include "dataset/survey.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "opt.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "str.h"

/* Lines about files with --dry-run. */
#define FILES_SHOWN 200

struct settings {
	int by_hand; /* a redset_type; -1: none */
	const char *prefix;
	bool dry_run, verify, partial, deep, checksums, json;
	uint64_t jobs;
	struct catalogue_options look;
};

/* What is to be rebuilt. */
struct target {
	struct arena *arena;
	struct survey_caches caches;
	enum { ON_PREFIX, IN_CACHES, BY_HAND } kind;
	const char *prefix; /* BY_HAND: or NULL */
	int64_t id;
	const char *const *dirs; /* IN_CACHES */
	size_t ndirs;
	const char *dir; /* BY_HAND: where the names are */
	const char **names;
	size_t nnames;
	bool map;
	int *locks; /* descriptors */
	size_t nlocks;
};

static const struct app_info info = {
	.name = "scr_rebuild",
	.summary = "compute from redundancy what a dataset has lost",
	.usage = "[OPTION]... DATASET|DIR...\n"
		 "       scr_rebuild --xor|--rs|--partner [map] FILE...",
	.notes = "DATASET is a name or number on the prefix; DIR its directory "
		 "below PREFIX/.scr, or its\ndirectories in the caches of one "
		 "or more nodes; FILE a redundancy file.\n"
		 "Exit status: 0 done, or nothing to do; 1 failed; 2 usage; 3 "
		 "with --dry-run: there is\nsomething to rebuild; 4 something "
		 "is lost, and nothing was changed.",
};

static bool
stop(void)
{
	return app_interrupted() != 0;
}

static void
log_line(void *arg, const char *what)
{
	(void)arg;
	app_warn("%s", what);
}

/* --- What is meant ------------------------------------------------------------ */

static const char *
prefix_dir(const struct settings *s)
{
	const char *env = getenv("SCR_PREFIX");

	if (s->prefix != NULL)
		return s->prefix;
	return env != NULL && env[0] != '\0' ? env : ".";
}

static int
target_by_name(const struct settings *s, struct target *t, const char *name,
	       struct error *err)
{
	struct catalogue *c = catalogue_open(prefix_dir(s), err);
	struct index *ix = c != NULL ? catalogue_read(c, NULL) : NULL;

	if (c == NULL)
		return -1;
	t->kind = ON_PREFIX;
	t->prefix = prefix_dir(s);
	t->id = catalogue_resolve(c, ix, name, err);
	if (t->id < 0)
		error_wrap(err, "%s", t->prefix);
	index_free(ix);
	catalogue_close(c);
	return t->id < 0 ? -1 : 0;
}

/* Several directories must be those of one dataset in several caches. */
static int
target_by_dirs(struct target *t, char **args, struct error *err)
{
	size_t found = 0;

	for (; *args != NULL; args++) {
		size_t before = found;

		if (survey_caches_add(&t->caches, *args, &found, err) < 0)
			return -1;
		if (found == before)
			return error_set(err, ERROR_USAGE,
					 "%s: not the directory of a dataset "
					 "in a cache",
					 *args);
	}
	if (t->caches.count > 1)
		return error_set(err, ERROR_USAGE,
				 "there are %zu datasets in these caches, "
				 "scr.dataset.%" PRId64 " of %s the first: "
				 "name the directories of one",
				 t->caches.count, t->caches.groups[0].id,
				 t->caches.groups[0].job);
	t->kind = IN_CACHES;
	t->id = t->caches.groups[0].id;
	t->dirs = t->caches.groups[0].dirs;
	t->ndirs = t->caches.groups[0].ndirs;
	return 0;
}

static int
target_find(const struct settings *s, struct target *t, char **args,
	    int count, struct error *err)
{
	struct survey_place at = { .kind = SURVEY_OTHER };
	struct error why = ERROR_INIT;
	int rc = survey_look(args[0], t->arena, &at, &why);

	if (rc < 0 && why.kind != ERROR_ABSENT)
		return error_set(err, why.kind, "%s", why.text);
	if (rc == 0 && at.kind == SURVEY_DATASET && count == 1) {
		t->kind = ON_PREFIX;
		t->prefix = at.prefix;
		t->id = at.id;
		return 0;
	}
	if (rc == 0 && at.kind == SURVEY_CACHE)
		return target_by_dirs(t, args, err);
	if (count == 1) {
		size_t found = 0;

		/* A checkpoint is often named like its directory. */
		if (target_by_name(s, t, args[0], &why) == 0)
			return 0;
		if (rc == 0 && at.kind == SURVEY_OTHER &&
		    survey_caches_add(&t->caches, args[0], &found, err) == 0 &&
		    found > 0)
			return target_by_dirs(t, args + 1, err);
		return error_set(err, why.kind, "%s", why.text);
	}
	if (rc == 0 && at.kind == SURVEY_OTHER)
		return target_by_dirs(t, args, err);
	return error_set(err, ERROR_USAGE,
			 "one dataset at a time, or its directories in "
			 "several caches: unexpected argument '%s'",
			 args[1]);
}

/* --- Files given by hand -------------------------------------------------------- */

static int
check_name(const struct settings *s, const char *name, struct error *err)
{
	struct redset_name n;
	size_t stem = 0;

	if (!redset_name_parse(path_base(name), &n, &stem))
		return error_set(err, ERROR_USAGE,
				 "%s: not the name of a redundancy file", name);
	if (!n.descriptor && (int)n.type != s->by_hand)
		return error_set(err, ERROR_USAGE, "%s: not a file of type %s",
				 name,
				 redset_type_name(
					 (enum redset_type)s->by_hand));
	return 0;
}

/* The directory that all names share: "." where they are below the working
 * directory, as LLNL's tools want them. */
static void
cut_dir(char *dir, const char *name)
{
	for (;;) {
		size_t len = strlen(dir);
		char *slash = NULL;

		if (str_eq(dir, "/") ||
		    (str_starts(name, dir) && name[len] == '/'))
			return;
		slash = strrchr(dir, '/');
		if (slash == NULL)
			return;
		slash[slash == dir] = '\0';
	}
}

static int
target_names(const struct settings *s, struct target *t, char **args,
	     struct error *err)
{
	struct buf norm = BUF_INIT;
	char *dir = NULL;
	int rc = -1;

	for (size_t i = 0; i < t->nnames; i++) {
		if (check_name(s, args[i], err) < 0 ||
		    path_normal(args[i], &norm, err) < 0)
			goto out;
		t->names[i] = arena_strdup(t->arena, norm.data);
		if (t->names[i] == NULL)
			goto no_memory;
		if (path_is_clean(norm.data))
			continue;
		if (dir == NULL) {
			dir = arena_strdup(t->arena, norm.data);
			if (dir == NULL)
				goto no_memory;
			*strrchr(dir, '/') = '\0';
		}
	}
	for (size_t i = 0; dir != NULL && i < t->nnames; i++)
		cut_dir(dir, t->names[i]);
	for (size_t i = 0; dir != NULL && i < t->nnames; i++) {
		size_t len = strlen(dir);

		if (!str_starts(t->names[i], dir) || t->names[i][len] != '/') {
			rc = error_set(err, ERROR_USAGE,
				       "%s and %s: no directory in common",
				       args[0], args[i]);
			goto out;
		}
		t->names[i] += len + 1;
	}
	t->dir = dir != NULL ? dir : ".";
	rc = 0;
	goto out;
no_memory:
	error_set(err, ERROR_NOMEM, "out of memory");
out:
	buf_free(&norm);
	return rc;
}

static int
target_by_hand(const struct settings *s, struct target *t, char **args,
	       int count, struct error *err)
{
	static const char *const words[] = { "map", "xor", "rs", "partner" };
	struct survey_place at = { .kind = SURVEY_OTHER };

	t->kind = BY_HAND;
	t->id = -1;
	for (size_t i = 0; i < 4 && count > 0; i++) {
		if (!str_eq(args[0], words[i]))
			continue;
		t->map = i == 0;
		args++;
		count--;
		break;
	}
	if (count == 0)
		return error_set(err, ERROR_USAGE, "no redundancy file given");
	t->nnames = (size_t)count;
	t->names = arena_alloc(t->arena, t->nnames, sizeof(*t->names));
	if (t->names == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	if (target_names(s, t, args, err) < 0 ||
	    survey_look(t->dir, t->arena, &at, err) < 0)
		return -1;
	t->prefix = s->prefix;
	if (t->prefix == NULL && at.kind == SURVEY_DATASET)
		t->prefix = at.prefix;
	return 0;
}

/* --- Locks ------------------------------------------------------------------------- */

/* Wait until nobody else works on the dataset whose metadata are in `dir`.  A
 * directory that is not there, or a file system without locks, is left to what
 * comes after. */
static int
lock_dir(struct target *t, const char *dir, struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock = -1;

	if (fd < 0)
		return 0;
	lock = io_trylock(fd, CATALOGUE_DIR_LOCK, true, &why);
	if (lock < 0 && why.kind == ERROR_SYSTEM &&
	    why.errnum == EWOULDBLOCK) {
		app_warn("%s: somebody else works on it, waiting", dir);
		error_clear(&why);
		lock = io_lock(fd, CATALOGUE_DIR_LOCK, true, &why);
	}
	close(fd);
	if (lock >= 0) {
		t->locks[t->nlocks++] = lock;
		return 0;
	}
	if (why.kind == ERROR_SYSTEM &&
	    (why.errnum == ENOLCK || why.errnum == ENOSYS ||
	     why.errnum == EOPNOTSUPP)) {
		app_warn("%s: this file system has no locks: do not work on "
			 "one dataset with two commands at once",
			 dir);
		return 0;
	}
	return error_set(err, why.kind, "%s: cannot lock: %s", dir, why.text);
}

static int
target_lock(struct target *t, struct error *err)
{
	const char *dir = NULL;

	t->locks = mem_calloc(t->ndirs + 1, sizeof(*t->locks));
	if (t->locks == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	if (t->kind == BY_HAND)
		return lock_dir(t, t->dir, err);
	if (t->kind == ON_PREFIX) {
		dir = arena_printf(t->arena, "%s/.scr/scr.dataset.%" PRId64,
				   t->prefix, t->id);
		return dir == NULL ? error_set(err, ERROR_NOMEM,
					       "out of memory")
				   : lock_dir(t, dir, err);
	}
	for (size_t i = 0; i < t->ndirs; i++) {
		dir = arena_printf(t->arena, "%s/.scr", t->dirs[i]);
		if (dir == NULL)
			return error_set(err, ERROR_NOMEM, "out of memory");
		if (lock_dir(t, dir, err) < 0)
			return -1;
	}
	return 0;
}

static void
target_fini(struct target *t)
{
	for (size_t i = 0; i < t->nlocks; i++)
		close(t->locks[i]);
	mem_free(t->locks);
	survey_caches_fini(&t->caches);
	arena_free(t->arena);
}

/* --- The work ------------------------------------------------------------------------ */

static struct plan *
make_plan(const struct settings *s, const struct target *t, bool checksums,
	  struct error *err)
{
	const struct plan_options po = {
		.flags = PLAN_HEADERS | (checksums ? PLAN_CHECKSUMS : 0u),
		.moved_from = s->look.moved_from,
		.par = s->look.par,
		.progress = s->look.progress,
	};
	struct catalogue *c = NULL;
	struct plan *p = NULL;

	if (t->kind == BY_HAND)
		return plan_files(t->dir, t->prefix, t->names, t->nnames,
				  t->map, &po, err);
	if (t->kind == IN_CACHES)
		return plan_caches(t->dirs, t->ndirs, &po, err);
	c = catalogue_open(t->prefix, err);
	if (c != NULL)
		p = catalogue_plan(c, t->id, po.flags, &s->look, err);
	catalogue_close(c);
	return p;
}

/* What --deep finds to be wrong, and can tell apart, is an erasure. */
static int
mark_deep(const struct settings *s, struct plan *p, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	int rc = 0;

	if (deep_check(p, s->look.par, s->look.memory, s->look.progress, &r,
		       err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < r.nfindings; i++) {
		const struct deep_finding *f = &r.findings[i];
		struct error why = ERROR_INIT;

		deep_error(p, f, &why);
		if (f->member == PLAN_NONE ||
		    (!f->in_body && f->file == PLAN_NONE)) {
			rc = error_set(err, ERROR_DAMAGED, "%s", why.text);
			break;
		}
		app_warn("%s", why.text);
		rc = f->in_body ? plan_mark_body(p, f->set, f->member, err)
				: plan_mark(p, f->file, FILE_WRONG_CRC, err);
	}
	deep_free(&r);
	return rc;
}

/* Read everything again. */
static int
verify(const struct settings *s, const struct target *t, struct json *j,
       struct error *err)
{
	struct plan *p = make_plan(s, t, true, err);
	struct deep_result r = { .nfindings = 0 };
	char bytes[32];
	int rc = -1;

	if (p == NULL)
		return -1;
	if (plan_status(p) != STATUS_OK) {
		plan_error(p, err);
		error_wrap(err, "after the rebuild");
		goto out;
	}
	if (deep_check(p, s->look.par, s->look.memory, s->look.progress, &r,
		       err) < 0)
		goto out;
	if (j != NULL)
		json_set(j, "verified", plan_json_deep(p, &r));
	rc = 0;
	if (r.nfindings > 0) {
		rc = deep_error(p, &r.findings[0], err);
		error_wrap(err, "read again");
	} else if (j == NULL && app_verbosity() >= 0) {
		printf("verified: %zu %s read again (%s), data and redundancy "
		       "agree\n",
		       r.sets_checked, str_plural(r.sets_checked, "set"),
		       str_bytes(bytes, sizeof(bytes), r.bytes_read));
	}
	deep_free(&r);
out:
	plan_free(p);
	return rc;
}

/* Print and empty `text`. */
static void
print(struct buf *text)
{
	if (text->len > 0 && app_verbosity() >= 0)
		fwrite(text->data, 1, text->len, stdout);
	buf_clear(text);
}

static int
show_plan(const struct settings *s, struct plan *p, struct json *j,
	  struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = 0;

	if (s->json) {
		json_set(j, "plan", plan_json(p, false));
		return 0;
	}
	if (report_summary(p, NULL, &text, err) < 0 ||
	    buf_add_str(&text, "\nwhat a rebuild would do\n") < 0 ||
	    report_actions(p, &text, err) < 0 ||
	    buf_add_char(&text, '\n') < 0 ||
	    report_files(p, false, app_verbosity() > 0 ? 0 : FILES_SHOWN,
			 &text, err) < 0)
		rc = -1;
	print(&text);
	buf_free(&text);
	return rc;
}

static struct json *
result_json(const struct rebuild_result *r)
{
	struct json *j = json_new_object();

	json_set_u64(j, "files", r->files);
	json_set_u64(j, "filemaps", r->maps);
	json_set_u64(j, "redundancy", r->redundancy);
	json_set_u64(j, "descriptors", r->descriptors);
	json_set_u64(j, "bytes_read", r->bytes_read);
	json_set_u64(j, "bytes_written", r->bytes_written);
	json_set_u64(j, "checksums_compared", r->crc_checked);
	json_set_u64(j, "checksums_wrong", r->crc_wrong);
	return j;
}

/* Tell what was done, and what to do next. */
static int
show_result(const struct settings *s, const struct target *t,
	    const struct rebuild_result *r, struct json *j, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = 0;

	if (s->json) {
		json_set(j, "rebuilt", result_json(r));
		return 0;
	}
	rc = report_rebuilt(r, &text, err);
	print(&text);
	buf_free(&text);
	if (rc == 0 && t->kind == ON_PREFIX && app_verbosity() >= 0)
		printf("the index is as it was: scr_index --build %" PRId64
		       " puts the dataset into it\n",
		       t->id);
	return rc;
}

/* Carry out the plan.  Returns an exit status; errors go to *err. */
static int
carry_out(const struct settings *s, const struct target *t, struct plan *p,
	  struct json *j, struct error *err)
{
	struct rebuild_result r = { .files = 0 };
	int status = survey_plan_status(p);
	struct rebuild_options ro = {
		.par = s->look.par,
		.memory = s->look.memory,
		/* While the data are all there, lost redundancy must not keep
		 * the rest from being restored. */
		.partial = s->partial || status == STATUS_DAMAGED,
		.progress = s->look.progress,
		.stop = stop,
		.log = log_line,
	};

	if (status == STATUS_LOST && !s->partial) {
		plan_error(p, err);
		return STATUS_LOST;
	}
	if (rebuild(p, &ro, &r, err) < 0)
		return error_status(err->kind);
	if (show_result(s, t, &r, j, err) < 0)
		return STATUS_FAILED;
	if (plan_status(p) == STATUS_LOST) {
		plan_error(p, err); /* the rest of it */
		return status;
	}
	return STATUS_OK;
}

static int
work(const struct settings *s, const struct target *t, struct json *j,
     struct error *err)
{
	struct plan *p = make_plan(s, t, s->checksums, err);
	int status = STATUS_OK;

	if (p == NULL)
		return error_status(err->kind);
	if (s->deep && mark_deep(s, p, err) < 0) {
		status = error_status(err->kind);
		goto out;
	}
	status = plan_status(p);
	if (status == STATUS_OK) {
		if (!s->json && app_verbosity() >= 0)
			printf("nothing to rebuild: all files, filemaps and "
			       "redundancy files are there\n");
	} else if (s->dry_run) {
		status = survey_plan_status(p);
		if (show_plan(s, p, j, err) < 0)
			status = STATUS_FAILED;
		goto out;
	} else {
		status = carry_out(s, t, p, j, err);
	}
	if (status == STATUS_OK && s->verify && !s->dry_run &&
	    verify(s, t, j, err) < 0)
		status = error_status(err->kind);
out:
	plan_free(p);
	return status;
}

static int
run(struct settings *s, char **args, int count)
{
	struct error err = ERROR_INIT;
	struct json *j = s->json ? json_new_object() : NULL;
	struct target t = { .arena = arena_new() };
	int status = STATUS_FAILED, rc = -1;

	if (t.arena == NULL || survey_caches_init(&t.caches, &err) < 0) {
		error_set(&err, ERROR_NOMEM, "out of memory");
		goto out;
	}
	rc = s->by_hand >= 0 ? target_by_hand(s, &t, args, count, &err)
			     : target_find(s, &t, args, count, &err);
	if (rc == 0)
		s->look.par = par_new(s->jobs > 0 ? (unsigned)s->jobs
						  : par_cpus(),
				      &err);
	if (s->look.par == NULL || (!s->dry_run && target_lock(&t, &err) < 0)) {
		status = error_status(err.kind);
		goto out;
	}
	s->look.progress = progress_start("rebuild", app_verbosity() < 0);
	status = work(s, &t, j, &err);
	progress_end(s->look.progress);
out:
	par_free(s->look.par);
	target_fini(&t);
	if (s->json) {
		json_set_i64(j, "status", status);
		if (err.kind != ERROR_NONE)
			json_set_str(j, "error", err.text);
		rc = json_print(j, stdout, NULL);
		if (rc < 0)
			status = STATUS_FAILED;
	}
	/* What is told may be worse than what came of it: --partial. */
	if (err.kind != ERROR_NONE)
		app_report(status, &err);
	return status;
}

/* --- The command line ------------------------------------------------------------------ */

/* LLNL's helpers bear the scheme in their names. */
static int
scheme_by_name(const char *name)
{
	static const char *const names[] = {
		[REDSET_PARTNER] = "scr_rebuild_partner",
		[REDSET_XOR] = "scr_rebuild_xor",
		[REDSET_RS] = "scr_rebuild_rs",
	};

	for (int i = 0; i < REDSET_TYPES; i++)
		if (names[i] != NULL && str_eq(path_base(name), names[i]))
			return i;
	return -1;
}

int
main(int argc, char **argv)
{
	struct settings s = { .by_hand = scheme_by_name(argv[0]) };
	struct catalogue_options *o = &s.look;
	int count = 0;
	const struct opt opts[] = {
		OPT_GROUP("What to do"),
		OPT_FLAG('n', "dry-run", &s.dry_run,
			 "only say what would be computed from what"),
		OPT_FLAG(0, "partial", &s.partial,
			 "rebuild what can be, although other sets are lost"),
		OPT_FLAG(0, "checksums", &s.checksums,
			 "first read files whose checksum is recorded: wrong "
			 "ones are rebuilt"),
		OPT_FLAG(0, "deep", &s.deep,
			 "first compare redundancy with data: what is known to "
			 "be wrong is rebuilt"),
		OPT_FLAG(0, "verify", &s.verify,
			 "read all of it again afterwards, and compare"),
		OPT_GROUP("Where"),
		OPT_STRING('p', "prefix", &s.prefix, "DIR", OPT_DIR,
			   "prefix directory (default $SCR_PREFIX, then .)"),
		OPT_STRING(0, "moved-from", &o->moved_from, "DIR", OPT_ANY,
			   "where the prefix was when the job wrote it"),
		OPT_GROUP("Redundancy files given by hand"),
		OPT_VERB(0, "xor", &s.by_hand, REDSET_XOR, "of type XOR"),
		OPT_VERB(0, "rs", &s.by_hand, REDSET_RS,
			 "of type Reed-Solomon"),
		OPT_VERB(0, "partner", &s.by_hand, REDSET_PARTNER,
			 "of type PARTNER"),
		OPT_GROUP("Work"),
		OPT_FLAG(0, "json", &s.json, "print JSON"),
		OPT_U64('j', "jobs", &s.jobs, "N", 1, 1024,
			"threads (default: one a processor)"),
		OPT_BYTES(0, "memory", &o->memory, "SIZE", 1 << 20,
			  UINT64_C(1) << 50,
			  "memory for buffers (default: 4 MiB a thread)"),
		OPT_END,
	};

	argv = app_start(&info, argc, argv, opts, &count);
	if (count == 0)
		app_usage("which dataset? give its name, number or directory");
	app_catch_signals();
	return app_finish(run(&s, argv, count));
}
