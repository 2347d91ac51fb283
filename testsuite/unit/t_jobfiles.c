/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/eventlog.h"
#include "site/jobfiles.h"

#include <stdarg.h>
#include <syslog.h>

#include "conf.h"
#include "meta/flush.h"
#include "meta/log.h"
#include "metatest.h"

static const char two[] = "DATASET>7>DSETDESC>ID>7\n"
			  "DATASET>7>DSETDESC>JOBID>1000\n"
			  "DATASET>7>CKPT>1\nDATASET>7>LOCATION>CACHE\n"
			  "DATASET>7>NAME>ckpt.7\n"
			  "DATASET>3>OUTPUT>1\nDATASET>3>LOCATION>PFS\n"
			  "DATASET>3>LOCATION>CACHE\n"
			  "DATASET>3>LOCATION>SYNC_FLUSHING\n";

/* Write PREFIX/.scr/NAME with the keys of `text`; NULL: an invalid file. */
static void
put(const char *name, const char *text)
{
	auto_kvtree *t = NULL;

	if (text == NULL) {
		write_text(here(".scr/%s", name), "junk");
		return;
	}
	t = tree_of(text);
	make_parents(here(".scr/x"));
	must(kvtree_write_file(t, AT_FDCWD, here(".scr/%s", name), NULL) == 0);
}

static const char *
where(const struct flush_entry *e, bool first)
{
	auto_buf b = BUF_INIT;

	must(jobfiles_location(e, first, &b) == 0);
	return fmt("%s", b.data);
}

TEST(flush)
{
	static const struct {
		uint32_t id;
		bool first;
		const char *want;
	} places[] = {
		{ 3, false, "SYNC_FLUSHING PFS CACHE" },
		{ 3, true, "SYNC_FLUSHING" },
		{ 7, false, "CACHE" },
		{ 8, false, "NONE" },
	};
	struct jobfiles_flush f = { .count = 0 };

	is_int(jobfiles_flush_read(scratch_root, &f, &why), -1,
	       "no flush file");
	is_int(why.kind, ERROR_ABSENT, why.text);
	jobfiles_flush_free(&f);
	put(FLUSH_FILE, two);
	is_int(jobfiles_flush_read(scratch_root, &f, &why), 0, "a flush file");
	ok(f.count == 2 && f.all[0].id == 3, "... its entries");
	each (p, places)
		is_str(where(jobfiles_flush_find(&f, p->id), p->first), p->want,
		       "... the places of a dataset");
	json_free(jobfiles_flush_json(&f));
	jobfiles_flush_free(&f);
	for (int i = 0; i < 2; i++) {
		put(FLUSH_FILE, i == 0 ? NULL : "DATASET>x>CKPT>1\n");
		is_int(jobfiles_flush_read(scratch_root, &f, &why), -1,
		       "damaged");
		ok(why.kind == ERROR_CORRUPT && says(&why, FLUSH_FILE),
		   why.text);
	}
}

TEST(nodes)
{
	int64_t n = -1;

	is_int(jobfiles_nodes(scratch_root, &n, &why), -1, "no nodes file");
	is_int(why.kind, ERROR_ABSENT, why.text);
	put("nodes.scr", "NODES>4\n");
	ok(jobfiles_nodes(scratch_root, &n, &why) == 0 && n == 4, "nodes");
	put("nodes.scr", "OTHER>4\n");
	ok(jobfiles_nodes(scratch_root, &n, &why) == 0 && n == 0, "no number");
	put("nodes.scr", "NODES>many\n");
	is_int(jobfiles_nodes(scratch_root, &n, &why), -1, "nonsense");
	is_int(why.kind, ERROR_CORRUPT, why.text);
}

/* The last text passed to syslog(), which replaces that of the C library. */
static char sent[4096];

void
syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	must(priority == LOG_INFO);
	va_start(ap, fmt);
	vsnprintf(sent, sizeof(sent), fmt, ap);
	va_end(ap);
}

/* scr_env.bats has the lines; here, their file and what syslog gets. */
TEST(log)
{
	const struct conf_where w = { .prefix = scratch_root };
	struct log_line l = { LOG_LINE_NONE };
	const char *log = here(".scr/log"), *last = NULL;
	char host[256] = "";
	auto_buf text = BUF_INIT;
	auto_conf *c = NULL;
	struct stat st;

	l.user = "me";
	l.job_id = "7";
	l.event = "NODE_FAIL";
	l.note = "n2: dead";
	l.secs = 1.5;
	must(gethostname(host, sizeof(host) - 1) == 0);
	for (int on = 0; on < 2; on++) {
		write_text(here(".scrconf"),
			   fmt("SCR_LOG_ENABLE=1\nSCR_LOG_SYSLOG_ENABLE=%d\n",
			       on));
		conf_close(c);
		c = conf_open(&w, NULL);
		must(c != NULL);
		is_int(eventlog_add(scratch_root, c, &l, &why), 0, "a line");
		is_str(sent,
		       on == 0 ? ""
			       : fmt("user=me, jobid=7, prefix=%s, "
				     "event=NODE_FAIL, note=\"n2: dead\", "
				     "secs=1.500000",
				     scratch_root),
		       "... syslog has who and where, not the time and host");
	}
	read_whole(log, &text);
	last = strstr(text.data, fmt("host=%s, ", host));
	ok(last != NULL && strncmp(last - 21, "20", 2) == 0, "... here, now");
	ok(stat(log, &st) == 0 && (st.st_mode & 0777) == 0600, "... private");
	ok(eventlog_add(here("none"), c, &l, &why) < 0 &&
		   why.kind == ERROR_ABSENT && says(&why, "none"),
	   "no prefix");
}

static int
answer(void *arg, const char *id)
{
	must(strcmp(id, "1000") == 0);
	return *(int *)arg;
}

#define OLD "7" /* not the job that wrote `two` */
#define CACHE(id) "DATASET>" id ">LOCATION>CACHE\nDATASET>" id ">CKPT>1\n"
#define SAVED(id) "DATASET>" id ">LOCATION>PFS\nDATASET>" id ">CKPT>1\n"
#define MADE(id, time) "DATASET>" id ">DSETDESC>CREATED>" time "\n"

static const struct prepare_case {
	const char *name, *flush, *job_id;
	int runs;
	bool force;
	enum jobfiles_left left;
} cases[] = {
	{ "nothing there", NULL, OLD, 0, false, JOBFILES_NONE },
	{ "unsaved data", two, OLD, 0, false, JOBFILES_ASIDE },
	{ "all saved",
	  SAVED("7") "DATASET>7>DSETDESC>JOBID>1000\nDATASET>7>DSETDESC>ID>7\n",
	  OLD, 0, false, JOBFILES_REMOVED },
	{ "an older checkpoint in cache only", SAVED("7") CACHE("6"), OLD, 0,
	  false, JOBFILES_REMOVED },
	{ "the newest checkpoint in cache only", CACHE("7") SAVED("6"), OLD, 0,
	  false, JOBFILES_ASIDE },
	{ "output in cache only", SAVED("7") CACHE("6") "DATASET>6>OUTPUT>1\n",
	  OLD, 0, false, JOBFILES_ASIDE },
	{ "in cache only, older than one of the index",
	  CACHE("3") MADE("3", "1000"), OLD, 0, false, JOBFILES_REMOVED },
	{ "... newer than all of the index", CACHE("3") MADE("3", "3000"), OLD,
	  0, false, JOBFILES_ASIDE },
	{ "a job that runs", two, OLD, 1, false, JOBFILES_RUNNING },
	{ "a job that may run", two, OLD, -1, false, JOBFILES_RUNNING },
	{ "... with force", two, OLD, -1, true, JOBFILES_ASIDE },
	{ "this very job", two, "1000", 0, false, JOBFILES_OURS },
	{ "... with force", two, "1000", 0, true, JOBFILES_OURS },
	{ "no owner", SAVED("7"), OLD, 1, false, JOBFILES_REMOVED },
	{ "damaged", "", OLD, 1, false, JOBFILES_ASIDE },
};

TEST(prepare)
{
	each (t, cases) {
		const struct prepare_case *c = t;
		const bool kept =
			c->left == JOBFILES_OURS || c->left == JOBFILES_RUNNING;
		struct jobfiles_prepared p;
		int runs = c->runs;
		const struct jobfiles_job job = { .id = c->job_id,
						  .runs = answer,
						  .arg = &runs,
						  .force = c->force };
		const char *flush = here(".scr/%s", FLUSH_FILE);

		scratch_new();
		if (c->flush != NULL)
			put(FLUSH_FILE, c->flush[0] ? c->flush : NULL);
		put("nodes.scr", "NODES>4\n");
		put("halt.scr", "ExitReason>x\n");
		put("index.scr", "VERSION>2\n"
				 "DSET>1>COMPLETE>1\nDSET>1>DSET>ID>1\n"
				 "DSET>1>DSET>NAME>a\nDSET>1>DSET>CKPT>1\n"
				 "DSET>1>DSET>CREATED>2000\nNAME>a>DSET>1\n");
		is_int(jobfiles_prepare(scratch_root, &job, &p, &why), 0,
		       c->name);
		is_int(p.left, c->left, "... is seen");
		ok(exists(flush) == kept && exists(fmt("%s.bak", flush)) ==
						    (c->left == JOBFILES_ASIDE),
		   "... flush file");
		ok(exists(here(".scr/nodes.scr")) == kept, "... nodes file");
		ok(exists(here(".scr/halt.scr")), "... halt stays");
		ok(p.may_run == (c->runs < 0 && !c->force), "... certain?");
	}
}

TEST(prepare_new)
{
	const struct jobfiles_job job = { .id = "7" };
	struct jobfiles_prepared p;

	scratch_new();
	is_int(jobfiles_prepare(here("new one/two"), &job, &p, &why), 0,
	       "a prefix that is not there");
	ok(exists(here("new one/two/.scr")), "... is made");
	write_text(here("file"), "");
	is_int(jobfiles_prepare(here("file"), &job, &p, &why), -1,
	       "one that is a file");
	ok(why.kind == ERROR_SYSTEM && says(&why, "file"), why.text);
}

TEST(no_memory)
{
	without_memory_after (x, put(FLUSH_FILE, two), 2, "... to prepare") {
		const struct jobfiles_job job = { .id = "7", .force = true };
		struct jobfiles_prepared p;

		x.rc = jobfiles_prepare(scratch_root, &job, &p, &x.err);
	}
	put(FLUSH_FILE, two);
	without_memory (m, 2, "no memory to read") {
		struct jobfiles_flush f = { .count = 0 };

		m.rc = jobfiles_flush_read(scratch_root, &f, &m.err);
		jobfiles_flush_free(&f);
	}
}

int
main(void)
{
	setenv("SCRKIT_SYSTEM_CONF", "/nonexistent", 1);
	unsetenv("SCR_LOG_ENABLE");
	scratch_new();
	return tap_run();
}
