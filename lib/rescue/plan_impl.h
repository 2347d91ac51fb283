/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_impl.h - types and functions shared by the parts of the planner.
 * Private to plan.c and plan_*.c.
 *
 *   plan_source.c  constructors: directories, files by hand, reports; names of
 *                  metadata files, contents of filemaps
 *   descriptor.c   which descriptor is that of the dataset
 *   plan_owner.c   which of these belong to the dataset
 *   plan_record.c  what rank2file and copied_R.scr record of the files
 *   plan_others.c  paths that belong to other datasets, or to no rank
 *   plan_contradict.c  where filemaps, rank2file and headers differ
 *   plan_compose.c filemaps from rank2file
 *   plan_packed.c  the same for packed datasets
 *   plan_root.c    recorded paths -> paths below the root
 *   plan_set.c     names of redundancy files -> sets, and what one that lacks
 *                  nothing tolerates
 *   plan_open.c    headers of a set -> lists of files, new headers
 *   plan_renew.c   the same from filemaps, if headers are lost
 *   plan_solve.c   losses of a set -> solution, verdict
 *   plan.c         sequence of these steps, totals, states
 *   plan_check.c   files that turn out to be damaged
 *   plan_error.c   the same in words
 *   plan_part.c    the parts that several processes carry out; plan_digest.c
 */
#ifndef RESCUE_PLAN_IMPL_H
#define RESCUE_PLAN_IMPL_H

#include "container/hidden.h"
#include "meta/filemap.h"
#include "meta/rank2file.h"
#include "rescue/descriptor.h"
#include "rescue/rescue_impl.h"

/* Larger sets are rejected: limits the memory that a crafted name can
 * request. */
#define PLAN_SET_MAX 4096

/* More ranks than any job has: limits the memory that a crafted filemap can
 * request. */
#define PLAN_RANKS_MAX ((int64_t)4 << 20)

/* Larger filemaps are rejected. */
#define PLAN_MAP_MAX ((size_t)256 << 20)

/* At most this number of sets without any remaining file are listed. */
#define PLAN_GONE_MAX 1024

struct buf;
struct copied;
struct kvtree;
struct plan_others;
struct plan_record;

/* The containers of a plan. */
struct plan_packed {
	struct rank2file r2f;
	struct segmap map;
	struct hidden hidden;
	struct map *by_path;
	struct kvtree *marks;
};

struct map_entry {
	int64_t rank;
	uint32_t place;
	const char *name;
	const struct segmap_file *hidden; /* packed; NULL: a file */
	const struct plan_report *report; /* or reported by a process */
};

struct red_entry {
	struct redset_name n;
	uint32_t place;
	const char *name; /* relative to the place's metadata directory */
	bool absent;	  /* named by hand, but missing */
	const struct segmap_file *hidden;     /* packed; NULL: a file */
	const struct plan_red_report *report; /* or reported by a process */
};

/* What belongs to the dataset (plan_owner.c). */
struct plan_owner {
	struct descriptors found;
	bool known;	   /* its time is; false: all belongs to it */
	struct dataset is; /* files -1: not recorded */
	int64_t floor;	   /* metadata with older times belong to an older
			  dataset */
	bool by_id;	   /* filemaps name its cache directory */
	/* Summary or index say that the dataset is complete: then rank2file
	 * names all its files. */
	bool complete;
	size_t maps, reds; /* number of files of another dataset */
	int64_t newest;	   /* newest time in them */
};

struct planner {
	struct plan p; /* first member: a plan is cast to its planner */
	struct plan_packed *packed; /* NULL: no containers */
	struct plan_owner owner;
	struct plan_record *record; /* NULL: nothing else is recorded */
	struct plan_others *others; /* NULL: not needed yet */
	bool reported; /* made by plan_reports(): files cannot be opened */
	const struct plan_options *o;
	const struct work *work;
	struct par *par;       /* threads that wait for the file system */
	struct arena **arenas; /* by worker of par */
	unsigned nworkers;

	struct map_entry *maps;
	size_t nmaps, maps_cap;
	struct red_entry *reds;
	size_t nreds, reds_cap;
	struct filemap *filemaps; /* by rank; valid if rank.map_known */
	const struct plan_report *reports; /* ascending by rank; NULL: the plan
					      is made from directories */
	size_t nreports;
	size_t ranks_cap;
	int64_t said_ranks; /* size of the job in filemaps; -1: unknown */
	size_t files_cap, sets_cap;
	const char *stem; /* of names of files given by hand; NULL: the
			     default */
	bool bare;	  /* no filemaps: files are known from the headers */
	bool by_hand;	  /* only sets of the named files are considered */
	bool maps_only;	  /* and these sets protect filemaps */
	bool searched;	  /* for files that headers name */
	bool compared;	  /* filemaps with rank2file */
	bool judged;	  /* by plan_judge_record() */
	bool overlap;	  /* two filemaps name a file: headers may show which
			     of them is wrong */
	bool again;	  /* filemaps were found to be wrong: plan without
			     them */
};

/* --- plan_source.c --- */

/* Add one name if it is that of a filemap or redundancy file.  `hidden` is set
 * if the file is packed. */
int plan_scan_one(struct planner *w, uint32_t place, const char *name,
		  const struct segmap_file *hidden, struct error *err);

/* Read all filemaps; sets nranks, ranks[].map, map_known, filemaps[]. */
int plan_scan_maps(struct planner *w, struct error *err);

/* Grow ranks[] to at least n entries.  ERROR_CORRUPT: more than
 * PLAN_RANKS_MAX. */
int plan_need_ranks(struct planner *w, int64_t n, struct error *err);

/* Give the filemap of a rank its usual name. */
int plan_name_map(struct planner *w, uint32_t rank, struct error *err);

/* Set the number of ranks to the number in filemaps and sets. */
int plan_count_ranks(struct planner *w, struct error *err);

/* --- plan_owner.c --- */

/* Read the descriptor of a dataset on a prefix. */
int plan_owner_load(struct planner *w, struct error *err);

/* Drop the filemaps of another dataset.  Called when all are read, before their
 * contents are used. */
int plan_owner_maps(struct planner *w, struct error *err);

/* Mark the filemap of a rank as that of another dataset. plan_owner_sweep()
 * then removes all marked filemaps from maps[]. */
void plan_owner_forget(struct planner *w, int64_t rank);

/* Does `newest`, the newest time (microseconds) in metadata (-1: none), show
 * that they belong to an older dataset? */
bool plan_owner_is_older(const struct planner *w, int64_t newest);

/* Was the dataset created long before these recorded times? */
bool plan_owner_is_before(const struct planner *w, const struct attr *a);

/* Without a descriptor: are filemaps so much older than others that they may be
 * those of another run? */
bool plan_owner_two_runs(const struct planner *w);

/* Is the filemap of the rank not older than the dataset? */
bool plan_owner_dates(const struct planner *w, uint32_t rank);

void plan_owner_sweep(struct planner *w);

/* Remove sets with ranks that the job of the filemaps did not have. */
int plan_owner_names(struct planner *w, struct error *err);

/* Mark the members of a set whose headers are those of another dataset
 * (red->older).  If no header is left, sets s->foreign. */
void plan_owner_set(const struct planner *w, struct plan_set *s);

/* Remove sets of another dataset, and count such redundancy files.  Returns the
 * number of sets removed. */
size_t plan_owner_drop_sets(struct planner *w);

/* Report unused files, and the reason, to the log. */
void plan_owner_say(const struct planner *w);

/* --- plan_record.c --- */

/* Read what is left of rank2file. */
int plan_record_load(struct planner *w, struct error *err);
bool plan_record_usable(const struct planner *w);

/* A filemap is lost: take rank2file if the descriptor fits it. */
void plan_record_ask(const struct planner *w);

/* The size of the job in rank2file; 0: there is none. */
int64_t plan_record_ranks(const struct planner *w);

/* The entry of a file of the plan; NULL: none. */
const struct rank2file_file *plan_record_find(const struct planner *w,
					      const struct plan_file *f);

/* Is the filemap of the rank that of another one, by rank2file?  Both know its
 * files: somebody exchanged two filemaps. */
bool plan_record_exchanged(const struct planner *w, uint32_t rank);

/* Does rank2file contradict that the rank has the files of this list? */
bool plan_record_denies(const struct planner *w, const struct redset_member *l);

/* Take the checksums in rank2file, and of missing files those in
 * copied_R.scr. */
int plan_record_sums(struct planner *w, struct error *err);
/* If sizes are not recorded, compare the total: may set p.flaw. */
int plan_unsized(struct planner *w, struct error *err);

/* Read copied_R.scr of a rank into the arena.  1: done; 0: there is none, or it
 * is damaged; -1: it cannot be read. */
int plan_copied(const struct plan *p, uint32_t rank, struct arena *arena,
		struct copied *out, struct error *err);

void plan_record_free(struct plan_record *r); /* NULL is allowed */

/* The entry of the rank in rank2file; NULL: none. */
const struct rank2file_rank *plan_record_rank(const struct planner *w,
					      uint32_t rank);
/* --- plan_others.c --- */

/* *id: the dataset that owns this path, relative to the prefix, as its
 * directory's name and its own metadata say.  0: none but this one. */
int plan_other_of(struct planner *w, uint32_t rank, const char *path,
		  int64_t *id, struct error *err);
void plan_others_free(struct plan_others *o); /* NULL is allowed */

/* If the summary is that of an older dataset: are rank2file and containers,
 * too?  Sets p.outdated, or p.flaw if nothing shows it. */
int plan_judge_record(struct planner *w, struct error *err);

/* --- plan_contradict.c --- */

/* Do the filemap of a rank and rank2file name other files, or with `sums`,
 * other contents? */
bool plan_contradicts(const struct planner *w, uint32_t rank, bool sums);

/* Drop the filemaps that rank2file contradicts, if other witnesses agree with
 * it; *dropped is their number.  If these do not decide, set p.flaw. */
int plan_contradictions(struct planner *w, size_t *dropped, struct error *err);

/* Without rank2file: ERROR_DAMAGED if two filemaps name a file, and the
 * descriptor counts others. */
int plan_refuse_overlap(const struct planner *w, struct error *err);

/* Does the filemap of the rank, as the job wrote it, name the files of this
 * list: by their paths alone, with these sizes, or also with these times? */
enum plan_agreement { PLAN_BY_NAME, PLAN_BY_SIZE, PLAN_BY_TIME };
bool plan_map_has_list(const struct planner *w, const struct plan_rank *r,
		       const struct redset_member *l, enum plan_agreement how);

/* Does the descriptor count the files and bytes that rank2file names? */
bool plan_record_fits(const struct planner *w);

/* Mark members of an opened set whose headers contradict more of the others
 * than these each other. */
int plan_outvote_headers(const struct planner *w, struct plan_set *s,
			 struct error *err);

/* The headers of a set and filemaps name different files.  If most filemaps
 * agree with the headers, forget the others: true. */
bool plan_outvote_maps(struct planner *w, const struct plan_set *s);

/* --- plan_compose.c --- */

/* Compose lost filemaps from rank2file; *count is their number. */
int plan_compose_maps(struct planner *w, size_t *count, struct error *err);

/* The same from the headers of sets over files, for files that are present.
 * Only the first call searches. */
int plan_compose_from_headers(struct planner *w, size_t *count,
			      struct error *err);

/* Filemaps are lost: set p.unclaimed. */
int plan_ask_unclaimed(struct planner *w, struct error *err);

/* Encode the composed filemaps of a set over filemaps, whose members have
 * ranks, and solve it again.  1: done; 0: none of its filemaps is composed, or
 * one is unknown. */
int plan_compose_set(struct planner *w, struct plan_set *s, struct error *err);

/* --- plan_packed.c --- */

/* The containers of a plan; NULL: none. */
static inline struct plan_packed *
plan_containers(const struct plan *p)
{
	return ((const struct planner *)p)->packed;
}

/* If place 0 has containers, read their segment map and marks. */
int plan_load_packed(struct planner *w, struct error *err);
void plan_packed_free(struct plan_packed *k);
int plan_scan_packed(struct planner *w, struct error *err);

/* A packed metadata file; NULL: it is not packed. */
const struct segmap_file *plan_hidden_find(const struct plan *p,
					   const char *name);

/* Set segments and checksum of a packed redundancy file.  If `f` is NULL, or
 * kept as a tree in memory, nothing is set. */
void plan_hidden_red(const struct plan *p, const struct segmap_file *f,
		     struct plan_red *red);

/* Contents of a packed metadata file.  ERROR_CORRUPT: a part of it is
 * missing. */
int plan_hidden_image(const struct plan *p, const struct segmap_file *f,
		      struct buf *out, struct error *err);

/* Read the first `len` bytes of a packed redundancy file. */
int plan_red_read(const struct plan *p, const struct plan_member *m, void *data,
		  size_t len, struct error *err);

/* Look up the segments of all files of the plan. */
void plan_place_packed(struct planner *w);

/* The newest time in the files of the segment map, in microseconds; -1: none is
 * recorded. */
int64_t plan_packed_newest(const struct planner *w);

/* Does the segment map contain a file with this path and size? */
bool plan_packed_knows(const struct plan *p, const char *path, uint64_t size);

/* --- plan_root.c --- */

/* Find the recorded root, then make files[] from the filemaps, with paths below
 * the root of their place. */
int plan_map_files(struct planner *w, struct error *err);

/* Add file i of the member's list, for a plan without filemaps. */
int plan_bare_file(struct planner *w, struct plan_member *m, size_t i,
		   struct error *err);

/* stat all files from index `first` on and set their states. */
int plan_stat_files(struct planner *w, size_t first, struct error *err);

/* --- plan_set.c --- */

/* Append a set, all zero.  NULL: ERROR_NOMEM. */
struct plan_set *plan_push_set(struct planner *w, struct error *err);

/* Allocate the s->n members of a set: all missing. */
int plan_add_members(struct planner *w, struct plan_set *s, struct error *err);

/* Make sets[] from the names of the redundancy files. */
int plan_make_sets(struct planner *w, struct error *err);

/* Assign all ranks to sets again. */
void plan_claim_ranks(struct planner *w);

/* Record in the rank of a member which set the member belongs to.  If two sets
 * claim a rank, the set with the larger share of present redundancy files
 * wins. */
void plan_claim_rank(struct planner *w, uint32_t set, uint32_t member);

/* Does the plan include this rank?  Plans for files given by hand include only
 * ranks in the sets of these files; other plans include all ranks. */
bool plan_concerns(const struct planner *w, const struct plan_rank *r);

/* --- plan_open.c --- */

/*
 * Read the headers of a set: lists of files, ranks, bodies.  Encode the headers
 * that a rebuild will write.  A header that cannot be read changes the state of
 * its member; it is not an error.
 */
int plan_open_set(struct planner *w, struct plan_set *s, struct arena *arena,
		  struct error *err);

/* Read the header of a member: sets red->read, or state and problem.  `table`
 * is that of the set, and has the arena. */
int plan_read_header(const struct planner *w, struct plan_set *s,
		     uint32_t member, struct redset_table *table,
		     struct error *err);

/* Of how many members does the filemap confirm the list in the header? */
uint32_t plan_confirmed(const struct planner *w, const struct plan_set *s,
			const struct redset_header *h, enum plan_agreement how);

/* Set the names of a member's redundancy file and descriptor, if its rank is
 * known.  Names are allocated from `arena`. */
int plan_name_member(struct planner *w, struct plan_set *s, uint32_t member,
		     struct arena *arena, struct error *err);

/* Encode a tree as the image of `to`, in the arena.  `tree` NULL: *err is set
 * already. */
int plan_keep_image(const struct kvtree *tree, struct arena *arena,
		    struct plan_meta *to, struct error *err);

/* Encode the header of a member whose redundancy file will be rewritten. */
int plan_make_header(const struct planner *w, struct plan_set *s,
		     uint32_t member, struct arena *arena, struct error *err);

/* --- plan_renew.c --- */

/* Make the lists of members whose headers are lost from their filemaps; if no
 * header of the set is left, also the rest of what headers say. */
int plan_renew_lists(struct planner *w, struct plan_set *s, struct arena *arena,
		     struct error *err);

/*
 * On a prefix, if all filemaps are known and, for sets over files, all data are
 * present, find the ranks of members that no remaining file of their set names,
 * up to all: those of the set with the same
 * number over the other kind of files, or ranks in no set, as plan_protect()
 * would choose them.  So they can be rebuilt.  A set for which this fails stays
 * as it is.
 */
int plan_renew_gone(struct planner *w, struct error *err);

/* --- plan_solve.c --- */

/* Call fn for each of `count` sets, whose indices are in `sets`, with the arena
 * of the thread. */
typedef int plan_set_fn(struct planner *w, struct plan_set *s,
			struct arena *arena, struct error *err);
int plan_each_set(struct planner *w, const size_t *sets, size_t count,
		  plan_set_fn *fn, struct error *err);

/* Open and solve all sets of one kind with missing files (PLAN_HEADERS: all
 * sets). */
int plan_solve_sets(struct planner *w, bool map, struct error *err);

/* Solve an opened set again and set its verdict and fates. */
int plan_solve_set(struct planner *w, struct plan_set *s, struct arena *arena,
		   struct error *err);

void plan_forget_solution(struct plan_set *s);

/* Record the ranks and files in the headers that were read. */
int plan_join_set(struct planner *w, uint32_t set, struct error *err);

/* Is the filemap of the member's rank missing, or one of its files? */
bool plan_rank_lacks(const struct planner *w, const struct plan_member *m,
		     bool map);

/* Is a file, filemap or redundancy file of the set missing? */
bool plan_set_lacks(const struct planner *w, const struct plan_set *s);

/* Read one header of each of the `*count` sets that lack nothing.  Remove from
 * `sets` those for which this suffices: they are sampled. */
int plan_sample_sets(struct planner *w, size_t *sets, size_t *count,
		     struct error *err);

/* --- plan_error.c --- */

/* `text`, or `brief` if there was no memory to make `text` (NULL). */
const char *plan_or_brief(const char *text, const char *brief);

/* Why a set has no solution, as "2 of 4 members (ranks 1 3) are missing; XOR
 * can restore 1".
 * any[i]: a file of member i is missing or damaged. */
const char *plan_explain(const struct plan_set *s,
			 const struct solve_member *losses, const bool *any,
			 struct arena *arena);

/* If lists of files are lost, the set cannot be solved.  Name the ranks whose
 * lists are lost, and all ranks with missing files.  NULL: no list is lost. */
const char *plan_unknown_lists(const struct plan_set *s, const bool *any,
			       struct arena *arena);

/* --- plan_check.c --- */

/* Read every present file that has a recorded checksum.  A wrong checksum
 * changes the state of the file; may set p.flaw: a filemap may be older than
 * its files. */
int plan_check_all(struct planner *w, struct error *err);

/* The same for packed redundancy files, whose checksums were recorded when they
 * were packed: when the plan is made. */
int plan_check_reds(struct planner *w, struct error *err);

/* --- plan.c --- */

/* Make the plan from the names that were added: all steps in their order. */
int plan_make(struct planner *w, struct error *err);

/* Set verdicts and totals. */
void plan_finish(struct planner *w);

/* Add the bytes that a rebuild of the set reads and writes. */
void plan_count_set(const struct plan *p, const struct plan_set *s,
		    uint64_t *reads, uint64_t *writes);

/* --- plan_strings.c --- */

/* Rebuild the lost filemaps of a set in memory and decode them. */
int plan_restore_set(struct planner *w, struct plan_set *s, struct error *err);

/* --- plan_check.c --- */

/* "PATH: cannot be read (I/O error)"; or `path`, if there is no memory. */
const char *plan_unread_text(const struct plan *p, const char *path);

/* plan_mark_unread() without totals, and without restoring filemaps. */
int plan_mark_at(struct planner *w, struct plan_set *s,
		 const struct solve_ref *at, const char **text,
		 struct error *err);

#endif /* RESCUE_PLAN_IMPL_H */
