/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repack.c - copy the files of a packed dataset into other containers.
 *
 *   check   sizes of the old containers; order and segment map of the new ones
 *   write   old containers -> new ones, with checksums, and read again
 *   switch  packed.*.scr, parts of rank2file, and by one rename its top file
 *   sweep   remove the old containers
 *   number  the new ones from 0, and switch again
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* Do the files lie in the new containers as they do in the old ones?  Then
 * these take their places in the new map. */
static bool
same_layout(struct packing *w)
{
	const struct segmap *old = &w->p->map;
	struct segmap *new = &w->map;

	if (old->nsegs != new->nsegs || old->bytes != new->bytes)
		return false;
	for (size_t i = 0; i < new->nfiles; i++) {
		const struct segmap_file *a = &old->files[w->from[i]];
		const struct segmap_file *b = &new->files[i];

		if (a->nsegs != b->nsegs)
			return false;
		for (size_t k = 0; k < b->nsegs; k++)
			if (old->segs[a->first + k].off !=
				    new->segs[b->first + k].off ||
			    old->segs[a->first + k].len !=
				    new->segs[b->first + k].len)
				return false;
	}
	for (size_t i = 0; i < new->nfiles; i++)
		for (size_t k = 0; k < new->files[i].nsegs; k++) {
			const struct segment *a =
				&old->segs[old->files[w->from[i]].first + k];

			new->containers[new->segs[new->files[i].first + k]
						.container] =
				old->containers[a->container];
		}
	return true;
}

/* Make the new map.  Fails if a file with bytes is not packed. */
static int
plan(struct packing *w, struct error *err)
{
	const struct segmap *old = &w->p->map;
	const uint64_t size = w->po->size > 0		? w->po->size
			      : old->container_size > 0 ? old->container_size
							: SEGMAP_SIZE_DEFAULT;
	uint64_t first = 0;

	for (size_t i = 0; i < old->nfiles; i++)
		if (old->files[i].nsegs == 0 && old->files[i].size > 0)
			return error_set(err, ERROR_USAGE,
					 "%s: not all its files are packed: "
					 "unpack it first",
					 w->p->name);
	if (pack_sort(w, err) < 0 ||
	    segmap_cut(&w->map, SEGMAP_DATA, size, 0, err) < 0)
		return -1;
	/* New containers collide neither with the old ones nor with the final
	 * numbers from 0. */
	first = w->map.ncontainers;
	for (size_t i = 0; i < old->ncontainers; i++)
		if (segmap_number(old->containers[i].name) + 1 > first)
			first = segmap_number(old->containers[i].name) + 1;
	for (size_t i = 0; i < w->map.ncontainers; i++)
		w->map.containers[i].name = arena_printf(
			w->arena, SEGMAP_DIR "/" SEGMAP_DATA ".%" PRIu64 ".scr",
			first + i);
	return 0;
}

/* Fail if containers are damaged; `sums`: all checksums are compared. */
static int
check(const struct packing *w, bool sums, struct error *err)
{
	const struct packed_look look = { .work = w->po->work, .sums = sums };
	struct packed_health h;
	int rc = packed_check(w->p, &look, &h, err);

	h.map_damaged = false; /* it is written again */
	if (rc == 0 && !packed_healthy(&h))
		rc = error_set_remedy(
			err, sums ? REMEDY_CHECKSUMS : REMEDY_VERIFY,
			ERROR_DAMAGED, "%s: is damaged", w->p->name);
	packed_health_free(&h);
	return rc;
}

/* Copy the files from the old containers to those of the new map. */
static int
copy(struct packing *w, struct error *err)
{
	const struct segmap *old = &w->p->map;
	struct stripe from;

	(void)stripe_room(&from, w->arena, old->nsegs, NULL);
	for (size_t i = 0; i < w->map.nfiles; i++)
		(void)packed_string(
			w->p, old, &old->files[w->from[i]],
			(struct stripe_part){ .start = w->map.files[i].start,
					      .sum = i },
			&from);
	if (pack_write(w, &w->map, &from, err) == 0)
		return 0;
	(void)pack_sweep(w->p, old, &w->hidden.map, false, NULL, NULL);
	return -1;
}

/* Link all containers to their final names, numbered from 0, and put the map in
 * place.  On a file system without hard links, the numbers are kept. */
static int
renumber(struct packing *w, struct error *err)
{
	struct segmap_container *to = w->map.containers;
	const int at = w->p->root_fd;
	int fd = -1, rc = 0;

	for (size_t i = 0; i < w->map.ncontainers; i++) {
		const char *name = arena_printf(
			w->arena, SEGMAP_DIR "/" SEGMAP_DATA ".%zu.scr", i);

		if (str_eq(name, to[i].name))
			continue;
		if (linkat(at, to[i].name, at, name, 0) < 0) {
			if (errno != EPERM && errno != EOPNOTSUPP &&
			    errno != ENOSYS && errno != EMLINK)
				return error_sys(err, "%s: cannot link", name);
			break;
		}
		to[i].name = name;
	}
	fd = path_open_dir(at, SEGMAP_DIR, err);
	rc = fd < 0 ? -1 : io_sync_dir(fd, SEGMAP_DIR, err);
	io_close(fd);
	if (rc < 0 || pack_switch(w->p, &w->map, &w->hidden, false, err) < 0)
		return -1;
	return pack_sweep(w->p, &w->map, &w->hidden.map, false, NULL, err);
}

static int
work(struct packing *w, struct error *err)
{
	struct packed *p = w->p;
	bool same = false;

	/* The metadata beside the map are kept. */
	w->hidden = p->hidden;
	p->hidden = (struct hidden){ .arena = NULL };
	w->out->hidden = w->hidden.map.nfiles;
	if (check(w, false, err) < 0 || plan(w, err) < 0)
		return -1;
	w->out->containers = w->map.ncontainers;
	w->out->spare = pack_judge(w, &w->map);
	same = same_layout(w);
	w->out->done_before = same && p->flaw == NULL && packed_has_copy(p);
	for (size_t i = 0; i < p->map.ncontainers; i++)
		if (segmap_number(p->map.containers[i].name) >=
		    p->map.ncontainers)
			w->out->done_before = false; /* not numbered from 0 */
	if (!same &&
	    room_check(p->root_fd, w->map.bytes, "the containers", err) < 0)
		return -1;
	if (w->po->work->dry_run) {
		w->out->removed = same ? 0 : p->map.ncontainers;
		return 0;
	}
	if (pack_sweep(p, &p->map, &w->hidden.map, false, NULL, err) < 0 ||
	    pack_sweep_parts(p, err) < 0)
		return -1;
	if (w->out->done_before)
		return 0;
	/* If no byte moves, only the map is written again. */
	if (same ? check(w, true, err) < 0
		 : copy(w, err) < 0 ||
			    pack_switch(p, &w->map, &w->hidden, false, err) <
				    0 ||
			    pack_sweep(p, &w->map, &w->hidden.map, false,
				       &w->out->removed, err) < 0)
		return -1;
	return renumber(w, err);
}

int
repack(struct packed *p, const struct pack_options *po, struct pack_result *out,
       struct error *err)
{
	struct packing w;
	int rc = 0;

	pack_init(&w, p, po, out);
	rc = packed_refuse_incomplete(p, err);
	if (rc == 0 && !po->work->dry_run)
		rc = pack_forget_replaced(p, po->work, err);
	if (rc == 0 && !p->is_packed)
		rc = error_set(err, ERROR_USAGE, "%s: is not packed", p->name);
	if (rc == 0)
		rc = work(&w, err);
	if (rc < 0)
		room_explain(p->root_fd, 0, err);
	pack_fini(&w);
	return rc;
}
