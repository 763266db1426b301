/* SPDX-License-Identifier: MIT
 * Looks a type up by name and lists its members.
 * Host. Looks at units, namespaces and classes only; depth is bounded, siblings only go forward. */
#include "host/symbols/types/layout.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/strbuf.h"
#include "host/symbols/die.h"
#include "host/symbols/module.h"
#include "host/symbols/type_text.h"

enum { DEPTH_MAX = 32, BASES_MAX = 16, MEMBERS_MAX = 4096 };

struct search {
	struct type_layout *out;
	const char *wanted; /* readable */
	struct strbuf scope, text;
	bool found, failed;
};

/* ---- members ---- */

/* The name of a member's type: "Foo*[4]". Qualifiers and scopes are left out. */
static void put_type(struct strbuf *out, Dwarf_Die *die, u32 depth)
{
	int tag = dwarf_tag(die);
	const char *name = dwarf_diename(die), *suffix;
	Dwarf_Die inner;

	if (name) {
		type_add_readable(out, span_of(name));
		return;
	}
	suffix = tag == DW_TAG_pointer_type            ? "*"
		 : tag == DW_TAG_reference_type        ? "&"
		 : tag == DW_TAG_rvalue_reference_type ? "&&"
		 : tag == DW_TAG_array_type            ? "[]"
						       : "";
	if (tag == DW_TAG_subroutine_type)
		strbuf_add(out, "function");
	else if (depth < DEPTH_MAX && die_type(die, &inner))
		put_type(out, &inner, depth + 1);
	else
		strbuf_add(out, die_is_aggregate(die) ? "(anonymous)" : "void");
	strbuf_add(out, suffix);
}

/* A member whose bytes are given (those of a bit-field), or those of its type. */
static bool add_member(struct search *self, struct type_member member, Dwarf_Die *die)
{
	Dwarf_Die type;
	Dwarf_Word size = 0;

	strbuf_clear(&self->text);
	if (die_type(die, &type)) {
		put_type(&self->text, &type, 0);
		if (dwarf_aggregate_size(&type, &size) != 0)
			size = 0;
	}
	member.type = names_keep(&self->out->names, strbuf_text(&self->text));
	if (!member.size)
		member.size = size;
	return self->out->members.count < MEMBERS_MAX && vec_push(&self->out->members, member);
}

static void add_members(struct search *self, Dwarf_Die *class, u64 base, u32 depth);

/* Where a bit-field is: the bytes that its bits are in. DWARF 2 and 3 count bits from the most
 * significant one of the storage unit. */
static bool place_bits(Dwarf_Die *die, u64 *offset, u64 *bytes)
{
	u64 bits, at, unit = 0;
	Dwarf_Word size = 0;
	Dwarf_Die type;

	if (!die_number(die, DW_AT_bit_size, &bits) || !bits || bits > 128)
		return false;
	if (!die_number(die, DW_AT_data_bit_offset, &at)) {
		if (!die_number(die, DW_AT_bit_offset, &at))
			return false;
		if (!die_number(die, DW_AT_byte_size, &unit) && die_type(die, &type) &&
		    dwarf_aggregate_size(&type, &size) == 0)
			unit = size;
		if (unit > 16 || 8 * unit < bits + at)
			return false;
		at = 8 * *offset + 8 * unit - at - bits;
	}
	*offset = at / 8;
	*bytes = (at + bits + 7) / 8 - *offset;
	return true;
}

/* Adds the members of a structure or union without a name instead of the member that has it. */
static bool open_unnamed(struct search *self, Dwarf_Die *die, u64 offset, u32 depth)
{
	const char *name = dwarf_diename(die);
	u64 first = self->out->members.count;
	Dwarf_Die type;

	if (depth >= BASES_MAX || !die_type(die, &type) || !die_is_aggregate(&type) ||
	    dwarf_diename(&type))
		return false;
	add_members(self, &type, offset, depth + 1);
	if (self->out->members.count == first)
		return false;
	for (u64 i = first; name && i < self->out->members.count; i++) {
		strbuf_clear(&self->text);
		strbuf_addf(&self->text, "%s.%s", name, self->out->members.data[i].name);
		self->out->members.data[i].name =
			names_keep(&self->out->names, strbuf_text(&self->text));
	}
	return true;
}

static void visit_member(struct search *self, Dwarf_Die *die, u64 base, bool is_union, u32 depth)
{
	u64 offset = 0, bytes = 0;
	bool placed = die_place(die, &offset);
	Dwarf_Die type, peeled;

	placed |= place_bits(die, &offset, &bytes);
	if (dwarf_tag(die) == DW_TAG_inheritance) {
		/* where a virtual base is, only the object knows */
		if (placed && depth < BASES_MAX && die_type(die, &type) &&
		    dwarf_peel_type(&type, &peeled) == 0)
			add_members(self, &peeled, base + offset, depth + 1);
		return;
	}
	if (!placed && (!is_union || dwarf_hasattr(die, DW_AT_external)))
		return; /* static */
	if (open_unnamed(self, die, base + offset, depth))
		return;
	self->failed |= !add_member(self,
				    (struct type_member){.name = names_keep(&self->out->names,
									    dwarf_diename(die)),
							 .offset = base + offset,
							 .size = bytes},
				    die);
}

static void add_members(struct search *self, Dwarf_Die *class, u64 base, u32 depth)
{
	bool is_union = dwarf_tag(class) == DW_TAG_union_type;
	Dwarf_Die die;

	for (bool more = die_child(class, &die); more && !self->failed; more = die_next(&die))
		if (dwarf_tag(&die) == DW_TAG_member || dwarf_tag(&die) == DW_TAG_inheritance)
			visit_member(self, &die, base, is_union, depth);
}

static int compare_members(const void *a, const void *b)
{
	const struct type_member *x = a, *y = b;

	return rising(x->offset, y->offset) ?: rising(x->size, y->size);
}

/* Puts a row where no member is. */
static bool add_padding(struct type_layout *self)
{
	u64 count = self->members.count, end = 0;

	vec_sort(&self->members, compare_members);
	for (u64 i = 0; i <= count; i++) {
		u64 next = i < count ? self->members.data[i].offset : self->size;

		if (next > end && next <= self->size &&
		    !vec_push(&self->members, (struct type_member){.name = "",
								   .type = "",
								   .offset = end,
								   .size = next - end,
								   .padding = true}))
			return false;
		if (i < count && next + self->members.data[i].size > end)
			end = next + self->members.data[i].size;
	}
	vec_sort(&self->members, compare_members);
	return true;
}

/* ---- search ---- */

/* Whether the type in this scope is the wanted one, with or without what is around it. */
static bool is_wanted(struct search *self, const char *name)
{
	struct strbuf full = {0};
	const char *got;
	size_t bytes, wanted = strlen(self->wanted);
	bool same;

	strbuf_addf(&full, "%s%s", strbuf_text(&self->scope), name);
	strbuf_clear(&self->text);
	type_add_readable(&self->text, span_of(strbuf_text(&full)));
	strbuf_release(&full);
	got = strbuf_text(&self->text);
	bytes = strlen(got);
	same = bytes >= wanted && strcmp(got + bytes - wanted, self->wanted) == 0;
	return same && (bytes == wanted || (bytes > wanted + 1 && got[bytes - wanted - 1] == ':'));
}

static void visit_class(struct search *self, Dwarf_Die *die, const char *name)
{
	u64 size;

	if (dwarf_hasattr(die, DW_AT_declaration) || !die_number(die, DW_AT_byte_size, &size) ||
	    !size || !is_wanted(self, name))
		return;
	self->found = true;
	self->out->name = names_keep(&self->out->names, strbuf_text(&self->text));
	self->out->size = size;
	add_members(self, die, 0, 0);
	self->failed |= !add_padding(self->out);
}

static void walk(struct search *self, Dwarf_Die *parent, u32 depth)
{
	bool more;
	Dwarf_Die die;

	for (more = depth < DEPTH_MAX && die_child(parent, &die);
	     more && !self->found && !self->failed; more = die_next(&die)) {
		bool is_space = dwarf_tag(&die) == DW_TAG_namespace;
		bool is_class = die_is_aggregate(&die);
		const char *name = is_space || is_class ? dwarf_diename(&die) : NULL;
		u64 before = self->scope.count;

		if (name && is_class)
			visit_class(self, &die, name);
		if (!self->found && (is_space || name)) {
			strbuf_addf(&self->scope, "%s::", name ? name : "(anonymous namespace)");
			walk(self, &die, depth + 1);
			if (self->scope.text)
				self->scope.text[self->scope.count = before] = 0;
		}
	}
}

static int read_module(struct search *self, const struct symbolizer_module *description,
		       const struct module_places *places)
{
	Dwarf *dwarf = NULL;
	struct module module;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	u8 type;
	int status = module_open_dwarf(&module, description, places, &dwarf);

	if (status < 0)
		return status == ERR_MEMORY ? status : 0;
	while (dwarf && !self->found && !self->failed &&
	       dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		strbuf_clear(&self->scope);
		walk(self, type == DW_UT_skeleton && split.cu ? &split : &die, 0);
	}
	module_close(&module);
	return self->failed ? ERR_MEMORY : 0;
}

void type_add_usual_node(struct strbuf *out, const char *name)
{
	static const char *const heads[] = {"std::multi", "std::unordered_multi"};
	size_t bytes = strlen(name);

	for (u32 i = 0; i < 2; i++) {
		size_t head = strlen(heads[i]);

		if (bytes < head + 5 || strncmp(name, heads[i], head) != 0 ||
		    strcmp(name + bytes - 5, " node") != 0)
			continue;
		strbuf_add_bytes(out, name, head - strlen("multi"));
		name += head;
		break;
	}
	strbuf_add(out, name);
}

int type_layout_read(struct type_layout *self, const struct type_layout_query *query,
		     struct err *err)
{
	struct search search = {.out = self};
	struct module_places places = {0};
	struct strbuf asked = {0}, wanted = {0};
	int status = 0;

	type_add_readable(&asked, span_of(query->name));
	type_add_usual_node(&wanted, strbuf_text(&asked));
	search.wanted = strbuf_text(&wanted);
	elf_version(EV_CURRENT);
	if (asked.failed || wanted.failed || !module_places_init(&places, query->debug_path))
		status = ERR_MEMORY;
	for (u32 i = 0; i < query->module_count && status == 0 && !search.found; i++)
		status = read_module(&search, &query->modules[i], &places);
	if (search.found && wanted.count != asked.count)
		self->name = names_keep(&self->names, strbuf_text(&asked));
	module_places_release(&places);
	strbuf_release(&asked);
	strbuf_release(&wanted);
	strbuf_release(&search.scope);
	strbuf_release(&search.text);
	return status ? err_set(err, status, "out of memory for the members of a type") : 0;
}

void type_layout_release(struct type_layout *self)
{
	vec_release(&self->members);
	names_release(&self->names);
	*self = (struct type_layout){0};
}
