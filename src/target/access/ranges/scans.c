/* SPDX-License-Identifier: MIT
 * The scanf family: what a call has stored, and where. Runs in the target, in front of the real
 * functions. Formats that are not understood to their end, and such with wide characters, leave the
 * rest unrecorded. */
#include <stdarg.h>

#include "target/access/ranges/ranges.h"

/* ---- reading a format ---- */

struct conversion {
	bool stored;    /* no '*' */
	bool allocated; /* 'm': the text is a new chunk */
	bool set;       /* [...] */
	size_t width;   /* 0 = none is given */
	size_t bytes;   /* of a number, by its length modifier */
	char kind;
};

static size_t number_bytes(const char **at)
{
	size_t bytes = sizeof(int);

	for (;; (*at)++) {
		switch (**at) {
		case 'h': bytes /= 2; break;
		case 'l':
		case 'j':
		case 'z':
		case 't':
		case 'q': bytes = sizeof(long); break;
		case 'L': bytes = sizeof(long double); break;
		default: return bytes;
		}
	}
}

/* Behind the set's last bracket; one that comes first is of the set. */
static const char *after_set(const char *at)
{
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']')
		at++;
	return *at ? at + 1 : at;
}

/* The conversion whose '%' stands before *at. */
static struct conversion conversion_read(const char **at)
{
	struct conversion self = {.stored = true};

	for (; **at == '*' || **at == '\'' || **at == 'm'; (*at)++) {
		self.stored = self.stored && **at != '*';
		self.allocated = self.allocated || **at == 'm';
	}
	for (; **at >= '0' && **at <= '9'; (*at)++)
		self.width =
			self.width < 1000000 ? self.width * 10 + (size_t)(**at - '0') : self.width;
	if (**at == 'm') {
		self.allocated = true;
		(*at)++;
	}
	self.bytes = number_bytes(at);
	self.kind = **at;
	if (!self.kind)
		return self;
	(*at)++;
	self.set = self.kind == '[';
	if (self.set)
		*at = after_set(*at);
	return self;
}

static size_t float_bytes(size_t bytes)
{
	return bytes == sizeof(int)    ? sizeof(float)
	       : bytes == sizeof(long) ? sizeof(double)
				       : bytes;
}

/* False: what is stored is not known. */
static bool conversion_store(const struct conversion *self, void *to)
{
	switch (self->kind) {
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
	case 'n': hwr_range(to, self->bytes, true); return true;
	case 'p': hwr_range(to, sizeof(void *), true); return true;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A': hwr_range(to, float_bytes(self->bytes), true); return true;
	case 'c':
	case 's':
	case '[':
		if (self->bytes != sizeof(int))
			return false; /* wide */
		if (self->allocated) {
			hwr_range(to, sizeof(void *), true);
			to = *(void **)to;
		}
		if (self->kind == 'c')
			hwr_range(to, self->width ? self->width : 1, true);
		else if (hwr_range_in_heap(to))
			hwr_range(to, hwr_text_bytes(to, SIZE_MAX), true);
		return true;
	default: return false;
	}
}

/* So many were stored. %n is not counted, and comes if all before it did. */
static void stored(const char *format, int count, va_list given)
{
	va_list arguments;

	va_copy(arguments, given);
	while (*format) {
		struct conversion conversion;

		if (*format++ != '%')
			continue;
		if (*format == '%') {
			format++;
			continue;
		}
		conversion = conversion_read(&format);
		if (!conversion.stored)
			continue;
		if (conversion.kind != 'n' && count-- <= 0)
			break;
		if (!conversion_store(&conversion, va_arg(arguments, void *)))
			break;
	}
	va_end(arguments);
}

/* ---- functions ---- */

typedef void *stream; /* without stdio.h, which gives these functions other names */

static void scan_text(const char *text, const char *format)
{
	hwr_range_text(text, SIZE_MAX);
	hwr_range_text(format, SIZE_MAX);
}

/* row(prefix): C99 and C23 have functions of their own */
#define SCAN_ROWS(F) F() F(__isoc99_) F(__isoc23_)

#define DEFINE_SCAN(name, real_name, parameters, real_parameters, arguments, before)               \
	HWR_IN_FRONT(int, name, parameters)                                                        \
	{                                                                                          \
		static void *real;                                                                 \
		int(*call) real_parameters = hwr_real_once(&real, #real_name);                     \
		va_list list, again;                                                               \
		int result;                                                                        \
                                                                                                   \
		va_start(list, format);                                                            \
		va_copy(again, list);                                                              \
		before result = call arguments;                                                    \
		stored(format, result, again);                                                     \
		va_end(again);                                                                     \
		va_end(list);                                                                      \
		return result;                                                                     \
	}

#define DEFINE_SCAN_LIST(name, parameters, arguments, before)                                      \
	HWR_IN_FRONT(int, name, parameters)                                                        \
	{                                                                                          \
		static void *real;                                                                 \
		va_list again;                                                                     \
		int result;                                                                        \
                                                                                                   \
		va_copy(again, list);                                                              \
		before result = ((int(*) parameters)hwr_real_once(&real, #name))arguments;         \
		stored(format, result, again);                                                     \
		va_end(again);                                                                     \
		return result;                                                                     \
	}

#define DEFINE_SCANS(prefix)                                                                       \
	DEFINE_SCAN(prefix##sscanf, prefix##vsscanf, (const char *text, const char *format, ...),  \
		    (const char *text, const char *format, va_list), (text, format, list),         \
		    scan_text(text, format);)                                                      \
	DEFINE_SCAN(prefix##fscanf, prefix##vfscanf, (stream f, const char *format, ...),          \
		    (stream f, const char *format, va_list), (f, format, list),                    \
		    hwr_range_text(format, SIZE_MAX);)                                             \
	DEFINE_SCAN(prefix##scanf, prefix##vscanf, (const char *format, ...),                      \
		    (const char *format, va_list), (format, list),                                 \
		    hwr_range_text(format, SIZE_MAX);)                                             \
	DEFINE_SCAN_LIST(prefix##vsscanf, (const char *text, const char *format, va_list list),    \
			 (text, format, list), scan_text(text, format);)                           \
	DEFINE_SCAN_LIST(prefix##vfscanf, (stream f, const char *format, va_list list),            \
			 (f, format, list), hwr_range_text(format, SIZE_MAX);)                     \
	DEFINE_SCAN_LIST(prefix##vscanf, (const char *format, va_list list), (format, list),       \
			 hwr_range_text(format, SIZE_MAX);)

SCAN_ROWS(DEFINE_SCANS)
