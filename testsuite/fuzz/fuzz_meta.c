/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <sys/mman.h>

#include "archive/manifest.h"
#include "fuzz_tree.h"
#include "map.h"
#include "meta/cindex.h"
#include "meta/copied.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "meta/haltfile.h"
#include "meta/index.h"
#include "meta/log.h"
#include "meta/redset.h"
#include "scavenge/nodecache.h"
#include "site/interval.h"
#include "site/joblog.h"

/* Records of copied files: a record that was read, written and read again is
 * the same; no path leaves the prefix. */

FUZZ(copied)
{
	auto_kvtree *t = fuzz_tree(data, size);
	auto_arena *arena = arena_new();
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct copied c;

	if (t != NULL && copied_read(t, arena, &c, NULL) == 0) {
		for (size_t i = 0; i < c.nfiles; i++)
			fuzz_require(path_is_clean(c.files[i].path));
		fuzz_require(copied_encode(&c, NULL, &a, NULL) == 0);
		kvtree_free(t);
		t = kvtree_decode(a.data, a.len, NULL, NULL);
		fuzz_require(t != NULL && copied_read(t, arena, &c, NULL) == 0);
		fuzz_require(copied_encode(&c, NULL, &b, NULL) == 0);
		fuzz_same(&a, &b);
	}
}

/* Filemaps: one that was read, written and read again is the same. */

static struct kvtree *
write_map(const struct filemap *map)
{
	struct kvtree *t = kvtree_new(NULL);

	fuzz_require(t != NULL);
	for (size_t i = 0; i < map->nfiles; i++)
		fuzz_require(filemap_add(t, &map->files[i], NULL) == 0);
	return t;
}

FUZZ(filemap)
{
	auto_kvtree *t = fuzz_tree(data, size), *one = NULL, *two = NULL;
	auto_arena *arena = arena_new();
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct filemap map;

	if (t != NULL && filemap_read(t, arena, &map, NULL) == 0) {
		one = write_map(&map);
		fuzz_require(filemap_read(one, arena, &map, NULL) == 0);
		two = write_map(&map);
		fuzz_require(kvtree_encode(one, &a, NULL) == 0 &&
			     kvtree_encode(two, &b, NULL) == 0);
		fuzz_same(&a, &b);
	}
}

/* The tables of datasets: index.scr, flush.scr, cindex.scrinfo, halt.scr and
 * nodes.scr.  Each reader gets the same tree. */

static void
check_flush(const struct kvtree *t)
{
	struct flush_entry one, *all = NULL;
	size_t count = 0;

	all = flush_entries(t, &count, NULL);
	for (size_t i = 0; all != NULL && i < count; i++) {
		fuzz_require(i == 0 || all[i].id > all[i - 1].id);
		fuzz_require(flush_find(t, all[i].id, &one, NULL) == 0 &&
			     one.id == all[i].id);
	}
	mem_free(all);
}

static void
check_cindex(const struct kvtree *t)
{
	size_t count = 0;
	struct cindex_entry *all = cindex_entries(t, &count, NULL);

	for (size_t i = 0; all != NULL && i < count; i++)
		fuzz_require(all[i].id > 0 &&
			     (i == 0 || all[i].id > all[i - 1].id));
	mem_free(all);
}

static void
check_halt(const struct kvtree *t)
{
	int64_t number = 0;
	struct halt h;

	if (halt_read(t, &h, NULL) == 0)
		fuzz_require(h.checkpoints_left >= -1 && h.exit_before >= -1 &&
			     h.exit_after >= -1 && h.halt_seconds >= -1);
	(void)halt_read_checkpoints(t, &number, NULL);
	if (nodes_read(t, &number, NULL) == 0)
		fuzz_require(number >= 0);
}

/* Find its entries by id and by name; remove the last one. */
static void
check_entries(struct index *ix)
{
	size_t count = 0;
	struct index_entry *all = index_entries(ix, &count, NULL), one;
	char text[64];

	fuzz_require(count == index_count(ix) || all == NULL);
	for (size_t i = 0; all != NULL && i < count; i++) {
		fuzz_require(i == 0 || all[i].id < all[i - 1].id);
		fuzz_require(index_find_id(ix, all[i].id, &one, NULL) == 0);
		fuzz_require(index_entry_valid(&one) ==
			     (*index_entry_reason(&one, text, sizeof(text)) ==
			      '\0'));
		/* The name may be missing in the other table. */
		if (all[i].name != NULL &&
		    index_find_name(ix, all[i].name, &one, NULL) == 0)
			fuzz_require(one.id == all[i].id);
	}
	if (all != NULL && count > 0 && all[0].name != NULL &&
	    index_find_name(ix, all[0].name, &one, NULL) == 0) {
		fuzz_require(index_remove(ix, all[0].name, NULL) == 0);
		fuzz_require(index_count(ix) == count - 1);
	}
	mem_free(all);
}

static void
check_index(struct kvtree *t)
{
	struct index *ix = index_from_tree(t, NULL);
	struct buf a = BUF_INIT;

	if (ix == NULL)
		return;
	t = index_tree(ix);
	if (t != NULL) {
		fuzz_require(kvtree_encode(t, &a, NULL) == 0);
		index_free(ix);
		t = kvtree_decode(a.data, a.len, NULL, NULL);
		fuzz_require(t != NULL);
		ix = index_from_tree(t, NULL);
		fuzz_require(ix != NULL && !index_is_old(ix));
		check_entries(ix);
	}
	buf_free(&a);
	index_free(ix);
}

FUZZ(index)
{
	struct kvtree *t = fuzz_tree(data, size);

	if (t == NULL)
		return;
	check_flush(t);
	check_cindex(t);
	check_halt(t);
	check_index(t); /* takes ownership of t */
}

/* Lines of the log: a line that can be parsed can be formatted and parsed
 * again, and is then formatted the same. */

static void
check_line(struct buf *line)
{
	auto_buf one = BUF_INIT, two = BUF_INIT;
	struct log_line l;

	if (log_parse(line->data, &l, NULL) == 0) {
		fuzz_require(l.event != NULL || l.xfer != NULL);
		fuzz_require(!isnan(l.secs) && !isnan(l.bytes));
		fuzz_require(log_format(&l, &one) == 0);
		fuzz_require(one.len >= 1 && one.len <= LOG_LINE_MAX + 1 &&
			     one.data[one.len - 1] == '\n');
		one.data[--one.len] = '\0';
		fuzz_require(strchr(one.data, '\n') == NULL);
		/* If the line was cut, its last field is incomplete. */
		if (one.len < LOG_LINE_MAX &&
		    log_parse(one.data, &l, NULL) == 0)
			fuzz_require(log_format(&l, &two) == 0);
	}
}

FUZZ(log)
{
	auto_buf line = BUF_INIT;

	fuzz_require(buf_add(&line, data, size) == 0);
	check_line(&line);
	/* Random input hardly ever has a valid time stamp. */
	buf_clear(&line);
	fuzz_require(buf_add_str(&line, "2026-11-20T22:53:22: ") == 0 &&
		     buf_add(&line, data, size) == 0);
	check_line(&line);
}

/* Logs: whatever they say, the figures hold together. */
FUZZ(joblog)
{
	const int fd = memfd_create("log", MFD_CLOEXEC);
	struct interval best;
	struct joblog g;

	fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	fuzz_require(joblog_read(AT_FDCWD, fmt("/proc/self/fd/%d", fd), &g,
				 NULL) == 0);
	fuzz_require(g.unreadable + g.jobless <= g.lines && g.lines <= size);
	for (uint64_t n = joblog_first(g.jobs_seen, JOBLOG_JOBS);
	     n < g.jobs_seen; n++) {
		const struct joblog_job *j = joblog_job(&g, n);

		fuzz_require(j->number == n && j->failures <= j->runs);
		fuzz_require(j->lost <= j->lost_max && isfinite(j->work));
		fuzz_require(joblog_efficiency(j) <= 1);
		if (joblog_best(j, &best) == 0)
			fuzz_require(isfinite(best.seconds));
	}
	for (size_t i = 0; i < JOBLOG_FAILURES && i < g.failures_seen; i++)
		fuzz_require(g.failures[i].lost <= g.failures[i].lost_max);
	joblog_free(&g);
	close(fd);
}

/* Manifests: one that was read has clean paths and finds them, and is the same
 * after it was written and read again. */

static void
write_again(const struct manifest *m, struct buf *to)
{
	const struct manifest_entry *e = NULL;

	for (size_t i = 0; i < m->count; i++) {
		e = &m->entries[i];
		fuzz_require(path_is_clean(e->path));
		fuzz_require(map_get(m->by_path, e->path) == i);
		fuzz_require(manifest_add(to, e->sum, e->path, NULL) == 0);
	}
}

FUZZ(manifest)
{
	auto_manifest *m = manifest_parse(data, size, NULL), *n = NULL;
	struct buf a = BUF_INIT, b = BUF_INIT;

	if (m != NULL) {
		write_again(m, &a);
		n = manifest_parse(a.data, a.len, NULL);
		fuzz_require(n != NULL && n->count == m->count);
		write_again(n, &b);
		fuzz_same(&a, &b);
	}
}

/*
 * A node's answer about its caches: for any input the numbers are in their
 * bounds, and an answer that was parsed, formatted and parsed again is the
 * same.
 */

static void
check_red(const struct nodecache_red *r)
{
	if (!r->there)
		return;
	fuzz_require(r->type < REDSET_TYPES);
	fuzz_require(r->set >= 1 && r->set <= r->sets);
	fuzz_require(r->member >= 1 && r->member <= r->members);
	fuzz_require(r->sets <= REDSET_MAX_RANKS &&
		     r->members <= REDSET_MAX_RANKS);
}

static void
check_answer(const struct nodecache *n)
{
	fuzz_require(n->host != NULL);
	for (size_t i = 0; i < n->ndatasets; i++) {
		const struct nodecache_dataset *d = &n->datasets[i];

		fuzz_require(d->id >= 1 && d->world >= -1);
		for (size_t r = 0; r < d->nranks; r++) {
			fuzz_require(d->ranks[r].rank >= 0);
			fuzz_require(r == 0 ||
				     d->ranks[r].rank > d->ranks[r - 1].rank);
			check_red(&d->ranks[r].red);
			check_red(&d->ranks[r].mapred);
		}
	}
}

FUZZ(nodecache)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct error err = ERROR_INIT;
	auto_nodecache n;

	if (nodecache_parse(&n, (const char *)data, size, &err) == 0) {
		check_answer(&n);
		nodecache_json(&n, &a);
		nodecache_free(&n);
		fuzz_require(nodecache_parse(&n, a.data, a.len, NULL) == 0);
		nodecache_json(&n, &b);
		fuzz_same(&a, &b);
	} else {
		fuzz_require(err.kind == ERROR_CORRUPT);
	}
}

/*
 * Redundancy headers, and names of redundancy files.  The first byte is the
 * owner for a name (255: none).  A header with all its lists that was read,
 * built and read again is the same.
 */

/* The input as a name: one that can be parsed is formatted the same. */
static void
try_name(const uint8_t *data, size_t size)
{
	char name[256], again[256];
	struct redset_name n;
	size_t stem = 0;

	if (size >= sizeof(name))
		return;
	memcpy(name, data, size);
	name[size] = '\0';
	if (redset_name_parse(name, &n, NULL)) {
		redset_name_format(again, sizeof(again), &n, NULL);
		fuzz_require(strcmp(name, again) == 0);
		fuzz_require(redset_name_parse(name, &n, &stem));
	}
	if (redset_name_parse(name, &n, &stem)) {
		char text[256];

		memcpy(text, name, stem);
		text[stem] = '\0';
		redset_name_format(again, sizeof(again), &n, text);
		fuzz_require(strcmp(name, again) == 0);
	}
}

/* Does the header of `h` have all its lists? */
static bool
is_whole(const struct redset_header *h)
{
	uint32_t d = 0, j = h->desc.member;

	for (d = 0; d <= redset_neighbours(&h->desc); d++) {
		if (!h->members[j].known)
			return false;
		j = j > 0 ? j - 1 : h->desc.members - 1;
	}
	return true;
}

static void
try_build(const struct redset_header *h, struct arena *arena)
{
	const uint32_t owner = h->desc.member;
	struct redset_header again;
	uint64_t body = 0, other = 0;
	auto_kvtree *t = redset_header_build(h->members, h->ranks, h->chunk,
					     owner, NULL);

	fuzz_require(t != NULL);
	fuzz_require(
		redset_header_read(t, 1, UINT32_MAX, arena, &again, NULL) == 0);
	fuzz_require(again.desc.member == owner && again.chunk == h->chunk);
	if (redset_body_size(h->members, h->chunk, owner, &body, NULL) == 0)
		fuzz_require(redset_body_size(again.members, again.chunk, owner,
					      &other, NULL) == 0 &&
			     body == other);
}

FUZZ(redset)
{
	auto_arena *arena = arena_new();
	struct redset_header h;
	struct error err = ERROR_INIT;
	auto_kvtree *t = NULL;

	try_name(data, size);
	if (size > 0) {
		uint32_t owner = data[0] == 255 ? UINT32_MAX : data[0];

		t = fuzz_tree(data + 1, size - 1);
		if (t != NULL &&
		    redset_header_read(t, size, owner, arena, &h, &err) == 0) {
			fuzz_require(h.members[h.desc.member].known);
			for (uint32_t j = 0; j < h.desc.members; j++)
				fuzz_require(!h.members[j].known ||
					     h.members[j].desc.member == j);
			if (is_whole(&h))
				try_build(&h, arena);
		} else {
			fuzz_require(t == NULL || err.kind == ERROR_CORRUPT);
		}
	}
}
