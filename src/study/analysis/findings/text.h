/* SPDX-License-Identifier: MIT
 * For texts and tables of findings. */
#ifndef STUDY_ANALYSIS_FINDINGS_TEXT_H
#define STUDY_ANALYSIS_FINDINGS_TEXT_H

#include <math.h>

#include "host/base/strbuf.h"
#include "study/result/result.h"

/* Damaged traces have times and sizes of any kind. */
static inline u64 rounded(double number)
{
	return number >= 0x1p63 ? (u64)1 << 63 : number > 0 ? (u64)llround(number) : 0;
}

static inline const char *taken(struct strbuf *text, struct result *result)
{
	const char *copy = text->failed ? NULL : result_copy(result, strbuf_text(text));

	strbuf_release(text);
	if (!copy)
		result->failed = true;
	return copy;
}

#endif
