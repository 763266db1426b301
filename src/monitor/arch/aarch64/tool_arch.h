/* SPDX-License-Identifier: MIT
 * What Valgrind calls our tool on this processor. */
#ifndef MONITOR_TOOL_ARCH_H
#define MONITOR_TOOL_ARCH_H

#define VALGRIND_TOOL "heapwise-arm64-linux"

#endif
