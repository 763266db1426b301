// SPDX-License-Identifier: MIT
// verdict: kind=none
// An interpreter with counted references: strings, numbers and pairs live as long as one of 600 registers has them.
#include "noise.h"

enum { REGISTERS = 600, STEPS = 20000 };

struct value {
	unsigned references;
	enum { NUMBER, TEXT, PAIR } kind;
	union {
		double number;
		char *text;
		struct value *pair[2];
	} is;
};

static struct value *registers[REGISTERS];

static struct value *hold(struct value *value)
{
	if (value)
		value->references++;
	return value;
}

static void drop(struct value *value)
{
	if (!value || --value->references)
		return;
	if (value->kind == TEXT)
		free(value->is.text);
	if (value->kind == PAIR) {
		drop(value->is.pair[0]);
		drop(value->is.pair[1]);
	}
	free(value);
}

APART static struct value *new_number(double number)
{
	struct value *value = malloc(sizeof *value);

	*value = (struct value){.references = 1, .kind = NUMBER, .is.number = number};
	return value;
}

APART static struct value *new_text(unsigned step)
{
	struct value *value = malloc(sizeof *value);

	*value = (struct value){.references = 1, .kind = TEXT, .is.text = malloc(24 + step % 500)};
	snprintf(value->is.text, 24, "text %u", step);
	return value;
}

/* Only of what is flat, so that nothing gets deep. */
APART static struct value *new_pair(struct value *a, struct value *b)
{
	struct value *value = malloc(sizeof *value);

	*value = (struct value){.references = 1, .kind = PAIR};
	value->is.pair[0] = a && a->kind != PAIR ? hold(a) : NULL;
	value->is.pair[1] = b && b->kind != PAIR ? hold(b) : NULL;
	return value;
}

static struct value *execute(unsigned step)
{
	switch (noise_random() % 3) {
	case 0:
		return new_number(step);
	case 1:
		return new_text(step);
	default:
		return new_pair(registers[noise_random() % REGISTERS], registers[noise_random() % REGISTERS]);
	}
}

int main(void)
{
	noise_start();
	for (unsigned i = 0; i < STEPS; i++) {
		struct value *value = execute(i);
		unsigned at = noise_random() % REGISTERS;

		drop(registers[at]);
		registers[at] = value;
		noise_turn(i);
	}
	for (unsigned i = 0; i < REGISTERS; i++)
		drop(registers[i]);
	noise_end();
	return 0;
}
