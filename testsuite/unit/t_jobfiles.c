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

/* Write PREFIX/.scr/NAME with the keys of `text`. */
static void
put(const char *name, const char *text)
{
	auto_kvtree *t = tree_of(text);

	make_parents(here(".scr/x"));
	must(kvtree_write_file(t, AT_FDCWD, here(".scr/%s", name), NULL) == 0);
}

static const char *
where(const struct flush_entry *e, bool first)
{
	auto_buf b = BUF_INIT;

	jobfiles_location(e, first, &b);
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

	put(FLUSH_FILE, two);
	is_int(jobfiles_flush_read(scratch_root, &f, &why), 0, "a flush file");
	ok(f.count == 2 && f.all[0].id == 3, "... its entries");
	each (p, places)
		is_str(where(jobfiles_flush_find(&f, p->id), p->first), p->want,
		       "... the places of a dataset");
	json_free(jobfiles_flush_json(&f));
	jobfiles_flush_free(&f);
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

#define CACHE(id) "DATASET>" id ">LOCATION>CACHE\nDATASET>" id ">CKPT>1\n"
#define SAVED(id) "DATASET>" id ">LOCATION>PFS\nDATASET>" id ">CKPT>1\n"
#define MADE(id, time) "DATASET>" id ">DSETDESC>CREATED>" time "\n"

/* scr_prerun.bats has the jobs that run or ended; here, which data count. */
TEST(prepare)
{
	static const struct {
		const char *name, *flush;
		enum jobfiles_left left;
	} cases[] = {
		{ "nothing there", NULL, JOBFILES_NONE },
		{ "an older checkpoint in cache only", SAVED("7") CACHE("6"),
		  JOBFILES_REMOVED },
		{ "the newest checkpoint in cache only", CACHE("7") SAVED("6"),
		  JOBFILES_ASIDE },
		{ "output in cache only",
		  SAVED("7") CACHE("6") "DATASET>6>OUTPUT>1\n",
		  JOBFILES_ASIDE },
		{ "in cache only, older than one of the index",
		  CACHE("3") MADE("3", "1000"), JOBFILES_REMOVED },
		{ "... newer than all of the index",
		  CACHE("3") MADE("3", "3000"), JOBFILES_ASIDE },
	};

	each (c, cases) {
		const struct jobfiles_job job = { .id = "8" };
		const char *flush = here(".scr/%s", FLUSH_FILE);
		struct jobfiles_prepared p;

		scratch_new();
		if (c->flush != NULL)
			put(FLUSH_FILE, c->flush);
		put("index.scr", "VERSION>2\n"
				 "DSET>1>COMPLETE>1\nDSET>1>DSET>ID>1\n"
				 "DSET>1>DSET>NAME>a\nDSET>1>DSET>CKPT>1\n"
				 "DSET>1>DSET>CREATED>2000\nNAME>a>DSET>1\n");
		is_int(jobfiles_prepare(scratch_root, &job, &p, &why), 0,
		       c->name);
		is_int(p.left, c->left, "... is seen");
		ok(!exists(flush) && exists(fmt("%s.bak", flush)) ==
					     (c->left == JOBFILES_ASIDE),
		   "... flush file");
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
