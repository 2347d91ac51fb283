/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching_list.c - the files of a dataset on the prefix, and copying them. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "par.h"
#include "path.h"
#include "scr/fetching_impl.h"
#include "scr/run.h"
#include "team/cores.h"
#include "transfer/pump.h"

/* --- Verdicts --- */

enum fetch_verdict
fetching_agree(const struct team *t, enum fetch_verdict v, struct error *err)
{
	const enum fetch_verdict worst =
		(enum fetch_verdict)team_most(t, (uint64_t)v);

	/* Only ranks with the worst verdict report their error. */
	(void)team_agree(t, worst != FETCH_DONE && v == worst ? -1 : 0, err);
	return worst;
}

/* The verdict for an error of a file.  Missing and damaged files make the
 * dataset bad; a file that cannot be read, or that the library does not open
 * (a link), may be right. */
static enum fetch_verdict
blame(const struct error *err)
{
	if (err->kind == ERROR_NOMEM)
		return FETCH_BROKEN;
	return err->kind == ERROR_ABSENT || err->kind == ERROR_DAMAGED ||
			       err->kind == ERROR_CORRUPT
		       ? FETCH_BAD
		       : FETCH_REFUSED;
}

/* --- The list --- */

static int
check_summary(int fd, const struct dataset *d, struct error *err)
{
	struct summary s;
	struct kvtree *t = summary_load(fd, SUMMARY_FILE, NULL, &s, err);
	struct dataset view = { .id = 0 };
	int rc = t == NULL ? -1 : dataset_read(s.desc, &view, err);

	if (rc == 0 && (s.complete == 0 || view.id != d->id))
		rc = error_set(err, ERROR_DAMAGED,
			       "%s: belongs to another dataset, or is "
			       "unfinished",
			       SUMMARY_FILE);
	kvtree_free(t);
	return rc;
}

/* Rank 0: does the dataset have valid metadata? */
static enum fetch_verdict
check_meta(const struct run *run, const struct dataset *d, struct error *err)
{
	const int fd = lists_open(run, d->id, err);
	int rc = fd < 0 ? -1 : 0;

	if (fd >= 0 && check_summary(fd, d, err) < 0)
		rc = error_wrap(err, DATASET_DIR_FMT, d->id);
	io_close(fd);
	return rc < 0 ? blame(err) : FETCH_DONE;
}

enum fetch_verdict
fetching_list(const struct run *run, const struct dataset *d, struct arena *a,
	      struct lists *out, struct error *err)
{
	enum fetch_verdict v = FETCH_DONE;

	if (run->world.rank == 0)
		v = check_meta(run, d, err);
	v = fetching_agree(&run->world, v, err);
	if (v != FETCH_DONE)
		return v;
	if (lists_read(run, d->id, a, out, err) == 0)
		return FETCH_DONE;
	return blame(err);
}

/* --- Copying --- */

struct copying {
	const struct run *run;
	const struct lists *list;
	const char *const *to;
	int prefix;
	struct stat *st; /* by file */
};

/* 1: the file is to be copied; 0: it is in its own place. */
static int
is_elsewhere(const struct copying *c, size_t i, struct error *err)
{
	struct buf own = BUF_INIT;
	int rc = path_join(&own, c->run->p.prefix, c->list->files[i].path, err);

	if (rc == 0)
		rc = strcmp(own.data, c->to[i]) != 0;
	buf_free(&own);
	return rc;
}

static uint64_t
file_size(void *arg, size_t i)
{
	const struct rank2file_file *f =
		&((struct copying *)arg)->list->files[i];

	return f->has_size ? f->size : 0;
}

static int
open_source(struct copying *c, size_t i, struct pump *p, struct error *err)
{
	const struct rank2file_file *f = &c->list->files[i];
	struct stat *st = &c->st[i];
	uint64_t is = 0;

	p->from = path_open_beneath(c->prefix, f->path, O_RDONLY, 0, err);
	if (p->from < 0)
		return -1;
	p->name = f->path;
	p->has_crc = f->has_crc;
	p->crc = f->crc;
	if (fstat(p->from, st) < 0)
		return error_sys(err, "%s", f->path);
	p->size = (uint64_t)st->st_size;
	is = (uint64_t)st->st_size;
	if (!S_ISREG(st->st_mode))
		return error_set(err, ERROR_DAMAGED, "%s: not a regular file",
				 f->path);
	if (f->has_size && f->size != is)
		return error_set(err, ERROR_DAMAGED,
				 "%s: has %" PRIu64 " bytes, expected %" PRIu64,
				 f->path, is, f->size);
	return 0;
}

static int
open_file(void *arg, size_t i, struct pump *p, struct error *err)
{
	struct copying *c = arg;
	int away = -1, rc = 1;

	*p = (struct pump){ .from = -1, .to = -1, .to_name = c->to[i] };
	if (open_source(c, i, p, err) < 0)
		rc = 0;
	else
		away = is_elsewhere(c, i, err);
	/* Nobody else reads it before its mode is known. */
	if (away == 1)
		p->to = io_open(AT_FDCWD, c->to[i],
				O_WRONLY | O_CREAT | O_TRUNC,
				c->run->p.copy_metadata ? 0600 : 0666, err);
	if (rc == 1 && (away < 0 || (away == 1 && p->to < 0)))
		rc = -1;
	if (away == 0 && !p->has_crc)
		p->size = 0; /* nothing to compare */
	if (rc != 1 && p->from >= 0)
		close(p->from);
	return rc;
}

/* The new file in cache gets mode and times of the one on the prefix, unless
 * the configuration or the device refuses. */
static int
close_file(void *arg, size_t i, const struct pump *p, int rc, struct error *err)
{
	struct copying *c = arg;
	struct rank2file_file *f = &c->list->files[i];
	struct attr attr;

	(void)err;
	if (rc == 1 && (p->to >= 0 || p->has_crc)) {
		f->has_crc = true;
		f->crc = p->crc;
	}
	attr_from_stat(&attr, &c->st[i]);
	if (rc == 1 && p->to >= 0 && c->run->p.copy_metadata)
		(void)attr_apply(&attr, p->to, f->path,
				 (struct owner){ .set = false }, NULL, NULL);
	io_close(p->to);
	close(p->from);
	return rc;
}

enum fetch_verdict
fetching_copy(const struct run *run, const struct store *store,
	      const struct lists *list, const char *const *to,
	      struct error *err)
{
	struct copying c = {
		.run = run,
		.list = list,
		.to = to,
		.prefix = dir_open(AT_FDCWD, run->p.prefix),
		.st = mem_calloc(list->count + 1, sizeof(*c.st)),
	};
	struct pump_list l = {
		.count = list->count,
		.size = file_size,
		.open = open_file,
		.close = close_file,
		.arg = &c,
	};
	int rc = -1;

	if (c.prefix < 0) {
		error_sys(err, "%s", run->p.prefix);
	} else if (c.st == NULL) {
		error_no_memory(err);
	} else {
		l.par = store->threads ? cores_pool(run->cores) : NULL;
		rc = pump_each(&l, err);
		par_free(l.par);
	}
	mem_free(c.st);
	io_close(c.prefix);
	return rc == 1 ? FETCH_DONE : rc == 0 ? blame(err) : FETCH_BROKEN;
}
