/* SPDX-License-Identifier: MIT
 * idle_libc FIRST LAST | --unlisted   calls those cases of the generated list (libc/calls.py) with arguments in memory that nobody has
 * touched for a while, and prints what came of each: result, errno, and the words that the call changed. Each line is written at
 * once: a call may end the program. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <aio.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "libc/idle_libc.h"

enum {
	BLOCK = 16384, /* a unit of its own */
	SEEN = 4096,   /* bytes of it that are compared */
	NAP_US = 80000,
	NAPS_MOST = 25,
	CASES_MOST = 64,
	PATIENCE_S = 1,
	NOBODY = 65534,
	FIRST_FD = 100, HOME = 110, OUT = 200, KEPT_FD = 300, /* descriptors that no call makes */
};

FILE *file;
DIR *directory;
timer_t timer;
iconv_t converter;
locale_t locale;
mqd_t queue;
int epoll, timer_fd, watch_fd, messages, semaphores, shared;

/* ---- what is written ---- */

void zeros(char *p) { memset(p, 0, SEEN); }
void text(char *p, const char *what) { strcpy(p, what); }
void bytes(char *p, int v) { text(p, v & 1 ? "text 12" : ""); }
void wide(char *p, const wchar_t *what) { wcscpy((wchar_t *)p, what); }
void word(char *p, long value) { *(long *)p = value; }
const char *path(int v) { return v == 2 ? "idle.dir" : v == 3 ? "idle.none" : "idle.data"; }

void row(char *p, int v, char *rest)
{
	((char **)p)[0] = v & 1 ? rest : NULL;
	((char **)p)[1] = NULL;
}

void fill_iovec(char *p, int v, char *rest)
{
	struct iovec *vectors = (struct iovec *)p;

	(void)v;
	for (int i = 0; i < 64; i++)
		vectors[i] = (struct iovec){rest + 32 * i, i < 4 ? 32 : 0};
}

void fill_msghdr(char *p, int v, char *rest)
{
	struct msghdr *message = (struct msghdr *)p;

	fill_iovec(rest + BLOCK / 2, v, rest);
	*message = (struct msghdr){.msg_iov = (struct iovec *)(rest + BLOCK / 2), .msg_iovlen = 4};
}

void fill_mmsghdr(char *p, int v, char *rest)
{
	for (int i = 0; i < 64; i++)
		fill_msghdr((char *)&((struct mmsghdr *)p)[i].msg_hdr, v, rest);
}

void fill_sockaddr(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct sockaddr_un *)p = (struct sockaddr_un){AF_UNIX, "idle.socket"};
}

void fill_timespec(char *p, int v, char *rest)
{
	(void)rest;
	*(struct timespec *)p = (struct timespec){0, v};
}

void fill_timeval(char *p, int v, char *rest)
{
	(void)rest;
	*(struct timeval *)p = (struct timeval){0, v};
}

void fill_pollfd(char *p, int v, char *rest)
{
	(void)rest;
	for (int i = 0; i < 64; i++)
		((struct pollfd *)p)[i] = (struct pollfd){i ? -1 : descriptor(v), POLLIN | POLLOUT, 0};
}

void fill_epoll_event(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct epoll_event *)p = (struct epoll_event){.events = EPOLLIN};
}

void fill_file_handle(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	((struct file_handle *)p)->handle_bytes = 128;
}

void fill_mq_attr(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct mq_attr *)p = (struct mq_attr){.mq_maxmsg = 2, .mq_msgsize = 64};
}

void fill_itimerspec(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct itimerspec *)p = (struct itimerspec){{0, 0}, {1000, 0}};
}

void fill_sembuf(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct sembuf *)p = (struct sembuf){0, 1, IPC_NOWAIT};
}

static struct aiocb *asked; /* of the case: an operation that goes on by itself */

void fill_aiocb(char *p, int v, char *rest)
{
	asked = (struct aiocb *)p;
	*(struct aiocb *)p = (struct aiocb){.aio_fildes = descriptor(v), .aio_buf = rest, .aio_nbytes = 64};
}

void fill_sigevent(char *p, int v, char *rest)
{
	(void)v, (void)rest;
	*(struct sigevent *)p = (struct sigevent){.sigev_notify = SIGEV_NONE};
}

/* ---- what is given ---- */

int descriptor(int v) { return FIRST_FD + v; }
long number(int v) { return v % 3; }
pid_t pid(int v) { return v & 1 ? getpid() : 0; }
long called(void) { return 0; }

/* ---- a call ---- */

struct ready { /* a case before its call */
	const struct libc_case *one;
	int variant;
	char *p[BLOCKS];
	char (*was)[SEEN]; /* what was written; elsewhere, so that nothing touches the blocks */
	FILE *file;
};
static int home, other_end, late;

static void say(const char *format, ...)
{
	static char line[1 << 16];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (write(OUT, line, (size_t)length) != length)
		_exit(97);
}

static void on_alarm(int signal)
{
	(void)signal;
	if (!late++)
		return; /* a call that waits comes back with EINTR */
	say(" waits\n");
	_exit(96);
}

static void arm_alarm(int seconds)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval wait = {{seconds, 0}, {seconds, 0}};

	late = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &wait, NULL);
}

/* Whatever the calls before have done to them. */
static void renew_descriptors(void)
{
	int made[2];

	if (fchdir(home) != 0)
		_exit(95);
	close(other_end);
	dup2(open("idle.data", O_RDWR), FIRST_FD);
	socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, made);
	dup2(made[0], FIRST_FD + 1);
	other_end = fcntl(made[1], F_DUPFD, HOME);
	(void)!write(other_end, "datagram", 8);
	close(made[0]);
	close(made[1]);
	dup2(home, FIRST_FD + 3);
	(void)!pipe2(made, O_NONBLOCK);
	(void)!write(made[1], "through the pipe", 16);
	dup2(made[0], FIRST_FD + 2);
	close(made[0]);
	close(made[1]);
	for (int fd = 3; fd < FIRST_FD; fd++)
		if (fd != epoll && fd != timer_fd && fd != watch_fd && fd != (int)queue)
			close(fd);
}

static void print_word(const struct ready *self, unsigned long value)
{
	for (int i = 0; i < BLOCKS; i++)
		if (value - (unsigned long)self->p[i] < BLOCK) {
			say("p%d+%lu", i, value - (unsigned long)self->p[i]);
			return;
		}
	say("%lx", value);
}

static void print_changes(const struct ready *self)
{
	for (int i = 0; i < BLOCKS; i++)
		for (size_t at = 0; at < SEEN; at += sizeof(long)) {
			const unsigned long *now = (const unsigned long *)(self->p[i] + at);

			if (*now == *(const unsigned long *)(self->was[i] + at))
				continue;
			say(" %d.%zu=", i, at);
			print_word(self, *now);
		}
}

static void make_ready(struct ready *self, int number_of)
{
	self->one = &libc_cases[number_of / VARIANTS];
	self->variant = number_of % VARIANTS;
	for (int i = 0; i < BLOCKS; i++) {
		self->p[i] = malloc(BLOCK);
		memset(self->p[i], 0, BLOCK);
	}
	text(self->p[REST], "rest");
	text(self->p[REST + 1], "rest");
	self->one->before(self->p, self->variant);
	self->was = mmap(NULL, sizeof(*self->was) * BLOCKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < BLOCKS; i++)
		memcpy(self->was[i], self->p[i], SEEN);
	self->file = fdopen(fcntl(open("idle.data", O_RDWR), F_DUPFD, KEPT_FD), "r+");
}

/* So that what it read, and how it ended, is the same each time. */
static void wait_for_asked(void)
{
	for (int i = 0; asked && i < 5000 && aio_error(asked) == EINPROGRESS; i++)
		usleep(1000);
	asked = NULL;
}

static void call(const struct ready *self)
{
	int variant = self->variant;
	sigset_t none;
	long result;
	int failure;

	renew_descriptors();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	file = self->file;
	say("%s/%d:", self->one->name, variant);
	arm_alarm(PATIENCE_S);
	errno = 0;
	result = self->one->call((char **)self->p, variant);
	failure = errno;
	arm_alarm(0);
	wait_for_asked();
	say(" errno %d result ", failure);
	print_word(self, (unsigned long)result);
	print_changes(self);
	say("\n");
}

/* What calls of all kinds may be given. */
static void make_things(void)
{
	struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 64};
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};

	directory = fdopendir(fcntl(home, F_DUPFD, KEPT_FD));
	timer_create(CLOCK_MONOTONIC, &nothing, &timer);
	converter = iconv_open("UTF-8", "LATIN1");
	locale = newlocale(LC_ALL_MASK, "C", NULL);
	mq_unlink("/heapwise-idle-libc");
	queue = mq_open("/heapwise-idle-libc", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attributes);
	mq_unlink("/heapwise-idle-libc");
	epoll = epoll_create1(0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	watch_fd = inotify_init1(IN_NONBLOCK);
	messages = msgget(IPC_PRIVATE, 0600);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	shared = shmget(IPC_PRIVATE, 4096, 0600);
}

static void forget_things(void)
{
	msgctl(messages, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	shmctl(shared, IPC_RMID, NULL);
}

/* A call with arguments by chance is to harm nothing but the folder that it is in. */
static void become_nobody(void)
{
	struct rlimit none = {0, 0}, few = {1 << 20, 1 << 20};

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &few);
	if (getuid() != 0)
		return;
	unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC);
	if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		_exit(94);
	prctl(PR_SET_DUMPABLE, 1);
}

/* Whoever monitors the program has closed the page by now; a slow machine takes longer. */
static bool is_armed(char *block)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {block, 1};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1;
}

static void rest(const struct ready *last)
{
	usleep(NAP_US);
	for (int i = 0; getenv("LD_PRELOAD") && i < NAPS_MOST && !is_armed(last->p[0]); i++)
		usleep(NAP_US);
}

int main(int argc, char **argv)
{
	static struct ready ready[CASES_MOST];
	int first, count;

	if (argc == 2) {
		for (int i = 0; libc_unlisted[i]; i++)
			puts(libc_unlisted[i]);
		printf("%d cases, %d without a pointer\n", libc_cases_count, libc_without_pointer);
		return 0;
	}
	if (argc < 3)
		return 2;
	first = atoi(argv[1]);
	count = atoi(argv[2]) - first;
	dup2(1, OUT);
	home = fcntl(open(".", O_RDONLY), F_DUPFD, HOME);
	other_end = fcntl(home, F_DUPFD, HOME);
	become_nobody();
	make_things();
	for (int i = 0; i < count && i < CASES_MOST; i++)
		make_ready(&ready[i], first + i);
	rest(&ready[count < CASES_MOST ? count - 1 : CASES_MOST - 1]);
	for (int i = 0; i < count && i < CASES_MOST; i++)
		call(&ready[i]);
	forget_things();
	_exit(0);
}
