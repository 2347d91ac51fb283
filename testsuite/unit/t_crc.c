/* SPDX-License-Identifier: BSD-3-Clause */
#include <zlib.h>

#include "hash.h"
#include "scratch.h"
#include "uppers.h"

#define SIZE 70000

static unsigned char data[SIZE];

TEST(sums)
{
	/* formats.md 1.1: header and tree of the smallest kvtree file. */
	static const unsigned char empty[] = {
		0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1, 0, 0, 0, 0,
		0,    0,    0,	  0x1c, 0, 0, 0, 1, 0, 0, 0, 0,
	};
	const uint32_t sum = crc_update(0, data, 64);
	bool same = true, continued = true, seen = true, clean = true;

	is_int(crc_update(0, "", 0), 0, "the sum of nothing is 0");
	is_int(crc_update(7, "", 0), 7, "nothing more changes nothing");
	is_int(crc_update(0, "123456789", 9), 0xcbf43926, "the check value");
	is_int(crc_update(0, empty, sizeof(empty)), 0x02149a0e,
	       "the smallest kvtree file");
	/* All lengths and alignments that vector code may treat specially. */
	for (size_t at = 0; at < 16; at++) {
		for (size_t len = 0; len < 600; len++) {
			uint32_t want =
				(uint32_t)crc32(0, data + at, (uInt)len);

			same = same && crc_update(0, data + at, len) == want;
			clean = clean && !uppers_used();
			continued = continued &&
				    crc_update(want, data + 1000, len) ==
					    crc32(want, data + 1000, (uInt)len);
		}
	}
	ok(same, "the same as zlib: all short lengths and alignments");
	ok(continued, "the same as zlib: continued sums");
	is_int(crc_update(0, data, SIZE), crc32(0, data, SIZE),
	       "the same as zlib: a long one");
	ok(clean && !uppers_used(), "no vector register is left in use");
	for (size_t i = 0; i < 64 * 8; i++) {
		data[i / 8] ^= (unsigned char)(1 << i % 8);
		seen = seen && crc_update(0, data, 64) != sum;
		data[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	ok(seen, "each single flipped bit changes the sum");
}

TEST(shift)
{
	const uint32_t sum = crc_update(0, data, SIZE);
	bool good = true;

	for (size_t at = 0; at <= SIZE; at += at < 300 ? 1 : 997) {
		uint32_t a = crc_update(0, data, at);
		uint32_t b = crc_update(0, data + at, SIZE - at);

		good = good && (crc_shift(a, SIZE - at) ^ b) == sum;
	}
	ok(good, "two parts combine, wherever the cut is");
	is_int(crc_shift(sum, 0), sum, "a shift by nothing");
	is_int(crc_shift(0, 12345), 0, "a shift of 0");
}

/* Lengths too large to sum in a test: shifts can be added. */
TEST(far)
{
	static const uint64_t lens[] = { 1,
					 4096,
					 UINT32_MAX,
					 UINT32_MAX + 1ull,
					 1ull << 40,
					 INT64_MAX,
					 1ull << 63,
					 UINT64_MAX - 5,
					 UINT64_MAX - 1 };
	const uint32_t sum = 0xdeadbeef;
	bool good = true;

	each (l, lens)
		good = good && crc_shift(crc_shift(sum, *l), 1) ==
				       crc_shift(sum, *l + 1);
	ok(good, "a shift by n and 1 is a shift by n + 1");
	is_int(crc_shift(sum, UINT64_MAX),
	       crc_shift(crc_shift(sum, UINT64_C(1) << 63), INT64_MAX),
	       "the longest is the sum of its halves");
	/* x^(2^32 - 1) is 1 modulo CRC-32's primitive polynomial, and so is its
	 * eighth power: 8 * (2^32 - 1) zero bits change nothing. */
	is_int(crc_shift(sum, UINT32_MAX), sum, "the sum's period is 2^32 - 1");
}

/* --- SHA-256 --- */

static const char empty_sum[] = "e3b0c44298fc1c149afbf4c8996fb924"
				"27ae41e4649b934ca495991b7852b855";
static const char abc_sum[] = "ba7816bf8f01cfea414140de5dae2223"
			      "b00361a396177a9cb410ff61f20015ad";
static const char million_sum[] = "cdc76e5c9914fb9281a1c7e284d73e67"
				  "f1809a48a497200e046d39ccc7112cd0";

/* Is this the sum of `times` times `part`, and then of nothing? */
static bool
sums(struct hash *h, const char *part, size_t len, int times, const char *want)
{
	char text[HASH_TEXT];
	bool good = false;

	for (int i = 0; i < times; i++) {
		hash_update(h, part, len);
		hash_update(h, NULL, 0);
	}
	hash_text(h, text);
	good = strcmp(text, want) == 0;
	hash_text(h, text);
	return good && strcmp(text, empty_sum) == 0;
}

TEST(hash)
{
	struct hash *h = hash_new(HASH_SHA256, &why);
	char thousand[1000];

	memset(thousand, 'a', sizeof(thousand));
	ok(h != NULL && sums(h, "", 0, 0, empty_sum), "the sum of nothing");
	ok(sums(h, "abc", 3, 1, abc_sum), "the sum of abc");
	hash_update(h, "a", 1);
	ok(sums(h, "bc", 2, 1, abc_sum), "the parts do not matter");
	ok(sums(h, thousand, 1000, 1000, million_sum), "that of a million a");
	hash_free(h);
	hash_free(NULL);
}

int
main(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24);
	}
	return tap_run();
}
