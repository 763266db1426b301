/* SPDX-License-Identifier: MIT
 * The hooks of custom allocators, and what is recorded of them; see pools.h. Runs in the target.
 *
 * A site is one function that was found. */
#include "target/recorder/hooks/pools.h"

#include <link.h>

#include "format/allocators.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/pool/detour.h"
#include "target/recorder/pool/entries.h"
#include "target/recorder/pool/find.h"
#include "target/recorder/pool/held.h"
#include "target/recorder/pool/pool.h"
#include "target/recorder/pool/thunk.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/threads.h"
#include "target/recorder/unwind/modules.h"

enum { SITES_MAX = 320, SEEN_MAX = 1024, NO_POOL = HW_POOLS };

struct site {
	struct hwr_detour detour;
	u32 pool;                          /* whose name it has; NO_POOL: a known allocator's */
	u32 number;                        /* of its entry, then */
	u8 role, kind, size, count, block; /* as in struct hw_entry */
	u8 aux;                            /* of its frees */
	u64 fixed;                         /* size of all its blocks, 0 = the argument's */
	bool interposed;
	u64 module_start, module_end;
};

static struct site sites[SITES_MAX];
static u32 sites_count;
static struct hw_pool *pools;
static u32 pools_count;
static const void *seen[SEEN_MAX]; /* dynamic sections of modules that were searched */
static u32 seen_count;
static u32 looking;    /* 1 while a thread looks for functions */
static u32 allocators; /* that are looked for, too */

/* ---- the hooks ---- */

struct inside { /* what the thread was inside of before */
	u64 sp;
	u64 state;
	const u64 *witness;
	u64 here[HWR_POOL_WITNESSES]; /* their own addresses, for as long as the call lasts */
};

/* `ending` is the block that the call ends and is told to end, 0 = none. */
static void enter(const struct hwr_call *call, struct inside *self, u64 ending)
{
	struct hwr_thread *t = call->t;

	for (u32 i = 0; i < HWR_POOL_WITNESSES; i++)
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
	t->pool_ending = ending;
	self->state = t->state & HWR_POOLS;
	t->state |= HWR_POOLS;
}

static void leave(const struct hwr_call *call, struct inside *self)
{
	if (call->t && !self->sp) {
		call->t->pool_sp = call->t->pool_ending = 0;
		call->t->pool_witness = self->witness;
		if (!self->state)
			call->t->state &= ~(u32)HWR_POOLS;
	}
	for (u32 i = 0; i < HWR_POOL_WITNESSES; i++)
		self->here[i] = 0;
	__asm__ volatile("" : : "r"(self->here) : "memory");
}

/* Of a call, from before it to after it. */
struct served {
	const struct site *site; /* NULL: not to be recorded */
	u64 size, block;         /* that it was given */
	/* RESIZES_AT: where the block's address is; GROWS: bytes that it may have beyond the
	 * size */
	u64 more;
	u64 ticks;
	struct hwr_call call;
	struct inside inside;
};
_Static_assert(sizeof(struct served) <= HWR_THUNK_STATE * sizeof(u64), "a call fits into the "
								       "thunk's frame");

static u64 mark(const struct site *site)
{
	return hw_kind_is_pool(site->kind) ? HW_POOL_ADDRESS : 0;
}

static u64 size_given(const struct hwr_thunk_frame *frame, const struct site *site)
{
	u64 size = site->size ? hwr_thunk_argument(frame, site->size - 1u) : 0, bytes;

	if (site->fixed)
		return site->fixed;
	if (!site->count || site->role == HW_ENTRY_GROWS)
		return size;
	return __builtin_mul_overflow(size, hwr_thunk_argument(frame, site->count - 1u), &bytes)
		       ? UINT64_MAX
		       : bytes;
}

/* A hook of ours has called an allocator's malloc, and that calls another function of its own, or
 * ends in a jump to it. */
static bool is_own_call(const struct site *site, u64 pc)
{
	return site->interposed &&
	       (pc - site->module_start < site->module_end - site->module_start ||
		pc - hwr_own_start < hwr_own_bytes);
}

/* A realloc is the end of a block when it has succeeded. */
static bool ends_before(const struct site *site) { return site->role == HW_ENTRY_ENDS; }

void hwr_thunk_before(struct hwr_thunk_frame *frame, u64 number, const struct hwr_caller *caller)
{
	struct served *self = (struct served *)frame->state;
	const struct site *site = &sites[number];
	u64 pc = hwr_strip(caller->pc), ending = 0;

	frame->real = site->detour.real;
	self->site = NULL;
	if (is_own_call(site, pc))
		return;
	self->site = site;
	self->size = size_given(frame, site);
	self->block = site->block ? hwr_thunk_argument(frame, site->block - 1u) : 0;
	self->more = site->role == HW_ENTRY_GROWS ? hwr_thunk_argument(frame, site->count - 1u)
						  : self->block;
	if (site->role == HW_ENTRY_RESIZES_AT)
		self->block = self->more ? *(const u64 *)self->more : 0;
	if (site->role == HW_ENTRY_ENDS || site->role == HW_ENTRY_RESIZES ||
	    site->role == HW_ENTRY_RESIZES_AT)
		ending = self->block;
	self->call = (struct hwr_call){.caller = {pc, caller->sp, caller->fp},
				       .ending = mark(site) ? 0 : ending};
	hwr_call_begin(&self->call);
	self->ticks = hw_ticks();
	if (ends_before(site) && self->block)
		hwr_call_free_as(&self->call, site->kind, site->aux,
				 (void *)(self->block | mark(site)));
	enter(&self->call, &self->inside, site->pool == NO_POOL && !mark(site) ? ending : 0);
}

static u64 text_bytes(const char *text)
{
	u64 bytes = 1;

	while (*text++)
		bytes++;
	return bytes;
}

static void tell_resized(struct served *self, u64 result)
{
	u64 bit = mark(self->site);

	if (!bit) {
		hwr_call_realloc(&self->call, self->ticks, (void *)self->block, (void *)result,
				 self->size);
		return;
	}
	if (self->block && (result || !self->size))
		hwr_call_free(&self->call, HW_POOL_FREE, (void *)(self->block | bit));
	hwr_call_alloc(&self->call, HW_POOL, (void *)(result ? result | bit : 0), self->size);
}

/* A block that was to become larger or smaller where it is. */
static void tell_expanded(struct served *self, u64 result)
{
	bool grows = self->site->role == HW_ENTRY_GROWS;
	u64 most;

	if (!self->block || (grows ? result < self->size : result != self->block)) {
		hwr_call_end(&self->call, self->site->kind);
		return;
	}
	if (grows && !__builtin_add_overflow(self->size, self->more, &most))
		self->size = result < most ? result : most;
	hwr_call_realloc(&self->call, self->ticks, (void *)self->block, (void *)self->block,
			 self->size);
}

/* Whether memory is where the block would end; who cannot be asked is believed. */
static bool size_can_be(u64 block, u64 size)
{
	u64 last;
	u8 resident;

	if (size <= HW_POOL_SIZE_SURE)
		return true;
	return !__builtin_add_overflow(block, size - 1, &last) &&
	       hwr_ask3(SYS_mincore, (long)(last & -HWR_PAGE), 1, (long)&resident) !=
		       -12 /* ENOMEM */;
}

/* A function that the user named may have no such argument: what its register holds is no size. */
static void doubt_size(struct served *self, u64 block)
{
	if (self->site->pool == NO_POOL || !block || size_can_be(block, self->size))
		return;
	self->size = 0;
	add_relaxed(&pools[self->site->pool].refused, 1);
}

static void tell_given(struct served *self, u64 result)
{
	const struct site *site = self->site;

	if (site->role == HW_ENTRY_EXPANDS || site->role == HW_ENTRY_GROWS) {
		tell_expanded(self, result);
		return;
	}
	if (site->role == HW_ENTRY_RESIZES_AT)
		result = (u32)result == 0 && self->more ? *(const u64 *)self->more : 0;
	if (site->role == HW_ENTRY_STORES)
		result = (u32)result == 0 ? *(const u64 *)self->block : 0;
	if (site->role == HW_ENTRY_TEXT)
		self->size = result ? text_bytes((const char *)result) : 0;
	doubt_size(self, result);
	if (result && !mark(site))
		hwr_held_drop(result | HWR_HELD); /* by malloc, which was called for it */
	if (site->role == HW_ENTRY_RESIZES || site->role == HW_ENTRY_RESIZES_AT)
		tell_resized(self, result);
	else
		hwr_call_alloc(&self->call, site->kind, (void *)(result ? result | mark(site) : 0),
			       self->size);
}

void hwr_thunk_after(struct hwr_thunk_frame *frame)
{
	struct served *self = (struct served *)frame->state;
	struct hwr_thread *t;

	if (!self->site)
		return;
	t = self->call.t;
	leave(&self->call, &self->inside);
	if (!ends_before(self->site)) {
		tell_given(self, hwr_thunk_result(frame));
		return;
	}
	if (t && self->block && mark(self->site) &&
	    t->pool_pending == (self->block | HW_POOL_ADDRESS))
		hwr_call_free(&self->call, HW_POOL_FREE, (void *)(self->block | HW_POOL_ADDRESS));
	hwr_call_end(&self->call, self->site->kind);
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

/* Stands in front of a function as *plan says; an earlier one stays. *made: where it is now. */
static enum hw_pool_state site_make(const struct site *plan, u64 start, u64 bytes,
				    struct site **made)
{
	struct site *site = site_at(start);
	u32 number = site ? (u32)(site - sites) : sites_count;
	enum hw_pool_state state;

	*made = site;
	if (site && hwr_detour_stands(&site->detour))
		return HW_POOL_RECORDED;
	if (number >= SITES_MAX)
		return HW_POOL_NO_ROOM;
	site = &sites[number];
	*site = *plan;
	site->detour = (struct hwr_detour){.function = start, .bytes = bytes, .site = number};
	state = hwr_detour_make(&site->detour);
	if (state == HW_POOL_RECORDED && number == sites_count)
		sites_count++;
	*made = site;
	return state;
}

static void found(u32 pool, u64 start, u64 bytes)
{
	u8 argument = pools[pool].argument % HW_POOL_ARGUMENTS + 1;
	bool frees = pools[pool].frees;
	struct site plan = {
		.pool = pool,
		.role = frees ? HW_ENTRY_ENDS : HW_ENTRY_GIVES,
		.kind = frees ? HW_POOL_FREE : HW_POOL,
		.size = frees ? 0 : argument,
		.block = frees ? argument : 0,
		.fixed = pools[pool].size,
	};
	struct site *made;

	if (start - hwr_own_start < hwr_own_bytes)
		return; /* a hook of ours, linked into the program: all of its calls are recorded */
	tell(pool, site_make(&plan, start, bytes, &made));
}

/* ---- known allocators ---- */

static bool ambiguous; /* the module whose functions are being found */

/* The user has said what the C library's names mean in this program. */
static bool is_named_by_user(const char *name)
{
	for (u32 i = 0; i < pools_count; i++)
		if (hwr_same(pools[i].name, name, hwr_length(name) + 1))
			return true;
	return false;
}

static void tell_entry(u32 number, enum hw_pool_state state)
{
	static const u8 states[] = {
		[HW_POOL_NO_ROOM] = HW_ENTRY_NO_ROOM,
		[HW_POOL_UNFIT] = HW_ENTRY_UNFIT,
		[HW_POOL_SHADOWED] = HW_ENTRY_SHADOWED,
		[HW_POOL_RECORDED] = HW_ENTRY_RECORDED,
	};

	if (hwr_control->entries[number] < states[state])
		hwr_control->entries[number] = states[state];
}

static void found_entry(u32 number, u64 start, u64 bytes, bool interposed)
{
	const struct hw_entry *entry = &hw_entries[number];
	struct hwr_module_at at = {0};
	struct site plan = {
		.pool = NO_POOL,
		.number = number,
		.role = entry->role,
		.kind = entry->kind,
		.size = entry->size,
		.count = entry->count,
		.block = entry->block,
		.interposed = interposed,
	};
	struct site *made;

	if (entry->allocator == HW_ALLOCATOR_PROGRAM &&
	    (is_named_by_user("malloc") || is_named_by_user("free")))
		return;
	if (!hwr_held_init()) {
		tell_entry(number, HW_POOL_NO_ROOM);
		return;
	}
	if (interposed && hwr_module_at(start, &at)) {
		plan.module_start = at.start;
		plan.module_end = at.end;
	}
	tell_entry(number, site_make(&plan, start, bytes, &made));
	if (made && made->pool == NO_POOL && made->kind != entry->kind)
		ambiguous = true;
}

/* Where free and operator delete are one function, none of the kinds says how a block was meant to
 * end. */
static void drop_kinds(u32 first)
{
	for (u32 i = first; ambiguous && i < sites_count; i++)
		if (hw_kind_frees(sites[i].kind) && !hw_kind_is_pool(sites[i].kind)) {
			sites[i].kind = HW_FREE;
			sites[i].aux = HW_FREE_ANY_FORM;
		}
}

static void look_for_entries(const struct link_map *map, bool is_program)
{
	u32 first = sites_count;

	ambiguous = false;
	hwr_entries_find(map, is_program, allocators, found_entry);
	drop_kinds(first);
}

u64 hwr_pool_past(u64 function)
{
	const struct site *site = sites_count ? site_at(function) : NULL;

	return site && site->pool == NO_POOL ? site->detour.real : function;
}

bool hwr_pools_are_entries(void)
{
	for (u32 i = 0; i < sites_count; i++)
		if (sites[i].pool == NO_POOL && !sites[i].interposed)
			return true;
	return false;
}

static bool is_seen(const void *dynamic)
{
	for (u32 i = 0; i < seen_count; i++)
		if (seen[i] == dynamic)
			return true;
	return false;
}

void hwr_pools_forget(void) { seen_count = 0; }

/* Functions that were found may have got a detour since then: from here on they are called past
 * it. */
static void pass_real(void)
{
	void **functions = (void **)&hwr_real;

	for (u32 i = 0; i < sizeof hwr_real / sizeof *functions; i++)
		if (functions[i])
			store_relaxed(&functions[i], (void *)hwr_pool_past((u64)functions[i]));
}

void hwr_pools_look(void)
{
	const struct link_map *first = hwr_first_map(), *map = first;
	u32 nobody = 0, before = sites_count;

	if ((!pools_count && !allocators) || !cas_acq_rel(&looking, &nobody, 1))
		return;
	for (; map; map = map->l_next) {
		if (!map->l_ld || hwr_map_is_ours(map) || is_seen(map->l_ld) ||
		    seen_count == SEEN_MAX)
			continue;
		if (pools_count)
			hwr_find_pools(map, pools, pools_count, found);
		if (allocators)
			look_for_entries(map, map == first);
		seen[seen_count++] = map->l_ld;
	}
	if (sites_count != before)
		pass_real();
	store_release(&looking, 0);
}

void hwr_pools_attach(void)
{
	pools = (struct hw_pool *)((u8 *)hwr_control + hwr_control->pools_offset);
	pools_count = hwr_control->pools_count < HW_POOLS ? hwr_control->pools_count : HW_POOLS;
	allocators = hwr_control->allocators;
	if (!pools_count && !allocators)
		return;
	if (pools_count && !hwr_held_init()) {
		hwr_fault(HW_FAULT_NO_MEMORY);
		pools_count = 0;
		return;
	}
	for (u32 i = 0; i < sites_count; i++) { /* in a forked child: they are there already */
		if (sites[i].pool == NO_POOL)
			tell_entry(sites[i].number, HW_POOL_RECORDED);
		else
			tell(sites[i].pool, HW_POOL_RECORDED);
	}
	hwr_pools_look();
}
