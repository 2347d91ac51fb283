/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/value.h"

#include "metatest.h"
#include "num.h"

/* Numbers as keys and in names have exactly one spelling. */
TEST(number)
{
	static const char bad[] = "|-1|+1| 1|1 |01|00|0x1|1x|a|1\n|"
				  "18446744073709551616|"
				  "99999999999999999999999";
	char text[NUM_TEXT], *rest = fmt("%s", bad), *word = NULL;
	uint64_t n = 7;

	while ((word = strsep(&rest, "|")) != NULL)
		ok(!value_number(word, UINT64_MAX, &n) && n == 7, label(word));
	ok(value_number("0", 0, &n) && n == 0, "0");
	ok(value_number("18446744073709551615", UINT64_MAX, &n) &&
		   n == UINT64_MAX,
	   "the largest");
	is_str(num_text(text, n), "18446744073709551615", "... and back");
	ok(!value_number("11", 10, &n), "above the bound");
	ok(value_number("10", 10, &n) && n == 10, "at the bound");
	is_str(value_scan("12_of_3", 100, &n), "_of_3", "a number in a name");
	is_int(n, 12, "... is read");
	ok(value_scan("_of_3", 100, &n) == NULL, "no number");
}

TEST(values)
{
	auto_kvtree *t = tree_of("a>1\nb>0x10\nc>1\nc>2\nd\ne>x y\nf>0\n"
				 "g>4294967296\nk\x01\x1b>x\n");
	const struct kvtree *a = kvtree_get(t, "a"), *b = kvtree_get(t, "b");
	const char *s = NULL;
	uint64_t n = 0;
	uint32_t u = 0;
	bool flag = true;

	ok(value_u64(a, 1, &n, &why) == 0 && n == 1, "u64");
	ok(value_u64(b, 16, &n, &why) == 0 && n == 16, "hexadecimal");
	refuses(value_u64(b, 15, &n, &why), ERROR_CORRUPT,
		"b: \"0x10\" is not a number from 0 to 15", "too large");
	refuses(value_u64(kvtree_get(t, "c"), 15, &n, &why), ERROR_CORRUPT,
		NULL, "two values");
	is_int(value_u64(kvtree_get(t, "d"), 15, &n, &why), -1, "no value");
	is_int(value_str(kvtree_get(t, "d"), &s, &why), -1, "... as text");
	is_int(value_str(kvtree_get(t, "e"), &s, &why), 0, "text");
	is_str(s, "x y", "... with a blank");
	ok(value_flag(a, &flag, &why) == 0 && flag, "true");
	ok(value_flag(kvtree_get(t, "f"), &flag, &why) == 0 && !flag, "false");
	is_int(value_flag(b, &flag, &why), -1, "neither");
	ok(value_u32(a, 5, &u, &why) == 0 && u == 1, "u32");
	is_int(value_u32(kvtree_get(t, "g"), UINT32_MAX, &u, &why), -1,
	       "too large for 32 bits");
	ok(value_u64(kvtree_get(t, "k\x01\x1b"), 5, &n, &why) < 0 &&
		   strchr(why.text, '\x1b') == NULL,
	   "a key that drives terminals is made harmless");
}
