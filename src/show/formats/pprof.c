/* SPDX-License-Identifier: MIT
 * A trace as a profile of pprof (profile.proto, compressed): a sample for each allocation point,
 * with what it allocated, has at the peak, and keeps until the end.
 * Host. Written piece by piece; only the strings are kept until the end. */
#include <string.h>

#include "host/base/map.h"
#include "show/formats/export.h"
#include "show/render/gzip.h"
#include "show/formats/places.h"
#include "show/formats/proto.h"

/* Numbers of the fields, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS, /* and files, lines, inlined functions */
	MAPPING_HAS_INLINES = 10
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

enum { FLUSH_BYTES = 1 << 16 };

static const struct {
	const char *type, *unit;
} sample_types[] = {
	{"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
	{"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
};
enum { SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]) };

struct profiling {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct names texts;
	struct map numbers;        /* kept text → its number */
	VEC(const char *) strings; /* by number; the first is "" */
	VEC(u32) mappings;         /* module ids; the number of a mapping is its place + 1 */
	VEC(u32) of_module;        /* by module id: number of its mapping, 0 = none */
	struct strbuf whole, part, inner;
	struct gzip gzip;
};

/* The number of a string. Without memory "", and the places have failed. */
static u64 number_of(struct profiling *self, const char *text)
{
	const char *kept = *text ? names_keep(&self->texts, text) : "";
	u64 *known;

	if (!*kept) {
		self->places.failed |= *text != 0;
		return 0;
	}
	known = map_at(&self->numbers, (u64)(uintptr_t)kept);
	if (!known || (!*known && !vec_push(&self->strings, kept))) {
		self->places.failed = true;
		return 0;
	}
	if (!*known)
		*known = self->strings.count - 1;
	return *known;
}

static int flush(struct profiling *self, u64 above, struct err *err)
{
	int status = 0;

	if (self->whole.failed || self->part.failed || self->places.failed)
		return err_memory_for(err, "the export");
	if (self->whole.count > above) {
		status = gzip_write(&self->gzip, self->whole.text, self->whole.count, err);
		strbuf_clear(&self->whole);
	}
	return status;
}

static void add_type(struct profiling *self, u32 field, const char *type, const char *unit)
{
	proto_number(&self->part, TYPE_TYPE, number_of(self, type));
	proto_number(&self->part, TYPE_UNIT, number_of(self, unit));
	proto_message(&self->whole, field, &self->part);
}

static void add_comments(struct profiling *self)
{
	struct result *caveats = export_caveats(self->job);
	struct strbuf text = {0};

	strbuf_addf(&text, "command: %s", self->model->image.command);
	proto_always(&self->whole, PROFILE_COMMENT, number_of(self, strbuf_text(&text)));
	proto_always(&self->whole, PROFILE_COMMENT,
		     number_of(self,
			       export_complete(self->job) ? "complete: yes" : "complete: no"));
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		proto_always(&self->whole, PROFILE_COMMENT,
			     number_of(self, caveats->caveats.data[i]));
	self->places.failed |= !caveats || text.failed;
	result_free(caveats);
	strbuf_release(&text);
}

/* What is live when pprof looks first is what was live at the peak: at the end it is often
 * nothing. */
static void add_head(struct profiling *self)
{
	u64 sample_bytes = self->model->image.sample_bytes;

	for (u32 i = 0; i < SAMPLE_TYPES; i++)
		add_type(self, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
	add_type(self, PROFILE_PERIOD_TYPE, "space", "bytes");
	proto_number(&self->whole, PROFILE_PERIOD, sample_bytes ? sample_bytes : 1);
	proto_number(&self->whole, PROFILE_DURATION, model_duration_ns(self->model));
	proto_number(&self->whole, PROFILE_DEFAULT_TYPE, number_of(self, "peak_space"));
	add_comments(self);
}

static void add_sample(struct profiling *self, const struct model_point *point,
		       struct export_sum sums[SAMPLE_TYPES])
{
	const struct model *model = self->model;
	const char *type = stack_type(&self->job->stacks, point->frame);
	u64 values[SAMPLE_TYPES] = {export_count(&sums[0], model, point->allocations),
				    point->bytes,
				    export_count(&sums[2], model, point->live_chunks),
				    point->live_bytes,
				    export_count(&sums[4], model, point->at_peak_chunks),
				    point->at_peak_bytes};
	VEC(u64) ids = {0};

	places_walk(&self->places, point->frame);
	for (u64 i = 0; i < self->places.path_places.count && !self->places.failed; i++)
		if (!vec_push(&ids, (u64)self->places.path_places.data[i] + 1))
			self->places.failed = true;
	proto_packed(&self->part, SAMPLE_LOCATION, ids.data, ids.count);
	proto_packed(&self->part, SAMPLE_VALUE, values, SAMPLE_TYPES);
	if (type) {
		proto_number(&self->inner, LABEL_KEY, number_of(self, "type"));
		proto_number(&self->inner, LABEL_TEXT, number_of(self, type));
		proto_message(&self->part, SAMPLE_LABEL, &self->inner);
	}
	proto_message(&self->whole, PROFILE_SAMPLE, &self->part);
	vec_release(&ids);
}

static int add_samples(struct profiling *self, struct err *err)
{
	struct export_sum sums[SAMPLE_TYPES] = {{0}};
	int status = 0;

	for (u64 i = 0; i < self->model->points.count && status == 0; i++) {
		add_sample(self, &self->model->points.data[i], sums);
		status = flush(self, FLUSH_BYTES, err);
	}
	return status;
}

static u32 mapping_of(struct profiling *self, u32 module)
{
	if (module == NO_MODULE)
		return 0;
	if (!vec_extend(&self->of_module, (u64)module + 1)) {
		self->places.failed = true;
		return 0;
	}
	if (!self->of_module.data[module]) {
		if (!vec_push(&self->mappings, module))
			self->places.failed = true;
		self->of_module.data[module] = (u32)self->mappings.count;
	}
	return self->of_module.data[module];
}

static void add_location(struct profiling *self, u64 number)
{
	const struct place *place = &self->places.rows.data[number];

	proto_number(&self->part, LOCATION_ID, number + 1);
	proto_number(&self->part, LOCATION_MAPPING, mapping_of(self, place->module));
	proto_number(&self->part, LOCATION_ADDRESS, places_pc(&self->places, place));
	for (u32 i = 0; i < place->count; i++) {
		const struct place_line *line = &self->places.lines.data[place->first + i];

		/* Without a name it is left to pprof, which may find one by the address. */
		if (!self->places.functions.data[line->function].named)
			continue;
		proto_number(&self->inner, LINE_FUNCTION, (u64)line->function + 1);
		proto_number(&self->inner, LINE_LINE, line->line);
		proto_message(&self->part, LOCATION_LINE, &self->inner);
	}
	proto_message(&self->whole, PROFILE_LOCATION, &self->part);
}

static void add_function(struct profiling *self, u64 number)
{
	const struct place_function *function = &self->places.functions.data[number];

	proto_number(&self->part, FUNCTION_ID, number + 1);
	proto_number(&self->part, FUNCTION_NAME, number_of(self, function->name));
	proto_number(&self->part, FUNCTION_SYSTEM_NAME, number_of(self, function->name));
	proto_number(&self->part, FUNCTION_FILE, number_of(self, function->file));
	proto_message(&self->whole, PROFILE_FUNCTION, &self->part);
}

static void add_mapping(struct profiling *self, u64 number)
{
	u32 id = self->mappings.data[number];
	const struct modmap_module *module = modmap_module(&self->model->contexts.modules, id);
	struct strbuf build_id = {0};

	for (u32 i = 0; module && i < module->build_id_bytes; i++)
		strbuf_addf(&build_id, "%02x", module->build_id[i]);
	proto_number(&self->part, MAPPING_ID, number + 1);
	proto_number(&self->part, MAPPING_START, module ? module->start : 0);
	proto_number(&self->part, MAPPING_LIMIT, module ? module->end : 0);
	proto_number(&self->part, MAPPING_FILE,
		     number_of(self, places_module_path(&self->places, id)));
	proto_number(&self->part, MAPPING_BUILD_ID, number_of(self, strbuf_text(&build_id)));
	/* All is known that can be; otherwise pprof would look for the file on its own machine. */
	for (u32 field = MAPPING_HAS_FUNCTIONS;
	     field <= MAPPING_HAS_INLINES && self->job->stacks.symbols &&
	     self->job->stacks.symbols->count;
	     field++)
		proto_number(&self->part, field, 1);
	proto_message(&self->whole, PROFILE_MAPPING, &self->part);
	strbuf_release(&build_id);
}

static int add_tables(struct profiling *self, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < self->places.rows.count && status == 0; i++) {
		add_location(self, i);
		status = flush(self, FLUSH_BYTES, err);
	}
	for (u64 i = 0; i < self->places.functions.count && status == 0; i++) {
		if (self->places.functions.data[i].named)
			add_function(self, i);
		status = flush(self, FLUSH_BYTES, err);
	}
	for (u64 i = 0; i < self->mappings.count && status == 0; i++)
		add_mapping(self, i);
	for (u64 i = 0; i < self->strings.count && status == 0; i++) {
		if (*self->strings.data[i])
			proto_text(&self->whole, PROFILE_STRING, self->strings.data[i]);
		else
			proto_bytes(&self->whole, PROFILE_STRING, "", 0);
		status = flush(self, FLUSH_BYTES, err);
	}
	return status ? status : flush(self, 0, err);
}

static void release(struct profiling *self)
{
	places_release(&self->places);
	names_release(&self->texts);
	map_release(&self->numbers);
	vec_release(&self->strings);
	vec_release(&self->mappings);
	vec_release(&self->of_module);
	strbuf_release(&self->whole);
	strbuf_release(&self->part);
	strbuf_release(&self->inner);
}

int pprof_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct profiling self = {.job = job, .model = job->stacks.model};
	struct err closing = {0};
	int status = gzip_open(&self.gzip, out, err);

	if (status < 0)
		return status;
	places_init(&self.places, &job->stacks);
	if (!vec_push(&self.strings, ""))
		status = err_memory_for(err, "the export");
	if (status == 0) {
		add_head(&self);
		status = add_samples(&self, err);
	}
	if (status == 0)
		status = add_tables(&self, err);
	if (gzip_close(&self.gzip, status == 0, &closing) < 0 && status == 0) {
		*err = closing;
		status = closing.code;
	}
	release(&self);
	return status;
}
