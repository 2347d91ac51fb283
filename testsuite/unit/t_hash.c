/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include "scratch.h"

/* FIPS 180-4 examples. */
static const char empty_sum[] = "e3b0c44298fc1c149afbf4c8996fb924"
				"27ae41e4649b934ca495991b7852b855";
static const char abc_sum[] = "ba7816bf8f01cfea414140de5dae2223"
			      "b00361a396177a9cb410ff61f20015ad";
static const char million_sum[] = "cdc76e5c9914fb9281a1c7e284d73e67"
				  "f1809a48a497200e046d39ccc7112cd0";

/* Is this the sum of `times` times `data`, and then of nothing? */
static bool
sums(struct hash *h, const char *data, size_t len, int times, const char *want)
{
	char text[HASH_TEXT];
	bool good = true;

	for (int i = 0; i < times; i++)
		good = good && hash_update(h, data, len, NULL) == 0 &&
		       hash_update(h, NULL, 0, NULL) == 0;
	good = good && hash_text(h, text, NULL) == 0 && strcmp(text, want) == 0;
	return good && hash_text(h, text, NULL) == 0 &&
	       strcmp(text, empty_sum) == 0;
}

int
main(void)
{
	struct error err = ERROR_INIT;
	struct hash *h = hash_new(HASH_SHA256, &err);
	char thousand[1000];

	memset(thousand, 'a', sizeof(thousand));
	ok(h != NULL && sums(h, "", 0, 0, empty_sum), "the sum of nothing");
	ok(sums(h, "abc", 3, 1, abc_sum), "the sum of abc");
	must(hash_update(h, "a", 1, NULL) == 0);
	ok(sums(h, "bc", 2, 1, abc_sum), "the parts do not matter");
	ok(sums(h, thousand, 1000, 1000, million_sum), "that of a million a");
	hash_free(h);
	hash_free(NULL);
	mem_fail_after(0);
	ok(hash_new(HASH_SHA256, &err) == NULL &&
		   hash_new(HASH_SHA256, NULL) == NULL,
	   "no memory, also where nobody listens");
	mem_fail_after(-1);
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	return tap_done();
}
