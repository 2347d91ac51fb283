/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/npyread.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "fti/input.h"
#include "mem.h"
#include "num.h"
#include "str.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
/* No header of plain arrays is larger. */
#define HEADER_MAX 65535

/* The header: a dictionary of Python, as text. */
struct text {
	const char *at, *name;
	char type[16];
	uint64_t count; /* of elements */
	bool has_type, has_shape;
};

static int
bad(const struct text *t, struct error *err)
{
	return error_set(err, ERROR_CORRUPT,
			 "%s: its header as a NumPy file is damaged", t->name);
}

static void
skip_blanks(struct text *t)
{
	t->at += strspn(t->at, " \t\n");
}

static bool
take(struct text *t, char c)
{
	skip_blanks(t);
	if (*t->at != c)
		return false;
	t->at++;
	return true;
}

/* A string in quotes, `size` bytes at most.  False: there is none. */
static bool
take_string(struct text *t, char *to, size_t size)
{
	const char *end = NULL;
	char quote = '\'';

	skip_blanks(t);
	quote = *t->at == '"' ? '"' : '\'';
	if (!take(t, quote))
		return false;
	end = strchr(t->at, quote);
	if (end == NULL || (size_t)(end - t->at) >= size)
		return false;
	memcpy(to, t->at, (size_t)(end - t->at));
	to[end - t->at] = '\0';
	t->at = end + 1;
	return true;
}

/* "(3, 4)", "(3,)", "()". */
static bool
take_shape(struct text *t)
{
	char digits[NUM_TEXT];

	t->count = 1;
	if (!take(t, '('))
		return false;
	while (!take(t, ')')) {
		const size_t len = strspn(t->at, "0123456789");
		uint64_t n = 0;

		if (len == 0 || len >= sizeof(digits))
			return false;
		memcpy(digits, t->at, len);
		digits[len] = '\0';
		t->at += len;
		if (num_u64(digits, 0, UINT64_MAX, &n, NULL) < 0 ||
		    num_mul(&t->count, n) < 0)
			return false;
		if (!take(t, ',') && *t->at != ')')
			return false;
	}
	t->has_shape = true;
	return true;
}

static bool
take_word(struct text *t)
{
	static const char *const words[] = { "True", "False" };

	skip_blanks(t);
	for (size_t i = 0; i < 2; i++)
		if (str_starts(t->at, words[i])) {
			t->at += strlen(words[i]);
			return true;
		}
	return false;
}

static int
take_value(struct text *t, const char *key, struct error *err)
{
	if (str_eq(key, "descr")) {
		skip_blanks(t);
		if (*t->at == '[')
			return error_set(err, ERROR_USAGE,
					 "%s: its elements are structures",
					 t->name);
		t->has_type = take_string(t, t->type, sizeof(t->type));
		return t->has_type ? 0 : bad(t, err);
	}
	if (str_eq(key, "shape"))
		return take_shape(t) ? 0 : bad(t, err);
	return str_eq(key, "fortran_order") && take_word(t) ? 0 : bad(t, err);
}

static int
parse(struct text *t, struct error *err)
{
	char key[32];

	if (!take(t, '{'))
		return bad(t, err);
	while (!take(t, '}')) {
		if (!take_string(t, key, sizeof(key)) || !take(t, ':'))
			return bad(t, err);
		if (take_value(t, key, err) < 0)
			return -1;
		skip_blanks(t);
		if (!take(t, ',') && *t->at != '}')
			return bad(t, err);
	}
	skip_blanks(t);
	return *t->at == '\0' && t->has_type && t->has_shape ? 0 : bad(t, err);
}

/* The bytes of an element: "<f8", "|u1", "<U4", "<M8[ns]". */
static int
element_size(const struct text *t, uint64_t *size, struct error *err)
{
	const char *type = t->type;
	const bool order = strchr("<>|=", type[0]) != NULL;
	const char kind = type[order ? 1 : 0];
	char digits[sizeof(t->type)];
	size_t len = 0;

	if (type[0] == '\0' || kind == '\0')
		return bad(t, err);
	type += order ? 2 : 1;
	len = strspn(type, "0123456789");
	memcpy(digits, type, len);
	digits[len] = '\0';
	if (strchr("biufcSaVUMm", kind) == NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are no plain numbers or "
				 "bytes (%s)",
				 t->name, t->type);
	if (t->type[0] == '>' && !str_eq(digits, "1"))
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are big-endian (%s)",
				 t->name, t->type);
	if (num_u64(digits, 0, UINT32_MAX, size, NULL) < 0 ||
	    (type[len] != '\0' && kind != 'M' && kind != 'm'))
		return bad(t, err);
	if (kind == 'U')
		*size *= 4;
	return 0;
}

static int
check_size(const struct text *t, uint64_t size, struct error *err)
{
	uint64_t bytes = 0;

	if (element_size(t, &bytes, err) < 0)
		return -1;
	if (num_mul(&bytes, t->count) == 0 && bytes == size)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: has %" PRIu64 " bytes of elements, its header "
			 "says %" PRIu64 " of type %s",
			 t->name, size, t->count, t->type);
}

int
fti_npyread(const struct fti_source *s, uint64_t *at, struct error *err)
{
	unsigned char start[MAGIC_SIZE + 6];
	struct text t = { .name = s->name };
	char *header = NULL;
	uint64_t len = 0, begin = MAGIC_SIZE + 4;
	int rc = 0;

	if (s->size < sizeof(start) ||
	    fti_source_read(s, start, sizeof(start), 0, err) < 0 ||
	    memcmp(start, MAGIC, MAGIC_SIZE) != 0 || start[6] < 1 ||
	    start[6] > 3)
		return error_set(err, ERROR_CORRUPT,
				 "%s: not a NumPy file (.npy)", s->name);
	len = start[8] | (uint64_t)start[9] << 8;
	if (start[6] > 1) {
		len |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
		begin += 2;
	}
	if (len > HEADER_MAX || len > s->size - begin)
		return bad(&t, err);
	header = mem_calloc(len + 1, 1);
	if (header == NULL)
		return error_no_memory(err);
	t.at = header;
	rc = fti_source_read(s, header, (size_t)len, begin, err);
	if (rc == 0)
		rc = parse(&t, err);
	if (rc == 0)
		rc = check_size(&t, s->size - begin - len, err);
	*at = begin + len;
	mem_free(header);
	return rc;
}
