/* SPDX-License-Identifier: MIT
 * Which of the formats that can be read a file is in, by what stands in it. */
#ifndef SHOW_FORMATS_RECOGNISE_H
#define SHOW_FORMATS_RECOGNISE_H

#include "host/base/err.h"

enum exchange_format { EXCHANGE_UNKNOWN, EXCHANGE_EMAD, EXCHANGE_HEAPLOG, EXCHANGE_HEAPTRACK };

/* By the first line that says something. */
int exchange_recognise(const char *path, enum exchange_format *format, struct err *err);

#endif
