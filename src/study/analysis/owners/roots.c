/* SPDX-License-Identifier: MIT
 * Takes the data of modules apart into variables, and names roots.
 * Host. Reads symbol tables of the modules that have roots, and no others. */
#include "study/analysis/owners/roots.h"

#include <inttypes.h>

#include "host/base/path.h"
#include "host/base/search.h"
#include "host/base/strbuf.h"

enum { WORD_BYTES = 8 };

struct making {
	struct owner_roots *out;
	const struct stream_graph *graph;
	const struct model *model;
	struct err *err;
};

/* Where an address is: in which file, which was there at the scan. */
struct spot {
	struct symbolizer_module file; /* path "" = none */
	u64 offset;
};

static struct spot spot_of(const struct making *self, u64 address)
{
	const struct modmap *map = &self->model->contexts.modules;

	for (u32 id = map->module_count; id--;) {
		const struct modmap_module *module = modmap_module(map, id);

		if (!module || address < module->start || address >= module->end ||
		    module->loaded_ticks > self->graph->ticks ||
		    (module->unloaded_ticks && module->unloaded_ticks < self->graph->ticks))
			continue;
		return (struct spot){{.path = *module->path ? module->path
							    : self->model->image.program,
				      .build_id = module->build_id,
				      .build_id_bytes = module->build_id_bytes,
				      .arch = self->model->image.arch},
				     address - module->base};
	}
	return (struct spot){{.path = ""}, address};
}

/* The trace knows only modules that are in some stack; a root of data says where its own is. */
static struct spot data_spot(const struct making *self, const struct stream_root *root, u64 address)
{
	struct spot spot = spot_of(self, address);

	if (!*spot.file.path && root->code && *root->name)
		spot = (struct spot){{.path = root->name, .arch = self->model->image.arch},
				     address - root->code};
	return spot;
}

/* The symbolizer's number of the spot's module. */
static int open_module(struct making *self, const struct spot *spot, u32 *number)
{
	return symbolizer_add(self->out->symbolizer, &spot->file, number, self->err);
}

static int no_memory(const struct making *self) { return err_memory_for(self->err, "the owners"); }

/* One more root, which has the edges from here to the next one. */
static int add_root(struct making *self, const struct stream_root *root,
		    const struct owner_root_name *name, u64 start)
{
	struct owner_roots *out = self->out;
	struct owner_root_name kept = *name;

	kept.label = names_keep(&out->texts, name->label);
	kept.name = names_keep(&out->texts, name->name);
	kept.module = names_keep(&out->texts, name->module);
	return vec_push(&out->roots, *root) && vec_push(&out->names, kept) &&
			       vec_push(&out->starts, start)
		       ? 0
		       : no_memory(self);
}

/* ---- data ---- */

static int add_variable(struct making *self, const struct stream_root *root,
			const struct spot *spot, const struct symbolizer_variable *variable,
			u64 start)
{
	struct owner_root_name name = {.name = variable->name,
				       .module = spot->file.path,
				       .offset = variable->start,
				       .type = NO_DECLARED};
	struct declared_variable declared = {.file = ""};
	u64 address = root->address + self->graph->edges[start].from;
	struct strbuf label = {0};
	struct stream_root part = *root;
	int status;

	if (*variable->name &&
	    declared_variable(self->out->declared, &spot->file, variable->start, &declared))
		name.type = declared.type;
	if (*variable->name && *declared.file && declared.line)
		strbuf_addf(&label, "%s (%s:%u)", variable->name, path_file(declared.file),
			    declared.line);
	else if (*variable->name)
		strbuf_addf(&label, "%s (data of %s)", variable->name, path_file(spot->file.path));
	else if (*spot->file.path)
		strbuf_addf(&label, "data of %s without a symbol", path_file(spot->file.path));
	else
		strbuf_add(&label, "data of an unknown file");
	name.label = strbuf_text(&label);
	part.address = address - spot->offset + variable->start;
	part.bytes = variable->bytes;
	status = add_root(self, &part, &name, start);
	strbuf_release(&label);
	return status;
}

/* A pointer without a symbol is a root of its own. */
static int find_variable(struct making *self, const struct spot *spot,
			 struct symbolizer_variable *variable)
{
	u32 number;

	*variable = (struct symbolizer_variable){.name = ""};
	if (*spot->file.path && (open_module(self, spot, &number) < 0 ||
				 symbolizer_variable(self->out->symbolizer, number, spot->offset,
						     variable, self->err) < 0))
		return self->err->code;
	if (!*variable->name)
		*variable = (struct symbolizer_variable){"", spot->offset, WORD_BYTES};
	return 0;
}

static int split_data(struct making *self, const struct stream_root *root, u64 first, u64 end)
{
	const struct owner_roots *out = self->out;
	const struct stream_root *last =
		out->roots.count ? &out->roots.data[out->roots.count - 1] : NULL;
	/* By the last variable, which may go on from the root before: a root is a mapping. */
	u64 covered = last && last->kind == ROOT_DATA && last->address <= root->address
			      ? last->address + last->bytes
			      : 0;
	int status = 0;

	for (u64 i = first; i < end && status == 0; i++) {
		u64 address = root->address + self->graph->edges[i].from;
		struct spot spot = data_spot(self, root, address);
		struct symbolizer_variable variable;

		if (address < covered)
			continue;
		status = find_variable(self, &spot, &variable);
		if (status == 0)
			status = add_variable(self, root, &spot, &variable, i);
		covered = address - spot.offset + variable.start + variable.bytes;
	}
	return status;
}

/* ---- others ---- */

static int function_of(struct making *self, const struct spot *spot, const char **function)
{
	struct symbolizer_answer answer = {0};
	u32 number;

	*function = "";
	if (!*spot->file.path)
		return 0;
	if (open_module(self, spot, &number) < 0 ||
	    symbolizer_resolve(self->out->symbolizer,
			       &(struct symbolizer_query){number, &spot->offset, 1, &answer},
			       self->err) < 0)
		return self->err->code;
	if (answer.frame_count)
		*function = answer.frames[answer.frame_count - 1].function;
	return 0;
}

static int add_frame(struct making *self, const struct stream_root *root, u64 start)
{
	struct spot spot = spot_of(self, root->code);
	struct owner_root_name name = {.module = spot.file.path,
				       .offset = spot.offset,
				       .type = NO_DECLARED};
	struct strbuf label = {0};
	int status = function_of(self, &spot, &name.name);

	strbuf_add(&label, "stack");
	if (status == 0 && *name.name)
		strbuf_addf(&label, " in %s", name.name);
	else if (*spot.file.path)
		strbuf_addf(&label, " in %s+0x%" PRIx64, path_file(spot.file.path), spot.offset);
	name.label = strbuf_text(&label);
	if (status == 0)
		status = add_root(self, root, &name, start);
	strbuf_release(&label);
	return status;
}

static int add_other(struct making *self, const struct stream_root *root, u64 start)
{
	static const char *const labels[ROOT_KINDS] = {
		[ROOT_DATA] = "data",
		[ROOT_STACK] = "stack",
		[ROOT_TLS] = "thread-local data",
		[ROOT_REGISTER] = "registers",
		[ROOT_MAPPING] = "mapped memory",
	};
	struct owner_root_name name = {.label = labels[root->kind % ROOT_KINDS],
				       .name = root->kind == ROOT_REGISTER ? root->name : "",
				       .module = "",
				       .offset = root->address,
				       .type = NO_DECLARED};

	return add_root(self, root, &name, start);
}

/* ---- all ---- */

static int add_root_of(struct making *self, u64 i)
{
	const struct stream_root *root = &self->graph->roots[i];
	const u64 *starts = &self->graph->starts[self->graph->chunk_count + i];

	if (starts[0] == starts[1])
		return 0;
	if (root->kind == ROOT_DATA)
		return split_data(self, root, starts[0], starts[1]);
	if (root->kind == ROOT_STACK)
		return add_frame(self, root, starts[0]);
	return add_other(self, root, starts[0]);
}

int owner_roots_make(struct owner_roots *self, const struct stream_graph *graph,
		     const struct owner_roots_query *query, struct err *err)
{
	struct making making = {self, graph, query->model, err};
	struct symbolizer_options options = {.debug_path = query->debug_path};
	u64 chunks = graph->chunk_count, end = graph->starts[chunks + graph->root_count];
	int status = 0;

	self->symbolizer = symbolizer_new(&options, err);
	if (!self->symbolizer)
		return err->code;
	self->declared = declared_new(&(struct declared_query){.debug_path = query->debug_path,
							       .symbolizer = self->symbolizer},
				      err);
	if (!self->declared)
		return err->code;
	if (!vec_reserve(&self->starts, chunks + graph->root_count + 1))
		return no_memory(&making);
	memcpy(self->starts.data, graph->starts, chunks * sizeof *self->starts.data);
	self->starts.count = chunks;
	for (u64 i = 0; i < graph->root_count && status == 0; i++)
		status = add_root_of(&making, i);
	if (status == 0 && !vec_push(&self->starts, end))
		status = no_memory(&making);
	self->told = graph;
	self->graph = *graph;
	self->graph.starts = self->starts.data;
	self->graph.roots = self->roots.data;
	self->graph.root_count = self->roots.count;
	return status;
}

u64 owner_roots_offset(const struct owner_roots *self, u32 root, u64 edge)
{
	const struct stream_graph *told = self->told;
	const u64 *starts = told->starts + told->chunk_count;
	u64 after = bisect(i, told->root_count, starts[i] <= edge);
	u64 start = after ? told->roots[after - 1].address : 0;

	return start + told->edges[edge].from - self->roots.data[root].address;
}

void owner_roots_release(struct owner_roots *self)
{
	vec_release(&self->roots);
	vec_release(&self->names);
	vec_release(&self->starts);
	declared_free(self->declared);
	symbolizer_free(self->symbolizer);
	names_release(&self->texts);
	*self = (struct owner_roots){0};
}
