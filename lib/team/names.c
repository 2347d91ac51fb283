/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/names.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "fnv.h"

#define CLAIM_NAME 32

static void
claim_of(char to[static CLAIM_NAME], const char *name)
{
	snprintf(to, CLAIM_NAME, "claim.%016" PRIx64, fnv_text(name));
}

int
names_take(int metafd, const char *name, const char *path, struct error *err)
{
	char claim[CLAIM_NAME], has[PATH_MAX];
	ssize_t len = -1;

	claim_of(claim, name);
	if (symlinkat(path, metafd, claim) == 0)
		return 1;
	if (errno == EEXIST)
		len = readlinkat(metafd, claim, has, sizeof(has) - 1);
	if (len < 0)
		return error_sys(err, "%s: cannot claim its name in the cache",
				 path);
	has[len] = '\0';
	return strcmp(has, path) == 0;
}

void
names_drop(int metafd, const char *name)
{
	char claim[CLAIM_NAME];

	claim_of(claim, name);
	(void)unlinkat(metafd, claim, 0);
}
