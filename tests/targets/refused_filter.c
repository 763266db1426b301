/* SPDX-License-Identifier: MIT
 * refused_filter   asks for a filter that forbids everything and that no kernel takes: its last
 * instruction is none. Then it goes on as before, with 20 threads that allocate 1,237 bytes each. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 20, BYTES = 1237 };

static void *allocate(void *unused)
{
	void *volatile block = malloc(BYTES);

	(void)unused;
	free(block);
	return NULL;
}

int main(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		{.code = 0xffff},
	};
	struct sock_fprog filter = {.len = 2, .filter = code};
	pthread_t thread;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != -1 || errno != EINVAL ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != -1 || errno != EINVAL)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, allocate, NULL) != 0)
			return 2;
		pthread_join(thread, NULL);
	}
	return 0;
}
