/* SPDX-License-Identifier: MIT
 * Errors with a place.
 * Host. */
#include "study/query/error.h"

#include <stdarg.h>
#include <stdio.h>

int query_error_set(struct query_error *self, int code, struct query_place place,
		    const char *format, ...)
{
	va_list arguments;

	if (!self || self->code)
		return code;
	self->code = code;
	self->at = place.at;
	self->length = place.length;
	self->hint[0] = 0;
	va_start(arguments, format);
	vsnprintf(self->message, sizeof self->message, format, arguments);
	va_end(arguments);
	return code;
}

int query_error_memory(struct query_error *self)
{
	return query_error_set(self, ERR_MEMORY, QUERY_NOWHERE, "out of memory");
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
	return query_error_set(self, err->code < 0 ? err->code : ERR_SYSTEM, QUERY_NOWHERE,
			       "%.300s", err->text);
}
