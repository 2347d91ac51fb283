/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/params.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "num.h"
#include "path.h"
#include "scr/say.h"
#include "scr/setting.h"
#include "scr/team.h"
#include "site/job.h"
#include "str.h"

/* What SCR_Config() set, in messages. */
#define APP_NAME "SCR_Config"

/* Bytes of a value that are quoted in a message. */
#define QUOTE_MAX 80

/* --- Typed values --- */

enum kind { BOOL, U32, U64, BYTES, PERCENT, TEXT };

static const struct field {
	const char *key;
	enum kind kind;
	size_t at;
	uint64_t min, max; /* of numbers; both 0: no limit but the type's */
} fields[] = {
#define FIELD(key, kind, member, min, max) \
	{ \
		key, kind, offsetof(struct params, member), min, max \
	}
	FIELD("SCR_ENABLE", BOOL, enable, 0, 0),
	FIELD("SCR_JOB_NAME", TEXT, job_name, 0, 0),
	FIELD("SCR_CLUSTER_NAME", TEXT, cluster, 0, 0),
	FIELD("SCR_CACHE_SIZE", U64, cache_size, 0, 0),
	FIELD("SCR_CACHE_BYPASS", BOOL, cache_bypass, 0, 0),
	FIELD("SCR_CACHE_PURGE", BOOL, cache_purge, 0, 0),
	FIELD("SCR_COPY_TYPE", TEXT, copy_type, 0, 0),
	FIELD("SCR_GROUP", TEXT, group, 0, 0),
	FIELD("SCR_SET_SIZE", U32, set_size, 1, UINT32_MAX),
	FIELD("SCR_SET_FAILURES", U32, set_failures, 1, 255),
	FIELD("SCR_MPI_BUF_SIZE", BYTES, mpi_buf_size, 512, (uint64_t)1 << 30),
	FIELD("SCR_FILE_BUF_SIZE", BYTES, file_buf_size, 512,
	      (uint64_t)1 << 40),
	FIELD("SCR_COPY_METADATA", BOOL, copy_metadata, 0, 0),
	FIELD("SCR_DISTRIBUTE", BOOL, distribute, 0, 0),
	FIELD("SCR_FETCH", BOOL, fetch, 0, 0),
	FIELD("SCR_FETCH_BYPASS", BOOL, fetch_bypass, 0, 0),
	FIELD("SCR_FETCH_WIDTH", U32, fetch_width, 1, UINT32_MAX),
	FIELD("SCR_RESTART_ATTEMPTS", U32, restart_attempts, 1, UINT32_MAX),
	FIELD("SCR_FLUSH_ON_RESTART", BOOL, flush_on_restart, 0, 0),
	FIELD("SCR_GLOBAL_RESTART", BOOL, global_restart, 0, 0),
	FIELD("SCR_CURRENT", TEXT, current, 0, 0),
	FIELD("SCR_DROP_AFTER_CURRENT", BOOL, drop_after_current, 0, 0),
	FIELD("SCR_FLUSH", U32, flush, 0, UINT32_MAX),
	FIELD("SCR_FLUSH_WIDTH", U32, flush_width, 1, UINT32_MAX),
	FIELD("SCR_FLUSH_ASYNC_BW", BYTES, flush_bw, 0, 0),
	FIELD("SCR_FLUSH_ASYNC", BOOL, flush_async, 0, 0),
	FIELD("SCR_CRC_ON_COPY", BOOL, crc_on_copy, 0, 0),
	FIELD("SCR_CRC_ON_FLUSH", BOOL, crc_on_flush, 0, 0),
	FIELD("SCR_PREFIX_SIZE", U64, prefix_size, 0, 0),
	FIELD("SCR_PREFIX_PURGE", BOOL, prefix_purge, 0, 0),
	FIELD("SCR_CHECKPOINT_INTERVAL", U64, ckpt_interval, 0, 0),
	FIELD("SCR_CHECKPOINT_SECONDS", U64, ckpt_seconds, 0, 0),
	FIELD("SCR_CHECKPOINT_OVERHEAD", PERCENT, ckpt_overhead, 0, 0),
	FIELD("SCR_HALT_SECONDS", U64, halt_seconds, 0, 0),
	FIELD("SCR_HALT_EXIT", BOOL, halt_exit, 0, 0),
	FIELD("SCR_DEBUG", U32, debug, 0, INT_MAX),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* 10 to the number of digits. */
static double
scale_of(const char *digits)
{
	double scale = 1;

	for (; *digits != '\0'; digits++)
		scale *= 10;
	return scale;
}

/* A decimal fraction, in any locale. */
static int
parse_percent(const char *value, double *out, struct error *err)
{
	char whole[32], shown[QUOTE_MAX];
	const char *point = strchr(value, '.');
	const size_t len =
		point != NULL ? (size_t)(point - value) : strlen(value);
	uint64_t n = 0, part = 0;

	if (len >= sizeof(whole))
		goto bad;
	memcpy(whole, value, len);
	whole[len] = '\0';
	if ((len > 0 || point == NULL) &&
	    num_u64(whole, 0, UINT64_MAX, &n, NULL) < 0)
		goto bad;
	if (point != NULL && point[1] != '\0' &&
	    num_u64(point + 1, 0, UINT64_MAX, &part, NULL) < 0)
		goto bad;
	*out = (double)n;
	if (part > 0)
		*out += (double)part / scale_of(point + 1);
	return 0;
bad:
	return error_set(err, ERROR_USAGE, "\"%s\": expected a number",
			 str_printable(shown, sizeof(shown), value));
}

/* Parse the value of `f` into its member.  ERROR_USAGE. */
static int
parse(const struct field *f, const char *value, void *member, struct error *err)
{
	const uint64_t max = f->max > 0 ? f->max : UINT64_MAX;
	uint64_t n = 0;

	switch (f->kind) {
	case TEXT:
		*(const char **)member = value;
		return 0;
	case BOOL:
		return conf_truth(value, member, err);
	case PERCENT:
		return parse_percent(value, member, err);
	case BYTES:
		if (num_bytes(value, max, &n, err) < 0)
			return -1;
		if (n < f->min)
			return error_set(err, ERROR_USAGE,
					 "\"%s\": expected at least %u bytes",
					 value, (unsigned)f->min);
		break;
	case U32:
	case U64:
		if (num_u64(value, f->min, max, &n, err) < 0)
			return -1;
		break;
	}
	if (f->kind == U32)
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

/* Fill the members in the table.  The built-in value replaces one that does not
 * parse. */
static void
take_values(struct params *p, struct conf *c)
{
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		void *member = (char *)p + f->at;
		struct error why = ERROR_INIT;

		if (parse(f, conf_get(c, f->key), member, &why) == 0)
			continue;
		conf_complain(c, "%s from %s: %s; %s is used instead", f->key,
			      conf_source(c, f->key), why.text,
			      conf_default(f->key));
		(void)parse(f, conf_default(f->key), member, NULL);
	}
	/* The built-in limit of LLNL's library has never had an effect. */
	if (!conf_is_set(c, "SCR_FLUSH_ASYNC_BW"))
		p->flush_bw = 0;
	if (p->global_restart)
		p->flush_on_restart = p->fetch_bypass = true;
}

/* All that LLNL's library knows without special hardware mean the same here. */
static void
check_flush_type(struct params *p, struct conf *c)
{
	static const char *const words[] = { "SYNC", "PTHREAD", "DEFAULT",
					     "NATIVE" };
	const char *value = conf_get(c, "SCR_FLUSH_TYPE");
	char shown[QUOTE_MAX];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value, words[i]) == 0) {
			p->flush_type = words[i];
			return;
		}
	}
	p->flush_type = words[0];
	conf_complain(c,
		      "SCR_FLUSH_TYPE from %s: \"%s\": expected SYNC, PTHREAD, "
		      "DEFAULT or NATIVE; SYNC is used instead",
		      conf_source(c, "SCR_FLUSH_TYPE"),
		      str_printable(shown, sizeof(shown), value));
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
		error_sys(err, "the working directory");
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

/* Read the files for this prefix; NULL: that of the environment or of
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

/* A file may move the prefix: then those of the new prefix count, as for the
 * commands (job.h).  The file that moved it stays in force. */
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

/* What app.conf will say. */
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

/* Rank 0: all values, and what is wrong with the configuration. */
static int
decide(struct params *p, struct conf *c, struct arena *a, struct error *err)
{
	const char *text = NULL, *line = NULL;
	size_t len = 0;

	take_values(p, c);
	check_flush_type(p, c);
	if (job_identity(c, a, &p->user, &p->job_id, err) < 0)
		return -1;
	p->prefix = find_prefix(c, a, err);
	if (p->prefix == NULL)
		return -1;
	conf_check_names(c);
	text = conf_notice(c);
	while ((line = str_line(&text, &len)) != NULL)
		say_warn("%.*s", (int)len, line);
	return 0;
}

/* Give the files to all ranks; the others then read them. */
static int
share_files(struct conf **c, struct files *f, const struct team *world,
	    struct error *err)
{
	int rc = 0;

	if (team_share(world, 0, &f->app, err) < 0 ||
	    team_share(world, 0, &f->user, err) < 0 ||
	    team_share(world, 0, &f->system, err) < 0)
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
		rc = team_share(world, 0, &packed, err);
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
	const char *value = conf_get(c, key);

	if (value != NULL)
		return value;
	if (str_eq(key, "SCR_PREFIX"))
		return p->prefix;
	if (str_eq(key, "SCR_USER_NAME"))
		return p->user;
	return str_eq(key, "SCR_JOB_ID") ? p->job_id : NULL;
}
