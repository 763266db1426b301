/* SPDX-License-Identifier: MIT
 * A trace as rows of a store.
 * Host. Numbers are those of the analyses; nothing is computed here that a report computes
 * otherwise. */
#include "show/fleet/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "study/analysis/compare/compare.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/memoro/scores.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/types/list.h"
#include "host/base/io.h"
#include "host/base/path.h"
#include "show/formats/chunks.h"
#include "show/formats/places.h"
#include "show/fleet/rows.h"
#include "host/trace/block.h"
#include "host/trace/kinds.h"

enum {
	SPILL_BYTES = 16 << 20, /* rows of one table that may wait */
	TRACE_PART = 1 << 20,
	TIMELINE_ROWS = 128,
	FRAMES_MAX = 1024,
};

struct leak_bytes { /* of a point */
	u64 by_class[CLASS_COUNT];
};

struct gathering {
	struct batch *batch;
	const struct run_source *source;
	const struct model *model;
	struct stack_source *stacks; /* of the job, which also knows what was found of behaviour */
	struct places places;
	VEC(u64) stack_of_frame; /* by frame: its stack's key */
	VEC(u64) place_of_frame;
	struct behaviour_table behaviour;
	struct inferences inferences;
	struct leak_report leaks;
	VEC(struct leak_bytes) leak_bytes; /* by point */
	struct strbuf text;
	u64 program, build;
	const char *build_id;
	struct strbuf build_text;
	double byte_seconds;
	u64 trace_bytes; /* that were put */
};

/* ---- stacks ---- */

/* What a stack is compared by across builds: functions without what compilers append, up to main;
 * code without a name by its module alone, because its place in there changes with each build. */
static u64 place_key(struct gathering *self)
{
	struct places *places = &self->places;

	strbuf_clear(&self->text);
	for (u64 i = 0; i < places->path.count; i++) {
		const struct place_function *function =
			place_function(places, places->path.data[i]);

		if (function->named)
			strbuf_add_bytes(&self->text, function->name,
					 function_plain_length(function->name));
		else
			strbuf_add(&self->text,
				   path_file(places_module_path(places, function->module)));
		strbuf_add_char(&self->text, '\n');
		if (function->named && strcmp(function->name, "main") == 0)
			break;
	}
	return checksum(strbuf_text(&self->text), self->text.count);
}

struct stack_line {
	u64 function, file, module, offset;
	u32 line;
	u8 inlined;
};

static struct stack_line line_at(struct gathering *self, u64 at)
{
	struct places *places = &self->places;
	const struct place_line *line = &places->lines.data[places->path.data[at]];
	const struct place *place = &places->rows.data[line->place];
	const struct place_function *function = place_function(places, places->path.data[at]);
	struct dictionary *names = &self->batch->names;

	return (struct stack_line){
		.function = dictionary_name(names, function->named ? function->name : ""),
		.file = dictionary_name(names, function->file),
		.module =
			place->module == NO_MODULE
				? 0
				: dictionary_name(names, places_module_path(places, place->module)),
		.offset = place->address,
		.line = line->line,
		.inlined = line->inlined,
	};
}

/* A member of all lines as an array. */
#define ROW_EACH(put, member)                                                                      \
	do {                                                                                       \
		row_count(rows, count);                                                            \
		for (u64 i = 0; i < count; i++)                                                    \
			put(rows, lines[i].member);                                                \
	} while (0)

static void put_stack(struct dictionary *stacks, u64 key, u64 place, const struct stack_line *lines,
		      u64 count)
{
	struct strbuf *rows = &stacks->rows;

	row_u64(rows, key);
	row_u64(rows, place);
	ROW_EACH(row_u64, function);
	ROW_EACH(row_u64, file);
	ROW_EACH(row_u32, line);
	ROW_EACH(row_u64, module);
	ROW_EACH(row_u64, offset);
	ROW_EACH(row_u8, inlined);
	dictionary_added(stacks, key);
}

/* The key of a frame's stack, which is added to the dictionary. */
static u64 stack_key(struct gathering *self, struct frame_id frame)
{
	struct stack_line lines[FRAMES_MAX];
	u64 count, key, *known = &self->stack_of_frame.data[frame.index];

	if (*known)
		return *known;
	places_walk(&self->places, frame);
	count = self->places.path.count < FRAMES_MAX ? self->places.path.count : FRAMES_MAX;
	memset(lines, 0, sizeof lines[0] * count);
	for (u64 i = 0; i < count; i++)
		lines[i] = line_at(self, i);
	self->place_of_frame.data[frame.index] = place_key(self);
	key = checksum(lines, sizeof lines[0] * count);
	*known = key ? key : 1;
	if (dictionary_wants(&self->batch->stacks, *known))
		put_stack(&self->batch->stacks, *known, self->place_of_frame.data[frame.index],
			  lines, count);
	return *known;
}

/* ---- rows ---- */

static struct strbuf *begin_row(struct gathering *self, enum fleet_table table)
{
	struct strbuf *rows = &self->batch->rows[table];

	self->batch->counts[table]++;
	row_u16(rows, day_of(self->source->about->time));
	row_u64s(rows, self->program, self->build, self->source->push);
	return rows;
}

static int end_row(struct gathering *self, enum fleet_table table, struct err *err)
{
	struct batch *batch = self->batch;

	if (batch->rows[table].failed)
		return err_memory_for(err, "rows");
	if (batch->rows[table].count < SPILL_BYTES)
		return 0;
	return batch->spill(batch->self, table, err);
}

static float score_value(const struct score_set *scores, enum score score)
{
	return scores->known[score] ? (float)scores->value[score] : NAN;
}

static void put_inferences(struct gathering *self, struct strbuf *rows, u32 point)
{
	u32 holds = 0, unknown = 0;

	for (u32 i = 0; i < INFERENCES; i++) {
		struct inference_evidence evidence =
			inference_of(&self->inferences, (struct point_id){point},
				     (enum inference)i);

		holds |= (u32)(evidence.state == STATE_HOLDS) << i;
		unknown |= (u32)(evidence.state == STATE_UNKNOWN) << i;
	}
	row_u32(rows, holds);
	row_u32(rows, unknown);
}

static void put_point(struct gathering *self, u32 index, struct export_sum sums[6])
{
	const struct model *model = self->model;
	const struct model_point *point = &model->points.data[index];
	const struct behaviour *behaviour = &self->behaviour.points[index];
	const struct leak_bytes *leaks = &self->leak_bytes.data[index];
	struct score_set scores = scores_of(behaviour);
	const char *type = stack_type(self->stacks, point->frame);
	u64 stack = stack_key(self, point->frame);
	bool keeps = !model_keeps_nothing(model);
	struct strbuf *rows = begin_row(self, TABLE_POINTS);
	double byte_seconds = tick_clock_span_ns(&model->clock, behaviour->all.byte_ticks) / 1e9;

	self->byte_seconds += byte_seconds;
	row_u64s(rows, self->place_of_frame.data[point->frame.index], stack);
	row_text(rows, kind_name(point->kind));
	row_u64s(rows, dictionary_name(&self->batch->names, type ? type : ""),
		 export_count(&sums[0], model, point->allocations), point->bytes,
		 export_count(&sums[1], model, point->frees), point->freed_bytes,
		 keeps ? export_count(&sums[2], model, point->live_chunks) : 0,
		 keeps ? point->live_bytes : 0, leaks->by_class[CLASS_LOST],
		 leaks->by_class[CLASS_INDIRECT], leaks->by_class[CLASS_POSSIBLE],
		 export_count(&sums[3], model, point->peak_chunks), point->peak_bytes,
		 export_count(&sums[4], model, point->at_peak_chunks), point->at_peak_bytes,
		 export_count(&sums[5], model, point->temporary), point->temporary_bytes);
	row_double(rows, byte_seconds);
	row_float(rows, score_value(&scores, SCORE_LIFETIME));
	row_float(rows, score_value(&scores, SCORE_USAGE));
	row_float(rows, score_value(&scores, SCORE_USEFUL));
	row_u8(rows, (u8)severity_step(&scores));
	put_inferences(self, rows, index);
}

static int put_points(struct gathering *self, struct err *err)
{
	struct export_sum sums[6] = {{0}};
	int status = 0;

	for (u32 i = 0; i < self->model->points.count && status == 0; i++) {
		put_point(self, i, sums);
		status = self->places.failed || self->text.failed
				 ? err_memory_for(err, "rows")
				 : end_row(self, TABLE_POINTS, err);
	}
	return status;
}

static int put_types(struct gathering *self, struct err *err)
{
	struct thresholds thresholds = THRESHOLDS_DEFAULT;
	struct type_list list = {0};
	int status = 0;

	if (!self->source->job->types)
		return 0;
	status = type_list_make(&list, self->source->job->types, &thresholds, err);
	for (u64 i = 0; i < list.rows.count && status == 0; i++) {
		const struct type_sums *row = &list.rows.data[i];
		struct strbuf *rows = begin_row(self, TABLE_TYPES);

		row_u64s(rows, dictionary_name(&self->batch->names, row->name ? row->name : ""),
			 model_count(self->model, row->chunks), row->bytes, row->peak_bytes,
			 row->kept_bytes, model_count(self->model, row->kept_chunks));
		row_double(rows, row->freed > 0 ? tick_clock_span_ns(&self->model->clock,
								     row->life_ticks) /
							  row->freed
						: 0);
		status = end_row(self, TABLE_TYPES, err);
	}
	type_list_release(&list);
	return status;
}

static int put_findings(struct gathering *self, struct err *err)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE};
	struct result *texts = result_new(RESULT_TABLE, "texts", "Texts");
	struct findings findings = {0};
	int status = texts ? findings_find(&findings, self->stacks, &self->leaks, &query, err)
			   : err_memory_for(err, "rows");

	for (u64 i = 0; i < findings.rows.count && status == 0; i++) {
		const struct finding *finding = &findings.rows.data[i];
		const char *where = finding_where(finding, self->stacks, texts);
		const char *text = finding_text(finding, self->model, texts);
		u64 stack = stack_key(self, finding->frame);
		struct strbuf *rows = begin_row(self, TABLE_FINDINGS);

		row_text(rows, finding->id);
		row_text(rows, finding_kind_name(finding->kind));
		row_text(rows, confidence_name(finding->confidence));
		row_double(rows, (double)(i + 1));
		row_double(rows, finding->saving.share);
		row_text(rows, where ? where : "");
		row_text(rows, text ? text : "");
		row_u64(rows, stack);
		status = result_failed(texts) ? err_memory_for(err, "rows")
					      : end_row(self, TABLE_FINDINGS, err);
	}
	findings_release(&findings);
	result_free(texts);
	return status;
}

/* Buckets are joined so that a run has a bounded number of rows. */
static int put_timeline(struct gathering *self, struct err *err)
{
	const struct timeline *timeline = &self->model->timeline;
	const struct tick_clock *clock = &self->model->clock;
	u32 step = timeline->current / TIMELINE_ROWS + 1;
	int status = 0;

	for (u32 first = 0; first <= timeline->current && status == 0; first += step) {
		struct timeline_bucket sum = timeline->bucket[first];
		u32 end = first + step <= timeline->current ? first + step : timeline->current + 1;
		struct strbuf *rows = begin_row(self, TABLE_TIMELINES);

		for (u32 i = first + 1; i < end; i++) {
			const struct timeline_bucket *next = &timeline->bucket[i];

			sum.min_bytes =
				next->min_bytes < sum.min_bytes ? next->min_bytes : sum.min_bytes;
			sum.max_bytes =
				next->max_bytes > sum.max_bytes ? next->max_bytes : sum.max_bytes;
			sum.max_chunks = next->max_chunks > sum.max_chunks ? next->max_chunks
									   : sum.max_chunks;
			sum.last_bytes = next->last_bytes;
			sum.allocations += next->allocations;
		}
		row_u64s(rows,
			 tick_clock_ns(clock,
				       timeline->start_ticks + first * timeline->width_ticks),
			 tick_clock_ns(clock, timeline->start_ticks + end * timeline->width_ticks),
			 sum.min_bytes, sum.max_bytes, sum.last_bytes,
			 model_count(self->model, sum.max_chunks), sum.allocations);
		status = end_row(self, TABLE_TIMELINES, err);
	}
	return status;
}

static int put_chunks(struct gathering *self, struct err *err)
{
	u64 count = self->source->about->chunks ? self->model->chunks.count : 0;
	struct export_chunk chunk;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		struct strbuf *rows;

		model_pass(self->model, i);
		if (!export_chunk(self->source->job, i, &chunk))
			continue;
		rows = begin_row(self, TABLE_CHUNKS);
		row_u64s(rows, i, stack_key(self, self->model->points.data[chunk.point].frame),
			 chunk.size, chunk.alloc_ns, chunk.freed ? chunk.free_ns : 0);
		row_u32(rows, chunk.alloc_thread);
		row_text(rows, chunk.end);
		row_text(rows, chunk.scan ? chunk.scan : "");
		row_double(rows, chunk.weight);
		status = end_row(self, TABLE_CHUNKS, err);
	}
	return status;
}

static int put_trace(struct gathering *self, struct err *err)
{
	const char *path = self->source->job->path;
	int fd, failure = 0, status = 0;
	u64 got = TRACE_PART;
	u8 *part;

	if (!self->source->about->trace)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	part = malloc(TRACE_PART);
	if (fd < 0)
		status = err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	else if (!part)
		status = err_memory_for(err, "rows");
	for (u32 number = 0; status == 0 && got == TRACE_PART; number++) {
		struct strbuf *rows;

		failure = io_read_at(fd, part, TRACE_PART, (u64)number * TRACE_PART, &got);
		if (failure) {
			status = err_set(err, ERR_INPUT, "cannot read %s: %s", path,
					 strerror(failure));
			break;
		}
		if (!got)
			break;
		rows = begin_row(self, TABLE_TRACES);
		row_u32(rows, number);
		row_bytes(rows, part, got);
		self->trace_bytes += got;
		status = end_row(self, TABLE_TRACES, err);
	}
	free(part);
	if (fd >= 0)
		close(fd);
	return status;
}

/* ---- the run itself ---- */

static u64 number_field(const struct result *report, const char *name)
{
	const struct value *value = result_field(report, name);

	return value && value->known ? value->number : 0;
}

static const char *text_field(const struct result *report, const char *name)
{
	const struct value *value = result_field(report, name);

	return value && value->known ? value->text : "";
}

static void put_labels(struct strbuf *row, const struct run_about *about)
{
	row_count(row, about->label_count);
	for (u32 i = 0; i < about->label_count; i++)
		row_bytes(row, about->labels[i], strcspn(about->labels[i], "="));
	row_count(row, about->label_count);
	for (u32 i = 0; i < about->label_count; i++) {
		const char *equal = strchr(about->labels[i], '=');

		row_text(row, equal ? equal + 1 : "");
	}
}

static void put_totals(const struct gathering *self, struct strbuf *row,
		       const struct result *report)
{
	static const char *const fields[] = {"allocations", "bytes",       "frees",
					     "freed_bytes", "peak.bytes",  "peak.chunks",
					     "kept.bytes",  "kept.chunks", "temporary"};

	for (u32 i = 0; i < sizeof fields / sizeof *fields; i++)
		row_u64(row, number_field(report, fields[i]));
	row_u64(row, self->leaks.leaks.classes[CLASS_LOST].bytes);
	row_double(row, self->byte_seconds);
	row_u64(row, summary_lost_events(self->model));
	row_u64(row, self->model->points.count);
}

static int put_run(struct gathering *self, struct err *err)
{
	const struct run_source *source = self->source;
	const struct run_about *about = source->about;
	const struct stream_image *image = &self->model->image;
	struct summary_query query = {.info = source->job->info, .image = image->number};
	struct result *report = analyse_summary(self->model, &query, err);
	struct strbuf *row = &self->batch->rows[TABLE_RUNS];

	if (!report)
		return err->code;
	self->batch->counts[TABLE_RUNS]++;
	row_u16(row, day_of(about->time));
	row_u64(row, source->run);
	row_u64(row, source->push);
	row_u32(row, (u32)about->time);
	row_u32(row, (u32)time(NULL));
	row_text(row, about->host);
	row_u64(row, self->program);
	row_text(row, path_file(image->program));
	row_text(row, image->program);
	row_u64(row, self->build);
	row_text(row, self->build_id);
	row_text(row, about->version);
	row_text(row, image->command);
	put_labels(row, about);
	row_u32(row, image->pid);
	row_u32(row, image->number);
	row_u64(row, number_field(report, "duration_ns"));
	row_text(row, text_field(report, "end.how"));
	row_u32(row, (u32)self->model->end.value);
	row_u8(row, export_complete(source->job));
	row_u64(row, image->sample_bytes);
	row_text(row, access_mode_word(image->access));
	put_totals(self, row, report);
	row_u64(row, about->chunks ? self->model->chunks.count : 0);
	row_text(row, source->job->path);
	row_u64(row, self->trace_bytes);
	row_text(row, HEAPWISE_VERSION);
	result_free(report);
	return row->failed ? err_memory_for(err, "rows") : 0;
}

static int prepare(struct gathering *self, struct err *err)
{
	struct thresholds thresholds = THRESHOLDS_DEFAULT;
	u64 frames = self->model->contexts.frames.count + 1;
	int status = behaviour_find(self->stacks, &thresholds, &self->behaviour, err);

	self->stacks->behaviour = &self->behaviour; /* types and findings ask for the same */
	if (status == 0)
		status = inferences_find(&self->inferences, self->model, &self->behaviour,
					 &thresholds, err);
	if (status == 0)
		status = leak_report_make_brief(&self->leaks, self->stacks, self->source->job->info,
						err);
	if (status < 0)
		return status;
	if (!vec_extend(&self->stack_of_frame, frames) ||
	    !vec_extend(&self->place_of_frame, frames) ||
	    !vec_extend(&self->leak_bytes, self->model->points.count + 1))
		return err_memory_for(err, "rows");
	for (u64 i = 0; i < self->leaks.leaks.rows.count; i++) {
		const struct leak_row *row = &self->leaks.leaks.rows.data[i];

		self->leak_bytes.data[row->point.index].by_class[row->chunk_class] += row->bytes;
	}
	self->build_id = run_build(self->source, &self->build_text);
	self->build = name_key(self->build_id);
	self->program = name_key(path_file(self->model->image.program));
	return 0;
}

static void release(struct gathering *self)
{
	places_release(&self->places);
	behaviour_table_release(&self->behaviour);
	leak_report_release(&self->leaks);
	vec_release(&self->stack_of_frame);
	vec_release(&self->place_of_frame);
	vec_release(&self->leak_bytes);
	strbuf_release(&self->text);
	strbuf_release(&self->build_text);
}

static int note_day(struct gathering *self, struct err *err)
{
	struct batch *batch = self->batch;
	u16 day = day_of(self->source->about->time);

	for (u64 i = 0; i < batch->days.count; i++)
		if (batch->days.data[i] == day)
			return 0;
	return vec_push(&batch->days, day) ? 0 : err_memory_for(err, "rows");
}

int batch_add(struct batch *self, const struct run_source *source, struct err *err)
{
	/* The run itself goes last: what came before is invisible without it. */
	static int (*const steps[])(struct gathering * self,
				    struct err * err) = {prepare,    note_day,     put_points,
							 put_types,  put_findings, put_timeline,
							 put_chunks, put_trace,    put_run};
	struct stack_source stacks = source->job->stacks;
	struct type_cascade *types = source->job->types;
	const struct stack_source *types_source = types ? types->query.source : NULL;
	struct gathering work = {.batch = self,
				 .source = source,
				 .model = stacks.model,
				 .stacks = &stacks};
	int status = 0;

	if (types)
		types->query.source = &stacks;
	places_init(&work.places, work.stacks);
	for (u32 i = 0; i < sizeof steps / sizeof *steps && status == 0; i++)
		status = steps[i](&work, err);
	if (types)
		types->query.source = types_source;
	release(&work);
	return status;
}

void batch_release(struct batch *self)
{
	for (u32 i = 0; i < FLEET_TABLES; i++)
		strbuf_release(&self->rows[i]);
	dictionary_release(&self->stacks);
	dictionary_release(&self->names);
	vec_release(&self->days);
}
