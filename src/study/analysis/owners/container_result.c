/* SPDX-License-Identifier: MIT
 * Lists containers, and says how full the largest is.
 * Host. */
#include "study/analysis/owners/container_result.h"

#include <string.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/analysis/owners/containers.h"
#include "study/analysis/owners/paths.h"
#include "study/result/field.h"

static const struct result_column columns[] = {
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with the container"),
	COLUMN("share", NULL, VALUE_SHARE, "share of all live bytes"),
	COLUMN("elements", "elements", VALUE_COUNT,
	       "elements; none = neither pointers nor numbers beside them say it"),
	COLUMN("capacity", "places", VALUE_COUNT,
	       "places or buckets; none = it has none, or their size is unknown"),
	COLUMN("load", "load", VALUE_SHARE, "elements per place"),
	COLUMN("slack_bytes", "slack", VALUE_BYTES, "bytes of places without elements"),
	COLUMN("bytes", NULL, VALUE_BYTES,
	       "requested bytes of its own chunks: buffer, buckets, nodes"),
	COLUMN("chunks", NULL, VALUE_COUNT, "its own chunks"),
	COLUMN("kind", "kind", VALUE_TEXT,
	       "type, or what it is by the shape of its pointers: dynamic array, array of "
	       "pointers, hash table, linked list, tree, linked chunks"),
	COLUMN("container", "container", VALUE_TEXT, "what it is in, and the member there"),
	COLUMN("by_shape", NULL, VALUE_COUNT, "1 = recognised by shape, 0 = by type"),
	COLUMN("path", NULL, VALUE_TEXT, "the shortest path of pointers to it"),
	COLUMN("chunk", NULL, VALUE_ID, "number of its first chunk; none = a part of a variable"),
};

static bool is_known(u64 number) { return number != CONTAINER_UNKNOWN; }

static int most_retained(const void *a, const void *b, void *data)
{
	const struct owner_container *containers = data;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return falling(containers[x].sums.retained, containers[y].sums.retained) ?: rising(x, y);
}

/* Numbers of all containers, in the order of the list. To be freed; NULL without memory. */
static u32 *order_of(const struct owners *self)
{
	u64 count = self->containers.count;
	u32 *order = malloc((count + 1) * sizeof *order);

	for (u32 i = 1; order && i < count; i++)
		order[i - 1] = i;
	if (order && count > 1)
		qsort_r(order, count - 1, sizeof *order, most_retained, self->containers.data);
	return order;
}

/* "server (main.c:12) .index_ (std::vector<Entry>) holds 1,200 of 4,000 places, 9 KiB retained" */
static const char *sentence(struct result *result, const struct owner_container *container,
			    const char *path)
{
	bool is_table = container->sort == CONTAINER_TABLE;
	struct strbuf text = {0};

	strbuf_addf(&text, "%s (%s)", path, container_kind(container));
	if (is_known(container->elements) && is_known(container->capacity) && !is_table)
		strbuf_addf(&text, " holds %s of %s", units_count(container->elements).text,
			    units_things(container->capacity, "place(s)").text);
	else if (is_known(container->elements))
		strbuf_addf(&text, " holds %s",
			    units_things(container->elements, "element(s)").text);
	if (is_known(container->elements) && is_known(container->capacity) && is_table)
		strbuf_addf(&text, " in %s", units_things(container->capacity, "bucket(s)").text);
	strbuf_addf(&text, "%s retains %s", is_known(container->elements) ? " and" : "",
		    units_bytes(container->sums.retained).text);
	return result_take(result, &text);
}

static const char *last_step(const char *path)
{
	static const char arrow[] = " → ";

	for (const char *next; (next = strstr(path, arrow));)
		path = next + sizeof arrow - 1;
	return path;
}

/* "Registry .index_ (std::vector<Entry>)" */
static const char *named(struct result *table, const struct owner_container *container,
			 const char *name)
{
	struct strbuf text = {0};

	strbuf_add(&text, name);
	if (*container->type)
		strbuf_addf(&text, " (%s)", container->type);
	return result_take(table, &text);
}

static void add_row(struct result *table, const struct owners *self,
		    const struct owner_container *container, const char *path)
{
	const struct stream_graph *graph = owners_graph(self);
	bool has_load = is_known(container->elements) && is_known(container->capacity) &&
			container->capacity;
	bool is_chunk = container->first < graph->chunk_count;

	result_row(table, value_number(container->sums.retained),
		   value_real(units_share(container->sums.retained,
					  self->tree.retained[self->tree.program])),
		   value_if(is_known(container->elements), value_number(container->elements)),
		   value_if(is_known(container->capacity), value_number(container->capacity)),
		   value_if(has_load, value_real(has_load ? (double)container->elements /
								    (double)container->capacity
							  : 0)),
		   value_if(is_known(container->slack_bytes), value_number(container->slack_bytes)),
		   value_number(container->sums.bytes), value_number(container->sums.chunks),
		   value_shown(result_text(table, container_kind(container)),
			       container_sort_name(container->sort)),
		   value_shown(result_text(table, last_step(path)),
			       named(table, container, last_step(path))),
		   value_number(!*container->type), result_text(table, path),
		   value_if(is_chunk,
			    value_number(is_chunk ? graph->chunks[container->first] : 0)));
}

static int fill(struct result *table, struct result *to, struct owners *self, u64 top,
		struct err *err)
{
	u64 count = self->containers.count - 1;
	u32 *order = order_of(self);
	int status = order ? 0 : err_memory_for(err, "the owners");

	for (u64 i = 0; i < result_top(count, top) && status == 0; i++) {
		const struct owner_container *container = &self->containers.data[order[i]];
		struct strbuf path = {0};

		status = owner_path_put_container(self, container, &path, err);
		if (i == 0)
			result_field(to, "container", "container", VALUE_TEXT,
				     value_text(sentence(to, container, strbuf_text(&path))),
				     "the container that retains most", .below = true);
		add_row(table, self, container, strbuf_text(&path));
		strbuf_release(&path);
	}
	free(order);
	result_add_more(table, count, top);
	return status;
}

int container_result_add(struct result *to, struct owners *owners, u64 top, struct err *err)
{
	struct result *table = result_table("containers", "Containers, largest first", columns);
	int status;

	if (!table)
		return err_memory_for(err, "the owners");
	table->grid = true;
	table->empty = "no container was recognised";
	status = fill(table, to, owners, top, err);
	result_field(to, "container_count", NULL, VALUE_COUNT,
		     value_number(owners->containers.count - 1), "containers of the program");
	if (owners->containers_left)
		result_add_caveat(
			table, "%s not looked at",
			units_things(owners->containers_left, "more container(s) (was|were)").text);
	result_add_part(to, table);
	return status;
}
