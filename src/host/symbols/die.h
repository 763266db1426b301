/* SPDX-License-Identifier: MIT
 * Steps through the tree of debug info. libdw follows what it finds there wherever it points, so
 * that damaged or hostile debug info could lead round in circles: these insist on progress within
 * one unit. */
#ifndef HOST_SYMBOLS_DIE_H
#define HOST_SYMBOLS_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "format/types.h"

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

static inline bool die_is_aggregate(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* An attribute that is a number; false if there is none. */
static inline bool die_number(Dwarf_Die *die, unsigned int name, u64 *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &word) != 0)
		return false;
	*value = word;
	return true;
}

/* Its type; false if it has none. */
static inline bool die_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

/* The file that declares it, NULL = unknown. libdw takes number 0 for none, but since DWARF 5 that
 * is the source file of the unit. */
static inline const char *die_file(Dwarf_Die *die)
{
	const char *file = dwarf_decl_file(die);
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Half version;
	size_t count;
	u64 number;

	if (file || !die_number(die, DW_AT_decl_file, &number) || number ||
	    dwarf_cu_info(die->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) != 0 ||
	    version < 5 || dwarf_getsrcfiles(&unit, &files, &count) != 0 || !count)
		return file;
	return dwarf_filesrc(files, 0, NULL, NULL);
}

/* Where a member is in its class. DWARF 2 has an expression that adds the offset; that of a virtual
 * base is a longer one. */
static inline bool die_place(Dwarf_Die *die, u64 *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (die_number(die, DW_AT_data_member_location, offset))
		return true;
	if (!dwarf_attr_integrate(die, DW_AT_data_member_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1 ||
	    ops[0].atom != DW_OP_plus_uconst)
		return false;
	*offset = ops[0].number;
	return true;
}

#endif
