/* SPDX-License-Identifier: MIT
 * The table of verbs, and what is asked of a process, without any program: a thread of the test does
 * what the drain thread would. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "lib/test.h"
#include "live/control/control.h"

static int dance(struct control *self, struct process *process, struct control_reply *reply,
		 struct err *err)
{
	(void)self, (void)err;
	control_reply_add(reply, "steps", "%d", 3);
	control_reply_add(reply, "with", "%s", process ? "one\nof\nthem" : "all");
	return 0;
}

TEST(verbs, "a registered verb is found by its name, an unknown one is a usage error")
{
	static const struct control_verb verb = {.name = "dance", .summary = "", .run = dance};
	struct control control = {0};
	struct control_reply reply = {0};
	struct process process = {0};
	struct err err = {0};

	CHECK_EQ(control_run(&control, "dance", NULL, &reply, &err), ERR_USAGE);
	CHECK_EQ(control_register(&verb), true);
	CHECK_EQ(control_run(&control, "dance", &process, &reply, &err), 0);
	CHECK_STR(strbuf_text(&reply.lines), "steps 3\nwith one of them\n");
	CHECK_STR(control_verb_at(0)->name, "pause");
	strbuf_release(&reply.lines);
}

TEST(full, "a table of verbs that is full says so")
{
	static const struct control_verb verb = {.name = "again", .summary = "", .run = dance};
	u32 count = 0, own = 0;

	while (control_verb_at(own))
		own++;
	while (count < 1000 && control_register(&verb))
		count++;
	CHECK_EQ(count, 16);
	CHECK_EQ(control_verb_at(own + 16) == NULL, true);
}

struct scene {
	struct hw_lobby lobby;
	struct berths berths;
	struct drain drain;
	struct control control;
	struct process processes[2];
};

static void scene_init(struct scene *self)
{
	memset(self, 0, sizeof *self);
	self->berths.lobby = &self->lobby;
	self->drain.berths = &self->berths;
	self->drain.processes = &self->processes[0];
	self->control.drain = &self->drain;
	self->processes[0].next = &self->processes[1];
	self->processes[0].pid = 4000001;
	self->processes[1].pid = 4000002;
}

/* Answers one ask of each process, the second with an error. */
static void *answer(void *data)
{
	struct scene *self = data;

	for (u32 i = 0; i < 2; i++) {
		struct ask *ask = &self->processes[i].asks[ASK_SNAPSHOT];

		while (!load_acquire(&ask->asked))
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		store_relaxed(&ask->failure, i ? ENODATA : 0);
		store_release(&ask->done, 1);
	}
	return NULL;
}

TEST(asks, "asking all waits for all and gives the first failure; a process that ended is none")
{
	static struct scene scene;
	pthread_t thread;

	scene_init(&scene);
	CHECK_EQ(pthread_create(&thread, NULL, answer, &scene), 0);
	CHECK_EQ(control_ask(&scene.control, NULL, ASK_SNAPSHOT), ENODATA);
	pthread_join(thread, NULL);
	scene.processes[0].finished = scene.processes[1].finished = 1;
	CHECK_EQ(control_ask(&scene.control, &scene.processes[0], ASK_STOP), ESRCH);
	CHECK_EQ(control_ask(&scene.control, NULL, ASK_STOP), 0);
}

TEST(find, "a process is found by its number until it has ended, the monitor's own means all")
{
	static struct scene scene;
	struct process *found;

	scene_init(&scene);
	CHECK_EQ(control_find(&scene.control, 4000002, &found), true);
	CHECK_EQ(found == &scene.processes[1], true);
	CHECK_EQ(control_find(&scene.control, 4000003, &found), false);
	scene.processes[1].finished = 1;
	CHECK_EQ(control_find(&scene.control, 4000002, &found), false);
	CHECK_EQ(control_find(&scene.control, (u32)getpid(), &found), true);
	CHECK_EQ(found == NULL, true);
}

TEST(toggle, "a toggle turns what the program shows, or else what was last commanded")
{
	static struct scene scene;

	scene_init(&scene);
	control_toggle(&scene.control);
	CHECK_EQ(scene.drain.pause_command & 1, 1);
	control_toggle(&scene.control);
	CHECK_EQ(scene.drain.pause_command & 1, 0);
	scene.processes[0].shown.state = SHOWN_PAUSED;
	control_toggle(&scene.control);
	CHECK_EQ(scene.drain.pause_command & 1, 0);
	CHECK_EQ(scene.drain.pause_command >> 1, 3);
	scene.processes[0].shown.state = SHOWN_RECORDING;
	control_toggle(&scene.control);
	CHECK_EQ(scene.drain.pause_command & 1, 1);
}
