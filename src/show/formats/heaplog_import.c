/* SPDX-License-Identifier: MIT
 * HeapLog dumps → a trace: entries become allocations and frees in the order of their ticks.
 * Host. Rows are read into memory: dumps are in the order of ends, a trace is in that of time. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/map.h"
#include "host/base/order.h"
#include "host/base/strbuf.h"
#include "show/formats/heaplog.h"
#include "show/formats/import.h"
#include "format/session.h"
#include "host/trace/typenames.h"

#define TICKS_NS_MAX ((u64)100 * 366 * 86400 * 1000000000)

enum table {
	TABLE_NONE,
	TABLE_ENTRIES,
	TABLE_NODES,
	TABLE_TYPES,
};

struct entry {
	u64 address, size, count, type, tick, freed_tick, node;
	u64 chunk;
};

struct node {
	u64 number, parent, address;
	const char *function;
	u32 id; /* of the context, 0 = not told yet */
};

struct importing {
	struct import trace; /* first */
	const struct heaplog_import *how;
	struct heaplog_summary *summary;
	VEC(struct entry) entries;
	VEC(struct node) nodes;
	struct map by_number;  /* node → index + 1 */
	struct map type_names; /* type_id → index of names + 1 */
	VEC(struct type_name) names;
	enum table table; /* that is read */
	VEC(u64) path;    /* scratch of tell_node */
};

/* ---- lines ---- */

/* The number at *at and the comma behind it, which the last column has not. */
static bool take_number(const char **at, int base, bool last, u64 *number)
{
	char *end;

	while (**at == ' ')
		++*at;
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*number = strtoull(*at, &end, base);
	if (errno || end == *at)
		return false;
	while (*end == ' ')
		end++;
	if (last ? *end != 0 : *end != ',')
		return false;
	*at = last ? end : end + 1;
	return true;
}

static int take_entry(struct importing *self, const char *line, struct err *err)
{
	struct entry entry = {0};

	if (!take_number(&line, 16, false, &entry.address) ||
	    !take_number(&line, 10, false, &entry.size) ||
	    !take_number(&line, 10, false, &entry.count) ||
	    !take_number(&line, 16, false, &entry.type) ||
	    !take_number(&line, 10, false, &entry.tick) ||
	    !take_number(&line, 10, false, &entry.freed_tick) ||
	    !take_number(&line, 16, true, &entry.node))
		return err_set(err, ERR_INPUT,
			       "expected an allocation entry 'address, size, count, type_id, tick, "
			       "freed_tick, callgraph_node'");
	if (!entry.address)
		return err_set(err, ERR_INPUT, "an allocation entry has address 0");
	if (entry.freed_tick && entry.freed_tick < entry.tick)
		return err_set(err, ERR_INPUT,
			       "an allocation entry is freed before it is allocated");
	if (entry.tick > TICKS_NS_MAX / self->how->tick_ns ||
	    entry.freed_tick > TICKS_NS_MAX / self->how->tick_ns)
		return err_set(err, ERR_INPUT, "a tick is later than a century after the start");
	if (entry.type >= HEAPLOG_IDENTITY)
		return err_set(err, ERR_INPUT, "expected a type_id below %" PRIX64,
			       HEAPLOG_IDENTITY);
	return vec_push(&self->entries, entry) ? 0 : err_memory_for(err, "the dumps");
}

static int add_node(struct importing *self, const struct node *node, struct err *err)
{
	u64 *known = map_at(&self->by_number, node->number);

	if (!known)
		return err_memory_for(err, "the dumps");
	if (*known) { /* the call graph of a later dump knows at least as much */
		self->nodes.data[*known - 1] = *node;
		return 0;
	}
	if (!vec_push(&self->nodes, *node))
		return err_memory_for(err, "the dumps");
	*known = self->nodes.count;
	return 0;
}

static const char *rest_of(struct importing *self, const char *line)
{
	return arena_copy(&self->trace.arena, line + strspn(line, " "));
}

static int take_node(struct importing *self, const char *line, struct err *err)
{
	struct node node = {0};

	if (!take_number(&line, 16, false, &node.number) ||
	    !take_number(&line, 16, false, &node.parent) ||
	    !take_number(&line, 16, false, &node.address) || !node.number)
		return err_set(err, ERR_INPUT, "expected a node 'node, parent, address, function'");
	if (node.address >= HEAPLOG_CODE)
		return err_set(err, ERR_INPUT, "expected a code address below %" PRIX64,
			       HEAPLOG_CODE);
	node.function = rest_of(self, line);
	return node.function ? add_node(self, &node, err) : err_memory_for(err, "the dumps");
}

static int take_type(struct importing *self, const char *line, struct err *err)
{
	struct type_name row = {.module = TYPE_NO_MODULE};
	u64 *known;

	if (!take_number(&line, 16, false, &row.identity) || row.identity >= HEAPLOG_IDENTITY)
		return err_set(err, ERR_INPUT, "expected a type 'type_id, name'");
	known = map_at(&self->type_names, row.identity);
	row.identity |= HEAPLOG_IDENTITY;
	row.name = rest_of(self, line);
	if (!known || !row.name || !vec_push(&self->names, row))
		return err_memory_for(err, "the dumps");
	*known = self->names.count;
	return 0;
}

static int take_line(void *self_, struct unpack *file, struct err *err)
{
	static const struct {
		const char *header;
		enum table table;
	} headers[] = {
		{"HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node",
		 TABLE_ENTRIES},
		{"CallGraph|version=4|node|parent|address|function", TABLE_NODES},
		{"Types|version=4|type_id|name", TABLE_TYPES},
	};

	struct importing *self = self_;
	char *line = file->line;

	line[strcspn(line, "\r\n")] = 0;
	if (!line[strspn(line, " \t")])
		return 0;
	for (u32 i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (strcmp(line, headers[i].header) == 0) {
			self->table = headers[i].table;
			return 0;
		}
	switch (self->table) {
	case TABLE_ENTRIES: return take_entry(self, line, err);
	case TABLE_NODES: return take_node(self, line, err);
	case TABLE_TYPES: return take_type(self, line, err);
	case TABLE_NONE: break;
	}
	return err_set(err, ERR_INPUT, "not a HeapLog dump of version 4; its first line is '%s'",
		       headers[0].header);
}

static int read_dump(struct importing *self, const char *path, struct err *err)
{
	int status;

	self->table = TABLE_NONE;
	status = import_text(path, take_line, self, err);
	return status == 0 && self->table == TABLE_NONE
		       ? err_set(err, ERR_INPUT, "%s is empty", path)
		       : status;
}

/* ---- contexts ---- */

static struct node *node_find(struct importing *self, u64 number)
{
	const u64 *known = map_find(&self->by_number, number);

	return known ? &self->nodes.data[*known - 1] : NULL;
}

/* A node that no dump describes stands alone, at an address that is its number. */
static int need_node(struct importing *self, u64 number, struct err *err)
{
	struct node node = {.number = number, .address = number % HEAPLOG_CODE};
	struct strbuf text = {0};
	int status;

	if (!number || node_find(self, number))
		return 0;
	strbuf_addf(&text, "callgraph_node %08" PRIX64, number);
	node.function = arena_copy(&self->trace.arena, strbuf_text(&text));
	strbuf_release(&text);
	status = node.function ? add_node(self, &node, err) : err_memory_for(err, "the dumps");
	return status;
}

/* The context of a node, told after its ancestors. A chain that leads back to itself is cut
 * there. */
static int tell_node(struct importing *self, u64 number, u32 *context, struct err *err)
{
	struct node *node = node_find(self, number);
	int status = 0;

	vec_clear(&self->path);
	while (node && !node->id && status == 0) {
		node->id = UINT32_MAX; /* is on the path */
		if (!vec_push(&self->path, number))
			return err_memory_for(err, "the dumps");
		number = node->parent;
		node = node_find(self, number);
	}
	*context = node && node->id != UINT32_MAX ? node->id : 0;
	for (u64 i = self->path.count; i-- > 0 && status == 0;) {
		node = node_find(self, self->path.data[i]);
		status = import_context(&self->trace, *context, HEAPLOG_CODE | node->address,
					&node->id, err);
		*context = node->id;
	}
	return status;
}

/* ---- events ---- */

struct moment { /* of an entry */
	u64 tick;
	u64 entry;
	/* at one tick: what was there before ends first, then what begins, whole lives in a row */
	u8 order;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return rising(x->tick, y->tick)
		       ?: rising(x->order != 0, y->order != 0)
		       ?: rising(x->entry, y->entry) ?: x->order - y->order;
}

static int tell_birth(struct importing *self, struct entry *entry, struct err *err)
{
	const struct stream_sink *sink = &self->trace.sink;
	struct event event = {.address = entry->address,
			      .size = entry->size,
			      .kind = entry->type ? HW_NEW : HW_MALLOC};
	struct stream_type type = {.identity = HEAPLOG_IDENTITY | entry->type,
				   .count = entry->count,
				   .source = TYPE_DECLARED};
	int status = tell_node(self, entry->node, &event.context, err);

	if (status == 0)
		status = import_birth(&self->trace, &event, err);
	type.chunk = entry->chunk = event.chunk;
	return status == 0 && entry->type ? sink->types(sink->self, &type, 1, err) : status;
}

static int tell_death(struct importing *self, const struct entry *entry, struct err *err)
{
	struct event event = {.address = entry->address,
			      .size = entry->size,
			      .chunk = entry->chunk,
			      .kind = entry->type ? HW_DELETE : HW_FREE};

	return import_death(&self->trace, &event, err);
}

static int tell_events(struct importing *self, struct err *err)
{
	u64 room = 2 * self->entries.count + 1, count = 0;
	struct moment *moments = calloc(room, sizeof(*moments));
	int status = moments ? 0 : err_memory_for(err, "the dumps");

	for (u64 i = 0; i < self->entries.count && status == 0; i++) {
		const struct entry *entry = &self->entries.data[i];

		moments[count++] = (struct moment){entry->tick, i, 1};
		if (entry->freed_tick)
			moments[count++] =
				(struct moment){entry->freed_tick, i,
						entry->freed_tick == entry->tick ? 2 : 0};
		self->summary->freed += entry->freed_tick != 0;
		status = need_node(self, entry->node, err);
	}
	if (status == 0)
		qsort(moments, count, sizeof(*moments), compare_moments);
	for (u64 i = 0; i < count && status == 0; i++) {
		struct entry *entry = &self->entries.data[moments[i].entry];

		self->trace.ticks = moments[i].tick;
		status = moments[i].order == 1 ? tell_birth(self, entry, err)
					       : tell_death(self, entry, err);
	}
	free(moments);
	return status;
}

/* ---- the trace around it ---- */

static int tell_all(struct import *trace, struct err *err)
{
	struct importing *self = (struct importing *)trace;
	const struct stream_sink *sink = &trace->sink;
	struct stream_image image = {.program = self->how->from[0],
				     .command = self->how->from[0],
				     .flags = HW_RUN_ALLOC_STACKS};
	struct stream_module module = {.base = HEAPLOG_CODE,
				       .start = HEAPLOG_CODE,
				       .end = 2 * HEAPLOG_CODE,
				       .path = "[heaplog]"};
	struct stream_thread thread = {.tid = 1};
	struct stream_clock clock;
	int status = sink->image(sink->self, &image, err);

	if (status == 0)
		status = sink->module(sink->self, &module, err);
	if (status == 0)
		status = sink->thread(sink->self, &thread, err);
	if (status == 0)
		status = tell_events(self, err);
	clock = (struct stream_clock){.ticks = trace->ticks + 1,
				      .ns = (trace->ticks + 1) * self->how->tick_ns};
	if (status == 0)
		status = import_end(trace, &clock, true, err);
	/* A node's name stands where its return address is looked up. */
	for (u64 i = 0; i < self->nodes.count && status == 0; i++) {
		const struct node *node = &self->nodes.data[i];

		if (node->id && node->address && node->function[0])
			status = import_name(trace, 0, node->address - 1, node->function, err);
	}
	return status;
}

static int name_types(struct importing *self, struct err *err)
{
	for (u64 i = 0; i < self->entries.count; i++) {
		u64 type = self->entries.data[i].type, *known = map_at(&self->type_names, type);
		struct type_name row = {.module = TYPE_NO_MODULE,
					.identity = HEAPLOG_IDENTITY | type};
		struct strbuf text = {0};

		if (!known)
			return err_memory_for(err, "the dumps");
		if (!type || *known)
			continue;
		strbuf_addf(&text, "type_id %08" PRIX64, type);
		row.name = arena_copy(&self->trace.arena, strbuf_text(&text));
		strbuf_release(&text);
		if (!row.name || !vec_push(&self->names, row))
			return err_memory_for(err, "the dumps");
		*known = self->names.count;
	}
	return self->names.count ? trace_write_type_names(self->how->to, self->names.data,
							  self->names.count, err)
				 : 0;
}

int heaplog_import(const struct heaplog_import *how, struct heaplog_summary *summary,
		   struct err *err)
{
	struct importing self = {.trace.named = true, .how = how, .summary = summary};
	int status = 0;

	*summary = (struct heaplog_summary){0};
	for (u32 i = 0; i < how->from_count && status == 0; i++)
		status = import_check_output(how->from[i], how->to, err);
	for (u32 i = 0; i < how->from_count && status == 0; i++)
		status = read_dump(&self, how->from[i], err);
	if (status == 0) {
		status = import_write(&self.trace, how->to, tell_all, err);
		if (status == 0)
			status = name_types(&self, err);
		if (status < 0)
			unlink(how->to);
	}
	summary->entries = self.entries.count;
	summary->nodes = self.nodes.count;
	summary->types = self.names.count;
	vec_release(&self.entries);
	vec_release(&self.nodes);
	vec_release(&self.names);
	vec_release(&self.path);
	map_release(&self.by_number);
	map_release(&self.type_names);
	import_release(&self.trace);
	return status;
}
