/* SPDX-License-Identifier: MIT
 * The totals of an image as one record.
 * Host. Every number is defined in docs/METHODS.md; nothing is printed here. */
#include "study/analysis/summary/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/places/group.h"
#include "study/analysis/resident/resident.h"
#include "study/analysis/summary/temporary.h"
#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "study/model/durations.h"
#include "study/model/narrow.h"
#include "study/result/field.h"

struct builder {
	struct result *result;
	const struct model *model;
	const struct summary_query *query;
};

static const char *end_word(const struct model *model)
{
	if (!model->has_end)
		return "unknown";
	switch (model->end.how) {
	case IMAGE_EXITED: return "exited";
	case IMAGE_KILLED: return "killed";
	case IMAGE_EXEC: return "exec";
	case IMAGE_DETACHED: return "detached";
	}
	return "unknown";
}

static const char *end_sentence(struct builder *self)
{
	const struct model *model = self->model;
	char text[96] = "";

	if (!model->has_end)
		return "then the recording is truncated";
	switch (model->end.how) {
	case IMAGE_EXITED:
		snprintf(text, sizeof text, "exited with status %d", model->end.value);
		break;
	case IMAGE_KILLED:
		snprintf(text, sizeof text, "killed by signal %d (%s)", model->end.value,
			 strsignal(model->end.value));
		break;
	case IMAGE_EXEC: return "then replaced itself by another program (exec)";
	case IMAGE_DETACHED: return "then recording was stopped";
	}
	return result_copy(self->result, text);
}

static void add_head(struct builder *self)
{
	const struct model *model = self->model;
	struct result *result = self->result;
	u64 images = self->query->info ? self->query->info->images : 1;

	result_field(self->result, "program", "program", VALUE_TEXT,
		     value_text(result_copy(result, model->image.program)),
		     "path of the executable");
	result_last(self->result)->remark = "pid {pid}";
	result_field(self->result, "command", "command", VALUE_TEXT,
		     value_text(result_copy(result, model->image.command)), "command line");
	result_field(self->result, "pid", NULL, VALUE_ID, value_number(model->image.pid),
		     "process id");
	result_field(self->result, "duration_ns", "ran", VALUE_NS,
		     value_number(model_duration_ns(model)),
		     "from the recorder's start to the end of the image");
	result_last(self->result)->remark = "{end.words}";
	result_field(self->result, "end.how", NULL, VALUE_TEXT, value_text(end_word(model)),
		     "exited, killed, exec, detached, or unknown");
	result_field(self->result, "end.value", NULL, VALUE_SIGNED,
		     model->has_end ? value_signed(model->end.value) : value_unknown(),
		     "exit status or signal");
	result_field(self->result, "end.words", NULL, VALUE_TEXT, value_text(end_sentence(self)),
		     "the same as a sentence");
	result_field(self->result, "image", images > 1 ? "image" : NULL, VALUE_ID,
		     value_number(self->query->image),
		     "number of the program image, from 0; each exec begins a new one");
	result_last(self->result)->remark = "of {images:image}, counted from 0; --image N shows "
					    "another";
	result_field(self->result, "images", NULL, VALUE_COUNT, value_number(images),
		     "images in the file");
	result_field(self->result, "complete", NULL, VALUE_BOOL,
		     value_number(summary_complete(model, self->query->info)),
		     "every event of the image is in the trace");
	result_field(self->result, "lost_events", NULL, VALUE_COUNT,
		     value_number(summary_lost_events(model)), "events known to be missing");
}

static struct value mean(u64 sum, u64 count)
{
	return count ? value_number(sum / count) : value_unknown();
}

static struct value share(u64 part, u64 whole)
{
	return whole ? value_real(units_share(part, whole)) : value_unknown();
}

static void add_flow(struct builder *self)
{
	const struct model *model = self->model;
	const struct model_totals *totals = &model->totals;
	u64 allocations = model_count(model, totals->allocations);

	result_field(self->result, "allocations", "allocations", VALUE_COUNT,
		     value_number(allocations), "successful allocating calls");
	result_last(self->result)->section = "Summary";
	result_last(self->result)->remark = "{bytes} requested, {mean_bytes} on average";
	result_field(self->result, "bytes", NULL, VALUE_BYTES, value_number(totals->bytes),
		     "requested bytes");
	result_field(self->result, "mean_bytes", NULL, VALUE_BYTES,
		     mean(totals->bytes, allocations), "mean size of an allocation");
	result_field(self->result, "frees", "frees", VALUE_COUNT,
		     value_number(model_count(model, totals->frees) + model->unknown_frees),
		     "chunks that ended, and frees of unknown blocks");
	result_last(self->result)->remark = "{freed_bytes}";
	result_field(self->result, "freed_bytes", NULL, VALUE_BYTES,
		     value_number(totals->freed_bytes), "bytes of chunks that ended");
}

static void add_peak(struct builder *self)
{
	const struct model *model = self->model;
	const struct stream_totals *told = &model->end.totals;
	u64 bytes = model->totals.peak_bytes, ticks = model->totals.peak_ticks;
	u64 chunks = model_count(model, model->totals.peak_chunks);

	/* Events after the switch to sums are not in the trace, but the monitor saw them. */
	if (model->aggregated && model->has_end && !model->count_shift &&
	    told->peak_bytes > bytes) {
		bytes = told->peak_bytes;
		chunks = told->peak_chunks;
		ticks = told->peak_ticks;
	}
	result_field(self->result, "peak.bytes", "peak", VALUE_BYTES, value_number(bytes),
		     "largest sum of live requested bytes at any moment");
	result_last(self->result)->remark = "in {peak.chunks:chunk}, {peak.time_ns} after the "
					    "start";
	result_field(self->result, "peak.chunks", NULL, VALUE_COUNT, value_number(chunks),
		     "live chunks at that moment");
	result_field(self->result, "peak.time_ns", NULL, VALUE_NS,
		     value_number(tick_clock_ns(&model->clock, ticks)),
		     "that moment, since the start");
}

/* Of objects that are freed by a collector. */
static void add_collected(struct builder *self)
{
	const struct model *model = self->model;

	result_field(self->result, "collected.bytes", "collected", VALUE_BYTES,
		     value_number(model->totals.freed_bytes),
		     "bytes of objects freed by the collector");
	result_last(self->result)->remark = "in {collected.chunks:object}, freed by the collector";
	result_field(self->result, "collected.chunks", NULL, VALUE_COUNT,
		     value_number(model_count(model, model->totals.frees)),
		     "objects freed by the collector");
	result_field(self->result, "uncollected.bytes", "not collected", VALUE_BYTES,
		     value_number(model->totals.live_bytes),
		     "bytes of objects in use or not collected yet at the end");
	result_last(self->result)->remark = "in {uncollected.chunks:object}, in use or not "
					    "collected yet at the end";
	result_field(self->result, "uncollected.chunks", NULL, VALUE_COUNT,
		     value_number(model_count(model, model->totals.live_chunks)),
		     "objects in use or not collected yet at the end");
}

static void add_kept(struct builder *self)
{
	const struct model *model = self->model;
	bool collected = model_is_collected(model), exec = !collected && model_keeps_nothing(model);
	u64 bytes = model->totals.live_bytes,
	    chunks = model_count(model, model->totals.live_chunks);

	if (collected)
		add_collected(self);
	if (collected)
		bytes = chunks = 0;
	result_field(self->result, "kept.bytes", exec || collected ? NULL : "kept", VALUE_BYTES,
		     value_number(exec ? 0 : bytes),
		     "bytes in chunks that were live when the process ended");
	result_last(self->result)->remark =
		model->has_end ? "in {kept.chunks:chunk}, never freed"
			       : "in {kept.chunks:chunk}, live where the recording is truncated";
	result_field(self->result, "kept.chunks", NULL, VALUE_COUNT,
		     value_number(exec ? 0 : chunks),
		     "chunks that were live when the process ended");
	result_field(self->result, "exec.bytes", exec ? "given up" : NULL, VALUE_BYTES,
		     value_number(exec ? bytes : 0),
		     "bytes that were live when exec replaced the image");
	result_last(self->result)->remark = "in {exec.chunks:chunk}, live when exec replaced the "
					    "program";
	result_field(self->result, "exec.chunks", NULL, VALUE_COUNT,
		     value_number(exec ? chunks : 0),
		     "chunks that were live when exec replaced the image");
}

static int add_temporary(struct builder *self, struct err *err)
{
	const struct model *model = self->model;
	struct temporary_table temporary = {0};
	u64 slack = self->query->temporary_slack;
	int status = temporary_count(model, slack, &temporary, err);

	if (status < 0)
		return status;
	result_field(self->result, "temporary", "temporary", VALUE_COUNT,
		     value_number(model_count(model, temporary.chunks)),
		     "chunks freed before any further allocation of their thread");
	result_last(self->result)->remark =
		slack ? "{temporary_share} of all, freed within "
			"{temporary_slack} further allocations of (its|their) thread"
		      : "{temporary_share} of all, freed before any further "
			"allocation of (its|their) thread";
	result_field(self->result, "temporary_bytes", NULL, VALUE_BYTES,
		     value_number(temporary.bytes), "bytes in temporary chunks");
	result_field(self->result, "temporary_share", NULL, VALUE_SHARE,
		     share(temporary.chunks, model->totals.allocations),
		     "share of temporary chunks in all allocations");
	result_field(self->result, "temporary_slack", NULL, VALUE_COUNT, value_number(slack),
		     "further allocations allowed in between");
	temporary_table_release(&temporary);
	return 0;
}

static u64 count_threads(const struct model *model)
{
	u64 count = 0;

	for (u64 i = 0; i < model->threads.count; i++)
		count += model->threads.data[i].told || model->threads.data[i].made;
	return count;
}

static u64 count_modules(const struct model *model)
{
	u64 count = 0;

	for (u32 i = 0; i < model->contexts.modules.module_count; i++)
		count += modmap_module(&model->contexts.modules, i) != NULL;
	return count;
}

static void add_places(struct builder *self)
{
	const struct model *model = self->model;

	result_field(self->result, "points", "points", VALUE_COUNT,
		     value_number(model_point_count(model)),
		     "allocation points: call stacks that allocate");
	result_last(self->result)->remark = "call stack(s) that (allocates|allocate), in "
					    "{threads:thread}";
	result_field(self->result, "contexts", NULL, VALUE_COUNT,
		     value_number(model->contexts.told), "frames of the calling-context tree");
	result_field(self->result, "threads", NULL, VALUE_COUNT, value_number(count_threads(model)),
		     "threads seen");
	result_field(self->result, "modules", NULL, VALUE_COUNT, value_number(count_modules(model)),
		     "executable and loaded libraries");
}

static const char *const call_names[] = {"calls.malloc",   "calls.calloc", "calls.realloc",
					 "calls.memalign", "calls.free",   "calls.new",
					 "calls.delete",   "calls.pool",   "calls.pool_free",
					 "calls.mmap",     "calls.munmap"};

/* Of a part of the chunks: by which call they ended is not kept, and mappings are nobody's. */
static bool call_is_known(const struct model *model, const char *call)
{
	static const char *const known[] = {"malloc",   "calloc", "realloc",
					    "memalign", "new",    "pool"};

	for (u32 i = 0; model->whole && i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i], call) == 0)
			return true;
	return !model->whole;
}

static void add_calls(struct builder *self)
{
	struct strbuf remark = {0};
	u64 total = 0;

	for (u32 i = 0; i < sizeof call_names / sizeof *call_names; i++) {
		const char *call = strchr(call_names[i], '.') + 1;
		u64 count = model_calls(self->model, call);

		if (!call_is_known(self->model, call))
			continue;
		total += count;
		if (count)
			strbuf_addf(&remark, "%s%s %s", remark.count ? ", " : "", call,
				    units_count(count).text);
	}
	result_field(self->result, "calls.total", "calls", VALUE_COUNT, value_number(total),
		     self->model->whole ? "successful calls that allocate" : "successful calls");
	result_last(self->result)->remark = result_copy(self->result, strbuf_text(&remark));
	strbuf_release(&remark);
	for (u32 i = 0; i < sizeof call_names / sizeof *call_names; i++) {
		const char *call = strchr(call_names[i], '.') + 1;

		result_field(self->result, call_names[i], NULL, VALUE_COUNT,
			     call_is_known(self->model, call)
				     ? value_number(model_calls(self->model, call))
				     : value_unknown(),
			     "successful calls of this family");
	}
}

static void add_failed(struct builder *self)
{
	u64 failed = 0;

	for (u32 i = 0; i < HW_KIND_COUNT; i++)
		failed += self->model->failed[i];
	result_field(self->result, "failed_calls", self->model->whole ? NULL : "failed calls",
		     VALUE_COUNT, self->model->whole ? value_unknown() : value_number(failed),
		     "calls that returned no memory");
	result_last(self->result)->hide_zero = true;
}

static void add_time(struct builder *self)
{
	const struct model *model = self->model;
	struct call_costs costs;
	/* Times of several threads add up to more than the run. */
	bool one_thread = count_threads(model) <= 1, cpu_known;
	double cpu_ns = model_cpu_ns(model, &cpu_known);

	call_costs_find(&costs, model);
	result_field(self->result, "allocator_time_ns", "allocator", VALUE_NS,
		     costs.all.enough ? value_number((u64)costs.all.ns) : value_unknown(),
		     "estimated time inside the real allocator, all threads");
	if (!costs.all.enough)
		result_last(self->result)->remark = "too few timed calls for an estimate "
						    "({allocator_samples})";
	else
		result_last(self->result)->remark =
			one_thread ? "{allocator_share} of the run; {allocator_low_ns} to "
				     "{allocator_high_ns}, estimated from {allocator_samples:timed "
				     "call}"
				   : "in all threads together; {allocator_low_ns} to "
				     "{allocator_high_ns}, estimated from "
				     "{allocator_samples:timed call}";
	result_field(self->result, "allocator_low_ns", NULL, VALUE_NS,
		     costs.all.enough ? value_number((u64)costs.all.low_ns) : value_unknown(),
		     "likely lower bound");
	result_field(self->result, "allocator_high_ns", NULL, VALUE_NS,
		     costs.all.enough ? value_number((u64)costs.all.high_ns) : value_unknown(),
		     "likely upper bound");
	result_field(self->result, "allocator_samples", NULL, VALUE_COUNT,
		     value_number(costs.all.timed), "timed calls");
	result_field(self->result, "allocator_share", NULL, VALUE_SHARE,
		     one_thread && costs.all.enough
			     ? share((u64)costs.all.ns, model_duration_ns(model))
			     : value_unknown(),
		     "share of allocator time in the duration; only for programs with one thread");
	result_field(self->result, "cpu_time_ns", NULL, VALUE_NS,
		     cpu_known ? value_number((u64)cpu_ns) : value_unknown(),
		     "CPU time of all threads, including the recorder's");
}

static void add_rss(struct builder *self)
{
	const struct model *model = self->model;
	u64 most = resident_peak_bytes(model);

	result_field(self->result, "rss.max_bytes", "resident", VALUE_BYTES,
		     most ? value_number(most) : value_unknown(),
		     "highest resident memory, including the recorder's");
	result_last(self->result)->remark = "at most, in {rss.samples:sample}";
	result_field(self->result, "rss.samples", NULL, VALUE_COUNT,
		     value_number(model->usage.count), "samples from /proc");
}

/* The number of a note that the monitor made; 0 if there is none. */
static u64 noted(const struct model *model, const char *key)
{
	u64 number = 0;

	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, key) == 0)
			number = strtoull(model->notes.data[i].value, NULL, 10);
	return number;
}

static void add_access(struct builder *self)
{
	const struct model *model = self->model;
	const struct access_sums *sums = &model->access;
	bool some = model->has_access;
	u64 checked = noted(model, "access_checked"), heap = noted(model, "access_heap");
	const struct {
		const char *name;
		enum value_type type;
		u64 number;
		const char *meaning;
	} fields[] = {
		{"access.reads", VALUE_COUNT, sums->reads, "reads of these chunks"},
		{"access.writes", VALUE_COUNT, sums->writes, "writes to these chunks"},
		{"access.read_bytes", VALUE_BYTES, sums->read_bytes, "bytes read"},
		{"access.written_bytes", VALUE_BYTES, sums->written_bytes, "bytes written"},
		{"access.never_chunks", VALUE_COUNT, sums->never_chunks,
		 "measured chunks that were neither read nor written"},
		{"access.never_bytes", VALUE_BYTES, sums->never_bytes, "their bytes"},
		{"access.estimated_chunks", VALUE_COUNT, sums->estimated_chunks,
		 "measured chunks whose counts are estimates"},
		{"access.lower_bound_chunks", VALUE_COUNT, sums->lower_bound_chunks,
		 "measured chunks that uninstrumented code may also have accessed"},
	};

	result_field(self->result, "access.mode", NULL, VALUE_TEXT,
		     value_text(access_mode_word(model->image.access)),
		     "how accesses were recorded: none, exact, adaptive or valgrind");
	result_field(self->result, "access.chunks", some ? "accessed" : NULL, VALUE_COUNT,
		     some ? value_number(sums->chunks) : value_unknown(),
		     "chunks whose accesses were measured");
	result_last(self->result)->remark = "chunk(s) measured ({access.mode}): "
					    "{access.reads:read}, {access.writes:write}; "
					    "{access.never_chunks} never accessed";
	for (u32 i = 0; i < sizeof fields / sizeof *fields; i++)
		result_field(self->result, fields[i].name, NULL, fields[i].type,
			     some ? value_number(fields[i].number) : value_unknown(),
			     fields[i].meaning);
	result_field(self->result, "access.heap_share", NULL, VALUE_SHARE, share(heap, checked),
		     "accesses to the heap, of all checked accesses");
}

static void add_quality(struct builder *self)
{
	static const char *const fault_names[HW_FAULT_COUNT] = {
#define FAULT_NAME(name, text) [HW_FAULT_##name] = "faults." #name,
		HW_FAULTS(FAULT_NAME)
#undef FAULT_NAME
	};
	const struct model *model = self->model;

	result_field(self->result, "sample_bytes", NULL, VALUE_BYTES,
		     value_number(model->image.sample_bytes),
		     "sampling interval; 0 = every allocation is recorded");
	result_field(self->result, "estimated", NULL, VALUE_BOOL,
		     value_number(model->image.sample_bytes != 0),
		     "numbers are estimates from a sample");
	result_field(self->result, "aggregated", NULL, VALUE_BOOL, value_number(model->aggregated),
		     "the trace reached its size limit: later events are kept only as totals");
	result_field(self->result, "unknown_frees", NULL, VALUE_COUNT,
		     value_number(model->unknown_frees),
		     "frees of blocks whose allocation was not seen");
	result_field(self->result, "implied_frees", NULL, VALUE_COUNT,
		     value_number(model->implied_frees),
		     "frees that were not seen: the address was handed out again");
	for (u32 i = 0; i < HW_FAULT_COUNT; i++) {
		char name[64];
		u32 k = 0;

		for (; fault_names[i][k] && k + 1 < sizeof name; k++)
			name[k] = fault_names[i][k] >= 'A' && fault_names[i][k] <= 'Z'
					  ? (char)(fault_names[i][k] - 'A' + 'a')
					  : fault_names[i][k];
		name[k] = 0;
		result_field(self->result, result_copy(self->result, name), NULL, VALUE_COUNT,
			     value_number(model->has_end ? model->end.totals.faults[i] : 0),
			     "counted by the recorder");
	}
}

struct result *analyse_summary(const struct model *model, const struct summary_query *query,
			       struct err *err)
{
	struct builder self = {.result = result_new(RESULT_RECORD, "report", ""),
			       .model = model,
			       .query = query};

	if (!self.result) {
		err_memory_for(err, "the summary");
		return NULL;
	}
	add_head(&self);
	add_flow(&self);
	add_peak(&self);
	add_kept(&self);
	if (add_temporary(&self, err) < 0)
		goto fail;
	add_places(&self);
	add_calls(&self);
	add_failed(&self);
	add_time(&self);
	add_rss(&self);
	add_access(&self);
	add_quality(&self);
	add_caveats(self.result, model, query->info);
	if (!result_failed(self.result))
		return self.result;
	err_memory_for(err, "the summary");
fail:
	result_free(self.result);
	return NULL;
}

struct result *analyse_sizes(const struct model *model, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("from_bytes", "from", VALUE_BYTES,
		       "smallest size of the size class, which ends below twice that"),
		COLUMN("allocations", "allocations", VALUE_COUNT, "allocations of these sizes"),
		COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
		COLUMN("kept_chunks", "kept chunks", VALUE_COUNT, "chunks never freed"),
		COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	};
	struct group_query query = {.key = group_by_size_class};
	struct group_table groups = {0};
	struct result *table = result_new(RESULT_TABLE, "sizes", "Sizes");

	if (!table || group_chunks(model, &query, &groups, err) < 0)
		goto fail;
	table->hidden_in_text = true;
	group_sort(&groups, group_order_key);
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; i < groups.rows.count; i++) {
		const struct group_row *group = &groups.rows.data[i];
		struct value *row = result_add_row(table);

		if (!row)
			goto fail;
		row[0] = value_number(group->key);
		row[1] = value_number(model_count(model, group->chunks));
		row[2] = value_number(group->bytes);
		row[3] = value_number(model_count(model, group->kept_chunks));
		row[4] = value_number(group->kept_bytes);
	}
	group_table_release(&groups);
	return table;
fail:
	err_memory_for(err, "the size classes");
	group_table_release(&groups);
	result_free(table);
	return NULL;
}
