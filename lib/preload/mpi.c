/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi.c - where a program begins and ends MPI, libscr_preload.so begins and
 * ends to route its files (route.h), if the environment says so.
 *
 * Nothing of MPI or of libscr is linked: in a program without MPI these
 * functions are never called, and without patterns they call MPI's alone.
 * MPI_* and PMPI_* are wrapped, as the Fortran libraries call one or the other;
 * only the outermost call counts.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "error.h"
#include "path.h"
#include "preload/preload_impl.h"
#include "str.h"

#ifndef PRELOAD_LIBSCR
#define PRELOAD_LIBSCR "libscr.so.3"
#endif

static struct {
	int depth; /* of calls of the functions below */
	bool begun, warned;
	struct route_rank is;
} mpi;

/* --- Find --- */

/* A function by its address as an object, as ISO C cannot convert it. */
#define FUNCTION(f, address) \
	do { \
		void *at_address = address; \
		memcpy(&(f), &at_address, sizeof(at_address)); \
	} while (0)

/* A function of the program's MPI; NULL: none.  Python loads it for a module
 * alone: then the module that calls us knows where it is. */
static void *
next(const char *name, const void *caller)
{
	void *f = dlsym(RTLD_NEXT, name), *module = NULL;
	Dl_info is;

	if (f == NULL && dladdr(caller, &is) != 0) {
		module = dlopen(is.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (module != NULL)
			f = dlsym(module, name);
		if (module != NULL)
			dlclose(module);
	}
	return f;
}

/* A communicator of MPI's own: in Open MPI the address of an object, in MPICH
 * and those with its interface a number. */
static void *
communicator(const char *name, int number, const void *caller)
{
	void *object = dlsym(RTLD_DEFAULT, name); /* the program may have it */

	if (object == NULL)
		object = next(name, caller);

	return object != NULL ? object : (void *)(intptr_t)number;
}

/* MPI_COMM_WORLD. */
static void *
world(const void *caller)
{
	return communicator("ompi_mpi_comm_world", 0x44000000, caller);
}

/* Has a program of MPI started this one?  Its prefix is that of another job. */
static bool
spawned(const void *caller)
{
	int (*get)(void *) = NULL, number = 0;
	void *parent = NULL, *none = NULL;

	FUNCTION(get, next("PMPI_Comm_get_parent", caller));
	if (get == NULL || get(&parent) != 0)
		return false;
	none = communicator("ompi_mpi_comm_null", 0, caller);
	if (none != NULL)
		return parent != none;
	memcpy(&number, &parent, sizeof(number));
	return number != 0x04000000; /* MPI_COMM_NULL of MPICH */
}

/* libscr, beside this library, else where the loader finds it. */
static void *
load(void)
{
	static const char here;
	char path[4096];
	Dl_info is;
	void *library = NULL;

	if (dladdr(&here, &is) != 0) {
		str_print(path, sizeof(path), "%.*s" PRELOAD_LIBSCR,
			  (int)(path_base(is.dli_fname) - is.dli_fname),
			  is.dli_fname);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library != NULL ? library
			       : dlopen(PRELOAD_LIBSCR, RTLD_NOW | RTLD_LOCAL);
}

/* --- Begin and end --- */

/* Is routing asked for? */
static bool
wanted(void)
{
	static const char *const names[] = { "SCR_INTERPOSE_PATTERN",
					     "SCR_CHECKPOINT_PATTERN" };
	const char *on = getenv("SCR_INTERPOSE");

	if (on != NULL && *on != '\0')
		return strcmp(on, "0") != 0 && strcasecmp(on, "no") != 0;
	for (int i = 0; i < 2; i++)
		if (getenv(names[i]) != NULL && *getenv(names[i]) != '\0')
			return true;
	return false;
}

/* Load libscr; why not: `why`. */
static bool
find_scr(struct route_scr *scr, const void *init, const char **why)
{
	void *library = NULL;

	*why = "the program calls it itself";
	if (dlsym(RTLD_DEFAULT, "SCR_Init") != NULL)
		return false;
	library = load();
	if (library == NULL) {
		*why = dlerror();
		return false;
	}
	*why = "it was built with another MPI than the program";
	if (dlsym(library, "PMPI_Init") != init)
		return false;
	*why = "functions are missing in it";
#define GET(type, name, args) \
	FUNCTION(scr->name, dlsym(library, "SCR_" #name)); \
	if (scr->name == NULL) \
		return false;
	ROUTE_SCR(GET)
	return true;
}

/* After MPI_Init(). */
static void
begin(const void *caller)
{
	int (*comm_rank)(void *, int *) = NULL,
				     (*comm_size)(void *, int *) = NULL;
	int (*query)(int *) = NULL, (*finalize)(void) = NULL;
	struct error err = ERROR_INIT;
	struct route_rank is = { .rank = 0 };
	struct route_scr scr;
	const char *why = NULL;
	int level = 0;

	FUNCTION(comm_rank, next("PMPI_Comm_rank", caller));
	FUNCTION(comm_size, next("PMPI_Comm_size", caller));
	FUNCTION(query, next("PMPI_Query_thread", caller));
	FUNCTION(finalize, next("PMPI_Finalize", caller));
	if (mpi.begun || !wanted() || comm_rank == NULL || comm_size == NULL ||
	    query == NULL || finalize == NULL || spawned(caller))
		return;
	/* Programs that this one starts are no part of the job. */
	(void)setenv("SCR_INTERPOSE", "0", 1);
	comm_rank(world(caller), &is.rank);
	comm_size(world(caller), &is.ranks);
	query(&level);
	is.threads = level == 3; /* MPI_THREAD_MULTIPLE of both */
	if (!find_scr(&scr, next("PMPI_Init", caller), &why)) {
		/* It need not be the same on all ranks. */
		route_say(PRELOAD_LIBSCR ": rank %d: %s: nothing is routed",
			  is.rank, why);
		return;
	}
	if (route_begin(&scr, is, &err) < 0) {
		if (is.rank == 0)
			route_say("%s", err.text);
		finalize();
		exit(STATUS_FAILED);
	}
	if (scr.Init() != 0) {
		if (is.rank == 0)
			route_say("SCR_Init failed: nothing is routed: files "
				  "are written where the program says");
		return;
	}
	mpi.begun = true;
	mpi.is = is;
	route_start();
}

/* --- The functions --- */

#define NO_MPI 15 /* MPI_ERR_OTHER of MPICH; an error everywhere */

#define NEXT(f, name) \
	FUNCTION(f, next(#name, __builtin_return_address(0))); \
	if ((f) == NULL) \
	return NO_MPI
#define CALL(f, name, args) \
	NEXT(f, name); \
	mpi.depth++; \
	rc = (f)args; \
	mpi.depth--

#define INIT(name) \
	int name(int *argc, char ***argv); \
	OURS int name(int *argc, char ***argv) \
	{ \
		int (*f)(int *, char ***) = NULL; \
		int rc = 0; \
\
		CALL(f, name, (argc, argv)); \
		if (rc == 0 && mpi.depth == 0) \
			begin(__builtin_return_address(0)); \
		return rc; \
	}
INIT(MPI_Init)
INIT(PMPI_Init)

#define INIT_THREAD(name) \
	int name(int *argc, char ***argv, int want, int *got); \
	OURS int name(int *argc, char ***argv, int want, int *got) \
	{ \
		int (*f)(int *, char ***, int, int *) = NULL; \
		int rc = 0; \
\
		CALL(f, name, (argc, argv, want, got)); \
		if (rc == 0 && mpi.depth == 0) \
			begin(__builtin_return_address(0)); \
		return rc; \
	}
INIT_THREAD(MPI_Init_thread)
INIT_THREAD(PMPI_Init_thread)

/* libscr calls it, too, when a halt ends the job: that is no end of ours. */
#define FINALIZE(name) \
	int name(void); \
	OURS int name(void) \
	{ \
		int (*f)(void) = NULL; \
		int rc = 0; \
\
		if (mpi.depth == 0 && mpi.begun) { \
			mpi.begun = false; \
			route_end(); \
		} \
		CALL(f, name, ()); \
		return rc; \
	}
FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)

/* Files of MPI-IO are opened by some of the ranks, and perhaps later. */
static void
warn(const char *path)
{
	struct route_look is;

	if (mpi.warned || route_look(&is, AT_FDCWD, path) == 0)
		return;
	if (mpi.is.rank == 0)
		route_say("%s: opened by MPI-IO: not routed", path);
	mpi.warned = true;
}

/* The types are those of the widest MPI: arguments pass through. */
#define FILE_OPEN(name) \
	int name(void *comm, const char *path, int how, void *info, \
		 void *file); \
	OURS int name(void *comm, const char *path, int how, void *info, \
		      void *file) \
	{ \
		int (*f)(void *, const char *, int, void *, void *) = NULL; \
\
		NEXT(f, name); \
		if (ROUTED(path)) \
			warn(path); \
		return f(comm, path, how, info, file); \
	}
FILE_OPEN(MPI_File_open)
FILE_OPEN(PMPI_File_open)
