/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renew_prove.c - parity that no sum proves: that of FTI-FF has its only sum
 * behind it, and that of a checkpoint that is protected for the first time has
 * none.
 */
#include <string.h>

#include "buf.h"
#include "encode/cauchy.h"
#include "error.h"
#include "fti/file.h"
#include "fti/ini.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "ftijob/parity.h"
#include "ftijob/recover.h"
#include "ftijob/renew_impl.h"
#include "io.h"
#include "num.h"
#include "work.h"

static int
not_proven(const struct fti_rankfile *f, struct error *err)
{
	const struct fti_checked *c = &f->checked;
	const struct fti_finding *n = c->file->findings;

	if (c->unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s: %s", f->name,
				 c->unread);
	return error_set(err, ERROR_CORRUPT, "%s: %s", f->name,
			 n != NULL ? n->text : "damaged");
}

/* Compare all data of the group with their sums, also those that are
 * computed. */
static int
prove_data(const struct fti_rebuild *r, uint32_t group,
	   const struct fti_parity *p, const struct work *w, struct error *err)
{
	struct fti_rankfile files[CAUCHY_MAX];
	unsigned count = 0;
	int rc = 0;

	for (; count < p->k && rc == 0; count++) {
		const struct fti_source *s = fti_parity_source(p, count);
		const struct fti_rankfile_options o = {
			.computed = s,
			.known = true,
			.layout = p->layout,
			.posix = fti_set_member(r->set, group, count)->posix,
		};

		rc = fti_rankfile_open(&files[count], s->name, &o, err);
	}
	if (rc == 0)
		rc = fti_rankfiles_check(files, count, true, w, err);
	for (unsigned m = 0; m < count; m++) {
		if (rc == 0 && !files[m].checked.data_good)
			rc = not_proven(&files[m], err);
		fti_rankfile_close(&files[m]);
	}
	return rc;
}

/* Is a file of the unit parity without a sum, and does none prove the inputs?
 * Data that are computed from them have sums. */
static bool
is_unproven(const struct fti_rebuild *r, size_t first, size_t end)
{
	bool unproven = false;

	for (size_t i = first; i < end; i++) {
		const struct fti_rebuild_file *f = &r->files[i];

		if (f->part != FTI_PARITY)
			return false;
		unproven = unproven || !r->set->posix ||
			   f->rank->posix->parity_sum == NULL;
	}
	return unproven;
}

static int
prove_unit(const struct fti_rebuild *r, size_t first, const struct work *w,
	   struct error *err)
{
	const struct fti_rank *of = r->files[first].rank;
	struct fti_recover *from = fti_recover_new(r->sets, r->set, of, err);
	const struct fti_parity *p = NULL;
	int rc = -1;

	if (from != NULL)
		p = fti_recover_parity(from, err);
	if (p != NULL)
		rc = prove_data(r, of->group, p, w, err);
	fti_recover_free(from);
	return rc;
}

int
renew_prove_inputs(const struct fti_rebuild *r, const struct work *w,
		   struct error *err)
{
	if (r->set->level != FTI_L3 || r->set->data_read)
		return 0;
	for (size_t i = 0, end = 0; i < r->count; i = end) {
		end = renew_end_of_unit(r, i);
		if (is_unproven(r, i, end) && prove_unit(r, i, w, err) < 0)
			return -1;
	}
	return 0;
}

/* --- Sums of POSIX files --- */

/* The text of a file of metadata while sums are corrected. */
struct correction {
	const struct fti_posix *p;
	struct buf text;
	bool changed;
};

/* Set the sum of a file of a rank, if it is in these metadata, and another. */
static int
set_sum(struct correction *c, const struct fti_rank *r, enum fti_part part,
	const char *sum, struct error *err)
{
	const struct fti_posix_file *of = r->posix;
	const bool parity = part == FTI_PARITY;
	const char *old = of == NULL ? NULL : parity ? of->parity_sum : of->sum;
	char section[NUM_TEXT];
	const struct fti_ini_value v = {
		.section = section,
		.key = parity ? "rsed_checksum" : "ckpt_checksum",
		.value = sum,
	};

	if (sum == NULL || of == NULL ||
	    (old != NULL && strcmp(old, sum) == 0) || of < c->p->files ||
	    of >= c->p->files + c->p->nfiles)
		return 0;
	num_text(section, (uint64_t)(of - c->p->files));
	c->changed = true;
	return fti_ini_set(&c->text, &v, err);
}

int
renew_record_sums(const struct fti_rebuild *r, char (*sums)[HASH_TEXT],
		  struct error *err)
{
	const int fd = r->sets->tree.fd;
	const struct fti_set *set = r->set;
	int rc = 0;

	for (size_t i = 0; i < r->sets->ninis && rc == 0 && set->posix; i++) {
		struct correction c = { .p = r->sets->inis[i],
					.text = BUF_INIT };

		rc = io_read_file(fd, c.p->name, FTI_INI_MAX, &c.text, err);
		for (size_t k = 0; k < r->count && rc == 0; k++)
			rc = set_sum(&c, r->files[k].rank, r->files[k].part,
				     sums[k], err);
		for (size_t k = 0; k < set->nranks * FTI_PARTS && rc == 0;
		     k++) {
			const struct fti_rank *of = &set->ranks[k / FTI_PARTS];

			rc = set_sum(&c, of, (enum fti_part)(k % FTI_PARTS),
				     of->parts[k % FTI_PARTS].right_sum, err);
		}
		if (rc == 0 && c.changed)
			rc = io_replace(fd, c.p->name, c.text.data, c.text.len,
					0666, err);
		buf_free(&c.text);
	}
	return rc;
}
