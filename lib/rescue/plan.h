/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - the state of one dataset: which files are present, missing or
 * damaged, what that means, and what can be rebuilt. scr_inspect prints a plan;
 * scr_rebuild and scr_index --build carry it out.  So all of them judge a
 * dataset in the same way.
 *
 * The files of a dataset lie in one or several places:
 *   prefix  metadata in PREFIX/.scr/scr.dataset.ID, files anywhere below
 *           PREFIX (after a scavenge or flush);
 *   cache   metadata in DIR/.scr, files in DIR itself, where DIR is
 *           .../scr.dataset.ID of one node; several nodes' directories of the
 *           same dataset make one plan.
 *
 * Callers only read these structs.  The location of the bytes is private to
 * this room (rescue_impl.h).
 *
 * Making a plan reads metadata and stats files; with PLAN_CHECKSUMS it also
 * reads every file that has a recorded checksum.  It changes nothing on disk.
 * Missing filemaps are rebuilt in memory, so that a plan knows the files of
 * lost ranks before anything is written.
 */
#ifndef RESCUE_PLAN_H
#define RESCUE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"
#include "meta/redset.h"

struct arena;
struct error;
struct index;
struct json;
struct rank2file;
struct segment;
struct plan_red_report;
struct solution;
struct solve_member;
struct stat;
struct work;

/* --- Places --- */

struct place {
	const char *root;     /* prefix or cache directory, for messages */
	const char *meta;     /* metadata directory, for messages */
	int root_fd, meta_fd; /* owned by the plan; -1: none */
	bool cache;	      /* a cache directory; false: a prefix */
};

/* --- Files --- */

enum file_state {
	FILE_PRESENT, /* right size, and right checksum if it was read */
	FILE_MISSING,
	FILE_WRONG_SIZE,
	FILE_WRONG_TYPE, /* a directory, a device, a dangling link */
	FILE_WRONG_CRC,
	FILE_UNREAD,	 /* an I/O error: its bytes may be right */
	FILE_INCOMPLETE, /* the job never finished writing it */
	FILE_ELSEWHERE,	 /* named by the filemap of a cache, but never in the
			    cache (bypass): not checked */
	FILE_STATES
};

enum fate {
	FATE_KEEP,    /* nothing to do */
	FATE_REBUILD, /* can be computed from the rest of its set */
	FATE_LOST,    /* cannot be computed */
};

/* The checksum of a file, to be recorded in rank2file: see plan_sums(). */
struct plan_sum {
	bool known;
	bool carried; /* taken from an earlier record, not compared yet */
	bool wanted;  /* plan_sums_read() reads the file */
	uint32_t crc;
};

struct plan_file {
	uint32_t rank;
	uint32_t place;
	const char *path;	/* relative to the place's root, clean */
	const char *cache_path; /* its path in filemap and redundancy headers */
	struct attr attr;	/* as recorded */
	bool has_crc;
	bool record_crc; /* from rank2file: one file has those of all */
	bool copy_crc;	 /* computed when the file was copied from a cache: it
			  proves nothing about the content before that */
	uint32_t crc;
	enum file_state state;
	enum fate fate;
	uint64_t found_size;  /* size on disk, in bytes; valid for
				FILE_WRONG_SIZE */
	bool unreadable;      /* its mode does not let its owner read it */
	bool barred;	      /* present, but the job may not read it, whoever
				looks */
	bool unread;	      /* an I/O error kept it from being compared */
	bool packed;	      /* in containers, or empty; false: a file of its
				own */
	bool older;	      /* on disk than recorded: of an earlier run */
	bool astray;	      /* missing, and in the directory plan.is */
	bool found;	      /* a deep_finding tells that it is wrong */
	size_t nsegs;	      /* in containers */
	struct segment *segs; /* container/segmap.h */
	struct plan_sum sum;
};

/* A small metadata file: present, or to be written from `image`. */
struct plan_meta {
	uint32_t place;
	const char *name; /* relative to the place's meta; NULL: unknown */
	enum fate fate;
	const char *why;   /* why it is damaged or missing; NULL: present */
	bool unread;	   /* because of an I/O error: it may be right */
	const void *image; /* contents to write; valid for FATE_REBUILD */
	size_t image_size;
	size_t tail; /* bytes of a present filemap after its kvtree; all readers
			ignore them (kvtree(5)) */
};

struct plan_rank {
	struct plan_meta map; /* state of its filemap */
	bool map_known;	      /* read, or rebuilt in memory: its files are
				       valid */
	bool composed;	      /* its filemap is made from rank2file */
	bool unsized;	      /* which has not the sizes of all files */
	bool doubted;	      /* its filemap was set aside once */
	const void *refused;  /* what its set computes, and it is not: of
				refused_size bytes; NULL: nothing */
	size_t refused_size;
	bool unplaced;		    /* its filemap is lost; its files in the
				       cache are known from redundancy headers,
				       but not their paths on the prefix */
	size_t first_file, nfiles;  /* range in plan.files */
	uint32_t data_set, map_set; /* indices in plan.sets, or PLAN_NONE */
	uint32_t data_member, map_member;
};

/* Can a recorded checksum prove that the content is what the job wrote? */
static inline bool
plan_file_provable(const struct plan_file *f)
{
	return (f->has_crc && !f->copy_crc) || f->attr.size == 0;
}

#define PLAN_NONE UINT32_MAX

/* --- Redundancy sets --- */

enum red_state {
	RED_PRESENT,
	RED_MISSING,
	RED_HEADER_DAMAGED, /* header unreadable, but the file has the right
			       size: its body may be used */
	RED_DAMAGED,	    /* unreadable, or wrong size */
	RED_UNCHECKED,	    /* listed, but not opened (plan without
			       PLAN_HEADERS, nothing missing in the set) */
};

/* The bytes of a redundancy file, and of its descriptor. */
struct plan_red {
	const struct plan_red_report *report; /* NULL: it is on disk */
	size_t nsegs;			      /* > 0: it is packed */
	struct segment *segs;
	bool has_crc; /* of the whole file, if packed */
	uint32_t crc;
	bool wrong, unread; /* found when its checksum was compared */
	const struct redset_header *read; /* its header; NULL: not read, or
					     damaged */
	bool renewed;  /* its list is made from the filemap */
	bool foreign;  /* it is that of another dataset */
	int64_t older; /* the newest time in it, if that shows this
			  (microseconds since the epoch); else 0 */
	uint64_t body_start, body_size; /* in bytes */
	const void *header; /* encoded header to write if the file is
			       rebuilt */
	size_t header_size;
	struct plan_meta descriptor; /* the descriptor file
					<stem>.er.R.redset */
};

struct plan_member {
	uint32_t rank; /* world rank; PLAN_NONE: unknown */
	enum red_state state;
	uint32_t place;
	const char *name;    /* of the redundancy file; NULL: unknown */
	const char *problem; /* why it cannot be used; NULL: it can */
	bool unread;	     /* because of an I/O error: it may be right */
	bool wrong_sum;	     /* only its recorded checksum shows the damage */
	bool found;	     /* a deep_finding tells that it is damaged */
	uint64_t file_size;
	struct redset_member list; /* its files; valid if list.known */
	uint32_t *files; /* index in plan.files of list.files[i], or PLAN_NONE;
			    NULL for a set over filemaps */
	enum fate fate;	 /* of the redundancy file */
	bool source;	 /* a rebuild of its set reads from it */
	struct plan_red *red;
};

enum set_verdict {
	SET_WHOLE,
	SET_REBUILDABLE,
	SET_LOST,
};

struct plan_set {
	bool map; /* protects filemaps; false: data files */
	enum redset_type type;
	uint32_t number, sets; /* 1-based number; number of sets of this kind */
	uint32_t n;
	uint32_t failures;     /* losses that the scheme tolerates; valid if
				  opened or sampled */
	uint64_t chunk;	       /* chunk size in bytes; XOR and RS only */
	bool opened;	       /* the headers were read */
	bool sampled;	       /* one header was read */
	bool foreign;	       /* the headers are those of another dataset */
	bool disputed;	       /* they contradict one another, all alike */
	const char *flaw;      /* a contradiction between headers and filemaps,
				  or NULL */
	const uint32_t *ranks; /* by member; only for a set without headers */
	struct plan_member *members; /* n of them */
	enum set_verdict verdict;
	const char *reason; /* why the set is lost: one clause that names
			       ranks */
	uint32_t missing;   /* members with a missing or damaged file */
	uint32_t spare;	    /* further whole members that the set can lose;
			       valid if opened */
	struct solution *solution; /* what to compute (solve.h); NULL: not
				      solved */
	bool searched;	/* what is left of it was compared (deep.h) */
	bool doubtful;	/* and contradicts itself: what is wrong is unknown */
	bool undecided; /* nor can a rebuild prove itself: plan.undecided */
	bool salvage; /* bodies behind damaged headers are used, because the set
			  is lost without them */
	bool unproved; /* and no checksum confirms what is computed from them */
	bool away;     /* another process carries it out: plan_keep() */
};

/* --- The plan --- */

struct plan {
	struct arena *arena; /* owns what the plan points to */
	int64_t id;
	size_t nplaces;
	struct place *places;
	int64_t nranks; /* -1: unknown */
	struct plan_rank *ranks;
	size_t nfiles;
	struct plan_file *files;
	size_t nsets;
	struct plan_set *sets;	   /* sets over filemaps first */
	const char *recorded_root; /* path of the prefix when the metadata was
				       written (prefix plans); NULL: unknown */
	bool moved;		   /* the prefix has another path now */
	bool packed;		   /* its files are in containers */
	bool copied; /* the directory has copied_R.scr of a scavenge */
	/* It was being copied into containers when that was cut off: what is
	 * missing may be in the caches. */
	bool unfinished;
	/* The summary is that of an older dataset, whose files have been
	 * replaced; and so are rank2file and the containers. */
	bool older_summary, outdated;
	/* Most filemaps contradict the checksums in rank2file. */
	bool old_sums;
	/* What is wrong with the dataset as a whole, although no file is known
	 * to be; NULL: nothing.  STATUS_FAILED: witnesses contradict each
	 * other, so that its state is unknown; STATUS_DAMAGED: only a user can
	 * mend it; or STATUS_LOST. */
	const char *flaw;
	int flaw_status;
	/* A directory below the prefix that somebody renamed, and its new name;
	 * NULL: none. */
	const char *was, *is;
	bool undecided; /* data and redundancy differ: what is computed from
			   them may be wrong (deep_search()) */
	bool total_compared; /* sizes are not recorded, but their total is */
	bool part;    /* plan_keep(): only some sets are this process's */
	bool exposed; /* nothing restores a lost filemap: no redundancy, and no
			  rank2file with the sizes of all files */

	/* Totals. */
	uint64_t bytes; /* of all known files */
	size_t files_missing, files_rebuild, files_lost;
	size_t maps_missing, maps_lost; /* filemaps */
	size_t maps_unplaced;		/* of the lost ones: the rank is */
	size_t ranks_lost;		/* ranks with a lost file or filemap */
	/* Where files of ranks without a filemap may be, as a clause: then it
	 * is unknown whether they are lost.  NULL: they are nowhere. */
	const char *unclaimed;
	size_t red_missing; /* redundancy files to be rebuilt */
	/* Files that could not be read because of an I/O error.  A rebuild
	 * treats them as lost, but they may be intact. */
	size_t unread;
	const char *first_unread; /* which, and why; NULL: none */
	/* Files that are barred: whether they are right is unknown, and they
	 * are not replaced. */
	size_t barred;
	/* A redundancy file whose header is damaged: files can be computed from
	 * what is behind it, but nothing confirms them.  NULL: none. */
	const char *unproved;
	uint64_t bytes_read, bytes_written; /* by a rebuild */
	enum set_verdict verdict;	    /* the worst one */
};

enum {
	/* open every redundancy file's header, and take the checksums in
	 * rank2file: for deep_check() */
	PLAN_HEADERS = 1 << 0,
	/* read files that have a recorded CRC, also packed redundancy files */
	PLAN_CHECKSUMS = 1 << 1,
	/* open one header of each set that lacks nothing, and compare the sizes
	 * of its other redundancy files, to find the tolerance of the set */
	PLAN_SCHEMES = 1 << 2,
	/* PLAN_HEADERS for the sets over data files, if a file has no recorded
	 * checksum */
	PLAN_UNPROVED = 1 << 3,
};

struct plan_options {
	unsigned flags;
	const char *moved_from;	   /* former path of the prefix, given by the
				    user; or NULL */
	const struct work *work;   /* threads; progress of PLAN_CHECKSUMS */
	const struct index *index; /* of the prefix; NULL: read it if needed */
	bool remade;		   /* from the summaries: no other witness */
};

/* --- Making one --- */

/*
 * All constructors return a plan that the caller frees with plan_free(), or
 * NULL.  `o` may be NULL; the options are needed only during the call.
 */

/* A dataset on a prefix whose directories the caller has open.  The plan
 * duplicates the descriptors. */
struct plan_dataset {
	const char *prefix;	/* its path: for messages, and to compare with
				   recorded paths */
	int prefix_fd, meta_fd; /* PREFIX and PREFIX/.scr/scr.dataset.ID */
	int64_t id;
};

/*
 * Plan for a dataset on a prefix.  Errors: ERROR_ABSENT (the dataset has
 * neither a filemap nor a redundancy file), ERROR_CORRUPT (ranks or sets
 * cannot be used together), ERROR_UNSAFE (a recorded path leaves the prefix),
 * ERROR_USAGE (the recorded root cannot be determined: --moved-from is needed),
 * ERROR_SYSTEM, ERROR_NOMEM.
 */
struct plan *plan_prefix(const struct plan_dataset *d,
			 const struct plan_options *o, struct error *err);

/* Plan for a dataset in caches: `dirs` are the directories .../scr.dataset.ID
 * of one or more nodes.  Rebuilt files go to the place of their rank, or to the
 * first place if the rank had none. */
struct plan *plan_caches(const char *const *dirs, size_t ndirs,
			 const struct plan_options *o, struct error *err);

/* Redundancy files that the user names one by one, as for LLNL's rebuild
 * helpers. */
struct plan_by_hand {
	const char *dir; /* the directory of the files */
	/* Data files are found through the filemaps in `dir`.  NULL: at the
	 * paths in the headers, which must lie below `dir` after `moved_from`
	 * has been replaced by `dir`. */
	const char *prefix;
	const char *const *names; /* of the redundancy files, relative to
				     `dir` */
	size_t nnames;
	bool map; /* the files protect filemaps */
};

/* Plan for the sets of these files only.  Errors as for plan_prefix(), and
 * ERROR_USAGE: a name is not that of a redundancy file. */
struct plan *plan_files(const struct plan_by_hand *h,
			const struct plan_options *o, struct error *err);

/* A redundancy file, as reported by the process that has it. */
struct plan_red_report {
	const char *name;   /* file name */
	const void *header; /* encoded header, and its size in bytes */
	size_t header_size;
	uint64_t size; /* of the whole file, in bytes */
};

/* What a process reports about the part of the dataset that belongs to a
 * rank. */
struct plan_report {
	uint32_t rank;	 /* num_by_u32() */
	const void *map; /* encoded filemap; NULL: missing */
	size_t map_size;
	const enum file_state *files; /* by file, in the order of the filemap;
					 NULL: all are present */
	size_t nfiles;
	const struct plan_red_report *reds; /* of its data and of its filemap */
	size_t nreds;
};

/*
 * Plan for dataset `id` from `n` reports, ascending by rank.  No file is read.
 * The reports may be those of one set of a larger dataset: the verdict on this
 * set is right, and all other ranks count as lost.
 *
 * Sets have their solutions, but rebuild() cannot execute them: the processes
 * that have the files do.  A lost filemap that its set can compute has
 * FATE_REBUILD, but the files of its rank are known only from the lists of the
 * sets.  The reports are needed only during the call.
 */
struct plan *plan_reports(int64_t id, const struct plan_report *reports,
			  size_t n, struct error *err);

/* Set the length and the lost ranges of a member's data string, for solve().
 * Returns 1 if a file is lost, even an empty one, which has no range; 0; or -1
 * on error. */
int plan_member_losses(const struct plan *p, const struct plan_set *s,
		       const struct plan_member *m, struct arena *arena,
		       struct solve_member *out, struct error *err);

/* What is left of the rank2file of a dataset on a prefix (see `flaw`); NULL:
 * *why. */
const struct rank2file *plan_rank2file(const struct plan *p, struct error *why);

void plan_free(struct plan *p); /* NULL is allowed */

/* Set p->flaw, in the plan's memory; NULL: there was none. */
int plan_set_flaw(struct plan *p, int status, const char *text,
		  struct error *err);

/* Set the state of a file that turned out to be damaged while it was read, and
 * solve its set again.  Changes verdicts and totals.  Returns 0, or -1 on
 * error. */
int plan_mark(struct plan *p, size_t file, enum file_state state,
	      struct error *err);

/* The same for all files i with look[i]. */
int plan_mark_all(struct plan *p, const bool *look, enum file_state state,
		  struct error *err);

/* The same for a member's redundancy file whose body is damaged. */
int plan_mark_body(struct plan *p, uint32_t set, uint32_t member,
		   struct error *err);

/*
 * Add redundancy to a dataset that has none: sets of at least `size` ranks (0:
 * 8) that tolerate `failures` losses (0: 2; ignored if the type fixes the
 * number).  All redundancy files are missing in the plan, so that a rebuild
 * computes them from the data.  Ranks with adjacent numbers go to different
 * sets.  ERROR_USAGE: too few ranks, sets that are too large, the dataset
 * has other redundancy, or redundancy of this type cannot be made
 * (scheme.chunk); ERROR_DAMAGED: a data
 * file or filemap is missing or damaged.
 */
int plan_protect(struct plan *p, enum redset_type type, uint32_t size,
		 uint32_t failures, struct error *err);

/* Would it do so, with its defaults? */
bool plan_protectable(const struct plan *p, enum redset_type type);

/* --- Checksums for rank2file --- */

/* Take the checksum that rank2file has of each file of the plan. */
void plan_sums(struct plan *p);

/*
 * If copied_R.scr in the dataset's directory records checksums, use those of
 * files that have not changed since they were copied.  Then files that no
 * scavenge has copied, and that nothing else confirms, are marked wrong.
 */
int plan_sums_copied(struct plan *p, struct error *err);

/* The content of `file` was wrong when it was copied: forget the checksum of
 * the copy, and remove the copied_R.scr that records it. */
void plan_sums_forget(struct plan *p, size_t file);

/* Read the files that are wanted and not packed.  A file with a wrong checksum
 * is marked in the plan; if the files were `rebuilt`, it is ERROR_DAMAGED. */
int plan_sums_read(struct plan *p, bool rebuilt, const struct work *work,
		   struct error *err);

/* Read the present files whose checksum the plan has not compared: of those
 * without one it becomes known. */
int plan_sums_compare(struct plan *p, const struct work *work,
		      struct error *err);

/* Is the checksum of each file known that is present and not packed?
 * PLAN_CHECKSUMS has compared it. */
bool plan_sums_all(const struct plan *p);

/* The container of a segment of a file, or (`red`) of a redundancy file:
 * relative to the place's metadata directory. */
const char *plan_seg_path(const struct plan *p, const struct segment *s,
			  bool red);

/*
 * The number of containers that a packed dataset can lose without losing data,
 * whichever containers these are; `rebuilt`: after a rebuild.  The plan has its
 * headers read (PLAN_HEADERS).  *critical: the number of containers whose loss
 * alone loses data.
 */
size_t plan_container_spare(const struct plan *p, bool rebuilt,
			    size_t *critical);

/* packed_map_flaw() of a packed dataset; *incomplete: packed metadata are lost,
 * too. */
bool plan_map_flaw(const struct plan *p, char *to, size_t size,
		   bool *incomplete);

/* Describe a container that is longer than recorded; its files may all be
 * right.  false: there is none. */
bool plan_long_container(const struct plan *p, char *to, size_t size);

/* Maximum length of the path of what a user has to move. */
#define PLAN_WAY_MAX 1024

/* What a user has to move before the next step, which would fail, or keep it;
 * "": nothing. */
struct plan_way {
	/* A directory in the place of a file; or, if all files have the right
	 * size, a lost one with wrong content: else a scavenge takes the
	 * dataset for whole. */
	char obstacle[PLAN_WAY_MAX];
	/* Of a directory that was renamed, below the prefix. */
	char was[PLAN_WAY_MAX], is[PLAN_WAY_MAX];
};

void plan_find_way(const struct plan *p, struct plan_way *out);

/* plan_file_provable() for all files. */
bool plan_provable(const struct plan *p);

/*
 * Exit status for a plan:  STATUS_OK, STATUS_DAMAGED or STATUS_LOST.
 * STATUS_FAILED: a file could not be read, or may not be, so it is unknown
 * whether data are lost.
 */
int plan_status(const struct plan *p);

/*
 * The same for the data alone.  If all data are present and only redundancy is
 * lost, plan_status() is not STATUS_DAMAGED, but this is.
 */
int plan_data_status(const struct plan *p);

/* Set *err to one sentence about the worst finding, as "set 2 of 4 (XOR, ranks
 * 1 3 5 7): 2 of 4 members (ranks 3 5) are missing; XOR can
 * restore 1".  Returns -1 with
 * ERROR_LOST, ERROR_SYSTEM (see plan_status()) or ERROR_DAMAGED; 0 if the
 * dataset is whole. */
int plan_error(const struct plan *p, struct error *err);

/* Format ranks for people, as "0-3 8".  The string lives as long as the
 * plan. */
const char *plan_ranks_text(const struct plan *p, const uint32_t *ranks,
			    size_t count);

/* The state of a file by its type and, if `size` is not NULL, its size. */
enum file_state file_state_of(const struct stat *st, const uint64_t *size);
const char *file_state_name(enum file_state s); /* as "present", "wrong size" */
const char *red_state_name(enum red_state s);

/* The whole plan as JSON: see scr_inspect(1). */
struct json *plan_json(const struct plan *p, bool all_files);

#endif /* RESCUE_PLAN_H */
