/* SPDX-License-Identifier: MIT
 * Looks for vtables in new objects; see peek.h. Runs in the target. */
#include "recorder/peek.h"

#include "format/ticks.h"
#include "recorder/modules.h"
#include "recorder/ring.h"
#include "recorder/stamp.h"
#include "recorder/sys.h"
#include "recorder/unwind/cfi.h"

enum { LOOKS = 3 };

u8 *hwr_peek_known;
u32 hwr_threads_many;

void hwr_peek_attach(void)
{
	static u8 *counts;
	static u32 room;

	hwr_threads_many = 0; /* a forked child has one */
	hwr_peek_known = NULL;
	if (!(hwr_control->flags & HW_RUN_TYPES))
		return;
	if (!counts || room < hwr_control->nodes_max) {
		counts = hwr_map_private(hwr_control->nodes_max);
		room = hwr_control->nodes_max;
	} else {
		hwr_madvise(counts, room, MADV_DONTNEED); /* of the parent's contexts */
	}
	hwr_peek_known = counts;
}

static bool is_due(struct hwr_thread *t, u8 *known)
{
	if ((*known & ~HWR_PEEK_FOUND) < HWR_PEEK_FIRST) {
		(*known)++;
		return true;
	}
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	t->peek_left = HWR_PEEK_EVERY / 2 + (u32)(t->random >> 33) % HWR_PEEK_EVERY;
	return *known & HWR_PEEK_FOUND || (t->random >> 40) % HWR_PEEK_RARELY == 0;
}

void hwr_peek_add(struct hwr_thread *t, const struct hwr_peek *peek)
{
	u32 at = t->peek_count;

	if (!is_due(t, &hwr_peek_known[peek->context]))
		return;
	if (at == HWR_PEEKS) { /* the oldest has been looked into most often */
		for (at = 0; at < HWR_PEEKS - 1; at++)
			t->peeks[at] = t->peeks[at + 1];
	} else {
		t->peek_count++;
	}
	t->peeks[at] = *peek;
	t->state |= HWR_PEEK;
}

static void put(struct hwr_thread *t, const struct hwr_peek *peek, u32 aux, u64 offset, u64 size)
{
	hwr_ring_put(t, &(struct hw_record){
				.ticks = hwr_stamp_now(t),
				.address = peek->address + offset,
				.size = size,
				.context = peek->birth,
				.kind = HW_TYPE,
				.flags = t->is_nested ? HW_RECORD_NESTED : 0,
				.aux = (u16)aux,
			});
}

/* What was found, unless it is what was told before. */
static void tell(struct hwr_thread *t, struct hwr_peek *peek, u32 aux, u64 offset, u64 word)
{
	if (peek->found != word)
		put(t, peek, aux, offset, word);
	peek->found = word;
}

static u64 word_at(const struct hwr_peek *peek, u64 offset)
{
	if (offset + 8 > peek->size || !hwr_readable(peek->address + offset))
		return 0;
	return *(const volatile u64 *)(peek->address + offset);
}

/* Whether the word can point to a vtable; its module is announced then. */
static bool points_into_module(u64 word)
{
	struct hwr_module_at module;

	return word && word % 8 == 0 && hwr_module_at(word, &module) && hwr_modules_saw(&module);
}

/* Arrays of objects that have destructors begin with their number, which is followed by padding if the
 * objects are aligned to 16 bytes. */
static bool look_behind_cookie(struct hwr_thread *t, struct hwr_peek *peek, u64 offset)
{
	u64 number = word_at(peek, offset - 8), word;

	if (!number || number > (peek->size - offset) / 8)
		return false;
	word = word_at(peek, offset);
	if (!points_into_module(word))
		return false;
	tell(t, peek, HW_TYPE_VTABLE | (number <= HW_TYPE_NUMBER_MAX ? (u32)number << HW_TYPE_NUMBER_SHIFT : 0),
	     offset, word);
	return true;
}

static bool look(struct hwr_thread *t, struct hwr_peek *peek)
{
	u64 word = word_at(peek, 0);

	if (points_into_module(word)) {
		tell(t, peek, HW_TYPE_VTABLE, 0, word);
		return true;
	}
	return peek->array && peek->size >= 24 &&
	       (look_behind_cookie(t, peek, 8) || look_behind_cookie(t, peek, 16));
}

void hwr_peek(struct hwr_thread *t, u64 ending)
{
	u32 kept = 0;

	t->state = (t->state & ~(u32)HWR_PEEK) | HWR_BUSY;
	for (u32 i = 0; i < t->peek_count; i++) {
		struct hwr_peek *peek = &t->peeks[i];

		if (peek->address == ending)
			continue;
		if (load_relaxed(&hwr_threads_many))
			put(t, peek, peek->array ? HW_TYPE_LOOK_ARRAY : HW_TYPE_LOOK, 0, peek->size);
		else if (look(t, peek))
			hwr_peek_known[peek->context] |= HWR_PEEK_FOUND;
		if (++peek->looks < LOOKS)
			t->peeks[kept++] = *peek;
	}
	t->peek_count = kept;
	t->state &= ~(u32)(HWR_BUSY | HWR_PEEK);
}

void hwr_peek_leave(void)
{
	struct hwr_thread *t = hwr_self;

	if (load_relaxed(&hwr_token.on) && t && t->peek_count && !(t->state & HWR_BUSY) &&
	    hwr_getpid() == hwr_pid)
		hwr_peek(t, 0);
}
