/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftitest.h"

#include "fti/draft.h"
#include "fti/ini.h"

#include "puttest.h"

/* --- Bytes --- */

static int
read_memory(const struct fti_source *s, void *to, size_t len, uint64_t off,
	    struct error *err)
{
	(void)err;
	memcpy(to, (const char *)s->arg + off, len);
	return 0;
}

void
fti_source_memory(struct fti_source *s, const void *data, uint64_t size,
		  const char *name)
{
	*s = (struct fti_source){
		.size = size,
		.name = name,
		.read = read_memory,
		.arg = (void *)(uintptr_t)data,
		.fd = -1,
	};
}

struct fti_posix *
fti_posix_parse(const char *name, const void *data, size_t len,
		struct error *err)
{
	return fti_posix_take(fti_ini_parse(name, data, len, err), err);
}

const struct fti_content_var *
fti_content_var(const struct fti_content *c, int32_t id)
{
	for (size_t i = 0; i < c->nvars; i++)
		if (c->vars[i].id == id)
			return &c->vars[i];
	return NULL;
}

int
fti_write(const struct fti_job *jobs, size_t count, const struct work *w,
	  struct error *err)
{
	struct fti_writer *r = fti_writer_new(w);
	const bool dry = work_or_default(w)->dry_run;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = fti_writer_add(r, &jobs[i], err);
	if (rc == 0)
		rc = fti_writer_room(r, err);
	if (rc == 0 && !dry)
		rc = fti_writer_run(r, 0, count, err);
	if (rc == 0 && !dry)
		rc = fti_writer_commit(r, err);
	fti_writer_free(r);
	return rc;
}

/* --- Files --- */

void
ftitest_open(struct ftitest *t, const char *path)
{
	*t = (struct ftitest){ .path = mem_strdup(path) };
	must(t->path != NULL &&
	     fti_source_open(&t->source, AT_FDCWD, t->path, NULL) == 0);
	t->checked.source = &t->source;
	t->checked.file = fti_file_read(&t->source, FTI_LAYOUTS, NULL);
	must(t->checked.file != NULL &&
	     fti_check(&t->checked, 1, true, NULL, NULL) == 0);
	if (t->checked.file->usable)
		must(fti_content_file(&t->content, t->checked.file, &t->source,
				      NULL) == 0);
}

void
ftitest_close(struct ftitest *t)
{
	fti_content_fini(&t->content);
	fti_checked_fini(&t->checked);
	fti_file_free(t->checked.file);
	fti_source_close(&t->source);
	mem_free(t->path);
}

int
ftitest_pack(const struct fti_raw *raw, size_t count, unsigned room,
	     enum fti_layout layout, const char *name, struct error *err)
{
	struct fti_draft d;
	const struct fti_job job = {
		.draft = &d, .dirfd = puttest_fd, .path = name, .replace = true
	};
	int rc = fti_describe_pack(&d, raw, count, room, layout, err);

	d.ckpt_id = 1;
	if (rc == 0)
		rc = fti_write(&job, 1, NULL, err);
	fti_draft_fini(&d);
	return rc;
}

/* --- Files in memory --- */

void
ftitest_image(struct fti_draft *d, struct buf *out)
{
	const struct fti_format *format = fti_format(d->layout);
	struct hash *h = hash_new(HASH_MD5, NULL), *all = NULL;
	unsigned char meta[FTI_META_MAX];
	char checksum[HASH_TEXT];

	must(h != NULL && fti_draft_plan(d, NULL) == 0);
	all = hash_new(HASH_MD5, NULL);
	must(all != NULL);
	buf_clear(out);
	must(buf_reserve(out, (size_t)d->size + 1) == 0);
	memset(out->data, 0, (size_t)d->size);
	out->len = (size_t)d->size;
	for (size_t i = 0; i < d->ncontainers; i++) {
		struct fti_draft_container *c = &d->containers[i];
		const size_t used = (size_t)c->c.used;

		/* An empty one may begin beyond the variable. */
		if (used > 0)
			must(fti_content_read(c->content, c->var,
					      out->data + c->c.fptr, used,
					      c->c.dptr, NULL) == 0);
		hash_update(h, out->data + c->c.fptr, used);
		hash_sum(h, c->c.hash);
		if (format->footer && c->c.has_content != 0)
			hash_update(all, c->c.hash, sizeof(c->c.hash));
		else if (d->layout == FTI_B)
			hash_update(all, out->data + c->c.fptr, used);
	}
	for (size_t b = 0; b < d->nblocks; b++)
		fti_draft_records(d, b,
				  (unsigned char *)out->data + d->blocks[b].at);
	if (d->layout == FTI_A)
		hash_update(all, out->data + format->meta,
			    (size_t)d->size - format->meta);
	hash_text(all, checksum);
	fti_draft_meta(d, checksum, h);
	hash_free(all);
	hash_free(h);
	fti_record_write(d->layout, FTI_META, &d->meta, meta);
	memcpy(out->data + (format->footer ? d->size - format->meta : 0), meta,
	       format->meta);
}
