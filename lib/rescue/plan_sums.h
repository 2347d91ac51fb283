/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_sums.h - checksums for the plan of a dataset on the prefix: from
 * rank2file, from the lists that were written when files were copied from the
 * caches (meta/copied.h), and from the files themselves.
 *
 * LLNL's filemaps have no checksums (formats.md 4.2).  Ours are recorded in
 * rank2file, where LLNL's readers only use the paths.
 */
#ifndef RESCUE_PLAN_SUMS_H
#define RESCUE_PLAN_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct plan;
struct work;

/* The checksum of one file, to be recorded in rank2file. */
struct plan_sum {
	bool known;
	bool carried; /* taken from an earlier record, not compared yet */
	bool wanted;  /* plan_sums_read() reads the file */
	uint32_t crc;
};

/* Return an array with the checksum that rank2file has of each file of the
 * plan, for mem_free(). */
struct plan_sum *plan_sums(struct plan *p, struct error *err);

/*
 * If copied_R.scr in the dataset's directory records checksums, use those of
 * files that have not changed since they were copied.  Then files that no
 * scavenge has copied, and that nothing else confirms, are marked wrong.
 */
int plan_sums_copied(struct plan *p, struct plan_sum *sums, struct error *err);

/* The content of `file` was wrong when it was copied: forget the checksum of
 * the copy, and remove the copied_R.scr that records it. */
void plan_sums_forget(struct plan *p, size_t file, struct plan_sum *sum);

/* Read the files that are wanted and not packed.  A file with a wrong checksum
 * is marked in the plan; if the files were `rebuilt`, it is ERROR_DAMAGED. */
int plan_sums_read(struct plan *p, struct plan_sum *sums, bool rebuilt,
		   const struct work *work, struct error *err);

/* Read the present files whose checksum the plan has not compared: of those
 * without one it becomes known. */
int plan_sums_compare(struct plan *p, struct plan_sum *sums,
		      const struct work *work, struct error *err);

/* Is the checksum of each file known that is present and not packed?
 * PLAN_CHECKSUMS has compared it. */
bool plan_sums_all(const struct plan *p);

#endif /* RESCUE_PLAN_SUMS_H */
