/* SPDX-License-Identifier: MIT
 * The short way of malloc, free, new and delete: what the hooks and the heap do for a small chunk
 * that shares a page, where nothing special is going on, in one function each. Runs in the target.
 * Whatever is special is left to the hooks, before anything has changed. */
#include "target/access/pages/births.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/slots.h"
#include "target/access/pages/units.h"
#include "target/recorder/hooks/note.h"

/* The class of a small size, by 16 bytes of it. */
static u8 classes[HW_UNIT_SMALL / 16 + 1];

void hwr_quick_open(void)
{
	for (u32 i = 0; i <= HW_UNIT_SMALL / 16; i++)
		classes[i] = (u8)hwr_class_plain(16 * i);
}

static inline bool is_library(u64 pc)
{
	return pc - hwr_pages_library.start < hwr_pages_library.bytes ||
	       pc - hwr_loader_start < hwr_loader_bytes;
}

/* The calling thread's, if it may use them. */
static inline struct hwr_own_slots *own_slots(const struct hwr_thread *t)
{
	struct hwr_own_slots *own = t->own_slots;

	return likely(own && !own->busy) ? own : NULL;
}

static inline void own_begin(struct hwr_own_slots *own)
{
	own->busy = 1;
	__asm__ volatile("" : : : "memory");
}

static inline void own_end(struct hwr_own_slots *own)
{
	__asm__ volatile("" : : : "memory");
	own->busy = 0;
}

static inline bool page_is_open(u64 address)
{
	return !(load_relaxed(&hwr_unit_at(address)->word) & HWR_UNIT_STATE);
}

/* Takes the first slot of the list; NULL if it is no longer the one at the address, because a
 * signal handler has allocated since that was looked up. */
static inline struct hwr_chunk *take_first(struct hwr_own_slots *own, struct hwr_own_list *list,
					   u32 class, u64 address)
{
	struct hwr_chunk *chunk = NULL;

	own_begin(own);
	if (likely(list->count && hwr_slot_address(class, list->first - 1) == address)) {
		chunk = hwr_slot_record(class, list->first - 1);
		list->first = --list->count ? load_relaxed(&chunk->first) : 0;
	}
	own_end(own);
	/* The record of the next one, which was freed long ago, must be there when it is taken. */
	__builtin_prefetch(hwr_slot_record(class, list->first - !!list->first), 1);
	return chunk;
}

static inline void record_birth(struct hwr_thread *t, u32 kind, u64 address, size_t size,
				struct hwr_chunk *chunk, const struct hwr_caller *caller)
{
	u32 context = hwr_note_context(t, kind, caller);
	u64 ticks = hwr_stamp(t, t->run_flags & HW_RUN_ALLOC_STACKS ? t->memo_site
								    : hwr_stamp_site(caller));
	struct hw_record *record = hwr_ring_next(t);

	store_relaxed(&chunk->last, ticks);
	if (unlikely(!record))
		return;
	*record = (struct hw_record){.ticks = ticks,
				     .address = address,
				     .size = size,
				     .context = context,
				     .kind = (u8)kind};
	chunk->birth = hwr_births_next(t, kind);
	hwr_ring_publish(t);
	if (kind != HW_MALLOC)
		hwr_peek_consider(t, &(struct hwr_peek){address, size, (u32)ticks, context,
							kind == HW_NEW_ARRAY, 0, 0});
}

void *hwr_quick_malloc(struct hwr_thread *t, u32 kind, size_t size, const struct hwr_caller *caller)
{
	struct hwr_own_slots *own = own_slots(t);
	u32 number = hwr_pages_number(caller->pc, caller->sp), class;
	struct hwr_own_list *list;
	struct hwr_chunk *chunk;
	u64 address;

	if (unlikely(!own || size > HW_UNIT_SMALL ||
		     hwr_gets_own_page(number % HWR_SITES, hwr_pages_site.turn + 1) ||
		     is_library(caller->pc)))
		return NULL;
	class = classes[(size + 15) / 16];
	list = &own->list[class][number % HWR_LIBRARY_GROUP];
	if (unlikely(!list->count))
		return NULL;
	address = hwr_slot_address(class, list->first - 1);
	if (unlikely(!page_is_open(address)))
		return NULL;
	hwr_pages_call_begins(HWR_TIMES_BIRTH);
	hwr_pages_site.turn++;
	hwr_note_begin(t, caller);
	chunk = take_first(own, list, class, address);
	if (unlikely(!chunk)) {
		hwr_note_end(t);
		return NULL;
	}
	chunk->birth = 0;
	store_release(&chunk->what, HWR_CHUNK_LIVE | HWR_CHUNK_USED | size << HWR_CHUNK_SIZE_SHIFT);
	record_birth(t, kind, address, size, chunk, caller);
	hwr_note_end(t);
	hwr_pages_call_ends(HWR_TIMES_BIRTH);
	return (void *)address;
}

static inline void give_first(struct hwr_own_slots *own, struct hwr_own_list *list, u32 class,
			      struct hwr_chunk *chunk)
{
	own_begin(own);
	store_relaxed(&chunk->first, list->first);
	list->first = hwr_slot_index(class, chunk) + 1;
	list->count++;
	own_end(own);
}

bool hwr_quick_free(struct hwr_thread *t, u32 kind, u64 address, const struct hwr_caller *caller)
{
	struct hwr_own_slots *own = own_slots(t);
	u32 class = hwr_heap_class(address);
	struct hwr_own_list *list;
	struct hwr_chunk *chunk;
	u64 offset;

	if (unlikely(!own || !hwr_heap_has(address) || class >= HWR_PAGE_CLASS))
		return false;
	chunk = hwr_heap_find_usual(address, &offset);
	list = &own->list[class][load_relaxed(&hwr_unit_at(address)->group)];
	if (unlikely(offset || !(load_relaxed(&chunk->what) & HWR_CHUNK_LIVE) ||
		     !hwr_birth_is_open(chunk->birth, t) ||
		     (list->count >= HWR_OWN_MOST && load_relaxed(&hwr_threads_many))))
		return false;
	hwr_pages_call_begins(HWR_TIMES_END);
	hwr_note_begin(t, caller);
	if (unlikely(!hwr_birth_is_open(chunk->birth, t))) { /* a handler came in between */
		hwr_note_end(t);
		return false;
	}
	hwr_birth_take_back(t, kind, address, chunk->birth);
	store_relaxed(&chunk->what, HWR_CHUNK_USED);
	give_first(own, list, class, chunk);
	hwr_note_end(t);
	hwr_pages_call_ends(HWR_TIMES_END);
	return true;
}
