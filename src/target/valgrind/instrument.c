/* SPDX-License-Identifier: GPL-2.0-or-later
 * Adds calls to the program's code, as Valgrind translates it block by block. What counts:
 *
 * - each load and store once, with its own size, by the address that it begins at;
 * - an atomic operation as one read and, if it stores, one write. A compare-and-swap that fails is
 * a
 *   read. Valgrind's own loads below a `lock` prefix are not counted beside it;
 * - conditional loads and stores when they happen;
 * - nothing that is addressed from the stack pointer: that is the stack, even where a coroutine's
 *   stack is a block of the heap. */
#include "target/valgrind/instrument.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_machine.h>

#include "target/valgrind/pending.h"
#include "target/valgrind/pool.h"
#include "target/valgrind/routine.h"

enum {
	STACK_REACH = 2048
}; /* bytes from the stack pointer: a thread's descriptor lies behind them */

struct work {
	IRSB *in, *out;
	Int sp_offset; /* of the stack pointer in the guest's registers */
	IRType word;
	struct origin *origins; /* by temporary */
	Int next;               /* statement after the present one */
	struct pending pending;
};

/* ---- addresses ---- */

/* In the place of a temporary: the stack pointer. */
#define STACK (IRTemp_INVALID - 1)

static struct origin origin_of(const struct work *work, const IRExpr *e)
{
	if (e->tag == Iex_RdTmp)
		return work->origins[e->Iex.RdTmp.tmp];
	return (struct origin){IRTemp_INVALID, (Long)e->Iex.Const.con->Ico.U64};
}

static Bool is_stack(struct origin origin)
{
	return origin.base == STACK && origin.distance <= STACK_REACH &&
	       origin.distance >= -STACK_REACH;
}

/* A sum with a constant is a distance. */
static void watch_temporary(struct work *work, IRTemp temporary, const IRExpr *e)
{
	struct origin *origin = &work->origins[temporary];
	Long constant;

	if (e->tag == Iex_Get && e->Iex.Get.offset == work->sp_offset &&
	    e->Iex.Get.ty == work->word)
		*origin = (struct origin){STACK, 0};
	if (e->tag == Iex_RdTmp)
		*origin = origin_of(work, e);
	if (e->tag != Iex_Binop || (e->Iex.Binop.op != Iop_Add64 && e->Iex.Binop.op != Iop_Sub64) ||
	    e->Iex.Binop.arg2->tag != Iex_Const || e->Iex.Binop.arg1->tag != Iex_RdTmp)
		return;
	constant = (Long)e->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
	*origin = origin_of(work, e->Iex.Binop.arg1);
	origin->distance += e->Iex.Binop.op == Iop_Add64 ? constant : -constant;
}

/* Whatever is put into the stack pointer is the stack's address from then on. */
static void watch_addresses(struct work *work, const IRStmt *s)
{
	if (s->tag == Ist_WrTmp)
		watch_temporary(work, s->Ist.WrTmp.tmp, s->Ist.WrTmp.data);
	if (s->tag == Ist_Put && s->Ist.Put.offset == work->sp_offset &&
	    s->Ist.Put.data->tag == Iex_RdTmp)
		work->origins[s->Ist.Put.data->Iex.RdTmp.tmp] = (struct origin){STACK, 0};
}

/* ---- calls ---- */

static void call(struct work *work, u32 side, IRExpr *address, Int bytes, IRExpr *guard)
{
	tl_assert(isIRAtom(address));
	if (!is_stack(origin_of(work, address)))
		hwv_note_one(work->out, side, address, bytes, guard);
}

static void note(struct work *work, u32 side, IRExpr *address, Int bytes)
{
	struct origin origin;

	tl_assert(isIRAtom(address));
	origin = origin_of(work, address);
	if (!is_stack(origin))
		hwv_pending_add(&work->pending, side, address, origin, bytes);
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

/* As 64 bits: code generators of some CPUs compare no fewer. */
static IRExpr *widened(struct work *work, IRExpr *e)
{
	switch (typeOfIRExpr(work->out->tyenv, e)) {
	case Ity_I8: return assign(work, Ity_I64, IRExpr_Unop(Iop_8Uto64, e));
	case Ity_I16: return assign(work, Ity_I64, IRExpr_Unop(Iop_16Uto64, e));
	case Ity_I32: return assign(work, Ity_I64, IRExpr_Unop(Iop_32Uto64, e));
	default: return e;
	}
}

static IRExpr *equal(struct work *work, IRTemp old, IRExpr *expected)
{
	IRExpr *found = widened(work, IRExpr_RdTmp(old));

	return assign(work, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, found, widened(work, expected)));
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
		call(work, HW_SIDE_READ, cas->addr, bytes, NULL);
	call(work, HW_SIDE_WRITTEN, cas->addr, bytes, stored);
}

static void after_llsc(struct work *work, const IRStmt *s)
{
	IRTemp result = s->Ist.LLSC.result;

	if (s->Ist.LLSC.storedata) /* the result says whether it has stored */
		call(work, HW_SIDE_WRITTEN, s->Ist.LLSC.addr, size_of(work, s->Ist.LLSC.storedata),
		     IRExpr_RdTmp(result));
	else
		call(work, HW_SIDE_READ, s->Ist.LLSC.addr,
		     sizeofIRType(typeOfIRTemp(work->in->tyenv, result)), NULL);
}

/* ---- statements ---- */

static void before_conditional_load(struct work *work, const IRLoadG *load)
{
	IRType result, loaded;

	typeOfIRLoadGOp(load->cvt, &result, &loaded);
	call(work, HW_SIDE_READ, load->addr, sizeofIRType(loaded), load->guard);
}

/* Calls of Valgrind's own, for instructions that it has no other words for. */
static void before_dirty(struct work *work, const IRDirty *d)
{
	if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
		call(work, HW_SIDE_READ, d->mAddr, d->mSize, d->guard);
	if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
		call(work, HW_SIDE_WRITTEN, d->mAddr, d->mSize, d->guard);
}

static void note_before(struct work *work, const IRStmt *s)
{
	if (s->tag == Ist_Exit || s->tag == Ist_Dirty || s->tag == Ist_CAS || s->tag == Ist_LLSC ||
	    s->tag == Ist_MBE)
		hwv_pending_flush(&work->pending);
	switch (s->tag) {
	case Ist_WrTmp:
		if (s->Ist.WrTmp.data->tag == Iex_Load)
			note(work, HW_SIDE_READ, s->Ist.WrTmp.data->Iex.Load.addr,
			     sizeofIRType(s->Ist.WrTmp.data->Iex.Load.ty));
		break;
	case Ist_Store:
		note(work, HW_SIDE_WRITTEN, s->Ist.Store.addr, size_of(work, s->Ist.Store.data));
		break;
	case Ist_StoreG:
		call(work, HW_SIDE_WRITTEN, s->Ist.StoreG.details->addr,
		     size_of(work, s->Ist.StoreG.details->data), s->Ist.StoreG.details->guard);
		break;
	case Ist_LoadG: before_conditional_load(work, s->Ist.LoadG.details); break;
	case Ist_Dirty: before_dirty(work, s->Ist.Dirty.details); break;
	default: break;
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
		.origins = LibVEX_Alloc((SizeT)temporaries * sizeof(struct origin)),
	};
	Bool began = False;

	(void)extents;
	(void)host;
	(void)host_word;
	hwv_sites_begin(closure->nraddr);
	work.pending.out = work.out;
	for (Int i = 0; i < temporaries; i++)
		work.origins[i] = (struct origin){(IRTemp)i, 0};
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
			watch_addresses(&work, s);
		}
	}
	hwv_pending_flush(&work.pending);
	note_last(&work, layout);
	return work.out;
}
