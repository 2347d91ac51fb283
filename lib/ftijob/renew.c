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

/* Add to the metadata of POSIX files the sums of parity that they lack. */
static int
record_sums(const struct fti_rebuild *r, struct error *err)
{
	const int fd = r->sets->tree.fd;
	struct buf text = BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < r->sets->ninis && rc == 0; i++) {
		const struct fti_posix *p = r->sets->inis[i];
		bool changed = false;

		rc = io_read_file(fd, p->name, FTI_INI_MAX, &text, err);
		for (size_t k = 0; k < r->count && rc == 0; k++) {
			const struct fti_rebuild_file *f = &r->files[k];
			struct fti_ini_value v = {
				.key = "rsed_checksum",
				.value = f->sum,
				.alone = true,
			};

			if (f->sum == NULL || f->rank->posix < p->files ||
			    f->rank->posix >= p->files + p->nfiles)
				continue;
			v.section = num_str(f->rank->posix - p->files);
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

/* A file that is written. */
struct out {
	struct fti_rebuild_file *file;
	const struct fti_source *computed;
	struct fti_source written;
};

struct run {
	const struct fti_rebuild *r;
	const struct work *w;
	struct put *put;
	size_t step;	       /* bytes of a block */
	unsigned buffers;      /* of a block, for each thread */
	unsigned char *memory; /* of all threads */
	/* The group that is written. */
	struct fti_recover *from;
	const struct fti_parity *parity; /* NULL: copies */
	struct cauchy *recipe;
	struct out outs[CAUCHY_MAX]; /* in the order of the recipe */
	size_t nouts;
	uint64_t length; /* of the longest */
};

/* --- A group --- */

/* Parity of which nothing says what it must be: its records are damaged with
 * it, and metadata may lack its sum. */
static bool
has_no_sum(const struct fti_rebuild_file *f)
{
	const struct fti_posix_file *posix = f->rank->posix;

	return f->part == FTI_PARITY &&
	       (posix == NULL || posix->parity_sum == NULL);
}

/* The number of the file's member in the recipe. */
static unsigned
member_of(const struct fti_rebuild_file *f, unsigned k)
{
	return f->rank->member + (f->part == FTI_PARITY ? k : 0);
}

/* Prepare the files first ... end - 1 of the plan, which are of one group. */
static int
open_group(struct run *r, size_t first, size_t end, struct error *err)
{
	struct fti_set *set = r->r->set;
	struct fti_rebuild_file *files = r->r->files;
	const unsigned k = set->geometry.group_size;
	bool lost[CAUCHY_MEMBERS_MAX], wanted[CAUCHY_MEMBERS_MAX] = { false };
	bool unproven = set->level == FTI_L3 &&
			!fti_set_reads(set, files[first].rank->group);

	r->from =
		fti_recover_new(r->r->sets, set, files[first].rank, r->w, err);
	if (r->from == NULL)
		return -1;
	if (set->level == FTI_L3) {
		r->parity = fti_recover_parity(r->from, err);
		if (r->parity == NULL)
			return -1;
		fti_parity_lost(r->parity, lost);
	}
	for (size_t i = first; i < end; i++) {
		/* Data that are computed from others have sums, which prove
		 * these. */
		unproven = unproven && files[i].part == FTI_PARITY;
		wanted[member_of(&files[i], k)] = true;
	}
	if (r->parity != NULL) {
		r->recipe = cauchy_new(k, lost, wanted, err);
		if (r->recipe == NULL)
			return -1;
	}
	for (unsigned m = 0; m < 2 * k; m++)
		for (size_t i = first; i < end; i++) {
			struct fti_rebuild_file *f = &files[i];
			const struct fti_source *s = NULL;

			/* A dry run proves what it could write. */
			if (member_of(f, k) != m ||
			    (r->w->dry_run && has_no_sum(f)))
				continue;
			s = fti_recover_source(r->from, f->rank, f->part, err);
			if (s == NULL)
				return -1;
			r->length = s->size > r->length ? s->size : r->length;
			r->outs[r->nouts++] = (struct out){ .file = f,
							    .computed = s,
							    .written.fd = -1 };
		}
	if (r->parity != NULL)
		r->length = r->parity->length;
	return unproven && fti_recover_proves(r->from, false, r->w, err) != 1
		       ? -1
		       : 0;
}

static void
close_group(struct run *r)
{
	for (size_t i = 0; i < r->nouts; i++)
		fti_source_close(&r->outs[i].written);
	cauchy_free(r->recipe);
	fti_recover_free(r->from);
	r->recipe = NULL;
	r->from = NULL;
	r->parity = NULL;
	r->nouts = r->length = 0;
}

/* --- Blocks --- */

static int
run_block(void *arg, size_t number, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	const uint64_t off = number * r->step;
	unsigned char *at = r->memory + worker * r->buffers * r->step;
	void *in[CAUCHY_MAX], *out[CAUCHY_MAX];
	struct fti_slice s = { .off = off, .in = in, .out = out };

	s.len = r->length - off < r->step ? (size_t)(r->length - off) : r->step;
	for (size_t o = 0; o < r->nouts; o++, at += r->step)
		out[o] = at;
	for (unsigned n = 0; r->recipe != NULL && n < r->recipe->nin;
	     n++, at += r->step)
		in[n] = at;
	if (work_go_on(r->w, err) < 0 ||
	    (r->recipe != NULL &&
	     fti_parity_run(r->parity, r->recipe, &s, err) < 0))
		return -1;
	for (size_t i = 0; i < r->nouts; i++) {
		const struct out *o = &r->outs[i];
		const unsigned char *data = out[i];
		const uint64_t size = o->computed->size;
		const uint64_t left = size > off ? size - off : 0;
		const size_t n = left < s.len ? (size_t)left : s.len;
		int fd = -1;

		if (r->recipe != NULL && o->file->part == FTI_OWN &&
		    !fti_parity_is_padding(r->parity, size, data + n, s.len - n,
					   off + n))
			return error_set(err, ERROR_CORRUPT,
					 "%s: the computed bytes are wrong "
					 "(padding): a file that they were "
					 "computed from is damaged",
					 o->file->path);
		if (n == 0)
			continue;
		if (r->recipe == NULL &&
		    fti_source_read(o->computed, out[i], n, off, err) < 0)
			return -1;
		/* Only in the end are the bytes counted: then the file is
		 * proven. */
		fd = put_open(o->file->put, err);
		if (fd < 0 ||
		    put_pwrite(o->file->put, fd, data, n, off, err) < 0 ||
		    put_wrote(o->file->put, 0, err) < 0)
			return -1;
		work_moved(r->w, r->recipe == NULL ? 2 * n : n);
	}
	if (r->recipe != NULL)
		work_moved(r->w, r->recipe->nin * s.len);
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
		const int fd = put_open(o->file->put, err);

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
	return fti_recover_open(r->from, &rank, o->file->part, s, to, err);
}

/* Write the record behind parity of FTI-FF: that of its rank's file says size
 * and time. */
static int
write_record(const struct run *r, const struct out *o, const char *sum,
	     struct error *err)
{
	const struct fti_set *set = r->r->set;
	const struct fti_source *own =
		fti_recover_source(r->from, o->file->rank, FTI_OWN, err);
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
		rc = put_write(o->file->put, record,
			       fti_format(set->layout)->meta, o->computed->size,
			       err);
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
	struct fti_rebuild_file *f = o->file;

	if (c->unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", c->unread);
	/* Files that FTI itself wrote may be refused: see STALE.  Parity of
	 * which no sum is recorded has proven inputs. */
	if (!has_no_sum(f) &&
	    (!c->exact || (c->posix == NULL && c->file->kind != FTI_KIND_DATA)))
		return error_set(err, ERROR_CORRUPT,
				 "%s: the computed bytes are wrong (%s): a "
				 "file that they were computed from is damaged",
				 f->path,
				 set->posix ? "checksum"
				 : c->file->findings != NULL
					 ? c->file->findings->text
					 : "no checkpoint");
	if (r->w->dry_run)
		return 0;
	progress_add(r->w->progress, o->computed->size);
	if (set->posix && has_no_sum(f))
		f->sum = arena_strdup(r->r->sets->arena, c->sum);
	if (!set->posix && f->part == FTI_PARITY &&
	    write_record(r, o, c->sum, err) < 0)
		return -1;
	return put_wrote(f->put, o->computed->size, err);
}

/* Are the files of the group what they should be? */
static int
prove(struct run *r, struct error *err)
{
	struct fti_rankfile *files = mem_calloc(CAUCHY_MAX, sizeof(*files));
	struct work w = *r->w;
	size_t count = 0;
	int rc = 0;

	if (!w.dry_run)
		w.progress = NULL; /* end_out() counts */
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

/* --- All --- */

/* Tell the engine all files: there is room for them. */
static int
add_files(const struct run *r, struct error *err)
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
		plan->files[i].put = put_add(r->put, &what, NULL);
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
	const bool part = plan->set->dirs != NULL;
	struct stat st;
	int lock = -2, rc = 0;

	if (plan->count == 0)
		return 0;
	/* Restart, archive or another rebuild would write the same files.  Who
	 * does a part has its locks.  A node that was given up may come back:
	 * then nobody else's temporary file gets a name. */
	if (!dry && !part)
		lock = lock_take(tree->fd, tree->root, r.w, err);
	if (lock == -1)
		return -1;
	o.unlocked = part || lock < 0 || plan->set->proven != NULL;
	r.put = put_new(&o, NULL);
	r.buffers = 2 * plan->set->geometry.group_size;
	r.step = MEMORY / r.buffers / PAGE * PAGE;
	r.step = r.step > STEP ? STEP : r.step;
	r.step = r.step < STEP_LEAST ? STEP_LEAST : r.step;
	r.memory = mem_aligned(PAGE, threads * r.buffers * r.step);
	rc = add_files(&r, err);
	if (rc == 0 && !dry)
		rc = put_clear(r.put, err);
	if (rc == 0)
		progress_phase(r.w->progress, "rebuilding",
			       plan->bytes_read + 2 * plan->bytes_written);
	for (size_t at = 0, end = 0; at < plan->count && rc == 0; at = end) {
		while (end < plan->count && plan->files[end].rank->group ==
						    plan->files[at].rank->group)
			end++;
		rc = open_group(&r, at, end, err);
		/* A dry run proves what it could compute. */
		if (rc == 0 && !dry)
			rc = par_for(r.w->par,
				     (size_t)((r.length + r.step - 1) / r.step),
				     1, run_block, &r, err);
		if (rc == 0)
			rc = prove(&r, err);
		close_group(&r);
	}
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
	    (put_commit(r.put, err) < 0 || record_sums(plan, err) < 0))
		rc = -1;
	if (rc < 0)
		(void)room_explain(tree->fd, plan->bytes_written, err);
	put_free(r.put);
	mem_free(r.memory);
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
	if (rc == 0 && r.unread > 0 && r.count == 0)
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
