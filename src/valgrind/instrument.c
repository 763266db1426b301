/* SPDX-License-Identifier: GPL-2.0-or-later
 * Adds calls to the program's code, as Valgrind translates it block by block. What counts:
 *
 * - each load and store once, with its own size, by the address that it begins at;
 * - an atomic operation as one read and, if it stores, one write. A compare-and-swap that fails is a
 *   read. Valgrind's own loads below a `lock` prefix are not counted beside it;
 * - conditional loads and stores when they happen;
 * - nothing that is addressed from the stack pointer: that is the stack, even where a coroutine's
 *   stack is a block of the heap. */
#include "valgrind/instrument.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_machine.h>

#include "valgrind/access.h"
#include "valgrind/pool.h"
#include "valgrind/routine.h"

enum {
	STACK_REACH = 2048
}; /* bytes from the stack pointer: a thread's descriptor lies behind them */

/* An access that waits for another one, so that one call notes both. */
struct pending {
	IRExpr *address; /* NULL = there is none */
	Int bytes;
};

struct work {
	IRSB *in, *out;
	Int sp_offset; /* of the stack pointer in the guest's registers */
	IRType word;
	Bool *is_stack;      /* by temporary: an address near the stack pointer */
	Long *distance;      /* of that address from the stack pointer */
	Int next;            /* statement after the present one */
	const IRStmt *noted; /* a store to come that was noted with its load */
	struct pending pending[HW_SIDES];
};

/* ---- the stack ---- */

static Bool expression_is_stack(const struct work *work, const IRExpr *e, Long *distance)
{
	Long constant;

	if (e->tag == Iex_RdTmp && work->is_stack[e->Iex.RdTmp.tmp]) {
		*distance = work->distance[e->Iex.RdTmp.tmp];
		return True;
	}
	if (e->tag == Iex_Get && e->Iex.Get.offset == work->sp_offset &&
	    e->Iex.Get.ty == work->word) {
		*distance = 0;
		return True;
	}
	if (e->tag != Iex_Binop || (e->Iex.Binop.op != Iop_Add64 && e->Iex.Binop.op != Iop_Sub64) ||
	    e->Iex.Binop.arg2->tag != Iex_Const || e->Iex.Binop.arg1->tag != Iex_RdTmp ||
	    !expression_is_stack(work, e->Iex.Binop.arg1, distance))
		return False;
	constant = (Long)e->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
	if (constant > STACK_REACH || constant < -STACK_REACH)
		return False;
	*distance += e->Iex.Binop.op == Iop_Add64 ? constant : -constant;
	return *distance <= STACK_REACH && *distance >= -STACK_REACH;
}

/* Whatever is put into the stack pointer is the stack's address from then on. */
static void watch_stack_pointer(struct work *work, const IRStmt *s)
{
	Long distance;

	if (s->tag == Ist_WrTmp && expression_is_stack(work, s->Ist.WrTmp.data, &distance)) {
		work->is_stack[s->Ist.WrTmp.tmp] = True;
		work->distance[s->Ist.WrTmp.tmp] = distance;
	}
	if (s->tag == Ist_Put && s->Ist.Put.offset == work->sp_offset &&
	    s->Ist.Put.data->tag == Iex_RdTmp) {
		work->is_stack[s->Ist.Put.data->Iex.RdTmp.tmp] = True;
		work->distance[s->Ist.Put.data->Iex.RdTmp.tmp] = 0;
	}
}

/* ---- calls ---- */

struct helper {
	const HChar *name;
	void *function;
};
static const struct helper reads = {"hwv_read", hwv_read};
static const struct helper writes = {"hwv_write", hwv_write};
static const struct helper modifies = {"hwv_modify", hwv_modify};
static const struct helper twos[HW_SIDES] = {
	[HW_SIDE_READ] = {"hwv_read_two", hwv_read_two},
	[HW_SIDE_WRITTEN] = {"hwv_write_two", hwv_write_two},
};
static const struct helper *const ones[HW_SIDES] = {
	[HW_SIDE_READ] = &reads,
	[HW_SIDE_WRITTEN] = &writes,
};

static void emit(struct work *work, const struct helper *helper, IRExpr *address, Int bytes,
		 IRExpr *guard)
{
	IRDirty *d = unsafeIRDirty_0_N(2, helper->name, VG_(fnptr_to_fnentry)(helper->function),
				       mkIRExprVec_2(address, mkIRExpr_HWord((HWord)bytes)));

	if (guard)
		d->guard = guard;
	addStmtToIRSB(work->out, IRStmt_Dirty(d));
}

static void call(struct work *work, const struct helper *helper, IRExpr *address, Int bytes,
		 IRExpr *guard)
{
	Long distance;

	tl_assert(isIRAtom(address));
	if (!expression_is_stack(work, address, &distance))
		emit(work, helper, address, bytes, guard);
}

static void flush_side(struct work *work, u32 side)
{
	struct pending *pending = &work->pending[side];

	if (pending->address)
		emit(work, ones[side], pending->address, pending->bytes, NULL);
	pending->address = NULL;
}

/* Before what may leave the block of code, or call something that looks at the counts. */
static void flush(struct work *work)
{
	for (u32 side = 0; side < HW_SIDES; side++)
		flush_side(work, side);
}

/* An access that happens for certain. Addresses are temporaries, which never change, so that it may be noted later; calls
 * are most of the cost. */
static void note(struct work *work, u32 side, IRExpr *address, Int bytes)
{
	struct pending *pending = &work->pending[side];
	Long distance;
	ULong both;

	if (expression_is_stack(work, address, &distance))
		return;
	if (!pending->address) {
		*pending = (struct pending){address, bytes};
		return;
	}
	both = (ULong)bytes << HWV_SECOND | (ULong)pending->bytes;
	addStmtToIRSB(work->out,
		      IRStmt_Dirty(unsafeIRDirty_0_N(
			      3, twos[side].name, VG_(fnptr_to_fnentry)(twos[side].function),
			      mkIRExprVec_3(pending->address, address, mkIRExpr_HWord(both)))));
	pending->address = NULL;
}

static Int size_of(const struct work *work, const IRExpr *e)
{
	return sizeofIRType(typeOfIRExpr(work->in->tyenv, e));
}

static Bool same_address(const IRExpr *a, const IRExpr *b)
{
	if (a->tag == Iex_RdTmp && b->tag == Iex_RdTmp)
		return a->Iex.RdTmp.tmp == b->Iex.RdTmp.tmp;
	return a->tag == Iex_Const && b->tag == Iex_Const &&
	       eqIRConst(a->Iex.Const.con, b->Iex.Const.con);
}

/* The store of the same instruction to the address that it loads from, NULL if there is none: one call
 * then notes both. It must come for certain, so nothing that may leave the code lies between. */
static const IRStmt *store_to(const struct work *work, const IRExpr *address, Int bytes)
{
	for (Int i = work->next; i < work->in->stmts_used; i++) {
		const IRStmt *s = work->in->stmts[i];

		if (s->tag == Ist_IMark || s->tag == Ist_Exit || s->tag == Ist_CAS ||
		    s->tag == Ist_LLSC)
			return NULL;
		if (s->tag == Ist_Store && same_address(s->Ist.Store.addr, address))
			return size_of(work, s->Ist.Store.data) == bytes ? s : NULL;
	}
	return NULL;
}

/* ---- atomics ---- */

/* Whether the instruction that the present statement belongs to has loaded from the address. */
static Bool loaded_before(const struct work *work, const IRExpr *address)
{
	for (Int i = work->next - 2; i >= 0 && work->in->stmts[i]->tag != Ist_IMark; i--) {
		const IRStmt *s = work->in->stmts[i];

		if (s->tag == Ist_WrTmp && s->Ist.WrTmp.data->tag == Iex_Load &&
		    same_address(s->Ist.WrTmp.data->Iex.Load.addr, address))
			return True;
	}
	return False;
}

static IRExpr *assign(struct work *work, IRType type, IRExpr *value)
{
	IRTemp temporary = newIRTemp(work->out->tyenv, type);

	addStmtToIRSB(work->out, IRStmt_WrTmp(temporary, value));
	return IRExpr_RdTmp(temporary);
}

static IRExpr *equal(struct work *work, IRTemp old, IRExpr *expected)
{
	IROp op = Iop_CmpEQ64;

	switch (typeOfIRTemp(work->out->tyenv, old)) {
	case Ity_I8:
		op = Iop_CmpEQ8;
		break;
	case Ity_I16:
		op = Iop_CmpEQ16;
		break;
	case Ity_I32:
		op = Iop_CmpEQ32;
		break;
	default:
		break;
	}
	return assign(work, Ity_I1, IRExpr_Binop(op, IRExpr_RdTmp(old), expected));
}

/* Comes after the statement: what it found says whether it has stored. */
static void after_cas(struct work *work, const IRCAS *cas)
{
	Int bytes = size_of(work, cas->dataLo) * (cas->dataHi ? 2 : 1);
	IRExpr *stored = equal(work, cas->oldLo, cas->expdLo);

	if (cas->dataHi) {
		IRExpr *low = assign(work, Ity_I64, IRExpr_Unop(Iop_1Uto64, stored));
		IRExpr *high = equal(work, cas->oldHi, cas->expdHi);

		high = assign(work, Ity_I64, IRExpr_Unop(Iop_1Uto64, high));
		stored = assign(work, Ity_I64, IRExpr_Binop(Iop_And64, low, high));
		stored = assign(work, Ity_I1, IRExpr_Unop(Iop_64to1, stored));
	}
	if (!loaded_before(work, cas->addr))
		call(work, &reads, cas->addr, bytes, NULL);
	call(work, &writes, cas->addr, bytes, stored);
}

static void after_llsc(struct work *work, const IRStmt *s)
{
	IRTemp result = s->Ist.LLSC.result;

	if (s->Ist.LLSC.storedata) /* the result says whether it has stored */
		call(work, &writes, s->Ist.LLSC.addr, size_of(work, s->Ist.LLSC.storedata),
		     IRExpr_RdTmp(result));
	else
		call(work, &reads, s->Ist.LLSC.addr,
		     sizeofIRType(typeOfIRTemp(work->in->tyenv, result)), NULL);
}

/* ---- statements ---- */

static void before_load(struct work *work, const IRExpr *load)
{
	Int bytes = sizeofIRType(load->Iex.Load.ty);
	const IRStmt *store = store_to(work, load->Iex.Load.addr, bytes);

	if (store && !work->noted) {
		call(work, &modifies, load->Iex.Load.addr, bytes, NULL);
		work->noted = store;
	} else {
		note(work, HW_SIDE_READ, load->Iex.Load.addr, bytes);
	}
}

static void before_conditional_load(struct work *work, const IRLoadG *load)
{
	IRType result, loaded;

	typeOfIRLoadGOp(load->cvt, &result, &loaded);
	call(work, &reads, load->addr, sizeofIRType(loaded), load->guard);
}

/* Calls of Valgrind's own, for instructions that it has no other words for. */
static void before_dirty(struct work *work, const IRDirty *d)
{
	if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
		call(work, &reads, d->mAddr, d->mSize, d->guard);
	if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
		call(work, &writes, d->mAddr, d->mSize, d->guard);
}

static void note_before(struct work *work, const IRStmt *s)
{
	if (s->tag == Ist_Exit || s->tag == Ist_Dirty || s->tag == Ist_CAS || s->tag == Ist_LLSC ||
	    s->tag == Ist_MBE)
		flush(work);
	switch (s->tag) {
	case Ist_WrTmp:
		if (s->Ist.WrTmp.data->tag == Iex_Load)
			before_load(work, s->Ist.WrTmp.data);
		break;
	case Ist_Store:
		if (s != work->noted)
			note(work, HW_SIDE_WRITTEN, s->Ist.Store.addr,
			     size_of(work, s->Ist.Store.data));
		else
			work->noted = NULL;
		break;
	case Ist_StoreG:
		call(work, &writes, s->Ist.StoreG.details->addr,
		     size_of(work, s->Ist.StoreG.details->data), s->Ist.StoreG.details->guard);
		break;
	case Ist_LoadG:
		before_conditional_load(work, s->Ist.LoadG.details);
		break;
	case Ist_Dirty:
		before_dirty(work, s->Ist.Dirty.details);
		break;
	default:
		break;
	}
}

static void note_after(struct work *work, const IRStmt *s)
{
	if (s->tag == Ist_CAS)
		after_cas(work, s->Ist.CAS.details);
	else if (s->tag == Ist_LLSC)
		after_llsc(work, s);
}

/* Pools first: what leads into a routine is forgotten by who is told of its beginning. */
static void note_first(struct work *work, const VexGuestLayout *layout, Addr address)
{
	if (hwv_wants_pools())
		hwv_pool_begins(work->out, layout, address);
	if (hwv_wants_routines())
		hwv_routine_begins(work->out, layout, address);
}

static void note_last(struct work *work, const VexGuestLayout *layout)
{
	if (hwv_wants_pools() || hwv_wants_routines())
		hwv_routine_calls(work->out);
	if (hwv_wants_pools())
		hwv_pool_ends(work->out, layout);
	if (hwv_wants_routines())
		hwv_routine_ends(work->out, layout);
}

IRSB *hwv_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		     const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
		     IRType host_word)
{
	Int temporaries = in->tyenv->types_used;
	struct work work = {
		.in = in,
		.out = deepCopyIRSBExceptStmts(in),
		.sp_offset = layout->offset_SP,
		.word = guest_word,
		.is_stack = LibVEX_Alloc((SizeT)temporaries * sizeof(Bool)),
		.distance = LibVEX_Alloc((SizeT)temporaries * sizeof(Long)),
	};
	Bool began = False;

	(void)closure;
	(void)extents;
	(void)host;
	(void)host_word;
	VG_(memset)(work.is_stack, 0, (SizeT)temporaries * sizeof(Bool));
	while (work.next < in->stmts_used) {
		IRStmt *s = in->stmts[work.next++];

		if (!began && s->tag == Ist_IMark)
			note_first(&work, layout, s->Ist.IMark.addr);
		began = began || s->tag == Ist_IMark; /* what comes before is Valgrind's own */
		if (began)
			note_before(&work, s);
		addStmtToIRSB(work.out, s);
		if (began) {
			note_after(&work, s);
			watch_stack_pointer(&work, s);
		}
	}
	flush(&work);
	note_last(&work, layout);
	return work.out;
}
