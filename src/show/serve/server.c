/* SPDX-License-Identifier: MIT
 * Threads, limits and headers of the HTTP server; see server.h. What a request may do is decided in
 * guard.c, what it does by the site. */
#define _GNU_SOURCE
#include "show/serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/options.h"
#include "show/serve/send.h"

/* A verb may wait for 10 seconds, hence a thread per connection. */
enum {
	CONNECTIONS_MAX = 128,       /* more are turned away */
	CONNECTION_BYTES = 16 << 10, /* of memory, which limits a request's headers */
	STACK_BYTES = 1 << 20,       /* libdw takes 300 KiB of it for the lines of a unit */
	PACK_BYTES = 1400,           /* shorter bodies are sent as they are */
	DROPPED_BYTES_MAX = 4 << 20, /* of the body of a request that is refused */
	SILENCE_SECONDS = 5,         /* in which a client must move */
	ARRIVAL_SECONDS = 10,        /* in which a request must be complete, however it moves */
	FAREWELL_SECONDS = 1,
};

/* ---- arrivals -------------------------------------------------------------------------------- */

struct arrival {
	struct arrival *next, *previous;
	int socket; /* a duplicate: the library may close its own at any moment. -1 = is complete */
	u64 since_ns;
};

/* With the lock. The duplicate goes at once, so that the library's close is the end. */
static void arrival_settle(struct arrival *arrival)
{
	if (arrival->socket >= 0)
		close(arrival->socket);
	arrival->socket = -1;
}

static void arrival_remove(struct server *self, struct arrival *arrival)
{
	pthread_mutex_lock(&self->lock);
	*(arrival->previous ? &arrival->previous->next : &self->arrivals) = arrival->next;
	if (arrival->next)
		arrival->next->previous = arrival->previous;
	arrival_settle(arrival);
	pthread_mutex_unlock(&self->lock);
	free(arrival);
}

static void arrival_add(struct server *self, struct MHD_Connection *connection, void **context)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct arrival *arrival = calloc(1, sizeof(*arrival));

	if (!info || !arrival) {
		free(arrival);
		return; /* the limit of silence holds all the same */
	}
	arrival->socket = fcntl(info->connect_fd, F_DUPFD_CLOEXEC, 0);
	arrival->since_ns = now_ns();
	pthread_mutex_lock(&self->lock);
	arrival->next = self->arrivals;
	if (arrival->next)
		arrival->next->previous = arrival;
	self->arrivals = arrival;
	pthread_mutex_unlock(&self->lock);
	*context = arrival;
}

/* The library calls this when a connection begins and when it has ended. */
static void connection_changed(void *self, struct MHD_Connection *connection, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		arrival_add(self, connection, context);
	else if (*context)
		arrival_remove(self, *context);
}

/* Ends connections whose request takes too long to arrive: their threads see the end of it. */
static void arrivals_check(struct server *self)
{
	u64 now = now_ns();

	for (struct arrival *at = self->arrivals; at; at = at->next) {
		if (at->socket >= 0 && now - at->since_ns > ARRIVAL_SECONDS * 1000000000ull)
			shutdown(at->socket, SHUT_RDWR);
	}
}

static void changed_wait(struct server *self, u64 wait_ns)
{
	struct timespec time = clock_time(now_ns() + wait_ns);

	pthread_cond_timedwait(&self->changed, &self->lock, &time);
}

static void *watcher_main(void *argument)
{
	struct server *self = argument;

	pthread_mutex_lock(&self->lock);
	while (!self->stopping) {
		arrivals_check(self);
		changed_wait(self, 1000000000);
	}
	pthread_mutex_unlock(&self->lock);
	return NULL;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum MHD_Result header_take(void *request_, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	static const struct {
		const char *name;
		size_t at; /* of a text in struct request */
	} headers[] = {{"Host", offsetof(struct request, host)},
		       {"Authorization", offsetof(struct request, authorization)},
		       {"X-Heapwise", offsetof(struct request, mark)},
		       {"Content-Length", offsetof(struct request, body_length)},
		       {"Cookie", offsetof(struct request, cookie)},
		       {"Accept", offsetof(struct request, accept)},
		       {"Accept-Encoding", offsetof(struct request, accept_encoding)},
		       {"If-None-Match", offsetof(struct request, known_tag)},
		       {"Last-Event-ID", offsetof(struct request, last_event)}};
	struct request *request = request_;

	(void)kind;
	for (u32 i = 0; i < sizeof headers / sizeof *headers; i++)
		if (strcasecmp(key, headers[i].name) == 0)
			memcpy((char *)request_ + headers[i].at, &value, sizeof value);
	request->hosts += strcasecmp(key, "Host") == 0;
	request->chunked |= strcasecmp(key, "Transfer-Encoding") == 0;
	return MHD_YES;
}

static enum MHD_Result parameter_take(void *request_, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct request *request = request_;

	(void)kind;
	if (strcmp(key, "token") == 0) {
		request->token = value ? value : "";
		return MHD_YES;
	}
	if (request->parameter_count < REQUEST_PARAMETERS)
		request->parameters[request->parameter_count] =
			(struct request_parameter){key, value ? value : ""};
	request->parameter_count++;
	return MHD_YES;
}

/* A client that has closed its end, even if it only says that it will send no more: nobody does the
 * latter. */
static bool client_gone(void *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd poll_for = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

	return info && poll(&poll_for, 1, 0) > 0 &&
	       (poll_for.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX in place. A zero byte would hide what comes behind it from all checks, so that it
 * becomes another one that nothing has in its name. */
static size_t text_decode(void *self, struct MHD_Connection *connection, char *text)
{
	char *out = text;

	(void)self, (void)connection;
	for (const char *in = text; *in; in++) {
		int high = *in == '%' ? hex_digit(in[1]) : -1;
		int low = high >= 0 ? hex_digit(in[2]) : -1;

		*out = *in;
		if (low >= 0) {
			*out = (char)(high << 4 | low);
			in += 2;
		}
		if (!*out)
			*out = 1;
		out++;
	}
	*out = 0;
	return (size_t)(out - text);
}

/* The server's end: if it listens on all addresses, the one that was meant. */
static void local_address(struct MHD_Connection *connection, union listen_address *address)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	socklen_t bytes = sizeof(*address);

	memset(address, 0, sizeof(*address));
	if (info)
		getsockname(info->connect_fd, &address->any, &bytes);
}

/* The request is complete, or will be answered without the rest of it. */
static void has_arrived(struct server *self, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	pthread_mutex_lock(&self->lock);
	if (info && info->socket_context)
		arrival_settle(info->socket_context);
	pthread_mutex_unlock(&self->lock);
}

/* A request that was let in, or refused, while its body still comes. */
struct exchange {
	const struct site *site;
	struct request request;
	void *plan;
	struct strbuf body;
	struct answer refusal;
	u64 parse_ns;
	bool answering, refused;
};

static void exchange_free(struct exchange *self)
{
	if (self->plan)
		self->site->release(self->plan);
	strbuf_release(&self->body);
	answer_release(&self->refusal);
	free(self);
}

static void answering_change(struct server *self, struct exchange *exchange, bool answering)
{
	pthread_mutex_lock(&self->lock);
	if (exchange->answering != answering)
		self->answering += answering ? 1 : -1u;
	exchange->answering = answering;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
}

/* The page's address has the token, which becomes a cookie, so that no history and no copied
 * address shows it. Cookies are not told apart by ports, so the port is in the name. */
static bool cookie_trade(const struct server *self, const struct request *request,
			 struct answer *answer)
{
	if (!self->site.for_browsers || !request->token ||
	    strcmp(request->path, self->site.home) != 0 || strcmp(request->method, "GET") != 0)
		return false;
	answer_refuse(answer, 303, "this way");
	answer->location = self->site.home;
	snprintf(answer->cookie, sizeof(answer->cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict",
		 self->cookie, self->token);
	return true;
}

static bool exchange_find(struct server *self, struct exchange *exchange, struct answer *refusal)
{
	struct request *request = &exchange->request;
	struct guard guard = {.token = self->token,
			      .cookie = self->site.for_browsers ? self->cookie : NULL,
			      .methods = self->site.methods,
			      .body_max = self->site.body_max};
	union listen_address local;

	local_address(request->connection, &local);
	return guard_admits(&guard, request, &local, refusal) &&
	       !cookie_trade(self, request, refusal) &&
	       self->site.find(self->site.self, request, &exchange->plan, refusal);
}

/* Who still sends when the connection is closed may never read why: what is not too long is let in,
 * and dropped. */
static bool body_to_drop(const struct request *request)
{
	u64 length = 0;

	return !request->chunked && request->body_length &&
	       parse_number(request->body_length, &length) && length <= DROPPED_BYTES_MAX && length;
}

static enum MHD_Result exchange_begin(struct server *self, struct MHD_Connection *connection,
				      const struct request *line, void **context)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	struct answer refusal;
	u64 start = now_ns();

	if (!exchange)
		return MHD_NO;
	exchange->refusal.coded = self->site.for_browsers;
	exchange->site = &self->site;
	exchange->request = *line;
	exchange->request.connection = connection;
	exchange->request.gone = client_gone;
	mhd.get_connection_values(connection, MHD_HEADER_KIND, header_take, &exchange->request);
	mhd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, parameter_take,
				  &exchange->request);
	exchange->refused = !exchange_find(self, exchange, &exchange->refusal);
	if (!exchange->refused || body_to_drop(&exchange->request)) {
		exchange->parse_ns = now_ns() - start;
		*context = exchange;
		return MHD_YES;
	}
	refusal = exchange->refusal;
	exchange->refusal.body = NULL;
	exchange_free(exchange);
	has_arrived(self, connection);
	return answer_send(connection, &refusal, 0);
}

static void exchange_pack(const struct request *request, struct answer *answer)
{
	u64 start = now_ns();

	if (answer->gzip || answer->body_bytes < PACK_BYTES ||
	    !header_has(request->accept_encoding, "gzip"))
		return;
	answer_compress(answer);
	answer->write_ns += now_ns() - start;
}

static enum MHD_Result exchange_run(struct server *self, struct MHD_Connection *connection,
				    struct exchange *exchange)
{
	struct answer answer = {.coded = self->site.for_browsers};
	u64 start = now_ns();

	has_arrived(self, connection);
	if (exchange->refused) {
		answer = exchange->refusal;
		exchange->refusal.body = NULL;
		return answer_send(connection, &answer, exchange->parse_ns);
	}
	answering_change(self, exchange, true);
	exchange->request.body = exchange->body.text;
	exchange->request.body_bytes = exchange->body.count;
	answer.parse_ns = exchange->parse_ns;
	if (exchange->body.failed)
		answer_refuse(&answer, 500, "out of memory");
	else
		self->site.run(self->site.self, &exchange->request, exchange->plan, &answer);
	if (answer.stream.read)
		answering_change(self, exchange, false); /* nobody waits for its end */
	exchange_pack(&exchange->request, &answer);
	return answer_send(connection, &answer, now_ns() - start + exchange->parse_ns);
}

/* The library calls this once when the headers are there, for each piece of the body, and once when
 * all is there. The length was checked, and the library reads no more than that. */
static enum MHD_Result request_handle(void *self, struct MHD_Connection *connection,
				      const char *path, const char *method, const char *version,
				      const char *body, size_t *body_bytes, void **context)
{
	struct request line = {.method = method, .path = path};
	struct exchange *exchange = *context;

	(void)version;
	if (!exchange)
		return exchange_begin(self, connection, &line, context);
	if (!*body_bytes)
		return exchange_run(self, connection, exchange);
	if (!exchange->refused)
		strbuf_add_bytes(&exchange->body, body, *body_bytes);
	*body_bytes = 0;
	return MHD_YES;
}

static void request_ended(void *self, struct MHD_Connection *connection, void **context,
			  enum MHD_RequestTerminationCode how)
{
	struct exchange *exchange = *context;

	(void)connection, (void)how;
	if (!exchange)
		return;
	answering_change(self, exchange, false);
	exchange_free(exchange);
	*context = NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

int server_open(struct server *self, const char *address, struct err *err)
{
	memset(self, 0, sizeof(*self));
	if (listen_open(&self->listen, address, err) < 0)
		return err->code;
	if (token_make(self->token, err) == 0)
		return 0;
	listen_close(&self->listen);
	return err->code;
}

char *server_url(const struct server *self)
{
	char name[LISTEN_NAME_BYTES];
	char *url;

	address_name(&self->listen.address, name);
	if (asprintf(&url, "http://%s%s?token=%s", name, self->site.home, self->token) < 0)
		return NULL;
	return url;
}

static void lock_init(struct server *self)
{
	pthread_mutex_init(&self->lock, NULL);
	clock_cond_init(&self->changed);
}

static struct MHD_Daemon *daemon_start(struct server *self)
{
	return mhd.start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
					MHD_USE_POLL | MHD_USE_ITC,
				0, NULL, NULL, request_handle, self, MHD_OPTION_LISTEN_SOCKET,
				self->listen.socket, MHD_OPTION_CONNECTION_LIMIT,
				(unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				(size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
				(unsigned int)SILENCE_SECONDS, MHD_OPTION_THREAD_STACK_SIZE,
				(size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
				connection_changed, self, MHD_OPTION_UNESCAPE_CALLBACK, text_decode,
				NULL, MHD_OPTION_NOTIFY_COMPLETED, request_ended, self,
				MHD_OPTION_END);
}

static void watcher_stop(struct server *self)
{
	pthread_mutex_lock(&self->lock);
	self->stopping = true;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
	pthread_join(self->watcher, NULL);
}

int server_start(struct server *self, const struct site *site, struct err *err)
{
	sigset_t all, before;
	int failure;

	if (mhd_load(err) < 0)
		return ERR_SYSTEM;
	self->site = *site;
	snprintf(self->cookie, sizeof(self->cookie), "heapwise-%u",
		 address_port(&self->listen.address));
	lock_init(self);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* threads inherit it */
	failure = pthread_create(&self->watcher, NULL, watcher_main, self);
	if (!failure) {
		errno = 0;
		self->daemon = daemon_start(self);
		failure = self->daemon ? 0 : errno ? errno : EAGAIN;
		if (!self->daemon) {
			self->listen.socket = -1; /* the library may have closed it */
			watcher_stop(self);
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot start the HTTP server: %s",
			       strerror(failure));
	return 0;
}

static void farewell_wait(struct server *self)
{
	u64 until = now_ns() + FAREWELL_SECONDS * 1000000000ull;
	u64 now;

	pthread_mutex_lock(&self->lock);
	while (self->answering && (now = now_ns()) < until)
		changed_wait(self, until - now);
	pthread_mutex_unlock(&self->lock);
}

void server_stop(struct server *self)
{
	if (!self->daemon)
		return;
	/* The socket is ours again, and to be closed when no thread knows it any more. */
	self->listen.socket = mhd.quiesce_daemon(self->daemon);
	farewell_wait(self);
	mhd.stop_daemon(self->daemon);
	self->daemon = NULL;
	watcher_stop(self);
}

void server_close(struct server *self)
{
	server_stop(self);
	listen_close(&self->listen);
}
