/* SPDX-License-Identifier: GPL-2.0-or-later
 * Simple versions of the C library's functions on memory and strings, which Valgrind puts in their
 * place. Runs in the program, as translated code.
 *
 * The C library's own read whole vectors, before the beginning of a string and behind its end:
 * bytes that the program never asked for, and accesses that begin outside of the block. These touch
 * each byte that the function is defined to touch, and no other: copies and fills in steps of 8
 * bytes, searches byte by byte up to where the answer is known. */
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include <pub_tool_basics.h>
#include <pub_tool_redir.h>

#include "target/valgrind/arch/arch.h"

/* The function `name` of the libraries that match the Z-encoded soname. Replacements of one class
 * are known to do the same, so that aliases may meet. */
#define REPLACE(class, soname, name) VG_REPLACE_FUNCTION_EZU(class, soname, name)

#define LIBC VG_Z_LIBC_SONAME

/* DEFINE(result, class, soname, name, (parameters), (arguments)) makes the function `name` of
 * `soname` a call of the static inline function do_##function. */
#define DEFINE(result, class, soname, name, function, parameters, arguments)                       \
	result REPLACE(class, soname, name) parameters;                                            \
	result REPLACE(class, soname, name) parameters { return do_##function arguments; }

/* The same for a function of which the C library has several versions. Where its own calls do not
 * choose between them (aarch64), they go to one that only debug symbols name. */
#define DEFINE_CHOSEN(result, class, name, function, parameters, arguments)                        \
	DEFINE(result, class, LIBC, name, function, parameters, arguments)                         \
	DEFINE(result, class, LIBC, __GI_##name, function, parameters, arguments)

typedef unsigned char byte;

/* One access of 8 bytes at any address. */
struct __attribute__((packed, may_alias)) word {
	uint64_t value;
};

/* ---- copies and fills ---- */

static inline void *copy_up(void *to_, const void *from_, size_t count)
{
	byte *to = to_;
	const byte *from = from_;

	for (; count >= 8; count -= 8, to += 8, from += 8)
		((struct word *)to)->value = ((const struct word *)from)->value;
	for (; count; count--)
		*to++ = *from++;
	return to_;
}

static inline void *copy_down(void *to_, const void *from_, size_t count)
{
	byte *to = (byte *)to_ + count;
	const byte *from = (const byte *)from_ + count;

	for (; count >= 8; count -= 8) {
		to -= 8;
		from -= 8;
		((struct word *)to)->value = ((const struct word *)from)->value;
	}
	for (; count; count--)
		*--to = *--from;
	return to_;
}

/* Programs that copy overlapping memory with memcpy get away with it: so they do here. */
static inline void *do_memmove(void *to, const void *from, size_t count)
{
	if ((uintptr_t)to - (uintptr_t)from < count)
		return copy_down(to, from, count);
	return copy_up(to, from, count);
}

static inline void *do_mempcpy(void *to, const void *from, size_t count)
{
	return (byte *)do_memmove(to, from, count) + count;
}

static inline void do_bcopy(const void *from, void *to, size_t count)
{
	do_memmove(to, from, count);
}

static inline void *do_memset(void *to_, int value, size_t count)
{
	uint64_t eight = (byte)value * 0x0101010101010101ull;
	byte *to = to_;

	for (; count >= 8; count -= 8, to += 8)
		((struct word *)to)->value = eight;
	for (; count; count--)
		*to++ = (byte)value;
	return to_;
}

#define COPY_PARAMETERS (void *to, const void *from, size_t count)
#define COPY_ARGUMENTS (to, from, count)
DEFINE_CHOSEN(void *, 20180, memcpy, memmove, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE_CHOSEN(void *, 20181, memmove, memmove, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE(void *, 20181, LIBC, memcpyZAGLIBCZu2Zd2Zd5, memmove, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE(void *, 20180, LIBC, memcpyZAZAGLIBCZu2Zd14, memmove, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE(void *, 20290, LIBC, mempcpy, mempcpy, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE(void *, 20180, HWV_LOADER, memcpy, memmove, COPY_PARAMETERS, COPY_ARGUMENTS)
DEFINE(void *, 20290, HWV_LOADER, mempcpy, mempcpy, COPY_PARAMETERS, COPY_ARGUMENTS)
#define CHECKED_COPY_PARAMETERS (void *to, const void *from, size_t count, size_t room)
#define CHECKED_COPY_ARGUMENTS (to, from, count < room ? count : room)
DEFINE(void *, 20300, LIBC, __memcpy_chk, memmove, CHECKED_COPY_PARAMETERS, CHECKED_COPY_ARGUMENTS)
DEFINE(void *, 20240, LIBC, __memmove_chk, memmove, CHECKED_COPY_PARAMETERS, CHECKED_COPY_ARGUMENTS)
DEFINE(void, 20230, LIBC, bcopy, bcopy, (const void *from, void *to, size_t count),
       (from, to, count))
DEFINE_CHOSEN(void *, 20210, memset, memset, (void *to, int value, size_t count),
	      (to, value, count))

/* ---- bytes ---- */

static inline void *do_memchr(const void *at_, int value, size_t count)
{
	for (const byte *at = at_; count; at++, count--)
		if (*at == (byte)value)
			return (void *)at;
	return NULL;
}

static inline void *do_rawmemchr(const void *at_, int value)
{
	const byte *at = at_;

	while (*at != (byte)value)
		at++;
	return (void *)at;
}

static inline void *do_memrchr(const void *at, int value, size_t count)
{
	while (count--)
		if (((const byte *)at)[count] == (byte)value)
			return (byte *)at + count;
	return NULL;
}

/* By words where both are aligned, until two differ: in those the byte is looked for. */
static inline int do_memcmp(const void *a_, const void *b_, size_t count)
{
	const byte *a = a_, *b = b_;

	if ((((uintptr_t)a | (uintptr_t)b) & 7) == 0)
		for (; count >= 8; a += 8, b += 8, count -= 8)
			if (((const struct word *)a)->value != ((const struct word *)b)->value)
				break;
	for (; count; a++, b++, count--)
		if (*a != *b)
			return *a - *b;
	return 0;
}

#define SEARCH_PARAMETERS (const void *at, int value, size_t count)
#define SEARCH_ARGUMENTS (at, value, count)
DEFINE_CHOSEN(void *, 20170, memchr, memchr, SEARCH_PARAMETERS, SEARCH_ARGUMENTS)
DEFINE(void *, 20360, LIBC, memrchr, memrchr, SEARCH_PARAMETERS, SEARCH_ARGUMENTS)
DEFINE(void *, 20260, LIBC, rawmemchr, rawmemchr, (const void *at, int value), (at, value))
#define COMPARE_PARAMETERS (const void *a, const void *b, size_t count)
DEFINE(int, 20190, LIBC, memcmp, memcmp, COMPARE_PARAMETERS, (a, b, count))
DEFINE(int, 20190, LIBC, bcmp, memcmp, COMPARE_PARAMETERS, (a, b, count))

/* ---- strings ---- */

static inline size_t do_strnlen(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return n;
}

static inline size_t do_strlen(const char *s) { return do_strnlen(s, SIZE_MAX); }

static inline char *do_stpcpy(char *to, const char *from)
{
	for (;; to++, from++) {
		char c = *from;

		*to = c;
		if (!c)
			return to;
	}
}

static inline char *do_strcpy(char *to, const char *from)
{
	do_stpcpy(to, from);
	return to;
}

/* Fills up with zeros; returns where they begin. */
static inline char *do_stpncpy(char *to, const char *from, size_t count)
{
	size_t n = 0;

	for (; n < count; n++) {
		char c = from[n];

		if (!c)
			break;
		to[n] = c;
	}
	for (size_t i = n; i < count; i++)
		to[i] = 0;
	return to + n;
}

static inline char *do_strncpy(char *to, const char *from, size_t count)
{
	do_stpncpy(to, from, count);
	return to;
}

static inline char *do_strncat(char *to, const char *from, size_t count)
{
	char *end = to + do_strlen(to);

	for (; count; count--, end++, from++) {
		char c = *from;

		if (!c)
			break;
		*end = c;
	}
	*end = 0;
	return to;
}

static inline char *do_strcat(char *to, const char *from)
{
	do_strcpy(to + do_strlen(to), from);
	return to;
}

DEFINE_CHOSEN(size_t, 20070, strlen, strlen, (const char *s), (s))
DEFINE(size_t, 20070, HWV_LOADER, strlen, strlen, (const char *s), (s))
DEFINE(size_t, 20060, LIBC, strnlen, strnlen, (const char *s, size_t most), (s, most))
#define STRCPY_PARAMETERS (char *to, const char *from)
DEFINE(char *, 20080, LIBC, strcpy, strcpy, STRCPY_PARAMETERS, (to, from))
DEFINE(char *, 20200, LIBC, stpcpy, stpcpy, STRCPY_PARAMETERS, (to, from))
DEFINE(char *, 20200, HWV_LOADER, stpcpy, stpcpy, STRCPY_PARAMETERS, (to, from))
DEFINE(char *, 20030, LIBC, strcat, strcat, STRCPY_PARAMETERS, (to, from))
#define STRNCPY_PARAMETERS (char *to, const char *from, size_t count)
DEFINE(char *, 20090, LIBC, strncpy, strncpy, STRNCPY_PARAMETERS, (to, from, count))
DEFINE(char *, 20420, LIBC, stpncpy, stpncpy, STRNCPY_PARAMETERS, (to, from, count))
DEFINE(char *, 20040, LIBC, strncat, strncat, STRNCPY_PARAMETERS, (to, from, count))

static inline char *do_strchrnul(const char *s, int value)
{
	for (;; s++) {
		char c = *s;

		if (c == (char)value || !c)
			return (char *)s;
	}
}

static inline char *do_strchr(const char *s, int value)
{
	for (;; s++) {
		char c = *s;

		if (c == (char)value)
			return (char *)s;
		if (!c)
			return NULL;
	}
}

static inline char *do_strrchr(const char *s, int value)
{
	const char *last = NULL;

	for (;; s++) {
		char c = *s;

		if (c == (char)value)
			last = s;
		if (!c)
			return (char *)last;
	}
}

#define STRCHR_PARAMETERS (const char *s, int value)
DEFINE(char *, 20020, LIBC, strchr, strchr, STRCHR_PARAMETERS, (s, value))
DEFINE(char *, 20020, LIBC, index, strchr, STRCHR_PARAMETERS, (s, value))
DEFINE(char *, 20010, LIBC, strrchr, strrchr, STRCHR_PARAMETERS, (s, value))
DEFINE(char *, 20010, LIBC, rindex, strrchr, STRCHR_PARAMETERS, (s, value))
DEFINE(char *, 20250, LIBC, strchrnul, strchrnul, STRCHR_PARAMETERS, (s, value))

static inline int do_strncmp(const char *a, const char *b, size_t count)
{
	for (; count; a++, b++, count--) {
		byte x = (byte)*a, y = (byte)*b;

		if (x != y)
			return x - y;
		if (!x)
			return 0;
	}
	return 0;
}

static inline int do_strcmp(const char *a, const char *b) { return do_strncmp(a, b, SIZE_MAX); }

#define STRCMP_PARAMETERS (const char *a, const char *b)
DEFINE(int, 20160, LIBC, strcmp, strcmp, STRCMP_PARAMETERS, (a, b))
DEFINE(int, 20160, HWV_LOADER, strcmp, strcmp, STRCMP_PARAMETERS, (a, b))
DEFINE(int, 20110, LIBC, strncmp, strncmp, (const char *a, const char *b, size_t count),
       (a, b, count))

/* Letters as the program's locale has them. */
extern int tolower(int);
struct __locale_struct;
extern int tolower_l(int, struct __locale_struct *);

static inline int do_strncasecmp_l(const char *a, const char *b, size_t count,
				   struct __locale_struct *locale)
{
	for (; count; a++, b++, count--) {
		byte x = (byte)*a, y = (byte)*b;
		int low_x = locale ? tolower_l(x, locale) : tolower(x);
		int low_y = locale ? tolower_l(y, locale) : tolower(y);

		if (low_x != low_y)
			return low_x - low_y;
		if (!x)
			return 0;
	}
	return 0;
}

DEFINE(int, 20120, LIBC, strcasecmp, strncasecmp_l, STRCMP_PARAMETERS, (a, b, SIZE_MAX, NULL))
DEFINE(int, 20130, LIBC, strncasecmp, strncasecmp_l, (const char *a, const char *b, size_t count),
       (a, b, count, NULL))
DEFINE(int, 20140, LIBC, strcasecmp_l, strncasecmp_l,
       (const char *a, const char *b, struct __locale_struct *locale), (a, b, SIZE_MAX, locale))
DEFINE(int, 20150, LIBC, strncasecmp_l, strncasecmp_l,
       (const char *a, const char *b, size_t count, struct __locale_struct *locale),
       (a, b, count, locale))

static inline int is_one_of(char c, const char *set)
{
	for (; *set; set++)
		if (*set == c)
			return 1;
	return 0;
}

/* How many characters from s on are in the set, or are not. */
static inline size_t span(const char *s, const char *set, int in)
{
	size_t n = 0;

	while (s[n] && is_one_of(s[n], set) == in)
		n++;
	return n;
}

static inline size_t do_strspn(const char *s, const char *set) { return span(s, set, 1); }
static inline size_t do_strcspn(const char *s, const char *set) { return span(s, set, 0); }

static inline char *do_strpbrk(const char *s, const char *set)
{
	s += span(s, set, 0);
	return *s ? (char *)s : NULL;
}

static inline char *do_strstr(const char *s, const char *wanted)
{
	size_t length = do_strlen(wanted);

	for (;; s++) {
		if (do_strncmp(s, wanted, length) == 0)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

DEFINE(size_t, 20340, LIBC, strspn, strspn, STRCMP_PARAMETERS, (a, b))
DEFINE(size_t, 20330, LIBC, strcspn, strcspn, STRCMP_PARAMETERS, (a, b))
DEFINE(char *, 20320, LIBC, strpbrk, strpbrk, STRCMP_PARAMETERS, (a, b))
DEFINE(char *, 20310, LIBC, strstr, strstr, STRCMP_PARAMETERS, (a, b))

/* ---- wide strings ---- */

static inline size_t do_wcsnlen(const wchar_t *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return n;
}

static inline wchar_t *do_wcscpy(wchar_t *to, const wchar_t *from)
{
	for (size_t i = 0;; i++) {
		wchar_t c = from[i];

		to[i] = c;
		if (!c)
			return to;
	}
}

static inline int do_wcsncmp(const wchar_t *a, const wchar_t *b, size_t count)
{
	for (; count; a++, b++, count--) {
		wchar_t x = *a, y = *b;

		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			return 0;
	}
	return 0;
}

static inline wchar_t *do_wcschr(const wchar_t *s, wchar_t value)
{
	for (;; s++) {
		wchar_t c = *s;

		if (c == value)
			return (wchar_t *)s;
		if (!c)
			return NULL;
	}
}

static inline wchar_t *do_wmemchr(const wchar_t *s, wchar_t value, size_t count)
{
	for (; count; s++, count--)
		if (*s == value)
			return (wchar_t *)s;
	return NULL;
}

DEFINE(size_t, 20370, LIBC, wcslen, wcsnlen, (const wchar_t *s), (s, SIZE_MAX))
DEFINE(size_t, 20440, LIBC, wcsnlen, wcsnlen, (const wchar_t *s, size_t most), (s, most))
DEFINE(wchar_t *, 20390, LIBC, wcscpy, wcscpy, (wchar_t * to, const wchar_t *from), (to, from))
DEFINE(int, 20380, LIBC, wcscmp, wcsncmp, (const wchar_t *a, const wchar_t *b), (a, b, SIZE_MAX))
DEFINE(int, 20450, LIBC, wcsncmp, wcsncmp, (const wchar_t *a, const wchar_t *b, size_t count),
       (a, b, count))
DEFINE(wchar_t *, 20400, LIBC, wcschr, wcschr, (const wchar_t *s, wchar_t value), (s, value))
DEFINE(wchar_t *, 20430, LIBC, wmemchr, wmemchr, (const wchar_t *s, wchar_t value, size_t count),
       (s, value, count))
