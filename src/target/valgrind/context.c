/* SPDX-License-Identifier: GPL-2.0-or-later
 * From stacks to nodes; see context.h. */
#include "target/valgrind/context.h"

#include <pub_tool_stacktrace.h>

#include "target/valgrind/modules.h"
#include "target/valgrind/state.h"
#include "target/valgrind/tree.h"

enum {
	DEPTH_MAX = 1024,
	REPLACEMENT_FRAMES = 8, /* at most, of the functions that stand in for malloc */
};

static u32 child(u32 parent, u64 pc)
{
	u32 node = hwv_tree_find(parent, pc);

	if (node)
		return node;
	if (pc >= HW_CUT_PC + 1)
		hwv_modules_saw(pc - 1);
	return hwv_tree_make(parent, pc);
}

/* The nodes of the frames [first, count), outermost first. Valgrind gives the last byte of each
 * call; a node has the return address. */
static u32 path_node(const Addr *pcs, u32 first, u32 count, Bool cut)
{
	u32 node = hwv_root_node;

	if (cut) {
		hwv_fault(HW_FAULT_STACK_CUT);
		node = child(node, HW_CUT_PC);
		hwv_nodes[node].flags = HW_NODE_CUT;
	}
	for (u32 i = count; i-- > first;)
		node = child(node, pcs[i] + 1);
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
