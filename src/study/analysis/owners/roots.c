/* SPDX-License-Identifier: MIT
 * Takes the data of modules and frames apart into variables, and names roots.
 * Host. Reads symbol tables of the modules that have roots, and no others. */
#include "study/analysis/owners/roots.h"

#include <elf.h>
#include <inttypes.h>

#include "host/base/path.h"
#include "host/base/search.h"
#include "host/base/strbuf.h"

enum {
	WORD_BYTES = 8,
	FRAME_BYTES_MAX = (256 << 10) + 128, /* of a stack, so much is unwound; and a red zone */
};

struct making {
	struct owner_roots *out;
	const struct stream_graph *graph;
	const struct model *model;
	const struct owner_roots_query *query;
	struct err *err;
};

/* Where an address is: in which file, which was there at the scan. */
struct spot {
	struct symbolizer_module file; /* path "" = none */
	u32 module;                    /* of the trace; NO_MODULE = unknown */
	u64 offset;
};

#define NO_MODULE UINT32_MAX

static struct spot spot_of(const struct making *self, u64 address)
{
	const struct modmap_module *module =
		modmap_at(&self->model->contexts.modules, address, self->graph->ticks);

	if (!module)
		return (struct spot){{.path = ""}, NO_MODULE, address};
	return (struct spot){{.path = *module->path ? module->path : self->model->image.program,
			      .build_id = module->build_id,
			      .build_id_bytes = module->build_id_bytes,
			      .arch = self->model->image.arch},
			     module->id,
			     address - module->base};
}

/* The trace does not know all modules; a root of data says where its own is. */
static struct spot data_spot(const struct making *self, const struct stream_root *root, u64 address)
{
	struct spot spot = spot_of(self, address);

	if (!*spot.file.path && root->code && *root->name)
		spot = (struct spot){{.path = root->name, .arch = self->model->image.arch},
				     NO_MODULE,
				     address - root->code};
	return spot;
}

/* What the trace says of it. */
static struct symbol_entry key_of(const struct making *self, const struct spot *spot)
{
	return (struct symbol_entry){.image = self->query->image,
				     .module = spot->module,
				     .address = spot->offset};
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
			const struct spot *spot, const struct symbol_variable *variable, u64 start)
{
	struct owner_root_name name = {.name = variable->name,
				       .module = spot->file.path,
				       .offset = variable->start,
				       .type = NO_DECLARED};
	struct declared_variable declared = {.file = ""};
	u64 address = root->address + self->graph->edges[start].from;
	const char *file;
	u32 line;
	struct strbuf label = {0};
	struct stream_root part = *root;
	int status;

	if (*variable->name &&
	    declared_variable(self->out->declared, &spot->file, variable->start, &declared))
		name.type = declared.type;
	file = variable->line ? variable->file : declared.file;
	line = variable->line ? variable->line : declared.line;
	if (*variable->name && *file && line)
		strbuf_addf(&label, "%s (%s:%u)", variable->name, path_file(file), line);
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

/* In the files, if they are there. */
static int look_up(struct making *self, const struct spot *spot, struct symbol_variable *variable)
{
	struct symbolizer_variable found = {.name = ""};
	u32 number;

	if (*spot->file.path && (open_module(self, spot, &number) < 0 ||
				 symbolizer_variable(self->out->symbolizer, number, spot->offset,
						     &found, self->err) < 0))
		return self->err->code;
	*variable = (struct symbol_variable){found.name, "", 0, found.start, found.bytes};
	return 0;
}

/* A pointer without a symbol is a root of its own. */
static int find_variable(struct making *self, const struct spot *spot,
			 struct symbol_variable *variable)
{
	struct symbol_entry key = key_of(self, spot);

	if (self->query->symbols && spot->module != NO_MODULE &&
	    symbol_table_variable(self->query->symbols, &key, variable))
		return 0;
	if (look_up(self, spot, variable) < 0)
		return self->err->code;
	if (!*variable->name)
		*variable = (struct symbol_variable){"", "", 0, spot->offset, WORD_BYTES};
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
		struct symbol_variable variable;

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

/* The functions of a frame, as the trace or its files have them: the first is innermost. */
static int functions_of(struct making *self, const struct spot *spot,
			struct symbolizer_answer *answer)
{
	const struct symbol_entry *kept = NULL;
	u32 number;

	*answer = (struct symbolizer_answer){0};
	if (self->query->symbols && spot->module != NO_MODULE)
		kept = symbol_table_find(self->query->symbols, self->query->image, spot->module,
					 spot->offset);
	if (kept)
		*answer = (struct symbolizer_answer){kept->frames, kept->frame_count};
	if (!*spot->file.path ||
	    (kept && kept->frame_count && *kept->frames[kept->frame_count - 1].function))
		return 0;
	if (open_module(self, spot, &number) < 0)
		return self->err->code;
	return symbolizer_resolve(self->out->symbolizer,
				  &(struct symbolizer_query){number, &spot->offset, 1, answer},
				  self->err);
}

/* What is known of a frame. */
struct open_frame {
	const struct stream_root *root;
	struct spot spot;
	struct symbolizer_answer functions;
	const struct declared_local *locals;
	u32 local_count;
};

/* "" = unknown; inlined: that of a function which is so many calls below. */
static const char *function_of(const struct open_frame *self, u32 inlined)
{
	u32 count = self->functions.frame_count;

	return inlined < count ? self->functions.frames[count - 1 - inlined].function : "";
}

/* 0 = unknown: a thread's first root may begin with a red zone. */
static u64 frame_bytes_of(const struct making *self, const struct stream_root *root)
{
	bool is_first = root == self->graph->roots || root[-1].kind != ROOT_STACK ||
			root[-1].tid != root->tid;

	return is_first && self->model->image.arch != EM_AARCH64 ? 0 : root->bytes;
}

static int open_frame(struct making *self, const struct stream_root *root, struct open_frame *frame)
{
	*frame = (struct open_frame){.root = root, .spot = spot_of(self, root->code)};
	if (functions_of(self, &frame->spot, &frame->functions) < 0)
		return self->err->code;
	/* what is larger was not unwound: where it ends is unknown */
	if (*frame->spot.file.path && root->bytes <= FRAME_BYTES_MAX)
		frame->locals = declared_locals(self->out->declared, &frame->spot.file,
						(struct declared_spot){frame->spot.offset,
								       frame_bytes_of(self, root)},
						&frame->local_count);
	return 0;
}

/* The variable at an address, NULL = there is none. */
static const struct declared_local *local_at(const struct open_frame *self, u64 address)
{
	i64 offset = (i64)(address - self->root->address - self->root->bytes);
	u64 after = bisect(i, self->local_count, self->locals[i].offset <= offset);
	const struct declared_local *local = after ? &self->locals[after - 1] : NULL;

	return local && (u64)(offset - local->offset) < local->bytes ? local : NULL;
}

/* Iterators and views are pointers to what something else owns. */
static bool is_view(const char *name)
{
	static const char *const views[] = {"std::string_view",  "std::basic_string_view<",
					    "std::span<",        "std::reference_wrapper<",
					    "std::weak_ptr<",    "std::initializer_list<",
					    "std::wstring_view", NULL};
	u64 head = strcspn(name, "<");

	for (u32 i = 0; views[i]; i++)
		if (strncmp(name, views[i], strlen(views[i])) == 0)
			return true;
	return memmem(name, head, "_iter", 5);
}

static u8 part_of(struct making *self, const struct declared_local *local)
{
	const struct declared_type *type = declared_type(self->out->declared, local->type);

	if (!type || type->form == DECLARED_OTHER)
		return FRAME_PLAIN;
	if (type->form == DECLARED_POINTER || is_view(type->name))
		return local->order < FRAME_PLAIN - FRAME_POINTER
			       ? (u8)(FRAME_POINTER + local->order)
			       : FRAME_PLAIN - 1;
	return FRAME_OBJECT;
}

static int add_local(struct making *self, const struct open_frame *frame,
		     const struct declared_local *local, u64 start)
{
	const char *function = function_of(frame, local->inlined);
	struct stream_root part = *frame->root;
	struct strbuf label = {0};
	struct owner_root_name name = {.name = local->name,
				       .module = frame->spot.file.path,
				       .type = local->type};
	int status;

	part.address += part.bytes + (u64)local->offset;
	part.bytes = local->bytes;
	name.offset = part.address;
	name.order = owner_frame_order(frame->root->address, part_of(self, local));
	strbuf_addf(&label, "%s in %s", local->name, *function ? function : "a function");
	if (*local->file && local->line)
		strbuf_addf(&label, " (%s:%u)", path_file(local->file), local->line);
	name.label = strbuf_text(&label);
	status = add_root(self, &part, &name, start);
	strbuf_release(&label);
	return status;
}

static int add_rest(struct making *self, const struct open_frame *frame, u64 start)
{
	struct owner_root_name name = {.name = function_of(frame, 0),
				       .module = frame->spot.file.path,
				       .offset = frame->spot.offset,
				       .type = NO_DECLARED,
				       .order =
					       owner_frame_order(frame->root->address, FRAME_REST)};
	struct strbuf label = {0};
	int status;

	strbuf_add(&label, "stack");
	if (*name.name)
		strbuf_addf(&label, " in %s", name.name);
	else if (*name.module)
		strbuf_addf(&label, " in %s+0x%" PRIx64, path_file(name.module), name.offset);
	name.label = strbuf_text(&label);
	status = add_root(self, frame->root, &name, start);
	strbuf_release(&label);
	return status;
}

static int split_frame(struct making *self, const struct stream_root *root, u64 first, u64 end)
{
	const struct declared_local *before = NULL;
	struct open_frame frame;
	int status = open_frame(self, root, &frame);

	for (u64 i = first; i < end && status == 0; i++) {
		const struct declared_local *local =
			local_at(&frame, root->address + self->graph->edges[i].from);

		if (i > first && local == before)
			continue;
		status = local ? add_local(self, &frame, local, i) : add_rest(self, &frame, i);
		before = local;
	}
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
		return split_frame(self, root, starts[0], starts[1]);
	return add_other(self, root, starts[0]);
}

int owner_roots_make(struct owner_roots *self, const struct stream_graph *graph,
		     const struct owner_roots_query *query, struct err *err)
{
	struct making making = {self, graph, query->model, query, err};
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

u32 owner_roots_told(const struct owner_roots *self, u64 edge)
{
	const struct stream_graph *told = self->told;
	const u64 *starts = told->starts + told->chunk_count;

	/* the first begins where chunks end */
	return (u32)(told->chunk_count + bisect(i, told->root_count, starts[i] <= edge) - 1);
}

u64 owner_roots_offset(const struct owner_roots *self, u32 root, u64 edge)
{
	const struct stream_graph *told = self->told;
	u64 start = told->roots[owner_roots_told(self, edge) - told->chunk_count].address;

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
