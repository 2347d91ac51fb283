/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/outset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"
#include "path.h"
#include "room.h"
#include "scr/common.h"
#include "scr/held.h"
#include "scr/naming.h"
#include "scr/owned.h"
#include "scr/run.h"
#include "str.h"
#include "team/newfile.h"
#include "team/redundancy.h"
#include "team/say.h"

struct outset_file {
	const char *orig; /* as the application named it */
	const char *path; /* absolute, on the prefix */
	const char *to;	  /* where it is written */
	bool other;	  /* a lower rank owns it */
	bool has_crc;	  /* outset_summed() */
	uint32_t crc;
};

struct outset {
	const struct run *run;
	const struct level *level;
	const char *dir, *meta; /* in cache: of the dataset, and its .scr */
	int64_t id;		/* 0: it is being fetched */
	int metafd;		/* of `meta`; -1: not open */
	struct naming naming;
	struct arena *arena;
	struct map *paths; /* file on the prefix: its place in `files` */
	struct map *dirs;  /* directories that were made */
	size_t nfiles, cap;
	struct outset_file *files; /* in order of routing */
	/* Set by outset_complete(): */
	bool shared; /* ranks share a file of the dataset */
	size_t nowned;
	struct redundancy_file *owned;
	size_t *routed; /* for each of `owned`: its place in `files` */
};

/* Return its metadata directory, open until outset_free(); -1: error. */
static int
outset_meta(struct outset *o, struct error *err)
{
	if (o->metafd < 0)
		o->metafd = dir_open(AT_FDCWD, o->meta);
	return o->metafd < 0 ? error_sys(err, "%s: cannot open", o->meta)
			     : o->metafd;
}

/* Write filemap_R, with the data protected. */
static int
write_filemap(struct outset *o, struct redundancy_file *map, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int fd = t == NULL ? -1 : outset_meta(o, err);
	int rc = fd < 0 ? -1 : 0;
	const char *name = filemap_str(o->run->world.rank);
	struct stat st;

	*map = (struct redundancy_file){ .crc = 0 };
	map->path = arena_printf(o->arena, "%s/%s", o->meta, name);
	if (rc == 0 && map->path == NULL)
		rc = error_no_memory(err);
	/* The last file first, as LLNL's library writes them. */
	for (size_t i = o->nowned; rc == 0 && i-- > 0;) {
		const struct outset_file *from = &o->files[o->routed[i]];
		const char *base = path_base(from->path);
		struct filemap_file f = {
			.cache_path = from->to,
			.orig = from->orig,
			.name = base,
			.attr = o->owned[i].attr,
			.complete = true,
			.ranks = o->run->world.size,
			.has_crc = !o->level->bypass || o->owned[i].has_crc,
			.crc = o->owned[i].crc,
		};

		f.dir = arena_strndup(o->arena, from->path,
				      (size_t)(base - from->path - 1));
		rc = f.dir == NULL ? error_no_memory(err)
				   : filemap_add(t, &f, err);
	}
	if (rc == 0)
		rc = newfile_tree(fd, name, t, o->level->store->global, err);
	if (rc == 0 && dir_stat(fd, name, &st, 0) < 0)
		rc = error_sys(err, "%s", map->path);
	if (rc == 0)
		attr_from_stat(&map->attr, &st);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", o->meta) : 0;
}

#define MODE_DIR 0777

/* Bytes of a name without its suffix of 17 bytes. */
#define NAME_ROOM (NAME_MAX - 17)

#define CLAIM_NAME 32

#define TOO_LONG "file name (%s) is longer than SCR_MAX_FILENAME (%d)"

/* --- Begin --- */

struct outset *
outset_begin(const struct run *run, const struct level *level, const char *dir,
	     int64_t id, struct error *err)
{
	struct outset *o = mem_calloc(1, sizeof(*o));
	struct error why = ERROR_INIT;

	if (o == NULL)
		return error_no_memory_null(err);
	o->run = run;
	o->level = level;
	o->id = id;
	o->metafd = -1;
	o->arena = arena_new();
	o->paths = map_new();
	o->dirs = map_new();
	if (o->arena != NULL) {
		(void)naming_begin(&o->naming, run->p.prefix, o->arena, &why);
		o->dir = arena_strdup(o->arena, dir);
		o->meta = arena_printf(o->arena, "%s/" SCR_DIR, dir);
	}
	if (why.kind == ERROR_NONE && (o->dir == NULL || o->meta == NULL ||
				       o->paths == NULL || o->dirs == NULL))
		error_no_memory(&why);
	if (why.kind != ERROR_NONE) {
		error_pass(err, &why);
		outset_free(o);
		return NULL;
	}
	return o;
}

void
outset_free(struct outset *o)
{
	if (o == NULL)
		return;
	map_free(o->paths);
	map_free(o->dirs);
	arena_free(o->arena);
	io_close(o->metafd);
	mem_free(o->files);
	mem_free(o);
}

/* --- Routing --- */

/*
 * Files of several directories on the prefix lie in one directory in cache, and
 * the ranks of a node route their files without communication.  A claim is a
 * symbolic link in the metadata directory, named by the hash of the file's
 * name.  The link points to the path on the prefix.  The first rank that makes
 * the link owns the name.
 */
static void
claim_of(char to[static CLAIM_NAME], const char *name)
{
	snprintf(to, CLAIM_NAME, "claim.%016" PRIx64, fnv_text(name));
}

/* 1: `path` has the name, claimed by this rank or another; 0: another file has
 * it; -1: error. */
static int
claim(int metafd, const char *name, const char *path, struct error *err)
{
	char link[CLAIM_NAME], has[PATH_MAX];
	ssize_t len = -1;

	claim_of(link, name);
	if (symlinkat(path, metafd, link) == 0)
		return 1;
	if (errno == EEXIST)
		len = readlinkat(metafd, link, has, sizeof(has) - 1);
	if (len < 0)
		return error_sys(err, "%s: cannot claim its name in the cache",
				 path);
	has[len] = '\0';
	return strcmp(has, path) == 0;
}

/*
 * The path in cache for the file `path`: DIR/NAME, or DIR/NAME.HASH if another
 * file of the ranks that share DIR has the name; HASH is that of the path.  The
 * filemap has the name on the prefix.
 */
static const char *
in_cache(struct outset *o, const char *path, struct error *err)
{
	const char *name = path_base(path);
	int mine = outset_meta(o, err) < 0 ? -1 : 0;

	if (mine == 0 && !str_eq(name, SCR_DIR))
		mine = claim(o->metafd, name, path, err);
	if (mine == 0) {
		name = arena_printf(o->arena, "%.*s.%016" PRIx64, NAME_ROOM,
				    name, fnv_text(path));
		mine = name == NULL ? error_no_memory(err)
				    : claim(o->metafd, name, path, err);
	}
	if (mine == 0)
		error_set(err, ERROR_USAGE,
			  "%s: another file has the name %s in the cache: "
			  "rename one of them",
			  path, name);
	if (mine <= 0)
		return NULL;
	name = arena_printf(o->arena, "%s/%s", o->dir, name);
	if (name == NULL)
		error_no_memory(err);
	return name;
}

/* Prepare a file on the prefix; the application may write it as soon as it has
 * the path.  Its parent directory is made once. */
static int
in_place(struct outset *o, const char *path, struct error *err)
{
	const char *rel = path_below(path, o->run->p.prefix);
	const char *dir = NULL;

	if (o->id == 0)
		return 0;
	dir = arena_strndup(o->arena, path,
			    (size_t)(path_base(path) - path - 1));
	if (dir == NULL)
		return error_no_memory(err);
	if (map_get(o->dirs, dir) == MAP_NONE) {
		if (io_make_dirs(dir, MODE_DIR, err) < 0)
			return -1;
		if (map_put(o->dirs, dir, 0) < 0)
			return error_no_memory(err);
	}
	if (outset_meta(o, err) < 0 ||
	    owned_make_way(o->run, rel, o->id, o->metafd, err) < 0)
		return -1;
	return owned_add(o->run->owned, rel, o->id, err);
}

int
outset_route(struct outset *o, const char *name,
	     char file[static SCR_MAX_FILENAME], struct error *err)
{
	const char *path = naming_path(&o->naming, o->arena, name, err);
	const char *below = NULL;
	struct outset_file f = { .path = path, .to = path };
	size_t at = MAP_NONE;

	if (path == NULL)
		return -1;
	if (strlen(path) >= SCR_MAX_FILENAME)
		say_abort(TOO_LONG, path, SCR_MAX_FILENAME);
	below = path_below(path, o->run->p.prefix);
	if (below == NULL || below[0] == '\0')
		say_abort("File `%s' must be under SCR_PREFIX `%s'", path,
			  o->run->p.prefix);
	at = map_get(o->paths, path);
	if (at == MAP_NONE) {
		f.orig = arena_strdup(o->arena, name);
		if (f.orig == NULL || !MEM_ROOM(o->files, o->nfiles, o->cap))
			return error_no_memory(err);
		if (!o->level->bypass)
			f.to = in_cache(o, path, err);
		else if (in_place(o, path, err) < 0)
			return -1;
		if (f.to == NULL)
			return -1;
		if (strlen(f.to) >= SCR_MAX_FILENAME)
			say_abort(TOO_LONG, f.to, SCR_MAX_FILENAME);
		at = o->nfiles;
		if (map_put(o->paths, path, at) < 0)
			return error_no_memory(err);
		o->files[o->nfiles++] = f;
	}
	memcpy(file, o->files[at].to, strlen(o->files[at].to) + 1);
	return 0;
}

void
outset_summed(struct outset *o, const char *name, uint32_t crc)
{
	const size_t at = map_get(o->paths, name);

	if (at == MAP_NONE)
		return;
	o->files[at].has_crc = true;
	o->files[at].crc = crc;
}

/* --- Completing --- */

/* Reply to each rank with the numbers of the paths that a lower rank has. */
static int
write_answers(const struct team_mail *in, struct arena *a,
	      struct team_mail *out, struct error *err)
{
	struct map *seen = map_new();
	struct buf numbers = BUF_INIT;
	int rc = seen == NULL ? -1 : 0;

	out->notes = arena_alloc(a, in->count, sizeof(*out->notes));
	if (out->notes == NULL)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < in->count; i++) {
		const char *at = in->notes[i].data,
			   *end = at + in->notes[i].len;
		struct team_note *n = &out->notes[out->count];

		buf_clear(&numbers);
		for (uint32_t k = 0; at < end; k++, at += strlen(at) + 1)
			if (map_get(seen, at) != MAP_NONE)
				buf_add(&numbers, &k, sizeof(k));
			else if (map_put(seen, at, 0) < 0)
				rc = -1;
		if (numbers.len == 0)
			continue;
		n->rank = in->notes[i].rank;
		n->len = numbers.len;
		n->data = arena_strndup(a, numbers.data, numbers.len);
		if (n->data == NULL || numbers.failed)
			rc = -1;
		out->count++;
	}
	buf_free(&numbers);
	map_free(seen);
	return rc < 0 ? error_no_memory(err) : 0;
}

/*
 * Set `other` of the files of this rank that a lower rank has, too.  *any: a
 * rank has such a file.  Each path is sent to one rank, selected by its hash,
 * which sees all ranks that have it; no rank sees all paths.
 */
static int
find_shared(struct outset *o, bool *any, struct error *err)
{
	const struct team *t = &o->run->world;
	struct arena *a = arena_new();
	struct team_mail in = { 0, NULL }, answers = { 0, NULL };
	struct team_path *list =
		a == NULL ? NULL : arena_alloc(a, o->nfiles, sizeof(*list));
	size_t first = 0;
	uint32_t number = 0;
	int rc = 0;

	for (size_t i = 0; list != NULL && i < o->nfiles; i++)
		list[i].path = o->files[i].path;
	rc = team_homes(t, list,
			list == NULL ? error_no_memory(err)
				     : (int64_t)o->nfiles,
			a, &in, err);
	if (rc == 0) {
		rc = write_answers(&in, a, &answers, err);
		rc = team_agree(t, rc, err);
	}
	*any = rc == 0 && team_any(t, answers.count > 0);
	if (*any)
		rc = team_notes(t, 0, &answers, a, &in, err);
	for (size_t i = 0; *any && rc == 0 && i < in.count; i++) {
		const struct team_note *n = &in.notes[i];

		/* Both lists are sorted by rank. */
		while (first < o->nfiles && list[first].home != n->rank)
			first++;
		for (size_t k = 0; k + sizeof(number) <= n->len;
		     k += sizeof(number)) {
			memcpy(&number, (const char *)n->data + k,
			       sizeof(number));
			if (number < o->nfiles - first)
				o->files[list[first + number].number].other =
					true;
		}
	}
	arena_free(a);
	return rc;
}

/* Check the files that this rank owns. */
static int
look(struct outset *o, struct error *err)
{
	o->owned = arena_alloc(o->arena, o->nfiles, sizeof(*o->owned));
	o->routed = arena_alloc(o->arena, o->nfiles, sizeof(*o->routed));
	if (o->owned == NULL || o->routed == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < o->nfiles; i++) {
		const char *to = o->files[i].to;
		struct stat st;

		if (o->files[i].other)
			continue;
		if (dir_stat(AT_FDCWD, to, &st, 0) < 0)
			return error_sys(err, "%s", to);
		if (!S_ISREG(st.st_mode))
			return error_set(err, ERROR_CORRUPT,
					 "%s: not a regular file", to);
		if (dir_access(AT_FDCWD, to, R_OK) < 0)
			return error_sys(err, "%s", to);
		o->owned[o->nowned].path = to;
		o->owned[o->nowned].has_crc = o->files[i].has_crc;
		o->owned[o->nowned].crc = o->files[i].crc;
		attr_from_stat(&o->owned[o->nowned].attr, &st);
		o->routed[o->nowned++] = i;
	}
	return 0;
}

static int
check(struct outset *o, bool valid, struct dataset *d, struct error *err)
{
	char link[CLAIM_NAME];
	uint64_t sum[2] = { 0, 0 };
	int rc = 0;

	if (find_shared(o, &o->shared, err) < 0)
		return -1;
	/* Ranks of a store of group WORLD see the same files. */
	if (o->shared && !o->level->bypass &&
	    !str_eq(o->level->store->group->name, GROUPS_WORLD)) {
		for (size_t i = 0; i < o->nfiles; i++)
			if (o->files[i].other)
				say_error("Multiple procs registered file "
					  "while not in bypass mode: `%s'",
					  o->files[i].path);
		MPI_Barrier(o->run->world.comm);
		say_abort("Shared file access detected while not in bypass "
			  "mode");
	}
	/* Remove the claims: all ranks have routed their files, so the names
	 * are final. */
	for (size_t i = 0; o->metafd >= 0 && i < o->nfiles; i++) {
		claim_of(link, path_base(o->files[i].to));
		(void)unlinkat(o->metafd, link, 0);
	}
	rc = look(o, err);
	if (!valid) {
		const struct run *run = o->run;
		const int fd = dir_open(
			AT_FDCWD, o->level->bypass ? run->p.prefix : o->dir);
		struct error why = ERROR_INIT;

		/* The application reports its files as not valid.  A full file
		 * system is the usual reason, which it cannot pass on. */
		if (fd >= 0 && room_try(fd, &why) < 0 && room_is_short(&why))
			room_explain(fd, 0, &why);
		else
			error_clear(&why);
		io_close(fd);
		rc = error_set(
			err, ERROR_LOST,
			"rank %u reported its files of dataset %lld `%s' as "
			"not valid%s%s%s",
			run->world.rank, (long long)d->id, d->name,
			why.kind != ERROR_NONE ? ": " : "", why.text,
			why.kind == ERROR_NONE ? ""
			: o->level->bypass
				? ": free space on the prefix"
				: ": free space there, or choose another "
				  "SCR_CACHE_BASE or a smaller SCR_CACHE_SIZE");
	}
	if (team_agree(&o->run->world, rc, err) < 0)
		return -1;
	sum[0] = o->nowned;
	for (size_t i = 0; i < o->nowned; i++)
		sum[1] += o->owned[i].attr.size;
	team_sum(&o->run->world, sum, 2);
	d->files = (int64_t)sum[0];
	d->bytes = sum[1];
	d->complete = 1;
	return 0;
}

/*
 * Take the checksums of files on the prefix, which the kernel still has in
 * memory.  Not of a dataset with shared files: another node may have the newest
 * bytes, and one rank would read what all have written.
 */
static int
sum(struct outset *o, struct error *err)
{
	const int rc = redundancy_sums(o->owned, o->nowned, err);

	for (size_t i = 0; rc == 0 && i < o->nowned; i++)
		o->owned[i].has_crc = true;
	return rc;
}

int
outset_complete(struct outset *o, bool valid, struct dataset *d,
		struct error *err)
{
	const struct run *run = o->run;
	struct redundancy_file filemap;
	struct redundancy_job data = {
		.world = &run->world,
		.members = &o->level->members,
		.set = &o->level->set,
		.dir = o->meta,
		.sync = o->level->store->global,
		.buffer = run->p.mpi_buf_size,
	};
	struct redundancy_job map = data;
	struct common common = { .run = run,
				 .store = o->level->store,
				 .dir = o->dir,
				 .meta = o->meta,
				 .created_us = d->created_us };
	int rc = 0;

	if (check(o, valid, d, err) < 0)
		return -1;
	data.nfiles = o->nowned;
	data.files = o->owned;
	if (!o->level->bypass)
		rc = redundancy_files(&data, err);
	else if (run->p.crc_on_flush && !o->shared && run->flights != NULL &&
		 o->id != 0)
		held_find(run->held, o->id)->unsummed = true;
	else if (run->p.crc_on_flush && !o->shared)
		rc = sum(o, err);
	if (rc == 0)
		rc = write_filemap(o, &filemap, err);
	if (team_agree(&run->world, rc, err) < 0)
		return -1;
	map.map = true;
	map.nfiles = 1;
	map.files = &filemap;
	rc = redundancy_files(&map, err);
	if (team_agree(&run->world, rc, err) < 0)
		return -1;
	common.data = o->level->bypass ? NULL : &data;
	common.map = &map;
	common.metafd = o->metafd;
	return common_write(&common, err);
}
