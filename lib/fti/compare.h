/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h - the bytes in which the variables of two checkpoint files differ,
 * whatever their forms.
 *
 * Memory does not grow with the data, nor with the number of differences.
 */
#ifndef FTI_COMPARE_H
#define FTI_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fti_content;
struct fti_content_var;
struct fti_range;
struct work;

/* Ranges with at most so many equal bytes between them are one. */
#define FTI_COMPARE_GAP 16

struct fti_difference {
	int32_t id;
	const struct fti_content_var *a, *b; /* NULL: only the other has it */
	/* Of the bytes that both have. */
	uint64_t bytes;	 /* that differ */
	uint64_t ranges; /* that contain them */
};

struct fti_compare_calls {
	/* Is the variable to be compared? */
	bool (*wanted)(void *arg, int32_t id);
	/* A range that differs, in the order of variables and bytes. */
	void (*range)(void *arg, const struct fti_difference *d,
		      const struct fti_range *r);
	/* A variable of any file, after its ranges. */
	void (*variable)(void *arg, const struct fti_difference *d);
	void *arg;
};

/* Compare all variables, by id.  ERROR_CORRUPT: an id occurs twice. */
int fti_compare(const struct fti_content *a, const struct fti_content *b,
		const struct fti_compare_calls *calls, const struct work *w,
		struct error *err);

#endif /* FTI_COMPARE_H */
