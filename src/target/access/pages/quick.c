/* SPDX-License-Identifier: MIT
 * The short way of malloc, calloc, realloc, free, new and delete: what the hooks and the heap do
 * for a small chunk that shares a page, where nothing special is going on, in one function each.
 * Runs in the target. Whatever is special is left to the hooks, before anything has changed. */
#include "target/access/heap/asks.h"
#include "target/access/heap/fill.h"
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
	if (kind == HW_NEW || kind == HW_NEW_ARRAY)
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

/* Of a chunk of which the monitor knows, or will. */
static __attribute__((noinline)) void record_end(struct hwr_thread *t, u32 kind, u64 address,
						 const struct hwr_caller *caller)
{
	u32 context = hwr_note_context(t, kind, caller);
	u64 ticks = hwr_stamp(t, t->run_flags & HW_RUN_FREE_STACKS ? t->memo_site
								   : hwr_stamp_site(caller));

	hwr_note_put(t, ticks, kind, 0, address, 0, context);
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
		     (list->count >= HWR_OWN_MOST && load_relaxed(&hwr_threads_many))))
		return false;
	hwr_pages_call_begins(HWR_TIMES_END);
	hwr_note_begin(t, caller);
	if (likely(hwr_birth_is_open(chunk->birth, t)))
		hwr_birth_take_back(t, kind, address, chunk->birth);
	else
		record_end(t, kind, address, caller);
	store_relaxed(&chunk->what, HWR_CHUNK_USED);
	give_first(own, list, class, chunk);
	hwr_note_end(t);
	hwr_pages_call_ends(HWR_TIMES_END);
	return true;
}

void *hwr_quick_calloc(struct hwr_thread *t, size_t count, size_t size,
		       const struct hwr_caller *caller)
{
	size_t bytes;
	void *p;

	if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
		return NULL;
	p = hwr_quick_malloc(t, HW_CALLOC, bytes, caller);
	if (likely(p != NULL))
		hwr_fill(p, 0, bytes);
	return p;
}

/* Whether a chunk of the slot that gets this size stays there. */
static inline bool stays(u32 class, size_t size)
{
	return size <= HW_UNIT_SMALL && classes[(size + 15) / 16] == class;
}

/* Only of a chunk of which the monitor does not know: else it has to be told of its end before the
 * new one's birth. */
void *hwr_quick_realloc(struct hwr_thread *t, void *old, size_t size,
			const struct hwr_caller *caller)
{
	u64 address = (u64)old, offset, kept;
	u32 class = hwr_heap_class(address);
	struct hwr_chunk *chunk;
	void *p;

	if (!old)
		return hwr_quick_malloc(t, HW_REALLOC, size, caller);
	if (unlikely(!size || !hwr_heap_has(address) || class >= HWR_PAGE_CLASS ||
		     stays(class, size)))
		return NULL;
	chunk = hwr_heap_find_usual(address, &offset);
	if (unlikely(offset || !(load_relaxed(&chunk->what) & HWR_CHUNK_LIVE) ||
		     !hwr_birth_is_open(chunk->birth, t) || !page_is_open(address)))
		return NULL;
	p = hwr_quick_malloc(t, HW_REALLOC, size, caller);
	if (unlikely(!p))
		return NULL;
	kept = hwr_chunk_size(chunk);
	hwr_access_copy(p, old, kept < size ? kept : size);
	if (unlikely(!hwr_quick_free(t, HW_REALLOC_FREE, address, caller))) {
		hwr_note(t, HW_REALLOC_FREE, address, 0, caller);
		hwr_heap_free(old);
	}
	return p;
}
