/* SPDX-License-Identifier: MIT
 * The hooks of custom allocators, and what is recorded of them; see pool.h. Runs in the target.
 *
 * A site is one function that was found. */
#include "recorder/pool/pool.h"

#include <link.h>

#include "recorder/pool/detour.h"
#include "recorder/pool/find.h"
#include "recorder/pool/held.h"
#include "recorder/sys.h"

enum { SITES_MAX = 64, SEEN_MAX = 1024, FRAME_NEAR = 1 << 16, WITNESSES = 8 };

struct site {
	struct hwr_detour detour;
	u32 pool; /* whose name it has */
	u8 frees, argument;
};

static struct site sites[SITES_MAX];
static u32 sites_count;
static struct hw_pool *pools;
static u32 pools_count;
static const void *seen[SEEN_MAX]; /* dynamic sections of modules that were searched */
static u32 seen_count;
static u32 looking;     /* 1 while a thread looks for functions */
static bool overflowed; /* some of the pools' blocks are not in the set */

extern struct r_debug _r_debug __attribute__((weak));

/* ---- inside or outside ---- */

/* An exception or a longjmp may have left the call that pool_sp is of: then its frame is gone, and what
 * calls now, deeper than it was, has most likely written over one of its witnesses. One alone could lie
 * where later frames have a hole. */
static bool frame_is_there(const struct hwr_thread *t, const struct hwr_caller *caller)
{
	u64 first = (u64)t->pool_witness, last = (u64)(t->pool_witness + WITNESSES - 1);

	if (first - caller->sp > FRAME_NEAR && (!hwr_readable(first) || !hwr_readable(last)))
		return false;
	for (u32 i = 0; i < WITNESSES; i++)
		if (t->pool_witness[i] != (u64)&t->pool_witness[i])
			return false;
	return true;
}

bool hwr_pool_inside(struct hwr_thread *t, const struct hwr_caller *caller)
{
	if (!t->pool_sp)
		return false;
	if (caller->sp < t->pool_sp && frame_is_there(t, caller))
		return true;
	if (caller->sp < t->pool_sp || !hwr_on_alternate_stack())
		t->pool_sp = 0;
	return false;
}

bool hwr_pool_keeps(const struct hwr_call *call, u32 kind, u64 address)
{
	bool inside = hwr_pool_inside(call->t, &call->caller);

	if (!address)
		return inside;
	if (inside && hwr_held_add(address | HWR_HELD))
		return true;
	if (inside)
		hwr_fault(HW_FAULT_POOLS_FULL);
	if (kind == HW_POOL) {
		hwr_held_drop(address | HWR_HELD); /* what an inner pool gave is given on */
		if (!hwr_held_add(address))
			store_relaxed(&overflowed, true);
	}
	return false;
}

/* A free by the pool's own function. */
static bool pool_ends_own(const struct hwr_call *call, u64 address)
{
	struct hwr_thread *t = call->t;

	if (hwr_held_drop(address | HWR_HELD))
		return false;
	if (hwr_held_drop(address) || load_relaxed(&overflowed))
		return true;
	if (t->pool_pending == address) { /* asked again, after the call: nobody else has ended it */
		t->pool_pending = 0;
		return true;
	}
	/* Not one of a pool's: perhaps the function hands it to free. */
	if (!hwr_pool_inside(t, &call->caller))
		t->pool_pending = address;
	return false;
}

bool hwr_pool_ends(const struct hwr_call *call, u32 *kind, u64 *address)
{
	if (*kind == HW_POOL_FREE)
		return pool_ends_own(call, *address);
	if (call->t->pool_pending == (*address | HW_POOL_ADDRESS))
		call->t->pool_pending = 0;
	if (!hwr_held_drop(*address | HWR_HELD))
		return true;
	/* A function that passes on what malloc gave, and a block of it that is freed without it. */
	*address |= HW_POOL_ADDRESS;
	*kind = HW_POOL_FREE;
	return hwr_held_drop(*address);
}

bool hwr_pool_realloc(const struct hwr_call *call, u64 old, u64 p, u64 *ended)
{
	bool inside = hwr_pool_inside(call->t, &call->caller);
	bool held = old && hwr_held_drop(old | HWR_HELD);

	if (held && hwr_held_drop(old | HW_POOL_ADDRESS))
		*ended = old | HW_POOL_ADDRESS;
	if (inside ? !held && old : !held || *ended)
		return false;
	if (p && !hwr_held_add(p | HWR_HELD))
		hwr_fault(HW_FAULT_POOLS_FULL);
	return true;
}

/* ---- the hooks ---- */

struct inside { /* what the thread was inside of before */
	u64 sp;
	const u64 *witness;
	u64 here[WITNESSES]; /* their own addresses, for as long as the call lasts */
};

static void enter(const struct hwr_call *call, struct inside *self)
{
	struct hwr_thread *t = call->t;

	for (u32 i = 0; i < WITNESSES; i++)
		self->here[i] = (u64)&self->here[i];
	__asm__ volatile("" : : "r"(self->here) : "memory");
	if (!t)
		return;
	self->sp = hwr_pool_inside(t, &call->caller) ? t->pool_sp : 0;
	self->witness = t->pool_witness;
	if (self->sp)
		return; /* the outer call is the one that counts */
	t->pool_witness = self->here;
	t->pool_sp = call->caller.sp;
}

static void leave(const struct hwr_call *call, struct inside *self)
{
	if (call->t && !self->sp) {
		call->t->pool_sp = 0;
		call->t->pool_witness = self->witness;
	}
	for (u32 i = 0; i < WITNESSES; i++)
		self->here[i] = 0;
	__asm__ volatile("" : : "r"(self->here) : "memory");
}

/* Of a call, from before it to after it. */
struct served {
	const struct site *site;
	u64 given; /* size, or block */
	struct hwr_call call;
	struct inside inside;
};
_Static_assert(sizeof(struct served) <= HWR_THUNK_STATE * sizeof(u64), "a call fits into the thunk's frame");

void hwr_thunk_before(struct hwr_thunk_frame *frame, u64 number, const struct hwr_caller *caller)
{
	struct served *self = (struct served *)frame->state;
	const struct site *site = &sites[number];

	frame->real = site->detour.real;
	self->site = site;
	self->given = hwr_thunk_argument(frame, site->argument);
	self->call = (struct hwr_call){ .caller = { hwr_strip(caller->pc), caller->sp, caller->fp } };
	hwr_call_begin(&self->call);
	if (site->frees && self->given)
		hwr_call_free(&self->call, HW_POOL_FREE, (void *)(self->given | HW_POOL_ADDRESS));
	enter(&self->call, &self->inside);
}

void hwr_thunk_after(struct hwr_thunk_frame *frame)
{
	struct served *self = (struct served *)frame->state;
	u64 result = hwr_thunk_result(frame), block = self->given | HW_POOL_ADDRESS;
	struct hwr_thread *t = self->call.t;

	leave(&self->call, &self->inside);
	if (!self->site->frees)
		hwr_call_alloc(&self->call, HW_POOL, (void *)(result ? result | HW_POOL_ADDRESS : 0),
			       self->given);
	else if (t && self->given && t->pool_pending == block)
		hwr_call_free(&self->call, HW_POOL_FREE, (void *)block);
	if (self->site->frees)
		hwr_call_end(&self->call, HW_POOL_FREE);
}

/* ---- finding them ---- */

static void tell(u32 pool, enum hw_pool_state state)
{
	if (load_relaxed(&pools[pool].state) < (u32)state)
		store_relaxed(&pools[pool].state, state);
}

static struct site *site_at(u64 start)
{
	for (u32 i = 0; i < sites_count; i++)
		if (sites[i].detour.function == start)
			return &sites[i];
	return NULL;
}

static void found(u32 pool, u64 start, u64 bytes)
{
	struct site *site = site_at(start);
	u32 number = site ? (u32)(site - sites) : sites_count;
	enum hw_pool_state state;

	if (site && hwr_detour_stands(&site->detour))
		return;
	if (number >= SITES_MAX) {
		tell(pool, HW_POOL_NO_ROOM);
		return;
	}
	site = &sites[number];
	*site = (struct site){
		.detour = { .function = start, .bytes = bytes, .site = number },
		.pool = pool,
		.frees = pools[pool].frees,
		.argument = pools[pool].argument % HW_POOL_ARGUMENTS,
	};
	state = hwr_detour_make(&site->detour);
	if (state == HW_POOL_RECORDED && number == sites_count)
		sites_count++;
	tell(pool, state);
}

static bool is_seen(const void *dynamic)
{
	for (u32 i = 0; i < seen_count; i++)
		if (seen[i] == dynamic)
			return true;
	return false;
}

void hwr_pools_forget(void) { seen_count = 0; }

void hwr_pools_look(void)
{
	const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
	u32 nobody = 0;

	if (!pools_count || !cas_acq_rel(&looking, &nobody, 1))
		return;
	for (; map; map = map->l_next) {
		if (!map->l_ld || map->l_ld == _DYNAMIC || is_seen(map->l_ld) || seen_count == SEEN_MAX)
			continue;
		hwr_find_pools(map, pools, pools_count, found);
		seen[seen_count++] = map->l_ld;
	}
	store_release(&looking, 0);
}

void hwr_pools_attach(void)
{
	pools = (struct hw_pool *)((u8 *)hwr_control + hwr_control->pools_offset);
	pools_count = hwr_control->pools_count < HW_POOLS ? hwr_control->pools_count : HW_POOLS;
	if (!pools_count)
		return;
	if (!hwr_held_init()) {
		hwr_fault(HW_FAULT_NO_MEMORY);
		pools_count = 0;
		return;
	}
	for (u32 i = 0; i < sites_count; i++) /* in a forked child: they are there already */
		tell(sites[i].pool, HW_POOL_RECORDED);
	hwr_pools_look();
}
