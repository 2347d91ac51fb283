/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "fti.h"

#include "io.h"
#include "json.h"
#include "lock.h"
#include "mem.h"
#include "path.h"
#include "report/hint.h"
#include "str.h"

void
fti_output_check(const struct fti_output_options *o, int count)
{
	if (count == 0)
		app_usage("no file given");
	if (o->out != NULL && o->in_place)
		app_usage("--output and --in-place cannot be used together");
	if (o->out == NULL && !o->in_place && !o->dry_run)
		app_usage("give --output or --in-place (--dry-run only "
			  "reports)");
	if (o->replace && o->out == NULL)
		app_usage("--replace needs --output");
}

void
fti_output_form(const struct fti_output_options *o, const char *ini,
		struct fti_output_form *form)
{
	struct error err = ERROR_INIT;

	if (form->text == NULL)
		app_usage("give --to A, B, C, D, E, F or posix");
	if (o->out == NULL)
		app_usage("give --output");
	form->posix = str_eq(form->text, "posix");
	form->to = FTI_F;
	if (!form->posix && fti_layout_parse(form->text, &form->to, &err) < 0)
		app_usage("--to: %s", err.text);
	if (ini != NULL && !form->posix)
		app_usage("--ini needs --to posix");
}

int
fti_output_start(struct fti_output *p, const struct fti_output_options *o,
		 struct error *err)
{
	p->o = o;
	p->work = (struct work){ APP_WORK, .dry_run = o->dry_run,
				 .rate = o->rate };
	p->arena = arena_new();

	return app_work_start(&p->work, o->jobs, "scr_fti", err);
}

void
fti_output_end(struct fti_output *p)
{
	app_work_end(&p->work);
	for (size_t i = 0; i < p->nroots; i++)
		close(p->roots[i]);
	mem_free(p->roots);
	mem_free(p->items);
	buf_free(&p->text);
	arena_free(p->arena);
}

void
fti_output_say(const struct fti_output *p, size_t i, struct buf *out)
{
	buf_add_str(out, p->o->dry_run ? ": would be written" : ": written");
	if (p->o->out != NULL)
		buf_printf(out, " to %s", str_shown(p->items[i].out.name));
	buf_add_char(out, '\n');
}

/* --- Names --- */

int
fti_output_place(struct fti_output *p, const char *path, struct fti_job *job,
		 struct error *err)
{
	struct buf normal = BUF_INIT;
	const char *kept = NULL;
	size_t len = 0;
	int fd = -1;

	path_normal(path, &normal, NULL);
	kept = arena_strdup(p->arena, normal.data);
	buf_free(&normal);
	len = (size_t)(path_base(kept) - kept);
	/* Neighbours share the root. */
	if (p->last == NULL || strlen(p->last) != len ||
	    !str_starts(kept, p->last)) {
		char *dir = arena_strndup(p->arena, kept, len);

		/* Its directory, or the nearest one above that exists. */
		p->last = arena_strdup(p->arena, dir);
		while ((fd = open(len == 0 ? "." : dir,
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
			if (errno != ENOENT || len <= 1)
				return error_sys(err, "%s: cannot open",
						 len == 0 ? "." : dir);
			dir[len - 1] = '\0';
			len = (size_t)(path_base(dir) - dir);
			dir[len] = '\0';
		}
		(void)MEM_ROOM(p->roots, p->nroots, p->room_roots);
		p->roots[p->nroots++] = fd;
		p->rest = len;
	}
	if (!path_is_clean(kept + p->rest))
		return error_set(err, ERROR_USAGE, "%s: not a file name", path);
	job->dirfd = p->roots[p->nroots - 1];
	job->path = kept + p->rest;
	job->name = kept;
	job->replace = p->o->replace;
	return 0;
}

int
fti_output_place_ini(struct fti_output *p, const char *ini, const char *first,
		     struct fti_job *job, struct error *err)
{
	if (ini == NULL)
		ini = arena_printf(p->arena, "%.*ssector0-group0.fti",
				   (int)(path_base(first) - first), first);
	return fti_output_place(p, ini, job, err);
}

int
fti_output_add(struct fti_output *p, char **files, size_t count,
	       struct error *err)
{
	const char *out = p->o->out;
	const bool below = out != NULL && (count > 1 || str_ends(out, "/") ||
					   fti_is_directory(out));

	for (size_t i = 0; i < count; i++) {
		const char *to = out == NULL ? files[i] : out;
		struct fti_remake_item *it = NULL;

		if (below)
			to = arena_printf(p->arena, "%s/%s", out,
					  path_base(files[i]));
		(void)MEM_ROOM(p->items, p->count, p->room);
		it = &p->items[p->count];
		*it = (struct fti_remake_item){ .in = files[i] };
		if (fti_output_place(p, to, &it->out, err) < 0)
			return -1;
		p->count++;
		/* A dry run without -o plans the same. */
		it->in_place = out == NULL;
		it->out.replace |= it->in_place;
	}
	return 0;
}

/* --- The answer --- */

void
fti_answer_file(struct fti_answer *a, const struct fti_done *d)
{
	struct json *j = NULL;

	if (!app_json())
		return;
	if (a->files == NULL)
		a->files = json_new_array();
	j = json_new_object();
	json_set_str(j, "path", d->path);
	json_set_str(j, "action", d->action);
	json_set_known_str(j, "kind", d->kind);
	json_set_known_str(j, "from", d->from);
	json_set_known_i64(j, "rank", d->rank);
	json_set_known_i64(j, "size", d->size);
	json_push(a->files, j);
}

void
fti_answer_plan(struct fti_answer *a, const char *action,
		const struct fti_rebuild_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fti_answer_file(a,
				&(struct fti_done){
					.path = files[i].path,
					.action = action,
					.kind = report_fti_parts[files[i].part],
					.rank = files[i].rank->rank,
					.size = (int64_t)files[i].size,
				});
}

void
fti_answer_end(struct fti_answer *a)
{
	struct json *j = NULL;

	if (!app_json())
		return;
	j = json_new_object();
	json_set_bool(j, "dry_run", a->dry_run);
	if (a->bytes_read > 0)
		json_set_u64(j, "bytes_read", a->bytes_read);
	json_set_u64(j, "bytes_written", a->bytes_written);
	json_set(j, "files", a->files != NULL ? a->files : json_new_array());
	json_set_known_str(j, "next", a->next);
	if (a->more != NULL)
		json_append(j, a->more);
	app_answer(j);
	a->files = NULL;
	a->more = NULL;
}

/* --- Verbs on a directory --- */

void
fti_verb_start(struct fti_verb *v, const struct app_call *c,
	       const struct opt *opts)
{
	int count = 0;
	char **args = fti_start(c, opts, &count);

	v->dir = v->at.dir = fti_one_dir(args, count);
	v->at.geometry = &v->o;
	v->answer.dry_run = v->work.dry_run;
}

int
fti_verb_wait(const struct fti_verb *v, struct error *err)
{
	const int lock =
		lock_shares_wait(v->fd, v->dir, NULL, NULL, v->work.stop, err);

	lock_shares_close(v->fd, lock);
	return lock == -1 ? -1 : 0;
}

int
fti_verb_run(struct fti_verb *v, bool locks,
	     int (*run)(void *arg, struct error *err), void *arg)
{
	struct error err = ERROR_INIT;
	int lock = -2, rc = app_work_start(&v->work, v->jobs, "scr_fti", &err);

	v->fd = rc < 0 ? -1 : dir_open(AT_FDCWD, v->dir);
	if (rc == 0 && v->fd < 0)
		rc = error_sys(&err, "%s: cannot open", v->dir);
	if (rc == 0 && locks && !v->work.dry_run)
		lock = lock_take(v->fd, v->dir, &v->work, &err);
	/* A node that was given up may still rebuild files. */
	if (rc == 0 && lock != -1 && !v->work.dry_run)
		rc = fti_verb_wait(v, &err);
	if (rc == 0 && lock != -1)
		(void)run(arg, &err);
	lock_give(v->fd, lock);
	io_close(v->fd);
	app_work_end(&v->work); /* erases the progress line */
	v->status = app_report(v->status, &err);
	v->status =
		error_worse_status(v->status, app_print_unless_quiet(&v->out));
	app_next(v->next);
	v->answer.next = v->next;
	fti_answer_end(&v->answer);
	return v->status;
}

/* --- The run --- */

int
fti_output_report(struct error *err)
{
	if (err->kind == ERROR_USAGE && str_ends(err->text, "exists already"))
		app_advise(err, "--replace replaces it");
	return app_report(STATUS_OK, err);
}

/* Report that item `i` is refused. */
static void
refused(void *arg, size_t i, const struct fti_rankfile *r, struct error *err)
{
	struct fti_output *p = arg;
	int status = error_status(err->kind);
	char root[PATH_MAX], next[ERROR_TEXT_MAX];
	uint32_t node = 0;
	int up = 1;

	if (r != NULL && err->kind == ERROR_CORRUPT)
		status = STATUS_DAMAGED;
	(void)fti_output_report(err);
	if (r != NULL && p->status == STATUS_OK && status == STATUS_DAMAGED) {
		/* The directory below which other files of the checkpoint may
		 * be: above [node<k>/]<exec>/<level>, and above that if there
		 * are metadata. */
		snprintf(root, sizeof(root), "%s", p->items[i].in);
		for (; up > 0; up--) {
			char *slash = strrchr(root, '/');

			if (slash == NULL || slash == root) {
				snprintf(root, sizeof(root),
					 slash == NULL ? "." : "/");
				break;
			}
			*slash = '\0';
			if (fti_level_parse(path_base(root)) != FTI_NO_LEVEL)
				up += r->described.path != NULL ? 3 : 2;
			else if (up == 1 &&
				 fti_name_node(path_base(root), &node))
				up++;
		}
		p->next = arena_strdup(
			p->arena,
			report_command("scr_fti scan --checksums", NULL, root,
				       next, sizeof(next)));
	}
	p->status = error_worse_status(p->status, status);
}

void
fti_output_answer(const struct fti_output *p, int rc)
{
	struct fti_answer a = { .dry_run = p->o->dry_run, .next = p->next };

	for (size_t i = 0; i < p->count; i++) {
		const struct fti_remake_item *it = &p->items[i];
		const struct fti_name name = fti_name_parse(path_base(it->in));
		const bool writes = rc == 0 && !it->skipped;

		fti_answer_file(&a,
				&(struct fti_done){
					.path = it->out.name,
					.from = it->in,
					.action = it->refused ? "refuse"
						  : writes    ? "write"
							      : "keep",
					.kind = report_fti_parts[FTI_OWN],
					.rank = fti_name_is_data(name.kind)
							? (int64_t)name.rank
							: -1,
					.size = writes ? (int64_t)it->size : -1,
				});
		if (writes && !a.dry_run)
			a.bytes_written += it->size;
	}
	fti_answer_end(&a);
}

int
fti_output_run(struct fti_output *p, struct fti_remake *m)
{
	struct error err = ERROR_INIT;
	struct fti_input in;
	int rc = fti_input_start(&in, &p->o->in, &err);

	m->open = in.how;
	m->items = p->items;
	m->count = p->count;
	m->refused = refused;
	m->refused_arg = p;
	if (rc == 0)
		rc = fti_remake(m, &p->work, &err);
	fti_input_end(&in);
	app_work_end(&p->work); /* erases the progress line */
	if (rc == 0 && p->total != NULL)
		p->total(m->arg, &p->text);
	fti_output_answer(p, rc);
	if (rc < 0)
		return error_worse_status(p->status, fti_output_report(&err));
	if (rc > 0) {
		app_next(p->next);
		return p->status;
	}
	return app_print_unless_quiet(&p->text);
}
