/* SPDX-License-Identifier: GPL-2.0-or-later
 * The calling-context tree; see tree.h. Nodes live in shared memory, the index that finds them is
 * the tool's own. */
#include "target/valgrind/tree.h"

#include "target/valgrind/state.h"

enum { FIRST_BITS = 12 };

static u32 *table; /* nodes by hash of (parent, pc), 0 = empty */
static u64 table_mask;
static u32 used;

void hwv_tree_reset(void)
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

u32 hwv_tree_make(u32 parent, u64 pc)
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

u32 hwv_tree_find(u32 parent, u64 pc)
{
	u64 at = hash(parent, pc);
	u32 node;

	while ((node = table[at & table_mask]) &&
	       !(hwv_nodes[node].pc == pc && hwv_nodes[node].parent == parent))
		at++;
	return node;
}
