/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/params.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "path.h"
#include "scr/setting.h"
#include "site/job.h"
#include "str.h"
#include "team/say.h"
#include "team/team.h"

/* Name of the settings of SCR_Config() in messages. */
#define APP_NAME "SCR_Config"

/* --- Typed values --- */

/* The member for a parameter; kind and limits are in the table of conf.h. */
static const struct field {
	const char *key;
	size_t at, size; /* of the member */
} fields[] = {
#define FIELD(key, member) \
	{ \
		key, offsetof(struct params, member), \
			sizeof(((struct params *)0)->member) \
	}
	FIELD("SCR_ENABLE", enable),
	FIELD("SCR_JOB_NAME", job_name),
	FIELD("SCR_CLUSTER_NAME", cluster),
	FIELD("SCR_CACHE_SIZE", cache_size),
	FIELD("SCR_CACHE_BYPASS", cache_bypass),
	FIELD("SCR_CACHE_PURGE", cache_purge),
	FIELD("SCR_COPY_TYPE", copy_type),
	FIELD("SCR_GROUP", group),
	FIELD("SCR_SET_SIZE", set_size),
	FIELD("SCR_SET_FAILURES", set_failures),
	FIELD("SCR_MPI_BUF_SIZE", mpi_buf_size),
	FIELD("SCR_COPY_METADATA", copy_metadata),
	FIELD("SCR_DISTRIBUTE", distribute),
	FIELD("SCR_FETCH", fetch),
	FIELD("SCR_FETCH_BYPASS", fetch_bypass),
	FIELD("SCR_FETCH_WIDTH", fetch_width),
	FIELD("SCR_RESTART_ATTEMPTS", restart_attempts),
	FIELD("SCR_FLUSH_ON_RESTART", flush_on_restart),
	FIELD("SCR_GLOBAL_RESTART", global_restart),
	FIELD("SCR_CURRENT", current),
	FIELD("SCR_DROP_AFTER_CURRENT", drop_after_current),
	FIELD("SCR_FLUSH", flush),
	FIELD("SCR_FLUSH_WIDTH", flush_width),
	FIELD("SCR_FLUSH_ASYNC_BW", flush_bw),
	FIELD("SCR_FLUSH_ASYNC", flush_async),
	FIELD("SCR_FLUSH_TYPE", flush_type),
	FIELD("SCR_PREFIX_SIZE", prefix_size),
	FIELD("SCR_PREFIX_PURGE", prefix_purge),
	FIELD("SCR_CHECKPOINT_INTERVAL", ckpt_interval),
	FIELD("SCR_CHECKPOINT_SECONDS", ckpt_seconds),
	FIELD("SCR_CHECKPOINT_OVERHEAD", ckpt_overhead),
	FIELD("SCR_HALT_SECONDS", halt_seconds),
	FIELD("SCR_HALT_EXIT", halt_exit),
	FIELD("SCR_DEBUG", debug),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Fill the members in the table.  The built-in value replaces one that does not
 * parse. */
static void
take_values(struct params *p, struct conf *c)
{
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
	if (p->global_restart)
		p->flush_on_restart = p->fetch_bypass = true;
}

/* The absolute normal form of SCR_PREFIX. */
static const char *
find_prefix(const struct conf *c, struct arena *a, struct error *err)
{
	const char *value = conf_get(c, "SCR_PREFIX"), *out = NULL;
	struct buf path = BUF_INIT, normal = BUF_INIT;
	char cwd[PATH_MAX] = "";

	if (value == NULL)
		value = ".";
	if (value[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
		error_sys(err, "working directory");
	else if (path_join(&path, cwd, value, err) == 0 &&
		 path_normal(path.data, &normal, err) == 0) {
		out = arena_strdup(a, normal.data);
		if (out == NULL)
			error_no_memory(err);
	}
	buf_free(&path);
	buf_free(&normal);
	return out;
}

/* --- Reading, on rank 0 --- */

/* A file: its path, a NUL, its contents. */
struct files {
	struct buf app, user, system;
};

static int
fetch(struct conf *c, const struct conf_where *w, enum conf_level level,
      struct buf *out, struct error *err)
{
	struct buf data = BUF_INIT;
	const char *path = NULL;
	int rc = conf_fetch(c, w, level, &data, err);

	buf_clear(out);
	if (rc == 0) {
		path = conf_file(c, level);
		rc = buf_add(out, path, strlen(path) + 1);
		if (rc == 0 && data.len > 0)
			rc = buf_add(out, data.data, data.len);
		if (rc < 0)
			error_no_memory(err);
	}
	buf_free(&data);
	return rc;
}

static int
add(struct conf *c, enum conf_level level, const struct buf *b,
    struct error *err)
{
	const size_t path = strlen(b->data) + 1;

	return conf_add_bytes(c, level, b->data, b->data + path, b->len - path,
			      err);
}

/* Read the files for this prefix; NULL: the prefix from the environment or
 * SCR_Config(). */
static int
read_files(struct conf **out, const struct conf_where *given, struct files *f,
	   struct error *err)
{
	struct conf_where w = *given;
	struct conf *c = conf_new(err);

	*out = c;
	if (c == NULL || add(c, CONF_APP, &f->app, err) < 0)
		return -1;
	if (w.prefix == NULL)
		w.prefix = conf_get(c, "SCR_PREFIX");
	if (fetch(c, &w, CONF_USER, &f->user, err) < 0 ||
	    add(c, CONF_USER, &f->user, err) < 0 ||
	    fetch(c, &w, CONF_SYSTEM, &f->system, err) < 0)
		return -1;
	return add(c, CONF_SYSTEM, &f->system, err);
}

/* A file may set the prefix: then the files of the new prefix count, as for the
 * commands (job.h).  The file that set it stays in force. */
static int
read_all(struct conf **c, struct files *f, struct error *err)
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

/* The future contents of app.conf. */
static int
app_text(const struct settings *s, struct buf *out)
{
	if (buf_add(out, APP_NAME, sizeof(APP_NAME)) < 0)
		return -1;
	return s != NULL ? settings_text(s, out) : 0;
}

/* --- The same on all ranks --- */

/* Texts that rank 0 decides; the bases of directories may differ. */
static const size_t texts[] = {
	offsetof(struct params, prefix),     offsetof(struct params, user),
	offsetof(struct params, job_id),     offsetof(struct params, job_name),
	offsetof(struct params, cluster),    offsetof(struct params, copy_type),
	offsetof(struct params, group),	     offsetof(struct params, current),
	offsetof(struct params, flush_type),
};

#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static const char **
text_of(struct params *p, size_t i)
{
	return (const char **)((char *)p + texts[i]);
}

/* The members, then for each text that is set its bytes with the NUL. */
static int
pack(struct params *p, struct buf *out)
{
	buf_add(out, p, sizeof(*p));
	for (size_t i = 0; i < TEXTS; i++)
		if (*text_of(p, i) != NULL)
			buf_add(out, *text_of(p, i),
				strlen(*text_of(p, i)) + 1);
	return buf_check(out, NULL);
}

static int
unpack(struct params *p, const struct buf *b, struct arena *a)
{
	const char *at = b->data + sizeof(*p);

	memcpy(p, b->data, sizeof(*p));
	for (size_t i = 0; i < TEXTS; i++) {
		const char **text = text_of(p, i);

		if (*text == NULL)
			continue;
		*text = arena_strdup(a, at);
		if (*text == NULL)
			return -1;
		at += strlen(at) + 1;
	}
	return 0;
}

/* Rank 0: read all values; errors go to the notices of *c. */
static int
decide(struct params *p, struct conf *c, struct arena *a, struct error *err)
{
	take_values(p, c);
	if (job_identity(c, a, &p->user, &p->job_id, err) < 0)
		return -1;
	p->prefix = find_prefix(c, a, err);
	if (p->prefix == NULL)
		return -1;
	conf_check_names(c);
	return 0;
}

void
params_warn(const struct conf *c)
{
	say_warn_lines(conf_notice(c));
}

/* Send the files to all ranks, which then parse them. */
static int
share_files(struct conf **c, struct files *f, const struct team *world,
	    struct error *err)
{
	int rc = 0;

	if (team_share(world, 0, 0, &f->app, err) < 0 ||
	    team_share(world, 0, 0, &f->user, err) < 0 ||
	    team_share(world, 0, 0, &f->system, err) < 0)
		return -1;
	if (world->rank > 0) {
		*c = conf_new(err);
		if (*c == NULL || add(*c, CONF_APP, &f->app, err) < 0 ||
		    add(*c, CONF_USER, &f->user, err) < 0 ||
		    add(*c, CONF_SYSTEM, &f->system, err) < 0)
			rc = -1;
	}
	return team_agree(world, rc, err);
}

int
params_read(struct params *p, struct conf **c, const struct settings *s,
	    const struct team *world, struct arena *a, struct error *err)
{
	struct files f = { BUF_INIT, BUF_INIT, BUF_INIT };
	struct buf packed = BUF_INIT;
	int rc = 0;

	*c = NULL;
	*p = (struct params){ .prefix = NULL };
	if (world->rank == 0) {
		rc = app_text(s, &f.app);
		if (rc < 0)
			error_no_memory(err);
		if (rc == 0)
			rc = read_all(c, &f, err);
		if (rc == 0)
			rc = decide(p, *c, a, err);
		if (rc == 0 && (rc = pack(p, &packed)) < 0)
			error_no_memory(err);
	}
	rc = team_agree(world, rc, err);
	if (rc == 0)
		rc = share_files(c, &f, world, err);
	if (rc == 0)
		rc = team_share(world, 0, 0, &packed, err);
	if (rc == 0) {
		if (unpack(p, &packed, a) < 0)
			rc = error_no_memory(err);
		p->cntl_base = conf_get(*c, "SCR_CNTL_BASE");
		p->cache_base = conf_get(*c, "SCR_CACHE_BASE");
		rc = team_agree(world, rc, err);
	}
	buf_free(&packed);
	buf_free(&f.app);
	buf_free(&f.user);
	buf_free(&f.system);
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
	const char *value = conf_get(c, key);
	union conf_value v;

	/* A value that does not parse is replaced: params_warn(). */
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
