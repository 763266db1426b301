/* SPDX-License-Identifier: MIT
 * Trace → addresses → files → frames → trace.
 * Runs on the host, after a recording or at any time later. Never changes what the trace holds: new
 * symbol blocks are appended. */
#include "host/symbols/resolve/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "format/runtime.h"
#include "host/symbols/collect.h"
#include "host/symbols/resolve/keep_types.h"
#include "host/symbols/resolve/keep_variables.h"
#include "host/symbols/perfmap.h"
#include "host/symbols/symbolizer.h"
#include "host/trace/reader.h"
#include "host/trace/symtab.h"
#include "host/trace/typenames.h"

enum { FILES_FEW = 16 };

struct resolution {
	const struct symbolize_options *options;
	struct collect collect;
	struct symbolizer *symbolizer;
	VEC(struct symbol_entry) entries;
	VEC(struct type_name) type_names;
	VEC(u8) types_done; /* by file */
	struct symbolize_summary summary;
};

static int read_trace(struct resolution *self, const char *path, struct err *err)
{
	struct trace_read_options options = {.image = TRACE_ALL_IMAGES};
	struct stream_sink sink = collect_sink(&self->collect);
	struct trace_reader *reader = trace_open(path, err);
	int result;

	if (!reader)
		return err->code;
	result = trace_read(reader, &options, &sink, err);
	trace_close(reader);
	return result ? result : collect_finish(&self->collect, err);
}

static void count_state(struct symbolize_summary *summary, enum symbolizer_state state)
{
	summary->modules++;
	summary->modules_missing += state == SYMBOLIZER_MISSING;
	summary->modules_stripped += state == SYMBOLIZER_STRIPPED;
}

/* One entry for each image and module that wants the address; none if nothing is known of it. */
static int add_entry(struct resolution *self, const struct wanted *wanted,
		     const struct symbolizer_answer *answer)
{
	struct symbol_entry entry = {.image = wanted->image,
				     .module = wanted->module,
				     .address = wanted->address,
				     .frames = answer->frames,
				     .frame_count = answer->frame_count};

	self->summary.addresses++;
	if (!answer->frame_count)
		return 0;
	self->summary.named += answer->frames[0].function[0] != 0;
	self->summary.with_lines += answer->frames[0].line != 0;
	return vec_push(&self->entries, entry) ? 0 : ERR_MEMORY;
}

static u64 distinct_addresses(const struct wanted *wanted, u64 count, u64 *addresses)
{
	u64 distinct = 0;

	for (u64 i = 0; i < count; i++)
		if (!distinct || addresses[distinct - 1] != wanted[i].address)
			addresses[distinct++] = wanted[i].address;
	return distinct;
}

/* The types of one file, once. */
static int resolve_types(struct resolution *self, u32 file, u32 module, struct err *err)
{
	const struct wanted_type *wanted = self->collect.types.data;
	int result = 0;

	if (!self->collect.types.count || self->types_done.data[file])
		return 0;
	self->types_done.data[file] = 1;
	for (u64 i = 0; i < self->collect.types.count && !result; i++) {
		struct type_name name = {.image = wanted[i].image,
					 .module = wanted[i].module,
					 .identity = wanted[i].identity};

		if (wanted[i].file != file)
			continue;
		result = symbolizer_type(self->symbolizer, module, wanted[i].address, &name.name,
					 err);
		self->summary.types++;
		if (result || !name.name[0])
			continue;
		self->summary.types_named++;
		if (!vec_push(&self->type_names, name))
			result = err_memory_for(err, "the types of a trace");
	}
	return result;
}

/* Types of files in which no code is wanted. */
static int resolve_more_types(struct resolution *self, struct err *err)
{
	int result = 0;

	for (u64 i = 0; i < self->collect.types.count && !result; i++) {
		u32 file = self->collect.types.data[i].file, module;

		if (self->types_done.data[file])
			continue;
		result = symbolizer_add(self->symbolizer, &self->collect.files.data[file], &module,
					err);
		if (!result)
			result = resolve_types(self, file, module, err);
		if (!result)
			symbolizer_drop(self->symbolizer, module);
	}
	return result;
}

/* The functions that a runtime named: no file has them. */
static int resolve_codes(struct resolution *self, const struct wanted *wanted, u64 count,
			 struct err *err)
{
	for (u64 i = 0; i < count; i++) {
		const u64 *name = map_find(&self->collect.codes,
					   (u64)wanted[i].image << 32 | wanted[i].address);
		struct symbol_frame *frame = arena_new(&self->collect.arena, struct symbol_frame);

		if (!frame)
			return err_memory_for(err, "the symbols of a trace");
		*frame = (struct symbol_frame){.function =
						       name ? (const char *)(uintptr_t)*name : "",
					       .file = ""};
		if (add_entry(self, &wanted[i], &(struct symbolizer_answer){frame, name != NULL}) <
		    0)
			return err_memory_for(err, "the symbols of a trace");
	}
	return 0;
}

/* Code that the program generated: its runtime may have written down the names. */
static int resolve_generated(struct resolution *self, const struct wanted *wanted, u64 count,
			     struct err *err)
{
	struct perf_map map = {0};
	int result = 0;

	perf_map_read(&map, self->collect.files.data[wanted->file].path);
	for (u64 i = 0; i < count && !result; i++) {
		const char *name = perf_map_find(&map, wanted[i].address);
		struct symbol_frame *frame =
			name ? arena_new(&self->collect.arena, struct symbol_frame) : NULL;

		if (!name)
			continue;
		name = arena_copy(&self->collect.arena, name);
		if (!frame || !name) {
			result = ERR_MEMORY;
		} else {
			*frame = (struct symbol_frame){.function = name, .file = ""};
			result = add_entry(self, &wanted[i], &(struct symbolizer_answer){frame, 1});
		}
	}
	perf_map_release(&map);
	return result ? err_memory_for(err, "the symbols of a trace") : 0;
}

/* Resolves the addresses of one file, which are wanted[0 … count). */
static int resolve_file(struct resolution *self, const struct wanted *wanted, u64 count,
			struct err *err)
{
	u64 *addresses = malloc(count * sizeof(*addresses));
	struct symbolizer_answer *answers = calloc(count, sizeof(*answers));
	u64 distinct, at = 0;
	u32 module;
	int result = ERR_MEMORY;

	if (!addresses || !answers) {
		err_memory_for(err, "%llu addresses", (unsigned long long)count);
		goto done;
	}
	distinct = distinct_addresses(wanted, count, addresses);
	result = symbolizer_add(self->symbolizer, &self->collect.files.data[wanted->file], &module,
				err);
	if (!result)
		result = symbolizer_resolve(self->symbolizer,
					    &(struct symbolizer_query){module, addresses, distinct,
								       answers},
					    err);
	if (!result)
		result = resolve_types(self, wanted->file, module, err);
	if (result)
		goto done;
	count_state(&self->summary, symbolizer_state(self->symbolizer, module));
	/* The program's types are read from the same tables. Few files may stay open: to close them
	 * takes as long as all else. */
	if (!self->collect.own.data[wanted->file] &&
	    !(self->options->symbolizer && self->collect.files.count <= FILES_FEW))
		symbolizer_drop(self->symbolizer, module);
	for (u64 i = 0; i < count && !result; i++) {
		at += addresses[at] != wanted[i].address;
		result = add_entry(self, &wanted[i], &answers[at]);
	}
	if (result)
		err_set(err, result, "out of memory for the symbols of a trace");
done:
	free(addresses);
	free(answers);
	return result;
}

static int resolve_files(struct resolution *self, struct err *err)
{
	const struct wanted *wanted = self->collect.wanted.data;
	u64 count = self->collect.wanted.count;
	int result = 0;

	if (!vec_extend(&self->types_done, self->collect.files.count))
		return err_memory_for(err, "the types of a trace");
	for (u64 i = 0, next; i < count && !result; i = next) {
		for (next = i; next < count && wanted[next].file == wanted[i].file; next++)
			;
		if (strcmp(self->collect.files.data[wanted[i].file].path, HW_CODE_MODULE) == 0)
			result = resolve_codes(self, &wanted[i], next - i, err);
		else if (wanted[i].module == WANTED_NO_MODULE)
			result = resolve_generated(self, &wanted[i], next - i, err);
		else
			result = resolve_file(self, &wanted[i], next - i, err);
		if (self->options->progress)
			self->options->progress(self->options->progress_self,
						(double)next / (double)count);
	}
	return result ? result : resolve_more_types(self, err);
}

static void drop_programs(struct resolution *self, struct err *err)
{
	u32 module;

	for (u64 i = 0; i < self->collect.files.count; i++)
		if (self->collect.own.data[i] &&
		    symbolizer_add(self->symbolizer, &self->collect.files.data[i], &module, err) ==
			    0)
			symbolizer_drop(self->symbolizer, module);
}

static int keep_types(struct resolution *self, const char *path, struct err *err)
{
	struct keep_types_query query = {.collect = &self->collect,
					 .symbolizer = self->symbolizer,
					 .debug_path = self->options->debug_path,
					 .max_bytes = self->options->type_bytes};

	int result = symbols_keep_types(path, &query, err);

	if (!self->options->symbolizer)
		drop_programs(self, err);
	return result;
}

int symbols_resolve_trace(const char *path, const struct symbolize_options *options,
			  struct symbolize_summary *summary, struct err *err)
{
	static const struct symbolize_options defaults;
	struct resolution self = {.options = options ? options : &defaults};
	struct symbolizer_options symbolizer_options = {
		.no_inlines = self.options->no_inlines,
		.debug_path = self.options->debug_path,
	};
	struct err own_err = {0};
	int result;

	err = err ? err : &own_err;
	result = read_trace(&self, path, err);
	if (result)
		goto done;
	self.symbolizer = self.options->symbolizer ? self.options->symbolizer
						   : symbolizer_new(&symbolizer_options, err);
	result = self.symbolizer ? resolve_files(&self, err) : ERR_MEMORY;
	if (!result && self.entries.count)
		result = trace_write_symbols(path, self.entries.data, self.entries.count, err);
	if (!result && self.type_names.count)
		result = trace_write_type_names(path, self.type_names.data, self.type_names.count,
						err);
	if (!result)
		result = symbols_keep_variables(path, &self.collect, self.options->debug_path, err);
	if (!result)
		result = keep_types(&self, path, err);
	if (!result && summary)
		*summary = self.summary;
done:
	vec_release(&self.entries);
	vec_release(&self.type_names);
	vec_release(&self.types_done);
	if (!self.options->symbolizer)
		symbolizer_free(self.symbolizer);
	collect_release(&self.collect);
	return result;
}
