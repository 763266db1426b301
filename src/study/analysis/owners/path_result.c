/* SPDX-License-Identifier: MIT
 * How a chunk is held, as a record with the way to it.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "host/base/units.h"
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

	for (u32 node = 0; node < owners_graph(self)->chunk_count; node++)
		if ((found == NONE || self->tree.retained[node] > self->tree.retained[found]) &&
		    strstr(owners_kind(self, node)->label, text))
			found = node;
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
	COLUMN("count", "times", VALUE_COUNT, "steps in a row that are called alike"),
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with the first of them"),
	COLUMN("bytes", "own", VALUE_BYTES, "requested bytes of its own; none = a root"),
	COLUMN("chunk", "chunk", VALUE_ID, "number of the chunk; none = a root"),
	COLUMN("owner", "holder", VALUE_TEXT,
	       "a root; a type; or the function that allocated, where the type is unknown"),
	COLUMN("member", "pointer", VALUE_TEXT, "member or offset of the pointer to the next step"),
	COLUMN("from", NULL, VALUE_ID, "offset of the pointer in bytes"),
	COLUMN("to", NULL, VALUE_ID, "offset that it leads to, in the next step"),
};

/* How many steps from this one on are alike: those of a list are said once. */
static u64 alike(const struct owners *self, const struct owner_path *path, u64 first)
{
	const struct owner_step *steps = path->steps.data;
	u64 end = first + 1;

	while (end < path->steps.count &&
	       owners_kind(self, steps[end].node) == owners_kind(self, steps[first].node) &&
	       strcmp(steps[end].member, steps[first].member) == 0)
		end++;
	return end - first;
}

static struct result *way_table(const struct owners *self, const struct owner_path *path)
{
	struct result *table = result_table("steps", "Shortest path from a root", columns);
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = 0, count; table && i < path->steps.count; i += count) {
		const struct owner_step *step = &path->steps.data[i];
		bool is_chunk = step->node < graph->chunk_count, leads;

		count = alike(self, path, i);
		leads = i + count < path->steps.count;
		result_row(table, value_number(i), value_number(count),
			   value_number(self->tree.retained[step->node]),
			   value_if(is_chunk, value_number(owners_bytes(self, step->node))),
			   value_if(is_chunk,
				    value_number(is_chunk ? graph->chunks[step->node] : 0)),
			   result_text(table, owners_kind(self, step->node)->label),
			   result_text(table, *step->member ? step->member : NULL),
			   value_if(leads, value_number(step->from)),
			   value_if(leads, value_number(step->to)));
	}
	return table;
}

void owner_path_put(const struct owner_path *path, const struct owners *self, struct strbuf *out)
{
	for (u64 i = 0, count; i < path->steps.count; i += count) {
		const struct owner_step *step = &path->steps.data[i];

		count = alike(self, path, i);
		strbuf_add(out, i ? " → " : "");
		if (count > 1)
			strbuf_addf(out, "%s × ", units_count(count).text);
		strbuf_add(out, owners_kind(self, step->node)->label);
		if (*step->member)
			strbuf_addf(out, " %s", step->member);
	}
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
