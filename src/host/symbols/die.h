/* SPDX-License-Identifier: MIT
 * Steps through the tree of debug info. libdw follows what it finds there wherever it points, so
 * that damaged or hostile debug info could lead round in circles: these insist on progress within
 * one unit. */
#ifndef HOST_SYMBOLS_DIE_H
#define HOST_SYMBOLS_DIE_H

#include <elfutils/libdw.h>

static inline bool die_is_behind(const Dwarf_Die *die, const Dwarf_Die *before)
{
	return die->addr > before->addr && die->cu == before->cu;
}

/* Its first child; false if there is none. */
static inline bool die_child(Dwarf_Die *parent, Dwarf_Die *child)
{
	return dwarf_child(parent, child) == 0 && die_is_behind(child, parent);
}

/* Goes on to its sibling; false if there is none. */
static inline bool die_next(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || !die_is_behind(&next, die))
		return false;
	*die = next;
	return true;
}

#endif
