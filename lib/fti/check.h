/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - compare the data of checkpoint files with their sums, and judge the
 * files (fti-format(5)).
 *
 * All files are checked together: each container is a task of its own, so that
 * all threads have work even if there is only one file.  A sum over a whole
 * file, as A and B have it, is one task, and so is a POSIX file.
 */
#ifndef FTI_CHECK_H
#define FTI_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct fti_file;
struct fti_posix_file;
struct fti_source;
struct work;

enum fti_verdict {
	FTI_INTACT,
	FTI_REFUSED, /* intact, but FTI refuses it: can be repaired */
	FTI_DAMAGED,
	FTI_FOREIGN, /* not an FTI-FF file */
	FTI_UNREAD,  /* could not be read: unknown */
};

struct fti_checked {
	/* It gets the findings.  Of POSIX files, fti_check() makes it for these
	 * alone; `block` of one that concerns a layer is its number. */
	struct fti_file *file;
	const struct fti_source *source;
	/* POSIX: what the source should be, or of which it is the parity.
	 * NULL: FTI-FF. */
	const struct fti_posix_file *posix;
	bool parity;
	/* Results of fti_check(). */
	enum fti_verdict verdict;
	bool data_read; /* else only the records */
	bool data_good; /* sums prove all data, whatever else is wrong */
	bool open;	/* else: no sum disproves them */
	/* Its bytes are those that FTI wrote, although FTI may refuse them. */
	bool exact;
	/* POSIX: the sum of the file, if that was read and has no layers. */
	char sum[HASH_MD5_TEXT];
	/* For each container the sum of its bytes in use, as they are now. */
	unsigned char (*sums)[HASH_MD5_SIZE];
	char *unread; /* why it cannot be read, or NULL */
	/* The sum over the file in A and B and of the body of a parity file. */
	unsigned char whole[HASH_MD5_SIZE];
};

/* "intact", "intact, but FTI refuses it", "damaged" ... */
extern const char *const fti_verdict_names[];

/* Check `count` files; the caller sets `file` or `posix`, and `source` of each,
 * and `parity` of POSIX files.  Without
 * `data` the stored sums of containers are believed, and only records are
 * compared with each other.  A file that cannot be read is no error.  -1:
 * stopped, or no MD5.  Call fti_checked_fini() for each file afterwards,
 * also after a failure. */
int fti_check(struct fti_checked *files, size_t count, bool data,
	      const struct work *w, struct error *err);
void fti_checked_fini(struct fti_checked *c);

/* So many digits of sums of different bytes are never the same. */
#define FTI_DIGITS_ALIKE 24

/* Can repair (draft.h) make a file of it that FTI takes, as far as data were
 * read? */
bool fti_repairable(const struct fti_checked *c);

/* Did fti_check() prove all data of the file and its structure, except fields
 * that can be computed from others?  -1: ERROR_CORRUPT, ERROR_SYSTEM (it could
 * not be read).  A file written from unproven data would look intact. */
int fti_proven(const struct fti_checked *c, struct error *err);

/* The checksum of a file, whose data were read: of C to F as FTI's reader
 * computes it, over the sums of the containers with content; or as its writer
 * does, over all.  Text of HASH_MD5_TEXT bytes. */
void fti_checksum(const struct fti_checked *c, bool writer, struct hash *h,
		  char *to);

#endif /* FTI_CHECK_H */
