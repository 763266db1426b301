/* SPDX-License-Identifier: MIT
 * Which chunks an allocation point has, in the order of their numbers. Of a model that was opened
 * by its index; others have no such list (chunks NULL). */
#ifndef STUDY_MODEL_BY_POINT_H
#define STUDY_MODEL_BY_POINT_H

#include "study/model/model.h"

/* See study/model/order.h. */
int by_point_write(struct model *model, struct index_writer *out, struct err *err);
bool by_point_take(struct model *model);

#endif
