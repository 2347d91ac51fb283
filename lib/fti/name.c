/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

/* Names by their parts: '#' is a number, which goes to the members of struct
 * fti_name in this order. */
static const struct form {
	enum fti_name_kind kind;
	const char *text;
	bool sector; /* the numbers are sector and rank, else id and rank */
} forms[] = {
	{ FTI_NAME_RANK, "Ckpt#-Rank#.fti", false },
	{ FTI_NAME_COPY, "Ckpt#-Pcof#.fti", false },
	{ FTI_NAME_PARITY, "Ckpt#-RSed#.fti", false },
	{ FTI_NAME_LAYERS, "dcp-id#-rank#.fti", false },
	{ FTI_NAME_SECTOR, "sector#-group#.fti", true },
	{ FTI_NAME_TOPOLOGY, "Topology.fti", false },
	{ FTI_NAME_HISTORY, "Checkpoint.fti", false },
	{ FTI_NAME_DCP, "dCPFile-Rank#.fti", false },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* Read digits at *at.  False: no number, a leading zero, or above INT32_MAX. */
static bool
number(const char **at, uint32_t *out)
{
	const char *s = *at;
	uint64_t n = 0;

	if (!str_is_digit(*s) || (*s == '0' && str_is_digit(s[1])))
		return false;
	for (; str_is_digit(*s) && n <= INT32_MAX; s++)
		n = 10 * n + (uint64_t)(*s - '0');
	*at = s;
	*out = (uint32_t)n;
	return n <= INT32_MAX;
}

/* Does `name` have this form?  Its numbers go to n[]. */
static bool
fits(const char *name, const char *form, uint32_t n[static 2])
{
	size_t count = 0;

	for (; *form != '\0'; form++)
		if (*form == '#') {
			if (!number(&name, &n[count++]))
				return false;
		} else if (*name++ != *form) {
			return false;
		}
	return *name == '\0';
}

struct fti_name
fti_name_parse(const char *name)
{
	for (size_t i = 0; i < FORMS; i++) {
		struct fti_name out = { .kind = forms[i].kind };
		uint32_t n[2] = { 0, 0 };

		if (!fits(name, forms[i].text, n))
			continue;
		if (forms[i].kind == FTI_NAME_DCP)
			out.rank = n[0];
		else if (forms[i].sector)
			out.sector = n[0];
		else
			out.id = n[0];
		if (forms[i].kind != FTI_NAME_DCP)
			out.rank = n[1];
		return out;
	}
	return (struct fti_name){ .kind = FTI_NAME_OTHER };
}

char *
fti_name_format(const struct fti_name *n, char to[static FTI_NAME_MAX])
{
	uint32_t values[2] = { n->id, n->rank };
	size_t len = 0, count = 0;

	to[0] = '\0';
	for (size_t i = 0; i < FORMS; i++) {
		if (forms[i].kind != n->kind)
			continue;
		if (forms[i].sector)
			values[0] = n->sector;
		if (n->kind == FTI_NAME_DCP)
			values[0] = n->rank;
		for (const char *s = forms[i].text; *s != '\0'; s++)
			len += (size_t)(*s == '#' ? snprintf(to + len,
							     FTI_NAME_MAX - len,
							     "%" PRIu32,
							     values[count++])
						  : snprintf(to + len,
							     FTI_NAME_MAX - len,
							     "%c", *s));
	}
	return to;
}

static const struct {
	const char *dir, *name;
} levels[FTI_NO_LEVEL] = {
	[FTI_L1] = { "l1", "L1" },
	[FTI_L2] = { "l2", "L2" },
	[FTI_L3] = { "l3", "L3" },
	[FTI_L4] = { "l4", "L4" },
	[FTI_DCP] = { "dCP", "dCP" },
	[FTI_ARCHIVE] = { "l4_archive", "archive" },
	[FTI_REPLICA] = { "lL4Dir", "replica" },
	[FTI_TMP] = { "tmp", "unfinished" },
};

enum fti_level
fti_level_parse(const char *name)
{
	for (int l = FTI_L1; l < FTI_NO_LEVEL; l++)
		if (str_eq(name, levels[l].dir))
			return (enum fti_level)l;
	return FTI_NO_LEVEL;
}

const char *
fti_level_name(enum fti_level l)
{
	return levels[l].name;
}

const char *
fti_level_dir(enum fti_level l)
{
	return levels[l].dir;
}

bool
fti_name_node(const char *name, uint32_t *node)
{
	uint32_t n[2] = { 0, 0 };
	const bool is = fits(name, "node#", n);

	if (is)
		*node = n[0];
	return is;
}

uint32_t
fti_name_archived(const char *name)
{
	char file[FTI_NAME_MAX];
	struct fti_name n;

	if (!str_starts(name, FTI_ARCHIVED) || strlen(name) > 20)
		return 0;
	/* The number follows the same rules as in the name of a file. */
	strcpy(file, "Ckpt");
	strcat(file, name + strlen(FTI_ARCHIVED));
	strcat(file, "-Rank0.fti");
	n = fti_name_parse(file);
	return n.kind == FTI_NAME_RANK ? n.id : 0;
}
