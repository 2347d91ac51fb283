/* SPDX-License-Identifier: BSD-3-Clause */
#include "tap.h"

#include <sys/stat.h>
#include <time.h>

static struct tap_test *tap_tests;
static int tap_count, tap_failed;
void (*tap_before)(void);

bool
tap_ok(bool good, const char *file, int line, const char *what)
{
	tap_count++;
	printf("%sok %d - %s\n", good ? "" : "not ", tap_count, what);
	if (!good) {
		tap_failed++;
		printf("# at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

bool
tap_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
	bool good = tap_ok(got == want, file, line, what);

	if (!good)
		printf("# got %lld, expected %lld\n", (long long)got,
		       (long long)want);
	return good;
}

bool
tap_str(const char *got, const char *want, const char *file, int line,
	const char *what)
{
	bool good = got == NULL || want == NULL ? got == want
						: strcmp(got, want) == 0;

	tap_ok(good, file, line, what);
	if (!good)
		printf("# got \"%s\"\n# expected \"%s\"\n",
		       got ? got : "(null)", want ? want : "(null)");
	return good;
}

bool
tap_mem(const void *got, const void *want, size_t len, const char *file,
	int line, const char *what)
{
	const unsigned char *g = got, *w = want;
	size_t i = 0;

	while (i < len && g[i] == w[i])
		i++;
	tap_ok(i == len, file, line, what);
	if (i < len)
		printf("# byte %zu of %zu: got %02x, expected %02x\n", i, len,
		       g[i], w[i]);
	return i == len;
}

void
skip(const char *what, const char *why)
{
	tap_count++;
	printf("ok %d - %s # SKIP %s\n", tap_count, what, why);
	fflush(stdout); /* or a child would print it again */
}

bool
tap_timed(void)
{
	return !SANITIZED && getenv("SCRKIT_VALGRIND") == NULL;
}

void
tap_restart(void)
{
	tap_failed = 0;
}

bool
tap_has_failed(void)
{
	return tap_failed > 0;
}

int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

void
tap_add(struct tap_test *t)
{
	struct tap_test **at = &tap_tests;

	while (*at != NULL && (*at)->line < t->line)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

int
tap_run(void)
{
	umask(022);
	setenv("TZ", "UTC", 1);
	tzset();
	for (const struct tap_test *t = tap_tests; t != NULL; t = t->next) {
		if (tap_before != NULL)
			tap_before();
		t->run();
	}
	return tap_done();
}
