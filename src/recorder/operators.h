/* SPDX-License-Identifier: MIT
 * C++ operator new and delete. Runs in the target. */
#ifndef RECORDER_OPERATORS_H
#define RECORDER_OPERATORS_H

#include "format/types.h"

/* Code of the module that defines the operators behind ours; empty until the first one is called. */
extern u64 hwr_operators_start, hwr_operators_end;

/* Some module was unloaded: it may have been the one with the operators. */
void hwr_operators_forget(void);

#endif
