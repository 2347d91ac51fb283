/* SPDX-License-Identifier: BSD-3-Clause */
/* owners_expect.c - before files are written whose paths are not known yet:
 * find datasets with missing files, whose names the new files could take. */
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "path.h"

/* Does a dataset own a file that is missing? */
struct lack {
	struct pathcache *prefix;
	bool any;
};

struct expecting {
	struct catalogue *c;
	int64_t id; /* of the dataset that is written */
	const struct catalogue_options *o;
};

static int
find_lack(void *arg, const struct rank2file_file *f, struct error *err)
{
	struct lack *k = arg;

	(void)err;
	/* The cache lists the directory only on the second call, so call twice.
	 * A packed dataset does not need its empty files. */
	if (!k->any && f->path != NULL && f->nsegs == 0 &&
	    !(f->has_size && f->size == 0))
		k->any = pathcache_absent(k->prefix, f->path) ||
			 pathcache_absent(k->prefix, f->path);
	return 0;
}

static int
expect_of(const struct expecting *s, int64_t id, size_t *retired,
	  struct error *err)
{
	struct lack k = { .prefix = pathcache_new(s->c->prefix_fd) };
	struct error why = ERROR_INIT;
	int rc = 0;

	if (k.prefix == NULL)
		return error_no_memory(err);
	if (owners_each(s->c, id, s->o, find_lack, &k, &why) < 0 &&
	    !catalogue_is_verdict(&why))
		rc = error_pass(err, &why);
	pathcache_free(k.prefix);
	if (rc < 0 || !k.any)
		return rc;
	++*retired;
	return catalogue_retire(s->c, id, s->id, s->o, err);
}

int
owners_expect(struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, size_t *retired,
	      struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(c, &why);
	const struct expecting s = { c, id, o };
	size_t count = 0;
	int64_t *ids = NULL;
	int rc = 0;

	*retired = 0;
	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	ids = catalogue_dirs(c, &count, err);
	rc = count == (size_t)-1 ? -1 : 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		if (ids[i] != id && owners_restorable(c, ix, ids[i]))
			rc = expect_of(&s, ids[i], retired, err);
	mem_free(ids);
	index_free(ix);
	return rc;
}
