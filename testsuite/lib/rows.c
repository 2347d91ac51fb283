/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#define FILE_NAME "testsuite/unit/damage.table"
#define BETWEEN " :: "

static struct buf table;
static struct arena *arena;

/* What "= NAME TEXT" defines. */
static const char *
definition(const char *name, size_t len)
{
	const char *at = strstr(table.data, fmt("\n= %.*s ", (int)len, name));

	must(at != NULL);
	return at + len + 4;
}

/* A text up to `end`, with the definitions and line ends that it names. */
static void
expand(const char *s, const char *end, struct buf *out)
{
	for (; s < end; s++) {
		if (strncmp(s, "${", 2) == 0) {
			const char *name = s + 2, *text = NULL;

			s = strchr(name, '}');
			text = definition(name, (size_t)(s - name));
			expand(text, strchr(text, '\n'), out);
		} else if (strncmp(s, "\\n", 2) == 0) {
			buf_add_char(out, '\n');
			s++;
		} else {
			buf_add_char(out, *s);
		}
	}
}

bool
row_next(struct row *r, const char *section)
{
	const char *line = r->next, *end = NULL;

	if (arena == NULL) {
		const char *root = getenv("SCRKIT_ROOT");

		arena = arena_new();
		read_whole(fmt("%s/" FILE_NAME, root != NULL ? root : "."),
			   &table);
	}
	if (line == NULL) {
		line = strstr(table.data, fmt("\n[%s]\n", section));
		must(line != NULL);
		line = strchr(line + 1, '\n') + 1;
	}
	while (*line == '#' || *line == '=' || *line == '\n')
		line = strchr(line, '\n') + 1;
	if (*line == '[' || *line == '\0')
		return false;
	end = strchr(line, '\n');
	r->next = end + 1;
	for (size_t i = 0; i < ROW_FIELDS; i++) {
		const char *to = strstr(line, BETWEEN);
		auto_buf text = BUF_INIT;

		if (to == NULL || to > end)
			to = end;
		buf_add_str(&text, "");
		expand(line, to, &text);
		r->field[i] = arena_strdup(arena, text.data);
		line = to < end ? to + strlen(BETWEEN) : end;
	}
	return true;
}
