/* SPDX-License-Identifier: MIT
 * Functions of the C library that read names of files, or fill or read a structure or a buffer for
 * the program: recorded as those of ranges.c. Runs in the target, in front of the real
 * functions. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <time.h>

#include "target/access/ranges/ranges.h"

#include "target/access/ranges/rows.h"

/* The structure is filled, if the call succeeds. */
#define FILLS(p) GIVEN(result == 0, W(p, sizeof(*(p))))
#define FILLS_TEXT(s) GIVEN(result &&hwr_range_in_heap(s), W(s, hwr_text_bytes(s, SIZE_MAX)))
#define FILLS_BYTES(p) GIVEN(result > 0, W(p, (size_t)result))

typedef struct tm *broken_down;
typedef const struct tm *cbroken_down;

/* open and its like take their mode if there is one: what is passed on without need does no
 * harm. */
#define PATH_ROWS(F)                                                                               \
	F(int, open, (ctext path, int flags, mode_t mode), (path, flags, mode), S(path))           \
	F(int, open64, (ctext path, int flags, mode_t mode), (path, flags, mode), S(path))         \
	F(int, __open_2, (ctext path, int flags), (path, flags), S(path))                          \
	F(int, __open64_2, (ctext path, int flags), (path, flags), S(path))                        \
	F(int, openat, (int fd, ctext path, int flags, mode_t mode), (fd, path, flags, mode),      \
	  S(path))                                                                                 \
	F(int, openat64, (int fd, ctext path, int flags, mode_t mode), (fd, path, flags, mode),    \
	  S(path))                                                                                 \
	F(int, creat, (ctext path, mode_t mode), (path, mode), S(path))                            \
	F(FILE *, fopen, (ctext path, ctext mode), (path, mode), S(path) S(mode))                  \
	F(FILE *, fopen64, (ctext path, ctext mode), (path, mode), S(path) S(mode))                \
	F(DIR *, opendir, (ctext path), (path), S(path))                                           \
	F(int, access, (ctext path, int how), (path, how), S(path))                                \
	F(int, chdir, (ctext path), (path), S(path))                                               \
	F(int, mkdir, (ctext path, mode_t mode), (path, mode), S(path))                            \
	F(int, rmdir, (ctext path), (path), S(path))                                               \
	F(int, unlink, (ctext path), (path), S(path))                                              \
	F(int, remove, (ctext path), (path), S(path))                                              \
	F(int, rename, (ctext from, ctext to), (from, to), S(from) S(to))                          \
	F(int, link, (ctext from, ctext to), (from, to), S(from) S(to))                            \
	F(int, symlink, (ctext from, ctext to), (from, to), S(from) S(to))                         \
	F(int, chmod, (ctext path, mode_t mode), (path, mode), S(path))                            \
	F(int, truncate, (ctext path, off_t bytes), (path, bytes), S(path))                        \
	F(text, getenv, (ctext name), (name), S(name))                                             \
	F(int, setenv, (ctext name, ctext value, int replace), (name, value, replace),             \
	  S(name) S(value))                                                                        \
	F(time_t, timegm, (broken_down tm), (tm), R(tm, sizeof(*tm)) W(tm, sizeof(*tm)))           \
	F(time_t, mktime, (broken_down tm), (tm), R(tm, sizeof(*tm)) W(tm, sizeof(*tm)))

#define RESULT_ROWS(F)                                                                             \
	F(int, stat, (ctext path, struct stat * st), (path, st), S(path) FILLS(st))                \
	F(int, stat64, (ctext path, struct stat64 * st), (path, st), S(path) FILLS(st))            \
	F(int, lstat, (ctext path, struct stat * st), (path, st), S(path) FILLS(st))               \
	F(int, lstat64, (ctext path, struct stat64 * st), (path, st), S(path) FILLS(st))           \
	F(int, fstat, (int fd, struct stat *st), (fd, st), FILLS(st))                              \
	F(int, fstat64, (int fd, struct stat64 *st), (fd, st), FILLS(st))                          \
	F(int, fstatat, (int fd, ctext path, struct stat *st, int flags), (fd, path, st, flags),   \
	  S(path) FILLS(st))                                                                       \
	F(int, fstatat64, (int fd, ctext path, struct stat64 *st, int flags),                      \
	  (fd, path, st, flags), S(path) FILLS(st))                                                \
	F(int, __xstat, (int version, ctext path, struct stat *st), (version, path, st),           \
	  S(path) FILLS(st))                                                                       \
	F(int, __lxstat, (int version, ctext path, struct stat *st), (version, path, st),          \
	  S(path) FILLS(st))                                                                       \
	F(int, __fxstat, (int version, int fd, struct stat *st), (version, fd, st), FILLS(st))     \
	F(int, statvfs, (ctext path, struct statvfs * st), (path, st), S(path) FILLS(st))          \
	F(text, getcwd, (text s, size_t n), (s, n), GIVEN(s, FILLS_TEXT(s)))                       \
	F(text, __getcwd_chk, (text s, size_t n, size_t room), (s, n, room),                       \
	  GIVEN(s, FILLS_TEXT(s)))                                                                 \
	F(text, realpath, (ctext path, text s), (path, s), S(path) FILLS_TEXT(result))             \
	F(text, __realpath_chk, (ctext path, text s, size_t room), (path, s, room),                \
	  S(path) FILLS_TEXT(result))                                                              \
	F(ssize_t, readlink, (ctext path, text s, size_t n), (path, s, n), S(path) FILLS_BYTES(s)) \
	F(ssize_t, __readlink_chk, (ctext path, text s, size_t n, size_t room),                    \
	  (path, s, n, room), S(path) FILLS_BYTES(s))                                              \
	F(ssize_t, readlinkat, (int fd, ctext path, text s, size_t n), (fd, path, s, n),           \
	  S(path) FILLS_BYTES(s))                                                                  \
	F(ssize_t, __readlinkat_chk, (int fd, ctext path, text s, size_t n, size_t room),          \
	  (fd, path, s, n, room), S(path) FILLS_BYTES(s))                                          \
	F(ssize_t, getrandom, (memory p, size_t n, unsigned flags), (p, n, flags), FILLS_BYTES(p)) \
	F(int, getentropy, (memory p, size_t n), (p, n), GIVEN(result == 0, W(p, n)))              \
	F(int, epoll_ctl, (int fd, int what, int on, struct epoll_event *e), (fd, what, on, e),    \
	  GIVEN(e &&what != EPOLL_CTL_DEL, R(e, sizeof(*e))))                                      \
	F(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms),         \
	  GIVEN(result > 0, W(e, (size_t)result * sizeof(*e))))                                    \
	F(int, epoll_pwait, (int fd, struct epoll_event *e, int n, int ms, const sigset_t *set),   \
	  (fd, e, n, ms, set), GIVEN(result > 0, W(e, (size_t)result * sizeof(*e))))               \
	F(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms),                            \
	  R(p, n * sizeof(*p)) GIVEN(result >= 0, W(p, n * sizeof(*p))))                           \
	F(int, __poll_chk, (struct pollfd * p, nfds_t n, int ms, size_t room), (p, n, ms, room),   \
	  R(p, n * sizeof(*p)) GIVEN(result >= 0, W(p, n * sizeof(*p))))                           \
	F(int, gethostname, (text s, size_t n), (s, n),                                            \
	  GIVEN(result == 0 && hwr_range_in_heap(s), W(s, hwr_text_bytes(s, n))))                  \
	F(int, __gethostname_chk, (text s, size_t n, size_t room), (s, n, room),                   \
	  GIVEN(result == 0 && hwr_range_in_heap(s), W(s, hwr_text_bytes(s, n))))                  \
	F(int, uname, (struct utsname * name), (name), FILLS(name))                                \
	F(size_t, strftime, (text s, size_t n, ctext format, cbroken_down tm), (s, n, format, tm), \
	  S(format) R(tm, sizeof(*tm)) GIVEN(result, W(s, result + 1)))                            \
	F(broken_down, gmtime_r, (const time_t *t, broken_down tm), (t, tm),                       \
	  R(t, sizeof(*t)) GIVEN(result, W(tm, sizeof(*tm))))                                      \
	F(broken_down, localtime_r, (const time_t *t, broken_down tm), (t, tm),                    \
	  R(t, sizeof(*t)) GIVEN(result, W(tm, sizeof(*tm))))                                      \
	F(int, clock_gettime, (clockid_t clock, struct timespec * t), (clock, t), FILLS(t))        \
	F(int, gettimeofday, (struct timeval * t, memory zone), (t, zone), FILLS(t))

PATH_ROWS(DEFINE_BEFORE)
RESULT_ROWS(DEFINE_AFTER)
