/* SPDX-License-Identifier: MIT
 * Code for the symbol tests: plain C with static, inlined, cloned and cold functions. It is
 * compiled in several ways, and every few bytes of it are looked up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int visible(const char *text);
int visible_weak(int x);

struct list {
	struct list *next;
	int value;
};

static inline int square(int x)
{
	return x * x;
}

static inline int sum_of_squares(int x, int y)
{
	int a = square(x);
	int b = square(y);

	return a + b;
}

static __attribute__((noinline)) struct list *list_push(struct list *list, int value)
{
	struct list *new = malloc(sizeof(*new));

	if (!new) {
		fprintf(stderr, "no memory\n");
		abort();
	}
	new->next = list;
	new->value = sum_of_squares(value, value + 1);
	return new;
}

static __attribute__((cold, noinline)) int complain(const char *what)
{
	return fprintf(stderr, "unexpected: %s\n", what);
}

/* A constant second argument makes the compiler clone it. */
static __attribute__((noinline)) int list_sum(const struct list *list, int limit)
{
	int sum = 0;

	for (; list; list = list->next) {
		if (list->value > limit)
			complain("a large value");
		sum += list->value;
	}
	return sum;
}

__attribute__((weak)) int visible_weak(int x)
{
	return square(x) - 1;
}

int visible(const char *text)
{
	char copy[64];

	strncpy(copy, text, sizeof(copy) - 1);
	copy[63] = 0;
	return (int)strlen(copy) + visible_weak((int)copy[0]);
}

int main(int argc, char **argv)
{
	struct list *list = NULL;

	for (int i = 0; i < argc + 3; i++)
		list = list_push(list, i);
	printf("%d %d\n", list_sum(list, 1000), visible(argv[0]));
	while (list) {
		struct list *next = list->next;

		free(list);
		list = next;
	}
	return 0;
}
