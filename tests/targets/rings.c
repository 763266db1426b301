/* SPDX-License-Identifier: MIT
 * rings linked|loaded|aio   writes and reads a file by liburing, linked in or set up by the library that dlopen gives, or by libaio, from and
 * to memory that rests before each call. Prints how many came out wrong; "not here" where the kernel has none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 16384, BYTES = 4096, TURNS = 12, NAP_US = 60000, UNAVAILABLE = 77 };

static char *in, *out;
static struct iovec *vector; /* each a unit of its own */
static int file;

static int unavailable(const char *why)
{
	printf("not here: %s\n", why);
	return UNAVAILABLE;
}

static long by_ring(struct io_uring *ring, int turn)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(ring);
	struct io_uring_cqe *done;
	long result;

	if (turn % 2)
		io_uring_prep_read(entry, file, out, BYTES, 0);
	else if (turn % 4)
		io_uring_prep_writev(entry, file, vector, 1, 0);
	else
		io_uring_prep_write(entry, file, in, BYTES, 0);
	usleep(NAP_US);
	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &done) != 0)
		return -1;
	result = done->res;
	io_uring_cqe_seen(ring, done);
	return result;
}

static int rings(int (*set_up)(unsigned entries, struct io_uring *ring, unsigned flags))
{
	struct io_uring ring;
	int wrong = 0;

	usleep(NAP_US);
	if (!set_up)
		return unavailable("no library");
	if (set_up(8, &ring, 0) != 0)
		return unavailable("no io_uring");
	for (int turn = 0; turn < TURNS; turn++)
		wrong += by_ring(&ring, turn) != BYTES;
	printf("wrong %d, read %d\n", wrong, out[BYTES - 1]);
	return wrong != 0;
}

static int asynchronous(void)
{
	struct iocb *request = malloc(BLOCK), **requests = malloc(BLOCK);
	struct io_event *event = malloc(BLOCK);
	io_context_t context = 0;
	int wrong = 0;

	if (io_setup(8, &context) != 0)
		return unavailable("no io_setup");
	for (int turn = 0; turn < TURNS; turn++) {
		if (turn % 2)
			io_prep_pread(request, file, out, BYTES, 0);
		else if (turn % 4)
			io_prep_pwritev(request, file, vector, 1, 0);
		else
			io_prep_pwrite(request, file, in, BYTES, 0);
		*requests = request;
		memset(event, 0, sizeof(*event));
		usleep(NAP_US);
		wrong += io_submit(context, 1, requests) != 1 || io_getevents(context, 1, 1, event, NULL) != 1 || event->res != BYTES;
	}
	printf("wrong %d, read %d\n", wrong, out[BYTES - 1]);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	in = memset(malloc(BLOCK), 7, BLOCK);
	out = memset(malloc(BLOCK), 0, BLOCK);
	vector = malloc(BLOCK);
	*vector = (struct iovec){in, BYTES};
	file = open("rings.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (argc > 1 && strcmp(argv[1], "aio") == 0)
		return asynchronous();
	if (argc > 1 && strcmp(argv[1], "loaded") == 0) {
		void *library = dlopen("liburing.so.2", RTLD_NOW);
		void *function = library ? dlsym(library, "io_uring_queue_init") : NULL;

		return rings((int (*)(unsigned, struct io_uring *, unsigned))function);
	}
	return rings(io_uring_queue_init);
}
