/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - verb rebuild of scr_fti: missing and damaged files of L2 and L3.
 *
 * Other nodes can share the work (site/crew.h): the pieces are the groups of a
 * checkpoint, whose files do not depend on each other.  They only save time.
 * This process then does what a process does alone, and mostly finds nothing
 * left to do; what the others have written is seen by what was there before.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "arena.h"
#include "catalogue/share.h"
#include "dir.h"
#include "error.h"
#include "fti.h"
#include "io.h"
#include "json.h"
#include "lock.h"
#include "mem.h"
#include "path.h"
#include "str.h"

struct settings {
	struct fti_verb v;
	struct fti_select select;
	size_t found;	/* checkpoints that are selected */
	size_t written; /* files */
	/* Other nodes, or the part of one. */
	struct share_nodes nodes;
	const char *part;
	uint64_t mask; /* of the modes of new files */
	/* What was there before they were asked; count 0: they were not.  By
	 * checkpoint: the groups that they have done, and what they have
	 * read. */
	struct fti_sets before;
	bool **done;
	uint64_t *read;
};

static bool
is_candidate(const struct settings *s, const struct fti_set *set)
{
	return fti_selects(&s->select, set) &&
	       (set->level == FTI_L2 || set->level == FTI_L3);
}

/* --- Other nodes --- */

/* A checkpoint that is shared out. */
struct sharing {
	struct settings *s;
	struct crew *crew;
	struct fti_sets *sets; /* as they are now */
	struct fti_set *set;
	bool *done; /* by group */
	uint64_t read;
};

static const char *
digest_of(void *arg, size_t from, size_t to, struct arena *a, struct error *err)
{
	const struct sharing *g = arg;
	char digest[HASH_TEXT];

	return fti_set_digest(g->sets, g->set, (uint32_t)from, (uint32_t)to,
			      digest, err) < 0
		       ? NULL
		       : arena_strdup(a, digest);
}

static bool
take_answer(void *arg, size_t from, const struct json_value *j)
{
	struct sharing *g = arg;
	uint64_t read = 0;

	(void)from;
	if (json_get_u64(j, "bytes_read", UINT64_MAX, &read))
		g->read += read;
	return true;
}

/* The command of a node, without its part. */
static void
worker(const struct sharing *g, struct arena *a, const char *argv[static 16])
{
	const struct fti_verb *v = &g->s->v;
	char *program = arena_alloc(a, PATH_MAX, 1);
	struct buf dir = BUF_INIT;
	size_t n = 0;

	argv[n++] = app_beside(program, PATH_MAX, "scr_fti");
	argv[n++] = "rebuild";
	argv[n++] = arena_strdup(
		a, path_real(v->dir, &dir, NULL) == 0 ? dir.data : v->dir);
	argv[n++] = arena_printf(a, "--exec=%s", g->set->exec);
	argv[n++] = arena_printf(a, "--level=%d", (int)g->set->level);
	argv[n++] = arena_printf(a, "--id=%u", g->set->id);
	argv[n++] = arena_printf(a, "--umask=%u", (unsigned)g->s->mask);
	if (v->at.checksums)
		argv[n++] = "--checksums";
	if (v->o.heads)
		argv[n++] = "--heads";
	if (v->o.node_size > 0)
		argv[n++] = arena_printf(a, "--node-size=%u",
					 (unsigned)v->o.node_size);
	if (v->o.group_size > 0)
		argv[n++] = arena_printf(a, "--group-size=%u",
					 (unsigned)v->o.group_size);
	if (v->jobs > 0)
		argv[n++] = arena_printf(a, "--jobs=%u", (unsigned)v->jobs);
	argv[n] = NULL;
	buf_free(&dir);
}

/* The bytes to be moved for each group, for mem_free(): none if the checkpoint
 * is not plain.  NULL: stopped. */
static uint64_t *
group_bytes(const struct sharing *g, struct error *err)
{
	const struct work *w = &g->s->v.work;
	struct fti_set *set = g->set;
	uint64_t *bytes = mem_calloc(set->groups + 1, sizeof(*bytes));
	struct fti_rebuild r = { .count = 0 };

	if (fti_set_examine(g->sets, set, false, w, err) < 0) {
		mem_free(bytes);
		return NULL;
	}
	if ((set->state == FTI_SET_WHOLE ||
	     set->state == FTI_SET_REBUILDABLE) &&
	    fti_rebuild_plan(&r, g->sets, set, w, NULL) == 0 && r.unread == 0) {
		for (size_t i = 0; i < set->groups; i++)
			bytes[i] = r.moved[i];
		for (size_t i = 0; i < set->nranks * FTI_PARTS; i++) {
			const struct fti_rank *of = &set->ranks[i / FTI_PARTS];
			const struct fti_entry *e =
				of->parts[i % FTI_PARTS].entry;

			if (g->s->v.at.checksums && !g->done[of->group] &&
			    e != NULL)
				bytes[of->group] += e->size;
		}
		/* Only this process changes metadata. */
		for (size_t i = 0; i < set->nranks; i++)
			if (set->level == FTI_L3 && set->posix &&
			    (set->ranks[i].posix == NULL ||
			     set->ranks[i].posix->parity_sum == NULL))
				bytes[set->ranks[i].group] = 0;
	}
	fti_rebuild_fini(&r);
	return bytes;
}

/* One round.  *again: nodes were lost, and others are left. */
static int
share_round(struct sharing *g, bool *again, struct error *err)
{
	const char *argv[16];
	struct crew_task task = {
		.argv = argv,
		.what = "on other nodes",
		.count = g->set->groups,
		.digest = digest_of,
		.done = g->done,
		.work = &g->s->v.work,
		.answer = take_answer,
		.arg = g,
	};
	struct arena *a = arena_new();
	uint64_t *bytes = group_bytes(g, err), total = 0;
	size_t lost = 0, failed = 0;
	int rc = bytes == NULL ? -1 : 0;

	worker(g, a, argv);
	task.bytes = bytes;
	for (size_t i = 0; rc == 0 && i < task.count; i++)
		total += bytes[i];
	if (total > 0)
		rc = crew_work(g->crew, &task, &lost, &failed, err);
	*again = rc == 0 && lost > 0 && g->crew->nodes.count > 0;
	mem_free(bytes);
	arena_free(a);
	return rc;
}

/* The same checkpoint, with as many groups, or NULL. */
static struct fti_set *
same_set(const struct fti_sets *in, const struct fti_set *set)
{
	for (size_t i = 0; i < in->count; i++)
		if (in->list[i].level == set->level &&
		    in->list[i].id == set->id &&
		    in->list[i].groups == set->groups &&
		    str_eq(in->list[i].exec, set->exec))
			return &in->list[i];
	return NULL;
}

/* Let other nodes rebuild what they can. */
static int
share(struct settings *s, struct error *err)
{
	struct share nodes;
	int lock = -1, rc = share_open(&nodes, &s->nodes, NULL, err);

	if (rc == 0)
		lock = lock_take(s->v.fd, s->v.dir, &s->v.work, err);
	rc = lock == -1 ? -1
			: fti_open_sets(&s->before, s->v.dir, &s->v.o,
					&s->v.work, err);
	s->read = mem_calloc(s->before.count + 1, sizeof(*s->read));
	s->done = mem_calloc(s->before.count + 1, sizeof(*s->done));
	for (size_t i = 0; rc == 0 && i < s->before.count; i++) {
		struct fti_sets now = { .count = 0 };
		struct sharing g = { .s = s,
				     .crew = &nodes.crew,
				     .sets = &s->before,
				     .set = &s->before.list[i] };
		bool again =
			is_candidate(s, g.set) && nodes.crew.nodes.count > 0;

		s->done[i] = g.done =
			mem_calloc(g.set->groups + 1, sizeof(*g.done));
		while (rc == 0 && again) {
			rc = share_round(&g, &again, err);
			if (rc < 0 || !again)
				break;
			/* Again, by what is there now. */
			fti_sets_free(&now);
			rc = fti_open_sets(&now, s->v.dir, &s->v.o, &s->v.work,
					   err);
			g.sets = &now;
			g.set = same_set(&now, &s->before.list[i]);
			again = g.set != NULL;
		}
		s->read[i] = g.read;
		fti_sets_free(&now);
	}
	if (rc == 0)
		rc = fti_verb_wait(&s->v, err);
	lock_give(s->v.fd, lock);
	share_close(&nodes);
	return rc;
}

/* Put before the files of the plan those that other nodes have written: they
 * were not there, or other files were. */
static void
add_done(const struct settings *s, struct fti_rebuild *r)
{
	struct fti_set *was = same_set(&s->before, r->set);
	const struct fti_rebuild own = *r;

	if (was == NULL)
		return;
	r->files = NULL;
	r->count = r->room = 0;
	r->bytes_read += s->read[was - s->before.list];
	for (size_t i = 0; i < was->groups * was->geometry.group_size; i++)
		for (int p = 0; p < FTI_PARTS; p++) {
			const uint32_t k = was->geometry.group_size;
			struct fti_rank *old =
				fti_set_member(was, i / k, i % k);
			const struct fti_rank *new =
				fti_set_member(r->set, i / k, i % k);
			const struct fti_entry *e = NULL;

			if (old == NULL || new == NULL || !new->parts[p].exact)
				continue;
			e = new->parts[p].entry;
			if (old->parts[p].entry != NULL &&
			    old->parts[p].entry->inode == e->inode)
				continue;
			/* Its data were not looked at then. */
			if (old->parts[p].exact)
				old->parts[p].state = FTI_STATE_DAMAGED;
			(void)MEM_ROOM(r->files, r->count, r->room);
			r->files[r->count++] = (struct fti_rebuild_file){
				.rank = old,
				.part = (enum fti_part)p,
				.path = e->path,
				.size = e->size,
			};
			r->parts[p]++;
			r->bytes_written += e->size;
		}
	for (size_t i = 0; i < own.count; i++) {
		(void)MEM_ROOM(r->files, r->count, r->room);
		r->files[r->count++] = own.files[i];
	}
	mem_free(own.files);
}

/* Examine the part of the checkpoint.  NULL: there is none. */
static struct fti_set *
open_part(const struct settings *s, const struct crew_part *is,
	  struct fti_sets *sets, struct error *err)
{
	const struct work *w = &s->v.work;
	struct fti_set *set = NULL;

	fti_sets_free(sets);
	if (fti_open_sets(sets, s->v.dir, &s->v.o, w, err) < 0)
		return NULL;
	for (size_t i = 0; i < sets->count; i++)
		if (is_candidate(s, &sets->list[i]) &&
		    is->to < sets->list[i].groups)
			set = &sets->list[i];
	if (set == NULL)
		return error_set_null(err, ERROR_ABSENT,
				      "%s: has no such groups", s->v.dir);
	fti_set_keep(sets, set, (uint32_t)is->from, (uint32_t)is->to);
	return fti_set_examine(sets, set, false, w, err) < 0 ? NULL : set;
}

static bool
take_groups(const void *arg, int lock)
{
	const struct crew_part *is = arg;

	return lock_shares_take(lock, is->from, is->to);
}

/* Only the caller changes metadata. */
static bool
lacks_sums(const struct fti_rebuild *r, const struct fti_set *set)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct fti_rank *of = r->files[i].rank;

		if (set->level == FTI_L3 && set->posix &&
		    (of->posix == NULL || of->posix->parity_sum == NULL))
			return true;
	}
	return false;
}

/* As one of the nodes: rebuild some groups, and print what was done. */
static int
do_part(struct settings *s)
{
	struct work *w = &s->v.work;
	struct fti_sets sets = { .count = 0 };
	struct fti_rebuild r = { .count = 0 };
	struct fti_set *set = NULL;
	struct crew_part is = { .from = 0 };
	struct error err = ERROR_INIT;
	struct json *answer = NULL;
	char digest[HASH_TEXT] = "";
	const int fd = dir_open(AT_FDCWD, s->v.dir);
	int lock = -2, rc = work_start(w, (unsigned)s->v.jobs, &err);

	app_part_start(w, "scr_fti");
	(void)umask((mode_t)s->mask);
	if (rc == 0 && !crew_part(s->part, &is))
		rc = error_set(&err, ERROR_USAGE, "--part: not FROM-TO:DIGEST");
	/* From here on nobody else writes these groups: the look is valid. */
	if (rc == 0 && fd < 0)
		rc = error_sys(&err, "%s: cannot open", s->v.dir);
	if (rc == 0)
		lock = lock_shares_wait(fd, s->v.dir, take_groups, &is, w->stop,
					&err);
	if (lock == -1)
		rc = -1;
	if (rc == 0)
		set = open_part(s, &is, &sets, &err);
	rc = set == NULL ? -1
			 : fti_set_digest(&sets, set, (uint32_t)is.from,
					  (uint32_t)is.to, digest, &err);
	if (rc == 0 && !str_eq(digest, is.digest))
		rc = error_set(&err, ERROR_DAMAGED,
			       "%s: looks different here, or has changed since "
			       "the work was shared out",
			       s->v.dir);
	if (rc == 0 && s->v.at.checksums)
		rc = fti_set_examine(&sets, set, true, w, &err);
	if (rc == 0)
		rc = fti_rebuild_plan(&r, &sets, set, w, &err);
	if (rc == 0 && r.unread > 0)
		rc = error_set(&err, ERROR_SYSTEM, "%s", r.why);
	if (rc == 0 && lacks_sums(&r, set))
		rc = error_set(&err, ERROR_DAMAGED,
			       "%s: its metadata lack checksums", s->v.dir);
	if (rc == 0)
		rc = fti_rebuild_run(&r, w, &err);
	/* Nobody else reads the data again. */
	if (rc == 0 && s->v.at.checksums && r.count > 0) {
		set = open_part(s, &is, &sets, &err);
		rc = set == NULL ? -1
				 : fti_set_examine(&sets, set, true, w, &err);
	}
	if (rc == 0 && s->v.at.checksums &&
	    (set->state != FTI_SET_WHOLE || set->unprotected > 0))
		rc = error_set(&err, ERROR_DAMAGED, "%s: %s", s->v.dir,
			       set->reason != NULL ? set->reason
						   : "is not whole");
	if (rc == 0) {
		answer = json_new_object();
		json_set_u64(answer, "bytes_read", r.bytes_read);
	}
	lock_shares_close(fd, lock);
	io_close(fd);
	app_part_end(w, answer);
	fti_rebuild_fini(&r);
	fti_sets_free(&sets);
	app_work_end(w);
	return app_report(STATUS_OK, &err);
}

/* --- Rebuild --- */

/* Put the name of the checkpoint before an error. */
static int
report(int status, const struct fti_set *set, struct error *err)
{
	struct buf name = BUF_INIT;

	report_fti_name(set, &name);
	(void)error_wrap(err, "%s", name.data);
	buf_free(&name);
	return app_report(status, err);
}

/* Rebuild one checkpoint.  Returns an exit status. */
static int
rebuild_set(struct settings *s, struct fti_sets *sets, struct fti_set *set)
{
	const bool dry = s->v.work.dry_run;
	struct buf out = BUF_INIT;
	struct error err = ERROR_INIT;
	struct fti_rebuild r = { .count = 0 };
	int status = STATUS_OK;
	size_t own = 0;

	if (fti_set_examine(sets, set, s->v.at.checksums, &s->v.work, &err) <
		    0 ||
	    fti_rebuild_plan(&r, sets, set, &s->v.work, &err) < 0 ||
	    fti_rebuild_run(&r, &s->v.work, &err) < 0) {
		/* A damaged file has been used: checksums tell which. */
		if (err.kind == ERROR_CORRUPT && !s->v.at.checksums) {
			struct fti_next n = s->v.at;

			n.checksums = true;
			fti_next_rebuild(&n, sets, set, s->v.next);
		}
		status = report(STATUS_OK, set, &err);
	} else {
		own = r.count;
		add_done(s, &r);
		fti_answer_plan(&s->v.answer, "rebuild", r.files, r.count);
		s->v.answer.bytes_read += r.bytes_read;
		s->v.answer.bytes_written += r.bytes_written;
		if (r.count > 0) {
			report_fti_plan(&r, !dry, &out);
		} else {
			report_fti_name(r.set, &out);
			buf_add_str(&out, ": nothing to rebuild\n");
		}
		if (r.count > 0 && (dry || app_verbosity() > 0))
			report_fti_plan_files(r.files, r.count, true, &out);
		status = app_print_unless_quiet(&out);
		if (r.unread > 0) {
			error_set(&err, ERROR_SYSTEM,
				  "%zu %s could not be read, and stay: %s",
				  str_count(r.unread, "file"), r.why);
			status = report(status, set, &err);
		}
		if (dry && r.count > 0) {
			status = error_worse_status(status, STATUS_DAMAGED);
			if (s->v.next[0] == '\0')
				fti_next_rebuild(&s->v.at, sets, set,
						 s->v.next);
		}
	}
	/* What FTI still refuses is no success. */
	if (status == STATUS_OK && own == 0 && set->state != FTI_SET_WHOLE) {
		fti_refuse(&s->v.at, sets, set, s->v.next, &err);
		status = app_report(status, &err);
	}
	s->written += dry ? 0 : own;
	fti_rebuild_fini(&r);
	return status;
}

/* Rebuild the checkpoints that are selected; `again`: look whether they are
 * whole now. */
static int
each_set(struct settings *s, bool again, struct error *err)
{
	struct fti_sets sets = { .count = 0 };
	int rc = fti_open_sets(&sets, s->v.dir, &s->v.o, &s->v.work, err);

	for (size_t i = 0; rc == 0 && i < sets.count; i++) {
		struct fti_set *set = &sets.list[i];
		const struct fti_set *was = NULL;
		struct error why = ERROR_INIT;

		if (!is_candidate(s, set))
			continue;
		s->found++;
		was = same_set(&s->before, set);
		if (was != NULL)
			set->proven = s->done[was - s->before.list];
		if (!again) {
			s->v.status = error_worse_status(
				s->v.status, rebuild_set(s, &sets, set));
			continue;
		}
		rc = fti_set_examine(&sets, set, s->v.at.checksums, &s->v.work,
				     err);
		if (rc == 0 && set->state != FTI_SET_WHOLE) {
			fti_refuse(&s->v.at, &sets, set, s->v.next, &why);
			s->v.status = app_report(s->v.status, &why);
		}
	}
	fti_sets_free(&sets);
	return rc;
}

static int
run_rebuild(void *arg, struct error *err)
{
	struct settings *s = arg;

	if ((s->nodes.list != NULL && !s->v.work.dry_run &&
	     share(s, err) < 0) ||
	    each_set(s, false, err) < 0)
		return -1;
	if (s->found == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: no such checkpoint of level 2 or 3",
				 s->v.dir);
	return s->v.status == STATUS_OK && s->written > 0
		       ? each_set(s, true, err)
		       : 0;
}

int
fti_run_rebuild(const struct app_call *call)
{
	const mode_t mask = umask(0);
	struct settings s = { .v.work = { APP_WORK }, .mask = mask };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		FTI_SELECT_OPTIONS(s.select, 1, 4),
		OPT_FLAG(0, "checksums", &s.v.at.checksums,
			 "read all data first, to find damage in them"),
		OPT_FLAG('n', "dry-run", &s.v.work.dry_run,
			 "list the files that would be written"),
		FTI_GEOMETRY_OPTIONS(s.v.o),
		OPT_GROUP("Other nodes"),
		SHARE_OPTIONS(s.nodes),
		OPT_STRING(0, CREW_PART, &s.part, "PART", OPT_ANY, NULL),
		OPT_U64(0, "umask", &s.mask, "N", 0, 0777, NULL),
		FTI_WORK_OPTIONS(&s.v.jobs, &s.v.work.rate),
	};
	int status = STATUS_OK;

	(void)umask(mask);
	fti_verb_start(&s.v, call, opts);
	if (share_lacks_nodes(&s.nodes))
		app_usage("--remote and --node-timeout need --nodes");
	if (s.part != NULL)
		return do_part(&s);
	status = fti_verb_run(&s.v, false, run_rebuild, &s);
	for (size_t i = 0; i < s.before.count; i++)
		mem_free(s.done[i]);
	mem_free(s.done);
	mem_free(s.read);
	fti_sets_free(&s.before);
	return status;
}
