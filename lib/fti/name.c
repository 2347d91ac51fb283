/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

/* Names by their parts.  '#' is the number of the checkpoint, '@' that of the
 * rank, and '%' that of the sector. */
static const struct form {
	enum fti_name_kind kind;
	const char *text;
} forms[] = {
	{ FTI_NAME_RANK, "Ckpt#-Rank@.fti" },
	{ FTI_NAME_COPY, "Ckpt#-Pcof@.fti" },
	{ FTI_NAME_PARITY, "Ckpt#-RSed@.fti" },
	{ FTI_NAME_LAYERS, "dcp-id#-rank@.fti" },
	{ FTI_NAME_MPIIO, "Ckpt#-mpiio.fti" },
	{ FTI_NAME_SECTOR, "sector%-group@.fti" },
	{ FTI_NAME_TOPOLOGY, "Topology.fti" },
	{ FTI_NAME_HISTORY, "Checkpoint.fti" },
	{ FTI_NAME_DCP, "dCPFile-Rank@.fti" },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* The number that this character of a form is, or NULL: it is itself. */
static uint32_t *
number_of(struct fti_name *n, char c)
{
	return c == '#'	  ? &n->id
	       : c == '@' ? &n->rank
	       : c == '%' ? &n->sector
			  : NULL;
}

/* Does `name` have this form?  Its numbers go to *out. */
static bool
fits(const char *name, const char *form, struct fti_name *out)
{
	for (; *form != '\0'; form++) {
		uint32_t *to = number_of(out, *form);
		uint64_t n = 0;

		if (to == NULL && *name++ != *form)
			return false;
		if (to == NULL)
			continue;
		/* Digits without a leading zero, up to INT32_MAX. */
		if (!str_is_digit(*name) ||
		    (*name == '0' && str_is_digit(name[1])))
			return false;
		for (; str_is_digit(*name) && n <= INT32_MAX; name++)
			n = 10 * n + (uint64_t)(*name - '0');
		if (n > INT32_MAX)
			return false;
		*to = (uint32_t)n;
	}
	return *name == '\0';
}

struct fti_name
fti_name_parse(const char *name)
{
	for (size_t i = 0; i < FORMS; i++) {
		struct fti_name out = { .kind = forms[i].kind };

		if (fits(name, forms[i].text, &out))
			return out;
	}
	return (struct fti_name){ .kind = FTI_NAME_OTHER };
}

char *
fti_name_format(const struct fti_name *n, char to[static FTI_NAME_MAX])
{
	struct fti_name name = *n;
	size_t i = 0, len = 0;

	to[0] = '\0';
	while (i < FORMS && forms[i].kind != n->kind)
		i++;
	for (const char *s = i < FORMS ? forms[i].text : ""; *s != '\0'; s++) {
		const uint32_t *value = number_of(&name, *s);

		len += (size_t)(value == NULL
					? snprintf(to + len, FTI_NAME_MAX - len,
						   "%c", *s)
					: snprintf(to + len, FTI_NAME_MAX - len,
						   "%" PRIu32, *value));
	}
	return to;
}

bool
fti_name_is_data(enum fti_name_kind k)
{
	return k == FTI_NAME_RANK || k == FTI_NAME_DCP || k == FTI_NAME_LAYERS;
}

bool
fti_name_is_of_rank(enum fti_name_kind k)
{
	return fti_name_is_data(k) || k == FTI_NAME_COPY ||
	       k == FTI_NAME_PARITY;
}

const struct fti_level_names fti_levels[FTI_NO_LEVEL] = {
	[FTI_L1] = { "l1", "L1" },
	[FTI_L2] = { "l2", "L2" },
	[FTI_L3] = { "l3", "L3" },
	[FTI_L4] = { "l4", "L4" },
	[FTI_DCP] = { "dCP", "dCP" },
	[FTI_ARCHIVE] = { "l4_archive", "archive" },
	[FTI_REPLICA] = { "lL4Dir", "replica" },
	[FTI_TMP] = { "tmp", "unfinished" },
};

static enum fti_level
find_level(const char *name, size_t len)
{
	for (int l = FTI_L1; l < FTI_NO_LEVEL; l++)
		if (strlen(fti_levels[l].dir) == len &&
		    memcmp(fti_levels[l].dir, name, len) == 0)
			return (enum fti_level)l;
	return FTI_NO_LEVEL;
}

enum fti_level
fti_level_parse(const char *name)
{
	return find_level(name, strlen(name));
}

enum fti_level
fti_level_of(const char *path)
{
	const char *end = strrchr(path, '/'), *at = end;

	while (at != NULL && at > path && at[-1] != '/')
		at--;
	return at == NULL ? FTI_NO_LEVEL : find_level(at, (size_t)(end - at));
}

bool
fti_name_node(const char *name, uint32_t *node)
{
	struct fti_name n = { .kind = FTI_NAME_OTHER };
	const bool is = fits(name, "node#", &n);

	if (is)
		*node = n.id;
	return is;
}

uint32_t
fti_name_archived(const char *name)
{
	struct fti_name n = { .kind = FTI_NAME_OTHER };

	return fits(name, FTI_ARCHIVED "#", &n) ? n.id : 0;
}
