/* SPDX-License-Identifier: MIT
 * What the recorder does in a target, as far as the monitor can see it: finds the lobby by its
 * path, claims a berth, and fills rings, nodes and the module log. For tests of the monitor. */
#ifndef TEST_MONITOR_PRODUCER_H
#define TEST_MONITOR_PRODUCER_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/session.h"
#include "format/ticks.h"
#include "live/drain/futex.h"

struct producer {
	struct hw_lobby *lobby;
	struct hw_control *control;
	struct hw_slot *slots;
	struct hw_node *nodes;
	u8 *memory;
};

static inline void *producer_map(const char *path, u64 bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *memory;

	if (fd < 0)
		return NULL;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static inline bool producer_open_berth(struct producer *self, const char *session, u32 number)
{
	char path[512];
	int folder = (int)(strrchr(session, '/') - session);

	snprintf(path, sizeof(path), "%.*s/%u", folder, session, number);
	self->control = producer_map(path, sizeof(*self->control));
	if (!self->control)
		return false;
	self->memory = producer_map(path, self->control->total_bytes);
	munmap(self->control, sizeof(*self->control));
	if (!self->memory)
		return false;
	self->control = (struct hw_control *)self->memory;
	self->slots = (struct hw_slot *)(self->memory + self->control->slots_offset);
	self->nodes = (struct hw_node *)(self->memory + self->control->nodes_offset);
	return true;
}

/* Claims a berth as process `pid`; false if there is none. */
static inline bool producer_join(struct producer *self, const char *session, u32 pid)
{
	memset(self, 0, sizeof(*self));
	self->lobby = producer_map(session, sizeof(*self->lobby));
	if (!self->lobby || load_acquire(&self->lobby->magic) != HW_LOBBY_MAGIC)
		return false;
	for (u32 i = 0; i < HW_BERTHS; i++) {
		u32 spare = HW_BERTH_SPARE;

		if (!cas_acq_rel(&self->lobby->berth[i].state, &spare, HW_BERTH_CLAIMED))
			continue;
		store_release(&self->lobby->berth[i].pid, pid);
		if (!producer_open_berth(self, session, self->lobby->berth[i].number))
			return false;
		self->control->nodes_used = 1;
		self->control->start_ticks = hw_ticks();
		store_release(&self->control->attached, 1);
		return true;
	}
	return false;
}

static inline struct hw_record *producer_ring(struct producer *self, u32 slot)
{
	return (struct hw_record *)(self->memory + self->control->rings_offset +
				    slot * self->control->ring_stride);
}

static inline u8 *producer_marks(struct producer *self, u32 slot)
{
	return (u8 *)(producer_ring(self, slot) + self->control->ring_records + self->control->nested_records);
}

static inline void producer_use_slots(struct producer *self, u32 count)
{
	store_release(&self->control->slots_used, count);
}

static inline void producer_bell(struct producer *self)
{
	if (!load_relaxed(&self->lobby->monitor_sleeps))
		return;
	add_acq_rel(&self->lobby->bell, 1);
	futex_wake(&self->lobby->bell, 1);
}

/* Publishes a record; waits while the ring is full. */
static inline void producer_put(struct producer *self, u32 number, const struct hw_record *record)
{
	struct hw_slot *slot = &self->slots[number];
	u64 mask = self->control->ring_records - 1, head = slot->head;

	while (head - load_acquire(&slot->tail) > mask) {
		u32 bell = load_acquire(&slot->tail_bell);

		store_relaxed(&slot->waiting, 1);
		fence_seq_cst();
		if (head - load_acquire(&slot->tail) > mask) {
			producer_bell(self);
			futex_wait(&slot->tail_bell, bell, 50000000);
		}
		store_relaxed(&slot->waiting, 0);
	}
	producer_marks(self, number)[head & mask] = 0;
	producer_ring(self, number)[head & mask] = *record;
	store_release(&slot->head, head + 1);
	if ((head & 63) == 0 && head - load_relaxed(&slot->tail) > mask / 2)
		producer_bell(self);
}

static inline void producer_event(struct producer *self, u32 slot, u32 kind, u64 address, u64 size,
				  u64 ticks)
{
	struct hw_record record = {
		.ticks = ticks, .address = address, .size = size, .kind = (u8)kind
	};

	producer_put(self, slot, &record);
}

static inline u32 producer_node(struct producer *self, u32 parent, u64 pc)
{
	u32 id = self->control->nodes_used;

	self->nodes[id].pc = pc;
	self->nodes[id].parent = parent;
	self->control->nodes_used = id + 1;
	return id;
}

/* Appends to the module log; `size` 0 = as large as it must be. */
static inline void producer_module(struct producer *self, u16 what, u64 base, const char *path,
				   u32 size)
{
	u64 bytes = self->control->modules_bytes, head = self->control->modules_head;
	struct hw_module_note note = {
		.size = (u32)(sizeof(note) + strlen(path) + 7) & ~7u,
		.what = what,
		.ticks = 7,
		.base = base,
		.start = base,
		.end = base + 4096,
		.path_bytes = (u32)strlen(path),
	};
	u8 *log = self->memory + self->control->modules_offset;

	if ((head & (bytes - 1)) + note.size > bytes) {
		memset(log + (head & (bytes - 1)), 0, 4);
		head += bytes - (head & (bytes - 1));
	}
	if (size)
		note.size = size;
	memcpy(log + (head & (bytes - 1)), &note, sizeof(note));
	memcpy(log + (head & (bytes - 1)) + sizeof(note), path, strlen(path));
	store_release(&self->control->modules_head, head + note.size);
}

#endif
