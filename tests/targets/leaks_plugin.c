/* SPDX-License-Identifier: MIT
 * A library that leaks.c loads: its data and its zeroed data each hold a list. */
static void *volatile in_data[4] = {(void *)8};
static void *volatile in_zeroed_data[4096];

void keep(void *first, void *second);

void keep(void *first, void *second)
{
	in_data[1] = first;
	in_zeroed_data[2048] = second;
}
