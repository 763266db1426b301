// SPDX-License-Identifier: MIT
// verdict: kind=none
// A compiler in small: each function of the source is scanned, parsed into an arena, and its code kept in a symbol table made for it.
#include "noise.h"

enum { FUNCTIONS = 1500, ARENA = 65536 };

struct arena {
	char *memory;
	size_t used;
};

struct symbol {
	char *name;
	unsigned short *code;
	unsigned length;
};

struct node {
	struct node *left, *right;
	unsigned value;
};

static struct node *node_new(struct arena *arena, unsigned value)
{
	struct node *node = (struct node *)(arena->memory + arena->used);

	arena->used += sizeof *node;
	*node = (struct node){.value = value};
	return node;
}

static struct node *parse(struct arena *arena, unsigned depth, unsigned seed)
{
	struct node *node = node_new(arena, seed % 1000);

	if (depth) {
		node->left = parse(arena, depth - 1, seed * 3 + 1);
		node->right = parse(arena, depth - 1, seed * 5 + 2);
	}
	return node;
}

static unsigned emit(const struct node *node, unsigned short *code, unsigned at)
{
	if (!node)
		return at;
	at = emit(node->left, code, at);
	at = emit(node->right, code, at);
	code[at] = (unsigned short)node->value;
	return at + 1;
}

APART static char *name_of(unsigned number)
{
	char *name = malloc(32);

	snprintf(name, 32, "function_%u", number);
	return name;
}

APART static unsigned short *code_new(unsigned length)
{
	return malloc(length * sizeof(unsigned short));
}

int main(void)
{
	struct arena arena = {.memory = malloc(ARENA)};
	struct symbol *symbols = malloc(FUNCTIONS * sizeof *symbols);
	unsigned long sum = 0;

	noise_start();
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		unsigned depth = 3 + i % 4;

		arena.used = 0;
		symbols[i] = (struct symbol){.name = name_of(i), .length = (2u << depth) - 1};
		symbols[i].code = code_new(symbols[i].length);
		emit(parse(&arena, depth, i), symbols[i].code, 0);
		for (unsigned k = 0; k < 3; k++)
			noise_turn(i * 3 + k);
	}
	for (unsigned i = 0; i < 12 * FUNCTIONS; i++) { /* linking: no more memory */
		sum += symbols[i % FUNCTIONS].code[symbols[i % FUNCTIONS].length / 2];
		noise_turn(i);
	}
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		free(symbols[i].name);
		free(symbols[i].code);
	}
	free(symbols);
	free(arena.memory);
	printf("%lu\n", sum);
	noise_end();
	return 0;
}
