/* SPDX-License-Identifier: MIT
 * The index of a trace: a loaded model as a file, which is mapped instead of reading the trace
 * again. A large trace so opens at once, and one that is larger than memory can be analysed.
 *
 *	struct model_options options = {.image = TRACE_LAST_IMAGE, .info = &info};
 *	if (model_open(model, path, &options, &err) < 0) ...
 *
 * It is a cache: everything in it can be made again from the trace, so one that is old, damaged or
 * of another version of Heapwise is passed over. It lies beside the trace, as TRACE.index (another
 * image than the last:
 * TRACE.imageN.index), or in the user's cache folder if the trace's folder cannot be written.
 * docs/ARCHITECTURE.md says what is trusted of it. */
#ifndef STUDY_MODEL_INDEX_H
#define STUDY_MODEL_INDEX_H

#include "host/base/strbuf.h"
#include "study/model/model.h"

struct index_made {
	u64 bytes;  /* of the index */
	bool fresh; /* it was there already */
	char path[4096];
};

struct model_options {
	int image;        /* number of the image in the file, or TRACE_LAST_IMAGE */
	bool no_index;    /* read the trace, whatever there is */
	bool index_only;  /* if there is no fresh index, that is all: 1 */
	bool write_index; /* if there is no fresh index, make one and use it */
	bool graphs;      /* model->graphs is wanted; it is always read from the trace */
	/* Called now and then while the trace is read, with the share that has been; false ends
	 * it. May be NULL. */
	bool (*progress)(void *self, double share);
	void *progress_self;
	struct trace_info *info; /* filled as model_load fills it; may be NULL */
	struct index_made *made; /* filled by model_open if it wrote an index; may be NULL */
	/* Called with an empty model that a trace is going to fill; may be NULL. */
	void (*fill)(void *self, struct model *model);
	/* Called when an index is written, of the model whose index it is, to store more in it
	 * (study/model/stored.h); may be NULL. Must not change the model. */
	int (*store)(void *self, const struct model *model, const struct trace_info *info,
		     struct index_writer *out, struct err *err);
	void *store_self;
};

/* Fills an empty model: from the index if there is a fresh one, else as model_load does. That an
 * index cannot be written is no failure. A model from an index is complete: it takes no more
 * events. */
int model_open(struct model *self, const char *path, const struct model_options *options,
	       struct err *err);

/* Makes the index of a trace unless there is a fresh one; *made (may be NULL) says where it is. */
int index_build(const char *path, const struct model_options *options, struct index_made *made,
		struct err *err);

/* Removes all indexes of a trace, of all its images, and those in the cache folder; *removed is how
 * many. A trace that is gone may be named, too. */
int index_remove(const char *path, u64 *removed, struct err *err);

#endif
