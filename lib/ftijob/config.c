/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/config.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/set.h"
#include "num.h"
#include "path.h"
#include "str.h"

/* More than any machine has. */
#define NODE_SIZE_MAX (1 << 20)
#define NODES_MAX (1 << 24)

#define BASIC "basic"
#define RESTART "restart"
#define ADVANCED "advanced"

static const struct number {
	const char *section, *key;
	struct fti_ini_range range;
	size_t at; /* of the member */
} numbers[] = {
#define NUMBER(section, key, min, max, member) \
	{ \
		section, key, { min, max }, \
			offsetof(struct fti_config, member) \
	}
	NUMBER(BASIC, "head", 0, 1, head),
	NUMBER(BASIC, "node_size", 1, NODE_SIZE_MAX, node_size),
	NUMBER(BASIC, "group_size", 2, 31, group_size),
	NUMBER(BASIC, "ckpt_io", FTI_IO_POSIX, FTI_IO_IME, io),
	NUMBER(BASIC, "keep_last_ckpt", 0, 1, keep_last),
	NUMBER(BASIC, "keep_l4_ckpt", 0, 1, keep_l4),
	NUMBER(BASIC, "inline_l4", 0, 1, inline_l4),
	NUMBER(BASIC, "enable_dcp", 0, 1, dcp),
	/* With a mode but 1 and 2 FTI goes on without differences. */
	NUMBER(BASIC, "dcp_mode", 0, INT32_MAX, dcp_mode),
	NUMBER(BASIC, "dcp_block_size", 0, UINT16_MAX, dcp_block),
	NUMBER(BASIC, "dcp_stack_size", 0, 9, dcp_stack),
	NUMBER(RESTART, "failure", FTI_FRESH, FTI_RESTART_SIZE, failure),
	NUMBER(ADVANCED, "local_test", 0, 1, local_test),
};

static const struct text {
	const char *section, *key;
	size_t at;
} texts[] = {
	{ RESTART, "exec_id", offsetof(struct fti_config, exec_id) },
	{ BASIC, "ckpt_dir", offsetof(struct fti_config, ckpt_dir) },
	{ BASIC, "glbl_dir", offsetof(struct fti_config, glbl_dir) },
	{ BASIC, "meta_dir", offsetof(struct fti_config, meta_dir) },
};

/* exec_id is the name of a directory. */
static int
check_exec(const struct fti_config *c, struct error *err)
{
	if (c->exec_id == NULL ||
	    (path_is_clean(c->exec_id) && strchr(c->exec_id, '/') == NULL))
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: [" RESTART "] exec_id: not a name of a directory",
			 fti_ini_name(c->ini));
}

int
fti_config_take(struct fti_config *c, struct fti_ini *ini, struct error *err)
{
	*c = (struct fti_config){ .ini = ini };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *n = &numbers[i];
		int64_t *to = (int64_t *)(void *)((char *)c + n->at);
		const char *text = fti_ini_get(ini, n->section, n->key);

		*to = -1;
		if (text != NULL && text[0] != '\0' &&
		    fti_ini_number(ini, n->section, n->key, n->range, to, err) <
			    0)
			return -1;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text =
			fti_ini_get(ini, texts[i].section, texts[i].key);

		if (text != NULL && text[0] != '\0')
			memcpy((char *)c + texts[i].at, &text, sizeof(text));
	}
	return check_exec(c, err);
}

int
fti_config_open(struct fti_config *c, int dirfd, const char *path,
		struct error *err)
{
	struct fti_ini *ini = fti_ini_read(dirfd, path, err);

	*c = (struct fti_config){ .ini = ini };
	return ini == NULL ? -1 : fti_config_take(c, ini, err);
}

void
fti_config_close(struct fti_config *c)
{
	fti_ini_free(c->ini);
	*c = (struct fti_config){ .ini = NULL };
}

int
fti_config_read(int dirfd, const char *path, struct fti_geometry *g,
		struct error *err)
{
	struct fti_config c;
	const int rc = fti_config_open(&c, dirfd, path, err);

	if (rc == 0 && g->node_size == 0 && c.node_size > 0)
		g->node_size = (uint32_t)c.node_size;
	if (rc == 0 && g->group_size == 0 && c.group_size > 0)
		g->group_size = (uint32_t)c.group_size;
	if (rc == 0 && g->head < 0)
		g->head = (int)c.head;
	fti_config_close(&c);
	return rc;
}

int
fti_topology_read(int dirfd, const char *path, struct fti_geometry *g,
		  struct error *err)
{
	struct fti_ini *ini = fti_ini_read(dirfd, path, err);
	uint32_t n = 0;

	if (ini == NULL)
		return -1;
	while (n < NODES_MAX &&
	       fti_ini_get(ini, "topology", num_str(n)) != NULL)
		n++;
	if (g->nodes == 0)
		g->nodes = n;
	fti_ini_free(ini);
	return 0;
}

int
fti_config_beneath(const char *configured, struct buf *out, struct error *err)
{
	struct buf normal = BUF_INIT;
	const char *rel = NULL;
	int rc = path_normal(configured, &normal, err);

	buf_clear(out);
	if (rc < 0)
		goto out;
	rel = normal.data + strspn(normal.data, "/");
	rel = rel[0] == '\0' ? "." : rel;
	if (!str_eq(rel, ".") && !path_is_clean(rel))
		rc = error_set(err, ERROR_UNSAFE,
			       "%s: leads out of the root directory",
			       configured);
	else if (buf_add_str(out, rel) < 0)
		rc = error_no_memory(err);
out:
	buf_free(&normal);
	return rc;
}
