/* SPDX-License-Identifier: MIT
 * The heap lies in one window of so many bits, whose number tells its addresses. x86_64; for
 * assembly, too. */
#ifndef TARGET_ACCESS_PAGES_ARCH_X86_64_WINDOW_ARCH_H
#define TARGET_ACCESS_PAGES_ARCH_X86_64_WINDOW_ARCH_H

#define HWR_WINDOW_BITS 43
#define HWR_WINDOW 4

#endif
