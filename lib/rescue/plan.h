/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - what is there of one dataset, what it means, and what can be done
 * about it.  scr_inspect prints a plan, scr_rebuild and scr_index --build
 * carry it out: looking and acting never disagree.
 *
 * A dataset lies in one or several places:
 *   prefix  metadata in PREFIX/.scr/scr.dataset.ID, files anywhere below
 *           PREFIX (after a scavenge or flush);
 *   cache   metadata in DIR/.scr, files in DIR itself, where DIR is
 *           .../scr.dataset.ID of one node; several nodes' directories of the
 *           same dataset make one plan.
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
#include "rescue/solve.h"

struct arena;
struct error;
struct json;
struct plan_packed; /* opaque */
struct plan_red_report;
struct work;

/* --- Places --- */

struct place {
	const char *root; /* the prefix, or the cache directory (messages) */
	const char *meta; /* the directory of the metadata (messages) */
	int root_fd, meta_fd;
	bool cache;
};

/* --- Containers (packed datasets) --- */

/* A stretch of a container in which a stretch of a file lies. */
struct plan_seg {
	const char *path; /* from the place's metadata directory */
	uint64_t off, len;
	bool gone; /* not there, or left half written by a rebuild */
};

/* --- Files --- */

enum file_state {
	FILE_PRESENT, /* there, right size (and checksum, if looked at) */
	FILE_MISSING,
	FILE_WRONG_SIZE,
	FILE_WRONG_TYPE, /* a directory, a device, a link that leads nowhere */
	FILE_WRONG_CRC,
	FILE_INCOMPLETE, /* the job never finished writing it */
	FILE_ELSEWHERE,	 /* a cache's filemap names a file that was never in
			    the cache (bypass): not looked at */
	FILE_STATES
};

enum fate {
	FATE_KEEP,    /* nothing to do */
	FATE_REBUILD, /* will be computed from the rest of its set */
	FATE_LOST,    /* cannot be computed */
};

struct plan_file {
	uint32_t rank;
	uint32_t place;
	const char *path;	/* relative to the place's root, clean */
	const char *cache_path; /* as filemap and headers name it */
	struct attr attr;	/* as recorded */
	bool has_crc;
	uint32_t crc;
	enum file_state state;
	enum fate fate;
	uint64_t found_size; /* FILE_WRONG_SIZE */
	bool packed;	     /* in containers, or empty; else a file: */
	size_t nsegs;
	const struct plan_seg *segs;
};

/* A small metadata file: present, or to be written from `image`. */
struct plan_meta {
	uint32_t place;
	const char *name; /* in the place's meta directory; NULL: unknown */
	enum fate fate;
	const char *why;   /* damaged or missing, in words; NULL: present */
	const void *image; /* FATE_REBUILD: what to write */
	size_t image_size;
};

struct plan_rank {
	struct plan_meta map; /* its filemap */
	bool map_known;	      /* read, or rebuilt in memory: files[] is valid */
	size_t first_file, nfiles;  /* in plan.files */
	uint32_t data_set, map_set; /* in plan.sets, or PLAN_NONE */
	uint32_t data_member, map_member;
};

#define PLAN_NONE UINT32_MAX

/* --- Redundancy sets --- */

enum red_state {
	RED_PRESENT,
	RED_MISSING,
	RED_HEADER_DAMAGED, /* header unreadable, but the file has the size it
			       should have: the body is used */
	RED_DAMAGED,	    /* unreadable or of wrong size */
	RED_UNCHECKED,	    /* there by name, not opened (plan without
			       PLAN_HEADERS, nothing missing in the set) */
};

struct plan_member {
	uint32_t rank; /* world rank; PLAN_NONE: unknown */
	enum red_state state;
	uint32_t place;
	const char *name; /* file name of the redundancy file; NULL: unknown */
	const char *problem; /* why it cannot be read; NULL: fine */
	uint64_t file_size;
	uint64_t body_start, body_size;	  /* where the body is */
	const struct redset_header *read; /* its header; NULL: not read */
	struct redset_member list;	  /* its files; list.known */
	uint32_t *files; /* index in plan.files of list.files[i]; for a set over
			    filemaps: NULL */
	struct plan_meta descriptor; /* the small <stem>.er.R.redset */
	const void *header;	     /* image to write if the file is rebuilt */
	size_t header_size;
	enum fate fate;			      /* of the redundancy file */
	const struct plan_red_report *report; /* private */
	size_t nsegs;			      /* > 0: it is packed */
	const struct plan_seg *segs;
};

enum set_verdict {
	SET_WHOLE,
	SET_REBUILDABLE,
	SET_LOST,
};

struct plan_set {
	bool map; /* over the filemaps, else over the data files */
	enum redset_type type;
	uint32_t number, sets; /* 1-based, of how many of this kind */
	uint32_t n;
	uint32_t failures; /* what the scheme survives; valid if read */
	uint64_t chunk;
	bool opened;	       /* headers were read */
	const char *flaw;      /* contradictions found in doing so, or NULL */
	const uint32_t *ranks; /* by member, of a set that is yet to be made */
	struct plan_member *members; /* n */
	enum set_verdict verdict;
	const char *reason; /* SET_LOST: one clause naming ranks */
	uint32_t missing;   /* members that lack something */
	uint32_t spare;	    /* whole members it could lose more, as it is now;
			       valid if opened */
	struct solution solution; /* SET_REBUILDABLE: what to compute */
	bool solved;
	bool salvage; /* bodies behind damaged headers are needed, and used */
};

/* --- The plan --- */

struct plan {
	struct arena *arena;
	int64_t id;
	size_t nplaces;
	struct place *places;
	int64_t nranks; /* -1: unknown */
	struct plan_rank *ranks;
	size_t nfiles;
	struct plan_file *files;
	size_t nsets;
	struct plan_set *sets; /* sets over filemaps first */
	const char
		*recorded_root; /* where the prefix was when the metadata were
				   written (prefix plans); NULL: unknown */
	bool moved;		/* and it is somewhere else now */
	bool reported;		/* plan_reports(): no place can be opened */
	struct plan_packed *packed; /* private; NULL: no containers */

	/* Totals. */
	uint64_t bytes; /* of all known files */
	size_t files_missing, files_rebuild, files_lost;
	size_t maps_missing, maps_lost; /* filemaps */
	size_t ranks_lost;		/* ranks of which something is lost */
	size_t red_missing;		/* redundancy files to be restored */
	uint64_t bytes_read, bytes_written; /* what a rebuild will move */
	enum set_verdict verdict;	    /* the worst of all */
};

enum {
	PLAN_HEADERS = 1 << 0,	 /* open every redundancy file's header */
	PLAN_CHECKSUMS = 1 << 1, /* read files that have a recorded CRC */
};

struct plan_options {
	unsigned flags;
	const char *moved_from;	 /* recorded root, given by hand; or NULL */
	const struct work *work; /* threads; progress of PLAN_CHECKSUMS */
};

/* --- Making one --- */

/*
 * All constructors return a plan for plan_free(), or NULL.  Options may be
 * NULL; what they point to is needed only during the call.
 */

/* A dataset on a prefix, as the caller has it open.  The plan duplicates the
 * descriptors. */
struct plan_dataset {
	const char *prefix; /* its name: in messages, and to compare recorded
			       paths with */
	int prefix_fd, meta_fd; /* of PREFIX, of PREFIX/.scr/scr.dataset.ID */
	int64_t id;
};

/*
 * Plan for a dataset on a prefix.  Returns a plan for
 * plan_free(), or NULL: ERROR_ABSENT (no such dataset, or no filemap and no
 * redundancy file in it), ERROR_CORRUPT (ranks or sets that contradict each
 * other), ERROR_UNSAFE (a recorded path leaves the prefix), ERROR_USAGE (the
 * recorded root cannot be told: give --moved-from), ERROR_SYSTEM, ERROR_NOMEM.
 */
struct plan *plan_prefix(const struct plan_dataset *d,
			 const struct plan_options *o, struct error *err);

/* Plan for a dataset in caches: `dirs` are .../scr.dataset.ID of one or more
 * nodes.  What is rebuilt goes to the place its rank had, else to the first. */
struct plan *plan_caches(const char *const *dirs, size_t ndirs,
			 const struct plan_options *o, struct error *err);

/* Bare redundancy files given by hand, as LLNL's rebuild helpers take them. */
struct plan_by_hand {
	const char *dir;    /* their directory */
	const char *prefix; /* the data files are found through the filemaps in
			       `dir`.  NULL: at the paths in the headers, which
			       must lie below `dir` after `moved_from` has been
			       replaced by `dir` */
	const char *const *names; /* of the files, from `dir` */
	size_t nnames;
	bool map; /* they protect filemaps */
};

struct plan *plan_files(const struct plan_by_hand *h,
			const struct plan_options *o, struct error *err);

/* A redundancy file, as the process that has it reports it. */
struct plan_red_report {
	const char *name;   /* file name */
	const void *header; /* its image, and bytes of that */
	size_t header_size;
	uint64_t size; /* of the whole file */
};

/* What a process reports of a rank whose part of the dataset it has. */
struct plan_report {
	uint32_t rank;
	const void *map; /* image of its filemap; NULL: missing */
	size_t map_size;
	const enum file_state *files; /* of the filemap, in its order; NULL: all
					 are present */
	size_t nfiles;
	const struct plan_red_report *reds; /* of its data, of its filemap */
	size_t nreds;
};

/*
 * Plan for dataset `id` from `n` reports, ascending by rank: reads nothing.
 * Sets have their solutions; who has the strings carries them out (rebuild()
 * cannot).  A lost filemap that its set can compute has FATE_REBUILD, but its
 * files are known only from the lists of the sets.
 */
struct plan *plan_reports(int64_t id, const struct plan_report *reports,
			  size_t n, const struct plan_options *o,
			  struct error *err);

void plan_free(struct plan *p); /* NULL: nothing */

/* After a file turned out to be damaged while it was read: mark it, and solve
 * its set again.  Changes verdicts and totals. */
int plan_mark(struct plan *p, size_t file, enum file_state state,
	      struct error *err);

/* The same for the body of a member's redundancy file. */
int plan_mark_body(struct plan *p, uint32_t set, uint32_t member,
		   struct error *err);

/*
 * Give a dataset that has none redundancy: sets of about `size` ranks (0: 8)
 * that survive `failures` (0: 2, or what the type fixes), whose redundancy
 * files all are to be "rebuilt" from the data.  Ranks that stand next to each
 * other come into different sets.  ERROR_USAGE: too few ranks, it has
 * redundancy of another kind, or such redundancy is not made (scheme.chunk);
 * ERROR_DAMAGED: not all data are there.
 */
int plan_protect(struct plan *p, enum redset_type type, uint32_t size,
		 uint32_t failures, struct error *err);

/* Exit status of a plan: STATUS_OK, STATUS_DAMAGED or STATUS_LOST. */
int plan_status(const struct plan *p);

/*
 * STATUS_OK, _DAMAGED or _LOST of what matters: a plan that calls a set lost
 * because its redundancy is gone is only damaged while all its data are there.
 */
int plan_data_status(const struct plan *p);

/* One sentence for the worst that was found: "set 2 of 4 (XOR, ranks 1 3 5 7):
 * ranks 3 and 5 are missing, the scheme survives 1".  ERROR_LOST,
 * ERROR_DAMAGED; 0 if all is well. */
int plan_error(const struct plan *p, struct error *err);

/* Ranks of a set for people: "0-3 8", into an arena string. */
const char *plan_ranks_text(struct plan *p, const uint32_t *ranks,
			    size_t count);

const char *file_state_name(enum file_state s); /* "present", "wrong size" */
const char *red_state_name(enum red_state s);

/* The whole plan as JSON: see scr_inspect(1). */
struct json *plan_json(const struct plan *p, bool all_files);

#endif /* RESCUE_PLAN_H */
