/* SPDX-License-Identifier: BSD-3-Clause */
#include "error.h"
#include "hash.h"
#include "mem.h"
#include "tap.h"

/* FIPS 180-4 examples. */
static const char empty_sum[] = "e3b0c44298fc1c149afbf4c8996fb924"
				"27ae41e4649b934ca495991b7852b855";
static const char abc_sum[] = "ba7816bf8f01cfea414140de5dae2223"
			      "b00361a396177a9cb410ff61f20015ad";
static const char million_sum[] = "cdc76e5c9914fb9281a1c7e284d73e67"
				  "f1809a48a497200e046d39ccc7112cd0";

static void
test_sums(void)
{
	struct error err = ERROR_INIT;
	struct hash *h = hash_new(HASH_SHA256, &err);
	char text[HASH_TEXT], thousand[1000];
	bool good = true;
	int i = 0;

	ok(h != NULL, "hash_new()");
	is_int(hash_text(h, text, &err), 0, "hash_text()");
	is_str(text, empty_sum, "the sum of nothing");
	is_int(hash_update(h, "abc", 3, &err), 0, "hash_update()");
	hash_text(h, text, &err);
	is_str(text, abc_sum, "the sum of abc, after another");
	hash_text(h, text, &err);
	is_str(text, empty_sum, "it starts anew each time");
	for (i = 0; i < 3; i++)
		good = good && hash_update(h, &"abc"[i], 1, &err) == 0 &&
		       hash_update(h, NULL, 0, &err) == 0;
	hash_text(h, text, &err);
	ok(good, "parts are added");
	is_str(text, abc_sum, "the parts do not matter");
	memset(thousand, 'a', sizeof(thousand));
	for (i = 0; i < 1000; i++)
		good = good && hash_update(h, thousand, 1000, &err) == 0;
	hash_text(h, text, &err);
	is_str(text, million_sum, "the sum of a million a");
	is_int(err.kind, ERROR_NONE, "no error was set");
	hash_free(h);
	hash_free(NULL);
}

static void
test_nomem(void)
{
	struct error err = ERROR_INIT;

	mem_fail_after(0);
	ok(hash_new(HASH_SHA256, &err) == NULL, "no memory");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	ok(hash_new(HASH_SHA256, NULL) == NULL, "also where nobody listens");
	mem_fail_after(-1);
}

int
main(void)
{
	test_sums();
	test_nomem();
	return tap_done();
}
