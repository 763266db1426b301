/* SPDX-License-Identifier: MIT
 * old_kernel COMMAND [ARGUMENT...]   runs a command for which the kernel does not know the question that Linux 6.7 brought, where pages
 * are (PAGEMAP_SCAN): whoever asks it gets ENOTTY, as before. Nor does it know the guards that Linux 6.13 brought (MADV_GUARD_INSTALL). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PAGEMAP_SCAN_NUMBER = 0xc0606610 & 0xffff,
	REQUEST = offsetof(struct seccomp_data, args[1]),
	GUARD_INSTALL = 102,
	GUARD_REMOVE = 103,
	ADVICE = offsetof(struct seccomp_data, args[2]),
};

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, REQUEST),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAGEMAP_SCAN_NUMBER, 0, 6),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ADVICE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GUARD_INSTALL, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GUARD_REMOVE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("old_kernel: seccomp");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
