// SPDX-License-Identifier: MIT
// verdict: kind=peak function=load_file bytes=25165824 chunks=1
// A counter of words that loads the whole input before it counts, where a line at a time would do.
#include "noise.h"

enum { SIZE = 24 << 20, COUNTERS = 4096 };

static unsigned counters[COUNTERS];

/* Stands for fread: text of words and spaces. */
static void fill(char *text, size_t size)
{
	unsigned state = 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 1103515245u + 12345;
		text[i] = (state >> 16) % 6 == 0 ? ' ' : (char)('a' + (state >> 20) % 26);
	}
}

APART static char *load_file(size_t size)
{
	char *text = malloc(size); /* the flaw */

	fill(text, size);
	return text;
}

APART static char *word_copy(const char *from, size_t length)
{
	char *word = malloc(length + 1);

	memcpy(word, from, length);
	word[length] = 0;
	return word;
}

static unsigned hash(const char *word)
{
	unsigned value = 5381;

	while (*word)
		value = value * 33 + (unsigned char)*word++;
	return value;
}

static unsigned count_words(const char *text, size_t size)
{
	unsigned words = 0;
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] != ' ')
			continue;
		if (i - from > 28) { /* rare: a word that is long enough for the second list */
			char *word = word_copy(text + from, i - from);

			counters[hash(word) % COUNTERS]++;
			free(word);
		}
		words++;
		from = i + 1;
	}
	return words;
}

int main(void)
{
	char *text;

	noise_start();
	for (unsigned i = 0; i < 1000; i++)
		noise_turn(i);
	text = load_file(SIZE);
	printf("%u words\n", count_words(text, SIZE));
	for (unsigned i = 0; i < 6000; i++)
		noise_turn(i);
	free(text);
	noise_end();
	return 0;
}
