/* SPDX-License-Identifier: MIT
 * Addresses in data → variables → trace.
 * Runs on the host, after a recording or at any time later. */
#include "host/symbols/resolve/keep_variables.h"

#include "host/symbols/types/declared.h"
#include "host/trace/symtab.h"

struct keeping {
	const struct collect *collect;
	struct symbolizer *symbolizer;
	struct declared *declared;
	struct arena arena;
	VEC(struct symbol_entry) entries;
	struct map known; /* hash of image, module and start */
};

static int no_memory(struct err *err) { return err_memory_for(err, "the variables of a trace"); }

/* Once for each image and module. */
static int add_entry(struct keeping *self, const struct wanted *wanted,
		     const struct symbolizer_variable *variable, struct err *err)
{
	u64 key = hash_u64(hash_u64((u64)wanted->image << 32 | wanted->module) ^ variable->start);
	u64 *known = map_at(&self->known, key);
	struct declared_variable declared = {.file = ""};
	struct symbol_variable told = {.name = variable->name, .bytes = variable->bytes};
	struct symbol_entry entry = {.image = wanted->image,
				     .module = wanted->module,
				     .address = variable->start};

	if (!known)
		return no_memory(err);
	if ((*known)++)
		return 0;
	declared_variable(self->declared, &self->collect->files.data[wanted->file], variable->start,
			  &declared);
	told.file = declared.file;
	told.line = declared.line;
	return symbol_entry_variable(&entry, &told, &self->arena) && vec_push(&self->entries, entry)
		       ? 0
		       : no_memory(err);
}

static int add_all(struct keeping *self, struct err *err)
{
	struct symbolizer_variable variable = {.name = ""};
	u32 file = UINT32_MAX, module = 0;
	int status = 0;

	for (u64 i = 0; i < self->collect->variables.count && status == 0; i++) {
		const struct wanted *wanted = &self->collect->variables.data[i];

		if (wanted->file != file) {
			file = wanted->file;
			variable = (struct symbolizer_variable){.name = ""};
			status = symbolizer_add(self->symbolizer, &self->collect->files.data[file],
						&module, err);
		}
		if (status == 0 && wanted->address - variable.start >= variable.bytes)
			status = symbolizer_variable(self->symbolizer, module, wanted->address,
						     &variable, err);
		if (status == 0 && *variable.name)
			status = add_entry(self, wanted, &variable, err);
	}
	return status;
}

int symbols_keep_variables(const char *path, const struct collect *collect, const char *debug_path,
			   struct err *err)
{
	struct symbolizer_options options = {.debug_path = debug_path};
	struct keeping self = {.collect = collect};
	int status = ERR_MEMORY;

	if (!collect->variables.count)
		return 0;
	self.symbolizer = symbolizer_new(&options, err);
	if (self.symbolizer)
		self.declared =
			declared_new(&(struct declared_query){.debug_path = debug_path,
							      .symbolizer = self.symbolizer},
				     err);
	if (self.declared)
		status = add_all(&self, err);
	if (status == 0 && self.entries.count)
		status = trace_write_symbols(path, self.entries.data, self.entries.count, err);
	vec_release(&self.entries);
	map_release(&self.known);
	declared_free(self.declared);
	symbolizer_free(self.symbolizer);
	arena_release(&self.arena);
	return status;
}
