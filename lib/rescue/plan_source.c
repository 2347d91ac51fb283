/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_source.c - the sources of a plan: the directory of a dataset on the
 * prefix with its containers, directories of caches, redundancy files given by
 * hand, or reports of processes.  Each constructor ends in plan_make().  The
 * names of their metadata files, and the contents of the filemaps.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/copied.h"
#include "meta/dataset_dir.h"
#include "par.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "work.h"

/* Number of filemaps a worker takes at a time. */
#define MAP_BATCH 16

/* --- Names --- */

static int
add_map(struct planner *w, const struct map_entry *e, struct error *err)
{
	if (!MEM_ROOM(w->maps, w->nmaps, w->maps_cap))
		return error_no_memory(err);
	w->maps[w->nmaps] = *e;
	w->maps[w->nmaps].name = arena_strdup(w->p.arena, e->name);
	return w->maps[w->nmaps++].name == NULL ? error_no_memory(err) : 0;
}

static int
add_red(struct planner *w, const struct red_entry *e, struct error *err)
{
	if (!MEM_ROOM(w->reds, w->nreds, w->reds_cap))
		return error_no_memory(err);
	w->reds[w->nreds] = *e;
	w->reds[w->nreds].name = arena_strdup(w->p.arena, e->name);
	return w->reds[w->nreds++].name == NULL ? error_no_memory(err) : 0;
}

bool
plan_blames_file(const struct error *e)
{
	if (e->kind != ERROR_SYSTEM)
		return e->kind != ERROR_NOMEM;
	/* It is not a regular file. */
	return e->errnum == ENXIO || e->errnum == ENODEV ||
	       e->errnum == ENOTDIR || e->errnum == EISDIR;
}

int
plan_scan_one(struct planner *w, uint32_t place, const char *name,
	      const struct segmap_file *hidden, struct error *err)
{
	struct red_entry e = { .place = place, .name = name, .hidden = hidden };
	const struct map_entry m = {
		.rank = filemap_name_rank(name),
		.place = place,
		.name = name,
		.hidden = hidden,
	};

	if (m.rank >= 0)
		return add_map(w, &m, err);
	if (redset_name_parse(name, &e.n, NULL) && !e.n.descriptor)
		return add_red(w, &e, err);
	if (copied_name_rank(name) >= 0)
		w->p.copied = true;
	return 0;
}

/* Add the names of one metadata directory. */
static int
scan_dir(struct planner *w, uint32_t place, struct error *err)
{
	const struct place *pl = &w->p.places[place];
	const char *name = NULL;
	struct dir_walk d;
	int rc = dir_walk(&d, pl->meta_fd, pl->meta, err);

	while (rc == 0 && (name = dir_next(&d)) != NULL)
		rc = plan_scan_one(w, place, name, NULL, err);
	return dir_done(&d, rc, err);
}

/* Add the name of a redundancy file given by hand.  `map`: it protects
 * filemaps. */
static int
scan_name(struct planner *w, const char *name, bool map, struct error *err)
{
	struct red_entry e = { .place = 0, .name = name };
	struct error local = ERROR_INIT;
	struct stat st;
	size_t stem = 0;

	if (!path_is_clean(name))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not a plain path below the directory",
				 name);
	if (!redset_name_parse(path_base(name), &e.n, &stem))
		return error_set(err, ERROR_USAGE,
				 "%s: not the name of a redundancy file", name);
	if (e.n.descriptor)
		return 0;
	e.n.map = map;
	if (w->stem == NULL)
		w->stem = arena_strndup(w->p.arena, path_base(name), stem);
	if (w->stem == NULL)
		return error_no_memory(err);
	if (path_stat_beneath(w->p.places[0].meta_fd, name, &st, &local) < 0) {
		if (local.kind != ERROR_ABSENT)
			return error_pass(err, &local);
		e.absent = true; /* to be rebuilt */
	}
	return add_red(w, &e, err);
}

/* --- Ranks --- */

int
plan_need_ranks(struct planner *w, int64_t n, struct error *err)
{
	size_t have = w->ranks_cap, cap = have ? have : 64;

	if (n > PLAN_RANKS_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "rank %lld is too large for any job",
				 (long long)n - 1);
	while (cap < (size_t)n)
		cap *= 2;
	if (cap > have) {
		void *r = mem_realloc(w->p.ranks, cap, sizeof(*w->p.ranks));
		void *f = NULL;

		if (r == NULL)
			return error_no_memory(err);
		w->p.ranks = r;
		f = mem_realloc(w->filemaps, cap, sizeof(*w->filemaps));
		if (f == NULL)
			return error_no_memory(err);
		w->filemaps = f;
		memset(w->p.ranks + have, 0,
		       (cap - have) * sizeof(*w->p.ranks));
		memset(w->filemaps + have, 0,
		       (cap - have) * sizeof(*w->filemaps));
		for (size_t i = have; i < cap; i++) {
			w->p.ranks[i].data_set = PLAN_NONE;
			w->p.ranks[i].map_set = PLAN_NONE;
			w->p.ranks[i].map.why = "missing";
			w->filemaps[i].ranks = -1;
		}
		w->ranks_cap = cap;
	}
	if (n > w->p.nranks)
		w->p.nranks = n;
	return 0;
}

/* --- Filemaps --- */

/* The name comes from readdir() and has no slash.  So only a symbolic link can
 * lead out of the directory, and the slower path_open_beneath() is needed only
 * for symbolic links. */
static int
open_map(const struct place *pl, const char *name, struct error *err)
{
	int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
	int fd = dir_open_file(pl->meta_fd, name, flags | O_NOFOLLOW, 0);

	if (fd >= 0 && path_owner_reads(fd))
		return fd;
	if (fd >= 0) {
		close(fd);
		errno = EACCES;
	}
	if (errno == ELOOP)
		return path_open_beneath(pl->meta_fd, name, flags, 0, err);
	return error_sys(err, "%s: cannot open", name);
}

/* Read one filemap.  A damaged filemap is not an error; it counts as
 * missing. */
static int
read_map(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct planner *w = arg;
	const struct map_entry *e = &w->maps[i];
	struct plan_rank *r = &w->p.ranks[e->rank];
	struct arena *arena = w->arenas[worker];
	struct buf raw = BUF_INIT;
	struct error why = ERROR_INIT;
	size_t size = 0;
	int fd = -1, rc = -1;

	if (r->map.name != e->name)
		return 0; /* a second filemap of the same rank */
	if (e->report != NULL)
		rc = buf_add(&raw, e->report->map, e->report->map_size) < 0
			     ? error_no_memory(&why)
			     : 0;
	else if (e->hidden != NULL)
		rc = plan_hidden_image(&w->p, e->hidden, &raw, &why);
	else
		fd = open_map(&w->p.places[e->place], e->name, &why);
	if (fd >= 0) {
		rc = io_read_fd(fd, e->name, PLAN_MAP_MAX, &raw, &why);
		close(fd);
	} else if (rc == 0) {
		/* Keep the image in memory: it is an input of the sets over
		 * filemaps. */
		r->map.image = arena_strndup(arena, raw.data, raw.len);
		if (r->map.image == NULL)
			rc = error_no_memory(&why);
	}
	r->map.image_size = raw.len;
	if (rc == 0)
		rc = filemap_decode(raw.data, raw.len, arena,
				    &w->filemaps[e->rank], &why);
	if (rc == 0 && kvtree_peek(raw.data, raw.len, &size, &why) == 0)
		r->map.tail = raw.len - size;
	buf_free(&raw);
	r->map_known = rc == 0;
	r->map.why = NULL;
	if (rc == 0)
		return 0;
	r->map.unread = error_is_unread(&why);
	if (!plan_blames_file(&why) && !r->map.unread)
		return error_pass(err, &why);
	r->map.why = arena_strdup(arena, why.text);
	return r->map.why == NULL ? error_no_memory(err) : 0;
}

int
plan_name_map(struct planner *w, uint32_t rank, struct error *err)
{
	struct plan_meta *m = &w->p.ranks[rank].map;

	m->name = arena_strdup(w->p.arena, filemap_str(rank));
	return m->name == NULL ? error_no_memory(err) : 0;
}

/* RANKS is the size of the job: all filemaps must have the same value. */
static int
agree_on_ranks(struct planner *w, struct error *err)
{
	int64_t said = -1, by = 0;

	for (size_t i = 0; i < w->nmaps; i++) {
		int64_t rank = w->maps[i].rank;
		int64_t ranks = w->filemaps[rank].ranks;

		if (!w->p.ranks[rank].map_known || ranks < 0)
			continue;
		if (said >= 0 && ranks != said)
			return error_set(
				err, ERROR_CORRUPT,
				"filemap_%lld says the job had %lld ranks, "
				"filemap_%lld says %lld: files of two runs are "
				"mixed here",
				(long long)by, (long long)said, (long long)rank,
				(long long)ranks);
		said = ranks;
		by = rank;
	}
	w->said_ranks = said;
	if (plan_count_ranks(w, err) < 0)
		return -1;
	if (said >= 0 && said < w->p.nranks)
		return error_set(err, ERROR_CORRUPT,
				 "there is a filemap_%lld, but the job had "
				 "%lld ranks",
				 (long long)w->p.nranks - 1, (long long)said);
	return 0;
}

int
plan_count_ranks(struct planner *w, struct error *err)
{
	const int64_t said =
		w->said_ranks >= 0 ? w->said_ranks : plan_record_ranks(w);

	w->p.nranks = 0;
	if (plan_need_ranks(w, said, err) < 0)
		return -1;
	for (size_t i = 0; i < w->nmaps; i++)
		if (plan_need_ranks(w, w->maps[i].rank + 1, err) < 0)
			return -1;
	for (size_t i = 0; i < w->p.nsets; i++) {
		const struct plan_set *s = &w->p.sets[i];

		for (uint32_t m = 0; m < s->n; m++)
			if (s->members[m].rank != PLAN_NONE &&
			    plan_need_ranks(w, (int64_t)s->members[m].rank + 1,
					    err) < 0)
				return -1;
	}
	return 0;
}

int
plan_scan_maps(struct planner *w, struct error *err)
{
	for (size_t i = 0; i < w->nmaps; i++) {
		const struct map_entry *e = &w->maps[i];
		struct plan_meta *m = NULL;

		if (plan_need_ranks(w, e->rank + 1, err) < 0)
			return -1;
		m = &w->p.ranks[e->rank].map;
		if (m->name != NULL)
			continue;
		m->name = e->name;
		m->place = e->place;
	}
	return par_for(w->par, w->nmaps, MAP_BATCH, read_map, w, err) < 0 ||
			       plan_owner_maps(w, err) < 0
		       ? -1
		       : agree_on_ranks(w, err);
}

static const struct plan_options no_options = { .flags = 0 };

static struct planner *
planner_new(const struct plan_options *o, size_t nplaces, struct error *err)
{
	struct planner *w = mem_calloc(1, sizeof(*w));

	if (w == NULL)
		return error_no_memory_null(err);
	w->o = o != NULL ? o : &no_options;
	w->work = work_or_default(w->o->work);
	w->p.arena = arena_new();
	w->p.places = mem_calloc(nplaces, sizeof(*w->p.places));
	if (w->p.places == NULL) {
		error_no_memory(err);
		plan_free(&w->p);
		return NULL;
	}
	return w;
}

/* Return the finished plan, or free it if rc < 0.  Options are borrowed only
 * while the plan is made: the caller's thread pool may be gone at the next
 * call. */
static struct plan *
made(struct planner *w, int rc)
{
	if (rc < 0) {
		plan_free(&w->p);
		return NULL;
	}
	w->o = &no_options;
	w->work = work_or_default(NULL);
	w->par = NULL;
	return &w->p;
}

/* --- Directories --- */

/* Open directory `path` as given, and keep its name. */
static int
open_dir(struct planner *w, const char *path, int *fd, const char **name,
	 struct error *err)
{
	*fd = dir_open(AT_FDCWD, path);
	if (*fd < 0)
		return error_sys(err, "%s: cannot open", path);
	*name = arena_strdup(w->p.arena, path);
	return *name == NULL ? error_no_memory(err) : 0;
}

static struct place *
add_place(struct planner *w)
{
	struct place *pl = &w->p.places[w->p.nplaces++];

	pl->root_fd = pl->meta_fd = -1;
	return pl;
}

struct plan *
plan_prefix(const struct plan_dataset *d, const struct plan_options *o,
	    struct error *err)
{
	struct planner *w = planner_new(o, 1, err);
	struct place *pl = NULL;
	int rc = -1;

	if (w == NULL)
		return NULL;
	w->p.id = d->id;
	pl = add_place(w);
	pl->root_fd = fcntl(d->prefix_fd, F_DUPFD_CLOEXEC, 0);
	pl->meta_fd = fcntl(d->meta_fd, F_DUPFD_CLOEXEC, 0);
	if (pl->root_fd < 0 || pl->meta_fd < 0) {
		error_sys(err, "%s: cannot duplicate descriptor", d->prefix);
		return made(w, -1);
	}
	pl->root = arena_strdup(w->p.arena, d->prefix);
	pl->meta = arena_printf(w->p.arena, "%s/" SCR_DIR "/" DATASET_DIR_FMT,
				d->prefix, d->id);
	if (pl->root == NULL || pl->meta == NULL)
		error_no_memory(err);
	else if (plan_owner_load(w, err) == 0 &&
		 plan_load_packed(w, err) == 0 && scan_dir(w, 0, err) == 0 &&
		 plan_scan_packed(w, err) == 0 && plan_record_load(w, err) == 0)
		rc = plan_make(w, err);
	return made(w, rc);
}

struct plan *
plan_caches(const char *const *dirs, size_t ndirs, const struct plan_options *o,
	    struct error *err)
{
	struct planner *w = planner_new(o, ndirs ? ndirs : 1, err);
	struct place *pl = NULL;
	const char *dir = NULL;
	int rc = -1;

	if (w == NULL)
		return NULL;
	w->p.id = -1;
	for (size_t i = 0; i < ndirs; i++) {
		pl = add_place(w);
		pl->cache = true;
		dir = path_normal_in(w->p.arena, "", dirs[i], err);
		if (dir == NULL ||
		    open_dir(w, dirs[i], &pl->root_fd, &pl->root, err) < 0)
			return made(w, -1);
		pl->meta = arena_printf(w->p.arena, "%s/.scr", dirs[i]);
		if (pl->meta == NULL) {
			error_no_memory(err);
			return made(w, -1);
		}
		pl->meta_fd = path_open_dir(pl->root_fd, ".scr", err);
		if (pl->meta_fd < 0)
			error_wrap(err, "%s", dirs[i]);
		if (pl->meta_fd < 0 || scan_dir(w, (uint32_t)i, err) < 0)
			return made(w, -1);
		if (w->p.id < 0)
			w->p.id = dataset_dir_id(path_base(dir));
	}
	if (ndirs == 0)
		error_set(err, ERROR_USAGE, "no cache directory given");
	else
		rc = plan_make(w, err);
	return made(w, rc);
}

struct plan *
plan_files(const struct plan_by_hand *h, const struct plan_options *o,
	   struct error *err)
{
	struct plan_options all = o != NULL ? *o : no_options;
	struct planner *w = NULL;
	struct place *pl = NULL;
	const char *root = NULL;
	struct buf real = BUF_INIT;
	int rc = -1;

	all.flags |= PLAN_HEADERS;
	w = planner_new(&all, 1, err);
	if (w == NULL)
		return NULL;
	w->p.id = -1;
	w->by_hand = true;
	w->maps_only = h->map;
	w->bare = h->prefix == NULL && !h->map;
	pl = add_place(w);
	root = h->prefix != NULL && !h->map ? h->prefix : h->dir;
	if (open_dir(w, h->dir, &pl->meta_fd, &pl->meta, err) < 0 ||
	    path_real(h->dir, &real, err) < 0 ||
	    open_dir(w, root, &pl->root_fd, &pl->root, err) < 0)
		goto out;
	w->p.id = dataset_dir_id(path_base(real.data)); /* -1: it has none */
	if (!w->bare && scan_dir(w, 0, err) < 0)
		goto out;
	w->nreds = 0; /* only the files named take part */
	for (size_t i = 0; i < h->nnames; i++)
		if (scan_name(w, h->names[i], h->map, err) < 0)
			goto out;
	rc = plan_make(w, err);
out:
	buf_free(&real);
	return made(w, rc);
}

/* --- Reports --- */

/* Add the filemap and redundancy files of a report. */
static int
add_report(struct planner *w, const struct plan_report *r, struct error *err)
{
	const struct map_entry m = {
		.rank = r->rank,
		.name = filemap_str(r->rank),
		.report = r,
	};

	if (r->map != NULL && add_map(w, &m, err) < 0)
		return -1;
	for (size_t i = 0; i < r->nreds; i++) {
		struct red_entry e = {
			.name = r->reds[i].name,
			.report = &r->reds[i],
		};

		if (!redset_name_parse(e.name, &e.n, NULL) || e.n.descriptor)
			return error_set(
				err, ERROR_USAGE,
				"%s: not the name of a redundancy file",
				e.name);
		if (add_red(w, &e, err) < 0)
			return -1;
	}
	return 0;
}

struct plan *
plan_reports(int64_t id, const struct plan_report *reports, size_t n,
	     struct error *err)
{
	struct plan_options all = no_options;
	struct planner *w = NULL;
	int rc = 0;

	all.flags |= PLAN_HEADERS; /* headers cannot be read later: the reports
				      are the caller's */
	w = planner_new(&all, 1, err);
	if (w == NULL)
		return NULL;
	w->p.id = id;
	w->reported = true;
	w->p.places[w->p.nplaces++] = (struct place){
		.root = "reports of ranks",
		.meta = "reports of ranks",
		.root_fd = -1,
		.meta_fd = -1,
		.cache = true,
	};
	w->reports = reports;
	w->nreports = n;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_report(w, &reports[i], err);
	if (rc == 0)
		rc = plan_make(w, err);
	w->reports = NULL; /* owned by the caller */
	return made(w, rc);
}
