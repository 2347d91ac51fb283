/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr.h - checkpoints and output of a parallel job, written fast and kept safe:
 * scr(3).
 *
 * Call the functions between MPI_Init() and MPI_Finalize().  They are
 * collective over MPI_COMM_WORLD, except SCR_Route_file(), SCR_Restart_ranks(),
 * SCR_Restart_files(), SCR_Get_version() and, after SCR_Init(), queries of
 * SCR_Config().  They return SCR_SUCCESS, or another value after a failure: the
 * same on all ranks, except that of the local ones.  A call in the wrong state
 * aborts the job.
 */
#ifndef SCR_H
#define SCR_H

#ifdef __cplusplus
extern "C" {
#endif

#define SCR_MAJOR_VERSION "3"
#define SCR_MINOR_VERSION "1"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION "v3.1.0"

#define SCR_SUCCESS 0

/* Size of the buffers for names and paths that the application provides. */
#define SCR_MAX_FILENAME 1024

/* The purpose of a dataset; checkpoint and output may be combined by `|`. */
#define SCR_FLAG_NONE 0
#define SCR_FLAG_CHECKPOINT 1
#define SCR_FLAG_OUTPUT 2

int SCR_Init(void);
int SCR_Finalize(void);

/* "KEY" queries, "KEY=VALUE" sets, "KEY=" unsets a parameter; the properties of
 * a value follow it, as in "CKPT=0 TYPE=XOR".  Set and unset before SCR_Init()
 * only.  The caller frees the result of a query; NULL: no value. */
const char *SCR_Config(const char *config);
const char *SCR_Configf(const char *format, ...)
#ifdef __GNUC__
	__attribute__((format(printf, 1, 2)))
#endif
	;

/* Get the path at which this rank opens the file `name`.  `file` has room for
 * SCR_MAX_FILENAME bytes. */
int SCR_Route_file(const char *name, char *file);

/* Restart.  `name` has room for SCR_MAX_FILENAME bytes, or is NULL. */
int SCR_Have_restart(int *flag, char *name);
int SCR_Start_restart(char *name);
int SCR_Complete_restart(int valid);

/* Of the checkpoint that is being read: the number of ranks that wrote it, and
 * its file `i`, from 0: the rank that wrote it, and its name, for
 * SCR_Route_file(); not SCR_SUCCESS: there are no more.  With
 * SCR_RESTART_ANY_RANKS=1 those of all ranks, else of this one.  LLNL's library
 * does not have these. */
int SCR_Restart_ranks(int *ranks);
int SCR_Restart_files(int i, int *rank, char *name);

/* Checkpoint and output. */
int SCR_Need_checkpoint(int *flag);
int SCR_Start_output(const char *name, int flags);
int SCR_Complete_output(int valid);

/* Deprecated; like SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT) and
 * SCR_Complete_output(). */
int SCR_Start_checkpoint(void);
int SCR_Complete_checkpoint(int valid);

/* Datasets on the prefix, by name. */
int SCR_Current(const char *name);
int SCR_Drop(const char *name);
int SCR_Delete(const char *name);

char *SCR_Get_version(void);
int SCR_Should_exit(int *flag);

#ifdef __cplusplus
}
#endif

#endif /* SCR_H */
