/* SPDX-License-Identifier: MIT
 * Memory with known contents, and nothing freed: strings that should be one each, buffers of zeros, memory that was
 * never touched, and blocks that differ in the last byte only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COPIES = 10000,
	STRINGS = 100,
	STRING = 40, /* bytes */
	BUFFERS = 20,
	BUFFER = 5000,
	LARGE = 8 << 20,
	RECORDS = 300,
	RECORD = 77,
};

static char *strings[COPIES], *buffers[BUFFERS], *records[RECORDS], *large;

static __attribute__((noinline)) char *copy_string(int number)
{
	char *copy = malloc(STRING);

	memset(copy, 0, STRING);
	snprintf(copy, STRING, "a name that was read once more %d", number);
	return copy;
}

static __attribute__((noinline)) char *make_buffer(void) { return memset(malloc(BUFFER), 0, BUFFER); }

static __attribute__((noinline)) char *make_record(int number)
{
	char *record = malloc(RECORD);

	memset(record, 'r', RECORD);
	record[RECORD - 1] = (char)number;
	record[RECORD - 2] = (char)(number >> 8);
	return record;
}

/* twice [lost]   lost: no pointer to the strings is left */
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < COPIES; i++)
		strings[i] = copy_string(i % STRINGS);
	for (int i = 0; i < BUFFERS; i++)
		buffers[i] = make_buffer();
	for (int i = 0; i < RECORDS; i++)
		records[i] = make_record(i);
	large = calloc(1, LARGE);
	if (argc > 1)
		memset(strings, 0, sizeof strings);
	__asm__ volatile("" : : "r"(strings), "r"(buffers), "r"(records), "r"(large) : "memory");
	return 0;
}
