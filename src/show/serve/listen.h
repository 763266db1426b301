/* SPDX-License-Identifier: MIT
 * Where a server listens: the user's [ADDRESS:]PORT, the socket, and which names a browser may call
 * it by. Only numbers are addresses here: a name could come to mean another machine. */
#ifndef SHOW_SERVE_LISTEN_H
#define SHOW_SERVE_LISTEN_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host/base/err.h"
#include "format/types.h"

enum { LISTEN_NAME_BYTES = INET6_ADDRSTRLEN + 10 }; /* [ADDRESS]:PORT */

union listen_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

struct listen {
	union listen_address
		address; /* once it is open with the port that was given by the system */
	int socket;      /* -1 = none */
};

/* "8080", "127.0.0.1:8080", "[::1]:0". Without an address it is 127.0.0.1. */
int listen_parse(union listen_address *address, const char *text, struct err *err);

/* "unix:PATH": a socket in the file system, for its owner only; what a server that has ended has
 * left there is replaced. Else parses, binds and listens. No program that is started later inherits
 * the socket. */
int listen_open(struct listen *self, const char *text, struct err *err);
void listen_close(struct listen *self);

/* Whether it is a socket in the file system, which browsers cannot reach. */
bool address_is_path(const union listen_address *address);

/* Whether only this machine can connect. */
bool address_is_loopback(const union listen_address *address);

u32 address_port(const union listen_address *address);

/* "127.0.0.1:8080", "[::1]:8080". */
void address_name(const union listen_address *address, char name[LISTEN_NAME_BYTES]);

/* Whether a request with this Host was meant for the server at `address`: its number, or localhost
 * if that is where it is. A page of another site that has its own name point to this machine (DNS
 * rebinding) sends its own name. NULL is no Host. */
bool address_is_host(const union listen_address *address, const char *host);

#endif
