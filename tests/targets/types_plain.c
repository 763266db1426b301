/* SPDX-License-Identifier: MIT
 * Types of known sizes, for the search of types by size; allocates one of each that has a name
 * of its own here. */
#include <stdlib.h>

struct tagged { /* 72 */
	long numbers[9];
};

typedef struct { /* 88 */
	long numbers[11];
} untagged;

typedef struct tagged tagged_alias;

union either { /* 104 */
	long numbers[13];
	char text[3];
};

typedef long vector[17]; /* 136 */
typedef double sample;   /* 8: a scalar, but the program's own */

struct outer {         /* 152 */
	struct inner { /* 56 */
		long numbers[7];
	} first;
	long numbers[12];
};

static struct tagged *volatile a;
static untagged *volatile b;
static tagged_alias *volatile c;
static union either *volatile d;
static vector *volatile e;
static sample *volatile f;
static struct outer *volatile g;
static size_t volatile h = sizeof(size_t);

int main(void)
{
	a = malloc(sizeof *a);
	b = malloc(sizeof *b);
	c = malloc(sizeof *c);
	d = malloc(sizeof *d);
	e = malloc(sizeof *e);
	f = malloc(sizeof *f);
	g = malloc(sizeof *g);
	return h == 0;
}
