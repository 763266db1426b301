// SPDX-License-Identifier: MIT
// verdict: kind=lost function=payload_new bytes=9600000 chunks=12000
// An event queue ordered by time. Cancelled events are taken out and freed, their payload is not.
#include "noise.h"

enum { EVENTS = 48000, QUEUE = 256, PAYLOAD = 800 };

struct payload {
	unsigned length;
	char bytes[PAYLOAD - sizeof(unsigned)];
};

struct event {
	unsigned when;
	int cancelled;
	struct payload *payload;
};

static struct event *queue[QUEUE + 1];
static unsigned queued, delivered;

APART static struct payload *payload_new(unsigned number)
{
	struct payload *payload = malloc(sizeof *payload);

	payload->length = number % sizeof payload->bytes;
	memset(payload->bytes, (int)number, sizeof payload->bytes);
	return payload;
}

APART static struct event *event_new(unsigned number)
{
	struct event *event = malloc(sizeof *event);

	event->when = number * 2654435761u;
	event->cancelled = number % 4 == 3;
	event->payload = payload_new(number);
	return event;
}

static void swap(unsigned a, unsigned b)
{
	struct event *event = queue[a];

	queue[a] = queue[b];
	queue[b] = event;
}

static void push(struct event *event)
{
	unsigned at = ++queued;

	queue[at] = event;
	for (; at > 1 && queue[at]->when < queue[at / 2]->when; at /= 2)
		swap(at, at / 2);
}

static struct event *pop(void)
{
	struct event *first = queue[1];
	unsigned at = 1, child;

	queue[1] = queue[queued];
	queue[queued--] = NULL;
	while ((child = 2 * at) <= queued) {
		child += child < queued && queue[child + 1]->when < queue[child]->when;
		if (queue[at]->when <= queue[child]->when)
			break;
		swap(at, child);
		at = child;
	}
	return first;
}

static void deliver(struct event *event)
{
	if (!event->cancelled) {
		delivered += event->payload->length;
		free(event->payload);
	} /* else: the flaw */
	event->payload = NULL;
	free(event);
}

int main(void)
{
	noise_start();
	for (unsigned i = 0; i < EVENTS; i++) {
		push(event_new(i));
		if (queued == QUEUE)
			for (unsigned k = 0; k < QUEUE / 2; k++)
				deliver(pop());
		if (i % 3 == 0)
			noise_turn(i);
	}
	while (queued)
		deliver(pop());
	printf("%u bytes delivered\n", delivered);
	return 0; /* the tables stay, as they often do */
}
