/* SPDX-License-Identifier: MIT
 * Functions of the C library that access memory for the program. Runs in the target, in front of
 * the real ones, which do all the work: here each is only recorded, as one access per range. One
 * table says which ranges; printed texts are in formats.c.
 * Ranges are read off the arguments before the call, and off the result after it. Rows without an
 * "after" end in a jump to the real function and leave no frame of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <wchar.h>

#include "target/access/ranges/ranges.h"

#include "target/access/heap/asks.h"
#include "target/recorder/state/real.h"

#include "target/access/ranges/rows.h"

typedef const struct iovec *vectors;
typedef int (*comparison)(const void *, const void *);

/* ---- how far a function looks ---- */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

size_t hwr_text_bytes(ctext s, size_t most)
{
	static void *real_strlen, *real_strnlen;
	size_t n;

	if (most == SIZE_MAX)
		return ((size_t(*)(ctext))hwr_real_once(&real_strlen, "strlen"))(s) + 1;
	n = ((size_t(*)(ctext, size_t))hwr_real_once(&real_strnlen, "strnlen"))(s, most);
	return n < most ? n + 1 : most;
}

/* Bytes that must be looked at to compare two texts. */
static size_t common_bytes(ctext a, ctext b, size_t most)
{
	size_t n = 0;

	if (!hwr_range_in_heap(a) && !hwr_range_in_heap(b))
		return 0;
	while (n < most && a[n] == b[n] && a[n])
		n++;
	return n < most ? n + 1 : most;
}

/* Of a text of wide characters, with its end; at most so many characters. */
static size_t wide_bytes(const wchar_t *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return (n < most ? n + 1 : most) * sizeof(*s);
}

void hwr_range_text(const char *s, size_t most)
{
	if (hwr_range_in_heap(s))
		hwr_access_range((u64)s, hwr_text_bytes(s, most), false);
}

/* Parts of a scattered buffer, up to so many bytes in all. */
static void vector_ranges(vectors v, size_t count, size_t most, bool write)
{
	for (size_t i = 0; i < count && most; i++) {
		size_t bytes = least(v[i].iov_len, most);

		hwr_range(v[i].iov_base, bytes, write);
		most -= bytes;
	}
}

/* ---- rows ---- */

/* As much of p as is needed to find where the result is. */
#define UNTIL(p, extra)                                                                            \
	if (hwr_range_in_heap(p))                                                                  \
		hwr_access_range((u64)(p),                                                         \
				 result ? (size_t)((ctext)result - (ctext)(p)) + (extra)           \
					: hwr_text_bytes((ctext)(p), SIZE_MAX),                    \
				 false);
#define COPY(to, from, n) R(from, n) W(to, n)
/* A text of n bytes, end included, goes to `to`. */
#define COPY_TEXT(to, from, most)                                                                  \
	if (hwr_range_in_heap(to) || hwr_range_in_heap(from)) {                                    \
		size_t n_ = hwr_text_bytes(from, most);                                            \
		COPY(to, from, n_)                                                                 \
	}
#define APPEND_TEXT(to, from, most)                                                                \
	if (hwr_range_in_heap(to) || hwr_range_in_heap(from)) {                                    \
		size_t n_ = hwr_text_bytes(from, most), old_ = hwr_text_bytes(to, SIZE_MAX);       \
		R(to, old_) COPY(to + old_ - 1, from, n_)                                          \
	}
#define WIDE_PART(to, from, n) R(from, wide_bytes(from, n)) W(to, (n) * sizeof(*(to)))
#define APPEND_WIDE(to, from)                                                                      \
	{                                                                                          \
		size_t n_ = wide_bytes(from, SIZE_MAX), old_ = wide_bytes(to, SIZE_MAX);           \
		R(to, old_) R(from, n_) W((text)(to) + old_ - sizeof(*(to)), n_)                   \
	}
#define BOTH(a, b, most)                                                                           \
	{                                                                                          \
		size_t n_ = common_bytes(a, b, most);                                              \
		R(a, n_) R(b, n_)                                                                  \
	}
/* The new text has an end where the old one was cut. */
#define DUPLICATE(s, most)                                                                         \
	if (result) {                                                                              \
		SN(s, most)                                                                        \
		W(result, hwr_text_bytes(result, SIZE_MAX))                                        \
	}
/* From one coding to another, with the end if there is room for it; to NULL for the length alone.
 * How much was read of what did not fit is not known: all of it. */
#define MADE(to, n)                                                                                \
	if ((to) && result != (size_t)-1)                                                          \
	W(to, least(result + 1, n) * sizeof(*(to)))
#define MADE_WIDE(to, s, n) S(s) MADE(to, n)
#define MADE_NARROW(to, s, n) R(s, wide_bytes(s, SIZE_MAX)) MADE(to, n)
#define VECTORS(v, n, most, write) vector_ranges(v, (size_t)(n), most, write);
#define FILLED(v, n) GIVEN(result > 0, VECTORS(v, n, (size_t)result, true))

/* row(type, name, parameters, arguments, before) */
#define BEFORE_ROWS(F)                                                                             \
	F(memory, memcpy, (memory to, cmemory from, size_t n), (to, from, n),                      \
	  COPY_ONCE(to, from, n))                                                                  \
	F(memory, memmove, (memory to, cmemory from, size_t n), (to, from, n),                     \
	  COPY_ONCE(to, from, n))                                                                  \
	F(memory, mempcpy, (memory to, cmemory from, size_t n), (to, from, n),                     \
	  COPY_ONCE(to, from, n))                                                                  \
	F(void, bcopy, (cmemory from, memory to, size_t n), (from, to, n), COPY_ONCE(to, from, n)) \
	F(memory, memset, (memory to, int c, size_t n), (to, c, n), W_ONCE(to, n))                 \
	F(memory, __memcpy_chk, (memory to, cmemory from, size_t n, size_t room),                  \
	  (to, from, n, room), COPY_ONCE(to, from, n))                                             \
	F(memory, __memmove_chk, (memory to, cmemory from, size_t n, size_t room),                 \
	  (to, from, n, room), COPY_ONCE(to, from, n))                                             \
	F(memory, __mempcpy_chk, (memory to, cmemory from, size_t n, size_t room),                 \
	  (to, from, n, room), COPY_ONCE(to, from, n))                                             \
	F(memory, __memset_chk, (memory to, int c, size_t n, size_t room), (to, c, n, room),       \
	  W_ONCE(to, n))                                                                           \
	F(void, bzero, (memory to, size_t n), (to, n), W_ONCE(to, n))                              \
	F(void, explicit_bzero, (memory to, size_t n), (to, n), W(to, n))                          \
	F(void, __explicit_bzero_chk, (memory to, size_t n, size_t room), (to, n, room), W(to, n)) \
	F(int, memcmp, (cmemory a, cmemory b, size_t n), (a, b, n), R_ONCE(a, n) R_ONCE(b, n))     \
	F(int, bcmp, (cmemory a, cmemory b, size_t n), (a, b, n), R_ONCE(a, n) R_ONCE(b, n))       \
	F(memory, memmem, (cmemory a, size_t n, cmemory b, size_t m), (a, n, b, m),                \
	  R(a, n) R(b, m))                                                                         \
	F(memory, memrchr, (cmemory a, int c, size_t n), (a, c, n), R(a, n))                       \
	F(text, strcpy, (text to, ctext from), (to, from), COPY_TEXT(to, from, SIZE_MAX))          \
	F(text, stpcpy, (text to, ctext from), (to, from), COPY_TEXT(to, from, SIZE_MAX))          \
	F(text, __strcpy_chk, (text to, ctext from, size_t room), (to, from, room),                \
	  COPY_TEXT(to, from, SIZE_MAX))                                                           \
	F(text, __stpcpy_chk, (text to, ctext from, size_t room), (to, from, room),                \
	  COPY_TEXT(to, from, SIZE_MAX))                                                           \
	F(text, strncpy, (text to, ctext from, size_t n), (to, from, n), SN(from, n) W(to, n))     \
	F(text, __strncpy_chk, (text to, ctext from, size_t n, size_t room), (to, from, n, room),  \
	  SN(from, n) W(to, n))                                                                    \
	F(text, stpncpy, (text to, ctext from, size_t n), (to, from, n), SN(from, n) W(to, n))     \
	F(text, __stpncpy_chk, (text to, ctext from, size_t n, size_t room), (to, from, n, room),  \
	  SN(from, n) W(to, n))                                                                    \
	F(text, strcat, (text to, ctext from), (to, from), APPEND_TEXT(to, from, SIZE_MAX))        \
	F(text, __strcat_chk, (text to, ctext from, size_t room), (to, from, room),                \
	  APPEND_TEXT(to, from, SIZE_MAX))                                                         \
	F(text, strncat, (text to, ctext from, size_t n), (to, from, n), APPEND_TEXT(to, from, n)) \
	F(text, __strncat_chk, (text to, ctext from, size_t n, size_t room), (to, from, n, room),  \
	  APPEND_TEXT(to, from, n))                                                                \
	F(int, strcmp, (ctext a, ctext b), (a, b), BOTH(a, b, SIZE_MAX))                           \
	F(int, strncmp, (ctext a, ctext b, size_t n), (a, b, n), BOTH(a, b, n))                    \
	F(int, strcasecmp, (ctext a, ctext b), (a, b), S(a) S(b))                                  \
	F(int, strncasecmp, (ctext a, ctext b, size_t n), (a, b, n), SN(a, n) SN(b, n))            \
	F(int, strcoll, (ctext a, ctext b), (a, b), S(a) S(b))                                     \
	F(int, strverscmp, (ctext a, ctext b), (a, b), S(a) S(b))                                  \
	F(text, strrchr, (ctext s, int c), (s, c), S(s))                                           \
	F(text, strstr, (ctext s, ctext t), (s, t), S(s) S(t))                                     \
	F(text, strcasestr, (ctext s, ctext t), (s, t), S(s) S(t))                                 \
	F(double, atof, (ctext s), (s), S(s))                                                      \
	F(int, atoi, (ctext s), (s), S(s))                                                         \
	F(long, atol, (ctext s), (s), S(s))                                                        \
	F(long long, atoll, (ctext s), (s), S(s))                                                  \
	F(long, strtol, (ctext s, char **end, int base), (s, end, base), S(s))                     \
	F(unsigned long, strtoul, (ctext s, char **end, int base), (s, end, base), S(s))           \
	F(long long, strtoll, (ctext s, char **end, int base), (s, end, base), S(s))               \
	F(unsigned long long, strtoull, (ctext s, char **end, int base), (s, end, base), S(s))     \
	F(long, __isoc23_strtol, (ctext s, char **end, int base), (s, end, base), S(s))            \
	F(unsigned long, __isoc23_strtoul, (ctext s, char **end, int base), (s, end, base), S(s))  \
	F(long long, __isoc23_strtoll, (ctext s, char **end, int base), (s, end, base), S(s))      \
	F(unsigned long long, __isoc23_strtoull, (ctext s, char **end, int base), (s, end, base),  \
	  S(s))                                                                                    \
	F(double, strtod, (ctext s, char **end), (s, end), S(s))                                   \
	F(float, strtof, (ctext s, char **end), (s, end), S(s))                                    \
	F(long double, strtold, (ctext s, char **end), (s, end), S(s))                             \
	F(wchar_t *, wmemcpy, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n),        \
	  COPY(to, from, n * sizeof(*to)))                                                         \
	F(wchar_t *, wmemmove, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n),       \
	  COPY(to, from, n * sizeof(*to)))                                                         \
	F(wchar_t *, wmemset, (wchar_t * to, wchar_t c, size_t n), (to, c, n),                     \
	  W(to, n * sizeof(*to)))                                                                  \
	F(wchar_t *, wcsncpy, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n),        \
	  WIDE_PART(to, from, n))                                                                  \
	F(wchar_t *, __wcsncpy_chk, (wchar_t * to, const wchar_t *from, size_t n, size_t room),    \
	  (to, from, n, room), WIDE_PART(to, from, n))                                             \
	F(wchar_t *, __wcscpy_chk, (wchar_t * to, const wchar_t *from, size_t room),               \
	  (to, from, room), COPY(to, from, wide_bytes(from, SIZE_MAX)))                            \
	F(wchar_t *, __wmemcpy_chk, (wchar_t * to, const wchar_t *from, size_t n, size_t room),    \
	  (to, from, n, room), COPY(to, from, n * sizeof(*to)))                                    \
	F(wchar_t *, __wmemmove_chk, (wchar_t * to, const wchar_t *from, size_t n, size_t room),   \
	  (to, from, n, room), COPY(to, from, n * sizeof(*to)))                                    \
	F(wchar_t *, __wmemset_chk, (wchar_t * to, wchar_t c, size_t n, size_t room),              \
	  (to, c, n, room), W(to, n * sizeof(*to)))                                                \
	F(wchar_t *, wcscat, (wchar_t * to, const wchar_t *from), (to, from),                      \
	  APPEND_WIDE(to, from))                                                                   \
	F(wchar_t *, __wcscat_chk, (wchar_t * to, const wchar_t *from, size_t room),               \
	  (to, from, room), APPEND_WIDE(to, from))                                                 \
	F(wchar_t *, wcscpy, (wchar_t * to, const wchar_t *from), (to, from),                      \
	  COPY(to, from, wide_bytes(from, SIZE_MAX)))                                              \
	F(int, wcscmp, (const wchar_t *a, const wchar_t *b), (a, b),                               \
	  R(a, wide_bytes(a, SIZE_MAX)) R(b, wide_bytes(b, SIZE_MAX)))                             \
	F(ssize_t, write, (int fd, cmemory p, size_t n), (fd, p, n), R(p, n))                      \
	F(ssize_t, pwrite, (int fd, cmemory p, size_t n, off_t at), (fd, p, n, at), R(p, n))       \
	F(ssize_t, pwrite64, (int fd, cmemory p, size_t n, off64_t at), (fd, p, n, at), R(p, n))   \
	F(ssize_t, writev, (int fd, vectors v, int n), (fd, v, n), VECTORS(v, n, SIZE_MAX, false)) \
	F(ssize_t, pwritev, (int fd, vectors v, int n, off_t at), (fd, v, n, at),                  \
	  VECTORS(v, n, SIZE_MAX, false))                                                          \
	F(ssize_t, pwritev64, (int fd, vectors v, int n, off64_t at), (fd, v, n, at),              \
	  VECTORS(v, n, SIZE_MAX, false))                                                          \
	F(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),           \
	  VECTORS(m->msg_iov, m->msg_iovlen, SIZE_MAX, false))                                     \
	F(ssize_t, send, (int fd, cmemory p, size_t n, int flags), (fd, p, n, flags), R(p, n))     \
	F(ssize_t, sendto,                                                                         \
	  (int fd, cmemory p, size_t n, int flags, const struct sockaddr *to, socklen_t bytes),    \
	  (fd, p, n, flags, to, bytes), R(p, n))                                                   \
	F(size_t, fwrite, (cmemory p, size_t size, size_t n, FILE * f), (p, size, n, f),           \
	  R(p, size *n))                                                                           \
	F(size_t, fwrite_unlocked, (cmemory p, size_t size, size_t n, FILE * f), (p, size, n, f),  \
	  R(p, size *n))                                                                           \
	F(int, fputs, (ctext s, FILE * f), (s, f), S(s))                                           \
	F(int, fputs_unlocked, (ctext s, FILE * f), (s, f), S(s))                                  \
	F(int, puts, (ctext s), (s), S(s))                                                         \
	F(void, qsort, (memory p, size_t n, size_t size, comparison c), (p, n, size, c),           \
	  R(p, n *size) W(p, n *size))                                                             \
	F(memory, bsearch, (cmemory key, cmemory p, size_t n, size_t size, comparison c),          \
	  (key, p, n, size, c), GIVEN(n, R(p, n *size)))

/* row(type, name, parameters, arguments, after) */
#define AFTER_ROWS(F)                                                                              \
	F(text, strdup, (ctext s), (s), DUPLICATE(s, SIZE_MAX))                                    \
	F(text, __strdup, (ctext s), (s), DUPLICATE(s, SIZE_MAX))                                  \
	F(text, strndup, (ctext s, size_t n), (s, n), DUPLICATE(s, n))                             \
	F(text, __strndup, (ctext s, size_t n), (s, n), DUPLICATE(s, n))                           \
	F(memory, memchr, (cmemory a, int c, size_t n), (a, c, n),                                 \
	  R(a, result ? (size_t)((ctext)result - (ctext)a) + 1 : n))                               \
	F(memory, memccpy, (memory to, cmemory from, int c, size_t n), (to, from, c, n),           \
	  COPY(to, from, result ? (size_t)((ctext)result - (ctext)to) : n))                        \
	F(memory, rawmemchr, (cmemory a, int c), (a, c),                                           \
	  R(a, (size_t)((ctext)result - (ctext)a) + 1))                                            \
	F(size_t, strlen, (ctext s), (s), R(s, result + 1))                                        \
	F(size_t, strnlen, (ctext s, size_t n), (s, n), R(s, least(result + 1, n)))                \
	F(text, strchr, (ctext s, int c), (s, c), UNTIL(s, 1))                                     \
	F(text, strchrnul, (ctext s, int c), (s, c), UNTIL(s, 1))                                  \
	F(text, strpbrk, (ctext s, ctext set), (s, set), UNTIL(s, 1) S(set))                       \
	F(size_t, strspn, (ctext s, ctext set), (s, set), R(s, result + 1) S(set))                 \
	F(size_t, strcspn, (ctext s, ctext set), (s, set), R(s, result + 1) S(set))                \
	F(size_t, mbstowcs, (wchar_t * to, ctext s, size_t n), (to, s, n), MADE_WIDE(to, s, n))    \
	F(size_t, __mbstowcs_chk, (wchar_t * to, ctext s, size_t n, size_t room),                  \
	  (to, s, n, room), MADE_WIDE(to, s, n))                                                   \
	F(size_t, wcstombs, (text to, const wchar_t *s, size_t n), (to, s, n),                     \
	  MADE_NARROW(to, s, n))                                                                   \
	F(size_t, __wcstombs_chk, (text to, const wchar_t *s, size_t n, size_t room),              \
	  (to, s, n, room), MADE_NARROW(to, s, n))                                                 \
	F(size_t, wcslen, (const wchar_t *s), (s), R(s, (result + 1) * sizeof(*s)))                \
	F(ssize_t, read, (int fd, memory p, size_t n), (fd, p, n),                                 \
	  GIVEN(result > 0, W(p, (size_t)result)))                                                 \
	F(ssize_t, __read_chk, (int fd, memory p, size_t n, size_t room), (fd, p, n, room),        \
	  GIVEN(result > 0, W(p, (size_t)result)))                                                 \
	F(ssize_t, pread, (int fd, memory p, size_t n, off_t at), (fd, p, n, at),                  \
	  GIVEN(result > 0, W(p, (size_t)result)))                                                 \
	F(ssize_t, pread64, (int fd, memory p, size_t n, off64_t at), (fd, p, n, at),              \
	  GIVEN(result > 0, W(p, (size_t)result)))                                                 \
	F(ssize_t, __pread_chk, (int fd, memory p, size_t n, off_t at, size_t room),               \
	  (fd, p, n, at, room), GIVEN(result > 0, W(p, (size_t)result)))                           \
	F(ssize_t, __pread64_chk, (int fd, memory p, size_t n, off64_t at, size_t room),           \
	  (fd, p, n, at, room), GIVEN(result > 0, W(p, (size_t)result)))                           \
	F(ssize_t, __recv_chk, (int fd, memory p, size_t n, size_t room, int flags),               \
	  (fd, p, n, room, flags), GIVEN(result > 0, W(p, least((size_t)result, n))))              \
	F(ssize_t, __recvfrom_chk,                                                                 \
	  (int fd, memory p, size_t n, size_t room, int flags, struct sockaddr *from,              \
	   socklen_t *bytes),                                                                      \
	  (fd, p, n, room, flags, from, bytes), GIVEN(result > 0, W(p, least((size_t)result, n)))) \
	F(size_t, __fread_chk, (memory p, size_t room, size_t size, size_t n, FILE * f),           \
	  (p, room, size, n, f), GIVEN(result, W(p, size *result)))                                \
	F(size_t, __fread_unlocked_chk, (memory p, size_t room, size_t size, size_t n, FILE * f),  \
	  (p, room, size, n, f), GIVEN(result, W(p, size *result)))                                \
	F(ssize_t, readv, (int fd, vectors v, int n), (fd, v, n), FILLED(v, n))                    \
	F(ssize_t, preadv, (int fd, vectors v, int n, off_t at), (fd, v, n, at), FILLED(v, n))     \
	F(ssize_t, preadv64, (int fd, vectors v, int n, off64_t at), (fd, v, n, at), FILLED(v, n)) \
	F(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags),                 \
	  FILLED(m->msg_iov, m->msg_iovlen))                                                       \
	F(ssize_t, recv, (int fd, memory p, size_t n, int flags), (fd, p, n, flags),               \
	  GIVEN(result > 0, W(p, least((size_t)result, n))))                                       \
	F(ssize_t, recvfrom,                                                                       \
	  (int fd, memory p, size_t n, int flags, struct sockaddr *from, socklen_t *bytes),        \
	  (fd, p, n, flags, from, bytes), GIVEN(result > 0, W(p, least((size_t)result, n))))       \
	F(size_t, fread, (memory p, size_t size, size_t n, FILE * f), (p, size, n, f),             \
	  GIVEN(result, W(p, size *result)))                                                       \
	F(size_t, fread_unlocked, (memory p, size_t size, size_t n, FILE * f), (p, size, n, f),    \
	  GIVEN(result, W(p, size *result)))                                                       \
	F(text, fgets, (text s, int n, FILE *f), (s, n, f),                                        \
	  GIVEN(result &&hwr_range_in_heap(s), W(s, hwr_text_bytes(s, (size_t)n))))                \
	F(text, __fgets_chk, (text s, size_t room, int n, FILE *f), (s, room, n, f),               \
	  GIVEN(result &&hwr_range_in_heap(s), W(s, hwr_text_bytes(s, (size_t)n))))                \
	F(text, fgets_unlocked, (text s, int n, FILE *f), (s, n, f),                               \
	  GIVEN(result &&hwr_range_in_heap(s), W(s, hwr_text_bytes(s, (size_t)n))))                \
	F(text, __fgets_unlocked_chk, (text s, size_t room, int n, FILE *f), (s, room, n, f),      \
	  GIVEN(result &&hwr_range_in_heap(s), W(s, hwr_text_bytes(s, (size_t)n))))                \
	F(ssize_t, getdelim, (char **line, size_t *room, int c, FILE *f), (line, room, c, f),      \
	  GIVEN(result > 0, W(*line, (size_t)result + 1)))                                         \
	F(ssize_t, __getdelim, (char **line, size_t *room, int c, FILE *f), (line, room, c, f),    \
	  GIVEN(result > 0, W(*line, (size_t)result + 1)))                                         \
	F(ssize_t, getline, (char **line, size_t *room, FILE *f), (line, room, f),                 \
	  GIVEN(result > 0, W(*line, (size_t)result + 1)))

/* ---- what the table makes ---- */

BEFORE_ROWS(DEFINE_BEFORE)
AFTER_ROWS(DEFINE_AFTER)

/* ---- tokens ---- */

/* What lies between two tokens is overwritten with an end; behind the last one there is one
 * already. */
static void token_ranges(ctext begin, ctext token, ctext rest)
{
	size_t bytes;

	if (!begin || !hwr_range_in_heap(begin))
		return;
	if (!token) {
		S(begin)
		return;
	}
	bytes = hwr_text_bytes(token, SIZE_MAX);
	R(begin, (size_t)(token - begin) + bytes)
	GIVEN(rest == token + bytes, W(token + bytes - 1, 1))
}

static text next_token(text s, ctext set, char **rest)
{
	static void *real;
	ctext begin = s ? s : *rest;
	text token =
		((text(*)(text, ctext, char **))hwr_real_once(&real, "strtok_r"))(s, set, rest);

	S(set)
	token_ranges(begin, token, *rest);
	return token;
}

HWR_IN_FRONT(text, strtok_r, (text s, ctext set, char **rest)) { return next_token(s, set, rest); }
HWR_IN_FRONT(text, __strtok_r, (text s, ctext set, char **rest))
{
	return next_token(s, set, rest);
}

/* As libc has it: one place for all threads. */
HWR_IN_FRONT(text, strtok, (text s, ctext set))
{
	static char *rest;

	return next_token(s, set, &rest);
}

HWR_IN_FRONT(text, strsep, (char **s, ctext set))
{
	static void *real;
	text begin = *s, token = ((text(*)(char **, ctext))hwr_real_once(&real, "strsep"))(s, set);

	S(set)
	token_ranges(begin, token, *s);
	return token;
}

void hwr_access_copy(void *to, const void *from, u64 bytes)
{
	static void *real;
	void *(*copy)(void *, const void *, size_t) = hwr_real_once(&real, "memcpy");

	copy(to, from, bytes);
}
