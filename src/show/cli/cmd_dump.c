/* SPDX-License-Identifier: MIT
 * heapwise trace dump: every event of a trace, one per line, as it is read.
 * Host. Never keeps events. */
#define _GNU_SOURCE
#include <stdio.h>

#include "host/trace/kinds.h"
#include "show/cli/dump_facts.h"
#include "show/cli/trace_options.h"

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

/* ---- stacks ---- */

static int build_stack(struct dump *self, u32 context, struct err *err)
{
	struct frame_id frame;
	int status = context_table_place(&self->contexts, context, &frame, err);

	strbuf_clear(&self->stack);
	for (u32 at = frame.index; status == 0 && at;) {
		const struct frame *one =
			context_table_frame(&self->contexts, (struct frame_id){at});

		dump_add_frame(self, one);
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
			dump_put_value(&fields[i]);
		else if (!csv)
			putchar_unlocked('-');
	}
	if (self->stacks && csv) {
		fputs(",\"", stdout);
		for (const char *p = fields[EVENT_STACK].value.text; *p; p++)
			fputs(*p == '"' ? "\"\"" : (char[]){*p, 0}, stdout);
		putchar('"');
	} else if (self->stacks) {
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
			   (self->stacks ? EVENT_COLUMNS : EVENT_STACK) - named);
	json_close(&self->json, '}');
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct dump *self = data;

	for (u64 i = 0; i < count; i++) {
		if (self->stacks && build_stack(self, events[i].context, err) < 0)
			return err->code;
		put_event(self, &events[i]);
	}
	return check_written("events", err);
}

/* ---- the command ---- */

static int read_events(struct dump *self, const struct dump_args *args, struct trace_reader *reader,
		       struct err *err)
{
	struct trace_read_options how = {.image = args->image == NOT_GIVEN ? TRACE_ALL_IMAGES
									   : (int)args->image,
					 .strict = args->strict};
	struct stream_sink clocks = {.self = self, .image = clock_image, .clock = clock_pair};
	struct stream_sink sink = dump_facts_sink(self);
	int status = trace_read(reader, &how, &clocks, err);

	if (status < 0)
		return status;
	sink.events = on_events;
	if (self->format == FORMAT_CSV)
		printf("image,time_ns,tid,kind,address,size,chunk,context,aux,flags%s\n",
		       self->stacks ? ",stack" : "");
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
	const struct dump_args *args = fields;
	struct dump self = {.format = format_parse(args->format),
			    .stacks = args->stacks,
			    .json = {.out = stdout}};
	struct trace_reader *reader;
	struct err err = {0};
	int status = 0;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	self.facts = args->facts && self.format == FORMAT_TEXT;
	reader = trace_open(argv[0], &err);
	if (!reader)
		return command_fail(command, &err);
	if (trace_info(reader)->has_symbols && (args->stacks || trace_info(reader)->routines))
		status = trace_read_symbols(argv[0], &self.symbols, &err);
	if (status == 0 && trace_info(reader)->types)
		status = trace_read_type_names(argv[0], &self.type_names, &err);
	print_begin();
	if (status == 0)
		status = read_events(&self, args, reader, &err);
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
