/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.c - the nodes of a job copy one dataset to the prefix.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/owners.h"
#include "clock.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "scavenge/scavenge_impl.h"
#include "site/job.h"
#include "str.h"

#define DIR_NAME 48 /* fits ".scr/scr.dataset.ID" */
#define SHARES "scavenge.shares"

/* Copying is repeated if a node was cut off, or fails and other nodes have its
 * files, too: at most this many rounds in all. */
#define ROUNDS 3

struct copying {
	struct scavenge *s;
	struct salvage_dataset *d;
	char dir[DIR_NAME]; /* of its metadata, below the prefix */
	/* The file that lists the ranks of each node, below the prefix. */
	char shares[DIR_NAME + sizeof(SHARES)];
	uint32_t *nodes; /* nodes that copy in this round */
	size_t count;
	uint64_t *done; /* bytes copied, by index in `nodes` */
	/* Files that exist with other contents.  They are not replaced before
	 * their owners are marked in the index. */
	const char **taken;
	size_t ntaken, taken_cap;
	bool replace;
	bool unsure; /* a node may still replace files */
	/* By node: it was cut off once, and is asked again. */
	bool *cut;
	bool retry; /* one of them in this round */
	/* Only nodes with files of ranks whose filemap they have lost. */
	bool unmapped;
	struct scavenge_packing *into; /* containers; NULL: files */
	bool whole; /* all nodes of this round have copied all */
};

/* Parse a progress line, "scr_copy:  HOST: progress DONE TOTAL". */
static void
take_progress(void *arg, size_t node, const char *line)
{
	struct copying *c = arg;
	const char *at = strstr(line, ": progress ");
	uint64_t done = 0;

	if (at == NULL || node >= c->count ||
	    value_scan(at + strlen(": progress "), UINT64_MAX, &done) == NULL ||
	    done <= c->done[node])
		return;
	progress_add(c->s->work->progress, done - c->done[node]);
	c->done[node] = done;
}

/* Keep the output of the nodes for later diagnosis, in the files that LLNL's
 * scripts write (scr-dataset(5)). */
static void
keep_output(const struct copying *c, const struct remote_result *r)
{
	const struct scavenge *s = c->s;
	const int dir =
		path_open_dir(catalogue_prefix_fd(s->prefix), c->dir, NULL);

	for (int e = 0; e < 2; e++) {
		const char *name = arena_printf(s->arena, "scavenge.%c%s",
						e ? 'e' : 'o', s->job->id);
		int fd = -1;

		if (dir >= 0 && strchr(name, '/') == NULL)
			fd = io_open(dir, name, O_WRONLY | O_CREAT | O_APPEND,
				     0666, NULL);
		for (size_t i = 0; fd >= 0 && i < c->count; i++) {
			const struct buf *b = e ? &r[i].err : &r[i].out;

			if (b->len > 0)
				dprintf(fd, "%s\n%.*s\n\n",
					s->nodes[c->nodes[i]].name, (int)b->len,
					b->data);
		}
		io_close(fd);
	}
	io_close(dir);
}

/* The node's result: the lines of JSON that scr_copy prints. */
struct node_result {
	uint64_t bytes; /* copied */
	uint64_t bad, taken, unread;
};

struct json_value *
scavenge_next_json(const char **text)
{
	struct json_value *j = NULL;
	const char *line = NULL;
	size_t len = 0;

	while (j == NULL && (line = str_line(text, &len)) != NULL)
		if (*line == '{')
			j = json_parse(line, len, NULL);
	return j;
}

static void
read_result(struct copying *c, const struct remote_result *r,
	    struct node_result *out)
{
	const char *text = r->out.data, *path = NULL;
	struct json_value *j = NULL;

	/* A line tells of a file that was not replaced, or the totals. */
	while ((j = scavenge_next_json(&text)) != NULL) {
		if (json_get_u64(j, "bytes", UINT64_MAX, &out->bytes)) {
			(void)json_get_u64(j, "bad", UINT64_MAX, &out->bad);
			(void)json_get_u64(j, "taken", UINT64_MAX, &out->taken);
			(void)json_get_u64(j, "unread", UINT64_MAX,
					   &out->unread);
		} else if (json_get_str(j, "taken", c->s->arena, &path, NULL) ==
				   0 &&
			   path != NULL) {
			(void)MEM_ROOM(c->taken, c->ntaken, c->taken_cap);
			c->taken[c->ntaken++] = path;
		}
		json_release(j);
	}
}

/* Count copied bytes and report failures.  *again is set if a node did not come
 * to the end. */
static int
take_results(struct copying *c, const struct remote_result *r, bool *again,
	     struct error *err)
{
	struct scavenge *s = c->s;
	const char *why = NULL;
	char text[512];

	for (size_t i = 0; i < c->count; i++) {
		struct scavenge_node *n = &s->nodes[c->nodes[i]];
		struct node_result got = { .bytes = c->done[i] };

		read_result(c, &r[i], &got);
		s->copied += got.bytes;
		c->d->unread = c->d->unread || got.unread > 0;
		if (r[i].state == REMOTE_DONE &&
		    r[i].status == STATUS_DAMAGED && got.bad == 0 &&
		    got.taken > 0)
			continue;
		why = scavenge_reason(&r[i], text, sizeof(text));
		/* Also what a node warns of that has copied everything. */
		if (r[i].state != REMOTE_DONE || r[i].status != STATUS_OK ||
		    r[i].err.len > 0)
			scavenge_complain(s, c->nodes[i],
					  "dataset %" PRId64 ": %s", c->d->id,
					  why);
		if (r[i].state == REMOTE_DONE && r[i].status == STATUS_OK)
			continue;
		c->whole = false;
		/* The node could not read some files; redundancy may restore
		 * them. */
		if (r[i].state == REMOTE_DONE && r[i].status == STATUS_DAMAGED)
			continue;
		/* A node that reports an error is alive, and its cache is kept:
		 * the prefix may be full, for example. */
		if (r[i].state == REMOTE_DONE) {
			n->why = arena_strdup(s->arena, why);
			s->blocked = n;
			continue;
		}
		/* It did not come to the end, which was reported.  One that
		 * began is asked once more, as what cut it off may be over;
		 * then it is dead if no way reaches it now. */
		*again = true;
		if (r[i].begun && !c->cut[c->nodes[i]]) {
			c->cut[c->nodes[i]] = c->retry = true;
			continue;
		}
		c->unsure = true;
		s->alive--;
		if (scavenge_unreached(s, c->nodes[i], &r[i], err) < 0)
			return -1;
	}
	scavenge_report(s);
	return 0;
}

/* Set the arguments of a copy. */
static void
call_init(struct scavenge_call *call, const struct copying *c)
{
	struct scavenge *s = c->s;

	scavenge_call_init(call, s);
	scavenge_call_add(call, "--prefix", s->job->prefix_real);
	scavenge_call_add(call, "--id",
			  arena_strdup(s->arena, num_str(c->d->id)));
	if (s->o->catalogue->moved_from != NULL)
		scavenge_call_add(call, "--moved-from",
				  s->o->catalogue->moved_from);
	if (s->o->buffer > 0)
		scavenge_call_add(
			call, "--buf",
			arena_strdup(s->arena, num_str(s->o->buffer)));
	/* More than it takes if one node copies all, slowly. */
	if (call->remote.limit <= 0)
		call->remote.limit =
			SCAVENGE_SECONDS + (double)c->d->bytes / SCAVENGE_RATE;
}

static int
copy_round(struct copying *c, bool *again, struct error *err)
{
	struct scavenge *s = c->s;
	struct scavenge_call call;
	struct buf shares = BUF_INIT;
	int rc = 0;

	*again = c->retry = false;
	c->whole = true;
	c->done = mem_calloc(c->count + 1, sizeof(*c->done));
	call_init(&call, c);
	if (c->replace)
		call.argv[call.argc++] = "--replace";
	if (c->into != NULL)
		call.argv[call.argc++] = "--containers";
	if (salvage_is_shared(&c->s->plan, c->d)) {
		scavenge_call_add(&call, "--assign", c->shares);
		/* The ranks that each node copies. */
		for (size_t i = 0; i < c->count; i++) {
			buf_printf(&shares, "%s ", s->nodes[c->nodes[i]].host);
			salvage_ranks(c->d, c->nodes[i], &shares);
			buf_add_char(&shares, '\n');
		}
		rc = io_replace(catalogue_prefix_fd(s->prefix), c->shares,
				shares.data, shares.len, 0666, err);
	}
	call.remote.line = take_progress;
	call.remote.arg = c;
	if (rc == 0)
		rc = scavenge_call_run(&call, s, c->nodes, c->count, err);
	if (call.results != NULL)
		keep_output(c, call.results);
	if (rc == 0)
		rc = take_results(c, call.results, again, err);
	buf_free(&shares);
	scavenge_call_end(&call);
	mem_free(c->done);
	c->done = NULL;
	return rc;
}

/* If the dataset on the prefix with this number is `which`, supersede it: its
 * metadata must not mix with those of this one. */
static int
supersede(const struct copying *c, enum catalogue_identity which,
	  struct error *err)
{
	struct scavenge *s = c->s;
	enum catalogue_identity is = CATALOGUE_SAME;

	if (catalogue_identify(s->prefix, c->d->id, (int64_t)c->d->created, &is,
			       err) < 0)
		return -1;
	/* This cannot be undone: keep the old dataset if the new one has no
	 * room. */
	if (is == which && which == CATALOGUE_ANOTHER &&
	    room_check(catalogue_prefix_fd(s->prefix), c->d->bytes,
		       "another dataset with this number", err) < 0)
		return -1;
	/* On a later call, metadata that were copied already stay. */
	return is != which ? 0
			   : catalogue_supersede(s->prefix, c->d->id,
						 which == CATALOGUE_ANOTHER,
						 s->o->catalogue, err);
}

/* Mark the owners in the index before their files are replaced.  A newer
 * dataset than this one stays what it is. */
static int
make_way(struct copying *c, struct error *err)
{
	struct scavenge *s = c->s;
	const struct owners_write w = {
		.id = c->d->id,
		.created = (int64_t)c->d->created,
		.job = c->d->ours ? s->job->id : NULL,
		.paths = c->taken,
		.count = c->ntaken,
		.replace = true,
	};
	struct error why = ERROR_INIT;

	if (scavenge_check_number(s, c->d, true, err) < 0)
		return -1;
	if (c->d->taken != SALVAGE_FREE)
		return 0;
	c->replace = true;
	if (owners_make_way(s->prefix, &w, s->o->catalogue, &why) == 0)
		return supersede(c, CATALOGUE_UNSURE, err);
	if (why.kind != ERROR_DAMAGED)
		return error_pass(err, &why);
	scavenge_yield(s, c->d, SALVAGE_TAKEN_NEWER,
		       scavenge_without_id(why.text, c->d->id));
	return 0;
}

static void
choose_copiers(struct copying *c)
{
	size_t n = 0;

	c->count = salvage_nodes(&c->s->plan, c->d, &c->nodes);
	/* Of these, those that are to copy ranks whose filemap they have
	 * lost. */
	for (size_t i = 0; c->unmapped && i < c->count; i++) {
		bool any = false;

		for (uint32_t r = 0; r < c->d->nranks && !any; r++) {
			const struct salvage_holder *h = c->d->ranks[r].best;

			any = h != NULL && h->node == c->nodes[i] &&
			      !h->found.map;
		}
		if (any)
			c->nodes[n++] = c->nodes[i];
	}
	c->count = c->unmapped ? n : c->count;
}

static int
copy_rounds(struct copying *c, struct error *err)
{
	struct scavenge *s = c->s;
	bool again = true;
	int rc = 0;

	for (int round = 0; rc == 0 && again && round < ROUNDS; round++) {
		choose_copiers(c);
		if (c->count == 0)
			break;
		rc = copy_round(c, &again, err);
		if (rc == 0 && again)
			salvage_plan(&s->plan);
		if (scavenge_stop(s))
			break;
		/* What has to be rebuilt needs files. */
		if (c->into != NULL && c->d->state != SALVAGE_COMPLETE) {
			c->whole = false;
			break;
		}
		/* Another round helps only if a node is asked again, or other
		 * nodes have the missing files. */
		again = again &&
			(c->retry || salvage_is_shared(&c->s->plan, c->d));
		/* Every usable node has reported the files that it would
		 * replace. */
		if (rc == 0 && !again && c->ntaken > 0 && !c->replace) {
			rc = make_way(c, err);
			again = c->d->taken == SALVAGE_FREE;
			round = -1;
		}
	}
	return rc;
}

/* If nothing of it has to be rebuilt: copy it straight into containers.  1: it
 * is there; 0: it has to be copied as files. */
static int
copy_packed(struct copying *c, struct error *err)
{
	struct scavenge *s = c->s;
	struct scavenge_packing k;
	struct error why = ERROR_INIT;
	int rc = scavenge_packing_begin(&k, s, c->d, c->dir, err);

	if (rc > 0) {
		c->into = &k;
		rc = copy_rounds(c, err) < 0 ? -1 : 0;
		c->into = NULL;
		if (rc == 0 && !s->stopped && c->whole && c->count > 0 &&
		    c->d->state == SALVAGE_COMPLETE) {
			rc = scavenge_packing_place(&k, &why) == 0;
			if (rc == 0)
				work_say(s->work,
					 "dataset %" PRId64
					 ": as files, not in containers: %s",
					 c->d->id, why.text);
		}
	}
	/* What it has left is in the way of files. */
	if (rc == 0 && !s->stopped)
		joint_give_up(k.root_fd);
	scavenge_packing_end(&k);
	return rc;
}

/* Copy it as files.  *retired is that of owners_expect(). */
static int
copy_files(struct copying *c, size_t *retired, struct error *err)
{
	struct scavenge *s = c->s;
	size_t restored = 0;

	s->blocked = NULL;
	if (owners_expect(s->prefix, c->d->id, s->o->catalogue, retired, err) <
		    0 ||
	    copy_rounds(c, err) < 0)
		return -1;
	if (s->stopped || c->d->taken != SALVAGE_FREE)
		return 0;
	/* A node copies the files that the filemap of a rank names.  If a node
	 * has lost a filemap, restore it on the prefix, from the redundancy
	 * that was copied: the node copies by it then.  Without the filemaps
	 * the files may still be rebuilt. */
	c->unmapped = true;
	choose_copiers(c);
	return c->count > 0 &&
			       catalogue_restore_maps(s->prefix, c->d->id,
						      s->o->catalogue,
						      &restored, NULL) == 0 &&
			       restored > 0
		       ? copy_rounds(c, err)
		       : 0;
}

int
scavenge_copy(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	const double start = clock_seconds();
	const int prefix = catalogue_prefix_fd(s->prefix);
	struct copying c = { .s = s, .d = d };
	size_t retired = 0;
	int rc = 0;

	c.cut = arena_alloc(s->arena, s->plan.nnodes, sizeof(*c.cut));
	snprintf(c.dir, sizeof(c.dir), SCR_DIR "/" DATASET_DIR_FMT, d->id);
	snprintf(c.shares, sizeof(c.shares), "%s/" SHARES, c.dir);
	rc = supersede(&c, CATALOGUE_ANOTHER, err);
	progress_phase(s->work->progress, "copying", d->bytes);
	/* Make the directory of the metadata here, and not on each node. */
	if (rc == 0 &&
	    create_dir(prefix, c.dir, 0777, create_owner(prefix)) < 0 &&
	    errno != EEXIST)
		rc = error_sys(err, "%s/%s: cannot make", s->job->prefix,
			       c.dir);
	if (rc == 0)
		rc = io_sync_dir(catalogue_scr_fd(s->prefix), SCR_DIR, err);
	if (rc == 0)
		rc = copy_packed(&c, err);
	if (rc == 0 && !s->stopped)
		rc = copy_files(&c, &retired, err);
	if (!c.unsure &&
	    (retired > 0 || (c.replace && (rc < 0 || s->blocked != NULL ||
					   d->taken != SALVAGE_FREE))))
		catalogue_rollback(s->prefix, d->id, s->o->catalogue);
	mem_free(c.taken);
	(void)unlinkat(prefix, c.shares, 0);
	s->seconds[SCAVENGE_COPY] += clock_seconds() - start;
	if (s->stopped)
		return error_set(err, ERROR_SYSTEM,
				 "stopped; run it again to resume");
	return rc < 0 ? -1 : 0;
}

/*
 * Set d->bytes to what a run will copy: some files may be on the prefix
 * already.  If a node does not tell, or several share a cache, all that the
 * caches have counts.  With bypass, all files must be on the prefix.
 */
int
scavenge_measure(struct scavenge *s, struct salvage_dataset *d,
		 struct error *err)
{
	struct copying c = { .s = s, .d = d };
	struct scavenge_call call;
	uint64_t bytes = 0, bad = 0;
	int rc = 0;

	snprintf(c.dir, sizeof(c.dir), SCR_DIR "/" DATASET_DIR_FMT, d->id);
	if (!d->bypass &&
	    (salvage_is_shared(&s->plan, d) ||
	     faccessat(catalogue_prefix_fd(s->prefix), c.dir, F_OK, 0) != 0))
		return 0;
	choose_copiers(&c);
	call_init(&call, &c);
	call.argv[call.argc++] = "--dry-run";
	rc = scavenge_call_run(&call, s, c.nodes, c.count, err);
	for (size_t i = 0; rc == 0 && i < c.count; i++) {
		struct node_result got = { .bytes = UINT64_MAX };

		read_result(&c, &call.results[i], &got);
		if (got.bytes == UINT64_MAX)
			goto out;
		bytes += got.bytes;
		bad += got.bad;
		d->unread = d->unread || got.unread > 0;
	}
	if (rc == 0 && !salvage_is_shared(&s->plan, d))
		d->bytes = bytes;
	d->astray = rc == 0 && d->bypass && bad > 0;
out:
	mem_free(c.taken);
	scavenge_call_end(&call);
	return rc;
}
