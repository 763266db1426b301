/* SPDX-License-Identifier: MIT
 * Walks the types of debug info that have a size of interest.
 * Host. Looks at units, namespaces and classes only, never into functions: a local type is nobody's
 * to look for, and function bodies are most of the debug info. */
#include "host/symbols/types/sizes.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "host/base/order.h"
#include "host/base/path.h"
#include "host/base/search.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/symbols/ada_names.h"
#include "host/symbols/debuginfo.h"
#include "host/symbols/die.h"
#include "host/symbols/dwo.h"
#include "host/symbols/module.h"
#include "host/symbols/type_text.h"

enum {
	DEPTH_MAX = 32,        /* of classes in classes */
	FILES_MAX = 64,        /* units whose table of files is read, which costs */
	MAX_BYTES = 160 << 20, /* some seconds */
	NAME_MAX_BYTES = 4096,
};

struct walk {
	struct typesizes *out;
	const struct typesizes_query *query;
	struct map known;    /* hash of size and name → index + 1 */
	struct strbuf scope; /* "space::Class::" */
	struct strbuf name;
	u64 bytes;      /* of units so far */
	Dwarf_Die unit; /* whose table of files applies */
	u32 files_read;
	Dwarf_CU *files_of; /* unit whose table of files was read last */
	bool is_program, is_c_library;
	bool ada; /* the unit is */
	bool in_class;
	int status;
};

static bool is_wanted(const struct typesizes_query *query, u64 size)
{
	u64 low = bisect(at, query->size_count, query->sizes[at] < size);

	return low < query->size_count && query->sizes[low] == size;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_asked(const struct typesizes_query *query, u64 size, const char *name)
{
	char base[256];
	const char *key = base;

	if (query->all || is_wanted(query, size))
		return true;
	if (!query->name_count || (size_t)snprintf(base, sizeof base, "%s", name) >= sizeof base)
		return false;
	base[strcspn(base, "<")] = 0;
	return bsearch(&key, query->names, query->name_count, sizeof *query->names, compare_names);
}

/* ---- names ---- */

static bool is_standard(const char *name)
{
	static const char *const spaces[] = {"std::", "__gnu_cxx::", "core::", "alloc::",
					     "hashbrown::"};

	return text_starts_any(name, spaces);
}

/* std::pair<int, Foo> and a hundred others are std::pair<…>. */
static void fold_arguments(struct strbuf *name)
{
	struct strbuf folded = {0};
	u32 depth = 0;

	for (const char *p = strbuf_text(name); *p; p++) {
		if (*p == '<' && depth++ == 0)
			strbuf_add(&folded, "<…");
		else if (*p == '>' && depth)
			depth--;
		if (depth == 0)
			strbuf_add_char(&folded, *p);
	}
	strbuf_clear(name);
	strbuf_add(name, strbuf_text(&folded));
	name->failed |= folded.failed;
	strbuf_release(&folded);
}

/* The file that a type was declared in, NULL if it is not known. Not asked for more than some
 * units, as the table of files comes with the whole line table. libdw's own function for it
 * aborts on units without such a table. */
static const char *declared_in(struct walk *self, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t count;

	if (self->files_of != die->cu) {
		if (self->files_read == FILES_MAX)
			return NULL;
		self->files_read++;
		self->files_of = die->cu;
	}
	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) != 0 ||
	    dwarf_getsrcfiles(&self->unit, &files, &count) != 0 || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static bool is_of_system(const char *file)
{
	return file && strncmp(file, "/usr/", 5) == 0 && strncmp(file, "/usr/src/", 9) != 0;
}

static bool is_c_library(const char *path)
{
	static const char *const names[] = {"libc.so",    "libc-",    "libm.so",
					    "libpthread", "ld-linux", "ld-"};

	return text_starts_any(path_file(path), names);
}

/* Types that Rust's compiler makes up: tuples, references, environments of closures. */
static bool is_made_up(const char *name)
{
	bool is_tuple = name[0] == '(' && strncmp(name, "(anonymous", 10) != 0;

	return is_tuple || strchr("&*[", name[0]) || strstr(name, "{closure_env") ||
	       strstr(name, "{vtable");
}

static enum type_rank rank_of(struct walk *self, Dwarf_Die *die, const char *name, bool scalar)
{
	const char *file;

	if (is_standard(name))
		return TYPE_STANDARD;
	/* g++ makes up a type whose name is "typedef __va_list_tag __va_list_tag". */
	if (name[0] == '_' || strncmp(name, "typedef ", 8) == 0 || is_made_up(name) ||
	    self->is_c_library)
		return TYPE_RESERVED;
	file = declared_in(self, die);
	if (is_of_system(file) || (scalar && !file))
		return TYPE_RESERVED;
	if (!self->is_program)
		return TYPE_LIBRARY;
	return dwarf_tag(die) == DW_TAG_typedef ? TYPE_TYPEDEF : TYPE_OWN;
}

/* Adds a type whose size is wanted, unless it is there; `scalar` ones only if they are the
 * program's own: everybody's uint64_t says nothing. */
static void add_type(struct walk *self, Dwarf_Die *die, const char *name, u64 size, bool scalar)
{
	struct sized_type new = {.size = size};
	u64 hash;

	strbuf_clear(&self->name);
	strbuf_add(&self->name, strbuf_text(&self->scope));
	if (self->ada)
		ada_name_add(&self->name, name);
	else
		strbuf_add(&self->name, name);
	if (!self->name.failed && is_standard(strbuf_text(&self->name)))
		fold_arguments(&self->name);
	new.name = names_keep(&self->out->names, strbuf_text(&self->name));
	hash = hash_u64((u64)(uintptr_t) new.name) ^ size;
	for (;; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(&self->known, hash);
		const struct sized_type *old;

		if (!index || self->name.failed || !*new.name) {
			self->status = ERR_MEMORY;
			return;
		}
		if (*index == 0)
			new.rank = rank_of(self, die, new.name, scalar);
		if (*index == 0 && scalar && new.rank != TYPE_TYPEDEF)
			return;
		if (*index == 0) {
			if (!vec_push(self->out, new))
				self->status = ERR_MEMORY;
			*index = self->out->count;
			return;
		}
		old = &self->out->data[*index - 1];
		if (old->name == new.name && old->size == size)
			return;
	}
}

/* ---- DIEs ---- */

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* A type's own DIE: what stands for a type of another unit only has its signature. */
static void follow_signature(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	if (dwarf_attr(die, DW_AT_signature, &attribute) &&
	    dwarf_formref_die(&attribute, &type) != NULL)
		*die = type;
}

/* NULL if it has none, or none that could be a name. */
static const char *name_of(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die type = *die;

	if (!name) {
		follow_signature(&type);
		name = dwarf_diename(&type);
	}
	return name && strlen(name) <= NAME_MAX_BYTES ? name : NULL;
}

static bool is_declaration(Dwarf_Die *die) { return dwarf_hasattr(die, DW_AT_declaration); }

static void add_scope(struct walk *self, Dwarf_Die *die)
{
	bool is_space = !is_aggregate(dwarf_tag(die));
	const char *name = name_of(die);

	/* An inline namespace (std::__cxx11) is not written by people. */
	if (name && is_space && dwarf_hasattr(die, DW_AT_export_symbols))
		return;
	strbuf_add(&self->scope, name ? name : is_space ? "(anonymous namespace)" : "(anonymous)");
	strbuf_add(&self->scope, "::");
}

/* A type that is defined away from its declaration, at a unit's top: the scope is the
 * declaration's. True if that is a class. */
static bool enter_specification(struct walk *self, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declaration, *scopes = NULL;
	int count = 0;
	bool in_class = false;

	if (dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attribute), &declaration))
		count = dwarf_getscopes_die(&declaration, &scopes);
	/* scopes[0] is the declaration itself; the last is the unit, but not in every file */
	for (int i = count - 1; i > 0; i--)
		if (is_aggregate(dwarf_tag(&scopes[i])) ||
		    dwarf_tag(&scopes[i]) == DW_TAG_namespace)
			add_scope(self, &scopes[i]);
	in_class = count > 1 && is_aggregate(dwarf_tag(&scopes[1]));
	free(scopes);
	return in_class;
}

static void visit_aggregate(struct walk *self, Dwarf_Die *die)
{
	const char *name;
	Dwarf_Attribute attribute;
	Dwarf_Word size;

	if (is_declaration(die) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_byte_size, &attribute), &size) != 0)
		return;
	name = name_of(die);
	if (!name || !is_asked(self->query, size, name))
		return;
	add_type(self, die, name, size, false);
}

static void visit_typedef(struct walk *self, Dwarf_Die *die)
{
	const char *name = name_of(die);
	Dwarf_Die type;
	Dwarf_Word size;
	int tag;

	if (!name || dwarf_peel_type(die, &type) != 0)
		return;
	follow_signature(&type);
	tag = dwarf_tag(&type);
	if (dwarf_aggregate_size(&type, &size) == 0 && is_asked(self->query, size, name))
		add_type(self, die, name, size, !is_aggregate(tag) && tag != DW_TAG_array_type);
}

static void walk_children(struct walk *self, Dwarf_Die *parent, u32 depth);

/* What is inside a namespace or class has its name in front. */
static void walk_scope(struct walk *self, Dwarf_Die *die, u32 depth)
{
	u64 before = self->scope.count;
	bool is_space = !is_aggregate(dwarf_tag(die)), was_in_class;

	if (!dwarf_haschildren(die) || depth == DEPTH_MAX)
		return;
	/* What the standard library allocates (nodes, shared blocks) is not inside its classes. */
	if (!is_space && is_standard(strbuf_text(&self->scope)))
		return;
	add_scope(self, die);
	was_in_class = self->in_class;
	self->in_class = !is_space;
	walk_children(self, die, depth + 1);
	self->in_class = was_in_class;
	if (self->scope.text)
		self->scope.text[self->scope.count = before] = 0;
}

static void visit_type(struct walk *self, Dwarf_Die *die, int tag, u32 depth)
{
	/* Classes are full of typedefs (value_type, const_iterator) that name other types again. */
	if (is_aggregate(tag))
		visit_aggregate(self, die);
	else if (tag == DW_TAG_typedef && !self->in_class)
		visit_typedef(self, die);
	if (is_aggregate(tag) || tag == DW_TAG_namespace || tag == DW_TAG_module)
		walk_scope(self, die, depth);
}

static void visit(struct walk *self, Dwarf_Die *die, u32 depth)
{
	int tag = dwarf_tag(die);
	struct strbuf before;

	if (!is_aggregate(tag) || !dwarf_hasattr(die, DW_AT_specification)) {
		visit_type(self, die, tag, depth);
		return;
	}
	before = self->scope;
	self->scope = (struct strbuf){0};
	if (!enter_specification(self, die) || !is_standard(strbuf_text(&self->scope)))
		visit_type(self, die, tag, depth);
	strbuf_release(&self->scope);
	self->scope = before;
}

static void walk_children(struct walk *self, Dwarf_Die *parent, u32 depth)
{
	Dwarf_Die die;

	for (bool more = die_child(parent, &die); more && !self->status; more = die_next(&die))
		visit(self, &die, depth);
}

/* ---- units ---- */

/* files: the unit that has the table of files. */
static void walk_unit(struct walk *self, Dwarf_Die *die, const Dwarf_Die *files)
{
	self->unit = *files;
	self->ada = debuginfo_is_ada(die);
	strbuf_clear(&self->scope);
	self->in_class = false;
	walk_children(self, die, 0);
}

/* Type units that a .dwo file has beside its compilation unit. */
static void walk_split(struct walk *self, Dwarf_Die *unit, const Dwarf_Die *skeleton)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	u8 type;

	walk_unit(self, unit, skeleton);
	while (dwarf && !self->status &&
	       dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_split_type || type == DW_UT_type)
			walk_unit(self, &die, &die);
}

/* Bytes of a unit by its header; is_old: one of .debug_types. */
static u64 unit_bytes(Dwarf_Die *die, bool is_old)
{
	Dwarf_Off start = dwarf_dieoffset(die) - dwarf_cuoffset(die), next = 0, type;
	u64 signature;

	if (dwarf_next_unit(dwarf_cu_getdwarf(die->cu), start, &next, NULL, NULL, NULL, NULL, NULL,
			    is_old ? &signature : NULL, is_old ? &type : NULL) != 0)
		return 0;
	return next > start ? next - start : 0;
}

/* The id that a skeleton and its split unit share. */
static u64 split_id(Dwarf_CU *cu)
{
	u64 id = 0;

	return dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) == 0 ? id : 0;
}

/* A joined .dwo file: false if it does not belong to the skeleton. */
static bool walk_joined(struct walk *self, Dwarf *dwarf, Dwarf_Die *skeleton)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	bool belongs = false;
	u8 type;

	while (!belongs && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
		belongs = type != DW_UT_split_type && type != DW_UT_type &&
			  split_id(cu) == split_id(skeleton->cu);
	for (cu = NULL; belongs && !self->status &&
			dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0;)
		walk_unit(self, &die,
			  type == DW_UT_split_type || type == DW_UT_type ? &die : skeleton);
	self->files_of = NULL;
	return belongs;
}

/* What a skeleton unit stands for; split is libdw's answer, without a unit if it found none. */
static void walk_skeleton(struct walk *self, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	struct strbuf path = {0};
	struct dwo dwo = {0};
	bool found = false;

	if (dwo_path(skeleton, &path) && dwo_open(&dwo, strbuf_text(&path))) {
		self->bytes += dwo.image.count;
		found = walk_joined(self, dwo.dwarf, skeleton);
		dwo_close(&dwo);
	} else if (split->cu) {
		self->bytes += unit_bytes(split, false);
		walk_split(self, split, skeleton);
		found = true;
	}
	strbuf_release(&path);
	self->out->lost_units += !found;
}

static void walk_dwarf(struct walk *self, Dwarf *dwarf)
{
	u64 most = self->query->max_bytes ? self->query->max_bytes : MAX_BYTES;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	Dwarf_Half version;
	u8 type;

	while (!self->status &&
	       dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
		if (self->bytes >= most) {
			self->out->stopped = true;
			return;
		}
		self->bytes += unit_bytes(&die, type == DW_UT_type && version == 4);
		if (type == DW_UT_skeleton)
			walk_skeleton(self, &die, &split);
		else
			walk_unit(self, &die, &die);
	}
}

static int read_module(struct walk *self, const struct symbolizer_module *description,
		       const struct module_places *places, enum symbolizer_state *state)
{
	const struct module *open = symbolizer_files(self->query->symbolizer, description);
	struct module module;
	Dwarf *dwarf = NULL;
	int status;

	*state = SYMBOLIZER_DEBUG;
	self->files_of = NULL;
	if (open) {
		walk_dwarf(self, open->debuginfo.dwarf);
		return self->status;
	}
	status = module_open_dwarf(&module, description, places, &dwarf);
	*state = SYMBOLIZER_MISSING;
	if (status < 0)
		return status == ERR_MEMORY ? status : 0;
	*state = dwarf ? SYMBOLIZER_DEBUG : SYMBOLIZER_STRIPPED;
	if (dwarf)
		walk_dwarf(self, dwarf);
	module_close(&module);
	return self->status;
}

/* The name of a type without what it is in. */
static const char *own_name(const char *name)
{
	const char *own = name;
	u32 depth = 0;

	for (const char *p = name; *p; p++) {
		depth += *p == '<';
		depth -= *p == '>' && depth;
		if (!depth && p[0] == ':' && p[1] == ':')
			own = p + 2;
	}
	return own;
}

static bool is_known(struct walk *self, const char *name, u64 size)
{
	u64 hash = hash_u64((u64)(uintptr_t)name) ^ size, *index;

	for (; (index = map_find(&self->known, hash)) && *index; hash = hash_u64(hash + 1))
		if (self->out->data[*index - 1].name == name &&
		    self->out->data[*index - 1].size == size)
			return true;
	return !map_put(&self->known, hash, self->out->count + 1);
}

/* What the trace kept of a file's debug info, instead of that. */
static int take_kept(struct walk *self, const struct debug_types_file *file)
{
	for (u64 i = 0; i < file->rows.count; i++) {
		const struct debug_type *row = &file->rows.data[i];
		struct sized_type new = {.size = row->size, .rank = (enum type_rank)row->rank};

		if (row->sort != DEBUG_TYPE_SIZED || row->rank > TYPE_RESERVED ||
		    !is_asked(self->query, row->size, own_name(row->name)))
			continue;
		new.name = names_keep(&self->out->names, row->name);
		if (!is_known(self, new.name, new.size) && !vec_push(self->out, new))
			return ERR_MEMORY;
	}
	return 0;
}

static int compare_types(const void *a, const void *b)
{
	const struct sized_type *x = a, *y = b;

	return rising(x->size, y->size) ?: rising(x->rank, y->rank) ?: strcmp(x->name, y->name);
}

int typesizes_read(struct typesizes *self, const struct typesizes_query *query, struct err *err)
{
	struct walk walk = {.out = self, .query = query};
	struct module_places places = {0};
	int status = 0;

	self->states = calloc(query->module_count + 1, sizeof *self->states);
	elf_version(EV_CURRENT);
	if (!self->states || !module_places_init(&places, query->debug_path))
		status = ERR_MEMORY;
	for (u32 i = 0; i < query->module_count && status == 0 &&
			(query->all || query->size_count || query->name_count);
	     i++) {
		const struct symbolizer_module *module = &query->modules[i];
		const struct debug_types_file *kept =
			debug_types_find(query->kept, module->path, module->build_id,
					 module->build_id_bytes);

		if (kept) {
			self->states[i] = SYMBOLIZER_DEBUG;
			status = take_kept(&walk, kept);
			continue;
		}
		walk.is_program = i < query->own_modules;
		walk.is_c_library = is_c_library(query->modules[i].path);
		status = read_module(&walk, &query->modules[i], &places, &self->states[i]);
	}
	self->bytes = walk.bytes;
	vec_sort(self, compare_types);
	module_places_release(&places);
	map_release(&walk.known);
	strbuf_release(&walk.scope);
	strbuf_release(&walk.name);
	return status ? err_set(err, status, "out of memory for the names of types") : 0;
}

void typesizes_release(struct typesizes *self)
{
	vec_release(self);
	free(self->states);
	self->states = NULL;
	names_release(&self->names);
}

u64 typesizes_first(const struct typesizes *self, u64 size)
{
	u64 low = bisect(at, self->count, self->data[at].size < size);

	return low;
}
