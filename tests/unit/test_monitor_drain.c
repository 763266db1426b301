/* SPDX-License-Identifier: MIT
 * The drain thread with processes that fill rings as fast as they can: nothing is lost, every free
 * finds its allocation, images and processes are told apart. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/test.h"
#include "live/record/drain_thread.h"
#include "test_monitor_producer.h"
#include "host/trace/reader.h"

enum { THREADS = 4, SHELVES = 256 };

/* ---- a target -------------------------------------------------------------------------------- */

/* Threads that hand blocks to each other over shelves; an address is an index into `taken`. */
struct workshop {
	struct producer producer;
	u64 rounds;
	u64 shelves[SHELVES];
	u32 taken[SHELVES * 2 + 64];
	u64 births[THREADS], deaths[THREADS];
};

struct worker {
	struct workshop *shop;
	u32 number;
};

static u64 address_take(struct workshop *shop)
{
	for (u64 i = 1;; i = i % (SHELVES * 2 + 63) + 1) {
		u32 empty = 0;

		if (load_relaxed(&shop->taken[i]) == 0 && cas_acq_rel(&shop->taken[i], &empty, 1))
			return i * 16;
	}
}

static void *worker_main(void *argument)
{
	struct worker *self = argument;
	struct workshop *shop = self->shop;
	u64 random = self->number + 1;

	producer_event(&shop->producer, self->number, HW_THREAD, self->number + 1, 0, hw_ticks());
	for (u64 i = 0; i < shop->rounds; i++) {
		u64 address = address_take(shop), old;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		producer_event(&shop->producer, self->number, HW_MALLOC, address, 10, hw_ticks());
		shop->births[self->number]++;
		old = exchange_acq_rel(&shop->shelves[random >> 56], address);
		if (!old)
			continue;
		producer_event(&shop->producer, self->number, HW_FREE, old, 0, hw_ticks());
		store_release(&shop->taken[old / 16], 0);
		shop->deaths[self->number]++;
	}
	return NULL;
}

/* Runs in a child: one image, which reports its totals in the last mark. */
static void target_image(const char *session, u64 rounds)
{
	struct workshop *shop = calloc(1, sizeof(*shop));
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	u64 births = 0, deaths = 0;

	shop->rounds = rounds;
	if (!producer_join(&shop->producer, session, (u32)getpid()))
		_exit(9);
	producer_use_slots(&shop->producer, THREADS);
	for (u32 i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ shop, i };
		pthread_create(&threads[i], NULL, worker_main, &workers[i]);
	}
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		births += shop->births[i];
		deaths += shop->deaths[i];
	}
	producer_event(&shop->producer, 0, HW_MARK, births, deaths, hw_ticks());
}

static pid_t target_start(const char *session, u32 images, u64 rounds)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (u32 i = 0; i < images; i++)
		target_image(session, rounds + i);
	_exit(0);
}

/* ---- the monitor ----------------------------------------------------------------------------- */

struct scene {
	struct berths berths;
	struct drain drain;
	char *argv[2];
	char trace[512];
};

static struct scene *scene_new(bool children)
{
	struct scene *self = calloc(1, sizeof(*self));
	struct berths_options options = { .children = children, .ring_records = 64 };
	struct err err = { 0 };
	static char name[] = "target";

	if (berths_open(&self->berths, &options, &err) < 0)
		FAIL("%s", err.text);
	self->argv[0] = name;
	self->drain.berths = &self->berths;
	self->drain.fallback = (struct process_fallback){ name, self->argv };
	snprintf(self->trace, sizeof(self->trace), "%s/trace.hwt", test_folder());
	return self;
}

static void scene_start(struct scene *self, pid_t root)
{
	struct process *process = process_new((u32)root, (u32)getpid());
	struct err err = { 0 };

	process->root = true;
	process->writer = trace_writer_open(self->trace, NULL, &err);
	if (!process->writer)
		FAIL("%s", err.text);
	process->writer_state = WRITER_OPEN;
	self->drain.processes = process;
	if (drain_start(&self->drain, &err) < 0)
		FAIL("%s", err.text);
}

static void scene_wait_root(struct scene *self)
{
	struct process *root = self->drain.processes;
	int status;

	waitpid((pid_t)root->pid, &status, 0);
	if (WIFSIGNALED(status))
		process_set_gone(root, IMAGE_KILLED, WTERMSIG(status));
	else
		process_set_gone(root, IMAGE_EXITED, WEXITSTATUS(status));
	drain_wake(&self->drain);
}

static void scene_end(struct scene *self)
{
	struct process *process = self->drain.processes;
	struct err err = { 0 };

	drain_join(&self->drain);
	while (process) {
		struct process *next = process->next;

		CHECK_EQ(process->error.code, 0);
		if (process->writer)
			CHECK_EQ(trace_writer_close(process->writer, &err), 0);
		process_free(process, &self->berths);
		process = next;
	}
	berths_close(&self->berths);
	free(self);
}

/* ---- reading back ---------------------------------------------------------------------------- */

struct recount {
	u32 images, ends, exec_ends;
	u64 births, deaths, mark_births, mark_deaths, bad_deaths;
	struct stream_image_end last;
};

static int recount_image(void *self, const struct stream_image *image, struct err *err)
{
	(void)image;
	(void)err;
	((struct recount *)self)->images++;
	return 0;
}

static int recount_end(void *self_, const struct stream_image_end *end, struct err *err)
{
	struct recount *self = self_;

	(void)err;
	self->ends++;
	self->exec_ends += end->how == IMAGE_EXEC;
	self->last = *end;
	return 0;
}

static int recount_events(void *self_, const struct event *events, u64 count, struct err *err)
{
	struct recount *self = self_;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		self->births += hw_kind_allocates(events[i].kind);
		self->deaths += hw_kind_frees(events[i].kind);
		self->bad_deaths +=
			hw_kind_frees(events[i].kind) &&
			(events[i].chunk == NO_CHUNK || (events[i].flags & EVENT_IMPLIED));
		if (events[i].kind == HW_MARK) {
			self->mark_births += events[i].address;
			self->mark_deaths += events[i].size;
		}
	}
	return 0;
}

static struct recount recount_of(const char *path)
{
	struct recount recount = { 0 };
	struct stream_sink sink = {
		.self = &recount, .image = recount_image, .events = recount_events,
		.image_end = recount_end,
	};
	struct trace_read_options options = { .image = TRACE_ALL_IMAGES, .strict = true };
	struct err err = { 0 };
	struct trace_reader *reader = trace_open(path, &err);

	if (!reader || trace_read(reader, &options, &sink, &err) < 0)
		FAIL("%s", err.text);
	trace_close(reader);
	return recount;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(exact, "threads that fill tiny rings lose nothing, and every free finds its allocation")
{
	struct scene *scene = scene_new(false);
	struct recount recount;
	char path[512];

	snprintf(path, sizeof(path), "%s", scene->trace);
	scene_start(scene, target_start(scene->berths.path, 1, 100000));
	scene_wait_root(scene);
	scene_end(scene);
	recount = recount_of(path);
	CHECK_EQ(recount.images, 1);
	CHECK_EQ(recount.births, THREADS * 100000);
	CHECK_EQ(recount.births, recount.mark_births);
	CHECK_EQ(recount.deaths, recount.mark_deaths);
	CHECK_EQ(recount.bad_deaths, 0);
	CHECK_EQ(recount.last.how, IMAGE_EXITED);
	CHECK_EQ(recount.last.value, 0);
	CHECK_EQ(recount.last.totals.allocations, recount.births);
	CHECK_EQ(recount.last.totals.kept_chunks, recount.births - recount.deaths);
}

TEST(exec, "another berth of the same process is its next image")
{
	struct scene *scene = scene_new(false);
	struct recount recount;
	char path[512];

	snprintf(path, sizeof(path), "%s", scene->trace);
	scene_start(scene, target_start(scene->berths.path, 2, 2000));
	scene_wait_root(scene);
	scene_end(scene);
	recount = recount_of(path);
	CHECK_EQ(recount.images, 2);
	CHECK_EQ(recount.ends, 2);
	CHECK_EQ(recount.exec_ends, 1);
	CHECK_EQ(recount.births, THREADS * (2000 + 2001));
	CHECK_EQ(recount.births, recount.mark_births);
	CHECK_EQ(recount.deaths, recount.mark_deaths);
	CHECK_EQ(recount.bad_deaths, 0);
}

TEST(fast_exec, "images that came and went before we looked are told in their order")
{
	struct scene *scene = scene_new(false);
	u32 spare = scene->berths.spare[0];
	struct recount recount;
	siginfo_t info;
	char path[512];
	pid_t root;

	scene->berths.spare[0] = scene->berths.spare[1];
	scene->berths.spare[1] = spare;
	snprintf(path, sizeof(path), "%s", scene->trace);
	root = target_start(scene->berths.path, 2, 2);
	waitid(P_PID, (id_t)root, &info, WEXITED | WNOWAIT);
	scene_start(scene, root);
	scene_wait_root(scene);
	scene_end(scene);
	recount = recount_of(path);
	CHECK_EQ(recount.images, 2);
	CHECK_EQ(recount.births, THREADS * (2 + 3));
	CHECK_EQ(recount.last.totals.allocations, THREADS * 3);
	CHECK_EQ(recount.last.how, IMAGE_EXITED);
}

TEST(killed, "what was published before SIGKILL is in the trace")
{
	struct scene *scene = scene_new(false);
	struct recount recount;
	char path[512];
	pid_t root;

	snprintf(path, sizeof(path), "%s", scene->trace);
	root = target_start(scene->berths.path, 1, UINT64_MAX);
	scene_start(scene, root);
	while (load_relaxed(&scene->drain.events) < 50000)
		usleep(1000);
	kill(root, SIGKILL);
	scene_wait_root(scene);
	scene_end(scene);
	recount = recount_of(path);
	CHECK(recount.births + recount.deaths >= 50000);
	CHECK_EQ(recount.bad_deaths, 0);
	CHECK_EQ(recount.last.how, IMAGE_KILLED);
	CHECK_EQ(recount.last.value, SIGKILL);
}

TEST(silent, "a program that never joins gets an image without events")
{
	struct scene *scene = scene_new(false);
	struct recount recount;
	char path[512];
	pid_t root = fork();

	if (root == 0)
		_exit(3);
	snprintf(path, sizeof(path), "%s", scene->trace);
	scene_start(scene, root);
	scene_wait_root(scene);
	scene_end(scene);
	recount = recount_of(path);
	CHECK_EQ(recount.images, 1);
	CHECK_EQ(recount.births, 0);
	CHECK_EQ(recount.last.value, 3);
}

/* The test stands in for the waiting thread: no traces for children, and it knows when they end. */
static u32 serve_children(struct scene *scene)
{
	struct process *process = scene->drain.processes;
	u32 count = 0;

	for (; process; process = load_acquire(&process->next)) {
		count++;
		if (process->writer_state == WRITER_WANTED)
			store_release(&process->writer_state, WRITER_FAILED);
		if (!process->root && !load_relaxed(&process->gone))
			process_watch(process);
	}
	drain_wake(&scene->drain);
	return count;
}

TEST(children, "several processes are recorded at the same time, each on its own")
{
	struct scene *scene = scene_new(true);
	pid_t root = target_start(scene->berths.path, 1, 20000), children[3];
	u64 births = 0;

	for (u32 i = 0; i < 3; i++)
		children[i] = target_start(scene->berths.path, 1, 10000);
	scene_start(scene, root);
	for (u32 ended = 0; ended < 3 || serve_children(scene) < 4; usleep(1000)) {
		for (u32 i = 0; i < 3; i++)
			ended += children[i] && waitpid(children[i], NULL, WNOHANG) == children[i];
		serve_children(scene);
	}
	scene_wait_root(scene);
	while (!load_acquire(&scene->drain.done)) {
		serve_children(scene);
		usleep(1000);
	}
	for (struct process *process = scene->drain.processes; process; process = process->next) {
		births += process->totals.allocations;
		CHECK_EQ(process->totals.unknown_frees + process->totals.implied_frees, 0);
		CHECK_EQ(process->images, 1);
	}
	CHECK_EQ(births, THREADS * (20000 + 3 * 10000));
	scene_end(scene);
}
