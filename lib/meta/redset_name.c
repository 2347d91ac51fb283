/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kvtree/value.h"
#include "meta/redset.h"

#define SUFFIX ".redset"

#define STEM_DATA "reddesc.er"
#define STEM_MAP "reddescmap.er"

#define FORMAT(NAME, word, key, failures, limit, body) \
	{ \
#NAME, #word, key, failures, limit, REDSET_BODY_##body \
	}
static const struct redset_format formats[] = { REDSET_TYPES_ALL(FORMAT) };
#undef FORMAT

const struct redset_format *
redset_format(enum redset_type t)
{
	return &formats[t];
}

const char *
redset_type_name(enum redset_type t)
{
	return formats[t].name;
}

bool
redset_is_redundant(enum redset_type t)
{
	return formats[t].body != REDSET_BODY_NONE;
}

enum redset_type
redset_type_of_word(const char *word)
{
	int t = 0;

	while (t < REDSET_TYPES && strcmp(word, formats[t].word) != 0)
		t++;
	return (enum redset_type)t;
}

/* Return the text after `word` if `s` starts with it, else NULL; `s` may be
 * NULL. */
static const char *
after(const char *s, const char *word)
{
	const size_t len = strlen(word);

	return s != NULL && strncmp(s, word, len) == 0 ? s + len : NULL;
}

/* Scan a number of at least `min`; `s` may be NULL. */
static const char *
number(const char *s, uint64_t min, uint32_t *out)
{
	uint64_t n = 0;

	s = s == NULL ? NULL : value_scan(s, REDSET_MAX_RANKS, &n);
	if (s == NULL || n < min)
		return NULL;
	*out = (uint32_t)n;
	return s;
}

/* Scan "<word><n>_of_<total>" with 1 <= n <= total. */
static const char *
n_of(const char *s, const char *word, uint32_t *n, uint32_t *total)
{
	s = number(after(s, word), 1, n);
	s = number(after(s, "_of_"), 1, total);
	return s != NULL && *n <= *total ? s : NULL;
}

/* Parse exactly "<type>.grp_<g>_of_<G>.mem_<m>_of_<n>.redset". */
static bool
parse_long(const char *s, struct redset_name *out)
{
	int type = 0;
	const char *end = NULL;

	for (type = 0; type < REDSET_TYPES; type++) {
		end = after(s, formats[type].word);
		if (end != NULL && *end == '.')
			break;
	}
	if (type == REDSET_TYPES)
		return false;
	out->type = (enum redset_type)type;
	s = n_of(end, ".grp_", &out->set, &out->sets);
	s = n_of(s, ".mem_", &out->member, &out->members);
	return s != NULL && strcmp(s, SUFFIX) == 0;
}

/* Parse the text after the stem and its dot: "<rank>.redset" or the long
 * form. */
static bool
parse_tail(const char *s, struct redset_name *out)
{
	const char *end = NULL;

	memset(out, 0, sizeof(*out));
	end = number(s, 0, &out->rank);
	if (end == NULL)
		return false;
	if (strcmp(end, SUFFIX) == 0) {
		out->descriptor = true;
		return true;
	}
	return *end == '.' && parse_long(end + 1, out);
}

/* Is the stem of `len` bytes that of filemap redundancy? */
static bool
is_map_stem(const char *stem, size_t len)
{
	return len == strlen(STEM_MAP) && memcmp(stem, STEM_MAP, len) == 0;
}

/* Accept any stem: it ends at the last dot after which the tail is valid.  So
 * "red.3.7.redset" is rank 7 of stem "red.3". */
static bool
parse_any(const char *name, struct redset_name *out, size_t *stem)
{
	size_t i = strlen(name);

	while (i-- > 1)
		if (name[i] == '.' && parse_tail(name + i + 1, out)) {
			*stem = i;
			out->map = is_map_stem(name, i);
			return true;
		}
	return false;
}

bool
redset_name_parse(const char *name, struct redset_name *out, size_t *stem)
{
	const char *tail = after(name, STEM_DATA ".");
	const bool map = tail == NULL;

	if (stem != NULL)
		return strchr(name, '/') == NULL && parse_any(name, out, stem);
	if (map)
		tail = after(name, STEM_MAP ".");
	if (tail == NULL || !parse_tail(tail, out))
		return false;
	out->map = map;
	return true;
}

char *
redset_name_format(char *to, size_t size, const struct redset_name *n,
		   const char *stem)
{
	if (stem == NULL)
		stem = n->map ? STEM_MAP : STEM_DATA;
	if (n->descriptor)
		snprintf(to, size, "%s.%" PRIu32 SUFFIX, stem, n->rank);
	else
		snprintf(to, size,
			 "%s.%" PRIu32 ".%s.grp_%" PRIu32 "_of_%" PRIu32
			 ".mem_%" PRIu32 "_of_%" PRIu32 SUFFIX,
			 stem, n->rank, formats[n->type].word, n->set, n->sets,
			 n->member, n->members);
	return to;
}
