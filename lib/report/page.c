/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page.h"

#include <fcntl.h>
#include <stdio.h>

#include "clock.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "path.h"
#include "str.h"
#include "when.h"

/* The files share/report.css and share/report.js: see the Makefile. */
extern const char report_css[], report_js[];

/* Append `text` as text of an element. */
static void
add_escaped(struct buf *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '&')
			buf_add_str(out, "&amp;");
		else if (*text == '<')
			buf_add_str(out, "&lt;");
		else
			buf_add_char(out, *text);
}

void
page_title(struct page_title *t, const char *subject)
{
	if (t->count < 3)
		buf_printf(&t->text, "%s%s", t->count > 0 ? ", " : "",
			   t->count < 2 ? subject : "...");
	t->count++;
}

int
page_write(const char *path, const char *command, const char *title,
	   struct json *answer, const struct buf *text, struct error *err)
{
	struct buf page = BUF_INIT, json = BUF_INIT, here = BUF_INIT;
	int rc = json_line(answer, &json, err);

	buf_add_str(&page,
		    "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		    "<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" "
		    "content=\"default-src 'none'; script-src 'unsafe-inline'; "
		    "style-src 'unsafe-inline'\">\n<meta name=\"viewport\" "
		    "content=\"width=device-width,initial-scale=1\">\n<title>");
	add_escaped(&page, str_shown(title != NULL ? title : command));
	buf_add_str(&page, "</title>\n<style>\n");
	buf_add_str(&page, report_css);
	buf_add_str(&page, "</style></head><body>\n<main id=\"report\">"
			   "</main>\n<noscript><pre>");
	add_escaped(&page, text->data != NULL ? text->data : "");
	buf_add_str(&page, "</pre></noscript>\n<p class=\"dim\">");
	/* Names of files are relative to this directory. */
	(void)path_absolute(".", &here, NULL);
	add_escaped(&page,
		    str_printed(STR_SHOWN, "%s in %s, %s UTC, scrkit %s",
				command,
				str_shown(here.data != NULL ? here.data : "."),
				when_utc(clock_now()), SCRKIT_VERSION));
	buf_add_str(&page,
		    "</p>\n<script id=\"answer\" type=\"application/json\">");
	/* Only strings have '<', with which the element could end, or a comment
	 * begin. */
	for (size_t i = 0; i < json.len; i++)
		if (json.data[i] == '<')
			buf_add_str(&page, "\\u003c");
		else
			buf_add_char(&page, json.data[i]);
	buf_add_str(&page, "</script>\n<script>\n");
	buf_add_str(&page, report_js);
	buf_add_str(&page, "</script></body></html>\n");
	if (rc == 0 && str_eq(path, "-"))
		fwrite(page.data, 1, page.len, stdout);
	else if (rc == 0)
		rc = io_check_output(path, err) < 0
			     ? -1
			     : io_replace(AT_FDCWD, path, page.data, page.len,
					  0666, err);
	if (rc < 0 && err->kind == ERROR_SYSTEM) {
		const struct error why = *err;

		error_as(err, &why, "%s; write the page elsewhere", why.text);
		error_remedy(err, REMEDY_STOP);
	}
	buf_free(&page);
	buf_free(&json);
	buf_free(&here);
	return rc;
}
