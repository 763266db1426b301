/* SPDX-License-Identifier: MIT
 * Environment variables, also before libc has set environ. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_ENVIRONMENT_H
#define TARGET_RECORDER_STATE_ENVIRONMENT_H

#include "format/types.h"

/* Copies the variable's value; false if it is not set, empty, or does not fit. */
bool hwr_environment(const char *name, char *value, size_t bytes);

#endif
