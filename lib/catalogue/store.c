/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.c - read, change and rebuild index.scr.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue/catalogue_impl.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "lock.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "num.h"
#include "room.h"
#include "str.h"

/* Maximum number of backups of damaged indexes. */
#define BACKUPS_MAX 1000

int
catalogue_load(struct catalogue *c, struct index **ix,
	       enum catalogue_state *state, struct error *err)
{
	struct kvtree *tree = NULL;
	struct error why = ERROR_INIT;

	*ix = NULL;
	*state = CATALOGUE_GOOD;
	c->damaged = false;
	/* Another process may have made .scr since catalogue_open(). */
	if (catalogue_open_scr(c, false, &why) == 0)
		tree = kvtree_read_beneath(c->scr_fd, INDEX_FILE, NULL, &why);
	if (tree != NULL) {
		*ix = index_from_tree(tree, &why);
		if (*ix != NULL) {
			if (index_is_old(*ix))
				*state = CATALOGUE_OLD;
			return 0;
		}
		error_wrap(&why, "%s", INDEX_FILE);
	}
	error_pass(err, &why);
	/* The index is damaged only if its contents violate the format.  On a
	 * read error (EIO, EACCES, no memory) it may be intact. */
	if (why.kind == ERROR_ABSENT)
		*state = CATALOGUE_MISSING;
	else if (why.kind == ERROR_CORRUPT)
		*state = CATALOGUE_DAMAGED;
	else
		return error_wrap(err, "%s", c->path);
	c->damaged = *state == CATALOGUE_DAMAGED;
	return 0;
}

int
catalogue_forget(struct index *ix, int64_t id, struct error *err)
{
	struct index_entry e;

	if (index_find_id(ix, id, &e, err) < 0)
		return -1;
	if (e.name != NULL)
		return index_remove(ix, e.name, err);
	/* No other table refers to an entry without a name. */
	kvtree_remove(kvtree_get(index_tree(ix), "DSET"), num_str(id));
	return 0;
}

/* --- Rebuild the index from the dataset directories --- */

/* Can --build use this file? */
static int
buildable(void *arg, const char *name, struct error *err)
{
	const enum dataset_dir_kind kind = dataset_dir_kind(name, NULL);

	(void)arg;
	(void)err;
	return kind == DATASET_DIR_RANK2FILE ||
	       kind == DATASET_DIR_RANK2FILE_PART || kind == DATASET_DIR_COPY ||
	       dataset_dir_is_recovery(name);
}

/* Add dataset `id` as its summary describes it. */
static int
take_summary(struct catalogue_change *r, int64_t id, struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary s = { .complete = -1 };
	struct dataset view = { .id = 0 };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct stat st;
	struct kvtree *tree = catalogue_summary(r->c, id, &s, &st, &why);
	int rc = tree == NULL ? -1 : dataset_read(s.desc, &view, &why);

	/* LLNL's tool leaves a summary without COMPLETE if it failed, and one
	 * without DSET if flush.scr was missing (scr-dataset(5)). */
	if (rc == 0 && s.complete >= 0 && view.id == id && view.name != NULL &&
	    dataset_name_ok(view.name)) {
		rc = index_add(r->ix, s.desc, s.complete,
			       index_stamp_str(st.st_mtime), err);
		r->added += rc == 0;
	} else if (why.kind == ERROR_NOMEM ||
		   (why.kind == ERROR_SYSTEM && why.errnum == EIO)) {
		error_as(err, &why, "%s: %s", r->c->path, why.text);
	} else {
		/* Count it if --build could add it. */
		if (catalogue_dir_open(r->c, id, &d, NULL) == 0 &&
		    dir_each(d.fd, d.name, buildable, NULL, NULL) > 0 &&
		    r->left++ < CATALOGUE_REPORTED_MAX)
			r->left_len += (size_t)snprintf(
				r->left_ids + r->left_len,
				sizeof(r->left_ids) - r->left_len, " %" PRId64,
				id);
		catalogue_dir_close(&d);
		rc = 0;
	}
	kvtree_free(tree);
	return rc;
}

/* Write the notice: `why` the index was rebuilt, the result, and a last line
 * (or NULL).  If memory is short, the notice is cut. */
static void
tell(const struct catalogue_change *r, const char *why, const char *what,
     const char *last)
{
	struct buf *to = &r->c->notice;

	buf_clear(to);
	buf_printf(to,
		   "%s: %s from the summaries in the dataset directories: %zu "
		   "%s%s",
		   why, what, str_count(r->added, "dataset"),
		   r->added > 0 ? ", none marked current (--current)" : "");
	if (r->left > 0)
		buf_printf(to, "\n%s%s", str_plural(r->left, "dataset"),
			   r->left_ids);
	if (r->left > CATALOGUE_REPORTED_MAX)
		buf_printf(to, " and %zu more",
			   r->left - CATALOGUE_REPORTED_MAX);
	if (r->left > 0)
		buf_printf(
			to,
			": not listed, as %s no valid summary: --build id:%s "
			"adds %s to the index",
			r->left == 1 ? "it has" : "they have",
			r->left == 1 ? r->left_ids + 1 : "N",
			r->left == 1 ? "it" : "them");
	if (last != NULL)
		buf_printf(to, "\n%s", last);
}

/* Read the index, or if it is damaged or missing, build it from the dataset
 * directories. */
static int
read_or_remake(struct catalogue_change *r, struct error *err)
{
	size_t count = 0;
	int64_t *ids = NULL;
	int rc = 0;

	if (catalogue_load(r->c, &r->ix, &r->state, &r->why) < 0)
		return error_pass(err, &r->why);
	if (r->ix != NULL)
		return 0;
	r->ix = index_new(err);
	if (r->ix == NULL)
		return -1;
	ids = catalogue_dirs(r->c, &count, err);
	rc = count == (size_t)-1 ? -1 : 0;
	/* In ascending order, so that of two datasets with the same name the
	 * newer one stays. */
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (ids[i] != r->c->building)
			rc = take_summary(r, ids[i], err);
	mem_free(ids);
	if (rc < 0) {
		index_free(r->ix);
		r->ix = NULL;
		return -1;
	}
	/* Without summaries there was no index to lose. */
	r->c->remade =
		r->c->remade || r->state == CATALOGUE_DAMAGED || r->added > 0;
	return 0;
}

struct index *
catalogue_read(struct catalogue *c, struct error *err)
{
	struct catalogue_change r = { .c = c, .why = ERROR_INIT };

	if (read_or_remake(&r, err) < 0)
		return NULL;
	if (r.state == CATALOGUE_DAMAGED)
		tell(&r, r.why.text, "the datasets are read",
		     "the next change of the index keeps the damaged file as "
		     "" INDEX_FILE ".bak and writes a new one");
	else if (r.state == CATALOGUE_MISSING && r.added + r.left > 0)
		tell(&r, INDEX_FILE " is missing", "the datasets are read",
		     NULL);
	if (r.state != CATALOGUE_MISSING || r.added + r.left > 0)
		return r.ix;
	index_free(r.ix);
	return error_set_null(
		err, ERROR_ABSENT,
		"%s: no index and no datasets: is this the prefix directory "
		"of a job? name another with --prefix DIR",
		c->path);
}

int
catalogue_entries(struct catalogue *c, struct catalogue_entries *out,
		  struct error *err)
{
	struct error why = ERROR_INIT;

	*out = (struct catalogue_entries){ .index = catalogue_read(c, &why) };
	if (out->index == NULL)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	out->list = index_entries(out->index, &out->count, err);
	if (out->count != (size_t)-1)
		return 0;
	out->count = 0;
	return -1;
}

void
catalogue_entries_free(struct catalogue_entries *e)
{
	mem_free(e->list);
	index_free(e->index);
}

bool
catalogue_may_list(struct catalogue *c, int64_t id)
{
	enum catalogue_state state = CATALOGUE_GOOD;
	struct index *ix = NULL;
	struct index_entry e;
	bool may = true;

	if (catalogue_load(c, &ix, &state, NULL) == 0)
		may = ix != NULL ? index_find_id(ix, id, &e, NULL) == 0
				 : state != CATALOGUE_MISSING;
	index_free(ix);
	return may;
}

const struct index *
catalogue_index(struct catalogue *c, const struct catalogue_options *o,
		struct index **read, struct error *err)
{
	*read = o->index == NULL ? catalogue_read(c, err) : NULL;
	return o->index != NULL ? o->index : *read;
}

/* --- Writing, also on a full file system --- */

/*
 * An index is replaced by a new file, which needs room.  Therefore each change
 * leaves a reserve, index.spare, with as many blocks as the index and some for
 * growth.  If there is no room for a new file, the reserve is overwritten,
 * synced and renamed to index.scr; then the blocks of the old index make the
 * next reserve.  This is as atomic as the normal way.
 *
 * Without a reserve (the file system was full before our first change), an
 * index of one page is overwritten in place by one write(2), which a signal
 * cannot interrupt.  Readers ignore bytes after the image (kvtree(5)), so
 * a shorter index is cut to its length afterwards.
 */

#define SPARE_FILE "index.spare"
#define PAGE ((size_t)4096)

/* Bytes of the reserve for an index of `len` bytes: whole pages, with one more
 * for an entry that grows. */
static off_t
spare_size(size_t len)
{
	return (off_t)((len / PAGE + 2) * PAGE);
}

/* Open `name` for writing if it is a regular file with this name only, of `min`
 * to `max` bytes.  Returns a descriptor, or -1: ENOSPC. */
static int
open_plain(int dirfd, const char *name, size_t min, size_t max,
	   struct error *err)
{
	struct stat st;
	int fd = dir_open_file(
		dirfd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink == 1 && (size_t)st.st_size >= min &&
	    (size_t)st.st_size <= max)
		return fd;
	io_close(fd);
	errno = ENOSPC;
	return error_sys(err, "%s: cannot replace", name);
}

/* Overwrite the file, sync it and close it. */
static int
overwrite(int fd, const char *name, const struct buf *image, struct error *err)
{
	int rc = io_rewrite(fd, name, image->data, image->len, err);

	if (close(fd) < 0 && rc == 0)
		rc = error_sys(err, "%s: cannot close", name);
	return rc;
}

/* Make or enlarge the reserve.  A failure is ignored: the reserve is not needed
 * yet. */
static void
keep_spare(int dirfd, size_t len)
{
	struct stat st;
	int fd = -1;

	if (dir_stat(dirfd, SPARE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!S_ISREG(st.st_mode) ||
	     st.st_size >= spare_size(len) - (off_t)PAGE))
		return;
	fd = open_plain(dirfd, SPARE_FILE, 0, SIZE_MAX, NULL);
	if (fd < 0)
		fd = create_file(dirfd, SPARE_FILE, O_WRONLY, 0666,
				 create_owner(dirfd));
	if (fd < 0)
		return;
	(void)posix_fallocate(fd, 0, spare_size(len));
	close(fd);
}

/* Overwrite the reserve and rename it.  `index`: the old index, or mode 0. */
static int
use_spare(int dirfd, const struct buf *image, const struct stat *index,
	  struct error *err)
{
	int fd = open_plain(dirfd, SPARE_FILE, image->len, SIZE_MAX, err);

	if (fd >= 0 && index->st_mode != 0) {
		(void)!fchown(fd, index->st_uid, index->st_gid);
		(void)!fchmod(fd, index->st_mode & 0777);
	}
	if (fd < 0 || overwrite(fd, SPARE_FILE, image, err) < 0)
		return -1;
	if (renameat(dirfd, SPARE_FILE, dirfd, INDEX_FILE) < 0)
		return error_sys(err, INDEX_FILE ": cannot replace");
	return io_sync_dir(dirfd, INDEX_FILE, err);
}

static int
write_in_place(int dirfd, const char *name, const struct buf *image,
	       struct error *err)
{
	const size_t most = image->len <= PAGE ? PAGE : 0;
	int fd = open_plain(dirfd, name, 1, most, err);

	return fd < 0 ? -1 : overwrite(fd, name, image, err);
}

int
catalogue_write_summary(const struct catalogue_dir *d, const struct kvtree *t,
			struct error *err)
{
	struct buf image = BUF_INIT;
	struct error why = ERROR_INIT;
	int rc = kvtree_encode(t, &image, &why);

	if (rc == 0)
		rc = io_replace(d->fd, SUMMARY_FILE, image.data, image.len,
				0666, &why);
	if (rc < 0 && room_is_short(&why)) {
		error_clear(&why);
		rc = write_in_place(d->fd, SUMMARY_FILE, &image, &why);
	}
	buf_free(&image);
	return rc < 0 ? error_as(err, &why, "%s/%s", d->name, why.text) : 0;
}

/* Replace index.scr, on a full file system from the reserve.  `locked`: the
 * caller holds the lock; without it, two processes would write the same
 * reserve. */
static int
replace_index(struct catalogue *c, const struct kvtree *tree, bool locked,
	      struct error *err)
{
	struct buf image = BUF_INIT;
	struct error why = ERROR_INIT, spare = ERROR_INIT;
	struct stat st;
	int rc = kvtree_encode(tree, &image, &why);

	if (rc == 0)
		rc = io_replace(c->scr_fd, INDEX_FILE, image.data, image.len,
				0666, &why);
	if (rc < 0 && locked && room_is_short(&why)) {
		if (dir_stat(c->scr_fd, INDEX_FILE, &st, AT_SYMLINK_NOFOLLOW) <
		    0)
			st.st_mode = 0;
		if (use_spare(c->scr_fd, &image, &st, &spare) == 0 ||
		    write_in_place(c->scr_fd, INDEX_FILE, &image, &spare) == 0)
			rc = 0;
		else if (!room_is_short(&spare))
			error_pass(&why, &spare);
		else
			room_explain(c->scr_fd, image.len, &why);
	} else if (rc < 0) {
		room_explain(c->scr_fd, image.len, &why);
	}
	if (rc == 0 && locked)
		keep_spare(c->scr_fd, image.len);
	buf_free(&image);
	return rc < 0 ? error_as(err, &why, "%s/.scr: %s", c->path, why.text)
		      : 0;
}

/* --- Changes --- */

/* Keep the damaged index under a backup name, returned in `to`. */
static int
back_up(struct catalogue *c, char *to, size_t size, struct error *err)
{
	struct stat st;

	for (int n = 0; n < BACKUPS_MAX; n++) {
		if (n == 0)
			snprintf(to, size, "%s.bak", INDEX_FILE);
		else
			snprintf(to, size, "%s.bak.%d", INDEX_FILE, n);
		/* Link rather than rename, so that index.scr always exists. */
		if (linkat(c->scr_fd, INDEX_FILE, c->scr_fd, to, 0) == 0)
			return io_sync_dir(c->scr_fd, to, err);
		/* Without hard links, rename.  No other process can take the
		 * name meanwhile, as we hold the lock. */
		if (errno == EEXIST ||
		    dir_stat(c->scr_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (renameat(c->scr_fd, INDEX_FILE, c->scr_fd, to) == 0)
			return io_sync_dir(c->scr_fd, to, err);
		break;
	}
	return error_sys(err, "%s/.scr/%s: cannot keep the index as %s",
			 c->path, INDEX_FILE, to);
}

/* Write the index.  A damaged or old file is kept first. */
static int
write_index(const struct catalogue_change *r, bool locked, struct error *err)
{
	const enum catalogue_state state = r->state;
	struct catalogue *c = r->c;
	char kept[64] = INDEX_FILE ".bak";
	struct stat now, bak;

	/* An interrupted run may have kept this file already. */
	if ((state == CATALOGUE_DAMAGED || state == CATALOGUE_OLD) &&
	    !(dir_stat(c->scr_fd, INDEX_FILE, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	      dir_stat(c->scr_fd, kept, &bak, AT_SYMLINK_NOFOLLOW) == 0 &&
	      now.st_dev == bak.st_dev && now.st_ino == bak.st_ino) &&
	    back_up(c, kept, sizeof(kept), err) < 0)
		return -1;
	if (replace_index(c, index_tree(r->ix), locked, err) < 0)
		return -1;
	if (state == CATALOGUE_DAMAGED) {
		tell(r, r->why.text, "a new index was made",
		     str_printed(128, "the damaged file is kept as %s", kept));
	} else if (state == CATALOGUE_OLD) {
		buf_clear(&c->notice);
		buf_printf(&c->notice,
			   "%s was of SCR 1.1.8: it is kept as %s, and a new "
			   "one with the same datasets was made",
			   INDEX_FILE, kept);
	} else if (state == CATALOGUE_MISSING && r->added + r->left > 0) {
		tell(r, INDEX_FILE " was missing", "a new index was made",
		     NULL);
	}
	return 0;
}

int
catalogue_begin(struct catalogue *c, struct catalogue_change *t,
		struct error *err)
{
	struct error why = ERROR_INIT;

	*t = (struct catalogue_change){ .c = c, .lock = -1 };
	if (catalogue_open_scr(c, true, err) < 0)
		return -1;
	t->lock = io_lock(c->scr_fd, CATALOGUE_LOCK, true, c->stop, &why);
	/* No room for the lock file: lock the directory. */
	if (t->lock < 0 && room_is_short(&why)) {
		error_clear(&why);
		t->lock = io_lock_dir(c->scr_fd, c->stop, &why);
	}
	/* On a file system without locks go without, as LLNL's library always
	 * does. */
	if (t->lock < 0 && lock_unsupported(&why))
		(void)unlinkat(c->scr_fd, CATALOGUE_LOCK, 0);
	else if (t->lock < 0)
		return error_as(err, &why, "%s/.scr: %s", c->path, why.text);
	return read_or_remake(t, err);
}

int
catalogue_end(struct catalogue_change *t, int rc, struct error *err)
{
	/* Repair a damaged index even if nothing was changed. */
	if (rc == 0 || (rc > 0 && t->state == CATALOGUE_DAMAGED))
		rc = write_index(t, t->lock >= 0, err);
	index_free(t->ix);
	io_close(t->lock);
	return rc < 0 ? -1 : 0;
}
