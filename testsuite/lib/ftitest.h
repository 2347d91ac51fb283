/* SPDX-License-Identifier: BSD-3-Clause */
/* ftitest.h - shared by the tests of files of FTI. */
#ifndef FTITEST_H
#define FTITEST_H

#include "fti/check.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/write.h"
#include "scratch.h"

/* `size` bytes in memory, borrowed. */
void fti_source_memory(struct fti_source *s, const void *data, uint64_t size,
		       const char *name);

/* fti_posix_read() of bytes. */
struct fti_posix *fti_posix_parse(const char *name, const void *data,
				  size_t len, struct error *err);

/* Metadata of checkpoint 3 of two ranks, and the bytes of their files. */
#define FTIBYTES_DATA0 "abcdefghij"
#define FTIBYTES_DATA1 "0123456789"
#define FTIBYTES_FILE(rank, sum) \
	"[" rank "]\nckpt_file_name = Ckpt3-Rank" rank ".fti\n" \
	"ckpt_file_size = 10\nckpt_file_maxs = 10\nckpt_checksum = " sum "\n" \
	"var0_id = 1\nvar0_size = 4\nvar1_id = 7\nvar1_size = 6\n"
#define FTIBYTES_META \
	"[ckpt_info]\nckpt_type = full\nckpt_id = 3\n" FTIBYTES_FILE( \
		"0", "a925576942e94b2ef57a066101b48876") \
		FTIBYTES_FILE("1", "781e5e245d69b566979b86e28d23f2c7")

/* The variable, or NULL. */
const struct fti_content_var *fti_content_var(const struct fti_content *c,
					      int32_t id);

/* Plan all files, and write them; with work.dry_run only plan. */
int fti_write(const struct fti_job *jobs, size_t count, const struct work *w,
	      struct error *err);

/* A file, read and checked with its data. */
struct ftitest {
	char *path;
	struct fti_source source;
	struct fti_checked checked;
	struct fti_content content; /* empty if the file is not usable */
};

void ftitest_open(struct ftitest *t, const char *path);
void ftitest_close(struct ftitest *t);

struct buf;
struct fti_draft;
struct fti_raw;

/* Write a file of checkpoint 1 of these variables, with so much room, to `name`
 * below puttest_root. */
int ftitest_pack(const struct fti_raw *raw, size_t count, unsigned room,
		 enum fti_layout layout, const char *name, struct error *err);

/* The file that the draft describes, in memory; its sums are made here, by the
 * rules of fti-format(5). */
void ftitest_image(struct fti_draft *d, struct buf *out);

#endif /* FTITEST_H */
