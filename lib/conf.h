/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf.h - SCR's parameters, from wherever they are set: scrkit.conf(5).
 *
 * Precedence, for each parameter: the environment (names that begin with
 * SCR_), the user's file, PREFIX/.scr/app.conf (what the application set with
 * SCR_Config), the system's file, the built-in value.  An empty value counts
 * as none.
 *
 * A line of a file is "KEY=VALUE [KEY=VALUE]...": a parameter, and properties
 * of that value.  A line that cannot be understood costs itself alone and is
 * told by conf_notice(); it never is an error.
 *
 * Ownership: what is handed out is borrowed, and valid until conf_close().
 * The environment is read once, by conf_new().  Threads: functions that take a
 * const struct conf may run at the same time, the others may not.
 */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct conf; /* opaque */
struct error;

/* Files longer than this are not read. */
#define CONF_FILE_MAX ((size_t)64 << 20)

/*
 * Where to look.  Each may be NULL:
 * prefix       $SCR_PREFIX, else the working directory;
 * user_file    $SCR_CONF_FILE, else the SCR_CONF_FILE of app.conf, else
 *              PREFIX/.scrconf; one that is given here must be there;
 * system_file  $SCRKIT_SYSTEM_CONF, else the one chosen at build time.
 */
struct conf_where {
	const char *prefix, *user_file, *system_file;
};

/* Where a value may be from, in order of precedence; the built-in values come
 * last. */
enum conf_level {
	CONF_ENVIRONMENT,
	CONF_USER,
	CONF_APP,
	CONF_SYSTEM,
	CONF_LEVELS, /* how many there are */
};

/* Those that are files, in the order in which they have to be read: one may
 * name the next. */
#define CONF_FILES CONF_APP, CONF_USER, CONF_SYSTEM

/* A property of a value: "BYTES=1GB" in "CNTLDIR=/ssd BYTES=1GB". */
struct conf_pair {
	const char *key, *value; /* key in upper case */
};

/* One line: the value of its first pair, and its other pairs in order. */
struct conf_group {
	const char *value;
	size_t npairs;
	const struct conf_pair *pairs;
};

/*
 * Read all there is.  Files that do not exist are no error; nor are those that
 * cannot be read (see conf_notice()), but for a `user_file` that was given:
 * ERROR_ABSENT, ERROR_SYSTEM, ERROR_CORRUPT.  NULL: those, ERROR_NOMEM.
 */
struct conf *conf_open(const struct conf_where *where, struct error *err);

/*
 * The same in steps, for a program of many processes of which one reads the
 * files: each begins with conf_new(); the one gets the bytes of each of
 * CONF_FILES by conf_fetch() and passes them on, with conf_file(); each adds
 * them by conf_add_bytes(), before the next file is fetched.
 */

/* The environment alone.  NULL: ERROR_NOMEM. */
struct conf *conf_new(struct error *err);

/* Read the file of `level` into `out` (initialised; replaced).  One that is
 * missing is empty.  Errors as conf_open(). */
int conf_fetch(struct conf *c, const struct conf_where *where,
	       enum conf_level level, struct buf *out, struct error *err);

/* Take in the `len` bytes of the file `path`, which is not opened.  -1:
 * ERROR_NOMEM. */
int conf_add_bytes(struct conf *c, enum conf_level level, const char *path,
		   const void *data, size_t len, struct error *err);

/* Consistent with free(): NULL is ignored. */
void conf_close(struct conf *c);

/* The value of `key` (in upper case) by precedence; of several lines in one
 * file, the first.  NULL: nowhere set, and nothing built in. */
const char *conf_get(const struct conf *c, const char *key);

/* Where that is from: "environment", the path of a file, "built in"; NULL. */
const char *conf_source(const struct conf *c, const char *key);

/* Did anybody set it: is it from anywhere but the built-in values? */
bool conf_is_set(const struct conf *c, const char *key);

/* A property of a line, or NULL. */
const char *conf_property(const struct conf_group *g, const char *key);

/*
 * The value as what it should be; `otherwise` where conf_get() has none.
 * ERROR_USAGE names key, value and source.  Byte counts as num_bytes() reads
 * them; a truth is a number, 0 for false, or one of no, yes,
 * off, on, false, true, in either case.
 */
int conf_u64(const struct conf *c, const char *key, uint64_t otherwise,
	     uint64_t *out, struct error *err);
int conf_i64(const struct conf *c, const char *key, int64_t otherwise,
	     int64_t *out, struct error *err);
int conf_bytes(const struct conf *c, const char *key, uint64_t otherwise,
	       uint64_t *out, struct error *err);
int conf_bool(const struct conf *c, const char *key, bool otherwise, bool *out,
	      struct error *err);

/*
 * All lines of `key`, in order, of the first file that has one: STORE, CKPT,
 * GROUPS, CNTLDIR, CACHE, CACHEDIR.  (Not from the environment: these names
 * are too common there.)  Returns their number.
 */
size_t conf_groups(const struct conf *c, const char *key,
		   const struct conf_group **out);

/* What was not understood and left out: lines "FILE:LINE: ...", for
 * app_warn_lines().  NULL: nothing. */
const char *conf_notice(const struct conf *c);

/* Add a line to it: the value of a parameter makes no sense, and one does
 * without.  (If there is no memory it is lost.) */
void conf_complain(struct conf *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The path where the file was looked for, there or not; NULL: it was not. */
const char *conf_file(const struct conf *c, enum conf_level level);

/* The built-in values, in alphabetical order: their number, and the i-th key
 * and value. */
size_t conf_builtins(void);
const char *conf_builtin(size_t i, const char **value);

#endif /* CONF_H */
