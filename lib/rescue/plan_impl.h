/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_impl.h - what the parts of the planner share.  Private to plan.c
 * and plan_*.c.
 *
 *   plan_source.c  the constructors: directories, files by hand, reports
 *   plan_scan.c  directories -> names -> filemaps
 *   plan_packed.c  the same out of containers
 *   plan_root.c  recorded paths -> paths below the root
 *   plan_set.c   names -> sets -> headers -> lists -> solution
 *   plan.c       the order of things, states, totals, words
 */
#ifndef RESCUE_PLAN_IMPL_H
#define RESCUE_PLAN_IMPL_H

#include "meta/filemap.h"
#include "rescue/rescue_impl.h"

/* A set this large is no set: limits what a crafted name can ask for. */
#define PLAN_SET_MAX 4096

/* More ranks than any job: limits what a crafted filemap can ask for. */
#define PLAN_RANKS_MAX ((int64_t)4 << 20)

/* Sets of which no file is left are listed up to this number. */
#define PLAN_GONE_MAX 1024

struct buf;
struct hidden_file;

struct map_entry {
	int64_t rank;
	uint32_t place;
	const char *name;
	const struct hidden_file *hidden; /* packed; NULL: a file */
	const struct plan_report *report; /* or what a process says */
};

struct red_entry {
	struct redset_name n;
	uint32_t place;
	const char *name; /* path below the place's metadata directory */
	bool absent;	  /* named by hand, but not there */
	const struct hidden_file *hidden;     /* packed; NULL: a file */
	const struct plan_red_report *report; /* or what a process says */
};

struct planner {
	struct plan p; /* first: a plan is a planner */
	const struct plan_options *o;
	const struct work *work;
	struct arena **arenas; /* one a worker */
	unsigned nworkers;

	struct map_entry *maps;
	size_t nmaps, maps_cap;
	struct red_entry *reds;
	size_t nreds, reds_cap;
	struct filemap *filemaps; /* by rank; valid where rank.map_known */
	const struct plan_report *reports; /* ascending; NULL: directories */
	size_t nreports;
	size_t ranks_cap;
	size_t files_cap, sets_cap;
	const char *stem; /* of files given by hand; NULL: the usual */
	bool bare;	  /* no filemaps: files stand in the headers */
	bool by_hand;	  /* only the sets of the files named are judged */
	bool maps_only;	  /* and those protect filemaps */
};

/* --- plan_scan.c --- */

/* Add the names of one metadata directory. */
int plan_scan_dir(struct planner *w, uint32_t place, struct error *err);

/* Add one name, if it is one of ours; `hidden`: a packed one. */
int plan_scan_one(struct planner *w, uint32_t place, const char *name,
		  const struct hidden_file *hidden, struct error *err);

/* Add what a process reports. */
int plan_add_map(struct planner *w, const struct plan_report *r,
		 struct error *err);
int plan_add_red(struct planner *w, const struct plan_red_report *r,
		 struct error *err);

/* Add one name given by hand. */
int plan_scan_name(struct planner *w, const char *name, bool map,
		   struct error *err);

/* Read all filemaps; sets nranks, ranks[].map, map_known, filemaps[]. */
int plan_scan_maps(struct planner *w, struct error *err);

/* Make ranks[] at least n long; ERROR_CORRUPT beyond all bounds. */
int plan_need_ranks(struct planner *w, int64_t n, struct error *err);

/* Take the contents of a filemap of `rank`: *why is set if it is no good. */
int plan_take_map(struct planner *w, uint32_t rank, const void *image,
		  size_t size, const char **why, struct error *err);

/* --- plan_packed.c --- */

/* Read map and marks of place 0, if it has containers; then their names. */
int plan_load_packed(struct planner *w, struct error *err);
void plan_packed_free(struct plan_packed *k);
int plan_scan_packed(struct planner *w, struct error *err);

/* Where a packed metadata file lies; NULL: it is a tree in memory. */
const struct plan_seg *plan_hidden_segs(const struct plan *p,
					const struct hidden_file *f, size_t *n);

/* Its contents.  ERROR_CORRUPT: not all of it is there. */
int plan_hidden_image(const struct plan *p, const struct hidden_file *f,
		      struct buf *out, struct error *err);

/* Segments: are all there; the first bytes of them. */
bool plan_segs_good(const struct plan_seg *segs, size_t n);
int plan_segs_read(const struct plan *p, const struct plan_seg *segs, size_t n,
		   void *data, size_t len, struct error *err);

/* Find the segments of all files of the plan; then the state of one. */
int plan_place_packed(struct planner *w, struct error *err);
enum file_state plan_packed_state(struct plan_file *f);

/* Does the map have a file of that path and size? */
bool plan_packed_knows(const struct plan *p, const char *path, uint64_t size);

/* --- plan_root.c --- */

/* Make files[] from the filemaps: paths below the root of their place.  Finds
 * out the recorded root first. */
int plan_map_files(struct planner *w, struct error *err);

/* Path below the place's root for a path in a redundancy header (bare). */
const char *plan_bare_path(struct planner *w, const char *path,
			   struct error *err);

/* Append a file; returns its index or SIZE_MAX. */
size_t plan_add_file(struct planner *w, const struct plan_file *f,
		     struct error *err);

/* stat all files from `first` on: sets state. */
int plan_stat_files(struct planner *w, size_t first, struct error *err);

/* --- plan_set.c --- */

/* Make sets[] from the names. */
int plan_make_sets(struct planner *w, struct error *err);

/* Tell the rank of a member which set it is in. */
void plan_claim_rank(struct planner *w, uint32_t set, uint32_t member);

/* Is the rank in one of the sets given by hand?  Else always. */
bool plan_concerns(const struct planner *w, const struct plan_rank *r);

/* Verdicts for what is in no set. */
void plan_settle(struct planner *w);

/* --- plan_open.c --- */

/*
 * Read the headers of a set: lists, ranks, bodies; images of the files that
 * will have to be written.  What cannot be read is a state of its member, not
 * an error.
 */
int plan_open_set(struct planner *w, struct plan_set *s, struct arena *arena,
		  struct error *err);

/* Make the header image of a member whose file has to be written anew. */
int plan_make_header(struct plan_set *s, uint32_t member, struct arena *arena,
		     struct error *err);

/* --- plan_solve.c --- */

/* Open and solve all sets of one kind that lack something (PLAN_HEADERS: all).
 */
int plan_solve_sets(struct planner *w, bool map, struct error *err);

/* Solve one opened set anew: verdict, fates. */
int plan_solve_set(struct planner *w, struct plan_set *s, struct arena *arena,
		   struct error *err);

/* Open a set after the plan was made: one of its files turned out bad. */
int plan_reopen_set(struct planner *w, uint32_t set, struct error *err);

/* --- plan_reason.c --- */

/* A sentence, or a shorter one where there was no memory for it. */
const char *plan_or_brief(const char *text, const char *brief);

/* "ranks 1 3 are missing, the scheme survives 1": a set without a solution.
 * any[i]: member i lacks a file. */
const char *plan_explain(const struct plan_set *s,
			 const struct solve_member *losses, const bool *any,
			 struct arena *arena);

/* Lists of files that nobody has make a set unsolvable: name the ranks whose
 * they are, and all that lack something.  NULL: there are none. */
const char *plan_unknown_lists(const struct plan_set *s, const bool *any,
			       struct arena *arena);

/* --- plan_check.c --- */

/* Read every present file that has a recorded checksum; a wrong one changes
 * its state. */
int plan_check_all(struct planner *w, struct error *err);

/* A new set at the end, all zero; NULL: ERROR_NOMEM. */
struct plan_set *plan_push_set(struct planner *w, struct error *err);

/* Name the files of a member by its rank; see plan_open_set(). */
int plan_name_member(struct planner *w, struct plan_set *s, uint32_t member,
		     struct arena *arena, struct error *err);

/* --- plan.c --- */

/* From names to a plan: the order of things. */
int plan_make(struct planner *w, struct error *err);

/* Verdicts and totals. */
void plan_finish(struct planner *w);

/* plan_ranks_text() into any arena; NULL: ENOMEM. */
const char *plan_ranks_in(struct arena *a, uint32_t *ranks, size_t count);

/* --- plan_strings.c --- */

/* Rebuild lost filemaps in memory, and read them. */
int plan_restore_maps(struct planner *w, struct error *err);

#endif /* RESCUE_PLAN_IMPL_H */
