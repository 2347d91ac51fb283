/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/complaints.h"

#include <ctype.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "hostlist.h"
#include "map.h"
#include "mem.h"

struct complaint {
	const char *text;   /* of the first node */
	const char *common; /* the same without its name and address */
	struct hostlist nodes;
};

/* The length of the IPv4 address that `text` begins with, or 0. */
static size_t
address_length(const char *text)
{
	size_t len = 0;

	for (int i = 0; i < 4; i++) {
		const size_t digits = strspn(text + len, "0123456789");

		if (digits == 0 || digits > 3)
			return 0;
		len += digits;
		if (i < 3 && text[len++] != '.')
			return 0;
	}
	return len;
}

static bool
is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* `text` with NODE for the node's name, and ADDRESS for addresses. */
static const char *
make_common(struct arena *a, const char *node, const char *text)
{
	const size_t len = strlen(node);
	struct buf b = BUF_INIT;
	const char *common = NULL;
	size_t n = 0;

	for (const char *p = text; *p != '\0'; p += n) {
		const bool begins = p == text || !is_of_name(p[-1]);

		n = begins ? address_length(p) : 0;
		if (n == 0 && begins && strncmp(p, node, len) == 0 &&
		    !is_of_name(p[len])) {
			buf_add_str(&b, "NODE");
			n = len;
		} else if (n > 0) {
			buf_add_str(&b, "ADDRESS");
		} else {
			n = 1;
			buf_add_char(&b, *p);
		}
	}
	common = arena_strdup(a, b.len > 0 ? b.data : "");
	buf_free(&b);
	return common;
}

void
complaints_add(struct complaints *c, const char *node, const char *text)
{
	const char *common = NULL;
	size_t at = 0;

	if (c->arena == NULL) {
		c->arena = arena_new();
		c->texts = map_new();
	}
	common = make_common(c->arena, node, text);
	at = map_get(c->texts, common);
	if (at == MAP_NONE) {
		at = c->count;
		(void)MEM_ROOM(c->list, c->count, c->cap);
		c->list[c->count++] = (struct complaint){
			.text = arena_strdup(c->arena, text),
			.common = common,
		};
		(void)map_put(c->texts, common, at);
	}
	(void)hostlist_add_name(&c->list[at].nodes, node, NULL);
}

void
complaints_take(struct complaints *c, struct buf *out)
{
	for (size_t i = 0; i < c->count; i++) {
		struct complaint *one = &c->list[i];

		(void)hostlist_uniq(&one->nodes, NULL);
		(void)hostlist_text(&one->nodes, out, NULL);
		buf_printf(out, ": %s\n",
			   one->nodes.count > 1 ? one->common : one->text);
	}
	complaints_free(c);
}

void
complaints_free(struct complaints *c)
{
	for (size_t i = 0; i < c->count; i++)
		hostlist_free(&c->list[i].nodes);
	mem_free(c->list);
	map_free(c->texts);
	arena_free(c->arena);
	*c = (struct complaints){ .count = 0 };
}
