/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renew_unit.c - the files of one group while they are written: what computes
 * them, and what proves them.
 */
#include <string.h>

#include "encode/cauchy.h"
#include "error.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "ftijob/parity.h"
#include "ftijob/recover.h"
#include "ftijob/renew_impl.h"
#include "hash.h"
#include "transfer/put.h"

/* What the file has to be: the sums of a data file of FTI-FF are in its
 * records; of the metadata of its parity, those of its rank's file say size and
 * time. */
static int
expect(struct renew_out *o, const struct fti_rebuild *r, struct renew_unit *u,
       const struct fti_source *s, struct error *err)
{
	struct fti_file *f = NULL;

	o->length = s->size;
	if (r->set->posix || o->file->part == FTI_PARITY) {
		o->hash = hash_new(HASH_MD5, err);
		if (r->set->posix)
			return 0;
		s = fti_recover_source(u->from, o->file->rank, FTI_OWN, err);
	}
	f = s == NULL ? NULL : fti_file_read(s, r->set->layout, err);
	if (f == NULL)
		return -1;
	if (o->file->part == FTI_PARITY) {
		o->meta = f->meta;
		o->meta.ckpt_id = r->set->id;
		o->meta.fs = o->meta.max_fs = (int64_t)u->parity->length;
		o->meta.pt_fs = -1;
		fti_file_free(f);
		return 0;
	}
	o->checked.file = f;
	o->checked.source = s;
	if (f->kind != FTI_KIND_DATA || !f->usable)
		return error_set(
			err, ERROR_CORRUPT, "%s: computed: %s", o->file->path,
			f->nfindings > 0 ? f->findings->text : "no checkpoint");
	o->pass = fti_pass_new(&o->checked);
	return 0;
}

/* The number of the file's member in the recipe. */
static unsigned
member_of(const struct fti_rebuild_file *f, const struct fti_parity *p)
{
	return f->rank->member + (f->part == FTI_PARITY ? p->k : 0);
}

int
renew_open_unit(struct renew_unit *u, const struct fti_rebuild *r, size_t first,
		size_t end, struct error *err)
{
	const struct fti_rebuild_file *f = &r->files[first];
	const bool coded = r->set->level == FTI_L3;
	bool lost[CAUCHY_MEMBERS_MAX], wanted[CAUCHY_MEMBERS_MAX] = { false };

	memset(u, 0, sizeof(*u));
	u->from = fti_recover_new(r->sets, r->set, f->rank, err);
	if (u->from == NULL)
		return -1;
	u->count = coded ? (unsigned)(end - first) : 1;
	if (!coded) {
		u->source = fti_recover_source(u->from, f->rank, f->part, err);
		if (u->source == NULL)
			return -1;
		u->length = u->source->size;
		u->outs[0].file = f;
		return expect(&u->outs[0], r, u, u->source, err);
	}
	/* The files are computed from the parity of their group. */
	u->parity = fti_recover_parity(u->from, err);
	if (u->parity == NULL)
		return -1;
	u->length = u->parity->length;
	fti_parity_lost(u->parity, lost);
	for (unsigned i = 0; i < u->count; i++)
		wanted[member_of(&f[i], u->parity)] = true;
	u->recipe = cauchy_new(u->parity->k, lost, wanted, err);
	if (u->recipe == NULL)
		return -1;
	for (unsigned o = 0; o < u->recipe->nout; o++)
		for (unsigned i = 0; i < u->count; i++)
			if (member_of(&f[i], u->parity) == u->recipe->out[o])
				u->outs[o].file = &f[i];
	for (unsigned o = 0; o < u->count; o++)
		if (expect(&u->outs[o], r, u,
			   fti_parity_source(u->parity, u->recipe->out[o]),
			   err) < 0)
			return -1;
	return 0;
}

void
renew_close_unit(struct renew_unit *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		struct renew_out *o = &u->outs[i];

		fti_pass_free(o->pass);
		fti_checked_fini(&o->checked);
		fti_file_free(o->checked.file);
		hash_free(o->hash);
	}
	cauchy_free(u->recipe);
	fti_recover_free(u->from);
	memset(u, 0, sizeof(*u));
}

static int
differs(const struct renew_out *o, const char *why, struct error *err)
{
	return error_set(err, ERROR_CORRUPT,
			 "%s: the computed bytes are wrong (%s): a file that "
			 "they were computed from is damaged",
			 o->file->path, why);
}

int
renew_end_out(struct renew_out *o, const struct fti_rebuild *r,
	      struct error *err)
{
	const struct fti_posix_file *f = o->file->rank->posix;
	const bool parity = o->file->part == FTI_PARITY;
	const enum fti_layout l = r->set->layout;
	const char *want = NULL;
	unsigned char record[FTI_META_MAX];

	if (o->pass != NULL) {
		if (fti_pass_end(o->pass, err) < 0)
			return -1;
		/* Files that FTI itself wrote may be refused: see STALE. */
		return o->checked.exact
			       ? 0
			       : differs(o, o->checked.file->findings->text,
					 err);
	}
	hash_text(o->hash, o->sum);
	/* A POSIX file must have the sum that the metadata of its group
	 * record. */
	if (r->set->posix) {
		want = parity ? f->parity_sum : f->sum;
		if (want != NULL)
			return fti_sums_alike(o->sum, want)
				       ? 0
				       : differs(o, "checksum", err);
		/* Parity of which no sum is recorded has proven inputs; so do
		 * data, if all files were read. */
		return parity || r->set->data_read
			       ? 0
			       : error_set(err, ERROR_CORRUPT,
					   "%s: the metadata of its group "
					   "(sector file) have no checksum of "
					   "it",
					   o->file->path);
	}
	/* Write the record behind the parity. */
	memcpy(o->meta.checksum, o->sum, HASH_MD5_TEXT);
	fti_record_write(l, FTI_META, &o->meta, record);
	fti_meta_hash(l, record, o->hash, o->meta.hash);
	fti_record_write(l, FTI_META, &o->meta, record);
	return o->put == NULL ? 0
			      : put_write(o->put, record, fti_format(l)->meta,
					  o->length, err);
}
