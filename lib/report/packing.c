/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/packing.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "report/hint.h"
#include "str.h"

#define SHOWN_MAX 512

/* Segments named in a line of text; the others are counted. */
#define SEGS_SHOWN 4

int
report_remedy(struct error *err, struct catalogue *c, int64_t id)
{
	static const char *const commands[] = {
		[REMEDY_INDEX] = "scr_index --build",
		[REMEDY_REBUILD] = "scr_rebuild",
		[REMEDY_CHECKSUMS] = "scr_rebuild --checksums",
		[REMEDY_VERIFY] = "scr_container verify",
	};
	const struct error why = *err;
	char next[1024];

	/* A dataset of SCR 1.1.8 may have no number, which all remedies
	 * need. */
	if (why.remedy == REMEDY_NONE || id <= 0)
		return -1;
	return error_as(
		err, &why, "%s: %s", why.text,
		report_next(commands[why.remedy], c, id, next, sizeof(next)));
}

/* --- The map --- */

/* Bytes of each container that belong to files, and how many files. */
struct fill {
	uint64_t bytes;
	size_t files;
};

static struct fill *
measure(const struct segmap *m)
{
	struct fill *fill = mem_calloc(m->ncontainers + 1, sizeof(*fill));

	for (size_t i = 0; fill != NULL && i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		uint32_t last = UINT32_MAX;

		for (size_t k = 0; k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			fill[s->container].bytes += s->len;
			fill[s->container].files += s->container != last;
			last = s->container;
		}
	}
	return fill;
}

static void
file_line(const struct segmap *m, const struct segmap_file *f, struct buf *out)
{
	char shown[SHOWN_MAX];

	buf_printf(out, "%8" PRIu32 " %12" PRIu64 "  %s", f->rank, f->size,
		   str_printable(shown, sizeof(shown), f->path));
	for (size_t k = 0; k < f->nsegs && k < SEGS_SHOWN; k++) {
		const struct segment *s = &m->segs[f->first + k];

		buf_printf(out, "%s%s %" PRIu64 "+%" PRIu64,
			   k == 0 ? "  " : ", ",
			   str_printable(shown, sizeof(shown),
					 m->containers[s->container].name),
			   s->off, s->len);
	}
	if (f->nsegs > SEGS_SHOWN)
		buf_printf(out, ", and %zu more", f->nsegs - SEGS_SHOWN);
	buf_add_char(out, '\n');
}

static void
container_lines(const struct segmap *m, struct buf *out)
{
	struct fill *fill = measure(m);
	char shown[SHOWN_MAX];

	out->failed |= fill == NULL;
	for (size_t i = 0; fill != NULL && i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		uint64_t size = c->has_size ? c->size : c->used;
		uint64_t room =
			m->container_size > size ? m->container_size : size;

		buf_printf(out, "%12" PRIu64 " %12" PRIu64 " %5.1f %% %7zu",
			   size, fill[i].bytes,
			   room > 0 ? 100.0 * (double)fill[i].bytes /
					      (double)room
				    : 0.0,
			   fill[i].files);
		if (c->has_crc)
			buf_printf(out, "  0x%08" PRIx32, c->crc);
		else
			buf_add_str(out, "           -");
		buf_printf(out, "  %s\n",
			   str_printable(shown, sizeof(shown), c->name));
	}
	mem_free(fill);
}

static void
head_line(const struct packed *p, struct buf *out)
{
	const struct segmap *m = &p->map;
	char shown[SHOWN_MAX];

	buf_printf(out, "%s: %zu %s",
		   str_printable(shown, sizeof(shown), p->name),
		   str_count(m->nfiles, "file"));
	if (!p->is_packed) {
		buf_add_str(out, ", not packed\n");
		return;
	}
	buf_printf(out, ", %s in %zu %s", str_size(m->bytes),
		   str_count(m->ncontainers, "container"));
	if (m->container_size > 0)
		buf_printf(out, " of %s", str_size(m->container_size));
	if (p->hidden.nfiles > 0)
		buf_printf(out, "; %zu metadata files packed too",
			   p->hidden.nfiles);
	if (m->moving)
		buf_add_str(out, "; a repack was interrupted: run it again");
	buf_add_char(out, '\n');
}

void
report_map_text(const struct packed *p, size_t most, struct buf *out)
{
	const struct segmap *m = &p->map;
	const size_t shown = most > 0 && most < m->nfiles ? most : m->nfiles;

	head_line(p, out);
	buf_add_str(out, "\n    RANK         SIZE  FILE  WHERE\n");
	for (size_t i = 0; i < shown; i++)
		file_line(m, &m->files[i], out);
	if (shown < m->nfiles)
		buf_printf(out, "... and %zu more (-v: all)\n",
			   m->nfiles - shown);
	if (p->is_packed) {
		buf_add_str(out, "\n        SIZE         USED  FILL   FILES"
				 "       CRC-32  CONTAINER\n");
		container_lines(m, out);
	}
	if (p->hidden.red.ncontainers > 0)
		container_lines(&p->hidden.red, out);
}

static struct json *
file_json(const struct segmap *m, const struct segmap_file *f)
{
	struct json *j = json_new_object(), *segs = json_new_array();

	json_set_str(j, "path", f->path);
	json_set_u64(j, "rank", f->rank);
	if (f->has_size || f->nsegs > 0)
		json_set_u64(j, "size", f->size);
	if (f->has_crc)
		json_set_u64(j, "crc", f->crc);
	for (size_t k = 0; k < f->nsegs; k++) {
		const struct segment *s = &m->segs[f->first + k];
		struct json *e = json_new_object();

		json_set_str(e, "container", m->containers[s->container].name);
		json_set_u64(e, "offset", s->off);
		json_set_u64(e, "length", s->len);
		json_push(segs, e);
	}
	json_set(j, "segments", segs);
	return j;
}

static void
push_containers(struct json *list, const struct segmap *m)
{
	struct fill *fill = measure(m);

	for (size_t i = 0; fill != NULL && i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		struct json *e = json_new_object();

		json_set_str(e, "name", c->name);
		json_set_u64(e, "size", c->has_size ? c->size : c->used);
		json_set_u64(e, "used", fill[i].bytes);
		json_set_u64(e, "files", fill[i].files);
		if (c->has_crc)
			json_set_u64(e, "crc", c->crc);
		json_push(list, e);
	}
	mem_free(fill);
}

struct json *
report_map_json(const struct packed *p)
{
	struct json *j = json_new_object(), *files = json_new_array();
	struct json *containers = json_new_array();

	json_set_str(j, "name", p->name);
	if (p->id > 0)
		json_set_i64(j, "id", p->id);
	json_set_i64(j, "layout", p->layout);
	json_set_bool(j, "packed", p->is_packed);
	json_set_u64(j, "bytes", p->map.bytes);
	if (p->map.container_size > 0)
		json_set_u64(j, "container_size", p->map.container_size);
	json_set_str(j, "directory", p->root);
	json_set_u64(j, "packed_metadata", p->hidden.nfiles);
	json_set_bool(j, "moving", p->map.moving);
	for (size_t i = 0; i < p->map.nfiles; i++)
		json_push(files, file_json(&p->map, &p->map.files[i]));
	push_containers(containers, &p->map);
	push_containers(containers, &p->hidden.red);
	json_set(j, "files", files);
	json_set(j, "containers", containers);
	return j;
}

/* --- Results --- */

static const char *
spare_text(enum pack_spare spare)
{
	switch (spare) {
	case PACK_SPARE_ONE:
		return "; could lose any 1 container";
	case PACK_SPARE_MAYBE:
		return "; losing one container may lose the dataset: members "
		       "of a set share it (--with-redundancy spreads them)";
	case PACK_SPARE_NONE:
		return "; losing one container loses the dataset";
	case PACK_SPARE_UNKNOWN:
		break;
	}
	return "";
}

void
report_pack_text(const struct packed *p, const char *done,
		 const struct pack_result *r, bool dry_run, struct buf *out)
{
	char shown[SHOWN_MAX];

	buf_printf(out, "%s: ", str_printable(shown, sizeof(shown), p->name));
	if (r->done_before)
		buf_printf(out, "is %s already", done);
	else
		buf_printf(out, "%s%zu %s (%s), %zu %s%s %s",
			   dry_run ? "would be " : "",
			   str_count(r->files, "file"), str_size(r->bytes),
			   str_count(r->containers, "container"),
			   r->hidden > 0 ? ", metadata too" : "", done);
	if (r->adopted > 0)
		buf_printf(out, ", %zu were there already", r->adopted);
	if (r->removed > 0 && r->done_before)
		buf_printf(out, ", %zu left-over %s removed",
			   str_count(r->removed, "file"));
	if (r->left > 0)
		buf_printf(out, ", %zu %s left, not the same as what is packed",
			   str_count(r->left, "file"));
	buf_add_str(out, spare_text(r->spare));
	buf_add_char(out, '\n');
}

struct json *
report_pack_json(const struct pack_result *r)
{
	struct json *j = json_new_object();

	json_set_u64(j, "files", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_u64(j, "containers", r->containers);
	json_set_u64(j, "metadata_files", r->hidden);
	json_set_u64(j, "adopted", r->adopted);
	json_set_u64(j, "removed", r->removed);
	json_set_u64(j, "left", r->left);
	json_set_u64(j, "shared", r->shared);
	json_set_bool(j, "done_before", r->done_before);
	if (r->spare != PACK_SPARE_UNKNOWN)
		json_set_u64(j, "could_lose", r->spare == PACK_SPARE_ONE);
	return j;
}

void
report_health_text(const struct packed *p, const struct packed_health *h,
		   struct buf *out)
{
	char shown[SHOWN_MAX];

	buf_printf(out, "%s: ", str_printable(shown, sizeof(shown), p->name));
	if (packed_healthy(h))
		buf_printf(out, "whole: %zu %s, %s, %zu %s%s\n",
			   str_count(h->files, "file"), str_size(h->bytes),
			   str_count(h->containers, "container"),
			   h->no_sum > 0 ? "; not all have checksums" : "");
	else if (h->unread > 0 && h->files_bad + h->containers_bad == 0)
		buf_printf(out, "unknown: %zu of %zu %s could not be read\n",
			   h->unread, str_count(h->files, "file"));
	else
		buf_printf(out,
			   "damaged: %zu of %zu %s, %zu of %zu %s, %zu %s of "
			   "the map\n",
			   h->files_bad, str_count(h->files, "file"),
			   h->containers_bad,
			   str_count(h->containers, "container"),
			   str_count(h->map_flaws + h->map_damaged, "flaw"));
}

struct json *
report_health_json(const struct packed_health *h)
{
	struct json *j = json_new_object();

	json_set_u64(j, "files", h->files);
	json_set_u64(j, "files_unread", h->unread);
	json_set_u64(j, "files_bad", h->files_bad);
	json_set_u64(j, "redundancy_files_bad", h->hidden_bad);
	json_set_u64(j, "containers", h->containers);
	json_set_u64(j, "containers_bad", h->containers_bad);
	json_set_u64(j, "map_flaws", h->map_flaws);
	json_set_u64(j, "without_checksum", h->no_sum);
	json_set_u64(j, "bytes", h->bytes);
	json_set_u64(j, "bytes_read", h->read);
	return j;
}

struct json *
report_archive_json(const struct export_result *r)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", r->id);
	json_set_u64(j, "files", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_u64(j, "metadata_files", r->hidden);
	return j;
}
