/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/lists.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "container/hidden.h"
#include "container/marks.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "path.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "site/jobfiles.h"
#include "team/say.h"

/* Bytes that a reader gathers before it sends them. */
#define ROUND_BYTES ((size_t)1 << 20)

/* In the directory of a dataset of SCR 1.1.8. */
#define OLD_DIR "/.scr"
#define OLD_FILE RANK2FILE_FILE ".scr"

/* Open a directory, relative to the prefix. */
static int
open_below(const struct run *run, const char *dir, struct error *err)
{
	const int prefix = dir_open(AT_FDCWD, run->p.prefix);
	const int fd = prefix < 0 ? error_sys(err, "%s", run->p.prefix)
				  : path_open_dir(prefix, dir, err);

	io_close(prefix);
	return fd;
}

int
lists_open(const struct run *run, int64_t id, struct error *err)
{
	const char *name = dataset_dir_str(id);

	return open_below(run, str_printed(PATH_MAX, SCR_DIR "/%s", name), err);
}

/* Open the metadata directory of dataset `d`; if it has none, that of a dataset
 * of SCR 1.1.8 in the directory of that name: then *old is set. */
static int
find_dir(const struct run *run, const struct dataset *d, bool *old,
	 struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = lists_open(run, d->id, &why);

	*old = fd < 0 && why.kind == ERROR_ABSENT && d->name != NULL;
	if (*old)
		fd = open_below(run,
				str_printed(PATH_MAX, "%s" OLD_DIR, d->name),
				NULL);
	return fd < 0 ? error_pass(err, &why) : fd;
}

/* Does the summary say that the dataset is complete? */
static int
check_summary(int fd, const struct dataset *d, struct error *err)
{
	struct dataset view = { .id = 0 };
	struct summary s;
	struct kvtree *t = summary_load(fd, SUMMARY_FILE, NULL, &s, err);
	int rc = t == NULL ? -1 : dataset_read(s.desc, &view, err);

	if (rc == 0 && (s.complete == 0 || view.id != d->id))
		rc = error_set(err, ERROR_DAMAGED,
			       "%s: belongs to another dataset, or is "
			       "unfinished",
			       SUMMARY_FILE);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, DATASET_DIR_FMT, d->id) : 0;
}

/* --- Sending lists --- */

/* What rank 0 finds out for the others; the directory of the dataset
 * follows. */
struct found {
	bool old, packed;
	uint64_t nranks, nparts;
	uint64_t parts; /* a hash of their names and places */
};

/* A note: for each rank that wrote files this, then the files. */
struct head {
	uint64_t rank;
	uint64_t expected, count; /* files */
	uint64_t len;		  /* bytes of these */
};

struct spreading {
	const struct run *run;
	struct team_mail out;
	size_t cap, files; /* of `out` */
	struct buf raw;	   /* the notes in `out`, one after the other */
	struct arena *keep;
	struct found is;
	const char *root;
	bool fetch;
	/* Of rank 0 and of a reader: the metadata directory (else -1), and the
	 * parts. */
	int fd;
	struct rank2file_parts parts;
	bool reads;		/* a part */
	struct kvtree *marks;	/* or NULL */
	struct team_note *mine; /* received */
	size_t nmine, mine_cap;
	bool more; /* a rank has more to send */
	bool over; /* a rank failed: end */
};

/* The first of the ranks that wrote the dataset whose files `rank` gets: it
 * gets those of a range. */
static uint64_t
first_of(const struct spreading *s, uint32_t rank)
{
	const uint64_t size = s->run->world.size;

	return (rank * s->is.nranks + size - 1) / size;
}

static int
by_rank(const void *a, const void *b)
{
	const struct team_note *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Do the notes have attributes?  Those of files of their own are those of the
 * files. */
static bool
has_attrs(const struct spreading *s)
{
	return s->fetch && s->parts.containers != NULL &&
	       s->run->p.copy_metadata;
}

/*
 * Copy the recorded attributes (hidden.h) into the gathered notes.  Those that
 * cannot be read stay unknown: the bytes of the files are what counts.
 */
static int
add_attrs(struct spreading *s, struct error *err)
{
	const struct rank2file r = { .containers = s->parts.containers,
				     .partial = true };
	char **to = mem_alloc(s->files + 1, sizeof(*to)); /* their places */
	struct error why = ERROR_INIT;
	struct hidden hid;
	struct segmap m;
	int rc = 0;

	if (to == NULL || segmap_init(&m, s->files, err) < 0) {
		mem_free(to);
		return error_no_memory(err);
	}
	qsort(s->out.notes, s->out.count, sizeof(*s->out.notes), by_rank);
	for (size_t i = 0; i < s->out.count; i++) {
		const struct team_note *n = &s->out.notes[i];
		const char *at = n->data, *end = at + n->len;

		while (at < end) {
			struct head h;

			memcpy(&h, at, sizeof(h));
			at += sizeof(h);
			for (uint64_t k = 0; k < h.count; k++) {
				struct segmap_file *is = &m.files[m.nfiles];
				struct rank2file_file f;

				to[m.nfiles++] = lists_attr((char *)at);
				at = lists_take(at, &f, NULL, NULL);
				is->rank = (uint32_t)h.rank;
				is->path = f.path;
			}
		}
	}
	rc = hidden_load(&hid, s->fd, &r, &m, &why);
	if (rc < 0 || hid.unread)
		say_warn("%s: modes and times of files are unknown: %s",
			 s->root, rc < 0 ? why.text : hid.flaw);
	for (size_t i = 0; rc == 0 && i < m.nfiles; i++)
		memcpy(to[i], &m.files[i].attr, sizeof(struct attr));
	if (rc == 0)
		hidden_free(&hid);
	segmap_free(&m);
	mem_free(to);
	return rc < 0 && why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
}

/* Send the gathered lists; `more`: this rank will have more.  Collective. */
static int
send_round(struct spreading *s, bool more, struct error *err)
{
	struct team_mail in = { 0, NULL };
	const char *at = s->raw.data;
	int rc = 0;

	for (size_t i = 0; i < s->out.count; i++) {
		s->out.notes[i].data = at;
		at += s->out.notes[i].len;
	}
	if (has_attrs(s) && s->out.count > 0)
		rc = add_attrs(s, err);
	s->over =
		team_notes(&s->run->world, rc, &s->out, s->keep, &in, err) < 0;
	s->more = false;
	if (s->over)
		return -1;
	for (size_t i = 0; i < in.count && rc == 0; i++)
		if (MEM_ROOM(s->mine, s->nmine, s->mine_cap))
			s->mine[s->nmine++] = in.notes[i];
		else
			rc = error_no_memory(err);
	s->out.count = s->files = 0;
	buf_clear(&s->raw);
	s->more = team_any(&s->run->world, more);
	return rc;
}

/* Add a rank of a part that this rank reads. */
static int
add_rank(void *arg, size_t rank, const struct rank2file_rank *r,
	 struct error *err)
{
	struct spreading *s = arg;
	struct head h = { rank, r->expected, r->nfiles, 0 };
	const uint32_t to =
		(uint32_t)((uint64_t)rank * s->run->world.size / s->is.nranks);
	const struct attr none = { .has_size = false };
	struct buf b = BUF_INIT;
	int rc = 0;

	buf_add(&b, &h, sizeof(h));
	for (size_t i = 0; rc == 0 && i < r->nfiles; i++) {
		const struct rank2file_file *f = &r->files[i];

		for (size_t k = 0; rc == 0 && k < f->nsegs; k++)
			if (marks_has(s->marks, f->segs[k].file,
				      f->segs[k].off))
				rc = error_set(err, ERROR_DAMAGED,
					       "%s/%s: its rebuild was "
					       "interrupted",
					       s->root, f->segs[k].file);
		lists_add(&b, f, has_attrs(s) ? &none : NULL);
	}
	if (rc == 0)
		rc = buf_check(&b, err);
	if (rc == 0) {
		h.len = b.len - sizeof(h);
		memcpy(b.data, &h, sizeof(h));
	}
	if (rc == 0 && s->raw.len > 0 && s->raw.len + b.len > ROUND_BYTES)
		rc = send_round(s, true, err);
	if (rc == 0 && (!MEM_ROOM(s->out.notes, s->out.count, s->cap) ||
			buf_add(&s->raw, b.data, b.len) < 0))
		rc = error_no_memory(err);
	if (rc == 0) {
		if (s->out.count == 0 ||
		    s->out.notes[s->out.count - 1].rank != to)
			s->out.notes[s->out.count++] =
				(struct team_note){ .rank = to };
		s->out.notes[s->out.count - 1].len += b.len;
		s->files += r->nfiles;
	}
	buf_free(&b);
	return rc;
}

/* --- Reading --- */

static int
list_parts(struct spreading *s, struct error *err)
{
	if (rank2file_list(s->fd, s->is.old ? OLD_FILE : RANK2FILE_FILE,
			   s->keep, &s->parts, err) < 0)
		return -1;
	if (!s->parts.packed) {
		kvtree_free(s->parts.top);
		s->parts.top = NULL;
	}
	return 0;
}

/* What all who read a map have to see in the same way. */
static uint64_t
hash_parts(const struct rank2file_parts *p)
{
	uint64_t h = p->packed;

	for (size_t i = 0; i < p->count; i++)
		h = (h * 31 + fnv_text(p->parts[i].name)) * 31 +
		    p->parts[i].offset;
	return h;
}

/* Rank 0 finds the parts; *out is for the others.  `any` number of ranks may
 * have written the dataset. */
static int
find_parts(struct spreading *s, const struct dataset *d, bool any,
	   struct buf *out, struct error *err)
{
	const uint32_t size = s->run->world.size;
	const char *root = NULL;

	s->fd = find_dir(s->run, d, &s->is.old, err);
	if (s->fd < 0 || (s->fetch && check_summary(s->fd, d, err) < 0) ||
	    list_parts(s, err) < 0)
		return -1;
	s->is.packed = s->parts.packed;
	s->is.nranks = s->parts.nranks;
	s->is.nparts = s->parts.count;
	s->is.parts = hash_parts(&s->parts);
	if (s->is.nranks != size && !any)
		return error_set(err, ERROR_USAGE,
				 "written by %zu ranks, but this job has %u: "
				 "start %zu ranks, or set "
				 "SCR_RESTART_ANY_RANKS=1",
				 s->parts.nranks, size, s->parts.nranks);
	root = s->is.old ? d->name
			 : str_printed(PATH_MAX, "%s/%s", SCR_DIR,
				       dataset_dir_str(d->id));
	(void)buf_add(out, &s->is, sizeof(s->is));
	(void)buf_add(out, root, strlen(root) + 1);
	return buf_check(out, err);
}

/* The first part of a reader: open the directory. */
static int
start_reading(struct spreading *s, struct error *err)
{
	s->reads = true;
	if (s->fd < 0) {
		s->fd = open_below(s->run,
				   str_printed(PATH_MAX, "%s%s", s->root,
					       s->is.old ? OLD_DIR : ""),
				   err);
		if (s->fd < 0 || list_parts(s, err) < 0)
			return -1;
		if (s->parts.count != s->is.nparts ||
		    s->parts.nranks != s->is.nranks ||
		    hash_parts(&s->parts) != s->is.parts)
			return error_set(err, ERROR_CORRUPT,
					 "%s/" RANK2FILE_FILE
					 ": changed while it was read",
					 s->root);
	}
	return s->is.packed && s->fetch ? marks_load(&s->marks, s->fd, err) : 0;
}

/* Read the parts of this rank, and send every rank its list. 1: the parts must
 * be read as a whole. */
static int
spread(struct spreading *s, bool whole, struct error *err)
{
	const struct team *world = &s->run->world;
	const uint64_t count = s->is.nparts;
	struct rank2file_visit visit = {
		.nranks = s->is.nranks,
		.whole = whole,
		.take = add_rank,
		.arg = s,
	};
	uint64_t worst = 0;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		if (i * world->size / count != world->rank)
			continue;
		if (!s->reads)
			rc = start_reading(s, err);
		visit.containers = s->parts.containers;
		if (rc == 0)
			rc = rank2file_each_rank(s->fd, &s->parts.parts[i],
						 &visit, err);
	}
	if (rc != 0)
		s->out.count = 0;
	while (!s->over) {
		if (send_round(s, false, err) < 0)
			rc = -1;
		if (!s->more)
			break;
	}
	worst = team_most(world, rc < 0 || s->over ? 2 : rc > 0 ? 1 : 0);
	if (worst == 2)
		return team_agree(world, rc < 0 || s->over ? -1 : 0, err);
	return (int)worst;
}

/* --- The list of this rank --- */

/* Check the segments, which are untrusted, and set sizes that are not recorded.
 */
static int
check_segs(const struct spreading *s, struct lists *l, struct error *err)
{
	struct rank2file_rank mine = { .nfiles = l->count, .files = l->files };
	const struct rank2file r = { .nranks = 1, .ranks = &mine };
	struct segmap m;
	int rc = segmap_read(&m, &r, err);

	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		struct rank2file_file *f = &l->files[i];
		uint64_t sum = 0;

		l->packed |= f->nsegs > 0;
		for (size_t k = 0; k < f->nsegs; k++)
			sum += f->segs[k].len;
		f->has_size |= f->nsegs > 0;
		f->size = m.files[i].size;
		if (f->nsegs > 0 && sum != f->size)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: has %" PRIu64
				       " bytes, its segments %" PRIu64,
				       f->path, f->size, sum);
	}
	if (rc == 0)
		segmap_free(&m);
	return rc < 0 ? error_wrap(err, "%s", s->root) : 0;
}

/* Take the files of a rank, which follow its head at *at. */
static int
take_files(const struct spreading *s, const struct head *h, const char **at,
	   struct arena *a, struct lists *out, struct error *err)
{
	for (uint64_t i = 0; i < h->count; i++) {
		struct rank2file_file *f = &out->files[out->count];

		out->ranks[out->count] = (uint32_t)h->rank;
		*at = lists_take(*at, f, &out->attrs[out->count++], a);
		if (*at != NULL && s->is.old)
			f->path = arena_printf(a, "%s/%s", s->root, f->path);
		if (*at == NULL || f->path == NULL)
			return error_no_memory(err);
		if (!path_is_clean(f->path) || !dataset_dir_is_data(f->path) ||
		    strlen(f->path) + strlen(s->run->p.prefix) + 2 >
			    SCR_MAX_FILENAME)
			return error_set(
				err, ERROR_UNSAFE,
				RANK2FILE_FILE
				": %s: not a valid path of a data file",
				f->path);
	}
	return 0;
}

/* Take the files of the received notes, if each rank of the share has come,
 * once. */
static int
take_list(const struct spreading *s, struct arena *a, struct lists *out,
	  struct error *err)
{
	const uint64_t first = first_of(s, s->run->world.rank),
		       n = first_of(s, s->run->world.rank + 1) - first;
	struct {
		bool here, whole;
	} *seen = arena_alloc(a, n + 1, sizeof(*seen));
	uint64_t count = 0, lost = 0;
	struct head h;

	if (seen == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < s->nmine; i++) {
		const char *at = s->mine[i].data, *end = at + s->mine[i].len;

		for (; at < end; at += sizeof(h) + h.len) {
			memcpy(&h, at, sizeof(h));
			if (seen[h.rank - first].here)
				return error_set(err, ERROR_CORRUPT,
						 RANK2FILE_FILE
						 ": rank %" PRIu64
						 " is in two parts",
						 h.rank);
			seen[h.rank - first].here = true;
			seen[h.rank - first].whole = h.expected <= h.count;
			count += h.count;
		}
	}
	while (lost < n && seen[lost].whole)
		lost++;
	if (lost < n)
		return error_set(err, ERROR_DAMAGED,
				 RANK2FILE_FILE ": files of rank %" PRIu64
						" are missing",
				 first + lost);
	out->files = arena_alloc(a, count, sizeof(*out->files));
	out->attrs = arena_alloc(a, count, sizeof(*out->attrs));
	out->ranks = arena_alloc(a, count, sizeof(*out->ranks));
	if (out->files == NULL || out->attrs == NULL || out->ranks == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < s->nmine; i++) {
		const char *at = s->mine[i].data, *end = at + s->mine[i].len;

		while (at < end) {
			memcpy(&h, at, sizeof(h));
			at += sizeof(h);
			if (take_files(s, &h, &at, a, out, err) < 0)
				return -1;
		}
	}
	return check_segs(s, out, err);
}

int
lists_read(const struct run *run, const struct dataset *d, bool fetch,
	   struct arena *a, struct lists *out, struct error *err)
{
	const struct team *world = &run->world;
	struct spreading s = {
		.run = run, .keep = a, .fetch = fetch, .fd = -1
	};
	struct buf found = BUF_INIT;
	int rc = 0;

	*out = (struct lists){ 0 };
	if (world->rank == 0)
		rc = find_parts(&s, d, fetch && run->p.any_ranks, &found, err);
	rc = team_share(world, 0, rc, &found, err);
	if (rc == 0) {
		memcpy(&s.is, found.data, sizeof(s.is));
		out->packed = s.is.packed;
		out->nranks = (uint32_t)s.is.nranks;
		out->root = s.root = arena_strdup(a, found.data + sizeof(s.is));
		rc = team_agree(world,
				s.root == NULL ? error_no_memory(err) : 0, err);
	}
	if (rc == 0)
		rc = spread(&s, false, err);
	if (rc > 0) {
		s.nmine = 0;
		rc = spread(&s, true, err);
	}
	if (rc == 0)
		rc = team_agree(world, take_list(&s, a, out, err), err);
	if (rc == 0)
		out->packed = team_any(world, out->packed);
	io_close(s.fd);
	kvtree_free(s.parts.top);
	kvtree_free(s.marks);
	mem_free(s.out.notes);
	mem_free(s.mine);
	buf_free(&s.raw);
	buf_free(&found);
	return rc;
}
