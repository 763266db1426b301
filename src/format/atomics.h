/* SPDX-License-Identifier: MIT
 * Atomic access with the memory order in the name; the only place that spells __atomic.
 * Plain integers are used so that shared structs have the same layout in C and C++. */
#ifndef FORMAT_ATOMICS_H
#define FORMAT_ATOMICS_H

#include "types.h"

#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define or_release(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)
#define exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define exchange_seq_cst(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* Strong compare-and-swap, acquire-release on success; *expected receives what was there. */
#define cas_acq_rel(p, expected, desired)                                                          \
	__atomic_compare_exchange_n((p), (expected), (desired), 0, __ATOMIC_ACQ_REL,               \
				    __ATOMIC_RELAXED)

/* The same, acquire in either case. */
#define cas_acquire(p, expected, desired)                                                          \
	__atomic_compare_exchange_n((p), (expected), (desired), 0, __ATOMIC_ACQUIRE,               \
				    __ATOMIC_ACQUIRE)

#endif
