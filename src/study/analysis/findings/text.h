/* SPDX-License-Identifier: MIT
 * For texts and tables of findings. */
#ifndef STUDY_ANALYSIS_FINDINGS_TEXT_H
#define STUDY_ANALYSIS_FINDINGS_TEXT_H

#include <math.h>

#include "format/types.h"

/* Damaged traces have times and sizes of any kind. */
static inline u64 rounded(double number)
{
	return number >= 0x1p63 ? (u64)1 << 63 : number > 0 ? (u64)llround(number) : 0;
}

#endif
