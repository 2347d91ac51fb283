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

void
remote_node_end(struct remote_run *run, struct remote_node *n,
		enum remote_state state, int status, const char *fmt, ...)
{
	struct remote_result *r = n->result;
	char raw[WHY], text[WHY];
	va_list ap;

	if (n->phase == REMOTE_ENDED)
		return;
	r->state = state;
	r->status = status;
	r->why = NULL;
	if (n->start > 0)
		r->seconds = clock_seconds() - n->start;
	if (fmt != NULL) {
		va_start(ap, fmt);
		vsnprintf(raw, sizeof(raw), fmt, ap);
		va_end(ap);
		str_printable(text, sizeof(text), raw);
		buf_clear(&r->text);
		r->why = buf_add_str(&r->text, text) == 0 ? r->text.data
							  : "out of memory";
	}
	if (n->phase == REMOTE_WAITING)
		run->waiting--;
	else
		run->active--;
	n->phase = REMOTE_ENDED;
	if (n->proc != NULL)
		n->proc->open--;
	buf_free(&n->words);
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

/* The command ended: parse its exit status after the marker. */
static void
take_status(struct remote_run *run, struct remote_node *n, const char *digits)
{
	int status = 0;

	for (int i = 0; i < 3 && digits[i] >= '0' && digits[i] <= '9'; i++)
		status = status * 10 + (digits[i] - '0');
	remote_node_end(run, n, REMOTE_DONE, status, NULL);
}

void
remote_node_out(struct remote_run *run, struct remote_node *n, char *text,
		size_t len, bool whole)
{
	const size_t token = strlen(run->token);
	char *mark = NULL;

	if (n->phase == REMOTE_ENDED)
		return;
	n->last = clock_seconds();
	if (run->kind != REMOTE_LOCAL)
		mark = memmem(text, len, run->token, token);
	if (n->phase == REMOTE_STARTING) {
		if (mark != NULL && mark[token] == '+') {
			n->phase = REMOTE_RUNNING;
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
	if (mark != NULL)
		take_status(run, n, mark + token);
}

void
remote_node_err(struct remote_run *run, struct remote_node *n, const char *text,
		size_t len, bool whole)
{
	/* The rest of stderr may arrive after the marker on stdout. */
	if (n->phase == REMOTE_ENDED) {
		if (n->result->state == REMOTE_DONE)
			keep(run, n, &n->result->err, text, len, whole);
		return;
	}
	n->last = clock_seconds();
	keep(run, n, &n->result->err, text, len, whole);
	remember(run, n, text, len, true);
}

static void
local_end(struct remote_run *run, struct remote_node *n, int status)
{
	if (WIFEXITED(status))
		remote_node_end(run, n, REMOTE_DONE, WEXITSTATUS(status), NULL);
	else
		remote_node_end(run, n, REMOTE_KILLED, -1,
				"killed by signal %d (%s)", WTERMSIG(status),
				strsignal(WTERMSIG(status)));
}

void
remote_node_lost(struct remote_run *run, struct remote_node *n, int status,
		 const char *words)
{
	const char *program = remote_kind_name(run->kind);
	const bool begun = n->phase == REMOTE_RUNNING;
	enum remote_state state = begun ? REMOTE_KILLED : REMOTE_REFUSED;
	char text[WHY + 64];

	if (n->phase == REMOTE_ENDED)
		return;
	if (run->kind == REMOTE_LOCAL && status != -1) {
		local_end(run, n, status);
		return;
	}
	if (n->words.len > 0)
		words = n->words.data;
	if (words != NULL)
		snprintf(text, sizeof(text), "%s", words);
	else if (status != -1 && WIFSIGNALED(status))
		snprintf(text, sizeof(text), "%s was killed by signal %d",
			 program, WTERMSIG(status));
	else if (status != -1)
		snprintf(text, sizeof(text),
			 "%s ended with status %d and said nothing", program,
			 WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "%s ended unobserved", program);
	if (!begun && (strstr(text, "timed out") || strstr(text, "timeout")))
		state = REMOTE_TIMEOUT;
	remote_node_end(run, n, state, -1, "%s%s",
			begun ? "cut off before the command ended: " : "",
			text);
}
