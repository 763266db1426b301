/* SPDX-License-Identifier: MIT
 * Joins symbol tables and debug info of modules into frames.
 * Runs on the host. Never keeps a file open that was dropped, never fails because of a bad file. */
#include "host/symbols/symbolizer.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/symbols/module.h"

struct entry {
	struct symbolizer_module description; /* with copies in the arena */
	enum symbolizer_state state;
	bool open;
	struct module module;
	struct map known; /* address → number of its answer */
	VEC(struct symbolizer_answer) answers;
};

struct symbolizer {
	bool no_inlines;
	struct module_places places;
	struct names names;
	struct arena arena; /* frames and descriptions */
	VEC(struct entry *) entries;
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *options, struct err *err)
{
	struct symbolizer *self = calloc(1, sizeof(*self));

	if (self && module_places_init(&self->places, options ? options->debug_path : NULL)) {
		elf_version(EV_CURRENT);
		self->no_inlines = options && options->no_inlines;
		return self;
	}
	free(self);
	err_memory_for(err, "a symbolizer");
	return NULL;
}

void symbolizer_free(struct symbolizer *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->entries.count; i++) {
		symbolizer_drop(self, (u32)i);
		map_release(&self->entries.data[i]->known);
		vec_release(&self->entries.data[i]->answers);
	}
	vec_release(&self->entries);
	names_release(&self->names);
	arena_release(&self->arena);
	module_places_release(&self->places);
	free(self);
}

static bool same_module(const struct symbolizer_module *a, const struct symbolizer_module *b)
{
	u32 bytes = b->build_id ? b->build_id_bytes : 0;

	return a->arch == b->arch && a->build_id_bytes == bytes &&
	       (!bytes || !memcmp(a->build_id, b->build_id, bytes)) &&
	       !strcmp(a->path, b->path ? b->path : "");
}

static bool find_entry(const struct symbolizer *self, const struct symbolizer_module *description,
		       u32 *module)
{
	for (u64 i = 0; i < self->entries.count; i++) {
		if (same_module(&self->entries.data[i]->description, description)) {
			*module = (u32)i;
			return true;
		}
	}
	return false;
}

static int new_entry(struct symbolizer *self, const struct symbolizer_module *description,
		     u32 *module, struct err *err)
{
	struct entry *entry = arena_new(&self->arena, struct entry);

	if (!entry || !symbolizer_module_copy(&self->arena, description, &entry->description) ||
	    !vec_push(&self->entries, entry))
		return err_memory_for(err, "module %s", description->path);
	*module = (u32)self->entries.count - 1;
	return 0;
}

int symbolizer_add(struct symbolizer *self, const struct symbolizer_module *description,
		   u32 *module, struct err *err)
{
	if (find_entry(self, description, module))
		return 0;
	return new_entry(self, description, module, err);
}

static enum symbolizer_state module_state(const struct module *module)
{
	if (module->has_debuginfo)
		return SYMBOLIZER_DEBUG;
	return module->symbols.has_local ? SYMBOLIZER_SYMBOLS : SYMBOLIZER_STRIPPED;
}

/* 0 also for a missing file: then entry->open stays false. */
static int entry_open(struct symbolizer *self, struct entry *entry)
{
	int result;

	if (entry->open || entry->state == SYMBOLIZER_MISSING)
		return 0;
	result = module_open(&entry->module, &entry->description, &self->places);
	if (result == ERR_MEMORY)
		return result;
	entry->open = result == 0;
	entry->state = entry->open ? module_state(&entry->module) : SYMBOLIZER_MISSING;
	return 0;
}

/* Whether both name the same function, apart from classes, template arguments and parameters, which
 * compilers spell in another way than demanglers. */
static bool same_function(const char *readable, const char *bare)
{
	size_t bytes = strcspn(bare, "<(");

	for (const char *at = readable; (at = strchr(at, bare[0])) != NULL; at++)
		if (!strncmp(at, bare, bytes))
			return true;
	return !bare[0];
}

/* A function that the debug info names only barely, such as a constructor without a linker name, is
 * better named by the symbol table if that tells its class and parameters. */
static void improve_name(struct symbolizer *self, const struct elfsym *symbol,
			 struct debuginfo_answer *answer)
{
	struct symbol_frame *outer = &answer->frames[answer->frame_count - 1];
	const char *name;

	if (!symbol || !answer->bare_name)
		return;
	if (outer->function[0] && strncmp(symbol->name, "_Z", 2) && strncmp(symbol->name, "_R", 2))
		return;
	name = elfsym_readable(symbol, &self->names);
	if (same_function(name, outer->function))
		outer->function = name;
}

static int answer_address(struct symbolizer *self, const struct elfsym *symbol,
			  struct debuginfo_answer *debug, struct symbolizer_answer *answer)
{
	struct symbol_frame *frame;

	if (debug->frame_count) {
		improve_name(self, symbol, debug);
		answer->frames = debug->frames;
		answer->frame_count = debug->frame_count;
		return 0;
	}
	if (!symbol && !debug->file[0])
		return 0;
	frame = arena_new(&self->arena, struct symbol_frame);
	if (!frame)
		return ERR_MEMORY;
	frame->function = symbol ? elfsym_readable(symbol, &self->names) : "";
	frame->file = debug->file;
	frame->line = debug->line;
	frame->column = debug->column;
	answer->frames = frame;
	answer->frame_count = 1;
	return 0;
}

static int module_resolve(struct symbolizer *self, struct module *module,
			  const struct symbolizer_query *asked)
{
	u64 count = asked->count;
	struct debuginfo_answer *debug = malloc((count + 1) * sizeof(*debug));
	struct debuginfo_query query = {
		.addresses = asked->addresses,
		.count = count,
		.answers = debug,
		.no_inlines = self->no_inlines,
		.arena = &self->arena,
		.names = &self->names,
	};
	int result = debug ? 0 : ERR_MEMORY;

	for (u64 i = 0; i < count && !result; i++)
		debug[i] = (struct debuginfo_answer){.file = ""};
	if (!result && module->has_debuginfo)
		result = debuginfo_resolve(&module->debuginfo, &query);
	for (u64 i = 0; i < count && !result; i++)
		result = answer_address(self, elfsyms_find(&module->symbols, asked->addresses[i]),
					&debug[i], &asked->answers[i]);
	free(debug);
	return result;
}

int symbolizer_open(struct symbolizer *self, u32 module, struct err *err)
{
	if (module >= self->entries.count)
		return err_set(err, ERR_USAGE, "there is no module %u", module);
	if (entry_open(self, self->entries.data[module]) < 0)
		return err_memory_for(err, "the symbols of %s",
				      self->entries.data[module]->description.path);
	return 0;
}

void symbolizer_read_ahead(struct symbolizer *self, u32 module, bool (*go_on)(void *), void *asked)
{
	const struct entry *entry = self->entries.data[module];

	if (entry->open && entry->module.has_debuginfo)
		debuginfo_read_ahead(&entry->module.debuginfo, go_on, asked);
}

struct module *symbolizer_files(const struct symbolizer *self,
				const struct symbolizer_module *description)
{
	struct entry *entry;
	u32 module;

	if (!self || !find_entry(self, description, &module))
		return NULL;
	entry = self->entries.data[module];
	return entry->open && entry->module.has_debuginfo ? &entry->module : NULL;
}

static int resolve_now(struct symbolizer *self, const struct symbolizer_query *query,
		       struct err *err)
{
	int result = symbolizer_open(self, query->module, err);
	struct entry *entry;

	if (result)
		return result;
	entry = self->entries.data[query->module];
	memset(query->answers, 0, query->count * sizeof(*query->answers));
	if (entry->open)
		result = module_resolve(self, &entry->module, query);
	if (result)
		return err_set(err, result, "out of memory for the symbols of %s",
			       entry->description.path);
	return 0;
}

/* Answers what is known; the addresses and numbers of the others go to `rest` and which[]. */
static u64 take_known(const struct entry *entry, const struct symbolizer_query *query, u64 *rest,
		      u64 *which)
{
	u64 left = 0;

	for (u64 i = 0; i < query->count; i++) {
		const u64 *known = map_find(&entry->known, query->addresses[i]);

		if (known) {
			query->answers[i] = entry->answers.data[*known];
			continue;
		}
		rest[left] = query->addresses[i];
		which[left++] = i;
	}
	return left;
}

/* Some of the answers may be known. */
static int resolve_rest(struct symbolizer *self, const struct symbolizer_query *query,
			struct err *err)
{
	u64 count = query->count;
	struct symbolizer_answer *fresh = malloc(count * sizeof(*fresh));
	u64 *unknown = malloc(2 * count * sizeof(*unknown)), *which = unknown + count;
	struct symbolizer_query rest = {query->module, unknown, 0, fresh};
	int result = 0;

	if (fresh && unknown)
		rest.count = take_known(self->entries.data[query->module], query, unknown, which);
	else
		result = err_memory_for(err, "%llu addresses", (unsigned long long)count);
	if (rest.count)
		result = resolve_now(self, &rest, err);
	for (u64 i = 0; i < rest.count && !result; i++)
		query->answers[which[i]] = fresh[i];
	free(fresh);
	free(unknown);
	return result;
}

int symbolizer_resolve(struct symbolizer *self, const struct symbolizer_query *query,
		       struct err *err)
{
	u32 module = query->module;

	if (module < self->entries.count && self->entries.data[module]->answers.count &&
	    query->count)
		return resolve_rest(self, query, err);
	return resolve_now(self, query, err);
}

int symbolizer_resolve_ahead(struct symbolizer *self, u32 module, const u64 *addresses, u64 count,
			     struct err *err)
{
	struct symbolizer_answer *answers = malloc((count + 1) * sizeof(*answers));
	const struct symbolizer_query query = {module, addresses, count, answers};
	int result = answers ? symbolizer_resolve(self, &query, err) : ERR_MEMORY;
	struct entry *entry = result ? NULL : self->entries.data[module];

	for (u64 i = 0; i < count && !result; i++)
		if (!vec_push(&entry->answers, answers[i]) ||
		    !map_put(&entry->known, addresses[i], entry->answers.count - 1))
			result = ERR_MEMORY;
	free(answers);
	return result ? err_set(err, result, "out of memory for %llu addresses",
				(unsigned long long)count)
		      : 0;
}

int symbolizer_type(struct symbolizer *self, u32 module, u64 address, const char **name,
		    struct err *err)
{
	int result = symbolizer_open(self, module, err);
	const struct type_symbol *symbol;
	struct entry *entry;
	char *text;

	*name = "";
	if (result)
		return result;
	entry = self->entries.data[module];
	if (!entry->open)
		return 0;
	if (!entry->module.types.read &&
	    type_symbols_read(&entry->module.types, entry->module.handle) < 0)
		return err_memory_for(err, "the types of %s", entry->description.path);
	symbol = type_symbols_find(&entry->module.types, address);
	if (!symbol && !entry->module.rtti.read &&
	    rtti_read(&entry->module.rtti, entry->module.handle) < 0)
		return err_memory_for(err, "the types of %s", entry->description.path);
	text = symbol ? type_of_symbol(symbol->name) : rtti_class(&entry->module.rtti, address);
	*name = names_keep(&self->names, text);
	free(text);
	return 0;
}

/* Compilers number variables of functions: "cache.0", "cache.lto_priv.1". */
static const char *without_number(struct names *names, const char *name)
{
	u64 bytes = strcspn(name, ".");

	return bytes && name[bytes] && !strchr(name, '(') ? names_keep_bytes(names, name, bytes)
							  : name;
}

int symbolizer_variable(struct symbolizer *self, u32 module, u64 address,
			struct symbolizer_variable *variable, struct err *err)
{
	int result = symbolizer_open(self, module, err);
	const struct elfsym *symbol;
	struct module *files;

	*variable = (struct symbolizer_variable){.name = ""};
	if (result || !self->entries.data[module]->open)
		return result;
	files = &self->entries.data[module]->module;
	if (!files->has_data && elfsyms_read_data(&files->data, files->handle) < 0)
		return err_memory_for(err, "the variables of %s",
				      self->entries.data[module]->description.path);
	files->has_data = true;
	symbol = elfsyms_find(&files->data, address);
	if (symbol)
		*variable = (struct symbolizer_variable){
			without_number(&self->names, elfsym_readable(symbol, &self->names)),
			symbol->start, symbol->end - symbol->start};
	return 0;
}

enum symbolizer_state symbolizer_state(const struct symbolizer *self, u32 module)
{
	if (module >= self->entries.count)
		return SYMBOLIZER_MISSING;
	return self->entries.data[module]->state;
}

void symbolizer_drop(struct symbolizer *self, u32 module)
{
	struct entry *entry;

	if (module >= self->entries.count)
		return;
	entry = self->entries.data[module];
	if (entry->open)
		module_close(&entry->module);
	entry->open = false;
	entry->state = SYMBOLIZER_UNREAD;
}
