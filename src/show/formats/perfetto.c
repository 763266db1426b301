/* SPDX-License-Identifier: MIT
 * A trace as one of Perfetto's: two heap profiles, at the peak and at the end, with their call
 * stacks, and counters of live bytes and chunks over time.
 * Host. Packets are written one by one; names are told before they are used. */
#include <string.h>

#include "show/formats/export.h"
#include "show/formats/places.h"
#include "show/formats/proto.h"

/* Numbers of the fields, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT,
	PACKET_INTERNED,
	PACKET_FLAGS,
	PACKET_PROFILE = 37,
	PACKET_TRACK = 60
};
enum {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME,
	INTERNED_STACK,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH,
	INTERNED_SOURCE,
	INTERNED_MAPPING
};
enum { STRING_ID = 1, STRING_TEXT };
enum { MAPPING_ID = 1, MAPPING_BUILD_ID, MAPPING_START = 4, MAPPING_END, MAPPING_PATH = 7 };
enum { FRAME_ID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_PC, FRAME_SOURCE, FRAME_LINE };
enum { STACK_ID = 1, STACK_FRAME };
enum { PROFILE_DUMP = 5, PROFILE_INDEX = 7 };
enum {
	DUMP_PID = 1,
	DUMP_SAMPLE,
	DUMP_FROM_STARTUP,
	DUMP_TIMESTAMP = 9,
	DUMP_HEAP = 11,
	DUMP_INTERVAL
};
enum {
	SAMPLE_STACK = 1,
	SAMPLE_ALLOCATED,
	SAMPLE_FREED,
	SAMPLE_ALLOC_COUNT = 5,
	SAMPLE_FREE_COUNT,
	SAMPLE_MAX = 8
};
enum { TRACK_ID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_COMMAND, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, UNIT_COUNT = 2, UNIT_BYTES = 3 };
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_VALUE = 30 };
enum { TYPE_INSTANT = 3, TYPE_COUNTER };
enum { CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME };

enum { SEQUENCE = 1, CLEARED = 1, NEEDS_STATE = 2 };
enum { PROCESS_UUID = 1, BYTES_UUID, CHUNKS_UUID };

struct tracing {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct strbuf packet, part, inner;
	u64 packets, profiles;
	FILE *out;
};

static u64 time_of(const struct tracing *self, u64 ticks)
{
	return self->model->image.start_ns + tick_clock_ns(&self->model->clock, ticks);
}

/* After a failure nothing more is written. */
static void put_packet(struct tracing *self)
{
	struct strbuf whole = {0};

	proto_number(&self->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&self->packet, PACKET_FLAGS, self->packets++ ? NEEDS_STATE : CLEARED);
	proto_message(&whole, TRACE_PACKET, &self->packet);
	if (whole.failed || self->part.failed || self->inner.failed)
		self->places.failed = true;
	if (!self->places.failed)
		fwrite(whole.text, 1, whole.count, self->out);
	strbuf_release(&whole);
}

/* Every clock stands still at the start: all times here are of one. */
static void put_clocks(struct tracing *self)
{
	enum { REALTIME = 1, BOOTTIME = 6 };

	for (u64 clock = REALTIME; clock <= BOOTTIME; clock++) {
		proto_number(&self->inner, CLOCK_ID, clock);
		proto_always(&self->inner, CLOCK_TIME, self->model->image.start_ns);
		proto_message(&self->part, CLOCKS_CLOCK, &self->inner);
	}
	proto_message(&self->packet, PACKET_CLOCKS, &self->part);
	put_packet(self);
}

static void put_track(struct tracing *self, u64 uuid, const char *name, u32 unit)
{
	proto_number(&self->part, TRACK_ID, uuid);
	proto_number(&self->part, TRACK_PARENT, uuid == PROCESS_UUID ? 0 : PROCESS_UUID);
	proto_text(&self->part, TRACK_NAME, name);
	if (uuid == PROCESS_UUID) {
		proto_number(&self->inner, PROCESS_PID, self->model->image.pid);
		proto_text(&self->inner, PROCESS_COMMAND, self->model->image.command);
		proto_text(&self->inner, PROCESS_NAME, self->model->image.program);
		proto_message(&self->part, TRACK_PROCESS, &self->inner);
	} else {
		proto_number(&self->inner, COUNTER_UNIT, unit);
		proto_message(&self->part, TRACK_COUNTER, &self->inner);
	}
	proto_message(&self->packet, PACKET_TRACK, &self->part);
	put_packet(self);
}

/* Caveats are events at the start, so that they are seen. */
static void put_caveats(struct tracing *self)
{
	struct result *caveats = export_caveats(self->job);

	self->places.failed |= !caveats;
	for (u64 i = 0; caveats && i <= caveats->caveats.count; i++) {
		const char *text = i                            ? caveats->caveats.data[i - 1]
				   : export_complete(self->job) ? "complete: yes"
								: "complete: no";

		proto_always(&self->packet, PACKET_TIMESTAMP, self->model->image.start_ns);
		proto_number(&self->part, EVENT_TYPE, TYPE_INSTANT);
		proto_number(&self->part, EVENT_TRACK, PROCESS_UUID);
		proto_text(&self->part, EVENT_NAME, text);
		proto_message(&self->packet, PACKET_EVENT, &self->part);
		put_packet(self);
	}
	result_free(caveats);
}

static void put_counter(struct tracing *self, u64 uuid, u64 ticks, u64 value)
{
	proto_always(&self->packet, PACKET_TIMESTAMP, time_of(self, ticks));
	proto_number(&self->part, EVENT_TYPE, TYPE_COUNTER);
	proto_number(&self->part, EVENT_TRACK, uuid);
	proto_always(&self->part, EVENT_VALUE, value);
	proto_message(&self->packet, PACKET_EVENT, &self->part);
	put_packet(self);
}

/* The highest of each stretch of time, so that no peak is lost; equal ones once. */
static void put_counters(struct tracing *self)
{
	const struct timeline *timeline = &self->model->timeline;
	u64 bytes = UINT64_MAX, chunks = UINT64_MAX;

	for (u32 i = 0; i <= timeline->current && i < TIMELINE_BUCKETS; i++) {
		const struct timeline_bucket *bucket = &timeline->bucket[i];
		u64 ticks = timeline->start_ticks + i * timeline->width_ticks;

		if (bucket->max_bytes != bytes)
			put_counter(self, BYTES_UUID, ticks, bucket->max_bytes);
		if (bucket->max_chunks != chunks)
			put_counter(self, CHUNKS_UUID, ticks, bucket->max_chunks);
		bytes = bucket->max_bytes;
		chunks = bucket->max_chunks;
	}
	put_counter(self, BYTES_UUID, self->model->last_ticks, self->model->totals.live_bytes);
}

/* ---- names ---- */

static void add_string(struct tracing *self, u32 field, u64 id, const char *text)
{
	proto_number(&self->inner, STRING_ID, id);
	proto_text(&self->inner, STRING_TEXT, text);
	proto_message(&self->part, field, &self->inner);
}

static void put_interned(struct tracing *self)
{
	proto_message(&self->packet, PACKET_INTERNED, &self->part);
	put_packet(self);
}

/* Functions and their source files have one number. */
static void put_functions(struct tracing *self)
{
	for (u64 i = 0; i < self->places.functions.count; i++) {
		const struct place_function *function = &self->places.functions.data[i];

		add_string(self, INTERNED_FUNCTION, i + 1, function->name);
		if (*function->file)
			add_string(self, INTERNED_SOURCE, i + 1, function->file);
		put_interned(self);
	}
}

static void put_mappings(struct tracing *self)
{
	const struct modmap *modules = &self->model->contexts.modules;

	for (u32 id = 0; id < modules->module_count; id++) {
		const struct modmap_module *module = modmap_module(modules, id);
		u64 number = (u64)id + 1;

		if (!module)
			continue;
		add_string(self, INTERNED_PATH, number, places_module_path(&self->places, id));
		proto_number(&self->inner, STRING_ID, number);
		proto_bytes(&self->inner, STRING_TEXT, module->build_id, module->build_id_bytes);
		proto_message(&self->part, INTERNED_BUILD_ID, &self->inner);
		proto_number(&self->inner, MAPPING_ID, number);
		proto_number(&self->inner, MAPPING_BUILD_ID, number);
		proto_number(&self->inner, MAPPING_START, module->start);
		proto_number(&self->inner, MAPPING_END, module->end);
		proto_number(&self->inner, MAPPING_PATH, number);
		proto_message(&self->part, INTERNED_MAPPING, &self->inner);
		put_interned(self);
	}
}

static void put_frames(struct tracing *self)
{
	for (u64 i = 0; i < self->places.lines.count; i++) {
		const struct place_line *line = &self->places.lines.data[i];
		const struct place *place = &self->places.rows.data[line->place];
		bool mapped = place->module != NO_MODULE;

		proto_number(&self->inner, FRAME_ID, i + 1);
		proto_number(&self->inner, FRAME_FUNCTION, (u64)line->function + 1);
		proto_number(&self->inner, FRAME_MAPPING, mapped ? (u64)place->module + 1 : 0);
		proto_always(&self->inner, FRAME_PC, place->address);
		if (*self->places.functions.data[line->function].file)
			proto_number(&self->inner, FRAME_SOURCE, (u64)line->function + 1);
		proto_number(&self->inner, FRAME_LINE, line->line);
		proto_message(&self->part, INTERNED_FRAME, &self->inner);
		put_interned(self);
	}
}

/* Outermost frame first; one stack for each point, which has its number. */
static void put_stacks(struct tracing *self)
{
	for (u64 i = 0; i < self->model->points.count; i++) {
		places_walk(&self->places, self->model->points.data[i].frame);
		proto_number(&self->inner, STACK_ID, i + 1);
		for (u64 k = self->places.path.count; k-- > 0;)
			proto_number(&self->inner, STACK_FRAME, (u64)self->places.path.data[k] + 1);
		proto_message(&self->part, INTERNED_STACK, &self->inner);
		put_interned(self);
	}
}

/* Places are numbered by walking; their names must come before the stacks that use them. */
static void put_names(struct tracing *self)
{
	for (u64 i = 0; i < self->model->points.count; i++)
		places_walk(&self->places, self->model->points.data[i].frame);
	if (self->places.failed)
		return;
	put_functions(self);
	put_mappings(self);
	put_frames(self);
	put_stacks(self);
}

/* ---- profiles ---- */

static bool add_sample(struct tracing *self, u64 number, bool peak, struct export_sum sums[3])
{
	const struct model_point *point = &self->model->points.data[number];

	if (peak ? !point->at_peak_chunks : !point->allocations)
		return false;
	proto_number(&self->inner, SAMPLE_STACK, number + 1);
	if (peak) {
		proto_number(&self->inner, SAMPLE_MAX, point->at_peak_bytes);
		proto_number(&self->inner, SAMPLE_ALLOC_COUNT,
			     export_count(&sums[2], self->model, point->at_peak_chunks));
		return true;
	}
	proto_number(&self->inner, SAMPLE_ALLOCATED, point->bytes);
	proto_number(&self->inner, SAMPLE_FREED, point->freed_bytes);
	proto_number(&self->inner, SAMPLE_ALLOC_COUNT,
		     export_count(&sums[0], self->model, point->allocations));
	proto_number(&self->inner, SAMPLE_FREE_COUNT,
		     export_count(&sums[1], self->model, point->frees));
	return true;
}

static void put_profile(struct tracing *self, bool peak)
{
	u64 ticks = peak ? self->model->totals.peak_ticks : self->model->last_ticks;
	struct export_sum sums[3] = {{0}};
	struct strbuf dump = {0};
	u64 interval = self->model->image.sample_bytes;

	proto_number(&dump, DUMP_PID, self->model->image.pid);
	proto_number(&dump, DUMP_FROM_STARTUP, 1);
	proto_number(&dump, DUMP_TIMESTAMP, time_of(self, ticks));
	proto_text(&dump, DUMP_HEAP, peak ? "heap at the peak" : "heap");
	proto_number(&dump, DUMP_INTERVAL, interval ? interval : 1);
	for (u64 i = 0; i < self->model->points.count; i++)
		if (add_sample(self, i, peak, sums))
			proto_message(&dump, DUMP_SAMPLE, &self->inner);
	proto_message(&self->part, PROFILE_DUMP, &dump);
	proto_number(&self->part, PROFILE_INDEX, self->profiles++);
	proto_always(&self->packet, PACKET_TIMESTAMP, time_of(self, ticks));
	proto_message(&self->packet, PACKET_PROFILE, &self->part);
	put_packet(self);
	strbuf_release(&dump);
}

int perfetto_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct tracing self = {.job = job, .model = job->stacks.model, .out = out};
	int status;

	places_init(&self.places, &job->stacks);
	put_clocks(&self);
	put_track(&self, PROCESS_UUID, "", 0);
	put_track(&self, BYTES_UUID, "live bytes", UNIT_BYTES);
	put_track(&self, CHUNKS_UUID, "live chunks", UNIT_COUNT);
	put_caveats(&self);
	put_counters(&self);
	put_names(&self);
	put_profile(&self, true);
	put_profile(&self, false);
	status = self.places.failed ? err_memory_for(err, "the export") : 0;
	places_release(&self.places);
	strbuf_release(&self.packet);
	strbuf_release(&self.part);
	strbuf_release(&self.inner);
	return status;
}
