/* SPDX-License-Identifier: MIT
 * Large chunks that realloc moves: what they hold, what is counted of them, and what they cost. Usage: accesses_large [refused]
 *   refused: the system does not let memory be moved; and pvalloc is asked for more than there is */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MIB = 1 << 20, THREADS = 4, ROUNDS = 12 };

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

static void refuse_moves(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0, "seccomp");
}

/* A byte for each page tells whose it is. */
static void mark(volatile char *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i += 4096)
		p[i] = (char)(i / 4096 * 7 + 1);
}

static int is_marked(const volatile char *p, size_t to)
{
	for (size_t i = 0; i < to; i += 4096)
		if (p[i] != (char)(i / 4096 * 7 + 1))
			return 0;
	return 1;
}

/* Grows and shrinks through many sizes, and gives back what is clean. */
static void *resize(void *unused)
{
	static const size_t sizes[] = {MIB / 2, 1 * MIB + 4096, 3 * MIB, 3 * MIB + 100, 9 * MIB, 2 * MIB, 5 * MIB, 1 * MIB, 6 * MIB};
	size_t had = 0;
	char *p = NULL;

	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			p = realloc(p, sizes[i]);
			need(p && is_marked(p, had < sizes[i] ? had : sizes[i]), "what was kept");
			if (had < sizes[i])
				mark(p, (had + 4095) / 4096 * 4096, sizes[i]);
			had = sizes[i];
		}
	}
	free(p);
	p = calloc(1, 6 * MIB);
	for (size_t i = 0; i < 6 * MIB; i += 512)
		need(!p[i], "calloc gives zeros");
	free(p);
	return unused;
}

/* What the trace must have of two chunks: size, reads, writes, bytes of both, the span. A realloc reads what it keeps, and writes it. */
static void count(void)
{
	volatile char *p = malloc(20 * MIB + 1);
	int sum;

	p[7] = 1;
	p[19 * MIB] = 2;
	p = realloc((void *)p, 40 * MIB + 1);
	p[30 * MIB] = 3;
	sum = p[7] + p[39 * MIB];
	need(sum == 1, "what was written");
	free((void *)p);
	printf("%d 1 2 %d 2 0 %d -\n", 20 * MIB + 1, 20 * MIB + 1, 20 * MIB + 1);
	printf("%d 2 2 2 %d 0 %d -\n", 40 * MIB + 1, 20 * MIB + 2, 39 * MIB + 1);
}

/* Memory that was never touched takes none when it is moved. */
static void grow_untouched(void)
{
	struct rusage usage;
	char *p = malloc(300u * MIB);

	for (size_t i = 0; i < 6; i++)
		need((p = realloc(p, (i % 2 ? 300u : 600u) * MIB + i)) != NULL, "room");
	free(p);
	getrusage(RUSAGE_SELF, &usage);
	need(usage.ru_maxrss < 300 * 1024, "memory that nobody has touched is in use");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	volatile size_t most = SIZE_MAX;

	(void)argv;
	if (argc > 1)
		refuse_moves();
	count();
	errno = 0;
	need(argc == 1 || (!pvalloc(most - 10) && errno == ENOMEM), "pvalloc of all memory");
	for (int i = 0; i < THREADS; i++)
		need(pthread_create(&threads[i], NULL, resize, NULL) == 0, "a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc == 1)
		grow_untouched();
	return 0;
}
