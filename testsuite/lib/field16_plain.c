/* SPDX-License-Identifier: BSD-3-Clause */
#include "field16_plain.h"

uint16_t
plain_mul(uint16_t a, uint16_t b)
{
	uint32_t product = 0;

	for (int bit = 0; bit < 16; bit++)
		if (b >> bit & 1)
			product ^= (uint32_t)a << bit;
	for (int bit = 31; bit >= 16; bit--)
		if (product >> bit & 1)
			product ^= (uint32_t)0x1100b << (bit - 16);
	return (uint16_t)product;
}

uint16_t
plain_inverse(uint16_t a)
{
	static uint16_t known[64];
	uint16_t b = a < 64 && known[a] != 0 ? known[a] : 1;

	while (plain_mul(a, b) != 1)
		b++;
	if (a < 64)
		known[a] = b;
	return b;
}
