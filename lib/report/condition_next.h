/* SPDX-License-Identifier: BSD-3-Clause */
/* condition_next.h - the command to run next for a dataset that was checked. */
#ifndef REPORT_CONDITION_NEXT_H
#define REPORT_CONDITION_NEXT_H

#include <stdint.h>

struct catalogue_options;
struct condition;
struct overview;

/* Set h->next; "": there is nothing to do. */
void condition_next(const struct overview *s, struct condition *h);

/* If the index is damaged, and nothing else is to be done, building `whole`, a
 * dataset that is whole, or 0, writes it again. */
void condition_next_remade(const struct overview *s, int64_t whole,
			   struct condition *h);

/* Set h->next of a dataset in caches, checked with the options `o`. */
void condition_next_group(struct condition *h,
			  const struct catalogue_options *o);

#endif /* REPORT_CONDITION_NEXT_H */
