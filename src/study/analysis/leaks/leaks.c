/* SPDX-License-Identifier: MIT
 * Sums kept chunks by chain and class.
 * Host. The classes come from the scan that was made when the program ended; without one every
 * chunk is of class unknown, and the chains are as useful as before. */
#include "study/analysis/leaks/leaks.h"

#include <string.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "host/trace/kinds.h"
#include "study/analysis/places/group.h"
#include "study/result/field.h"

bool leaks_kind_parse(const char *word, u32 *kinds)
{
	if (strcmp(word, "all") == 0) {
		*kinds = (1u << CLASS_COUNT) - 1;
		return true;
	}
	for (u32 i = 0; i < CLASS_COUNT; i++)
		if (strcmp(word, class_name(i)) == 0) {
			*kinds |= 1u << i;
			return true;
		}
	return false;
}

/* ---- finding ---- */

static bool is_kept(const struct chunk *chunk, const void *self)
{
	(void)self;
	return chunk_is_kept(chunk);
}

static u64 by_point_and_class(const struct chunk *chunk, const void *self)
{
	return group_by_point(chunk, self) * CLASS_COUNT +
	       model_chunk_class(chunk->model, chunk->number);
}

/* Counts a row where it belongs, and lists it unless a suppression hides it. */
static int add_row(struct leak_table *self, const struct stack_source *source,
		   struct suppressions *suppressions, const struct leak_row *row, struct err *err)
{
	const struct model_point *point = &source->model->points.data[row->point.index];
	u32 hidden = suppressions ? suppressions_find(suppressions, source, point->frame)
				  : NOT_SUPPRESSED;
	struct leak_sum *sum =
		hidden == NOT_SUPPRESSED ? &self->classes[row->chunk_class] : &self->suppressed;

	sum->chunks += row->chunks;
	sum->bytes += row->bytes;
	if (hidden != NOT_SUPPRESSED) {
		suppressions->list.data[hidden].chunks += row->chunks;
		suppressions->list.data[hidden].bytes += row->bytes;
		return 0;
	}
	return vec_push(&self->rows, *row) ? 0 : err_memory_for(err, "the leaks");
}

static int add_chunks(struct leak_table *self, const struct stack_source *source,
		      struct suppressions *suppressions, struct err *err)
{
	struct group_query query = {.key = by_point_and_class, .kept = true, .keep = is_kept};
	struct group_table groups = {0};
	int status = group_chunks(source->model, &query, &groups, err);

	for (u64 i = 0; i < groups.rows.count && status == 0; i++) {
		const struct group_row *group = &groups.rows.data[i];
		struct leak_row row = {.point = {(u32)(group->key / CLASS_COUNT)},
				       .chunk_class = (u8)(group->key % CLASS_COUNT),
				       .chunks = group->chunks,
				       .bytes = group->bytes,
				       .max_size = group->max_size};

		status = add_row(self, source, suppressions, &row, err);
	}
	group_table_release(&groups);
	return status;
}

/* Once sums stand for events it is not known which chunks were freed, only how many of a point. */
static int add_points(struct leak_table *self, const struct stack_source *source,
		      struct suppressions *suppressions, struct err *err)
{
	const struct model *model = source->model;
	int status = 0;

	for (u32 i = 0; i < model->points.count && status == 0; i++) {
		struct leak_row row = {.point = {i},
				       .chunk_class = CLASS_UNKNOWN,
				       .chunks = model->points.data[i].live_chunks,
				       .bytes = model->points.data[i].live_bytes};

		if (row.chunks)
			status = add_row(self, source, suppressions, &row, err);
	}
	return status;
}

static int worst_first(const void *a, const void *b)
{
	const struct leak_row *x = a, *y = b;

	return falling(x->chunk_class, y->chunk_class) ?: falling(x->bytes, y->bytes)
		       ?: rising(x->point.index, y->point.index);
}

int leaks_find(const struct stack_source *source, struct suppressions *suppressions,
	       struct leak_table *self, struct err *err)
{
	const struct model *model = source->model;
	int status = 0;

	if (!model_keeps_nothing(model))
		status = model->aggregated ? add_points(self, source, suppressions, err)
					   : add_chunks(self, source, suppressions, err);
	vec_sort(&self->rows, worst_first);
	return status;
}

void leak_table_release(struct leak_table *self) { vec_release(&self->rows); }

const char *leaks_unknown_reason(const struct model *model, struct result *result)
{
	if (model->aggregated)
		return "the trace reached its size limit, so single chunks are unknown";
	if (model->scan.state == SCAN_DONE)
		return "they were allocated after the leak scan";
	if (model->scan.reason && *model->scan.reason)
		return result_copy(result, model->scan.reason);
	if (!model->has_end)
		return "the recording is truncated before the program's end";
	if (model->end.how == IMAGE_DETACHED)
		return "the recording was stopped before the program's end";
	if (model->end.how != IMAGE_KILLED)
		return "the trace has no leak scan";
	return result_format(result, "the program was killed by signal %d (%s) before a leak scan",
			     model->end.value, strsignal(model->end.value));
}

/* ---- result ---- */

static const struct {
	enum chunk_class chunk_class;
	const char *bytes, *chunks, *label, *remark, *meaning;
} sums[] = {
	{CLASS_LOST, "lost.bytes", "lost.chunks", "lost",
	 "in {lost.chunks:chunk} that nothing points to any more",
	 "nothing points to them any more"},
	{CLASS_INDIRECT, "indirect.bytes", "indirect.chunks", "indirectly lost",
	 "in {indirect.chunks:chunk} that only lost chunks point to",
	 "only lost chunks point to them"},
	{CLASS_POSSIBLE, "possible.bytes", "possible.chunks", "possibly lost",
	 "in {possible.chunks:chunk} that only interior pointers lead to",
	 "only interior pointers lead to them"},
	{CLASS_REACHABLE, "reachable.bytes", "reachable.chunks", "still reachable",
	 "in {reachable.chunks:chunk}, still pointed to",
	 "a chain of pointers leads to their start"},
	{CLASS_UNKNOWN, "unknown.bytes", "unknown.chunks", "unknown",
	 "in {unknown.chunks:chunk}, never freed", "not covered by a leak scan"},
};

static void add_sums(struct result *result, const struct model *model,
		     const struct leak_table *table)
{
	bool scanned = model->scan.state == SCAN_DONE && !model->aggregated;

	for (u32 i = 0; i < sizeof sums / sizeof *sums; i++) {
		const struct leak_sum *sum = &table->classes[sums[i].chunk_class];
		bool unknown = sums[i].chunk_class == CLASS_UNKNOWN;
		bool known = scanned || unknown;

		/* After a scan only chunks that came later are of no class. */
		bool shown = !unknown || !scanned || sum->chunks;

		result_field(result, sums[i].bytes, shown ? sums[i].label : NULL, VALUE_BYTES,
			     value_if(known, value_number(sum->bytes)), sums[i].meaning,
			     .remark = sums[i].remark);
		result_field(result, sums[i].chunks, NULL, VALUE_COUNT,
			     value_if(known, value_units(model, sum->chunks)),
			     "the same in chunks");
	}
	result_field(result, "unknown.why", NULL, VALUE_TEXT,
		     value_text(table->classes[CLASS_UNKNOWN].chunks
					? leaks_unknown_reason(model, result)
					: NULL),
		     "why the leak kind of chunks is unknown");
}

static void add_head(struct result *result, const struct model *model,
		     const struct leak_table *table)
{
	static const char *const states[] = {
		[SCAN_NONE] = "none", [SCAN_DONE] = "done", [SCAN_FAILED] = "failed"};
	u32 state = model->scan.state <= SCAN_FAILED ? model->scan.state : SCAN_NONE;

	result_field(result, "program", "program", VALUE_TEXT,
		     value_text(result_copy(result, model->image.program)),
		     "path of the executable");
	result_field(result, "scan.state", NULL, VALUE_TEXT, value_text(states[state]),
		     "whether memory was scanned for pointers: done, failed or none");
	result_field(result, "scan.time_ns", NULL, VALUE_NS,
		     value_if(state == SCAN_DONE, value_number(model->scan.scan_ns)),
		     "duration of the scan");
	result_field(result, "scan.roots_bytes", NULL, VALUE_BYTES,
		     value_if(state == SCAN_DONE, value_number(model->scan.roots_bytes)),
		     "memory outside the heap that was scanned");
	add_sums(result, model, table);
	result_field(result, "suppressed.bytes", "suppressed", VALUE_BYTES,
		     value_number(table->suppressed.bytes), "hidden by suppressions",
		     .hide_zero = true, .remark = "in {suppressed.chunks:chunk}, see below");
	result_field(result, "suppressed.chunks", NULL, VALUE_COUNT,
		     value_units(model, table->suppressed.chunks), "the same in chunks");
	if (table->classes[CLASS_UNKNOWN].chunks)
		result_add_caveat(result, "the leak kind of some chunks is unknown: %s",
				  leaks_unknown_reason(model, result));
	if (state == SCAN_DONE && model->scan.reason && *model->scan.reason)
		result_add_caveat(result,
				  "leak kinds are those of the scan at %s; a later one failed: %s",
				  units_ns(tick_clock_ns(&model->clock, model->scan.ticks)).text,
				  model->scan.reason);
	if (model->has_end && model->end.how == IMAGE_EXEC)
		result_add_caveat(result, "the program replaced itself by exec; memory live at "
					  "that moment does not count as leaked");
	if (model_is_collected(model))
		result_add_caveat(result, "Lisp objects are freed by the garbage collector; "
					  "objects live at the end were not collected yet and do "
					  "not count as leaked");
}

static const struct result_column columns[] = {
	COLUMN("leak_kind", "leak kind", VALUE_TEXT,
	       "leak kind: lost, indirect, possible, reachable or unknown"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "kept bytes of this stack and leak kind"),
	COLUMN("chunks", "chunks", VALUE_COUNT, "kept chunks"),
	COLUMN("max_bytes", "largest", VALUE_BYTES, "largest of these chunks"),
	COLUMN("point", NULL, VALUE_ID, "number of the point, as in the report"),
	COLUMN("depth", NULL, VALUE_COUNT, "frames of the recorded stack, without inlined ones"),
	COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
};

static void add_chain(struct result *chains, const struct stack_source *source,
		      const struct leak_row *leak)
{
	const struct model *model = source->model;
	struct frame_id frame = model->points.data[leak->point.index].frame;

	result_row(chains, value_text(class_name(leak->chunk_class)), value_number(leak->bytes),
		   value_units(model, leak->chunks),
		   value_if(leak->max_size || !leak->bytes, value_number(leak->max_size)),
		   value_number(leak->point.index),
		   value_number(context_table_depth(&model->contexts, frame)),
		   stack_of_point(source, leak->point, chains));
}

static struct result *chains_result(const struct stack_source *source,
				    const struct leak_table *table, const struct leaks_query *query)
{
	struct result *chains = result_table("chains", "Never freed, by call stack", columns);
	u64 most = result_top(table->rows.count, query->top), found = 0;

	if (!chains)
		return NULL;
	chains->empty = "none";
	for (u64 i = 0; i < table->rows.count; i++)
		if (query->kinds >> table->rows.data[i].chunk_class & 1 && found++ < most)
			add_chain(chains, source, &table->rows.data[i]);
	result_add_more(chains, found, query->top);
	return chains;
}

static struct result *suppressions_result(const struct model *model,
					  const struct suppressions *suppressions)
{
	static const struct result_column shown[] = {
		COLUMN("bytes", "bytes", VALUE_BYTES, "kept bytes hidden by it"),
		COLUMN("chunks", "chunks", VALUE_COUNT, "kept chunks hidden by it"),
		COLUMN("pattern", "suppression", VALUE_TEXT, "suppression as given"),
		COLUMN("origin", "from", VALUE_TEXT, "file and line, or built-in"),
	};
	struct result *table = result_table("suppressions", "Suppressed", shown);

	if (!table)
		return NULL;
	for (u64 i = 0; suppressions && i < suppressions->list.count; i++) {
		const struct suppression *one = &suppressions->list.data[i];

		if (one->chunks)
			result_row(table, value_number(one->bytes), value_units(model, one->chunks),
				   value_text(result_copy(table, one->pattern)),
				   value_text(result_copy(table, one->origin)));
	}
	table->hidden_in_text = result_rows(table) == 0;
	return table;
}

struct result *leaks_result(const struct stack_source *source, const struct leak_table *table,
			    const struct suppressions *suppressions,
			    const struct leaks_query *query, struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "leaks", "");

	if (!result)
		return result_made(NULL, err, "the leaks");
	add_head(result, source->model, table);
	result_add_part(result, chains_result(source, table, query));
	result_add_part(result, suppressions_result(source->model, suppressions));
	return result_made(result, err, "the leaks");
}
