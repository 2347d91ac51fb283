/* SPDX-License-Identifier: BSD-3-Clause */
/* owners_expect.c - before files are written whose paths are not known yet:
 * find datasets with missing files, whose names the new files could take. */
#include "catalogue/claims.h"
#include "error.h"
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
	size_t *retired;
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
expect_of(void *arg, const struct index *ix, int64_t id, struct error *err)
{
	const struct expecting *s = arg;
	struct lack k = { .prefix = pathcache_new(s->c->prefix_fd) };
	struct error why = ERROR_INIT;
	int rc = 0;

	(void)ix;
	if (k.prefix == NULL)
		return error_no_memory(err);
	if (owners_each(s->c, id, s->o, find_lack, &k, &why) < 0 &&
	    !catalogue_is_verdict(&why))
		rc = error_pass(err, &why);
	pathcache_free(k.prefix);
	if (rc < 0 || !k.any)
		return rc;
	++*s->retired;
	return catalogue_retire(s->c, id, s->id, s->o, err);
}

int
owners_expect(struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, size_t *retired,
	      struct error *err)
{
	struct expecting s = { c, id, o, retired };

	*retired = 0;
	return owners_others(c, id, false, expect_of, &s, err);
}
