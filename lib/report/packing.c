/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/packing.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "json.h"
#include "report/containers.h"
#include "str.h"

/* Segments named in a line of text; the others are counted. */
#define SEGS_SHOWN 4

/* --- The map --- */

/* The columns of the files; a new one needs a line here and a cell in
 * file_cells(). */
const struct table_column report_map_columns[] = {
	{ "rank", ">RANK" },  { "size", ">SIZE" },   { "file", "FILE" },
	{ "where", "WHERE" }, { "crc32", "CRC-32" }, { NULL, NULL },
};

/* The files as a table, at most `most` (0: all). */
static void
file_table(const struct segmap *m, const struct columns *how, size_t most,
	   unsigned indent, struct buf *out)
{
	const struct columns usual = {
		{ 0, 1, 2, 3 }, 4, how->sort, how->descending
	};
	struct buf where = BUF_INIT;
	struct table t;

	table_start_named(&t, report_map_columns);
	for (size_t i = 0;
	     i < m->nfiles && (most == 0 || i < most || how->sort > 0); i++) {
		const struct segmap_file *f = &m->files[i];

		table_cells(&t, "%" PRIu32 "\t%" PRIu64, f->rank, f->size);
		table_name(&t, f->path);
		/* Its containers, and its place in them. */
		buf_clear(&where);
		for (size_t k = 0; k < f->nsegs && k < SEGS_SHOWN; k++) {
			const struct segment *s = &m->segs[f->first + k];

			buf_printf(&where, "%s%s %" PRIu64 "+%" PRIu64,
				   k == 0 ? "" : ", ",
				   str_shown(m->containers[s->container].name),
				   s->off, s->len);
		}
		if (f->nsegs > SEGS_SHOWN)
			buf_printf(&where, ", and %zu more",
				   f->nsegs - SEGS_SHOWN);
		table_cell(&t, "%s", where.len > 0 ? where.data : "");
		if (f->has_crc)
			table_cell(&t, "0x%08" PRIx32, f->crc);
		else
			table_cell(&t, "%s", "");
	}
	buf_free(&where);
	table_choose(&t, how->count > 0 ? how : &usual, most);
	table_end(&t, indent, out);
}

static void
add_containers(const struct segmap *m, struct table *t)
{
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		uint64_t size = c->has_size ? c->size : c->used;
		uint64_t room =
			m->container_size > size ? m->container_size : size;

		table_cells(t, "%" PRIu64 "\t%" PRIu64 "\t%.1f %%\t%zu\t%s",
			    size, c->bytes,
			    room > 0 ? 100.0 * (double)c->bytes / (double)room
				     : 0.0,
			    c->files,
			    c->has_crc ? str_printed(16, "0x%08" PRIx32, c->crc)
				       : "-");
		table_name(t, c->name);
	}
}

void
report_map_text(const struct packed *p, const struct columns *how, size_t most,
		struct buf *out)
{
	const struct segmap *m = &p->map;
	const size_t shown = most > 0 && most < m->nfiles ? most : m->nfiles;
	struct table t;

	if (how->count > 0) {
		file_table(m, how, 0, 0, out);
		return;
	}
	buf_printf(out, "%s: %zu %s", str_shown(p->name),
		   str_count(m->nfiles, "file"));
	if (p->is_packed)
		buf_printf(out, ", %s in %zu %s", str_size(m->bytes),
			   str_count(m->ncontainers, "container"));
	else
		buf_add_str(out, ", not packed");
	if (p->is_packed && m->container_size > 0)
		buf_printf(out, " of %s", str_size(m->container_size));
	if (p->is_packed && p->hidden.map.nfiles > 0)
		buf_printf(out, "; %zu metadata files packed too",
			   p->hidden.map.nfiles);
	if (p->is_packed && m->moving)
		buf_add_str(out, "; a repack was interrupted: run it again");
	buf_add_str(out, "\n\n");
	file_table(m, how, most, 2, out);
	if (shown < m->nfiles)
		buf_printf(out, "... and %zu more (-v: all)\n",
			   m->nfiles - shown);
	if (!p->is_packed)
		return;
	buf_add_char(out, '\n');
	table_start(&t, ">SIZE|>USED|>FILL|>FILES|>CRC-32|CONTAINER");
	add_containers(m, &t);
	add_containers(&p->hidden.map, &t);
	table_end(&t, 2, out);
}

static void
push_containers(struct json *list, const struct segmap *m)
{
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		struct json *e = json_new_object();

		json_set_str(e, "name", c->name);
		json_set_u64(e, "size", c->has_size ? c->size : c->used);
		json_set_u64(e, "used_bytes", c->bytes);
		json_set_u64(e, "file_count", c->files);
		if (c->has_crc)
			report_set_crc(e, c->crc);
		json_push(list, e);
	}
}

void
report_set_packed(struct json *j, const struct packed *p)
{
	if (p->id > 0)
		json_set_i64(j, "id", p->id);
	json_set_str(j, "name", p->name);
}

struct json *
report_map_json(const struct packed *p)
{
	struct json *j = json_new_object(), *files = json_new_array();
	struct json *containers = json_new_array();

	report_set_packed(j, p);
	json_set_i64(j, "layout", p->layout);
	json_set_bool(j, "packed", p->is_packed);
	json_set_u64(j, "bytes", p->map.bytes);
	if (p->map.container_size > 0)
		json_set_u64(j, "container_size", p->map.container_size);
	json_set_str(j, "directory", p->root);
	json_set_u64(j, "packed_metadata_file_count", p->hidden.map.nfiles);
	json_set_bool(j, "moving", p->map.moving);
	for (size_t i = 0; i < p->map.nfiles; i++)
		json_push(files, report_packed_file_json(
					 &p->map, &p->map.files[i], NULL));
	push_containers(containers, &p->map);
	push_containers(containers, &p->hidden.map);
	json_set(j, "packed_files", files);
	json_set(j, "containers", containers);
	return j;
}

/* --- Results --- */

/* `before`: the dataset is not packed yet. */
static const char *
spare_text(const struct pack_result *r, bool before)
{
	switch (r->spare) {
	case PACK_SPARE_ONE:
		return "; tolerates the loss of any 1 container";
	case PACK_SPARE_MAYBE:
		break;
	case PACK_SPARE_NONE:
		return "; losing one container loses the dataset";
	case PACK_SPARE_UNKNOWN:
		return "";
	}
	/* Members are kept apart only if the redundancy is packed, too, and a
	 * packed dataset is not packed again. */
	if (before)
		return "; losing one container may lose the dataset: members "
		       "of a set share it (pack --with-redundancy --order node "
		       "spreads them)";
	if (r->hidden > 0)
		return "; losing one container may lose the dataset: members "
		       "of a set share it (repack --order node spreads them)";
	return "; losing one container may lose the dataset: members of a set "
	       "share it (unpack, then pack --with-redundancy spreads them)";
}

void
report_pack_text(const struct packed *p, const char *done,
		 const struct pack_result *r, bool dry_run, struct buf *out)
{
	buf_printf(out, "%s: ", str_shown(p->name));
	if (r->done_before && str_eq(done, "repacked"))
		buf_printf(out, "its %zu %s this size and order already",
			   r->containers,
			   r->containers == 1 ? "container has"
					      : "containers have");
	else if (r->done_before)
		buf_printf(out, "is %s already", done);
	else
		buf_printf(out, "%zu %s (%s) %s%s %s %zu %s%s",
			   str_count(r->files, "file"), str_size(r->bytes),
			   dry_run ? "would be " : "", done,
			   str_eq(done, "unpacked") ? "from" : "into",
			   str_count(r->containers, "container"),
			   r->hidden > 0 && !str_eq(done, "repacked")
				   ? ", metadata too"
				   : "");
	if (r->done_before && r->removed + r->left == 0)
		buf_add_str(out, ": nothing to do");
	if (r->adopted > 0)
		buf_printf(out, ", %zu were present already", r->adopted);
	if (r->removed > 0 && r->done_before)
		buf_printf(out, ", %zu left-over %s %sremoved",
			   str_count(r->removed, "file"),
			   dry_run ? "would be " : "");
	if (r->left > 0)
		buf_printf(out,
			   ", %zu %s kept that differ from the packed ones",
			   str_count(r->left, "file"));
	buf_add_str(out, spare_text(r, dry_run && str_eq(done, "packed")));
	buf_add_char(out, '\n');
}

struct json *
report_pack_json(const struct packed *p, const struct pack_result *r)
{
	struct json *j = json_new_object();

	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_u64(j, "container_count", r->containers);
	json_set_u64(j, "metadata_file_count", r->hidden);
	json_set_u64(j, "adopted", r->adopted);
	json_set_u64(j, "removed", r->removed);
	json_set_u64(j, "left", r->left);
	json_set_u64(j, "shared", r->shared);
	json_set_bool(j, "done_before", r->done_before);
	if (r->spare != PACK_SPARE_UNKNOWN)
		json_set_u64(j, "tolerance_left", r->spare == PACK_SPARE_ONE);
	report_set_packed(j, p);
	return j;
}

void
report_health_text(const struct packed *p, const struct packed_health *h,
		   int status, struct buf *out)
{
	const size_t flaws = h->map_flaws + h->map_damaged;
	const char *outlook =
		status == STATUS_LOST ? "redundancy cannot repair the data"
		: h->files_bad == 0   ? "no data are missing"
		: status == STATUS_FAILED
			? "whether the data can be repaired is unknown"
			: "redundancy can repair the data";

	buf_printf(out, "%s: ", str_shown(p->name));
	if (packed_healthy(h)) {
		buf_printf(out, "whole: %zu %s, %s, ",
			   str_count(h->files, "file"), str_size(h->bytes));
		if (p->is_packed)
			buf_printf(out, "%zu %s",
				   str_count(h->containers, "container"));
		else
			buf_add_str(out, "not packed");
		buf_printf(out, "%s\n",
			   h->no_sum > 0 ? "; not all have checksums" : "");
	} else if (h->unread > 0 && h->files_bad + h->containers_bad == 0) {
		buf_printf(out, "unknown: %zu of %zu %s could not be read\n",
			   h->unread, str_count(h->files, "file"));
	} else {
		buf_printf(out, "%s: %zu of %zu %s",
			   status == STATUS_LOST ? "lost" : "damaged",
			   h->files_bad, str_count(h->files, "file"));
		if (p->is_packed)
			buf_printf(out, " and %zu of %zu %s", h->containers_bad,
				   str_count(h->containers, "container"));
		if (flaws > 0)
			buf_printf(out, "; the map has %zu %s",
				   str_count(flaws, "flaw"));
		buf_printf(out, "; %s\n", outlook);
	}
}

struct json *
report_health_json(const struct packed *p, const struct packed_health *h)
{
	struct json *j = json_new_object();

	json_set_u64(j, "file_count", h->files);
	json_set_u64(j, "files_unread", h->unread);
	json_set_u64(j, "files_bad", h->files_bad);
	json_set_u64(j, "redundancy_files_bad", h->hidden_bad);
	json_set_u64(j, "container_count", h->containers);
	json_set_u64(j, "containers_bad", h->containers_bad);
	json_set_u64(j, "map_flaws", h->map_flaws);
	json_set_u64(j, "files_without_checksum", h->no_sum);
	json_set_u64(j, "bytes", h->bytes);
	json_set_u64(j, "bytes_read", h->read);
	report_set_packed(j, p);
	return j;
}

struct json *
report_archive_json(const struct export_result *r)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", r->id);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_u64(j, "metadata_file_count", r->hidden);
	return j;
}

/* --- A build --- */

struct json *
report_dataset_new(int64_t id, const char *name)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", id);
	json_set_str(j, "name", name != NULL && name[0] == '\0' ? NULL : name);
	return j;
}

void
report_push_problem(struct json *list, const char *text)
{
	struct json *j = json_new_object();

	json_set_str(j, "problem", text);
	json_push(list, j);
}

void
report_build_text(int64_t id, const struct build_result *r, struct buf *out)
{
	const struct rebuild_result *b = &r->rebuild;

	buf_printf(out, "dataset %" PRId64 " (%s): %zu %s of %zu %s, %s", id,
		   str_shown(r->name != NULL ? r->name : "-"),
		   str_count(r->files, "file"), str_count(r->ranks, "rank"),
		   str_size(r->bytes));
	if (b->files + b->maps + b->redundancy > 0)
		buf_printf(out, "; %s %zu %s, %zu %s and %zu redundancy %s",
			   r->dry_run ? "to rebuild are" : "rebuilt",
			   str_count(b->files, "file"),
			   str_count(b->maps, "filemap"),
			   str_count(b->redundancy, "file"));
	buf_add_str(out, r->dry_run ? ": can be added to the index"
				    : ": in the index");
}

struct json *
report_build_json(int64_t id, const struct build_result *r)
{
	struct json *j = report_dataset_new(id, r->name);

	json_set_u64(j, "rank_count", r->ranks);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_bool(j, "descriptor_guessed", r->descriptor_guessed);
	json_set_bool(j, "dry_run", r->dry_run);
	json_set(j, "rebuilt", rebuild_json(&r->rebuild));
	return j;
}
