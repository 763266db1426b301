/* SPDX-License-Identifier: GPL-2.0-or-later
 * Follows control from routine to routine; see routine.h.
 *
 * A routine begins where a block of code begins that is a function's first instruction, and ends
 * when a return has brought the stack pointer to where it was before the call. A function that ends
 * in a jump to another one has the same place: both end together. What is further down when
 * something begins or ends was left by an exception or a longjmp.
 *
 * Each stack of a thread has a lane of its own; a stack is known by its outermost frame, which is
 * looked for when the stack pointer has moved further than calls and returns move it. */
#include "target/valgrind/routine.h"

#include <pub_tool_debuginfo.h>
#include <pub_tool_hashtable.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_machine.h>
#include <pub_tool_stacktrace.h>
#include <pub_tool_threadstate.h>

#include "format/patterns.h"
#include "target/valgrind/access.h"
#include "target/valgrind/arch/arch.h"
#include "target/valgrind/modules.h"
#include "target/valgrind/ring.h"

enum {
	LANES = 8,
	CALL_BYTES = 4096, /* a call or return that moves the stack pointer further is looked at */
	START_BYTES = 512, /* in which outermost frames of one stack are */
	CALLS_FIRST = 16,  /* calls of each routine that are recorded before any is left out */
	FRAMES_MAX = 500,
};

struct routine { /* of a function that was translated; the first two are the table's */
	struct routine *next;
	UWord address;
	u64 calls;
	u32 recording; /* in which its module was announced */
	Bool wanted;
};

enum mode {
	/* whether it, and what it calls, is recorded */
	OPEN,   /* recorded; what it calls is sampled */
	INSIDE, /* recorded, and all that it calls */
	LEFT,   /* left out, and all that it calls */
};

struct entry {
	struct routine *routine;
	Addr top; /* stack pointer before the call */
	enum mode mode;
};

struct lane {
	Addr base;
	Bool alternate; /* of handlers, which never wait for others */
	u32 depth, room;
	struct entry *entries;
};

struct stack { /* of a thread */
	struct lane lanes[LANES];
	struct lane *lane; /* that the thread was last seen on */
	u32 turn;
};

static VgHashTable *routines;
static struct stack **stacks; /* by ThreadId */
UInt hwv_called;

/* ---- which routines ---- */

static Bool fits_any(const HChar *name)
{
	return hw_patterns_fit(hwv_control->routine_filter, name);
}

static Bool is_wanted(DiEpoch epoch, Addr address)
{
	const HChar *name;

	if (hwv_is_replacement(address))
		return False;
	if (!hwv_control->routine_filter[0])
		return True;
	if (VG_(get_fnname_raw)(epoch, address, &name) && fits_any(name))
		return True;
	return VG_(get_objname)(epoch, address, &name) && fits_any(hw_file_name(name));
}

/* NULL if no function begins at the address. */
static struct routine *routine_at(Addr address)
{
	DiEpoch epoch = VG_(current_DiEpoch)();
	struct routine *found;
	const HChar *name;

	if (!VG_(get_fnname_if_entry)(epoch, address, &name))
		return NULL;
	/* The part of a function that is rarely needed has a symbol, and is no function. */
	if (VG_(get_fnname_raw)(epoch, address, &name) && VG_(strstr)(name, ".cold"))
		return NULL;
	if (!routines)
		routines = VG_(HT_construct)("heapwise.routines");
	found = VG_(HT_lookup)(routines, address);
	if (!found) {
		found = VG_(calloc)("heapwise.routine", 1, sizeof *found);
		found->address = address;
		VG_(HT_add_node)(routines, found);
	}
	/* Another module may be at the address by now: it is translated anew. */
	found->wanted = is_wanted(epoch, address);
	return found;
}

/* ---- lanes ---- */

static struct stack *stack_of(ThreadId tid)
{
	if (!stacks)
		stacks = VG_(calloc)("heapwise.stacks", VG_N_THREADS, sizeof *stacks);
	if (!stacks[tid])
		stacks[tid] = VG_(calloc)("heapwise.stack", 1, sizeof **stacks);
	return stacks[tid];
}

void hwv_routines_reset(ThreadId tid)
{
	if (!stacks || !stacks[tid])
		return;
	for (u32 i = 0; i < LANES; i++)
		stacks[tid]->lanes[i].depth = 0;
}

static Bool on_alternate_stack(ThreadId tid, Addr sp)
{
	Addr start = VG_(thread_get_altstack_min)(tid);

	return start && sp - start < VG_(thread_get_altstack_size)(tid);
}

/* Where the stack's outermost frame is, 0 if that is too far away. */
static Addr stack_base(ThreadId tid)
{
	static Addr codes[FRAMES_MAX], tops[FRAMES_MAX];
	UInt count = VG_(get_StackTrace)(tid, codes, FRAMES_MAX, tops, NULL, 0);

	return count && count < FRAMES_MAX ? tops[count - 1] : 0;
}

/* The outermost frame of a stack moves a little: the loader's start, then the program's. */
static Bool is_base(const struct lane *lane, Addr base)
{
	return base - lane->base + START_BYTES < 2 * START_BYTES;
}

static struct lane *lane_open(struct stack *self, Addr base, Bool alternate)
{
	struct lane *spare = NULL;

	for (u32 i = 0; i < LANES; i++) {
		struct lane *lane = &self->lanes[i];

		if (is_base(lane, base) && lane->alternate == alternate)
			return lane;
		if (!spare && !lane->depth && lane != self->lane)
			spare = lane;
	}
	if (!spare)
		spare = &self->lanes[self->turn++ % LANES];
	spare->base = base;
	spare->alternate = alternate;
	spare->depth = 0;
	return spare;
}

/* ---- records ---- */

static void put(ThreadId tid, u32 kind, u16 aux, Addr address, Addr from)
{
	hwv_put(tid, &(struct hw_record){
			     .ticks = hwv_clock_read(),
			     .address = address,
			     .size = from,
			     .kind = (u8)kind,
			     .aux = aux,
		     });
}

static void pop(ThreadId tid, struct lane *lane, enum hw_leave how)
{
	const struct entry *entry = &lane->entries[--lane->depth];

	if (entry->mode != LEFT && hwv_control)
		put(tid, HW_LEAVE, (u16)how, entry->routine->address, 0);
}

static void push(struct lane *lane, const struct entry *entry)
{
	if (lane->depth == lane->room) {
		lane->room = lane->room ? lane->room * 2 : 256;
		lane->entries =
			VG_(realloc)("heapwise.lane", lane->entries, lane->room * sizeof *entry);
	}
	lane->entries[lane->depth++] = *entry;
}

/* The lane that the stack pointer is on. */
static struct lane *lane_of(ThreadId tid, Addr top)
{
	struct stack *self = stack_of(tid);
	struct lane *lane = self->lane;
	Bool alternate;
	Addr base;

	if (likely(lane && lane->depth)) {
		Addr last = lane->entries[lane->depth - 1].top;

		if (likely(last - top < CALL_BYTES))
			return lane;
	}
	alternate = on_alternate_stack(tid, top - 1);
	base = stack_base(tid);
	if (lane && lane->alternate == alternate && (!base || is_base(lane, base)))
		return lane;
	while (lane && lane->alternate && !alternate && lane->depth)
		pop(tid, lane, HW_LEAVE_UNWOUND);
	return self->lane = lane_open(self, base, alternate);
}

static enum mode mode_of(const struct lane *lane, u64 calls)
{
	enum mode outer = lane->depth ? lane->entries[lane->depth - 1].mode : OPEN;
	u64 every = hwv_control->routine_sample;

	if (outer != OPEN || every < 2 || calls < CALLS_FIRST)
		return outer;
	return calls % every == 0 ? INSIDE : LEFT;
}

/* ---- what translated code calls ---- */

static VG_REGPARM(3) void begins(struct routine *routine, Addr sp, Addr from)
{
	struct entry entry = {.routine = routine, .top = sp + HWV_RETURN_BYTES};
	Bool by_call = hwv_called != 0;
	struct lane *lane;
	ThreadId tid;

	hwv_called = 0;
	if (!hwv_wants_allocation())
		return;
	tid = VG_(get_running_tid)();
	lane = lane_of(tid, entry.top);
	while (lane->depth && (lane->entries[lane->depth - 1].top < entry.top ||
			       (by_call && lane->entries[lane->depth - 1].top == entry.top)))
		pop(tid, lane, HW_LEAVE_UNWOUND);
	if (!by_call && lane->depth && lane->entries[lane->depth - 1].top == entry.top &&
	    lane->entries[lane->depth - 1].routine == routine)
		return; /* a jump to its own beginning */
	if (routine->recording != hwv_recording ||
	    (hwv_modules_doubtful && hwv_modules_doubts(routine->address)))
		hwv_modules_saw(routine->address);
	routine->recording = hwv_recording;
	entry.mode = mode_of(lane, routine->calls++);
	if (entry.mode == LEFT)
		add_relaxed(&hwv_control->routines_left_out, 1);
	else
		put(tid, HW_ENTER, 0, routine->address, from);
	push(lane, &entry);
}

static void left_out(void)
{
	hwv_called = 0;
	if (hwv_control)
		add_relaxed(&hwv_control->routines_left_out, 1);
}

/* A return has put the stack pointer there. */
static VG_REGPARM(1) void returned(Addr sp)
{
	ThreadId tid = VG_(get_running_tid)();
	struct lane *lane = stacks && stacks[tid] ? stacks[tid]->lane : NULL;

	if (!lane || !lane->depth || lane->entries[lane->depth - 1].top > sp)
		return;
	if (lane->entries[lane->depth - 1].top != sp)
		lane = lane_of(tid, sp);
	while (lane->depth && lane->entries[lane->depth - 1].top < sp)
		pop(tid, lane, HW_LEAVE_UNWOUND);
	while (lane->depth && lane->entries[lane->depth - 1].top == sp)
		pop(tid, lane, HW_LEAVE_RETURN);
}

/* ---- translation ---- */

static IRExpr *stack_pointer(IRSB *out, const VexGuestLayout *layout)
{
	IRTemp value = newIRTemp(out->tyenv, Ity_I64);

	addStmtToIRSB(out, IRStmt_WrTmp(value, IRExpr_Get(layout->offset_SP, Ity_I64)));
	return IRExpr_RdTmp(value);
}

void hwv_routine_begins(IRSB *out, const VexGuestLayout *layout, Addr address)
{
	struct routine *routine = routine_at(address);
	IRDirty *d;

	if (!routine)
		return;
	if (routine->wanted) {
		IRExpr *sp = stack_pointer(out, layout);
		IRExpr *from = hwv_return_address(out, sp);

		d = unsafeIRDirty_0_N(3, "hwv_routine_begins", VG_(fnptr_to_fnentry)(begins),
				      mkIRExprVec_3(mkIRExpr_HWord((HWord)routine), sp, from));
	} else {
		d = unsafeIRDirty_0_N(0, "hwv_routine_left_out", VG_(fnptr_to_fnentry)(left_out),
				      mkIRExprVec_0());
	}
	addStmtToIRSB(out, IRStmt_Dirty(d));
}

void hwv_routine_calls(IRSB *out)
{
	if (hwv_ends_in_call(out))
		addStmtToIRSB(out, IRStmt_Store(Iend_LE, mkIRExpr_HWord((HWord)&hwv_called),
						IRExpr_Const(IRConst_U32(1))));
}

void hwv_routine_ends(IRSB *out, const VexGuestLayout *layout)
{
	IRDirty *d;

	if (out->jumpkind != Ijk_Ret)
		return;
	d = unsafeIRDirty_0_N(1, "hwv_routine_returned", VG_(fnptr_to_fnentry)(returned),
			      mkIRExprVec_1(stack_pointer(out, layout)));
	addStmtToIRSB(out, IRStmt_Dirty(d));
}
