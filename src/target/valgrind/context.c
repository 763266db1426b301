/* SPDX-License-Identifier: GPL-2.0-or-later
 * The calling-context tree; see context.h. Nodes live in shared memory, the index that finds them is
 * the tool's own. */
#include "target/valgrind/context.h"

#include <pub_tool_stacktrace.h>

#include "target/valgrind/modules.h"

enum {
	FIRST_BITS = 12,
	DEPTH_MAX = 1024,
	REPLACEMENT_FRAMES = 8, /* at most, of the functions that stand in for malloc */
};

static u32 *table; /* nodes by hash of (parent, pc), 0 = empty */
static u64 table_mask;
static u32 used;

void hwv_contexts_reset(void)
{
	if (table)
		VG_(free)(table);
	table_mask = (1u << FIRST_BITS) - 1;
	table = VG_(calloc)("heapwise.contexts", table_mask + 1, sizeof(*table));
	used = 0;
}

static u64 hash(u32 parent, u64 pc)
{
	u64 h = (pc ^ (u64)parent << 40) * 0x9e3779b97f4a7c15ull + parent;

	return h ^ h >> 29;
}

static void table_insert(u32 node)
{
	u64 at = hash(hwv_nodes[node].parent, hwv_nodes[node].pc);

	while (table[at & table_mask])
		at++;
	table[at & table_mask] = node;
}

static void table_grow(void)
{
	u32 *old = table;
	u64 old_mask = table_mask;

	table_mask = table_mask * 2 + 1;
	table = VG_(calloc)("heapwise.contexts", table_mask + 1, sizeof(*table));
	for (u64 i = 0; i <= old_mask; i++)
		if (old[i])
			table_insert(old[i]);
	VG_(free)(old);
}

static u32 node_make(u32 parent, u64 pc)
{
	u32 node = hwv_control->nodes_used;

	if (node >= hwv_control->nodes_max) {
		hwv_fault(HW_FAULT_NODES_FULL);
		return 0;
	}
	hwv_nodes[node] = (struct hw_node){.pc = pc, .parent = parent};
	store_release(&hwv_control->nodes_used, node + 1);
	if (++used > table_mask / 2)
		table_grow();
	table_insert(node);
	return node;
}

u32 hwv_context_child(u32 parent, u64 pc)
{
	u64 at = hash(parent, pc);
	u32 node;

	while ((node = table[at & table_mask])) {
		if (hwv_nodes[node].pc == pc && hwv_nodes[node].parent == parent)
			return node;
		at++;
	}
	if (pc >= HW_CUT_PC + 1)
		hwv_modules_saw(pc - 1);
	return node_make(parent, pc);
}

/* The nodes of the frames [first, count), outermost first. Valgrind gives the last byte of each call; a
 * node has the return address. */
static u32 path_node(const Addr *pcs, u32 first, u32 count, Bool cut)
{
	u32 node = hwv_root_node;

	if (cut) {
		hwv_fault(HW_FAULT_STACK_CUT);
		node = hwv_context_child(node, HW_CUT_PC);
		hwv_nodes[node].flags = HW_NODE_CUT;
	}
	for (u32 i = count; i-- > first;)
		node = hwv_context_child(node, pcs[i] + 1);
	return node;
}

/* Valgrind may walk past the outermost frame, into whatever the stack begins with. */
static u32 without_strays(const Addr *pcs, u32 first, u32 count)
{
	static Addr outermost; /* that was seen to be code */

	while (count > first && pcs[count - 1] != outermost) {
		if (hwv_is_code(pcs[count - 1]))
			outermost = pcs[count - 1];
		else
			count--;
	}
	return count;
}

/* Frames are numbered from the innermost, the allocator function's own. */
u32 hwv_context_of(ThreadId tid)
{
	static Addr pcs[DEPTH_MAX + REPLACEMENT_FRAMES + 1];
	u32 most = hwv_control->max_depth;
	u32 count = VG_(get_StackTrace)(tid, pcs, most + REPLACEMENT_FRAMES + 1, NULL, NULL, 0);
	u32 first = 0, root, node;
	Bool cut;

	while (first < count && first < REPLACEMENT_FRAMES && hwv_is_replacement(pcs[first]))
		first++; /* valloc calls memalign */
	if (!first)
		first = 1;
	if (unlikely(hwv_modules_doubtful))
		for (u32 i = first; i < count; i++)
			if (hwv_modules_doubts(pcs[i]))
				hwv_modules_saw(pcs[i]);
	count = without_strays(pcs, first, count);
	cut = count > first + most;
	if (cut)
		count = first + most;
	do { /* once more if a module on the way turns out to have replaced another one */
		root = hwv_root_node;
		node = path_node(pcs, first, count, cut);
	} while (root != hwv_root_node);
	return node;
}
