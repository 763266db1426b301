/* SPDX-License-Identifier: MIT
 * The lines of heapwise trace dump that are no events, and what events need of them.
 * Host. Keeps contexts, modules and threads. */
#define _GNU_SOURCE
#include "show/cli/dump_facts.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "host/base/text.h"
#include "host/trace/kinds.h"

/* ---- values as text ---- */

/* printf would take most of the time of a dump. */
static void put_number(u64 number, u32 base)
{
	char digits[20];
	u32 n = sizeof digits;

	do
		digits[--n] = "0123456789abcdef"[number % base];
	while (number /= base);
	fwrite_unlocked(digits + n, 1, sizeof digits - n, stdout);
}

void dump_put_value(const struct named_value *field)
{
	if (field->type == VALUE_PATH) {
		fputs_unlocked(field->value.text, stdout);
	} else if (field->type == VALUE_TEXT) {
		text_put(stdout, field->value.text, "", '?');
	} else if (field->type == VALUE_ADDRESS) {
		fputs_unlocked("0x", stdout);
		put_number(field->value.number, 16);
	} else if (field->type == VALUE_SIGNED && field->value.integer < 0) {
		putchar_unlocked('-');
		put_number(-field->value.number, 10);
	} else {
		put_number(field->value.number, 10);
	}
}

/* A value that is left out where there is none. */
static struct named_value if_any(bool any, struct named_value field)
{
	field.name = any ? field.name : NULL;
	return field;
}

static void put_names_values(const struct named_value *fields, u64 count)
{
	for (u64 i = 0; i < count; i++) {
		if (!fields[i].name)
			continue;
		fputs_unlocked(i ? " " : "# ", stdout);
		fputs_unlocked(fields[i].name, stdout);
		if (*fields[i].name)
			putchar_unlocked(' ');
		if (fields[i].value.known)
			dump_put_value(&fields[i]);
		else
			putchar_unlocked('-');
	}
	putchar_unlocked('\n');
}

/* A line that is no event: "# NAME VALUE NAME VALUE ...", "-" for what is unknown. */
#define put_fact(...) put_names_values(MEMBERS(__VA_ARGS__))

/* ---- facts ---- */

/* Of two names for one identity the later is right. */
static int know_types(struct dump *self, u32 image, struct err *err)
{
	map_clear(&self->types);
	for (u64 i = 0; i < self->type_names.rows.count; i++)
		if (self->type_names.rows.data[i].image == image &&
		    !map_put(&self->types, self->type_names.rows.data[i].identity, i + 1))
			return err_memory(err);
	return 0;
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct dump *self = data;
	const char *program = image->program ? image->program : "";

	self->clock = self->images < self->clocks.count ? &self->clocks.data[self->images] : NULL;
	self->images++;
	self->image = image->number;
	context_table_release(&self->contexts);
	memset(self->names, 0, sizeof self->names);
	vec_clear(&self->threads);
	if (know_types(self, image->number, err) < 0)
		return err->code;
	snprintf(self->program, sizeof self->program, "%s", program);
	if (self->format != FORMAT_TEXT)
		return 0;
	put_fact(FIELD("image", image->number), FIELD("pid", image->pid),
		 FIELD("sample_bytes", image->sample_bytes),
		 if_any(image->access, FIELD("access", access_mode_word(image->access))),
		 FIELD("program", program));
	put_fact(FIELD("command", image->command ? image->command : ""));
	printf("# time_ns tid kind address size chunk context aux flags%s\n",
	       self->stacks ? " stack" : "");
	return 0;
}

static void put_module(const struct dump *self, const struct stream_module *module)
{
	struct strbuf range = {0}, build_id = {0};

	strbuf_addf(&range, "0x%" PRIx64 "-0x%" PRIx64, module->start, module->end);
	for (u32 i = 0; i < module->build_id_bytes; i++)
		strbuf_addf(&build_id, "%02x", module->build_id[i]);
	put_fact(FIELD("module", module->id), FIELD("generation", module->generation),
		 hex("base", module->base), FIELD("range", strbuf_text(&range)),
		 time_at(self, "loaded_ns", module->loaded_ticks),
		 if_any(module->unloaded_ticks,
			time_at(self, "unloaded_ns", module->unloaded_ticks)),
		 FIELD("build_id", or_dash(strbuf_text(&build_id))),
		 FIELD("path", or_dash(module->path)));
	strbuf_release(&range);
	strbuf_release(&build_id);
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct dump *self = data;

	if (self->facts)
		put_module(self, module);
	return modmap_tell(&self->contexts.modules, module, err);
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct dump *self = data;

	if (self->facts)
		put_fact(FIELD("thread", thread->index), FIELD("tid", thread->tid),
			 time_at(self, "start_ns", thread->start_ticks),
			 FIELD("name", thread->name));
	if (thread->index >= 1 << 24)
		return err_set(err, ERR_INPUT, "thread number %u is out of range", thread->index);
	if (!vec_extend(&self->threads, (u64)thread->index + 1))
		return err_memory(err);
	self->threads.data[thread->index] = *thread;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count && self->facts; i++)
		put_fact(FIELD("context", contexts[i].id), FIELD("parent", contexts[i].parent),
			 hex("pc", contexts[i].pc), FIELD("flags", contexts[i].flags));
	return context_table_tell(&self->contexts, contexts, count, err);
}

static int on_clock(void *data, const struct stream_clock *clock, struct err *err)
{
	(void)data, (void)err;
	put_fact(FIELD("clock ticks", clock->ticks), FIELD("ns", clock->ns));
	return 0;
}

static int on_usage(void *data, const struct stream_usage *usage, struct err *err)
{
	(void)err;
	put_fact(time_at(data, "usage time_ns", usage->ticks), FIELD("rss_bytes", usage->rss_bytes),
		 FIELD("virtual_bytes", usage->virtual_bytes));
	return 0;
}

static int on_memory(void *data, const struct stream_memory *memory, struct err *err)
{
	static const char *const kinds[] = {"anonymous", "break",    "file",  "stack",
					    "guarded",   "recorder", "module"};
	static const char *const whys[MEMORY_WHYS] = {"", "regular", "mark", "snapshot", "end"};

	(void)err;
	put_fact(time_at(data, "memory time_ns", memory->ticks),
		 FIELD("rss_bytes", memory->rss_bytes), FIELD("high_bytes", memory->high_bytes),
		 FIELD("huge_bytes", memory->huge_bytes),
		 if_any(memory->libc_huge_bytes != 0,
			FIELD("libc_huge_bytes", memory->libc_huge_bytes)),
		 FIELD("moment", memory->moment == MEMORY_END ? "end" : "now"),
		 if_any(memory->why, FIELD("why", whys[memory->why])));
	for (u64 i = 0; i < memory->count; i++) {
		const struct stream_resident *row = &memory->rows[i];

		put_fact(FIELD("resident start", hex_text(row->start).text + 2),
			 FIELD("bytes", row->bytes), FIELD("resident_bytes", row->resident_bytes),
			 FIELD("", kinds[row->kind]), if_any(row->goes_on, FIELD("", "goes_on")));
	}
	if (memory->caches_read || memory->caches_unread)
		put_fact(FIELD("caches of threads read", memory->caches_read),
			 FIELD("unread", memory->caches_unread));
	for (u64 i = 0; i < memory->cached_count; i++)
		put_fact(FIELD("cached start", hex_text(memory->cached[i].address).text + 2),
			 FIELD("bytes", memory->cached[i].bytes),
			 FIELD("tid", memory->cached[i].tid));
	return 0;
}

static int on_aggregates(void *data, const struct stream_aggregate *rows, u64 count,
			 struct err *err)
{
	(void)data, (void)err;
	for (u64 i = 0; i < count; i++)
		put_fact(FIELD("aggregate context", rows[i].context),
			 FIELD("allocations", rows[i].allocations), FIELD("bytes", rows[i].bytes),
			 FIELD("frees", rows[i].frees), FIELD("freed_bytes", rows[i].freed_bytes));
	return 0;
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	static const char *const states[] = {"none", "done", "failed"};
	struct dump *self = data;

	(void)err;
	put_fact(time_at(self, "scan time_ns", scan->ticks),
		 FIELD("", scan->state < 3 ? states[scan->state] : "unknown"),
		 FIELD("roots_bytes", scan->roots_bytes), FIELD("chunks", scan->chunks),
		 FIELD("scan_ns", scan->scan_ns), FIELD("reason", or_dash(scan->reason)));
	for (u64 i = 0; i < count && self->facts; i++)
		put_fact(FIELD("class", classes[i].chunk),
			 FIELD("", class_name(classes[i].chunk_class)));
	return 0;
}

static void put_root(const struct stream_root *root, u64 number)
{
	static const char *const kinds[ROOT_KINDS] = {"data", "stack", "tls", "register",
						      "mapping"};

	put_fact(FIELD("root", number), FIELD("", kinds[root->kind]), FIELD("tid", root->tid),
		 hex("address", root->address), FIELD("bytes", root->bytes),
		 hex("code", root->code), FIELD("name", or_dash(root->name)));
}

static void put_beside(const struct stream_graph *graph, const struct stream_number *number)
{
	u64 node = number->place >> 32;
	bool chunk = node < graph->chunk_count;

	put_fact(FIELD("number", chunk ? "chunk" : "root"),
		 FIELD("", chunk ? graph->chunks[node] : node - graph->chunk_count),
		 FIELD("from", (u32)number->place), FIELD("is", number->value));
}

static int on_graph(void *data, const struct stream_graph *graph, struct err *err)
{
	u64 nodes = graph->chunk_count + graph->root_count;
	struct dump *self = data;

	put_fact(time_at(self, "graph time_ns", graph->ticks), FIELD("chunks", graph->chunk_count),
		 FIELD("roots", graph->root_count), FIELD("pointers", graph->starts[nodes]));
	for (u64 i = 0; i < graph->root_count && self->facts; i++)
		put_root(&graph->roots[i], i);
	for (u64 i = 0; i < nodes && self->facts; i++) {
		bool chunk = i < graph->chunk_count;

		for (u64 k = graph->starts[i]; k < graph->starts[i + 1]; k++)
			put_fact(FIELD("pointer", chunk ? "chunk" : "root"),
				 FIELD("", chunk ? graph->chunks[i] : i - graph->chunk_count),
				 FIELD("from", graph->edges[k].from),
				 FIELD("to", graph->chunks[graph->edges[k].target]),
				 FIELD("at", graph->edges[k].to));
	}
	for (u64 i = 0; i < graph->chunk_count && self->facts && graph->contents; i++)
		put_fact(FIELD("content", graph->chunks[i]),
			 FIELD("group", graph->contents[i].group & ~CONTENT_REPEATED),
			 FIELD("repeated", graph->contents[i].group & CONTENT_REPEATED ? 1 : 0),
			 FIELD("untouched_pages", graph->contents[i].untouched_pages));
	for (u64 i = 0; i < graph->number_count && self->facts; i++)
		put_beside(graph, &graph->numbers[i]);
	return check_written("pointers", err);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	static const char *const how[] = {"exited", "killed", "exec", "detached"};

	(void)err;
	put_fact(time_at(data, "end time_ns", end->ticks),
		 FIELD("", end->how < sizeof how / sizeof *how ? how[end->how] : "unknown"),
		 FIELD("", (i64)end->value), FIELD("cpu_ns", end->cpu_ns));
	return 0;
}

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	(void)data, (void)err;
	put_fact(FIELD("note", key), FIELD("", value));
	return 0;
}

/* Names are always shown: marks have their numbers, as addresses. */
static int on_name(void *data, const struct stream_name *name, struct err *err)
{
	struct dump *self = data;

	(void)err;
	if (name->id < HW_NAMES)
		snprintf(self->names[name->id], sizeof *self->names, "%s", name->text);
	if (self->format == FORMAT_TEXT)
		put_fact(hex("name", name->id), FIELD("", name->text));
	return 0;
}

/* ---- frames ---- */

void dump_add_frame(struct dump *self, const struct frame *frame)
{
	const struct modmap_module *module = modmap_module(&self->contexts.modules, frame->module);
	const struct symbol_entry *entry;
	const char *path, *slash;

	if (frame->flags & HW_NODE_CUT) {
		strbuf_add(&self->stack, "(cut)");
		return;
	}
	if (!module) {
		strbuf_addf(&self->stack, "0x%" PRIx64, frame->address);
		return;
	}
	entry = symbol_table_find(&self->symbols, self->image, frame->module, frame->address);
	for (u32 i = 0; entry && i < entry->frame_count && *entry->frames[i].function; i++) {
		strbuf_add(&self->stack, i ? " < " : "");
		text_add_clean(&self->stack, entry->frames[i].function);
		if (i + 1 == entry->frame_count)
			return;
	}
	path = *module->path ? module->path : self->program;
	slash = strrchr(path, '/');
	text_add_clean(&self->stack, slash ? slash + 1 : path);
	strbuf_addf(&self->stack, "+0x%" PRIx64, frame->address);
}

/* ---- accesses, routines, types ---- */

static void add_access_flags(struct strbuf *text, u32 flags)
{
	static const char *const words[] = {"shared",      "saturated", "estimated",
					    "lower_bound", "later",     "unsided"};

	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (flags >> i & 1)
			strbuf_addf(text, "%s%s", text->count ? "+" : "", words[i]);
}

/* A range of bytes is named by its ends, "0-3,8-15": those of a map, or all of [low, high). */
static void add_bytes(struct strbuf *text, const u64 *map, u64 low, u64 high)
{
	if (map)
		bytemap_add_ranges(text, map, HW_MAP_BYTES, true, 0);
	else if (high > low)
		strbuf_addf(text, "%" PRIu64 "-%" PRIu64, low, high - 1);
}

static int on_accesses(void *data, const struct stream_access *rows, u64 count, struct err *err)
{
	struct dump *self = data;
	struct strbuf flags = {0}, bytes = {0}, sides[HW_SIDES] = {{0}};

	for (u64 i = 0; i < count; i++) {
		const struct stream_access *row = &rows[i];
		bool whole = row->covered_bytes == row->high - row->low && row->covered_bytes;
		u64 high = whole ? row->high : row->low;

		strbuf_clear(&flags);
		strbuf_clear(&bytes);
		add_access_flags(&flags, row->flags);
		add_bytes(&bytes, row->map, row->low, high);
		/* Those that were read and written, as far as the row says which they are. */
		for (u32 side = 0; side < HW_SIDES; side++) {
			strbuf_clear(&sides[side]);
			if (row->side_bytes[side] == row->covered_bytes)
				add_bytes(&sides[side], row->map, row->low, high);
			else
				add_bytes(&sides[side], row->side_maps[side], 0, 0);
		}
		put_fact(FIELD("access", row->chunk),
			 field_if(row->first_ticks, time_at(self, "first_ns", row->first_ticks)),
			 field_if(row->last_ticks, time_at(self, "last_ns", row->last_ticks)),
			 FIELD("reads", row->reads), FIELD("writes", row->writes),
			 FIELD("read_bytes", row->read_bytes),
			 FIELD("written_bytes", row->written_bytes), FIELD("low", row->low),
			 FIELD("high", row->high),
			 field_if(row->covered_bytes != UINT64_MAX,
				  FIELD("covered", row->covered_bytes)),
			 NAME("flags", strbuf_text(&flags)), NAME("accessed", strbuf_text(&bytes)),
			 if_any(row->sided, NAME("read", strbuf_text(&sides[0]))),
			 if_any(row->sided, NAME("written", strbuf_text(&sides[1]))));
	}
	strbuf_release(&flags);
	strbuf_release(&bytes);
	for (u32 side = 0; side < HW_SIDES; side++)
		strbuf_release(&sides[side]);
	return check_written("accesses", err);
}

/* A routine's name, as in a stack. */
static const char *routine_name(struct dump *self, const struct stream_routine *row)
{
	struct modmap *modules = &self->contexts.modules;
	const struct modmap_module *module =
		modmap_find(modules, row->address, modmap_generation_at(modules, row->ticks));
	struct frame frame = {.module = module ? module->id : UINT32_MAX,
			      .address = row->address - (module ? module->base : 0)};

	strbuf_clear(&self->stack);
	dump_add_frame(self, &frame);
	return strbuf_text(&self->stack);
}

/* Allocations and frees are shown as events. */
static int on_routines(void *data, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count; i++) {
		const struct stream_routine *row = &rows[i];
		bool enters = row->step == ROUTINE_ENTER;

		if (enters || row->step == ROUTINE_LEAVE)
			put_fact(time_at(self, enters ? "enter" : "leave", row->ticks),
				 FIELD("tid", tid_of(self, row->thread)),
				 hex("address", row->address),
				 if_any(enters, hex("return", row->value)),
				 clean(enters     ? "routine"
				       : row->how ? "unwound routine"
						  : "returned routine",
				       routine_name(self, row)));
	}
	return check_written("routines", err);
}

static const char *type_name_of(const struct dump *self, u64 identity)
{
	const u64 *row = map_find(&self->types, identity);

	if (identity < HW_NAMES)
		return or_dash(self->names[identity]);
	return row ? self->type_names.rows.data[*row - 1].name : "-";
}

static int on_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	for (u64 i = 0; i < count; i++)
		put_fact(FIELD("type", rows[i].chunk),
			 FIELD("source", rows[i].source == TYPE_DECLARED ? "declared" : "vtable"),
			 hex("identity", rows[i].identity), FIELD("count", rows[i].count),
			 FIELD("offset", rows[i].offset),
			 FIELD("name", type_name_of(data, rows[i].identity)));
	return check_written("types", err);
}

struct stream_sink dump_facts_sink(struct dump *self)
{
	struct stream_sink sink = {.self = self,
				   .image = on_image,
				   .module = on_module,
				   .thread = on_thread,
				   .contexts = on_contexts,
				   .name = on_name};

	if (self->format == FORMAT_TEXT) {
		sink.aggregates = on_aggregates;
		sink.scan = on_scan;
		sink.graph = on_graph;
		sink.accesses = on_accesses;
		sink.routines = on_routines;
		sink.types = on_types;
		sink.image_end = on_image_end;
	}
	if (self->facts) {
		sink.clock = on_clock;
		sink.usage = on_usage;
		sink.memory = on_memory;
		sink.note = on_note;
	}
	return sink;
}
