/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/rankfile.h"

#include <fcntl.h>
#include <string.h>

#include "error.h"
#include "fti/file.h"
#include "mem.h"
#include "path.h"

const char *const fti_form_names[] = {
	[FTI_FORM_FF] = "FTI-FF",
	[FTI_FORM_POSIX] = "POSIX",
	[FTI_FORM_LAYERS] = "POSIX, differential",
	[FTI_FORM_UNKNOWN] = "unknown",
};

/* --- Open --- */

/* Find out which form the file has. */
static int
recognize(struct fti_rankfile *r, const struct fti_rankfile_options *o,
	  struct error *err)
{
	const char *problem = NULL;
	int rc = 0;

	r->ff = fti_file_read(r->source, o->layout, err);
	if (r->ff == NULL)
		return -1;
	r->ff->name = r->name;
	/* Only a sum proves that it is not a POSIX file. */
	if (!r->ff->meta_good && o->layout == FTI_LAYOUTS) {
		rc = o->meta != NULL
			     ? fti_metas_take(o->metas, o->meta, r->name,
					      &r->described, err)
			     : fti_metas_find(o->metas, r->name, &r->described,
					      err);
		if (rc < 0)
			return -1;
		problem = r->described.problem;
		if (r->described.file == NULL && r->ff->kind == FTI_KIND_NONE)
			fti_find(r->ff, FTI_RULE_FORMAT, FTI_FILE_ITSELF,
				 problem == NULL
					 ? "no metadata of POSIX files "
					   "describe it%s"
					 : "its metadata as a POSIX file are "
					   "damaged: %s",
				 problem == NULL ? "" : problem);
	}
	if (r->described.file == NULL) {
		r->form = r->ff->kind == FTI_KIND_NONE ? FTI_FORM_UNKNOWN
						       : FTI_FORM_FF;
		r->copy = r->label.kind == FTI_NAME_COPY;
		r->parity = r->ff->kind == FTI_KIND_PARITY;
		return 0;
	}
	fti_file_free(r->ff);
	r->ff = NULL;
	r->form =
		r->described.posix->layered ? FTI_FORM_LAYERS : FTI_FORM_POSIX;
	r->copy = r->described.copy;
	r->parity = r->described.parity;
	return 0;
}

/* List the variables. */
static int
read_content(struct fti_rankfile *r, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	if (r->parity || r->form == FTI_FORM_UNKNOWN)
		return 0;
	if (r->form == FTI_FORM_FF)
		rc = fti_content_file(&r->content, r->ff, r->source, &why);
	else if (r->form == FTI_FORM_POSIX)
		rc = fti_content_posix(&r->content, r->described.file,
				       r->source, &why);
	else
		rc = fti_dcp_read(&r->dcp, r->described.file, r->source, &why);
	if (rc == 0 && r->form == FTI_FORM_LAYERS) {
		rc = fti_content_dcp(&r->content, &r->dcp, r->layer, &why);
		r->lacks = rc > 0;
	}
	if (rc >= 0)
		return 0;
	if (why.kind != ERROR_CORRUPT && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	fti_content_fini(&r->content);
	r->unusable = mem_strdup(why.text);
	return 0;
}

int
fti_rankfile_open(struct fti_rankfile *r, const char *path,
		  const struct fti_rankfile_options *o, struct error *err)
{
	const bool below = o->below != NULL;

	*r = (struct fti_rankfile){
		.name = path,
		.source = o->computed,
		.label = fti_name_parse(path_base(path)),
		.form = FTI_FORM_UNKNOWN,
		.layer = o->layer,
		.own.fd = -1,
	};
	if (r->source == NULL) {
		if (fti_source_open(&r->own, below ? o->dirfd : AT_FDCWD,
				    below ? o->below : path, err) < 0)
			return -1;
		r->own.name = path;
		r->source = &r->own;
	}
	if (o->known) {
		r->described.file = o->posix;
		r->parity = o->parity;
		r->form = o->posix == NULL	  ? FTI_FORM_FF
			  : o->posix->nlayers > 0 ? FTI_FORM_LAYERS
						  : FTI_FORM_POSIX;
		if (r->form == FTI_FORM_POSIX)
			return read_content(r, err);
		if (r->form == FTI_FORM_FF)
			r->ff = fti_file_read(r->source, o->layout, err);
		return r->form == FTI_FORM_FF && r->ff == NULL ? -1 : 0;
	}
	if (recognize(r, o, err) < 0)
		return -1;
	if (r->form != FTI_FORM_LAYERS && r->layer != FTI_DCP_LAST)
		return error_set(err, ERROR_USAGE,
				 "%s: has no layers (form: %s)", path,
				 fti_form_names[r->form]);
	if (read_content(r, err) < 0)
		return -1;
	if (r->form == FTI_FORM_LAYERS && r->layer == FTI_DCP_LAST &&
	    r->dcp.nlayers > 0)
		r->layer = r->dcp.nlayers - 1;
	r->id = r->form == FTI_FORM_LAYERS ? fti_dcp_id(&r->dcp, r->layer) : -1;
	if (r->described.posix != NULL && r->id < 0)
		r->id = r->described.posix->id;
	/* FTI leaves rubbish in parity files. */
	if (r->form == FTI_FORM_FF && !r->parity)
		r->id = r->ff->meta.ckpt_id;
	if (r->id < 0 &&
	    (r->label.kind == FTI_NAME_RANK || r->label.kind == FTI_NAME_COPY ||
	     r->label.kind == FTI_NAME_PARITY))
		r->id = (int64_t)r->label.id;
	return 0;
}

void
fti_rankfile_close(struct fti_rankfile *r)
{
	fti_checked_fini(&r->checked);
	mem_free(r->proven);
	mem_free(r->unusable);
	fti_content_fini(&r->content);
	fti_dcp_fini(&r->dcp);
	fti_file_free(r->ff);
	if (r->source == &r->own)
		fti_source_close(&r->own);
	*r = (struct fti_rankfile){ .own.fd = -1 };
}

/* --- What sums prove --- */

static void
prove(struct fti_rankfile *r)
{
	const struct fti_checked *c = &r->checked;
	const struct fti_file *f = r->ff;
	const size_t count = r->content.npieces;
	bool *bad = NULL, all = false; /* layers */
	size_t piece = 0;

	mem_free(r->proven);
	r->proven = mem_calloc(count + 1, sizeof(*r->proven));
	if (!c->data_read || c->verdict == FTI_UNREAD)
		return;
	for (size_t i = 0; r->form == FTI_FORM_POSIX && i < count; i++)
		r->proven[i] = c->data_good;
	/* The containers with good sums, in the order of the pieces. */
	for (size_t v = 0; r->form == FTI_FORM_FF && count > 0 && v < f->nvars;
	     v++)
		for (size_t k = f->vars[v].first; k != SIZE_MAX;
		     k = f->containers[k].next)
			if (f->containers[k].c.used > 0)
				r->proven[piece++] =
					c->data_good ||
					memcmp(f->containers[k].c.hash,
					       c->sums[k], HASH_MD5_SIZE) == 0;
	if (r->form != FTI_FORM_LAYERS)
		return;
	/* The pieces in layers without findings. */
	bad = mem_calloc(r->dcp.nlayers + 1, sizeof(*bad));
	for (const struct fti_finding *n = c->file->findings; n != NULL;
	     n = n->next)
		if (n->block < r->dcp.nlayers)
			bad[n->block] = true;
		else
			all = true;
	for (size_t i = 0; i < count && !all; i++)
		r->proven[i] =
			!bad[fti_dcp_layer(&r->dcp, r->content.pieces[i].at)];
	mem_free(bad);
}

bool
fti_rankfile_unproven(const struct fti_rankfile *r,
		      const struct fti_content_var *v, uint64_t from,
		      uint64_t end, struct fti_range *out)
{
	const size_t last = v->first + v->count;
	bool found = false;

	if (from >= end || from >= v->size)
		return false;
	for (size_t i = fti_content_piece(&r->content, v, from);
	     i < last && r->content.pieces[i].off < end; i++) {
		const struct fti_piece *p = &r->content.pieces[i];
		const uint64_t stop = p->off + p->len;

		if (r->proven != NULL && r->proven[i]) {
			if (found)
				break;
			continue;
		}
		if (!found)
			out->off = p->off > from ? p->off : from;
		out->len = (stop < end ? stop : end) - out->off;
		found = true;
	}
	return found;
}

/* --- Check --- */

int
fti_rankfiles_check(struct fti_rankfile *files, size_t count, bool data,
		    const struct work *w, struct error *err)
{
	struct fti_checked *list = mem_calloc(count + 1, sizeof(*list));
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		fti_checked_fini(&files[i].checked);
		list[i] = (struct fti_checked){
			.file = files[i].ff,
			.source = files[i].source,
			.posix = files[i].described.file,
			.parity = files[i].parity,
		};
	}
	rc = fti_check(list, count, data, w, err);
	for (size_t i = 0; i < count; i++) {
		files[i].checked = list[i];
		if (rc == 0)
			prove(&files[i]);
	}
	mem_free(list);
	return rc;
}
