/* SPDX-License-Identifier: MIT
 * Accesses memory in many ways and prints what each chunk, known by its size, must have been seen to
 * have: "size reads writes read_bytes written_bytes low high shared". Built by `heapwise cc`; see
 * tests/run/access.sh. Memory is accessed through volatile pointers, so that no optimisation changes
 * the truth. But gcc tells accesses to one place that follow each other as one, and MERGES says how far
 * it goes: 0 not at all (clang), 1 it might (-O0), 2 `p[i] += x` (-O1), 3 fields too (-O2, -O3). Then
 * "never read" and "never written" are not certain, which the record says. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MERGES
#define MERGES 0
#endif
#define UNSURE (MERGES ? "unsided" : "-")

static void truth(size_t size, long reads, long writes, long read_bytes, long written_bytes,
		  long low, long high, const char *flags)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%zu %ld %ld %ld %ld %ld %ld %s\n", size, reads,
			 writes, read_bytes, written_bytes, low, high, flags);

	if (write(1, line, (size_t)n) != n)
		abort();
}

static void loops(void)
{
	volatile int *p = malloc(401 * sizeof(int));

	for (int i = 0; i < 401; i++)
		p[i] = i;
	for (int i = 100; i < 200; i++)
		(void)p[i];
	free((void *)p);
	truth(1604, 100, 401, 400, 1604, 0, 1604, "-");
}

static void untouched(void)
{
	void *volatile p = malloc(1111);

	free(p);
	truth(1111, 0, 0, 0, 0, 0, 0, "-");
}

struct thing {
	char before[40];
	volatile short small;
	volatile double large;
	char after[1000];
};

static void fields(void)
{
	struct thing *p = calloc(1, sizeof(*p));
	long at = (long)((char *)&p->small - (char *)p),
	     end = (long)((char *)(&p->large + 1) - (char *)p);

	p->small = 3;
	p->large = 4;
	if (p->large != 4)
		abort();
	truth(sizeof(*p), MERGES >= 3 ? 0 : 1, 2, MERGES >= 3 ? 0 : 8, 10, at, end,
	      MERGES >= 3 ? "unsided" : "-");
	free(p);
}

/* A read and a write of one place, one after the other. */
static void increments(void)
{
	volatile long *p = calloc(211, sizeof(long));

	for (int i = 0; i < 211; i++)
		p[i] += i;
	free((void *)p);
	truth(1688, 211, MERGES >= 2 ? 0 : 211, 1688, MERGES >= 2 ? 0 : 1688, 0, 1688,
	      MERGES >= 2 ? "unsided" : "-");
}

static void atomics(void)
{
	long *p = calloc(1, 1700);

	for (int i = 0; i < 10; i++)
		__atomic_fetch_add(&p[i], 1, __ATOMIC_SEQ_CST); /* compilers call it a write */
	(void)__atomic_load_n(&p[20], __ATOMIC_SEQ_CST);
	free(p);
	truth(1700, 11, 10, 88, 80, 0, 168, "-");
}

struct counts {
	long sum;
	int swapped, compared;
	_Atomic int c11;
	short bits;
	char flags, lock;
	long spare, plain, more[2];
};

static long elsewhere; /* not in the heap: its updates are nobody's */

static __attribute__((noinline)) long update(struct counts *p, long by)
{
	int expected = p->spare ? 1 : 0; /* a read */
	long result = __atomic_sub_fetch(&p->sum, by, __ATOMIC_RELAXED);

	result += __atomic_exchange_n(&p->swapped, (int)by, __ATOMIC_ACQUIRE);
	result += __atomic_compare_exchange_n(&p->compared, &expected, 7, 0, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED);
	result += p->c11++;
	result += __atomic_fetch_and(&p->bits, (short)by, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&p->flags, 3, __ATOMIC_RELEASE);
	result += __sync_lock_test_and_set(&p->lock, 1);
	return result;
}

/* Only the second of each two is atomic. */
static __attribute__((noinline)) void store_beside(struct counts *p, long by)
{
	*(volatile long *)&p->plain = by;
	__atomic_fetch_add(&elsewhere, by, __ATOMIC_SEQ_CST);
	*(volatile long *)&p->more[0] = by;
	__atomic_fetch_add(&p->more[1], by, __ATOMIC_SEQ_CST);
}

static void updates(void)
{
	void *(*volatile allocate)(size_t, size_t) = calloc; /* clang 19 might use the stack */
	struct counts *p = allocate(1, 1720), *q = allocate(1, 1730);

	update(p, 5);
	store_beside(q, 5);
	truth(1720, 8, 7, 32, 24, 0, 32, "-");
	truth(1730, 1, 3, 8, 24, 32, 56, "-");
	free(p);
	free(q);
}

typedef int vector __attribute__((vector_size(16)));

static void vectors(void)
{
	volatile vector *p = malloc(1760);

	for (int i = 0; i < 110; i++)
		p[i] = (vector){i, i, i, i};
	for (int i = 0; i < 11; i++)
		(void)p[i];
	free((void *)p);
	truth(1760, 11, 110, 176, 1760, 0, 1760, "-");
}

static void functions(void)
{
	char *p = malloc(1801), *q = malloc(1802), *s = malloc(1803);
	size_t (*volatile length)(const char *) = strlen;
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	void *(*volatile set)(void *, int, size_t) = memset;
	int (*volatile print)(char *, size_t, const char *, ...) = snprintf;

	set(p + 10, 7, 100);
	copy(q + 1, p + 20, 50);
	print(s, 1803, "%d %s", 1234, "tail");
	if (length(s) != 9)
		abort();
	truth(1801, 1, 1, 50, 100, 10, 110, "-");
	truth(1802, 0, 1, 0, 50, 1, 51, UNSURE);
	truth(1803, 1, 1, 10, 10, 0, 10, "-");
	free(p);
	free(q);
	free(s);
}

/* Texts that the C library makes are written by it; chunks that it allocates carry "lower bound". */
static void made_texts(void)
{
	static char long_text[1851];
	char *(*volatile duplicate)(const char *) = strdup;
	int (*volatile print)(char **, const char *, ...) = asprintf;
	char *p, *q = NULL;

	memset(long_text, 'x', 1850);
	p = duplicate(long_text);
	if (!p || print(&q, "%s%s", long_text + 1808, "yz") != 44)
		abort();
	(void)*(volatile char *)(p + 7);
	truth(1851, 1, 1, 1, 1851, 0, 1851, "lower_bound");
	truth(45, 0, 1, 0, 45, 0, 45, MERGES ? "lower_bound+unsided" : "lower_bound");
	free(p);
	free(q);
}

/* A system call with several buffers. The last one is not filled. */
static void scattered(void)
{
	char *p = malloc(1861), *q = malloc(1862), *r = malloc(1863);
	struct iovec out[] = {{p + 1, 100}, {p + 300, 100}};
	struct iovec in[] = {{q, 150}, {r, 1000}};
	int pipes[2];

	if (pipe(pipes) < 0 || writev(pipes[1], out, 2) != 200 || readv(pipes[0], in, 2) != 200)
		abort();
	close(pipes[0]);
	close(pipes[1]);
	truth(1861, 2, 0, 200, 0, 1, 400, UNSURE);
	truth(1862, 0, 1, 0, 150, 0, 150, UNSURE);
	truth(1863, 0, 1, 0, 50, 0, 50, UNSURE);
	free(p);
	free(q);
	free(r);
}

static void growth(void)
{
	volatile char *p = malloc(1900);

	p[0] = 1;
	p = realloc((void *)p, 190000);
	p[189999] = 1;
	free((void *)p);
	/* A realloc reads what it keeps, and writes it. */
	truth(1900, 1, 1, 1900, 1, 0, 1900, "-");
	truth(190000, 0, 2, 0, 1901, 0, 190000, UNSURE);
}

enum { THREADS = 8, ROUNDS = 20000 };

static void *hammer(void *memory)
{
	volatile int *p = memory;

	for (int i = 0; i < ROUNDS; i++)
		p[i % 500] = i;
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	volatile int *p = malloc(2000);

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, hammer, (void *)p);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	free((void *)p);
	truth(2000, 0, (long)THREADS * ROUNDS, 0, (long)THREADS * ROUNDS * 4, 0, 2000,
	      MERGES ? "shared+unsided" : "shared");
}

static void *touch(void *memory)
{
	*(volatile char *)memory = 1;
	return NULL;
}

/* Allocated by one thread and accessed by one other: not shared. */
static void handed_over(void)
{
	pthread_t thread;
	char *p = malloc(2100);

	pthread_create(&thread, NULL, touch, p);
	pthread_join(thread, NULL);
	free(p);
	truth(2100, 0, 1, 0, 1, 0, 1, UNSURE);
}

/* A child's accesses are its own. */
static void forked(void)
{
	volatile char *p = malloc(2200);
	pid_t child;

	p[3] = 1;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 2200; i++)
			p[i] = 1;
		free((void *)p);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	free((void *)p);
	truth(2200, 0, 1, 0, 1, 3, 4, UNSURE);
}

static void kept(void)
{
	static char *volatile keep[2];

	keep[0] = malloc(2300);
	keep[1] = malloc(2301);
	*(volatile char *)(keep[0] + 9) = 1;
	truth(2300, 0, 1, 0, 1, 9, 10, UNSURE);
	truth(2301, 0, 0, 0, 0, 0, 0, "-");
}

int main(void)
{
	loops();
	untouched();
	fields();
	increments();
	atomics();
	updates();
	vectors();
	functions();
	made_texts();
	scattered();
	growth();
	threads();
	handed_over();
	forked();
	kept();
	return 0;
}
