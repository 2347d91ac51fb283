/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_hostlist - time to process node lists of 100,000 hosts.  Prints lines
 *
 *	NAME <TAB> SECONDS <TAB> REMARK
 */
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "common.h"
#include "error.h"
#include "hostlist.h"

#define HOSTS 100000

static void
check(int rc, const struct error *err)
{
	if (rc == 0)
		return;
	fprintf(stderr, "bench_hostlist: %s\n", err->text);
	exit(1);
}

static void
report(const char *kind, const char *step, double seconds, const char *remark)
{
	printf("hostlist-%s-%s\t%.4f\t%s\n", kind, step, seconds, remark);
	fflush(stdout);
}

static void
bench(const char *kind, const char *text)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	struct hostlist h, again;
	char remark[80];
	double start = now();

	h = (struct hostlist)HOSTLIST_INIT;
	again = (struct hostlist)HOSTLIST_INIT;
	check(hostlist_add(&h, text, &err), &err);
	snprintf(remark, sizeof(remark), "%zu hosts", h.count);
	report(kind, "expand", now() - start, remark);
	start = now();
	check(hostlist_text(&h, &out, &err), &err);
	snprintf(remark, sizeof(remark), "%zu bytes", out.len);
	report(kind, "compress", now() - start, remark);
	check(hostlist_add(&again, out.data, &err), &err);
	start = now();
	check(hostlist_minus(&h, &again, &err), &err);
	report(kind, "minus", now() - start,
	       h.count == 0 ? "all of it" : "WRONG");
	hostlist_free(&h);
	hostlist_free(&again);
	buf_free(&out);
}

int
main(void)
{
	struct buf b = BUF_INIT;

	bench("row", "n[000001-100000]");
	bench("blade", "x[1000-1009]c[0-9]s[0-9]b[0-9]n[0-9]");
	for (unsigned i = 0; i < HOSTS; i++)
		buf_printf(&b, "n%u,", i);
	bench("plain", b.data);
	buf_clear(&b);
	for (unsigned i = 0; i < HOSTS; i++)
		buf_printf(&b, "%c%u-host%u,", (char)('a' + i * 7 % 26),
			   i * 7919 % HOSTS, i * 104729 % HOSTS);
	bench("random", b.data);
	buf_free(&b);
	return 0;
}
