/* SPDX-License-Identifier: MIT
 * Libraries that were loaded and not instrumented, so that what they access was not seen. The C and C++
 * libraries do not count: what they access for the program is recorded call by call. */
#ifndef HEAPWISE_ANALYSIS_PLAIN_H
#define HEAPWISE_ANALYSIS_PLAIN_H

#include "model/model.h"

bool plain_library(const struct model *model, const char *path);
bool plain_library_any(const struct model *model);

#endif
