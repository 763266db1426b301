/* SPDX-License-Identifier: MIT
 * Fixed-width names and compiler hints that both processes use.
 * Freestanding: included by code that runs inside the target and on the host. */
#ifndef FORMAT_TYPES_H
#define FORMAT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define HW_CACHE_LINE 64

#endif
