/* SPDX-License-Identifier: MIT
 * The heap lies in one window of so many bits, whose number tells its addresses. aarch64; for assembly, too. */
#ifndef RECORDER_GATE_ARCH_H
#define RECORDER_GATE_ARCH_H

#define HWR_WINDOW_BITS 43
#define HWR_WINDOW 12

#endif
