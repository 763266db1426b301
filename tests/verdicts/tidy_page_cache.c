// SPDX-License-Identifier: MIT
// verdict: kind=tidy function=page_read bytes=33554432 chunks=8192
// A database file read by pages. The page cache has no limit, and is freed tidily at the end: no tool for leaks would say a word.
#include "noise.h"

enum { PAGES = 8192, PAGE = 4096, READS = 24000 };

static unsigned char *cache[PAGES];
static unsigned hits;

APART static unsigned char *page_read(unsigned number)
{
	unsigned char *page = malloc(PAGE);

	for (unsigned i = 0; i < PAGE; i += 8)
		page[i] = (unsigned char)(number + i);
	return page;
}

static const unsigned char *page_get(unsigned number)
{
	if (cache[number])
		hits++;
	else
		cache[number] = page_read(number); /* the flaw: none is ever evicted */
	return cache[number];
}

static void cache_free(void)
{
	for (unsigned i = 0; i < PAGES; i++)
		free(cache[i]);
}

static unsigned row_sum(unsigned row)
{
	const unsigned char *page = page_get(row / 3 % PAGES);
	unsigned sum = 0;

	for (unsigned i = 0; i < 64; i++)
		sum += page[(row * 64 + i) % PAGE];
	return sum;
}

APART static unsigned *result_row(unsigned row)
{
	unsigned *result = malloc(12 * sizeof *result);

	for (unsigned i = 0; i < 12; i++)
		result[i] = row_sum(row) + i;
	return result;
}

int main(void)
{
	unsigned total = 0;

	noise_start();
	for (unsigned i = 0; i < READS * 1024u / 1000; i++) {
		unsigned *result = result_row(i);

		total += result[3];
		free(result);
		if (i % 2)
			noise_turn(i);
	}
	printf("%u, %u hits\n", total, hits);
	cache_free();
	noise_end();
	return 0;
}
