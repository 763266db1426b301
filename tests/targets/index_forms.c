/* SPDX-License-Identifier: MIT
 * Allocations of C in many forms. A comment "= T | U" says which types those of its line have. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	long value;
};
typedef struct {
	char name[24];
} record;
typedef struct node alias;
struct packet {
	unsigned length;
	unsigned char data[];
};
struct tall {
	double column[9];
};
union either {
	double number;
	char text[32];
};

struct owner {
	struct node *first;
	void *anything;
	struct tall *talls;
};

static void *volatile kept;
static size_t some = 3;

#define NEW(type) ((type *)malloc(sizeof(type)))
#define CHECKED(expression)                                                                        \
	do {                                                                                       \
		if (!(expression))                                                                 \
			abort();                                                                   \
	} while (0)

__attribute__((noinline)) static void *checked_malloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

/* Writes the size before the block, as some allocators do. */
__attribute__((noinline)) static void *sized_malloc(size_t size)
{
	long long *block = malloc(size + 16);

	*block = (long long)size;
	return block + 2;
}

static void *(*volatile by_pointer)(size_t) = checked_malloc;

__attribute__((noinline)) static void *twice_removed(size_t size)
{
	void *block = by_pointer(size);

	kept = block; /* no tail call */
	return block;
}

/* Gives what it keeps: its caller's type is not that of what it allocates. */
static struct tall talls[2];
__attribute__((noinline)) static void *look_up(size_t i)
{
	kept = malloc(i + 5);
	return &talls[i % 2];
}

static void take(struct node *node) { kept = node; }

static void plain(void)
{
	struct node *node = malloc(sizeof(struct node)); /* = node */
	record *records = malloc(some * sizeof *records); /* = record */
	struct node **table = calloc(some, sizeof(struct node *)); /* = node* */
	int *numbers;
	void *anonymous = malloc(sizeof(union either)); /* = either */
	struct packet *packet = malloc(sizeof(struct packet) + 100); /* = packet */
	alias *other = malloc(sizeof(alias)); /* = node */

	kept = node;
	kept = records;
	kept = table;
	numbers = malloc(40); /* = int */
	kept = numbers;
	kept = anonymous;
	kept = packet;
	kept = other;
	kept = malloc(sizeof(int) * some); /* = int */
	kept = malloc(some * 10);
	take(malloc(16)); /* = node */
}

static void casts(void)
{
	kept = (struct tall *)malloc(720); /* = tall */
	kept = (struct tall *)(char *)malloc(72); /* = tall */
	kept = (char *)(struct tall *)malloc(72); /* = tall */
	kept = (char *)malloc(77); /* = char */
	kept = (char *)malloc(sizeof(struct packet) + 9); /* = packet */
	kept = strdup("a text"); /* = char */
	kept = (struct node *)malloc(sizeof(struct tall)); /* ~ node | tall */
}

static void lines(void)
{
	struct owner owner;

	owner.first = malloc(sizeof *owner.first), owner.talls = malloc(sizeof *owner.talls); /* = node | tall */
	kept = owner.first;
	kept = owner.talls;
	owner.talls = calloc( /* = tall */
		some,
		sizeof(struct tall));
	kept = owner.talls;
	owner.anything = some > 2 ? malloc(sizeof(record)) : NULL; /* = record */
	kept = owner.anything;
	kept = NEW(struct tall); kept = NEW(record); /* = tall | record */
	CHECKED(kept = malloc(sizeof(union either))); /* = either */
	CHECKED((owner.first = malloc(sizeof(struct node))) != NULL); /* = node */
	kept = owner.first;
}

static void others(void)
{
	struct tall *talls_again = malloc(72); /* = tall */
	struct node *aligned = aligned_alloc(64, 64); /* = node */
	void *place = NULL;
	struct tall *at = NULL;

	talls_again = realloc(talls_again, 10 * sizeof *talls_again); /* = tall */
	place = realloc(talls_again, 7200); /* = tall */
	kept = place;
	kept = aligned;
	if (posix_memalign((void **)&at, 64, 144)) /* = tall */
		abort();
	kept = at;
}

static void wrapped(void)
{
	struct node *node = checked_malloc(sizeof *node); /* = node */
	struct tall *sized = sized_malloc(sizeof(struct tall)); /* = tall */
	record *far = twice_removed(sizeof(record)); /* = record */
	struct tall *found = look_up(1);

	kept = node;
	kept = sized;
	kept = far;
	kept = found;
}

#line 7 "elsewhere.y"
static void generated(void)
{
	kept = malloc(sizeof(struct tall)); /* made by a generator: elsewhere.y:9 */
}

int main(void)
{
	plain();
	casts();
	lines();
	others();
	wrapped();
	generated();
	return 0;
}
