/* SPDX-License-Identifier: MIT
 * For how long a program stood still for a scan. */
#ifndef STUDY_ANALYSIS_OWNERS_STOP_H
#define STUDY_ANALYSIS_OWNERS_STOP_H

#include "study/model/model.h"

struct owner_stop {
	u64 ns;
	bool background;    /* it ran while a copy of its memory was scanned */
	u64 missing_bytes;  /* that the copy lacked */
	const char *reason; /* why not in the background, if that was wanted; "" */
};

/* Of the scan at these ticks; false if the trace does not say. */
bool owner_stop_find(struct owner_stop *self, const struct model *model, u64 ticks);

#endif
