/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/pattern.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "num.h"
#include "str.h"

/* Find the longest run of ordinary characters that every match of a valid
 * expression has: outside of brackets, and not optional.  With groups,
 * alternatives and classes of characters, none is sought. */
static void
find_literal(const char *re, char to[static PATTERN_LITERAL])
{
	size_t n = 0, longest = 0;

	to[0] = '\0';
	if (strpbrk(re, "(|{") != NULL || strstr(re, "[:") != NULL ||
	    strstr(re, "[=") != NULL || strstr(re, "[.") != NULL)
		return;
	for (const char *c = re;; c++) {
		const bool ends = strchr("[\\.^$*?+", *c) != NULL; /* or NUL */

		n += !ends;
		if (!ends)
			continue;
		n -= n > 0 && (*c == '*' || *c == '?');
		if (n > longest && n < PATTERN_LITERAL) {
			longest = n;
			memcpy(to, c - n - (c[0] == '*' || c[0] == '?'), n);
			to[n] = '\0';
		}
		n = 0;
		if (*c == '[')
			c += strcspn(c + 2 + (c[1] == '^'), "]") + 2 +
			     (c[1] == '^');
		else if (*c == '\\')
			c++;
		if (*c == '\0')
			return;
	}
}

/* --- Lists --- */

int
pattern_compile(struct pattern *p, const char *text, struct error *err)
{
	const int rc = regcomp(&p->re, text, REG_EXTENDED);
	char why[128];

	p->text = text;
	if (rc == 0) {
		find_literal(text, p->literal);
		return 0;
	}
	regerror(rc, &p->re, why, sizeof(why));
	return error_set(err, ERROR_USAGE, "\"%s\": %s", text, why);
}

/* The ranks of "LOW-HIGH:", and what follows; NULL: it does not begin so. */
static const char *
read_ranks(const char *text, int ranks, int range[static 2])
{
	for (int i = 0; i < 2; i++) {
		const size_t n = strcspn(text, i == 0 ? "-" : ":");
		char word[16];
		uint64_t value = (uint64_t)ranks - 1;

		if (text[n] == '\0' || n >= sizeof(word))
			return NULL;
		memcpy(word, text, n);
		word[n] = '\0';
		if (!str_eq(word, "N") &&
		    num_u64(word, 0, INT32_MAX - 1, &value, NULL) < 0)
			return NULL;
		range[i] = (int)value;
		text += n + 1;
	}
	return *text != '\0' ? text : NULL;
}

/* The first rank that is in none of the ranges; `ranks`: there is none. */
static int
uncovered(const char *text, char token, int ranks)
{
	int range[2], rank = 0;
	const char *at = text;

	while (at != NULL && rank < ranks) {
		const bool has = read_ranks(at, ranks, range) != NULL &&
				 range[0] <= rank && rank <= range[1];

		rank = has ? range[1] + 1 : rank;
		at = has ? text : strchr(at, token);
		at += at != NULL && !has;
	}
	return rank;
}

static int
add(struct pattern_list *l, const char *text, size_t len, struct error *err)
{
	char *own = mem_alloc(len + 1, 1);

	if (own == NULL || !MEM_ROOM(l->all, l->count, l->cap)) {
		mem_free(own);
		return error_no_memory(err);
	}
	memcpy(own, text, len);
	own[len] = '\0';
	if (pattern_compile(&l->all[l->count], own, err) < 0) {
		mem_free(own);
		return -1;
	}
	l->count++;
	return 0;
}

int
pattern_parse(struct pattern_list *l, const char *text, char token,
	      struct pattern_ranks r, struct error *err)
{
	const char stop[] = { token, '\0' };
	struct pattern_list all = { .count = 0 };
	int rc = 0, range[2];

	for (const char *at = text; rc == 0 && *at != '\0';) {
		const size_t n = strcspn(at, stop);
		const char *re = read_ranks(at, r.ranks, range);
		const bool mine =
			re != NULL && range[0] <= r.rank && r.rank <= range[1];

		if (re == NULL || re >= at + n)
			rc = error_set(err, ERROR_USAGE,
				       "\"%.*s\": expected RANKS:REGEX, such "
				       "as 0-N:ckpt",
				       (int)n, at);
		else /* every rank finds the wrong one */
			rc = add(mine ? l : &all, re, (size_t)(at + n - re),
				 err);
		at += n + (at[n] != '\0');
	}
	pattern_free(&all);
	if (rc == 0 && uncovered(text, token, r.ranks) < r.ranks)
		rc = error_set(err, ERROR_USAGE,
			       "\"%s\": no pattern for rank %d of %d", text,
			       uncovered(text, token, r.ranks), r.ranks);
	return rc;
}

void
pattern_free(struct pattern_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		regfree(&l->all[i].re);
		mem_free((char *)l->all[i].text);
	}
	mem_free(l->all);
	*l = (struct pattern_list){ .count = 0 };
}

/* --- Names --- */

bool
pattern_is(const struct pattern *p, const char *name)
{
	return regexec(&p->re, name, 0, NULL, 0) == 0;
}

void
pattern_cut(const struct pattern *p, const char *name, char *out, size_t size)
{
	regmatch_t at = { .rm_so = -1 };

	if (regexec(&p->re, name, 1, &at, 0) != 0 || at.rm_so < 0)
		at.rm_so = at.rm_eo = 0;
	snprintf(out, size, "%.*s%s", (int)at.rm_so, name, name + at.rm_eo);
}
