/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lengths.c - call libscrf as compilers do that pass a length as int: the upper
 * half of the register, or of the place on the stack, has any value.  Both
 * symbols of a routine are called.  Prints the results, for one rank.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DIRT ((uint64_t)0xdeadbeef << 32)

void scr_route_file_(const char *name, char *file, int *ierror,
		     uint64_t name_len, uint64_t file_len);
void scr_route_file(const char *name, char *file, int *ierror,
		    uint64_t name_len, uint64_t file_len);
void scr_config_(const char *config, char *val, int *ierror,
		 uint64_t config_len, uint64_t val_len);
void scr_get_version(char *version, int *ierror, uint64_t len);

static char out[16];

static void
show(const char *call, int ierror)
{
	printf("%s -> %d <%.8s>%s\n", call, ierror, out,
	       memcmp(out + 8, "########", 8) ? " OVERFLOW" : "");
	memset(out, '#', sizeof(out));
}

int
main(int argc, char **argv)
{
	int ierror = 77;

	MPI_Init(&argc, &argv);
	memset(out, '#', sizeof(out));
	scr_route_file_("a/b c  ?", out, &ierror, DIRT | 7, DIRT | 8);
	show("scr_route_file_", ierror);
	scr_route_file("a/b c  ?", out, &ierror, DIRT | 6, DIRT | 8);
	show("scr_route_file", ierror);
	scr_route_file_("a/b c/d/e", out, &ierror, DIRT | 9, DIRT | 8);
	show("scr_route_file_", ierror);
	scr_config_("SCR_PREFIX_SIZE=7   ?", out, &ierror, DIRT | 19, DIRT | 8);
	show("scr_config_", ierror);
	scr_config_("SCR_PREFIX_SIZE", out, &ierror, DIRT | 15, DIRT | 8);
	show("scr_config_", ierror);
	scr_get_version(out, &ierror, DIRT | 8);
	show("scr_get_version", ierror);
	MPI_Finalize();
	return 0;
}
