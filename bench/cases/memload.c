/* SPDX-License-Identifier: MIT
 * memload PORT CONNECTIONS SECONDS: load for a memcached on the loopback. Stores 10,000 values of 200 bytes under keys of
 * 30, then asks for random ones over each connection, one request at a time, for that long. Checks that
 * each answer is the value. Prints requests and nanoseconds; exit status 1 if anything is not as it should be.
 * Bounded: at most 64 connections, 60 seconds, and 10 seconds without any answer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	KEYS = 10000,
	VALUE_BYTES = 200,
	CONNECTIONS_MAX = 64,
	SECONDS_MAX = 60,
	SILENCE_MS = 10000
};

struct connection {
	int fd;
	char answer[512];
	size_t got;
	size_t wanted; /* bytes of the whole answer */
};

static void die(const char *what)
{
	fprintf(stderr, "memload: %s: %s\n", what, errno ? strerror(errno) : "unexpected answer");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int connect_to(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval limit = {.tv_sec = SILENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static void send_all(int fd, const char *text, size_t length)
{
	if (send(fd, text, length, MSG_NOSIGNAL) != (ssize_t)length)
		die("send");
}

static void value_of(uint32_t key, char *value)
{
	for (uint32_t i = 0; i < VALUE_BYTES; i++)
		value[i] = (char)('a' + (key + i) % 26);
	value[VALUE_BYTES] = 0;
}

static void store(int fd, uint32_t key)
{
	char line[512], value[VALUE_BYTES + 1], answer[8];
	size_t got = 0;

	value_of(key, value);
	send_all(fd, line,
		 (size_t)snprintf(line, sizeof(line), "set key-%026u 0 0 %d\r\n%s\r\n", key,
				  VALUE_BYTES, value));
	while (got < sizeof(answer)) {
		ssize_t n = recv(fd, answer + got, sizeof(answer) - got, 0);

		if (n <= 0)
			die("recv");
		got += (size_t)n;
	}
	errno = 0;
	if (memcmp(answer, "STORED\r\n", 8) != 0)
		die("set");
}

/* What the answer begins with is known; it is compared when it is whole. */
static void ask(struct connection *self, uint32_t key)
{
	char line[64];

	send_all(self->fd, line, (size_t)snprintf(line, sizeof(line), "get key-%026u\r\n", key));
	self->got = 0;
}

static void expected(uint32_t key, char *text, size_t room, size_t *length)
{
	char value[VALUE_BYTES + 1];

	value_of(key, value);
	*length = (size_t)snprintf(text, room, "VALUE key-%026u 0 %d\r\n%s\r\nEND\r\n", key,
				   VALUE_BYTES, value);
}

/* Whether the answer is whole. */
static int receive(struct connection *self, uint32_t key)
{
	char text[512];
	size_t length;
	ssize_t n = recv(self->fd, self->answer + self->got, sizeof(self->answer) - self->got, 0);

	if (n <= 0)
		die("recv");
	self->got += (size_t)n;
	if (self->got < self->wanted)
		return 0;
	expected(key, text, sizeof(text), &length);
	errno = 0;
	if (self->got != length || memcmp(text, self->answer, length) != 0)
		die("get");
	return 1;
}

static uint32_t next_key(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % KEYS;
}

static uint64_t load(struct connection *all, int count, uint64_t until)
{
	struct pollfd polls[CONNECTIONS_MAX];
	uint32_t key[CONNECTIONS_MAX];
	uint64_t state = 7, requests = 0;

	for (int i = 0; i < count; i++) {
		ask(&all[i], key[i] = next_key(&state));
		polls[i] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
	}
	while (now_ns() < until) {
		if (count > 1 && poll(polls, (nfds_t)count, SILENCE_MS) <= 0)
			die("poll");
		for (int i = 0; i < count; i++) {
			if ((count > 1 && !polls[i].revents) || !receive(&all[i], key[i]))
				continue;
			requests++;
			ask(&all[i], key[i] = next_key(&state));
		}
	}
	return requests;
}

int main(int argc, char **argv)
{
	struct connection all[CONNECTIONS_MAX] = {0};
	int port = argc == 4 ? atoi(argv[1]) : 0, count = argc == 4 ? atoi(argv[2]) : 0;
	double seconds = argc == 4 ? atof(argv[3]) : 0;
	uint64_t start, requests;
	char text[512];
	size_t length;

	if (port < 1 || port > 65535 || count < 1 || count > CONNECTIONS_MAX || seconds <= 0 ||
	    seconds > SECONDS_MAX) {
		fprintf(stderr, "usage: memload PORT CONNECTIONS SECONDS\n");
		return 2;
	}
	expected(0, text, sizeof(text), &length);
	for (int i = 0; i < count; i++) {
		all[i].fd = connect_to(port);
		all[i].wanted = length; /* all answers have the same length */
	}
	for (uint32_t key = 0; key < KEYS; key++)
		store(all[0].fd, key);
	start = now_ns();
	requests = load(all, count, start + (uint64_t)(seconds * 1e9));
	printf("%llu %llu\n", (unsigned long long)requests, (unsigned long long)(now_ns() - start));
	return 0;
}
