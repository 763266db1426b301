/* SPDX-License-Identifier: MIT
 * hash ROUNDS: counts words in a table with chains that grows, looks them up, and forgets a part of them.
 * A target for the measurement of access recording: small chunks and one large array, much of it hot. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 40000, STEPS = 200000, KEEP = 7 };

struct entry {
	struct entry *next;
	uint64_t hash;
	uint64_t count;
	char word[];
};

static struct entry **table;
static uint64_t size = 64, used;

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t hash_of(const char *word)
{
	uint64_t hash = 14695981039346656037u;

	while (*word)
		hash = (hash ^ (uint8_t)*word++) * 1099511628211u;
	return hash;
}

static void grow(void)
{
	struct entry **larger = calloc(size * 2, sizeof(*larger));

	for (uint64_t i = 0; i < size; i++) {
		struct entry *next;

		for (struct entry *e = table[i]; e; e = next) {
			next = e->next;
			e->next = larger[e->hash % (size * 2)];
			larger[e->hash % (size * 2)] = e;
		}
	}
	free(table);
	table = larger;
	size *= 2;
}

static void count(const char *word)
{
	uint64_t hash = hash_of(word);
	struct entry **at = &table[hash % size], *e;

	for (e = *at; e; e = e->next)
		if (e->hash == hash && strcmp(e->word, word) == 0) {
			e->count++;
			return;
		}
	e = malloc(sizeof(*e) + strlen(word) + 1);
	strcpy(e->word, word);
	e->hash = hash;
	e->count = 1;
	e->next = *at;
	*at = e;
	if (++used > size)
		grow();
}

/* Every seventh chain keeps its words. */
static void forget(void)
{
	for (uint64_t i = 0; i < size; i++)
		while (i % KEEP && table[i]) {
			struct entry *e = table[i];

			table[i] = e->next;
			free(e);
			used--;
		}
}

int main(int argc, char **argv)
{
	uint64_t state = 88172645463325252u, sum = 0;
	long rounds = argc > 1 ? atol(argv[1]) : 10;

	table = calloc(size, sizeof(*table));
	for (long round = 0; round < rounds; round++) {
		for (int step = 0; step < STEPS; step++) {
			/* Few words are frequent, most are rare. */
			uint64_t limit = 1 + random_next(&state) % KEYS;
			char word[40];

			snprintf(word, sizeof(word), "word-%llu",
				 (unsigned long long)(random_next(&state) % limit));
			count(word);
		}
		forget();
	}
	for (uint64_t i = 0; i < size; i++)
		for (struct entry *e = table[i]; e; e = e->next)
			sum += e->count * (e->hash & 0xff);
	printf("%llu entries, %llu\n", (unsigned long long)used, (unsigned long long)sum);
	return 0;
}
