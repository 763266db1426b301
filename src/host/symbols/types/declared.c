/* SPDX-License-Identifier: MIT
 * Finds the variables and classes in the debug info of modules; see declared.h.
 * Host. Depth and the number of entries are bounded, siblings only go forward. */
#include "host/symbols/types/declared.h"

#include "host/base/keyed.h"
#include "host/base/order.h"
#include "host/base/search.h"
#include "host/symbols/types/declared_types.h"
#include "host/symbols/types/layout.h"

enum {
	DEPTH_MAX = 32,
	DIES_MAX = 16 << 20, /* of all modules together: some seconds */
};

/* What is looked for below a unit: first what stands outside functions, and only if a variable was
 * not among that the rest. */
struct walk {
	struct declared *to;
	struct declared_file *file;
	bool in_functions;
};

/* ---- variables ---- */

static bool address_of(Dwarf_Die *die, u64 *address)
{
	Dwarf_Attribute attribute, indirect;
	Dwarf_Addr value;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*address = ops[0].number;
		return true;
	}
	if ((ops[0].atom != DW_OP_addrx && ops[0].atom != DW_OP_GNU_addr_index) ||
	    dwarf_getlocation_attr(&attribute, &ops[0], &indirect) != 0 ||
	    dwarf_formaddr(&indirect, &value) != 0)
		return false;
	*address = value;
	return true;
}

static void visit_variable(struct walk *self, Dwarf_Die *die)
{
	u64 address;

	if (address_of(die, &address))
		self->to->failed |=
			!vec_push(&self->file->variables, (struct declared_place){address, *die});
}

/* ---- classes ---- */

/* False if it was known, with all that is in it. */
static bool visit_class(struct walk *self, Dwarf_Die *die, const char *name, const char *scope)
{
	struct declared_class found = {.die = *die, .scope = scope, .type = NO_DECLARED};
	struct declared *to = self->to;
	u64 hash, *place;

	if (dwarf_hasattr(die, DW_AT_declaration) ||
	    !die_number(die, DW_AT_byte_size, &found.size) || !found.size)
		return true;
	hash = declared_class_hash(name, found.size);
	for (u32 i = declared_class_first(to, hash); i != NO_DECLARED; i = to->classes.data[i].next)
		if (to->classes.data[i].scope == scope)
			return false;
	place = map_at(&to->by_class, declared_class_hash(name, 0));
	if (place && !*place) /* what is only declared elsewhere is the first of its name */
		*place = to->classes.count + 1;
	found.name = names_keep(&to->names, name);
	found.next = declared_class_first(to, hash);
	to->failed |= !vec_push(&to->classes, found) ||
		      !map_put(&to->by_class, hash, to->classes.count) ||
		      !map_put(&to->by_definition, (u64)(uintptr_t)die->addr, to->classes.count);
	return true;
}

/* A structure without a name of its own has that of its typedef. */
static void visit_typedef(struct walk *self, Dwarf_Die *die, const char *name, const char *scope)
{
	Dwarf_Die type;

	if (die_type(die, &type) && die_is_aggregate(&type) && !dwarf_diename(&type))
		visit_class(self, &type, name, scope);
}

/* ---- units ---- */

static void walk(struct walk *self, Dwarf_Die *parent, const char *scope, u32 depth);

static const char *scope_below(struct walk *self, const char *scope, const char *name)
{
	struct strbuf text = {0};
	const char *kept;

	strbuf_addf(&text, "%s%s::", scope, name ? name : "(anonymous namespace)");
	kept = names_keep(&self->to->names, strbuf_text(&text));
	strbuf_release(&text);
	return kept;
}

static void visit(struct walk *self, Dwarf_Die *die, const char *scope, u32 depth)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_variable: visit_variable(self, die); return;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		if (self->in_functions)
			walk(self, die, scope, depth + 1);
		return;
	case DW_TAG_namespace:
		walk(self, die, scope_below(self, scope, dwarf_diename(die)), depth + 1);
		return;
	case DW_TAG_typedef:
		name = dwarf_diename(die);
		if (name && !self->in_functions)
			visit_typedef(self, die, name, scope);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		name = dwarf_diename(die);
		if (name && !self->in_functions && visit_class(self, die, name, scope))
			walk(self, die, scope_below(self, scope, name), depth + 1);
		return;
	default:;
	}
}

static void walk(struct walk *self, Dwarf_Die *parent, const char *scope, u32 depth)
{
	struct declared *to = self->to;
	Dwarf_Die die;

	for (bool more = depth < DEPTH_MAX && die_child(parent, &die);
	     more && !to->failed && to->dies < DIES_MAX; more = die_next(&die)) {
		to->dies++;
		visit(self, &die, scope, depth);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct declared_place *x = a, *y = b;

	return rising(x->address, y->address);
}

static void walk_units(struct declared *self, struct declared_file *file, bool in_functions)
{
	struct walk way = {self, file, in_functions};
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	u8 type;

	while (!self->failed && self->dies < DIES_MAX &&
	       dwarf_get_units(file->dwarf, cu, &cu, NULL, &type, &die, &split) == 0)
		walk(&way, type == DW_UT_skeleton && split.cu ? &split : &die, "", 0);
	vec_sort(&file->variables, by_address);
}

/* ---- modules ---- */

static u64 file_key(const struct symbolizer_module *module)
{
	u64 key = hash_text(HASH_START, module->path);

	for (u32 i = 0; module->build_id && i < module->build_id_bytes; i++)
		key = hash_u64(key ^ module->build_id[i]);
	return key;
}

static void file_open(struct declared *self, struct declared_file *file,
		      const struct symbolizer_module *module)
{
	file->files = symbolizer_files(self->query.symbolizer, module);
	if (file->files) {
		file->dwarf = file->files->debuginfo.dwarf;
	} else {
		int status = module_open_dwarf(&file->module, module, &self->places, &file->dwarf);

		file->is_open = status == 0;
		file->files = &file->module;
		self->failed |= status == ERR_MEMORY;
	}
	if (file->dwarf)
		walk_units(self, file, false);
}

struct declared_file *declared_file(struct declared *self, const struct symbolizer_module *module)
{
	u64 *place = map_at(&self->by_file, file_key(module));
	struct declared_file *file;

	if (place && *place)
		return self->files.data[*place - 1];
	file = calloc(1, sizeof *file);
	if (!place || !file || !vec_push(&self->files, file)) {
		self->failed = true;
		free(file);
		return NULL;
	}
	*place = self->files.count;
	file_open(self, file, module);
	return file;
}

void declared_add(struct declared *self, const struct symbolizer_module *module)
{
	declared_file(self, module);
}

static struct declared_place *place_at(struct declared_file *file, u64 address)
{
	u64 at = bisect(i, file->variables.count, file->variables.data[i].address < address);

	return at < file->variables.count && file->variables.data[at].address == address
		       ? &file->variables.data[at]
		       : NULL;
}

bool declared_variable(struct declared *self, const struct symbolizer_module *module, u64 address,
		       struct declared_variable *variable)
{
	struct declared_file *file = declared_file(self, module);
	struct declared_place *place = file ? place_at(file, address) : NULL;
	int line = 0;

	if (file && file->dwarf && !place && !file->has_functions) {
		file->has_functions = true;
		vec_clear(&file->variables);
		walk_units(self, file, true);
		place = place_at(file, address);
	}
	if (!place)
		return false;
	*variable =
		(struct declared_variable){.type = declared_type_below(self, &place->die),
					   .file = names_keep(&self->names, die_file(&place->die))};
	if (dwarf_decl_line(&place->die, &line) == 0 && line > 0)
		variable->line = (u32)line;
	return true;
}

/* ---- names ---- */

/* The name of a type without what it is in. */
static const char *own_name(const char *name)
{
	const char *own = name;
	u32 depth = 0;

	for (const char *p = name; *p; p++) {
		depth += *p == '<' || *p == '(';
		depth -= (*p == '>' || *p == ')') && depth;
		if (!depth && p[0] == ':' && p[1] == ':')
			own = p + 2;
	}
	return own;
}

static bool is_object_block(const struct declared_class *class)
{
	static const char *const names[] = {"_Sp_counted_ptr_inplace<", "__shared_ptr_emplace<"};

	return text_starts_any(class->name, names);
}

/* Classes by what people call them, in full and without what they are in: the first counts. */
static void name_classes(struct declared *self)
{
	for (; self->named < self->classes.count && !self->failed; self->named++) {
		const char *name = declared_class_name(self, (u32)self->named);
		const char *keys[] = {name, own_name(name)};

		/* what make_shared allocates is called as the object in it */
		for (u32 i = 0; i < 2 && !is_object_block(&self->classes.data[self->named]); i++) {
			u64 *place = map_at(&self->by_name, hash_text(HASH_START, keys[i]));

			self->failed |= !place;
			if (place && !*place)
				*place = self->named + 1;
		}
	}
}

static u32 class_named(struct declared *self, const char *name)
{
	struct strbuf readable = {0}, usual = {0};
	const u64 *place;

	name_classes(self);
	type_add_readable(&readable, span_of(name));
	type_add_usual_node(&usual, strbuf_text(&readable));
	place = map_find(&self->by_name, hash_text(HASH_START, strbuf_text(&usual)));
	self->failed |= readable.failed || usual.failed;
	strbuf_release(&readable);
	strbuf_release(&usual);
	return place && *place ? declared_type_of_class(self, (u32)*place - 1) : NO_DECLARED;
}

u32 declared_named(struct declared *self, const char *name)
{
	u64 bytes = strlen(name), key = hash_text(HASH_START, name), *known;
	u32 type;

	if (!bytes || name[bytes - 1] != '*')
		return class_named(self, name);
	known = map_at(&self->by_pointer, key);
	if (known && *known)
		return (u32)*known - 1;
	type = declared_pointer_to(self, declared_named(self, names_keep_bytes(&self->names, name,
									       bytes - 1)));
	self->failed |= !map_put(&self->by_pointer, key, (u64)type + 1);
	return type;
}

/* ---- all ---- */

struct declared *declared_new(const struct declared_query *query, struct err *err)
{
	struct declared *self = calloc(1, sizeof *self);

	elf_version(EV_CURRENT);
	if (self && module_places_init(&self->places, query->debug_path)) {
		self->query = *query;
		return self;
	}
	free(self);
	err_memory_for(err, "the debug information");
	return NULL;
}

const struct declared_type *declared_type(struct declared *self, u32 type)
{
	return declared_type_read(self, type);
}

bool declared_failed(const struct declared *self) { return self->failed; }

void declared_free(struct declared *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->files.count; i++) {
		vec_release(&self->files.data[i]->variables);
		if (self->files.data[i]->is_open)
			module_close(&self->files.data[i]->module);
		free(self->files.data[i]);
	}
	declared_types_release(self);
	vec_release(&self->files);
	vec_release(&self->classes);
	vec_release(&self->frames);
	map_release(&self->by_code);
	map_release(&self->by_file);
	map_release(&self->by_class);
	map_release(&self->by_definition);
	map_release(&self->by_name);
	map_release(&self->by_pointer);
	module_places_release(&self->places);
	names_release(&self->names);
	free(self);
}
