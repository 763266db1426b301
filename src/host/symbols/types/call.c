/* SPDX-License-Identifier: MIT
 * Reads the call sites that have a type.
 * Host. Debug info is most of a program: whether a unit has the attribute at all is asked of its
 * table of abbreviations, which is small. Depth is bounded, siblings only go forward. */
#include "host/symbols/types/call.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/search.h"
#include "host/base/strbuf.h"
#include "host/symbols/die.h"
#include "host/symbols/module.h"

/* Not in elfutils' list yet. */
enum { AT_LLVM_ALLOC_TYPE = 0x3e0e };

enum {
	DEPTH_MAX = 256,   /* of blocks in functions */
	POINTERS_MAX = 16, /* of pointers to pointers */
	ABBREVIATIONS_MAX = 1 << 20,
};

struct reading {
	struct call_types *out;
	u32 module;
	u64 bias; /* to add to an address of the debug info to get the module's */
	struct strbuf text;
	u32 depth;
	Dwarf_Die levels[DEPTH_MAX];
};

static bool abbreviation_has(Dwarf_Abbrev *abbreviation)
{
	size_t count = 0;
	unsigned int tag = dwarf_getabbrevtag(abbreviation);

	if ((tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) ||
	    dwarf_getattrcnt(abbreviation, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned int name = 0, form = 0;

		if (dwarf_getabbrevattr(abbreviation, i, &name, &form, NULL))
			return false;
		if (name == AT_LLVM_ALLOC_TYPE)
			return true;
	}
	return false;
}

static bool unit_has(Dwarf_Die *unit)
{
	Dwarf_Off at = 0;

	for (u32 i = 0; i < ABBREVIATIONS_MAX; i++) {
		size_t bytes = 0;
		Dwarf_Abbrev *abbreviation = dwarf_getabbrev(unit, at, &bytes);

		if (!abbreviation || abbreviation == DWARF_END_ABBREV || !bytes)
			return false;
		if (abbreviation_has(abbreviation))
			return true;
		at += bytes;
	}
	return false;
}

/* ---- names ---- */

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* "space::Class::", from the outside in. */
static void put_scopes(struct strbuf *out, Dwarf_Die *type)
{
	Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes_die(type, &scopes);

	for (int i = count - 1; i > 0; i--) {
		const char *name = dwarf_diename(&scopes[i]);

		if (!is_scope(dwarf_tag(&scopes[i])))
			continue;
		strbuf_addf(out, "%s::", name ? name : "(anonymous namespace)");
	}
	free(scopes);
}

/* False if it has no name: a closure, a function. */
static bool put_type(struct strbuf *out, Dwarf_Die *die)
{
	Dwarf_Die type = *die, inner;
	Dwarf_Attribute attribute;
	const char *name;
	u32 pointers = 0;

	while (dwarf_peel_type(&type, &inner) == 0 && dwarf_tag(&inner) == DW_TAG_pointer_type) {
		if (pointers++ == POINTERS_MAX)
			return false;
		if (!dwarf_formref_die(dwarf_attr_integrate(&inner, DW_AT_type, &attribute),
				       &type)) {
			strbuf_add(out, "void");
			goto behind;
		}
	}
	name = dwarf_diename(&inner);
	if (!name)
		return false;
	put_scopes(out, &inner);
	strbuf_add(out, name);
behind:
	while (pointers--)
		strbuf_add(out, "*");
	return true;
}

/* ---- call sites ---- */

static bool return_address(Dwarf_Die *die, Dwarf_Addr *address)
{
	Dwarf_Attribute attribute;

	if (dwarf_tag(die) == DW_TAG_GNU_call_site)
		return dwarf_lowpc(die, address) == 0;
	return dwarf_formaddr(dwarf_attr(die, DW_AT_call_return_pc, &attribute), address) == 0;
}

static int visit(struct reading *self, Dwarf_Die *die)
{
	struct call_type row = {.module = self->module};
	Dwarf_Attribute attribute;
	Dwarf_Addr address;
	Dwarf_Word size;
	Dwarf_Die type;
	int tag = dwarf_tag(die);

	if ((tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) ||
	    !dwarf_formref_die(dwarf_attr(die, AT_LLVM_ALLOC_TYPE, &attribute), &type) ||
	    !return_address(die, &address) || !address)
		return 0;
	strbuf_clear(&self->text);
	if (!put_type(&self->text, &type))
		return 0;
	row.address = address + self->bias - 1;
	row.type = names_keep(&self->out->names, strbuf_text(&self->text));
	row.size = dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
	return *row.type && vec_push(&self->out->rows, row) ? 0 : ERR_MEMORY;
}

/* The DIE behind the one on top: its child, its sibling, or that of the nearest ancestor that has
 * one. */
static bool next_die(struct reading *self)
{
	if (self->depth < DEPTH_MAX &&
	    die_child(&self->levels[self->depth - 1], &self->levels[self->depth])) {
		self->depth++;
		return true;
	}
	while (self->depth > 1 && !die_next(&self->levels[self->depth - 1]))
		self->depth--;
	return self->depth > 1;
}

static int read_unit(struct reading *self, Dwarf_Die *unit)
{
	int status = 0;

	if (!unit_has(unit))
		return 0;
	self->levels[0] = *unit;
	self->depth = 1;
	while (status == 0 && next_die(self))
		status = visit(self, &self->levels[self->depth - 1]);
	return status;
}

static int read_module(struct reading *self, const struct symbolizer_module *description,
		       const struct module_places *places)
{
	Dwarf *dwarf = NULL;
	struct module module;
	GElf_Addr elf_bias = 0;
	Dwarf_Addr bias = 0;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	u8 type;
	int status = module_open_dwarf(&module, description, places, &dwarf);

	if (status < 0)
		return status == ERR_MEMORY ? status : 0;
	if (dwarf && dwfl_module_getelf(module.handle, &elf_bias) &&
	    dwfl_module_getdwarf(module.handle, &bias))
		self->bias = bias - elf_bias;
	while (dwarf && status == 0 &&
	       dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			status =
				read_unit(self, type == DW_UT_skeleton && split.cu ? &split : &die);
	module_close(&module);
	return status;
}

/* What the trace kept of a file's debug info, instead of that. */
static int take_kept(struct reading *self, const struct debug_types_file *file)
{
	for (u64 i = 0; i < file->rows.count; i++) {
		struct call_type row = {.module = self->module,
					.address = file->rows.data[i].address,
					.size = file->rows.data[i].size};

		if (file->rows.data[i].sort != DEBUG_TYPE_CALL)
			continue;
		row.type = names_keep(&self->out->names, file->rows.data[i].name);
		if (!vec_push(&self->out->rows, row))
			return ERR_MEMORY;
	}
	return 0;
}

static int read_calls(struct reading *self, const struct call_types_query *query, u32 number,
		      const struct module_places *places)
{
	const struct symbolizer_module *module = &query->modules[number];
	const struct debug_types_file *kept =
		debug_types_find(query->kept, module->path, module->build_id,
				 module->build_id_bytes);

	return kept ? take_kept(self, kept) : read_module(self, module, places);
}

/* ---- all modules ---- */

static int compare_places(const struct call_type *x, const struct call_type *y)
{
	return rising(x->module, y->module) ?: rising(x->address, y->address);
}

static int compare_rows(const void *a, const void *b)
{
	const struct call_type *x = a, *y = b;

	return compare_places(x, y) ?: strcmp(x->type, y->type);
}

int call_types_read(struct call_types *self, const struct call_types_query *query, struct err *err)
{
	struct reading *reading = calloc(1, sizeof *reading);
	struct module_places places = {0};
	int status = 0;

	elf_version(EV_CURRENT);
	if (!reading || !module_places_init(&places, query->debug_path))
		status = ERR_MEMORY;
	for (u32 i = 0; i < query->module_count && status == 0; i++) {
		reading->out = self;
		reading->module = i;
		reading->bias = 0;
		status = read_calls(reading, query, i, &places);
	}
	vec_sort(&self->rows, compare_rows);
	module_places_release(&places);
	if (reading)
		strbuf_release(&reading->text);
	free(reading);
	return status ? err_set(err, status, "out of memory for the types of calls") : 0;
}

const struct call_type *call_types_find(const struct call_types *self, u32 module, u64 address)
{
	const struct call_type key = {.module = module, .address = address};
	u64 count = self->rows.count,
	    low = bisect(at, count, compare_places(&self->rows.data[at], &key) < 0);
	const struct call_type *row = &self->rows.data[low];

	if (low == count || compare_places(row, &key) != 0)
		return NULL;
	/* Two types for one call cannot both be right. */
	if (low + 1 < count && compare_places(row + 1, &key) == 0 &&
	    strcmp(row[1].type, row->type) != 0)
		return NULL;
	return row;
}

void call_types_release(struct call_types *self)
{
	vec_release(&self->rows);
	names_release(&self->names);
	*self = (struct call_types){0};
}
