/* SPDX-License-Identifier: MIT
 * How a chunk is held, as a record with the way to it.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "host/base/units.h"
#include "study/analysis/owners/containers.h"
#include "study/analysis/owners/paths.h"
#include "study/analysis/owners/result.h"
#include "study/model/each.h"
#include "study/result/field.h"

#define NONE UINT32_MAX

/* ---- which chunk ---- */

static bool holds_address(const struct owners *self, u32 node, u64 address)
{
	struct chunk chunk = {.model = self->model};

	return chunk_take(&chunk, owners_graph(self)->chunks[node]) &&
	       address - chunk.page->address[chunk.at] < (chunk.page->size[chunk.at] ?: 1);
}

static u32 node_at(const struct owners *self, u64 address)
{
	for (u32 node = 0; node < owners_graph(self)->chunk_count; node++)
		if (owners_graph(self)->chunks[node] < self->model->chunks.count &&
		    holds_address(self, node, address))
			return node;
	return NONE;
}

/* Of the chunks whose label has the text the one that retains most. */
static u32 node_called(const struct owners *self, const char *text)
{
	u32 found = NONE;

	for (u64 i = 0; i < owners_graph(self)->chunk_count; i++) {
		u32 node = graph_node(owners_graph(self), i);

		if ((found == NONE || self->tree.retained[node] > self->tree.retained[found]) &&
		    strstr(owners_kind(self, node)->label, text))
			found = node;
	}
	return found;
}

static u32 node_wanted(const struct owners *self, const char *wanted)
{
	char *end;
	u64 number = strtoull(wanted, &end, 0);

	if (end == wanted || *end)
		return *wanted ? node_called(self, wanted) : NONE;
	return strncmp(wanted, "0x", 2) == 0 ? node_at(self, number) : owners_node(self, number);
}

/* ---- the way ---- */

static const struct result_column columns[] = {
	COLUMN("step", "step", VALUE_ID, "0 is a root, or the first chunk of what is lost"),
	COLUMN("count", "times", VALUE_COUNT,
	       "steps in a row that are called alike, or are parts of one container"),
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with the first of them, or with the container"),
	COLUMN("bytes", "own", VALUE_BYTES, "requested bytes of its own; none = a root"),
	COLUMN("chunk", "chunk", VALUE_ID, "number of the chunk; none = a root"),
	COLUMN("owner", "holder", VALUE_TEXT,
	       "a root; a type; the function that allocated, where the type is unknown; or how "
	       "large a container is"),
	COLUMN("container", NULL, VALUE_TEXT, "kind of the container; none = it is none"),
	COLUMN("member", "pointer", VALUE_TEXT, "member or offset of the pointer to the next step"),
	COLUMN("from", NULL, VALUE_ID, "offset of the pointer in bytes"),
	COLUMN("to", NULL, VALUE_ID, "offset that it leads to, in the next step"),
	COLUMN("shared_owners", "shared by", VALUE_COUNT,
	       "owners of the std::shared_ptr that the pointer is a part of; none = it is of none"),
};

static struct result *way_table(const struct owners *self, const struct owner_path *path)
{
	struct result *table = result_table("steps", "Shortest path from a root", columns);
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = 0, count; table && i < path->steps.count; i += count) {
		const struct owner_step *step = &path->steps.data[i];
		const struct owner_container *container;
		bool is_chunk = step->node < graph->chunk_count, leads;

		count = owner_path_alike(path, self, i);
		leads = i + count < path->steps.count;
		container = step->container ? &self->containers.data[self->container_of[step->node]]
					    : NULL;
		result_row(table, value_number(i),
			   value_number(step->parts > count ? step->parts : count),
			   value_number(container ? container->sums.retained
						  : self->tree.retained[step->node]),
			   value_if(is_chunk, value_number(owners_bytes(self, step->node))),
			   value_if(is_chunk,
				    value_number(is_chunk ? graph->chunks[step->node] : 0)),
			   result_text(table, owner_step_label(self, step)),
			   result_text(table, container ? container_kind(container) : NULL),
			   result_text(table, *step->member ? step->member : NULL),
			   value_if(leads, value_number(step->from)),
			   value_if(leads, value_number(step->to)),
			   value_if(step->sharers, value_number(step->sharers)));
	}
	return table;
}

static void add_fields(struct result *result, const struct owners *self,
		       const struct owner_path *path, u32 node)
{
	const struct stream_graph *graph = owners_graph(self);
	u32 holder = self->tree.holder[node];
	bool is_chunk = node < graph->chunk_count, single = holder != self->tree.program;
	struct strbuf way = {0};

	owner_path_put(path, self, &way);
	result_field(result, "path", "path", VALUE_TEXT, value_text(result_take(result, &way)),
		     "shortest way of pointers from a root to the chunk", .below = true);
	result_field(result, "chunk", "chunk", VALUE_ID,
		     value_if(is_chunk, value_number(is_chunk ? graph->chunks[node] : 0)),
		     "number of the chunk; none = a root");
	result_field(result, "bytes", "own", VALUE_BYTES, value_number(owners_bytes(self, node)),
		     "requested bytes");
	result_field(result, "retained_bytes", "retained", VALUE_BYTES,
		     value_number(self->tree.retained[node]),
		     "bytes that would be freed with the chunk");
	result_field(result, "holder", "held by", VALUE_TEXT,
		     result_text(result, single     ? owners_kind(self, holder)->label
					 : is_chunk ? "several roots together"
						    : "the program"),
		     "the nearest owner that every way to the chunk leads through");
	result_field(result, "holder_chunk", NULL, VALUE_ID,
		     value_if(holder < graph->chunk_count,
			      value_number(holder < graph->chunk_count ? graph->chunks[holder]
								       : 0)),
		     "number of the chunk that holds it; none = a root");
}

static struct result *path_of(struct owners *self, u32 node, struct err *err)
{
	struct owner_path path = {0};
	struct result *result = NULL;

	if (owner_path_find(&path, self, node, err) == 0) {
		result = result_new(RESULT_RECORD, "owner_path", NULL);
		if (result) {
			add_fields(result, self, &path, node);
			result_add_part(result, way_table(self, &path));
		}
		result = result_made(result, err, "the owners");
	}
	owner_path_release(&path);
	return result;
}

struct result *owners_path_result(struct owners *self, const char *wanted, struct err *err)
{
	u32 node = node_wanted(self, wanted);

	if (node == NONE) {
		err_set(err, ERR_USAGE,
			"no chunk '%s' was live at the scan; expected the number of a chunk, an "
			"address such as 0x55d0c0ffee00, or part of a type's or function's name",
			wanted);
		return NULL;
	}
	return path_of(self, node, err);
}

struct result *owners_shape_path(struct owners *self, u64 shape, struct err *err)
{
	const struct owner_shape *at =
		shape < self->shapes.count ? &self->shapes.data[shape] : NULL;

	if (!at || !at->nodes || at->largest >= self->tree.lost) {
		err_set(err, ERR_USAGE, "owner %llu is neither a chunk nor a root",
			(unsigned long long)shape);
		return NULL;
	}
	return path_of(self, at->largest, err);
}
