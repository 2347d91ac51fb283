/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planat.h - plan_prefix() for a prefix given by its path.
 */
#ifndef PLANAT_H
#define PLANAT_H

#include <stdint.h>

#include "rescue/plan.h"

struct plan *plan_at(const char *prefix, int64_t id,
		     const struct plan_options *o, struct error *err);

#endif /* PLANAT_H */
