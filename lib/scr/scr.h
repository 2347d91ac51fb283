/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr.h - checkpoints and output of a parallel job, written fast and kept safe:
 * scr(3).
 *
 * Every function but SCR_Route_file(), SCR_Get_version() and, after SCR_Init(),
 * a query of SCR_Config() is collective over MPI_COMM_WORLD, and is called
 * between MPI_Init() and MPI_Finalize().  The result is SCR_SUCCESS, or another
 * value; unless a page says otherwise it is the same on all ranks.  A call in
 * the wrong state aborts the job.
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

/* What a dataset is for. */
#define SCR_FLAG_NONE 0
#define SCR_FLAG_CHECKPOINT 1
#define SCR_FLAG_OUTPUT 2

int SCR_Init(void);
int SCR_Finalize(void);

/* "KEY" queries, "KEY=VALUE" sets, "KEY=" unsets; properties of a value follow
 * it, as in "CKPT=0 TYPE=XOR".  Setting is possible before SCR_Init() only.  A
 * query returns memory for free(), or NULL: no value. */
const char *SCR_Config(const char *config);
const char *SCR_Configf(const char *format, ...)
#ifdef __GNUC__
	__attribute__((format(printf, 1, 2)))
#endif
	;

/* Where to open the file `name`.  `file` holds SCR_MAX_FILENAME bytes. */
int SCR_Route_file(const char *name, char *file);

/* Restart.  `name` holds SCR_MAX_FILENAME bytes, or is NULL. */
int SCR_Have_restart(int *flag, char *name);
int SCR_Start_restart(char *name);
int SCR_Complete_restart(int valid);

/* Checkpoint and output. */
int SCR_Need_checkpoint(int *flag);
int SCR_Start_output(const char *name, int flags);
int SCR_Complete_output(int valid);

/* As SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT) and its end. */
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
