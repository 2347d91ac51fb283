/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_plan.c - the plan of a flush, and the transfers of a rank. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"
#include "par.h"
#include "path.h"
#include "scr/flushing_impl.h"
#include "scr/held.h"
#include "scr/onprefix.h"
#include "scr/owned.h"
#include "scr/run.h"
#include "team/cores.h"
#include "transfer/pump.h"
#include "transfer/put.h"

/* --- Directories --- */

#define DIR_MODE 0777

/* Make a directory and those above it, and sync their names. */
static int
make_dir(int prefix_fd, const char *dir, struct error *err)
{
	struct buf path = BUF_INIT;
	const char *base = NULL;
	bool made = false;
	int rc = path_join(&path, dir, "x", err);

	/* The parent of DIR/x, then that of each name above. */
	while (rc == 0) {
		const int fd = path_open_parent(prefix_fd, path.data, true,
						DIR_MODE, &base, err);

		rc = fd < 0 ? -1 : !made ? 0 : io_sync_dir(fd, path.data, err);
		io_close(fd);
		made = true;
		if (strchr(path.data, '/') == NULL)
			break;
		*strrchr(path.data, '/') = '\0';
	}
	buf_free(&path);
	return rc;
}

/* 1: the map has got `dir`, 0: it has it already, -1: no memory. */
static int
is_new(struct map *seen, const char *dir, struct error *err)
{
	if (map_get(seen, dir) != MAP_NONE)
		return 0;
	return map_put(seen, dir, 0) < 0 ? error_no_memory(err) : 1;
}

/*
 * Make the directories of all files.  The leader of a node collects those of
 * its ranks; then each directory is made by its home, so that the file system
 * gets one request for it, not one from each rank.  Collective.
 */
static int
flushing_make_dirs(struct flushing *f, struct error *err)
{
	/* Of this rank, of its node, to be made here. */
	struct map *seen[3] = { map_new(), map_new(), map_new() };
	struct buf mine = BUF_INIT;
	struct team_note note = { .rank = 0 };
	const struct team_mail out = { 1, &note };
	struct team_mail in = { 0, NULL };
	struct team_path *list = NULL;
	size_t count = 0, cap = 0;
	int rc = 0;

	if (seen[0] == NULL || seen[1] == NULL || seen[2] == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc >= 0 && i < f->nfiles; i++) {
		const char *rel = f->files[i].rel, *base = path_base(rel);
		const size_t len = (size_t)(base - rel);
		const char *dir = NULL;

		if (len == 0)
			continue;
		dir = arena_strndup(f->arena, rel, len - 1);
		rc = dir == NULL ? error_no_memory(err)
				 : is_new(seen[0], dir, err);
		if (rc > 0)
			(void)buf_add(&mine, dir, len);
	}
	if (rc >= 0)
		rc = buf_check(&mine, err);
	note.data = mine.data;
	note.len = mine.len;
	rc = team_notes(&f->run->node, rc, &out, f->arena, &in, err);
	for (size_t i = 0; rc >= 0 && i < in.count; i++) {
		const char *at = in.notes[i].data, *end = at + in.notes[i].len;

		for (; rc >= 0 && at < end; at += strlen(at) + 1) {
			rc = is_new(seen[1], at, err);
			if (rc > 0 && MEM_ROOM(list, count, cap))
				list[count++].path = at;
			else if (rc > 0)
				rc = error_no_memory(err);
		}
	}
	rc = team_homes(&f->run->world, list, rc < 0 ? -1 : (int64_t)count,
			f->arena, &in, err);
	for (size_t i = 0; rc >= 0 && i < in.count; i++) {
		const char *at = in.notes[i].data, *end = at + in.notes[i].len;

		for (; rc >= 0 && at < end; at += strlen(at) + 1) {
			rc = is_new(seen[2], at, err);
			if (rc > 0)
				rc = make_dir(f->prefix_fd, at, err);
		}
	}
	for (int i = 0; i < 3; i++)
		map_free(seen[i]);
	mem_free(list);
	buf_free(&mine);
	return team_agree(&f->run->world, rc < 0 ? -1 : 0, err);
}

void
flushing_free(struct flushing *f)
{
	if (f == NULL)
		return;
	put_free(f->put);
	flushing_pack_free(f->pack);
	io_close(f->prefix_fd);
	arena_free(f->arena);
	mem_free(f);
}

/* --- The files of this rank --- */

static int
add_file(struct flushing *f, const struct filemap_file *m, struct error *err)
{
	struct flush_file *to = &f->files[f->nfiles];
	const char *path = NULL;
	struct stat st;

	/* Does the file in cache match its filemap? */
	if (!m->complete)
		return error_set(err, ERROR_LOST, "%s: unfinished",
				 m->cache_path);
	if (dir_stat(AT_FDCWD, m->cache_path, &st, 0) < 0)
		return error_sys(err, "%s", m->cache_path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != m->attr.size)
		return error_set(err, ERROR_LOST,
				 "%s: has %" PRIu64 " bytes, expected %" PRIu64,
				 m->cache_path, (uint64_t)st.st_size,
				 m->attr.size);
	*to = (struct flush_file){
		.from = m->cache_path,
		.attr = m->attr,
		.has_crc = m->has_crc,
		.crc = m->crc,
	};
	if (m->dir == NULL || m->name == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "%s: no PATH in the filemap", m->cache_path);
	path = path_normal_in(f->arena, m->dir, m->name, err);
	if (path == NULL)
		return -1;
	to->rel = path_below(path, f->run->p.prefix);
	if (to->rel == NULL || !dataset_dir_is_data(to->rel))
		return error_set(err, ERROR_UNSAFE,
				 "%s: its path %s/%s is not below the prefix "
				 "%s",
				 m->cache_path, m->dir, m->name,
				 f->run->p.prefix);
	if (!f->run->p.copy_metadata && !f->s->bypass)
		to->attr.has_owner = to->attr.has_times = false;
	f->nfiles++;
	return 0;
}

/* At the first flush: is the prefix the same directory on all nodes?  Without
 * room for the file that shows it, the flush goes on, and fails by itself. */
static int
see_prefix(const struct flushing *f, struct error *err)
{
	struct run *run = f->run;
	const bool looks = run->node.rank == 0;
	bool made = false, seen = false;
	int rc = 0;

	if (run->one_prefix || run->nodes < 2)
		return 0;
	/* A rank of each node looks.  The name is always the same: if the run
	 * is killed, the next one replaces the file. */
	if (team_sees(&run->world, looks ? f->prefix_fd : -1, "flush", &made,
		      &seen, err) < 0)
		return -1;
	if (looks && made && !seen)
		rc = error_set(err, ERROR_SYSTEM,
			       "%s on %s: another directory than on the other "
			       "nodes: mount its file system there",
			       run->p.prefix, run->host);
	rc = team_agree(&run->world, rc, err);
	run->one_prefix = rc == 0 && made;
	return rc;
}

struct flushing *
flushing_plan(struct run *run, struct held_set *s, bool resume,
	      struct error *err)
{
	struct flushing *f = mem_calloc(1, sizeof(*f));
	enum catalogue_map map = CATALOGUE_MAP_FREE;
	struct filemap list = { .nfiles = 0 };
	int rc = 0;

	if (f == NULL || (f->arena = arena_new()) == NULL)
		rc = error_no_memory(err);
	if (f != NULL) {
		f->run = run;
		f->s = s;
		f->resume = resume;
		f->prefix_fd = dir_open(AT_FDCWD, run->p.prefix);
	}
	if (rc == 0 && f->prefix_fd < 0)
		rc = error_sys(err, "%s", run->p.prefix);
	if (rc == 0)
		rc = held_filemap(s, run->world.rank, f->arena, &list, err);
	if (rc == 0) {
		f->files = arena_alloc(f->arena, list.nfiles + 1,
				       sizeof(*f->files));
		rc = f->files == NULL ? error_no_memory(err) : 0;
	}
	for (size_t i = 0; rc == 0 && i < list.nfiles; i++)
		rc = add_file(f, &list.files[i], err);
	rc = team_agree(&run->world, rc, err);
	if (rc == 0)
		rc = see_prefix(f, err);
	if (rc == 0 && !s->bypass && run->p.use_containers)
		rc = flushing_pack(f, &map, err);
	if (rc == 0)
		rc = onprefix_begin(run, &s->d, map, err);
	if (rc == 0 && f->pack != NULL)
		rc = flushing_pack_begin(f, err);
	else if (rc == 0 && !s->bypass)
		rc = owned_begin(run, err) < 0 ? -1
					       : flushing_make_dirs(f, err);
	if (rc == 0)
		return f;
	flushing_free(f);
	return NULL;
}

/* --- Transfers --- */

/* Does the file `there` have all bytes of the one in the cache?  Their checksum
 * is set. */
static bool
is_same(struct flush_file *file, int there)
{
	char block[16384];
	uint32_t crc = 0;
	const int fd = io_open_read(AT_FDCWD, file->from, NULL);
	bool same = fd >= 0;

	for (uint64_t at = 0, n = 0; same && at < file->attr.size; at += n) {
		n = file->attr.size - at;
		n = n < sizeof(block) ? n : sizeof(block);
		same = io_pread(fd, file->from, block, (size_t)n, at, NULL) ==
			       0 &&
		       io_has(there, block, (size_t)n, at);
		crc = crc_update(crc, block, (size_t)n);
	}
	io_close(fd);
	same = same && (!file->has_crc || crc == file->crc);
	if (same)
		file->crc = crc;
	file->has_crc |= same;
	return same;
}

/* Has an interrupted flush put the file in place?  Then it has its time.  Its
 * name may not be on disk yet. */
static bool
in_place(const struct flushing *f, struct flush_file *file,
	 const struct stat *is)
{
	const struct attr *a = &file->attr;
	const char *base = NULL;
	bool same = false;
	int fd = -1, dir = -1;

	if (!f->resume || !S_ISREG(is->st_mode) ||
	    (uint64_t)is->st_size != a->size || !a->has_times ||
	    is->st_mtim.tv_sec != a->mtime.tv_sec)
		return false;
	fd = path_open_beneath(f->prefix_fd, file->rel, O_RDONLY | O_NOFOLLOW,
			       0, NULL);
	if (fd >= 0 && is_same(file, fd))
		dir = path_open_parent(f->prefix_fd, file->rel, false, 0, &base,
				       NULL);
	same = dir >= 0 && io_fsync(fd, file->rel, NULL) == 0 &&
	       io_sync_dir(dir, file->rel, NULL) == 0;
	io_close(dir);
	io_close(fd);
	return same;
}

/* Choose the files to be written, and where. */
static int
add_targets(struct flushing *f, struct error *err)
{
	struct stat st;

	f->put = put_new(&(struct put_options){ .made = true }, err);
	if (f->put == NULL)
		return -1;
	for (size_t i = 0; i < f->nfiles; i++) {
		struct flush_file *file = &f->files[i];
		struct put_what what = {
			.dirfd = f->prefix_fd,
			.path = file->rel,
			.size = file->attr.size,
			.attr = &file->attr,
			.resume = true,
			.arg = file,
		};

		what.replaces = dir_stat(f->prefix_fd, file->rel, &st,
					 AT_SYMLINK_NOFOLLOW) == 0;
		f->replaces |= what.replaces;
		if (what.replaces && in_place(f, file, &st))
			continue;
		file->to = put_add(f->put, &what, err);
		if (file->to == NULL)
			return -1;
	}
	return 0;
}

int
flushing_pace(void *arg, const void *data, size_t len, uint64_t at,
	      struct error *err)
{
	(void)data, (void)at;
	return pace_keep(&((struct flush_copy *)arg)->pace, len)
		       ? 0
		       : error_set(err, ERROR_SYSTEM, "interrupted");
}

/* The i-th file that is to be written. */
static struct flush_file *
file_of(void *arg, size_t i)
{
	const struct flushing *f = ((struct flush_copy *)arg)->f;

	return f->put == NULL ? &f->files[i] : put_what(put_at(f->put, i))->arg;
}

static uint64_t
file_size(void *arg, size_t i)
{
	return file_of(arg, i)->attr.size;
}

static int
open_file(void *arg, size_t i, struct pump *p, struct error *err)
{
	struct flush_file *file = file_of(arg, i);

	*p = (struct pump){
		.from = io_open_read(AT_FDCWD, file->from, err),
		.name = file->from,
		.size = file->attr.size,
		.has_crc = file->has_crc,
		.crc = file->crc,
		.to = -1,
		.put = file->to,
		.step = flushing_pace,
		.arg = arg,
	};
	if (p->from < 0)
		return -1;
	if (file->to != NULL)
		p->to = put_open(file->to, err);
	if (p->to >= 0 || file->to == NULL)
		return 1;
	close(p->from);
	return -1;
}

static int
close_file(void *arg, size_t i, const struct pump *p, int rc, struct error *err)
{
	struct flush_file *file = file_of(arg, i);
	struct stat st;

	close(p->from);
	if (rc == 1 && file->to != NULL)
		rc = put_wrote(file->to, file->attr.size, err) < 0 ? -1 : 1;
	else if (rc == 1 && dir_stat(AT_FDCWD, file->from, &st, 0) < 0)
		rc = error_sys(err, "%s", file->from);
	else if (rc == 1 && !attr_unchanged(&file->attr, &st))
		/* With bypass, the application can change the file at any time:
		 * a checksum counts only if these are still the bytes of
		 * SCR_Complete_output(). */
		rc = error_set(err, ERROR_LOST,
			       "%s: changed since it was complete", file->from);
	file->has_crc = true;
	file->crc = p->crc;
	return rc;
}

int
flushing_transfer(struct flushing *f, bool (*stop)(void *arg), void *arg,
		  struct error *err)
{
	const struct params *p = &f->run->p;
	const uint32_t size = f->run->world.size;
	const uint32_t width = p->flush_width < size ? p->flush_width : size;
	struct flush_copy t = {
		.f = f,
		.pace = { .rate = (p->flush_bw + width - 1) / width,
			  .percent = p->flush_percent,
			  .stop = stop,
			  .arg = arg,
			  .start = clock_seconds() },
	};
	struct pump_list l = {
		.size = file_size,
		.open = open_file,
		.close = close_file,
		.arg = &t,
	};
	int rc = 0;

	if (f->s->bypass && !f->s->unsummed)
		return 0;
	if (f->pack != NULL)
		flushing_pack_list(f, &l);
	else if (f->s->bypass)
		for (size_t i = 0; i < f->nfiles && l.count == 0; i++)
			l.count = f->files[i].has_crc ? 0 : f->nfiles;
	else if (add_targets(f, err) < 0)
		return -1;
	else
		l.count = put_count(f->put);
	/* A share of the time is that of one thread. */
	if (f->s->store->threads && p->flush_percent <= 0)
		l.par = cores_pool(f->run->cores);
	rc = pump_each(&l, err) == 1 ? 0 : -1;
	par_free(l.par);
	if (rc == 0 && !f->s->bypass)
		rc = f->pack != NULL ? flushing_pack_sums(f, err)
				     : put_settle(f->put, 0, err);
	return rc;
}
