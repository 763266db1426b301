/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls of custom allocators; see pool.h. A function is known by its name when its first block of
 * code is translated; its call ends when a return puts the stack pointer back to where it was. */
#include "target/valgrind/pool.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_hashtable.h>
#include <pub_tool_machine.h>
#include <pub_tool_threadstate.h>

#include "target/valgrind/access.h"
#include "target/valgrind/arch/arch.h"
#include "target/valgrind/block.h"
#include "target/valgrind/context.h"
#include "target/valgrind/ring.h"
#include "target/valgrind/routine.h"

enum { DEPTH = 256 }; /* calls of custom allocators inside each other; more are not looked at */

struct call {
	struct hw_pool *pool;
	Addr top;  /* stack pointer before the call */
	u64 given; /* size, or block */
	Addr from; /* return address */
	u32 context;
};

struct calls { /* of a thread */
	u32 depth;
	struct call calls[DEPTH];
};

struct given { /* the first two are the table's */
	struct given *next;
	UWord address; /* with INNER: given to another pool, which it serves */
};
#define INNER ((UWord)1 << 62)

static struct calls **threads; /* by ThreadId */
static VgHashTable *given;

/* ---- what pools have given away ---- */

static void given_add(UWord address)
{
	struct given *node;

	if (!given)
		given = VG_(HT_construct)("heapwise.given");
	if (VG_(HT_lookup)(given, address))
		return; /* given before, and never seen to come back */
	node = VG_(malloc)("heapwise.given", sizeof *node);
	node->address = address;
	VG_(HT_add_node)(given, node);
}

static Bool given_drop(UWord address)
{
	struct given *node = given ? VG_(HT_remove)(given, address) : NULL;

	VG_(free)(node);
	return node != NULL;
}

Bool hwv_pool_has(Addr address) { return given && VG_(HT_lookup)(given, address); }
Bool hwv_pool_drop(Addr address) { return given_drop(address); }

/* ---- calls ---- */

static struct calls *calls_of(ThreadId tid)
{
	if (!threads)
		threads = VG_(calloc)("heapwise.pools", VG_N_THREADS, sizeof *threads);
	if (!threads[tid])
		threads[tid] = VG_(calloc)("heapwise.pool", 1, sizeof **threads);
	return threads[tid];
}

void hwv_pools_reset(ThreadId tid)
{
	if (threads && threads[tid])
		threads[tid]->depth = 0;
}

static Bool last_is_there(ThreadId tid, const struct calls *self)
{
	const struct call *last = &self->calls[self->depth - 1];

	return hwv_call_is_there(tid, last->top, last->from);
}

Bool hwv_pool_inside(ThreadId tid)
{
	struct calls *self = threads ? threads[tid] : NULL;

	while (self && self->depth &&
	       (self->calls[self->depth - 1].top <= VG_(get_SP)(tid) || !last_is_there(tid, self)))
		self->depth--;
	return self && self->depth;
}

static void put(ThreadId tid, u32 kind, Addr address, u64 size, u32 context)
{
	if (hwv_control)
		hwv_put(tid, &(struct hw_record){.ticks = hwv_clock_read(),
						 .address = address | HW_POOL_ADDRESS,
						 .size = size,
						 .context = context,
						 .kind = (u8)kind});
}

static void take_back(ThreadId tid, Addr block)
{
	if (given_drop(block | INNER))
		return;
	/* What malloc gave will be told by the free that the function calls. */
	if (given_drop(block) || !hwv_block_at(block))
		put(tid, HW_POOL_FREE, block, 0,
		    hwv_has_flag(HW_RUN_FREE_STACKS) ? hwv_context_of(tid) : 0);
}

/* 0 for a size that cannot be: the block would end where no memory is. */
static u64 size_of(const struct call *call, Addr block)
{
	u64 last = block + call->given - 1;

	if (call->given <= HW_POOL_SIZE_SURE ||
	    (last > block && VG_(am_is_valid_for_client)(last, 1, VKI_PROT_NONE)))
		return call->given;
	add_relaxed(&call->pool->refused, 1);
	return 0;
}

static void give_away(ThreadId tid, const struct call *call, Addr block, Bool inner)
{
	if (!block && !inner)
		hwv_put(tid, &(struct hw_record){.ticks = hwv_clock_read(),
						 .size = call->given,
						 .context = call->context,
						 .kind = HW_FAILED,
						 .aux = HW_POOL});
	if (!block)
		return;
	given_drop(block | INNER);
	if (inner) {
		given_add(block | INNER);
		return;
	}
	given_add(block);
	put(tid, HW_POOL, block, size_of(call, block), call->context);
}

/* ---- what translated code calls ---- */

static VG_REGPARM(3) void begins(struct hw_pool *pool, Addr sp, UWord argument)
{
	struct call call = {.pool = pool,
			    .top = sp + HWV_RETURN_BYTES,
			    .given = pool->size ? pool->size : argument};
	ThreadId tid = VG_(get_running_tid)();
	struct calls *self = calls_of(tid);
	Bool by_call = hwv_called != 0;

	hwv_called = 0;
	call.from = hwv_returns_to(tid, call.top);
	if (!hwv_wants_allocation())
		return;
	while (self->depth && (self->calls[self->depth - 1].top < call.top ||
			       (by_call && self->calls[self->depth - 1].top == call.top) ||
			       !last_is_there(tid, self)))
		self->depth--;
	if (pool->frees && argument)
		take_back(tid, argument);
	if (!pool->frees && !self->depth && hwv_has_flag(HW_RUN_ALLOC_STACKS))
		call.context = hwv_context_of(tid);
	if (self->depth < DEPTH)
		self->calls[self->depth++] = call;
}

static VG_REGPARM(2) void returned(Addr sp, UWord result)
{
	ThreadId tid = VG_(get_running_tid)();
	struct calls *self = threads ? threads[tid] : NULL;

	while (self && self->depth && self->calls[self->depth - 1].top <= sp) {
		const struct call *call = &self->calls[--self->depth];

		if (call->top == sp && hwv_call_is_there(tid, call->top, call->from) &&
		    !call->pool->frees && hwv_wants_allocation())
			give_away(tid, call, result, self->depth > 0);
	}
}

/* ---- translation ---- */

static IRExpr *guest_word(IRSB *out, Int offset)
{
	IRTemp value = newIRTemp(out->tyenv, Ity_I64);

	addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Get(offset, Ity_I64)));
	return IRExpr_RdTmp(value);
}

static struct hw_pool *pool_named(const HChar *name)
{
	struct hw_pool *pools = (struct hw_pool *)((u8 *)hwv_control + hwv_control->pools_offset);

	for (u32 i = 0; i < hwv_control->pools_count && i < HW_POOLS; i++)
		if (VG_(strcmp)(pools[i].name, name) == 0)
			return &pools[i];
	return NULL;
}

void hwv_pool_begins(IRSB *out, const VexGuestLayout *layout, Addr address)
{
	DiEpoch epoch = VG_(current_DiEpoch)();
	struct hw_pool *pool = NULL;
	const HChar *name;
	IRDirty *d;

	if (VG_(get_fnname_if_entry)(epoch, address, &name) &&
	    VG_(get_fnname_raw)(epoch, address, &name))
		pool = pool_named(name);
	if (!pool)
		return;
	store_relaxed(&pool->state, HW_POOL_RECORDED);
	d = unsafeIRDirty_0_N(
		3, "hwv_pool_begins", VG_(fnptr_to_fnentry)(begins),
		mkIRExprVec_3(mkIRExpr_HWord((HWord)pool), guest_word(out, layout->offset_SP),
			      guest_word(out,
					 hwv_argument_at[pool->argument % HW_POOL_ARGUMENTS])));
	addStmtToIRSB(out, IRStmt_Dirty(d));
}

void hwv_pool_ends(IRSB *out, const VexGuestLayout *layout)
{
	IRDirty *d;

	if (out->jumpkind != Ijk_Ret)
		return;
	d = unsafeIRDirty_0_N(2, "hwv_pool_returned", VG_(fnptr_to_fnentry)(returned),
			      mkIRExprVec_2(guest_word(out, layout->offset_SP),
					    guest_word(out, HWV_RESULT_AT)));
	addStmtToIRSB(out, IRStmt_Dirty(d));
}
