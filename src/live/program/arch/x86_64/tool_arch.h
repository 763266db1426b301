/* SPDX-License-Identifier: MIT
 * What Valgrind calls our tool on this processor. */
#ifndef LIVE_PROGRAM_ARCH_X86_64_TOOL_ARCH_H
#define LIVE_PROGRAM_ARCH_X86_64_TOOL_ARCH_H

#define VALGRIND_TOOL "heapwise-amd64-linux"

#endif
