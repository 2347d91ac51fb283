/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_text.c - the files that describe an execution, for the new form of
 * its checkpoints.
 */
#include <string.h>

#include "convert.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/config.h"
#include "io.h"
#include "path.h"
#include "str.h"

/* Numbers of io_mode in the history: FTI_IO_POSIX is 1001 there. */
#define HISTORY "checkpoint_id."

static int
set_key(struct buf *text, const char *section, const char *key,
	const char *value, struct error *err)
{
	const struct fti_ini_value v = { section, key, value };
	struct buf out = BUF_INIT;
	int rc = fti_ini_set(text->data, text->len, &v, &out, err);

	if (rc == 0) {
		buf_free(text);
		*text = out;
		return 0;
	}
	buf_free(&out);
	return rc;
}

static int
set_history(const struct fti_convert *c, const struct fti_ini *ini, bool moved,
	    struct buf *text, struct error *err)
{
	const char *section = NULL;

	for (size_t i = 0; (section = fti_ini_section(ini, i)) != NULL; i++) {
		if (!str_starts(section, HISTORY))
			continue;
		if (set_key(text, section, "io_mode",
			    c->form.posix ? "1001" : "1003", err) < 0 ||
		    (moved && fti_ini_get(ini, section, "is_dcp") != NULL &&
		     set_key(text, section, "is_dcp", "0", err) < 0))
			return -1;
	}
	return 0;
}

int
fti_convert_text(const struct fti_convert *c, int dirfd, const char *path,
		 bool moved, struct buf *out, struct error *err)
{
	const enum fti_name_kind kind = fti_name_parse(path_base(path)).kind;
	struct fti_ini *ini = NULL;
	int rc = io_read_file(dirfd, path, FTI_INI_MAX, out, err);

	if (rc < 0 || kind == FTI_NAME_TOPOLOGY)
		return rc;
	ini = fti_ini_parse(path, out->data, out->len, err);
	if (ini == NULL)
		rc = -1;
	else if (kind == FTI_NAME_HISTORY)
		rc = set_history(c, ini, moved, out, err);
	else
		rc = set_key(out, "basic", "ckpt_io", c->form.posix ? "1" : "3",
			     err);
	fti_ini_free(ini);
	return rc;
}
