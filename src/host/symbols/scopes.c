/* SPDX-License-Identifier: MIT
 * One walk over a unit's DIE tree finds its functions, and walks below these what addresses fall
 * into. Runs on the host. Never recurses and never goes backwards in the file, so damaged or
 * hostile debug info can neither exhaust the stack nor keep it busy for ever. */
#include "host/symbols/scopes.h"

#include <dwarf.h>

#include "host/base/err.h"
#include "host/base/search.h"
#include "host/base/vec.h"
#include "host/symbols/die.h"

enum { DEPTH_MAX = 512 };

struct level {
	Dwarf_Die die;
	u32 scope; /* innermost scope around the children of die */
};

struct walk {
	struct scopes *scopes;
	struct unit_functions *functions; /* to be filled, instead of scopes */
	bool thorough; /* look for functions in places where C and C++ compilers put none */
	u32 depth;
	struct level levels[DEPTH_MAX];
};

/* Index of the first address >= value. */
static u64 lower_bound(const struct scopes *self, u64 value)
{
	u64 low = bisect(at, self->address_count, self->addresses[at] < value);

	return low;
}

/* Puts the addresses that lie in the code of a DIE into scope; with NO_SCOPE only says whether
 * there are any. A range that starts at 0 is code which the linker threw away. */
static bool mark_addresses(struct scopes *self, Dwarf_Die *die, u32 scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		u64 i = start ? lower_bound(self, start) : self->address_count;

		for (; i < self->address_count && self->addresses[i] < end; i++) {
			any = true;
			if (scope == NO_SCOPE)
				return true;
			self->innermost[i] = scope;
		}
	}
	return any;
}

/* Makes die a scope: 1 or ERR_MEMORY. */
static int enter_scope(struct scopes *self, Dwarf_Die *die, u32 *scope)
{
	struct scope new = {.die = *die, .parent = *scope};

	if (self->count >= NO_SCOPE || !vec_push(self, new))
		return ERR_MEMORY;
	*scope = (u32)(self->count - 1);
	mark_addresses(self, die, *scope);
	return 1;
}

/* The ranges of a function; code that the linker threw away starts at 0. */
static int list_function(struct unit_functions *self, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct unit_function row = {.low = start, .high = end, .die = *die};

		if (start && start < end && !vec_push(self, row))
			return ERR_MEMORY;
	}
	return 0;
}

/* Decides whether to look below die: 1 or 0, or ERR_MEMORY. *scope is what is around it, and
 * becomes what is around its children. In a function that holds addresses everything is looked at:
 * strict DWARF 2 gives blocks and inlined functions the range of their first piece only. */
static int visit(struct walk *walk, Dwarf_Die *die, u32 *scope)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		if (walk->functions)
			return list_function(walk->functions, die);
		*scope = NO_SCOPE;
		if (mark_addresses(walk->scopes, die, NO_SCOPE))
			return enter_scope(walk->scopes, die, scope);
		return walk->thorough;
	case DW_TAG_inlined_subroutine:
		return *scope == NO_SCOPE ? 0 : enter_scope(walk->scopes, die, scope);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module: return 1;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: return walk->thorough;
	default: return 0;
	}
}

/* The next DIE after the one on top: its sibling, or that of the nearest ancestor that has one. */
static bool next_die(struct walk *walk)
{
	while (walk->depth > 0 && !die_next(&walk->levels[walk->depth - 1].die))
		walk->depth--;
	return walk->depth > 0;
}

static bool push_child(struct walk *walk, Dwarf_Die *parent, u32 scope)
{
	struct level *level = &walk->levels[walk->depth];

	if (walk->depth == DEPTH_MAX || !die_child(parent, &level->die))
		return false;
	level->scope = scope;
	walk->depth++;
	return true;
}

static int walk_below(struct walk *walk, Dwarf_Die *root, u32 around)
{
	bool more = push_child(walk, root, around);

	while (more) {
		struct level *top = &walk->levels[walk->depth - 1];
		u32 scope = top->scope;
		int below = visit(walk, &top->die, &scope);

		if (below < 0)
			return below;
		more = (below && push_child(walk, &top->die, scope)) || next_die(walk);
	}
	return 0;
}

static bool all_found(const struct scopes *self)
{
	for (u64 i = 0; i < self->address_count; i++)
		if (self->innermost[i] == NO_SCOPE)
			return false;
	return true;
}

/* Functions in which addresses are, and what is below these. */
static int walk_functions(struct walk *walk, const struct unit_functions *functions)
{
	const void *entered = NULL;
	int result = 0;

	for (u64 i = 0; i < functions->count && result >= 0; i++) {
		const struct unit_function *row = &functions->data[i];
		u64 first = lower_bound(walk->scopes, row->low);
		Dwarf_Die die = row->die;
		u32 scope = NO_SCOPE;

		if (first == walk->scopes->address_count ||
		    walk->scopes->addresses[first] >= row->high || entered == die.addr)
			continue;
		entered = die.addr;
		result = enter_scope(walk->scopes, &die, &scope);
		if (result >= 0)
			result = walk_below(walk, &die, scope);
	}
	return result < 0 ? result : 0;
}

int scopes_read(struct scopes *self, Dwarf_Die *root, const struct unit_functions *functions)
{
	struct walk *walk = malloc(sizeof(*walk));
	int result;

	if (!walk)
		return ERR_MEMORY;
	walk->scopes = self;
	walk->functions = NULL;
	walk->thorough = false;
	walk->depth = 0;
	result = walk_functions(walk, functions);
	if (!result && !all_found(self)) {
		walk->thorough = true;
		walk->depth = 0;
		result = walk_below(walk, root, NO_SCOPE);
	}
	free(walk);
	return result;
}

int unit_functions_read(struct unit_functions *self, Dwarf_Die *root)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int result = walk ? 0 : ERR_MEMORY;

	if (walk) {
		walk->functions = self;
		result = walk_below(walk, root, NO_SCOPE);
	}
	self->read = true;
	free(walk);
	return result;
}

void unit_functions_release(struct unit_functions *self) { vec_release(self); }

void scopes_release(struct scopes *self) { vec_release(self); }
