/* SPDX-License-Identifier: BSD-3-Clause */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "archive/ark.h"
#include "archive/ark_impl.h"
#include "buf.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "stream.h"

/* The first bytes that tell a compression. */
#define MAGIC_LEN 6

/*
 * Bytes go from the descriptor through `filter` (NULL: not compressed) to
 * `archive`; `filter` is a libarchive reader of one file without format.
 * libarchive could do both in one reader.  Then nothing would limit the work
 * for a few compressed bytes that unfold to endless headers.
 */
struct ark_in {
	int fd;
	char *name;
	bool (*stop)(void);
	struct archive *filter;
	struct archive *archive;
	locale_t locale;
	bool in_entry;

	/* Buffer of the descriptor; `first` bytes were read before libarchive
	 * asked. */
	unsigned char *block;
	size_t first;

	/* First block of the filter, inspected but not yet passed to
	 * `archive`. */
	const void *ahead;
	size_t ahead_len;

	/* Bytes that `archive` may still read, and the reason why it got no
	 * more, reported after it has failed. */
	int64_t budget;
	struct error cause;

	struct buf path; /* path of the current entry */
	uint64_t size, done;
};

/* --- Errors --- */

/* Fail, with the error of `a` or of its input. */
static int
failed(struct ark_in *in, struct archive *a, struct error *err)
{
	const char *path = in->in_entry ? in->path.data : NULL;

	if (in->cause.kind != ERROR_NONE)
		return error_pass(err, &in->cause);
	return ark_failed(err, ERROR_CORRUPT, in->name, path, archive_errno(a),
			  archive_error_string(a));
}

/* The current entry is not acceptable. */
static int
refuse(struct ark_in *in, enum error_kind kind, const char *why,
       struct error *err)
{
	return error_set(err, kind, "%s: %s%s%s", in->name,
			 in->path.len > 0 ? in->path.data : "",
			 in->path.len > 0 ? ": " : "", why);
}

/* --- The descriptor --- */

/* Read the next bytes into the block after its first `have` bytes.  Returns
 * their number, 0 at the end, or -1 with the cause. */
static ssize_t
read_block(struct ark_in *in, size_t have)
{
	const ssize_t n = stream_read(in->fd, in->block + have,
				      ARK_BLOCK - have, in->stop);

	return n < 0 ? error_sys(&in->cause, "%s: %s", in->name,
				 errno == EINTR ? "stopped" : "cannot read")
		     : n;
}

/* Callback of `filter`: bytes of the descriptor. */
static la_ssize_t
give_raw(struct archive *a, void *arg, const void **data)
{
	struct ark_in *in = arg;
	size_t first = in->first;

	(void)a;
	*data = in->block;
	in->first = 0;
	return first > 0 ? (la_ssize_t)first : read_block(in, 0);
}

/* Decompressed bytes; 0 at the end, or -1 with the cause. */
static ssize_t
read_filter(struct ark_in *in, const void **data)
{
	struct error *cause = &in->cause;
	la_int64_t off = 0;
	size_t len = 0;
	int rc = ARCHIVE_OK;

	do {
		rc = archive_read_data_block(in->filter, data, &len, &off);
	} while (rc == ARCHIVE_OK && len == 0);
	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc == ARCHIVE_OK)
		return (ssize_t)len;
	if (cause->kind == ERROR_NONE)
		ark_failed(cause, ERROR_CORRUPT, in->name, NULL,
			   archive_errno(in->filter),
			   archive_error_string(in->filter));
	return -1;
}

/* Callback of `archive`: bytes of the archive. */
static la_ssize_t
give(struct archive *a, void *arg, const void **data)
{
	struct ark_in *in = arg;
	la_ssize_t n = -1;

	if (in->cause.kind != ERROR_NONE)
		return -1;
	if (in->budget <= 0)
		return error_set(&in->cause, ERROR_CORRUPT,
				 "%s: too many bytes before the next file",
				 in->name);
	if (in->filter == NULL) {
		n = give_raw(a, arg, data);
	} else if (in->ahead_len > 0) {
		n = (la_ssize_t)in->ahead_len;
		*data = in->ahead;
		in->ahead_len = 0;
	} else {
		n = read_filter(in, data);
	}
	if (n > 0)
		in->budget -= n;
	return n;
}

/* --- Opening --- */

/* The compression that begins with these bytes. */
static enum ark_filter
filter_of(const unsigned char *data, size_t len)
{
	static const struct {
		enum ark_filter filter;
		size_t len;
		const char *magic;
	} known[] = {
		{ ARK_GZIP, 2, "\x1f\x8b" },
		{ ARK_XZ, 6, "\xfd\x37zXZ\0" },
		{ ARK_ZSTD, 4, "\x28\xb5\x2f\xfd" },
	};

	/* An empty skippable frame: parallel compressors begin with one. */
	if (len >= 4 && (data[0] & 0xf0) == 0x50 &&
	    memcmp(data + 1, "\x2a\x4d\x18", 3) == 0)
		return ARK_ZSTD;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len >= known[i].len &&
		    memcmp(data, known[i].magic, known[i].len) == 0)
			return known[i].filter;
	return ARK_NONE;
}

/* Open a reader for the compression, up to its first block. */
static int
open_filter(struct ark_in *in, enum ark_filter filter, struct error *err)
{
	struct archive *f = archive_read_new();
	struct archive_entry *unused = NULL;
	ssize_t n = 0;
	int rc = ARCHIVE_FATAL;

	in->filter = f;
	if (f == NULL)
		mem_missing();
	/* ARCHIVE_OK if libarchive has the compression built in, without an
	 * outside program. */
	rc = filter == ARK_GZIP ? archive_read_support_filter_gzip(f)
	     : filter == ARK_XZ ? archive_read_support_filter_xz(f)
				: archive_read_support_filter_zstd(f);
	if (rc != ARCHIVE_OK)
		return error_set(err, ERROR_USAGE,
				 "%s: libarchive cannot undo this compression",
				 in->name);
	archive_read_support_format_raw(f);
	archive_read_support_format_empty(f);
	rc = archive_read_open(f, in, NULL, give_raw, NULL);
	if (rc == ARCHIVE_OK)
		rc = archive_read_next_header(f, &unused);
	if (rc == ARCHIVE_OK)
		n = read_filter(in, &in->ahead);
	if ((rc != ARCHIVE_OK && rc != ARCHIVE_EOF) || n < 0)
		return failed(in, f, err);
	in->ahead_len = (size_t)n;
	return 0;
}

struct ark_in *
ark_in_new(int fd, const char *name, bool (*stop)(void), struct error *err)
{
	struct ark_in *in = mem_calloc(1, sizeof(*in));
	enum ark_filter filter = ARK_NONE;
	struct archive *a = NULL;
	ssize_t n = 0;
	locale_t old;
	int rc = -1;

	in->fd = fd;
	in->stop = stop;
	in->name = mem_strdup(name);
	in->block = mem_alloc(1, ARK_BLOCK);
	/* Read the first bytes, and open the readers for their form. */
	do {
		n = read_block(in, in->first);
		in->first += n > 0 ? (size_t)n : 0;
	} while (n > 0 && in->first < MAGIC_LEN);
	if (n < 0) {
		error_pass(err, &in->cause);
		goto fail;
	}
	filter = filter_of(in->block, in->first);
	if (filter != ARK_NONE && open_filter(in, filter, err) < 0)
		goto fail;
	in->archive = a = archive_read_new();
	if (a == NULL)
		mem_missing();
	archive_read_support_format_tar(a);
	in->budget = ARK_HEADER_MAX;
	/* Not UTF-8: libarchive would compose accents; in "C" it keeps a name
	 * that it cannot convert. */
	in->locale = ark_locale(false);
	old = uselocale(in->locale);
	rc = archive_read_open(a, in, NULL, give, NULL);
	uselocale(old);
	if (rc == ARCHIVE_OK)
		return in;
	failed(in, a, err);
fail:
	ark_in_free(in);
	return NULL;
}

void
ark_in_free(struct ark_in *in)
{
	if (in == NULL)
		return;
	/* The archive reads from the filter, so free it first. */
	archive_read_free(in->archive);
	archive_read_free(in->filter);
	if (in->locale != (locale_t)0)
		freelocale(in->locale);
	buf_free(&in->path);
	mem_free(in->block);
	mem_free(in->name);
	mem_free(in);
}

/* --- Entries --- */

/* Set in->path to the cleaned path of `e`.  Returns 1; 0 if `e` is the root
 * directory; or -1. */
static int
take_path(struct ark_in *in, struct archive_entry *e, struct error *err)
{
	const char *path = archive_entry_pathname(e), *clean = path;
	const bool is_dir = archive_entry_filetype(e) == AE_IFDIR;
	size_t len = 0;

	buf_clear(&in->path);
	if (path == NULL)
		return refuse(in, ERROR_CORRUPT, "no name", err);
	while (clean[0] == '.' && clean[1] == '/')
		clean += 2;
	len = strlen(clean);
	if (is_dir && len > 0 && clean[len - 1] == '/')
		len--;
	else if (is_dir && (len == 0 || str_eq(clean, ".")))
		return 0;
	buf_add(&in->path, clean, len);
	if (path_is_clean(in->path.data))
		return 1;
	return error_set(err, ERROR_UNSAFE, "%s: %s: not a clean relative path",
			 in->name, path);
}

/* Accept only files and directories without links. */
static int
check_kind(struct ark_in *in, struct archive_entry *e, struct error *err)
{
	const mode_t type = archive_entry_filetype(e);

	if (archive_entry_hardlink(e) != NULL ||
	    archive_entry_symlink(e) != NULL || type == AE_IFLNK)
		return refuse(in, ERROR_UNSAFE, "a link", err);
	return type == AE_IFDIR || type == AE_IFREG
		       ? 0
		       : refuse(in, ERROR_UNSAFE,
				"neither a file nor a directory", err);
}

/* Make `e` the current entry.  Returns 1; 0 if it is skipped; or -1. */
static int
take_entry(struct ark_in *in, struct archive_entry *e, struct ark_entry *out,
	   struct error *err)
{
	const bool is_file = archive_entry_filetype(e) == AE_IFREG;
	const la_int64_t size = is_file ? archive_entry_size(e) : 0;
	const la_int64_t uid = archive_entry_uid(e), gid = archive_entry_gid(e);
	struct attr *to = &out->attr;
	int rc = take_path(in, e, err);

	if (rc <= 0)
		return rc;
	if (check_kind(in, e, err) < 0)
		return -1;
	if (size < 0 || size > ARK_SIZE_MAX)
		return refuse(in, ERROR_CORRUPT, "an impossible size", err);
	in->size = (uint64_t)size;
	in->done = 0;
	*out = (struct ark_entry){
		.path = in->path.data,
		.kind = is_file ? ARK_FILE : ARK_DIR,
		.attr = { .has_size = is_file, .size = in->size },
	};
	to->mode = archive_entry_mode(e);
	if (to->mode != 0 && uid >= 0 && uid <= UINT32_MAX && gid >= 0 &&
	    gid <= UINT32_MAX) {
		to->uid = (uint32_t)uid;
		to->gid = (uint32_t)gid;
		to->has_owner = true;
	}
	if (archive_entry_mtime_is_set(e)) {
		to->has_times = true;
		to->mtime.tv_sec = archive_entry_mtime(e);
		to->mtime.tv_nsec = archive_entry_mtime_nsec(e);
		to->atime = to->mtime;
		if (archive_entry_atime_is_set(e)) {
			to->atime.tv_sec = archive_entry_atime(e);
			to->atime.tv_nsec = archive_entry_atime_nsec(e);
		}
	}
	in->in_entry = true;
	return 1;
}

/* After the last entry, look for a late error of the archive or the
 * compression. */
static int
finish(struct ark_in *in, struct error *err)
{
	struct archive *a = in->archive;
	const void *data = NULL;
	ssize_t n = 0;

	/* A tar archive ends with blocks of zeros.  A missing end is the only
	 * sign that entries may be missing. */
	if (archive_filter_bytes(a, 0) == archive_read_header_position(a)) {
		error_set(&in->cause, ERROR_CORRUPT,
			  "%s: is cut off between two files", in->name);
		return failed(in, a, err);
	}
	do {
		n = in->filter != NULL ? read_filter(in, &data) : 0;
	} while (n > 0);
	while (n == 0 && (n = read_block(in, 0)) > 0)
		n = 0;
	return n < 0 ? failed(in, a, err) : 0;
}

int
ark_in_next(struct ark_in *in, struct ark_entry *out, struct error *err)
{
	struct archive *a = in->archive;
	struct archive_entry *e = NULL;
	const char *text = NULL;
	locale_t old;
	int rc = 0;

	old = uselocale(in->locale);
	do {
		in->budget = INT64_MAX;
		if (in->in_entry && archive_read_data_skip(a) < ARCHIVE_OK) {
			rc = failed(in, a, err);
			break;
		}
		in->in_entry = false;
		in->budget = ARK_HEADER_MAX;
		rc = archive_read_next_header(a, &e);
		in->budget = INT64_MAX;
		if (rc == ARCHIVE_EOF) {
			rc = finish(in, err);
			break;
		}
		/* Names that are not ASCII are kept as they are: no error. */
		text = archive_error_string(a);
		if (rc == ARCHIVE_OK ||
		    (rc == ARCHIVE_WARN && text != NULL &&
		     strstr(text, "converted from") != NULL))
			rc = take_entry(in, e, out, err);
		else
			rc = failed(in, a, err);
	} while (rc == 0);
	uselocale(old);
	return rc;
}

int
ark_in_read(struct ark_in *in, void *to, size_t room, size_t *got,
	    struct error *err)
{
	la_ssize_t n = 0;

	*got = 0;
	n = archive_read_data(in->archive, to, room);
	if (n < 0)
		return failed(in, in->archive, err);
	in->done += (uint64_t)n;
	if (in->done > in->size || (n == 0 && room > 0 && in->done < in->size))
		return refuse(in, ERROR_CORRUPT,
			      "fewer or more bytes than its size", err);
	*got = (size_t)n;
	return 0;
}
