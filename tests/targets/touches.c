/* SPDX-License-Identifier: MIT
 * Accesses blocks in known ways and says what that should count, a line per block on stdout:
 *   size reads writes read_bytes written_bytes low high covered shared
 * Each block has a size of its own, by which the harness finds it. tests/run/accesses.sh runs it below
 * Valgrind, which sees machine instructions: every access is volatile, so each is one. Copies and fills
 * of the C library count in steps of 8 bytes, its other functions by the byte. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES = 64 };

struct line {
	size_t size;
	long reads, writes, read_bytes, written_bytes, low, high, covered, shared;
};

static struct line lines[LINES];
static int count;

static void expect(struct line line) { lines[count++] = line; }

static void loops(void)
{
	volatile int *p = malloc(1001);
	int sum = 0;

	for (int i = 10; i < 20; i++)
		p[i] = i;
	for (int i = 12; i < 17; i++)
		sum += p[i];
	expect((struct line){ 1001, 5, 10, 20, 40, 40, 80, 40, 0 });
	free((void *)p);
	if (sum != 70)
		exit(1);
}

struct fields {
	int first;
	char gap[12];
	double second;
	short third;
};

static void struct_fields(void)
{
	volatile struct fields *p = malloc(1003);

	p->first = 1;
	p->second = 2;
	p->third = (short)p->second;
	expect((struct line){ 1003, 1, 3, 8, 14, 0, 26, 14, 0 });
	free((void *)p);
}

static void increments(void)
{
	volatile int *p = calloc(1005, 1);

	for (int i = 0; i < 7; i++)
		p[i % 3] += i;
	expect((struct line){ 1005, 7, 7, 28, 28, 0, 12, 12, 0 });
	free((void *)p);
}

static void copies(void)
{
	char *from = calloc(1007, 1), *to = malloc(1009), *filled = malloc(1011), *moved = malloc(1013);

	memcpy(to + 3, from + 1, 100);
	memset(filled, 1, 33);
	memmove(moved + 5, moved, 20);
	expect((struct line){ 1007, 16, 0, 100, 0, 1, 101, 100, 0 });
	expect((struct line){ 1009, 0, 16, 0, 100, 3, 103, 100, 0 });
	expect((struct line){ 1011, 0, 5, 0, 33, 0, 33, 33, 0 });
	expect((struct line){ 1013, 6, 6, 20, 20, 0, 25, 25, 0 });
	free(from);
	free(to);
	free(filled);
	free(moved);
}

static void strings(void)
{
	char *p = malloc(1015);
	volatile size_t length;

	strcpy(p, "hello");
	length = strlen(p);
	expect((struct line){ 1015, 6, 6, 6, 6, 0, 6, 6, 0 });
	free(p);
	if (length != 5)
		exit(1);
}

static void atomics(void)
{
	_Atomic int *added = calloc(1017, 1), *failed = calloc(1019, 1), *swapped = calloc(1021, 1);
	_Atomic long *exchanged = calloc(1023, 1);
	_Atomic char *byte = calloc(1025, 1);
	int five = 5, zero = 0;

	for (int i = 0; i < 5; i++)
		atomic_fetch_add(added, 2);
	atomic_compare_exchange_strong(failed, &five, 1);
	atomic_compare_exchange_strong(swapped, &zero, 1);
	atomic_exchange(exchanged, 7);
	atomic_fetch_or(byte, 1);
	expect((struct line){ 1017, 5, 5, 20, 20, 0, 4, 4, 0 });
	expect((struct line){ 1019, 1, 0, 4, 0, 0, 4, 4, 0 });
	expect((struct line){ 1021, 1, 1, 4, 4, 0, 4, 4, 0 });
	expect((struct line){ 1023, 1, 1, 8, 8, 0, 8, 8, 0 });
	expect((struct line){ 1025, 1, 1, 1, 1, 0, 1, 1, 0 });
	free(added);
	free(failed);
	free(swapped);
	free(exchanged);
	free(byte);
}

typedef int four __attribute__((vector_size(16)));

static void vectors(void)
{
	volatile four *p = calloc(1027, 1);

	p[0] = (four){ 1, 2, 3, 4 };
	p[2] = p[1] + p[1];
	expect((struct line){ 1027, 2, 2, 32, 32, 0, 48, 48, 0 });
	free((void *)p);
}

static void *write_once(void *p)
{
	*(volatile long *)p = 1;
	return NULL;
}

static void threads(void)
{
	long *both = malloc(1029), *one = malloc(1031);
	pthread_t thread;

	*(volatile long *)both = 0;
	pthread_create(&thread, NULL, write_once, both);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, write_once, one);
	pthread_join(thread, NULL);
	expect((struct line){ 1029, 0, 2, 0, 16, 0, 8, 8, 1 });
	expect((struct line){ 1031, 0, 1, 0, 8, 0, 8, 8, 0 });
	free(both);
	free(one);
}

static void system_calls(void)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	char *p = malloc(1033);

	if (read(zero, p + 10, 50) != 50 || write(null, p + 20, 20) != 20)
		exit(1);
	expect((struct line){ 1033, 1, 1, 20, 50, 10, 60, 50, 0 });
	free(p);
	close(zero);
	close(null);
}

/* A path is read up to and with its terminator. */
static void paths(void)
{
	char *p = malloc(1035);

	memcpy(p, "/nowhere", 9);
	if (open(p, O_RDONLY) >= 0)
		exit(1);
	expect((struct line){ 1035, 1, 2, 9, 9, 0, 9, 9, 0 });
	free(p);
}

static void large(void)
{
	size_t size = (64u << 20) + 1037;
	volatile char *p = malloc(size);

	p[0] = 1;
	p[40 << 20] = p[0];
	p[size - 1] = 1;
	expect((struct line){ size, 1, 3, 1, 3, 0, (long)size, 3, 0 });
	free((void *)p);
}

/* The old block ends with what was done to it; the copying is nobody's access. */
static void grown(void)
{
	volatile char *p = malloc(1039);

	p[3] = 1;
	expect((struct line){ 1039, 0, 1, 0, 1, 3, 4, 1, 0 });
	p = realloc((void *)p, 100043);
	p[4] = p[3];
	expect((struct line){ 100043, 1, 1, 1, 1, 3, 5, 2, 0 });
	free((void *)p);
}

static void never(void)
{
	free(malloc(1041));
	expect((struct line){ .size = 1041 });
}

/* One piece of code, many blocks: the same again, another one, and one in the place of one that is gone. */
static __attribute__((noinline)) void visit(volatile struct fields *p)
{
	p->first = p->third;
	p->third = 1;
	p->second = 3;
}

static void visits(void)
{
	static const int turns[] = { 0, 0, 1, 0, 1, 1, 2, 2, 2, 0 };
	struct fields *blocks[3];

	for (long round = 0; round < 4; round++) {
		long times[3] = { 0, 0, 0 };

		for (long i = 0; i < 3; i++)
			blocks[i] = calloc((size_t)(1045 + 6 * round + 2 * i), 1);
		for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
			visit(blocks[turns[i]]);
			times[turns[i]]++;
		}
		for (long i = 0; i < 3; i++) {
			expect((struct line){ (size_t)(1045 + 6 * round + 2 * i), times[i], 3 * times[i],
					      2 * times[i], 14 * times[i], 0, 26, 14, 0 });
			free(blocks[i]);
		}
	}
}

/* Code that comes and goes. It needs nothing that is elsewhere, so that it works in any place. */
static void copied_code(void)
{
	enum { TIMES = 40, BYTES = 64 };
	long *p = malloc(1071);

	for (int i = 0; i < TIMES; i++) {
		void *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *(*function)(void *);

		if (code == MAP_FAILED)
			exit(1);
		function = write_once;
		memcpy(code, *(void **)&function, BYTES);
		__builtin___clear_cache(code, (char *)code + BYTES);
		*(void **)&function = code;
		for (int k = 0; k < 3; k++)
			function(p);
		munmap(code, BYTES);
	}
	expect((struct line){ 1071, 0, 3 * TIMES, 0, 24 * TIMES, 0, 8, 8, 0 });
	free(p);
}

/* What is kept is told when the program ends. */
static void kept(void)
{
	static volatile char *p;

	p = malloc(1043);
	p[1042] = 1;
	expect((struct line){ 1043, 0, 1, 0, 1, 1042, 1043, 1, 0 });
}

int main(void)
{
	loops();
	struct_fields();
	increments();
	copies();
	strings();
	atomics();
	vectors();
	threads();
	system_calls();
	paths();
	large();
	grown();
	never();
	visits();
	copied_code();
	kept();
	for (int i = 0; i < count; i++)
		printf("%zu %ld %ld %ld %ld %ld %ld %ld %ld\n", lines[i].size, lines[i].reads,
		       lines[i].writes, lines[i].read_bytes, lines[i].written_bytes, lines[i].low,
		       lines[i].high, lines[i].covered, lines[i].shared);
	return 0;
}
