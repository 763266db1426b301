/* SPDX-License-Identifier: MIT
 * What every real program does besides its flaw: tables made at the start, short-lived strings, a few blocks lost once. No place of it
 * holds a fourth of its memory, and a turn computes for about 20 us, against which its four allocations cost next to nothing.
 * The work depends on counts alone, never on the clock. */
#ifndef VERDICTS_NOISE_H
#define VERDICTS_NOISE_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, unused))

enum { NOISE_WORDS = 9000, NOISE_ROWS = 60, NOISE_OPTIONS = 2500, NOISE_SPANS = 700, NOISE_ROUNDS = 2500 };

struct noise_option {
	struct noise_option *next;
	unsigned key;
	char value[1];
};

static char *noise_words[NOISE_WORDS];
static double *noise_rows[NOISE_ROWS];
static struct noise_option *noise_options;
static unsigned char *noise_spans[NOISE_SPANS];
static unsigned *noise_codes;
static unsigned noise_state = 12345;
static void *volatile noise_last; /* what the compiler may not reason about */
static volatile unsigned noise_sum;

static inline unsigned noise_random(void)
{
	noise_state = noise_state * 1664525u + 1013904223u;
	return noise_state >> 8;
}

/* Letters, NUL at the end: text of `size` bytes. */
static inline void noise_fill(char *text, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++)
		text[i] = (char)('a' + noise_random() % 26);
	text[size - 1] = 0;
}

APART static void noise_make_words(void)
{
	for (unsigned i = 0; i < NOISE_WORDS; i++) {
		size_t size = 8 + noise_random() % 80;

		noise_words[i] = (char *)malloc(size);
		noise_fill(noise_words[i], size);
	}
}

APART static void noise_make_rows(void)
{
	for (unsigned i = 0; i < NOISE_ROWS; i++) {
		noise_rows[i] = (double *)malloc(900 * sizeof(double));
		for (unsigned k = 0; k < 900; k++)
			noise_rows[i][k] = noise_random() % 1000;
	}
}

APART static void noise_make_options(void)
{
	for (unsigned i = 0; i < NOISE_OPTIONS; i++) {
		size_t size = 32 + noise_random() % 256;
		struct noise_option *one = (struct noise_option *)malloc(sizeof *one + size);

		one->key = i;
		noise_fill(one->value, size);
		one->next = noise_options;
		noise_options = one;
	}
}

APART static void noise_make_spans(void)
{
	for (unsigned i = 0; i < NOISE_SPANS; i++) {
		noise_spans[i] = (unsigned char *)malloc(300 + i);
		memset(noise_spans[i], (int)i, 300 + i);
	}
}

APART static void noise_make_codes(void)
{
	noise_codes = (unsigned *)calloc(100000, sizeof *noise_codes);
	for (unsigned i = 0; i < 100000; i++)
		noise_codes[i] = noise_random();
}

/* Lost at the start, once: 300 bytes that nobody would mend. */
APART static void noise_lose(void)
{
	static const size_t sizes[] = {24, 76, 200};

	for (unsigned i = 0; i < 3; i++) {
		noise_last = malloc(sizes[i]);
		memset(noise_last, 1, sizes[i]);
	}
	noise_last = NULL;
}

/* About 2 MiB in 12,000 chunks of five places. */
APART static void noise_start(void)
{
	noise_make_words();
	noise_make_rows();
	noise_make_options();
	noise_make_spans();
	noise_make_codes();
	noise_lose();
}

/* Programs that leave it out keep their tables to the end, as most do. */
APART static void noise_end(void)
{
	for (unsigned i = 0; i < NOISE_WORDS; i++)
		free(noise_words[i]);
	for (unsigned i = 0; i < NOISE_ROWS; i++)
		free(noise_rows[i]);
	for (unsigned i = 0; i < NOISE_SPANS; i++)
		free(noise_spans[i]);
	while (noise_options) {
		struct noise_option *next = noise_options->next;

		free(noise_options);
		noise_options = next;
	}
	free(noise_codes);
}

/* Computes without the heap: 1 is about 20 us. */
APART static void noise_work(unsigned times)
{
	unsigned sum = noise_sum;

	for (unsigned i = 0; i < times * NOISE_ROUNDS; i++)
		sum = (sum ^ noise_codes[(sum >> 7) % 100000]) * 2654435761u + i;
	noise_sum = sum;
}

APART static char *noise_line(unsigned turn)
{
	size_t size = 40 + turn % 120;
	char *line = (char *)malloc(size);

	snprintf(line, size, "%u %s", turn, noise_words[turn % NOISE_WORDS]);
	return line;
}

APART static char *noise_copy(const char *line)
{
	char *copy = (char *)malloc(strlen(line) + 1);

	return strcpy(copy, line);
}

APART static unsigned *noise_counts(unsigned turn)
{
	unsigned *counts = (unsigned *)calloc(16 + turn % 48, sizeof *counts);

	counts[turn % 16] = turn;
	return counts;
}

APART static unsigned char *noise_buffer(unsigned turn)
{
	size_t size = 256 + 64 * (turn % 61);
	unsigned char *buffer = (unsigned char *)malloc(size);

	memset(buffer, (int)turn, size);
	return buffer;
}

/* One tidy request: four chunks that overlap, and some work. */
APART static void noise_turn(unsigned turn)
{
	char *line = noise_line(turn), *copy = noise_copy(line);
	unsigned *counts = noise_counts(turn);
	unsigned char *buffer = noise_buffer(turn);

	noise_work(1);
	noise_sum = noise_sum + (unsigned)strlen(copy) + counts[turn % 16] + buffer[turn % 256] +
		    noise_spans[turn % NOISE_SPANS][9] + (unsigned)noise_rows[turn % NOISE_ROWS][turn % 900] + noise_options->key;
	free(line);
	free(buffer);
	free(counts);
	free(copy);
}

#endif
