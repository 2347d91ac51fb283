/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/config.h"

#include <ini.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "error.h"
#include "fti/set.h"
#include "io.h"
#include "num.h"

/* A list of a million nodes has less than 64 MiB. */
#define FILE_MAX ((size_t)64 << 20)

struct reading {
	const char *path;
	struct fti_geometry *g;
	uint32_t nodes;
	struct error *err;
	int rc;
};

static int
read_number(struct reading *r, const char *key, const char *value, uint64_t min,
	    uint64_t max, uint64_t *out)
{
	struct error why = ERROR_INIT;

	if (num_u64(value, min, max, out, &why) == 0)
		return 0;
	r->rc = error_set(r->err, ERROR_CORRUPT, "%s: %s: %s", r->path, key,
			  why.text);
	return -1;
}

static int
take_basic(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	uint64_t n = 0;

	if (r->rc < 0 || strcasecmp(section, "basic") != 0)
		return 1;
	if (strcasecmp(name, "node_size") == 0 && r->g->node_size == 0 &&
	    read_number(r, name, value, 1, UINT32_C(1) << 20, &n) == 0)
		r->g->node_size = (uint32_t)n;
	else if (strcasecmp(name, "group_size") == 0 && r->g->group_size == 0 &&
		 read_number(r, name, value, 2, 31, &n) == 0)
		r->g->group_size = (uint32_t)n;
	else if (strcasecmp(name, "head") == 0 && r->g->head < 0 &&
		 read_number(r, name, value, 0, 1, &n) == 0)
		r->g->head = (int)n;
	return 1;
}

static int
take_node(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	uint64_t n = 0;

	(void)value;
	if (r->rc == 0 && strcasecmp(section, "topology") == 0 &&
	    read_number(r, "topology", name, 0, UINT32_C(1) << 24, &n) == 0 &&
	    n >= r->nodes)
		r->nodes = (uint32_t)n + 1;
	return 1;
}

static int
read_ini(struct reading *r, int dirfd, ini_handler take)
{
	struct buf text = BUF_INIT;

	if (io_read_file(dirfd, r->path, FILE_MAX, &text, r->err) < 0)
		r->rc = -1;
	else if (text.len > 0 && ini_parse_string(text.data, take, r) == -2)
		r->rc = error_no_memory(r->err);
	buf_free(&text);
	return r->rc;
}

int
fti_config_read(int dirfd, const char *path, struct fti_geometry *g,
		struct error *err)
{
	struct reading r = { .path = path, .g = g, .err = err };

	return read_ini(&r, dirfd, take_basic);
}

int
fti_topology_read(int dirfd, const char *path, struct fti_geometry *g,
		  struct error *err)
{
	struct reading r = { .path = path, .g = g, .err = err };

	if (read_ini(&r, dirfd, take_node) < 0)
		return -1;
	if (g->nodes == 0)
		g->nodes = r.nodes;
	return 0;
}
