/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/hint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "dir.h"
#include "io.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "path.h"
#include "rescue/plan.h"
#include "site/job.h"
#include "site/resmgr.h"
#include "str.h"

void
report_add_quoted(struct buf *out, const char *before, const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz"
				   "0123456789/._-+,:@%=";
	const char *shown = str_shown(text);

	buf_add_str(out, before);
	if (shown[0] != '\0' && shown[strspn(shown, safe)] == '\0') {
		buf_add_str(out, shown);
		return;
	}
	buf_add_char(out, '\'');
	for (; *shown != '\0'; shown++)
		if (*shown == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *shown);
	buf_add_char(out, '\'');
}

void
report_add_options(struct buf *out, const struct job_where *w, const char *down,
		   const char *remote)
{
	const struct {
		const char *option, *value;
	} given[] = {
		{ " --job-id ", w->job_id },
		{ " --user ", w->user },
		{ " --nodes ", w->nodes },
		{ " --down ", down },
		{ " --cntldir ", w->cntl_base },
		{ " --cachedir ", w->cache_base },
		{ " --resource-manager ", w->resmgr },
		{ " --conf ", w->conf_file },
		{ " --remote ", remote },
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value != NULL)
			report_add_quoted(out, given[i].option, given[i].value);
}

/* Copy the command to `to`, and free it. */
static char *
finish(struct buf *command, char *to, size_t size)
{
	snprintf(to, size, "%s", command->data != NULL ? command->data : "");
	buf_free(command);
	return to;
}

static void
add_command(struct buf *out, const char *command, const char *prefix,
	    const char *word)
{
	const size_t verb = strcspn(command, " ");
	const char *called = program_invocation_short_name;
	const char *at = strstr(called, "scr_");

	/* The commands may be installed under names with another beginning, as
	 * this one: "sk-" of "sk-scr_index". */
	if (at != NULL)
		buf_add(out, called, (size_t)(at - called));
	buf_add(out, command, verb);
	if (prefix != NULL &&
	    (!str_eq(prefix, ".") || getenv("SCR_PREFIX") != NULL))
		report_add_quoted(out, " -p ", prefix);
	buf_add_str(out, command + verb);
	if (word != NULL)
		report_add_quoted(out, " ", word);
}

char *
report_command(const char *command, const char *prefix, const char *word,
	       char *to, size_t size)
{
	struct buf out = BUF_INIT;

	add_command(&out, command, prefix, word);
	return finish(&out, to, size);
}

/* Each remedy as a command. */
static void
add_remedy(struct buf *out, enum error_remedy what, const struct next_case *n,
	   const char *prefix, const char *word)
{
	static const char *const commands[] = {
		[REMEDY_INDEX] = "scr_index --build",
		[REMEDY_REBUILD] = "scr_rebuild",
		[REMEDY_CHECKSUMS] = "scr_rebuild --checksums",
		[REMEDY_DEEP] = "scr_rebuild --deep",
		[REMEDY_PARTIAL] = "scr_rebuild --partial",
		[REMEDY_CHOOSE] = "scr_rebuild",
		[REMEDY_XOR] = "scr_rebuild --protect xor",
		[REMEDY_PARTNER] = "scr_rebuild --protect partner",
		[REMEDY_RS] = "scr_rebuild --protect rs",
		[REMEDY_LOOK] = "scr_inspect",
		[REMEDY_VERIFY] = "scr_container verify",
		[REMEDY_ADD] = "scr_index --add",
		[REMEDY_CURRENT] = "scr_index --current",
		[REMEDY_DROP] = "scr_index --drop",
		[REMEDY_DELETE] = "scr_index --delete",
		[REMEDY_REPACK] = "scr_container repack",
		[REMEDY_FORCE] = "scr_container --force unpack",
		[REMEDY_UNPACK] = "scr_container unpack",
	};
	const char *command = commands[what];
	const int verb = (int)strcspn(command, " ");
	const bool looks = what == REMEDY_INDEX || what == REMEDY_REBUILD ||
			   what == REMEDY_LOOK;

	add_command(out,
		    str_printed(64, "%.*s%s%s%s", verb, command,
				looks && n->deep ? " --deep" : "",
				looks && n->checksums ? " --checksums" : "",
				command + verb),
		    prefix, word);
}

char *
report_next(enum error_remedy what, struct catalogue *c, int64_t id,
	    char to[static ERROR_TEXT_MAX])
{
	const struct next_case plain = { .status = STATUS_OK };
	struct buf out = BUF_INIT;

	add_remedy(&out, what, &plain, catalogue_path(c),
		   catalogue_word_now_str(c, id));
	return finish(&out, to, ERROR_TEXT_MAX);
}

/* --- The next step --- */

/* The dataset is lost, or its wrong part cannot be found: no job restarts from
 * it any more; then its files go.  Sets *id to the dataset of the command. */
static enum error_remedy
give_up(const struct index *ix, const struct index_entry *e, bool indexed,
	const struct next_case *n, int64_t *id)
{
	const char *current = ix != NULL ? index_current(ix) : NULL;
	int64_t newest[2], other = 0; /* 0: none */

	index_newest(ix, newest);
	other = newest[newest[0] == e->id];
	/* If a job would restart from it, another one is chosen first. */
	if (other > 0 &&
	    (e->current || (current == NULL && newest[0] == e->id))) {
		*id = other;
		return REMEDY_CURRENT;
	}
	/* All data may be right. */
	if (n->undecided)
		return REMEDY_NONE;
	/* --drop removes no file. */
	return indexed ? REMEDY_DROP : REMEDY_DELETE;
}

/* If the directory of the dataset is a link, which --delete refuses: write "rm
 * LINK".  Its files stay where it leads. */
static bool
remove_link(const char *prefix, int64_t id, struct buf *out)
{
	struct buf path = BUF_INIT;
	struct stat st;
	bool is = false;

	buf_printf(&path, "%s/" SCR_DIR "/" DATASET_DIR_FMT, prefix, id);
	is = lstat(path.data, &st) == 0 && S_ISLNK(st.st_mode);
	if (is)
		report_add_quoted(out, "rm ", path.data);
	buf_free(&path);
	return is;
}

static void
move_back(const char *prefix, const struct next_case *n, struct buf *out)
{
	struct buf from = BUF_INIT, back = BUF_INIT;

	path_join(&from, prefix, n->way.is, NULL);
	path_join(&back, prefix, n->way.was, NULL);
	/* Else it would be moved into that directory. */
	if (access(back.data, F_OK) == 0) {
		report_add_quoted(out, "rmdir ", back.data);
		buf_add_str(out, " && ");
	}
	report_add_quoted(out, "mv ", from.data);
	report_add_quoted(out, " ", back.data);
	buf_free(&from);
	buf_free(&back);
}

/* If a directory is in the way, write "rmdir DIR && ", or "mv DIR DIR.old && ",
 * to `out`, which is empty, if it fits. */
static void
clear_way(const char *obstacle, struct buf *out)
{
	struct buf away = BUF_INIT;
	struct stat st;
	int fd = -1;

	if (obstacle == NULL || obstacle[0] == '\0')
		return;
	buf_printf(&away, "%s.old", obstacle);
	for (int i = 1; lstat(away.data, &st) == 0; i++) {
		buf_clear(&away);
		buf_printf(&away, "%s.old%d", obstacle, i);
	}
	fd = dir_open_plain(AT_FDCWD, obstacle);
	if (fd >= 0 && dir_is_empty(fd)) {
		report_add_quoted(out, "rmdir ", obstacle);
		buf_add_str(out, " && ");
	} else {
		report_add_quoted(out, "mv ", obstacle);
		report_add_quoted(out, " ", away.data);
		buf_add_str(out, " && ");
	}
	if (out->len >= ERROR_TEXT_MAX)
		buf_clear(out);
	io_close(fd);
	buf_free(&away);
}

/* Add the scavenge.  If neither the configuration nor a resource manager names
 * the nodes, the user has to: the command says so in a comment of the shell. */
static void
add_scavenge(struct buf *out, const char *prefix)
{
	const struct job_where where = { .prefix = prefix };
	struct job j;
	bool known = false;

	if (job_open(&j, &where, NULL) == 0)
		known = conf_is_set(j.conf, "SCR_NODELIST") ||
			resmgr_job_id(j.rm) != NULL;
	job_close(&j);
	add_command(out, "scr_postrun", prefix, NULL);
	if (!known)
		buf_add_str(out,
			    " --nodes NODES  # NODES: those of the job, which "
			    "no resource manager names here");
}

char *
report_scavenge(const char *prefix, const char *obstacle,
		char to[static ERROR_TEXT_MAX])
{
	struct buf out = BUF_INIT;

	clear_way(obstacle, &out);
	add_scavenge(&out, prefix);
	return finish(&out, to, ERROR_TEXT_MAX);
}

char *
report_next_dirs(const struct next_case *n, const char *const *dirs,
		 size_t ndirs, const char *prefix,
		 char to[static ERROR_TEXT_MAX])
{
	struct buf out = BUF_INIT;

	clear_way(n->way.obstacle, &out);
	if (n->remedy != REMEDY_NONE)
		add_remedy(&out, n->remedy, n, NULL, NULL);
	for (size_t i = 0; i < ndirs && out.len < ERROR_TEXT_MAX; i++)
		report_add_quoted(&out, " ", dirs[i]);
	/* What is not here may be on other nodes.  Directories of many nodes do
	 * not fit. */
	if (n->remedy == REMEDY_NONE || out.len >= ERROR_TEXT_MAX) {
		buf_clear(&out);
		add_scavenge(&out, prefix);
	}
	return finish(&out, to, ERROR_TEXT_MAX);
}

char *
report_chmod(const struct plan *p, char to[static ERROR_TEXT_MAX])
{
	struct buf out = BUF_INIT, path = BUF_INIT;
	size_t fits = 0;

	for (size_t i = 0; out.len < ERROR_TEXT_MAX && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		const char *root = p->places[f->place].root;

		if (f->state != FILE_PRESENT || !f->unreadable || f->packed)
			continue;
		path_join(&path, root, f->path, NULL);
		fits = out.len;
		report_add_quoted(&out, fits == 0 ? "chmod u+r " : " ",
				  path.data);
	}
	/* The next look names the others. */
	if (out.data != NULL && out.len >= ERROR_TEXT_MAX)
		out.data[fits] = '\0';
	buf_free(&path);
	return finish(&out, to, ERROR_TEXT_MAX);
}

char *
report_next_step(struct catalogue *c, const struct index *ix, int64_t id,
		 const struct next_case *n, char to[static ERROR_TEXT_MAX])
{
	struct index_entry e;
	const bool indexed = ix != NULL && index_find_id(ix, id, &e, NULL) == 0;
	enum error_remedy what = n->remedy;
	/* To write an entry of the index, nothing has to be found again. */
	struct next_case how = { .status = STATUS_OK };
	struct buf out = BUF_INIT;

	if (n->way.was[0] != '\0') {
		move_back(catalogue_path(c), n, &out);
		return finish(&out, to, ERROR_TEXT_MAX);
	}
	if (!indexed)
		e = (struct index_entry){ .id = id, .complete = -1 };
	if (!n->searched && ((n->status == STATUS_FAILED && n->nameless) ||
			     (n->status == STATUS_LOST &&
			      ((n->nameless && !indexed) || n->undecided ||
			       catalogue_in_cache(c, id)))))
		return report_scavenge(catalogue_path(c), n->way.obstacle, to);
	if (n->remedy != REMEDY_NONE)
		how = *n;
	if (n->absent) {
		what = indexed ? REMEDY_DROP : REMEDY_DELETE;
	} else if (n->kept && what == REMEDY_NONE) {
		what = n->packed	       ? REMEDY_UNPACK
		       : index_entry_valid(&e) ? REMEDY_NONE
					       : REMEDY_INDEX;
	} else if (n->status == STATUS_LOST ||
		   (n->status == STATUS_DAMAGED && what == REMEDY_NONE)) {
		what = give_up(ix, &e, indexed, n, &id);
	} else if (n->rebuild && what != REMEDY_NONE && e.complete == 1) {
		what = REMEDY_REBUILD;
	} else if (n->status == STATUS_FAILED && what == REMEDY_NONE) {
		what = n->look && !n->nameless ? REMEDY_LOOK : REMEDY_NONE;
		how = *n;
	} else if (n->status == STATUS_OK && what == REMEDY_NONE &&
		   (!indexed || !index_entry_valid(&e))) {
		what = REMEDY_INDEX;
	}
	/* The index has a newer one of its name: it stays out. */
	if (!indexed && what == REMEDY_INDEX &&
	    catalogue_namesake(c, ix, id) > 0)
		what = n->rebuild && n->status == STATUS_DAMAGED
			       ? REMEDY_REBUILD
			       : REMEDY_NONE;
	if (what == REMEDY_DELETE && remove_link(catalogue_path(c), id, &out))
		what = REMEDY_NONE;
	if (what != REMEDY_NONE) {
		if (n->status != STATUS_LOST)
			clear_way(n->way.obstacle, &out);
		/* Another one becomes current: a job must be able to fetch
		 * it. */
		if (id != e.id && catalogue_in_containers(c, id)) {
			add_remedy(&out, REMEDY_UNPACK, n, catalogue_path(c),
				   catalogue_word_str(c, ix, id));
			buf_add_str(&out, " && ");
		}
		add_remedy(&out, what, &how, catalogue_path(c),
			   catalogue_word_str(c, ix, id));
	}
	return finish(&out, to, ERROR_TEXT_MAX);
}

char *
report_next_now(struct catalogue *c, int64_t id, const struct next_case *n,
		char to[static ERROR_TEXT_MAX])
{
	struct index *ix = catalogue_read_quietly(c, NULL);

	report_next_step(c, ix, id, n, to);
	index_free(ix);
	return to;
}

char *
report_next_after(struct catalogue *c, int64_t id, const struct error *why,
		  struct next_case n, char to[static ERROR_TEXT_MAX])
{
	to[0] = '\0';
	if (id <= 0 || why->remedy == REMEDY_DECIDE)
		return to;
	/* What cannot be read says so, and a report finds what can be done
	 * about data that are lost, or may not be read; what is not known needs
	 * a look. */
	n.status = STATUS_FAILED;
	if ((why->kind == ERROR_SYSTEM && !error_may_pass(why)) ||
	    why->kind == ERROR_LOST ||
	    (why->kind == ERROR_ABSENT && catalogue_may_list(c, id)))
		n.remedy = REMEDY_LOOK;
	else if (why->kind != ERROR_SYSTEM && why->kind != ERROR_DAMAGED)
		return to;
	else if (why->remedy == REMEDY_VERIFY)
		n.remedy = REMEDY_VERIFY;
	return report_next_now(c, id, &n, to);
}

void
report_remedy(struct error *err, struct catalogue *c, int64_t id)
{
	const struct error why = *err;
	const struct next_case lost = { .status = STATUS_LOST };
	char next[ERROR_TEXT_MAX];

	/* A dataset of SCR 1.1.8 may have no number, which all remedies
	 * need. */
	if (why.remedy == REMEDY_NONE || why.remedy >= REMEDY_DECIDE || id <= 0)
		return;
	if (why.kind == ERROR_LOST)
		report_next_now(c, id, &lost, next);
	else
		report_next(why.remedy, c, id, next);
	error_as(err, &why, "%s%s: %s", why.text,
		 why.remedy == REMEDY_CHOOSE
			 ? "; to rebuild a file that you distrust, move it away"
			 : "",
		 next);
}

/* --- Containers --- */

char *
report_next_packed(enum error_remedy what, struct catalogue *c,
		   const struct packed *p, char to[static ERROR_TEXT_MAX])
{
	const struct next_case plain = { .status = STATUS_OK };
	struct buf out = BUF_INIT;

	if (what == REMEDY_NONE)
		what = p->hidden.incomplete ? REMEDY_FORCE : REMEDY_REPACK;
	if (p->layout != 1)
		return report_next(what, c, p->id, to);
	add_remedy(&out, what, &plain, catalogue_path(c), p->root);
	return finish(&out, to, ERROR_TEXT_MAX);
}

char *
report_next_health(struct catalogue *c, const struct packed *p,
		   const struct packed_health *h, int status,
		   char to[static ERROR_TEXT_MAX])
{
	const bool data = h->files_bad + h->hidden_bad > 0 || h->unfinished;
	const struct next_case n = { .status = status,
				     .kept = status == STATUS_DAMAGED,
				     .packed = true,
				     .look = true };

	to[0] = '\0';
	if (status == STATUS_DAMAGED && (data || h->map_damaged))
		report_next_packed(data ? REMEDY_CHECKSUMS : REMEDY_NONE, c, p,
				   to);
	else if (status != STATUS_OK && p->layout != 1 &&
		 (status != STATUS_FAILED || h->map_flaws == 0))
		report_next_now(c, p->id, &n, to);
	return to;
}
