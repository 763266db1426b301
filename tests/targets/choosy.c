/* SPDX-License-Identifier: MIT
 * choosy unmonitor RECORDER PROGRAM [ARGUMENT...]   a tool made with the monitor toolkit: for a second it monitors all areas, then no
 *                                                   longer those above 50 KB; the recorder is where it says
 * choosy leave PID                                  joins a program and leaves it after some ticks
 * Says at the end what it has seen. */
#include <heapwise/client.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 10, ALL_MS = 1000, SETTLED_MS = 1500, TICKS_JOINED = 20, LARGE = 50000 };

struct choosy {
	struct heapwise_client *client;
	bool leaves;
	int ticks;
	uint64_t start_ns, passed_ms; /* the first tick, and how long that was ago at the last */
	unsigned long large, small;           /* accesses while all are monitored */
	unsigned long large_after, small_after; /* and after that, once it has settled */
	unsigned long monitored;              /* large ones that still are, at the last tick */
	unsigned long unborn;                 /* areas of which the birth lay in the future at a tick */
};

static bool is_large(const struct heapwise_area *area) { return heapwise_area_size(area) > LARGE; }

static void on_event(void *data, const struct heapwise_event *event)
{
	struct choosy *self = data;

	if (event->kind != HEAPWISE_ACCESS)
		return;
	if (self->passed_ms < ALL_MS)
		*(is_large(event->area) ? &self->large : &self->small) += 1;
	else if (self->passed_ms > SETTLED_MS)
		*(is_large(event->area) ? &self->large_after : &self->small_after) += 1;
}

static void on_tick(void *data, uint64_t now_ns)
{
	struct choosy *self = data;

	self->start_ns = self->start_ns ? self->start_ns : now_ns;
	self->passed_ms = (now_ns - self->start_ns) / 1000000;
	self->ticks++;
	if (self->leaves && self->ticks == TICKS_JOINED)
		heapwise_leave(self->client);
	self->monitored = 0;
	for (struct heapwise_area *area = heapwise_next(self->client, NULL); area;
	     area = heapwise_next(self->client, area)) {
		if (is_large(area) && self->passed_ms >= ALL_MS)
			heapwise_unmonitor(self->client, area);
		else
			heapwise_monitor(self->client, area);
		self->monitored += is_large(area) && heapwise_is_monitored(area);
		self->unborn += heapwise_area_birth_ns(area) > now_ns || heapwise_area_seen_ns(area) > now_ns;
	}
}

int main(int argc, char **argv)
{
	struct choosy self = {.client = heapwise_client_new()};
	int status = 0, failed;

	if (argc < 3 || !self.client)
		return 2;
	self.leaves = strcmp(argv[1], "leave") == 0;
	heapwise_on_event(self.client, on_event, &self);
	heapwise_on_tick(self.client, TICK_MS, on_tick, &self);
	if (!self.leaves)
		heapwise_set_recorder(self.client, argv[2]);
	failed = self.leaves ? heapwise_join(self.client, atoi(argv[2]))
			     : heapwise_launch(self.client, argv + 3, &status);
	if (failed) {
		fprintf(stderr, "choosy: %s\n", heapwise_error(self.client));
		return 3;
	}
	printf("ticks %d large %lu small %lu large_after %lu small_after %lu monitored %lu unborn %lu runs %d\n",
	       self.ticks, self.large, self.small, self.large_after, self.small_after, self.monitored, self.unborn,
	       self.leaves && kill(atoi(argv[2]), 0) == 0);
	heapwise_client_free(self.client);
	return 0;
}
