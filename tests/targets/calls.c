/* SPDX-License-Identifier: MIT
 * Call graphs with known sums for the tables of mprof: two cycles of which one holds another, a
 * function that calls itself, functions that are called inside and outside of a cycle, a deep
 * chain, two calls in one function. Prints the offsets of those two calls: "site
 * FUNCTION+OFFSET". */
#include <stdio.h>
#include <stdlib.h>

#define CALLED __attribute__((noinline))

static volatile unsigned alive; /* keeps calls from becoming jumps */

static void keep(void *block)
{
	if (!block)
		abort();
	alive++;
}

static void drop(void *block)
{
	keep(block);
	free(block);
}

/* ---- a cycle of two: the stack main > ping > pong > ping > pong allocates 10 bytes ---- */

static void ping(unsigned n);

static CALLED void pong(unsigned n)
{
	if (n == 0)
		keep(malloc(10));
	else
		ping(n - 1);
	alive++;
}

static CALLED void ping(unsigned n)
{
	pong(n);
	alive++;
}

/* ---- a cycle of three, in which two also call each other ---- */

/* Called from inside the cycle and by main. */
static CALLED void make_name(void)
{
	drop(malloc(100));
	alive++;
}

static void walk_node(unsigned n);

static CALLED void walk_leaf(unsigned n)
{
	keep(malloc(300));
	if (n > 0)
		walk_node(n - 1);
	alive++;
}

static CALLED void walk_tree(unsigned n)
{
	walk_node(n);
	alive++;
}

/* A member of the cycle that main calls, too. */
static CALLED void walk_node(unsigned n)
{
	make_name();
	if (n >= 2)
		walk_tree(n - 2);
	else
		walk_leaf(n);
	alive++;
}

/* ---- a function that calls itself ---- */

static CALLED void nest(unsigned n)
{
	drop(malloc(40));
	if (n > 0)
		nest(n - 1);
	alive++;
}

/* ---- a chain of eight ---- */

static CALLED void deep8(void)
{
	keep(malloc(5000));
	alive++;
}

#define DEEP(name, next)                                                                           \
	static CALLED void name(void)                                                              \
	{                                                                                          \
		next();                                                                            \
		alive++;                                                                           \
	}
DEEP(deep7, deep8)
DEEP(deep6, deep7)
DEEP(deep5, deep6)
DEEP(deep4, deep5)
DEEP(deep3, deep4)
DEEP(deep2, deep3)
DEEP(deep1, deep2)

/* ---- two calls in one function ---- */

static void twice(void);

static CALLED void take(unsigned long size)
{
	char *from = __builtin_return_address(0);

	fprintf(stderr, "site twice+%ld\n", (long)(from - (char *)twice));
	keep(malloc(size));
	alive++;
}

static CALLED void twice(void)
{
	take(600);
	take(700);
	alive++;
}

int main(void)
{
	ping(1);
	walk_tree(3);
	walk_node(0);
	make_name();
	nest(2);
	deep1();
	twice();
	return 0;
}
