/* SPDX-License-Identifier: MIT
 * What Valgrind calls our tool on this processor. */
#ifndef LIVE_PROGRAM_ARCH_AARCH64_TOOL_ARCH_H
#define LIVE_PROGRAM_ARCH_AARCH64_TOOL_ARCH_H

#define VALGRIND_TOOL "heapwise-arm64-linux"

#endif
