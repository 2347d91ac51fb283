/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ftibytes.h - FTI's files from bytes in memory, and what tests look up in
 * them.
 */
#ifndef FTIBYTES_H
#define FTIBYTES_H

#include <stddef.h>
#include <stdint.h>

#include "fti/content.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/write.h"

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

#endif /* FTIBYTES_H */
