/* SPDX-License-Identifier: MIT
 * The monitor's side of tools that join; see join.h. Runs on the drain thread, never waits for a
 * tool. What a tool has written is checked before it is used. */
#define _GNU_SOURCE
#include "live/drain/join.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/base/strbuf.h"
#include "format/atomics.h"
#include "format/ticks.h"
#include "live/drain/futex.h"
#include "live/drain/image.h"
#include "live/drain/image_tap.h"
#include "live/drain/shared.h"

enum { ROWS = 512 };
static const u64 LOOK_NS = 1000000000, OPEN_NS = 10000000000;

/* ---- writing --------------------------------------------------------------------------------- */

static void ring_write(struct joint *self, const u8 *bytes, u64 count)
{
	u64 at = self->head % JOIN_BYTES, first = JOIN_BYTES - at < count ? JOIN_BYTES - at : count;

	memcpy(self->memory->data + at, bytes, first);
	memcpy(self->memory->data, bytes + first, count - first);
	self->head += count;
	store_release(&self->memory->head, self->head); /* pairs with the tool's acquire */
}

static u64 ring_room(struct joint *self)
{
	/* pairs with the tool's release */
	u64 used = self->head - load_acquire(&self->memory->tail);

	if (used <= JOIN_BYTES)
		return JOIN_BYTES - used;
	self->failed = true; /* the tail is nonsense */
	return 0;
}

static void put_bytes(struct joint *self, const void *bytes, u64 count)
{
	u64 place = self->backlog.count;

	if (!place && ring_room(self) >= count) {
		ring_write(self, bytes, count);
		return;
	}
	if (place + count > JOIN_BACKLOG || !vec_extend(&self->backlog, place + count)) {
		self->failed = true;
		return;
	}
	memcpy(self->backlog.data + place, bytes, count);
}

static void put(struct joint *self, u32 kind, const void *bytes, u64 count)
{
	static const u8 zeros[8];
	struct join_message message = {kind, (u32)count};

	if (!self->memory || self->failed)
		return;
	put_bytes(self, &message, sizeof(message));
	put_bytes(self, bytes, count);
	put_bytes(self, zeros, -count % 8);
}

static void backlog_flush(struct joint *self)
{
	u64 room = ring_room(self), count = self->backlog.count < room ? self->backlog.count : room;

	if (!count)
		return;
	ring_write(self, self->backlog.data, count);
	memmove(self->backlog.data, self->backlog.data + count, self->backlog.count - count);
	self->backlog.count -= count;
}

static void bell_ring(struct joint *self)
{
	add_acq_rel(&self->memory->bell, 1);
	futex_wake(&self->memory->bell, 1);
}

static void joint_end(struct joint *self, u32 state)
{
	if (!self->memory)
		return;
	store_release(&self->memory->state, state);
	bell_ring(self);
	munmap(self->memory, sizeof(*self->memory));
	close(self->fd);
	vec_release(&self->backlog);
	*self = (struct joint){.fd = -1};
}

/* ---- what a tap is told ---------------------------------------------------------------------- */

static void put_all(struct join_hub *self, u32 kind, const void *bytes, u64 count)
{
	for (u32 i = 0; i < JOINTS_MAX; i++)
		put(&self->joints[i], kind, bytes, count);
}

static void put_rows(struct join_hub *self, u32 kind, const void *rows, u64 count, u64 each)
{
	for (u64 done = 0; done < count; done += ROWS) {
		u64 now = count - done < ROWS ? count - done : ROWS;

		put_all(self, kind, (const u8 *)rows + done * each, now * each);
	}
}

#define OWN(function, ...) (self->own ? stream_tell(&self->own->sink, function, __VA_ARGS__) : 0)

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct join_hub *self = data;

	put_all(self, JOIN_IMAGE, image, sizeof(*image));
	return OWN(image, image, err);
}

static void put_module(struct joint *self, const struct stream_module *module)
{
	struct strbuf bytes = {0};

	if (!self->memory)
		return;
	strbuf_add_bytes(&bytes, module, sizeof(*module));
	strbuf_add_bytes(&bytes, module->path, strlen(module->path) + 1);
	strbuf_add_bytes(&bytes, module->build_id, module->build_id_bytes);
	put(self, JOIN_MODULE, strbuf_text(&bytes), bytes.count);
	strbuf_release(&bytes);
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct join_hub *self = data;

	for (u32 i = 0; i < JOINTS_MAX; i++)
		put_module(&self->joints[i], module);
	return OWN(module, module, err);
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct join_hub *self = data;

	put_rows(self, JOIN_CONTEXTS, contexts, count, sizeof(*contexts));
	return OWN(contexts, contexts, count, err);
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct join_hub *self = data;

	put_rows(self, JOIN_EVENTS, events, count, sizeof(*events));
	return OWN(events, events, count, err);
}

static int on_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	struct join_hub *self = data;

	return OWN(types, rows, count, err);
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	struct join_hub *self = data;

	return OWN(scan, scan, classes, count, err);
}

static int on_graph(void *data, const struct stream_graph *graph, struct err *err)
{
	struct join_hub *self = data;

	return OWN(graph, graph, err);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct join_hub *self = data;

	put_all(self, JOIN_END, end, sizeof(*end));
	return OWN(image_end, end, err);
}

static void on_hit(void *data, const struct tap_hit *hit)
{
	struct join_hub *self = data;

	put_all(self, JOIN_HIT, hit, sizeof(*hit));
	if (self->own && self->own->hit)
		self->own->hit(self->own->self, hit);
}

static void on_done(void *data, const struct hw_command *command)
{
	struct join_hub *self = data;

	put_all(self, JOIN_DONE, command, sizeof(*command));
	if (self->own && self->own->done)
		self->own->done(self->own->self, command);
}

/* ---- the cycle ------------------------------------------------------------------------------- */

static void commands_take(struct joint *self, struct image *image)
{
	struct join_memory *memory = self->memory;
	u64 head = load_acquire(&memory->commands_head); /* pairs with the tool's release */

	if (head - self->commands_tail > HW_COMMANDS)
		self->failed = true;
	for (; self->commands_tail != head && !self->failed; self->commands_tail++) {
		struct hw_command command = memory->commands[self->commands_tail % HW_COMMANDS];

		if ((command.verb != HW_COMMAND_ARM && command.verb != HW_COMMAND_DISARM) ||
		    !image_pages(image))
			continue;
		if (!image_command(image, command.verb, command.address, command.birth))
			break;
	}
	store_release(&memory->commands_tail, self->commands_tail);
}

static bool is_gone(struct joint *self, u64 now_ns)
{
	u32 pid = load_relaxed(&self->memory->pid);

	if (load_relaxed(&self->memory->left))
		return true;
	if (now_ns - self->looked_ns < LOOK_NS)
		return false;
	if (!self->looked_ns)
		self->began_ns = now_ns;
	self->looked_ns = now_ns;
	if (!pid) /* nobody has opened it yet */
		return now_ns - self->began_ns > OPEN_NS;
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void joint_cycle(struct joint *self, struct image *image, u64 now_ns)
{
	const struct hw_pages *pages = image_pages(image);
	struct join_cycle cycle = {.now_ns = now_ns,
				   .ticks = hw_ticks(),
				   .cpu_ns = image_cpu_ns(image),
				   .monitored = pages != NULL};

	if (!self->memory)
		return;
	if (pages)
		cycle.pages = *pages;
	commands_take(self, image);
	if (!self->backlog.count) /* it need not hear of cycles that it is behind anyway */
		put(self, JOIN_CYCLE, &cycle, sizeof(cycle));
	backlog_flush(self);
	if (self->failed || is_gone(self, now_ns))
		joint_end(self, JOIN_TOO_SLOW);
	else
		bell_ring(self);
}

static void on_cycle(void *data, struct image *image, u64 now_ns)
{
	struct join_hub *self = data;

	for (u32 i = 0; i < JOINTS_MAX; i++)
		joint_cycle(&self->joints[i], image, now_ns);
	if (self->own && self->own->cycle)
		self->own->cycle(self->own->self, image, now_ns);
}

/* ---- joining --------------------------------------------------------------------------------- */

struct replay {
	struct joint *joint;
	u32 count;
	struct join_block blocks[ROWS];
};

static void replay_flush(struct replay *self)
{
	put(self->joint, JOIN_BLOCKS, self->blocks, self->count * sizeof(self->blocks[0]));
	self->count = 0;
}

static bool replay_block(void *data, const struct live_block *block)
{
	struct replay *self = data;

	if (block->chunk >= LIVE_NOTHING)
		return true; /* its events are still to be told */
	self->blocks[self->count++] = (struct join_block){block->address, block->size, block->chunk,
							  block->context, block->extra};
	if (self->count == ROWS)
		replay_flush(self);
	return true;
}

static void replay_contexts(struct joint *joint, const struct image *image)
{
	const struct hw_node *nodes = berth_nodes(&image->berth);

	for (u32 id = 1; id < image->berth.layout.nodes_max; id++) {
		struct stream_context context;

		if (!(image->contexts_told[id / 64] >> (id % 64) & 1))
			continue;
		context = (struct stream_context){.id = id,
						  .parent = nodes[id].parent,
						  .pc = nodes[id].pc};
		put(joint, JOIN_CONTEXTS, &context, sizeof(context));
	}
}

static void replay(struct joint *joint, struct image *image)
{
	static struct replay blocks; /* one drain thread */
	const struct stream_image told = {
		.pid = image->berth.pid,
		.parent_pid = image->berth.parent_pid,
		.number = image->number,
		.start_ticks = load_relaxed(&image->berth.control->start_ticks),
		.start_ns = load_relaxed(&image->berth.control->start_ns),
		.flags = image->berth.control->flags,
	};

	put(joint, JOIN_IMAGE, &told, sizeof(told));
	for (u64 i = 0; i < image->modules.count; i++)
		put_module(joint, &image->modules.data[i].told);
	replay_contexts(joint, image);
	blocks.joint = joint;
	blocks.count = 0;
	correlator_each_block(image->correlator, replay_block, &blocks);
	replay_flush(&blocks);
}

int join_hub_add(struct join_hub *self, struct image *image, char path[64])
{
	struct err err = {0};
	struct joint *joint = self->joints;

	while (joint < self->joints + JOINTS_MAX && joint->memory)
		joint++;
	if (joint == self->joints + JOINTS_MAX)
		return EBUSY;
	if (correlator_flush(image->correlator, &err) < 0)
		return ENOMEM;
	image_tell_all(image);
	*joint = (struct joint){.fd = shared_create("heapwise-join")};
	if (joint->fd < 0 || ftruncate(joint->fd, sizeof(*joint->memory)) < 0)
		goto fail;
	shared_seal(joint->fd);
	joint->memory = mmap(NULL, sizeof(*joint->memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			     joint->fd, 0);
	if (joint->memory == MAP_FAILED) {
		joint->memory = NULL;
		goto fail;
	}
	joint->memory->magic = JOIN_MAGIC;
	joint->memory->version = JOIN_VERSION;
	snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), joint->fd);
	replay(joint, image);
	return 0;
fail:
	if (joint->fd >= 0)
		close(joint->fd);
	*joint = (struct joint){.fd = -1};
	return ENOMEM;
}

struct join_hub *join_hub_new(const struct tap *own)
{
	struct join_hub *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->own = own;
	self->tap = (struct tap){
		.self = self,
		.sink = {.self = self,
			 .image = on_image,
			 .module = on_module,
			 .contexts = on_contexts,
			 .events = on_events,
			 .types = on_types,
			 .scan = on_scan,
			 .graph = on_graph,
			 .image_end = on_image_end},
		.hit = on_hit,
		.done = on_done,
		.cycle = on_cycle,
	};
	return self;
}

void join_hub_free(struct join_hub *self)
{
	if (!self)
		return;
	for (u32 i = 0; i < JOINTS_MAX; i++) {
		if (self->joints[i].memory)
			backlog_flush(&self->joints[i]);
		joint_end(&self->joints[i], JOIN_ENDED);
	}
	free(self);
}
