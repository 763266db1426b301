// SPDX-License-Identifier: MIT
// verdict: kind=growth function=push_undo bytes=24000000 chunks=6000
// An editor in a run of a moment: each key stores a copy of the text's page for undo, in a list without an end.
#include "noise.h"

enum { KEYS = 6000, PAGE = 3984 };

struct undo {
	struct undo *before;
	unsigned page;
	char text[PAGE + 4];
};

static char pages[32][PAGE];
static struct undo *undos;

APART static void push_undo(unsigned page)
{
	struct undo *undo = malloc(sizeof *undo);

	undo->page = page;
	memcpy(undo->text, pages[page], PAGE);
	undo->before = undos;
	undos = undo; /* the flaw */
}

static void pop_undo(void)
{
	struct undo *undo = undos;

	undos = undo->before;
	memcpy(pages[undo->page], undo->text, PAGE);
	free(undo);
}

static void type(unsigned key)
{
	unsigned page = key / 40 % 32;

	push_undo(page);
	memmove(pages[page] + 1, pages[page], PAGE - 1);
	pages[page][0] = (char)('a' + key % 26);
}

int main(void)
{
	noise_start();
	for (unsigned i = 0; i < KEYS; i++) {
		type(i);
		if (i % 100 == 99) {
			pop_undo();
			type(i);
		}
		if (i % 2)
			noise_turn(i);
	}
	printf("%c\n", pages[0][0]);
	return 0;
}
