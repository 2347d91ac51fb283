/* SPDX-License-Identifier: BSD-3-Clause */
/* condition_next.h - the command to run next for a dataset that was checked. */
#ifndef REPORT_CONDITION_NEXT_H
#define REPORT_CONDITION_NEXT_H

struct condition;
struct overview;

/* Set h->next; "": there is nothing to do. */
void condition_next(const struct overview *s, struct condition *h);

#endif /* REPORT_CONDITION_NEXT_H */
