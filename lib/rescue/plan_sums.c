/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_sums.c - checksums for the plan of a dataset on the prefix: from
 * rank2file, from the lists that were written when files were copied from the
 * caches (meta/copied.h), and from the files themselves.
 *
 * LLNL's filemaps have no checksums (scr-dataset(5)).  Ours are recorded in
 * rank2file, where LLNL's readers only use the paths.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "meta/copied.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

void
plan_sums_forget(struct plan *p, size_t file)
{
	struct plan_file *f = &p->files[file];
	char name[COPIED_NAME_MAX];

	if (!f->copy_crc)
		return;
	f->sum = (struct plan_sum){ .known = false };
	f->has_crc = f->copy_crc = false;
	(void)unlinkat(p->places[0].meta_fd, copied_name(name, f->rank), 0);
}

/* --- Checksums in rank2file --- */

void
plan_sums(struct plan *p)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];
		const struct rank2file_file *r =
			plan_record_find((const struct planner *)p, f);

		/* With another size, the checksum is that of an older file; of
		 * two checksums that of the filemap is right, which the job
		 * wrote. */
		f->sum = (struct plan_sum){
			.known = r != NULL && r->has_crc && f->has_crc &&
				 r->crc == f->crc &&
				 (!r->has_size || r->size == f->attr.size),
			.crc = f->crc,
		};
	}
}

/* --- Read files --- */

int
plan_sums_read(struct plan *p, bool rebuilt, const struct work *work,
	       struct error *err)
{
	bool *look = mem_calloc(p->nfiles + 1, sizeof(*look));
	uint32_t *crcs = mem_calloc(p->nfiles + 1, sizeof(*crcs));
	bool any = false;
	int rc = look == NULL || crcs == NULL ? error_no_memory(err) : 0;

	/* Packed files got their checksums when they were packed. */
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		look[i] = p->files[i].sum.wanted && p->files[i].nsegs == 0;
		any = any || look[i];
	}
	if (rc == 0 && any)
		rc = plan_check_files(p, work, look, crcs, err);
	/* look[]: the file is wrong.  It is marked in the plan, or if it was
	 * rebuilt, an error. */
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];

		if (!f->sum.wanted || f->nsegs > 0)
			continue;
		if (!look[i]) {
			f->sum.known = true;
			f->sum.crc = crcs[i];
		} else if (rebuilt) {
			rc = error_set(
				err, ERROR_DAMAGED,
				"%s: wrong checksum (rank %" PRIu32
				"): rebuilt from redundancy: the redundancy "
				"or the record of it is wrong",
				str_shown(f->path), f->rank);
		} else {
			rc = plan_mark(p, i,
				       f->unread ? FILE_UNREAD : FILE_WRONG_CRC,
				       err);
		}
	}
	mem_free(look);
	mem_free(crcs);
	return rc;
}

int
plan_sums_compare(struct plan *p, const struct work *work, struct error *err)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];

		if (f->state != FILE_PRESENT || f->nsegs > 0)
			continue;
		f->sum.wanted = f->sum.carried || !f->has_crc;
		if (!f->sum.wanted) { /* compared by the plan */
			f->sum.known = true;
			f->sum.crc = f->crc;
		}
	}
	return plan_sums_read(p, false, work, err);
}

/* --- Checksums of copied files --- */

/* Take what a record says of the files of rank `r`; `files`: stat cache of the
 * prefix. */
static void
take_record(struct plan *p, const struct plan_rank *r, struct pathcache *files,
	    const struct copied *c)
{
	/* Find the record of each file.  Both lists usually have the same
	 * order, so continue the search after the last match. */
	for (size_t i = r->first_file, k = 0; i < r->first_file + r->nfiles;
	     i++) {
		struct plan_file *f = &p->files[i];
		const struct copied_file *is = NULL;
		size_t tries = f->path != NULL ? 0 : c->nfiles;
		struct stat st;

		while (tries < c->nfiles &&
		       strcmp(c->files[k].path, f->path) != 0) {
			k = (k + 1) % c->nfiles;
			tries++;
		}
		if (tries >= c->nfiles)
			continue;
		is = &c->files[k];
		if (f->state != FILE_PRESENT || f->nsegs > 0 || f->sum.known ||
		    f->attr.size != is->size ||
		    (f->has_crc && f->crc != is->crc))
			continue;
		/* Is the file unchanged since it was copied? */
		if (pathcache_stat(files, is->path, &st, NULL) < 0 ||
		    (uint64_t)st.st_size != is->size ||
		    st.st_mtim.tv_sec != is->mtime.tv_sec ||
		    st.st_mtim.tv_nsec != is->mtime.tv_nsec)
			continue;
		f->sum.known = true;
		f->sum.carried = f->copy_crc = !f->has_crc;
		f->sum.crc = f->crc = is->crc;
		f->has_crc = true;
	}
}

/*
 * A scavenge has copied files, but not those of the ranks without a filemap on
 * the prefix.  Files at their paths may belong to another dataset with the same
 * names and sizes.  Mark each such file for a rebuild, unless it has the
 * recorded time, which every copy gets.
 */
static int
doubt_others(struct plan *p, struct pathcache *files, struct error *err)
{
	struct stat st;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (p->ranks[f->rank].map.fate == FATE_KEEP ||
		    f->state != FILE_PRESENT || f->nsegs > 0 || f->path == NULL)
			continue;
		/* Some file systems keep seconds or microseconds. */
		if ((!f->attr.has_times ||
		     pathcache_stat(files, f->path, &st, NULL) < 0 ||
		     st.st_mtim.tv_sec != f->attr.mtime.tv_sec ||
		     (st.st_mtim.tv_nsec != 0 &&
		      st.st_mtim.tv_nsec / 1000 !=
			      f->attr.mtime.tv_nsec / 1000)) &&
		    plan_mark(p, i, FILE_WRONG_CRC, err) < 0)
			return -1;
	}
	return 0;
}

int
plan_sums_copied(struct plan *p, struct error *err)
{
	struct pathcache *files = pathcache_new(p->places[0].root_fd);
	struct arena *arena = arena_new(); /* reset for each rank */
	bool any = false;
	int rc = files == NULL ? error_no_memory(err) : 0;

	for (int64_t i = 0; rc == 0 && i < p->nranks; i++) {
		struct error why = ERROR_INIT;
		struct copied c;

		if (!p->ranks[i].map_known)
			continue;
		arena_reset(arena);
		/* Of an unreadable record the data will be read again. */
		if (plan_copied(p, (uint32_t)i, arena, &c, &why) > 0) {
			any = true;
			take_record(p, &p->ranks[i], files, &c);
		} else if (why.kind == ERROR_NOMEM) {
			rc = error_pass(err, &why);
		}
	}
	if (rc == 0 && any)
		rc = doubt_others(p, files, err);
	pathcache_free(files);
	arena_free(arena);
	return rc;
}

bool
plan_sums_all(const struct plan *p)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->nsegs == 0 && f->state == FILE_PRESENT && !f->has_crc)
			return false;
	}
	return true;
}
