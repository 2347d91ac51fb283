/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_check.c - check that a packed dataset is whole: first the map, then
 * the sizes of containers, last every byte.  One pass over the containers
 * computes the checksums of both files and containers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/transfer.h"
#include "work.h"

struct checker {
	const struct packed *p;
	const struct segmap *m; /* map of the files; or, */
	bool red;		/* if `red`, of metadata */
	bool *bad;		/* by file of `m` */
	size_t files_bad;
	const struct packed_look *look;
	struct packed_health *out;
	struct packed_flaw flaw; /* what the next flaw is about */
	bool *container_bad;
	struct pathcache *dirs; /* parents of unpacked files */
	struct arena *arena;
};

void
packed_health_free(struct packed_health *h)
{
	mem_free(h->bad);
	h->bad = NULL;
}

__attribute__((format(printf, 4, 5))) static void
say(struct checker *c, size_t file, size_t container, const char *fmt, ...)
{
	struct packed_flaw flaw = c->flaw;
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (file != SIZE_MAX && !c->bad[file]) {
		c->bad[file] = true;
		c->files_bad++;
	}
	if (container != SIZE_MAX && !c->container_bad[container]) {
		c->container_bad[container] = true;
		c->out->containers_bad++;
	}
	if (c->look->flaw == NULL)
		return;
	flaw.text = text;
	flaw.red = c->red;
	flaw.file = file;
	flaw.container = container;
	c->look->flaw(c->look->arg, &flaw);
}

/* --- The map --- */

static int
report_map_flaw(void *arg, const struct segmap_finding *f)
{
	struct checker *c = arg;
	const bool gap = f->flaw == SEGMAP_GAP;
	char text[ERROR_TEXT_MAX];

	/* Gaps are expected where files have replaced packed redundancy. */
	if (gap && c->red)
		return 0;
	c->out->map_flaws++;
	c->flaw.finding = f;
	segmap_flaw_text(c->m, f, text, sizeof(text));
	say(c, gap ? SIZE_MAX : f->file, SIZE_MAX, "%s", text);
	if (!gap && f->other != SIZE_MAX && !c->bad[f->other]) {
		c->bad[f->other] = true;
		c->files_bad++;
	}
	return 0;
}

/* --- Sizes --- */

/* Check an unpacked file: its existence and size.  A missing file with a
 * recorded size of 0 is no damage in a packed dataset. */
static int
check_plain(struct checker *c, size_t i, struct error *err)
{
	const struct segmap_file *f = &c->p->map.files[i];
	struct error why = ERROR_INIT;
	struct stat st;

	if (pathcache_stat(c->dirs, f->path, &st, &why) < 0) {
		if (why.kind == ERROR_ABSENT && c->p->is_packed &&
		    f->has_size && f->size == 0)
			return 0;
		if (why.kind != ERROR_ABSENT && why.kind != ERROR_UNSAFE &&
		    why.errnum != ENOTDIR)
			return error_pass(err, &why);
		say(c, i, SIZE_MAX, "%s (rank %" PRIu32 "): %s",
		    str_shown(f->path), f->rank,
		    why.kind == ERROR_UNSAFE ? "leaves the prefix" : "missing");
		return 0;
	}
	if (!f->has_size)
		c->out->bytes += (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode))
		say(c, i, SIZE_MAX, "%s (rank %" PRIu32 "): not a file",
		    str_shown(f->path), f->rank);
	else if (f->has_size && (uint64_t)st.st_size != f->size)
		say(c, i, SIZE_MAX,
		    "%s (rank %" PRIu32 "): %" PRIu64
		    " bytes long, should be %" PRIu64,
		    str_shown(f->path), f->rank, (uint64_t)st.st_size, f->size);
	return 0;
}

/* --- Checksums --- */

/* Were the bytes of the file read?  Unpacked files without a recorded checksum
 * are not. */
static bool
is_summed(const struct segmap_file *f)
{
	return f->nsegs > 0 || (f->size > 0 && f->has_crc);
}

/* Add the checksum of `part`, which lies at `off` in `whole`. */
static void
add_sum(struct stripe_sum *whole, const struct stripe_sum *part, uint64_t off)
{
	uint64_t end = off + part->size;

	if (end <= whole->size)
		whole->crc ^= crc_shift(part->crc, whole->size - end);
	whole->seen += part->seen;
}

/* The reason why bytes could not be read, if the dataset is not at fault. */
struct unread {
	atomic_bool noted;
	struct error why;
};

/* Called by several threads; the first reason is kept. */
static int
skip_unreadable(void *arg, const struct stripe_part *part,
		const struct error *why)
{
	struct unread *u = arg;
	bool noted = false;

	(void)part;
	if (why->kind == ERROR_SYSTEM &&
	    atomic_compare_exchange_strong(&u->noted, &noted, true))
		u->why = *why;
	return why->kind == ERROR_NOMEM || why->errnum == EMFILE ||
			       why->errnum == ENFILE
		       ? -1
		       : 0;
}

static void
compare(struct checker *c, const struct stripe_sum *files,
	const struct stripe_sum *containers, const struct unread *u)
{
	const struct segmap *m = c->m;
	char text[ERROR_TEXT_MAX];

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		if (!is_summed(f) || c->bad[i])
			continue;
		if (files[i].seen != f->size) {
			/* If the file system refused to read the file, its
			 * bytes are unknown. */
			c->out->unread += u->noted;
			say(c, u->noted ? SIZE_MAX : i, SIZE_MAX,
			    "%s (rank %" PRIu32
			    "): cannot be read completely%s%s",
			    str_shown(f->path), f->rank, u->noted ? ": " : "",
			    u->noted ? u->why.text : "");
		} else if (f->has_crc && files[i].crc != f->crc) {
			say(c, i, SIZE_MAX, "%s",
			    segmap_sum_text(f, files[i].crc, text,
					    sizeof(text)));
		}
	}
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *k = &m->containers[i];

		if (c->container_bad[i] || !k->has_crc ||
		    containers[i].seen != k->size ||
		    containers[i].crc == k->crc)
			continue;
		say(c, SIZE_MAX, i,
		    "%s: checksum is 0x%08" PRIx32 ", should be 0x%08" PRIx32,
		    k->name, (uint32_t)containers[i].crc, k->crc);
	}
}

/* The bytes of all files, in their pieces, to be read; and the same as sinks,
 * whose bytes are only summed.  Returns their number. */
static uint64_t
list_pieces(const struct checker *c, struct stripe *from, struct stripe *to)
{
	const struct segmap *m = c->m;
	struct stripe_part at = { .sum = STRIPE_NO_SUM };

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		struct stripe_part sink = { .start = at.start, .dirfd = -1 };

		/* The recorded length of a bad file may be any number. */
		if (!is_summed(f) || c->bad[i])
			continue;
		at.start += packed_string(c->p, m, f, at, from);
		sink.sum = f->nsegs > 0 ? f->first : m->nsegs + i;
		for (; sink.start < at.start; sink.start += sink.len) {
			sink.len =
				f->nsegs > 0 ? m->segs[sink.sum].len : f->size;
			stripe_add(to, &sink);
			sink.sum++;
		}
	}
	return at.start;
}

/*
 * A byte is summed once, for its piece: a segment, or a file that is not
 * packed.  The sums of files and containers are combined from these.
 */
static int
check_sums(struct checker *c, struct error *err)
{
	const struct segmap *m = c->m;
	const size_t most = m->nsegs + m->nfiles;
	struct stripe_sum *pieces = mem_calloc(most + 1, sizeof(*pieces));
	struct stripe_sum *files = mem_calloc(m->nfiles + 1, sizeof(*files));
	struct stripe_sum *containers =
		mem_calloc(m->ncontainers + 1, sizeof(*containers));
	struct stripe from = { 0, NULL }, sinks = { 0, NULL };
	struct unread unread = { .noted = false };
	struct transfer_options t = {
		.work = c->look->work,
		.unreadable = skip_unreadable,
		.arg = &unread,
		.sums_to = pieces,
	};
	uint64_t len = 0;
	int rc = -1;

	if (pieces == NULL || files == NULL || containers == NULL) {
		error_no_memory(err);
		goto out;
	}
	for (size_t i = 0; i < m->nsegs; i++)
		pieces[i].size = m->segs[i].len;
	for (size_t i = 0; i < m->nfiles; i++)
		pieces[m->nsegs + i].size = files[i].size = m->files[i].size;
	/* A container has its recorded size, or the end of its last segment. */
	for (size_t i = 0; i < m->ncontainers; i++)
		containers[i].size = m->containers[i].has_size
					     ? m->containers[i].size
					     : m->containers[i].used;
	if (stripe_room(&from, c->arena, most, err) < 0 ||
	    stripe_room(&sinks, c->arena, most, err) < 0)
		goto out;
	len = list_pieces(c, &from, &sinks);
	progress_phase(t.work->progress, "comparing checksums", len);
	if (transfer(&from, &sinks, len, &t, err) < 0)
		goto out;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		uint64_t off = 0;

		for (size_t k = f->first; k < f->first + f->nsegs; k++) {
			const struct segment *g = &m->segs[k];

			add_sum(&files[i], &pieces[k], off);
			add_sum(&containers[g->container], &pieces[k], g->off);
			off += g->len;
		}
		if (f->nsegs == 0)
			add_sum(&files[i], &pieces[m->nsegs + i], 0);
	}
	c->out->read += len;
	compare(c, files, containers, &unread);
	rc = 0;
out:
	mem_free(pieces);
	mem_free(files);
	mem_free(containers);
	return rc;
}

static int
check(struct checker *c, struct error *err)
{
	const struct segmap *m = c->m;
	uint64_t *have = mem_calloc(m->ncontainers + 1, sizeof(*have));
	char text[PACKED_FLAW_TEXT];
	int rc = -1;

	c->container_bad =
		mem_calloc(m->ncontainers + 1, sizeof(*c->container_bad));
	c->flaw.kind = PACKED_MAP;
	if (have == NULL || c->container_bad == NULL)
		error_no_memory(err);
	else
		rc = segmap_check(m, report_map_flaw, c, err);
	/* The sizes of the containers, and files with a segment beyond the end
	 * of its container. */
	for (size_t i = 0; i < m->ncontainers && rc == 0; i++) {
		rc = packed_container_flaw(c->p, &m->containers[i], &c->flaw,
					   text, err);
		have[i] = c->flaw.have;
		if (rc == 0 && text[0] != '\0')
			say(c, SIZE_MAX, i, "%s: %s", m->containers[i].name,
			    text);
	}
	c->flaw.kind = PACKED_FILE;
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		for (size_t k = 0; k < f->nsegs && !c->bad[i]; k++) {
			const struct segment *s = &m->segs[f->first + k];

			if (s->off + s->len > have[s->container])
				say(c, i, SIZE_MAX,
				    "%s (rank %" PRIu32
				    "): damaged: bytes %" PRIu64 " to %" PRIu64
				    " of %s are missing",
				    str_shown(f->path), f->rank, s->off,
				    s->off + s->len - 1,
				    m->containers[s->container].name);
		}
	}
	mem_free(have);
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		if (c->red || c->look->containers)
			break;
		c->out->bytes += f->size;
		c->out->no_sum += !f->has_crc && f->size > 0;
		if (f->nsegs == 0)
			rc = check_plain(c, i, err);
	}
	c->flaw.kind = PACKED_SUM;
	if (rc == 0 && c->look->sums)
		rc = check_sums(c, err);
	mem_free(c->container_bad);
	return rc;
}

int
packed_check(const struct packed *p, const struct packed_look *look,
	     struct packed_health *out, struct error *err)
{
	struct checker c = {
		.p = p,
		.m = &p->map,
		.look = look,
		.out = out,
		.dirs = pathcache_new(p->file_fd),
		.arena = arena_new(),
	};
	struct stat st;
	int rc = -1;

	*out = (struct packed_health){
		.files = p->map.nfiles,
		.containers = p->map.ncontainers,
		.bad = mem_calloc(p->map.nfiles + 1, sizeof(*out->bad)),
	};
	c.bad = out->bad;
	if (c.dirs == NULL || out->bad == NULL) {
		error_no_memory(err);
		goto out;
	}
	/* An unfinished rebuild leaves segments partly written.  A link to
	 * nothing, or a directory, is no mark, as for a rebuild. */
	if (p->layout == 3 &&
	    dir_stat(p->meta_fd, DATASET_DIR_MARK, &st, 0) == 0 &&
	    S_ISREG(st.st_mode)) {
		out->unfinished = true;
		say(&c, SIZE_MAX, SIZE_MAX,
		    "%s: a rebuild in the containers was interrupted: run it "
		    "again",
		    DATASET_DIR_MARK);
	}
	if (p->flaw != NULL) {
		out->map_damaged = true;
		say(&c, SIZE_MAX, SIZE_MAX, "%s", p->flaw);
	}
	rc = check(&c, err);
	out->files_bad = c.files_bad;
	/* The containers of metadata. */
	if (rc == 0 && p->hidden.map.ncontainers > 0) {
		c.m = &p->hidden.map;
		c.red = true;
		c.files_bad = 0;
		c.bad = mem_calloc(c.m->nfiles + 1, sizeof(*c.bad));
		rc = c.bad == NULL ? error_no_memory(err) : check(&c, err);
		out->containers += c.m->ncontainers;
		out->hidden_bad = c.files_bad;
		mem_free(c.bad);
	}
out:
	pathcache_free(c.dirs);
	arena_free(c.arena);
	return rc;
}

/* --- Verdict --- */

bool
packed_healthy(const struct packed_health *h)
{
	return h->files_bad + h->containers_bad + h->hidden_bad + h->map_flaws +
			       h->unread ==
		       0 &&
	       !h->unfinished && !h->map_damaged;
}
