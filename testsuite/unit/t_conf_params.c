/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of parameters, and values by their kind. */
#include "conf.h"

#include "scratch.h"
#include "str.h"

/* The configuration, and the last value. */
static struct conf *c;
static union conf_value v;

/* Read a configuration with this text as the user's file, and nothing else. */
static void
read_text(const char *text)
{
	struct conf_where w = { .prefix = scratch_root };

	conf_close(c);
	clearenv();
	scratch_new();
	must(setenv("SCRKIT_SYSTEM_CONF", here("none.conf"), 1) == 0);
	write_text(here(".scrconf"), text);
	c = conf_open(&w, NULL);
	must(c != NULL);
}

static bool
in_force(const char *key)
{
	return conf_in_force(c, conf_param(key), &v);
}

TEST(table)
{
	const struct conf_param *p = NULL;
	bool sorted = true, found = true, parses = true, units = true;
	const char *before = "";
	size_t n = 0;

	read_text("");
	for (; (p = conf_param_at(n)) != NULL; n++) {
		sorted = sorted && strcmp(before, p->name) < 0;
		found = found && conf_param(p->name) == p &&
			conf_get(c, p->name) == p->value;
		parses = parses && conf_in_force(c, p, &v);
		units = units && (p->unit != NULL) == (p->kind >= CONF_NUMBER);
		before = p->name;
	}
	ok(n > 60 && sorted, "parameters are in order");
	ok(found, "... and each is found, with its built-in value");
	ok(parses && conf_notice(c) == NULL, "... which parses");
	ok(units, "numbers have a unit");
	ok(conf_param("SCR_FLUHS") == NULL && conf_param("") == NULL,
	   "no such parameter");
}

/* Values by the kind of their parameter, and what replaces bad ones. */
TEST(in_force)
{
	read_text("SCR_FLUSH=3\nSCR_SET_SIZE=0\nSCR_ENABLE=no\n"
		  "SCR_MPI_BUF_SIZE=2K\nSCR_RUNS=-1\nSCR_RETRIES=x\n"
		  "SCR_CHECKPOINT_OVERHEAD=2.5\nSCR_FLUSH_TYPE=pthread\n"
		  "SCR_GROUP=POWER\nSCR_FILE_BUF_SIZE=4\n");
	ok(in_force("SCR_FLUSH") && v.count == 3, "a number");
	ok(in_force("SCR_ENABLE") && !v.on, "no");
	ok(in_force("SCR_MPI_BUF_SIZE") && v.count == 2048, "bytes");
	ok(in_force("SCR_RUNS") && v.number == -1, "below 0");
	ok(in_force("SCR_CHECKPOINT_OVERHEAD") && v.percent == 2.5, "percent");
	ok(in_force("SCR_FLUSH_TYPE") && str_eq(v.text, "PTHREAD"),
	   "a word, as in the table");
	ok(in_force("SCR_GROUP") && str_eq(v.text, "POWER"), "a text");
	ok(in_force("SCR_CURRENT") && v.text == NULL,
	   "not set, and without a default");
	ok(conf_notice(c) == NULL, "... no notice so far");
	ok(!in_force("SCR_SET_SIZE") && v.count == 8,
	   "below the least: the built-in value");
	is_str(conf_notice(c),
	       fmt("SCR_SET_SIZE from %s:2: \"0\": expected a whole number "
		   "from 1 to 4294967295; 8 is used instead\n",
		   here(".scrconf")),
	       "... which a notice says, with file and line");
	ok(!in_force("SCR_RETRIES") && v.count == 0,
	   "no number, and nothing is built in");
	ok(!in_force("SCR_FILE_BUF_SIZE") && v.count == 32 << 20,
	   "too few bytes");
}

/* Properties of a line as numbers and booleans. */
TEST(properties)
{
	const char *bad = "STORE=/ssd: GROUP: \"WORLD\": ";
	const struct conf_group *g = NULL;
	bool yes = true;
	uint64_t n = 0;

	read_text("STORE=/dev/shm COUNT=1 MKDIR=off\n"
		  "STORE=/ssd GROUP=WORLD\n");
	must(conf_groups(c, "STORE", &g) == 2);
	ok(conf_property_u64(&g[0], "COUNT", 7, &n, &why) == 0 && n == 1,
	   "a number");
	ok(conf_property_bool(&g[0], "MKDIR", true, &yes, &why) == 0 && !yes,
	   "a boolean");
	ok(conf_property_u64(&g[1], "COUNT", 7, &n, &why) == 0 && n == 7,
	   "a missing number");
	ok(conf_property_bool(&g[1], "MKDIR", true, &yes, &why) == 0 && yes,
	   "a missing boolean");
	ok(conf_property_u64(&g[1], "GROUP", 7, &n, &why) == -1 && n == 7 &&
		   str_starts(why.text, bad),
	   why.text);
	ok(conf_property_bool(&g[1], "GROUP", true, &yes, &why) == -1 && yes &&
		   str_starts(why.text, bad),
	   why.text);
}
