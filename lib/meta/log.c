/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/log.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/value.h"
#include "meta/index.h"
#include "str.h"

#define STAMP_BYTES (INDEX_STAMP_SIZE - 1)

/* A longer file is not accepted as a log: it would be read for hours. */
#define LOG_MAX ((off_t)1 << 30)

/* The type of a member. */
enum kind {
	TEXT,	/* const char *; NULL: absent */
	QUOTED, /* the same, in quotes */
	COUNT,	/* int64_t; negative: absent */
	AMOUNT, /* double; negative: absent */
};

#define AT(member) offsetof(struct log_line, member)

/* All keys of scr_env(1), in the order in which they are written. */
static const struct field {
	const char *key;
	enum kind kind;
	size_t at; /* offset in struct log_line */
} fields[] = {
	{ "host", TEXT, AT(host) },	{ "jobid", TEXT, AT(job_id) },
	{ "event", TEXT, AT(event) },	{ "xfer", TEXT, AT(xfer) },
	{ "procs", COUNT, AT(procs) },	{ "nodes", COUNT, AT(nodes) },
	{ "note", QUOTED, AT(note) },	{ "from", TEXT, AT(from) },
	{ "to", TEXT, AT(to) },		{ "dset", COUNT, AT(dataset) },
	{ "name", QUOTED, AT(name) },	{ "secs", AMOUNT, AT(secs) },
	{ "bytes", AMOUNT, AT(bytes) }, { "files", COUNT, AT(files) },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

/* Return the field at the start of "key=...", and the start of its value in
 * *value; NULL: unknown. */
static const struct field *
scan_key(char *s, char **value)
{
	for (size_t i = 0; i < NFIELDS; i++) {
		const size_t len = strlen(fields[i].key);

		if (strncmp(s, fields[i].key, len) == 0 && s[len] == '=') {
			*value = s + len + 1;
			return &fields[i];
		}
	}
	return NULL;
}

/* Return the end of the field whose value is `s`: the next ", <key>=", or the
 * end of the line.  Quotes inside of a quoted value are not escaped, so it ends
 * at a quote that is followed by one of these; unless the line was
 * truncated. */
static char *
field_end(char *s)
{
	char *at = s, *value = NULL;

	while (*s == '"' && (at = strchr(at + 1, '"')) != NULL)
		if (at[1] == '\0' || (strncmp(at + 1, ", ", 2) == 0 &&
				      scan_key(at + 3, &value) != NULL))
			return at + 1;
	for (at = s; (at = strstr(at, ", ")) != NULL; at += 2)
		if (scan_key(at + 2, &value) != NULL)
			return at;
	return s + strlen(s);
}

static bool
is_stamp(const char *s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; i < STAMP_BYTES; i++)
		if (form[i] == 'd' ? !str_is_digit(s[i]) : s[i] != form[i])
			return false;
	return true;
}

int
log_parse(char *line, struct log_line *out, struct error *err)
{
	char *s = line, *value = NULL, *end = NULL;
	const bool cut = strlen(line) >= LOG_LINE_MAX;
	struct tm tm = { .tm_isdst = -1 };

	*out = (struct log_line){ LOG_LINE_NONE };
	/* "YYYY-MM-DDTHH:MM:SS: ", local time. */
	if (!is_stamp(line) ||
	    strptime(line, "%Y-%m-%dT%H:%M:%S", &tm) != line + STAMP_BYTES ||
	    tm.tm_sec > 60 || strncmp(line + STAMP_BYTES, ": ", 2) != 0)
		return error_set(err, ERROR_CORRUPT, "log line: no time stamp");
	tm.tm_isdst = -1;
	out->time = mktime(&tm);
	for (s = line + STAMP_BYTES + 2; *s != '\0';) {
		const struct field *f = scan_key(s, &value);
		bool last = false;
		uint64_t number = 0;
		void *to = NULL;

		if (f == NULL)
			break;
		end = field_end(value);
		last = *end == '\0';
		*end = '\0';
		to = (char *)out + f->at;
		if (f->kind == QUOTED && *value == '"') {
			/* A truncated value has no closing quote. */
			value++;
			if (end > value && end[-1] == '"')
				end[-1] = '\0';
		}
		if (last && cut && (f->kind == COUNT || f->kind == AMOUNT))
			break;
		if (f->kind == COUNT)
			*(int64_t *)to = value_number(value, INT64_MAX, &number)
						 ? (int64_t)number
						 : -1;
		else if (f->kind == AMOUNT) /* written with "%f" */
			*(double *)to =
				*value != '\0' &&
						value[strspn(value,
							     "0123456789.")] ==
							'\0'
					? strtod(value, NULL)
					: -1;
		else
			*(const char **)to = value;
		if (last)
			break;
		s = end + 2;
	}
	if (out->event == NULL && out->xfer == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "log line: neither event nor transfer");
	return 0;
}

int
log_format(const struct log_line *l, struct buf *out)
{
	const size_t start = out->len;

	buf_printf(out, "%s:", index_stamp_str(l->time));
	for (size_t i = 0; i < NFIELDS; i++) {
		const void *from = (const char *)l + fields[i].at;
		const int64_t *count = from;
		const double *amount = from;
		const char *const *text = from;
		const char *quote = fields[i].kind == QUOTED ? "\"" : "";
		size_t at = 0;

		/* Append a field unless it is absent. */
		if (fields[i].kind == COUNT && *count >= 0)
			buf_printf(out, ", %s=%" PRId64, fields[i].key, *count);
		else if (fields[i].kind == AMOUNT && *amount >= 0)
			buf_printf(out, ", %s=%f", fields[i].key, *amount);
		if ((fields[i].kind != TEXT && fields[i].kind != QUOTED) ||
		    *text == NULL)
			continue;
		buf_printf(out, ", %s=%s", fields[i].key, quote);
		at = out->len;
		buf_printf(out, "%s%s", *text, quote);
		for (; at < out->len; at++)
			if ((unsigned char)out->data[at] < ' ' ||
			    out->data[at] == 0x7f)
				out->data[at] = '?';
	}
	/* Remove the comma of the first field: only a blank follows the
	 * stamp. */
	if (out->len > start + STAMP_BYTES + 1)
		memmove(out->data + start + STAMP_BYTES + 1,
			out->data + start + STAMP_BYTES + 2,
			--out->len - (start + STAMP_BYTES + 1));
	if (out->len - start > LOG_LINE_MAX)
		out->len = start + LOG_LINE_MAX;
	buf_add_char(out, '\n');
	if (!out->failed)
		return 0;
	out->len = start;
	if (out->data != NULL)
		out->data[start] = '\0';
	return -1;
}

/* --- Reading --- */

int
log_open(struct log_reader *r, int dirfd, const char *path, uint64_t from,
	 struct error *err)
{
	const int fd = io_open_read(dirfd, path, err);
	struct stat st;

	*r = (struct log_reader){ .path = path, .next = from };
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size > LOG_MAX) {
		close(fd);
		return error_set(err, ERROR_CORRUPT,
				 "%s: longer than the limit of %lld bytes",
				 path, (long long)LOG_MAX);
	}
	r->file = fdopen(fd, "r");
	if (r->file == NULL) {
		close(fd);
		return error_no_memory(err);
	}
	return fseeko(r->file, (off_t)from, SEEK_SET) < 0
		       ? error_sys(err, "%s: cannot read", path)
		       : 0;
}

/* If the line of a writer that ended in the middle is followed by that of the
 * next writer, return the latter. */
static char *
skip_cut(struct log_reader *r)
{
	char *start = r->text, *at = r->text;

	while ((at = strstr(at, ": host=")) != NULL) {
		if (at - start > STAMP_BYTES && is_stamp(at - STAMP_BYTES)) {
			start = at - STAMP_BYTES;
			r->lines++;
			r->unreadable++;
		}
		at++;
	}
	return start;
}

int
log_next(struct log_reader *r, struct log_line *out, struct error *err)
{
	uint64_t at = r->next;
	size_t len = 0;
	int c = 0;

	while ((c = getc_unlocked(r->file)) != EOF) {
		at++;
		/* The rest of an overlong line is ignored; a hole in the file
		 * is not the end of its line. */
		if (c != '\n') {
			if (len < sizeof(r->text) - 1)
				r->text[len++] = c == '\0' ? '?' : (char)c;
			continue;
		}
		r->text[len] = '\0';
		r->next = at;
		if (len == 0)
			continue;
		len = 0;
		r->lines++;
		if (log_parse(skip_cut(r), out, NULL) == 0)
			return 1;
		r->unreadable++;
	}
	r->unfinished = len > 0;
	return ferror(r->file) ? error_sys(err, "%s: cannot read", r->path) : 0;
}

void
log_close(struct log_reader *r)
{
	if (r->file != NULL)
		fclose(r->file);
	r->file = NULL;
}
