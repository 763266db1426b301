/* SPDX-License-Identifier: MIT
 * userfaultfd, as far as the monitor cares: the recorder uses it in the program, with the rights of
 * the same user. */
#ifndef LIVE_PROGRAM_USERFAULT_H
#define LIVE_PROGRAM_USERFAULT_H

#include "host/base/err.h"

/* 0 if memory can be protected from writes by it, else what is missing. */
int userfault_check(struct err *err);

#endif
