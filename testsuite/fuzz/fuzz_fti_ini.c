/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FTI's ini files: any bytes can be read; an edit changes the one value and
 * nothing else.
 */
#include "fti/ini.h"
#include "ftijob/config.h"
#include "fuzz_tree.h"

static struct fti_ini *
parse(const void *data, size_t size)
{
	struct fti_ini *ini = fti_ini_parse("fuzz", data, size, NULL);

	fuzz_require(ini != NULL);
	return ini;
}

/* Is the key the same before and after an edit of another one? */
static void
compare(const struct fti_ini *a, const struct fti_ini *b, const char *section,
	const char *key)
{
	const char *x = fti_ini_get(a, section, key);
	const char *y = fti_ini_get(b, section, key);

	fuzz_require((x == NULL) == (y == NULL) && (x == NULL || str_eq(x, y)));
}

/* `v` is set; the bytes before and after the edit are those of the input. */
static void
check_edit(const struct fti_ini *was, const uint8_t *data, size_t size,
	   const struct fti_ini_value *v)
{
	auto_buf out = BUF_INIT;
	auto_fti_ini *is = NULL;
	size_t head = 0, tail = 0;

	fuzz_require(buf_add(&out, data, size) == 0 &&
		     fti_ini_set(&out, v, NULL) == 0);
	is = parse(out.data, out.len);
	fuzz_require(str_eq(fti_ini_get(is, v->section, v->key), v->value));
	compare(was, is, "basic", "node_size");
	compare(was, is, "0", "ckpt_file_name");
	while (head < size && head < out.len &&
	       data[head] == (uint8_t)out.data[head])
		head++;
	while (tail < size - head && tail < out.len - head &&
	       data[size - 1 - tail] == (uint8_t)out.data[out.len - 1 - tail])
		tail++;
	/* What differs is one value, or a new line: section, key and value. */
	fuzz_require(out.len - head - tail <= 80);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fti_ini_value set = { "restart", "failure", "3", false };
	struct fti_ini *ini = parse(data, size);
	struct fti_config c;
	auto_buf path = BUF_INIT;

	for (size_t i = 0; fti_ini_section(ini, i) != NULL; i++)
		fuzz_require(strchr(fti_ini_section(ini, i), '\n') == NULL);
	check_edit(ini, data, size, &set);
	if (fti_config_take(&c, ini, NULL) == 0) {
		fuzz_require(c.group_size <= 31 && c.node_size != 0);
		if (c.ckpt_dir != NULL &&
		    fti_config_beneath(c.ckpt_dir, &path, NULL) == 0)
			fuzz_require(str_eq(path.data, ".") ||
				     path_is_clean(path.data));
	}
	fti_config_close(&c);
	return 0;
}
