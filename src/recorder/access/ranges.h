/* SPDX-License-Identifier: MIT
 * What the tables of library functions share. Runs in the target. */
#ifndef RECORDER_ACCESS_RANGES_H
#define RECORDER_ACCESS_RANGES_H

#include "recorder/heap/heap.h"

/* The real function, looked up once. */
void *hwr_range_real(void **real, const char *name);

/* A text, or its first bytes, is read. */
void hwr_range_text(const char *s, size_t most);

#endif
