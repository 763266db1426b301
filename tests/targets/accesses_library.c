/* SPDX-License-Identifier: MIT
 * Has the C library access memory and prints what each chunk, known by its size, must have been seen to have, as accesses.c does:
 * "size reads writes read_bytes written_bytes low high". Built by `heapwise cc` with several levels of _FORTIFY_SOURCE, which make other
 * functions of the same calls; see tests/run/access.sh. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* The program's own text is not seen to be written. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static volatile size_t hundred = 100; /* not known when this is compiled */
static void *volatile kept[40];
static int kept_count;

static void truth(size_t size, long reads, long writes, long read_bytes, long written_bytes, long low, long high)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%zu %ld %ld %ld %ld %ld %ld\n", size, reads, writes, read_bytes, written_bytes,
			 low, high);

	if (write(1, line, (size_t)n) != n)
		abort();
}

/* The compiler keeps the chunk, and still knows how large it is. */
#define KEEP(p) (kept[kept_count++] = (p))

/* A chunk that holds this text: one write. */
#define HOLDING(name, size, text)                                                                  \
	char *name = malloc(size);                                                                 \
	KEEP(name);                                                                                \
	copy(name, text, sizeof(text))

static void copies(void)
{
	char *p = malloc(1001), *q = malloc(1002), *r = malloc(1003);
	size_t n = hundred;

	KEEP(p), KEEP(q), KEEP(r);
	memset(p, 'x', n);
	__asm__ volatile("" ::: "memory"); /* clang knows what is copied, and would not read it */
	memcpy(q, p, n);
	memmove(q + 200, p, n);
	mempcpy(q + 400, p, n);
	bcopy(p, r, n);
	bzero(r + 100, n);
	p[9] = 'y'; /* a write */
	memccpy(r + 300, p, 'y', n);
	truth(1001, 5, 2, 410, 101, 0, 100);
	truth(1002, 0, 3, 0, 300, 0, 500);
	truth(1003, 0, 3, 0, 210, 0, 310);
}

static void tokens(void)
{
	HOLDING(s, 1011, "ab,cd,,e");
	HOLDING(t, 1012, "k=v");
	char *rest = t;

	while (strtok(kept_count ? s : NULL, ",") && strtok(NULL, ",") && strtok(NULL, ",") && strtok(NULL, ","))
		;
	if (!strsep(&rest, "="))
		abort();
	truth(1011, 4, 3, 10, 11, 0, 9);
	truth(1012, 1, 2, 2, 5, 0, 4);
}

struct scanned {
	int number;
	char word[20];
	double real;
	short small;
};

static void scans(void)
{
	HOLDING(s, 1021, "12 word 3.5 [x] 7 8");
	struct scanned *to = malloc(1022);
	char *made = NULL;

	KEEP(to);
	if (sscanf(s, "%d %19s %lf [%*[a-z]] %hd %ms", &to->number, to->word, &to->real, &to->small, &made) != 5)
		abort();
	KEEP(made);
	truth(1021, 1, 1, 20, 20, 0, 20);
	truth(1022, 0, 4, 0, 4 + 5 + 8 + 2, 0, 34);
}

static void files(void)
{
	HOLDING(path, 1031, "/");
	HOLDING(self, 1032, "/proc/self/exe");
	struct stat *st = malloc(1033);
	char *where = malloc(5034), *link = malloc(5035);
	ssize_t n;
	long bytes;

	KEEP(st), KEEP(where), KEEP(link);
	if (stat(path, st) != 0 || !getcwd(where, 5034))
		abort();
	n = readlink(self, link, 5035);
	bytes = (long)strlen(where) + 1; /* a read */
	truth(1031, 1, 1, 2, 2, 0, 2);
	truth(1032, 1, 1, 15, 15, 0, 15);
	truth(1033, 0, 1, 0, sizeof(*st), 0, sizeof(*st));
	truth(5034, 1, 1, bytes, bytes, 0, bytes);
	truth(5035, 0, 1, 0, n, 0, n);
}

static void systems(void)
{
	struct epoll_event *events = malloc(1041), wanted = {.events = EPOLLOUT};
	unsigned char *random = malloc(1042);
	int pipes[2], poll = epoll_create1(0);

	KEEP(events), KEEP(random);
	if (pipe(pipes) < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, pipes[1], &wanted) < 0 || epoll_wait(poll, events, 4, 0) != 1 ||
	    getrandom(random, 33, 0) != 33)
		abort();
	truth(1041, 0, 1, 0, sizeof(*events), 0, sizeof(*events));
	truth(1042, 0, 1, 0, 33, 0, 33);
}

static void times(void)
{
	struct tm *tm = malloc(1051);
	char *s = malloc(1052);
	time_t zero = 0;

	KEEP(tm), KEEP(s);
	gmtime_r(&zero, tm);
	if (strftime(s, 1052, "%Y-%m-%d", tm) != 10)
		abort();
	truth(1051, 1, 1, sizeof(*tm), sizeof(*tm), 0, sizeof(*tm));
	truth(1052, 0, 1, 0, 11, 0, 11);
}

static void wide(void)
{
	HOLDING(s, 1061, "narrow");
	wchar_t *w = malloc(1064), *v = malloc(1068);

	KEEP(w), KEEP(v);
	if (mbstowcs(w, s, 20) != 6)
		abort();
	wcsncpy(v, w, hundred / 10);
	truth(1061, 1, 1, 7, 7, 0, 7);
	truth(1064, 1, 1, 7 * sizeof(*w), 7 * sizeof(*w), 0, 7 * sizeof(*w));
	truth(1068, 0, 1, 0, 10 * sizeof(*w), 0, 10 * sizeof(*w));
}

static __attribute__((noinline, format(printf, 2, 3))) int print(char *to, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsprintf(to, format, list);
	va_end(list);
	return n;
}

static void prints(void)
{
	HOLDING(s, 1071, "text");
	char *to = malloc(1072);

	KEEP(to);
	print(to, "%d %s", 7, s);
	truth(1071, 1, 1, 5, 5, 0, 5);
	truth(1072, 0, 1, 0, 7, 0, 7);
}

/* Of structures, and of a size that is known: no function is called. */
struct large {
	char bytes[200];
};

static __attribute__((noinline)) void assign(struct large *to, const struct large *from) { *to = *from; }
static __attribute__((noinline)) void clear(struct large *p) { memset(p, 0, sizeof(*p)); }

static void structures(void)
{
	struct large *p = malloc(1081), *q = malloc(1082);

	KEEP(p), KEEP(q);
	clear(p);
	assign(q, p);
	truth(1081, -1, -1, 200, 200, 0, 200);
	truth(1082, 0, -1, 0, 200, 0, 200);
}

int main(void)
{
	copies();
	tokens();
	scans();
	files();
	systems();
	times();
	wide();
	prints();
	structures();
	return 0;
}
