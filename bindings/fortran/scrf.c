/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scrf.c - libscrf: the functions of scr.h for Fortran, scrf(3).
 *
 * A Fortran compiler on Linux calls subroutine SCR_INIT by the symbol
 * scr_init_, or scr_init if it appends nothing: each routine has both.  All
 * arguments are addresses.  Behind them follow the lengths of those that are
 * CHARACTER, in the same order.
 *
 * A name that is too long is a failure, and never cut off.  Routines that are
 * collective in C are so here, too: a rank that fails makes the call first.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr/scr.h"

#define FAILURE 1

/* NULL if libscr.so is an older one, or LLNL's. */
#pragma weak SCR_Restart_ranks
#pragma weak SCR_Restart_files

/* Declare both symbols of a routine. */
#define ROUTINE(name, ...) \
	__attribute__((visibility("default"))) void name##_(__VA_ARGS__); \
	__attribute__((visibility("default"), alias(#name "_"))) void name( \
		__VA_ARGS__)

/*
 * The length of a CHARACTER argument.  gfortran 8, flang and ifx pass a size_t;
 * older compilers pass an int, and the upper half of its register is undefined.
 * No name has 4 GiB, so the lower half is the length.
 */
static size_t
length(size_t passed)
{
	return (uint32_t)passed;
}

/* --- Failures that C does not have --- */

/* Report a failure as libscr does, on rank 0 or on every rank.  Returns
 * FAILURE. */
static int
fail(const char *routine, int everywhere, const char *why)
{
	int rank = -1, begun = 0, over = 0;
	char host[256] = "unknown host";

	MPI_Initialized(&begun);
	MPI_Finalized(&over);
	if (begun && !over)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank > 0 && !everywhere)
		return FAILURE;
	(void)gethostname(host, sizeof(host) - 1);
	fprintf(stderr, "SCR %s ERROR: rank %d on %s: %s: %s\n",
		SCR_Get_version(), rank, host, routine, why);
	return FAILURE;
}

static int
too_short(const char *routine, int everywhere, size_t len, size_t needed)
{
	char why[128];

	snprintf(why, sizeof(why),
		 "the result has %zu characters, the variable for it has room "
		 "for %zu",
		 needed, len);
	return fail(routine, everywhere, why);
}

/* --- Strings --- */

/* The value of a CHARACTER argument without its trailing blanks, for free(). */
static char *
take(const char *text, size_t len)
{
	char *copy = NULL;

	while (len > 0 && text[len - 1] == ' ')
		len--;
	copy = malloc(len + 1);
	if (copy == NULL) {
		/* The other ranks wait for this one in the call. */
		fail("libscrf", 1, "out of memory");
		MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

/* Set a CHARACTER argument, padded with blanks.  Returns 0; or -1: it is too
 * short, and blank. */
static int
give(char *to, size_t len, const char *text)
{
	const size_t needed = strlen(text);

	memset(to, ' ', len);
	if (needed > len)
		return -1;
	memcpy(to, text, needed);
	return 0;
}

/* --- Begin and end --- */

ROUTINE(scr_init, int *ierror);
ROUTINE(scr_finalize, int *ierror);
ROUTINE(scr_get_version, char *version, int *ierror, size_t len);

void
scr_init_(int *ierror)
{
	*ierror = SCR_Init();
}

void
scr_finalize_(int *ierror)
{
	*ierror = SCR_Finalize();
}

void
scr_get_version_(char *version, int *ierror, size_t len)
{
	const char *is = SCR_Get_version();

	len = length(len);
	*ierror = SCR_SUCCESS;
	if (give(version, len, is) < 0)
		*ierror = too_short("scr_get_version", 1, len, strlen(is));
}

/* --- Configuration --- */

ROUTINE(scr_config, const char *config, char *val, int *ierror,
	size_t config_len, size_t val_len);

/* Is the text a query: does a name stand at its end, and no '=' behind it?  The
 * value of SCR_Config() does not tell: NULL is also that of a parameter that is
 * not set. */
static int
is_query(const char *text)
{
	for (text += strspn(text, " "); *text != '\0';
	     text += strspn(text, " ")) {
		text += strcspn(text, " =");
		text += strspn(text, " ");
		if (*text != '=')
			return 1;
		text++;
		text += strspn(text, " ");
		text += strcspn(text, " ");
	}
	return 0;
}

void
scr_config_(const char *config, char *val, int *ierror, size_t config_len,
	    size_t val_len)
{
	char *text = take(config, length(config_len));
	char *value = (char *)SCR_Config(text); /* to free */

	val_len = length(val_len);
	memset(val, ' ', val_len);
	*ierror = SCR_SUCCESS;
	if (value != NULL && give(val, val_len, value) < 0)
		*ierror = too_short("scr_config", 1, val_len, strlen(value));
	else if (value == NULL && (*text == '\0' || is_query(text)))
		*ierror = FAILURE;
	free(value);
	free(text);
}

/* --- Files --- */

ROUTINE(scr_route_file, const char *name, char *file, int *ierror,
	size_t name_len, size_t file_len);

void
scr_route_file_(const char *name, char *file, int *ierror, size_t name_len,
		size_t file_len)
{
	char *text = take(name, length(name_len));
	char path[SCR_MAX_FILENAME];

	/* Nobody opens an old path by mistake. */
	file_len = length(file_len);
	memset(file, ' ', file_len);
	if (strlen(text) >= sizeof(path))
		*ierror = fail("scr_route_file", 1,
			       "the name is longer than SCR_MAX_FILENAME - 1");
	else
		*ierror = SCR_Route_file(text, path);
	if (*ierror == SCR_SUCCESS && give(file, file_len, path) < 0)
		*ierror =
			too_short("scr_route_file", 1, file_len, strlen(path));
	free(text);
}

/* --- Restart --- */

ROUTINE(scr_have_restart, int *flag, char *name, int *ierror, size_t len);
ROUTINE(scr_start_restart, char *name, int *ierror, size_t len);
ROUTINE(scr_complete_restart, const int *valid, int *ierror);
ROUTINE(scr_restart_ranks, int *ranks, int *ierror);
ROUTINE(scr_restart_files, const int *i, int *rank, char *name, int *ierror,
	size_t len);

void
scr_have_restart_(int *flag, char *name, int *ierror, size_t len)
{
	char dataset[SCR_MAX_FILENAME] = "";

	len = length(len);
	*ierror = SCR_Have_restart(flag, dataset);
	if (*ierror == SCR_SUCCESS && *flag && give(name, len, dataset) < 0)
		*ierror =
			too_short("scr_have_restart", 0, len, strlen(dataset));
}

void
scr_start_restart_(char *name, int *ierror, size_t len)
{
	char dataset[SCR_MAX_FILENAME] = "";

	len = length(len);
	*ierror = SCR_Start_restart(dataset);
	if (give(name, len, dataset) < 0)
		*ierror =
			too_short("scr_start_restart", 0, len, strlen(dataset));
}

void
scr_complete_restart_(const int *valid, int *ierror)
{
	*ierror = SCR_Complete_restart(*valid);
}

void
scr_restart_ranks_(int *ranks, int *ierror)
{
	*ierror = FAILURE;
	if (SCR_Restart_ranks != NULL)
		*ierror = SCR_Restart_ranks(ranks);
}

void
scr_restart_files_(const int *i, int *rank, char *name, int *ierror, size_t len)
{
	char file[SCR_MAX_FILENAME] = "";

	len = length(len);
	memset(name, ' ', len);
	*ierror = FAILURE;
	if (SCR_Restart_files != NULL)
		*ierror = SCR_Restart_files(*i, rank, file);
	if (*ierror == SCR_SUCCESS && give(name, len, file) < 0)
		*ierror = too_short("scr_restart_files", 1, len, strlen(file));
}

/* --- Checkpoint and output --- */

ROUTINE(scr_need_checkpoint, int *flag, int *ierror);
ROUTINE(scr_start_output, const char *name, const int *flags, int *ierror,
	size_t len);
ROUTINE(scr_complete_output, const int *valid, int *ierror);
ROUTINE(scr_start_checkpoint, int *ierror);
ROUTINE(scr_complete_checkpoint, const int *valid, int *ierror);
ROUTINE(scr_should_exit, int *flag, int *ierror);

void
scr_need_checkpoint_(int *flag, int *ierror)
{
	*ierror = SCR_Need_checkpoint(flag);
}

void
scr_start_output_(const char *name, const int *flags, int *ierror, size_t len)
{
	char *text = take(name, length(len));

	/* It refuses a name that is too long. */
	*ierror = SCR_Start_output(text, *flags);
	free(text);
}

void
scr_complete_output_(const int *valid, int *ierror)
{
	*ierror = SCR_Complete_output(*valid);
}

void
scr_start_checkpoint_(int *ierror)
{
	*ierror = SCR_Start_checkpoint();
}

void
scr_complete_checkpoint_(const int *valid, int *ierror)
{
	*ierror = SCR_Complete_checkpoint(*valid);
}

void
scr_should_exit_(int *flag, int *ierror)
{
	*ierror = SCR_Should_exit(flag);
}

/* --- Datasets on the prefix --- */

ROUTINE(scr_current, const char *name, int *ierror, size_t len);
ROUTINE(scr_drop, const char *name, int *ierror, size_t len);
ROUTINE(scr_delete, const char *name, int *ierror, size_t len);

/* What the three have in common; `call` may succeed for a name that no dataset
 * has. */
static int
named(const char *routine, int (*call)(const char *), const char *name,
      size_t len)
{
	char *text = take(name, length(len));
	int rc = call(text);

	if (rc == SCR_SUCCESS && strlen(text) >= SCR_MAX_FILENAME)
		rc = fail(routine, 0,
			  "the name is longer than SCR_MAX_FILENAME - 1");
	free(text);
	return rc;
}

void
scr_current_(const char *name, int *ierror, size_t len)
{
	*ierror = named("scr_current", SCR_Current, name, len);
}

void
scr_drop_(const char *name, int *ierror, size_t len)
{
	*ierror = named("scr_drop", SCR_Drop, name, len);
}

void
scr_delete_(const char *name, int *ierror, size_t len)
{
	*ierror = named("scr_delete", SCR_Delete, name, len);
}
