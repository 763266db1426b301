/* SPDX-License-Identifier: MIT
 * The printf family: which texts the arguments name, and where the result goes. Runs in the target,
 * in front of the real functions. Formats that are not understood to their end leave the rest
 * unrecorded. */
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "target/access/ranges/ranges.h"
#include "target/recorder/state/access.h"

/* ---- reading a format ---- */

enum width { WIDTH_INT, WIDTH_LONG, WIDTH_LONG_DOUBLE };

/* The value of digits or of an argument; -1 if there is none. */
static long number(const char **at, va_list *arguments)
{
	long value = 0;

	if (**at == '*') {
		(*at)++;
		return va_arg(*arguments, int);
	}
	if (**at < '0' || **at > '9')
		return -1;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		value = value < 1000000 ? value * 10 + **at - '0' : value;
	return value;
}

static enum width length_modifier(const char **at)
{
	enum width width = WIDTH_INT;

	for (;; (*at)++) {
		switch (**at) {
		case 'h': break;
		case 'l':
		case 'j':
		case 'z':
		case 't':
		case 'q': width = WIDTH_LONG; break;
		case 'L': width = WIDTH_LONG_DOUBLE; break;
		default: return width;
		}
	}
}

/* One argument; false if the conversion is not known. */
static bool conversion(char c, enum width width, long precision, va_list *arguments)
{
	const char *s;

	switch (c) {
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
	case 'c':
		if (width == WIDTH_INT)
			(void)va_arg(*arguments, int);
		else
			(void)va_arg(*arguments, long);
		return true;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		if (width == WIDTH_LONG_DOUBLE)
			(void)va_arg(*arguments, long double);
		else
			(void)va_arg(*arguments, double);
		return true;
	case 's':
		s = va_arg(*arguments, const char *);
		if (width == WIDTH_INT && s)
			hwr_range_text(s, precision >= 0 ? (size_t)precision : SIZE_MAX);
		return true;
	case 'p':
	case 'n': (void)va_arg(*arguments, void *); return true;
	case 'm':
	case '%': return true;
	default: return false;
	}
}

/* Whether a format may name a text. Most that programs use again and again have numbers only, and
 * reading one whole would take half as long as to print it. */
static bool may_have_text(const char *format)
{
	for (; *format; format++)
		if (*format == 's')
			return true;
	return false;
}

static void read_arguments(const char *format, va_list given)
{
	va_list arguments;
	bool known = true;

	hwr_range_text(format, SIZE_MAX);
	if (!may_have_text(format))
		return;
	va_copy(arguments, given);
	while (known && *format) {
		enum width width;
		long precision = -1;

		if (*format++ != '%')
			continue;
		while (*format &&
		       (*format == '-' || *format == '+' || *format == ' ' || *format == '#' ||
			*format == '0' || *format == '\'' || *format == 'I'))
			format++;
		number(&format, &arguments);
		if (*format == '$')
			break; /* arguments by number */
		if (*format == '.') {
			format++;
			precision = number(&format, &arguments);
			precision = precision < 0 ? 0 : precision;
		}
		width = length_modifier(&format);
		known = conversion(*format, width, precision, &arguments);
		format += *format != 0;
	}
	va_end(arguments);
}

static void written(char *to, size_t room, int result)
{
	size_t bytes = (size_t)result + 1;

	if (result >= 0 && room && hwr_range_in_heap(to))
		hwr_access_range((u64)to, bytes < room ? bytes : room, true);
}

/* A new text; the caller's. */
static void made(char **text, int result)
{
	if (result >= 0)
		written(*text, SIZE_MAX, result);
}

/* ---- functions ---- */

/* row(name, real function, parameters, those of the real function, arguments, after) */
#define FORMAT_ROWS(F)                                                                             \
	F(printf, vprintf, (const char *format, ...), (const char *format, va_list),               \
	  (format, list), )                                                                        \
	F(fprintf, vfprintf, (FILE * f, const char *format, ...),                                  \
	  (FILE * f, const char *format, va_list), (f, format, list), )                            \
	F(dprintf, vdprintf, (int fd, const char *format, ...),                                    \
	  (int fd, const char *format, va_list), (fd, format, list), )                             \
	F(sprintf, vsprintf, (char *to, const char *format, ...),                                  \
	  (char *to, const char *format, va_list), (to, format, list),                             \
	  written(to, SIZE_MAX, result);)                                                          \
	F(snprintf, vsnprintf, (char *to, size_t n, const char *format, ...),                      \
	  (char *to, size_t n, const char *format, va_list), (to, n, format, list),                \
	  written(to, n, result);)                                                                 \
	F(asprintf, vasprintf, (char **text, const char *format, ...),                             \
	  (char **text, const char *format, va_list), (text, format, list), made(text, result);)   \
	F(__asprintf_chk, __vasprintf_chk, (char **text, int flag, const char *format, ...),       \
	  (char **text, int flag, const char *format, va_list), (text, flag, format, list),        \
	  made(text, result);)                                                                     \
	F(__dprintf_chk, __vdprintf_chk, (int fd, int flag, const char *format, ...),              \
	  (int fd, int flag, const char *format, va_list), (fd, flag, format, list), )             \
	F(__printf_chk, __vprintf_chk, (int flag, const char *format, ...),                        \
	  (int flag, const char *format, va_list), (flag, format, list), )                         \
	F(__fprintf_chk, __vfprintf_chk, (FILE * f, int flag, const char *format, ...),            \
	  (FILE * f, int flag, const char *format, va_list), (f, flag, format, list), )            \
	F(__sprintf_chk, __vsprintf_chk,                                                           \
	  (char *to, int flag, size_t room, const char *format, ...),                              \
	  (char *to, int flag, size_t room, const char *format, va_list),                          \
	  (to, flag, room, format, list), written(to, SIZE_MAX, result);)                          \
	F(__snprintf_chk, __vsnprintf_chk,                                                         \
	  (char *to, size_t n, int flag, size_t room, const char *format, ...),                    \
	  (char *to, size_t n, int flag, size_t room, const char *format, va_list),                \
	  (to, n, flag, room, format, list), written(to, n, result);)

/* row(name, parameters, arguments, after) */
#define LIST_ROWS(F)                                                                               \
	F(vprintf, (const char *format, va_list list), (format, list), )                           \
	F(vfprintf, (FILE * f, const char *format, va_list list), (f, format, list), )             \
	F(vdprintf, (int fd, const char *format, va_list list), (fd, format, list), )              \
	F(__vdprintf_chk, (int fd, int flag, const char *format, va_list list),                    \
	  (fd, flag, format, list), )                                                              \
	F(__vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list), )     \
	F(__vsprintf_chk, (char *to, int flag, size_t room, const char *format, va_list list),     \
	  (to, flag, room, format, list), written(to, SIZE_MAX, result);)                          \
	F(vsprintf, (char *to, const char *format, va_list list), (to, format, list),              \
	  written(to, SIZE_MAX, result);)                                                          \
	F(vsnprintf, (char *to, size_t n, const char *format, va_list list),                       \
	  (to, n, format, list), written(to, n, result);)                                          \
	F(vasprintf, (char **text, const char *format, va_list list), (text, format, list),        \
	  made(text, result);)                                                                     \
	F(__vasprintf_chk, (char **text, int flag, const char *format, va_list list),              \
	  (text, flag, format, list), made(text, result);)                                         \
	F(__vfprintf_chk, (FILE * f, int flag, const char *format, va_list list),                  \
	  (f, flag, format, list), )                                                               \
	F(__vsnprintf_chk,                                                                         \
	  (char *to, size_t n, int flag, size_t room, const char *format, va_list list),           \
	  (to, n, flag, room, format, list), written(to, n, result);)

#define DEFINE_FORMAT(name, real_name, parameters, real_parameters, arguments, after)              \
	HWR_IN_FRONT(int, name, parameters)                                                        \
	{                                                                                          \
		static void *real;                                                                 \
		int(*call) real_parameters = hwr_real_once(&real, #real_name);                     \
		va_list list;                                                                      \
		int result;                                                                        \
                                                                                                   \
		va_start(list, format);                                                            \
		read_arguments(format, list);                                                      \
		result = call arguments;                                                           \
		va_end(list);                                                                      \
		after return result;                                                               \
	}

#define DEFINE_LIST(name, parameters, arguments, after)                                            \
	HWR_IN_FRONT(int, name, parameters)                                                        \
	{                                                                                          \
		static void *real;                                                                 \
		int result;                                                                        \
                                                                                                   \
		read_arguments(format, list);                                                      \
		result = ((int(*) parameters)hwr_real_once(&real, #name))arguments;                \
		after return result;                                                               \
	}

FORMAT_ROWS(DEFINE_FORMAT)
LIST_ROWS(DEFINE_LIST)
