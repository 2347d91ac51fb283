/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rescue_impl.h - functions shared by the modules of this room: the bytes
 * behind a plan, for modules that read, verify or compute them.
 */
#ifndef RESCUE_RESCUE_IMPL_H
#define RESCUE_RESCUE_IMPL_H

#include "rescue/plan.h"
#include "scheme/scheme.h"
#include "scheme/solve.h"

struct map;
struct rank2file;
struct rank2file_file;
struct stripe;

/* --- Errors --- */

/*
 * Is the file itself damaged, so that its bytes count as lost?  False if
 * reading failed for another reason, such as a lack of permission, descriptors
 * or memory: do not report such a file as lost, and do not replace it.
 */
bool plan_blames_file(const struct error *e);

/*
 * A file could be opened when the plan was made, but reading it now fails with
 * an I/O error.  Mark the file that holds byte `at` of the set's strings as
 * lost, and solve the set again.  *text is a message that names the file (owned
 * by the plan).  The new solution does not use the file, so each file is marked
 * at most once.
 */
int plan_mark_unread(struct plan *p, uint32_t set, const struct solve_ref *at,
		     const char **text, struct error *err);

/* --- The files that a rank2file names --- */

struct plan_path {
	uint32_t rank;
	const struct rank2file_file *file;
};

struct plan_paths {
	struct map *by_path; /* index in `entries` */
	struct plan_path *entries;
	size_t count;
};

/* List all files in `out` (zeroed).  Call plan_paths_free() also on failure. */
int plan_paths(const struct rank2file *r, struct plan_paths *out,
	       struct error *err);
void plan_paths_free(struct plan_paths *p);

/* --- Where a plan's bytes are --- */

/* Is the file known to be missing or wrong? */
static inline bool
plan_file_lost(const struct plan_file *f)
{
	return f->state != FILE_PRESENT && f->state != FILE_ELSEWHERE;
}

/* The file of the member's list that has the byte `*at` of its data string,
 * which becomes the offset in this file.  list.nfiles: it is behind all
 * files. */
size_t plan_file_at(const struct plan_member *m, uint64_t *at);

/* Is the body of a redundancy file lost?  `salvage`: what is behind a damaged
 * header counts. */
static inline bool
plan_body_lost(const struct plan_member *m, bool salvage)
{
	return m->state == RED_MISSING || m->state == RED_DAMAGED ||
	       (m->state == RED_HEADER_DAMAGED && !salvage);
}

/* A set for solve() and the functions of its scheme. */
static inline struct solve_set
plan_solve_of(const struct plan_set *s, const struct solve_member *members)
{
	return (struct solve_set){
		.type = s->type,
		.n = s->n,
		.failures = s->failures,
		.chunk = s->chunk,
		.member = members,
	};
}

/* The file with number i of the member's list; NULL: the plan does not have
 * it. */
static inline struct plan_file *
plan_member_file(const struct plan *p, const struct plan_member *m, size_t i)
{
	return m->files != NULL && m->files[i] != PLAN_NONE
		       ? &p->files[m->files[i]]
		       : NULL;
}

/* The rank of a member; NULL: unknown. */
static inline struct plan_rank *
plan_rank_of(const struct plan *p, const struct plan_member *m)
{
	return m->rank < p->nranks ? &p->ranks[m->rank] : NULL;
}

uint64_t plan_segs_size(const struct segment *segs, size_t n);

/* Make the string of the bytes `range` of a redundancy file, which is not
 * empty: in its segments, or in a file of its own. */
int plan_red_string(const struct plan *p, const struct plan_member *m,
		    const struct solve_range *range, struct arena *arena,
		    struct stripe *out, struct error *err);

/* Append a whole file to a string, as at most plan_file_nparts() parts. */
void plan_file_parts(const struct plan *p, size_t file, uint64_t start,
		     size_t sum, struct stripe *out);
static inline size_t
plan_file_nparts(const struct plan_file *f)
{
	return f->nsegs > 0 ? f->nsegs : 1;
}

/* The strings of a set's members, n each: data (present files; other files are
 * gaps) and body (readable redundancy files). */
struct plan_strings {
	struct stripe *data, *body;
};

/* Upper bound of the number of parts of a member's data string. */
size_t plan_data_room(const struct plan *p, const struct plan_member *m);

/* Make the strings; they are allocated from `arena`.  If `sums`, the parts of a
 * file with a recorded checksum have the file's index as the number of their
 * sum. */
int plan_strings(const struct plan *p, const struct plan_set *s, bool sums,
		 struct arena *arena, struct plan_strings *out,
		 struct error *err);

/* --- Reading and writing them --- */

/* Read each present file i that has a recorded checksum and for which look[i]
 * is set.  On return look[i] is set if the file is wrong, or could not be read:
 * then its `unread` is set, too.  If `crcs` is not NULL, all files of look[]
 * are read, and crcs[i] is the checksum of file i.  States are not changed. */
int plan_check_files(struct plan *p, const struct work *work, bool *look,
		     uint32_t *crcs, struct error *err);

/* The time of a file on disk, compared with the recorded one. */
enum file_age { AGE_UNKNOWN, AGE_OLDER, AGE_SAME, AGE_LATER };
enum file_age plan_age_of(const struct stat *st, const struct attr *recorded);
enum file_age plan_file_age(const struct plan *p, const struct plan_file *f);

/* Read the redundancy file of a member, if its checksum is recorded, in the
 * calling thread and without progress.  *wrong: it is not as recorded. */
int plan_check_red(const struct plan *p, const struct plan_member *m,
		   const struct work *work, bool *wrong, struct error *err);

/* Do recorded checksums prove all that a rebuild of the set computes? */
bool plan_can_prove(const struct plan *p, const struct plan_set *s);

/* Suppose that the file or the body at `at` is wrong; or drop this
 * supposition. */
int plan_suppose(struct plan *p, uint32_t set, const struct solve_ref *at,
		 bool wrong, struct error *err);

/* Is the set left alone: it is away, or it contradicts itself, and lacks only
 * redundancy, so that no other set depends on it? */
bool plan_leaves_set(const struct plan *p, const struct plan_set *s);

/* Is the body behind a damaged header used? */
static inline bool
plan_uses_body(const struct plan_set *s, const struct plan_member *m)
{
	return s->salvage && m->state == RED_HEADER_DAMAGED &&
	       m->fate == FATE_REBUILD;
}

/* Is that body copied to a new file?  A packed file keeps its place. */
static inline bool
plan_copies_body(const struct plan_set *s, const struct plan_member *m)
{
	return plan_uses_body(s, m) && m->red->nsegs == 0;
}

/* Does a rebuild of a redundancy file write its descriptor, too? */
static inline bool
plan_writes_descriptor(const struct plan_member *m)
{
	return m->red->nsegs == 0 && m->red->descriptor.fate == FATE_REBUILD;
}

/* Called before and after a rebuild writes into containers.  The function
 * plan_begin_packed() marks on disk all segments to be written and extends the
 * containers; *marked is set if there are any.  The function plan_end_packed()
 * syncs the containers, then removes the mark, except for segments that are
 * still missing. */
int plan_begin_packed(struct plan *p, bool *marked, struct error *err);
int plan_end_packed(struct plan *p, struct error *err);

#endif /* RESCUE_RESCUE_IMPL_H */
