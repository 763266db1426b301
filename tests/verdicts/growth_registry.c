// SPDX-License-Identifier: MIT
// verdict: kind=growth function=remember bytes=6400000 chunks=40000
// A server that remembers each client that it has ever seen in a hash table, and never forgets one.
#include "noise.h"

enum { REQUESTS = 40000, BUCKETS = 8192 };

struct client {
	struct client *next;
	unsigned address, requests;
	char agent[144];
};

static struct client *clients[BUCKETS];

APART static struct client *remember(unsigned address)
{
	struct client *client = malloc(sizeof *client);

	client->address = address;
	client->requests = 0;
	memset(client->agent, 'm', sizeof client->agent);
	client->next = clients[address % BUCKETS];
	clients[address % BUCKETS] = client; /* the flaw: no limit, no age */
	return client;
}

static struct client *client_of(unsigned address)
{
	struct client *client = clients[address % BUCKETS];

	while (client && client->address != address)
		client = client->next;
	return client ? client : remember(address);
}

APART static char *answer(struct client *client, unsigned request)
{
	char *text = malloc(128);

	snprintf(text, 128, "request %u of %u: %u", request, client->address, ++client->requests);
	return text;
}

int main(void)
{
	size_t written = 0;

	noise_start();
	for (unsigned i = 0; i < REQUESTS; i++) {
		char *text = answer(client_of(i * 2654435761u), i);

		written += strlen(text);
		free(text);
		if (i % 3 == 0)
			noise_turn(i);
	}
	printf("%zu bytes written\n", written);
	return 0;
}
