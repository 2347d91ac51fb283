/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftibytes.h"

#include <string.h>

#include "fti/ini.h"
#include "work.h"

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
	struct fti_writer *r = fti_writer_new(w, err);
	const bool dry = work_or_default(w)->dry_run;
	int rc = r == NULL ? -1 : 0;

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
