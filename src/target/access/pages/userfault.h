/* SPDX-License-Identifier: MIT
 * Page monitoring by userfaultfd; see fault_thread.c. Runs in the target. */
#ifndef TARGET_ACCESS_PAGES_USERFAULT_H
#define TARGET_ACCESS_PAGES_USERFAULT_H

#include "format/types.h"

/* _IO(0xAA, 0) of /dev/userfaultfd, which older headers do not have. */
#define HWR_USERFAULT_NEW 0xaa00

/* Starts the fault thread, and that the helper. False: it cannot be had. */
bool hwr_userfault_start(void);
bool hwr_userfault_on(void);

/* As mprotect: the kernel's answer. */
long hwr_userfault_protect(u64 start, u64 bytes, bool armed);

#endif
