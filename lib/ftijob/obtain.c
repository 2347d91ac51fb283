/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/obtain.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/metas.h"
#include "ftijob/recover.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"

/* A directory that may be the common one. */
struct common {
	int fd;
	const char *known, *exec; /* known/exec is not a sign */
};

/* Is the name that of a configuration, or does it have the execution, too? */
static int
is_sign(void *arg, const char *name, struct error *err)
{
	const struct common *c = arg;
	struct buf rel = BUF_INIT;
	struct stat st;
	int found = str_eq(name, "config.fti");

	if (found == 0 && !str_eq(name, c->known) && name[0] != '.') {
		if (path_join(&rel, name, c->exec, err) < 0)
			return -1;
		found = path_stat_beneath(c->fd, rel.data, &st, NULL) == 0 &&
			S_ISDIR(st.st_mode);
		buf_free(&rel);
	}
	return found;
}

/*
 * The common directory of all nodes: it has the directories node<k>.  The one
 * above is taken if it has a configuration, or metadata.
 */
static int
find_root(const struct fti_location *p, char **out, struct error *err)
{
	uint32_t node = 0;
	struct common c = { .fd = -1, .exec = p->exec };
	int rc = 0;

	*out = mem_strdup(p->above);
	if (*out == NULL)
		return error_no_memory(err);
	if (fti_name_node(path_base(*out), &node))
		(void)fti_location_cut(*out);
	c.known = path_base(*out);
	if (c.known - *out > 1) {
		char *above = mem_strdup(*out);

		if (above == NULL)
			return error_no_memory(err);
		(void)fti_location_cut(above);
		c.fd = dir_open(AT_FDCWD, above);
		rc = c.fd < 0 ? 0 : dir_each(c.fd, above, is_sign, &c, err);
		io_close(c.fd);
		if (rc == 1)
			(void)fti_location_cut(*out);
		mem_free(above);
	}
	return rc < 0 ? -1 : 0;
}

int
fti_obtain_open(struct fti_obtain *o, const char *path, const char *root,
		const struct work *w, struct error *err)
{
	const struct fti_geometry unknown = { .head = -1 };
	const struct fti_name n = fti_name_parse(path_base(path));
	struct fti_location p;
	int rc = fti_location_of(path, &p, err);

	*o = (struct fti_obtain){ .level = p.level };
	if (rc == 0 && p.above == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no other files of this checkpoint are "
			       "known: it is not in a directory "
			       "<execution>/<level>",
			       path);
	else if (rc == 0 && n.kind != FTI_NAME_RANK)
		rc = error_set(err, ERROR_LOST,
			       "%s: only the own file of a rank has a copy or "
			       "parity",
			       path);
	else if (rc == 0 && p.level != FTI_L2 && p.level != FTI_L3)
		rc = error_set(err, ERROR_LOST,
			       "%s: has no copy or parity at this level", path);
	if (rc == 0 && root != NULL) {
		o->root = mem_strdup(root);
		rc = o->root == NULL ? error_no_memory(err) : 0;
	} else if (rc == 0) {
		rc = find_root(&p, &o->root, err);
	}
	if (rc == 0)
		rc = fti_sets_open(&o->sets, o->root, &unknown, w, err);
	for (size_t i = 0; rc == 0 && i < o->sets.count && o->rank == NULL;
	     i++) {
		struct fti_set *s = &o->sets.list[i];

		if (s->level != p.level || s->id != n.id ||
		    !str_eq(s->exec, p.exec))
			continue;
		o->set = s;
		o->rank = fti_set_rank(s, n.rank);
	}
	if (rc == 0 && o->rank == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no other files of this checkpoint below %s",
			       path, o->root);
	fti_location_fini(&p);
	return rc;
}

int
fti_obtain_source(struct fti_obtain *o, bool data, const struct work *w,
		  struct error *err)
{
	struct fti_part_file *own = &o->rank->parts[FTI_OWN];

	o->source = NULL;
	fti_recover_free(o->recover);
	o->recover = NULL;
	if (fti_set_examine(&o->sets, o->set, data, w, err) < 0)
		return -1;
	/* It is not good: else nobody would ask. */
	*own = (struct fti_part_file){ .state = FTI_STATE_MISSING };
	o->recover = fti_recover_new(&o->sets, o->set, o->rank, err);
	if (o->recover == NULL)
		return -1;
	o->source = fti_recover_source(o->recover, o->rank, FTI_OWN, err);
	return o->source == NULL ? -1 : 0;
}

void
fti_obtain_close(struct fti_obtain *o)
{
	fti_recover_free(o->recover);
	fti_sets_free(&o->sets);
	mem_free(o->root);
	*o = (struct fti_obtain){ .root = NULL };
}
