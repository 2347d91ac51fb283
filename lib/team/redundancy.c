/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/redundancy.h"

#include <fcntl.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "encode/code.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/redset.h"
#include "path.h"
#include "team/flow.h"
#include "team/newfile.h"
#include "team/team.h"
#include "transfer/pump.h"
#include "transfer/stripe.h"

/* State of redundancy_files(). */
struct protecting {
	const struct redundancy_job *j;
	struct arena *arena;
	int dirfd, filesfd; /* filesfd: the directory of the files */
	struct stripe data; /* of this rank */
	struct stripe_sum *sums;
	struct stripe_cache *cache;
	uint64_t *bytes; /* by member */
	struct redset_desc *descs;
	/* members with lists: this one and its neighbours */
	struct redset_member *members;
	struct buf header;
	char name[REDUNDANCY_NAME]; /* of the redundancy file */
	int fd;			    /* open redundancy file */
	struct solution bodies;
	struct flow_job job;
	struct flow *flow;
};

char *
redundancy_name(const struct redundancy_job *j, bool descriptor,
		char to[static REDUNDANCY_NAME])
{
	const struct redset_name n = {
		.map = j->map,
		.descriptor = descriptor,
		.rank = j->world->rank,
		.type = j->set->type,
		.set = j->set->set + 1,
		.sets = j->set->sets,
		.member = j->set->member + 1,
		.members = j->set->members,
	};

	return redset_name_format(to, REDUNDANCY_NAME, &n, NULL);
}

/* --- Lists --- */

/* Open, allocate, and describe all members. */
static int
prepare(struct protecting *p, struct error *err)
{
	const struct redundancy_job *j = p->j;
	const struct sets_mine *s = j->set;
	const uint32_t n = s->members;
	struct redset_member *mine = NULL;

	p->dirfd = dir_open(AT_FDCWD, j->dir);
	if (p->dirfd >= 0)
		p->filesfd = dir_open(p->dirfd, j->map ? "." : "..");
	if (p->filesfd < 0)
		return error_sys(err, "%s", j->dir);
	p->arena = arena_new();
	if (p->arena == NULL)
		return error_no_memory(err);
	p->bytes = arena_alloc(p->arena, n, sizeof(*p->bytes));
	p->descs = arena_alloc(p->arena, n, sizeof(*p->descs));
	p->members = arena_alloc(p->arena, n, sizeof(*p->members));
	if (p->bytes == NULL || p->descs == NULL || p->members == NULL)
		return error_no_memory(err);
	for (uint32_t m = 0; m < n; m++)
		p->members[m].desc = p->descs[m] = (struct redset_desc){
			.type = s->type,
			.enabled = true,
			.set = s->set,
			.sets = s->sets,
			.member = m,
			.members = n,
			.rank = s->ranks[m],
			.ranks = j->world->size,
			.failures = s->failures,
		};
	mine = &p->members[s->member];
	mine->known = true;
	mine->nfiles = j->nfiles;
	mine->files = arena_alloc(p->arena, j->nfiles, sizeof(*mine->files));
	p->sums = arena_alloc(p->arena, j->nfiles, sizeof(*p->sums));
	p->cache = stripe_cache_new(n, false, p->sums);
	if (mine->files == NULL || p->sums == NULL || p->cache == NULL)
		return error_no_memory(err);
	if (stripe_room(&p->data, p->arena, j->nfiles, err) < 0)
		return -1;
	for (size_t i = 0; i < j->nfiles; i++) {
		const struct redundancy_file *f = &j->files[i];
		const struct stripe_part part = {
			.start = mine->bytes,
			.len = f->attr.size,
			.dirfd = p->filesfd,
			.readable = true,
			.path = path_base(f->path),
			.sum = f->has_crc ? STRIPE_NO_SUM : i,
		};

		mine->files[i] = (struct redset_file){ f->path, f->attr };
		p->sums[i].size = part.len;
		if (part.len > 0)
			stripe_add(&p->data, &part);
		mine->bytes += part.len;
	}
	return 0;
}

/* Send the list to the right neighbours, which keep it in their headers, and
 * receive the lists of the left ones. */
static int
swap_lists(struct protecting *p, struct error *err)
{
	const struct team *t = p->j->members;
	const uint32_t k = redset_neighbours(&p->descs[t->rank]);
	struct team_note *notes = arena_alloc(p->arena, k, sizeof(*notes));
	struct team_mail out = { k, notes }, in;
	struct redset_member mine = p->members[p->j->set->member];
	struct kvtree *tree = NULL;
	struct buf list = BUF_INIT;
	int rc = notes == NULL ? error_no_memory(err) : 0;

	/* The list of this member: the header of a set of one member. */
	mine.desc = (struct redset_desc){ .type = REDSET_SINGLE,
					  .enabled = true,
					  .set = mine.desc.rank,
					  .sets = mine.desc.ranks,
					  .members = 1,
					  .rank = mine.desc.rank,
					  .ranks = mine.desc.ranks };
	tree = rc < 0 ? NULL : redset_header_build(&mine, NULL, 0, 0, err);
	if (rc == 0)
		rc = tree == NULL ? -1 : kvtree_encode(tree, &list, err);
	kvtree_free(tree);
	for (uint32_t i = 0; rc == 0 && i < k; i++)
		notes[i] = (struct team_note){ (t->rank + 1 + i) % t->size,
					       list.data, list.len };
	rc = team_notes(t, rc, &out, p->arena, &in, err);
	for (size_t i = 0; rc == 0 && i < in.count; i++) {
		const struct team_note *n = &in.notes[i];
		struct redset_member *m = &p->members[n->rank];
		struct redset_header h;
		struct kvtree *one = kvtree_decode(n->data, n->len, NULL, err);

		rc = one == NULL ? -1
				 : redset_header_read(one, n->len, 0, p->arena,
						      &h, err);
		kvtree_free(one);
		if (rc < 0) {
			error_wrap(err, "files of rank %u", m->desc.rank);
			break;
		}
		m->known = true;
		m->nfiles = h.members[0].nfiles;
		m->files = h.members[0].files;
		m->bytes = h.members[0].bytes;
	}
	buf_free(&list);
	return rc;
}

/* --- Files --- */

static int
read_data(void *arg, bool body, uint64_t at, char *data, size_t len,
	  struct error *err)
{
	struct protecting *p = arg;

	(void)body; /* never */
	return stripe_read(&p->data, p->cache, at, data, len, err);
}

static int
write_body(void *arg, bool body, uint64_t at, const char *data, size_t len,
	   struct error *err)
{
	const struct protecting *p = arg;

	(void)body; /* always */
	at += p->header.len;
	if (io_pwrite(p->fd, p->name, data, len, at, err) < 0)
		return -1;
	io_write_behind(p->fd, at, len, false);
	return 0;
}

/* Write everything except the body. */
static int
begin_files(struct protecting *p, struct error *err)
{
	const struct sets_mine *s = p->j->set;
	const struct code code = { s->type == REDSET_RS ? CODE_RS : CODE_XOR,
				   s->members, s->failures };
	struct solve_set set = { .type = s->type,
				 .n = s->members,
				 .failures = s->failures };
	struct redundancy_job data = *p->j;
	char name[REDUNDANCY_NAME], same[REDUNDANCY_NAME];
	struct kvtree *t = NULL;
	uint64_t longest = 0;
	int rc = -1;

	/* Write <stem>.er.R.redset.  If the filemap's descriptor equals that of
	 * the data, it is a hard link. */
	redundancy_name(p->j, true, name);
	data.map = false;
	if (!p->j->map || linkat(p->dirfd, redundancy_name(&data, true, same),
				 p->dirfd, name, 0) < 0) {
		t = redset_descriptor_build(p->descs, s->member, err);
		if (t == NULL ||
		    newfile_tree(p->dirfd, name, t, p->j->sync, err) < 0) {
			kvtree_free(t);
			return -1;
		}
		kvtree_free(t);
	}
	for (uint32_t m = 0; m < s->members; m++)
		if (p->bytes[m] > longest)
			longest = p->bytes[m];
	if (redset_format(s->type)->body == REDSET_BODY_CHUNKS)
		set.chunk = code_chunk_size(&code, longest);
	t = redset_header_build(p->members, s->ranks, set.chunk, s->member,
				err);
	if (t != NULL)
		rc = kvtree_encode(t, &p->header, err);
	kvtree_free(t);
	if (rc < 0)
		return -1;
	p->fd = newfile_open(p->dirfd, redundancy_name(p->j, false, p->name),
			     err);
	if (p->fd < 0 || io_pwrite(p->fd, p->name, p->header.data,
				   p->header.len, 0, err) < 0)
		return -1;
	p->job = (struct flow_job){
		.comm = p->j->world->comm,
		.ranks = s->ranks,
		.bytes = p->bytes,
		.me = s->member,
		.solution = &p->bodies,
		.buffer = p->j->buffer,
		.read = read_data,
		.write = write_body,
		.arg = p,
	};
	if (flow_bodies(set, p->bytes, &p->bodies, err) == 0)
		p->flow = flow_new(&p->job, err);
	return p->flow == NULL ? -1 : 0;
}

/* --- All of it --- */

int
redundancy_sums(struct redundancy_file *files, size_t n, struct error *err)
{
	char *block = mem_aligned(PUMP_ALIGN, PUMP_BLOCK);
	int rc = block == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct redundancy_file *f = &files[i];
		struct pump pump = { .to = -1,
				     .name = f->path,
				     .size = f->attr.size,
				     .block = block,
				     .room = PUMP_BLOCK };

		if (f->has_crc)
			continue;
		pump.from = io_open_read(AT_FDCWD, f->path, err);
		rc = pump.from < 0 || pump_run(&pump, err, err) != 1 ? -1 : 0;
		io_close(pump.from);
		f->crc = pump.crc;
	}
	mem_free(block);
	return rc;
}

int
redundancy_files(const struct redundancy_job *j, struct error *err)
{
	struct protecting p = { .j = j, .dirfd = -1, .filesfd = -1, .fd = -1 };
	const struct team *t = j->members;
	/* A failure in one step is a failure of all members of the set. */
	int rc = team_agree(t, prepare(&p, err), err);

	if (rc == 0) {
		team_gather64(t, p.members[t->rank].bytes, p.bytes);
		rc = swap_lists(&p, err);
		if (rc == 0)
			rc = begin_files(&p, err);
		rc = team_agree(t, rc, err);
	}
	if (rc == 0) {
		rc = flow_run(p.flow, 0, err);
		stripe_cache_drop(p.cache);
		for (size_t i = 0; i < j->nfiles; i++)
			if (!j->files[i].has_crc)
				j->files[i].crc = p.sums[i].crc;
		if (rc == 0 && p.bodies.njobs == 0)
			rc = redundancy_sums(j->files, j->nfiles, err);
		rc = newfile_close(p.fd, p.name, j->sync, rc, err);
		p.fd = -1;
	}
	flow_free(p.flow);
	solution_free(&p.bodies);
	stripe_cache_free(p.cache);
	buf_free(&p.header);
	arena_free(p.arena);
	io_close(p.fd);
	io_close(p.filesfd);
	io_close(p.dirfd);
	if (rc < 0)
		error_wrap(err, "%s", j->dir);
	return rc;
}
