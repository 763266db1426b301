/* SPDX-License-Identifier: MIT
 * Shuts all its threads in: from then on the system calls that its arguments name are the end of it. Goes on with memory that was hot
 * before, and with new one, if an argument is "fork" in a child; says how often it has written to the new one. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number;
} known[] = {
	{"nanosleep", SYS_nanosleep},
	{"clock_gettime", SYS_clock_gettime},
	{"membarrier", SYS_membarrier},
	{"getcpu", SYS_getcpu},
	{"sched_getaffinity", SYS_sched_getaffinity},
	{"sched_setaffinity", SYS_sched_setaffinity},
	{"exit", SYS_exit},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]), WORDS = 100, ROUNDS = 40000000, OLD_BYTES = 4000, NEW_BYTES = 4001 };

static void *(*volatile allocate)(size_t) = malloc; /* clang 19 might use a static array */

static void use(volatile int *memory, int rounds)
{
	for (int i = 0; i < rounds; i++)
		memory[i % WORDS] = i;
}

static bool has(char **names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* Loads the number; two steps for each call; allows the others. */
static bool shut_in(char **names)
{
	struct sock_filter code[2 * KNOWN + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_filter *step = code + 1;
	struct sock_fprog filter = {.filter = code};

	for (size_t i = 0; i < KNOWN; i++)
		if (has(names, known[i].name)) {
			*step++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, known[i].number, 0, 1);
			*step++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
		}
	*step++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter.len = (unsigned short)(step - code);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

int main(int argc, char **argv)
{
	int *old = allocate(OLD_BYTES), *new, status = 0;

	(void)argc;
	use(old, ROUNDS / 2);
	if (!shut_in(argv))
		return 1;
	use(old, ROUNDS / 2);
	if (has(argv, "fork") && fork() != 0) {
		wait(&status);
		return status != 0;
	}
	new = allocate(NEW_BYTES);
	use(new, ROUNDS);
	printf("%d\n", ROUNDS);
	free(old);
	free(new);
	return 0;
}
