/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_root.c - turn the absolute paths in metadata into paths below the
 * present root of the dataset.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/segmap.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "par.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "rescue/recorded.h"

/* Number of files a worker takes at a time. */
#define STAT_BATCH 64

/* --- The recorded root --- */

struct looking {
	const struct planner *w;
	bool unsafe; /* a symbolic link on a path leads out of the prefix */
	bool barred; /* a directory on a path may not be searched */
};

static int
is_present(void *arg, const char *rel, const struct filemap_file *f,
	   struct error *err)
{
	struct looking *l = arg;
	const struct planner *w = l->w;
	struct error why = ERROR_INIT;
	struct stat st;

	if (f->attr.has_size && plan_packed_knows(&w->p, rel, f->attr.size))
		return 1;
	if (path_stat_beneath(w->p.places[0].root_fd, rel, &st, &why) < 0) {
		/* Does this error mean that the file is absent?  Others, as a
		 * lack of memory or descriptors, must not be mistaken for a
		 * wrong guess. */
		if (!plan_blames_file(&why) && why.errnum != EACCES &&
		    why.errnum != ENAMETOOLONG)
			return error_pass(err, &why);
		if (why.kind == ERROR_UNSAFE)
			l->unsafe = true;
		if (why.errnum == EACCES)
			l->barred = true;
		return 0;
	}
	return file_state_of(&st, f->attr.has_size ? &f->attr.size : NULL) ==
	       FILE_PRESENT;
}

static int
set_root(struct planner *w, const char *root, struct error *err)
{
	w->p.recorded_root = arena_strdup(w->p.arena, root);
	return w->p.recorded_root == NULL ? error_no_memory(err) : 0;
}

static int
infer_root(struct planner *w, const struct recorded *r, struct error *err)
{
	const char *here = w->p.places[0].root;
	struct looking l = { .w = w };
	struct buf root = BUF_INIT;
	const int found = recorded_infer(r, is_present, &l, &root, err);
	int rc = found < 0 ? -1 : 0;

	if (found == 1) {
		rc = set_root(w, root.data, err);
	} else if (found == 0 && l.unsafe) {
		rc = error_set(err, ERROR_UNSAFE,
			       "%s: the files below %s cannot be reached: a "
			       "symbolic link on the way leads out of the "
			       "prefix",
			       here, r->common.data);
	} else if (found == 0 && l.barred) {
		errno = EACCES;
		rc = error_sys(err, "%s: cannot look for the files below %s",
			       here, r->common.data);
	} else if (found >= 0) {
		rc = error_set(err, ERROR_USAGE,
			       "%s: the metadata name files below %s; %s: give "
			       "the old name of the prefix with --moved-from",
			       here, r->common.len > 0 ? r->common.data : "/",
			       found == 0 ? "none of them is here"
					  : "they match here in several ways");
	}
	w->p.moved = rc == 0;
	buf_free(&root);
	return rc;
}

/* Are all recorded paths below the present prefix, either by its real path or
 * by the path that the caller gave? */
static int
is_here(struct planner *w, const struct recorded *r, bool *here,
	struct error *err)
{
	const char *root = w->p.places[0].root;
	struct buf name = BUF_INIT;
	int rc = -1;

	if (path_real(root, &name, err) == 0 &&
	    (path_below(r->common.data, name.data) != NULL ||
	     path_normal(root, &name, err) == 0)) {
		*here = name.data[0] == '/' &&
			path_below(r->common.data, name.data) != NULL;
		rc = *here ? set_root(w, name.data, err) : 0;
	}
	buf_free(&name);
	return rc;
}

static int
given_root(struct planner *w, const char *from, struct error *err)
{
	w->p.moved = true;
	w->p.recorded_root = path_normal_in(w->p.arena, "", from, err);
	return w->p.recorded_root != NULL ? 0 : -1;
}

/*
 * Refuse the root that the user gave if no file is found with it, although
 * files are found with another root or none was recorded below it.  With a
 * wrong root the filemaps would name files that do not exist.  A single path
 * outside of the root does not make it wrong.
 */
static int
check_given(const struct planner *w, const struct recorded *r,
	    struct error *err)
{
	struct looking l = { .w = w };
	struct buf other = BUF_INIT;
	const char *given = w->p.recorded_root, *meta = w->p.places[0].meta;
	int rc = recorded_fits(r, given, is_present, &l, err);

	if (rc > 0)
		return 0;
	if (rc == 0)
		rc = recorded_infer(r, is_present, &l, &other, err);
	if (rc > 0)
		rc = error_set(err, ERROR_USAGE,
			       "%s: --moved-from %s does not match: its files "
			       "are not here, but those of %s are",
			       meta, given, other.data);
	else if (rc == 0 && r->seen > 0 &&
		 path_below(r->common.data, given) == NULL)
		rc = error_set(err, ERROR_USAGE,
			       "%s: --moved-from %s does not match: the "
			       "metadata name files below %s",
			       meta, given,
			       r->common.len > 0 ? r->common.data : "/");
	buf_free(&other);
	return rc;
}

static int
find_root(struct planner *w, struct error *err)
{
	struct recorded r = { .seen = 0 };
	const char *recorded = NULL;
	bool here = false;
	int rc = -1;

	for (int64_t i = 0; i < w->p.nranks; i++) {
		const struct filemap *m = &w->filemaps[i];

		for (size_t j = 0; w->p.ranks[i].map_known && j < m->nfiles;
		     j++)
			if (m->files[j].dir != NULL &&
			    m->files[j].name != NULL &&
			    recorded_show(&r, &m->files[j], err) < 0)
				goto out;
	}
	if (w->o->moved_from != NULL) {
		rc = given_root(w, w->o->moved_from, err);
		if (rc == 0)
			rc = check_given(w, &r, err);
		goto out;
	}
	if (r.seen == 0) {
		rc = 0; /* no files: no root needed */
		goto out;
	}
	if (is_here(w, &r, &here, err) < 0)
		goto out;
	for (int64_t i = 0; !here && recorded == NULL && i < w->p.nranks; i++)
		if (w->p.ranks[i].map_known)
			recorded = w->filemaps[i].prefix;
	if (here)
		rc = 0;
	else if (recorded != NULL && path_below(r.common.data, recorded))
		rc = given_root(w, recorded, err);
	else
		rc = infer_root(w, &r, err);
out:
	recorded_free(&r);
	return rc;
}

/* --- Files --- */

/* Append a file.  Returns its index, or SIZE_MAX on error. */
static size_t
add_file(struct planner *w, const struct plan_file *f, struct error *err)
{
	if (w->p.nfiles >= PLAN_NONE / 2 ||
	    !MEM_ROOM(w->p.files, w->p.nfiles, w->files_cap)) {
		error_no_memory(err);
		return SIZE_MAX;
	}
	w->p.files[w->p.nfiles] = *f;
	return w->p.nfiles++;
}

/* State that map_rank() keeps from file to file, because most files have the
 * directory of the previous one. */
struct mapper {
	struct buf dir;	 /* PATH of the last file, as recorded */
	struct buf norm; /* the same in normal form */
	const char *rel; /* the part below the root; points into `norm` */
};

static const char *
outside(const struct planner *w, const struct filemap_file *f, int64_t rank,
	struct error *err)
{
	return error_set_null(err, ERROR_UNSAFE,
			      "filemap_%lld: %s/%s is outside of the prefix %s",
			      (long long)rank, f->dir, f->name,
			      w->p.recorded_root);
}

/* Make a path below the prefix from PATH and NAME.  NULL: error. */
static const char *
prefix_path(struct planner *w, struct mapper *m, const struct filemap_file *f,
	    int64_t rank, struct error *err)
{
	const char *rel = NULL;
	size_t len = 0;

	if (f->dir == NULL || f->name == NULL)
		return error_set_null(err, ERROR_CORRUPT,
				      "filemap_%lld: %s has no PATH or NAME",
				      (long long)rank, f->cache_path);
	len = strlen(f->dir);
	if (m->dir.data == NULL || m->dir.len != len ||
	    memcmp(m->dir.data, f->dir, len) != 0) {
		m->rel = NULL;
		buf_clear(&m->dir);
		if (buf_add(&m->dir, f->dir, len) < 0)
			return error_no_memory_null(err);
		if (path_normal(f->dir, &m->norm, err) < 0)
			return NULL;
		/* find_root() has set recorded_root, because this file
		 * exists. */
		m->rel = path_below(m->norm.data, w->p.recorded_root);
		if (m->rel != NULL && m->rel[0] != '\0' &&
		    !path_is_clean(m->rel))
			m->rel = NULL;
		if (m->rel == NULL) {
			buf_free(&m->dir); /* do not reuse it */
			return outside(w, f, rank, err);
		}
	}
	rel = arena_printf(w->p.arena, "%s%s%s", m->rel,
			   m->rel[0] != '\0' ? "/" : "", f->name);
	if (rel == NULL)
		return error_no_memory_null(err);
	if (strlen(rel) >= PATH_MAX || !path_is_clean(f->name))
		return outside(w, f, rank, err);
	if (!dataset_dir_is_data(rel))
		return error_set_null(
			err, ERROR_UNSAFE,
			"filemap_%lld: %s: a job has no files among the "
			"metadata",
			(long long)rank, rel);
	return rel;
}

/* A file of a cache is in the dataset directory itself, under its base name
 * (scr-dataset(5)).  If its directory is that of the file on the prefix, the
 * file was never in the cache (bypass). */
static const char *
cache_path(struct planner *w, const struct filemap_file *f, int64_t rank,
	   enum file_state *state, struct error *err)
{
	const char *base = path_base(f->cache_path);
	size_t dir = (size_t)(base - f->cache_path);

	if (!path_is_clean(base) || base == f->cache_path)
		return error_set_null(
			err, ERROR_UNSAFE,
			"filemap_%lld: %s is not the path of a file in a cache",
			(long long)rank, f->cache_path);
	if (f->dir != NULL && dir == strlen(f->dir) + 1 &&
	    memcmp(f->dir, f->cache_path, dir - 1) == 0)
		*state = FILE_ELSEWHERE;
	base = arena_strdup(w->p.arena, base);
	if (base == NULL)
		error_no_memory(err);
	return base;
}

static int
map_rank(struct planner *w, int64_t rank, struct mapper *mapper,
	 struct error *err)
{
	struct plan_rank *r = &w->p.ranks[rank];
	const struct filemap *m = &w->filemaps[rank];
	bool cache = w->p.places[r->map.place].cache;

	r->first_file = w->p.nfiles;
	r->nfiles = m->nfiles;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct filemap_file *f = &m->files[i];
		struct plan_file pf = {
			.rank = (uint32_t)rank,
			.place = r->map.place,
			.cache_path = f->cache_path,
			.attr = f->attr,
			.has_crc =
				f->has_crc && !(r->composed && w->p.old_sums),
			.record_crc = f->has_crc && r->composed,
			.crc = f->crc,
			.state = f->complete ? FILE_MISSING : FILE_INCOMPLETE,
		};

		if (!f->attr.has_size && !r->composed)
			return error_set(err, ERROR_CORRUPT,
					 "filemap_%lld: %s has no SIZE",
					 (long long)rank, f->cache_path);
		pf.path = cache ? cache_path(w, f, rank, &pf.state, err)
				: prefix_path(w, mapper, f, rank, err);
		if (pf.path == NULL || add_file(w, &pf, err) == SIZE_MAX)
			return -1;
	}
	return 0;
}

int
plan_map_files(struct planner *w, struct error *err)
{
	struct mapper m = { .dir = BUF_INIT, .norm = BUF_INIT };
	const struct plan_report *said = NULL;
	const struct plan_rank *pr = NULL;
	uint32_t rank = 0;
	int rc = 0;

	if (!w->p.places[0].cache)
		rc = find_root(w, err);
	for (int64_t r = 0; r < w->p.nranks && rc == 0; r++) {
		if (!w->p.ranks[r].map_known)
			continue;
		rc = map_rank(w, r, &m, err);
		if (rc < 0 || !w->reported)
			continue;
		/* Take the states of its files from its report. */
		rank = (uint32_t)r;
		pr = &w->p.ranks[r];
		said = bsearch(&rank, w->reports, w->nreports, sizeof(*said),
			       num_by_u32);
		if (said == NULL ||
		    (said->files != NULL && said->nfiles != pr->nfiles))
			rc = error_set(err, ERROR_USAGE,
				       "rank %" PRIu32
				       ": its report lacks the files of its "
				       "filemap",
				       rank);
		for (size_t i = 0; rc == 0 && i < pr->nfiles; i++) {
			struct plan_file *f = &w->p.files[pr->first_file + i];

			if (f->state == FILE_MISSING)
				f->state = said->files != NULL ? said->files[i]
							       : FILE_PRESENT;
		}
	}
	buf_free(&m.norm);
	buf_free(&m.dir);
	return rc;
}

/* Turn a path from a redundancy header into a path below the root of the place.
 * NULL: error. */
static const char *
bare_path(struct planner *w, const char *path, struct error *err)
{
	struct buf root = BUF_INIT;
	const char *rel = NULL, *from = w->o->moved_from;

	path = path_normal_in(w->p.arena, "", path, err);
	if (path == NULL ||
	    (from != NULL ? path_normal(from, &root, err)
			  : path_real(w->p.places[0].root, &root, err)) < 0)
		goto out;
	rel = path_below(path, root.data);
	if (rel == NULL || !path_is_clean(rel)) {
		error_set(err, ERROR_UNSAFE,
			  "%s is outside of %s: give the old name of that "
			  "directory with --moved-from",
			  path, root.data);
		rel = NULL;
	}
out:
	buf_free(&root);
	return rel;
}

int
plan_bare_file(struct planner *w, struct plan_member *m, size_t i,
	       struct error *err)
{
	const struct redset_file *rf = &m->list.files[i];
	struct plan_file f = {
		.rank = m->rank,
		.place = 0,
		.path = bare_path(w, rf->path, err),
		.cache_path = rf->path,
		.attr = rf->attr,
		.state = FILE_MISSING,
	};
	size_t at = f.path ? add_file(w, &f, err) : SIZE_MAX;

	m->files[i] = (uint32_t)at;
	return at == SIZE_MAX ? -1 : 0;
}

/* --- States on disk --- */

enum file_state
file_state_of(const struct stat *st, const uint64_t *size)
{
	if (!S_ISREG(st->st_mode))
		return FILE_WRONG_TYPE;
	return size != NULL && (uint64_t)st->st_size != *size ? FILE_WRONG_SIZE
							      : FILE_PRESENT;
}

struct stat_job {
	struct planner *w;
	size_t first;
	struct pathcache **caches; /* index: worker * nplaces + place */
};

/*
 * Is the present file out of reach for the job, whoever looks?  Its owner may
 * not read it, although root may; or it has become the file of a user who owns
 * neither the place nor the dataset, and only that one may read it.  If this is
 * the user of the job, the file is opened if the mode does not tell.
 */
static bool
is_barred(const struct planner *w, const struct plan_file *f,
	  const struct stat *st)
{
	const mode_t others = S_IRGRP | S_IROTH;
	const int root_fd = w->p.places[f->place].root_fd;
	struct error why = ERROR_INIT;
	struct stat root;
	int fd = -1;

	if ((st->st_mode & S_IRUSR) == 0)
		return true;
	if (!f->attr.has_owner || f->attr.uid == st->st_uid ||
	    (st->st_mode & others) == others)
		return false;
	if (f->attr.uid != geteuid())
		return (st->st_mode & others) == 0 &&
		       fstat(root_fd, &root) == 0 && root.st_uid != st->st_uid;
	if (f->attr.uid == 0)
		return false;
	fd = path_open_beneath(root_fd, f->path, O_RDONLY | O_NONBLOCK, 0,
			       &why);
	io_close(fd);
	return fd < 0 && why.kind == ERROR_SYSTEM && why.errnum == EACCES;
}

static int
stat_file(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct stat_job *job = arg;
	struct planner *w = job->w;
	struct plan_file *f = &w->p.files[job->first + i];
	struct error local = ERROR_INIT;
	struct stat st;

	if (f->state != FILE_MISSING)
		return 0;
	if (f->nsegs > 0) {
		f->found_size = plan_segs_size(f->segs, f->nsegs);
		if (f->found_size != f->attr.size)
			f->state = FILE_WRONG_SIZE;
		else if (!segmap_gone(f->segs, f->nsegs))
			f->state = FILE_PRESENT;
		for (size_t s = 0; s < f->nsegs; s++)
			f->barred = f->barred || f->segs[s].barred;
		return 0;
	}
	if (pathcache_stat(job->caches[worker * w->p.nplaces + f->place],
			   f->path, &st, &local) < 0) {
		if (local.kind == ERROR_ABSENT) {
			/* Empty packed files have no segment
			 * (container-format(5)). */
			if (f->packed && f->attr.size == 0)
				f->state = FILE_PRESENT;
			return 0;
		}
		if (local.kind == ERROR_SYSTEM && local.errnum == ENOTDIR)
			return 0;
		return error_pass(err, &local);
	}
	f->found_size = (uint64_t)st.st_size;
	f->unreadable = (st.st_mode & S_IRUSR) == 0;
	f->older = plan_age_of(&st, &f->attr) == AGE_OLDER;
	f->state = file_state_of(&st, f->attr.has_size ? &f->attr.size : NULL);
	if (!f->attr.has_size)
		f->attr.size = f->found_size;
	if (f->state == FILE_PRESENT)
		f->barred = is_barred(w, f, &st);
	return 0;
}

int
plan_stat_files(struct planner *w, size_t first, struct error *err)
{
	struct stat_job job = { .w = w, .first = first };
	size_t n = (size_t)w->nworkers * w->p.nplaces;
	int rc = -1;

	job.caches = mem_calloc(n, sizeof(*job.caches));
	if (job.caches == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		job.caches[i] =
			pathcache_new(w->p.places[i % w->p.nplaces].root_fd);
		if (job.caches[i] == NULL) {
			error_no_memory(err);
			goto out;
		}
	}
	rc = par_for(w->par, w->p.nfiles - first, STAT_BATCH, stat_file, &job,
		     err);
out:
	for (size_t i = 0; i < n; i++)
		pathcache_free(job.caches[i]);
	mem_free(job.caches);
	return rc;
}
