/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error.h - what went wrong, as a sentence and a kind.
 *
 * A function that can fail takes `struct error *err` last and returns 0 or -1
 * (a constructor: NULL).  The caller owns the struct; NULL is allowed and means
 * that the caller does not need the reason.  Nothing here allocates, prints or
 * exits, and errno is preserved.  The sentence has the form "object: what
 * failed: why"; `app` puts the program's name before it.
 */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

/* Kinds.  error_status() maps them to the exit status of a command. */
enum error_kind {
	ERROR_NONE = 0, /* no error */
	ERROR_USAGE,	/* the caller's request makes no sense */
	ERROR_ABSENT, /* a file, dataset or entry that should be there is not */
	ERROR_SYSTEM, /* a system call failed; errnum says why */
	ERROR_NOMEM,  /* out of memory, or a memory limit would be passed */
	ERROR_CORRUPT, /* bytes that break the format */
	ERROR_UNSAFE, /* a path that leaves its root, or a symlink in the way */
	ERROR_DAMAGED, /* data damaged or missing, but it can be rebuilt */
	ERROR_LOST,    /* data gone, and nothing left to rebuild it from */
};

/* What the user can run against the cause, if an error or a check knows it.
 * Only commands know their names: the command line is added by report_remedy()
 * and report_next_step(). */
enum error_remedy {
	REMEDY_NONE = 0,  /* nothing is damaged, or only the user can mend it */
	REMEDY_INDEX,	  /* build the dataset's index entry */
	REMEDY_REBUILD,	  /* rebuild the dataset */
	REMEDY_CHECKSUMS, /* the same, after comparing checksums */
	REMEDY_DEEP,	  /* the same, after comparing redundancy with data */
	REMEDY_PARTIAL,	  /* rebuild it from what nothing confirms */
	REMEDY_CHOOSE,	  /* the user says which file is wrong */
	REMEDY_XOR,	  /* only redundancy is lost: make it again */
	REMEDY_PARTNER,
	REMEDY_RS,
	REMEDY_LOOK,	/* report the state of the dataset */
	REMEDY_VERIFY,	/* list the damage of containers */
	REMEDY_ADD,	/* add the dataset to the index */
	REMEDY_CURRENT, /* restart from it */
	REMEDY_DROP,	/* remove it from the index */
	REMEDY_DELETE,	/* and its files */
	REMEDY_REPACK,	/* only the map of its containers is damaged */
	REMEDY_FORCE,	/* and the metadata packed with it: unpack it */
	REMEDY_UNPACK,	/* a container is too long, or has no redundancy */
	REMEDY_DECIDE,	/* no command: the user decides, or all is known */
	REMEDY_STOP,	/* the sentence says it (stop_say()) */
};

/* Exit statuses of every command of the toolkit. */
enum {
	STATUS_OK = 0,	    /* done */
	STATUS_FAILED = 1,  /* could not be done */
	STATUS_USAGE = 2,   /* wrong options or arguments */
	STATUS_DAMAGED = 3, /* damaged, but recoverable */
	STATUS_LOST = 4,    /* lost */
};

/* Bytes of a sentence, enough for two long paths.  A longer path is cut in its
 * middle; the reason after it is never cut. */
#define ERROR_TEXT_MAX 1024

struct error {
	enum error_kind kind;
	int errnum; /* errno if kind is ERROR_SYSTEM, else 0 */
	enum error_remedy remedy;
	char text[ERROR_TEXT_MAX];
};

#define ERROR_INIT \
	{ \
		.kind = ERROR_NONE, .errnum = 0, .text = "" \
	}

/* Set *err to `kind` and the formatted sentence.  Always returns -1, so that a
 * function can say `return error_set(...)`. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Set *err to the sentence, ": " and strerror(errno).  The kind is ERROR_ABSENT
 * for ENOENT, ERROR_NOMEM for ENOMEM, else ERROR_SYSTEM; ELOOP and EXDEV of a
 * confined open are not treated specially.  Returns -1. */
int error_sys(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Put "formatted: " before the sentence in *err; kind is kept.  Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Set the remedy of the error in *err; a new error has none.  Returns -1. */
int error_remedy(struct error *err, enum error_remedy remedy);

/* error_set() with a remedy. */
#define error_set_remedy(err, remedy, ...) \
	(error_set(err, __VA_ARGS__), error_remedy(err, remedy))

/* Copy kind, errnum, remedy and sentence of `cause` to *err. error_as() sets a
 * sentence of its own instead.  Both return -1. */
int error_pass(struct error *err, const struct error *cause);
int error_as(struct error *err, const struct error *cause, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "out of memory", ERROR_NOMEM.  Returns -1. */
int error_no_memory(struct error *err);

/* The same for functions that return a pointer: they return NULL. */
#define error_set_null(...) (error_set(__VA_ARGS__), NULL)
#define error_sys_null(...) (error_sys(__VA_ARGS__), NULL)
#define error_no_memory_null(err) (error_no_memory(err), NULL)

/* Forget the error. */
void error_clear(struct error *err);

/* May the same call succeed later, as when a file system was full? */
bool error_may_pass(const struct error *e);

/* Is it an I/O error?  Then the bytes are unknown: do not report them as lost,
 * even if the work can continue without them. */
bool error_is_unread(const struct error *e);

/* The exit status for `kind`; ERROR_NONE is STATUS_OK. */
int error_status(enum error_kind kind);

/* The worse of two exit statuses: OK < DAMAGED < USAGE < FAILED < LOST. */
int error_worse_status(int a, int b);

/* The analyser looks at one source file at a time; tell it what these return.
 */
#if defined(__clang_analyzer__) && !defined(ERROR_C)
#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_sys(...) (error_sys(__VA_ARGS__), -1)
#define error_wrap(...) (error_wrap(__VA_ARGS__), -1)
#define error_remedy(...) (error_remedy(__VA_ARGS__), -1)
#define error_pass(...) (error_pass(__VA_ARGS__), -1)
#define error_as(...) (error_as(__VA_ARGS__), -1)
#define error_no_memory(err) (error_no_memory(err), -1)
#endif

#endif /* ERROR_H */
