/* SPDX-License-Identifier: MIT
 * The allocator functions of the heap; see heap.h. Runs in the target, below the hooks. */
#include "target/access/heap/heap.h"

#include <errno.h>

#include "target/access/heap/asks.h"
#include "target/access/heap/classes.h"
#include "target/access/heap/fill.h"
#include "target/recorder/state/access.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

enum {
	RETURNED = 1 << 20, /* slots from this on give their memory back to the system */
	HUGE = 8 << 20,     /* bytes of shadow that come in huge pages: each is written at once */
	FIXED_NOREPLACE = 0x100000,
};

u64 hwr_heap_extent;
static u32 opened; /* 1 = yes, 2 = it cannot be */
static u32 armed;

/* ---- setting up ---- */

bool hwr_heap_open(void)
{
	u32 not_yet = 0;

	if (load_acquire(&opened))
		return load_acquire(&opened) == 1;
	/* The first allocation of an image comes before its second thread. Of a limited address
	 * space nothing would be left. */
	hwr_classes_init();
	if (hwr_address_space() != ~0ull || hwr_classes_record_bytes() > 1ull << 40 ||
	    !hwr_map_at(HW_HEAP_START, HWR_HEAP_BYTES) ||
	    !hwr_map_at(HW_HEAP_CHUNKS, 7ull << 38 /* 1 TiB, half and a quarter of it */)) {
		cas_acq_rel(&opened, &not_yet, 2);
		return false;
	}
	store_relaxed(&hwr_heap_extent, HWR_HEAP_BYTES);
	store_release(&opened, 1);
	return true;
}

void hwr_heap_arm(void) { store_release(&armed, 1); }
bool hwr_heap_is_armed(void) { return load_relaxed(&armed); }

void *hwr_map_at(u64 address, u64 bytes)
{
	void *p =
		(void *)hwr_syscall6(SYS_mmap, (long)address, (long)bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | FIXED_NOREPLACE,
				     -1, 0);

	if (p != (void *)address) {
		if (!hwr_sys_failed(p))
			hwr_munmap(p, bytes);
		return NULL;
	}
	add_relaxed(&hwr_reserved_bytes, bytes);
	/* A huge page for each of a hundred regions would be most of a small program's memory. */
	hwr_madvise(p, bytes, MADV_NOHUGEPAGE);
	hwr_madvise(p, bytes, address == HW_HEAP_START ? MADV_DODUMP : MADV_DONTDUMP);
	if (address != HW_HEAP_START)
		hwr_own_map(p, bytes);
	return p;
}

/* ---- chunks ---- */

/* From the byte `from` on: what comes before is armed. */
static void arm(u64 address, u64 from, u64 size, u64 slot_bytes)
{
	if (likely(slot_bytes <= HWR_ARMED_WHOLE)) {
		if (*hw_shadow_of(address) != HW_SHADOW_ARMED)
			hwr_fill(hw_shadow_of(address), HW_SHADOW_ARMED, slot_bytes / 8);
		return;
	}
	if (size / 8 - from / 8 >= HUGE)
		hwr_madvise(hw_shadow_of(address), slot_bytes / 8, MADV_HUGEPAGE);
	hwr_fill(hw_shadow_of(address + from), HW_SHADOW_ARMED, (size + 7) / 8 - from / 8);
}

/* Begins a chunk in a slot, of which so many bytes are armed. */
static void begin(u64 address, struct hwr_chunk *chunk, u64 size, u64 armed_bytes)
{
	u64 before = chunk->what;
	u64 what = HWR_CHUNK_LIVE | HWR_CHUNK_USED | size << HWR_CHUNK_SIZE_SHIFT;

	hwr_chunk_clear(chunk);
	if (load_relaxed(&armed)) {
		what |= HWR_CHUNK_MEASURED;
		arm(address, armed_bytes, size, hwr_classes[hwr_heap_class(address)].slot_bytes);
		hwr_chunk_begins(address, chunk, before);
	}
	store_release(&chunk->what, what);
}

/* *clean: whether all its bytes are 0. */
static void *take(u32 number, size_t size, bool *clean)
{
	struct hwr_chunk *chunk;
	u64 address, found;

	if (number >= HWR_CLASSES || !(found = hwr_slot_take(number)))
		return NULL;
	address = hwr_slot_address(number, found - 1);
	chunk = hwr_slot_record(number, found - 1);
	*clean = !(chunk->what & HWR_CHUNK_USED) || chunk->what & HWR_CHUNK_CLEAN;
	begin(address, chunk, size, 0);
	return (void *)address;
}

void *hwr_heap_malloc(size_t size)
{
	bool clean;
	void *p = take(hwr_class_for(size), size, &clean);

	return likely(p != NULL) ? p : hwr_libc.malloc(size);
}

void *hwr_heap_calloc(size_t count, size_t size)
{
	size_t bytes;
	bool clean;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = take(hwr_class_for(bytes), bytes, &clean);
	if (!p)
		return hwr_libc.calloc(count, size);
	if (!clean)
		hwr_fill(p, 0, bytes);
	return p;
}

/* As libc's: the program has a defect that it would not survive there either. */
static __attribute__((noinline)) void refuse(void)
{
	static const char text[] = "free(): invalid pointer\n";

	hwr_write(2, text, sizeof(text) - 1);
	for (;;)
		hwr_syscall3(SYS_tgkill, hwr_getpid(), hwr_gettid(), SIGABRT);
}

/* The live chunk that begins at p. */
static struct hwr_chunk *chunk_of(const void *p)
{
	u64 offset;
	struct hwr_chunk *chunk = hwr_heap_find((u64)p, &offset);

	if (unlikely(offset || !(load_relaxed(&chunk->what) & HWR_CHUNK_LIVE)))
		refuse();
	return chunk;
}

/* Large slots give their memory back; the shadow's whole pages, too. */
static u64 give_back(u64 address, u64 slot_bytes)
{
	u64 from = ((u64)hw_shadow_of(address) + HWR_PAGE - 1) & ~(HWR_PAGE - 1);
	u64 to = (u64)hw_shadow_of(address + slot_bytes) & ~(HWR_PAGE - 1);

	if (hwr_madvise((void *)address, slot_bytes, MADV_DONTNEED) != 0)
		return 0;
	if (load_relaxed(&armed) && to > from)
		hwr_madvise((void *)from, to - from, MADV_DONTNEED);
	return HWR_CHUNK_CLEAN;
}

void hwr_heap_free(void *p)
{
	struct hwr_chunk *chunk;
	u64 what, clean = 0;
	u32 number;

	if (!p)
		return;
	if (!hwr_heap_has((u64)p)) {
		hwr_libc.free(p);
		return;
	}
	number = hwr_heap_class((u64)p);
	chunk = chunk_of(p);
	what = hwr_chunk_end(chunk);
	if (unlikely(!(what & HWR_CHUNK_LIVE)))
		refuse();
	if (unlikely(hwr_classes[number].slot_bytes >= RETURNED))
		clean = give_back((u64)p, hwr_classes[number].slot_bytes);
	store_relaxed(&chunk->what,
		      HWR_CHUNK_USED | clean |
			      (what & HWR_CHUNK_SHARED) /* the slot's next chunk must know */);
	hwr_slot_give(number, hwr_slot_index(number, chunk));
}

size_t hwr_heap_usable_size(const void *p)
{
	return hwr_heap_has((u64)p) ? hwr_chunk_size(chunk_of(p)) : SIZE_MAX;
}

/* ---- realloc ---- */

/* Large chunks are not copied, as libc does not copy them: their memory goes to another slot. NULL:
 * it stays where it is. */
static void *move_slot(void *old, size_t size, u64 kept)
{
	u32 from = hwr_heap_class((u64)old), to = hwr_class_for(size);
	struct hwr_move move = {.from = (u64)old, .from_bytes = hwr_classes[from].slot_bytes};
	struct hwr_chunk *was = chunk_of(old), *chunk;
	u64 found;

	if (!hwr_access_moves() || to >= HWR_CLASSES || move.from_bytes < RETURNED ||
	    hwr_classes[to].slot_bytes < RETURNED)
		return NULL;
	found = hwr_slot_take(to);
	if (!found)
		return NULL;
	move.to = hwr_slot_address(to, found - 1);
	move.to_bytes = hwr_classes[to].slot_bytes;
	move.armed = hwr_access_armed(load_relaxed(&was->what), kept);
	if (!hwr_access_move(&move)) {
		if (!move.hole)
			hwr_slot_give(to, found - 1);
		return NULL;
	}
	chunk = hwr_slot_record(to, found - 1);
	begin(move.to, chunk, size, move.armed);
	hwr_access_realloc((u64)old, move.to, kept);
	hwr_chunk_put_aside((u64)old, was);
	if (move.hole)
		store_relaxed(&was->what, HWR_CHUNK_USED); /* nobody gets that slot again */
	else
		hwr_heap_free(old);
	return (void *)move.to;
}

static void *move(void *old, size_t size, u64 kept)
{
	void *p = move_slot(old, size, kept);

	if (p)
		return p;
	p = hwr_heap_malloc(size);
	if (!p)
		return NULL;
	hwr_access_realloc((u64)old, (u64)p, kept);
	hwr_access_copy(p, old, kept);
	hwr_chunk_put_aside((u64)old, chunk_of(old));
	hwr_heap_free(old);
	return p;
}

void *hwr_heap_realloc(void *old, size_t size)
{
	struct hwr_chunk *chunk;
	u64 kept;

	hwr_access_aside_forget();
	if (!old)
		return hwr_heap_malloc(size);
	if (!hwr_heap_has((u64)old))
		return hwr_libc.realloc(old, size);
	chunk = chunk_of(old);
	if (!size) {
		hwr_chunk_put_aside((u64)old, chunk);
		hwr_heap_free(old);
		return NULL;
	}
	kept = hwr_chunk_size(chunk);
	if (kept > size)
		kept = size;
	if (!hwr_slot_fits(hwr_heap_class((u64)old), size))
		return move(old, size, kept);
	hwr_access_range((u64)old, kept, false);
	hwr_chunk_put_aside((u64)old, chunk);
	begin((u64)old, chunk, size, hwr_access_armed(load_relaxed(&chunk->what), kept));
	hwr_access_range((u64)old, kept, true);
	return old;
}

/* ---- alignment ---- */

static bool is_power(size_t n) { return n && !(n & (n - 1)); }

void *hwr_heap_memalign(size_t alignment, size_t size)
{
	u32 number = hwr_class_plain(size);
	bool clean;
	void *p;

	/* libc takes any number and rounds it up; so do we, by asking it for the odd ones. */
	if (!is_power(alignment) || alignment > 1ull << 30)
		return hwr_libc.memalign(alignment, size);
	if (alignment > 16)
		number = hwr_class_aligned(number, alignment);
	p = take(number, size, &clean);
	return p ? p : hwr_libc.memalign(alignment, size);
}

int hwr_heap_posix_memalign(void **result, size_t alignment, size_t size)
{
	void *p;

	if (!is_power(alignment) || alignment % sizeof(void *))
		return EINVAL;
	p = hwr_heap_memalign(alignment, size);
	if (!p)
		return ENOMEM;
	*result = p;
	return 0;
}

void *hwr_heap_aligned_alloc(size_t alignment, size_t size)
{
	return hwr_heap_memalign(alignment, size);
}
void *hwr_heap_valloc(size_t size) { return hwr_heap_memalign(HWR_PAGE, size); }

void *hwr_heap_pvalloc(size_t size)
{
	size_t whole;

	if (__builtin_add_overflow(size, HWR_PAGE - 1, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return hwr_heap_memalign(HWR_PAGE, whole & ~(HWR_PAGE - 1));
}

void hwr_heap_replace(struct hwr_real *real)
{
	*real = (struct hwr_real){
#define OURS(result, name, ...) .name = hwr_heap_##name,
		HW_FAMILY(OURS, OURS, HW_NO_ROW)};
}

/* ---- all of them ---- */

void hwr_heap_each(void (*visit)(void *self, u64 address, struct hwr_chunk *chunk), void *self)
{
	if (load_acquire(&opened) != 1)
		return;
	for (u32 number = 0; number < HWR_CLASSES; number++) {
		struct hwr_chunk *chunks = (struct hwr_chunk *)hwr_classes[number].chunks;

		for (u64 i = 0; i < hwr_slots_used(number); i++)
			if (load_acquire(&chunks[i].what) & HWR_CHUNK_LIVE)
				visit(self, hwr_slot_address(number, i), &chunks[i]);
	}
}
