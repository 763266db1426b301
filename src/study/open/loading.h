/* SPDX-License-Identifier: MIT
 * The model of a program's last image, made while it runs: when it ends there is no trace to be
 * read.
 *
 *	struct loading *loading = loading_new();
 *	...                             which tells loading_sink(loading) of it, and calls loading_analyse at its end
 *	struct model *model = loading_take(loading, &behaviour);
 *	loading_free(loading);
 *
 * All functions take NULL, for when there was no memory. */
#ifndef STUDY_OPEN_LOADING_H
#define STUDY_OPEN_LOADING_H

#include "study/analysis/memoro/behaviour.h"
#include "study/model/model.h"
#include "host/trace/stream.h"

/* More events, contexts and pieces of memory would keep memory from others: then there is no model,
 * and who wants one reads the trace. */
enum { LOADING_EVENTS_MAX = 500000 };

struct loading;

struct loading *loading_new(void);

/* To be told the recording; never holds it up, never fails. */
const struct stream_sink *loading_sink(struct loading *self);

/* When the recording has ended: looks at the chunks, on a thread of its own, while others close the
 * trace and look for names. */
void loading_analyse(struct loading *self);

/* The model, when the recording has ended, until it is taken; NULL if there is none. */
const struct model *loading_look(struct loading *self);

/* When the recording has ended; the model is the caller's, and so is what its chunks did by the
 * usual thresholds, which is yet to be finished; without any points if that is not known. NULL if
 * there is none: who reads the trace learns why. The names of types are not loaded yet. */
struct model *loading_take(struct loading *self, struct behaviour_table *begun);
void loading_free(struct loading *self);

#endif
