/* SPDX-License-Identifier: MIT
 * Programs that shut themselves in: system calls that would then be the death of them are no longer
 * made by the recorder. Runs in the target. */
#ifndef TARGET_RECORDER_SESSION_SANDBOX_H
#define TARGET_RECORDER_SESSION_SANDBOX_H

#include "target/recorder/state/sys.h"

/* One of the program's calls; all zero before it. */
struct hwr_sandbox {
	u64 added[HWR_CALLS / 64]; /* calls that were not refused before */
	u64 number;
	bool filters, gives_descriptor, alone;
};

/* To be called before the program's own prctl and seccomp, with their arguments. */
void hwr_sandbox_prctl(struct hwr_sandbox *self, int what, unsigned long mode,
		       unsigned long filter);
void hwr_sandbox_seccomp(struct hwr_sandbox *self, unsigned long mode, unsigned long flags,
			 unsigned long filter);
/* And after it: a filter that the kernel did not take refuses nothing. */
void hwr_sandbox_end(const struct hwr_sandbox *self, long result);

/* Of syscall_arch.S: the program's seccomp by number, and its calls that failed. */
long hwr_syscall_seccomp(long number, long mode, long flags, long filter);
long hwr_syscall_failed(long result);

#endif
