/* SPDX-License-Identifier: MIT
 * C++ operator new and delete. Runs in the target. */
#ifndef TARGET_RECORDER_HOOKS_OPERATORS_H
#define TARGET_RECORDER_HOOKS_OPERATORS_H

#include "format/types.h"
#include "target/recorder/state/own.h"

/* Code of the module that defines the operators behind ours; empty until the first one is called. */
extern u64 hwr_operators_start HWR_OWN, hwr_operators_end HWR_OWN;

/* Some module was unloaded: it may have been the one with the operators. Weak: libheapwise.a leaves the operators out of
 * programs that call none. */
void hwr_operators_forget(void) __attribute__((weak));

/* libheapwise.a: operator new as the C++ standard has it, linked/new.cpp; and what it takes memory from. */
void *hwr_own_new(size_t size, size_t alignment, bool throws);
void *hwr_own_memory(size_t size, size_t alignment);

#endif
