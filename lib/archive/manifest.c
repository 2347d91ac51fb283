/* SPDX-License-Identifier: BSD-3-Clause */
#include "archive/manifest.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "hash.h"
#include "map.h"
#include "mem.h"
#include "path.h"

#define SUM_LEN (HASH_TEXT - 1)

/* Escaped characters, and their letters. */
static const char plain[] = "\\\n\r";
static const char letters[] = "\\nr";

/* --- Writing --- */

int
manifest_add(struct buf *to, const char *sum, const char *path,
	     struct error *err)
{
	const size_t before = to->len;

	if (strpbrk(path, plain) != NULL)
		buf_add_char(to, '\\');
	buf_add_str(to, sum);
	buf_add_str(to, "  ");
	for (; *path != '\0'; path++) {
		const char *at = strchr(plain, *path);

		if (at != NULL)
			buf_add_char(to, '\\');
		buf_add_char(to, at != NULL ? letters[at - plain] : *path);
	}
	buf_add_char(to, '\n');
	if (to->len <= MANIFEST_MAX)
		return 0;
	to->len = before;
	to->data[before] = '\0';
	return error_set(err, ERROR_USAGE, "manifest: too many files");
}

size_t
manifest_line(const char *path)
{
	const size_t len = strlen(path);

	return SUM_LEN + 3 + len + (strpbrk(path, plain) != NULL ? len + 1 : 0);
}

/* --- Reading --- */

/* Remove the escapes of path[0..len).  Returns the new length; 0: a wrong
 * escape. */
static size_t
unescape(char *path, size_t len)
{
	size_t from = 0, to = 0;

	for (; from < len; from++) {
		char c = path[from];

		if (c == '\\') {
			const char *at = ++from < len && path[from] != '\0'
						 ? strchr(letters, path[from])
						 : NULL;

			if (at == NULL)
				return 0;
			c = plain[at - letters];
		}
		path[to++] = c;
	}
	return to;
}

/* Parse line s[0..len), without newline, as the next entry. */
static int
take_line(struct manifest *m, const char *s, size_t len, struct error *err)
{
	const bool escaped = len > 0 && s[0] == '\\';
	const char *wrong = NULL;
	char *sum = NULL, *path = NULL;

	s += escaped;
	len -= escaped;
	/* The sum and the path become strings of one copy of the line. */
	sum = arena_strndup(m->arena, s, len);
	if (memchr(s, '\0', len) != NULL)
		wrong = "a NUL byte";
	else if (len < SUM_LEN + 3 ||
		 strspn(sum, "0123456789abcdef") < SUM_LEN ||
		 sum[SUM_LEN] != ' ' ||
		 (sum[SUM_LEN + 1] != ' ' && sum[SUM_LEN + 1] != '*'))
		wrong = "no sum and path";
	else
		path = sum + SUM_LEN + 2;
	if (wrong == NULL && escaped) {
		len = unescape(path, len - (SUM_LEN + 2));
		path[len] = '\0';
		wrong = len == 0 ? "a wrong escape" : NULL;
	}
	if (wrong != NULL)
		return error_set(err, ERROR_CORRUPT, "manifest: line %zu: %s",
				 m->count + 1, wrong);
	sum[SUM_LEN] = '\0';
	if (!path_is_clean(path))
		return error_set(err, ERROR_UNSAFE,
				 "manifest: line %zu: %s: not a clean relative "
				 "path",
				 m->count + 1, path);
	if (map_get(m->by_path, path) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT,
				 "manifest: line %zu: %s: named twice",
				 m->count + 1, path);
	map_put(m->by_path, path, m->count);
	(void)MEM_ROOM(m->entries, m->count, m->cap);
	m->entries[m->count++] =
		(struct manifest_entry){ .path = path, .sum = sum };
	return 0;
}

struct manifest *
manifest_parse(const void *data, size_t len, struct error *err)
{
	const char *s = data, *end = NULL;
	struct manifest *m = NULL;

	if (len > MANIFEST_MAX)
		return error_set_null(err, ERROR_CORRUPT, "manifest: too long");
	m = mem_calloc(1, sizeof(*m));
	m->arena = arena_new();
	m->by_path = map_new();
	for (; len > 0; s = end) {
		end = memchr(s, '\n', len);
		if (end == NULL)
			error_set(err, ERROR_CORRUPT,
				  "manifest: line %zu: is cut off",
				  m->count + 1);
		if (end == NULL ||
		    take_line(m, s, (size_t)(end - s), err) < 0) {
			manifest_free(m);
			return NULL;
		}
		end++;
		len -= (size_t)(end - s);
	}
	return m;
}

void
manifest_free(struct manifest *m)
{
	if (m == NULL)
		return;
	map_free(m->by_path);
	arena_free(m->arena);
	mem_free(m->entries);
	mem_free(m);
}
