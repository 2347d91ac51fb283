/* SPDX-License-Identifier: BSD-3-Clause */
/* regain_list.c - list the files of a dataset in the directory of a node, by
 * rank, and verify them. */
#include "scr/regain_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scr/held.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"
#include "transfer/pump.h"

#define TEMP_STEM ".regain."
#define HEAD_MAX ((size_t)64 << 20)
#define BLOCK ((size_t)64 << 10)

int
regain_fd(const struct regain *g, bool map)
{
	return map ? g->metafd : g->dirfd;
}

/* --- Files that get their names later --- */

int
regain_create(struct regain *g, const char **temp, struct error *err)
{
	int fd = -1;

	*temp = arena_printf(g->arena, TEMP_STEM "%u.%u", g->run->world.rank,
			     g->temps++);
	if (*temp == NULL)
		return error_no_memory(err);
	if (unlinkat(g->metafd, *temp, 0) < 0 && errno != ENOENT)
		return error_sys(err, "%s/%s", g->meta, *temp);
	fd = create_file(g->metafd, *temp, O_RDWR, 0600,
			 create_owner(g->metafd));
	return fd < 0 ? error_sys(err, "%s/%s", g->meta, *temp) : fd;
}

int
regain_add_built(struct regain *g, struct regain_builts *out,
		 const struct regain_built *f, struct error *err)
{
	if (!MEM_ROOM(out->list, out->count, out->cap))
		return error_no_memory(err);
	out->list[out->count] = *f;
	out->list[out->count].name = arena_strdup(g->arena, f->name);
	return out->list[out->count++].name == NULL ? error_no_memory(err) : 0;
}

/* The file `name` among the metadata of `p` exists. */
static void
found(struct regain_part *p, const char *name)
{
	struct redset_name n;

	if (!redset_name_parse(name, &n, NULL))
		return;
	if (n.descriptor)
		p->descriptor[n.map] = name;
	else
		p->red[n.map] = (struct regain_red){ .name = name, .is = n };
}

int
regain_name(struct regain *g, const struct regain_builts *b, struct error *err)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct regain_built *f = &b->list[i];
		int fd = dir_open_file(g->metafd, f->temp, O_RDWR | O_CLOEXEC,
				       0);
		int rc = fd < 0 ? error_sys(err, "%s/%s", g->meta, f->temp) : 0;

		if (rc == 0 && f->has_attr &&
		    attr_apply(&f->attr, fd, f->name, create_owner(f->dirfd),
			       NULL, err) < 0)
			rc = -1;
		io_close(fd);
		if (rc == 0 &&
		    renameat(g->metafd, f->temp, f->dirfd, f->name) < 0)
			rc = error_sys(err, "%s", f->name);
		if (rc < 0)
			return -1;
		if (f->dirfd == g->metafd)
			found(&g->parts[0], f->name);
	}
	g->changed |= b->count > 0;
	return 0;
}

/* --- Names --- */

/* The rank of a metadata file; false: it belongs to no rank. */
static bool
rank_of(const char *name, uint32_t *rank)
{
	*rank = UINT32_MAX;
	(void)dataset_dir_kind(name, rank);
	return *rank < REDSET_MAX_RANKS;
}

/* The leader of a directory: add its names to those of the rank that handles
 * the files of their rank: that itself, if it runs here, or any. */
static int
list_all(const struct regain *g, struct buf *names, struct error *err)
{
	const struct team *sharers = &g->set->store->sharers;
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, g->metafd, g->meta, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		uint32_t rank = 0, keeper = 0;

		if (str_starts(name, TEMP_STEM))
			(void)unlinkat(g->metafd, name, 0);
		else if (rank_of(name, &rank)) {
			keeper = team_member(sharers, rank);
			if (keeper >= sharers->size)
				keeper = rank % sharers->size;
			if (buf_add(&names[keeper], name, strlen(name) + 1) < 0)
				rc = error_no_memory(err);
		}
	}
	return dir_done(&w, rc, err);
}

/* The part of `rank`, added if it is missing. */
static struct regain_part *
part_of(struct regain *g, uint32_t rank, size_t *cap)
{
	for (size_t i = g->nparts; i-- > 0;)
		if (g->parts[i].rank == rank)
			return &g->parts[i];
	if (!MEM_ROOM(g->parts, g->nparts, *cap))
		return NULL;
	g->parts[g->nparts] = (struct regain_part){ .rank = rank, .ranks = -1 };
	return &g->parts[g->nparts++];
}

int
regain_list(struct regain *g, struct error *err)
{
	const struct team *t = &g->set->store->sharers;
	struct buf *names = NULL; /* by sharer */
	struct team_mail out = { 0, NULL }, in = { 0, NULL };
	const char *at = NULL, *end = NULL;
	size_t cap = 0;
	int rc = 0;

	if (t->rank == 0) {
		names = arena_alloc(g->arena, t->size, sizeof(*names));
		out.notes = arena_alloc(g->arena, t->size, sizeof(*out.notes));
		if (names == NULL || out.notes == NULL)
			rc = error_no_memory(err);
		if (rc == 0 && g->metafd >= 0)
			rc = list_all(g, names, err);
		for (uint32_t i = 0; rc == 0 && i < t->size; i++)
			if (names[i].len > 0)
				out.notes[out.count++] =
					(struct team_note){ i, names[i].data,
							    names[i].len };
	}
	rc = team_notes(t, rc, &out, g->arena, &in, err);
	for (uint32_t i = 0; names != NULL && i < t->size; i++)
		buf_free(&names[i]);
	/* Sort the names that the leader sent into parts. */
	if (rc == 0 && part_of(g, g->run->world.rank, &cap) == NULL)
		rc = error_no_memory(err);
	if (in.count > 0) {
		at = in.notes[0].data;
		end = at + in.notes[0].len;
	}
	for (; rc == 0 && at != end; at += strlen(at) + 1) {
		struct regain_part *p = NULL;
		uint32_t rank = 0;

		if (rank_of(at, &rank))
			p = part_of(g, rank, &cap);
		if (p != NULL)
			found(p, at);
		else
			rc = error_no_memory(err);
	}
	return team_agree(&g->run->world, rc, err);
}

/* --- Contents --- */

/* Keep the bytes of the filemap, if it is valid. */
static int
look_map(const struct regain *g, struct regain_part *p, struct error *err)
{
	struct error why = ERROR_INIT;
	const char *name = filemap_str(p->rank);
	int fd = io_open_read(g->metafd, name, &why);
	int rc = -1;

	p->map = NULL;
	if (fd >= 0)
		p->map = io_read_arena(fd, name, KVTREE_MAX_ENCODED, g->arena,
				       &p->map_size, &why);
	if (p->map != NULL)
		rc = filemap_decode(p->map, p->map_size, g->arena, &p->fm,
				    &why);
	io_close(fd);
	p->unread |= why.kind == ERROR_SYSTEM;
	if (rc < 0) {
		p->map = NULL;
		p->fm = (struct filemap){ .ranks = -1 };
		return why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
	}
	if (p->fm.ranks >= 0)
		p->ranks = p->fm.ranks;
	return 0;
}

/* Keep the header of a redundancy file, and the size of the file. */
static int
look_red(const struct regain *g, struct regain_part *p, struct regain_red *r,
	 struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;
	struct stat st;
	char *head = NULL;
	size_t size = KVTREE_HEADER_SIZE;
	int fd = io_open_read(g->metafd, r->name, &why);
	bool good = fd >= 0 && fstat(fd, &st) == 0;

	if (!good || (uint64_t)st.st_size < size) {
		p->unread |= why.kind == ERROR_SYSTEM || (fd >= 0 && !good);
		r->name = NULL; /* counts as missing */
		io_close(fd);
		return 0;
	}
	r->size = (uint64_t)st.st_size;
	head = arena_alloc(g->arena, size, 1);
	if (head != NULL && io_pread(fd, r->name, head, size, 0, &why) == 0 &&
	    kvtree_peek(head, KVTREE_HEADER_SIZE, &size, &why) == 0 &&
	    size <= HEAD_MAX && size <= r->size) {
		head = arena_alloc(g->arena, size, 1);
		if (head != NULL &&
		    io_pread(fd, r->name, head, size, 0, &why) < 0)
			size = 0;
	} else {
		size = KVTREE_HEADER_SIZE;
	}
	close(fd);
	p->unread |= why.kind == ERROR_SYSTEM;
	if (head == NULL)
		return error_no_memory(err);
	r->head = head;
	r->head_size = size;
	t = kvtree_decode(head, size, NULL, &why);
	r->known = t != NULL && redset_header_read(t, size, r->is.member - 1,
						   g->arena, &r->h, &why) == 0;
	if (r->known && p->ranks < 0)
		p->ranks = r->h.desc.ranks;
	kvtree_free(t);
	return 0;
}

/* Returns a descriptor to close, or -1 with errno. */
static int
open_file(const struct regain *g, const struct filemap_file *f)
{
	if (g->set->bypass)
		return dir_open_file(
			AT_FDCWD, f->cache_path,
			O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
	/* The file may be spilled: a trusted link to it is followed. */
	return path_open_beneath(g->dirfd, path_base(f->cache_path), O_RDONLY,
				 0, NULL);
}

int
regain_look(const struct regain *g, struct regain_part *p, struct error *err)
{
	size_t n = 0;

	p->good = 0;
	if (g->metafd < 0)
		return 0;
	if (look_map(g, p, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (p->red[i].name != NULL &&
		    look_red(g, p, &p->red[i], err) < 0)
			return -1;
		p->good += p->red[i].name != NULL;
	}
	n = p->fm.nfiles;
	p->states = arena_alloc(g->arena, n, sizeof(*p->states));
	p->verified = arena_alloc(g->arena, n, sizeof(*p->verified));
	if (p->states == NULL || p->verified == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const struct filemap_file *f = &p->fm.files[i];
		enum file_state state = FILE_UNREAD;
		struct stat st;
		int fd = -1;

		errno = ENOENT;
		if (f->complete &&
		    (g->set->bypass || path_is_clean(path_base(f->cache_path))))
			fd = open_file(g, f);
		if (!f->complete)
			state = FILE_INCOMPLETE;
		else if (fd < 0 && (errno == ENOENT || errno == ENOTDIR ||
				    errno == ELOOP))
			state = FILE_MISSING;
		else if (fd >= 0 && fstat(fd, &st) == 0)
			state = file_state_of(&st, &f->attr.size);
		io_close(fd);
		p->states[i] = state;
		p->good += state == FILE_PRESENT;
		p->unread |= state == FILE_UNREAD;
	}
	p->good += p->map != NULL;
	return 0;
}

/* --- Checksums --- */

void
regain_mark(struct regain *g, size_t file, enum file_state state)
{
	struct regain_part *p = &g->parts[0];

	/* Once for a rank: a bad device may have damaged all files. */
	if (state != FILE_PRESENT && !g->told)
		say_warn("dataset %" PRId64 ": %s: %s: rebuilt if the "
			 "redundancy suffices; check this device",
			 g->set->d.id, p->fm.files[file].cache_path,
			 state == FILE_WRONG_CRC ? "its checksum is wrong"
						 : "cannot be read");
	g->told |= state != FILE_PRESENT;
	p->states[file] = state;
	p->verified[file] = true;
	p->unread |= state == FILE_UNREAD;
	g->damaged |= state != FILE_PRESENT;
}

void
regain_verify(struct regain *g)
{
	const struct regain_part *p = &g->parts[0];
	char block[BLOCK];

	for (size_t i = 0; i < p->fm.nfiles; i++) {
		const struct filemap_file *f = &p->fm.files[i];
		struct error why = ERROR_INIT;
		struct pump pump = { .to = -1,
				     .name = f->cache_path,
				     .size = f->attr.size,
				     .has_crc = true,
				     .crc = f->crc,
				     .block = block,
				     .room = BLOCK };
		int rc = -1;

		if (p->states[i] != FILE_PRESENT || p->verified[i] ||
		    !f->has_crc)
			continue;
		pump.from = open_file(g, f);
		if (pump.from >= 0)
			rc = pump_run(&pump, &why, &why);
		io_close(pump.from);
		regain_mark(g, i,
			    rc == 0 && why.kind == ERROR_DAMAGED
				    ? FILE_WRONG_CRC
			    : rc == 1 ? FILE_PRESENT
				      : FILE_UNREAD);
	}
}

int
regain_check(const struct regain *g, struct error *err)
{
	const struct regain_part *p = &g->parts[0];

	if (p->map == NULL)
		return error_set(err, ERROR_LOST,
				 "rank %u: its filemap is missing or damaged",
				 p->rank);
	for (size_t i = 0; i < p->fm.nfiles; i++) {
		const enum file_state is = p->states[i];

		if (is != FILE_PRESENT)
			return error_set(
				err, ERROR_LOST, "rank %u: %s: %s", p->rank,
				p->fm.files[i].cache_path,
				is == FILE_WRONG_CRC ? "the checksum is wrong"
				: is == FILE_UNREAD  ? "cannot be read"
						     : "missing or damaged");
	}
	return 0;
}
