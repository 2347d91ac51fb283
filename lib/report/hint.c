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

char *
report_next(const char *command, struct catalogue *c, int64_t id,
	    char to[static ERROR_TEXT_MAX])
{
	return report_command(command, catalogue_path(c),
			      catalogue_word_now_str(c, id), to,
			      ERROR_TEXT_MAX);
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
	static const char *const commands[] = {
		[MEND_XOR] = "scr_rebuild --protect xor",
		[MEND_PARTNER] = "scr_rebuild --protect partner",
		[MEND_RS] = "scr_rebuild --protect rs",
		[MEND_MAP] = "scr_container repack",
		[MEND_UNPACK] = "scr_container --force unpack",
		[MEND_LONG] = "scr_container unpack",
	};

	return mend == MEND_BUILD
		       ? report_check(REPORT_CHECK_BUILD, deep, checksums)
		       : commands[mend];
}

/* --- The next step --- */

/* The dataset is lost, or its wrong part cannot be found: no job restarts from
 * it any more; then its files go.  Sets *id to the dataset of the command. */
static const char *
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
		return "scr_index --current";
	}
	/* All data may be right. */
	if (n->undecided)
		return NULL;
	/* --drop removes no file. */
	return indexed ? "scr_index --drop" : "scr_index --delete";
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
report_next_dirs(const char *command, const char *const *dirs, size_t ndirs,
		 const char *prefix, const char *obstacle,
		 char to[static ERROR_TEXT_MAX])
{
	struct buf out = BUF_INIT;

	clear_way(obstacle, &out);
	if (command != NULL)
		add_command(&out, command, NULL, NULL);
	for (size_t i = 0; i < ndirs && out.len < ERROR_TEXT_MAX; i++)
		report_add_quoted(&out, " ", dirs[i]);
	/* What is not here may be on other nodes.  Directories of many nodes do
	 * not fit. */
	if (command == NULL || out.len >= ERROR_TEXT_MAX) {
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
	const char *command = n->mend;
	struct buf out = BUF_INIT;

	if (n->way.was[0] != '\0') {
		move_back(catalogue_path(c), n, &out);
		return finish(&out, to, ERROR_TEXT_MAX);
	}
	if (!indexed)
		e = (struct index_entry){ .id = id, .complete = -1 };
	if (n->nameless && !n->searched &&
	    (n->status == STATUS_FAILED ||
	     (n->status == STATUS_LOST && !indexed)))
		return report_scavenge(catalogue_path(c), n->way.obstacle, to);
	if (n->absent)
		command = indexed ? "scr_index --drop" : "scr_index --delete";
	else if (n->kept && command == NULL)
		command = n->packed		  ? "scr_container unpack"
			  : index_entry_valid(&e) ? NULL
						  : "scr_index --build";
	else if (n->status == STATUS_LOST && !n->searched &&
		 (n->undecided || catalogue_in_cache(c, id)))
		return report_scavenge(catalogue_path(c), n->way.obstacle, to);
	else if (n->status == STATUS_LOST ||
		 (n->status == STATUS_DAMAGED && command == NULL))
		command = give_up(ix, &e, indexed, n, &id);
	else if (n->rebuild != NULL && command != NULL && e.complete == 1)
		command = n->rebuild;
	else if (n->status == STATUS_FAILED && command == NULL)
		command = n->nameless ? NULL : n->look;
	else if (n->status == STATUS_OK && command == NULL &&
		 (!indexed || !index_entry_valid(&e)))
		command = "scr_index --build";
	/* The index has a newer one of its name: it stays out. */
	if (!indexed && command != NULL && str_starts(command, "scr_index ") &&
	    str_ends(command, "--build") && catalogue_namesake(c, ix, id) > 0)
		command = n->status == STATUS_DAMAGED ? n->rebuild : NULL;
	if (command != NULL && str_eq(command, "scr_index --delete") &&
	    remove_link(catalogue_path(c), id, &out))
		command = NULL;
	if (command != NULL) {
		if (n->status != STATUS_LOST)
			clear_way(n->way.obstacle, &out);
		/* Another one becomes current: a job must be able to fetch
		 * it. */
		if (id != e.id && catalogue_in_containers(c, id)) {
			add_command(&out, "scr_container unpack",
				    catalogue_path(c),
				    catalogue_word_str(c, ix, id));
			buf_add_str(&out, " && ");
		}
		add_command(&out, command, catalogue_path(c),
			    catalogue_word_str(c, ix, id));
	}
	return finish(&out, to, ERROR_TEXT_MAX);
}

void
report_next_now(struct catalogue *c, int64_t id, const struct next_case *n,
		char to[static ERROR_TEXT_MAX])
{
	struct index *ix = catalogue_read_quietly(c, NULL);

	report_next_step(c, ix, id, n, to);
	index_free(ix);
}
