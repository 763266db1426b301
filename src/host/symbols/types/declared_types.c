/* SPDX-License-Identifier: MIT
 * Types of debug info, read when they are asked for; see declared.h.
 * Host. Members are read one level at a time, so that types that have each other do no harm. */
#include "host/symbols/types/declared_types.h"

#include "host/base/order.h"

enum { PEEL_MAX = 32, MEMBERS_MAX = 4096, POINTER_BYTES = 8 };

static u32 add_type(struct declared *self, Dwarf_Die *die, u32 depth);

/* ---- names ---- */

static const char *readable(struct declared *self, const char *scope, const char *name)
{
	struct strbuf full = {0}, text = {0};
	const char *kept;

	strbuf_addf(&full, "%s%s", scope, name);
	type_add_readable(&text, span_of(strbuf_text(&full)));
	self->failed |= full.failed || text.failed;
	kept = names_keep(&self->names, strbuf_text(&text));
	strbuf_release(&full);
	strbuf_release(&text);
	return kept;
}

const char *declared_class_name(struct declared *self, u32 number)
{
	const struct declared_class *class = &self->classes.data[number];

	return readable(self, class->scope, class->name);
}

/* "Foo*", "Foo[]": what is nameless has no name either. */
static const char *name_of_part(struct declared *self, u32 type, const char *suffix)
{
	const char *name = type == NO_DECLARED ? "void" : self->types.data[type]->shown.name;
	struct strbuf text = {0};
	const char *kept;

	if (!*name)
		return "";
	strbuf_addf(&text, "%s%s", name, suffix);
	kept = names_keep(&self->names, strbuf_text(&text));
	strbuf_release(&text);
	return kept;
}

/* ---- types ---- */

static u32 push(struct declared *self, const struct declared_type *shown, const Dwarf_Die *die)
{
	struct declared_entry *entry = arena_alloc(&self->names.arena, sizeof *entry);

	if (!entry || !vec_push(&self->types, entry)) {
		self->failed = true;
		return NO_DECLARED;
	}
	*entry = (struct declared_entry){.shown = *shown, .die = *die};
	return (u32)self->types.count - 1;
}

static u8 form_of(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_union_type ? DECLARED_UNION : DECLARED_CLASS;
}

u32 declared_type_of_class(struct declared *self, u32 number)
{
	struct declared_class *class = &self->classes.data[number];
	struct declared_type shown = {.size = class->size,
				      .of = NO_DECLARED,
				      .form = form_of(&class->die)};

	if (class->type == NO_DECLARED) {
		shown.name = declared_class_name(self, number);
		class->type = push(self, &shown, &class->die);
	}
	return class->type;
}

/* One that a unit only declares has no size, and its scope is in its surroundings only: the first
 * of the name. */
static u32 find_class(const struct declared *self, Dwarf_Die *die, const char *name, u64 size)
{
	const u64 *place = map_find(&self->by_definition, (u64)(uintptr_t)die->addr);

	return place && *place ? (u32)*place - 1
			       : declared_class_first(self, declared_class_hash(name, size));
}

/* alias: the typedef that led there, NULL = none */
static u32 add_class(struct declared *self, Dwarf_Die *die, const char *alias)
{
	const char *name = dwarf_diename(die) ?: alias;
	struct declared_type shown = {.name = "", .of = NO_DECLARED, .form = form_of(die)};
	u32 class;

	if (dwarf_hasattr(die, DW_AT_declaration) || !die_number(die, DW_AT_byte_size, &shown.size))
		shown.size = 0;
	class = name ? find_class(self, die, name, shown.size) : NO_DECLARED;
	if (class != NO_DECLARED)
		return declared_type_of_class(self, class);
	if (name)
		shown.name = readable(self, "", name);
	return push(self, &shown, die);
}

static u32 add_pointer(struct declared *self, Dwarf_Die *die, u32 of)
{
	struct declared_type shown = {.name = name_of_part(self, of, "*"),
				      .size = POINTER_BYTES,
				      .of = of,
				      .form = DECLARED_POINTER};

	return push(self, &shown, die);
}

u32 declared_pointer_to(struct declared *self, u32 type)
{
	return add_pointer(self, &(Dwarf_Die){0}, type);
}

/* What a pointer leads to, or an array has. */
static u32 add_inner(struct declared *self, Dwarf_Die *die, u32 depth)
{
	Dwarf_Die inner;

	return die_type(die, &inner) ? add_type(self, &inner, depth + 1) : NO_DECLARED;
}

static u64 count_of(Dwarf_Die *die)
{
	u64 count = 1, one;
	Dwarf_Die range;

	for (bool more = die_child(die, &range); more; more = die_next(&range)) {
		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		if (die_number(&range, DW_AT_upper_bound, &one))
			one++;
		else if (!die_number(&range, DW_AT_count, &one))
			return 0;
		if (__builtin_mul_overflow(count, one, &count))
			return 0;
	}
	return count;
}

static u32 add_array(struct declared *self, Dwarf_Die *die, u32 depth)
{
	struct declared_type shown = {.of = add_inner(self, die, depth), .form = DECLARED_ARRAY};

	shown.name = name_of_part(self, shown.of, "[]");
	shown.count = count_of(die);
	if (shown.of == NO_DECLARED ||
	    __builtin_mul_overflow(shown.count, self->types.data[shown.of]->shown.size,
				   &shown.size))
		shown.size = 0;
	return push(self, &shown, die);
}

static u32 add_other(struct declared *self, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	struct declared_type shown = {.name = "", .of = NO_DECLARED, .form = DECLARED_OTHER};

	if (!die_number(die, DW_AT_byte_size, &shown.size))
		shown.size = 0;
	if (name)
		shown.name = readable(self, "", name);
	return push(self, &shown, die);
}

static u32 add_bare(struct declared *self, Dwarf_Die *die, const char *alias, u32 depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return add_pointer(self, die, add_inner(self, die, depth));
	case DW_TAG_array_type: return add_array(self, die, depth);
	default: return die_is_aggregate(die) ? add_class(self, die, alias) : add_other(self, die);
	}
}

/* What is behind typedefs and qualifiers, and the last typedef. */
static bool peel(Dwarf_Die *die, const char **alias)
{
	for (u32 i = 0; i < PEEL_MAX; i++) {
		Dwarf_Die inner;

		switch (dwarf_tag(die)) {
		case DW_TAG_typedef: *alias = dwarf_diename(die) ?: *alias; break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type: break;
		default: return true;
		}
		if (!die_type(die, &inner))
			return false;
		*die = inner;
	}
	return false;
}

static u32 add_type(struct declared *self, Dwarf_Die *die, u32 depth)
{
	Dwarf_Die bare = *die;
	const char *alias = NULL;
	const u64 *known;
	u32 type;

	if (depth > PEEL_MAX || !peel(&bare, &alias))
		return NO_DECLARED;
	known = map_find(&self->by_die, (u64)(uintptr_t)bare.addr);
	if (known)
		return (u32)*known;
	type = add_bare(self, &bare, alias, depth);
	self->failed |= !map_put(&self->by_die, (u64)(uintptr_t)bare.addr, type);
	return type;
}

u32 declared_type_below(struct declared *self, Dwarf_Die *die)
{
	Dwarf_Die type;

	return die_type(die, &type) ? add_type(self, &type, 0) : NO_DECLARED;
}

/* ---- members ---- */

static int by_offset(const void *a, const void *b)
{
	const struct declared_member *x = a, *y = b;

	return rising(x->offset, y->offset);
}

/* Bit-fields have no pointers. */
static bool is_member(Dwarf_Die *die, bool in_union, u64 *offset)
{
	int tag = dwarf_tag(die);

	*offset = 0;
	if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
		return false;
	if (dwarf_hasattr(die, DW_AT_bit_size) || dwarf_hasattr(die, DW_AT_external))
		return false;
	return die_place(die, offset) || in_union;
}

/* Bytes for an object, as libstdc++ has in its nodes, say its type as an argument. */
static bool is_storage(Dwarf_Die *class)
{
	const char *name = dwarf_diename(class);

	return name && (strncmp(name, "__aligned_membuf<", 17) == 0 ||
			strncmp(name, "__aligned_buffer<", 17) == 0);
}

static u32 first_argument(struct declared *self, Dwarf_Die *class)
{
	Dwarf_Die die;

	for (bool more = die_child(class, &die); more; more = die_next(&die))
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return declared_type_below(self, &die);
	return NO_DECLARED;
}

static void read_members(struct declared *self, u32 type)
{
	Dwarf_Die class = self->types.data[type]->die, die;
	bool in_union = self->types.data[type]->shown.form == DECLARED_UNION;
	VEC(struct declared_member) members = {0};
	bool has_object = is_storage(&class);
	u64 offset;

	if (has_object)
		self->failed |=
			!vec_push(&members,
				  (struct declared_member){"", 0, first_argument(self, &class)});
	for (bool more = !has_object && die_child(&class, &die);
	     more && members.count < MEMBERS_MAX; more = die_next(&die))
		if (is_member(&die, in_union, &offset))
			self->failed |=
				!vec_push(&members,
					  (struct declared_member){
						  .name = names_keep(&self->names,
								     dwarf_tag(&die) ==
										     DW_TAG_member
									     ? dwarf_diename(&die)
									     : NULL),
						  .offset = offset,
						  .type = declared_type_below(self, &die)});
	vec_sort(&members, by_offset);
	self->types.data[type]->shown.members = members.data;
	self->types.data[type]->shown.member_count = (u32)members.count;
}

const struct declared_type *declared_type_read(struct declared *self, u32 type)
{
	struct declared_entry *entry = type < self->types.count ? self->types.data[type] : NULL;

	if (!entry)
		return NULL;
	if (!entry->has_members && entry->shown.form >= DECLARED_CLASS) {
		entry->has_members = true;
		read_members(self, type);
	}
	return &entry->shown;
}

void declared_types_release(struct declared *self)
{
	for (u64 i = 0; i < self->types.count; i++)
		free((void *)(uintptr_t)self->types.data[i]->shown.members);
	vec_release(&self->types);
	map_release(&self->by_die);
}
