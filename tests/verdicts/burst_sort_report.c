// SPDX-License-Identifier: MIT
// verdict: kind=burst function=sorted_copy bytes=24000000 chunks=1
// A store of orders that makes one report in mid run: it copies all orders with their texts to sort them, which makes the peak.
#include "noise.h"

enum { ORDERS = 60000, TURNS = 12000 };

struct order {
	unsigned id, amount;
};

struct row {
	struct order order;
	char text[392];
};

static struct order *parts[6]; /* by region, each of its own size */

static int by_amount(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->order.amount < y->order.amount ? -1 : x->order.amount > y->order.amount;
}

APART static struct order *read_part(unsigned part)
{
	struct order *orders = malloc(ORDERS / 6 * sizeof *orders);

	for (unsigned i = 0; i < ORDERS / 6; i++)
		orders[i] = (struct order){.id = part * ORDERS + i, .amount = noise_random() % 100000};
	return orders;
}

APART static struct row *sorted_copy(void)
{
	struct row *rows = malloc(ORDERS * sizeof *rows); /* the flaw: indices would do */

	for (unsigned i = 0; i < ORDERS; i++) {
		rows[i].order = parts[i % 6][i / 6];
		memset(rows[i].text, 'x', sizeof rows[i].text);
	}
	qsort(rows, ORDERS, sizeof *rows, by_amount);
	return rows;
}

static unsigned report(void)
{
	struct row *rows = sorted_copy();
	unsigned best = rows[ORDERS - 1].order.amount;

	free(rows);
	return best;
}

int main(void)
{
	unsigned best = 0;

	noise_start();
	for (unsigned i = 0; i < 6; i++)
		parts[i] = read_part(i);
	for (unsigned i = 0; i < TURNS; i++) {
		noise_turn(i);
		if (i == TURNS / 2)
			best = report();
	}
	printf("%u\n", best);
	for (unsigned i = 0; i < 6; i++)
		free(parts[i]);
	noise_end();
	return 0;
}
