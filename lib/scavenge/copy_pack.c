/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_pack.c - copy the files of the ranks to their places in containers
 * (gather_pack.c): what is there already is not written again.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "container/joint.h"
#include "crc.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "num.h"
#include "scavenge/copy_impl.h"
#include "temp.h"
#include "transfer/pump.h"

/* Cut the files of a rank. */
static int
cut(struct copier *c, struct copy_rank *r, const struct kvtree *layout,
    struct error *err)
{
	struct joint_how how = { .mode = 0600 };
	const struct kvtree *k = kvtree_get2(layout, "RANK", num_str(r->rank));
	struct segmap *m = &r->packed;
	uint64_t size = 0, start = 0, bytes = 0;

	if (kvtree_u64(layout, "LAYOUT", UINT64_MAX, &how.layout, err) < 0)
		return -1;
	if (k == NULL ||
	    kvtree_u64(layout, "SIZE", INT64_MAX, &size, NULL) < 0 ||
	    size == 0 || kvtree_u64(k, "START", INT64_MAX, &start, NULL) < 0 ||
	    kvtree_u64(k, "BYTES", INT64_MAX - start, &bytes, NULL) < 0)
		return error_set(err, ERROR_CORRUPT,
				 "layout: no place for rank %" PRId64, r->rank);
	(void)segmap_init(m, r->map.nfiles, NULL);
	for (; m->nfiles < r->map.nfiles; m->nfiles++)
		m->files[m->nfiles] = (struct segmap_file){
			.rank = (uint32_t)r->rank,
			.path = c->items[r->first + m->nfiles].rel,
			.size = r->map.files[m->nfiles].attr.size,
		};
	if (segmap_cut(m, SEGMAP_DATA, size, start, err) < 0)
		return -1;
	if (m->bytes != bytes)
		return error_set(err, ERROR_DAMAGED,
				 "%" PRIu64 " bytes, expected %" PRIu64,
				 m->bytes, bytes);
	r->joint = joint_new(c->meta_fd, m, how, err);
	return r->joint == NULL ? -1 : 0;
}

int
copy_pack_begin(struct copier *c, struct error *err)
{
	struct kvtree *layout =
		kvtree_read_file(c->meta_fd, temp_str(JOINT_MARK), err);
	int rc = layout == NULL ? -1 : 0;

	c->resume = kvtree_get(layout, "RESUME") != NULL;
	for (size_t i = 0; rc == 0 && i < c->nranks; i++) {
		struct copy_rank *r = &c->ranks[i];
		struct error why = ERROR_INIT;

		if (cut(c, r, layout, &why) == 0)
			continue;
		/* None of its files has a place. */
		copy_blame(c, r, &why);
		for (size_t k = 0; k < r->map.nfiles; k++)
			c->items[r->first + k].state = COPY_BAD;
	}
	kvtree_free(layout);
	return rc;
}

void
copy_pack_end(struct copier *c)
{
	for (size_t i = 0; i < c->nranks; i++) {
		joint_free(c->ranks[i].joint);
		segmap_free(&c->ranks[i].packed);
	}
}

int
copy_pack_file(struct copier *c, struct copy_item *it, struct pump *p,
	       struct error *why, struct error *err)
{
	struct copy_rank *r = &c->ranks[it->rank];
	const struct segmap *m = &r->packed;
	const struct segmap_file *f =
		&m->files[(size_t)(it - c->items) - r->first];
	struct attr was;
	struct stat st;
	int rc = 1;

	if (fstat(p->from, &st) < 0)
		return error_sys(err, "%s: cannot stat", it->from);
	attr_from_stat(&was, &st);
	it->crc = 0;
	for (size_t i = f->first; rc == 1 && i < f->first + f->nsegs; i++) {
		const struct segment *g = &m->segs[i];

		p->begin = p->size;
		p->size += g->len;
		p->place = g->off;
		p->to_name = m->containers[g->container].name;
		p->to = joint_open(r->joint, g->container, err);
		rc = p->to < 0 ? -1 : pump_run(p, why, err);
		it->crc = crc_shift(it->crc, g->len) ^ p->crc;
		if (rc == 1 && joint_wrote(r->joint, g->container, err) < 0)
			rc = -1;
	}
	if (rc != 1)
		return rc;
	if (fstat(p->from, &st) < 0 || !attr_unchanged(&was, &st))
		error_set(why, ERROR_DAMAGED, "%s: changes while it is copied",
			  it->from);
	else if (it->file->has_crc && it->crc != it->file->crc)
		error_set(why, ERROR_DAMAGED,
			  "%s: checksum 0x%08" PRIx32 ", expected 0x%08" PRIx32,
			  it->from, it->crc, it->file->crc);
	it->has_sum = why->kind == ERROR_NONE;
	return it->has_sum;
}
