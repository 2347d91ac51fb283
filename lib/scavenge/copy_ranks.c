/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_ranks.c - parse and search sets of ranks such as "0-3,7".
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/value.h"
#include "num.h"
#include "scavenge/copy.h"
#include "str.h"

/* Upper bound for the size of the file that assigns ranks to hosts. */
#define ASSIGN_MAX ((size_t)256 << 20)

static int
bad_ranks(const char *text, size_t len, struct error *err)
{
	return error_set(err, ERROR_USAGE,
			 "\"%.*s\": ranks are written as \"0-3,7\"",
			 len > 200 ? 200 : (int)len, text);
}

/* Sort the ranges and merge those that overlap or touch, so that
 * copy_ranks_has() can use binary search. */
static void
merge_ranges(struct copy_ranks *r)
{
	size_t n = 0;

	if (r->count == 0)
		return;
	qsort(r->list, r->count, sizeof(*r->list), num_by_u32);
	for (size_t i = 1; i < r->count; i++) {
		struct copy_range *last = &r->list[n];

		if (r->list[i].first > last->last + 1)
			r->list[++n] = r->list[i];
		else if (r->list[i].last > last->last)
			last->last = r->list[i].last;
	}
	r->count = n + 1;
}

/* Parse one "7" or "0-3".  Returns the position after it, or NULL if
 * invalid. */
static const char *
scan_range(const char *p, struct copy_range *out)
{
	uint64_t first = 0, last = 0;

	p = value_scan(p, REDSET_MAX_RANKS, &first);
	last = first;
	if (p != NULL && *p == '-')
		p = value_scan(p + 1, REDSET_MAX_RANKS, &last);
	if (p == NULL || last < first || (*p != '\0' && *p != ','))
		return NULL;
	out->first = (uint32_t)first;
	out->last = (uint32_t)last;
	return p;
}

int
copy_ranks_parse(const char *text, struct arena *a, struct copy_ranks *out,
		 struct error *err)
{
	const char *p = text;
	size_t max = 1;

	for (const char *c = text; *c != '\0'; c++)
		max += *c == ',';
	*out = (struct copy_ranks){
		.list = arena_alloc(a, max, sizeof(*out->list)),
	};
	if (out->list == NULL)
		return error_no_memory(err);
	while (*p != '\0') {
		p = scan_range(p, &out->list[out->count]);
		if (p == NULL || (*p == ',' && p[1] == '\0'))
			return bad_ranks(text, strlen(text), err);
		p += *p == ',';
		out->count++;
	}
	merge_ranges(out);
	return 0;
}

/* If the line "HOST RANKS" is for `host`, append its ranks to `list`. */
static int
take_line(const char *line, size_t len, const char *host, struct buf *list,
	  struct error *err)
{
	const size_t name = strlen(host);
	const char *end = line + len, *p = line + name;

	if (len <= name || memcmp(line, host, name) != 0 ||
	    strchr(" \t", *p) == NULL)
		return 0;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && strchr(" \t\r", end[-1]) != NULL)
		end--;
	if (p == end)
		return 0;
	if ((list->len > 0 && buf_add_char(list, ',') < 0) ||
	    buf_add(list, p, (size_t)(end - p)) < 0)
		return error_no_memory(err);
	return 0;
}

int
copy_ranks_assigned(int dirfd, const char *name, const char *host,
		    struct arena *a, struct copy_ranks *out, struct error *err)
{
	struct buf text = BUF_INIT, list = BUF_INIT;
	const char *line = NULL, *next = NULL;
	size_t len = 0;
	int rc = io_read_file(dirfd, name, ASSIGN_MAX, &text, err);

	next = text.data;
	while (rc == 0 && (line = str_line(&next, &len)) != NULL)
		rc = take_line(line, len, host, &list, err);
	if (rc == 0) {
		rc = copy_ranks_parse(list.len > 0 ? list.data : "", a, out,
				      err);
		if (rc < 0)
			error_wrap(err, "%s: %s", name, host);
	}
	buf_free(&list);
	buf_free(&text);
	return rc;
}

/* Order of a rank and a range that may hold it. */
static int
compare_rank(const void *x, const void *y)
{
	const int64_t rank = *(const int64_t *)x;
	const struct copy_range *r = y;

	return rank < r->first ? -1 : rank > r->last;
}

bool
copy_ranks_has(const struct copy_ranks *r, int64_t rank)
{
	return bsearch(&rank, r->list, r->count, sizeof(*r->list),
		       compare_rank) != NULL;
}
