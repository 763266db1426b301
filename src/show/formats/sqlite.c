/* SPDX-License-Identifier: MIT
 * A trace as a database of SQLite. The schema is documented in docs/EXPORTS.md; a change that
 * queries notice raises SCHEMA_VERSION, which is the database's user_version.
 * Host. Rows are written as they are made; what is kept is the numbers of stacks and types. */
#include <stdio.h>

#include "study/analysis/findings/findings.h"
#include "study/analysis/summary/summary.h"
#include "show/formats/chunks.h"
#include "show/formats/places.h"
#include "show/formats/sqlite_db.h"
#include "host/trace/kinds.h"

#define SCHEMA_VERSION "2"

static const char schema[] =
	"PRAGMA user_version = " SCHEMA_VERSION ";"
	"CREATE TABLE runs(run INTEGER PRIMARY KEY, trace TEXT, program TEXT, command TEXT, pid "
	"INTEGER,"
	" image INTEGER, duration_ns INTEGER, end TEXT, end_value INTEGER, complete INTEGER,"
	" sample_bytes INTEGER, access TEXT, allocations INTEGER, bytes INTEGER, frees INTEGER,"
	" freed_bytes INTEGER, peak_bytes INTEGER, peak_chunks INTEGER, peak_ns INTEGER,"
	" kept_bytes INTEGER, kept_chunks INTEGER, temporary INTEGER);"
	"CREATE TABLE report(field TEXT PRIMARY KEY, value, unit TEXT, meaning TEXT);"
	"CREATE TABLE caveats(caveat INTEGER PRIMARY KEY, text TEXT);"
	"CREATE TABLE modules(module INTEGER PRIMARY KEY, path TEXT, build_id TEXT, base INTEGER,"
	" start INTEGER, end INTEGER, loaded_ns INTEGER, unloaded_ns INTEGER);"
	"CREATE TABLE functions(function INTEGER PRIMARY KEY, name TEXT, file TEXT, named INTEGER);"
	"CREATE TABLE frames(frame INTEGER PRIMARY KEY, function INTEGER, line INTEGER, inlined "
	"INTEGER, module INTEGER, address INTEGER);"
	"CREATE TABLE stacks(stack INTEGER, depth INTEGER, frame INTEGER,"
	" PRIMARY KEY(stack, depth)) WITHOUT ROWID;"
	"CREATE TABLE types(type INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE points(point INTEGER PRIMARY KEY, stack INTEGER, kind TEXT, type INTEGER,"
	" allocations INTEGER, bytes INTEGER, frees INTEGER, freed_bytes INTEGER, kept_chunks "
	"INTEGER,"
	" kept_bytes INTEGER, own_peak_chunks INTEGER, own_peak_bytes INTEGER, own_peak_ns INTEGER,"
	" at_peak_chunks INTEGER, at_peak_bytes INTEGER, temporary INTEGER, temporary_bytes "
	"INTEGER, own_function TEXT, own_file TEXT, own_line INTEGER);"
	"CREATE TABLE threads(thread INTEGER PRIMARY KEY, tid INTEGER, name TEXT, start_ns INTEGER,"
	" allocations INTEGER, bytes INTEGER, frees INTEGER);"
	"CREATE TABLE chunks(chunk INTEGER PRIMARY KEY, address INTEGER, size INTEGER, kind TEXT,"
	" alloc_ns INTEGER, free_ns INTEGER, end TEXT, alloc_thread INTEGER, free_thread INTEGER,"
	" others INTEGER, weight REAL, point INTEGER, free_stack INTEGER, type INTEGER,"
	" type_count INTEGER, type_source TEXT, type_confidence TEXT, leak_kind TEXT);"
	"CREATE TABLE accesses(chunk INTEGER PRIMARY KEY, reads INTEGER, writes INTEGER,"
	" read_bytes INTEGER, written_bytes INTEGER, first_ns INTEGER, last_ns INTEGER, low "
	"INTEGER,"
	" high INTEGER, covered_bytes INTEGER, shared INTEGER, estimated INTEGER, lower_bound "
	"INTEGER);"
	"CREATE TABLE timeline(start_ns INTEGER PRIMARY KEY, end_ns INTEGER, min_bytes INTEGER,"
	" max_bytes INTEGER, last_bytes INTEGER, max_chunks INTEGER, last_chunks INTEGER,"
	" allocations INTEGER);"
	"CREATE TABLE marks(mark INTEGER PRIMARY KEY, ns INTEGER, kind TEXT, name TEXT, number "
	"INTEGER, live_bytes INTEGER, live_chunks INTEGER);"
	"CREATE TABLE findings(finding INTEGER PRIMARY KEY, id TEXT, kind TEXT, confidence TEXT,"
	" level TEXT, share REAL, saves REAL, unit TEXT, place TEXT, text TEXT, stack INTEGER)";

static const char indexes[] = "CREATE INDEX chunks_by_point ON chunks(point);"
			      "CREATE INDEX chunks_by_alloc ON chunks(alloc_ns);"
			      "CREATE INDEX chunks_by_type ON chunks(type);"
			      "CREATE INDEX points_by_stack ON points(stack);"
			      "CREATE INDEX stacks_by_frame ON stacks(frame);"
			      "CREATE INDEX frames_by_function ON frames(function);"
			      "CREATE INDEX functions_by_name ON functions(name)";

struct filling {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct db db;
	VEC(u32) stack_of_frame;   /* by frame: number of its stack, 0 = has none yet */
	VEC(u32) stack_of_context; /* the same by context */
	VEC(u32) stacks;           /* by number less 1: its innermost frame */
	struct map types;          /* address of a name, any that was met → number */
	VEC(const char *) type_names;
};

static void no_memory(struct filling *self)
{
	if (!self->db.status)
		self->db.status = err_memory_for(self->db.err, "the export");
}

static u64 ns(const struct filling *self, u64 ticks)
{
	return tick_clock_ns(&self->model->clock, ticks);
}

/* NULL if there is no frame. */
static u64 stack_number(struct filling *self, struct frame_id frame)
{
	if (!frame.index)
		return DB_NULL;
	if (!vec_extend(&self->stack_of_frame, (u64)frame.index + 1) ||
	    (!self->stack_of_frame.data[frame.index] && !vec_push(&self->stacks, frame.index))) {
		no_memory(self);
		return DB_NULL;
	}
	if (!self->stack_of_frame.data[frame.index])
		self->stack_of_frame.data[frame.index] = (u32)self->stacks.count;
	return self->stack_of_frame.data[frame.index];
}

static u64 context_stack(struct filling *self, u32 context)
{
	struct frame_id frame;
	u64 stack;

	if (!context || context >= self->model->contexts.nodes.count)
		return DB_NULL;
	if (!vec_extend(&self->stack_of_context, self->model->contexts.nodes.count)) {
		no_memory(self);
		return DB_NULL;
	}
	if (self->stack_of_context.data[context])
		return self->stack_of_context.data[context];
	if (model_place(self->model, context, &frame, self->db.err) < 0) {
		no_memory(self);
		return DB_NULL;
	}
	stack = stack_number(self, frame);
	if (stack != DB_NULL)
		self->stack_of_context.data[context] = (u32)stack;
	return stack;
}

/* The number of a name, by the address of its kept copy. */
static u64 kept_type(struct filling *self, const char *name)
{
	const char *kept = names_keep(&self->places.names, name);
	u64 *known = *kept ? map_at(&self->types, (u64)(uintptr_t)kept) : NULL;

	if (!known || (!*known && !vec_push(&self->type_names, kept))) {
		no_memory(self);
		return DB_NULL;
	}
	if (!*known)
		*known = self->type_names.count;
	return *known;
}

/* The cascade has most names once, not all: an address that was met before need not be read
 * again. */
static u64 type_of(struct filling *self, const struct type_answer *type)
{
	const u64 *known;
	u64 number;

	if (!type->confidence || !type->name || !*type->name)
		return DB_NULL;
	known = map_find(&self->types, (u64)(uintptr_t)type->name);
	if (known)
		return *known;
	number = kept_type(self, type->name);
	if (number != DB_NULL && !map_put(&self->types, (u64)(uintptr_t)type->name, number))
		no_memory(self);
	return number;
}

/* ---- the run ---- */

static u64 number_field(const struct result *report, const char *name)
{
	const struct value *value = result_field(report, name);

	return value && value->known ? value->number : DB_NULL;
}

static const char *text_field(const struct result *report, const char *name)
{
	const struct value *value = result_field(report, name);

	return value && value->known ? value->text : NULL;
}

static void put_run(struct filling *self, const struct result *report)
{
	const struct stream_image *image = &self->model->image;

	db_table(&self->db, "runs", 22);
	db_row(&self->db, "itttiiotiiotoooooooooo", (u64)1, self->job->path, image->program,
	       image->command, (u64)image->pid, (u64)image->number,
	       number_field(report, "duration_ns"), text_field(report, "end.how"),
	       (u64)(i64)self->model->end.value, (u64)export_complete(self->job),
	       image->sample_bytes ? image->sample_bytes : DB_NULL, access_mode_word(image->access),
	       number_field(report, "allocations"), number_field(report, "bytes"),
	       number_field(report, "frees"), number_field(report, "freed_bytes"),
	       number_field(report, "peak.bytes"), number_field(report, "peak.chunks"),
	       number_field(report, "peak.time_ns"), number_field(report, "kept.bytes"),
	       number_field(report, "kept.chunks"), number_field(report, "temporary"));
}

static void put_field(struct db *db, const struct result_column *column, const struct value *value)
{
	const char *unit = value_unit(column->type), *meaning = column->meaning;

	if (column->type == VALUE_STACK || !value->known)
		db_row(db, "tttt", column->name, NULL, unit, meaning);
	else if (column->type == VALUE_TEXT || column->type == VALUE_PATH)
		db_row(db, "tttt", column->name, value->text, unit, meaning);
	else if (column->type == VALUE_SHARE || column->type == VALUE_RATIO)
		db_row(db, "trtt", column->name, value->real, unit, meaning);
	else
		db_row(db, "titt", column->name, value->number, unit, meaning);
}

static void put_report(struct filling *self)
{
	struct summary_query query = {.info = self->job->info, .image = self->model->image.number};
	struct result *report = analyse_summary(self->model, &query, self->db.err);

	if (!report) {
		self->db.status = self->db.err->code;
		return;
	}
	put_run(self, report);
	db_table(&self->db, "report", 4);
	for (u64 i = 0; i < report->columns.count; i++)
		put_field(&self->db, &report->columns.data[i], result_cell(report, 0, i));
	result_free(report);
}

static void put_caveats(struct filling *self)
{
	struct result *caveats = export_caveats(self->job);

	if (!caveats)
		no_memory(self);
	db_table(&self->db, "caveats", 2);
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		db_row(&self->db, "it", i + 1, caveats->caveats.data[i]);
	result_free(caveats);
}

/* ---- what happened ---- */

static void put_points(struct filling *self)
{
	const struct model *model = self->model;
	struct export_sum sums[6] = {{0}};

	db_table(&self->db, "points", 20);
	for (u64 i = 0; i < model->points.count && !self->db.status; i++) {
		const struct model_point *point = &model->points.data[i];
		struct finding_frame own = finding_own(&self->job->stacks, point->frame).own;
		const struct type_answer *answer =
			self->job->stacks.types ? &self->job->stacks.types[i] : NULL;
		u64 type =
			answer && answer->confidence > TYPE_GUESS ? type_of(self, answer) : DB_NULL;

		db_row(&self->db, "iotoiiiiiiiiiiiiitto", i, stack_number(self, point->frame),
		       kind_name(point->kind), type,
		       export_count(&sums[0], model, point->allocations), point->bytes,
		       export_count(&sums[1], model, point->frees), point->freed_bytes,
		       export_count(&sums[2], model, point->live_chunks), point->live_bytes,
		       export_count(&sums[3], model, point->peak_chunks), point->peak_bytes,
		       ns(self, point->peak_ticks),
		       export_count(&sums[4], model, point->at_peak_chunks), point->at_peak_bytes,
		       export_count(&sums[5], model, point->temporary), point->temporary_bytes,
		       own.function, own.file, own.line ? (u64)own.line : DB_NULL);
	}
}

static void put_chunk(struct filling *self, const struct export_chunk *chunk)
{
	u64 type = type_of(self, &chunk->type);
	bool typed = type != DB_NULL;

	db_row(&self->db, "iiitiotiooriooottt", chunk->chunk, chunk->address, chunk->size,
	       chunk->kind, chunk->alloc_ns, chunk->freed ? chunk->free_ns : DB_NULL, chunk->end,
	       (u64)chunk->alloc_thread, chunk->freed ? (u64)chunk->free_thread : DB_NULL,
	       chunk->freed ? chunk->others : DB_NULL, chunk->weight, (u64)chunk->point,
	       chunk->freed ? context_stack(self, chunk->free_context) : DB_NULL, type,
	       typed && chunk->type.count ? chunk->type.count : DB_NULL,
	       typed ? type_origin_name(chunk->type.origin) : NULL,
	       typed ? type_confidence_name(chunk->type.confidence) : NULL, chunk->scan);
}

static void put_chunks(struct filling *self)
{
	struct export_chunk chunk;

	db_table(&self->db, "chunks", 18);
	for (u64 i = 0; i < self->model->chunks.count && !self->db.status; i++)
		if (export_chunk(self->job, i, &chunk))
			put_chunk(self, &chunk);
}

static void put_accesses(struct filling *self)
{
	struct chunk_access access;

	db_table(&self->db, "accesses", 13);
	if (!self->model->has_access)
		return;
	for (u64 i = 0; i < self->model->chunks.count && !self->db.status; i++) {
		if (!model_chunk_access(self->model, i, &access))
			continue;
		db_row(&self->db, "iooiiooiiooii", i,
		       access_is_sided(&access, access.reads) ? access.reads : DB_NULL,
		       access_is_sided(&access, access.writes) ? access.writes : DB_NULL,
		       access.read_bytes, access.written_bytes,
		       access.first_ticks ? ns(self, access.first_ticks) : DB_NULL,
		       access.last_ticks ? ns(self, access.last_ticks) : DB_NULL, access.low,
		       access.high, access.covered,
		       access_knows_threads(&access) ? (u64) !!(access.flags & ACCESS_SHARED)
						     : DB_NULL,
		       (u64) !!(access.flags & (ACCESS_ESTIMATED | ACCESS_SATURATED)),
		       (u64) !!(access.flags & ACCESS_LOWER_BOUND));
	}
}

static void put_threads(struct filling *self)
{
	db_table(&self->db, "threads", 7);
	for (u64 i = 0; i < self->model->threads.count; i++) {
		const struct model_thread *thread = &self->model->threads.data[i];
		char name[sizeof(thread->name) + 1];

		snprintf(name, sizeof(name), "%.*s", (int)sizeof(thread->name), thread->name);
		db_row(&self->db, "iitiiii", i, (u64)thread->tid, name,
		       ns(self, thread->start_ticks), thread->allocations, thread->bytes,
		       thread->frees);
	}
}

static void put_timeline(struct filling *self)
{
	const struct timeline *timeline = &self->model->timeline;
	u64 last = DB_NULL;

	db_table(&self->db, "timeline", 8);
	for (u32 i = 0; i <= timeline->current && i < TIMELINE_BUCKETS; i++) {
		const struct timeline_bucket *bucket = &timeline->bucket[i];
		u64 start = ns(self, timeline->start_ticks + i * timeline->width_ticks);
		u64 end = ns(self, timeline->start_ticks + (i + 1) * timeline->width_ticks);

		if (start == last) /* shorter than the clock can tell */
			continue;
		last = start;
		db_row(&self->db, "iiiiiiii", start, end, bucket->min_bytes, bucket->max_bytes,
		       bucket->last_bytes, bucket->max_chunks, bucket->last_chunks,
		       bucket->allocations);
	}
}

static void put_marks(struct filling *self)
{
	db_table(&self->db, "marks", 7);
	for (u64 i = 0; i < self->model->marks.count; i++) {
		const struct model_mark *mark = &self->model->marks.data[i];

		db_row(&self->db, "iittiii", i + 1, ns(self, mark->ticks), hw_mark_word(mark->kind),
		       mark->name, mark->number, mark->live_bytes,
		       model_count(self->model, mark->live_chunks));
	}
}

static void put_finding(struct filling *self, u64 number, const struct finding *finding,
			struct result *texts)
{
	const char *place = finding_where(finding, &self->job->stacks, texts);
	const char *text = finding_text(finding, self->model, texts);

	if (!place || !text)
		no_memory(self);
	db_row(&self->db, "ittttrrttto", number, finding->id, finding_kind_name(finding->kind),
	       confidence_name(finding->confidence), finding_level_name(finding->level),
	       finding->saving.share, finding->saving.amount,
	       saving_unit_name(finding->saving.unit), place, text,
	       stack_number(self, finding->frame));
}

static void put_findings(struct filling *self)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE,
				       .pointers = {self->job->path, (int)self->job->image,
						    self->job->info}};
	struct result *texts = result_new(RESULT_TABLE, "texts", "Texts");
	struct findings findings = {0};

	db_table(&self->db, "findings", 11);
	if (!texts)
		no_memory(self);
	if (!self->db.status)
		self->db.status = findings_make(&findings, &self->job->stacks, self->job->info,
						&query, self->db.err);
	for (u64 i = 0; i < findings.rows.count && !self->db.status; i++)
		put_finding(self, i + 1, &findings.rows.data[i], texts);
	findings_release(&findings);
	result_free(texts);
}

/* ---- what it is called ---- */

static void put_modules(struct filling *self)
{
	const struct modmap *modules = &self->model->contexts.modules;

	db_table(&self->db, "modules", 8);
	for (u32 id = 0; id < modules->module_count; id++) {
		const struct modmap_module *module = modmap_module(modules, id);
		struct strbuf build_id = {0};

		if (!module)
			continue;
		for (u32 i = 0; i < module->build_id_bytes; i++)
			strbuf_addf(&build_id, "%02x", module->build_id[i]);
		db_row(&self->db, "ittiiiio", (u64)id + 1, places_module_path(&self->places, id),
		       strbuf_text(&build_id), module->base, module->start, module->end,
		       ns(self, module->loaded_ticks),
		       module->unloaded_ticks ? ns(self, module->unloaded_ticks) : DB_NULL);
		strbuf_release(&build_id);
	}
}

static void put_stacks(struct filling *self)
{
	db_table(&self->db, "stacks", 3);
	for (u64 i = 0; i < self->stacks.count && !self->db.status; i++) {
		places_walk(&self->places, (struct frame_id){self->stacks.data[i]});
		if (self->places.failed)
			no_memory(self);
		for (u64 depth = 0; depth < self->places.path.count; depth++)
			db_row(&self->db, "iii", i + 1, depth,
			       (u64)self->places.path.data[depth] + 1);
	}
}

static void put_names(struct filling *self)
{
	const struct places *places = &self->places;

	db_table(&self->db, "frames", 6);
	for (u64 i = 0; i < places->lines.count && !self->db.status; i++) {
		const struct place_line *line = &places->lines.data[i];
		const struct place *place = &places->rows.data[line->place];

		db_row(&self->db, "iioioi", i + 1, (u64)line->function + 1,
		       line->line ? (u64)line->line : DB_NULL, (u64)line->inlined,
		       place->module == NO_MODULE ? DB_NULL : (u64)place->module + 1,
		       place->address);
	}
	db_table(&self->db, "functions", 4);
	for (u64 i = 0; i < places->functions.count && !self->db.status; i++)
		db_row(&self->db, "itti", i + 1, places->functions.data[i].name,
		       places->functions.data[i].file, (u64)places->functions.data[i].named);
	db_table(&self->db, "types", 2);
	for (u64 i = 0; i < self->type_names.count && !self->db.status; i++)
		db_row(&self->db, "it", i + 1, self->type_names.data[i]);
}

int sqlite_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct filling self = {.job = job, .model = job->stacks.model};
	int status;

	(void)out; /* the database opens its file itself */
	places_init(&self.places, &job->stacks);
	db_open(&self.db, job->file, err);
	db_run(&self.db, schema);
	put_report(&self);
	put_caveats(&self);
	put_points(&self);
	put_chunks(&self);
	put_accesses(&self);
	put_threads(&self);
	put_timeline(&self);
	put_marks(&self);
	put_findings(&self);
	put_modules(&self);
	put_stacks(&self);
	put_names(&self);
	db_run(&self.db, indexes);
	status = db_close(&self.db);
	places_release(&self.places);
	vec_release(&self.stack_of_frame);
	vec_release(&self.stack_of_context);
	vec_release(&self.stacks);
	vec_release(&self.type_names);
	map_release(&self.types);
	return status;
}
