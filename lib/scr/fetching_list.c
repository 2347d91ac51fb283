/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching_list.c - the files of a dataset on the prefix, and copying them. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "path.h"
#include "scr/fetching_impl.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "transfer/pump.h"

/* --- Verdicts --- */

enum fetch_verdict
fetching_agree(const struct team *t, enum fetch_verdict v, struct error *err)
{
	const enum fetch_verdict worst =
		(enum fetch_verdict)team_most(t, (uint64_t)v);

	/* Only those with the worst verdict say why. */
	(void)team_agree(t, worst != FETCH_DONE && v == worst ? -1 : 0, err);
	return worst;
}

/* An error of a file of the dataset.  Missing and damaged ones are the fault of
 * the dataset; one that cannot be read may be right. */
static enum fetch_verdict
blame(const struct error *err)
{
	if (err->kind == ERROR_NOMEM)
		return FETCH_BROKEN;
	return err->kind == ERROR_SYSTEM ? FETCH_REFUSED : FETCH_BAD;
}

/* --- The list --- */

static int
check_summary(int fd, const struct dataset *d, struct error *err)
{
	struct kvtree *t = kvtree_read_beneath(fd, SUMMARY_FILE, NULL, err);
	struct summary s = { .complete = -1 };
	struct dataset view = { .id = 0 };
	int rc = t == NULL ? -1 : summary_read(t, &s, err);

	if (rc == 0)
		rc = dataset_read(s.desc, &view, err);
	if (rc == 0 && (s.complete == 0 || view.id != d->id))
		rc = error_set(err, ERROR_DAMAGED,
			       "%s: not of this dataset, or not complete",
			       SUMMARY_FILE);
	kvtree_free(t);
	return rc;
}

/* Rank 0: is it a dataset at all? */
static enum fetch_verdict
check_meta(const struct run *run, const struct dataset *d, struct error *err)
{
	char name[DATASET_DIR_NAME];
	struct buf path = BUF_INIT;
	int fd = -1, rc = 0;

	snprintf(name, sizeof(name), DATASET_DIR_FMT, d->id);
	if (buf_printf(&path, "%s/" SCR_DIR "/%s", run->p.prefix, name) < 0) {
		error_no_memory(err);
		return FETCH_BROKEN;
	}
	fd = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		rc = error_sys(err, "%s", path.data);
	else if (check_summary(fd, d, err) < 0)
		rc = error_wrap(err, "%s", name);
	if (fd >= 0)
		close(fd);
	buf_free(&path);
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
	return err->kind == ERROR_USAGE ? FETCH_REFUSED : blame(err);
}

/* --- Copying --- */

/* One file on its way; with `to` < 0 it is only compared. */
struct copying {
	struct lists_file *f;
	int from, to;
	const char *name; /* of `to` */
	struct stat st;
	char *block;
};

static enum fetch_verdict
check_size(const struct copying *c, struct error *err)
{
	const uint64_t is = (uint64_t)c->st.st_size;

	if (!S_ISREG(c->st.st_mode))
		error_set(err, ERROR_DAMAGED, "%s: not a regular file",
			  c->f->rel);
	else if (c->f->has_size && c->f->size != is)
		error_set(err, ERROR_DAMAGED,
			  "%s: has %" PRIu64 " bytes, expected %" PRIu64,
			  c->f->rel, is, c->f->size);
	else
		return FETCH_DONE;
	return FETCH_BAD;
}

static enum fetch_verdict
copy_bytes(const struct copying *c, struct error *err)
{
	struct pump p = {
		.from = c->from,
		.name = c->f->rel,
		.size = (uint64_t)c->st.st_size,
		.has_crc = c->f->has_crc,
		.crc = c->f->crc,
		.to = c->to,
		.to_name = c->name,
		.block = c->block,
		.room = PUMP_BLOCK,
	};
	const int rc = pump_run(&p, err, err);

	if (rc == 1) {
		c->f->has_crc = true;
		c->f->crc = p.crc;
	}
	return rc == 1 ? FETCH_DONE : rc == 0 ? blame(err) : FETCH_BROKEN;
}

/* The new file in cache gets mode and times of the one on the prefix, unless
 * the configuration or the device refuses. */
static enum fetch_verdict
write_copy(const struct run *run, struct copying *c, struct error *err)
{
	enum fetch_verdict v = FETCH_BROKEN;
	struct attr attr;

	/* Nobody else reads it before its mode is known. */
	c->to = io_open(AT_FDCWD, c->name, O_WRONLY | O_CREAT | O_TRUNC,
			run->p.copy_metadata ? 0600 : 0666, err);
	if (c->to < 0)
		return FETCH_BROKEN;
	v = copy_bytes(c, err);
	attr_from_stat(&attr, &c->st);
	if (v == FETCH_DONE && run->p.copy_metadata)
		attr_try(&attr, c->to, (struct owner){ .set = false }, NULL);
	close(c->to);
	return v;
}

static enum fetch_verdict
copy_one(const struct run *run, int prefix, struct copying *c,
	 struct error *err)
{
	struct buf own = BUF_INIT;
	enum fetch_verdict v = FETCH_DONE;

	c->to = -1;
	c->from = path_open_beneath(prefix, c->f->rel, O_RDONLY, 0, err);
	if (c->from < 0)
		return blame(err);
	if (fstat(c->from, &c->st) < 0) {
		error_sys(err, "%s", c->f->rel);
		v = blame(err);
	}
	if (v == FETCH_DONE)
		v = check_size(c, err);
	if (v == FETCH_DONE &&
	    path_join(&own, run->p.prefix, c->f->rel, err) < 0)
		v = FETCH_BROKEN;
	if (v == FETCH_DONE && strcmp(own.data, c->name) != 0)
		v = write_copy(run, c, err);
	else if (v == FETCH_DONE && c->f->has_crc)
		v = copy_bytes(c, err);
	close(c->from);
	buf_free(&own);
	return v;
}

enum fetch_verdict
fetching_copy(const struct run *run, const struct lists *list,
	      const char *const *to, struct error *err)
{
	const int prefix =
		open(run->p.prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct copying c = { .block = mem_aligned(PUMP_ALIGN, PUMP_BLOCK) };
	enum fetch_verdict v = FETCH_DONE;

	if (prefix < 0) {
		error_sys(err, "%s", run->p.prefix);
		v = FETCH_BROKEN;
	} else if (c.block == NULL) {
		error_no_memory(err);
		v = FETCH_BROKEN;
	}
	for (size_t i = 0; v == FETCH_DONE && i < list->count; i++) {
		c.f = &list->files[i];
		c.name = to[i];
		v = copy_one(run, prefix, &c, err);
	}
	mem_free(c.block);
	if (prefix >= 0)
		close(prefix);
	return v;
}
