// SPDX-License-Identifier: MIT
// verdict: kind=burst,resident function=snapshot_row bytes=32000000 chunks=40000
// A table whose rows are copied for a snapshot once; one row in ten of the copy stays, the others go. It makes the
// peak, and what is left of it holds all its pages.
#include "noise.h"

enum { ROWS = 40000, ROW = 800, TURNS = 12000 };

static unsigned table[ROWS];
static char **snapshot;

APART static char *snapshot_row(unsigned row)
{
	char *copy = malloc(ROW); /* the flaw: all rows at the same time */

	memset(copy, (int)table[row], ROW);
	snprintf(copy, ROW, "row %u: %u", row, table[row]);
	return copy;
}

APART static unsigned snapshot_write(void)
{
	unsigned written = 0;

	snapshot = malloc(ROWS * sizeof *snapshot);
	for (unsigned i = 0; i < ROWS; i++)
		snapshot[i] = snapshot_row(i);
	for (unsigned i = 0; i < ROWS; i++) {
		written += (unsigned)strlen(snapshot[i]);
		if (i % 10) {
			free(snapshot[i]);
			snapshot[i] = NULL;
		}
	}
	return written;
}

static void snapshot_drop(void)
{
	for (unsigned i = 0; i < ROWS; i++)
		free(snapshot[i]);
	free(snapshot);
}

static void change(unsigned turn)
{
	for (unsigned i = 0; i < 8; i++)
		table[(turn * 8 + i) * 31 % ROWS] += turn;
}

int main(void)
{
	unsigned written = 0;

	noise_start();
	for (unsigned i = 0; i < TURNS; i++) {
		change(i);
		noise_turn(i);
		if (i == TURNS / 3)
			written = snapshot_write();
	}
	printf("%u\n", written);
	snapshot_drop();
	noise_end();
	return 0;
}
