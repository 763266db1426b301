/* SPDX-License-Identifier: MIT
 * The monitor toolkit: tools that see a program allocate and touch its memory while it runs. Link with
 * -lheapwise-client. The program is neither rebuilt nor relinked; it runs on the heap of
 * libheapwise-watch.so, which the toolkit loads into it.
 *
 *	static void on_event(void *self, const struct heapwise_event *event)
 *	{
 *		if (event->kind == HEAPWISE_MALLOC)
 *			heapwise_monitor(self, event->area);
 *		else if (event->kind == HEAPWISE_ACCESS)
 *			printf("%llx touched\n", (unsigned long long)event->address);
 *	}
 *
 *	struct heapwise_client *client = heapwise_client_new();
 *	int status;
 *
 *	heapwise_on_event(client, on_event, client);
 *	if (heapwise_launch(client, argv + 1, &status) < 0)
 *		fprintf(stderr, "%s\n", heapwise_error(client));
 *	heapwise_client_free(client);
 *
 * Callbacks are called one after the other on a thread of the toolkit's, within about 50 ms of what they tell (a fifth of a second
 * where a run samples), in
 * the order of the events. They may call all functions below that are marked (c), and nothing else of this
 * header; areas are valid in callbacks only, until the event that ends them. The program never waits for a
 * callback, unless they are slower than the program allocates, for long. */
#ifndef HEAPWISE_CLIENT_H
#define HEAPWISE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct heapwise_client;
struct heapwise_area; /* one allocation that lives */

enum heapwise_event_kind {
	HEAPWISE_MALLOC = 1,  /* the area begins: malloc, calloc, operator new … */
	HEAPWISE_FREE = 2,    /* it is about to end: its private pointer is still there */
	HEAPWISE_REALLOC = 3, /* it has become another, with the private pointer of the old one */
	HEAPWISE_ACCESS = 4,  /* it was monitored and is touched; it is not monitored any more */
};

struct heapwise_event {
	int kind;                   /* enum heapwise_event_kind */
	uint64_t time_ns;           /* CLOCK_MONOTONIC */
	struct heapwise_area *area;
	uint64_t old_address;       /* REALLOC: where it was, and how large */
	uint64_t old_size;
	uint64_t address;           /* ACCESS: what was touched */
	int is_write;               /* ACCESS: 1 = written, 0 = read, -1 = by a system call, either */
	uint32_t context;           /* who did it, see heapwise_stack; ACCESS: 0 unless stacks were asked for */
};

struct heapwise_client *heapwise_client_new(void);
void heapwise_client_free(struct heapwise_client *client);

/* One callback for all events. */
void heapwise_on_event(struct heapwise_client *client,
		       void (*callback)(void *self, const struct heapwise_event *event), void *self);

/* Called every `every_ms`, at least 10, with the time, and once more when the program has ended. */
void heapwise_on_tick(struct heapwise_client *client, unsigned every_ms,
		      void (*callback)(void *self, uint64_t now_ns), void *self);

/* Stacks of accesses, too; off unless it is called. */
void heapwise_want_access_stacks(struct heapwise_client *client);

/* Where libheapwise-watch.so is, if it is not beside the tool or this library. */
void heapwise_set_recorder(struct heapwise_client *client, const char *path);

/* Starts the program, argv[0] with its arguments up to NULL, and returns when it has ended: 0, with *status as
 * from waitpid, or -1 if it could not be started. Before the tool has made threads; once for a client. */
int heapwise_launch(struct heapwise_client *client, char *const argv[], int *status);

/* Joins a program that `heapwise watch` or `heapwise run` has started, by its pid or by that of heapwise itself, and
 * returns when it has ended, or heapwise_leave was called: 0, or -1 if it could not be joined or the tool stayed too
 * far behind. First HEAPWISE_MALLOC comes for each area that lives already; its birth is when the tool
 * joined. Areas can be monitored if `heapwise watch` has started the program; up to four tools can join it.
 * Callbacks are called on the thread of the caller. */
int heapwise_join(struct heapwise_client *client, int pid);
/* (c) heapwise_join returns after this callback. The program goes on; areas stay monitored until they are touched. */
void heapwise_leave(struct heapwise_client *client);

/* Why the last function failed, a sentence without an end. */
const char *heapwise_error(const struct heapwise_client *client);

/* ---- areas (c) ---- */

uint64_t heapwise_area_address(const struct heapwise_area *area);
uint64_t heapwise_area_size(const struct heapwise_area *area);
uint64_t heapwise_area_birth_ns(const struct heapwise_area *area);
/* When it was touched last as far as is known: its birth, or its last HEAPWISE_ACCESS. */
uint64_t heapwise_area_seen_ns(const struct heapwise_area *area);
uint32_t heapwise_area_context(const struct heapwise_area *area); /* that allocated it */

/* One pointer for an area, the tool's own; NULL at first. */
void *heapwise_area_data(const struct heapwise_area *area);
void heapwise_area_set_data(struct heapwise_area *area, void *data);

/* All areas that live, in no order: NULL gives the first, each gives the next, NULL comes after the last. */
struct heapwise_area *heapwise_next(const struct heapwise_client *client, const struct heapwise_area *area);
struct heapwise_area *heapwise_find(const struct heapwise_client *client, uint64_t address);
size_t heapwise_count(const struct heapwise_client *client);
uint64_t heapwise_bytes(const struct heapwise_client *client);

/* HEAPWISE_ACCESS comes the next time that the area is touched; soon, not at once: no call waits for the program. 0, or
 * -1 if it cannot be monitored: it lies outside of the heap. */
int heapwise_monitor(struct heapwise_client *client, struct heapwise_area *area);
void heapwise_unmonitor(struct heapwise_client *client, struct heapwise_area *area);
int heapwise_is_monitored(const struct heapwise_area *area);

/* Return addresses of a context, innermost first; how many there are, of which at most `room` are written. */
size_t heapwise_stack(const struct heapwise_client *client, uint32_t context, uint64_t *pcs, size_t room);

/* What monitoring has cost the program so far, in ns of CPU time, and all that it has used. */
void heapwise_cost(const struct heapwise_client *client, uint64_t *monitoring_ns, uint64_t *program_ns);

#ifdef __cplusplus
}
#endif
#endif
