/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/common.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "path.h"
#include "scr/run.h"
#include "team/newfile.h"
#include "team/redundancy.h"

#define STEM_DATA "reddesc.er"
#define STEM_MAP "reddescmap.er"
#define STATE_ENCODED "2"
#define LIST ".shuffile"
#define CREATED "CREATED" /* our key, beside RANK */

/* Add the list of this rank: RANK, its number, FILES and FILE. */
static int
add_list(struct kvtree *t, const struct common *c,
	 const struct redundancy_job *j, struct error *err)
{
	char name[REDUNDANCY_NAME];
	struct kvtree *rank = NULL, *files = NULL;
	struct buf path = BUF_INIT;
	int rc = 0;

	t = kvtree_put(t, j->map ? STEM_MAP : STEM_DATA, err);
	t = t == NULL ? NULL : kvtree_put(t, "RANK", err);
	if (t != NULL)
		rank = kvtree_put(t, num_str(c->run->world.rank), err);
	if (rank == NULL ||
	    kvtree_set_u64(rank, "FILES", j->nfiles + 2, err) < 0)
		return -1;
	files = kvtree_put(rank, "FILE", err);
	for (size_t i = 0; files != NULL && rc == 0 && i < j->nfiles; i++)
		if (kvtree_put(files, j->files[i].path, err) == NULL)
			rc = -1;
	for (int d = 1; files != NULL && rc == 0 && d >= 0; d--)
		if (path_join(&path, c->meta, redundancy_name(j, d, name),
			      err) < 0 ||
		    kvtree_put(files, path.data, err) == NULL)
			rc = -1;
	buf_free(&path);
	return files == NULL ? -1 : rc;
}

/*
 * The leader: write the lists of all.  Then sync the file
 * system of a node's own cache at once, with the files of the application.  On
 * a device that nodes share, and which has other files, each file was synced;
 * only the directories are left to sync.
 */
static int
write_lists(const struct common *c, struct kvtree *all, struct error *err)
{
	const bool global = c->store->global;
	/* Data and filemaps have the same state: it is one file with two names,
	 * if the device supports links. */
	const bool data = kvtree_get(all, STEM_DATA) != NULL;
	const struct kvtree *stem = NULL;
	struct kvtree *state = NULL;
	char name[64];
	int fd = -1, rc = 0;

	if (c->created_us > 0)
		rc = kvtree_set_i64(kvtree_get(all, STEM_MAP), CREATED,
				    c->created_us, err);
	kvtree_foreach (stem, all) {
		(void)snprintf(name, sizeof(name), "%s" LIST, kvtree_key(stem));
		if (rc == 0)
			rc = newfile_tree(c->metafd, name, stem, global, err);
	}
	if (rc == 0)
		rc = (state = kvtree_new(err)) == NULL
			     ? -1
			     : kvtree_set(state, "STATE", STATE_ENCODED, err);
	if (rc == 0 && data)
		rc = newfile_tree(c->metafd, STEM_DATA ".er", state, global,
				  err);
	if (rc == 0 && (!data || linkat(c->metafd, STEM_DATA ".er", c->metafd,
					STEM_MAP ".er", 0) < 0))
		rc = newfile_tree(c->metafd, STEM_MAP ".er", state, global,
				  err);
	kvtree_free(state);
	if (rc == 0 && !global && syncfs(c->metafd) < 0)
		rc = error_sys(err, "%s", c->dir);
	if (rc < 0 || !global)
		return rc;
	fd = dir_open(AT_FDCWD, c->dir);
	if (fd < 0)
		return error_sys(err, "%s", c->dir);
	rc = io_sync_dir(c->metafd, c->meta, err);
	if (rc == 0)
		rc = io_sync_dir(fd, c->dir, err);
	close(fd);
	return rc;
}

int
common_write(const struct common *c, struct error *err)
{
	const struct team *team = &c->store->sharers;
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : 0;

	if (rc == 0 && c->data != NULL)
		rc = add_list(t, c, c->data, err);
	if (rc == 0)
		rc = add_list(t, c, c->map, err);
	rc = team_trees(team, 0, rc, &t, err);
	if (rc == 0 && team->rank == 0)
		rc = write_lists(c, t, err);
	kvtree_free(t);
	return team_agree(&c->run->world, rc, err);
}

bool
common_differs(int fd, const char *name, int64_t created_us)
{
	char path[PATH_MAX];
	struct kvtree *t = NULL;
	uint64_t is = 0;
	bool differs = false;

	(void)snprintf(path, sizeof(path), "%s/" SCR_DIR "/" STEM_MAP LIST,
		       name);
	t = kvtree_read_beneath(fd, path, NULL, NULL);
	if (t != NULL && kvtree_u64(t, CREATED, INT64_MAX, &is, NULL) == 0)
		differs = is != (uint64_t)created_us;
	kvtree_free(t);
	return differs;
}
