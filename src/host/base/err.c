/* SPDX-License-Identifier: MIT
 * Errors as text with a code. Runs on the host. Never prints, never allocates. */
#include "host/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/base/text.h"

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	text_clean(err->text);
	return code;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char rest[sizeof(err->text)];
	va_list args;
	int used;

	if (!err)
		return ERR_SYSTEM;
	memcpy(rest, err->text, sizeof(rest));
	rest[sizeof(rest) - 1] = '\0';
	va_start(args, format);
	used = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (used < 0 || (size_t)used + 2 >= sizeof(err->text))
		return err->code;
	snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %.*s",
		 (int)(sizeof(err->text) - (size_t)used - 3), rest);
	return err->code;
}

int err_memory(struct err *err) { return err_set(err, ERR_MEMORY, "out of memory"); }

int err_memory_for(struct err *err, const char *format, ...)
{
	char what[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return err_set(err, ERR_MEMORY, "out of memory for %s", what);
}
