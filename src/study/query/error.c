/* SPDX-License-Identifier: MIT
 * Errors with a place.
 * Host. */
#include "study/query/error.h"

#include <stdarg.h>
#include <stdio.h>

int query_error_set(struct query_error *self, int code, u32 at, u32 length, const char *format, ...)
{
	va_list arguments;

	if (!self || self->code)
		return code;
	self->code = code;
	self->at = at;
	self->length = length;
	self->hint[0] = 0;
	va_start(arguments, format);
	vsnprintf(self->message, sizeof self->message, format, arguments);
	va_end(arguments);
	return code;
}

void query_error_hint(struct query_error *self, const char *format, ...)
{
	va_list arguments;

	if (!self || self->hint[0])
		return;
	va_start(arguments, format);
	vsnprintf(self->hint, sizeof self->hint, format, arguments);
	va_end(arguments);
}

void query_error_suggest(struct query_error *self, const char *best, const char *otherwise)
{
	if (best)
		query_error_hint(self, "did you mean '%s'?", best);
	else
		query_error_hint(self, "%s", otherwise);
}

int query_error_take(struct query_error *self, const struct err *err)
{
	return query_error_set(self, err->code < 0 ? err->code : ERR_SYSTEM, 0, 0, "%.300s",
			       err->text);
}
