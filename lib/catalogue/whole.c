/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * whole.c - plans of datasets, and what they mean to the catalogue.
 */
#include <stdio.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"

/* The root that the index remembers, for mem_free(); NULL: none. */
static char *
remembered_root(struct catalogue *c, int64_t id)
{
	enum catalogue_state state = CATALOGUE_GOOD;
	struct index *ix = NULL;
	const char *root = NULL;
	char *copy = NULL;

	if (catalogue_load(c, &ix, &state, NULL) == 0 && ix != NULL)
		root = index_extra(ix, id, CATALOGUE_ROOT);
	if (root != NULL)
		copy = mem_strdup(root);
	index_free(ix);
	return copy;
}

struct plan *
catalogue_plan(struct catalogue *c, int64_t id, unsigned flags,
	       const struct catalogue_options *o, struct error *err)
{
	struct plan_options po = {
		.flags = flags,
		.moved_from = o->moved_from,
		.work = &o->work,
	};
	struct error why = ERROR_INIT;
	struct plan *p = plan_prefix(c->path, id, &po, &why);
	char *root = NULL;

	if (p == NULL && why.kind == ERROR_USAGE && po.moved_from == NULL)
		root = remembered_root(c, id);
	if (root != NULL) {
		po.moved_from = root;
		p = plan_prefix(c->path, id, &po, &why);
		mem_free(root);
	}
	if (p == NULL)
		error_pass(err, &why);
	return p;
}

int
catalogue_check_given_up(const struct catalogue_dir *d,
			 const struct catalogue_desc *desc, struct error *err)
{
	/* Complete_output with valid = 0 on some rank, which may have no file
	 * that could say so (formats.md 3.1). */
	if (desc->view.complete != 0)
		return 0;
	return error_set(err, ERROR_LOST,
			 "%s: the job itself declared it invalid (COMPLETE is "
			 "0 in its descriptor)",
			 d->name);
}

bool
catalogue_flush_knows(const struct catalogue_dir *d, const struct plan *p)
{
	struct catalogue_desc s = { .tree = NULL };
	int complete = -1;
	bool more = false;

	if (plan_status(p) != STATUS_LOST)
		return false;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state != FILE_PRESENT)
			return false;
	for (int64_t i = 0; i < p->nranks; i++)
		more = more || !p->ranks[i].map_known;
	if (more && catalogue_read_summary(d, &s, &complete, NULL) < 0)
		complete = -1;
	catalogue_desc_free(&s);
	return more && complete == 1;
}

bool
catalogue_data_whole(const struct plan *p)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return false;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state != FILE_PRESENT)
			return false;
	return p->nranks > 0;
}
