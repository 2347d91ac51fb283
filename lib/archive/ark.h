/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ark.h - archives of files as streams, by libarchive: written by `export`,
 * read by `import`.
 *
 * Archives are written as pax, which plain tar reads, to a descriptor that need
 * not be seekable, one entry after the other.  They keep the owner, both times
 * to the nanosecond (before 1970 to the second), names of any bytes and files
 * of any size.
 *
 * Any kind of tar is read, too, from a file or a pipe.  An archive is
 * untrusted: a path that is not clean, a link or a device is ERROR_UNSAFE; a
 * broken format or an early end is ERROR_CORRUPT.  Only xz has checksums of the
 * data, so compare checksums of your own (manifest.h).
 *
 * Memory does not grow with what an archive holds or claims to hold.  The bytes
 * read to find the next entry are limited by ARK_HEADER_MAX.
 *
 * Paths are bytes; the locale of the process does not matter.
 *
 * Errors name the archive and the entry.  After an error, the struct can only
 * be freed.  Threads: one struct, one thread.
 */
#ifndef ARCHIVE_ARK_H
#define ARCHIVE_ARK_H

#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct error;
struct ark_out; /* opaque: an archive being written */
struct ark_in;	/* opaque: an archive being read */

/* Limits of the bytes before an entry and of its size; more is
 * ERROR_CORRUPT. */
#define ARK_HEADER_MAX (INT64_C(4) << 20)
#define ARK_SIZE_MAX (INT64_C(1) << 50)

/* Compression of a whole archive. */
enum ark_filter { ARK_NONE, ARK_GZIP, ARK_XZ, ARK_ZSTD };

/* Parse "none", "gzip", "xz" or "zstd".  ERROR_USAGE lists these words. */
int ark_filter_parse(const char *text, enum ark_filter *out, struct error *err);
const char *ark_filter_name(enum ark_filter filter);

/*
 * Check that an archive can hold a file of this name and size, before the first
 * file is written; ark_out_begin() checks again.  ERROR_USAGE gives the reason;
 * ERROR_UNSAFE: the path is not clean.
 */
int ark_fits(const char *path, uint64_t size, struct error *err);

/* An archive that is not compressed has whole records of so many bytes, and
 * ends with ARK_END bytes.  Its entries take ark_bound() bytes at most. */
#define ARK_RECORD ((size_t)10240)
#define ARK_END 1024
uint64_t ark_bound(const char *path, uint64_t size);

/* --- Writing --- */

/*
 * Start an archive on the descriptor `fd`, which remains the caller's; `name`
 * is for messages.  A wait for a pipe ends when `stop` is true (stream.h). xz
 * and zstd compress with `threads` threads, if libarchive supports that.  NULL:
 * ERROR_NOMEM, ERROR_SYSTEM.
 */
struct ark_out *ark_out_new(int fd, const char *name, enum ark_filter filter,
			    unsigned threads, bool (*stop)(void),
			    struct error *err);

/* Free.  An archive that was not closed stays unfinished. */
void ark_out_free(struct ark_out *out);

/*
 * Write one entry: begin, all of its `size` bytes in any number of pieces (of
 * less than 2 GiB: some encoders count in 32 bits), end.
 * The permissions, owner and times of `attr` are stored as far as they are set.
 * A directory, which has no data, comes after the files in it, so that its time
 * and mode last.
 */
enum ark_kind { ARK_FILE, ARK_DIR };
int ark_out_begin(struct ark_out *out, enum ark_kind kind, const char *path,
		  uint64_t size, const struct attr *attr, struct error *err);
int ark_out_data(struct ark_out *out, const void *data, size_t len,
		 struct error *err);
int ark_out_end(struct ark_out *out, struct error *err);

/*
 * Complete the archive, of *bytes; without this call it is not readable.  All
 * bytes have then been accepted by write(2), but not synced.  ERROR_SYSTEM:
 * errnum is ENOSPC for a full disk, EPIPE for a closed pipe (if SIGPIPE is
 * ignored).
 */
int ark_out_close(struct ark_out *out, uint64_t *bytes, struct error *err);

/* --- Reading --- */

struct ark_entry {
	const char *path; /* clean and relative; borrowed until the next call */
	enum ark_kind kind;
	/* Those that the archive gives; mode 0: unknown.  If it has one time
	 * only, both are set to it.  A file has a size. */
	struct attr attr;
};

/*
 * Open the archive that starts at the offset of `fd`. The descriptor remains
 * the caller's; its offset is undefined afterwards.  A wait for a pipe ends
 * when `stop` is true (stream.h).  The compression is detected.  NULL:
 * ERROR_CORRUPT (no known archive), ERROR_USAGE (a compression that libarchive
 * lacks), ERROR_SYSTEM, ERROR_NOMEM.
 */
struct ark_in *ark_in_new(int fd, const char *name, bool (*stop)(void),
			  struct error *err);
void ark_in_free(struct ark_in *in);

/*
 * Read the next entry.  Returns 1; 0 at the end; or -1.  Before the end is
 * reported, all input has been read and decompressed without an error (a pipe
 * is read up to its end).  "./" before a path is removed; an entry "./" is
 * skipped.
 */
int ark_in_next(struct ark_in *in, struct ark_entry *out, struct error *err);

/* Read the next `room` bytes of the current entry; *got is less only at its
 * end.  Bytes not read are skipped by ark_in_next(). */
int ark_in_read(struct ark_in *in, void *to, size_t room, size_t *got,
		struct error *err);

#endif /* ARCHIVE_ARK_H */
