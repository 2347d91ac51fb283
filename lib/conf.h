/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf.h - SCR's parameters, from all places that set them: scrkit.conf(5).
 *
 * Precedence, for each parameter: the environment (names that begin with SCR_),
 * the user's file, PREFIX/.scr/app.conf (settings the application made with
 * SCR_Config), the system's file, the built-in value.  An empty value counts as
 * unset.
 *
 * A line of a file is "KEY=VALUE [KEY=VALUE]...": a parameter, and properties
 * of that value.  A line that cannot be parsed is skipped and reported by
 * conf_notice(); it is never an error.
 *
 * Ownership: all strings and groups returned are borrowed, and valid until
 * conf_close().  The environment is read once, by conf_new().  Threads:
 * functions that take a const struct conf may run concurrently, the others may
 * not.
 */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct conf; /* opaque */
struct error;

/* The user's file in the prefix. */
#define CONF_PREFIX_FILE ".scrconf"

/* Files longer than this are not read. */
#define CONF_FILE_MAX ((size_t)64 << 20)

/*
 * The files to read.  For a NULL member the default is:
 * prefix       $SCR_PREFIX, else the working directory;
 * user_file    $SCR_CONF_FILE, else SCR_CONF_FILE in app.conf, else
 *              PREFIX/.scrconf; a file given here must exist;
 * system_file  $SCRKIT_SYSTEM_CONF, else the path set at build time.
 */
struct conf_where {
	const char *prefix, *user_file, *system_file;
};

/* The sources of a value, in order of precedence.  Built-in values come
 * last. */
enum conf_level {
	CONF_ENVIRONMENT,
	CONF_USER,
	CONF_APP,
	CONF_SYSTEM,
	CONF_LEVELS, /* number of sources */
};

/* The sources that are files, in the order in which they must be read: app.conf
 * may name the user's file. */
#define CONF_FILES CONF_APP, CONF_USER, CONF_SYSTEM

/* A property of a value: "BYTES=1GB" in "CNTLDIR=/ssd BYTES=1GB". */
struct conf_pair {
	const char *key, *value; /* key in upper case */
};

/* One line: its first pair, and its other pairs in order. */
struct conf_group {
	const char *key, *value;
	size_t npairs;
	const struct conf_pair *pairs;
	size_t number; /* of the line in its file, from 1 */
};

/*
 * Read all sources.  A missing file is not an error, and an unreadable one is
 * reported by conf_notice().  Only a `user_file` given in *where must be
 * readable.  Returns NULL on ERROR_NOMEM, and for that file also on
 * ERROR_ABSENT, ERROR_SYSTEM, ERROR_CORRUPT.
 */
struct conf *conf_open(const struct conf_where *where, struct error *err);

/*
 * conf_open() in steps, for a parallel program in which one process reads the
 * files.  Every process calls conf_new().  For each of CONF_FILES, in order,
 * one process calls conf_fetch() and sends the bytes and conf_file() to the
 * others, and every process calls conf_add_bytes().
 */

/* Read the environment only.  NULL: ERROR_NOMEM. */
struct conf *conf_new(struct error *err);

/* Read the file of `level` into `out` (initialised; its contents are replaced).
 * A missing file gives an empty `out`.  Errors as for conf_open(). */
int conf_fetch(struct conf *c, const struct conf_where *where,
	       enum conf_level level, struct buf *out, struct error *err);

/* Parse `len` bytes as the contents of the file `path`.  `path` is only for
 * messages and is not opened.  -1: ERROR_NOMEM. */
int conf_add_bytes(struct conf *c, enum conf_level level, const char *path,
		   const void *data, size_t len, struct error *err);

/* Consistent with free(): NULL is ignored. */
void conf_close(struct conf *c);

/* The value of `key` (in upper case) by precedence.  If a file sets it several
 * times, the first line counts.  NULL: not set, and no built-in value. */
const char *conf_get(const struct conf *c, const char *key);

/* The source of that value: "environment", the path of a file, or "built in".
 * NULL if there is no value. */
const char *conf_source(const struct conf *c, const char *key);

/* The line of that file, from 1; 0: not from a file. */
size_t conf_line(const struct conf *c, const char *key);

/* The source as an argument of printf, valid until the end of the block:
 * "FILE:LINE", "environment", "built in".  NULL: there is no value. */
#define CONF_PLACE_MAX 512
#define conf_place(c, key) conf_place_of(c, key, (char[CONF_PLACE_MAX]){ 0 })
const char *conf_place_of(const struct conf *c, const char *key,
			  char to[static CONF_PLACE_MAX]);

/* Is `key` set by the environment or a file (not only built in)? */
bool conf_is_set(const struct conf *c, const char *key);

/* The value of property `key` of a line, or NULL. */
const char *conf_property(const struct conf_group *g, const char *key);

/*
 * The value of `key` as a number, byte count or boolean in *out; `otherwise` if
 * conf_get() returns NULL.  ERROR_USAGE, with key, value and source, if the
 * value does not parse.  Byte counts are parsed by num_bytes().  A boolean is a
 * number (0: false) or one of no, yes, off, on, false, true, in upper or lower
 * case.
 */
int conf_u64(const struct conf *c, const char *key, uint64_t otherwise,
	     uint64_t *out, struct error *err);
int conf_i64(const struct conf *c, const char *key, int64_t otherwise,
	     int64_t *out, struct error *err);
int conf_bytes(const struct conf *c, const char *key, uint64_t otherwise,
	       uint64_t *out, struct error *err);
int conf_bool(const struct conf *c, const char *key, bool otherwise, bool *out,
	      struct error *err);

/* The same for property `key` of a line. */
int conf_property_u64(const struct conf_group *g, const char *key,
		      uint64_t otherwise, uint64_t *out, struct error *err);
int conf_property_bool(const struct conf_group *g, const char *key,
		       bool otherwise, bool *out, struct error *err);

/* Parse a boolean as conf_bool() does.  ERROR_USAGE. */
int conf_truth(const char *value, bool *out, struct error *err);

/*
 * All lines of `key`, in order, from the first file that has one: for STORE,
 * CKPT, GROUPS, CNTLDIR, CACHE, CACHEDIR.  The environment is not searched, as
 * other programs use these names there too.  Returns their number.
 */
size_t conf_groups(const struct conf *c, const char *key,
		   const struct conf_group **out);

/* What was not understood and skipped, as lines "FILE:LINE: ..." for
 * app_warn_lines().  NULL: no notices. */
const char *conf_notice(const struct conf *c);

/* Add a line to conf_notice(), for a caller that ignores an invalid value.
 * Without memory the line is dropped. */
void conf_complain(struct conf *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The path at which the file of `level` was looked for, whether or not it
 * exists.  NULL: no file was looked for. */
const char *conf_file(const struct conf *c, enum conf_level level);

/* --- All parameters: of libscr, of the commands, of LLNL's SCR --- */

enum conf_kind {
	CONF_TEXT,
	CONF_WORD,    /* one of some words, in upper or lower case */
	CONF_BOOL,    /* conf_truth() */
	CONF_NUMBER,  /* whole, not below 0 */
	CONF_SIGNED,  /* whole */
	CONF_BYTES,   /* num_bytes() */
	CONF_PERCENT, /* num_decimal() */
};

struct conf_param {
	const char *name;
	const char *value; /* built in; NULL: none */
	enum conf_kind kind;
	const char *unit;	  /* of a number; NULL: none */
	uint64_t min, max;	  /* CONF_NUMBER, CONF_BYTES; max 0: no limit */
	const char *const *words; /* CONF_WORD: upto NULL */
	bool ignored; /* LLNL's SCR has it, and here nothing depends on it */
};

/* A value by its kind. */
union conf_value {
	const char *text; /* TEXT, and WORD: as in the table */
	bool on;
	uint64_t count; /* NUMBER, BYTES */
	int64_t number; /* SIGNED */
	double percent;
};

/* The parameter of this name; NULL: there is none. */
const struct conf_param *conf_param(const char *name);

/* The i-th of all parameters, in alphabetical order; NULL: no more. */
const struct conf_param *conf_param_at(size_t i);

/* The built-in value of `key`, or NULL. */
const char *conf_default(const char *key);

/* Parse a value of `p`.  A text is borrowed from `text`.  ERROR_USAGE. */
int conf_parse(const struct conf_param *p, const char *text,
	       union conf_value *out, struct error *err);

/*
 * Get the value of `p` in force; all zero if `p` has none.  A set value that
 * does not parse is reported by conf_complain() and replaced by the built-in
 * value, and the result is false.
 */
bool conf_in_force(struct conf *c, const struct conf_param *p,
		   union conf_value *out);

/* The i-th of the keys that may have several values; NULL: no more. */
const char *conf_list_at(size_t i);

/* May `key` have several values, each on a line of its own (conf_groups())? */
bool conf_repeats(const char *key);

/*
 * Report each name in the environment or a file that begins with SCR_ and is no
 * parameter, once, and each word that is no property of a CKPT or STORE line,
 * with conf_complain(). conf_open() calls this.
 */
void conf_check_names(struct conf *c);

#endif /* CONF_H */
