/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regain_move.c - move files from other nodes to the node where their rank runs
 * now.
 *
 * A rank that finds the part of another rank on its node offers it to that
 * rank, with the number of good files.  The other rank takes the best offer, if
 * it is better than the part on its own node.  Each rank then sends and
 * receives at the same time, so that ranks may swap places.  The files are
 * renamed when all have arrived; the old ones are removed when the dataset is
 * whole.
 */
#include "scr/regain_impl.h"

#include <mpi.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "scr/held.h"
#include "scr/run.h"

#define LEAST ((size_t)16 << 10) /* least room for a message: fits a name */
#define NAME_MOST 4096

/* Of a message: a file's name follows, with its NUL, then bytes of it. */
struct head {
	bool end; /* all files were sent; nothing follows */
	bool map; /* the file lies among the metadata */
	struct attr attr;
	uint64_t at; /* of the bytes in the file; 0: a new one begins */
	size_t name, len;
};

struct item {
	bool map;
	const char *name;
};

/* The parts that this rank sends, on request. */
struct outgoing {
	struct regain *g;
	size_t count, part; /* parts, and the one being sent */
	struct regain_part **parts;
	struct item *items; /* of the part */
	size_t nitems, item;
	int fd;
	struct head head; /* of its last message */
	char *block;
	size_t room;
};

struct incoming {
	struct regain *g;
	struct regain_builts meta; /* metadata; other files go to g->moved */
	int fd;
	char *block;
	int rc;
	struct error *err;
};

/* --- Who sends what --- */

/* Offer the parts of other ranks, choose one for this rank, and request it:
 * *from is the sender, or UINT32_MAX.  The requests of others show which parts
 * this rank sends. */
static int
choose(struct regain *g, uint32_t *from, struct outgoing *o, struct error *err)
{
	const struct team *world = &g->run->world;
	uint64_t best = g->parts[0].good;
	struct team_note note = { .data = "" };
	struct team_mail out = { 0, NULL }, in;
	int rc = 0;

	*from = UINT32_MAX;
	out.notes = arena_alloc(g->arena, g->nparts, sizeof(*out.notes));
	if (out.notes == NULL)
		rc = error_no_memory(err);
	for (size_t i = 1; rc == 0 && i < g->nparts; i++)
		if (g->parts[i].good > 0)
			out.notes[out.count++] =
				(struct team_note){ g->parts[i].rank,
						    &g->parts[i].good,
						    sizeof(g->parts[i].good) };
	if (team_notes(world, rc, &out, g->arena, &in, err) < 0)
		return -1;
	for (size_t i = 0; i < in.count; i++) {
		uint64_t good = 0;

		memcpy(&good, in.notes[i].data, sizeof(good));
		if (good > best) {
			best = good;
			*from = in.notes[i].rank;
		}
	}
	note.rank = *from;
	out = (struct team_mail){ *from != UINT32_MAX, &note };
	if (team_notes(world, 0, &out, g->arena, &in, err) < 0)
		return -1;
	o->parts =
		arena_alloc(g->arena, in.count, sizeof(struct regain_part *));
	if (o->parts == NULL)
		rc = error_no_memory(err);
	for (size_t n = 0; rc == 0 && n < in.count; n++)
		for (size_t i = 1; i < g->nparts; i++)
			if (g->parts[i].rank == in.notes[n].rank)
				o->parts[o->count++] = &g->parts[i];
	return team_agree(world, rc, err);
}

/* --- Sending --- */

/* List the files of a part that may exist. */
static int
list_items(struct outgoing *o, const struct regain_part *p, struct error *err)
{
	const bool data = !o->g->set->bypass;

	o->nitems = o->item = 0;
	o->items =
		arena_alloc(o->g->arena, p->fm.nfiles + 5, sizeof(*o->items));
	if (o->items == NULL)
		return error_no_memory(err);
	if (p->map != NULL)
		o->items[o->nitems++] = (struct item){
			true, arena_strdup(o->g->arena, filemap_str(p->rank))
		};
	for (int i = 0; i < 2; i++) {
		if (p->red[i].name != NULL)
			o->items[o->nitems++] =
				(struct item){ true, p->red[i].name };
		if (p->descriptor[i] != NULL)
			o->items[o->nitems++] =
				(struct item){ true, p->descriptor[i] };
	}
	for (size_t i = 0; data && i < p->fm.nfiles; i++)
		if (p->states[i] == FILE_PRESENT ||
		    p->states[i] == FILE_WRONG_SIZE)
			o->items[o->nitems++] = (struct item){
				false, path_base(p->fm.files[i].cache_path)
			};
	return 0;
}

/* Open the next file of the part.  An unreadable file is left out: the receiver
 * treats it as missing. */
static void
open_next(struct outgoing *o)
{
	while (o->fd < 0 && o->item < o->nitems) {
		const struct item *i = &o->items[o->item++];
		struct error why = ERROR_INIT;
		struct stat st;

		if (i->name == NULL || strlen(i->name) >= NAME_MOST)
			continue;
		o->fd = io_open_read(regain_fd(o->g, i->map), i->name, &why);
		if (o->fd >= 0 && fstat(o->fd, &st) < 0) {
			close(o->fd);
			o->fd = -1;
		}
		o->head = (struct head){ .map = i->map };
		if (o->fd < 0)
			continue;
		attr_from_stat(&o->head.attr, &st);
		o->head.name = strlen(i->name) + 1;
		memcpy(o->block + sizeof(o->head), i->name, o->head.name);
	}
}

/* Fill the block with the next message; returns its length. */
static size_t
next_message(struct outgoing *o, struct error *err)
{
	struct head *h = &o->head;
	size_t to = 0;

	h->at += h->len;
	h->len = 0;
	if (o->fd < 0)
		open_next(o);
	if (o->fd < 0) {
		*h = (struct head){ .end = true };
		o->part++;
	} else {
		const uint64_t left = h->attr.size - h->at;

		to = sizeof(*h) + h->name;
		h->len = left < o->room - to ? (size_t)left : o->room - to;
		if (h->len > 0 &&
		    io_pread(o->fd, "a file to be moved", o->block + to, h->len,
			     h->at, err) < 0)
			h->len = 0;
		if (h->len == 0 || h->len == left) {
			close(o->fd);
			o->fd = -1;
		}
	}
	memcpy(o->block, h, sizeof(*h));
	return sizeof(*h) + h->name + h->len;
}

/* --- Receiving --- */

/* Returns true at the end.  After a failure all messages are received and
 * ignored. */
static bool
take_message(struct incoming *in)
{
	const char *name = in->block + sizeof(struct head);
	struct regain *g = in->g;
	struct regain_built is = { .name = name,
				   .has_attr = true,
				   .file = SIZE_MAX };
	struct head h;

	memcpy(&h, in->block, sizeof(h));
	if (in->rc == 0 && !h.end && h.at == 0) {
		io_close(in->fd);
		in->fd = -1;
		if (!path_is_clean(name) || strchr(name, '/') != NULL)
			in->rc = error_set(in->err, ERROR_UNSAFE,
					   "%s: not a file name", name);
		else
			in->fd = regain_create(g, &is.temp, in->err);
		is.dirfd = regain_fd(g, h.map);
		is.attr = h.attr;
		/* A file of the application is named later: another rank may
		 * have one of the same name. */
		if (in->fd < 0 ||
		    regain_add_built(g, h.map ? &in->meta : &g->moved, &is,
				     in->err) < 0)
			in->rc = -1;
	}
	if (in->rc == 0 && !h.end)
		in->rc = io_pwrite(in->fd, "a moved file", name + h.name, h.len,
				   h.at, in->err);
	return h.end;
}

/* --- Both at a time --- */

static int
transfer(struct outgoing *o, struct incoming *in, uint32_t from,
	 struct error *err)
{
	const MPI_Comm comm = o->g->run->world.comm;
	MPI_Request both[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	struct team_rest rest = { .polls = 0 };
	bool wait = from != UINT32_MAX;
	int rc = 0, which = 0, done = 0;

	while (wait || o->part < o->count || both[0] != MPI_REQUEST_NULL) {
		if (both[0] == MPI_REQUEST_NULL && o->part < o->count) {
			const size_t part = o->part;
			const struct regain_part *p = o->parts[part];

			if (o->items == NULL && list_items(o, p, err) < 0)
				rc = -1;
			MPI_Isend(o->block, (int)next_message(o, err), MPI_BYTE,
				  (int)p->rank, TAG_MOVE, comm, &both[0]);
			if (o->part != part)
				o->items = NULL;
		}
		if (both[1] == MPI_REQUEST_NULL && wait)
			MPI_Irecv(in->block, (int)o->room, MPI_BYTE, (int)from,
				  TAG_MOVE, comm, &both[1]);
		MPI_Testany(2, both, &which, &done, MPI_STATUS_IGNORE);
		team_rest(&rest, done);
		if (done && which == 1)
			wait = !take_message(in);
	}
	return rc < 0 ? rc : in->rc;
}

int
regain_move(struct regain *g, struct error *err)
{
	const struct team *world = &g->run->world;
	const uint64_t want = g->run->p.mpi_buf_size;
	struct outgoing o = { .g = g, .fd = -1 };
	struct incoming in = { .g = g, .fd = -1, .err = err };
	uint32_t from = UINT32_MAX;
	bool moves = false;
	int rc = 0;

	if (!team_any(world, g->nparts > 1))
		return 0;
	rc = choose(g, &from, &o, err);
	moves = rc == 0 && team_any(world, from != UINT32_MAX);
	if (moves) {
		o.room = want > LEAST ? (size_t)want : LEAST;
		o.block = mem_alloc(o.room, 1);
		in.block = mem_alloc(o.room, 1);
		if (o.block == NULL || in.block == NULL)
			rc = error_no_memory(err);
		rc = team_agree(world, rc, err);
	}
	if (moves && rc == 0)
		rc = team_agree(world, transfer(&o, &in, from, err), err);
	if (moves && rc == 0) {
		/* The metadata become the part of this rank. */
		g->changed |= g->moved.count > 0;
		rc = regain_name(g, &in.meta, err);
		if (rc == 0)
			rc = regain_look(g, &g->parts[0], err);
		rc = team_agree(world, rc, err);
	}
	io_close(o.fd);
	io_close(in.fd);
	mem_free(o.block);
	mem_free(in.block);
	mem_free(in.meta.list);
	return rc;
}

/* --- Names --- */

/*
 * The leader of a directory gets the names of its files, each behind a mark:
 * '=', the file is one of a rank here; '-', of a rank that runs elsewhere.
 * ERROR_USAGE: two ranks have files of the same name.  With `drop`, files of
 * ranks elsewhere are removed instead, unless a rank here has one of the same
 * name; without memory for that they stay.  Collective over the directory; the
 * result is that of this rank.
 */
static int
settle_names(const struct regain *g, bool drop, struct error *err)
{
	const struct team *t = &g->set->store->sharers;
	struct buf names = BUF_INIT;
	struct team_note note = { .rank = 0 };
	const struct team_mail out = { 1, &note };
	struct team_mail in = { 0, NULL };
	struct map *here = map_new();
	const size_t nparts = drop ? g->nparts : 1;
	int sent = 0;
	int rc = here == NULL && !drop ? error_no_memory(err) : 0;

	for (size_t i = 0; i < nparts; i++) {
		const struct filemap *fm = &g->parts[i].fm;

		for (size_t k = 0; k < fm->nfiles; k++) {
			const char *name = path_base(fm->files[k].cache_path);

			(void)buf_add(&names, i == 0 ? "=" : "-", 1);
			(void)buf_add(&names, name, strlen(name) + 1);
		}
	}
	note.data = names.data;
	note.len = names.len;
	if (rc == 0)
		rc = buf_check(&names, err);
	rc = sent = team_notes(t, rc, &out, g->arena, &in, err);
	buf_free(&names);
	for (size_t i = 0; rc == 0 && here != NULL && i < 2 * in.count; i++) {
		const struct team_note *n = &in.notes[i % in.count];
		const char *at = n->data, *end = at + n->len;

		/* Those here first. */
		for (; rc == 0 && at < end; at += strlen(at) + 1) {
			const char *name = at + 1;
			const bool has = map_get(here, name) != MAP_NONE;

			if (i < in.count && *at == '=' && has && !drop)
				rc = error_set(
					err, ERROR_USAGE,
					"%s: two ranks on node %s have a file "
					"of this name: start them on their "
					"former nodes",
					name, g->run->host);
			else if (i < in.count && *at == '=' &&
				 map_put(here, name, 0) < 0)
				rc = error_no_memory(drop ? NULL : err);
			else if (i >= in.count && *at == '-' && !has &&
				 path_is_clean(name))
				(void)unlinkat(g->dirfd, name, 0);
		}
	}
	map_free(here);
	return drop && sent == 0 ? 0 : rc;
}

int
regain_commit(struct regain *g, struct error *err)
{
	const struct team *world = &g->run->world;
	int rc = 0;

	if (!team_any(world, g->changed))
		return 0;
	rc = regain_look(g, &g->parts[0], err);
	if (team_agree(world, rc, err) < 0)
		return -1;
	if (g->set->bypass)
		return 0;
	if (team_agree(world, settle_names(g, false, err), err) < 0)
		return -1;
	rc = regain_name(g, &g->moved, err);
	if (rc == 0 && g->moved.count > 0)
		rc = regain_look(g, &g->parts[0], err);
	return team_agree(world, rc, err);
}

/* --- The old files --- */

int
regain_drop(const struct regain *g, struct error *err)
{
	const struct team *t = &g->set->store->sharers;
	int rc = 0;

	if (!g->set->bypass && team_any(t, g->nparts > 1))
		rc = settle_names(g, true, err);
	for (size_t i = 1; rc == 0 && g->metafd >= 0 && i < g->nparts; i++) {
		const struct regain_part *p = &g->parts[i];

		for (int k = 0; k < 2; k++) {
			if (p->red[k].name != NULL)
				(void)unlinkat(g->metafd, p->red[k].name, 0);
			if (p->descriptor[k] != NULL)
				(void)unlinkat(g->metafd, p->descriptor[k], 0);
		}
		(void)unlinkat(g->metafd, filemap_str(p->rank), 0);
	}
	return team_agree(&g->run->world, rc, err);
}
