/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/renew.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "encode/cauchy.h"
#include "error.h"
#include "fti/file.h"
#include "fti/ini.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "ftijob/parity.h"
#include "ftijob/recover.h"
#include "hash.h"
#include "io.h"
#include "lock.h"
#include "mem.h"
#include "num.h"
#include "par.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

/* Correct damaged values in the metadata of POSIX files, and add the sums of
 * parity that they lack. */
static int
record_values(const struct fti_rebuild *r, struct error *err)
{
	static const char *const keys[FTI_VALUES] = {
		[FTI_VALUE_NAME] = "ckpt_file_name",
		[FTI_VALUE_SIZE] = "ckpt_file_size",
		[FTI_VALUE_PARITY_SIZE] = "ckpt_file_maxs",
		[FTI_VALUE_SUM] = "ckpt_checksum",
		[FTI_VALUE_PARITY_SUM] = "rsed_checksum",
	};
	const int fd = r->sets->tree.fd;
	const struct fti_set *set = r->set;
	struct buf text = BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < r->sets->ninis && rc == 0 && set->posix; i++) {
		const struct fti_posix *p = r->sets->inis[i];
		bool changed = false;

		rc = io_read_file(fd, p->name, FTI_INI_MAX, &text, err);
		for (size_t k = 0; k < set->nranks * FTI_VALUES && rc == 0;
		     k++) {
			const struct fti_rank *of = &set->ranks[k / FTI_VALUES];
			struct fti_ini_value v = {
				.key = keys[k % FTI_VALUES],
				.value = of->right[k % FTI_VALUES],
				.alone = true,
			};

			if (v.value == NULL || of->posix == NULL ||
			    of->posix < p->files ||
			    of->posix >= p->files + p->nfiles)
				continue;
			v.section = num_str(of->posix - p->files);
			rc = fti_ini_set(&text, &v, err);
			changed = true;
		}
		if (rc == 0 && changed)
			rc = io_replace(fd, p->name, text.data, text.len, 0666,
					err);
	}
	buf_free(&text);
	return rc;
}

/* Bytes of each file at a time, less if a group has many files: what a thread
 * works on should stay in the cache of a core. */
#define STEP ((size_t)256 << 10)
#define STEP_LEAST ((size_t)16 << 10)
#define MEMORY ((size_t)4 << 20) /* of a thread */
#define PAGE ((size_t)4096)

/* Units that are open at the same time, and the files of all of them. */
#define UNITS_MAX 64
#define FILES_MAX 256

/* Files that are computed together: those of a group, or one copy. */
struct unit {
	struct fti_recover *from;
	const struct fti_parity *parity; /* NULL: a copy */
	struct cauchy *recipe;
	size_t first, count; /* outputs, in the order of the recipe */
	uint64_t length, nblocks;
	bool unproven; /* no sum proves what it is computed from */
};

/* A file that is written. */
struct out {
	const struct unit *unit;
	const struct fti_rebuild_file *file;
	const struct fti_source *computed;
	struct put_file *put;
	struct fti_source written;
	const char *sum; /* POSIX: that it must have; NULL: none is recorded */
	bool lacks;	 /* nothing says what it must be */
};

struct run {
	const struct fti_rebuild *r;
	const struct work *w;
	struct put *put;
	struct put_file **files; /* of the plan's files */
	struct unit *units;
	size_t nunits;
	struct out *outs;
	size_t nouts;
	size_t step;
	unsigned buffers;      /* of `step` bytes, for each thread */
	unsigned char *memory; /* of all threads */
};

/* --- Units --- */

/* The number of the file's member in the recipe. */
static unsigned
member_of(const struct fti_rebuild_file *f, const struct fti_parity *p)
{
	return f->rank->member + (f->part == FTI_PARITY ? p->k : 0);
}

static void
add_out(struct run *r, struct unit *u, const struct fti_rebuild_file *f,
	const struct fti_source *computed)
{
	const struct fti_posix_file *posix = f->rank->posix;
	const bool parity = f->part == FTI_PARITY;
	const char *sum = posix == NULL ? NULL
			  : parity	? posix->parity_sum
					: posix->sum;
	const bool lacks = posix == NULL ? parity : sum == NULL;

	/* A dry run proves what it could write. */
	if (r->w->dry_run && parity && lacks)
		return;
	r->outs[r->nouts++] = (struct out){
		.unit = u,
		.file = f,
		.computed = computed,
		.put = r->files[f - r->r->files],
		.written.fd = -1,
		.sum = sum,
		.lacks = lacks,
	};
	u->count++;
}

/* Prepare files first ... end - 1 of the plan, which are of one group.  At L2:
 * file `first` only. */
static int
open_unit(struct run *r, size_t first, size_t end, struct error *err)
{
	const struct fti_rebuild *plan = r->r;
	const struct fti_rebuild_file *files = plan->files;
	struct unit *u = &r->units[r->nunits++];
	const struct fti_source *s = NULL;
	bool lost[CAUCHY_MEMBERS_MAX], wanted[CAUCHY_MEMBERS_MAX] = { false };
	bool parity = true, lacks = false;

	*u = (struct unit){ .first = r->nouts };
	u->from =
		fti_recover_new(plan->sets, plan->set, files[first].rank, err);
	if (u->from == NULL)
		return -1;
	if (plan->set->level != FTI_L3) {
		s = fti_recover_source(u->from, files[first].rank,
				       files[first].part, err);
		if (s == NULL)
			return -1;
		u->length = s->size;
		add_out(r, u, &files[first], s);
		return 0;
	}
	/* The files are computed from the parity of their group. */
	u->parity = fti_recover_parity(u->from, err);
	if (u->parity == NULL)
		return -1;
	u->length = u->parity->length;
	fti_parity_lost(u->parity, lost);
	for (size_t i = first; i < end; i++) {
		const struct fti_posix_file *posix = files[i].rank->posix;

		parity = parity && files[i].part == FTI_PARITY;
		lacks = lacks || posix == NULL || posix->parity_sum == NULL;
		wanted[member_of(&files[i], u->parity)] = true;
	}
	/* Data that are computed from others have sums, which prove these. */
	u->unproven = parity && lacks && !plan->set->data_read;
	u->recipe = cauchy_new(u->parity->k, lost, wanted, err);
	if (u->recipe == NULL)
		return -1;
	for (unsigned n = 0; n < u->recipe->nout; n++)
		for (size_t i = first; i < end; i++)
			if (member_of(&files[i], u->parity) ==
			    u->recipe->out[n])
				add_out(r, u, &files[i],
					fti_parity_source(u->parity,
							  u->recipe->out[n]));
	return 0;
}

static void
close_units(struct run *r)
{
	for (size_t i = 0; i < r->nouts; i++)
		fti_source_close(&r->outs[i].written);
	for (size_t i = 0; i < r->nunits; i++) {
		cauchy_free(r->units[i].recipe);
		fti_recover_free(r->units[i].from);
	}
	r->nunits = r->nouts = 0;
}

/* --- Blocks --- */

static int
run_block(void *arg, size_t number, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	const struct unit *u = &r->units[number % r->nunits];
	const uint64_t off = number / r->nunits * r->step;
	unsigned char *at = r->memory + worker * r->buffers * r->step;
	void *in[CAUCHY_MAX], *out[CAUCHY_MAX];
	struct fti_slice s = { .off = off, .in = in, .out = out };

	if (number / r->nunits >= u->nblocks)
		return 0;
	s.len = u->length - off < r->step ? (size_t)(u->length - off) : r->step;
	for (size_t o = 0; o < u->count; o++, at += r->step)
		out[o] = at;
	for (unsigned n = 0; u->parity != NULL && n < u->recipe->nin;
	     n++, at += r->step)
		in[n] = at;
	if (work_go_on(r->w, err) < 0 ||
	    (u->parity == NULL
		     ? fti_source_read(r->outs[u->first].computed, out[0],
				       s.len, off, err)
		     : fti_parity_run(u->parity, u->recipe, &s, err)) < 0)
		return -1;
	for (size_t i = 0; i < u->count; i++) {
		const struct out *o = &r->outs[u->first + i];
		const unsigned char *data = out[i];
		const uint64_t size = o->computed->size;
		const uint64_t left = size > off ? size - off : 0;
		const size_t n = left < s.len ? (size_t)left : s.len;
		int fd = -1;

		if (u->parity != NULL && o->file->part == FTI_OWN &&
		    !fti_parity_is_padding(u->parity, size, data + n, s.len - n,
					   off + n))
			return error_set(err, ERROR_CORRUPT,
					 "%s: the computed bytes are wrong "
					 "(padding): a file that they were "
					 "computed from is damaged",
					 o->file->path);
		if (n == 0)
			continue;
		/* Only in the end are the bytes counted: then the file is
		 * proven. */
		fd = put_open(o->put, err);
		if (fd < 0 || put_pwrite(o->put, fd, data, n, off, err) < 0 ||
		    put_wrote(o->put, 0, err) < 0)
			return -1;
	}
	progress_add(r->w->progress, s.len * u->count);
	return 0;
}

/* --- Proofs --- */

/* Open what was written, or in a dry run what would be. */
static int
open_out(const struct run *r, struct out *o, struct fti_rankfile *to,
	 struct error *err)
{
	static const struct fti_posix_file none;
	struct fti_rank rank = *o->file->rank;
	const struct fti_source *s = o->computed;

	if (!r->w->dry_run) {
		const int fd = put_open(o->put, err);

		if (fd < 0)
			return -1;
		/* It may end in a hole. */
		if (ftruncate(fd, (off_t)s->size) < 0)
			return error_sys(err, "%s: cannot set its size",
					 o->file->path);
		if (fti_source_open(&o->written, AT_FDCWD,
				    str_printed(64, "/proc/self/fd/%d", fd),
				    err) < 0)
			return -1;
		o->written.name = o->file->path;
		s = &o->written;
	}
	if (!r->r->set->posix && o->file->part == FTI_PARITY)
		rank.posix = &none; /* a sum over all of it */
	return fti_recover_open(o->unit->from, &rank, o->file->part, s, to,
				err);
}

/* Write the record behind parity of FTI-FF: that of its rank's file says size
 * and time. */
static int
write_record(const struct run *r, const struct out *o, const char *sum,
	     struct error *err)
{
	const struct fti_set *set = r->r->set;
	const struct fti_source *own =
		fti_recover_source(o->unit->from, o->file->rank, FTI_OWN, err);
	struct fti_file *f =
		own == NULL ? NULL : fti_file_read(own, set->layout, err);
	struct hash *h = hash_new(HASH_MD5, err);
	unsigned char record[FTI_META_MAX];
	int rc = -1;

	if (f != NULL) {
		f->meta.ckpt_id = set->id;
		f->meta.fs = f->meta.max_fs = (int64_t)o->computed->size;
		f->meta.pt_fs = -1;
		memcpy(f->meta.checksum, sum, HASH_MD5_TEXT);
		fti_record_write(set->layout, FTI_META, &f->meta, record);
		fti_meta_hash(set->layout, record, h, f->meta.hash);
		fti_record_write(set->layout, FTI_META, &f->meta, record);
		rc = put_write(o->put, record, fti_format(set->layout)->meta,
			       o->computed->size, err);
	}
	fti_file_free(f);
	hash_free(h);
	return rc;
}

/* Judge a file that was read again; if it is right, all its bytes count. */
static int
end_out(const struct run *r, const struct out *o, const struct fti_checked *c,
	struct error *err)
{
	const struct fti_set *set = r->r->set;
	const bool parity = o->file->part == FTI_PARITY;
	const bool right = c->exact &&
			   (c->posix != NULL || c->file->kind == FTI_KIND_DATA);

	if (c->unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", c->unread);
	/* Files that FTI itself wrote may be refused: see STALE. */
	if (!o->lacks && !right)
		return error_set(err, ERROR_CORRUPT,
				 "%s: the computed bytes are wrong (%s): a "
				 "file that they were computed from is damaged",
				 o->file->path,
				 set->posix ? "checksum"
				 : c->file->findings != NULL
					 ? c->file->findings->text
					 : "no checkpoint");
	/* Parity of which no sum is recorded has proven inputs; so do data, if
	 * all files were read. */
	if (o->lacks && !parity && !set->data_read)
		return error_set(err, ERROR_CORRUPT,
				 "%s: the metadata of its group (sector file) "
				 "have no checksum of it",
				 o->file->path);
	if (r->w->dry_run)
		return 0;
	/* The metadata get the sum that they lack. */
	if (set->posix && (o->sum == NULL || !str_eq(o->sum, c->sum)))
		o->file->rank
			->right[parity ? FTI_VALUE_PARITY_SUM : FTI_VALUE_SUM] =
			arena_strdup(r->r->sets->arena, c->sum);
	if (!set->posix && parity && write_record(r, o, c->sum, err) < 0)
		return -1;
	return put_wrote(o->put, o->computed->size, err);
}

/* Are the files of all units what they should be? */
static int
prove(struct run *r, struct error *err)
{
	struct fti_rankfile *files = mem_calloc(r->nouts + 1, sizeof(*files));
	struct work w = *r->w;
	size_t count = 0;
	int rc = 0;

	if (!w.dry_run)
		w.progress = NULL; /* they were counted */
	for (size_t i = 0; i < r->nunits && rc == 0; i++)
		if (r->units[i].unproven &&
		    fti_recover_proves(r->units[i].from, false, true, &w,
				       err) != 1)
			rc = -1;
	while (rc == 0 && count < r->nouts) {
		rc = open_out(r, &r->outs[count], &files[count], err);
		count++;
	}
	if (rc == 0)
		rc = fti_rankfiles_check(files, count, true, &w, err);
	for (size_t i = 0; i < count; i++) {
		if (rc == 0)
			rc = end_out(r, &r->outs[i], &files[i].checked, err);
		fti_rankfile_close(&files[i]);
	}
	mem_free(files);
	return rc;
}

/* Open the next units, from file *at of the plan on, write and prove them. */
static int
run_units(struct run *r, size_t *at, struct error *err)
{
	const struct fti_set *set = r->r->set;
	const uint32_t k = set->level == FTI_L3 ? set->geometry.group_size : 1;
	const size_t units = FILES_MAX / (3 * k) + 1;
	const size_t files = 2 * (size_t)par_threads(r->w->par);
	uint64_t most = 0;
	int rc = 0;

	while (rc == 0 && *at < r->r->count && r->nunits < units &&
	       r->nunits < UNITS_MAX && r->nouts < files) {
		const struct fti_rebuild_file *f = r->r->files;
		struct unit *u = &r->units[r->nunits];
		size_t end = *at + 1;

		while (set->level == FTI_L3 && end < r->r->count &&
		       f[end].rank->group == f[*at].rank->group)
			end++;
		rc = open_unit(r, *at, end, err);
		u->nblocks = (u->length + r->step - 1) / r->step;
		most = u->nblocks > most ? u->nblocks : most;
		*at = end;
	}
	/* A dry run proves what it could compute. */
	if (rc == 0 && !r->w->dry_run)
		rc = par_for(r->w->par, (size_t)most * r->nunits, 1, run_block,
			     r, err);
	if (rc == 0)
		rc = prove(r, err);
	close_units(r);
	return rc;
}

/* --- All --- */

/* Tell the engine all files: there is room for them. */
static int
add_files(struct run *r, struct error *err)
{
	const struct fti_rebuild *plan = r->r;
	struct stat st;

	for (size_t i = 0; i < plan->count; i++) {
		const struct fti_rebuild_file *f = &plan->files[i];
		struct put_what what = { .kind = PUT_FILE,
					 .dirfd = plan->sets->tree.fd,
					 .path = f->path,
					 .size = f->size,
					 .replaces = f->replaces };

		if (f->replaces &&
		    fstatat(what.dirfd, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			what.mode = st.st_mode & 07777;
		r->files[i] = put_add(r->put, &what, NULL);
	}
	return put_check_room(r->put, "the rebuilt files", err);
}

int
fti_rebuild_run(const struct fti_rebuild *plan, const struct work *w,
		struct error *err)
{
	const struct fti_tree *tree = &plan->sets->tree;
	struct run r = { .r = plan, .w = work_or_default(w) };
	struct put_options o = { .par = r.w->par, .work = r.w };
	const unsigned threads = par_threads(o.par);
	const bool dry = r.w->dry_run;
	struct stat st;
	int lock = -2, rc = 0;

	if (plan->count + plan->values == 0)
		return 0;
	/* Restart, archive or another rebuild would write the same files. */
	if (!dry)
		lock = lock_take(tree->fd, tree->root, r.w, err);
	if (lock == -1)
		return -1;
	o.unlocked = lock < 0;
	r.put = put_new(&o, NULL);
	r.files = mem_calloc(plan->count + 1, sizeof(struct put_file *));
	r.buffers = plan->set->level == FTI_L3
			    ? 2 * plan->set->geometry.group_size
			    : 1;
	r.step = MEMORY / r.buffers / PAGE * PAGE;
	r.step = r.step > STEP ? STEP : r.step;
	r.step = r.step < STEP_LEAST ? STEP_LEAST : r.step;
	r.memory = mem_aligned(PAGE, threads * r.buffers * r.step);
	r.units = mem_calloc(UNITS_MAX, sizeof(*r.units));
	r.outs = mem_calloc(2 * threads + CAUCHY_MAX, sizeof(*r.outs));
	rc = add_files(&r, err);
	if (rc == 0 && plan->count > 0 && !dry)
		rc = put_clear(r.put, err);
	if (rc == 0 && plan->count > 0)
		progress_phase(r.w->progress, "rebuilding",
			       plan->bytes_written);
	for (size_t at = 0; at < plan->count && rc == 0;)
		rc = run_units(&r, &at, err);
	if (rc == 0)
		rc = work_go_on(r.w, err);
	/* No file may have appeared under a name that was missing. */
	for (size_t i = 0; rc == 0 && !dry && i < plan->count; i++)
		if (!plan->files[i].replaces &&
		    fstatat(tree->fd, plan->files[i].path, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			rc = error_set(err, ERROR_USAGE,
				       "%s: exists now, and is not replaced",
				       plan->files[i].path);
	if (rc == 0 && !dry &&
	    (put_commit(r.put, err) < 0 || record_values(plan, err) < 0))
		rc = -1;
	if (rc < 0)
		(void)room_explain(tree->fd, plan->bytes_written, err);
	put_free(r.put);
	mem_free(r.memory);
	mem_free(r.units);
	mem_free(r.outs);
	mem_free(r.files);
	lock_give(tree->fd, lock);
	return rc;
}

int
fti_rebuild_try(struct fti_sets *sets, struct fti_set *set,
		const struct work *w, struct error *err)
{
	struct work dry = *work_or_default(w);
	struct fti_rebuild r = { .count = 0 };
	struct error why = ERROR_INIT;
	int rc = 0;

	dry.dry_run = true;
	if (set->state != FTI_SET_REBUILDABLE &&
	    (set->state != FTI_SET_WHOLE || set->unprotected == 0))
		return 0;
	rc = fti_rebuild_plan(&r, sets, set, &dry, &why);
	if (rc == 0)
		rc = fti_rebuild_run(&r, &dry, &why);
	if (rc == 0 && r.unread > 0 && r.count + r.values == 0)
		rc = error_set(&why, ERROR_SYSTEM, "%s", r.why);
	fti_rebuild_fini(&r);
	if (rc == 0)
		return 0;
	if (work_stopped(&dry))
		return error_pass(err, &why);
	set->stuck = true;
	set->reason = arena_strdup(sets->arena, why.text);
	if (set->state == FTI_SET_REBUILDABLE) {
		set->state = FTI_SET_UNKNOWN;
		set->refusal = "not known";
	}
	return 0;
}
