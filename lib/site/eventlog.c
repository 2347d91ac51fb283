/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/eventlog.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "io.h"
#include "meta/dataset_dir.h"
#include "meta/log.h"
#include "room.h"
#include "site/jobfiles.h"
#include "stream.h"

#define LOG_FILE "log"

static int
append_log(const char *prefix, const struct buf *line, struct error *err)
{
	struct error why = ERROR_INIT;
	int dir = -1, fd = -1, rc = -1;

	/* .scr is created if needed, but a missing prefix is a mistake. */
	if (access(prefix, F_OK) < 0)
		return error_sys(err, "%s", prefix);
	dir = jobfiles_open(prefix, true, err);
	if (dir < 0)
		return -1;
	fd = io_open(dir, LOG_FILE, O_WRONLY | O_APPEND | O_CREAT, 0600, &why);
	/* By one write(2), so that lines of concurrent writers do not mix. */
	if (fd >= 0)
		rc = stream_put(fd, line->data, line->len, NULL, &why);
	if (fd >= 0 && rc < 0)
		error_wrap(&why, LOG_FILE ": cannot add a line");
	if (rc < 0) {
		error_as(err, &why, "%s/%s/%s", prefix, SCR_DIR, why.text);
		room_explain(dir, line->len, err);
	}
	io_close(fd);
	close(dir);
	return rc;
}

int
eventlog_add(const char *prefix, const struct conf *c, const struct log_line *l,
	     struct error *err)
{
	bool on = false, text = true, sys = true;
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct log_line full = *l;
	struct buf line = BUF_INIT;
	const char *who = NULL, *event = NULL;
	int rc = 0;

	if (conf_bool(c, "SCR_LOG_ENABLE", false, &on, err) < 0 ||
	    conf_bool(c, "SCR_LOG_TXT_ENABLE", true, &text, err) < 0 ||
	    conf_bool(c, "SCR_LOG_SYSLOG_ENABLE", true, &sys, err) < 0)
		return -1;
	if (!on)
		return 0;
	(void)gethostname(host, sizeof(host) - 1);
	if (full.host == NULL)
		full.host = host;
	if (full.time < 0)
		full.time = clock_now();
	if (log_format(&full, &line) < 0)
		return error_no_memory(err);
	if (text)
		rc = append_log(prefix, &line, err);
	buf_free(&line);
	if (!sys)
		return rc;
	/* Syslog adds time and host itself. */
	who = full.job_id;
	full.host = full.job_id = NULL;
	if (log_format(&full, &line) < 0)
		return rc < 0 ? -1 : error_no_memory(err);
	event = strstr(line.data, ": ") + 2;
	openlog("SCR", 0, LOG_LOCAL7);
	syslog(LOG_INFO, "user=%s, jobid=%s, prefix=%s, %.*s",
	       full.user != NULL ? full.user : "", who != NULL ? who : "",
	       prefix, (int)strcspn(event, "\n"), event);
	closelog();
	buf_free(&line);
	return rc;
}
