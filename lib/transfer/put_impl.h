/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_impl.h - what put.c (files), put_place.c (directories) and put_clear.c
 * (leftovers, free space) share.
 */
#ifndef TRANSFER_PUT_IMPL_H
#define TRANSFER_PUT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "create.h"
#include "meta/attr.h"
#include "transfer/put.h"

/* A directory that files are put into, or a parent of one.  dirfd, path and up
 * never change, and keeps_nsec is atomic; the lock of the engine guards the
 * rest. */
struct put_place {
	int dirfd;
	const char *path;     /* "": dirfd itself */
	struct put_place *up; /* the parent; NULL: this is dirfd itself */
	bool used;	      /* a rename was made in it or below it */
	bool dirty;	      /* a rename in it is not synced yet */
	int fd;		      /* open, shared by all threads; or -1 */
	bool opening;	      /* a thread is opening it */
	size_t waiting;	      /* files in it without their names yet */
	atomic_bool made;     /* by this engine */
	struct owner owner;   /* of new files (create.h) */
	/* What new files in this directory get, as learned from files made so
	 * far: owner and group; the mode bits that the file system grants and
	 * those that it refuses. */
	bool known;
	uid_t uid;
	gid_t gid;
	mode_t granted, refused;
	atomic_bool keeps_nsec; /* file times keep their nanoseconds */
	bool has_attr;		/* put_dir() */
	struct attr attr;
};

enum put_state {
	PUT_LISTED,
	PUT_MAKING, /* a thread opens its temporary file */
	PUT_OPEN,   /* the temporary file exists, bytes are missing */
	PUT_FULL,   /* has all bytes and attributes */
	PUT_SYNCED, /* on disk */
	PUT_PLACED, /* has its name */
};

struct put_file {
	struct put *put;
	struct put_what what;
	struct put_place *place;
	enum put_state state;
	int fd;	   /* of the temporary file, or -1 */
	dev_t dev; /* of the temporary file, if it is `unlocked` */
	ino_t ino;
	unsigned users;
	bool resumed;	   /* what it has is compared */
	atomic_bool holes; /* zeros were left out */
	uint64_t written;
	mode_t opened;	       /* the mode passed to open */
	struct timespec mtime; /* as stored, if `placed` is set */
	double since;	       /* when it became full, clock_seconds() */
	struct put_file *next; /* in the queue */
};

struct put {
	struct put_options o;
	enum put_kind kind; /* that put_commit() puts in place now */
	bool asked;	    /* the guard */
	bool failed;	    /* and since then not all files are in place */
	bool keep;	    /* put_keep() */
	struct arena *arena;
	size_t count, cap;
	struct put_file **files;
	size_t nplaces, places_cap;
	struct put_place **places;
	struct map *by_path; /* "DIRFD:PATH" -> index in places */
	size_t open_max, queue_max;
	pthread_mutex_t lock; /* guards what follows, and states of files */
	bool refused;	      /* said that modes or times are */
	pthread_cond_t made;  /* a file or directory was opened */
	size_t nopen, hand;   /* number of open files; next one to close */
	size_t ndirs;	      /* number of open directories */
	struct put_file *queue, **queue_end;
	size_t queued;
	uint64_t queued_bytes;
	pthread_mutex_t syncing; /* held while syncing directories */
};

/* The directory of file `path`.  NULL: ERROR_NOMEM. */
struct put_place *put_place(struct put *p, int dirfd, const char *path,
			    struct error *err);

/* Return a descriptor of the directory, to be given back by put_place_give().
 * A missing directory is created if `make`, else it is ERROR_ABSENT.  -1 is an
 * error, but AT_FDCWD is not. */
int put_place_take(struct put *p, struct put_place *place, bool make,
		   struct error *err);

void put_place_give(struct put *p, struct put_place *place, int fd);

/*
 * Set the times, and mode and owner if they differ from those that the file was
 * created with.  Then find the modification time that the file system stored:
 * some keep whole seconds only.
 */
int put_set_attributes(struct put_file *f, struct error *err);

/* Give a directory that the engine made its modes and times; for par_for(). */
int put_place_finish(void *put, size_t i, unsigned worker, struct error *err);

/* Remove the directories that the engine made, if they are empty. */
void put_place_remove(struct put *p);

/* Record that a file of this directory got its name: the directory has to be
 * synced. */
void put_place_changed(struct put *p, struct put_place *place);

#endif /* TRANSFER_PUT_IMPL_H */
