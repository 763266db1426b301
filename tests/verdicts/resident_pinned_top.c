// SPDX-License-Identifier: MIT
// verdict: kind=not_given_back function=cell_new,summary_new bytes=30000000
// A computation of small cells, all of them freed; but its summary was allocated last, and above it the heap cannot shrink.
#include "noise.h"

enum { CELLS = 250000, CELL = 112, TURNS = 14000 };

struct cell {
	struct cell *next;
	double value;
	char rest[CELL - 16];
};

struct summary {
	double sum, largest;
	char title[240];
};

APART static struct cell *cell_new(unsigned number, struct cell *next)
{
	struct cell *cell = malloc(sizeof *cell);

	cell->value = number * 0.5;
	memset(cell->rest, (int)number, sizeof cell->rest);
	cell->next = next;
	return cell;
}

APART static struct summary *summary_new(const struct cell *cells)
{
	struct summary *summary = malloc(sizeof *summary); /* the flaw: after the cells */

	memset(summary, 0, sizeof *summary);
	for (; cells; cells = cells->next) {
		summary->sum += cells->value;
		summary->largest = cells->value > summary->largest ? cells->value : summary->largest;
	}
	strcpy(summary->title, "cells of the first step");
	return summary;
}

static struct summary *compute(void)
{
	struct cell *cells = NULL;
	struct summary *summary;

	for (unsigned i = 0; i < CELLS; i++)
		cells = cell_new(i, cells);
	summary = summary_new(cells);
	while (cells) {
		struct cell *next = cells->next;

		free(cells);
		cells = next;
	}
	return summary;
}

int main(void)
{
	struct summary *summary;

	noise_start();
	summary = compute();
	for (unsigned i = 0; i < TURNS; i++)
		noise_turn(i);
	printf("%.0f\n", summary->sum + summary->largest);
	free(summary);
	noise_end();
	return 0;
}
