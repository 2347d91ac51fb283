/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/jobfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "path.h"
#include "str.h"

#define FLUSH_BACKUP FLUSH_FILE ".bak"

/* --- The directory --- */

int
jobfiles_open(const char *prefix, bool make, struct error *err)
{
	int top = -1, fd = -1;

	if (make && io_make_dirs(prefix, 0777, err) < 0)
		return -1;
	top = dir_open(AT_FDCWD, prefix);
	if (top < 0)
		return error_sys(err, "%s/" SCR_DIR, prefix);
	fd = dataset_dir_open_scr(top, prefix, make, err);
	close(top);
	return fd;
}

enum jobfiles_origin
jobfiles_origin(const char *prefix, const char *place, struct buf *other)
{
	struct stat here, at;
	bool more = true, found = false;

	buf_clear(other);
	if (place == NULL || place[0] != '/' || stat(prefix, &here) < 0 ||
	    buf_add_str(other, place) < 0)
		return JOBFILES_HERE;
	while (more) {
		const size_t len = other->len;

		more = len > 0;
		if (stat(more ? other->data : "/", &at) == 0 &&
		    at.st_dev == here.st_dev && at.st_ino == here.st_ino)
			return JOBFILES_HERE;
		if (buf_add_str(other, "/" SCR_DIR) < 0)
			return JOBFILES_HERE;
		found = stat(other->data, &at) == 0 && S_ISDIR(at.st_mode);
		other->len = len;
		other->data[len] = '\0';
		if (found)
			return JOBFILES_ELSEWHERE;
		other->len =
			more ? (size_t)(strrchr(other->data, '/') - other->data)
			     : 0;
		other->data[other->len] = '\0';
	}
	(void)buf_add_str(other, place);
	return JOBFILES_GONE;
}

/* Read the kvtree file `name` of PREFIX/.scr. */
static struct kvtree *
read_tree(const char *prefix, const char *name, struct error *err)
{
	struct kvtree *t = NULL;
	int fd = jobfiles_open(prefix, false, err);

	if (fd < 0)
		return NULL;
	t = kvtree_read_file(fd, name, err);
	if (t == NULL)
		error_wrap(err, "%s/%s", prefix, SCR_DIR);
	close(fd);
	return t;
}

int
jobfiles_restarts(int scr, struct jobfiles_restarts *out, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(scr, JOBFILES_RESTARTS, &why);

	if (t == NULL ||
	    kvtree_u64(t, "ID", DATASET_ID_MAX, &out->id, &why) < 0 ||
	    kvtree_u64(t, "CREATED", INT64_MAX, &out->created, &why) < 0 ||
	    kvtree_u64(t, "ATTEMPTS", UINT32_MAX, &out->count, &why) < 0)
		*out = (struct jobfiles_restarts){ .count = 0 };
	kvtree_free(t);
	return why.kind == ERROR_NONE || why.kind == ERROR_ABSENT
		       ? 0
		       : error_pass(err, &why);
}

/* --- Flush file --- */

int
jobfiles_flush_read(const char *prefix, struct jobfiles_flush *out,
		    struct error *err)
{
	memset(out, 0, sizeof(*out));
	out->tree = read_tree(prefix, FLUSH_FILE, err);
	if (out->tree == NULL)
		return -1;
	out->all = flush_entries(out->tree, &out->count, err);
	if (out->count == SIZE_MAX) {
		out->count = 0;
		jobfiles_flush_free(out);
		return error_wrap(err, "%s/%s/%s", prefix, SCR_DIR, FLUSH_FILE);
	}
	return 0;
}

void
jobfiles_flush_free(struct jobfiles_flush *f)
{
	mem_free(f->all);
	kvtree_free(f->tree);
	memset(f, 0, sizeof(*f));
}

const struct flush_entry *
jobfiles_flush_find(const struct jobfiles_flush *f, int64_t id)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->all[i].id == id)
			return &f->all[i];
	return NULL;
}

void
jobfiles_location(const struct flush_entry *e, bool first, struct buf *out)
{
	static const char *const words[] = { "SYNC_FLUSHING", "FLUSHING", "PFS",
					     "CACHE" };
	const bool is[] = { e != NULL && e->sync_flushing,
			    e != NULL && e->flushing, e != NULL && e->on_pfs,
			    e != NULL && e->in_cache };
	size_t told = 0;

	for (size_t i = 0; i < 4 && !(first && told > 0); i++)
		if (is[i])
			buf_printf(out, "%s%s", told++ > 0 ? " " : "",
				   words[i]);
	if (told == 0)
		buf_add_str(out, "NONE");
}

struct json *
jobfiles_flush_json(const struct jobfiles_flush *f)
{
	struct json *list = json_new_array(), *j = NULL;

	for (size_t i = 0; i < f->count; i++) {
		const struct flush_entry *e = &f->all[i];

		j = json_new_object();
		json_set_i64(j, "id", e->id);
		json_set_str(j, "name", e->name);
		json_set_bool(j, "checkpoint", e->is_ckpt);
		json_set_bool(j, "output", e->is_output);
		json_set_bool(j, "in_cache", e->in_cache);
		json_set_bool(j, "on_prefix", e->on_pfs);
		json_set_bool(j, "flushing", e->flushing);
		json_set_bool(j, "sync_flushing", e->sync_flushing);
		json_set_bool(j, "needs_flush", flush_needed(e));
		json_push(list, j);
	}
	return list;
}

/* --- Nodes file --- */

int
jobfiles_nodes(const char *prefix, int64_t *count, struct error *err)
{
	struct kvtree *t = read_tree(prefix, NODES_FILE, err);
	int rc = 0;

	*count = 0;
	if (t == NULL)
		return -1;
	if (kvtree_get(t, "NODES") != NULL)
		rc = nodes_read(t, count, err);
	if (rc < 0)
		error_wrap(err, "%s/%s/%s", prefix, SCR_DIR, NODES_FILE);
	kvtree_free(t);
	return rc;
}

/* --- Preparing for a job --- */

/* `text` to `to`, if it fits and could be a component of a path. */
static void
take_part(const char *text, char to[static 128])
{
	if (text != NULL && strlen(text) < 128 && path_is_clean(text) &&
	    strchr(text, '/') == NULL)
		memcpy(to, text, strlen(text) + 1);
}

/* Find the job that wrote the flush file.  Fetched datasets have no descriptor
 * and so no job. */
static void
find_owner(const struct jobfiles_flush *f, struct jobfiles_owner *out)
{
	struct dataset d;

	*out = (struct jobfiles_owner){ .id = "" };
	for (size_t i = f->count; i-- > 0 && out->id[0] == '\0';) {
		if (f->all[i].desc == NULL ||
		    dataset_read(f->all[i].desc, &d, NULL) < 0)
			continue;
		take_part(d.job_id, out->id);
		take_part(d.user, out->user);
	}
}

void
jobfiles_owner(const char *prefix, struct jobfiles_owner *out)
{
	struct jobfiles_flush f;

	(void)jobfiles_flush_read(prefix, &f, NULL);
	find_owner(&f, out);
	jobfiles_flush_free(&f);
}

/* Does the index of the prefix have a checkpoint that is valid and not older
 * than the one created at `time`? */
static bool
index_has_newer(const char *prefix, int64_t time)
{
	struct kvtree *t = read_tree(prefix, INDEX_FILE, NULL);
	struct index *ix = t != NULL ? index_from_tree(t, NULL) : NULL;
	size_t count = 0;
	struct index_entry *all =
		ix != NULL ? index_entries(ix, &count, NULL) : NULL;
	bool has = false;

	for (size_t i = 0; all != NULL && i < count; i++)
		has = has ||
		      (index_entry_valid(&all[i]) && all[i].desc.is_ckpt &&
		       time > 0 && all[i].desc.created_us >= time);
	mem_free(all);
	index_free(ix);
	return has;
}

/* Remove `name`, or rename it to `aside` if that is not NULL. */
static int
put_away(int dir, const char *name, const char *aside, struct error *err)
{
	int rc = aside != NULL ? renameat(dir, name, dir, aside)
			       : unlinkat(dir, name, 0);

	if (rc < 0 && errno != ENOENT)
		return error_sys(err, "%s: cannot %s", name,
				 aside != NULL ? "rename" : "remove");
	return 0;
}

/* Decide what to do with the flush file `f`. */
static enum jobfiles_left
decide(const char *prefix, const struct jobfiles_flush *f,
       const struct jobfiles_job *job, struct jobfiles_prepared *out)
{
	struct jobfiles_owner owner;
	bool newest = true;
	int alive = 0;

	find_owner(f, &owner);
	memcpy(out->owner, owner.id, sizeof(owner.id));
	if (out->owner[0] != '\0' && job->id != NULL) {
		if (str_eq(out->owner, job->id))
			return JOBFILES_OURS;
		if (!job->force)
			alive = job->runs != NULL
					? job->runs(job->arg, out->owner)
					: -1;
		out->may_run = alive < 0;
		if (alive != 0)
			return JOBFILES_RUNNING;
	}
	/* The newest dataset that is only in caches and not superseded: output,
	 * or a checkpoint that no newer one follows, neither in flush.scr nor
	 * on the prefix. */
	out->unsaved = 0;
	for (size_t i = f->count; i-- > 0 && out->unsaved == 0;) {
		const struct flush_entry *e = &f->all[i];

		if (flush_needed(e) &&
		    (!e->is_ckpt || e->is_output ||
		     (newest &&
		      !index_has_newer(prefix, dataset_created(e->desc)))))
			out->unsaved = e->id;
		newest = newest && !e->is_ckpt;
	}
	return out->unsaved > 0 ? JOBFILES_ASIDE : JOBFILES_REMOVED;
}

int
jobfiles_prepare(const char *prefix, const struct jobfiles_job *job,
		 struct jobfiles_prepared *out, struct error *err)
{
	struct jobfiles_flush f = { .count = 0 };
	struct error why = ERROR_INIT;
	int dir = -1, rc = 0;

	memset(out, 0, sizeof(*out));
	if (!job->dry_run && (dir = jobfiles_open(prefix, true, err)) < 0)
		return -1;
	if (jobfiles_flush_read(prefix, &f, &why) == 0)
		out->left = decide(prefix, &f, job, out);
	else if (why.kind == ERROR_CORRUPT)
		out->left = JOBFILES_ASIDE;
	else if (why.kind != ERROR_ABSENT)
		rc = error_pass(err, &why);
	jobfiles_flush_free(&f);
	if (rc == 0 && !job->dry_run) {
		if (out->left == JOBFILES_ASIDE)
			rc = put_away(dir, FLUSH_FILE, FLUSH_BACKUP, err);
		else if (out->left == JOBFILES_REMOVED)
			rc = put_away(dir, FLUSH_FILE, NULL, err);
		/* The nodes file does not name its job: treat it like the flush
		 * file. */
		if (rc == 0 && out->left <= JOBFILES_ASIDE)
			rc = put_away(dir, NODES_FILE, NULL, err);
		if (rc == 0)
			rc = io_sync_dir(dir, ".", err);
	}
	if (rc < 0)
		error_wrap(err, "%s/%s", prefix, SCR_DIR);
	io_close(dir);
	return rc;
}
