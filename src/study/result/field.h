/* SPDX-License-Identifier: MIT
 * Fields of records, written one after the other:
 *
 *	result_field(record, "program", "program", VALUE_TEXT, value_text(path), "its path");
 *	result_field(record, "lost", "lost", VALUE_COUNT, value_number(lost), "lost events",
 *		     .hide_zero = true);
 */
#ifndef STUDY_RESULT_FIELD_H
#define STUDY_RESULT_FIELD_H

#include "host/base/err.h"
#include "study/result/result.h"

/* The meaning may be followed by further members, as in COLUMN. */
#define result_field(result_, name_, label_, type_, value_, ...)                                   \
	result_add_field(result_, (struct result_column)COLUMN(name_, label_, type_, __VA_ARGS__), \
			 value_)

/* What was made; NULL, and an error that there is no memory for it, if it failed. Other errors on
 * the way, which made it not good, are in err. */
static inline struct result *result_made_if(bool good, struct result *self, struct err *err,
					    const char *what)
{
	if (good && self && !result_failed(self))
		return self;
	if (good || !self)
		err_memory_for(err, "%s", what);
	result_free(self);
	return NULL;
}
static inline struct result *result_made(struct result *self, struct err *err, const char *what)
{
	return result_made_if(true, self, err, what);
}

#endif
