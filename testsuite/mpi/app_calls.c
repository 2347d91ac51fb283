/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_calls CALL...: make these calls of scr.h on all ranks, in this order.
 * CALL is the name of a function without SCR_, in lower case, or NAME=ARG with
 * its argument: a name, a file, a text or a number.  unlink=FILE removes a file
 * on the nodes that have it.  ARG "@" stands for the
 * number of the rank, and "NULL" for a null pointer.  Rank 0 prints "CALL ->
 * RESULT", and behind it the flag or text that the function returned; of
 * ask=TEXT, which is SCR_Config(), "TEXT -> ANSWER".  Before
 * the call, the flag is 7 and the text is "untouched".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"

static int rank, flag;
static char text[SCR_MAX_FILENAME];

static int
with_flag(const char *call)
{
	if (strcmp(call, "have_restart") == 0)
		return SCR_Have_restart(&flag, text);
	if (strcmp(call, "need_checkpoint") == 0)
		return SCR_Need_checkpoint(&flag);
	if (strcmp(call, "should_exit") == 0)
		return SCR_Should_exit(&flag);
	fprintf(stderr, "no such call: %s\n", call);
	MPI_Abort(MPI_COMM_WORLD, 99);
	return -1;
}

static int
has_value(const char *config)
{
	char *value = (char *)SCR_Config(config); /* to free */
	const int has = value != NULL;

	free(value);
	return has;
}

static void
ask(const char *config)
{
	char *answer = (char *)SCR_Configf("%s", config); /* to free */

	if (rank == 0)
		printf("%s -> %s\n", config,
		       answer != NULL ? answer : "(none)");
	free(answer);
}

static int
remove_file(const char *path)
{
	unlink(path);
	return MPI_Barrier(MPI_COMM_WORLD);
}

static int
make(const char *call, const char *arg)
{
	const int number = arg != NULL ? atoi(arg) : 1;

	if (strcmp(call, "init") == 0)
		return SCR_Init();
	if (strcmp(call, "finalize") == 0)
		return SCR_Finalize();
	if (strcmp(call, "start_restart") == 0)
		return SCR_Start_restart(text);
	if (strcmp(call, "complete_restart") == 0)
		return SCR_Complete_restart(number);
	if (strcmp(call, "start_checkpoint") == 0)
		return SCR_Start_checkpoint();
	if (strcmp(call, "complete_checkpoint") == 0)
		return SCR_Complete_checkpoint(number);
	if (strcmp(call, "start_output") == 0)
		return SCR_Start_output(arg, SCR_FLAG_OUTPUT);
	if (strcmp(call, "flags") == 0)
		return SCR_Start_output("set", number);
	if (strcmp(call, "complete_output") == 0)
		return SCR_Complete_output(number);
	if (strcmp(call, "route_file") == 0)
		return SCR_Route_file(arg, text);
	if (strcmp(call, "route_nowhere") == 0)
		return SCR_Route_file(arg, NULL);
	if (strcmp(call, "current") == 0)
		return SCR_Current(arg);
	if (strcmp(call, "drop") == 0)
		return SCR_Drop(arg);
	if (strcmp(call, "delete") == 0)
		return SCR_Delete(arg);
	if (strcmp(call, "config") == 0)
		return has_value(arg);
	if (strcmp(call, "unlink") == 0)
		return remove_file(arg);
	return with_flag(call);
}

int
main(int argc, char **argv)
{
	char call[64], digits[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(digits, sizeof(digits), "%d", rank);
	for (int i = 1; i < argc; i++) {
		const char *arg = strchr(argv[i], '=');
		int rc = 0;

		if (strncmp(argv[i], "ask=", 4) == 0) {
			ask(argv[i] + 4);
			continue;
		}
		snprintf(call, sizeof(call), "%.*s", (int)strcspn(argv[i], "="),
			 argv[i]);
		if (arg != NULL && strcmp(++arg, "@") == 0)
			arg = digits;
		else if (arg != NULL && strcmp(arg, "NULL") == 0)
			arg = NULL;
		flag = 7;
		strcpy(text, "untouched");
		rc = make(call, arg);
		if (rank == 0)
			printf("%s -> %d%s%s%s\n", argv[i], rc,
			       flag == 0   ? " 0"
			       : flag == 1 ? " 1"
					   : "",
			       strcmp(text, "untouched") ? " " : "",
			       strcmp(text, "untouched") ? text : "");
	}
	MPI_Finalize();
	return 0;
}
