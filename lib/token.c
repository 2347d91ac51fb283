/* SPDX-License-Identifier: BSD-3-Clause */
#include "token.h"

#include <stdio.h>
#include <unistd.h>

int
token_make(struct token *t, int dirfd, const char *use)
{
	int fd = -1;

	*t = (struct token)TOKEN_INIT;
	snprintf(t->base, sizeof(t->base), "token.%s", use);
	temp_name(t->name, t->base);
	fd = temp_make(dirfd, t->base, 0644, create_owner(dirfd));
	if (fd < 0)
		return -1;
	t->dirfd = dirfd;
	(void)close(fd);
	return 0;
}

void
token_end(struct token *t)
{
	if (t->dirfd >= 0)
		(void)temp_remove(t->dirfd, t->base);
	t->dirfd = -1;
}
