/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of a line as numbers and booleans. */
#include "conf.h"

#include "error.h"
#include "tap.h"

#define LINES "STORE=/dev/shm COUNT=1 MKDIR=off\nSTORE=/ssd GROUP=WORLD\n"
#define BAD "STORE=/ssd: GROUP: \"WORLD\": "

int
main(void)
{
	const struct conf_group *g = NULL;
	struct error err = ERROR_INIT;
	struct conf *c = conf_new(&err);
	bool yes = true;
	uint64_t n = 0;

	ok(c != NULL && conf_add_bytes(c, CONF_USER, "x", LINES, strlen(LINES),
				       &err) == 0,
	   "two lines");
	is_int((int64_t)conf_groups(c, "STORE", &g), 2, "... are read");
	ok(conf_property_u64(&g[0], "COUNT", 7, &n, &err) == 0 && n == 1,
	   "a number");
	ok(conf_property_bool(&g[0], "MKDIR", true, &yes, &err) == 0 && !yes,
	   "a boolean");
	ok(conf_property_u64(&g[1], "COUNT", 7, &n, &err) == 0 && n == 7,
	   "a missing number");
	ok(conf_property_bool(&g[1], "MKDIR", true, &yes, &err) == 0 && yes,
	   "a missing boolean");
	ok(conf_property_u64(&g[1], "GROUP", 7, &n, &err) == -1 && n == 7 &&
		   strncmp(err.text, BAD, strlen(BAD)) == 0,
	   err.text);
	ok(conf_property_bool(&g[1], "GROUP", true, &yes, &err) == -1 && yes &&
		   strncmp(err.text, BAD, strlen(BAD)) == 0,
	   err.text);
	conf_close(c);
	return tap_done();
}
