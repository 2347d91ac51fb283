/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather_pack.c - the nodes of a job copy a dataset straight into containers,
 * if nothing of it has to be rebuilt: where the bytes of each rank go; and,
 * when all are there, the names of the containers and the map.
 *
 * The containers are those that a flush of the job makes (PACK_NODE): what an
 * interrupted one left is taken up.
 */
#include <inttypes.h>

#include "arena.h"
#include "buf.h"
#include "container/hidden.h"
#include "container/joint.h"
#include "container/pack.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/copied.h"
#include "meta/filemap.h"
#include "meta/rank2file.h"
#include "num.h"
#include "path.h"
#include "scavenge/scavenge_impl.h"
#include "temp.h"

/* Could its containers be made of what the caches have, and are they wanted? */
static bool
is_packable(const struct scavenge *s, const struct salvage_dataset *d,
	    int root_fd)
{
	/* The next job restarts from it, perhaps with a library that cannot
	 * read containers; but the job's own flush began with them. */
	const bool wanted =
		!d->ckpt || s->o->pack_current || joint_is_unfinished(root_fd);

	if (!s->o->containers || s->o->pack_redundancy || !wanted ||
	    d->bypass || d->state != SALVAGE_COMPLETE || d->world < 1 ||
	    d->world > d->nranks)
		return false;
	for (int64_t i = 0; i < d->world; i++)
		if (d->ranks[i].best == NULL || !d->ranks[i].best->found.map)
			return false;
	return !joint_is_mapped(root_fd);
}

/* Sort the ranks: those of a node together, the nodes by their lowest rank. */
static void
sort_ranks(struct scavenge_packing *k, const struct scavenge *s)
{
	const struct salvage_dataset *d = k->d;
	/* By node: its ranks that have no place yet, and the next place. */
	uint32_t *left = arena_alloc(s->arena, s->plan.nnodes, sizeof(*left));
	uint32_t *next = arena_alloc(s->arena, s->plan.nnodes, sizeof(*next));
	uint32_t sum = 0;

	for (uint32_t r = 0; r < k->nranks; r++)
		left[d->ranks[r].best->node]++;
	for (uint32_t r = 0; r < k->nranks; r++) {
		const uint32_t node = d->ranks[r].best->node;

		if (left[node] > 0)
			next[node] = sum;
		sum += left[node];
		left[node] = 0;
		k->order[next[node]++] = r;
	}
}

/*
 * Write the layout for the nodes, which read it in copy_pack.c: a kvtree file,
 * JOINT_MARK in the directory of the dataset:
 *
 *   SIZE -> bytes of a container
 *   LAYOUT -> joint_layout()
 *   RESUME, if an earlier run may have left some of the bytes
 *   RANK -> rank -> { START -> place of its first byte in the string of all
 *                     containers, BYTES -> of all its files }
 */
static int
write_layout(const struct scavenge_packing *k, bool resume, struct error *err)
{
	struct kvtree *t = kvtree_new(NULL), *ranks = NULL;
	uint64_t start = 0;
	int rc = 0;

	(void)kvtree_set_u64(t, "SIZE", k->size, NULL);
	(void)kvtree_set_u64(t, "LAYOUT", k->how.layout, NULL);
	if (resume)
		(void)kvtree_put(t, "RESUME", NULL);
	ranks = kvtree_put(t, "RANK", NULL);
	for (uint32_t i = 0; i < k->nranks; i++) {
		const uint64_t bytes =
			k->d->ranks[k->order[i]].best->found.bytes;
		struct kvtree *r =
			kvtree_put(ranks, num_str(k->order[i]), NULL);

		(void)kvtree_set_u64(r, "START", start, NULL);
		(void)kvtree_set_u64(r, "BYTES", bytes, NULL);
		start += bytes;
	}
	rc = kvtree_write_file(t, k->root_fd, temp_str(JOINT_MARK), err);
	kvtree_free(t);
	return rc;
}

int
scavenge_packing_begin(struct scavenge_packing *k, struct scavenge *s,
		       const struct salvage_dataset *d, const char *dir,
		       struct error *err)
{
	struct error why = ERROR_INIT;
	uint64_t start = 0;
	bool left = false;

	*k = (struct scavenge_packing){
		.d = d,
		.size = s->o->container_size > 0 ? s->o->container_size
						 : SEGMAP_SIZE_DEFAULT,
		.root_fd =
			path_open_dir(catalogue_prefix_fd(s->prefix), dir, err),
		.how = { .mode = 0600 },
	};
	if (k->root_fd < 0)
		return -1;
	if (!is_packable(s, d, k->root_fd))
		return 0;
	k->nranks = (uint32_t)d->world;
	k->order = arena_alloc(s->arena, k->nranks, sizeof(*k->order));
	sort_ranks(k, s);
	for (uint32_t i = 0; i < k->nranks; i++) {
		const uint64_t bytes = d->ranks[k->order[i]].best->found.bytes;

		if (bytes > INT64_MAX - start)
			return 0;
		k->how.layout += joint_layout(k->order[i], start, bytes);
		start += bytes;
	}
	k->how.layout += joint_layout(k->size, 1, d->created);
	if (joint_begin(k->root_fd, k->how.layout, true, &left, &why) == 0 &&
	    write_layout(k, left, &why) == 0)
		return 1;
	work_say(s->work,
		 "dataset %" PRId64 ": as files, not in containers: %s: %s",
		 d->id, dir, why.text);
	return 0;
}

/* --- The map --- */

/* Add the files of a rank, as its node has recorded them. */
static int
add_files(struct scavenge_packing *k, uint32_t rank, struct segmap *m,
	  size_t room, struct error *err)
{
	struct kvtree *t = kvtree_read_file(
		k->root_fd, copied_name((char[COPIED_NAME_MAX]){ 0 }, rank),
		err);
	struct buf image = BUF_INIT;
	struct filemap map;
	struct copied done;
	int rc = t == NULL || copied_read(t, m->arena, &done, err) < 0 ||
				 nodecache_dir_map(k->root_fd, rank, &image,
						   &map, m->arena, err) < 0
			 ? -1
			 : 0;

	buf_free(&image);
	kvtree_free(t);
	if (rc == 0 &&
	    (map.nfiles > done.nfiles || map.nfiles > room - m->nfiles))
		rc = error_set(err, ERROR_DAMAGED,
			       "rank %" PRIu32 ": not all files are copied",
			       rank);
	for (size_t i = 0; rc == 0 && i < map.nfiles; i++) {
		const struct copied_file *f = &done.files[i];

		if (f->size != map.files[i].attr.size)
			return error_set(err, ERROR_DAMAGED,
					 "%s: not copied whole", f->path);
		m->files[m->nfiles++] = (struct segmap_file){
			.rank = rank,
			.path = f->path,
			.size = f->size,
			.has_crc = true,
			.crc = f->crc,
			.attr = map.files[i].attr,
		};
	}
	return rc;
}

/* The checksums of the containers that have no part of a file. */
static void
sum_containers(struct segmap *m)
{
	for (size_t i = 0; i < m->ncontainers; i++)
		m->containers[i].has_crc = true;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		for (size_t g = f->first; g < f->first + f->nsegs; g++) {
			struct segmap_container *c =
				&m->containers[m->segs[g].container];

			c->has_crc = c->has_crc && f->nsegs == 1;
			c->crc = crc_shift(c->crc, m->segs[g].len) ^ f->crc;
		}
	}
}

static int
write_map(const struct scavenge_packing *k, const struct segmap *m,
	  struct error *err)
{
	struct rank2file r = { .nranks = 0 };
	struct hidden h;
	int rc = hidden_init(&h, err);

	h.has_attrs = true;
	if (rc == 0 &&
	    (segmap_write(m, k->nranks, false, &r, err) < 0 ||
	     hidden_store(&h, k->root_fd, m, &r, err) < 0 ||
	     rank2file_store(k->root_fd, RANK2FILE_FILE, &r, err) < 0 ||
	     hidden_sweep(k->root_fd, &r, err) < 0))
		rc = -1;
	rank2file_free(&r);
	hidden_free(&h);
	return rc;
}

int
scavenge_packing_place(struct scavenge_packing *k, struct error *err)
{
	const struct salvage_dataset *d = k->d;
	struct attr attr;
	struct segmap m;
	size_t room = 0;
	int rc = 0;

	for (uint32_t r = 0; r < k->nranks; r++)
		room += d->ranks[r].best->found.files;
	rc = segmap_init(&m, room, err);
	for (uint32_t i = 0; rc == 0 && i < k->nranks; i++)
		rc = add_files(k, k->order[i], &m, room, err);
	if (rc == 0)
		rc = segmap_cut(&m, SEGMAP_DATA, k->size, 0, err);
	sum_containers(&m);
	attr = pack_attr(&m, &(struct segmap){ .nfiles = 0 });
	for (size_t i = 0; rc == 0 && i < m.ncontainers; i++)
		rc = joint_place(k->root_fd, m.containers[i].name, k->how,
				 m.containers[i].size, &attr, err);
	if (rc == 0)
		rc = joint_sync(k->root_fd, err);
	if (rc == 0)
		rc = write_map(k, &m, err);
	segmap_free(&m);
	return rc;
}

void
scavenge_packing_end(struct scavenge_packing *k)
{
	io_close(k->root_fd);
	k->root_fd = -1;
}
