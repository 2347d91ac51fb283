/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostlist.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "num.h"
#include "str.h"

/* Numbers lo..hi, each with at least `width` digits. */
struct range {
	uint64_t lo, hi;
	size_t width;
};

void
hostlist_free(struct hostlist *h)
{
	arena_free(h->arena);
	mem_free(h->names);
	*h = (struct hostlist)HOSTLIST_INIT;
}

static bool
is_name_char(char c)
{
	return str_is_digit(c) || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr(".-_:%+", c) != NULL);
}

static bool
is_separator(char c)
{
	return c != '\0' && strchr(", \t\r\n\v\f", c) != NULL;
}

/* --- Adding --- */

static int
too_many(struct error *err)
{
	return error_set(err, ERROR_USAGE,
			 "node list: more than %zu names, or %zu MiB of them",
			 HOSTLIST_MAX, HOSTLIST_BYTES_MAX >> 20);
}

/* May the list grow by `more` names? */
static int
check_room(struct hostlist *h, uint64_t more, struct error *err)
{
	if (more > HOSTLIST_MAX - h->count)
		return too_many(err);
	if (h->arena == NULL)
		h->arena = arena_new();
	return h->arena == NULL ? error_no_memory(err) : 0;
}

/* Add a name. */
static int
push(struct hostlist *h, const char *name, size_t len, struct error *err)
{
	const char *copy = NULL;

	if (arena_bytes(h->arena) > HOSTLIST_BYTES_MAX)
		return too_many(err);
	copy = arena_strndup(h->arena, name, len);
	if (copy == NULL || !MEM_ROOM(h->names, h->count, h->cap))
		return error_no_memory(err);
	h->names[h->count++] = copy;
	return 0;
}

int
hostlist_add_name(struct hostlist *h, const char *name, struct error *err)
{
	const char *why = NULL;
	size_t len = 0;

	while (is_name_char(name[len]))
		len++;
	if (name[len] != '\0')
		why = "holds a character that no node name has";
	else if (len == 0 || name[0] == '-' || name[0] == '.')
		why = "a node name must start with a letter or a digit";
	else if (len > HOSTLIST_NAME_MAX)
		why = "is longer than a node name may be";
	if (why != NULL)
		return error_set(err, ERROR_USAGE, "node name: \"%s\": %s",
				 str_quoted(name), why);
	if (check_room(h, 1, err) < 0)
		return -1;
	return push(h, name, len, err);
}

int
hostlist_add_list(struct hostlist *h, const struct hostlist *other,
		  struct error *err)
{
	const size_t before = h->count, n = other->count;

	if (check_room(h, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *name = other->names[i];

		if (push(h, name, strlen(name), err) < 0) {
			h->count = before;
			return -1;
		}
	}
	return 0;
}

/* --- Parsing --- */

/* Report what is wrong with `text` at `at`.  Returns -1. */
static int
refuse(struct error *err, const char *text, const char *at, const char *why)
{
	return error_set(err, ERROR_USAGE,
			 "node list: character %zu: \"%s\": %s",
			 (size_t)(at - text) + 1, str_quoted(at), why);
}

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

/* Parse the number at *s and move *s behind it.  Returns NULL, or what is
 * wrong. */
static const char *
take_number(const char **s, uint64_t *value, size_t *digits)
{
	struct number n;

	if (!read_number(*s, &n))
		return n.len > 0 ? "a number has at most 18 digits"
				 : "expected a number, as in [1-3,7], in "
				   "brackets";
	*value = n.value;
	*digits = n.len;
	*s += n.len;
	return NULL;
}

/* Parse one number, or two joined by '-', at *s.  Returns NULL, or what is
 * wrong. */
static const char *
read_range(const char **s, struct range *r, size_t *longest)
{
	const char *why = take_number(s, &r->lo, &r->width), *last = NULL;

	if (why != NULL)
		return why;
	r->hi = r->lo;
	*longest = r->width;
	if (**s != '-')
		return NULL;
	last = ++*s;
	why = take_number(s, &r->hi, longest);
	if (why != NULL)
		return why;
	if (r->hi < r->lo)
		return "a range goes from the smaller number to the larger";
	/* [008-10] and [1-010]: the intended number of digits is ambiguous. */
	if (*longest < r->width || (*longest > r->width && *last == '0'))
		return "both ends of a range need the same number of digits";
	return NULL;
}

/* Check the brackets at *s, and move *s behind them.  *names is multiplied by
 * the count of their numbers, *longest grows by the digits of the longest. */
static int
check_group(const char *text, const char **s, uint64_t *names, size_t *longest,
	    struct error *err)
{
	size_t most = 0, digits = 0;
	uint64_t count = 0;
	struct range r;

	do {
		const char *at = ++*s, *why = read_range(s, &r, &digits);

		if (why == NULL && **s != ',' && **s != ']')
			why = "expected ',' or ']' behind the number";
		else if (why == NULL)
			count += r.hi - r.lo + 1;
		if (count > HOSTLIST_MAX)
			why = "too many names";
		if (why != NULL)
			return refuse(err, text, at, why);
		most = digits > most ? digits : most;
	} while (**s == ',');
	++*s;
	*names *= count; /* below HOSTLIST_MAX squared */
	*longest += most;
	return 0;
}

/* Check the name at *s with its brackets, and move *s behind it.  *names: the
 * number of names it expands to. */
static int
check_item(const char *text, const char **s, uint64_t *names, struct error *err)
{
	const char *start = *s;
	size_t longest = 0; /* length of the longest of these names */

	*names = 1;
	for (size_t groups = 0;; groups++) {
		for (; is_name_char(**s); ++*s)
			longest++;
		if (longest > HOSTLIST_NAME_MAX)
			return refuse(err, text, start, "a name is too long");
		if (**s != '[')
			break;
		if (groups == HOSTLIST_GROUPS)
			return refuse(err, text, *s,
				      "too many brackets in one name");
		if (check_group(text, s, names, &longest, err) < 0)
			return -1;
		if (*names > HOSTLIST_MAX)
			return refuse(err, text, start, "too many names");
	}
	if (**s == ']')
		return refuse(err, text, *s, "this ']' has no matching '['");
	if (**s != '\0' && !is_separator(**s))
		return refuse(err, text, *s,
			      "a node name cannot have this "
			      "character");
	if (*start == '-' || *start == '.')
		return refuse(
			err, text, start,
			"a node name must start with a letter or a digit");
	return 0;
}

/* Add all names that begin with name..end and continue with the item at `s`,
 * which was checked. */
static int
expand(struct hostlist *h, const char *s, char *name, char *end,
       struct error *err)
{
	char digits[NUM_TEXT];
	const char *rest = NULL;
	size_t longest = 0;
	struct range r;

	while (is_name_char(*s))
		*end++ = *s++;
	if (*s != '[')
		return push(h, name, (size_t)(end - name), err);
	rest = strchr(s, ']') + 1;
	do {
		s++;
		(void)read_range(&s, &r, &longest);
		for (uint64_t v = r.lo; v <= r.hi; v++) {
			const size_t len = strlen(num_text(digits, v));
			const size_t zeros = r.width > len ? r.width - len : 0;

			memset(end, '0', zeros);
			memcpy(end + zeros, digits, len);
			if (expand(h, rest, name, end + zeros + len, err) < 0)
				return -1;
		}
	} while (*s == ',');
	return 0;
}

int
hostlist_add(struct hostlist *h, const char *text, struct error *err)
{
	char name[HOSTLIST_NAME_MAX];
	const size_t before = h->count;
	const char *s = text, *item = NULL;
	uint64_t names = 0;
	int rc = 0;

	while (rc == 0) {
		while (is_separator(*s))
			s++;
		if (*s == '\0')
			break;
		item = s;
		rc = check_item(text, &s, &names, err);
		if (rc == 0)
			rc = check_room(h, names, err);
		if (rc == 0)
			rc = expand(h, item, name, name, err);
	}
	if (rc < 0)
		h->count = before;
	return rc;
}

/* --- Sets --- */

struct map *
hostlist_map(const struct hostlist *h, struct error *err)
{
	struct map *first = map_new();
	int rc = 0;

	for (size_t i = 0; i < h->count && rc == 0; i++)
		if (map_get(first, h->names[i]) == MAP_NONE)
			rc = map_put(first, h->names[i], i);
	if (rc == 0)
		return first;
	map_free(first);
	return error_no_memory_null(err);
}

int
hostlist_uniq(struct hostlist *h, struct error *err)
{
	struct map *first = hostlist_map(h, err);
	size_t kept = 0;

	if (first == NULL)
		return -1;
	for (size_t i = 0; i < h->count; i++)
		if (map_get(first, h->names[i]) == i)
			h->names[kept++] = h->names[i];
	h->count = kept;
	map_free(first);
	return 0;
}

/* Keep the names that are in `other` if `in`, else those that are not. */
static int
filter(struct hostlist *h, const struct hostlist *other, bool in,
       struct error *err)
{
	struct map *names = hostlist_map(other, err);
	size_t kept = 0;

	if (names == NULL)
		return -1;
	for (size_t i = 0; i < h->count; i++)
		if ((map_get(names, h->names[i]) != MAP_NONE) == in)
			h->names[kept++] = h->names[i];
	h->count = kept;
	map_free(names);
	return 0;
}

int
hostlist_minus(struct hostlist *h, const struct hostlist *other,
	       struct error *err)
{
	return filter(h, other, false, err);
}

int
hostlist_both(struct hostlist *h, const struct hostlist *other,
	      struct error *err)
{
	return filter(h, other, true, err);
}

const char *
hostlist_nth(const struct hostlist *h, int64_t n)
{
	const uint64_t i = n < 0 ? -(uint64_t)n : (uint64_t)n;

	if (i == 0 || i > h->count)
		return NULL;
	return h->names[n > 0 ? i - 1 : h->count - i];
}

void
hostlist_keep(struct hostlist *h, int64_t n)
{
	const uint64_t keep = n < 0 ? -(uint64_t)n : (uint64_t)n;

	if (keep >= h->count)
		return;
	if (n < 0)
		memmove(h->names, h->names + (h->count - keep),
			keep * sizeof(*h->names));
	h->count = keep;
}

/* --- As text --- */

/*
 * Neighbours that differ in one number are folded into one text with brackets
 * there: r1n0 r1n1 r2n0 r2n1 first becomes r1n[0-1] r2n[0-1].  This is repeated
 * until no neighbours can be folded: r[1-2]n[0-1].  A new group is always to
 * the left of the existing ones.  As the last group varies fastest, the text
 * expands to the same names in the same order.
 *
 * Each pass visits each name once, and the passes are limited by the number of
 * brackets that a name may have.
 */

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
		/* Does it not continue the range from `first` to `last`? */
		if (next.value != last.value + 1 ||
		    (next.len != first.len &&
		     (next.len < first.len || next.text[0] == '0'))) {
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
	size_t count = h->count, kept = 0, n = 0, at = 0;
	int rc = -1;

	if (items == NULL || arena == NULL)
		goto out;
	if (count > 0)
		memcpy(items, h->names, count * sizeof(*items));
	/* Each pass folds the items as far as possible. */
	for (size_t pass = 0; pass < HOSTLIST_GROUPS && kept < count; pass++) {
		if (pass > 0)
			count = kept;
		kept = 0;
		for (size_t i = 0; i < count; i += n) {
			const char *item = items[i];

			n = 1;
			if (i + 1 < count &&
			    differ_in_number(item, items[i + 1], &at)) {
				n = fold(items + i, count - i, at, &work);
				item = n > 0 ? arena_strndup(arena, work.data,
							     work.len)
					     : NULL;
				if (item == NULL)
					goto out;
			}
			items[kept++] = item;
		}
	}
	count = kept;
	rc = join(items, count, ",", out);
out:
	buf_free(&work);
	arena_free(arena);
	mem_free(items);
	return rc < 0 ? error_no_memory(err) : 0;
}
