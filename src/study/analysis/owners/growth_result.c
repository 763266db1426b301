/* SPDX-License-Identifier: MIT
 * What grows as a table, and its containers by name.
 * Host. */
#include <string.h>

#include "host/base/units.h"
#include "study/analysis/owners/growth.h"
#include "study/analysis/owners/paths.h"
#include "study/analysis/owners/result.h"
#include "study/result/field.h"

#define NONE UINT32_MAX

/* ---- names ---- */

/* Whether a node is one of those that a row counts. */
static bool is_counted(const struct owner_growth *self, const struct grown_row *row,
		       const struct owners *after, u32 node)
{
	u32 path = self->path_of[after->shape_of[node]];

	return path == (row->elements == NONE ? row->owner : row->elements);
}

/* "sessions" of ".sessions._M_h._M_buckets" or ".sessions[3]". */
static int name_length(const char *member) { return (int)strcspn(member + 1, ".[+"); }

/* Nodes and arrays of the C++ library are parts of containers. */
static bool is_library(const char *type) { return strncmp(type, "std::", 5) == 0; }

/* "server.clients (main.c:12)" */
static void put_member_of_root(const struct owners *after, const struct owner_step *step,
			       struct strbuf *out)
{
	const struct owner_root_name *root =
		&after->roots.names.data[step->node - owners_graph(after)->chunk_count];
	size_t length = strlen(root->name);
	bool begins = strncmp(root->label, root->name, length) == 0;

	strbuf_addf(out, "%s.%.*s%s", begins ? root->name : root->label, name_length(step->member),
		    step->member + 1, begins ? root->label + length : "");
}

/* The nearest member with a name that leads to what the row counts: "Registry::sessions". Where
 * there is none, the root. Whether it is another name than that. */
static bool put_container(const struct owners *after, const struct owner_path *path, u64 first,
			  struct strbuf *out)
{
	const struct owner_step *steps = path->steps.data;
	u64 at = first;

	while (at-- > 0) {
		const struct owner_kind *kind = owners_kind(after, steps[at].node);

		if (*steps[at].member != '.' || is_library(kind->label))
			continue;
		if (kind->what == OWNER_ROOT)
			put_member_of_root(after, &steps[at], out);
		else
			strbuf_addf(out, "%s::%.*s", kind->label, name_length(steps[at].member),
				    steps[at].member + 1);
		return kind->what != OWNER_ROOT;
	}
	strbuf_add(out, path->steps.count ? owners_kind(after, steps[0].node)->label : "lost");
	return false;
}

int owner_growth_name(const struct owner_growth *self, const struct grown_row *row,
		      struct owners *after, struct grown_name *name, struct err *err)
{
	struct owner_path path = {0};
	u64 first = 0;
	int status = owner_path_find(&path, after, row->node, err);

	while (first < path.steps.count &&
	       !is_counted(self, row, after, path.steps.data[first].node))
		first++;
	if (status == 0 && self->paths.data[row->owner].what == OWNER_LOST)
		strbuf_add(&name->container, "lost");
	else if (status == 0 && put_container(after, &path, first, &name->container))
		strbuf_add(&name->root, owners_kind(after, path.steps.data[0].node)->label);
	if (status == 0)
		owner_path_put(&path, after, &name->path);
	owner_path_release(&path);
	return status;
}

void grown_name_release(struct grown_name *self)
{
	strbuf_release(&self->container);
	strbuf_release(&self->root);
	strbuf_release(&self->path);
}

const char *grown_elements(const struct owner_growth *self, const struct grown_row *row)
{
	return self->paths.data[row->elements == NONE ? row->owner : row->elements].label;
}

/* ---- the table ---- */

/* What grows within less says nothing of a minute. */
static const u64 RATE_NS = 1000000000;

static const struct result_column columns[] = {
	COLUMN("bytes_delta", "grew by", VALUE_DELTA_BYTES,
	       "bytes that the container holds more than at the earlier scan"),
	COLUMN("bytes_per_minute", "a minute", VALUE_DELTA_BYTES,
	       "the same for a minute; none = of two runs, or less than a second"),
	COLUMN("elements_delta", "elements", VALUE_DELTA,
	       "elements that the container has more; none = a block became larger"),
	COLUMN("container", "in", VALUE_TEXT,
	       "the member that holds the elements, with its type; or the variable or other root"),
	COLUMN("element", "of", VALUE_TEXT,
	       "type of the elements, or the function that allocates them; or that of the larger "
	       "block"),
	COLUMN("stopped", NULL, VALUE_BOOL,
	       "since a scan between the two it hardly grew; none = there is no such scan"),
	COLUMN("bytes_before", NULL, VALUE_BYTES, "bytes held at the earlier scan"),
	COLUMN("bytes_after", NULL, VALUE_BYTES, "bytes held at the later scan"),
	COLUMN("count_before", NULL, VALUE_COUNT, "elements, or blocks, at the earlier scan"),
	COLUMN("count_after", NULL, VALUE_COUNT, "elements, or blocks, at the later scan"),
	COLUMN("owner", NULL, VALUE_TEXT, "what holds the elements, or the larger block itself"),
	COLUMN("was", NULL, VALUE_TEXT, "what the owner was called in the other run, if renamed"),
	COLUMN("id", NULL, VALUE_ID, "number of the elements in the tree of the later scan"),
	COLUMN("chunk", NULL, VALUE_ID,
	       "number of a chunk that is an element, the newest if known"),
	COLUMN("path", "path", VALUE_TEXT, "shortest path of pointers to that chunk",
	       .below = true),
};

static const char *was_called(const struct owner_growth *self, u32 path)
{
	for (; path; path = self->paths.data[path].parent)
		if (self->paths.data[path].was != NONE)
			return self->paths.data[self->paths.data[path].was].label;
	return NULL;
}

static int add_row(struct result *table, const struct owner_growth *self,
		   const struct grown_row *row, struct owners *after, struct err *err)
{
	const struct stream_graph *graph = owners_graph(after);
	bool elements = row->elements != NONE, is_chunk = row->node < graph->chunk_count;
	struct grown_name name = {0};
	int status = owner_growth_name(self, row, after, &name, err);

	if (status < 0)
		return status;
	result_row(table, value_signed((i64)grown_bytes(row)),
		   value_if(self->span_ns >= RATE_NS,
			    value_signed((i64)(grown_bytes_per_s(self, row) * 60 + 0.5))),
		   value_if(elements, value_signed((i64)(row->count[1] - row->count[0]))),
		   result_text(table, strbuf_text(&name.container)),
		   result_text(table, grown_elements(self, row)),
		   value_if(self->confirmed, value_number(row->stopped)),
		   value_number(row->bytes[GROWN_BEFORE]), value_number(row->bytes[GROWN_AFTER]),
		   value_number(row->count[GROWN_BEFORE]), value_number(row->count[GROWN_AFTER]),
		   result_text(table, self->paths.data[row->owner].label),
		   result_text(table, was_called(self, row->owner)),
		   value_number(self->paths.data[elements ? row->elements : row->owner].shape),
		   value_if(is_chunk, value_number(is_chunk ? graph->chunks[row->node] : 0)),
		   result_text(table, strbuf_text(&name.path)));
	grown_name_release(&name);
	return 0;
}

static const char *title(struct result *table, const struct owner_growth *self)
{
	if (!self->one_run)
		return "What grew since the other run";
	return result_format(table, "What grew in %s, and who holds it",
			     units_ns(self->span_ns).text);
}

struct result *owner_growth_result(const struct owner_growth *self, struct owners *after, u64 top,
				   struct err *err)
{
	struct result *table = result_table("growth", "", columns);
	u64 shown = result_top(self->rows.count, top);
	int status = 0;

	if (!table)
		return result_made(NULL, err, "the owners");
	table->title = title(table, self);
	table->empty = "nothing grew between the scans";
	for (u64 i = 0; i < shown && status == 0; i++)
		status = add_row(table, self, &self->rows.data[i], after, err);
	result_add_more(table, self->rows.count, top);
	return result_made_if(status == 0, table, err, "the owners");
}
