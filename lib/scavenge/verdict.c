/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict.c - the result of a scavenge, or its forecast.
 */
#include "error.h"
#include "scavenge/scavenge.h"

struct scavenge_outlook
scavenge_outlook(const struct scavenge *s)
{
	struct scavenge_outlook o = { .newest = s->newest };
	int64_t limit = INT64_MAX;

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];
		bool good = d->done || d->state != SALVAGE_LOST;

		if (d->output) {
			o.outputs++;
			if (!good && limit == INT64_MAX)
				limit = d->id;
			o.outputs_lost += !d->done && d->id >= limit;
		}
		if (d->ckpt && good && d->id < limit && d->id > o.saved)
			o.saved = d->id;
	}
	return o;
}

int
scavenge_status(const struct scavenge *s)
{
	const struct scavenge_outlook o = scavenge_outlook(s);

	if (s->stopped)
		return STATUS_FAILED;
	if (o.outputs_lost > 0 || (o.newest > 0 && o.saved == 0))
		return STATUS_LOST;
	return o.saved < o.newest ? STATUS_DAMAGED : STATUS_OK;
}
