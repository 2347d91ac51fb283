/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/ini.h"

#include <string.h>
#include <strings.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "inifile.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "num.h"
#include "str.h"

struct fti_ini {
	struct arena *arena;
	const char *name;
	struct map *keys; /* "section:key" in lower case: index of the value */
	const char **values;
	size_t nvalues, room_values;
	const char **sections;
	size_t nsections, room_sections;
	const char *last; /* the last line's section in the file's text */
};

/* --- Lines --- */

/* What is between two pointers, without blanks at its ends. */
struct span {
	const char *at, *end;
};

static struct span
trim(const char *at, const char *end)
{
	struct span s = { .at = inifile_skip_blanks(at, end), .end = end };

	while (s.end > s.at && inifile_skip_blanks(s.end - 1, s.end) == s.end)
		s.end--;
	return s;
}

static size_t
length(struct span s)
{
	return (size_t)(s.end - s.at);
}

struct pair {
	struct span key, value;
};

/* Split a line.  False: it sets nothing. */
static bool
split(const struct inifile_line *l, struct pair *p)
{
	const char *end = l->end, *at = NULL, *close = NULL;
	const char *equals =
		l->kind != INIFILE_PAIR
			? NULL
			: memchr(l->text, '=', (size_t)(end - l->text));

	if (equals == NULL)
		return false;
	p->key = trim(l->text, equals);
	/* The value: in quotes, or up to a comment. */
	at = inifile_skip_blanks(equals + 1, end);
	if (at < end && (*at == '"' || *at == '\''))
		close = memchr(at + 1, *at, (size_t)(end - at - 1));
	if (close != NULL) {
		p->value = (struct span){ .at = at + 1, .end = close };
		return length(p->key) > 0;
	}
	for (close = at; close < end && *close != ';' && *close != '#'; close++)
		;
	/* An empty value is where a new one goes. */
	if (at == close)
		at = close =
			equals + 1 + (equals + 1 < end && equals[1] == ' ');
	p->value = trim(at, close);
	return length(p->key) > 0;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* --- Reading --- */

/* Write "section:key" in lower case.  False: longer than any key of FTI. */
static bool
join(char to[static FTI_INI_KEY_MAX], struct span section, struct span key)
{
	size_t n = 0;

	if (length(section) + length(key) + 2 > FTI_INI_KEY_MAX)
		return false;
	for (const char *p = section.at; p < section.end; p++)
		to[n++] = lower(*p);
	to[n++] = ':';
	for (const char *p = key.at; p < key.end; p++)
		to[n++] = lower(*p);
	to[n] = '\0';
	return true;
}

static struct span
section_of(const struct inifile_line *l)
{
	return trim(l->section, l->section + l->section_len);
}

static int
add_line(void *arg, const struct inifile_line *l)
{
	struct fti_ini *ini = arg;
	const struct span section = section_of(l);
	char key[FTI_INI_KEY_MAX];
	struct pair p;

	if (!split(l, &p) || !join(key, section, p.key))
		return 0;
	(void)MEM_ROOM(ini->values, ini->nvalues, ini->room_values);
	ini->values[ini->nvalues] =
		arena_strndup(ini->arena, p.value.at, length(p.value));
	map_put(ini->keys, arena_strdup(ini->arena, key), ini->nvalues++);
	if (l->section == ini->last)
		return 0;
	/* A section that is not the last line's; the key begins with it. */
	ini->last = l->section;
	(void)MEM_ROOM(ini->sections, ini->nsections, ini->room_sections);
	ini->sections[ini->nsections++] =
		arena_strndup(ini->arena, key, length(section));
	return 0;
}

/* inih can fail only without memory. */
static void
each_line(const void *data, size_t len,
	  int (*fn)(void *arg, const struct inifile_line *line), void *arg)
{
	if (inifile_each(data, len, fn, arg) < 0)
		mem_missing();
}

struct fti_ini *
fti_ini_parse(const char *name, const void *data, size_t len, struct error *err)
{
	struct fti_ini *ini = NULL;

	if (len > FTI_INI_MAX)
		return error_set_null(err, ERROR_CORRUPT,
				      "%s: %s, too large for FTI's ini", name,
				      str_size(len));
	ini = mem_calloc(1, sizeof(*ini));
	ini->arena = arena_new();
	ini->keys = map_new();
	ini->name = arena_strdup(ini->arena, name);
	each_line(data, len, add_line, ini);
	return ini;
}

struct fti_ini *
fti_ini_read(int dirfd, const char *path, struct error *err)
{
	struct buf text = BUF_INIT;
	struct fti_ini *ini = NULL;

	if (io_read_file(dirfd, path, FTI_INI_MAX, &text, err) == 0)
		ini = fti_ini_parse(path, text.data, text.len, err);
	buf_free(&text);
	return ini;
}

void
fti_ini_free(struct fti_ini *ini)
{
	if (ini == NULL)
		return;
	map_free(ini->keys);
	mem_free(ini->values);
	mem_free(ini->sections);
	arena_free(ini->arena);
	mem_free(ini);
}

/* --- Look-ups --- */

const char *
fti_ini_name(const struct fti_ini *ini)
{
	return ini->name;
}

const char *
fti_ini_section(const struct fti_ini *ini, size_t i)
{
	return i < ini->nsections ? ini->sections[i] : NULL;
}

static struct span
whole(const char *s)
{
	return (struct span){ .at = s, .end = s + strlen(s) };
}

const char *
fti_ini_get(const struct fti_ini *ini, const char *section, const char *key)
{
	char joined[FTI_INI_KEY_MAX];
	size_t i = MAP_NONE;

	if (join(joined, whole(section), whole(key)))
		i = map_get(ini->keys, joined);
	return i == MAP_NONE ? NULL : ini->values[i];
}

int
fti_ini_text(const struct fti_ini *ini, const char *section, const char *key,
	     const char **out, struct error *err)
{
	*out = fti_ini_get(ini, section, key);
	if (*out != NULL)
		return 0;
	return error_set(err, ERROR_CORRUPT, "%s: [%s] %s: missing", ini->name,
			 section, key);
}

int
fti_ini_number(const struct fti_ini *ini, const char *section, const char *key,
	       struct fti_ini_range range, int64_t *out, struct error *err)
{
	const char *text = NULL;
	struct error why = ERROR_INIT;

	if (fti_ini_text(ini, section, key, &text, err) < 0)
		return -1;
	if (num_i64(text, range.min, range.max, out, &why) == 0)
		return 0;
	return error_set(err, ERROR_CORRUPT, "%s: [%s] %s: %s", ini->name,
			 section, key, why.text);
}

/* --- Writing --- */

bool
fti_ini_can_hold(const char *value)
{
	const struct span all = whole(value), s = trim(all.at, all.end);

	return length(s) == length(all) && strpbrk(value, "\n\"'#;") == NULL;
}

void
fti_ini_add(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "%-30s = %s\n", key, value);
}

/* Where the edit goes. */
struct place {
	const struct fti_ini_value *v;
	struct span value; /* of the last line with the key; or at is NULL */
	const char *section_end; /* end of the section's last line, or NULL */
};

static bool
is_named(struct span s, const char *name)
{
	return length(s) == strlen(name) &&
	       strncasecmp(s.at, name, length(s)) == 0;
}

static int
look_at_line(void *arg, const struct inifile_line *l)
{
	struct place *to = arg;
	struct pair p;

	if (!is_named(section_of(l), to->v->section))
		return 0;
	to->section_end = l->end;
	if (split(l, &p) && is_named(p.key, to->v->key))
		to->value = p.value;
	return 0;
}

int
fti_ini_set(struct buf *text, const struct fti_ini_value *v, struct error *err)
{
	const size_t len = text->len;
	const char *data = len > 0 ? text->data : "", *end = data + len;
	struct place p = { .v = v };
	struct buf out = BUF_INIT;
	struct span cut;

	if (!fti_ini_can_hold(v->value))
		return error_set(err, ERROR_USAGE,
				 "[%s] %s: an ini file cannot hold this value",
				 v->section, v->key);
	each_line(data, len, look_at_line, &p);
	cut = p.value;
	while (v->alone && cut.at != NULL && cut.end < end && *cut.end != '\n')
		cut.end++;
	if (cut.at == NULL && p.section_end != NULL)
		cut = (struct span){ p.section_end, p.section_end };
	else if (cut.at == NULL)
		cut = (struct span){ end, end };
	buf_add(&out, data, (size_t)(cut.at - data));
	if (p.value.at != NULL) {
		buf_add_str(&out, v->value);
	} else if (p.section_end != NULL) {
		const bool cr = cut.at > data && cut.at[-1] == '\r';

		/* Append the line of a new key, after the line that ends at
		 * `after`. */
		buf_printf(&out, "\n%-30s = %s%s", v->key, v->value,
			   cr ? "\r" : "");
	} else {
		buf_printf(&out, "%s[%s]\n",
			   len > 0 && end[-1] != '\n' ? "\n" : "", v->section);
		fti_ini_add(&out, v->key, v->value);
	}
	buf_add(&out, cut.end, (size_t)(end - cut.end));

	buf_free(text);
	*text = out;
	return 0;
}
