/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - the output and the result of one node. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "remote/remote_impl.h"
#include "str.h"

/* Bytes of a clause for messages. */
#define WHY 256

/* No login has more bytes to say. */
#define GREETING ((size_t)1 << 20)

void
remote_node_end(struct remote_run *run, struct remote_node *n,
		enum remote_state state, int status, const char *fmt, ...)
{
	const bool begun = n->phase == REMOTE_RUNNING;
	struct remote_result *r = n->result;
	char raw[WHY] = "", why[WHY];
	va_list ap;

	if (n->phase == REMOTE_ENDED)
		return;
	if (fmt != NULL) {
		va_start(ap, fmt);
		vsnprintf(raw, sizeof(raw), fmt, ap);
		va_end(ap);
	}
	str_printable(why, sizeof(why), raw);
	if (n->phase == REMOTE_WAITING)
		run->waiting--;
	else
		run->active--;
	if (!begun && !run->ending) {
		if (n->heard && state > REMOTE_REFUSED)
			state = REMOTE_REFUSED;
		if (remote_way_next(run, n, state, why)) {
			/* It waits for the next attempt, as if it had not been
			 * asked. */
			buf_clear(&r->out);
			buf_clear(&r->err);
			r->cut = false;
			buf_clear(&n->words);
			n->complained = n->heard = false;
			n->bytes = 0;
			n->proc = NULL;
			n->phase = REMOTE_WAITING;
			n->due = clock_seconds() + REMOTE_PAUSE;
			run->waiting++;
			remote_queue(run, n);
			return;
		}
		state = n->sofar;
	}
	r->state = state;
	r->status = status;
	r->begun = begun;
	r->why = NULL;
	if (n->start > 0)
		r->seconds = clock_seconds() - n->start;
	if (fmt != NULL) {
		/* `why`, after those of the ways before, and of the attempt
		 * that decided. */
		buf_clear(&r->text);
		if (n->sign.len > 0 && !str_ends(n->sign.data, why) &&
		    (n->before.len == 0 ||
		     !strstr(n->before.data, n->sign.data)))
			buf_printf(&n->before, "%s; ", n->sign.data);
		if (n->before.len > 0)
			buf_printf(&r->text, "%s%s: ", n->before.data,
				   remote_kind_name(run->ways[n->way].kind));
		r->why = buf_add_str(&r->text, why) == 0 ? r->text.data
							 : "out of memory";
	}
	n->phase = REMOTE_ENDED;
	buf_free(&n->words);
	buf_free(&n->before);
	buf_free(&n->sign);
}

/* Append output to `b`, up to run->keep bytes. */
static void
keep(struct remote_run *run, struct remote_node *n, struct buf *b,
     const char *text, size_t len, bool whole)
{
	const size_t room = b->len < run->keep ? run->keep - b->len : 0;

	if (len + whole > room)
		n->result->cut = true;
	if (buf_add(b, text, len < room ? len : room) < 0 ||
	    (whole && len < room && buf_add_char(b, '\n') < 0))
		run->failed = true;
}

/* The node printed so many bytes more.  End one that does not stop: sooner, if
 * it has not come to the command. */
static void
count(struct remote_run *run, struct remote_node *n, size_t bytes)
{
	const size_t most = n->phase == REMOTE_STARTING && run->talk > GREETING
				    ? GREETING
				    : run->talk;

	n->last = clock_seconds();
	n->bytes += bytes;
	if (n->bytes <= most)
		return;
	if (n->proc != NULL)
		n->proc->overdue = true;
	remote_node_end(run, n, REMOTE_KILLED, -1,
			"printed more than %zu KiB: ended", most >> 10);
}

/* Keep a line that may explain a failure. */
static void
remember(struct remote_run *run, struct remote_node *n, const char *text,
	 size_t len, bool complaint)
{
	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		len--;
	if (len == 0 || (n->complained && !complaint))
		return;
	n->complained = complaint;
	buf_clear(&n->words);
	if (buf_add(&n->words, text, len < WHY ? len : WHY) < 0)
		run->failed = true;
}

void
remote_node_out(struct remote_run *run, struct remote_node *n, char *text,
		size_t len, bool whole)
{
	const size_t token = strlen(run->token);
	char *mark = NULL;
	int status = 0;

	if (n->phase == REMOTE_ENDED)
		return;
	n->heard = n->heard || len > 0;
	count(run, n, len + whole);
	if (n->phase == REMOTE_ENDED || n->phase == REMOTE_WAITING)
		return;
	if (run->ways[n->way].kind != REMOTE_LOCAL)
		mark = memmem(text, len, run->token, token);
	if (n->phase == REMOTE_STARTING) {
		if (mark != NULL && mark[token] == '+') {
			n->phase = REMOTE_RUNNING;
			remote_way_reached(run, n);
		} else {
			remember(run, n, text, len, false);
		}
		return;
	}
	if (mark != NULL) {
		/* Before the marker is the command's last line, if it has no
		 * newline. */
		len = (size_t)(mark - text);
		whole = false;
		*mark = '\0';
	}
	if (mark == NULL || len > 0) {
		keep(run, n, &n->result->out, text, len, whole);
		if (run->o->line != NULL)
			run->o->line(run->o->arg, (size_t)(n - run->nodes),
				     text);
	}
	if (mark == NULL)
		return;
	/* The command ended: its exit status follows the marker. */
	mark += token;
	for (int i = 0; i < 3 && mark[i] >= '0' && mark[i] <= '9'; i++)
		status = status * 10 + (mark[i] - '0');
	remote_node_end(run, n, REMOTE_DONE, status, NULL);
}

/* What follows "n1: ", the name of the node, perhaps without its domain. */
static const char *
behind_name(const struct remote_node *n, const char *text, const char *end)
{
	const char *colon = memmem(text, (size_t)(end - text), ": ", 2);
	const size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	return len > 0 && strncmp(n->name, text, len) == 0 &&
			       (n->name[len] == '\0' || n->name[len] == '.')
		       ? colon + 2
		       : text;
}

void
remote_node_err(struct remote_run *run, struct remote_node *n, const char *text,
		size_t len, bool whole)
{
	const bool pdsh = run->ways[n->way].kind == REMOTE_PDSH;
	const char *own = pdsh ? memmem(text, len, "pdsh@", 5) : NULL;
	const char *said = NULL;

	/* "pdsh@here: n1: ssh exited with exit code 255", perhaps behind a text
	 * without newline: pdsh's own words, which explain a failure if no
	 * others do. */
	if (own != NULL) {
		said = memmem(own, len - (size_t)(own - text), ": ", 2);
		if (said != NULL && n->phase != REMOTE_ENDED) {
			said = behind_name(n, said + 2, text + len);
			/* The node may have printed a reason on stdout. */
			if (!n->heard || n->words.len == 0)
				remember(run, n, said,
					 (size_t)(text + len - said), false);
		}
		len = (size_t)(own - text);
		whole = false;
		if (len == 0)
			return;
	}
	/* The rest of stderr may arrive after the marker on stdout. */
	if (n->phase != REMOTE_ENDED || n->result->state == REMOTE_DONE)
		keep(run, n, &n->result->err, text, len, whole);
	if (n->phase == REMOTE_ENDED)
		return;
	remember(run, n, text, len, true);
	count(run, n, len + whole);
}

void
remote_node_lost(struct remote_run *run, struct remote_node *n, int status)
{
	const enum remote_kind kind = run->ways[n->way].kind;
	const char *program = remote_kind_name(kind);
	const bool begun = n->phase == REMOTE_RUNNING;
	char text[WHY + 64];

	if (n->phase == REMOTE_ENDED)
		return;
	if (kind == REMOTE_LOCAL && status != -1) {
		if (WIFEXITED(status))
			remote_node_end(run, n, REMOTE_DONE,
					WEXITSTATUS(status), NULL);
		else
			remote_node_end(run, n, REMOTE_KILLED, -1,
					"killed by signal %d (%s)",
					WTERMSIG(status),
					strsignal(WTERMSIG(status)));
		return;
	}
	if (n->words.len > 0)
		snprintf(text, sizeof(text), "%s", n->words.data);
	else if (status != -1 && WIFSIGNALED(status))
		snprintf(text, sizeof(text), "%s was killed by signal %d",
			 program, WTERMSIG(status));
	else if (status != -1)
		snprintf(text, sizeof(text),
			 "%s ended with status %d without a message", program,
			 WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "%s ended with unknown status",
			 program);
	remote_node_end(run, n, begun ? REMOTE_KILLED : remote_way_told(text),
			-1, "%s%s",
			begun ? "cut off before the command ended: " : "",
			text);
}
