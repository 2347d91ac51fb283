/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/params.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "container/segmap.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "path.h"
#include "scr/setting.h"
#include "site/interval.h"
#include "site/job.h"
#include "str.h"
#include "team/team.h"

/* Name of the settings of SCR_Config() in messages. */
#define APP_NAME "SCR_Config"

/* --- Typed values --- */

static const struct field {
	const char *key;
	size_t at, size; /* of the member */
} fields[] = {
#define FIELD(type, member, name) \
	{ name, offsetof(struct params, member), sizeof(type) },
	PARAMS(FIELD)
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* --- Reading, on rank 0 --- */

static const enum conf_level levels[] = { CONF_FILES };

#define LEVELS (sizeof(levels) / sizeof(levels[0]))

/* Each level has a buffer: the path of the file, a NUL, its contents. */

static int
add(struct conf *c, enum conf_level level, const struct buf *f,
    struct error *err)
{
	const struct buf *b = &f[level];
	const size_t path = strlen(b->data) + 1;

	return conf_add_bytes(c, level, b->data, b->data + path, b->len - path,
			      err);
}

/* Read a file, and add it. */
static int
fetch(struct conf *c, const struct conf_where *w, enum conf_level level,
      struct buf *f, struct error *err)
{
	struct buf data = BUF_INIT, *out = &f[level];
	const char *path = NULL;
	int rc = conf_fetch(c, w, level, &data, err);

	buf_clear(out);
	if (rc == 0) {
		path = conf_file(c, level);
		(void)buf_add(out, path, strlen(path) + 1);
		(void)buf_add(out, data.data, data.len);
		rc = buf_check(out, err);
	}
	buf_free(&data);
	return rc < 0 ? -1 : add(c, level, f, err);
}

/* Read the files for this prefix; NULL: the prefix from the environment or
 * SCR_Config(). */
static int
read_files(struct conf **out, const struct conf_where *given, struct buf *f,
	   struct error *err)
{
	struct conf_where w = *given;
	struct conf *c = conf_new(err);

	*out = c;
	if (c == NULL || add(c, CONF_APP, f, err) < 0)
		return -1;
	if (w.prefix == NULL)
		w.prefix = conf_get(c, "SCR_PREFIX");
	if (fetch(c, &w, CONF_USER, f, err) < 0)
		return -1;
	return fetch(c, &w, CONF_SYSTEM, f, err);
}

/* A file may set the prefix: then the files of the new prefix count, as for the
 * commands (job.h).  The file that set it stays in force. */
static int
read_all(struct conf **c, struct buf *f, struct error *err)
{
	struct conf_where w = { .prefix = NULL };
	struct conf *first = NULL;
	const char *source = NULL;
	int rc = read_files(c, &w, f, err);

	if (rc < 0)
		return rc;
	source = conf_source(*c, "SCR_PREFIX");
	if (source == NULL || (!str_eq(source, conf_file(*c, CONF_USER)) &&
			       !str_eq(source, conf_file(*c, CONF_SYSTEM))))
		return 0;
	first = *c;
	w.prefix = conf_get(first, "SCR_PREFIX");
	if (str_eq(source, conf_file(first, CONF_USER)))
		w.user_file = source;
	rc = read_files(c, &w, f, err);
	conf_close(first);
	return rc;
}

/* --- The same on all ranks --- */

/* The texts behind the members of *p, each with its NUL: written to `b`, or
 * read from it into `a`.  Rank 0 decides them all; the bases of directories,
 * which are not in the table, may differ. */
static int
texts(struct params *p, struct buf *b, struct arena *a, struct error *err)
{
	const char *at = a != NULL ? b->data + sizeof(*p) : NULL;

	for (size_t i = 0; i < FIELDS; i++) {
		const enum conf_kind kind = conf_param(fields[i].key)->kind;
		const char **text = (const char **)((char *)p + fields[i].at);

		if ((kind != CONF_TEXT && kind != CONF_WORD) || *text == NULL)
			continue;
		if (a == NULL) {
			(void)buf_add(b, *text, strlen(*text) + 1);
			continue;
		}
		*text = arena_strdup(a, at);
		if (*text == NULL)
			return error_no_memory(err);
		at += strlen(at) + 1;
	}
	return buf_check(b, err);
}

/* Rank 0: read all values; errors go to the notices of *c. */
static int
decide(struct params *p, struct conf *c, struct arena *a, struct error *err)
{
	const char *prefix = NULL;
	struct buf path = BUF_INIT;
	int rc = 0;
	/* Fill the members in the table.  The built-in value replaces one that
	 * does not parse. */
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		void *member = (char *)p + f->at;
		union conf_value v;

		(void)conf_in_force(c, conf_param(f->key), &v);
		/* The limits in the table of conf.h are those of 32 bits. */
		if (conf_param(f->key)->kind == CONF_NUMBER &&
		    f->size == sizeof(uint32_t))
			*(uint32_t *)member = (uint32_t)v.count;
		else
			memcpy(member, &v, f->size);
	}
	if (p->any_ranks)
		p->global_restart = true;
	if (p->global_restart)
		p->flush_on_restart = p->fetch_bypass = true;
	/* What bypasses the cache is in files of its own. */
	if (p->use_containers &&
	    str_eq(conf_source(c, "SCR_CACHE_BYPASS"), "built in"))
		p->cache_bypass = false;
	if (p->container_size == 0)
		p->container_size = SEGMAP_SIZE_DEFAULT;
	/* A container begins at a multiple, too. */
	if (p->container_align > p->container_size)
		p->container_align = p->container_size;
	p->container_size -= p->container_size % p->container_align;
	p->ckpt_implied = !interval_chosen(c);
	if (p->ckpt_implied)
		p->ckpt_seconds = INTERVAL_SECONDS;
	if (job_identity(c, a, &p->user, &p->job_id, err) < 0)
		return -1;
	prefix = conf_get(c, "SCR_PREFIX");
	rc = path_absolute(prefix != NULL ? prefix : ".", &path, err);
	if (rc == 0)
		p->prefix = arena_strdup(a, path.data);
	if (rc == 0 && p->prefix == NULL)
		rc = error_no_memory(err);
	buf_free(&path);
	if (rc == 0)
		conf_check_names(c);
	return rc;
}

int
params_read(struct params *p, struct conf **c, const struct kvtree *s,
	    const struct team *world, struct arena *a, struct error *err)
{
	struct buf f[CONF_LEVELS] = { BUF_INIT };
	struct buf packed = BUF_INIT;
	int rc = 0;

	*c = NULL;
	*p = (struct params){ .prefix = NULL };
	if (world->rank == 0) {
		/* The future contents of app.conf. */
		(void)buf_add(&f[CONF_APP], APP_NAME, sizeof(APP_NAME));
		if (s != NULL)
			(void)settings_text(s, &f[CONF_APP]);
		rc = buf_check(&f[CONF_APP], err);
		if (rc == 0)
			rc = read_all(c, f, err);
		if (rc == 0)
			rc = decide(p, *c, a, err);
		(void)buf_add(&packed, p, sizeof(*p));
		if (rc == 0)
			rc = texts(p, &packed, NULL, err);
	}
	/* The other ranks parse the files, too. */
	for (size_t i = 0; i < LEVELS; i++)
		if (team_share(world, 0, rc, &f[levels[i]], err) < 0)
			rc = -1;
	if (rc == 0 && world->rank != 0) {
		*c = conf_new(err);
		rc = *c == NULL ? -1 : 0;
		for (size_t i = 0; rc == 0 && i < LEVELS; i++)
			rc = add(*c, levels[i], f, err);
	}
	rc = team_share(world, 0, rc, &packed, err);
	if (rc == 0) {
		memcpy(p, packed.data, sizeof(*p));
		rc = texts(p, &packed, a, err);
		p->cntl_base = conf_get(*c, "SCR_CNTL_BASE");
		p->cache_base = conf_get(*c, "SCR_CACHE_BASE");
		rc = team_agree(world, rc, err);
	}
	buf_free(&packed);
	for (size_t i = 0; i < LEVELS; i++)
		buf_free(&f[levels[i]]);
	if (rc < 0) {
		conf_close(*c);
		*c = NULL;
	}
	return rc;
}

const char *
params_value(const struct params *p, const struct conf *c, const char *key)
{
	const struct conf_param *is = conf_param(key);
	const char *value = conf_is_set(c, key) ? conf_get(c, key) : NULL;
	union conf_value v;

	/* A value that does not parse is replaced: conf_notice(). */
	if (value != NULL && is != NULL && conf_parse(is, value, &v, NULL) < 0)
		value = is->value;
	if (value != NULL)
		return value;
	if (str_eq(key, "SCR_PREFIX"))
		return p->prefix;
	if (str_eq(key, "SCR_USER_NAME"))
		return p->user;
	return str_eq(key, "SCR_JOB_ID") ? p->job_id : NULL;
}
