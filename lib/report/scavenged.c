/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage_text.c - a plan for people, and for programs.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "scavenge/salvage.h"
#include "str.h"

static const char *
kind(const struct salvage_dataset *d)
{
	return d->ckpt && d->output ? "both"
	       : d->output	    ? "output"
				    : "checkpoint";
}

static const char *
state(const struct salvage_dataset *d)
{
	return d->done ? "saved" : salvage_state_name(d->state);
}

/* "3 s", "2 min", "1.5 h"; nothing where it cannot be told. */
static const char *
time_text(uint64_t bytes, double rate, char *to, size_t size)
{
	double secs = rate > 0 ? (double)bytes / rate : -1;

	if (secs < 0)
		snprintf(to, size, "?");
	else if (secs < 120)
		snprintf(to, size, "%.0f s", secs);
	else if (secs < 7200)
		snprintf(to, size, "%.0f min", secs / 60);
	else
		snprintf(to, size, "%.1f h", secs / 3600);
	return to;
}

static int
row(const struct salvage_dataset *d, double rate, struct buf *out)
{
	char bytes[32], secs[32], name[64];
	uint64_t todo = d->done ? 0 : d->bytes;

	if (buf_printf(out, "%4" PRId64 " %-11s %-10s", d->id, state(d),
		       kind(d)) < 0)
		return -1;
	if (d->world < 0)
		snprintf(name, sizeof(name), "?");
	else
		snprintf(name, sizeof(name), "%" PRId64 "/%" PRId64,
			 d->world - d->missing, d->world);
	if (buf_printf(out, " %13s %11s %7s  ", name,
		       str_bytes(bytes, sizeof(bytes), todo),
		       time_text(todo, rate, secs, sizeof(secs))) < 0)
		return -1;
	if (d->name == NULL)
		snprintf(name, sizeof(name), "-");
	else
		str_printable(name, sizeof(name), d->name);
	if (buf_add_str(out, name) < 0)
		return -1;
	if (!d->done && d->why != NULL &&
	    buf_printf(out, "\n     %s", d->why) < 0)
		return -1;
	return buf_add_char(out, '\n');
}

int
salvage_text(const struct salvage *p, double rate, struct buf *out,
	     struct error *err)
{
	if (buf_printf(out, "%4s %-11s %-10s %13s %11s %7s  %s\n", "DSET",
		       "STATE", "KIND", "RANKS", "TO COPY", "TIME", "NAME") < 0)
		return error_no_memory(err);
	for (size_t i = p->count; i-- > 0;)
		if (row(&p->datasets[i], rate, out) < 0)
			return error_no_memory(err);
	return 0;
}

struct json *
salvage_json(const struct salvage *p, double rate)
{
	struct json *all = json_new_array();

	if (all == NULL)
		return NULL;
	for (size_t i = 0; i < p->count; i++) {
		const struct salvage_dataset *d = &p->datasets[i];
		struct json *j = json_new_object();
		uint64_t bytes = d->done ? 0 : d->bytes;

		json_set_i64(j, "id", d->id);
		if (d->name != NULL)
			json_set_str(j, "name", d->name);
		else
			json_set_null(j, "name");
		json_set_bool(j, "checkpoint", d->ckpt);
		json_set_bool(j, "output", d->output);
		json_set_bool(j, "bypass", d->bypass);
		json_set_str(j, "state", state(d));
		json_set_i64(j, "ranks", d->world);
		json_set_u64(j, "ranks_missing", d->missing);
		json_set_u64(j, "files", d->done ? 0 : d->files);
		json_set_u64(j, "bytes", bytes);
		if (rate > 0)
			json_set_u64(j, "seconds",
				     (uint64_t)((double)bytes / rate + 0.5));
		else
			json_set_null(j, "seconds");
		if (d->why != NULL)
			json_set_str(j, "why", d->why);
		else
			json_set_null(j, "why");
		json_push(all, j);
	}
	return all;
}
