/* SPDX-License-Identifier: MIT
 * The pointers that scans found, as model->graphs has them: the newest last, each with arrays of
 * its own, which are as large as they have to be. They can take more memory than all the rest of
 * a model, so whoever opens a trace asks for them (struct model_options). */
#ifndef STUDY_MODEL_GRAPHS_H
#define STUDY_MODEL_GRAPHS_H

#include "study/model/model.h"

/* A function of the model's sink: keeps a copy. */
int model_fill_graph(void *self, const struct stream_graph *graph, struct err *err);

/* Reads those of a trace into the model that was made of it. */
struct graphs_source {
	const char *path;
	int image;                     /* as of the model */
	const struct trace_info *info; /* what reading the model found */
};
int model_read_graphs(struct model *self, const struct graphs_source *from, struct err *err);

void model_release_graphs(struct model *self);

#endif
