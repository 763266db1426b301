/* SPDX-License-Identifier: MIT
 * A small HTTP server on a socket that is open already: one thread accepts, one per connection
 * answers, one closes connections whose request does not arrive in time. All of them block every
 * signal, so that signals stay with the thread that waits for them. One request per connection; the
 * limits are in server.c. Nothing that is asked for is ever looked up as a file. */
#ifndef SHOW_SERVE_SERVER_H
#define SHOW_SERVE_SERVER_H

#include <pthread.h>

#include "show/serve/guard.h"
#include "show/serve/site.h"

struct arrival; /* a connection whose request is not complete */

struct server {
	struct listen listen;
	char token[TOKEN_CHARS + 1];
	char cookie[24]; /* its name */
	struct site site;
	struct MHD_Daemon *daemon; /* NULL = does not run */
	pthread_t watcher;

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct arrival *arrivals;
	u32 answering; /* requests that are complete and have no answer yet */
	bool stopping;
};

/* Binds the socket and makes the token; nothing is answered yet. To be called before any thread is
 * made: a program that is forked meanwhile loses the socket when it execs. */
int server_open(struct server *self, const char *address, struct err *err);

/* Where it is once it was started, token included. The text is the caller's to free; NULL if there
 * is no memory. */
char *server_url(const struct server *self);

int server_start(struct server *self, const struct site *site, struct err *err);

/* Ends all threads; requests that are being worked on get a second for their answer. */
void server_stop(struct server *self);
void server_close(struct server *self);

#endif
