/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/config.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/ini.h"
#include "path.h"
#include "str.h"

/* More than any machine has. */
#define NODE_SIZE_MAX (1 << 20)

#define BASIC "basic"
#define RESTART "restart"
#define ADVANCED "advanced"

#define UNUSED SIZE_MAX

static const struct number {
	const char *section, *key;
	struct fti_ini_range range;
	size_t at; /* of the member, or UNUSED: the value is only checked */
} numbers[] = {
#define MEMBER(name) offsetof(struct fti_config, name)
	{ BASIC, "head", { 0, 1 }, MEMBER(head) },
	{ BASIC, "node_size", { 1, NODE_SIZE_MAX }, MEMBER(node_size) },
	{ BASIC, "group_size", { 2, 31 }, MEMBER(group_size) },
	/* 1: POSIX, 2: MPI, 3: FTI-FF, 4: SIONlib, 5: HDF5, 6: IME */
	{ BASIC, "ckpt_io", { 1, 6 }, UNUSED },
	{ BASIC, "keep_last_ckpt", { 0, 1 }, UNUSED },
	{ BASIC, "keep_l4_ckpt", { 0, 1 }, UNUSED },
	{ BASIC, "inline_l4", { 0, 1 }, UNUSED },
	{ BASIC, "enable_dcp", { 0, 1 }, UNUSED },
	/* With a mode but 1 and 2 FTI goes on without differences. */
	{ BASIC, "dcp_mode", { 0, INT32_MAX }, UNUSED },
	{ BASIC, "dcp_block_size", { 0, UINT16_MAX }, UNUSED },
	{ BASIC, "dcp_stack_size", { 0, 9 }, UNUSED },
	/* 0: a fresh start; 1 to 3: a restart, 2 from a checkpoint that
	 * keep_last_ckpt had moved to L4, 3 with other processes (HDF5) */
	{ RESTART, "failure", { 0, 3 }, UNUSED },
	{ ADVANCED, "local_test", { 0, 1 }, MEMBER(local_test) },
};

static const struct text {
	const char *section, *key;
	size_t at;
} texts[] = {
	{ RESTART, "exec_id", MEMBER(exec_id) },
	{ BASIC, "ckpt_dir", MEMBER(ckpt_dir) },
	{ BASIC, "glbl_dir", MEMBER(glbl_dir) },
	{ BASIC, "meta_dir", MEMBER(meta_dir) },
};

int
fti_config_take(struct fti_config *c, struct fti_ini *ini, struct error *err)
{
	*c = (struct fti_config){ .ini = ini };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *n = &numbers[i];
		const char *text = fti_ini_get(ini, n->section, n->key);
		int64_t value = -1;

		if (text != NULL && text[0] != '\0' &&
		    fti_ini_number(ini, n->section, n->key, n->range, &value,
				   err) < 0)
			return -1;
		if (n->at != UNUSED)
			memcpy((char *)c + n->at, &value, sizeof(value));
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text =
			fti_ini_get(ini, texts[i].section, texts[i].key);

		if (text != NULL && text[0] != '\0')
			memcpy((char *)c + texts[i].at, &text, sizeof(text));
	}
	/* exec_id is the name of a directory. */
	if (c->exec_id == NULL ||
	    (path_is_clean(c->exec_id) && strchr(c->exec_id, '/') == NULL))
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: [" RESTART "] exec_id: not a name of a directory",
			 fti_ini_name(c->ini));
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
fti_config_beneath(const char *configured, struct buf *out, struct error *err)
{
	struct buf normal = BUF_INIT;
	const char *rel = NULL;
	int rc = 0;

	path_normal(configured, &normal, NULL);
	rel = normal.data + strspn(normal.data, "/");
	rel = rel[0] == '\0' ? "." : rel;
	buf_clear(out);
	if (str_eq(rel, ".") || path_is_clean(rel))
		buf_add_str(out, rel);
	else
		rc = error_set(err, ERROR_UNSAFE,
			       "%s: leads out of the root directory",
			       configured);
	buf_free(&normal);
	return rc;
}

int
fti_config_dir(const char *root, const char *config, const char *configured,
	       struct buf *out, struct error *err)
{
	struct buf real = BUF_INIT, path = BUF_INIT;
	const char *below = NULL;
	int rc = path_real(root, &real, err);

	if (rc == 0 && configured[0] == '/') {
		path_normal(configured, &path, NULL);
		below = path_below(path.data, real.data);
		if (below == NULL || below[0] == '\0')
			below = configured;
	} else if (rc == 0) {
		/* It is below the directory of the configuration. */
		buf_printf(&path, "%.*s%s", (int)(path_base(config) - config),
			   config, configured);
		below = path.data;
	}
	if (rc == 0)
		rc = fti_config_beneath(below, out, err);
	buf_free(&real);
	buf_free(&path);
	return rc;
}
