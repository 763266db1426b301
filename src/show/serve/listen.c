/* SPDX-License-Identifier: MIT
 * Addresses and the listening socket; see listen.h. Runs in the monitor, before its threads. Never
 * looks up a name. */
#define _GNU_SOURCE
#include "show/serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/options.h"

enum { BACKLOG = 128, PORT_HTTP = 80 };

/* ---- addresses ------------------------------------------------------------------------------- */

static bool port_parse(const char *text, in_port_t *port)
{
	u64 number;

	if (!parse_number(text, &number) || number > 65535)
		return false;
	*port = htons((in_port_t)number);
	return true;
}

static int not_understood(const char *text, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "--listen must be [ADDRESS:]PORT, such as 8080, 127.0.0.1:0 or [::1]:8080, "
		       "not '%s'",
		       text);
}

int listen_parse(union listen_address *address, const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char name[INET6_ADDRSTRLEN];
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool bracketed = colon && length >= 2 && text[0] == '[' && colon[-1] == ']';
	in_port_t port;

	memset(address, 0, sizeof(*address));
	if (colon && (colon[1] == 0 || strchr(text, ']') > colon))
		return err_set(err, ERR_INPUT, "--listen %s has no port; 0 means any free port",
			       text);
	if (!port_parse(colon ? colon + 1 : text, &port))
		return not_understood(text, err);
	if (length - 2 * bracketed >= sizeof(name))
		return not_understood(text, err);
	snprintf(name, sizeof(name), "%.*s", (int)(length - 2 * bracketed), text + bracketed);
	if (bracketed) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = port;
		return inet_pton(AF_INET6, name, &address->v6.sin6_addr) == 1
			       ? 0
			       : not_understood(text, err);
	}
	address->v4.sin_family = AF_INET;
	address->v4.sin_port = port;
	return inet_pton(AF_INET, colon ? name : "127.0.0.1", &address->v4.sin_addr) == 1
		       ? 0
		       : not_understood(text, err);
}

bool address_is_path(const union listen_address *address)
{
	return address->any.sa_family == AF_UNIX;
}

bool address_is_loopback(const union listen_address *address)
{
	if (address_is_path(address))
		return true;
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
	return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

u32 address_port(const union listen_address *address)
{
	if (address_is_path(address))
		return 0;
	return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port
							: address->v4.sin_port);
}

static void address_number(const union listen_address *address, char number[LISTEN_NAME_BYTES])
{
	char text[INET6_ADDRSTRLEN] = "";
	bool six = address->any.sa_family == AF_INET6;

	inet_ntop(address->any.sa_family,
		  six ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr,
		  text, sizeof(text));
	snprintf(number, LISTEN_NAME_BYTES, six ? "[%s]" : "%s", text);
}

void address_name(const union listen_address *address, char name[LISTEN_NAME_BYTES])
{
	if (address_is_path(address)) {
		snprintf(name, LISTEN_NAME_BYTES, "localhost");
		return;
	}
	address_number(address, name);
	snprintf(name + strlen(name), LISTEN_NAME_BYTES - strlen(name), ":%u",
		 address_port(address));
}

/* "NAME:PORT"; browsers leave out the port that http has by itself. */
static bool is_host(const char *host, const char *name, u32 port)
{
	size_t length = strlen(name);
	char rest[8];

	if (strncasecmp(host, name, length) != 0)
		return false;
	snprintf(rest, sizeof(rest), ":%u", port);
	return strcmp(host + length, rest) == 0 || (port == PORT_HTTP && !host[length]);
}

bool address_is_host(const union listen_address *address, const char *host)
{
	char number[LISTEN_NAME_BYTES];
	u32 port = address_port(address);

	if (!host)
		return false;
	if (address_is_path(address))
		return strcasecmp(host, "localhost") == 0;
	address_number(address, number);
	return is_host(host, number, port) ||
	       (address_is_loopback(address) && is_host(host, "localhost", port));
}

/* ---- socket ---------------------------------------------------------------------------------- */

static int socket_bind(struct listen *self)
{
	bool six = self->address.any.sa_family == AF_INET6;
	socklen_t bytes = six ? sizeof(self->address.v6) : sizeof(self->address.v4);
	const int one = 1;

	/* Connections of an earlier run that are still winding down are no obstacle. */
	setsockopt(self->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (six) /* [::] means what it says, and not IPv4 as well */
		setsockopt(self->socket, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(self->socket, &self->address.any, bytes) < 0 || listen(self->socket, BACKLOG) < 0)
		return -1;
	return getsockname(self->socket, &self->address.any, &bytes);
}

/* What is there must be a socket that nobody listens on. */
static bool path_is_left_over(const struct sockaddr_un *address)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat known;
	bool refused = probe >= 0 && lstat(address->sun_path, &known) == 0 &&
		       S_ISSOCK(known.st_mode) &&
		       connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		       errno == ECONNREFUSED;

	if (probe >= 0)
		close(probe);
	return refused;
}

static int path_bind(const struct listen *self)
{
	mode_t before = umask(0177); /* for its owner only, from the first moment on */
	int status = bind(self->socket, &self->address.any, sizeof(self->address.path));
	int failure = errno;

	umask(before);
	errno = failure;
	return status;
}

static int path_open(struct listen *self, const char *path, struct err *err)
{
	struct sockaddr_un *address = &self->address.path;

	if (!*path || strlen(path) >= sizeof(address->sun_path))
		return err_set(err, ERR_USAGE,
			       "the path of a socket must have 1 to %zu bytes, not '%s'",
			       sizeof(address->sun_path) - 1, path);
	memset(&self->address, 0, sizeof(self->address));
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, strlen(path));
	if (path_is_left_over(address))
		unlink(path);
	self->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self->socket >= 0 && path_bind(self) == 0 && listen(self->socket, BACKLOG) == 0)
		return 0;
	err_set(err, errno == EADDRINUSE ? ERR_INPUT : ERR_SYSTEM, "cannot listen on %s: %s", path,
		errno == EADDRINUSE ? "the file already exists" : strerror(errno));
	memset(&self->address, 0, sizeof(self->address)); /* it is not ours to remove */
	listen_close(self);
	return err->code;
}

int listen_open(struct listen *self, const char *text, struct err *err)
{
	self->socket = -1;
	if (strncmp(text, "unix:", 5) == 0)
		return path_open(self, text + 5, err);
	if (listen_parse(&self->address, text, err) < 0)
		return err->code;
	self->socket =
		socket(self->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self->socket >= 0 && socket_bind(self) == 0)
		return 0;
	if (errno == EADDRINUSE)
		err_set(err, ERR_INPUT,
			"cannot listen on %s: the port is in use; choose another one, or 0 for any "
			"free port",
			text);
	else
		err_set(err, ERR_SYSTEM, "cannot listen on %s: %s", text, strerror(errno));
	listen_close(self);
	return err->code;
}

void listen_close(struct listen *self)
{
	if (self->socket >= 0)
		close(self->socket);
	self->socket = -1;
	if (address_is_path(&self->address)) {
		unlink(self->address.path.sun_path);
		self->address.any.sa_family = AF_UNSPEC;
	}
}
