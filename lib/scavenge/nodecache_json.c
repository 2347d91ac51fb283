/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache_json.c - encode the survey of a node as JSON, and parse it.
 */
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "json.h"
#include "meta/dataset.h"
#include "scavenge/nodecache.h"

/* Version of the format; the reader accepts no other. */
#define FORMAT 1

/* Upper bound only: a Reed-Solomon set has at most 256 members and check
 * chunks. */
#define FAILURES_MAX 65536

/* No member of a set has more bytes; sums of 65536 of them do not overflow. */
#define SIZES_MAX (UINT64_MAX >> 16)

/* --- Writing --- */

static void
set_red(struct json *rank, const char *key, const struct nodecache_red *r)
{
	struct json *j = NULL, *lost = NULL;

	if (!r->there) {
		json_set_null(rank, key);
		return;
	}
	j = json_new_object();
	json_set_str(j, "type", redset_type_name(r->type));
	json_set_u64(j, "set", r->set);
	json_set_u64(j, "sets", r->sets);
	json_set_u64(j, "member", r->member);
	json_set_u64(j, "members", r->members);
	json_set_u64(j, "failures", r->failures);
	json_set_u64(j, "chunk", r->chunk);
	json_set_u64(j, "bytes", r->bytes);
	if (r->left_rank >= 0) {
		json_set_u64(j, "left", r->left);
		json_set_i64(j, "left_rank", r->left_rank);
	}
	for (size_t i = 0; i < r->nlost; i++) {
		struct json *one = json_new_object();

		lost = lost == NULL ? json_new_array() : lost;
		json_set_u64(one, "from", r->lost[i].from);
		json_set_u64(one, "to", r->lost[i].to);
		json_push(lost, one);
	}
	if (lost != NULL)
		json_set(j, "lost", lost);
	json_set(rank, key, j);
}

static struct json *
dataset_object(const struct nodecache_dataset *d)
{
	struct json *j = json_new_object(), *ranks = json_new_array();

	json_set_i64(j, "id", d->id);
	json_set_str(j, "name", d->name);
	json_set_str(j, "dir", d->dir);
	json_set_bool(j, "bypass", d->bypass);
	json_set_bool(j, "ckpt", d->ckpt);
	json_set_bool(j, "output", d->output);
	if (d->created > 0)
		json_set_u64(j, "created", d->created);
	json_set_i64(j, "world", d->world);
	json_set_known_str(j, "place", d->place);
	json_set_str(j, "store", d->store);
	if (d->nameless)
		json_set_bool(j, "nameless", true);
	json_set_known_str(j, "unread", d->unread);
	for (size_t i = 0; i < d->nranks; i++) {
		const struct nodecache_rank *r = &d->ranks[i];
		struct json *k = json_new_object();

		json_set_i64(k, "rank", r->rank);
		json_set_bool(k, "map", r->map);
		if (r->listed)
			json_set_bool(k, "listed", true);
		json_set_u64(k, "files", r->files);
		json_set_u64(k, "bytes", r->bytes);
		json_set_u64(k, "bad", r->bad);
		if (r->unfinished > 0)
			json_set_u64(k, "unfinished", r->unfinished);
		set_red(k, "red", &r->red);
		set_red(k, "mapred", &r->mapred);
		json_set_u64(k, "redundancy", r->redundancy);
		/* Left out if NULL: there are many ranks, and few problems. */
		json_set_known_str(k, "problem", r->problem);
		json_push(ranks, k);
	}
	json_set(j, "ranks", ranks);
	json_set_str(j, "problem", d->problem);
	return j;
}

/* pdsh truncates lines at 128 KiB. */
#define LINE_MAX_BYTES ((size_t)64 << 10)

void
nodecache_json(const struct nodecache *n, struct buf *out)
{
	static const char between[] = "},{\"";
	struct json *j = json_new_object(), *list = json_new_array();
	struct buf whole = BUF_INIT;
	const char *line = NULL, *end = NULL;

	json_set_u64(j, "format", FORMAT);
	json_set_str(j, "host", n->host);
	json_set_str(j, "cntl", n->cntl);
	json_set_u64(j, "there", n->there);
	if (n->unread)
		json_set_bool(j, "unread", true);
	for (size_t i = 0; i < n->ndatasets; i++)
		json_push(list, dataset_object(&n->datasets[i]));
	json_set(j, "datasets", list);
	json_set_str(j, "problem", n->problem);
	(void)json_line(j, &whole, NULL);
	/* Break it into several lines if it is long: between objects of an
	 * array.  In a string a quote has a backslash before it. */
	line = whole.data;
	for (const char *p = line;
	     whole.len > LINE_MAX_BYTES && (end = strstr(p, between)) != NULL;
	     p = end) {
		end += strlen("},");
		if (end - line <= (ptrdiff_t)LINE_MAX_BYTES / 2)
			continue;
		buf_add(out, line, (size_t)(end - line));
		buf_add_char(out, '\n');
		line = end;
	}
	buf_add_str(out, line);
	buf_free(&whole);
}

/* --- Reading --- */

static int
bad(struct error *err, const char *key)
{
	return error_set(err, ERROR_CORRUPT,
			 "survey of a node: \"%s\" is missing or out of range",
			 key);
}

static int
get_u32(const struct json_value *v, const char *key, uint32_t min, uint32_t max,
	uint32_t *out, struct error *err)
{
	uint64_t n = 0;

	if (!json_get_u64(v, key, max, &n) || n < min)
		return bad(err, key);
	*out = (uint32_t)n;
	return 0;
}

static int
parse_red(const struct json_value *v, struct arena *a, struct nodecache_red *r,
	  struct error *err)
{
	const uint32_t max = REDSET_MAX_RANKS;
	const struct json_value *ranges = json_get(v, "lost");
	struct solve_range *lost = NULL;
	const char *type = NULL;
	uint64_t at = 0;
	int t = 0;

	if (v == NULL)
		return 0;
	if (json_get_str(v, "type", a, &type, err) < 0)
		return -1;
	while (type != NULL && t < REDSET_TYPES &&
	       strcmp(type, redset_type_name((enum redset_type)t)) != 0)
		t++;
	if (type == NULL || t == REDSET_TYPES)
		return bad(err, "type");
	r->type = (enum redset_type)t;
	if (get_u32(v, "sets", 1, max, &r->sets, err) < 0 ||
	    get_u32(v, "set", 1, r->sets, &r->set, err) < 0 ||
	    get_u32(v, "members", 1, max, &r->members, err) < 0 ||
	    get_u32(v, "member", 1, r->members, &r->member, err) < 0 ||
	    get_u32(v, "failures", 0, FAILURES_MAX, &r->failures, err) < 0)
		return -1;
	r->left_rank = -1; /* not told: unknown */
	(void)json_get_u64(v, "chunk", SIZES_MAX, &r->chunk);
	(void)json_get_u64(v, "bytes", SIZES_MAX, &r->bytes);
	if (json_get_u64(v, "left", SIZES_MAX, &r->left))
		(void)json_get_i64(v, "left_rank", 0, REDSET_MAX_RANKS,
				   &r->left_rank);
	r->there = true;
	r->nlost = json_count(ranges);
	r->lost = lost = arena_alloc(a, r->nlost + 1, sizeof(*lost));
	/* Ranges ascend, and lie in the data of the member. */
	for (size_t i = 0; i < r->nlost; i++) {
		const struct json_value *one = json_at(ranges, i);

		if (!json_get_u64(one, "from", r->bytes, &lost[i].from) ||
		    !json_get_u64(one, "to", r->bytes, &lost[i].to) ||
		    lost[i].from < at || lost[i].to <= lost[i].from)
			return bad(err, "lost");
		at = lost[i].to;
	}
	return 0;
}

static int
parse_rank(const struct json_value *v, struct arena *a,
	   struct nodecache_rank *r, struct error *err)
{
	const uint64_t max = INT64_MAX;
	const char *wrong =
		!json_get_i64(v, "rank", 0, REDSET_MAX_RANKS, &r->rank) ? "rank"
		: !json_get_bool(v, "map", &r->map)			? "map"
		: !json_get_u64(v, "files", max, &r->files) ? "files"
		: !json_get_u64(v, "bytes", max, &r->bytes) ? "bytes"
		: !json_get_u64(v, "bad", max, &r->bad)	    ? "bad"
		: !json_get_u64(v, "redundancy", max, &r->redundancy)
			? "redundancy"
			: NULL;

	if (wrong != NULL)
		return bad(err, wrong);
	(void)json_get_bool(v, "listed", &r->listed);
	(void)json_get_u64(v, "unfinished", max, &r->unfinished);
	if (parse_red(json_get(v, "red"), a, &r->red, err) < 0 ||
	    parse_red(json_get(v, "mapred"), a, &r->mapred, err) < 0)
		return -1;
	return json_get_str(v, "problem", a, &r->problem, err);
}

static int
parse_dataset(const struct json_value *v, struct arena *a,
	      struct nodecache_dataset *d, struct error *err)
{
	const struct json_value *list = json_get(v, "ranks");
	const size_t count = json_count(list);
	const char *wrong =
		!json_get_i64(v, "id", 1, DATASET_ID_MAX, &d->id) ? "id"
		: !json_get_bool(v, "bypass", &d->bypass)	  ? "bypass"
		: !json_get_bool(v, "ckpt", &d->ckpt)		  ? "ckpt"
		: !json_get_bool(v, "output", &d->output)	  ? "output"
		: !json_get_i64(v, "world", -1, REDSET_MAX_RANKS, &d->world)
			? "world"
			: NULL;

	if (wrong != NULL)
		return bad(err, wrong);
	(void)json_get_bool(v, "nameless", &d->nameless);
	(void)json_get_u64(v, "created", INT64_MAX, &d->created);
	if (json_get_str(v, "name", a, &d->name, err) < 0 ||
	    json_get_str(v, "dir", a, &d->dir, err) < 0 ||
	    json_get_str(v, "place", a, &d->place, err) < 0 ||
	    json_get_str(v, "store", a, &d->store, err) < 0 ||
	    json_get_str(v, "unread", a, &d->unread, err) < 0 ||
	    json_get_str(v, "problem", a, &d->problem, err) < 0)
		return -1;
	d->ranks = arena_alloc(a, count + 1, sizeof(*d->ranks));
	for (; d->nranks < count; d->nranks++) {
		struct nodecache_rank *r = &d->ranks[d->nranks];

		if (parse_rank(json_at(list, d->nranks), a, r, err) < 0)
			return -1;
		if (d->nranks > 0 && r->rank <= r[-1].rank)
			return bad(err, "rank");
	}
	return 0;
}

static int
parse_node(const struct json_value *v, struct nodecache *n, struct error *err)
{
	const struct json_value *list = json_get(v, "datasets");
	struct arena *a = n->arena;
	uint64_t format = 0;
	size_t count = json_count(list);

	if (!json_get_u64(v, "format", FORMAT, &format) || format != FORMAT)
		return bad(err, "format");
	if (json_get_str(v, "host", a, &n->host, err) < 0 ||
	    json_get_str(v, "cntl", a, &n->cntl, err) < 0 ||
	    json_get_str(v, "problem", a, &n->problem, err) < 0)
		return -1;
	n->there = UINT64_MAX;
	(void)json_get_u64(v, "there", UINT64_MAX, &n->there);
	(void)json_get_bool(v, "unread", &n->unread);
	if (n->host == NULL)
		return bad(err, "host");
	if (list == NULL)
		return bad(err, "datasets");
	n->datasets = arena_alloc(a, count + 1, sizeof(*n->datasets));
	for (; n->ndatasets < count; n->ndatasets++)
		if (parse_dataset(json_at(list, n->ndatasets), a,
				  &n->datasets[n->ndatasets], err) < 0)
			return -1;
	return 0;
}

int
nodecache_parse(struct nodecache *n, const char *text, size_t len,
		struct error *err)
{
	struct json_value *j = NULL;
	int rc = -1;

	*n = (struct nodecache){ .arena = arena_new() };
	if (len > NODECACHE_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "survey of a node: %zu bytes long", len);
	j = json_parse(text, len, err);
	if (j != NULL)
		rc = parse_node(j, n, err);
	json_release(j);
	return rc;
}
