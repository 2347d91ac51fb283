/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_open.c - read the headers of a set's redundancy files (scr-redset(5)):
 * the members of the set, the files of each member, the position of the bodies.
 *
 * Each member's header contains its own list of files and the lists of its left
 * neighbours.  So the list of a lost member, and with it the member's whole
 * header, can be restored from its right neighbours.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "encode/code.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* Bytes of a body that are read to find out if it is readable. */
#define PROBE 4096

/* Mark the member as damaged because of `local`.  If the file is not the cause
 * (no permission, no memory), pass the error on. */
static int
bad_member(struct plan_member *m, enum red_state state, struct arena *arena,
	   const struct error *local, struct error *err)
{
	m->unread = error_is_unread(local);
	if (!plan_blames_file(local) && !m->unread)
		return error_pass(err, local);
	m->state = state;
	m->problem = m->unread && state == RED_HEADER_DAMAGED &&
				     str_starts(local->text, m->name)
			     ? arena_printf(arena, "%s: header%s", m->name,
					    local->text + strlen(m->name))
			     : arena_strdup(arena, local->text);
	return m->problem == NULL ? error_no_memory(err) : 0;
}

static void
bad_member_text(struct plan_member *m, const char *problem)
{
	m->state = RED_DAMAGED;
	m->problem = problem;
}

/* A redundancy file whose header is read. */
struct header_file {
	const struct plan *p;
	const struct plan_member *m;
	int fd; /* -1: packed or reported */
};

/* Read the first `len` bytes of a member's file, report or segments. */
static int
read_start(const struct header_file *f, void *data, size_t len,
	   struct error *why)
{
	const struct plan_member *m = f->m;

	if (m->red->report != NULL && len > m->red->report->header_size)
		return error_set(why, ERROR_CORRUPT, "%s: too short", m->name);
	if (m->red->report != NULL) {
		memcpy(data, m->red->report->header, len);
		return 0;
	}
	if (m->red->nsegs == 0)
		return io_pread(f->fd, m->name, data, len, 0, why);
	if (len > m->file_size)
		return error_set(why, ERROR_CORRUPT, "%s: too short", m->name);
	return plan_red_read(f->p, m, data, len, why);
}

/*
 * Read and decode the header.  On error returns -1 with *why and *state:
 * RED_HEADER_DAMAGED if it cannot be decoded (the body may be good),
 * RED_DAMAGED if it is the header of another file (so the body is, too).
 */
static int
read_image(const struct header_file *f, uint32_t member,
	   struct redset_table *table, struct redset_header *h,
	   enum red_state *state, struct error *why)
{
	const struct plan_member *m = f->m;
	unsigned char head[KVTREE_HEADER_SIZE];
	struct buf raw = BUF_INIT;
	size_t size = 0;
	int rc = -1;

	*state = RED_HEADER_DAMAGED;
	if (read_start(f, head, sizeof(head), why) < 0 ||
	    kvtree_peek(head, sizeof(head), &size, why) < 0)
		return -1;
	if (size > m->file_size)
		return error_set(why, ERROR_CORRUPT,
				 "%s: header needs %zu bytes, the file has "
				 "%llu",
				 m->name, size,
				 (unsigned long long)m->file_size);
	if (buf_reserve(&raw, size) < 0) {
		error_no_memory(why);
	} else if (read_start(f, raw.data, size, why) == 0) {
		rc = redset_header_parse(table, raw.data, size, member, h, why);
		if (h->size > 0)
			*state = RED_DAMAGED;
		if (rc < 0)
			error_wrap(why, "%s", m->name);
	}
	buf_free(&raw);
	return rc;
}

int
plan_read_header(const struct planner *w, struct plan_set *s, uint32_t member,
		 struct redset_table *table, struct error *err)
{
	struct plan_member *m = &s->members[member];
	struct arena *arena = table->arena;
	struct redset_header *h = arena_alloc(arena, 1, sizeof(*h));
	struct error local = ERROR_INIT;
	enum red_state state = RED_DAMAGED;
	struct header_file f = { .p = &w->p, .m = m, .fd = -1 };
	struct stat st;
	int rc = 0;

	if (h == NULL)
		return error_no_memory(err);
	if (m->red->report != NULL) {
		m->file_size = m->red->report->size;
	} else if (m->red->nsegs > 0) {
		m->file_size = plan_segs_size(m->red->segs, m->red->nsegs);
	} else {
		f.fd = path_open_beneath(w->p.places[m->place].meta_fd, m->name,
					 O_RDONLY | O_NONBLOCK, 0, &local);
		if (f.fd < 0)
			return bad_member(m, RED_DAMAGED, arena, &local, err);
		if (fstat(f.fd, &st) < 0 || !S_ISREG(st.st_mode)) {
			bad_member_text(m, "not a regular file");
			goto out;
		}
		m->file_size = (uint64_t)st.st_size;
	}
	if (read_image(&f, member, table, h, &state, &local) < 0) {
		rc = bad_member(m, state, arena, &local, err);
	} else if (h->desc.type != s->type || h->desc.members != s->n ||
		   h->desc.member != member || h->desc.rank != m->rank ||
		   h->desc.sets != s->sets || h->desc.set + 1 != s->number) {
		bad_member_text(m, "its header belongs to another file");
	} else {
		m->red->read = h;
		m->state = RED_PRESENT;
		m->red->body_start = h->size;
		m->list = h->members[member];
	}
out:
	io_close(f.fd);
	return rc;
}

static bool
same_set(const struct redset_header *a, const struct redset_header *b)
{
	return a->chunk == b->chunk && a->desc.failures == b->desc.failures &&
	       a->desc.sets == b->desc.sets && a->desc.set == b->desc.set &&
	       a->desc.ranks == b->desc.ranks;
}

/* Is the chunk no longer than the data need, or does a redundancy file have its
 * length?  If not, all headers are wrong: nothing is computed, or written, over
 * a length that no file has. */
static bool
chunk_fits(const struct plan_set *s)
{
	const struct solve_set of = plan_solve_of(s, NULL);
	uint64_t longest = 0, need = 0;

	if (redset_format(s->type)->body != REDSET_BODY_CHUNKS)
		return true;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		const struct redset_header *h = m->red->read;

		if (h != NULL &&
		    m->file_size >= m->red->body_start + s->failures * s->chunk)
			return true;
		for (uint32_t k = 0; h != NULL && k < s->n; k++)
			if (h->members[k].known &&
			    h->members[k].bytes > longest)
				longest = h->members[k].bytes;
	}
	return scheme_of(s->type)->chunk(&of, longest, &need, NULL) < 0 ||
	       s->chunk <= need;
}

uint32_t
plan_confirmed(const struct planner *w, const struct plan_set *s,
	       const struct redset_header *h, enum plan_agreement how)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct redset_member *l = &h->members[i];
		const struct plan_rank *r = plan_rank_of(&w->p, &s->members[i]);

		if (!l->known || r == NULL || !r->map_known)
			continue;
		count += s->map ? r->map.image_size - r->map.tail == l->bytes
				: plan_map_has_list(w, r, l, how);
	}
	return count;
}

/* Take the facts of the set from the header that more than half of the headers
 * agree with (Boyer-Moore majority vote; without a majority, that which most
 * filemaps confirm); mark members that contradict it as damaged. */
static void
agree(const struct planner *w, struct plan_set *s)
{
	const struct redset_header *right = NULL, *h = NULL;
	size_t votes = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		h = s->members[i].red->read;
		if (h == NULL)
			continue;
		if (votes == 0)
			right = h;
		votes = same_set(h, right) ? votes + 1 : votes - 1;
	}
	for (uint32_t i = 0;
	     votes == 0 && right != NULL && i < s->n && i < CODE_MAX; i++) {
		h = s->members[i].red->read;
		if (h != NULL && !same_set(h, right) &&
		    plan_confirmed(w, s, h, PLAN_BY_SIZE) >
			    plan_confirmed(w, s, right, PLAN_BY_SIZE))
			right = h;
	}
	if (right != NULL) {
		s->failures = right->desc.failures;
		s->chunk = right->chunk;
		if (!chunk_fits(s))
			right = NULL;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];

		if (m->red->read == NULL ||
		    (right != NULL && same_set(m->red->read, right)))
			continue;
		bad_member_text(m, right != NULL
					   ? "contradicts the rest of its set"
					   : "its chunk size fits no file");
		m->red->read = NULL;
		m->list.known = false;
	}
}

/* World ranks by member.  Headers of XOR and RS contain this table; for a set
 * that plan_protect() adds the plan has it.  NULL: unknown. */
static const uint32_t *
rank_table(const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].red->read != NULL &&
		    s->members[i].red->read->ranks != NULL)
			return s->members[i].red->read->ranks;
	return s->ranks;
}

/* The descriptor is in the directory of the redundancy file. */
int
plan_name_member(struct planner *w, struct plan_set *s, uint32_t member,
		 struct arena *arena, struct error *err)
{
	struct plan_member *m = &s->members[member];
	struct redset_name n = {
		.map = s->map,
		.rank = m->rank,
		.type = s->type,
		.set = s->number,
		.sets = s->sets,
		.member = member + 1,
		.members = s->n,
	};
	char text[512];

	if (m->rank == PLAN_NONE)
		return 0;
	if (m->name == NULL) {
		m->place = m->rank < w->p.nranks ? w->p.ranks[m->rank].map.place
						 : 0;
		m->name = arena_strdup(
			arena,
			redset_name_format(text, sizeof(text), &n, w->stem));
		if (m->name == NULL)
			return error_no_memory(err);
	}
	n.descriptor = true;
	redset_name_format(text, sizeof(text), &n, w->stem);
	m->red->descriptor.place = m->place;
	m->red->descriptor.name = arena_printf(
		arena, "%.*s%s", (int)(path_base(m->name) - m->name), m->name,
		text);
	return m->red->descriptor.name == NULL ? error_no_memory(err) : 0;
}

int
plan_keep_image(const struct kvtree *tree, struct arena *arena,
		struct plan_meta *to, struct error *err)
{
	struct buf raw = BUF_INIT;
	int rc = -1;

	if (tree != NULL && kvtree_encode(tree, &raw, err) == 0) {
		to->image = arena_strndup(arena, raw.data, raw.len);
		to->image_size = raw.len;
		rc = to->image != NULL ? 0 : error_no_memory(err);
	}
	buf_free(&raw);
	return rc;
}

/* The facts about a whole set that headers and descriptors are built from. */
struct facts {
	struct redset_member *lists;
	struct redset_desc *descs;
	const uint32_t *ranks;
};

static void
facts_fini(struct facts *f)
{
	mem_free(f->lists);
	mem_free(f->descs);
}

static int
facts_init(struct facts *f, const struct plan_set *s, struct error *err)
{
	f->ranks = rank_table(s);
	f->lists = mem_calloc(s->n, sizeof(*f->lists));
	f->descs = mem_calloc(s->n, sizeof(*f->descs));
	if (f->lists == NULL || f->descs == NULL) {
		facts_fini(f);
		return error_no_memory(err);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		f->lists[i] = s->members[i].list;
		f->descs[i] = s->members[i].list.desc;
	}
	return 0;
}

/* Encode header and descriptor of a member whose file will be rewritten. */
static int
make_images(const struct planner *w, struct plan_set *s, uint32_t member,
	    const struct facts *f, struct arena *arena, struct error *err)
{
	struct plan_member *m = &s->members[member];
	struct plan_meta *d = &m->red->descriptor, header = { .image = NULL };
	struct kvtree *tree = NULL;
	struct error local = ERROR_INIT;
	struct stat st;
	int rc = 0;

	if (redset_body_size(f->lists, s->chunk, member, &m->red->body_size,
			     &local) == 0)
		tree = redset_header_build(f->lists, f->ranks, s->chunk, member,
					   &local);
	rc = plan_keep_image(tree, arena, &header, &local);
	kvtree_free(tree);
	if (rc < 0) {
		if (local.kind == ERROR_LOST || local.kind == ERROR_CORRUPT)
			return 0; /* the set cannot be solved */
		return error_pass(err, &local);
	}
	m->red->header = header.image;
	m->red->header_size = m->red->body_start = header.image_size;
	if (d->name != NULL &&
	    (w->reported || (plan_hidden_find(&w->p, d->name) == NULL &&
			     path_stat_beneath(w->p.places[d->place].meta_fd,
					       d->name, &st, NULL) < 0)))
		d->fate = FATE_REBUILD;
	tree = redset_descriptor_build(f->descs, member, err);
	rc = plan_keep_image(tree, arena, d, err);
	kvtree_free(tree);
	return rc;
}

int
plan_make_header(const struct planner *w, struct plan_set *s, uint32_t member,
		 struct arena *arena, struct error *err)
{
	struct facts f;
	int rc = -1;

	if (s->members[member].red->header != NULL)
		return 0;
	if (facts_init(&f, s, err) < 0)
		return -1;
	rc = make_images(w, s, member, &f, arena, err);
	facts_fini(&f);
	return rc;
}

/* Can the beginning and the end of the body be read? */
static bool
body_answers(const struct planner *w, const struct plan_member *m)
{
	const size_t len =
		m->red->body_size < PROBE ? (size_t)m->red->body_size : PROBE;
	const uint64_t end = m->red->body_start + m->red->body_size;
	unsigned char block[PROBE];
	int fd = path_open_beneath(w->p.places[m->place].meta_fd, m->name,
				   O_RDONLY | O_NONBLOCK, 0, NULL);
	bool good = fd >= 0 &&
		    io_pread(fd, m->name, block, len, m->red->body_start,
			     NULL) == 0 &&
		    io_pread(fd, m->name, block, len, end - len, NULL) == 0;

	io_close(fd);
	return good;
}

static int
finish_member(const struct planner *w, struct plan_set *s, uint32_t member,
	      const struct facts *f, struct arena *arena, struct error *err)
{
	struct plan_member *m = &s->members[member];
	const bool packed = m->red->nsegs > 0;
	struct error why = ERROR_INIT;

	if (m->state == RED_PRESENT) {
		/* Is the file as long as header and lists require?  A lost list
		 * (ERROR_LOST) is not a fault of this file. */
		if (redset_body_size(f->lists, s->chunk, member,
				     &m->red->body_size, &why) == 0) {
			if (m->file_size <
			    m->red->body_start + m->red->body_size)
				bad_member_text(m, "truncated");
		} else if (why.kind == ERROR_CORRUPT) {
			bad_member_text(m, "impossible sizes in its header");
		}
	}
	if (m->state == RED_PRESENT)
		return 0;
	if (make_images(w, s, member, f, arena, err) < 0)
		return -1;
	/* If a packed file changes, write it as a file of its own: a new file
	 * takes precedence over a packed one.  The header of a set over files
	 * gets its old bytes, because filemaps have the same attributes; that
	 * of a set over filemaps does not. */
	if (packed && m->red->header != NULL &&
	    ((s->map && m->red->renewed) ||
	     plan_segs_size(m->red->segs, m->red->nsegs) !=
		     m->red->header_size + m->red->body_size))
		m->red->nsegs = 0;
	/* May the body behind a damaged header be used?  Only if the file has
	 * the expected size, because then the body is at the expected offset.
	 * A packed file must also stay packed.  If the header was unreadable,
	 * the body itself must be readable. */
	if (m->state == RED_HEADER_DAMAGED &&
	    (m->red->header == NULL ||
	     m->file_size != m->red->body_start + m->red->body_size ||
	     (packed && m->red->nsegs == 0) ||
	     (m->unread && !body_answers(w, m))))
		m->state = RED_DAMAGED;
	return 0;
}

int
plan_open_set(struct planner *w, struct plan_set *s, struct arena *arena,
	      struct error *err)
{
	struct redset_table table = { .arena = arena };
	const uint32_t *ranks = NULL;
	struct facts f;
	int rc = -1;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].state == RED_UNCHECKED &&
		    plan_read_header(w, s, i, &table, err) < 0)
			return -1;
	plan_owner_set(w, s);
	s->opened = true;
	if (s->foreign)
		return 0;
	agree(w, s);
	if (plan_outvote_headers(w, s, err) < 0)
		return -1;
	/* Take the lists of members without a header from their right
	 * neighbours. */
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];

		for (uint32_t d = 1; d < s->n && !m->list.known; d++) {
			const struct redset_header *h =
				s->members[(i + d) % s->n].red->read;

			if (h != NULL && h->members[i].known)
				m->list = h->members[i];
		}
		if (m->rank == PLAN_NONE && m->list.known)
			m->rank = m->list.desc.rank;
	}
	/* Any header has the ranks of all members. */
	ranks = rank_table(s);
	for (uint32_t i = 0; ranks != NULL && i < s->n; i++)
		if (s->members[i].rank == PLAN_NONE)
			s->members[i].rank = ranks[i];
	if (plan_renew_lists(w, s, arena, err) < 0)
		return -1;
	if (facts_init(&f, s, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		if (plan_name_member(w, s, i, arena, err) < 0)
			goto out;
	for (uint32_t i = 0; i < s->n; i++)
		if (finish_member(w, s, i, &f, arena, err) < 0)
			goto out;
	rc = 0;
out:
	facts_fini(&f);
	return rc;
}
