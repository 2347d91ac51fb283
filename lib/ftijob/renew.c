/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/renew.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

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
#include "ftijob/renew_impl.h"
#include "hash.h"
#include "io.h"
#include "lock.h"
#include "mem.h"
#include "num.h"
#include "par.h"
#include "progress.h"
#include "room.h"
#include "transfer/put.h"
#include "work.h"

/* The end of the plan's files that belong to the unit of file `first`. */
static size_t
end_of_unit(const struct fti_rebuild *r, size_t first)
{
	size_t end = first + 1;

	while (r->set->level == FTI_L3 && end < r->count &&
	       r->files[end].rank->group == r->files[first].rank->group)
		end++;
	return end;
}

/*
 * --- Parity that no sum proves ---
 *
 * That of FTI-FF has its only sum behind it, and that of a checkpoint that is
 * protected for the first time has none.
 */

/* If only parity of a group is written, and it has no sum yet, the data that it
 * is computed from are compared with theirs. */
static int
prove_inputs(const struct fti_rebuild *r, const struct work *w,
	     struct error *err)
{
	struct fti_rankfile files[CAUCHY_MAX];
	unsigned count = 0;
	int rc = 0;

	if (r->set->level != FTI_L3 || r->set->data_read)
		return 0;
	for (size_t i = 0, end = 0; rc == 0 && i < r->count; i = end) {
		const struct fti_rank *of = r->files[i].rank;
		struct fti_recover *from = NULL;
		const struct fti_parity *p = NULL;
		bool parity = true, unproven = false;

		end = end_of_unit(r, i);
		/* Is a file of the unit parity without a sum, and does none
		 * prove the inputs?  Data that are computed from them have
		 * sums. */
		for (size_t k = i; k < end && parity; k++) {
			parity = r->files[k].part == FTI_PARITY;
			unproven =
				parity &&
				(unproven || !r->set->posix ||
				 r->files[k].rank->posix->parity_sum == NULL);
		}
		if (!unproven)
			continue;
		from = fti_recover_new(r->sets, r->set, of, err);
		if (from != NULL)
			p = fti_recover_parity(from, err);
		rc = p == NULL ? -1 : 0;
		/* Compare all data of the group with their sums, also those
		 * that are computed. */
		for (count = 0; rc == 0 && count < p->k; count++) {
			const struct fti_source *s =
				fti_parity_source(p, count);
			const struct fti_rankfile_options o = {
				.computed = s,
				.known = true,
				.layout = p->layout,
				.posix =
					fti_set_member(r->set, of->group, count)
						->posix,
			};

			rc = fti_rankfile_open(&files[count], s->name, &o, err);
		}
		if (rc == 0)
			rc = fti_rankfiles_check(files, count, true, w, err);
		for (unsigned m = 0; m < count; m++) {
			const struct fti_checked *c = &files[m].checked;

			if (rc == 0 && !c->data_good)
				rc = error_set(err,
					       c->unread != NULL
						       ? ERROR_SYSTEM
						       : ERROR_CORRUPT,
					       "%s: %s", files[m].name,
					       c->unread != NULL ? c->unread
					       : c->file->findings != NULL
						       ? c->file->findings->text
						       : "damaged");
			fti_rankfile_close(&files[m]);
		}
		fti_recover_free(from);
	}
	return rc;
}

/* --- Metadata of POSIX files --- */

/* The text of a file of metadata while values are corrected. */
struct correction {
	const struct fti_posix *p;
	struct buf text;
	bool changed;
};

/* Set a value of the file of a rank, if it is in these metadata. */
static int
set_value(struct correction *c, const struct fti_rank *r, enum fti_value value,
	  const char *text, struct error *err)
{
	static const char *const keys[FTI_VALUES] = {
		[FTI_VALUE_NAME] = "ckpt_file_name",
		[FTI_VALUE_SIZE] = "ckpt_file_size",
		[FTI_VALUE_PARITY_SIZE] = "ckpt_file_maxs",
		[FTI_VALUE_SUM] = "ckpt_checksum",
		[FTI_VALUE_PARITY_SUM] = "rsed_checksum",
	};
	const struct fti_posix_file *of = r->posix;
	struct fti_ini_value v = {
		.key = keys[value],
		.value = text,
		.alone = true,
	};

	if (text == NULL || of == NULL || of < c->p->files ||
	    of >= c->p->files + c->p->nfiles)
		return 0;
	v.section = num_str(of - c->p->files);
	c->changed = true;
	return fti_ini_set(&c->text, &v, err);
}

/* Correct damaged values, and add the sums of POSIX parity to the metadata that
 * lack them.  sums[i] is that of the plan's file i. */
static int
record_values(const struct fti_rebuild *r, char (*sums)[HASH_TEXT],
	      struct error *err)
{
	const int fd = r->sets->tree.fd;
	const struct fti_set *set = r->set;
	int rc = 0;

	for (size_t i = 0; i < r->sets->ninis && rc == 0 && set->posix; i++) {
		struct correction c = { .p = r->sets->inis[i],
					.text = BUF_INIT };

		rc = io_read_file(fd, c.p->name, FTI_INI_MAX, &c.text, err);
		for (size_t k = 0; k < set->nranks * FTI_VALUES && rc == 0; k++)
			rc = set_value(&c, &set->ranks[k / FTI_VALUES],
				       (enum fti_value)(k % FTI_VALUES),
				       set->ranks[k / FTI_VALUES]
					       .right[k % FTI_VALUES],
				       err);
		for (size_t k = 0; k < r->count && rc == 0; k++) {
			const struct fti_rank *of = r->files[k].rank;
			const bool parity = r->files[k].part == FTI_PARITY;
			const char *old = of->posix == NULL ? NULL
					  : parity ? of->posix->parity_sum
						   : of->posix->sum;

			if (old == NULL || strcmp(old, sums[k]) != 0)
				rc = set_value(&c, of,
					       parity ? FTI_VALUE_PARITY_SUM
						      : FTI_VALUE_SUM,
					       sums[k], err);
		}
		if (rc == 0 && c.changed)
			rc = io_replace(fd, c.p->name, c.text.data, c.text.len,
					0666, err);
		buf_free(&c.text);
	}
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

struct run {
	const struct fti_rebuild *r;
	const struct work *w;
	struct put *put;
	struct put_file **files; /* of the plan's files */
	char (*sums)
		[HASH_TEXT]; /* of those that are no checkpoints of FTI-FF */
	struct renew_unit *units;
	size_t nunits;
	size_t step;
	unsigned buffers;      /* of `step` bytes, for each thread */
	unsigned char *memory; /* of all threads */
	/* Guards `next` of all outputs, and `failed`. */
	pthread_mutex_t lock;
	pthread_cond_t turn;
	bool failed;
};

static int
fail(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	r->failed = true;
	pthread_cond_broadcast(&r->turn);
	pthread_mutex_unlock(&r->lock);
	return -1;
}

/* --- Blocks --- */

struct block {
	uint64_t number, off;
	size_t len;
	void *out[CAUCHY_MAX];
};

/* The bytes of the block that belong to the file. */
static size_t
bytes_of(const struct block *b, const struct renew_out *o)
{
	if (b->off >= o->length)
		return 0;
	return o->length - b->off < b->len ? (size_t)(o->length - b->off)
					   : b->len;
}

static int
end_file(const struct run *r, struct renew_out *o, struct error *err)
{
	if ((o->put != NULL && put_open(o->put, err) < 0) ||
	    renew_end_out(o, r->r, err) < 0)
		return -1;
	memcpy(r->sums[o->file - r->r->files], o->sum, HASH_TEXT);
	return o->put == NULL ? 0 : put_wrote(o->put, o->length, err);
}

/* Sum the block when all blocks before it are summed; behind the last one the
 * file is judged. */
static int
sum_block(struct run *r, const struct block *b, struct renew_out *o,
	  const void *data, struct error *err)
{
	const size_t n = bytes_of(b, o);
	bool failed = false;
	int rc = 0;

	if (n == 0)
		return 0;
	pthread_mutex_lock(&r->lock);
	while (!r->failed && o->next != b->number)
		pthread_cond_wait(&r->turn, &r->lock);
	failed = r->failed;
	pthread_mutex_unlock(&r->lock);
	/* Whoever failed has the error. */
	if (failed)
		return error_set(err, ERROR_SYSTEM, "another thread failed");
	if (o->pass != NULL)
		fti_pass_add(o->pass, data, n);
	else
		hash_update(o->hash, data, n);
	if (b->off + n == o->length)
		rc = end_file(r, o, err);
	pthread_mutex_lock(&r->lock);
	o->next++;
	r->failed = r->failed || rc < 0;
	pthread_cond_broadcast(&r->turn);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int
run_block(void *arg, size_t number, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct renew_unit *u = &r->units[number % r->nunits];
	struct block b = { .number = number / r->nunits };
	unsigned char *at = r->memory + worker * r->buffers * r->step;
	void *in[CAUCHY_MAX];
	struct fti_slice s = { .in = in, .out = b.out };
	int rc = 0;

	if (b.number >= u->nblocks)
		return 0;
	b.off = s.off = b.number * r->step;
	b.len = s.len = u->length - b.off < r->step
				? (size_t)(u->length - b.off)
				: r->step;
	for (unsigned o = 0; o < u->count; o++, at += r->step)
		b.out[o] = at;
	for (unsigned n = 0; u->parity != NULL && n < u->recipe->nin;
	     n++, at += r->step)
		in[n] = at;
	if (work_go_on(r->w, err) < 0 ||
	    (u->parity == NULL
		     ? fti_source_read(u->source, b.out[0], b.len, b.off, err)
		     : fti_parity_run(u->parity, u->recipe, &s, err)) < 0)
		return fail(r);
	for (unsigned i = 0; rc == 0 && i < u->count; i++) {
		const struct renew_out *o = &u->outs[i];
		const unsigned char *data = b.out[i];
		const size_t n = bytes_of(&b, o);
		int fd = -1;

		if (u->parity != NULL && o->file->part == FTI_OWN &&
		    !fti_parity_is_padding(u->parity, o->length, data + n,
					   b.len - n, b.off + n))
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: the computed bytes are wrong "
				       "(padding): a file that they were "
				       "computed from is damaged",
				       o->file->path);
		if (rc < 0 || n == 0 || o->put == NULL)
			continue;
		/* Only in the end are the bytes counted: then the file is
		 * proven. */
		fd = put_open(o->put, err);
		if (fd < 0 || put_pwrite(o->put, fd, data, n, b.off, err) < 0 ||
		    put_wrote(o->put, 0, err) < 0)
			rc = -1;
	}
	if (rc < 0)
		return fail(r);
	for (unsigned o = 0; o < u->count; o++)
		if (sum_block(r, &b, &u->outs[o], b.out[o], err) < 0)
			return fail(r);
	progress_add(r->w->progress, b.len * u->count);
	return 0;
}

/* --- Units --- */

/* Open the next units, from file *at of the plan on, and write them. */
static int
run_units(struct run *r, size_t *at, struct error *err)
{
	const struct fti_set *set = r->r->set;
	const uint32_t k = set->level == FTI_L3 ? set->geometry.group_size : 1;
	const size_t units = FILES_MAX / (3 * k) + 1;
	const size_t files = 2 * (size_t)par_threads(r->w->par);
	size_t outs = 0;
	uint64_t most = 0;

	while (*at < r->r->count && r->nunits < units &&
	       r->nunits < UNITS_MAX && outs < files) {
		struct renew_unit *u = &r->units[r->nunits++];
		const size_t end = end_of_unit(r->r, *at);

		if (renew_open_unit(u, r->r, *at, end, err) < 0)
			return -1;
		u->nblocks = (u->length + r->step - 1) / r->step;
		most = u->nblocks > most ? u->nblocks : most;
		/* A dry run computes and proves them. */
		for (unsigned o = 0; o < u->count && !r->w->dry_run; o++)
			u->outs[o].put =
				r->files[u->outs[o].file - r->r->files];
		outs += u->count;
		*at = end;
	}
	for (size_t i = 0; i < r->nunits; i++)
		for (unsigned o = 0; o < r->units[i].count; o++)
			if (r->units[i].outs[o].length == 0 &&
			    end_file(r, &r->units[i].outs[o], err) < 0)
				return -1;
	return par_for(r->w->par, (size_t)most * r->nunits, 1, run_block, r,
		       err);
}

/* --- All --- */

static int
run(struct run *r, struct error *err)
{
	const struct fti_rebuild *plan = r->r;
	const unsigned k = plan->set->geometry.group_size;
	const int fd = plan->sets->tree.fd;
	struct stat st;
	int rc = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct fti_rebuild_file *f = &plan->files[i];
		struct put_what what = { .kind = PUT_FILE,
					 .dirfd = fd,
					 .path = f->path,
					 .size = f->size,
					 .replaces = f->replaces };

		if (f->replaces &&
		    fstatat(fd, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			what.mode = st.st_mode & 07777;
		r->files[i] = put_add(r->put, &what, NULL);
	}
	if (put_check_room(r->put, "the rebuilt files", err) < 0)
		return -1;
	if (plan->count == 0)
		return r->w->dry_run ? 0 : record_values(plan, r->sums, err);
	r->buffers = plan->set->level == FTI_L3 ? 2 * k : 1;
	r->step = MEMORY / r->buffers / PAGE * PAGE;
	r->step = r->step > STEP ? STEP : r->step;
	r->step = r->step < STEP_LEAST ? STEP_LEAST : r->step;
	r->memory = mem_aligned(PAGE,
				par_threads(r->w->par) * r->buffers * r->step);
	r->units = mem_calloc(UNITS_MAX, sizeof(*r->units));
	if ((!r->w->dry_run && put_clear(r->put, err) < 0) ||
	    prove_inputs(plan, r->w, err) < 0)
		rc = -1;
	else
		progress_phase(r->w->progress, "rebuilding",
			       plan->bytes_written);
	for (size_t at = 0; at < plan->count && rc == 0;) {
		rc = run_units(r, &at, err);
		for (size_t i = 0; i < r->nunits; i++)
			renew_close_unit(&r->units[i]);
		r->nunits = 0;
	}
	if (rc == 0)
		rc = work_go_on(r->w, err);
	if (rc == 0 && r->w->dry_run)
		return 0;
	/* No file may have appeared under a name that was missing. */
	for (size_t i = 0; rc == 0 && i < plan->count; i++)
		if (!plan->files[i].replaces &&
		    fstatat(fd, plan->files[i].path, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			rc = error_set(err, ERROR_USAGE,
				       "%s: exists now, and is not replaced",
				       plan->files[i].path);
	if (rc < 0 || put_commit(r->put, err) < 0 ||
	    record_values(plan, r->sums, err) < 0)
		return room_explain(fd, plan->bytes_written, err);
	return 0;
}

int
fti_rebuild_run(const struct fti_rebuild *plan, const struct work *w,
		struct error *err)
{
	const struct fti_tree *tree = &plan->sets->tree;
	struct run r = { .r = plan };
	struct put_options o = { .par = NULL };
	int lock = -2, rc = 0;

	r.w = work_or_default(w);
	if (plan->count + plan->values == 0)
		return 0;
	/* Restart, archive or another rebuild would write the same files. */
	if (!r.w->dry_run)
		lock = lock_take(tree->fd, tree->root, r.w, err);
	if (lock == -1)
		return -1;
	o.par = r.w->par;
	o.work = r.w;
	o.unlocked = lock < 0;
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.turn, NULL);
	r.put = put_new(&o, NULL);
	r.files = mem_calloc(plan->count + 1, sizeof(struct put_file *));
	r.sums = mem_calloc(plan->count + 1, sizeof(*r.sums));
	rc = run(&r, err);
	put_free(r.put);
	mem_free(r.memory);
	mem_free(r.units);
	mem_free(r.files);
	mem_free(r.sums);
	pthread_cond_destroy(&r.turn);
	pthread_mutex_destroy(&r.lock);
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
