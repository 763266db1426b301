/* SPDX-License-Identifier: MIT
 * Fields of records, written one after the other:
 *
 *	result_field(record, "program", "program", VALUE_TEXT, value_text(path), "path of the executable");
 *	result_last(record)->section = "Run";
 */
#ifndef STUDY_RESULT_FIELD_H
#define STUDY_RESULT_FIELD_H

#include "host/base/err.h"
#include "study/result/result.h"

#define result_field(result_, name_, label_, type_, value_, meaning_)                              \
	result_add_field(result_, (struct result_column)COLUMN(name_, label_, type_, meaning_),    \
			 value_)

/* The field that was added last, to be changed. */
static inline struct result_column *result_last(struct result *self)
{
	static struct result_column nowhere;

	if (self->failed || !self->columns.count)
		return &nowhere;
	return &self->columns.data[self->columns.count - 1];
}

/* What was made; NULL, and an error that there is no memory for it, if it failed. */
static inline struct result *result_made(struct result *self, struct err *err, const char *what)
{
	if (self && !result_failed(self))
		return self;
	err_memory_for(err, "%s", what);
	result_free(self);
	return NULL;
}

#endif
