// SPDX-License-Identifier: MIT
// verdict: kind=none
// A server whose load rises and falls: up to 200 requests are open, each with a head, a body and a reply, and all of them are freed.
#include "noise.h"

enum { TURNS = 20000, OPEN = 200 };

struct request {
	unsigned id;
	char *head, *body, *reply;
};

static struct request *open_requests[OPEN];

APART static char *read_head(unsigned id)
{
	char *head = malloc(600 + id % 200);

	snprintf(head, 600, "GET /%u HTTP/1.1", id);
	return head;
}

APART static char *read_body(unsigned id)
{
	size_t size = 200 + id * 37 % 1600;
	char *body = malloc(size);

	memset(body, 'b', size);
	return body;
}

APART static char *make_reply(const struct request *request)
{
	char *reply = malloc(900);

	snprintf(reply, 900, "200 OK %u %s", request->id, request->head);
	return reply;
}

APART static struct request *begin(unsigned id)
{
	struct request *request = malloc(sizeof *request);

	request->id = id;
	request->head = read_head(id);
	request->body = read_body(id);
	request->reply = make_reply(request);
	return request;
}

static void end(struct request *request)
{
	if (!request)
		return;
	free(request->head);
	free(request->body);
	free(request->reply);
	free(request);
}

/* How many may be open: a wave of 4,000 turns. */
static unsigned load_at(unsigned turn)
{
	unsigned phase = turn % 4000;

	return 20 + (phase < 2000 ? phase : 4000 - phase) * (OPEN - 20) / 2000;
}

int main(void)
{
	unsigned served = 0;

	noise_start();
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned at = noise_random() % OPEN;

		end(open_requests[at]);
		open_requests[at] = at < load_at(i) ? begin(served++) : NULL;
		noise_turn(i);
	}
	for (unsigned i = 0; i < OPEN; i++)
		end(open_requests[i]);
	printf("%u\n", served);
	return 0; /* tables stay reachable */
}
