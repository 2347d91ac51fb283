/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict.c - what came of a scavenge, or is to be expected of it.
 */
#include <inttypes.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "scavenge/scavenge.h"
#include "site/job.h"
#include "str.h"

struct outlook {
	int64_t newest, saved; /* checkpoints; 0: none */
	size_t outputs, outputs_lost;
};

/* As a run would go: what is not lost now will be saved. */
static struct outlook
look_ahead(const struct scavenge *s)
{
	struct outlook o = { .newest = s->newest };
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
	const struct outlook o = look_ahead(s);

	if (s->stopped)
		return STATUS_FAILED;
	if (o.outputs_lost > 0 || (o.newest > 0 && o.saved == 0))
		return STATUS_LOST;
	return o.saved < o.newest ? STATUS_DAMAGED : STATUS_OK;
}

static int
add_name(const struct scavenge *s, int64_t id, struct buf *out)
{
	const struct salvage_dataset *d = salvage_find(&s->plan, id);
	char name[256];

	if (d == NULL || d->name == NULL)
		return buf_printf(out, "dataset %" PRId64, id);
	return buf_printf(out, "%s (dataset %" PRId64 ")",
			  str_printable(name, sizeof(name), d->name), id);
}

int
scavenge_verdict(const struct scavenge *s, struct buf *out, struct error *err)
{
	const struct outlook o = look_ahead(s);
	const struct salvage_dataset *d = salvage_find(&s->plan, o.saved);
	const bool done = d != NULL && d->done;
	char bytes[32];
	int rc = 0;

	if (s->plan.count == 0) {
		rc = buf_add_str(out, "nothing to save: the caches hold no "
				      "dataset");
	} else if (o.newest == 0) {
		rc = buf_add_str(out, "no checkpoint in the caches");
	} else if (o.saved == 0) {
		rc = buf_add_str(out, "LOST: no checkpoint of the caches can "
				      "be saved");
	} else {
		rc = buf_add_str(out, o.saved == o.newest
					      ? "newest checkpoint "
					      : "OLDER checkpoint ");
		rc = rc < 0 ? rc : add_name(s, o.saved, out);
		rc = rc < 0 ? rc
			    : buf_add_str(out,
					  done ? " is saved" : " can be saved");
		if (rc == 0 && o.saved != o.newest) {
			rc = buf_add_str(out, ", newest ");
			rc = rc < 0 ? rc : add_name(s, o.newest, out);
			rc = rc < 0 ? rc : buf_add_str(out, " is not");
		}
	}
	if (rc == 0 && o.outputs > 0)
		rc = buf_printf(out, "; output: %zu of %zu %s",
				o.outputs - o.outputs_lost, o.outputs,
				o.outputs_lost > 0 ? "only, the rest is LOST"
						   : "saved or to be saved");
	if (rc == 0 && s->saved_now > 0)
		rc = buf_printf(out, "; %s copied",
				str_bytes(bytes, sizeof(bytes), s->copied));
	if (rc == 0 && s->dead > 0)
		rc = buf_printf(out, "; %zu of %zu nodes dead", s->dead,
				s->job->nodes.count);
	return rc < 0 ? error_no_memory(err) : 0;
}

static const char *
node_state_name(enum scavenge_node_state state)
{
	static const char *const names[] = { "skipped", "alive", "dead",
					     "odd" };

	return names[state];
}

struct json *
scavenge_json(const struct scavenge *s)
{
	static const char *const phases[] = { "ask", "copy", "build", "pack" };
	struct json *j = json_new_object(), *list = json_new_array();
	struct json *times = json_new_object();
	const struct outlook o = look_ahead(s);
	struct buf text = BUF_INIT;

	json_set_str(j, "prefix", s->job->prefix);
	json_set_str(j, "job", s->job->id);
	for (size_t i = 0; i < s->job->nodes.count; i++) {
		const struct scavenge_node *n = &s->nodes[i];
		struct json *k = json_new_object();

		json_set_str(k, "name", n->name ? n->name : "");
		json_set_str(k, "state", node_state_name(n->state));
		if (n->why != NULL)
			json_set_str(k, "why", n->why);
		else
			json_set_null(k, "why");
		json_push(list, k);
	}
	json_set(j, "nodes", list);
	json_set(j, "datasets", salvage_json(&s->plan, s->o->rate));
	json_set_i64(j, "newest", o.newest);
	json_set_i64(j, "saved", o.saved);
	json_set_u64(j, "outputs", o.outputs);
	json_set_u64(j, "outputs_lost", o.outputs_lost);
	json_set_u64(j, "bytes_copied", s->copied);
	for (int i = 0; i < SCAVENGE_PHASES; i++)
		json_set_u64(times, phases[i],
			     (uint64_t)(s->seconds[i] * 1000 + 0.5));
	json_set(j, "milliseconds", times);
	if (scavenge_verdict(s, &text, NULL) == 0)
		json_set_str(j, "verdict", text.data);
	json_set_i64(j, "status", scavenge_status(s));
	buf_free(&text);
	return j;
}
