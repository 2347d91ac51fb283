/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen_craft - write malformed metadata files: from an edited tree as printed by
 * scr_inspect -m tree, or with excessive nesting, counts and sizes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "bigend.h"
#include "buf.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "opt.h"
#include "temp.h"

struct settings {
	const char *output, *body, *temp;
	uint64_t nest, count, size;
};

/* --- Trees from their printout --- */

/* Decode "\n", "\t", "\\" and "\xHH" as in C. */
static void
unescape(char *s)
{
	char *to = s;
	unsigned byte = 0;

	for (; *s != '\0'; s++) {
		if (*s != '\\') {
			*to++ = *s;
			continue;
		}
		s++;
		if (*s == 'x' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else if (*s == '\0') {
			break;
		} else {
			*to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
		}
	}
	*to = '\0';
}

/* Add the line to the tree; at[d] is the current node at depth d. */
static int
add_line(struct kvtree **at, char *line, size_t number, size_t *depth,
	 struct error *err)
{
	size_t blanks = strspn(line, " ");
	size_t d = blanks / 2;

	/* A key may begin with a blank, so a line can be indented by more than
	 * its depth. */
	if (d > *depth + 1)
		d = *depth + 1;
	if (d == 0 || d >= KVTREE_MAX_DEPTH)
		return error_set(err, ERROR_USAGE, "line %zu: no such level",
				 number);
	unescape(line);
	at[d] = kvtree_put(at[d - 1], line + 2 * d, err);
	*depth = d;
	return at[d] == NULL ? -1 : 0;
}

static int
from_printout(FILE *in, struct buf *out, struct error *err)
{
	struct kvtree *at[KVTREE_MAX_DEPTH] = { kvtree_new(err) };
	size_t size = 0, number = 0, depth = 0;
	char *line = NULL;
	int rc = at[0] == NULL ? -1 : 0;

	while (rc == 0 && getline(&line, &size, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		rc = add_line(at, line, ++number, &depth, err);
	}
	if (rc == 0)
		rc = kvtree_encode(at[0], out, err);
	kvtree_free(at[0]);
	free(line);
	return rc;
}

/* --- Trees that cannot be printed --- */

/* Keys in each other, and a count of keys that are not there, in an envelope
 * (formats.md 1.1).  --size overrides the length in the header. */
static void
beyond_reason(const struct settings *s, struct buf *out)
{
	const uint64_t size = KVTREE_HEADER_SIZE + 6 * s->nest + 4 + 4;

	bigend_add64(out, 0x951fc3f500010001);
	bigend_add64(out, s->size > 0 ? s->size : size);
	bigend_add32(out, 1);
	for (uint64_t i = 0; i < s->nest; i++) {
		bigend_add32(out, 1);
		buf_add(out, "d", 2);
	}
	bigend_add32(out, (uint32_t)s->count);
	bigend_add32(out, crc_update(0, out->data, out->len));
}

/* Append the bytes that follow the metadata in `file`: the body of a redundancy
 * file. */
static int
add_body(const char *file, struct buf *out, struct error *err)
{
	struct buf raw = BUF_INIT;
	size_t size = 0;
	int rc = io_read_file(AT_FDCWD, file, (size_t)1 << 30, &raw, err);

	if (rc == 0)
		rc = kvtree_peek(raw.data, raw.len, &size, err);
	if (rc == 0 && size <= raw.len)
		rc = buf_add(out, raw.data + size, raw.len - size);
	buf_free(&raw);
	return rc;
}

static int
run(const struct settings *s, struct error *err)
{
	struct buf out = BUF_INIT;
	char temp[TEMP_NAME_MAX];
	int rc = 0;

	if (s->temp != NULL) {
		printf("%s\n", temp_name(temp, s->temp));
		return 0;
	}
	if (s->nest + s->count + s->size > 0)
		beyond_reason(s, &out);
	else
		rc = from_printout(stdin, &out, err);
	if (rc == 0 && s->body != NULL)
		rc = add_body(s->body, &out, err);
	if (rc == 0)
		rc = io_replace(AT_FDCWD, s->output, out.data, out.len, 0666,
				err);
	buf_free(&out);
	return rc;
}

int
main(int argc, char **argv)
{
	static const struct app_info info = {
		.name = "gen_craft",
		.summary = "write a metadata file with anything in it",
		.usage = "--output FILE [OPTION]... [<PRINTOUT]",
	};
	struct settings s = { .output = NULL };
	const struct opt opts[] = {
		OPT_STRING('o', "output", &s.output, "FILE", OPT_FILE,
			   "write this file"),
		OPT_STRING('b', "body", &s.body, "FILE", OPT_FILE,
			   "append what follows the metadata in this one"),
		OPT_U64(0, "nest", &s.nest, "N", 0, 100000000,
			"no printout: keys in each other, N deep"),
		OPT_U64(0, "count", &s.count, "N", 0, UINT32_MAX,
			"no printout: N keys announced, none there"),
		OPT_U64(0, "size", &s.size, "N", 0, UINT64_MAX,
			"no printout: the length in the header"),
		OPT_STRING(0, "temp-name", &s.temp, "NAME", OPT_ANY,
			   "print the name of NAME's temporary file"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0;

	app_start(&info, argc, argv, opts, &count);
	if (count > 0 || (s.output == NULL && s.temp == NULL))
		app_usage("--output, and no arguments, are expected");
	run(&s, &err);
	return app_finish(app_report(STATUS_OK, &err));
}
