/* SPDX-License-Identifier: MIT
 * heapwise trace dump: every event of a trace, one per line, as it is read.
 * Host. Keeps contexts, modules and threads, never events. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "host/trace/kinds.h"
#include "show/cli/trace_options.h"
#include "format/session.h"
#include "study/model/clock.h"
#include "study/model/contexts.h"
#include "show/render/fields.h"
#include "host/base/text.h"
#include "host/base/text_width.h"
#include "host/trace/reader.h"
#include "host/trace/symtab.h"
#include "host/trace/typenames.h"

struct dump_args {
	const char *format;
	u64 image;
	bool facts, stacks, strict, no_pager;
};

static const struct dump_args defaults = {.image = NOT_GIVEN};

#define ARGS struct dump_args

static const struct option_spec options[] = {
	FORMAT_OPTION(struct dump_args),
	NO_PAGER_OPTION(struct dump_args),
	OPT(stacks, 0, "stacks", SET, NULL, "show each event's stack, innermost frame first"),
	OPT(facts, 0, "facts", SET, NULL,
	    "text: also show modules, threads, contexts, clocks, memory samples and notes, as # "
	    "lines"),
	OPT(image, 0, "image", NUMBER, "N", "only program image N, counted from 0 (default all)"),
	OPT(strict, 0, "strict", SET, NULL,
	    "stop at the first damaged section instead of skipping it"),
	OPTION_END};

struct dump {
	const struct dump_args *args;
	enum format format;
	bool facts;                    /* are to be shown */
	VEC(struct tick_clock) clocks; /* of each image, filled by a first reading */
	struct tick_clock *clock;      /* of the current image */
	u64 images;                    /* begun so far */
	u32 image;                     /* number of the current one */
	struct context_table contexts;
	VEC(struct stream_thread) threads;
	struct symbol_table symbols;
	struct json json;
	struct strbuf stack;
	char program[256];
	char names[HW_NAMES][HW_NAME_BYTES]; /* of marks */
	struct type_names type_names;
	struct map types; /* of the current image: identity → index of type_names + 1 */
};

/* ---- the first reading: clocks ---- */

static int clock_image(void *data, const struct stream_image *image, struct err *err)
{
	struct dump *self = data;
	struct tick_clock clock = {0};

	if (!tick_clock_start(&clock, image->start_ticks, image->start_ns) ||
	    !vec_push(&self->clocks, clock))
		return err_memory(err);
	return 0;
}

static int clock_pair(void *data, const struct stream_clock *pair, struct err *err)
{
	struct dump *self = data;

	if (self->clocks.count &&
	    !tick_clock_tell(&self->clocks.data[self->clocks.count - 1], pair))
		return err_memory(err);
	return 0;
}

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

static void put_value(const struct named_value *field)
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

static struct named_value hex(const char *name, u64 number)
{
	return (struct named_value){.name = name,
				    .type = VALUE_ADDRESS,
				    .value = value_number(number)};
}

/* A text that needs no cleaning. */
static struct named_value clean(const char *name, const char *text)
{
	return (struct named_value){.name = name, .type = VALUE_PATH, .value = value_text(text)};
}

static struct named_value time_at(const struct dump *self, const char *name, u64 ticks)
{
	return field_number(name, self->clock ? tick_clock_ns(self->clock, ticks) : 0);
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
			put_value(&fields[i]);
		else
			putchar_unlocked('-');
	}
	putchar_unlocked('\n');
}

/* A line that is no event: "# NAME VALUE NAME VALUE ...", "-" for what is unknown. */
#define put_fact(...)                                                                              \
	put_names_values((const struct named_value[]){__VA_ARGS__},                                \
			 sizeof((const struct named_value[]){__VA_ARGS__}) /                       \
				 sizeof(struct named_value))

static int check_written(const char *what, struct err *err)
{
	return ferror(stdout) ? err_set(err, ERR_SYSTEM, "cannot write the %s", what) : 0;
}

static const char *or_dash(const char *text) { return text && *text ? text : "-"; }

/* ---- the second: facts ---- */

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
	       self->args->stacks ? " stack" : "");
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

	(void)err;
	put_fact(time_at(data, "memory time_ns", memory->ticks),
		 FIELD("rss_bytes", memory->rss_bytes), FIELD("high_bytes", memory->high_bytes),
		 FIELD("moment", memory->moment == MEMORY_END ? "end" : "now"));
	for (u64 i = 0; i < memory->count; i++) {
		const struct stream_resident *row = &memory->rows[i];

		put_fact(FIELD("resident start", hex_text(row->start).text + 2),
			 FIELD("bytes", row->bytes), FIELD("resident_bytes", row->resident_bytes),
			 FIELD("", kinds[row->kind]), if_any(row->goes_on, FIELD("", "goes_on")));
	}
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

/* ---- stacks ---- */

/* A frame as function, or module+0xoffset. */
static void add_frame(struct dump *self, const struct frame *frame)
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

static int build_stack(struct dump *self, u32 context, struct err *err)
{
	struct frame_id frame;
	int status = context_table_place(&self->contexts, context, &frame, err);

	strbuf_clear(&self->stack);
	for (u32 at = frame.index; status == 0 && at;) {
		const struct frame *one =
			context_table_frame(&self->contexts, (struct frame_id){at});

		add_frame(self, one);
		at = one->parent;
		if (at)
			strbuf_add(&self->stack, " < ");
	}
	return status;
}

/* ---- events ---- */

static const char *flag_words(u8 flags)
{
	if (flags & EVENT_NESTED)
		return flags & EVENT_IMPLIED ? "nested+implied" : "nested";
	return flags & EVENT_IMPLIED ? "implied" : "";
}

/* FAILED and DURATION have a call there, marks their kind, the others a number. */
static struct named_value aux_of(const struct event *event)
{
	if (event->kind == HW_FAILED || event->kind == HW_DURATION)
		return field_text("aux", kind_name(event->aux));
	if (event->kind == HW_MARK)
		return field_text("aux", hw_mark_word(event->aux));
	return field_number("aux", event->aux);
}

static u32 tid_of(const struct dump *self, u32 thread)
{
	return thread < self->threads.count ? self->threads.data[thread].tid : 0;
}

static bool has_chunk(const struct event *event)
{
	return (hw_kind_allocates(event->kind) || hw_kind_frees(event->kind)) &&
	       event->chunk != NO_CHUNK;
}

static const char *mark_name(const struct dump *self, const struct event *event)
{
	bool named = hw_mark_is_named(event->aux) && event->address < HW_NAMES;

	return named ? self->names[event->address] : "";
}

/* The columns of an event, as programs call them; JSON has them all. */
enum { EVENT_IMAGE, EVENT_TIME, EVENT_NAME = 9, EVENT_STACK = 11, EVENT_COLUMNS };

static void put_columns(const struct dump *self, const struct named_value *fields)
{
	bool csv = self->format == FORMAT_CSV;

	for (u32 i = csv ? EVENT_IMAGE : EVENT_TIME; i < EVENT_STACK; i++) {
		bool empty = !fields[i].value.known ||
			     (fields[i].type == VALUE_PATH && !*fields[i].value.text);

		if (i == EVENT_NAME)
			continue;
		if (i != (csv ? EVENT_IMAGE : EVENT_TIME))
			putchar_unlocked(csv ? ',' : ' ');
		if (!empty)
			put_value(&fields[i]);
		else if (!csv)
			putchar_unlocked('-');
	}
	if (self->args->stacks && csv) {
		fputs(",\"", stdout);
		for (const char *p = fields[EVENT_STACK].value.text; *p; p++)
			fputs(*p == '"' ? "\"\"" : (char[]){*p, 0}, stdout);
		putchar('"');
	} else if (self->args->stacks) {
		printf(" %s", or_dash(fields[EVENT_STACK].value.text));
	}
	putchar_unlocked('\n');
}

static void put_event(struct dump *self, const struct event *event)
{
	const struct named_value fields[EVENT_COLUMNS] = {
		FIELD("image", self->image),
		time_at(self, "time_ns", event->ticks),
		FIELD("tid", tid_of(self, event->thread)),
		clean("kind", kind_name(event->kind)),
		hex("address", event->address),
		FIELD("size", event->size),
		field_if(has_chunk(event), FIELD("chunk", event->chunk)),
		FIELD("context", event->context),
		aux_of(event),
		FIELD("name", event->kind == HW_MARK ? mark_name(self, event) : ""),
		clean("flags", flag_words(event->flags)),
		FIELD("stack", strbuf_text(&self->stack)),
	};
	u32 named = event->kind == HW_MARK ? EVENT_NAME : EVENT_NAME + 1;

	if (self->format != FORMAT_JSON) {
		put_columns(self, fields);
		return;
	}
	json_open_flat(&self->json, NULL, '{');
	render_json_fields(&self->json, fields, EVENT_NAME);
	render_json_fields(&self->json, fields + named,
			   (self->args->stacks ? EVENT_COLUMNS : EVENT_STACK) - named);
	json_close(&self->json, '}');
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count; i++) {
		if (self->args->stacks && build_stack(self, events[i].context, err) < 0)
			return err->code;
		put_event(self, &events[i]);
	}
	return check_written("events", err);
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
	add_frame(self, &frame);
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

/* ---- the command ---- */

/* What is asked for: of text with --facts all, of other formats events alone. */
static struct stream_sink sink_of(struct dump *self)
{
	struct stream_sink sink = {.self = self,
				   .image = on_image,
				   .module = on_module,
				   .thread = on_thread,
				   .contexts = on_contexts,
				   .events = on_events,
				   .name = on_name};

	if (self->format == FORMAT_TEXT) {
		sink.aggregates = on_aggregates;
		sink.scan = on_scan;
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

static int read_events(struct dump *self, struct trace_reader *reader, struct err *err)
{
	struct trace_read_options how = {.image = self->args->image == NOT_GIVEN
							  ? TRACE_ALL_IMAGES
							  : (int)self->args->image,
					 .strict = self->args->strict};
	struct stream_sink clocks = {.self = self, .image = clock_image, .clock = clock_pair};
	struct stream_sink sink = sink_of(self);
	int status = trace_read(reader, &how, &clocks, err);

	if (status < 0)
		return status;
	if (self->format == FORMAT_CSV)
		printf("image,time_ns,tid,kind,address,size,chunk,context,aux,flags%s\n",
		       self->args->stacks ? ",stack" : "");
	if (self->format == FORMAT_JSON)
		json_open(&self->json, NULL, '[');
	status = trace_read(reader, &how, &sink, err);
	if (self->format == FORMAT_JSON) {
		json_close(&self->json, ']');
		json_end(&self->json);
	}
	return status;
}

static void release(struct dump *self)
{
	for (u64 i = 0; i < self->clocks.count; i++)
		tick_clock_release(&self->clocks.data[i]);
	vec_release(&self->clocks);
	vec_release(&self->threads);
	context_table_release(&self->contexts);
	symbol_table_release(&self->symbols);
	strbuf_release(&self->stack);
	type_names_release(&self->type_names);
	map_release(&self->types);
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	struct dump self = {.args = fields, .json = {.out = stdout}};
	struct trace_reader *reader;
	struct err err = {0};
	int status = 0;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	self.format = format_parse(self.args->format);
	self.facts = self.args->facts && self.format == FORMAT_TEXT;
	reader = trace_open(argv[0], &err);
	if (!reader)
		return command_fail(command, &err);
	if (trace_info(reader)->has_symbols && (self.args->stacks || trace_info(reader)->routines))
		status = trace_read_symbols(argv[0], &self.symbols, &err);
	if (status == 0 && trace_info(reader)->types)
		status = trace_read_type_names(argv[0], &self.type_names, &err);
	print_begin();
	if (status == 0)
		status = read_events(&self, reader, &err);
	if (status < 0)
		status = command_fail(command, &err);
	else if (trace_info(reader)->damaged_blocks)
		fprintf(stderr, "heapwise %s: %s: damaged sections were skipped: %s\n",
			command->name, argv[0], trace_info(reader)->damage);
	trace_close(reader);
	release(&self);
	return status;
}

const struct command cmd_dump = {
	.name = "trace dump",
	.operands = "FILE",
	.summary = "print every event of a trace",
	.details =
		"Text has one event per line: time_ns tid kind address size chunk context aux "
		"flags, separated\n"
		"by spaces; '-' means no value. Lines that begin with # contain everything else. heapwise-trace-dump(1)\n"
		"explains the columns. json is an array of objects; csv has a header line.",
	.options = options,
	.fields_size = sizeof(struct dump_args),
	.fields_default = &defaults,
	.run = run,
};
