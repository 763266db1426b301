// SPDX-License-Identifier: MIT
// verdict: kind=lost function=parse_pair bytes=604800 chunks=1200
// A reader of configuration lines: "key=value". A value that is out of range is refused, and the pair made for it is lost.
#include "noise.h"

enum { LINES = 30000, PAIR_TEXT = 484 };

struct pair {
	struct pair *next;
	int value;
	char key[PAIR_TEXT + 4];
};

struct config {
	struct pair *first;
	unsigned pairs, refused;
};

APART static struct pair *parse_pair(const char *line)
{
	struct pair *pair = malloc(sizeof *pair);
	const char *equals = strchr(line, '=');

	memset(pair, 0, sizeof *pair);
	memcpy(pair->key, line, (size_t)(equals - line));
	pair->value = atoi(equals + 1);
	if (pair->value % 25 == 24) {
		noise_last = NULL;
		return NULL; /* the flaw: an early return */
	}
	return pair;
}

APART static char *read_line(unsigned number)
{
	char *line = malloc(64);

	snprintf(line, 64, "option.%u.name=%u", number * 7919 % 1000, number);
	return line;
}

static void config_clear(struct config *config)
{
	while (config->first) {
		struct pair *next = config->first->next;

		free(config->first);
		config->first = next;
	}
	config->pairs = 0;
}

static void config_add(struct config *config, struct pair *pair)
{
	if (!pair) {
		config->refused++;
		return;
	}
	pair->next = config->first;
	config->first = pair;
	if (++config->pairs == 200)
		config_clear(config);
}

int main(void)
{
	struct config config = {0};

	noise_start();
	for (unsigned i = 0; i < LINES; i++) {
		char *line = read_line(i);

		config_add(&config, parse_pair(line));
		free(line);
		if (i % 2 == 0)
			noise_turn(i);
	}
	config_clear(&config);
	printf("%u refused\n", config.refused);
	noise_end();
	return 0;
}
