/* SPDX-License-Identifier: MIT
 * eager PROGRAM [ARGUMENT...], eager -p PID   a tool made with the monitor toolkit that monitors every area again every 10 ms: more often than
 * anybody would. At the end it says what it has seen; the status is the program's. Where $EAGER_SEEN names a file, the file is made anew with
 * the numbers of areas and accesses so far. */
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct eager {
	struct heapwise_client *client;
	unsigned long mallocs, frees, reallocs, accesses, writes, kernel, wrong, lost;
};

/* The private pointer of an area is its own address: it must come back with every event. */
static void check(struct eager *eager, struct heapwise_area *area, uint64_t address)
{
	if ((uint64_t)(uintptr_t)heapwise_area_data(area) != address)
		eager->wrong++;
}

static void on_access(struct eager *eager, const struct heapwise_event *event)
{
	uint64_t start = heapwise_area_address(event->area), size = heapwise_area_size(event->area);

	eager->accesses++;
	eager->writes += event->is_write == 1;
	eager->kernel += event->is_write == -1;
	check(eager, event->area, start);
	if (event->address < start || event->address - start >= size || heapwise_is_monitored(event->area) ||
	    !event->context)
		eager->wrong++;
}

static void on_event(void *self, const struct heapwise_event *event)
{
	struct eager *eager = self;
	uint64_t address = heapwise_area_address(event->area);

	if (heapwise_find(eager->client, address) != event->area)
		eager->lost++;
	switch (event->kind) {
	case HEAPWISE_MALLOC:
		eager->mallocs++;
		break;
	case HEAPWISE_REALLOC:
		eager->reallocs++;
		check(eager, event->area, event->old_address);
		break;
	case HEAPWISE_FREE:
		eager->frees++;
		check(eager, event->area, address);
		return;
	case HEAPWISE_ACCESS:
		on_access(eager, event);
		return;
	}
	heapwise_area_set_data(event->area, (void *)(uintptr_t)address);
}

static void tell(const struct eager *eager)
{
	const char *path = getenv("EAGER_SEEN");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%lu %lu\n", eager->mallocs, eager->accesses);
		fclose(file);
	}
}

static void on_tick(void *self, uint64_t now_ns)
{
	struct eager *eager = self;
	size_t count = 0;

	(void)now_ns;
	for (struct heapwise_area *area = heapwise_next(eager->client, NULL); area;
	     area = heapwise_next(eager->client, area), count++)
		if (!heapwise_is_monitored(area))
			heapwise_monitor(eager->client, area);
	eager->lost += count != heapwise_count(eager->client);
	tell(eager);
}

int main(int argc, char **argv)
{
	struct eager eager = {.client = heapwise_client_new()};
	int status = 0, failed;
	int own = 0, reaper = 0;
	pid_t child;

	if (argc < 2 || !eager.client)
		return 2;
	child = fork(); /* of our own, with which the library has nothing to do */
	if (child == 0)
		_exit(7);
	heapwise_on_event(eager.client, on_event, &eager);
	heapwise_on_tick(eager.client, 10, on_tick, &eager);
	heapwise_want_access_stacks(eager.client);
	if (argc == 3 && strcmp(argv[1], "-p") == 0)
		failed = heapwise_join(eager.client, atoi(argv[2]));
	else
		failed = heapwise_launch(eager.client, argv + 1, &status);
	if (failed) {
		fprintf(stderr, "eager: %s\n", heapwise_error(eager.client));
		heapwise_client_free(eager.client);
		return 3;
	}
	if (waitpid(child, &own, 0) != child || WEXITSTATUS(own) != 7 ||
	    prctl(PR_GET_CHILD_SUBREAPER, &reaper) != 0 || reaper) {
		fprintf(stderr, "eager: children are not left alone\n");
		return 4;
	}
	fprintf(stderr, "mallocs %lu frees %lu reallocs %lu accesses %lu writes %lu kernel %lu wrong %lu lost %lu\n",
		eager.mallocs, eager.frees, eager.reallocs, eager.accesses, eager.writes, eager.kernel, eager.wrong,
		eager.lost);
	heapwise_client_free(eager.client);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
