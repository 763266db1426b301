/* SPDX-License-Identifier: MIT
 * The processor's names: relocations that bind a function, and what a seccomp filter is told. */
#ifndef TARGET_RECORDER_STATE_ARCH_X86_64_ELF_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_X86_64_ELF_ARCH_H

#include <elf.h>
#include <linux/audit.h>

enum {
	HWR_TO_SLOT = R_X86_64_JUMP_SLOT,
	HWR_TO_DATA = R_X86_64_GLOB_DAT,
	HWR_TO_WORD = R_X86_64_64
};
#define HWR_AUDIT_ARCH AUDIT_ARCH_X86_64

#endif
