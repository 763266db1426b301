/* SPDX-License-Identifier: MIT
 * Keeps a block of 2^62 bytes, as libclaims.so grants it, among others; and loses one. */
#include <stdint.h>
#include <stdlib.h>

static void *volatile kept[3];
static volatile uintptr_t hidden;

int main(void)
{
	kept[0] = malloc(60);
	kept[1] = malloc((size_t)1 << 62);
	hidden = ~(uintptr_t)malloc(50);
	kept[2] = malloc((size_t)1 << 40);
	return 0;
}
