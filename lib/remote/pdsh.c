/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pdsh.c - assign the lines that pdsh prints to nodes.
 *
 *	n1: text                             a node's line, on both streams
 *	pdsh@here: n1: ssh exited with ...   the result of a node, on stderr
 *
 * pdsh omits the domain if all names have the same one.  So a node's label is
 * its name up to the first dot, or a whole IP address, and nodes with equal
 * labels are given to different processes.
 */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "map.h"
#include "remote/remote_impl.h"

/* A line of at least this length was truncated: pdsh cuts lines at 128 KiB. */
#define LINE_CUT ((size_t)131000)

/* The length of the label of a name. */
static size_t
label_length(const char *name, size_t len)
{
	const char *dot = memchr(name, '.', len);
	size_t digits = 0;

	while (digits < len && strchr("0123456789.", name[digits]) != NULL)
		digits++;
	return dot == NULL || digits == len ? len : (size_t)(dot - name);
}

int
remote_pdsh_label(struct remote_proc *p, const char *name, size_t at)
{
	const char *label = NULL;

	if (p->labels == NULL)
		p->labels = map_new();
	if (p->labels == NULL)
		return -1;
	label = arena_strndup(p->arena, name, label_length(name, strlen(name)));
	if (label == NULL)
		return -1;
	if (map_get(p->labels, label) != MAP_NONE)
		return 0;
	return map_put(p->labels, label, at) < 0 ? -1 : 1;
}

/* The node whose label *text begins with; *text is moved behind the label.
 * NULL: no label, or that of a node that is asked in another way by now. */
static struct remote_node *
owner(struct remote_run *run, const struct remote_proc *p, char **text,
      size_t *len)
{
	const char *colon = memchr(*text, ':', *len);
	size_t label = colon != NULL ? (size_t)(colon - *text) : *len;
	char name[REMOTE_LABEL];
	size_t at = MAP_NONE;

	if (colon == NULL || label >= sizeof(name) || label + 1 >= *len ||
	    colon[1] != ' ')
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)label_length(*text, label),
		 *text);
	at = map_get(p->labels, name);
	if (at == MAP_NONE || run->nodes[at].proc != p)
		return NULL;
	*text += label + 2;
	*len -= label + 2;
	return &run->nodes[at];
}

/* Keep pdsh's last line about no node: it may explain why pdsh failed. */
static void
remember(struct remote_run *run, struct remote_proc *p, const char *text,
	 size_t len)
{
	buf_clear(&p->words);
	if (buf_add(&p->words, text, len) < 0)
		run->failed = true;
}

void
remote_pdsh_out(struct remote_run *run, struct remote_proc *p, char *text,
		size_t len, bool whole)
{
	const bool cut = len >= LINE_CUT || p->out.cut;
	struct remote_node *n = owner(run, p, &text, &len);

	if (n == NULL)
		return;
	if (cut)
		n->result->cut = true;
	remote_node_out(run, n, text, len, whole);
}

struct remote_node *
remote_pdsh_err(struct remote_run *run, struct remote_proc *p, char *text,
		size_t len, bool whole, const char **words)
{
	char *own = memmem(text, len, "pdsh@", 5), *behind = NULL;
	size_t before = own != NULL ? (size_t)(own - text) : len;
	size_t rest = len - before;
	struct remote_node *n = NULL;

	/* A message of pdsh may follow a node's text that has no newline. */
	if (before > 0) {
		n = owner(run, p, &text, &before);
		if (n != NULL)
			remote_node_err(run, n, text, before,
					whole && own == NULL);
		else
			remember(run, p, text, before);
	}
	if (own == NULL)
		return NULL;
	/* A message of pdsh itself: the result of a node, or the reason why
	 * pdsh failed. */
	n = NULL;
	behind = memmem(own, rest, ": ", 2);
	if (behind != NULL) {
		rest -= (size_t)(behind + 2 - own);
		own = behind + 2;
		n = owner(run, p, &own, &rest);
	}
	if (n == NULL)
		remember(run, p, own, rest);
	*words = own;
	return n;
}
