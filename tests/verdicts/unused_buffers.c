// SPDX-License-Identifier: MIT
// verdict: kind=unused function=connection_new bytes=4800000 chunks=75 options=--access,valgrind,--coverage
// A server whose connections have buffers of 64 KB for requests of at most a few hundred bytes.
#include "noise.h"

enum { CONNECTIONS = 75, BUFFER = 64000, REQUESTS = 300 };

struct connection {
	unsigned id, length;
	char *buffer;
};

APART static struct connection *connection_new(unsigned id)
{
	struct connection *connection = malloc(sizeof *connection);

	connection->id = id;
	connection->length = 0;
	connection->buffer = malloc(BUFFER); /* the flaw */
	return connection;
}

static unsigned receive(struct connection *connection, unsigned request)
{
	connection->length = (unsigned)snprintf(connection->buffer, BUFFER, "GET /%u/%u HTTP/1.1\r\nHost: %s\r\n", connection->id, request,
						noise_words[request % NOISE_WORDS]);
	return connection->length;
}

static unsigned answer(const struct connection *connection)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < connection->length; i++)
		sum += (unsigned char)connection->buffer[i];
	return sum;
}

static void connection_free(struct connection *connection)
{
	free(connection->buffer);
	free(connection);
}

int main(void)
{
	struct connection *connections[CONNECTIONS];
	unsigned sum = 0;

	noise_start();
	for (unsigned i = 0; i < CONNECTIONS; i++)
		connections[i] = connection_new(i);
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct connection *connection = connections[i * 17 % CONNECTIONS];

		sum += receive(connection, i);
		sum += answer(connection);
		noise_turn(i);
	}
	printf("%u\n", sum);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		connection_free(connections[i]);
	noise_end();
	return 0;
}
