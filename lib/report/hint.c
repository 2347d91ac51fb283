/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/hint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "path.h"
#include "rescue/plan.h"
#include "str.h"

/* Bytes of a printable path or name, and of the same quoted. */
#define SHOWN_MAX 4200
#define QUOTED_MAX (4 * SHOWN_MAX)

/* Quote `text` as one printable word for the shell. */
static const char *
quote(const char *text, char to[static QUOTED_MAX])
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz"
				   "0123456789/._-+,:@%=";
	char shown[SHOWN_MAX];
	size_t len = 0;

	str_printable(shown, sizeof(shown), text);
	if (shown[0] != '\0' && shown[strspn(shown, safe)] == '\0') {
		snprintf(to, QUOTED_MAX, "%s", shown);
		return to;
	}
	to[len++] = '\'';
	/* An escaped quote takes 4 bytes; 2 stay free for the last quote and
	 * NUL. */
	for (const char *p = shown; *p != '\0' && len + 6 < QUOTED_MAX; p++) {
		if (*p == '\'')
			len += (size_t)snprintf(to + len, QUOTED_MAX - len,
						"'\\''");
		else
			to[len++] = *p;
	}
	to[len++] = '\'';
	to[len] = '\0';
	return to;
}

/* The commands may be installed under names with another beginning, as this
 * one: "sk-" of "sk-scr_index". */
static int
beginning(void)
{
	const char *name = program_invocation_short_name;
	const char *at = strstr(name, "scr_");

	return at != NULL ? (int)(at - name) : 0;
}

char *
report_command(const char *command, const char *prefix, const char *word,
	       char *to, size_t size)
{
	const char *rest = strchr(command, ' ');
	int verb = rest != NULL ? (int)(rest - command) : (int)strlen(command);
	char dir[QUOTED_MAX], dataset[QUOTED_MAX] = "";

	if (word != NULL)
		quote(word, dataset);
	if (prefix == NULL ||
	    (str_eq(prefix, ".") && getenv("SCR_PREFIX") == NULL))
		snprintf(to, size, "%.*s%s", beginning(),
			 program_invocation_short_name, command);
	else
		snprintf(to, size, "%.*s%.*s -p %s%s", beginning(),
			 program_invocation_short_name, verb, command,
			 quote(prefix, dir), command + verb);
	if (word != NULL)
		snprintf(to + strlen(to), size - strlen(to), " %s", dataset);
	return to;
}

char *
report_next(const char *command, struct catalogue *c, int64_t id, char *to,
	    size_t size)
{
	char word[WORD_ID_SIZE];

	return report_command(command, catalogue_path(c),
			      catalogue_word_now(c, id, word), to, size);
}

const char *
report_check(enum report_check what, bool deep, bool checksums)
{
	static const char *const commands[][4] = {
		[REPORT_CHECK_BUILD] = { "scr_index --build",
					 "scr_index --checksums --build",
					 "scr_index --deep --build",
					 "scr_index --deep --checksums --build" },
		[REPORT_CHECK_REBUILD] = { "scr_rebuild",
					   "scr_rebuild --checksums",
					   "scr_rebuild --deep",
					   "scr_rebuild --deep --checksums" },
		[REPORT_CHECK_INSPECT] = { "scr_inspect",
					   "scr_inspect --checksums",
					   "scr_inspect --deep",
					   "scr_inspect --deep --checksums" },
	};

	return commands[what][2 * deep + checksums];
}

const char *
report_mend(enum verify_mend mend, bool deep, bool checksums)
{
	switch (mend) {
	case MEND_MAP:
		return "scr_container repack";
	case MEND_UNPACK:
		return "scr_container --force unpack";
	case MEND_BUILD:
		return report_check(REPORT_CHECK_BUILD, deep, checksums);
	case MEND_NONE:
		break;
	}
	return NULL;
}

/* --- The next step --- */

/* "scr_index --build 5" */
static char *
command_for(struct catalogue *c, const struct index *ix, const char *command,
	    int64_t id, char *to, size_t size)
{
	char word[WORD_ID_SIZE];

	return report_command(command, catalogue_path(c),
			      catalogue_word(c, ix, id, word), to, size);
}

/* Would a job restart from this entry, although it is lost?  Another checkpoint
 * is chosen first. */
static bool
is_restart_point(const struct index *ix, const struct index_entry *e)
{
	const char *current = ix != NULL ? index_current(ix) : NULL;

	return e->current || (current == NULL && index_entry_valid(e));
}

/* The dataset is lost, or its wrong part cannot be found: no job restarts from
 * it any more; then its files go.  Sets *id to the dataset of the command. */
static const char *
give_up(const struct index *ix, const struct index_entry *e, bool indexed,
	const struct next_case *n, int64_t *id)
{
	const int64_t other = n->newest[n->newest[0] == e->id]; /* 0: none */

	if (other > 0 && is_restart_point(ix, e)) {
		*id = other;
		return "scr_index --current";
	}
	/* All data may be right. */
	if (n->undecided)
		return NULL;
	/* --drop removes no file. */
	return indexed ? "scr_index --drop" : "scr_index --delete";
}

static char *
move_back(const char *prefix, const struct next_case *n, char *to, size_t size)
{
	struct buf from = BUF_INIT, back = BUF_INIT;
	char *a = mem_alloc(QUOTED_MAX, 2), *b = a != NULL ? a + QUOTED_MAX : a;

	to[0] = '\0';
	if (a != NULL && path_join(&from, prefix, n->is, NULL) == 0 &&
	    path_join(&back, prefix, n->was, NULL) == 0)
		snprintf(to, size, "mv %s %s", quote(from.data, a),
			 quote(back.data, b));
	buf_free(&from);
	buf_free(&back);
	mem_free(a);
	return to;
}

/* Write "mv DIR DIR.old && ", if a directory is in the way.  Returns its
 * length. */
static size_t
clear_way(const char *obstacle, char *to, size_t size)
{
	char *a = NULL, *b = NULL;
	struct buf away = BUF_INIT;
	struct stat st;
	int n = 0;

	to[0] = '\0';
	if (obstacle == NULL || obstacle[0] == '\0')
		return 0;
	a = mem_alloc(QUOTED_MAX, 2);
	b = a != NULL ? a + QUOTED_MAX : a;
	for (int i = 0; a != NULL && (i == 0 || lstat(away.data, &st) == 0);
	     i++) {
		buf_clear(&away);
		if (buf_printf(&away, i > 0 ? "%s.old%d" : "%s.old", obstacle,
			       i) < 0)
			goto out;
	}
	if (a != NULL)
		n = snprintf(to, size, "mv %s %s && ", quote(obstacle, a),
			     quote(away.data, b));
out:
	buf_free(&away);
	mem_free(a);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

char *
report_scavenge(const char *prefix, const char *obstacle, char *to, size_t size)
{
	const size_t len = clear_way(obstacle, to, size);

	report_command("scr_postrun", prefix, NULL, to + len, size - len);
	return to;
}

char *
report_next_dirs(const char *command, const struct next_dirs *d, char *to,
		 size_t size)
{
	char *word = mem_alloc(QUOTED_MAX, 1);
	size_t len = clear_way(d->obstacle, to, size);

	if (command != NULL)
		report_command(command, NULL, NULL, to + len, size - len);
	len += strlen(to + len);
	for (size_t i = 0; i < d->ndirs && word != NULL && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, " %s",
					quote(d->dirs[i], word));
	/* What is not here may be on other nodes.  Directories of many nodes do
	 * not fit. */
	if (command == NULL || word == NULL || len >= size)
		report_scavenge(d->prefix, NULL, to, size);
	mem_free(word);
	return to;
}

/* Keep the dataset out of the index, in which a newer one has its name. */
static const char *
yield(const char *command, const struct next_case *n)
{
	if (command == NULL || !str_starts(command, "scr_index ") ||
	    !str_ends(command, "--build"))
		return command;
	return n->status == STATUS_DAMAGED ? n->rebuild : NULL;
}

char *
report_chmod(const struct plan *p, char *to, size_t size)
{
	char *word = mem_alloc(QUOTED_MAX, 1);
	struct buf path = BUF_INIT;
	size_t len = 0;

	to[0] = '\0';
	for (size_t i = 0; word != NULL && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		const char *root = p->places[f->place].root;

		if (f->state != FILE_PRESENT || !f->unreadable || f->packed ||
		    path_join(&path, root, f->path, NULL) < 0)
			continue;
		quote(path.data, word);
		if (len + strlen(word) + sizeof("chmod u+r ") > size)
			break; /* the next look names the others */
		len += (size_t)snprintf(to + len, size - len, "%s %s",
					len == 0 ? "chmod u+r" : "", word);
	}
	buf_free(&path);
	mem_free(word);
	return to;
}

char *
report_next_step(struct catalogue *c, const struct index *ix, int64_t id,
		 const struct next_case *n, char *to, size_t size)
{
	struct index_entry e = { .id = id, .complete = -1 };
	const bool indexed = ix != NULL && index_find_id(ix, id, &e, NULL) == 0;
	const char *command = n->mend;
	size_t len = 0;

	to[0] = '\0';
	if (n->was != NULL && n->was[0] != '\0')
		return move_back(catalogue_path(c), n, to, size);
	if (!indexed)
		e = (struct index_entry){ .id = id, .complete = -1 };
	if (n->absent)
		command = indexed ? "scr_index --drop" : "scr_index --delete";
	else if (n->kept && command == NULL)
		command = n->packed		  ? "scr_container unpack"
			  : index_entry_valid(&e) ? NULL
						  : "scr_index --build";
	else if (n->status == STATUS_LOST && !n->searched &&
		 catalogue_in_cache(c, id))
		return report_scavenge(catalogue_path(c), n->obstacle, to,
				       size);
	else if (n->status == STATUS_LOST ||
		 (n->status == STATUS_DAMAGED && command == NULL))
		command = give_up(ix, &e, indexed, n, &id);
	else if (n->rebuild != NULL && command != NULL && e.complete == 1)
		command = n->rebuild;
	else if (n->status == STATUS_FAILED && command == NULL)
		command = "scr_inspect";
	else if (n->status == STATUS_OK && command == NULL &&
		 (!indexed || !index_entry_valid(&e)))
		command = "scr_index --build";
	if (!indexed && catalogue_namesake(c, ix, id) > 0)
		command = yield(command, n);
	if (command != NULL) {
		if (n->status != STATUS_LOST)
			len = clear_way(n->obstacle, to, size);
		command_for(c, ix, command, id, to + len, size - len);
	}
	return to;
}

char *
report_next_now(struct catalogue *c, int64_t id, const struct next_case *n,
		char *to, size_t size)
{
	struct index *ix = catalogue_read_quietly(c, NULL);
	struct next_case now = *n;

	index_newest(ix, now.newest);
	report_next_step(c, ix, id, &now, to, size);
	index_free(ix);
	return to;
}
