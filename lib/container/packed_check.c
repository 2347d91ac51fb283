/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_check.c - check that a packed dataset is whole: first the map, then
 * the sizes of containers, last every byte.  One pass over the containers
 * computes the checksums of both files and containers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/packed.h"
#include "dir.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/transfer.h"
#include "work.h"

#define SHOWN_MAX 512

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
	char text[2 * SHOWN_MAX];
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
	if (container != SIZE_MAX)
		flaw.name = c->m->containers[container].name;
	c->look->flaw(c->look->arg, &flaw);
}

/* --- The map --- */

static int
report_map_flaw(void *arg, const struct segmap_finding *f)
{
	struct checker *c = arg;
	const bool gap = f->flaw == SEGMAP_GAP;
	char text[2 * SHOWN_MAX];

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

/* Describe what stat shows to be wrong with a container; "": nothing.  -1: stat
 * failed. */
static int
container_flaw(const struct packed *p, const struct segmap_container *ctr,
	       struct packed_flaw *flaw, char to[static SHOWN_MAX],
	       struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;

	flaw->have = 0;
	to[0] = '\0';
	if (path_stat_beneath(p->root_fd, ctr->name, &st, &why) < 0) {
		if (why.kind != ERROR_ABSENT && why.errnum != ENOTDIR)
			return error_as(err, &why, "%s: %s", p->root, why.text);
		flaw->kind = PACKED_MISSING;
		snprintf(to, SHOWN_MAX, "missing");
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		flaw->kind = PACKED_TYPE;
		snprintf(to, SHOWN_MAX, "not a regular file");
		return 0;
	}
	flaw->kind = PACKED_SIZE;
	flaw->have = (uint64_t)st.st_size;
	if (flaw->have < ctr->used)
		snprintf(to, SHOWN_MAX,
			 "%" PRIu64 " bytes long, its files need %" PRIu64,
			 flaw->have, ctr->used);
	else if (ctr->has_size && flaw->have != ctr->size)
		snprintf(to, SHOWN_MAX,
			 "%" PRIu64 " bytes long, recorded are %" PRIu64,
			 flaw->have, ctr->size);
	return 0;
}

/* Report files with a segment beyond the end of its container. */
static void
report_cut(struct checker *c, const uint64_t *have)
{
	const struct segmap *m = c->m;

	for (size_t i = 0; i < m->nfiles; i++) {
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
}

static int
check_containers(struct checker *c, struct error *err)
{
	const struct segmap *m = c->m;
	uint64_t *have = mem_calloc(m->ncontainers + 1, sizeof(*have));
	char text[SHOWN_MAX];
	int rc = 0;

	if (have == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->ncontainers && rc == 0; i++) {
		rc = container_flaw(c->p, &m->containers[i], &c->flaw, text,
				    err);
		have[i] = c->flaw.have;
		if (rc == 0 && text[0] != '\0')
			say(c, SIZE_MAX, i, "%s: %s", m->containers[i].name,
			    text);
	}
	c->flaw.kind = PACKED_FILE;
	if (rc == 0)
		report_cut(c, have);
	mem_free(have);
	return rc;
}

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
	if (!S_ISREG(st.st_mode)) {
		say(c, i, SIZE_MAX, "%s (rank %" PRIu32 "): not a file",
		    str_shown(f->path), f->rank);
	} else if (f->has_size && (uint64_t)st.st_size != f->size) {
		say(c, i, SIZE_MAX,
		    "%s (rank %" PRIu32 "): %" PRIu64
		    " bytes long, should be %" PRIu64,
		    str_shown(f->path), f->rank, (uint64_t)st.st_size, f->size);
	}
	return 0;
}

static int
check_files(struct checker *c, struct error *err)
{
	const struct segmap *m = c->m;

	for (size_t i = 0; i < m->nfiles; i++) {
		c->out->bytes += m->files[i].size;
		c->out->no_sum += !m->files[i].has_crc && m->files[i].size > 0;
		if (m->files[i].nsegs == 0 && check_plain(c, i, err) < 0)
			return -1;
	}
	return 0;
}

/* --- Checksums --- */

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

/* Report a file that could not be read completely.  If the file system refused
 * to read it, its bytes are unknown. */
static void
report_unread(struct checker *c, size_t i, const struct unread *u)
{
	const struct segmap_file *f = &c->m->files[i];

	c->out->unread += u->noted;
	say(c, u->noted ? SIZE_MAX : i, SIZE_MAX,
	    "%s (rank %" PRIu32 "): cannot be read completely%s%s",
	    str_shown(f->path), f->rank, u->noted ? ": " : "",
	    u->noted ? u->why.text : "");
}

/* Were the bytes of the file read?  Unpacked files without a recorded checksum
 * are not. */
static bool
is_summed(const struct segmap_file *f)
{
	return f->nsegs > 0 || (f->size > 0 && f->has_crc);
}

static void
compare(struct checker *c, const struct packed_sums *s, const struct unread *u)
{
	const struct segmap *m = c->m;
	char text[2 * SHOWN_MAX];

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		if (!is_summed(f) || c->bad[i])
			continue;
		if (s->files[i].seen != f->size)
			report_unread(c, i, u);
		else if (f->has_crc && s->files[i].crc != f->crc)
			say(c, i, SIZE_MAX, "%s",
			    segmap_sum_text(f, s->files[i].crc, text,
					    sizeof(text)));
	}
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *k = &m->containers[i];

		if (c->container_bad[i] || !k->has_crc ||
		    s->containers[i].seen != k->size ||
		    s->containers[i].crc == k->crc)
			continue;
		say(c, SIZE_MAX, i,
		    "%s: checksum is 0x%08" PRIx32 ", should be 0x%08" PRIx32,
		    k->name, (uint32_t)s->containers[i].crc, k->crc);
	}
}

/* The unpacked files that have a checksum, one after another as a string. */
static int
plain_string(const struct packed *p, struct arena *arena, struct stripe *out,
	     uint64_t *len, struct error *err)
{
	*len = 0;
	if (stripe_room(out, arena, p->map.nfiles, err) < 0)
		return -1;
	for (size_t i = 0; i < p->map.nfiles; i++) {
		const struct segmap_file *f = &p->map.files[i];

		if (f->nsegs > 0 || !is_summed(f))
			continue;
		out->parts[out->nparts++] = (struct stripe_part){
			.start = *len,
			.len = f->size,
			.dirfd = p->file_fd,
			.path = f->path,
			.sum = i,
		};
		*len += f->size;
	}
	return 0;
}

static int
check_sums(struct checker *c, struct error *err)
{
	const struct segmap *m = c->m;
	struct stripe from = { 0, NULL }, sinks = { 0, NULL };
	struct stripe plain = { 0, NULL };
	struct packed_sums s = { .segments = NULL };
	struct unread unread = { .noted = false };
	struct transfer_options t = {
		.work = c->look->work,
		.unreadable = skip_unreadable,
		.arg = &unread,
	};
	uint64_t len = 0;
	int rc = -1;

	if (packed_sums_init(m, &s, err) < 0)
		return -1;
	if (packed_containers(c->p, m, NULL, c->arena, &from, err) < 0 ||
	    packed_sinks(m, c->arena, &sinks, err) < 0 ||
	    (!c->red && plain_string(c->p, c->arena, &plain, &len, err) < 0))
		goto out;
	progress_phase(t.work->progress, "comparing checksums", m->bytes + len);
	t.sums_to = s.segments;
	if (transfer(&from, &sinks, m->bytes, &t, err) < 0)
		goto out;
	packed_sums_combine(m, &s);
	t.sums = s.files;
	t.sums_to = NULL;
	if (transfer(&plain, NULL, len, &t, err) < 0)
		goto out;
	c->out->read += m->bytes + len;
	compare(c, &s, &unread);
	rc = 0;
out:
	packed_sums_fini(&s);
	return rc;
}

static int
check(struct checker *c, struct error *err)
{
	int rc = -1;

	c->container_bad =
		mem_calloc(c->m->ncontainers + 1, sizeof(*c->container_bad));
	if (c->container_bad == NULL)
		return error_no_memory(err);
	c->flaw.kind = PACKED_MAP;
	if (segmap_check(c->m, report_map_flaw, c, err) == 0 &&
	    check_containers(c, err) == 0 &&
	    (c->red || c->look->containers || check_files(c, err) == 0)) {
		c->flaw.kind = PACKED_SUM;
		rc = c->look->sums ? check_sums(c, err) : 0;
	}
	mem_free(c->container_bad);
	return rc;
}

/* Check the containers of metadata. */
static int
check_red(const struct checker *data, struct error *err)
{
	const struct segmap *m = &data->p->hidden.red;
	struct checker c = *data;
	int rc = -1;

	c.m = m;
	c.red = true;
	c.files_bad = 0;
	c.bad = mem_calloc(m->nfiles + 1, sizeof(*c.bad));
	if (c.bad == NULL)
		return error_no_memory(err);
	rc = check(&c, err);
	c.out->containers += m->ncontainers;
	c.out->hidden_bad = c.files_bad;
	mem_free(c.bad);
	return rc;
}

/* Report an unfinished rebuild, which leaves segments partly written. */
static void
check_mark(struct checker *c)
{
	struct stat st;

	if (c->p->layout != 3 || dir_stat(c->p->meta_fd, DATASET_DIR_MARK, &st,
					  AT_SYMLINK_NOFOLLOW) < 0)
		return;
	c->out->unfinished = true;
	say(c, SIZE_MAX, SIZE_MAX,
	    "%s: a rebuild in the containers was interrupted: run it again",
	    DATASET_DIR_MARK);
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
	int rc = -1;

	*out = (struct packed_health){
		.files = p->map.nfiles,
		.containers = p->map.ncontainers,
		.bad = mem_calloc(p->map.nfiles + 1, sizeof(*out->bad)),
	};
	c.bad = out->bad;
	if (c.arena == NULL || c.dirs == NULL || out->bad == NULL) {
		error_no_memory(err);
		goto out;
	}
	check_mark(&c);
	if (p->flaw != NULL) {
		out->map_damaged = true;
		say(&c, SIZE_MAX, SIZE_MAX, "%s", p->flaw);
	}
	rc = check(&c, err);
	out->files_bad = c.files_bad;
	if (rc == 0 && p->hidden.red.nfiles > 0)
		rc = check_red(&c, err);
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

/* Fail if container `c` lacks some of its first `need` bytes, or cannot be
 * opened. */
static int
check_reach(const struct packed *p, const struct segmap_container *c,
	    uint64_t need, struct error *err)
{
	struct packed_flaw flaw;
	char text[SHOWN_MAX];
	int fd = -1;

	if (container_flaw(p, c, &flaw, text, err) < 0)
		return -1;
	if (text[0] != '\0' && flaw.have < need) {
		error_set(err, ERROR_DAMAGED, "%s: %s: %s", p->name, c->name,
			  text);
		return error_remedy(err, REMEDY_REBUILD);
	}
	fd = path_open_beneath(p->root_fd, c->name, O_RDONLY | O_NONBLOCK, 0,
			       err);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

int
packed_refuse_short(const struct packed *p, const struct segmap *m,
		    const bool *only, struct error *err)
{
	uint64_t *need = mem_calloc(m->ncontainers + 1, sizeof(*need));
	int rc = 0;

	if (need == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		for (size_t k = 0; only[i] && k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			if (s->off + s->len > need[s->container])
				need[s->container] = s->off + s->len;
		}
	}
	for (size_t i = 0; i < m->ncontainers && rc == 0; i++)
		if (need[i] > 0)
			rc = check_reach(p, &m->containers[i], need[i], err);
	mem_free(need);
	return rc;
}

/* Does a container of `m` lack bytes of its files?  Then set *err to it. */
static bool
blame(const struct packed *p, const struct segmap *m, struct error *err)
{
	struct error why = ERROR_INIT;

	for (size_t i = 0; i < m->ncontainers; i++)
		if (check_reach(p, &m->containers[i], m->containers[i].used,
				&why) < 0 &&
		    why.kind == ERROR_DAMAGED) {
			error_pass(err, &why);
			return true;
		}
	return false;
}

int
packed_blame(const struct packed *p, struct error *err)
{
	if (err != NULL &&
	    (err->kind == ERROR_ABSENT || err->kind == ERROR_CORRUPT ||
	     err->kind == ERROR_SYSTEM) &&
	    !blame(p, &p->map, err))
		(void)blame(p, &p->hidden.red, err);
	return -1;
}

int
packed_refuse_incomplete(const struct packed *p, struct error *err)
{
	return p->hidden.incomplete ? error_set(err, ERROR_DAMAGED, "%s: %s",
						p->name, p->flaw)
				    : 0;
}
