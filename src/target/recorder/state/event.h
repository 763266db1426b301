/* SPDX-License-Identifier: MIT
 * One event into the thread's ring. Runs in the target, on the path of every hook. */
#ifndef TARGET_RECORDER_STATE_EVENT_H
#define TARGET_RECORDER_STATE_EVENT_H

#include "target/recorder/state/access.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/ring.h"

/* The thread is busy while it writes a record: a signal handler's hooks will not touch what is in
 * use here. */
static inline void hwr_note_begin(struct hwr_thread *t, const struct hwr_caller *caller)
{
	t->busy_sp = caller->sp;
	t->state |= HWR_BUSY;
	__asm__ volatile("" : : : "memory");
}

static inline void hwr_note_end(struct hwr_thread *t)
{
	__asm__ volatile("" : : : "memory");
	t->state &= ~(u32)HWR_BUSY;
}

static inline void hwr_note_put(struct hwr_thread *t, u64 ticks, u32 kind, u32 aux, u64 address,
				u64 size, u32 context)
{
	struct hw_record *record = hwr_ring_next(t);

	if (unlikely(!record))
		return;
	record->ticks = ticks;
	record->address = address;
	record->size = size;
	record->context = context;
	record->kind = (u8)kind;
	record->flags = 0;
	record->aux = (u16)aux;
	if (hw_kind_allocates(kind))
		hwr_access_birth(t, kind, address);
	hwr_ring_publish(t);
}

#endif
