/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing_commit.c - the end of a flush: datasets whose files are replaced are
 * retired, the files are renamed, and the metadata written.  A part leader, one
 * in 8192 ranks, handles the lists of its ranks.
 */
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "io.h"
#include "meta/dataset.h"
#include "meta/rank2file.h"
#include "scr/flushing_impl.h"
#include "scr/lists.h"
#include "scr/onprefix.h"
#include "scr/owned.h"
#include "scr/run.h"
#include "team/say.h"
#include "transfer/put.h"

/* Send the list of this rank to its part leader. */
static int
gather(struct flushing *f, struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	struct buf b = BUF_INIT;
	struct team_note note = {
		.rank = world->rank - world->rank % RANK2FILE_PART_RANKS,
	};
	const struct team_mail out = { 1, &note };
	int rc = 0;

	for (size_t i = 0; i < f->nfiles; i++) {
		const struct flush_file *file = &f->files[i];
		const struct rank2file_file is = { .path = file->rel,
						   .has_size = true,
						   .has_crc = file->has_crc,
						   .size = file->attr.size,
						   .crc = file->crc };

		lists_add(&b, &is);
	}
	note.data = b.data;
	note.len = b.len;
	rc = team_notes(world, buf_check(&b, err), &out, f->arena, in, err);
	buf_free(&b);
	return rc;
}

/* --- Files that are replaced --- */

static void
warn_retired(void *arg, const char *line)
{
	*(bool *)arg = true;
	say_warn("%s", line);
}

static int
make_way(struct flushing *f, const struct team_mail *in, struct error *err)
{
	struct owners_write w = { .id = f->d->id, .replace = true };
	struct catalogue_options o;
	struct catalogue *c = NULL;
	const char **paths = NULL;
	size_t count = 0;
	struct rank2file_file file;
	int rc = -1;

	for (size_t i = 0; i < in->count; i++)
		count += lists_count(&in->notes[i]);
	if (count == 0)
		return 0;
	paths = arena_alloc(f->arena, count, sizeof(*paths));
	if (paths == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < in->count; i++) {
		const char *at = in->notes[i].data;
		const char *end = at + in->notes[i].len;

		while (at < end) {
			lists_take(&at, &file);
			paths[w.count++] = file.path;
		}
	}
	w.paths = paths;
	onprefix_options(&o);
	/* If each dataset replaces the one before, one warning will do. */
	o.work.log = f->run->replaces ? NULL : warn_retired;
	o.work.log_arg = &f->run->replaces;
	c = catalogue_open(f->run->p.prefix, err);
	if (c != NULL)
		rc = owners_make_way(c, &w, &o, err);
	catalogue_close(c);
	return rc;
}

/* May files of this rank belong to another dataset? */
static bool
is_suspect(const struct flushing *f)
{
	bool found = f->replaces;

	for (size_t i = 0; !found && i < f->nfiles; i++)
		found = owned_elsewhere(f->run->owned, f->files[i].rel,
					f->d->id);
	return found;
}

/* Retire the datasets that have one of the paths, whether a file exists or not.
 * If no rank suspects any, this costs one reduction. */
static int
retire_others(struct flushing *f, const struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;

	if (f->bypass || !team_any(world, is_suspect(f)))
		return 0;
	return team_agree(world, make_way(f, in, err), err);
}

/* --- rank2file --- */

static int
take_list(struct flushing *f, const struct team_note *n,
	  struct rank2file_rank *r, struct error *err)
{
	const char *at = n->data, *end = at + n->len;

	r->present = true;
	r->files = arena_alloc(f->arena, lists_count(n) + 1, sizeof(*r->files));
	if (r->files == NULL)
		return error_no_memory(err);
	while (at < end)
		lists_take(&at, &r->files[r->nfiles++]);
	return 0;
}

/* The part leader: write the part.  Rank 0 also writes the top file and the
 * summary, with which its directory is synced. */
static int
write_part(struct flushing *f, const struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	struct rank2file r = { .nranks = world->size, .distinct = true };
	int fd = -1, rc = 0;

	if (world->rank % RANK2FILE_PART_RANKS != 0)
		return 0;
	r.ranks = arena_alloc(f->arena, r.nranks, sizeof(*r.ranks));
	if (r.ranks == NULL)
		return error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < in->count; i++)
		rc = take_list(f, &in->notes[i], &r.ranks[in->notes[i].rank],
			       err);
	if (rc == 0)
		fd = lists_open(f->run, f->d->id, err);
	if (fd < 0)
		return -1;
	rc = rank2file_store_part(fd, &r, world->rank, err);
	if (rc == 0 && world->rank != 0)
		rc = io_sync_dir(fd, RANK2FILE_FILE, err);
	close(fd);
	return rc;
}

static int
write_top(const struct flushing *f, struct error *err)
{
	int fd = -1, rc = -1;

	if (f->run->world.rank != 0)
		return 0;
	fd = lists_open(f->run, f->d->id, err);
	if (fd < 0)
		return -1;
	rc = rank2file_store_top(fd, f->run->world.size, err);
	close(fd);
	return rc;
}

/* --- The whole --- */

/* Record that the files now belong to this dataset. */
static int
own(const struct flushing *f, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->nfiles; i++)
		rc = owned_add(f->run->owned, f->files[i].rel, f->d->id, err);
	return rc;
}

int
flushing_commit(struct flushing *f, struct error *err)
{
	struct team_mail in = { 0, NULL };
	const struct team *world = &f->run->world;
	int rc = 0;

	if (gather(f, &in, err) < 0 || retire_others(f, &in, err) < 0)
		return -1;
	if (f->put != NULL)
		rc = put_commit(f->put, err);
	if (rc == 0 && !f->bypass)
		rc = own(f, err);
	if (team_agree(world, rc, err) < 0 ||
	    team_agree(world, write_part(f, &in, err), err) < 0 ||
	    team_agree(world, write_top(f, err), err) < 0)
		return -1;
	return onprefix_complete(f->run, f->d, err);
}
