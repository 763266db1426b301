/* SPDX-License-Identifier: MIT
 * The hooks of custom allocators, see pool/pool.h, and of known ones that calls reach without
 * passing another hook. Runs in the target. */
#ifndef TARGET_RECORDER_HOOKS_POOLS_H
#define TARGET_RECORDER_HOOKS_POOLS_H

#include "format/types.h"

/* Begins what the run asks for: finds the functions and stands in front of them. */
void hwr_pools_attach(void);

/* What to call to call a function without being noticed. */
u64 hwr_pool_past(u64 function);

#endif
