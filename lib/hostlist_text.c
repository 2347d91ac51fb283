/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlist_text.c - a list as text.
 *
 * Neighbours that differ in one number are folded into one text with brackets
 * there: r1n0 r1n1 r2n0 r2n1 first becomes r1n[0-1] r2n[0-1].  This is repeated
 * until no neighbours can be folded: r[1-2]n[0-1].  A new group is always to
 * the left of the existing ones.  As the last group varies fastest, the text
 * expands to the same names in the same order.
 *
 * Each pass visits each name once, and the passes are limited by the number of
 * brackets that a name may have.
 */
#include "hostlist.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "str.h"

/* A number in a name. */
struct number {
	const char *text;
	size_t len;
	uint64_t value;
};

/* Parse the number at `text`.  False: no number, or too long for brackets. */
static bool
read_number(const char *text, struct number *n)
{
	*n = (struct number){ .text = text };
	for (; str_is_digit(text[n->len]); n->len++) {
		if (n->len == HOSTLIST_DIGITS)
			return false;
		n->value = 10 * n->value + (uint64_t)(text[n->len] - '0');
	}
	return n->len > 0;
}

/* Do `a` and `b` differ in one number only, left of all brackets?  Then *at is
 * the offset of that number.  For equal names it is the last number. */
static bool
differ_in_number(const char *a, const char *b, size_t *at)
{
	struct number x, y;
	size_t i = 0;

	while (a[i] != '\0' && a[i] != '[' && a[i] == b[i])
		i++;
	if (a[i] == b[i])
		while (i > 0 && !str_is_digit(a[i - 1]))
			i--;
	while (i > 0 && str_is_digit(a[i - 1]))
		i--;
	*at = i;
	return read_number(a + i, &x) && read_number(b + i, &y) &&
	       strcmp(a + i + x.len, b + i + y.len) == 0;
}

/* Does `n` continue the range from `first` to `last`? */
static bool
continues(const struct number *first, const struct number *last,
	  const struct number *n)
{
	if (n->value != last->value + 1)
		return false;
	return n->len == first->len ||
	       (n->len > first->len && n->text[0] != '0');
}

static void
put_range(struct buf *out, const struct number *first,
	  const struct number *last)
{
	buf_add(out, first->text, first->len);
	if (first->text == last->text)
		return;
	buf_add_char(out, '-');
	buf_add(out, last->text, last->len);
}

/*
 * Fold neighbours at `items` (`n` of them) that differ from the first only in
 * the number at `at`, and write the text to `out`.  Returns how many were
 * folded; 0: ENOMEM.
 */
static size_t
fold(const char *const *items, size_t n, size_t at, struct buf *out)
{
	struct number first, last, next;
	const char *rest = NULL;
	size_t i = 0;

	read_number(items[0] + at, &first);
	rest = first.text + first.len;
	last = first;
	buf_clear(out);
	buf_add(out, items[0], at);
	buf_add_char(out, '[');
	for (i = 1; i < n; i++) {
		if (strncmp(items[i], items[0], at) != 0 ||
		    !read_number(items[i] + at, &next) ||
		    strcmp(next.text + next.len, rest) != 0)
			break;
		if (!continues(&first, &last, &next)) {
			put_range(out, &first, &last);
			buf_add_char(out, ',');
			first = next;
		}
		last = next;
	}
	put_range(out, &first, &last);
	buf_add_char(out, ']');
	buf_add_str(out, rest);
	return out->failed ? 0 : i;
}

/* One pass: fold the *count items as far as possible.  The new texts are
 * allocated in `arena`. */
static int
fold_all(const char **items, size_t *count, struct arena *arena,
	 struct buf *work)
{
	size_t kept = 0, n = 0, at = 0;

	for (size_t i = 0; i < *count; i += n) {
		const char *item = items[i];

		n = 1;
		if (i + 1 < *count &&
		    differ_in_number(item, items[i + 1], &at)) {
			n = fold(items + i, *count - i, at, work);
			item = n > 0 ? arena_strndup(arena, work->data,
						     work->len)
				     : NULL;
			if (item == NULL)
				return -1;
		}
		items[kept++] = item;
	}
	*count = kept;
	return 0;
}

/* Append all items to `out`.  On failure `out` is unchanged. */
static int
join(const char *const *items, size_t count, const char *sep, struct buf *out)
{
	const size_t seplen = strlen(sep);
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += strlen(items[i]) + seplen;
	if (buf_reserve(out, len) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buf_add(out, sep, seplen);
		buf_add_str(out, items[i]);
	}
	return 0;
}

int
hostlist_plain(const struct hostlist *h, const char *sep, struct buf *out,
	       struct error *err)
{
	if (join(h->names, h->count, sep, out) < 0)
		return error_no_memory(err);
	return 0;
}

int
hostlist_text(const struct hostlist *h, struct buf *out, struct error *err)
{
	const char **items = mem_alloc(h->count + 1, sizeof(*items));
	struct arena *arena = arena_new();
	struct buf work = BUF_INIT;
	size_t count = h->count, before = 0;
	int rc = -1;

	if (items == NULL || arena == NULL)
		goto out;
	if (count > 0)
		memcpy(items, h->names, count * sizeof(*items));
	for (size_t pass = 0; pass < HOSTLIST_GROUPS; pass++) {
		before = count;
		if (fold_all(items, &count, arena, &work) < 0)
			goto out;
		if (count == before)
			break;
	}
	rc = join(items, count, ",", out);
out:
	buf_free(&work);
	arena_free(arena);
	mem_free(items);
	return rc < 0 ? error_no_memory(err) : 0;
}
