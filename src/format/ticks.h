/* SPDX-License-Identifier: MIT
 * The CPU's constant-rate counter, which stamps events in the target and clocks in the monitor. */
#ifndef HW_FORMAT_TICKS_H
#define HW_FORMAT_TICKS_H

#include "format/arch/arch.h"

#endif
