/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern.h - which names are those of checkpoint files: extended regular
 * expressions, and a test that most names fail at once.
 */
#ifndef PRELOAD_PATTERN_H
#define PRELOAD_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

#define PATTERN_LITERAL 32

struct pattern {
	regex_t re;
	const char *text; /* for messages; the list's is freed by it */
	/* Part of every name that matches; "": nothing is known. */
	char literal[PATTERN_LITERAL];
};

struct pattern_list {
	size_t count, cap;
	struct pattern *all;
};

/* Compile the expression `text`, which is borrowed.  ERROR_USAGE. */
int pattern_compile(struct pattern *p, const char *text, struct error *err);

/*
 * Add to the list the patterns of `rank` in `text`: "LOW-HIGH:REGEX" one after
 * the other, `token` between them; N is the last one of `ranks`.  ERROR_USAGE:
 * one of them is wrong, or a rank has none, which is the same on all ranks.
 * ERROR_NOMEM.
 */
struct pattern_ranks {
	int rank, ranks;
};
int pattern_parse(struct pattern_list *l, const char *text, char token,
		  struct pattern_ranks r, struct error *err);
void pattern_free(struct pattern_list *l);

/* Could `name` match?  Each name that a program opens is asked about: after a
 * system call, a call of strstr(3) costs more than this. */
static inline bool
pattern_may(const struct pattern *p, const char *name)
{
	for (; *name != '\0' && p->literal[0] != '\0'; name++)
		for (size_t i = 0; name[i] == p->literal[i]; i++)
			if (p->literal[i + 1] == '\0')
				return true;
	return p->literal[0] == '\0';
}

/* Does it? */
bool pattern_is(const struct pattern *p, const char *name);

/* Write `name` to `out`, of `size` bytes, without what `p` finds in it. */
void pattern_cut(const struct pattern *p, const char *name, char *out,
		 size_t size);

#endif /* PRELOAD_PATTERN_H */
