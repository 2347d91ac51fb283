/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/mman.h>

#include "archive/ark.h"
#include "conf.h"
#include "conf_impl.h"
#include "fuzz_tree.h"
#include "hostlist.h"
#include "when.h"

/*
 * Archives as import reads them: no crash, bounded memory, clean paths, and no
 * endless loop.
 */

/* Unpacking more of one input finds nothing new. */
#define READ_MAX ((size_t)8 << 20)

static void
read_all(struct ark_in *in)
{
	static char block[65536];
	struct ark_entry e;
	size_t got = 0, total = 0;

	while (total < READ_MAX && ark_in_next(in, &e, NULL) > 0) {
		fuzz_require(path_is_clean(e.path));
		fuzz_require(e.kind == ARK_FILE || e.kind == ARK_DIR);
		total += 512;
		do {
			got = 0;
			if (e.kind == ARK_FILE &&
			    ark_in_read(in, block, sizeof(block), &got, NULL) <
				    0)
				return;
			total += got;
		} while (got > 0 && total < READ_MAX);
	}
}

FUZZ(ark)
{
	struct ark_in *in = NULL;
	int fd = memfd_create("archive", MFD_CLOEXEC);

	fuzz_require(fd >= 0);
	fuzz_require(write(fd, data, size) == (ssize_t)size);
	fuzz_require(lseek(fd, 0, SEEK_SET) == 0);
	in = ark_in_new(fd, "archive", NULL, NULL);
	if (in != NULL)
		read_all(in);
	ark_in_free(in);
	close(fd);
}

/* Configuration files: any bytes can be read; a configuration that was read,
 * written and read again is the same. */

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

FUZZ(conf)
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
}

/* Node lists: a list that was read, written and read again has the same nodes,
 * and each name alone is a list of one node. */

/* Longer lists are slow and find nothing new. */
#define ROOM ((size_t)2000)

static void
check_name(const char *name)
{
	auto_hostlist h;

	fuzz_require(strlen(name) <= HOSTLIST_NAME_MAX);
	h = (struct hostlist)HOSTLIST_INIT;
	fuzz_require(hostlist_add_name(&h, name, NULL) == 0);
	fuzz_require(hostlist_add(&h, name, NULL) == 0);
	fuzz_require(h.count == 2 && strcmp(h.names[0], name) == 0 &&
		     strcmp(h.names[1], name) == 0);
}

static void
check_list(struct hostlist *h)
{
	auto_buf text = BUF_INIT, plain = BUF_INIT;
	auto_hostlist again;

	fuzz_require(hostlist_text(h, &text, NULL) == 0);
	fuzz_require(hostlist_plain(h, ",", &plain, NULL) == 0);
	fuzz_require(text.len <= plain.len + 2 * h->count);
	again = (struct hostlist)HOSTLIST_INIT;
	fuzz_require(hostlist_add(&again, text.data, NULL) == 0);
	fuzz_require(again.count == h->count);
	for (size_t i = 0; i < h->count; i++) {
		fuzz_require(strcmp(again.names[i], h->names[i]) == 0);
		if (i < 100)
			check_name(h->names[i]);
	}
	fuzz_require(hostlist_both(&again, h, NULL) == 0 &&
		     again.count == h->count);
	fuzz_require(hostlist_uniq(h, NULL) == 0 && h->count <= again.count);
	fuzz_require(hostlist_minus(h, &again, NULL) == 0 && h->count == 0);
}

FUZZ(hostlist)
{
	/* A list with space for only ROOM more names, to reach the limit. */
	static const char *names[HOSTLIST_MAX];
	const size_t full = HOSTLIST_MAX - ROOM;
	auto_buf text = BUF_INIT;
	struct hostlist h, found;

	fuzz_require(buf_add(&text, data, size) == 0);
	h = (struct hostlist)HOSTLIST_INIT;
	h.names = names;
	h.cap = HOSTLIST_MAX;
	h.count = full;
	found = h;
	if (hostlist_add(&h, text.data, NULL) < 0) {
		fuzz_require(h.count == full);
	} else {
		fuzz_require(h.names == names && h.count <= HOSTLIST_MAX);
		found.names = names + full;
		found.count = h.count - full;
		check_list(&found);
	}
	h.names = NULL; /* `names` is static */
	hostlist_free(&h);
}

/* Times and spans as users write them: a value that was parsed is in its
 * bounds, and a time that was formatted and parsed again is the same. */

/* One hour of local time occurs twice a year; it is parsed as the first. */
#define TWICE 3600

static void
check(const char *text, int64_t now)
{
	char to[WHEN_TEXT];
	int64_t t = 0, again = 0;

	if (when_parse(text, now, &t, NULL) < 0)
		return;
	fuzz_require(t >= 0 && t <= WHEN_MAX);
	fuzz_require(when_parse(when_text(to, t), now, &again, NULL) == 0);
	fuzz_require(again == t || again == t - TWICE);
}

FUZZ(when)
{
	/* The epoch, in summer, in the last hours of summer and winter time,
	 * the maximum, and a leap day. */
	static const int64_t nows[] = { 0,	    1784548800, 1792890000,
					1774738800, WHEN_MAX,	1709164800 };
	auto_buf text = BUF_INIT;
	uint64_t secs = 0;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	fuzz_require(buf_add(&text, data, size) == 0);
	for (size_t i = 0; i < sizeof(nows) / sizeof(nows[0]); i++)
		check(text.data, nows[i]);
	if (when_span(text.data, &secs, NULL) == 0)
		fuzz_require(secs <= (uint64_t)WHEN_MAX);
}
