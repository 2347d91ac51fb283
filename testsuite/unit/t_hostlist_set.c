/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <time.h>

#include "buf.h"
#include "error.h"
#include "hostlist.h"
#include "mem.h"
#include "tap.h"

#define HOSTS ((size_t)100000)
/* The goal is half of this; the machine may be busy. */
#define SECONDS 1.0

static struct hostlist
list(const char *text)
{
	struct hostlist h = HOSTLIST_INIT;

	if (hostlist_add(&h, text, NULL) < 0)
		abort();
	return h;
}

/* Is this the text of the list? */
static void
is_list(struct hostlist *h, const char *text, const char *what)
{
	struct buf b = BUF_INIT;

	hostlist_text(h, &b, NULL);
	is_str(b.data, text, what);
	buf_free(&b);
	hostlist_free(h);
}

typedef int operation(struct hostlist *h, const struct hostlist *other,
		      struct error *err);

static void
check(operation *op, const char *a, const char *b, const char *want,
      const char *what)
{
	struct hostlist h = list(a), other = list(b);

	is_int(op(&h, &other, NULL), 0, what);
	is_list(&h, want, what);
	hostlist_free(&other);
}

static int
unite(struct hostlist *h, const struct hostlist *other, struct error *err)
{
	return hostlist_add_list(h, other, err) < 0 ? -1
						    : hostlist_uniq(h, err);
}

static void
test_sets(void)
{
	struct hostlist h;

	check(hostlist_minus, "n[1-5]", "n[2-3],x", "n[1,4-5]", "minus");
	check(hostlist_minus, "c,a,b,a", "a", "c,b", "minus keeps the order");
	check(hostlist_minus, "a,a,b", "b", "a,a", "and what is there twice");
	check(hostlist_minus, "n[1-3]", "n[01-03]", "n[1-3]",
	      "n01 is another name than n1");
	check(hostlist_minus, "n[1-3]", "", "n[1-3]", "minus nothing");
	check(hostlist_minus, "", "n[1-3]", "", "nothing minus");
	check(hostlist_minus, "n[1-3]", "n[1-3]", "", "minus all");
	check(hostlist_both, "n[1-5]", "x,n[4,2]", "n[2,4]", "both");
	check(hostlist_both, "c,a,b,a", "a,c", "c,a,a",
	      "both keeps order and repetitions of the first");
	check(hostlist_both, "a", "", "", "both with nothing");
	check(unite, "n[3,1,3]", "n[2-3],m", "n[3,1-2],m", "union");
	check(unite, "", "b,a", "b,a", "union with nothing");
	h = list("b,a,b,c,a");
	is_int(hostlist_uniq(&h, NULL), 0, "uniq");
	is_list(&h, "b,a,c", "keeps of each name the first");
	h = list("n[1-2]");
	is_int(hostlist_add_list(&h, &h, NULL), 0, "a list is added to itself");
	is_list(&h, "n[1-2,1-2]", "and doubled");
	h = list("n[1-2]");
	is_int(hostlist_minus(&h, &h, NULL), 0, "a list minus itself");
	is_list(&h, "", "is empty");
}

static void
test_nth(void)
{
	struct hostlist h = list("n[1-9]");

	is_str(hostlist_nth(&h, 1), "n1", "the first");
	is_str(hostlist_nth(&h, 9), "n9", "the last");
	is_str(hostlist_nth(&h, -1), "n9", "the first from the end");
	is_str(hostlist_nth(&h, -9), "n1", "the last from the end");
	is_str(hostlist_nth(&h, 0), NULL, "there is no 0th");
	is_str(hostlist_nth(&h, 10), NULL, "none behind the last");
	is_str(hostlist_nth(&h, -10), NULL, "none before the first");
	is_str(hostlist_nth(&h, INT64_MIN), NULL, "none far away");
	is_str(hostlist_nth(&h, INT64_MAX), NULL, "on either side");
	hostlist_keep(&h, 10);
	hostlist_keep(&h, -10);
	hostlist_keep(&h, INT64_MIN);
	is_int((int64_t)h.count, 9, "more than there are is all");
	hostlist_keep(&h, 7);
	is_str(hostlist_nth(&h, -1), "n7", "the first 7");
	hostlist_keep(&h, -3);
	is_list(&h, "n[5-7]", "of these the last 3");
	h = list("n[1-9]");
	hostlist_keep(&h, 0);
	is_list(&h, "", "the first 0");
}

/* Run all functions with memory for `n` allocations. */
static int
with_memory(long n, const struct hostlist *other, struct error *err)
{
	struct buf out = BUF_INIT;
	struct hostlist h = HOSTLIST_INIT;
	int rc = -1;

	mem_fail_after(n);
	if (hostlist_add(&h, "r[1-4]n[1-9,12],a,a,b", err) == 0 &&
	    hostlist_add_name(&h, "c", err) == 0 &&
	    hostlist_add_list(&h, other, err) == 0 &&
	    hostlist_uniq(&h, err) == 0 && hostlist_both(&h, other, err) == 0 &&
	    hostlist_text(&h, &out, err) == 0 &&
	    hostlist_plain(&h, "\n", &out, err) == 0 &&
	    hostlist_minus(&h, other, err) == 0 && h.count == 0)
		rc = 0;
	mem_fail_after(-1);
	hostlist_free(&h);
	buf_free(&out);
	return rc;
}

static void
test_nomem(void)
{
	struct hostlist other = list("n[1-100]");
	struct error err = ERROR_INIT;
	bool told = true;
	long n = 0;

	while (n < 1000 && with_memory(n, &other, &err) < 0) {
		told = told && err.kind == ERROR_NOMEM;
		error_clear(&err);
		n++;
	}
	ok(n > 10 && n < 1000, "the n-th allocation fails, until none does");
	ok(told, "and each time this is said");
	hostlist_free(&other);
}

/* A list is unchanged if it cannot grow or be filtered. */
static void
test_nomem_unchanged(void)
{
	struct hostlist other = list("n[1-100]"), h;
	struct buf out = BUF_INIT;
	bool same = true;

	buf_add_str(&out, "text");
	for (long n = 0; n < 40; n++) {
		h = list("a,a,n[1-14]");
		mem_fail_after(n);
		if (n % 4 == 0 && hostlist_add(&h, "m[1-5000]", NULL) < 0)
			same = same && h.count == 16;
		if (n % 4 == 1 && hostlist_add_list(&h, &other, NULL) < 0)
			same = same && h.count == 16;
		if (n % 4 == 2 && hostlist_minus(&h, &other, NULL) < 0)
			same = same && h.count == 16;
		if (n % 4 == 3 && hostlist_uniq(&h, NULL) < 0)
			same = same && h.count == 16;
		mem_fail_after(n);
		if (hostlist_text(&h, &out, NULL) < 0)
			same = same && strcmp(out.data, "text") == 0;
		mem_fail_after(-1);
		out.len = 4;
		out.data[4] = '\0';
		same = same && h.count >= 2 && strcmp(h.names[0], "a") == 0;
		hostlist_free(&h);
	}
	ok(same, "a failure leaves list and buf unchanged");
	buf_free(&out);
	hostlist_free(&other);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The time to expand `text`, compress it, expand the result and subtract one
 * list from the other. */
static void
time_list(const char *text, const char *what)
{
	struct buf out = BUF_INIT;
	const double start = now();
	struct hostlist h = list(text), again;
	double took = 0;

	hostlist_text(&h, &out, NULL);
	again = list(out.data);
	is_int((int64_t)again.count, HOSTS, what);
	ok(strcmp(h.names[HOSTS / 2], again.names[HOSTS / 2]) == 0 &&
		   strcmp(h.names[HOSTS - 1], again.names[HOSTS - 1]) == 0,
	   "expand, compress, expand");
	hostlist_minus(&h, &again, NULL);
	is_int((int64_t)h.count, 0, "nothing is left of it");
	took = now() - start;
	printf("# %s: %.3f s, %zu bytes\n", what, took, out.len);
	ok(took < SECONDS || !tap_timed(), "in no time");
	hostlist_free(&h);
	hostlist_free(&again);
	buf_free(&out);
}

static void
test_scale(void)
{
	struct buf b = BUF_INIT;

	time_list("n[000001-100000]", "100,000 nodes of one row");
	time_list("x[1000-1009]c[0-9]s[0-9]b[0-9]n[0-9]",
		  "100,000 nodes of five numbers");
	for (size_t i = 0; i < HOSTS; i++)
		buf_printf(&b, "%c%zu-host%zu.site%c,",
			   (char)('a' + i * 7 % 26), i * 7919 % HOSTS,
			   i * 104729 % HOSTS, (char)('a' + i % 26));
	time_list(b.data, "100,000 nodes that have nothing in common");
	buf_clear(&b);
	for (size_t i = 0; i < HOSTS; i++)
		buf_printf(&b, "n%zu\n", 7 * i);
	time_list(b.data, "every seventh of 700,000 nodes");
	buf_clear(&b);
	for (size_t i = 0; i < HOSTS; i++)
		buf_printf(&b, "n%zu,", i / 100);
	time_list(b.data, "1,000 nodes, each 100 times");
	buf_free(&b);
}

int
main(void)
{
	test_sets();
	test_nth();
	test_nomem();
	test_nomem_unchanged();
	test_scale();
	return tap_done();
}
