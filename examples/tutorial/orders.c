/* SPDX-License-Identifier: MIT
 * The first program of docs/TUTORIAL.md: reads orders, one "item quantity price" per line, and prints the turnover.
 * Lines that cannot be read are counted and skipped. */
#include <stdio.h>
#include <stdlib.h>

struct order {
	char item[32];
	int quantity;
	double price;
};

static struct order *order_parse(const char *line)
{
	struct order *order = calloc(1, sizeof *order);

	if (!order)
		return NULL;
	if (sscanf(line, "%31s %d %lf", order->item, &order->quantity, &order->price) != 3)
		return NULL;
	return order;
}

int main(void)
{
	int good = 0, bad = 0;
	double turnover = 0;

	for (int i = 0; i < 200000; i++) {
		char line[64];
		struct order *order;

		/* Every fifth line lacks its price. */
		snprintf(line, sizeof line, i % 5 == 0 ? "item%d %d" : "item%d %d 2.50", i % 100, i % 7 + 1);
		order = order_parse(line);
		if (!order) {
			bad++;
			continue;
		}
		good++;
		turnover += order->quantity * order->price;
		free(order);
	}
	printf("%d orders, turnover %.2f; %d lines skipped\n", good, turnover, bad);
	return 0;
}
