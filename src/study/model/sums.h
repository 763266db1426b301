/* SPDX-License-Identifier: MIT
 * What a model has added up of the events, as tables at the end of the trace, and a model that is
 * made of them: with all sums and the chunks that were kept, and without the others
 * (model_lacks_chunks). docs/TRACE-FORMAT.md lists the tables. */
#ifndef STUDY_MODEL_SUMS_H
#define STUDY_MODEL_SUMS_H

#include "host/trace/sums.h"
#include "study/model/model.h"

/* Numbers of tables; those of rooms above begin at SUMS_OF_OTHERS. A number is never used again. */
enum model_sums_table {
	SUMS_OF_HEAD = 1,
	SUMS_OF_CONTEXTS,
	SUMS_OF_POINTS,
	SUMS_OF_SIZES,
	SUMS_OF_THREADS,
	SUMS_OF_MARKS,
	SUMS_OF_SNAPSHOTS,
	SUMS_OF_SNAPSHOT_POINTS,
	SUMS_OF_TIMELINE,
	SUMS_OF_KINDS,
	SUMS_OF_DURATIONS,
	SUMS_OF_UNKNOWN_FREES,
	SUMS_OF_MISMATCHES,
	SUMS_OF_IDENTITIES,
	SUMS_OF_TYPE_KINDS,
	SUMS_OF_TOLD,
	SUMS_OF_USAGE_LIVE,
	SUMS_OF_MEMORY_LIVE,
	SUMS_OF_KEPT,
	SUMS_OF_OTHERS
};

/* Of a model that is finished; all of it, but for accesses. Want of memory is in *out. */
void model_sums_put(const struct model *self, struct sums_out *out);

/* Of a model that was told the facts and contexts of the image: 0; 1 if the sums are not those of
 * this trace or do not hold together, and the model is of no use; ERR_MEMORY. events: how many the
 * image has in the trace; 0 = they are not kept. */
int model_sums_take(struct model *self, const struct sums_in *in, u64 events, struct err *err);

#endif
