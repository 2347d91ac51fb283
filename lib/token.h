/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * token.h - do other nodes see the same directory as this process?  A path may
 * lead to another file system there: an empty directory where nothing is
 * mounted, or a disk of the node.  A file that only one of them has tells.
 */
#ifndef TOKEN_H
#define TOKEN_H

#include "temp.h"

struct token {
	int dirfd;     /* borrowed; -1: none was made */
	char base[32]; /* of its temporary name (temp.h) */
	char name[TEMP_NAME_MAX];
};

#define TOKEN_INIT \
	{ \
		.dirfd = -1 \
	}

/* Make the file in this directory, for token_end().  It replaces that of a
 * process with the same `use`, a word, that was killed.  -1 with errno: nothing
 * was made. */
int token_make(struct token *t, int dirfd, const char *use);
void token_end(struct token *t);

#endif /* TOKEN_H */
