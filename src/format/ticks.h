/* SPDX-License-Identifier: MIT
 * The CPU's constant-rate counter, which stamps events in the target and clocks in the monitor. */
#ifndef FORMAT_TICKS_H
#define FORMAT_TICKS_H

#include "format/arch/arch.h"

#endif
