/* SPDX-License-Identifier: MIT
 * What the calls that calls.py writes are made of. Before a call its arguments are written to blocks of the heap, p[0] to p[5] for its
 * parameters, p[REST] and p[REST + 1] for what these lead to; then it rests. v is the variant: each function is called in
 * VARIANTS ways, with other descriptors, numbers and bytes. */
#ifndef IDLE_LIBC_H
#define IDLE_LIBC_H

enum { VARIANTS = 4, REST = 9, BLOCKS = REST + 2 };

struct libc_case {
	const char *name;
	void (*before)(char **p, int v);
	long (*call)(char **p, int v);
};

extern const struct libc_case libc_cases[];
extern const int libc_cases_count, libc_without_pointer;
extern const char *const libc_unlisted[];

/* ---- what is written ---- */

void zeros(char *p);
void bytes(char *p, int v); /* zeros or a text */
void text(char *p, const char *what);
void wide(char *p, const wchar_t *what);
void row(char *p, int v, char *rest); /* of pointers: none, or to the rest */
void word(char *p, long value);
const char *path(int v);
void fill_iovec(char *p, int v, char *rest);
void fill_msghdr(char *p, int v, char *rest);
void fill_mmsghdr(char *p, int v, char *rest);
void fill_sockaddr(char *p, int v, char *rest);
void fill_timespec(char *p, int v, char *rest);
void fill_timeval(char *p, int v, char *rest);
void fill_pollfd(char *p, int v, char *rest);
void fill_epoll_event(char *p, int v, char *rest);
void fill_file_handle(char *p, int v, char *rest);
void fill_mq_attr(char *p, int v, char *rest);
void fill_itimerspec(char *p, int v, char *rest);
void fill_sembuf(char *p, int v, char *rest);
void fill_aiocb(char *p, int v, char *rest);
void fill_sigevent(char *p, int v, char *rest);

/* ---- what is given ---- */

int descriptor(int v); /* a file, a socket with data to read, a pipe with data, a folder */
long number(int v);
pid_t pid(int v);
long called(void); /* for pointers to functions */

extern FILE *file;
extern DIR *directory;
extern timer_t timer;
extern iconv_t converter;
extern locale_t locale;
extern mqd_t queue;
extern int epoll, timer_fd, watch_fd, messages, semaphores, shared;

#endif
