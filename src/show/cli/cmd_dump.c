/* SPDX-License-Identifier: MIT
 * heapwise trace dump: every event of a trace, one per line, as it is read.
 * Host. Keeps contexts, modules and threads, never events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "show/cli/command.h"
#include "host/trace/kinds.h"
#include "show/cli/print.h"
#include "show/cli/trace_options.h"
#include "format/session.h"
#include "study/model/clock.h"
#include "study/model/contexts.h"
#include "host/base/json.h"
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

static const struct option_spec options[] = {
	FORMAT_OPTION(struct dump_args),
	NO_PAGER_OPTION(struct dump_args),
	OPTION(struct dump_args, stacks, 0, "stacks", OPTION_SET, NULL,
	       "show each event's stack, innermost frame first"),
	OPTION(struct dump_args, facts, 0, "facts", OPTION_SET, NULL,
	       "text: also show modules, threads, contexts, clocks, memory samples and notes, as # "
	       "lines"),
	OPTION(struct dump_args, image, 0, "image", OPTION_NUMBER, "N",
	       "only program image N, counted from 0 (default all)"),
	OPTION(struct dump_args, strict, 0, "strict", OPTION_SET, NULL,
	       "stop at the first damaged section instead of skipping it"),
	OPTION_END};

struct dump {
	const struct dump_args *args;
	enum format format;
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

/* ---- the second: events ---- */

static u64 time_of(const struct dump *self, u64 ticks)
{
	return self->clock ? tick_clock_ns(self->clock, ticks) : 0;
}

static void put_clean(const char *text) { text_put(stdout, text, "", '?'); }

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

	self->clock = self->images < self->clocks.count ? &self->clocks.data[self->images] : NULL;
	self->images++;
	self->image = image->number;
	context_table_release(&self->contexts);
	memset(self->names, 0, sizeof self->names);
	vec_clear(&self->threads);
	if (know_types(self, image->number, err) < 0)
		return err->code;
	snprintf(self->program, sizeof self->program, "%s", image->program ? image->program : "");
	if (self->format != FORMAT_TEXT)
		return 0;
	printf("# image %u pid %u sample_bytes %" PRIu64, image->number, image->pid,
	       image->sample_bytes);
	if (image->access)
		printf(" access %s", access_mode_word(image->access));
	printf(" program ");
	put_clean(image->program ? image->program : "");
	printf("\n# command ");
	put_clean(image->command ? image->command : "");
	printf("\n# time_ns tid kind address size chunk context aux flags%s\n",
	       self->args->stacks ? " stack" : "");
	return 0;
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct dump *self = data;

	if (self->args->facts && self->format == FORMAT_TEXT) {
		printf("# module %u generation %u base 0x%" PRIx64 " range 0x%" PRIx64 "-0x%" PRIx64
		       " loaded_ns %" PRIu64,
		       module->id, module->generation, module->base, module->start, module->end,
		       time_of(self, module->loaded_ticks));
		if (module->unloaded_ticks)
			printf(" unloaded_ns %" PRIu64, time_of(self, module->unloaded_ticks));
		printf(" build_id ");
		for (u32 i = 0; i < module->build_id_bytes; i++)
			printf("%02x", module->build_id[i]);
		printf("%s path ", module->build_id_bytes ? "" : "-");
		put_clean(module->path && *module->path ? module->path : "-");
		putchar('\n');
	}
	return context_table_module(&self->contexts, module, err);
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct dump *self = data;

	if (self->args->facts && self->format == FORMAT_TEXT) {
		printf("# thread %u tid %u start_ns %" PRIu64 " name ", thread->index, thread->tid,
		       time_of(self, thread->start_ticks));
		put_clean(thread->name);
		putchar('\n');
	}
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

	for (u64 i = 0; i < count && self->args->facts && self->format == FORMAT_TEXT; i++)
		printf("# context %u parent %u pc 0x%" PRIx64 " flags %u\n", contexts[i].id,
		       contexts[i].parent, contexts[i].pc, contexts[i].flags);
	return context_table_tell(&self->contexts, contexts, count, err);
}

static int on_clock(void *data, const struct stream_clock *clock, struct err *err)
{
	struct dump *self = data;

	(void)err;
	if (self->args->facts && self->format == FORMAT_TEXT)
		printf("# clock ticks %" PRIu64 " ns %" PRIu64 "\n", clock->ticks, clock->ns);
	return 0;
}

static int on_usage(void *data, const struct stream_usage *usage, struct err *err)
{
	struct dump *self = data;

	(void)err;
	if (self->args->facts && self->format == FORMAT_TEXT)
		printf("# usage time_ns %" PRIu64 " rss_bytes %" PRIu64 " virtual_bytes %" PRIu64
		       "\n",
		       time_of(self, usage->ticks), usage->rss_bytes, usage->virtual_bytes);
	return 0;
}

static int on_memory(void *data, const struct stream_memory *memory, struct err *err)
{
	static const char *const kinds[] = {"anonymous", "break",    "file",  "stack",
					    "guarded",   "recorder", "module"};
	struct dump *self = data;

	(void)err;
	if (!self->args->facts || self->format != FORMAT_TEXT)
		return 0;
	printf("# memory time_ns %" PRIu64 " rss_bytes %" PRIu64 " high_bytes %" PRIu64
	       " moment %s\n",
	       time_of(self, memory->ticks), memory->rss_bytes, memory->high_bytes,
	       memory->moment == MEMORY_END ? "end" : "now");
	for (u64 i = 0; i < memory->count; i++)
		printf("# resident start %" PRIx64 " bytes %" PRIu64 " resident_bytes %" PRIu64
		       " %s%s\n",
		       memory->rows[i].start, memory->rows[i].bytes, memory->rows[i].resident_bytes,
		       kinds[memory->rows[i].kind], memory->rows[i].goes_on ? " goes_on" : "");
	return 0;
}

static int on_aggregates(void *data, const struct stream_aggregate *rows, u64 count,
			 struct err *err)
{
	struct dump *self = data;

	(void)err;
	for (u64 i = 0; i < count && self->format == FORMAT_TEXT; i++)
		printf("# aggregate context %u allocations %" PRIu64 " bytes %" PRIu64
		       " frees %" PRIu64 " freed_bytes %" PRIu64 "\n",
		       rows[i].context, rows[i].allocations, rows[i].bytes, rows[i].frees,
		       rows[i].freed_bytes);
	return 0;
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	static const char *const states[] = {"none", "done", "failed"};
	struct dump *self = data;

	(void)err;
	if (self->format != FORMAT_TEXT)
		return 0;
	printf("# scan time_ns %" PRIu64 " %s roots_bytes %" PRIu64 " chunks %" PRIu64
	       " scan_ns %" PRIu64 " reason ",
	       time_of(self, scan->ticks), scan->state < 3 ? states[scan->state] : "unknown",
	       scan->roots_bytes, scan->chunks, scan->scan_ns);
	put_clean(*scan->reason ? scan->reason : "-");
	putchar('\n');
	for (u64 i = 0; i < count && self->args->facts; i++)
		printf("# class %" PRIu64 " %s\n", classes[i].chunk,
		       class_name(classes[i].chunk_class));
	return 0;
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	static const char *const how[] = {"exited", "killed", "exec", "detached"};
	struct dump *self = data;

	(void)err;
	if (self->format == FORMAT_TEXT)
		printf("# end time_ns %" PRIu64 " %s %d cpu_ns %" PRIu64 "\n",
		       time_of(self, end->ticks),
		       end->how < sizeof how / sizeof *how ? how[end->how] : "unknown", end->value,
		       end->cpu_ns);
	return 0;
}

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	struct dump *self = data;

	(void)err;
	if (self->args->facts && self->format == FORMAT_TEXT) {
		printf("# note ");
		put_clean(key);
		putchar(' ');
		put_clean(value);
		putchar('\n');
	}
	return 0;
}

/* Names are always shown: marks have their numbers, as addresses. */
static int on_name(void *data, const struct stream_name *name, struct err *err)
{
	struct dump *self = data;

	(void)err;
	if (name->id < HW_NAMES)
		snprintf(self->names[name->id], sizeof *self->names, "%s", name->text);
	if (self->format == FORMAT_TEXT) {
		printf("# name 0x%x ", name->id);
		put_clean(name->text);
		putchar('\n');
	}
	return 0;
}

static const char *mark_name(const struct dump *self, const struct event *event)
{
	bool named = hw_mark_is_named(event->aux) && event->address < HW_NAMES;

	return named ? self->names[event->address] : "";
}

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

static const char *flag_words(u8 flags)
{
	if (flags & EVENT_NESTED)
		return flags & EVENT_IMPLIED ? "nested+implied" : "nested";
	return flags & EVENT_IMPLIED ? "implied" : "";
}

/* FAILED and DURATION have a call there, marks their kind, the others a number. */
static const char *aux_words(const struct event *event, char *text, size_t size)
{
	if (event->kind == HW_FAILED || event->kind == HW_DURATION)
		return kind_name(event->aux);
	if (event->kind == HW_MARK)
		return hw_mark_word(event->aux);
	if (event->aux == 0)
		return "0";
	snprintf(text, size, "%u", event->aux);
	return text;
}

static u32 thread_tid(const struct dump *self, u32 thread)
{
	return thread < self->threads.count ? self->threads.data[thread].tid : 0;
}

static u32 tid_of(const struct dump *self, const struct event *event)
{
	return thread_tid(self, event->thread);
}

static bool has_chunk(const struct event *event)
{
	return (hw_kind_allocates(event->kind) || hw_kind_frees(event->kind)) &&
	       event->chunk != NO_CHUNK;
}

/* A line under construction. All that goes in is bounded: numbers, kinds, flags. */
struct line {
	char text[512];
	u32 count;
};

static void line_char(struct line *self, char c) { self->text[self->count++] = c; }

static void line_text(struct line *self, const char *text)
{
	while (*text)
		self->text[self->count++] = *text++;
}

/* printf would take most of the time of a dump. */
static void line_number(struct line *self, u64 number, u32 base)
{
	char digits[20];
	u32 n = 0;

	do
		digits[n++] = "0123456789abcdef"[number % base];
	while (number /= base);
	while (n)
		self->text[self->count++] = digits[--n];
}

/* The columns from time_ns to flags; `nothing` stands for what an event does not have. */
static void line_event(struct line *self, const struct dump *dump, const struct event *event,
		       char between, const char *nothing)
{
	const char *flags = flag_words(event->flags);
	char aux[16];

	line_number(self, time_of(dump, event->ticks), 10);
	line_char(self, between);
	line_number(self, tid_of(dump, event), 10);
	line_char(self, between);
	line_text(self, kind_name(event->kind));
	line_char(self, between);
	line_text(self, "0x");
	line_number(self, event->address, 16);
	line_char(self, between);
	line_number(self, event->size, 10);
	line_char(self, between);
	if (has_chunk(event))
		line_number(self, event->chunk, 10);
	else
		line_text(self, nothing);
	line_char(self, between);
	line_number(self, event->context, 10);
	line_char(self, between);
	line_text(self, aux_words(event, aux, sizeof aux));
	line_char(self, between);
	line_text(self, *flags ? flags : nothing);
}

static void put_text(struct dump *self, const struct event *event)
{
	struct line line = {.count = 0};

	line_event(&line, self, event, ' ', "-");
	fwrite(line.text, 1, line.count, stdout);
	if (self->args->stacks) {
		putchar(' ');
		fputs(*strbuf_text(&self->stack) ? strbuf_text(&self->stack) : "-", stdout);
	}
	putchar('\n');
}

static void put_csv(struct dump *self, const struct event *event)
{
	struct line line = {.count = 0};

	line_number(&line, self->image, 10);
	line_char(&line, ',');
	line_event(&line, self, event, ',', "");
	fwrite(line.text, 1, line.count, stdout);
	if (self->args->stacks) {
		fputs(",\"", stdout);
		for (const char *p = strbuf_text(&self->stack); *p; p++)
			fputs(*p == '"' ? "\"\"" : (char[]){*p, 0}, stdout);
		putchar('"');
	}
	putchar('\n');
}

static void put_json(struct dump *self, const struct event *event)
{
	struct json *json = &self->json;
	char aux[16];

	json_open_flat(json, NULL, '{');
	json_number(json, "image", self->image);
	json_number(json, "time_ns", time_of(self, event->ticks));
	json_number(json, "tid", tid_of(self, event));
	json_text(json, "kind", kind_name(event->kind));
	json_number(json, "address", event->address);
	json_number(json, "size", event->size);
	if (has_chunk(event))
		json_number(json, "chunk", event->chunk);
	else
		json_null(json, "chunk");
	json_number(json, "context", event->context);
	if (event->kind == HW_FAILED || event->kind == HW_DURATION || event->kind == HW_MARK)
		json_text(json, "aux", aux_words(event, aux, sizeof aux));
	else
		json_number(json, "aux", event->aux);
	if (event->kind == HW_MARK)
		json_text(json, "name", mark_name(self, event));
	json_text(json, "flags", flag_words(event->flags));
	if (self->args->stacks)
		json_text(json, "stack", strbuf_text(&self->stack));
	json_close(json, '}');
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count; i++) {
		if (self->args->stacks && build_stack(self, events[i].context, err) < 0)
			return err->code;
		if (self->format == FORMAT_TEXT)
			put_text(self, &events[i]);
		else if (self->format == FORMAT_CSV)
			put_csv(self, &events[i]);
		else
			put_json(self, &events[i]);
	}
	if (ferror(stdout))
		return err_set(err, ERR_SYSTEM, "cannot write the events");
	return 0;
}

static void line_named(struct line *self, const char *name, u64 number, bool known)
{
	line_text(self, name);
	if (known)
		line_number(self, number, 10);
	else
		line_char(self, '-');
}

static void line_access_flags(struct line *self, u32 flags)
{
	static const char *const words[] = {"shared",      "saturated", "estimated",
					    "lower_bound", "later",     "unsided"};
	const char *between = "";

	line_text(self, " flags ");
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (flags >> i & 1) {
			line_text(self, between);
			line_text(self, words[i]);
			between = "+";
		}
	if (!*between)
		line_char(self, '-');
}

/* A range of bytes is named by its ends, "0-3,8-15": those of a map, or all of [low, high). */
static void put_bytes(const char *name, const u64 *map, u64 low, u64 high)
{
	struct strbuf text = {0};

	if (map)
		bytemap_add_ranges(&text, map, HW_MAP_BYTES, true, 0);
	else if (high > low)
		strbuf_addf(&text, "%" PRIu64 "-%" PRIu64, low, high - 1);
	printf(" %s %s", name, text.count ? strbuf_text(&text) : "-");
	strbuf_release(&text);
}

/* The bytes that were accessed, and those that were read and written, as far as the row says which
 * they are. */
static void put_accessed(const struct stream_access *row)
{
	static const char *const names[HW_SIDES] = {"read", "written"};
	bool whole = row->covered_bytes == row->high - row->low && row->covered_bytes;
	u64 high = whole ? row->high : row->low;

	put_bytes("accessed", row->map, row->low, high);
	for (u32 side = 0; side < HW_SIDES && row->sided; side++)
		if (row->side_bytes[side] == row->covered_bytes)
			put_bytes(names[side], row->map, row->low, high);
		else
			put_bytes(names[side], row->side_maps[side], 0, 0);
	putchar('\n');
}

static int on_accesses(void *data, const struct stream_access *rows, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count && self->format == FORMAT_TEXT; i++) {
		const struct stream_access *row = &rows[i];
		struct line line = {.count = 0};

		line_named(&line, "# access ", row->chunk, true);
		line_named(&line, " first_ns ", time_of(self, row->first_ticks), row->first_ticks);
		line_named(&line, " last_ns ", time_of(self, row->last_ticks), row->last_ticks);
		line_named(&line, " reads ", row->reads, true);
		line_named(&line, " writes ", row->writes, true);
		line_named(&line, " read_bytes ", row->read_bytes, true);
		line_named(&line, " written_bytes ", row->written_bytes, true);
		line_named(&line, " low ", row->low, true);
		line_named(&line, " high ", row->high, true);
		line_named(&line, " covered ", row->covered_bytes,
			   row->covered_bytes != UINT64_MAX);
		line_access_flags(&line, row->flags);
		fwrite(line.text, 1, line.count, stdout);
		put_accessed(row);
	}
	if (ferror(stdout))
		return err_set(err, ERR_SYSTEM, "cannot write the accesses");
	return 0;
}

/* A routine's name, as in a stack. */
static void build_routine(struct dump *self, const struct stream_routine *row)
{
	struct modmap *modules = &self->contexts.modules;
	const struct modmap_module *module =
		modmap_find(modules, row->address, modmap_generation_at(modules, row->ticks));
	struct frame frame = {.module = module ? module->id : UINT32_MAX,
			      .address = row->address - (module ? module->base : 0)};

	strbuf_clear(&self->stack);
	add_frame(self, &frame);
}

/* Allocations and frees are shown as events. */
static int on_routines(void *data, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count && self->format == FORMAT_TEXT; i++) {
		const struct stream_routine *row = &rows[i];
		struct line line = {.count = 0};
		bool enters = row->step == ROUTINE_ENTER;

		if (row->step != ROUTINE_ENTER && row->step != ROUTINE_LEAVE)
			continue;
		line_text(&line, enters ? "# enter " : "# leave ");
		line_number(&line, time_of(self, row->ticks), 10);
		line_named(&line, " tid ", thread_tid(self, row->thread), true);
		line_text(&line, " address 0x");
		line_number(&line, row->address, 16);
		line_text(&line, enters ? " return 0x" : row->how ? " unwound " : " returned ");
		if (enters)
			line_number(&line, row->value, 16);
		line_text(&line, enters ? " routine " : "routine ");
		build_routine(self, row);
		fwrite(line.text, 1, line.count, stdout);
		puts(strbuf_text(&self->stack));
	}
	if (ferror(stdout))
		return err_set(err, ERR_SYSTEM, "cannot write the routines");
	return 0;
}

/* "-" = it has none. */
static const char *type_name_of(const struct dump *self, u64 identity)
{
	const u64 *row = map_find(&self->types, identity);

	if (identity < HW_NAMES)
		return self->names[identity][0] ? self->names[identity] : "-";
	return row ? self->type_names.rows.data[*row - 1].name : "-";
}

static int on_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count && self->format == FORMAT_TEXT; i++) {
		const struct stream_type *row = &rows[i];

		printf("# type %" PRIu64 " source %s identity 0x%" PRIx64 " count %" PRIu64
		       " offset %" PRIu32 " name ",
		       row->chunk, row->source == TYPE_DECLARED ? "declared" : "vtable",
		       row->identity, row->count, row->offset);
		put_clean(type_name_of(self, row->identity));
		putchar('\n');
	}
	if (ferror(stdout))
		return err_set(err, ERR_SYSTEM, "cannot write the types");
	return 0;
}

static void begin(struct dump *self)
{
	if (self->format == FORMAT_CSV)
		printf("image,time_ns,tid,kind,address,size,chunk,context,aux,flags%s\n",
		       self->args->stacks ? ",stack" : "");
	if (self->format == FORMAT_JSON)
		json_open(&self->json, NULL, '[');
}

static void end(struct dump *self)
{
	if (self->format != FORMAT_JSON)
		return;
	json_close(&self->json, ']');
	json_end(&self->json);
}

static int read_events(struct dump *self, struct trace_reader *reader, struct err *err)
{
	struct trace_read_options how = {.image = self->args->image == NOT_GIVEN
							  ? TRACE_ALL_IMAGES
							  : (int)self->args->image,
					 .strict = self->args->strict};
	struct stream_sink clocks = {.self = self, .image = clock_image, .clock = clock_pair};
	struct stream_sink sink = {.self = self,
				   .image = on_image,
				   .module = on_module,
				   .thread = on_thread,
				   .contexts = on_contexts,
				   .events = on_events,
				   .clock = on_clock,
				   .usage = on_usage,
				   .memory = on_memory,
				   .aggregates = on_aggregates,
				   .scan = on_scan,
				   .accesses = on_accesses,
				   .routines = on_routines,
				   .types = on_types,
				   .image_end = on_image_end,
				   .note = on_note,
				   .name = on_name};
	int status = trace_read(reader, &how, &clocks, err);

	if (status < 0)
		return status;
	begin(self);
	status = trace_read(reader, &how, &sink, err);
	end(self);
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
