/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_impl.h - what put.c (files) and put_place.c (directories) share.
 */
#ifndef TRANSFER_PUT_IMPL_H
#define TRANSFER_PUT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "transfer/put.h"

/* A directory that files are put into, or one above such a directory.  Guarded
 * by the lock of the engine, except the first lines and the last. */
struct put_place {
	int dirfd;
	const char *path;     /* "": dirfd itself */
	struct put_place *up; /* the one above; NULL: it is dirfd itself */
	bool used;	      /* a file got its name in it, or below it */
	bool dirty;	      /* not synced since a rename in it */
	int fd;		      /* open for all threads, or -1 */
	bool opening;	      /* by a thread */
	size_t waiting;	      /* files that have not got their names */
	/* What a new file in it gets, as far as one was looked at: owner and
	 * group; the bits of a mode that are granted, those that are not. */
	bool known;
	uid_t uid;
	gid_t gid;
	mode_t granted, refused;
	atomic_bool keeps_nsec; /* of times */
};

enum put_state {
	PUT_LISTED,
	PUT_MAKING, /* a thread opens its temporary file */
	PUT_OPEN,   /* the temporary file is there, not all bytes are */
	PUT_FULL,   /* all bytes and attributes */
	PUT_SYNCED, /* on disk */
	PUT_PLACED, /* it has its name */
};

struct put_file {
	struct put *put;
	struct put_what what;
	struct put_place *place;
	enum put_state state;
	int fd; /* of the temporary file, or -1 */
	unsigned users;
	uint64_t written;
	mode_t opened;	       /* the mode it was made with */
	struct timespec mtime; /* as recorded, if `placed` is to be called */
	double since;	       /* full, clock_seconds() */
	struct put_file *next; /* in the queue */
};

struct put {
	struct put_options o;
	struct arena *arena;
	size_t count, cap;
	struct put_file **files;
	size_t nplaces, places_cap;
	struct put_place **places;
	struct map *by_path; /* "DIRFD:PATH" -> number of the place */
	size_t open_max, queue_max;
	pthread_mutex_t lock; /* guards what follows, and states of files */
	pthread_cond_t made;  /* a file or a directory is open now */
	size_t nopen, hand;   /* files that are open; where to look for one */
	size_t ndirs;	      /* directories that are open */
	struct put_file *queue, **queue_end;
	size_t queued;
	uint64_t queued_bytes;
	pthread_mutex_t syncing; /* one thread syncs directories */
};

/* The place of `path`; NULL: ERROR_NOMEM. */
struct put_place *put_place(struct put *p, int dirfd, const char *path,
			    struct error *err);

/* A descriptor of the directory, for put_place_give(); if it is missing it is
 * made for file `f`, or (NULL) that is ERROR_ABSENT. */
int put_place_take(struct put *p, struct put_place *place,
		   const struct put_file *f, struct error *err);
void put_place_give(struct put *p, struct put_place *place, int fd);

/* A file got its name in it. */
void put_place_done(struct put *p, struct put_place *place);

/* The mode to open a new file with. */
mode_t put_place_mode(struct put *p, const struct put_file *f);

/* What the file open as `fd` was given when it was made: known, or looked up.
 * Only owner and mode of *st are set. */
int put_place_gave(struct put *p, const struct put_file *f, int fd,
		   struct stat *st, struct error *err);

/* put_sync() on a pool. */
int put_sync_on(struct put *p, struct par *par, struct error *err);

#endif /* TRANSFER_PUT_IMPL_H */
