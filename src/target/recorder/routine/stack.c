/* SPDX-License-Identifier: MIT
 * Calling contexts made of the routines that have begun, for code that cannot be unwound; see
 * stack.h.
 * Runs in the target.
 *
 * A frame's place is the return address of what it called: that of the next routine, or of the
 * allocator function. That needs to be in the frame's function. Where the call went through code
 * that is not instrumented it is not; then there are two frames, the routine where it told that it
 * began, and the place in that code. Routines that were expanded inside others share a frame, which
 * is one place, as it is for the unwinder.
 *
 * The context of the call that a routine is in stays the same as long as it lasts, and is kept in
 * its entry: an event adds one or two frames to it. */
#include "target/recorder/pool/find.h"
#include "target/recorder/routine/lanes.h"
#include "target/recorder/routine/stack.h"
#include "target/recorder/routine/wanted.h"
#include "target/recorder/state/context.h"
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/fresh.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"

enum { VERDICTS = 1024, FUNCTION_BYTES = 1 << 20 };

struct path {
	u64 hash;
	u32 node, frames;
};

/* ---- functions ---- */

/* A function is looked for that begins between these two. */
static __thread struct {
	u64 from, to;
	bool found;
} between __attribute__((tls_model("initial-exec")));

static void look_at(const char *name, u64 start)
{
	(void)name;
	between.found |= start > between.from && start < between.to;
}

/* Where there is no unwind information: whether no function that is known, by the module's symbols
 * or because it told that it began, begins between the two. The answer is kept, since all must be
 * looked at. */
static bool is_near(u64 a, u64 b, const struct hwr_module_at *module)
{
	static u64 verdicts[VERDICTS];
	u64 hash = hwr_path_hash(hwr_path_hash(0, a), b) | 2, *verdict = &verdicts[hash >> 54];
	u64 kept = load_relaxed(verdict);

	if ((kept | 1) == (hash | 1))
		return kept & 1;
	between.from = a < b ? a : b;
	between.to = a < b ? b : a;
	between.found = hwr_wanted_between(between.from, between.to);
	if (!between.found && module)
		hwr_find_each(module->name, module->base, look_at);
	store_relaxed(verdict, (hash & ~(u64)1) | !between.found);
	return !between.found;
}

/* Whether two return addresses are in one function. */
static bool is_one_function(u64 a, u64 b)
{
	struct hwr_module_at of_a, of_b;
	bool known_a = hwr_module_at(a - 1, &of_a), known_b = hwr_module_at(b - 1, &of_b);
	u64 start_a, start_b;

	if (known_a != known_b || (known_a && of_a.start != of_b.start))
		return false;
	start_a = known_a ? hwr_cfi_start(a - 1, &of_a) : 0;
	start_b = known_b ? hwr_cfi_start(b - 1, &of_b) : 0;
	if (start_a || start_b)
		return start_a == start_b;
	return (a < b ? b - a : a - b) < FUNCTION_BYTES && is_near(a, b, known_a ? &of_a : NULL);
}

/* Whether what returns to pc, with the stack pointer there, was called by the routine itself. Most
 * functions leave the stack pointer where it was when they told that they began; no other frame is
 * there then. */
static bool called_by(const struct hwr_entry *entry, u64 pc, u64 sp)
{
	return likely(entry->sp == sp) || is_one_function(entry->pc, pc);
}

static bool same_frame(const struct hwr_entry *a, const struct hwr_entry *b)
{
	return a->top == b->top && a->site == b->site;
}

/* ---- paths ---- */

static void path_add(struct hwr_thread *t, struct path *path, u64 pc)
{
	if (path->frames++ >= hwr_control->max_depth)
		return;               /* only the innermost frames will be kept, see cut_context */
	hwr_rule_of(pc, &t->scratch); /* announces the module before a context names its code */
	path->hash = hwr_path_hash(path->hash, pc);
	path->node = hwr_context_child(path->node, pc, path->hash);
}

/* Adds a call that the entry made, or that was made below it. */
static void path_add_call(struct hwr_thread *t, struct path *path, const struct hwr_entry *entry,
			  u64 pc, u64 sp)
{
	if (!called_by(entry, pc, sp))
		path_add(t, path, entry->pc);
	path_add(t, path, pc);
}

static struct path kept_path(const struct hwr_entry *entry)
{
	return (struct path){entry->hash, entry->node, entry->frames};
}

/* The path that lane->entries[count] was called from, given that of those before. */
static struct path path_of_next(struct hwr_thread *t, const struct hwr_lane *lane, u32 count,
				struct path outer)
{
	const struct hwr_entry *entry = &lane->entries[count], *before = entry - 1;

	if (count && same_frame(before, entry))
		return kept_path(before);
	if (count)
		path_add_call(t, &outer, before, entry->site, entry->top);
	else
		path_add(t, &outer, entry->site);
	return outer;
}

/* The path that the last of the lane's first `count` entries was called from; `outer` is that of
 * its stack. */
static struct path path_to(struct hwr_thread *t, struct hwr_lane *lane, u32 count,
			   struct path outer, u32 epoch)
{
	u32 known = count;

	while (known && lane->entries[known - 1].epoch != epoch)
		known--;
	if (known)
		outer = kept_path(&lane->entries[known - 1]);
	for (; known < count; known++) {
		struct hwr_entry *entry = &lane->entries[known];

		outer = path_of_next(t, lane, known, outer);
		entry->hash = outer.hash;
		entry->node = outer.node;
		entry->frames = outer.frames;
		/* a handler may look: whole before it is valid */
		__asm__ volatile("" : : : "memory");
		entry->epoch = epoch;
	}
	return outer;
}

/* What a handler has interrupted: the lane of another stack, or that of the hook which t is not to
 * disturb. Its entries are whole; it stands still meanwhile. */
static struct hwr_lane *interrupted(const struct hwr_thread *t, const struct hwr_lane *lane)
{
	if (lane && lane->base & 1 && lane->below && lane->below->base == lane->below_base)
		return lane->below;
	return t->is_nested && hwr_self && hwr_self->routines ? hwr_self->routines->lane : NULL;
}

/* What the stack of the lane, which may be NULL, hangs below. */
static struct path path_below(struct hwr_thread *t, const struct hwr_lane *lane, u32 epoch)
{
	struct path root = {hwr_root_hash, hwr_root_node, 0};
	struct hwr_lane *below = interrupted(t, lane);

	if (!below || !below->depth)
		return root;
	root = path_to(t, below, below->depth, root, epoch);
	path_add(t, &root, hwr_lane_last(below)->pc);
	return root;
}

/* ---- contexts ---- */

/* The innermost frames of a stack that has more than are kept. */
static u32 cut_context(struct hwr_thread *t, const struct hwr_lane *lane, u32 depth,
		       const struct hwr_caller *caller)
{
	u64 pc = caller->pc, sp = caller->sp;
	u32 count = 0, max = hwr_control->max_depth;

	hwr_fault(HW_FAULT_STACK_CUT);
	t->fresh[count++].pc = pc;
	while (depth && count < max) {
		const struct hwr_entry *entry = &lane->entries[depth - 1];

		if (!called_by(entry, pc, sp))
			t->fresh[count++].pc = entry->pc;
		while (depth && same_frame(&lane->entries[depth - 1], entry))
			depth--;
		pc = entry->site;
		sp = entry->top;
		if (count < max)
			t->fresh[count++].pc = pc;
	}
	return hwr_stack_node(t, count, true);
}

/* How many of the entries are on the stack. Those that an exception or a longjmp passed may be
 * there still. */
static u32 live_depth(const struct hwr_lane *lane, const struct hwr_caller *caller)
{
	u32 depth = lane->depth;

	for (; depth; depth--) {
		const struct hwr_entry *entry = &lane->entries[depth - 1];
		u64 value;

		if (likely(entry->sp == caller->sp))
			break;
		if (entry->top > caller->sp &&
		    (!entry->slot || !hwr_lane_reads(caller, entry->slot, &value) ||
		     value == entry->site))
			break;
	}
	return depth;
}

static u32 context_in(struct hwr_thread *t, struct hwr_lane *lane, const struct hwr_caller *caller,
		      u32 epoch)
{
	u32 depth = lane ? live_depth(lane, caller) : 0;
	struct path path = {hwr_root_hash, hwr_root_node, 0};

	if (lane && lane->too_deep && depth == lane->depth)
		return cut_context(t, lane, 0, caller);
	if (depth && lane->entries[depth - 1].epoch == epoch)
		path = kept_path(&lane->entries[depth - 1]);
	else
		path = path_below(t, lane, epoch);
	if (depth && lane->entries[depth - 1].epoch != epoch)
		path = path_to(t, lane, depth, path, epoch);
	if (depth)
		path_add_call(t, &path, &lane->entries[depth - 1], caller->pc, caller->sp);
	else
		path_add(t, &path, caller->pc);
	if (unlikely(path.frames == 1))
		hwr_fault(HW_FAULT_STACK_BARE);
	else if (unlikely(!load_relaxed(&hwr_control->routine_stacks)))
		store_relaxed(&hwr_control->routine_stacks, 1);
	return path.frames > hwr_control->max_depth ? cut_context(t, lane, depth, caller)
						    : path.node;
}

u32 hwr_routine_context(struct hwr_thread *t, const struct hwr_caller *caller)
{
	struct hwr_lane *lane = t->routines ? hwr_lane_of(t, caller) : NULL;
	u32 epoch, node;

	do {
		epoch = load_acquire(&hwr_epoch);
		node = context_in(t, lane, caller, epoch);
		/* A module was replaced while we looked: the frames may hang below the wrong
		 * root. */
	} while (unlikely(load_relaxed(&hwr_epoch) != epoch));
	/* What is gone is not looked at again. Entries that were told end in their turn, when a
	 * routine does. */
	while (lane && lane->depth && !hwr_lane_last(lane)->told &&
	       hwr_lane_last(lane)->top <= caller->sp) {
		lane->too_deep = 0;
		lane->depth--;
	}
	return node;
}
