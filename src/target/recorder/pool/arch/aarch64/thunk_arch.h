/* SPDX-License-Identifier: MIT
 * Numbers of the thunk's frame on aarch64, for C and for the assembler. */
#ifndef TARGET_RECORDER_POOL_ARCH_AARCH64_THUNK_ARCH_H
#define TARGET_RECORDER_POOL_ARCH_AARCH64_THUNK_ARCH_H

#define HWR_THUNK_INTEGERS 19 /* x0 to x18 */
#define HWR_THUNK_STATE 30
#define HWR_THUNK_VECTORS (8 * (1 + HWR_THUNK_INTEGERS + HWR_THUNK_STATE))
#define HWR_THUNK_CALLER (HWR_THUNK_VECTORS + 512) /* pc, sp, fp */
#define HWR_THUNK_BYTES (HWR_THUNK_CALLER + 32)

#endif
