/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renew_plan.c - which files have to be written, and where.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "error.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "ftijob/parity.h"
#include "ftijob/recover.h"
#include "ftijob/renew.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "work.h"

/* --- Files --- */

static bool
is_wanted(const struct fti_set *set, const struct fti_rank *r,
	  enum fti_part part)
{
	return fti_set_has(set, part) && !r->parts[part].exact &&
	       r->parts[part].state != FTI_STATE_UNKNOWN;
}

/* Where a file that is missing belongs. */
static const char *
new_path(const struct fti_rebuild *r, const struct fti_rebuild_file *f,
	 struct error *err)
{
	const struct fti_rank *at =
		f->part == FTI_COPY ? fti_set_neighbour(r->set, f->rank, false)
				    : f->rank;

	if (at == NULL) {
		error_set(err, ERROR_ABSENT,
			  "rank %" PRIu32 ": no rank has its copy",
			  f->rank->rank);
		return NULL;
	}
	if (r->dirs[at->node] == NULL) {
		error_set(err, ERROR_ABSENT,
			  "the directory of node %" PRIu32
			  " is not known: the directories of the other nodes "
			  "are not called node<k>, nor as in Topology.fti",
			  at->node);
		return NULL;
	}
	return fti_tree_join(r->sets->arena, r->dirs[at->node],
			     fti_part_str(r->set, f->rank, f->part));
}

/* Add the wanted files of a rank; `from` gives them.  A file that FTI refuses
 * stays if nothing better can be had. */
static int
add_files(struct fti_rebuild *r, const struct fti_recover *from,
	  struct fti_rank *rank, struct error *err)
{
	const char *base = NULL;
	struct stat st;
	int fd = -1, rc = 0;

	for (int i = 0; i < FTI_PARTS; i++) {
		struct fti_rebuild_file f = { .rank = rank,
					      .part = (enum fti_part)i };
		const struct fti_entry *e = rank->parts[i].entry;
		const struct fti_source *s = NULL;
		struct error why = ERROR_INIT;

		if (e != NULL && rank->parts[i].state == FTI_STATE_UNKNOWN &&
		    r->unread++ == 0)
			r->why = rank->parts[i].problem;
		if (!is_wanted(r->set, rank, f.part))
			continue;
		s = fti_recover_source(from, rank, f.part, &why);
		/* Others that contradict each other give nothing better. */
		if (s != NULL && e != NULL && r->set->level == FTI_L3 &&
		    str_eq(s->name, e->path))
			(void)fti_recover_parity(from, &why);
		if (why.kind != ERROR_NONE && why.kind != ERROR_LOST)
			return error_pass(err, &why);
		if (s == NULL || (e != NULL && str_eq(s->name, e->path)))
			continue;
		f.size = s->size;
		if (f.part == FTI_PARITY && !r->set->posix)
			f.size += fti_format(r->set->layout)->meta;
		/* It goes to the place where it is or belongs. */
		f.replaces = e != NULL;
		f.path = e != NULL ? e->path : NULL;
		if (e == NULL) {
			f.path = new_path(r, &f, err);
			if (f.path == NULL)
				return -1;
		}
		/* A new file must not exist, also not as a link; one that is
		 * replaced is none. */

		fd = path_open_parent(r->sets->tree.fd, f.path, false, 0, &base,
				      &why);
		if (fd < 0 && why.kind != ERROR_ABSENT)
			return error_pass(err, &why);
		if (fd >= 0 && fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0)
			rc = f.replaces && S_ISREG(st.st_mode)
				     ? 0
				     : error_set(
					       err, ERROR_USAGE,
					       "%s: exists, and is no file of "
					       "this checkpoint",
					       f.path);
		else if (fd >= 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot stat", f.path);
		io_close(fd);
		if (rc < 0)
			return -1;
		(void)MEM_ROOM(r->files, r->count, r->room);
		r->files[r->count++] = f;
		r->parts[f.part]++;
		r->bytes_written += f.size;
		if (r->set->level != FTI_L3)
			r->bytes_read += f.size;
	}
	return 0;
}

static int
add_group(struct fti_rebuild *r, uint32_t group, const struct work *w,
	  struct error *err)
{
	const uint32_t k = r->set->geometry.group_size;
	const size_t before = r->count;
	struct fti_recover *from = NULL;
	const struct fti_parity *p = NULL;
	bool wanted = false;
	int rc = 0;

	for (uint32_t i = 0; i < k * FTI_PARTS; i++) {
		const struct fti_rank *of =
			fti_set_member(r->set, group, i / FTI_PARTS);
		const enum fti_part part = (enum fti_part)(i % FTI_PARTS);

		wanted = wanted ||
			 (of != NULL &&
			  (of->parts[part].state == FTI_STATE_UNKNOWN ||
			   is_wanted(r->set, of, part)));
	}
	if (!wanted)
		return 0;
	from = fti_recover_new(r->sets, r->set,
			       fti_set_member(r->set, group, 0), w, err);
	if (from == NULL)
		return -1;
	for (uint32_t m = 0; m < k && rc == 0; m++)
		rc = add_files(r, from, fti_set_member(r->set, group, m), err);
	p = fti_recover_parity(from, NULL);
	if (rc == 0 && p != NULL && r->count > before)
		r->bytes_read += p->k * p->length;
	fti_recover_free(from);
	return rc;
}

int
fti_rebuild_plan(struct fti_rebuild *r, struct fti_sets *sets,
		 struct fti_set *set, const struct work *w, struct error *err)
{
	int rc = 0;

	*r = (struct fti_rebuild){ .sets = sets, .set = set };
	if (set->state == FTI_SET_LOST || set->state == FTI_SET_UNKNOWN)
		return error_set(err, fti_set_states[set->state].error, "%s",
				 set->reason);
	if (!fti_set_is_grouped(set))
		return error_set(err, ERROR_SYSTEM,
				 "the size of nodes or groups is not known");
	r->dirs = fti_set_dirs(sets, set);
	r->moved = mem_calloc(set->groups + 1, sizeof(*r->moved));
	for (uint32_t g = 0; g < set->groups && rc == 0; g++) {
		const uint64_t before = r->bytes_read + 2 * r->bytes_written;

		rc = work_go_on(w, err);
		if (rc == 0 && fti_set_member(set, g, 0) != NULL)
			rc = add_group(r, g, w, err);
		r->moved[g] = r->bytes_read + 2 * r->bytes_written - before;
	}
	return rc;
}

void
fti_rebuild_fini(struct fti_rebuild *r)
{
	mem_free(r->files);
	mem_free(r->dirs);
	mem_free(r->moved);
	r->files = NULL;
	r->dirs = NULL;
	r->moved = NULL;
	r->count = 0;
}
