/* SPDX-License-Identifier: MIT
 * The monitor toolkit, for tools that monitor a running program's allocations and accesses. Link with
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
 * Callbacks run one at a time on a thread of the toolkit, in the order of the events, within about 50 ms of the event
 * (0.2 s in a sampled run). They may call the functions below that are marked (c), and no others of this header.
 * Areas are valid only in callbacks, until the event that ends them. The program does not wait for callbacks
 * unless they are slower than its allocations for a long time. */
#ifndef HEAPWISE_CLIENT_H
#define HEAPWISE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct heapwise_client;
struct heapwise_area; /* one live allocation */

enum heapwise_event_kind {
	HEAPWISE_MALLOC = 1,  /* the area begins: malloc, calloc, operator new … */
	HEAPWISE_FREE = 2,    /* it is about to end; its private pointer is still valid */
	HEAPWISE_REALLOC = 3, /* it was moved or resized and keeps its private pointer */
	HEAPWISE_ACCESS = 4,  /* it was monitored and was touched; it is no longer monitored */
};

struct heapwise_event {
	int kind;                   /* enum heapwise_event_kind */
	uint64_t time_ns;           /* CLOCK_MONOTONIC */
	struct heapwise_area *area;
	uint64_t old_address;       /* REALLOC: its previous address and size */
	uint64_t old_size;
	uint64_t address;           /* ACCESS: the address that was touched */
	int is_write;               /* ACCESS: 1 = written, 0 = read, -1 = by a system call, either */
	uint32_t context;           /* call stack, see heapwise_stack; ACCESS: 0 unless stacks were requested */
};

struct heapwise_client *heapwise_client_new(void);
void heapwise_client_free(struct heapwise_client *client);

/* Sets the callback for all events. */
void heapwise_on_event(struct heapwise_client *client,
		       void (*callback)(void *self, const struct heapwise_event *event), void *self);

/* Sets a callback that is called every `every_ms` (at least 10) with the time, and once more when the program has ended. */
void heapwise_on_tick(struct heapwise_client *client, unsigned every_ms,
		      void (*callback)(void *self, uint64_t now_ns), void *self);

/* Requests call stacks of accesses; off by default. */
void heapwise_want_access_stacks(struct heapwise_client *client);

/* For heapwise_launch: requests a page of its own for each area, so that each access to a small one is seen; off by default.
 * Up to 4,096 small areas at a time have one, which costs 4 KiB each; further ones share pages (heapwise_is_known). */
void heapwise_want_own_pages(struct heapwise_client *client);

/* Sets the path of libheapwise-watch.so, if it is not beside the tool or this library. */
void heapwise_set_recorder(struct heapwise_client *client, const char *path);

/* Starts the program argv[0] with its arguments up to NULL, and returns when it has ended: 0, with *status as
 * from waitpid, or -1 if it could not be started. Call it before the tool creates threads, once per client. */
int heapwise_launch(struct heapwise_client *client, char *const argv[], int *status);

/* Attaches to a program started by `heapwise watch` or `heapwise run`, given its process id or that of heapwise, and
 * returns when the program has ended or heapwise_leave was called: 0, or -1 if it could not attach or the tool fell too
 * far behind. First there is a HEAPWISE_MALLOC for each live area, with the time of attaching as its birth.
 * Areas can be monitored if `heapwise watch` started the program; up to four tools can attach to it.
 * Callbacks run on the thread of the caller. */
int heapwise_join(struct heapwise_client *client, int pid);
/* (c) heapwise_join returns after this callback. The program continues; areas stay monitored until they are touched. */
void heapwise_leave(struct heapwise_client *client);

/* Why the last function failed, without a full stop. */
const char *heapwise_error(const struct heapwise_client *client);

/* ---- areas (c) ---- */

uint64_t heapwise_area_address(const struct heapwise_area *area);
uint64_t heapwise_area_size(const struct heapwise_area *area);
uint64_t heapwise_area_birth_ns(const struct heapwise_area *area);
/* When it was last known to be touched: its birth, or its last HEAPWISE_ACCESS. */
uint64_t heapwise_area_seen_ns(const struct heapwise_area *area);
/* Whether an access would have been noticed for most of the time since then. Areas share pages: after an access to one, those
 * to the others go unseen until the page is watched again, and what is not monitored is not seen at all. */
int heapwise_is_known(const struct heapwise_area *area);
uint32_t heapwise_area_context(const struct heapwise_area *area); /* of its allocation */

/* A private pointer of the tool for each area; initially NULL. */
void *heapwise_area_data(const struct heapwise_area *area);
void heapwise_area_set_data(struct heapwise_area *area, void *data);

/* Iterates over all live areas, in no order: NULL returns the first, an area the next; NULL after the last. */
struct heapwise_area *heapwise_next(const struct heapwise_client *client, const struct heapwise_area *area);
struct heapwise_area *heapwise_find(const struct heapwise_client *client, uint64_t address);
size_t heapwise_count(const struct heapwise_client *client);
uint64_t heapwise_bytes(const struct heapwise_client *client);

/* Requests a HEAPWISE_ACCESS for the next access to the area. It takes effect soon, not at once: no call waits for the
 * program. Returns 0, or -1 if the area cannot be monitored because it is outside the heap. */
int heapwise_monitor(struct heapwise_client *client, struct heapwise_area *area);
void heapwise_unmonitor(struct heapwise_client *client, struct heapwise_area *area);
int heapwise_is_monitored(const struct heapwise_area *area);

/* Writes at most `room` return addresses of a context, innermost first. Returns how many there are. */
size_t heapwise_stack(const struct heapwise_client *client, uint32_t context, uint64_t *pcs, size_t room);

/* The CPU time that monitoring has cost the program so far, and the program's total CPU time, in ns. */
void heapwise_cost(const struct heapwise_client *client, uint64_t *monitoring_ns, uint64_t *program_ns);

#ifdef __cplusplus
}
#endif
#endif
