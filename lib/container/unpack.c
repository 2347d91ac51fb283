/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unpack.c - unpack containers into files.
 *
 *   look    compare existing files; are the containers long enough?
 *   write   containers -> temporary files beside the targets
 *   commit  modes, owners, times; synced; renamed
 *   switch  rank2file without segments, by one rename
 *   sweep   remove containers and packed.*.scr
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "container/extract.h"
#include "container/marks.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

struct unpacking {
	struct packing w;
	struct packed_copy copy;
	bool *wanted, *meta_wanted; /* by file of a map: is written */
};

/* --- Look --- */

/* Compare the files that exist with the packed ones, and add the others to
 * those to be written.  Fails if another file is in the way. */
static int
look(struct unpacking *u, struct error *err)
{
	const struct packed *p = u->w.p;
	struct put_what what = { .kind = PUT_FILE, .dirfd = p->file_fd };

	u->wanted =
		arena_alloc(u->w.arena, p->map.nfiles + 1, sizeof(*u->wanted));
	for (size_t i = 0; i < p->map.nfiles; i++) {
		const struct segmap_file *f = &p->map.files[i];
		bool same = false, plain = false;
		struct stat st;
		int there = 0;

		/* A file without segments was not packed, or is empty. */
		if (f->nsegs == 0 && f->size > 0)
			continue;
		if (packed_refuse_place(p, i, err) < 0)
			return -1;
		there = pathcache_look(u->w.parents, f->path, &st, err);
		if (there < 0)
			return -1;
		plain = there > 0 && S_ISREG(st.st_mode);
		if (plain && (uint64_t)st.st_size == f->size &&
		    pack_compare(p, false, i, u->w.po->work, &same, err) < 0)
			return -1;
		if (there > 0 && !same && !(u->w.po->force && plain))
			return error_set(
				err, ERROR_SYSTEM, "%s: exists, and %s",
				str_shown(f->path),
				plain ? "differs from the packed file (--force "
					"replaces it)"
				      : "is not a regular file: move it away");
		u->wanted[i] = !same;
		u->w.out->adopted += same;
		if (same)
			continue;
		what.path = f->path;
		what.size = f->size;
		what.attr = p->hidden.has_attrs ? &f->attr : NULL;
		what.replaces = there > 0;
		if (packed_copy_add(&u->copy, &p->map, f, &what, err) < 0)
			return -1;
	}
	return 0;
}

/* --- Metadata files --- */

/* Existing files were restored by a rebuild, and are newer: keep them. */
static int
look_hidden(struct unpacking *u, struct error *err)
{
	const struct segmap *m = &u->w.p->hidden.map;
	size_t nlost = 0;
	struct stat st;

	u->meta_wanted =
		arena_alloc(u->w.arena, m->nfiles + 1, sizeof(*u->meta_wanted));
	if (packed_reach_meta(u->w.p, err) < 0)
		return -1;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		struct put_what what = {
			.kind = f->tree != NULL ? PUT_MAP : PUT_REDUNDANCY,
			.dirfd = u->w.p->meta_fd,
			.path = f->path,
			.size = f->size,
			.attr = &f->attr,
		};
		struct buf raw = BUF_INIT;
		int rc = 0;

		if (!pathcache_absent(u->w.meta, f->path) &&
		    dir_stat(u->w.p->meta_fd, f->path, &st,
			     AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (segmap_gone(m->segs + f->first, f->nsegs)) {
			nlost++;
			continue;
		}
		u->w.out->hidden++;
		if (f->tree == NULL) {
			u->meta_wanted[i] = true;
			rc = packed_copy_add(&u->copy, m, f, &what, err);
		} else if ((rc = kvtree_encode(f->tree, &raw, err)) == 0) {
			what.image =
				arena_strndup(u->w.arena, raw.data, raw.len);
			what.image_size = what.size = raw.len;
			(void)put_add(u->copy.put, &what, NULL);
		}
		buf_free(&raw);
		if (rc < 0)
			return -1;
	}
	if (nlost > 0)
		work_say(u->w.po->work,
			 "%s: %zu redundancy %s lost with the containers: "
			 "compute the redundancy again",
			 u->w.p->name, nlost,
			 nlost == 1 ? "file was" : "files were");
	return 0;
}

/* --- Sweep --- */

/* Remove the containers and their directory; a dry run counts them. */
static int
sweep(struct unpacking *u, struct error *err)
{
	const bool dry = u->w.po->work->dry_run;
	const struct packed *p = u->w.p;

	if (pack_sweep(p, NULL, NULL, dry, &u->w.out->removed, err) < 0)
		return -1;
	if (dry || p->layout != 3)
		return 0;
	if (marks_remove(p->meta_fd, err) < 0)
		return -1;
	/* Other files may be in the directory. */
	if (unlinkat(p->root_fd, SEGMAP_DIR, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
		return error_sys(err, "%s/%s: cannot remove", p->root,
				 SEGMAP_DIR);
	return 0;
}

/* --- All steps --- */

static int
work(struct unpacking *u, struct error *err)
{
	struct packing *w = &u->w;
	const struct packed *p = w->p;
	const struct hidden *h = &p->hidden;
	struct packed_dirs dirs = { .count = 0 };
	size_t *order = NULL;

	packed_copy_init(&u->copy, p->map.nfiles + h->map.nfiles,
			 p->map.nsegs + h->map.nsegs);
	if (packed_refuse_marked(p, 0, p->map.nfiles, NULL, err) < 0 ||
	    segmap_refuse_twins(&p->map, NULL, ERROR_DAMAGED,
				"cannot be unpacked", err) < 0 ||
	    (!w->po->force && packed_refuse_incomplete(p, err) < 0) ||
	    look(u, err) < 0 || look_hidden(u, err) < 0 ||
	    packed_refuse_short(p, &p->map, u->wanted, err) < 0 ||
	    packed_refuse_short(p, &h->map, u->meta_wanted, err) < 0)
		return -1;
	if ((!w->po->work->dry_run && put_clear(u->copy.put, err) < 0) ||
	    put_check_room(u->copy.put, "the files", err) < 0)
		return -1;
	if (w->po->work->dry_run)
		return sweep(u, err);
	/* The times that the directories of the files get at the end: for
	 * directories of packed files, the times before packing; for
	 * directories above, their present times.  A missing directory is made
	 * as it was. */
	for (size_t i = 0; i < h->ndirs; i++)
		put_dir(u->copy.put, p->file_fd, h->dirs[i].path,
			&h->dirs[i].attr);
	if (h->ndirs > 0 &&
	    packed_dirs(p, NULL, work_waiting(w->po->work, p->file_fd),
			w->arena, &dirs, err) < 0)
		return -1;
	if (packed_copy_run(&u->copy, w->po->work, err) < 0)
		return -1;
	/* Sort the files of each rank by place, so that they can be packed
	 * again in the same order; SCR 1.1.8 lists them in any order. */
	order = arena_alloc(w->arena, p->map.nfiles + 1, sizeof(*order));
	(void)segmap_init(&w->map, p->map.nfiles, NULL);
	(void)segmap_sort(&p->map, true, order, NULL);
	/* In an unfinished repack, places do not give the order, but the list
	 * is sorted. */
	for (size_t i = 0; i < p->map.nfiles; i++)
		w->map.files[i] = p->map.files[p->map.moving ? i : order[i]];
	w->map.nfiles = p->map.nfiles;
	if (pack_switch(w->p, &w->map, NULL, false, err) < 0 ||
	    sweep(u, err) < 0)
		return -1;
	/* A failure is ignored, because all files are in place. */
	for (size_t i = 0; i < dirs.count; i++) {
		const struct attr *a = &dirs.list[i].attr;
		const struct timespec times[] = { a->atime, a->mtime };
		int fd = path_open_dir(p->file_fd, dirs.list[i].path, NULL);

		if (fd >= 0)
			(void)futimens(fd, times);
		io_close(fd);
	}
	return 0;
}

int
unpack(struct packed *p, const struct pack_options *po, struct pack_result *out,
       struct error *err)
{
	struct unpacking u;
	const struct put_options how = {
		.par = work_waiting(po->work, p->file_fd),
		.guard = po->guard,
		.work = po->work,
	};
	int rc = 0;

	pack_init(&u.w, p, po, out);
	out->done_before = !p->is_packed;
	out->containers += p->hidden.map.ncontainers;
	u.copy = (struct packed_copy){ p, put_new(&how, NULL), u.w.arena,
				       .len = 0 };
	if (!po->work->dry_run)
		rc = pack_sweep_parts(p, err);
	if (rc == 0)
		rc = p->is_packed ? work(&u, err) : sweep(&u, err);
	if (rc < 0)
		room_explain(p->file_fd, 0, err);
	put_free(u.copy.put);
	pack_fini(&u.w);
	return rc;
}
