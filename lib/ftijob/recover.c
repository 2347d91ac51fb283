/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/recover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/metas.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "ftijob/parity.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "work.h"

struct fti_recover {
	struct fti_set *set;
	const struct fti_rank *ranks[CAUCHY_MAX]; /* by member; NULL: none */
	unsigned count;
	struct fti_source files[CAUCHY_MAX][FTI_PARTS]; /* fd -1: not open */
	struct fti_parity parity;
	struct error why; /* why nothing can be computed */
	struct arena *arena;
};

char *
fti_part_name(struct fti_set *set, const struct fti_rank *of,
	      enum fti_part part, char to[static FTI_NAME_MAX])
{
	static const enum fti_name_kind kinds[FTI_PARTS] = {
		[FTI_OWN] = FTI_NAME_RANK,
		[FTI_COPY] = FTI_NAME_COPY,
		[FTI_PARITY] = FTI_NAME_PARITY,
	};
	const struct fti_rank *named = of;
	struct fti_name n = { .kind = kinds[part], .id = set->id };

	if (part == FTI_COPY)
		named = fti_set_neighbour(set, of, false);
	n.rank = named == NULL ? of->rank : named->rank;
	return fti_name_format(&n, to);
}

/* --- The group of L3 --- */

static int
open_parity(struct fti_recover *r, const struct work *w, struct error *err)
{
	struct fti_parity *p = &r->parity;

	p->k = r->count;
	p->posix = r->set->posix;
	p->layout = r->set->layout;
	p->length = 0;
	/* All files must agree on the length of the parity.  The metadata of
	 * POSIX files have it for each member, and it is the size of the
	 * largest file. */
	for (unsigned m = 0; m < r->count; m++) {
		const struct fti_rank *of = r->ranks[m];
		struct fti_member *to = &p->members[m];

		if (of == NULL)
			return error_set(err, ERROR_CORRUPT,
					 "member %u of the group has no rank",
					 m);
		if (p->posix && of->posix == NULL)
			return error_set(err, ERROR_CORRUPT,
					 "rank %" PRIu32
					 ": no metadata (sector file)",
					 of->rank);
		*to = (struct fti_member){
			.data = of->parts[FTI_OWN].exact ? &r->files[m][FTI_OWN]
							 : NULL,
			.parity = of->parts[FTI_PARITY].exact
					  ? &r->files[m][FTI_PARITY]
					  : NULL,
			.data_name = arena_strdup(
				r->arena, fti_part_str(r->set, of, FTI_OWN)),
			.parity_name = arena_strdup(
				r->arena, fti_part_str(r->set, of, FTI_PARITY)),
			.size = p->posix ? of->posix->size : FTI_SIZE_UNKNOWN,
			.sum = p->posix ? of->posix->sum : NULL,
		};

		for (int i = FTI_OWN; i <= FTI_PARITY && !p->posix;
		     i += FTI_PARITY) {
			const uint64_t max = (uint64_t)of->parts[i].meta.max_fs;

			if ((i == FTI_OWN ? to->data : to->parity) == NULL)
				continue;
			if (p->length == 0)
				p->length = max;
			if (max != p->length)
				return error_set(
					err, ERROR_CORRUPT,
					"rank %" PRIu32
					": the size of its parity is %" PRIu64
					" bytes, that of other ranks is %" PRIu64,
					of->rank, max, p->length);
		}
		if (p->posix) {
			const struct fti_part_file *own = &of->parts[FTI_OWN];
			const uint64_t size =
				own->exact ? own->size : of->posix->size;

			p->length = size > p->length ? size : p->length;
		}
	}
	if (p->length == 0)
		return error_set(err, ERROR_LOST,
				 "no good file of the group is left");
	return fti_parity_open(p, w, err);
}

/* --- All --- */

struct fti_recover *
fti_recover_new(const struct fti_sets *s, struct fti_set *set,
		const struct fti_rank *of, const struct work *w,
		struct error *err)
{
	struct fti_recover *r = mem_calloc(1, sizeof(*r));
	const bool groups = fti_set_is_grouped(set);
	int rc = 0;

	r->arena = arena_new();
	r->set = set;
	for (unsigned m = 0; m < CAUCHY_MAX; m++)
		for (int p = 0; p < FTI_PARTS; p++)
			r->files[m][p].fd = -1;
	r->count = groups ? set->geometry.group_size : 1;
	for (unsigned m = 0; m < r->count; m++)
		r->ranks[m] =
			groups ? fti_set_member(r->set, of->group, m) : of;
	if (!groups)
		error_set(&r->why, ERROR_SYSTEM, "the groups are not known");
	for (unsigned m = 0; m < r->count; m++)
		for (int p = 0; rc == 0 && p < FTI_PARTS; p++)
			if (r->ranks[m] != NULL &&
			    fti_part_usable(&r->ranks[m]->parts[p]))
				rc = fti_source_open(
					&r->files[m][p], s->tree.fd,
					r->ranks[m]->parts[p].entry->path, err);
	if (rc < 0) {
		fti_recover_free(r);
		return NULL;
	}
	if (set->level == FTI_L3 && r->why.kind == ERROR_NONE)
		(void)open_parity(r, w, &r->why);
	if (work_go_on(w, err) < 0) {
		fti_recover_free(r);
		return NULL;
	}
	return r;
}

void
fti_recover_free(struct fti_recover *r)
{
	if (r == NULL)
		return;
	fti_parity_close(&r->parity);
	for (unsigned m = 0; m < CAUCHY_MAX; m++)
		for (int p = 0; p < FTI_PARTS; p++)
			fti_source_close(&r->files[m][p]);
	arena_free(r->arena);
	mem_free(r);
}

const struct fti_parity *
fti_recover_parity(const struct fti_recover *r, struct error *err)
{
	if (r->set->level == FTI_L3 && r->why.kind == ERROR_NONE)
		return &r->parity;
	if (r->why.kind != ERROR_NONE)
		error_pass(err, &r->why);
	else
		error_set(err, ERROR_LOST, "the checkpoint has no parity");
	return NULL;
}

const struct fti_source *
fti_recover_source(const struct fti_recover *r, const struct fti_rank *of,
		   enum fti_part part, struct error *err)
{
	const enum fti_part other = part == FTI_COPY ? FTI_OWN : FTI_COPY;
	const struct fti_parity *p = NULL;
	struct error why = ERROR_INIT;
	unsigned m = 0;

	while (m + 1 < r->count && r->ranks[m] != of)
		m++;
	if (of->parts[part].exact)
		return &r->files[m][part];
	if (part != FTI_PARITY && of->parts[other].exact)
		return &r->files[m][other];
	p = part == FTI_COPY ? NULL : fti_recover_parity(r, &why);
	if (p != NULL)
		return fti_parity_source(p, part == FTI_PARITY ? p->k + m : m);
	if (fti_part_usable(&of->parts[part]))
		return &r->files[m][part];
	if (why.kind == ERROR_NONE)
		error_set(&why, ERROR_LOST, "lost, and no copy of it is left");
	error_pass(err, &why);
	(void)error_wrap(err, "%s", fti_part_str(r->set, of, part));
	return NULL;
}

/* --- Proofs --- */

int
fti_recover_open(const struct fti_recover *r, const struct fti_rank *of,
		 enum fti_part part, const struct fti_source *bytes,
		 struct fti_rankfile *to, struct error *err)
{
	const struct fti_rankfile_options o = {
		.computed = bytes,
		.known = true,
		.layout = r->set->layout,
		.posix = of->posix,
		.parity = part == FTI_PARITY,
	};

	return fti_rankfile_open(to, bytes->name, &o, err);
}

int
fti_recover_proves(const struct fti_recover *r, bool computed,
		   const struct work *w, struct error *err)
{
	const bool ids = fti_has(r->set->layout, FTI_CKPT_ID);
	struct fti_rankfile files[CAUCHY_MAX];
	unsigned count = 0;
	int rc = 0;

	for (unsigned m = 0; m < r->count && rc == 0; m++)
		if (!computed || r->parity.members[m].data == NULL)
			rc = fti_recover_open(r, r->ranks[m], FTI_OWN,
					      fti_parity_source(&r->parity, m),
					      &files[count++], err);
	if (rc == 0)
		rc = fti_rankfiles_check(files, count, true, w, err);
	rc = rc < 0 ? -1 : 1;
	for (unsigned i = 0; i < count; i++) {
		const struct fti_checked *c = &files[i].checked;
		const struct fti_file *ff = files[i].ff;
		const bool good =
			!computed ? c->data_good
				  : c->exact && (ff == NULL || !ids ||
						 ff->meta.ckpt_id ==
							 (int64_t)r->set->id);

		if (rc == 1 && !good) {
			rc = 0;
			error_set(err,
				  c->unread != NULL ? ERROR_SYSTEM
						    : ERROR_CORRUPT,
				  "%s: %s", files[i].name,
				  c->unread != NULL ? c->unread
				  : c->file->findings != NULL
					  ? c->file->findings->text
					  : "damaged");
		}
		fti_rankfile_close(&files[i]);
	}
	return rc;
}

/* --- One file --- */

/*
 * The common directory of all nodes: it has the directories node<k>.  The one
 * above is taken if it has a configuration, or metadata.
 */
static int
find_root(const struct fti_location *p, char **out, struct error *err)
{
	const char *known = NULL, *name = NULL;
	struct buf rel = BUF_INIT;
	struct dir_walk w;
	uint32_t node = 0;
	bool found = false;
	int fd = -1, rc = 0;

	*out = mem_strdup(p->above);
	if (fti_name_node(path_base(*out), &node))
		(void)fti_location_cut(*out);
	known = path_base(*out);
	if (known - *out > 1) {
		char *above = mem_strdup(*out);

		(void)fti_location_cut(above);
		fd = dir_open(AT_FDCWD, above);
		rc = fd < 0 ? 0 : dir_walk(&w, fd, above, err);
		/* A configuration, or another directory of the execution. */
		while (fd >= 0 && rc == 0 && !found &&
		       (name = dir_next(&w)) != NULL) {
			struct stat st;

			found = str_eq(name, "config.fti");
			if (found || str_eq(name, known) || name[0] == '.')
				continue;
			path_join(&rel, name, p->exec, NULL);
			found = path_stat_beneath(fd, rel.data, &st, NULL) ==
					0 &&
				S_ISDIR(st.st_mode);
		}
		if (fd >= 0)
			rc = dir_done(&w, rc, err);
		io_close(fd);
		if (found)
			(void)fti_location_cut(*out);
		mem_free(above);
		buf_free(&rel);
	}
	return rc;
}

int
fti_obtain_open(struct fti_obtain *o, const char *path, const char *root,
		const struct work *w, struct error *err)
{
	const struct fti_geometry unknown = { .head = -1 };
	const struct fti_name n = fti_name_parse(path_base(path));
	struct fti_location p;
	int rc = fti_location_of(path, &p, err);

	*o = (struct fti_obtain){ .level = p.level };
	if (rc == 0 && p.above == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no other files of this checkpoint are "
			       "known: it is not in a directory "
			       "<execution>/<level>",
			       path);
	else if (rc == 0 && n.kind != FTI_NAME_RANK)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: only the own file of a rank has a copy or "
			       "parity",
			       path);
	else if (rc == 0 && p.level != FTI_L2 && p.level != FTI_L3)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: has no copy or parity at this level; other "
			       "levels are not asked",
			       path);
	if (rc == 0 && root != NULL)
		o->root = mem_strdup(root);
	else if (rc == 0)
		rc = find_root(&p, &o->root, err);
	if (rc == 0)
		rc = fti_sets_open(&o->sets, o->root, &unknown, w, err);
	for (size_t i = 0; rc == 0 && i < o->sets.count && o->rank == NULL;
	     i++) {
		struct fti_set *s = &o->sets.list[i];

		if (s->level != p.level || s->id != n.id ||
		    !str_eq(s->exec, p.exec))
			continue;
		o->set = s;
		o->rank = fti_set_rank(s, n.rank);
	}
	if (rc == 0 && o->rank == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no other files of this checkpoint below %s",
			       path, o->root);
	fti_location_fini(&p);
	return rc;
}

int
fti_obtain_source(struct fti_obtain *o, bool data, const struct work *w,
		  struct error *err)
{
	struct fti_set *set = o->set;
	struct error why = ERROR_INIT;

	o->source = NULL;
	fti_recover_free(o->recover);
	o->recover = NULL;
	/* It is not good: else nobody would ask. */
	o->rank->parts[FTI_OWN] =
		(struct fti_part_file){ .state = FTI_STATE_MISSING };
	if (fti_set_examine(&o->sets, set, data, w, err) < 0)
		return -1;
	o->conflict = set->conflict;
	o->recover = fti_recover_new(&o->sets, set, o->rank, w, err);
	if (o->recover == NULL)
		return -1;
	o->source = fti_recover_source(o->recover, o->rank, FTI_OWN, &why);
	if (o->source != NULL)
		return 0;
	/* A file that cannot be read may give it. */
	if (why.kind == ERROR_LOST && set->data_read &&
	    set->state == FTI_SET_UNKNOWN)
		return error_set(err, ERROR_SYSTEM, "%s", set->reason);
	return error_pass(err, &why);
}

void
fti_obtain_close(struct fti_obtain *o)
{
	fti_recover_free(o->recover);
	fti_sets_free(&o->sets);
	mem_free(o->root);
	*o = (struct fti_obtain){ .root = NULL };
}
