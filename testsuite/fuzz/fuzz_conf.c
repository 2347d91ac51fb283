/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration files: any bytes can be read; a configuration that was read,
 * written and read again is the same.
 */
#include "conf.h"
#include "conf_impl.h"
#include "fuzz_tree.h"

static struct conf *
read_conf(const void *data, size_t size)
{
	struct conf *c = conf_new(NULL);

	fuzz_require(c != NULL && conf_add_bytes(c, CONF_USER, "fuzz", data,
						 size, NULL) == 0);
	return c;
}

/* Write a value with the escapes that the grammar needs. */
static void
write_value(struct buf *out, const char *value)
{
	static const char from[] = "\a\b\f\n\r\t\v", to[] = "abfnrtv";
	const char *at = NULL;

	for (; *value != '\0'; value++) {
		at = strchr(from, *value);
		if (at != NULL || strchr(" =#$\\", *value) != NULL)
			fuzz_require(buf_add_char(out, '\\') == 0);
		fuzz_require(buf_add_char(out, at ? to[at - from] : *value) ==
			     0);
	}
}

static void
write_conf(struct buf *out, const struct conf_source *s)
{
	const struct conf_group *g = NULL;

	/* The first line is empty: there, a key that begins with a byte order
	 * mark would lose it. */
	fuzz_require(buf_add_char(out, '\n') == 0);
	for (size_t i = 0; i < s->count; i++) {
		g = &s->lines[i];
		fuzz_require(buf_printf(out, "%s=", g->key) == 0);
		write_value(out, g->value);
		for (size_t k = 0; k < g->npairs; k++) {
			fuzz_require(buf_printf(out, " %s=", g->pairs[k].key) ==
				     0);
			write_value(out, g->pairs[k].value);
		}
		fuzz_require(buf_add_char(out, '\n') == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_conf *one = read_conf(data, size), *two = NULL;
	struct buf a = BUF_INIT, b = BUF_INIT;
	const struct conf_source *s = &one->sources[CONF_USER];
	const struct conf_group *g = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		fuzz_require(conf_is_set(one, s->lines[i].key));
		n = conf_groups(one, s->lines[i].key, &g);
		fuzz_require(g <= &s->lines[i] && &s->lines[i] < g + n);
	}
	write_conf(&a, s);
	two = read_conf(a.data, a.len);
	fuzz_require(conf_notice(two) == NULL);
	write_conf(&b, &two->sources[CONF_USER]);
	fuzz_same(&a, &b);
	return 0;
}
