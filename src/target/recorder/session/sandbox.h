/* SPDX-License-Identifier: MIT
 * Programs that shut themselves in: system calls that would then be the death of them are no longer
 * made by the recorder. Runs in the target. */
#ifndef TARGET_RECORDER_SESSION_SANDBOX_H
#define TARGET_RECORDER_SESSION_SANDBOX_H

/* To be called before the program's own prctl and seccomp, with their arguments. */
void hwr_sandbox_prctl(int what, unsigned long mode, unsigned long filter);
void hwr_sandbox_seccomp(unsigned long mode, unsigned long flags, unsigned long filter);

/* Of syscall_arch.S: the program's seccomp by number, and its calls that failed. */
long hwr_syscall_seccomp(long number, long mode, long flags, long filter);
long hwr_syscall_failed(long result);

#endif
