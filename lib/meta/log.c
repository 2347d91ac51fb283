/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "error.h"
#include "meta/index.h"
#include "meta/value.h"

#define STAMP_BYTES (INDEX_STAMP_SIZE - 1)

/* All keys of formats.md 9. */
enum key {
	KEY_HOST,
	KEY_JOBID,
	KEY_EVENT,
	KEY_XFER,
	KEY_PROCS,
	KEY_NODES,
	KEY_NOTE,
	KEY_FROM,
	KEY_TO,
	KEY_DSET,
	KEY_NAME,
	KEY_SECS,
	KEY_BYTES,
	KEY_FILES,
	KEYS
};

static const char *const key_names[KEYS] = {
	"host", "jobid", "event", "xfer", "procs", "nodes", "note",
	"from", "to",	 "dset",  "name", "secs",  "bytes", "files",
};

/* Return the key at the start of "key=...", and the start of its value in
 * *value; KEYS: unknown. */
static enum key
scan_key(char *s, char **value)
{
	int k = 0;

	for (k = 0; k < KEYS; k++) {
		const size_t len = strlen(key_names[k]);

		if (strncmp(s, key_names[k], len) == 0 && s[len] == '=') {
			*value = s + len + 1;
			break;
		}
	}
	return (enum key)k;
}

/* Return the end of the field whose value, or rest of it, is `s`: the next ",
 * <key>=", or the end of the line. */
static char *
field_end(char *s)
{
	char *comma = s, *value = NULL;

	while ((comma = strstr(comma, ", ")) != NULL) {
		if (scan_key(comma + 2, &value) != KEYS)
			return comma;
		comma += 2;
	}
	return s + strlen(s);
}

/* The same for a quoted value.  Quotes inside are not escaped, so the value
 * ends at a quote that is followed by the next field or the end of the line. */
static char *
quoted_end(char *s)
{
	char *quote = s, *value = NULL;

	while ((quote = strchr(quote + 1, '"')) != NULL)
		if (quote[1] == '\0' || (strncmp(quote + 1, ", ", 2) == 0 &&
					 scan_key(quote + 3, &value) != KEYS))
			return quote + 1;
	return field_end(s); /* the line was truncated */
}

/* Parse two digits in low..high, or return -1. */
static int
two_digits(const char *s, int low, int high)
{
	int n = 0;

	if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
		return -1;
	n = (s[0] - '0') * 10 + (s[1] - '0');
	return n >= low && n <= high ? n : -1;
}

/* Parse "YYYY-MM-DDTHH:MM:SS" at the start of `s` as local time. */
static bool
parse_stamp(const char *s, int64_t *out)
{
	struct tm tm = { .tm_isdst = -1 };
	int century = 0, year = 0;

	if (strnlen(s, STAMP_BYTES) < STAMP_BYTES || s[4] != '-' ||
	    s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':')
		return false;
	century = two_digits(s, 0, 99);
	year = two_digits(s + 2, 0, 99);
	tm.tm_mon = two_digits(s + 5, 1, 12);
	tm.tm_mday = two_digits(s + 8, 1, 31);
	tm.tm_hour = two_digits(s + 11, 0, 23);
	tm.tm_min = two_digits(s + 14, 0, 59);
	tm.tm_sec = two_digits(s + 17, 0, 60);
	if (century < 0 || year < 0 || tm.tm_mon < 0 || tm.tm_mday < 0 ||
	    tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0)
		return false;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	*out = mktime(&tm);
	return true;
}

static int64_t
parse_count(const char *s)
{
	uint64_t n = 0;

	return value_number(s, INT64_MAX, &n) ? (int64_t)n : -1;
}

/* Parse a number written with "%f", or return -1. */
static double
parse_amount(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789.")] == '\0'
		       ? strtod(s, NULL)
		       : -1;
}

/* Remove the quotes around a value.  A truncated value has no closing quote. */
static const char *
unquoted(char *s)
{
	size_t len = strlen(s);

	if (s[0] != '"')
		return s;
	if (len > 1 && s[len - 1] == '"')
		s[len - 1] = '\0';
	return s + 1;
}

static void
set_field(struct log_line *l, enum key key, char *value)
{
	switch (key) {
	case KEY_HOST:
		l->host = value;
		break;
	case KEY_JOBID:
		l->job_id = value;
		break;
	case KEY_EVENT:
		l->event = value;
		break;
	case KEY_XFER:
		l->xfer = value;
		break;
	case KEY_PROCS:
		l->procs = parse_count(value);
		break;
	case KEY_NODES:
		l->nodes = parse_count(value);
		break;
	case KEY_NOTE:
		l->note = unquoted(value);
		break;
	case KEY_FROM:
		l->from = value;
		break;
	case KEY_TO:
		l->to = value;
		break;
	case KEY_DSET:
		l->dataset = parse_count(value);
		break;
	case KEY_NAME:
		l->name = unquoted(value);
		break;
	case KEY_SECS:
		l->secs = parse_amount(value);
		break;
	case KEY_BYTES:
		l->bytes = parse_amount(value);
		break;
	case KEY_FILES:
		l->files = parse_count(value);
		break;
	case KEYS:
		break;
	}
}

int
log_parse(char *line, struct log_line *out, struct error *err)
{
	char *s = line, *value = NULL, *end = NULL;

	*out = (struct log_line){ .dataset = -1,
				  .procs = -1,
				  .nodes = -1,
				  .files = -1,
				  .secs = -1,
				  .bytes = -1 };
	if (!parse_stamp(line, &out->time) ||
	    strncmp(line + STAMP_BYTES, ": ", 2) != 0)
		return error_set(err, ERROR_CORRUPT, "log line: no time stamp");
	for (s = line + STAMP_BYTES + 2; *s != '\0';) {
		enum key key = scan_key(s, &value);
		bool last = false;

		if (key == KEYS)
			break;
		end = *value == '"' ? quoted_end(value) : field_end(value);
		last = *end == '\0';
		*end = '\0';
		set_field(out, key, value);
		if (last)
			break;
		s = end + 2;
	}
	if (out->event == NULL && out->xfer == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "log line: neither event nor transfer");
	return 0;
}

/* Append ", key=value", with or without quotes. */
static int
add_text(struct buf *out, const char *key, const char *value, bool quote)
{
	size_t i = 0, start = 0;

	if (value == NULL)
		return 0;
	if (buf_printf(out, ", %s=%s", key, quote ? "\"" : "") < 0)
		return -1;
	start = out->len;
	if (buf_add_str(out, value) < 0 ||
	    (quote && buf_add_char(out, '"') < 0))
		return -1;
	for (i = start; i < out->len; i++)
		if ((unsigned char)out->data[i] < ' ' || out->data[i] == 0x7f)
			out->data[i] = '?';
	return 0;
}

static int
add_count(struct buf *out, const char *key, int64_t value)
{
	return value < 0 ? 0 : buf_printf(out, ", %s=%" PRId64, key, value);
}

static int
add_amount(struct buf *out, const char *key, double value)
{
	return value < 0 ? 0 : buf_printf(out, ", %s=%f", key, value);
}

int
log_format(const struct log_line *l, struct buf *out)
{
	char stamp[INDEX_STAMP_SIZE];
	const size_t start = out->len;

	if (buf_printf(out, "%s:", index_stamp(stamp, l->time)) < 0)
		goto fail;
	if (add_text(out, "host", l->host, false) < 0 ||
	    add_text(out, "jobid", l->job_id, false) < 0 ||
	    add_text(out, "event", l->event, false) < 0 ||
	    add_text(out, "xfer", l->xfer, false) < 0 ||
	    add_count(out, "procs", l->procs) < 0 ||
	    add_count(out, "nodes", l->nodes) < 0 ||
	    add_text(out, "note", l->note, true) < 0 ||
	    add_text(out, "from", l->from, false) < 0 ||
	    add_text(out, "to", l->to, false) < 0 ||
	    add_count(out, "dset", l->dataset) < 0 ||
	    add_text(out, "name", l->name, true) < 0 ||
	    add_amount(out, "secs", l->secs) < 0 ||
	    add_amount(out, "bytes", l->bytes) < 0 ||
	    add_count(out, "files", l->files) < 0)
		goto fail;
	/* Remove the comma of the first field: only a blank follows the
	 * stamp. */
	if (out->len > start + STAMP_BYTES + 1)
		memmove(out->data + start + STAMP_BYTES + 1,
			out->data + start + STAMP_BYTES + 2,
			--out->len - (start + STAMP_BYTES + 1));
	if (out->len - start > LOG_LINE_MAX)
		out->len = start + LOG_LINE_MAX;
	if (buf_add_char(out, '\n') < 0)
		goto fail;
	return 0;
fail:
	out->len = start;
	if (out->data != NULL)
		out->data[start] = '\0';
	return -1;
}
