/* SPDX-License-Identifier: MIT
 * heapwise trace info: what a trace file is, whether it is whole, and what was recorded in it.
 * Host. Reads the whole file, so that damage anywhere is found. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/base/units.h"
#include "host/trace/kinds.h"
#include "show/cli/trace_options.h"
#include "format/session.h"
#include "study/model/clock.h"
#include "host/trace/reader.h"
#include "study/result/field.h"

struct info_args {
	const char *format;
	bool modules, no_pager;
};

static const struct option_spec options[] = {
	OPTION(struct info_args, modules, 0, "modules", OPTION_SET, NULL,
	       "also list the executable and libraries (json and csv always do)"),
	FORMAT_OPTION(struct info_args), NO_PAGER_OPTION(struct info_args), OPTION_END};

static const struct result_column image_columns[] = {
	COLUMN("image", "image", VALUE_ID, "number of the image, from 0"),
	COLUMN("pid", "pid", VALUE_ID, "process id"),
	COLUMN("duration_ns", "ran", VALUE_NS, "from its start to its end"),
	COLUMN("events", "events", VALUE_COUNT, "events of the image"),
	COLUMN("threads", "threads", VALUE_COUNT, "number of threads"),
	COLUMN("contexts", "contexts", VALUE_COUNT, "frames of the calling-context tree"),
	COLUMN("modules", "modules", VALUE_COUNT, "number of loaded modules"),
	COLUMN("sample_bytes", NULL, VALUE_BYTES, "sampling interval; 0 = every allocation"),
	COLUMN("end", "end", VALUE_TEXT, "how it ended"),
	COLUMN("end_value", NULL, VALUE_SIGNED, "exit status or signal"),
	COLUMN("arch", NULL, VALUE_ID, "ELF machine number"),
	COLUMN("program", NULL, VALUE_TEXT, "path of the executable"),
	COLUMN("command", "command", VALUE_TEXT, "command line"),
	COLUMN("scan", NULL, VALUE_TEXT, "leak scan: none, done or failed"),
	COLUMN("scan_reason", NULL, VALUE_TEXT, "why the leak scan failed"),
	COLUMN("scan_ns", NULL, VALUE_NS, "how long the leak scan delayed the program's end"),
	COLUMN("scan_roots_bytes", NULL, VALUE_BYTES,
	       "size of the memory searched for root pointers"),
	COLUMN("lost_chunks", NULL, VALUE_COUNT, "kept chunks to which no pointer exists"),
	COLUMN("lost_bytes", NULL, VALUE_BYTES, "their bytes"),
	COLUMN("indirect_chunks", NULL, VALUE_COUNT, "kept chunks to which only lost chunks point"),
	COLUMN("indirect_bytes", NULL, VALUE_BYTES, "their bytes"),
	COLUMN("possible_chunks", NULL, VALUE_COUNT, "kept chunks with interior pointers only"),
	COLUMN("possible_bytes", NULL, VALUE_BYTES, "their bytes"),
	COLUMN("reachable_chunks", NULL, VALUE_COUNT, "kept chunks that are still reachable"),
	COLUMN("reachable_bytes", NULL, VALUE_BYTES, "their bytes"),
	COLUMN("access", NULL, VALUE_TEXT,
	       "how accesses were recorded: none, exact, adaptive or valgrind"),
	COLUMN("access_chunks", NULL, VALUE_COUNT, "chunks whose accesses were recorded"),
	COLUMN("routine_calls", NULL, VALUE_COUNT, "routine calls"),
	COLUMN("routine_ends", NULL, VALUE_COUNT, "routine returns"),
};
enum { SCAN_COLUMN = 13, ACCESS_COLUMN = 25, ROUTINE_COLUMN = 27 };
enum { IMAGE_COLUMNS = sizeof image_columns / sizeof *image_columns };

static const struct result_column module_columns[] = {
	COLUMN("image", "image", VALUE_ID, "image that loaded it"),
	COLUMN("module", "module", VALUE_ID, "number in the image"),
	COLUMN("start", NULL, VALUE_ADDRESS, "first address"),
	COLUMN("end", NULL, VALUE_ADDRESS, "address after the last"),
	COLUMN("base", NULL, VALUE_ADDRESS, "address in memory minus address in the file"),
	COLUMN("generation", NULL, VALUE_ID, "first generation of contexts that sees it"),
	COLUMN("build_id", "build-id", VALUE_TEXT, "build-id of the file"),
	COLUMN("path", "path", VALUE_PATH, "file"),
};
enum { MODULE_COLUMNS = sizeof module_columns / sizeof *module_columns };

static const struct result_column mark_columns[] = {
	COLUMN("image", "image", VALUE_ID, "image that was marked"),
	COLUMN("time_ns", "time", VALUE_NS, "time since the start of the recording"),
	COLUMN("kind", "kind", VALUE_TEXT,
	       "mark, phase_begin, phase_end, snapshot, paused or resumed"),
	COLUMN("number", "number", VALUE_ID, "number given by the program, or 0"),
	COLUMN("live_bytes", "live", VALUE_BYTES, "live bytes at this moment"),
	COLUMN("live_chunks", "live chunks", VALUE_COUNT, "live chunks at this moment"),
	COLUMN("name", "name", VALUE_TEXT, "name given by the program, or empty"),
};
enum { MARK_COLUMNS = sizeof mark_columns / sizeof *mark_columns };

struct mark { /* its time is known only when all clocks are */
	struct event event;
	u64 live_bytes, live_chunks;
};

struct current { /* the image that is being read */
	struct tick_clock clock;
	u64 events, threads, contexts, modules, accesses, last_ticks;
	u64 steps[ROUTINE_STEPS]; /* of routines */
	u64 live_bytes, live_chunks;
	bool sampled;
	VEC(struct mark) marks;
	const char *names[HW_NAMES]; /* copies of the table's */
	struct value row[IMAGE_COLUMNS];
	bool open;
};

struct info {
	struct result *images, *modules, *notes, *marks, *snapshots;
	struct current now;
	char scan[512]; /* in words, of the last image */
	char accesses[64];
	char routines[96];
};

static void mark_add(struct info *self, struct result *table, const struct mark *mark)
{
	const struct current *now = &self->now;
	const struct event *event = &mark->event;
	bool named = hw_mark_is_named(event->aux) && event->address < HW_NAMES;
	struct value *row = result_add_row(table);

	if (!row)
		return;
	row[0] = now->row[0];
	row[1] = value_number(tick_clock_ns(&now->clock, event->ticks));
	row[2] = value_text(hw_mark_word(event->aux));
	row[3] = value_number(event->size);
	row[6] = value_text(named && now->names[event->address] ? now->names[event->address] : "");
	/* Of a sample the report knows what its chunks stand for. */
	if (!now->sampled) {
		row[4] = value_number(mark->live_bytes);
		row[5] = value_number(mark->live_chunks);
	}
}

static void marks_close(struct info *self)
{
	for (u64 i = 0; i < self->now.marks.count; i++) {
		const struct mark *mark = &self->now.marks.data[i];

		mark_add(self, mark->event.aux == HW_MARK_SNAPSHOT ? self->snapshots : self->marks,
			 mark);
	}
	vec_release(&self->now.marks);
}

static void image_close(struct info *self)
{
	struct current *now = &self->now;
	struct value *row;

	if (!now->open)
		return;
	now->row[2] = value_number(tick_clock_ns(&now->clock, now->last_ticks));
	now->row[3] = value_number(now->events);
	now->row[4] = value_number(now->threads);
	now->row[5] = value_number(now->contexts);
	now->row[6] = value_number(now->modules);
	now->row[ACCESS_COLUMN + 1] = value_number(now->accesses);
	if (strcmp(now->row[ACCESS_COLUMN].text, "none") != 0 || now->accesses)
		snprintf(self->accesses, sizeof self->accesses, "%s, %.40s",
			 now->row[ACCESS_COLUMN].text,
			 units_things(now->accesses, "chunk(s)").text);
	now->row[ROUTINE_COLUMN] = value_number(now->steps[ROUTINE_ENTER]);
	now->row[ROUTINE_COLUMN + 1] = value_number(now->steps[ROUTINE_LEAVE]);
	if (now->steps[ROUTINE_ENTER] || now->steps[ROUTINE_LEAVE])
		snprintf(self->routines, sizeof self->routines, "%.40s, %.40s",
			 units_things(now->steps[ROUTINE_ENTER], "call(s)").text,
			 units_things(now->steps[ROUTINE_LEAVE], "return(s)").text);
	row = result_add_row(self->images);
	if (row)
		memcpy(row, now->row, sizeof now->row);
	marks_close(self);
	tick_clock_release(&now->clock);
	*now = (struct current){0};
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct info *self = data;
	struct value *row = self->now.row;

	image_close(self);
	if (!tick_clock_start(&self->now.clock, image->start_ticks, image->start_ns))
		return err_memory(err);
	self->now.open = true;
	self->now.sampled = image->sample_bytes != 0;
	self->now.last_ticks = image->start_ticks;
	row[0] = value_number(image->number);
	row[1] = value_number(image->pid);
	row[7] = value_number(image->sample_bytes);
	row[8] = value_text("cut short");
	row[SCAN_COLUMN] = value_text("none");
	row[SCAN_COLUMN + 1] = value_text("");
	for (u32 i = SCAN_COLUMN + 2; i < IMAGE_COLUMNS; i++)
		row[i] = value_unknown();
	row[ACCESS_COLUMN] = value_text(access_mode_word(image->access));
	self->scan[0] = self->accesses[0] = self->routines[0] = 0;
	row[10] = value_number(image->arch);
	row[11] = value_text(result_copy(self->images, image->program ? image->program : ""));
	row[12] = value_text(result_copy(self->images, image->command ? image->command : ""));
	return 0;
}

static const char *build_id_text(struct result *result, const struct stream_module *module)
{
	char text[129] = "";

	for (u32 i = 0; i < module->build_id_bytes && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	return result_copy(result, text);
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct info *self = data;
	const char *build_id, *path;
	struct value *row;

	(void)err;
	if (module->id < self->now.modules) /* told again: it was unloaded */
		return 0;
	self->now.modules++;
	build_id = build_id_text(self->modules, module);
	path = module->path && *module->path ? result_copy(self->modules, module->path)
	       : self->now.open              ? self->now.row[11].text
					     : "";
	row = result_add_row(self->modules);
	if (!row)
		return 0;
	row[0] = self->now.open ? self->now.row[0] : value_unknown();
	row[1] = value_number(module->id);
	row[2] = value_number(module->start);
	row[3] = value_number(module->end);
	row[4] = value_number(module->base);
	row[5] = value_number(module->generation);
	row[6] = value_text(build_id);
	row[7] = value_text(path);
	return 0;
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct info *self = data;

	(void)thread, (void)err;
	self->now.threads++;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct info *self = data;

	(void)contexts, (void)err;
	self->now.contexts += count;
	return 0;
}

static int on_name(void *data, const struct stream_name *name, struct err *err)
{
	struct info *self = data;

	(void)err;
	if (name->id < HW_NAMES)
		self->now.names[name->id] = result_copy(self->marks, name->text);
	return 0;
}

static bool event_apply(struct current *now, const struct event *event)
{
	if (hw_kind_allocates(event->kind)) {
		now->live_bytes += event->size;
		now->live_chunks++;
	} else if (hw_kind_frees(event->kind) && event->chunk != NO_CHUNK) {
		now->live_bytes -= event->size;
		now->live_chunks--;
	} else if (event->kind == HW_MARK) {
		struct mark mark = {*event, now->live_bytes, now->live_chunks};

		if (event->aux == HW_MARK_NUMBER && event->address == 1)
			mark.event.aux = HW_MARK_SNAPSHOT; /* as the first version told it */
		return vec_push(&now->marks, mark);
	}
	return true;
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct info *self = data;

	for (u64 i = 0; i < count; i++)
		if (!event_apply(&self->now, &events[i]))
			return err_memory(err);
	self->now.events += count;
	if (count && events[count - 1].ticks > self->now.last_ticks)
		self->now.last_ticks = events[count - 1].ticks;
	return 0;
}

static int on_clock(void *data, const struct stream_clock *clock, struct err *err)
{
	struct info *self = data;

	if (!tick_clock_tell(&self->now.clock, clock))
		return err_memory(err);
	return 0;
}

static void scan_words(struct info *self, const struct stream_scan *scan)
{
	static const u8 order[] = {CLASS_LOST, CLASS_INDIRECT, CLASS_POSSIBLE, CLASS_REACHABLE};
	u64 at = 0, room = sizeof self->scan;

	if (scan->state != SCAN_DONE) {
		snprintf(self->scan, room, "failed: %s", scan->reason);
		return;
	}
	for (u32 i = 0; i < 4 && at < room; i++)
		at += (u64)snprintf(self->scan + at, room - at, "%s%s %s (%s)", i ? ", " : "",
				    units_count(scan->class_chunks[order[i]]).text,
				    class_name(order[i]),
				    units_bytes(scan->class_bytes[order[i]]).text);
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	struct info *self = data;
	struct value *row = self->now.row + SCAN_COLUMN;

	(void)classes, (void)count, (void)err;
	row[0] = value_text(scan->state == SCAN_DONE ? "done" : "failed");
	row[1] = value_text(result_copy(self->images, scan->reason));
	row[2] = value_number(scan->scan_ns);
	row[3] = value_number(scan->roots_bytes);
	for (u32 class = CLASS_LOST; class >= CLASS_REACHABLE; class --) {
		u32 at = 4 + 2 * (CLASS_LOST - class);

		row[at] = value_number(scan->class_chunks[class]);
		row[at + 1] = value_number(scan->class_bytes[class]);
	}
	scan_words(self, scan);
	return 0;
}

static int on_accesses(void *data, const struct stream_access *rows, u64 count, struct err *err)
{
	struct info *self = data;

	(void)rows, (void)err;
	self->now.accesses += count;
	return 0;
}

static int on_routines(void *data, const struct stream_routine *rows, u64 count, struct err *err)
{
	struct info *self = data;

	(void)err;
	for (u64 i = 0; i < count; i++)
		self->now.steps[rows[i].step]++;
	return 0;
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	static const char *const how[] = {"exited", "killed", "exec", "detached"};
	struct info *self = data;

	(void)err;
	if (end->ticks > self->now.last_ticks)
		self->now.last_ticks = end->ticks;
	self->now.row[8] = value_text(end->how < 4 ? how[end->how] : "unknown");
	self->now.row[9] = value_signed(end->value);
	return 0;
}

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	struct info *self = data;
	const char *copies[2] = {result_copy(self->notes, key), result_copy(self->notes, value)};
	struct value *row = result_add_row(self->notes);

	(void)err;
	if (row) {
		row[0] = value_text(copies[0]);
		row[1] = value_text(copies[1]);
	}
	return 0;
}

static void describe_file(struct result *result, const char *path, const struct trace_info *info)
{
	result_field(result, "file", "file", VALUE_TEXT, value_text(result_copy(result, path)),
		     "path of the trace");
	result_field(result, "version", "version", VALUE_ID, value_number(info->version),
		     "version of the trace format");
	result_field(result, "file_bytes", "size", VALUE_BYTES, value_number(info->file_bytes),
		     "size of the file");
	result_field(result, "blocks", "sections", VALUE_COUNT, value_number(info->blocks),
		     "sections in the file");
	result_field(result, "images", "images", VALUE_COUNT, value_number(info->images),
		     "programs executed by the process, one after another");
	result_field(result, "events", "events", VALUE_COUNT, value_number(info->events),
		     "events in all images");
	result_field(result, "bytes_per_event", "bytes per event", VALUE_RATIO,
		     info->events ? value_real((double)info->file_bytes / (double)info->events)
				  : value_unknown(),
		     "size of the file divided by the number of events");
	result_field(result, "closed", "closed", VALUE_BOOL, value_number(info->complete),
		     "the recording ended properly");
	result_field(result, "has_symbols", "symbols", VALUE_BOOL, value_number(info->has_symbols),
		     "function names are in the file");
	result_field(result, "damaged_blocks", "damaged sections", VALUE_COUNT,
		     value_number(info->damaged_blocks), "sections that could not be read");
	result_field(result, "damaged_bytes", NULL, VALUE_BYTES, value_number(info->damaged_bytes),
		     "bytes in damaged sections");
	if (info->damaged_blocks)
		result_add_caveat(result, "damage: %s", info->damage);
	if (!info->complete)
		result_add_caveat(
			result,
			"the trace has no table of contents: it is still being written, or the "
			"recording was cut short");
}

static struct result *table(const char *name, const char *title,
			    const struct result_column *columns, u64 count)
{
	struct result *result = result_new(RESULT_TABLE, name, title);

	if (result)
		result_set_columns(result, columns, count);
	return result;
}

static int collect(struct info *self, struct trace_reader *reader, struct err *err)
{
	struct trace_read_options how = {.image = TRACE_ALL_IMAGES};
	struct stream_sink sink = {.self = self,
				   .image = on_image,
				   .module = on_module,
				   .thread = on_thread,
				   .contexts = on_contexts,
				   .events = on_events,
				   .clock = on_clock,
				   .scan = on_scan,
				   .accesses = on_accesses,
				   .routines = on_routines,
				   .image_end = on_image_end,
				   .note = on_note,
				   .name = on_name};
	int status = trace_read(reader, &how, &sink, err);

	image_close(self);
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	static const struct result_column note_columns[] = {
		COLUMN("key", "note", VALUE_TEXT, "note of the recorder"),
		COLUMN("value", "value", VALUE_TEXT, "its value"),
	};
	const struct info_args *args = fields;
	enum format format = format_parse(args->format);
	struct info self = {0};
	struct trace_reader *reader;
	struct result *result;
	struct err err = {0};
	int status = EXIT_DONE;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	reader = trace_open(argv[0], &err);
	if (!reader)
		return command_fail(command, &err);
	result = result_new(RESULT_RECORD, "info", "");
	self.images = table("image_list", "Images", image_columns, IMAGE_COLUMNS);
	self.modules = table("module_list", "Modules", module_columns, MODULE_COLUMNS);
	self.notes = table("note_list", "Notes", note_columns, 2);
	self.marks = table("mark_list", "Marks", mark_columns, MARK_COLUMNS);
	self.snapshots = table("snapshot_list", "Snapshots", mark_columns, MARK_COLUMNS);
	if (!result || !self.images || !self.modules || !self.notes || !self.marks ||
	    !self.snapshots)
		status = err_memory(&err);
	else
		status = collect(&self, reader, &err);
	if (status == 0) {
		describe_file(result, argv[0], trace_info(reader));
		result_field(
			result, "leak_scan", "leak scan", VALUE_TEXT,
			value_text(result_copy(result, self.scan[0] ? self.scan : "none")),
			"leak kinds of the last image's kept chunks, from a scan of its memory");
		result_field(
			result, "accesses", self.accesses[0] ? "accesses" : NULL, VALUE_TEXT,
			value_text(result_copy(result, self.accesses[0] ? self.accesses : "none")),
			"how accesses of the last image were recorded, and for how many chunks");
		result_field(result, "routines", self.routines[0] ? "routines" : NULL, VALUE_TEXT,
			     value_text(result_copy(result,
						    self.routines[0] ? self.routines : "none")),
			     "routine calls and returns recorded in the last image");
		self.modules->hidden_in_text = !args->modules;
		self.notes->hidden_in_text = result_rows(self.notes) == 0;
		self.marks->hidden_in_text = result_rows(self.marks) == 0;
		self.snapshots->hidden_in_text = result_rows(self.snapshots) == 0;
	}
	if (result) {
		result_add_part(result, self.images);
		result_add_part(result, self.modules);
		result_add_part(result, self.notes);
		result_add_part(result, self.marks);
		result_add_part(result, self.snapshots);
	}
	trace_close(reader);
	if (status == 0)
		return print_made(command, result, format);
	result_free(result);
	return command_fail(command, &err);
}

const struct command cmd_info = {
	.name = "trace info",
	.operands = "FILE",
	.summary = "show what a trace file contains and whether it is complete",
	.options = options,
	.fields_size = sizeof(struct info_args),
	.run = run,
};
