/* SPDX-License-Identifier: MIT
 * Accesses through pointers that have a tag in the top byte, each tag once at least; prints what is accessed, as accesses.c does. Shifts of
 * such pointers that are the program's own keep the tag. Status 1 if anything else is read than was written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

static volatile int wrong;
static volatile uint64_t sink;

static void *tagged(const void *p, unsigned tag) { return (void *)((uintptr_t)p | (uintptr_t)(tag & 255) << 56); }

static void truth(size_t size, int reads, int writes, int read_bytes, int written_bytes, int high)
{
	printf("%zu %d %d %d %d 0 %d -\n", size, reads, writes, read_bytes, written_bytes, high);
}

#define DEFINE_WALK(type, name)                                                                    \
	static APART void write_##name(volatile type *p, int count)                                \
	{                                                                                          \
		for (int i = 0; i < count; i++)                                                    \
			((volatile type *)tagged((const void *)p, (unsigned)i))[i] = (type)i;      \
	}                                                                                          \
	static APART void read_##name(volatile type *p, int count)                                 \
	{                                                                                          \
		for (int i = 0; i < count; i++)                                                    \
			wrong |= p[i] != (type)i;                                                  \
	}                                                                                          \
	static void walk_##name(size_t size)                                                       \
	{                                                                                          \
		type *p = malloc(size);                                                            \
		int bytes = 256 * (int)sizeof(type);                                               \
		write_##name(p, 256);                                                              \
		for (unsigned tag = 0; tag < 256; tag += 5)                                        \
			read_##name(tagged(p, tag), 256);                                          \
		truth(size, 52 * 256, 256, 52 * bytes, bytes, bytes);                              \
	}
DEFINE_WALK(uint8_t, one)
DEFINE_WALK(int16_t, two)
DEFINE_WALK(uint32_t, four)
DEFINE_WALK(uint64_t, eight)

struct part {
	uint64_t key, more[7];
};

/* What is shifted is wanted with its tag, and the same pointer is read through. */
static APART uint64_t place_of(const volatile struct part *p) { return ((uintptr_t)p >> 3) ^ p->key; }

static APART uint64_t bit_of(const volatile uint8_t *bits, uint64_t i) { return bits[i >> 3] >> (i & 7) & 1; }
static APART uint64_t before(const volatile uint8_t *end, long back) { return end[-back]; }

static void places(void)
{
	struct part *p = calloc(1, 2001);
	uint8_t *bits = calloc(1, 2002);

	for (unsigned tag = 0; tag < 256; tag++) {
		uint64_t place = (uint64_t)tag << 53 | (uintptr_t)p >> 3;

		wrong |= place_of(tagged(p, tag)) != place;
		wrong |= bit_of(tagged(bits, tag), tag * 8) != 0;
		wrong |= before((uint8_t *)tagged(bits, tag) + 256, 256 - (long)tag) != 0;
	}
	truth(2001, 256, 0, 256 * 8, 0, 8);
	truth(2002, 512, 0, 512, 0, 256);
}

static APART void copy(struct part *to, const struct part *from) { *to = *from; }

static void copies(void)
{
	struct part *from = calloc(1, 2003), *to = malloc(2004);
	char *text = calloc(1, 2005);

	copy(tagged(to, 0x5a), tagged(from, 0xe1));
	truth(2003, 1, 0, 64, 0, 64);
	truth(2004, 0, 1, 0, 64, 64);
	memset(tagged(text, 0x17), 'x', 700 + (size_t)wrong);
	sink = strlen(tagged(text, 0xff));
	wrong |= sink != 700;
	truth(2005, 1, 1, 701, 700, 701);
}

static void updates(void)
{
	long *counter = calloc(1, 2006);

	for (unsigned tag = 0; tag < 256; tag++)
		__atomic_fetch_add((long *)tagged(counter, tag), 1, __ATOMIC_SEQ_CST);
	truth(2006, 256, 256, 2048, 2048, 8);
}

int main(void)
{
	walk_one(3001);
	walk_two(3002);
	walk_four(3004);
	walk_eight(3008);
	places();
	copies();
	updates();
	return wrong;
}
