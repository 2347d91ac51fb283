/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of the log: a line that can be parsed can be formatted and parsed
 * again, and is then formatted the same.
 */
#include <math.h>

#include "fuzz_tree.h"
#include "meta/log.h"

static void
check(struct buf *line)
{
	auto_buf one = BUF_INIT, two = BUF_INIT;
	struct log_line l;

	if (log_parse(line->data, &l, NULL) == 0) {
		fuzz_require(l.event != NULL || l.xfer != NULL);
		fuzz_require(!isnan(l.secs) && !isnan(l.bytes));
		fuzz_require(log_format(&l, &one) == 0);
		fuzz_require(one.len >= 1 && one.len <= LOG_LINE_MAX + 1 &&
			     one.data[one.len - 1] == '\n');
		one.data[--one.len] = '\0';
		fuzz_require(strchr(one.data, '\n') == NULL);
		/* If the line was cut, its last field is incomplete. */
		if (one.len < LOG_LINE_MAX &&
		    log_parse(one.data, &l, NULL) == 0)
			fuzz_require(log_format(&l, &two) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf line = BUF_INIT;

	fuzz_require(buf_add(&line, data, size) == 0);
	check(&line);
	/* Random input hardly ever has a valid time stamp. */
	buf_clear(&line);
	fuzz_require(buf_add_str(&line, "2026-11-20T22:53:22: ") == 0 &&
		     buf_add(&line, data, size) == 0);
	check(&line);
	return 0;
}
