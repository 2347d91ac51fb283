/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ark.h - archives of files as streams, by libarchive: what `export` writes
 * and `import` reads.
 *
 * Written are pax archives, which plain tar reads: to a descriptor that need
 * not seek, one entry after the other.  They keep the owner, both times to the
 * nanosecond (in seconds before 1970), names of any bytes and files of any
 * size.
 *
 * Read are also ustar, GNU tar, all kinds of cpio, zip and 7zip, from a file or
 * from a pipe (but 7zip, which has its directory at the end).  What is read is
 * untrusted: a path that is not clean, a link, a device is ERROR_UNSAFE; what
 * breaks the format, or ends early, is ERROR_CORRUPT.  Only zip, 7zip and xz
 * have checksums of the data, so whoever wants to be sure compares sums of his
 * own (manifest.h).
 *
 * Memory does not grow with what an archive holds or claims to hold; what is
 * read to find the next entry is bounded (ARK_HEADER_MAX, for the directory of
 * a zip archive ARK_DIRECTORY_MAX).  The exceptions are libarchive's: the
 * directory of a 7zip archive may unfold to 100 million entries, and zip and
 * 7zip may name a dictionary of 4 GiB.  A command that reads such archives
 * from strangers limits its address space.
 *
 * Paths are bytes; the locale of the process does not matter.  Where the
 * system has no UTF-8 locale, 7zip is limited to names in ASCII.
 *
 * Errors name the archive and the entry.  After one, all that is left to do
 * is to free.  Threads: one struct, one thread.
 */
#ifndef CONTAINER_ARK_H
#define CONTAINER_ARK_H

#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct error;
struct ark_out; /* opaque: an archive that is written */
struct ark_in;	/* opaque: an archive that is read */

/* More before an entry than this is ERROR_CORRUPT, as is a larger entry. */
#define ARK_HEADER_MAX (INT64_C(4) << 20)
#define ARK_DIRECTORY_MAX (INT64_C(128) << 20)
#define ARK_SIZE_MAX (INT64_C(1) << 50)

/* How a whole archive is compressed. */
enum ark_filter { ARK_NONE, ARK_GZIP, ARK_XZ, ARK_ZSTD };

/* "none", "gzip", "xz", "zstd" to the value, or ERROR_USAGE with that list. */
int ark_filter_parse(const char *text, enum ark_filter *out, struct error *err);
const char *ark_filter_name(enum ark_filter filter);

/*
 * Can an archive hold a file of that name and size?  If not: ERROR_USAGE with
 * the reason; a path that is not clean is ERROR_UNSAFE.  For asking about all
 * files before the first is written; ark_out_begin() asks again.
 */
int ark_fits(const char *path, uint64_t size, struct error *err);

/* --- Writing --- */

/*
 * Start an archive on the descriptor `fd`, which stays the caller's; `name` is
 * for messages.  xz and zstd compress with `threads` threads, where libarchive
 * can.  NULL: ERROR_NOMEM, ERROR_SYSTEM.
 */
struct ark_out *ark_out_new(int fd, const char *name, enum ark_filter filter,
			    unsigned threads, struct error *err);

/* Free.  An archive that was not closed stays as it is: unfinished. */
void ark_out_free(struct ark_out *out);

/*
 * One regular file: begin, all of its `size` bytes in any number of pieces,
 * end.  Of `attr` the permissions, owner and times are taken, as far as they
 * are set.  Fewer or more bytes than `size` are ERROR_CORRUPT: the file has
 * changed.  A wrong order of calls is ERROR_USAGE.
 */
int ark_out_begin(struct ark_out *out, const char *path, uint64_t size,
		  const struct attr *attr, struct error *err);
int ark_out_data(struct ark_out *out, const void *data, size_t len,
		 struct error *err);
int ark_out_end(struct ark_out *out, struct error *err);

/*
 * Complete the archive: without this nobody can read it.  All has been
 * accepted by write(2) then, but not synced.  A full disk is ERROR_SYSTEM
 * with errnum ENOSPC, a closed pipe EPIPE (where SIGPIPE is ignored).
 */
int ark_out_close(struct ark_out *out, struct error *err);

/* Bytes written to the descriptor so far. */
uint64_t ark_out_bytes(const struct ark_out *out);

/* --- Reading --- */

enum ark_kind { ARK_FILE, ARK_DIR };

struct ark_entry {
	const char *path; /* clean and relative; borrowed until the next one */
	enum ark_kind kind;
	/*
	 * What the archive knows.  No has_size: only reading tells (zip from
	 * a pipe).  Without has_owner the mode may still be set (7zip); 0: it
	 * is not known.  A format with one time gives it as both.
	 */
	struct attr attr;
};

/*
 * Read an archive from where `fd` stands; it stays the caller's, and where it
 * stands after that is undefined.  Format and compression are found out, but
 * not those of a zip archive without any file.  NULL: ERROR_CORRUPT (no such
 * archive), ERROR_USAGE (7zip from a pipe), ERROR_SYSTEM, ERROR_NOMEM.
 */
struct ark_in *ark_in_new(int fd, const char *name, struct error *err);
void ark_in_free(struct ark_in *in);

/*
 * The next entry: 1, 0 at the end, or -1.  The end is reported once all input
 * was read and compression had no complaint (a pipe is read up to its end).
 * "./" before a path, and an entry "./", are passed over.
 */
int ark_in_next(struct ark_in *in, struct ark_entry *out, struct error *err);

/* Up to `room` bytes of the current entry, in order; *got = 0 at its end.
 * What is not read is skipped by ark_in_next(). */
int ark_in_read(struct ark_in *in, void *to, size_t room, size_t *got,
		struct error *err);

#endif /* CONTAINER_ARK_H */
