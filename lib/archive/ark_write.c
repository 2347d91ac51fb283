/* SPDX-License-Identifier: BSD-3-Clause */
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive/ark.h"
#include "archive/ark_impl.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "stream.h"

static const char *const filters[] = {
	[ARK_NONE] = "none",
	[ARK_GZIP] = "gzip",
	[ARK_XZ] = "xz",
	[ARK_ZSTD] = "zstd",
};

#define FILTERS (sizeof(filters) / sizeof(filters[0]))

int
ark_filter_parse(const char *text, enum ark_filter *out, struct error *err)
{
	for (size_t i = 0; i < FILTERS; i++)
		if (str_eq(text, filters[i])) {
			*out = (enum ark_filter)i;
			return 0;
		}
	return error_set(
		err, ERROR_USAGE,
		"\"%s\": unknown compression, expected none, gzip, xz or zstd",
		str_quoted(text));
}

const char *
ark_filter_name(enum ark_filter filter)
{
	return filters[filter];
}

int
ark_fits(const char *path, uint64_t size, struct error *err)
{
	const unsigned char *s = (const unsigned char *)path;

	if (!path_is_clean(path))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not a clean relative path", path);
	if (size > (uint64_t)ARK_SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "%s: %" PRIu64 " bytes: too large", path,
				 size);
	/* A surrogate pair encoded as two characters (CESU-8) is not UTF-8, but
	 * libarchive would convert it to one character, and so change the
	 * name. */
	for (; *s != '\0'; s++)
		if (s[0] == 0xed && (s[1] & 0xf0) == 0xa0 && s[2] != '\0' &&
		    s[3] == 0xed && (s[4] & 0xf0) == 0xb0)
			return error_set(
				err, ERROR_USAGE,
				"%s: an archive cannot hold it: the name has "
				"surrogates, which is not UTF-8",
				path);
	return 0;
}

uint64_t
ark_bound(const char *path, uint64_t size)
{
	/* Of the extended header: its records except the path. */
	const uint64_t records = 384, block = 512;

	return 2 * block +
	       (strlen(path) + records + block - 1) / block * block +
	       (size + block - 1) / block * block;
}

/* --- Shared with reading --- */

locale_t
ark_locale(bool utf8)
{
	static const char *const names[] = { "C.UTF-8", "en_US.UTF-8", "C" };
	locale_t got = (locale_t)0;
	size_t i = 0;

	for (i = utf8 ? 0 : 2;
	     i < sizeof(names) / sizeof(names[0]) && got == (locale_t)0; i++)
		got = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
	if (got == (locale_t)0)
		mem_missing();
	return got;
}

int
ark_failed(struct error *err, enum error_kind kind, const char *name,
	   const char *path, int errnum, const char *reason)
{
	char text[256];
	size_t len = 0;

	if (errnum == ENOMEM)
		return error_set(err, ERROR_NOMEM, "%s: %s%sout of memory",
				 name, path ? path : "", path ? ": " : "");
	snprintf(text, sizeof(text), "%s",
		 reason != NULL ? reason : "unreadable");
	/* Like our messages: first letter in lower case, no newline. */
	for (len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	if (islower((unsigned char)text[0] ? (unsigned char)text[1] : 0))
		text[0] = (char)tolower((unsigned char)text[0]);
	return error_set(err, kind, "%s: %s%s%s", name, path ? path : "",
			 path ? ": " : "", text);
}

/* --- Writing --- */

struct ark_out {
	int fd;
	char *name;
	bool (*stop)(void);
	struct archive *archive;
	struct archive_entry *entry;
	locale_t locale;
	char *path; /* of the entry */
	bool in_entry;

	/*
	 * libarchive must not see a failed write, or it would leak memory.  So
	 * errnum is checked after each call.  Once `abandoned`, nothing is
	 * written any more.
	 */
	uint64_t bytes; /* written */
	int errnum;
	bool abandoned;
};

/* Write libarchive's output, which comes in blocks. */
static la_ssize_t
take_output(struct archive *a, void *arg, const void *data, size_t len)
{
	struct ark_out *out = arg;
	const unsigned char *from = data;
	size_t left = len;

	(void)a;
	if (out->abandoned) /* else the file would be padded with zeros */
		return -1;
	while (left > 0 && out->errnum == 0) {
		ssize_t n = stream_write(out->fd, from, left, out->stop);

		if (n < 0) {
			out->errnum = errno;
			break;
		}
		from += n;
		left -= (size_t)n;
		out->bytes += (uint64_t)n;
	}
	return (la_ssize_t)len;
}

/* --- Errors --- */

/* Fail, with the error of the descriptor or of libarchive. */
static int
failed(struct ark_out *out, struct error *err)
{
	const char *path = out->in_entry ? out->path : NULL;
	const int errnum = archive_errno(out->archive);

	if (out->errnum != 0) {
		errno = out->errnum;
		return error_sys(err, "%s: %s", out->name,
				 errno == EINTR ? "stopped" : "cannot write");
	}
	ark_failed(err, ERROR_SYSTEM, out->name, path, errnum,
		   archive_error_string(out->archive));
	if (err != NULL && err->kind == ERROR_SYSTEM && errnum > 0)
		err->errnum = errnum;
	return -1;
}

/* --- Create and free --- */

struct ark_out *
ark_out_new(int fd, const char *name, enum ark_filter filter, unsigned threads,
	    bool (*stop)(void), struct error *err)
{
	struct ark_out *out = mem_calloc(1, sizeof(*out));
	const char *module = ark_filter_name(filter);
	struct archive *a = archive_write_new();
	locale_t old;
	int rc = -1;

	out->fd = fd;
	out->stop = stop;
	out->name = mem_strdup(name);
	out->archive = a;
	out->entry = archive_entry_new();
	out->locale = ark_locale(true);
	if (a == NULL || out->entry == NULL)
		mem_missing();
	old = uselocale(out->locale);
	rc = archive_write_set_format_pax(a);
	if (rc == ARCHIVE_OK && filter != ARK_NONE)
		rc = archive_write_add_filter_by_name(a, module);
	if (rc == ARCHIVE_OK) {
		/* Without a time stamp, equal files give equal archives. */
		if (filter == ARK_GZIP)
			(void)archive_write_set_filter_option(
				a, module, "timestamp", NULL);
		/* A library built without threads refuses the option: then use
		 * one thread. */
		else if (threads > 1 && filter != ARK_NONE)
			(void)archive_write_set_filter_option(
				a, module, "threads",
				str_printed(16, "%u", threads));
		archive_write_set_bytes_per_block(a, ARK_BLOCK);
		/* A tar file has whole records; compressed data end
		 * anywhere. */
		archive_write_set_bytes_in_last_block(
			a, filter == ARK_NONE ? ARK_RECORD : 1);
		rc = archive_write_open(a, out, NULL, take_output, NULL);
	}
	uselocale(old);
	if (rc == ARCHIVE_OK)
		return out;
	failed(out, err);
	ark_out_free(out);
	return NULL;
}

void
ark_out_free(struct ark_out *out)
{
	if (out == NULL)
		return;
	out->abandoned = true;
	archive_entry_free(out->entry);
	archive_write_free(out->archive);
	if (out->locale != (locale_t)0)
		freelocale(out->locale);
	mem_free(out->path);
	mem_free(out->name);
	mem_free(out);
}

/* --- Entries --- */

/* Limit a time to what the format can hold; false: it cannot be stored. */
static bool
fit_time(struct timespec *ts)
{
	const int64_t last = INT64_C(1) << 56, seconds = ts->tv_sec;

	/* Programs disagree on the meaning of -1.2: 1.2 or 0.8 seconds before
	 * 1970. */
	if (seconds < 0 || ts->tv_nsec < 0 || ts->tv_nsec > 999999999)
		ts->tv_nsec = 0;
	return seconds >= -last && seconds <= last;
}

int
ark_out_begin(struct ark_out *out, enum ark_kind kind, const char *path,
	      uint64_t size, const struct attr *attr, struct error *err)
{
	struct archive_entry *e = out->entry;
	struct timespec mtime = attr->mtime, atime = attr->atime;
	locale_t old;
	int rc = -1;

	if (ark_fits(path, size, err) < 0)
		return -1;
	mem_free(out->path);
	out->path = mem_strdup(path);
	out->in_entry = true;
	old = uselocale(out->locale);
	archive_entry_clear(e);
	archive_entry_set_pathname(e, out->path);
	archive_entry_set_size(e, (la_int64_t)size);
	archive_entry_set_filetype(e, kind == ARK_DIR ? AE_IFDIR : AE_IFREG);
	archive_entry_set_nlink(e, 1);
	archive_entry_set_perm(e, attr->mode != 0   ? attr->mode & 07777
				  : kind == ARK_DIR ? 0755
						    : 0644);
	archive_entry_set_uid(e, attr->has_owner ? attr->uid : geteuid());
	archive_entry_set_gid(e, attr->has_owner ? attr->gid : getegid());
	if (attr->has_times && fit_time(&mtime))
		archive_entry_set_mtime(e, mtime.tv_sec, mtime.tv_nsec);
	if (attr->has_times && fit_time(&atime))
		archive_entry_set_atime(e, atime.tv_sec, atime.tv_nsec);
	rc = archive_write_header(out->archive, out->entry);
	uselocale(old);
	/* The warning says that the name is not UTF-8; it is stored
	 * unchanged. */
	if (rc == ARCHIVE_WARN)
		rc = ARCHIVE_OK;
	return rc == ARCHIVE_OK && out->errnum == 0 ? 0 : failed(out, err);
}

int
ark_out_data(struct ark_out *out, const void *data, size_t len,
	     struct error *err)
{
	return archive_write_data(out->archive, data, len) == (la_ssize_t)len &&
			       out->errnum == 0
		       ? 0
		       : failed(out, err);
}

int
ark_out_end(struct ark_out *out, struct error *err)
{
	if (archive_write_finish_entry(out->archive) != ARCHIVE_OK ||
	    out->errnum != 0)
		return failed(out, err);
	out->in_entry = false;
	return 0;
}

int
ark_out_close(struct ark_out *out, uint64_t *bytes, struct error *err)
{
	locale_t old;
	int rc = -1;

	old = uselocale(out->locale);
	rc = archive_write_close(out->archive);
	uselocale(old);
	*bytes = out->bytes;
	return rc == ARCHIVE_OK && out->errnum == 0 ? 0 : failed(out, err);
}
