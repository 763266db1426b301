/* SPDX-License-Identifier: MIT
 * Finds the unit of each address, reads each unit once, and turns scopes into frames.
 * Runs on the host. Never relies on .debug_aranges, which clang does not write. */
#include "host/symbols/debuginfo.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/search.h"
#include "host/symbols/ada_names.h"
#include "host/symbols/die.h"
#include "host/symbols/rust_names.h"

#define NO_UNIT UINT32_MAX

/* Bounds on what damaged debug info can ask for. */
enum { FRAMES_MAX = 256, OVERLAP_MAX = 64, ORIGINS_MAX = 8 };

/* Adds the ranges of a DIE to its unit; how many there were, or ERR_MEMORY. */
static int add_ranges(struct debuginfo *self, Dwarf_Die *die, u32 unit)
{
	struct unit_range range = {.unit = unit};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int added = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		range.low = start;
		range.high = end;
		if (start == 0 || start >= end) /* 0: the linker threw that code away */
			continue;
		if (!vec_push(&self->ranges, range))
			return ERR_MEMORY;
		added = 1;
	}
	return added;
}

/* Strict DWARF 2 tells of a unit in several sections only the range in .text: ask its functions. */
static int add_function_ranges(struct debuginfo *self, Dwarf_Die *unit_die, u32 unit)
{
	Dwarf_Die die;

	for (bool more = die_child(unit_die, &die); more; more = die_next(&die))
		if (dwarf_tag(&die) == DW_TAG_subprogram && add_ranges(self, &die, unit) < 0)
			return ERR_MEMORY;
	return 0;
}

static int add_unit(struct debuginfo *self, Dwarf_Die *die, u16 version)
{
	u32 unit = (u32)self->units.count;
	int added;

	if (unit == NO_UNIT || !vec_push(&self->units, *die))
		return ERR_MEMORY;
	added = add_ranges(self, die, unit);
	if (added < 0)
		return added;
	return added && version > 2 ? 0 : add_function_ranges(self, die, unit);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return rising(x->low, y->low) ?: rising(x->unit, y->unit);
}

int debuginfo_init(struct debuginfo *self, Dwarf *dwarf, u64 bias)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	u64 reach = 0;
	int result = 0;
	u16 version;
	u8 type;

	while (!result && dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			result = add_unit(self, &die, version);
	vec_sort(&self->ranges, compare_ranges);
	for (u64 i = 0; i < self->ranges.count; i++) {
		if (self->ranges.data[i].high > reach)
			reach = self->ranges.data[i].high;
		self->ranges.data[i].reach = reach;
	}
	self->dwarf = dwarf;
	self->bias = bias;
	self->functions = calloc(self->units.count + 1, sizeof(*self->functions));
	return self->functions ? result : ERR_MEMORY;
}

void debuginfo_release(struct debuginfo *self)
{
	for (u64 i = 0; self->functions && i < self->units.count; i++)
		unit_functions_release(&self->functions[i]);
	free(self->functions);
	vec_release(&self->units);
	vec_release(&self->ranges);
	*self = (struct debuginfo){0};
}

/* Where the functions of a unit are: below itself, or below its other half in a .dwo file. */
static Dwarf_Die functions_root(Dwarf_Die *unit)
{
	Dwarf_Die other_half = {0};

	if (!dwarf_cu_info(unit->cu, NULL, NULL, NULL, &other_half, NULL, NULL, NULL) &&
	    other_half.addr)
		return other_half;
	return *unit;
}

/* Reads them once. */
static int functions_ensure(const struct debuginfo *self, u32 unit, Dwarf_Die *root)
{
	struct unit_functions *functions = &self->functions[unit];

	return functions->read ? 0 : unit_functions_read(functions, root);
}

void debuginfo_read_ahead(const struct debuginfo *self, bool (*go_on)(void *), void *asked)
{
	enum { LINES_MAX = 1 << 20 }; /* some 40 MB */
	u64 read = 0;

	for (u32 i = 0; i < self->units.count && read < LINES_MAX && go_on(asked); i++) {
		Dwarf_Die root = functions_root(&self->units.data[i]);
		Dwarf_Lines *lines;
		size_t count;

		if (dwarf_getsrclines(&self->units.data[i], &lines, &count) == 0)
			read += count;
		if (functions_ensure(self, i, &root) < 0)
			return;
	}
}

static u32 find_unit(const struct debuginfo *self, u64 address)
{
	u64 low = bisect(at, self->ranges.count, self->ranges.data[at].low <= address);

	for (u32 back = 0; low > 0 && back < OVERLAP_MAX; back++) {
		const struct unit_range *range = &self->ranges.data[--low];

		if (address < range->high)
			return range->unit;
		if (address >= range->reach)
			break;
	}
	return NO_UNIT;
}

/* An address of the query and the unit that it falls into. */
struct placed {
	u32 unit;
	u64 index;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return rising(x->unit, y->unit) ?: rising(x->index, y->index);
}

/* What is needed while one unit's addresses are answered. */
struct unit_work {
	const struct debuginfo_query *query;
	Dwarf_Die *unit;
	Dwarf_Die root; /* where the functions are */
	const struct unit_functions *functions;
	Dwarf_Files *files;
	size_t file_count;
	bool ada;
	struct scopes scopes;
};

/* The mangled name, or NULL. C functions may have a linker name, too (abort is __GI_abort in libc),
 * but then the plain one is what people know. */
static const char *mangled_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2)) ? name : NULL;
}

/* The DIE that has the name: the declaration, or what was inlined. */
static bool named_die(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	*out = *die;
	for (u32 i = 0; i < ORIGINS_MAX; i++) {
		if (dwarf_hasattr(out, DW_AT_name))
			return true;
		if ((!dwarf_attr(out, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(out, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, out))
			return false;
	}
	return false;
}

/* Names of a function's type parameters; how many, at most RUST_PARAMETERS. */
static u32 type_parameters(Dwarf_Die *function, struct span *out)
{
	Dwarf_Die die;
	u32 count = 0;

	for (bool more = die_child(function, &die); more; more = die_next(&die)) {
		const char *name = dwarf_tag(&die) == DW_TAG_template_type_parameter
					   ? dwarf_diename(&die)
					   : NULL;

		if (name && count < RUST_PARAMETERS)
			out[count++] = span_of(name);
	}
	return count;
}

/* The readable name; of Rust's older names with the types that debug info has. */
static const char *full_name(const struct unit_work *work, Dwarf_Die *die, const char *linker_name)
{
	const char *readable = names_readable(work->query->names, linker_name), *plain;
	struct span parameters[RUST_PARAMETERS];
	struct strbuf filled = {0};
	Dwarf_Die named;
	u32 count;

	if (!rust_is_legacy(linker_name) || !named_die(die, &named) ||
	    !(plain = dwarf_diename(&named)) || !strchr(plain, '<'))
		return readable;
	count = type_parameters(&named, parameters);
	if (!count)
		count = rust_parameters(readable, plain, parameters);
	if (rust_name_fill(readable, plain, parameters, count, &filled))
		readable = names_keep(work->query->names, strbuf_text(&filled));
	strbuf_release(&filled);
	return readable;
}

static const char *ada_name(const struct unit_work *work, const char *name)
{
	struct strbuf readable = {0};
	const char *kept;

	ada_name_add(&readable, name ? name : "");
	kept = names_keep(work->query->names, strbuf_text(&readable));
	strbuf_release(&readable);
	return kept;
}

bool debuginfo_is_ada(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_Ada83:
	case DW_LANG_Ada95:
	case 0x2e: /* Ada 2005 */
	case 0x2f: /* Ada 2012 */ return true;
	default: return false;
	}
}

/* DW_AT_name. In old DWARF gcc 14 gives a function's cold part a name of its own. */
static const char *bare_name(Dwarf_Die *die)
{
	static const char cold[] = "__second_sect_of_";
	const char *name = dwarf_diename(die);

	return name && !strncmp(name, cold, strlen(cold)) ? name + strlen(cold) : name;
}

/* True if the name is the bare DW_AT_name, without parameters and classes. */
static bool name_scope(const struct unit_work *work, Dwarf_Die *die, struct symbol_frame *frame)
{
	const char *name = mangled_name(die);

	if (!name && work->ada) {
		frame->function = ada_name(work, dwarf_diename(die));
		return false;
	}
	frame->function = name ? full_name(work, die, name)
			       : names_readable(work->query->names, bare_name(die));
	return !name;
}

static u32 attribute_u32(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value))
		return 0;
	return value <= INT32_MAX ? (u32)value : 0;
}

/* Where an inlined function was called, which is the position in the frame around it. */
static void call_position(const struct unit_work *work, Dwarf_Die *die, struct symbol_frame *frame)
{
	Dwarf_Attribute attribute;
	const char *file = NULL;

	if (work->files && dwarf_attr(die, DW_AT_call_file, &attribute)) {
		u32 index = attribute_u32(die, DW_AT_call_file);

		if (index < work->file_count)
			file = dwarf_filesrc(work->files, index, NULL, NULL);
	}
	frame->file = names_keep(work->query->names, file);
	frame->line = attribute_u32(die, DW_AT_call_line);
	frame->column = attribute_u32(die, DW_AT_call_column);
}

static void answer_line(const struct unit_work *work, u64 address, struct debuginfo_answer *answer)
{
	Dwarf_Line *line = dwarf_getsrc_die(work->unit, address);
	int number = 0, column = 0;

	if (!line || dwarf_lineno(line, &number))
		return;
	answer->file = names_keep(work->query->names, dwarf_linesrc(line, NULL, NULL));
	answer->line = number > 0 ? (u32)number : 0;
	if (!dwarf_linecol(line, &column) && column > 0)
		answer->column = (u32)column;
}

static int answer_frames(struct unit_work *work, u32 scope, struct debuginfo_answer *answer)
{
	struct symbol_frame frames[FRAMES_MAX];
	u32 count = 0;

	frames[0] = (struct symbol_frame){.file = answer->file,
					  .line = answer->line,
					  .column = answer->column};
	while (scope != NO_SCOPE && count < FRAMES_MAX) {
		struct scope *at = &work->scopes.data[scope];

		answer->bare_name = name_scope(work, &at->die, &frames[count]);
		scope = at->parent;
		frames[count].inlined = scope != NO_SCOPE;
		count++;
		if (scope != NO_SCOPE && count < FRAMES_MAX)
			call_position(work, &at->die, &frames[count]);
	}
	if (work->query->no_inlines && count) {
		frames[0] = frames[count - 1];
		count = 1;
	}
	frames[count - 1].inlined = false;
	answer->frames = arena_new_array(work->query->arena, struct symbol_frame, count);
	if (!answer->frames)
		return ERR_MEMORY;
	for (u32 i = 0; i < count; i++)
		answer->frames[i] = frames[i];
	answer->frame_count = count;
	return 0;
}

static int unit_answer(struct unit_work *work, const struct placed *placed, u64 count)
{
	int result = scopes_read(&work->scopes, &work->root, work->functions);

	if (dwarf_getsrcfiles(&work->root, &work->files, &work->file_count))
		work->files = NULL;
	for (u64 i = 0; i < count && !result; i++) {
		struct debuginfo_answer *answer = &work->query->answers[placed[i].index];

		answer_line(work, work->scopes.addresses[i], answer);
		if (work->scopes.innermost[i] != NO_SCOPE)
			result = answer_frames(work, work->scopes.innermost[i], answer);
	}
	return result;
}

static int unit_resolve(const struct debuginfo *self, const struct debuginfo_query *query,
			const struct placed *placed, u64 count)
{
	struct unit_work work = {.query = query, .unit = &self->units.data[placed->unit]};
	u64 *addresses = malloc(count * sizeof(*addresses));
	u32 *innermost = malloc(count * sizeof(*innermost));
	int result = ERR_MEMORY;

	if (!addresses || !innermost)
		goto done;
	for (u64 i = 0; i < count; i++) {
		addresses[i] = query->addresses[placed[i].index] - self->bias;
		innermost[i] = NO_SCOPE;
	}
	work.root = functions_root(work.unit);
	work.ada = debuginfo_is_ada(work.unit);
	work.functions = &self->functions[placed->unit];
	work.scopes = (struct scopes){.addresses = addresses,
				      .innermost = innermost,
				      .address_count = count};
	result = functions_ensure(self, placed->unit, &work.root);
	if (!result)
		result = unit_answer(&work, placed, count);
	scopes_release(&work.scopes);
done:
	free(addresses);
	free(innermost);
	return result;
}

int debuginfo_resolve(struct debuginfo *self, const struct debuginfo_query *query)
{
	struct placed *placed = malloc((query->count + 1) * sizeof(*placed));
	u64 count = 0;
	int result = 0;

	if (!placed)
		return ERR_MEMORY;
	for (u64 i = 0; i < query->count; i++) {
		u32 unit = find_unit(self, query->addresses[i] - self->bias);

		if (unit != NO_UNIT)
			placed[count++] = (struct placed){.unit = unit, .index = i};
	}
	qsort(placed, count, sizeof(*placed), compare_placed);
	for (u64 i = 0, next; i < count && !result; i = next) {
		for (next = i; next < count && placed[next].unit == placed[i].unit; next++)
			;
		result = unit_resolve(self, query, &placed[i], next - i);
	}
	free(placed);
	return result;
}

int debuginfo_function(const struct debuginfo *self, u64 address, Dwarf_Die *function)
{
	u64 here = address - self->bias;
	u32 unit = find_unit(self, here), scope = NO_SCOPE;
	struct scopes scopes = {.addresses = &here, .innermost = &scope, .address_count = 1};
	Dwarf_Die root;
	int result;

	if (unit == NO_UNIT)
		return 0;
	root = functions_root(&self->units.data[unit]);
	result = functions_ensure(self, unit, &root);
	if (!result)
		result = scopes_read(&scopes, &root, &self->functions[unit]);
	while (scope != NO_SCOPE && scopes.data[scope].parent != NO_SCOPE)
		scope = scopes.data[scope].parent;
	if (!result && scope != NO_SCOPE) {
		*function = scopes.data[scope].die;
		result = 1;
	}
	scopes_release(&scopes);
	return result;
}
