/* SPDX-License-Identifier: MIT
 * Answers that are one object of values with names. */
#ifndef SHOW_SERVE_REPLY_H
#define SHOW_SERVE_REPLY_H

#include "show/render/fields.h"
#include "show/serve/api.h"

/* The object as data, and nothing left out. */
#define reply_object(call, ...)                                                                    \
	do {                                                                                       \
		if (reply_begin(call, false)) {                                                    \
			put_object(&(call)->json, "data", __VA_ARGS__);                            \
			reply_end(call);                                                           \
		}                                                                                  \
	} while (0)

/* A row of a table of columns: a value for each, in their order. */
static inline void reply_set_row(struct reply_columns *self, u64 row, const double *values)
{
	for (u32 i = 0; i < self->column_count; i++)
		self->columns[i].values[row] = values[i];
}

#endif
