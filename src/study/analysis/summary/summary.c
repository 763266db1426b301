/* SPDX-License-Identifier: MIT
 * The totals of an image as one record.
 * Host. Every number is defined in docs/METHODS.md; nothing is printed here. */
#include "study/analysis/summary/summary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/places/group.h"
#include "study/analysis/places/stacks.h"
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

static bool end_is_known(const struct model *model)
{
	return model->has_end &&
	       (model->end.how != IMAGE_EXITED || model->end.value != IMAGE_STATUS_UNKNOWN);
}

static const char *end_word(const struct model *model)
{
	if (!end_is_known(model))
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

	if (!model->has_end)
		return "then the recording is truncated";
	switch (model->end.how) {
	case IMAGE_EXITED:
		if (!end_is_known(model))
			return "ended with an unknown status";
		return result_format(self->result, "exited with status %d", model->end.value);
	case IMAGE_KILLED:
		return result_format(self->result, "killed by signal %d (%s)", model->end.value,
				     strsignal(model->end.value));
	case IMAGE_EXEC: return "then replaced itself by another program (exec)";
	case IMAGE_DETACHED: return "then recording was stopped";
	}
	return "";
}

static void add_head(struct builder *self)
{
	const struct model *model = self->model;
	u64 images = self->query->info ? self->query->info->images : 1;

	result_field(self->result, "program", "program", VALUE_TEXT,
		     result_text(self->result, model->image.program), "path of the executable",
		     .remark = "pid {pid}");
	result_field(self->result, "command", "command", VALUE_TEXT,
		     result_text(self->result, model->image.command), "command line");
	result_field(self->result, "pid", NULL, VALUE_ID, value_number(model->image.pid),
		     "process id");
	result_field(self->result, "duration_ns", "ran", VALUE_NS,
		     value_number(model_duration_ns(model)),
		     "from the recorder's start to the end of the image", .remark = "{end.words}");
	result_field(self->result, "end.how", NULL, VALUE_TEXT, value_text(end_word(model)),
		     "exited, killed, exec, detached, or unknown");
	result_field(self->result, "end.value", NULL, VALUE_SIGNED,
		     value_if(end_is_known(model), value_signed(model->end.value)),
		     "exit status or signal");
	result_field(self->result, "end.words", NULL, VALUE_TEXT, value_text(end_sentence(self)),
		     "the same as a sentence");
	result_field(self->result, "image", images > 1 ? "image" : NULL, VALUE_ID,
		     value_number(self->query->image),
		     "number of the program image, from 0; each exec begins a new one",
		     .remark = "of {images:image}, counted from 0; --image N shows another");
	result_field(self->result, "images", NULL, VALUE_COUNT, value_number(images),
		     "images in the file");
	result_field(self->result, "complete", NULL, VALUE_BOOL,
		     value_number(summary_complete(model, self->query->info)),
		     "every event of the image is in the trace");
	result_field(self->result, "lost_events", NULL, VALUE_COUNT,
		     value_number(summary_lost_events(model)), "events known to be missing");
}

static struct value share(u64 part, u64 whole)
{
	return value_if(whole, value_real(units_share(part, whole)));
}

static void add_flow(struct builder *self)
{
	const struct model *model = self->model;
	const struct model_totals *totals = &model->totals;
	u64 allocations = model_count(model, totals->allocations);

	result_field(self->result, "allocations", "allocations", VALUE_COUNT,
		     value_number(allocations), "successful allocating calls",
		     .remark = "{bytes} requested, {mean_bytes} on average", .section = "Summary");
	result_field(self->result, "bytes", NULL, VALUE_BYTES, value_number(totals->bytes),
		     "requested bytes");
	result_field(self->result, "mean_bytes", NULL, VALUE_BYTES,
		     allocations ? value_number(totals->bytes / allocations) : value_unknown(),
		     "mean size of an allocation");
	result_field(self->result, "frees", "frees", VALUE_COUNT, value_number(model_frees(model)),
		     "chunks that ended, and frees of unknown blocks", .remark = "{freed_bytes}");
	result_field(self->result, "freed_bytes", NULL, VALUE_BYTES,
		     value_number(totals->freed_bytes), "bytes of chunks that ended");
}

static void add_peak(struct builder *self)
{
	const struct model *model = self->model;
	struct model_peak peak = model_peak(model);

	result_field(self->result, "peak.bytes", "peak", VALUE_BYTES, value_number(peak.bytes),
		     "largest sum of live requested bytes at any moment",
		     .remark = "in {peak.chunks:chunk}, {peak.time_ns} after the start");
	result_field(self->result, "peak.chunks", NULL, VALUE_COUNT, value_number(peak.chunks),
		     "live chunks at that moment");
	result_field(self->result, "peak.time_ns", NULL, VALUE_NS,
		     value_number(tick_clock_ns(&model->clock, peak.ticks)),
		     "that moment, since the start");
}

/* Of objects that are freed by a collector. */
static void add_collected(struct builder *self)
{
	const struct model *model = self->model;
	const struct model_totals *totals = &model->totals;

	result_field(self->result, "collected.bytes", "collected", VALUE_BYTES,
		     value_number(totals->freed_bytes), "bytes of objects freed by the collector",
		     .remark = "in {collected.chunks:object}, freed by the collector");
	result_field(self->result, "collected.chunks", NULL, VALUE_COUNT,
		     value_units(model, totals->frees), "objects freed by the collector");
	result_field(self->result, "uncollected.bytes", "not collected", VALUE_BYTES,
		     value_number(totals->live_bytes),
		     "bytes of objects in use or not collected yet at the end",
		     .remark = "in {uncollected.chunks:object}, in use or not collected yet at the "
			       "end");
	result_field(self->result, "uncollected.chunks", NULL, VALUE_COUNT,
		     value_units(model, totals->live_chunks),
		     "objects in use or not collected yet at the end");
}

static void add_kept(struct builder *self)
{
	const struct model *model = self->model;
	bool collected = model_is_collected(model), exec = !collected && model_keeps_nothing(model);
	u64 bytes = collected ? 0 : model->totals.live_bytes;
	u64 chunks = collected ? 0 : model_count(model, model->totals.live_chunks);

	if (collected)
		add_collected(self);
	result_field(self->result, "kept.bytes", exec || collected ? NULL : "kept", VALUE_BYTES,
		     value_number(exec ? 0 : bytes),
		     "bytes in chunks that were live when the process ended",
		     .remark = model->has_end
				       ? "in {kept.chunks:chunk}, never freed"
				       : "in {kept.chunks:chunk}, live where the recording is "
					 "truncated");
	result_field(self->result, "kept.chunks", NULL, VALUE_COUNT,
		     value_number(exec ? 0 : chunks),
		     "chunks that were live when the process ended");
	result_field(self->result, "exec.bytes", exec ? "given up" : NULL, VALUE_BYTES,
		     value_number(exec ? bytes : 0),
		     "bytes that were live when exec replaced the image",
		     .remark = "in {exec.chunks:chunk}, live when exec replaced the program");
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

	if (status == 0) {
		result_field(
			self->result, "temporary", "temporary", VALUE_COUNT,
			value_units(model, temporary.chunks),
			"chunks freed before any further allocation of their thread",
			.remark =
				slack ? "{temporary_share} of all, freed within {temporary_slack} "
					"further allocations of (its|their) thread"
				      : "{temporary_share} of all, freed before any further "
					"allocation of (its|their) thread");
		result_field(self->result, "temporary_bytes", NULL, VALUE_BYTES,
			     value_number(temporary.bytes), "bytes in temporary chunks");
		result_field(self->result, "temporary_share", NULL, VALUE_SHARE,
			     share(temporary.chunks, model->totals.allocations),
			     "share of temporary chunks in all allocations");
		result_field(self->result, "temporary_slack", NULL, VALUE_COUNT,
			     value_number(slack), "further allocations allowed in between");
	}
	temporary_table_release(&temporary);
	return status;
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
		     "allocation points: call stacks that allocate",
		     .remark = "call stack(s) that (allocates|allocate), in {threads:thread}");
	result_field(self->result, "contexts", NULL, VALUE_COUNT,
		     value_number(model->contexts.told), "frames of the calling-context tree");
	result_field(self->result, "threads", NULL, VALUE_COUNT, value_number(count_threads(model)),
		     "threads seen");
	result_field(self->result, "modules", NULL, VALUE_COUNT, value_number(count_modules(model)),
		     "executable and loaded libraries");
}

/* Of a part of the chunks it is not kept by which call they ended, and mappings are nobody's. */
static const struct {
	const char *name;
	bool of_part;
} calls[] = {
	{"calls.malloc", true},   {"calls.calloc", true},  {"calls.realloc", true},
	{"calls.memalign", true}, {"calls.free", false},   {"calls.new", true},
	{"calls.delete", false},  {"calls.pool", true},    {"calls.pool_free", false},
	{"calls.mmap", false},    {"calls.munmap", false},
};
enum { CALLS = sizeof calls / sizeof *calls };

static u64 calls_of(const struct model *model, u32 i)
{
	return model->whole && !calls[i].of_part
		       ? 0
		       : model_calls(model, strchr(calls[i].name, '.') + 1);
}

static void add_calls(struct builder *self)
{
	const struct model *model = self->model;
	struct strbuf remark = {0};
	u64 total = 0, failed = 0;

	for (u32 i = 0; i < CALLS; i++) {
		u64 count = calls_of(model, i);

		total += count;
		if (count)
			strbuf_addf(&remark, "%s%s %s", remark.count ? ", " : "",
				    strchr(calls[i].name, '.') + 1, units_count(count).text);
	}
	result_field(self->result, "calls.total", "calls", VALUE_COUNT, value_number(total),
		     model->whole ? "successful calls that allocate" : "successful calls",
		     .remark = result_take(self->result, &remark));
	for (u32 i = 0; i < CALLS; i++)
		result_field(self->result, calls[i].name, NULL, VALUE_COUNT,
			     value_if(!model->whole || calls[i].of_part,
				      value_number(calls_of(model, i))),
			     "successful calls of this family");
	for (u32 i = 0; i < HW_KIND_COUNT; i++)
		failed += model->failed[i];
	result_field(self->result, "failed_calls", model->whole ? NULL : "failed calls",
		     VALUE_COUNT, value_if(!model->whole, value_number(failed)),
		     "calls that returned no memory", .hide_zero = true);
}

static void add_time(struct builder *self, const struct time_estimate *all)
{
	const struct model *model = self->model;
	/* Times of several threads add up to more than the run. */
	bool one_thread = count_threads(model) <= 1, cpu_known;
	double cpu_ns = model_cpu_ns(model, &cpu_known);

	result_field(self->result, "allocator_time_ns", "allocator", VALUE_NS,
		     value_if(all->enough, value_number((u64)all->ns)),
		     "estimated time inside the real allocator, all threads",
		     .remark = !all->enough ? "too few timed calls for an estimate "
					      "({allocator_samples})"
			       : one_thread ? "{allocator_share} of the run; {allocator_low_ns} to "
					      "{allocator_high_ns}, estimated from "
					      "{allocator_samples:timed call}"
					    : "in all threads together; {allocator_low_ns} to "
					      "{allocator_high_ns}, estimated from "
					      "{allocator_samples:timed call}");
	result_field(self->result, "allocator_low_ns", NULL, VALUE_NS,
		     value_if(all->enough, value_number((u64)all->low_ns)), "likely lower bound");
	result_field(self->result, "allocator_high_ns", NULL, VALUE_NS,
		     value_if(all->enough, value_number((u64)all->high_ns)), "likely upper bound");
	result_field(self->result, "allocator_samples", NULL, VALUE_COUNT, value_number(all->timed),
		     "timed calls");
	result_field(self->result, "allocator_share", NULL, VALUE_SHARE,
		     value_if(one_thread && all->enough,
			      share((u64)all->ns, model_duration_ns(model))),
		     "share of allocator time in the duration; only for programs with one thread");
	result_field(self->result, "cpu_time_ns", NULL, VALUE_NS,
		     value_if(cpu_known, value_number((u64)cpu_ns)),
		     "CPU time of all threads, including the recorder's");
}

static void add_rss(struct builder *self)
{
	const struct model *model = self->model;

	result_field(self->result, "rss.max_bytes", "resident", VALUE_BYTES,
		     value_some(resident_peak_bytes(model)),
		     "highest resident memory, including the recorder's",
		     .remark = "at most, in {rss.samples:sample}");
	result_field(self->result, "rss.samples", NULL, VALUE_COUNT,
		     value_number(model->usage.count), "samples from /proc");
}

static void add_interval(struct builder *self, bool writes)
{
	static const char *const names[2][2] = {{"access.reads_low", "access.reads_high"},
						{"access.writes_low", "access.writes_high"}};
	struct access_interval found = access_interval(&self->model->access, writes);
	bool some = self->model->has_access;

	result_field(self->result, names[writes][0], NULL, VALUE_COUNT,
		     value_if(some, value_number((u64)found.low)), "lower end of its interval");
	result_field(self->result, names[writes][1], NULL, VALUE_COUNT,
		     value_if(some && found.high == found.high, value_number((u64)found.high)),
		     "upper end, if it is known; both are the number itself if it is exact");
}

static void add_access(struct builder *self)
{
	const struct model *model = self->model;
	const struct access_sums *sums = &model->access;
	bool some = model->has_access;
	u64 checked = strtoull(model_note(model, "access_checked"), NULL, 10);
	u64 heap = strtoull(model_note(model, "access_heap"), NULL, 10);
	const char *remark = "chunk(s) measured ({access.mode}): {access.reads:read}, "
			     "{access.writes:write}; {access.never_chunks} never accessed";

	if (sums->estimated_chunks && access_interval(sums, false).high >= 0)
		remark = "chunk(s) measured ({access.mode}): about {access.reads:read} "
			 "({access.reads_low} to {access.reads_high}), {access.writes:write} "
			 "({access.writes_low} to {access.writes_high}); {access.never_chunks} "
			 "never accessed";
	else if (sums->estimated_chunks)
		remark = "chunk(s) measured ({access.mode}): at least {access.reads_low:read}, "
			 "{access.writes_low:write} (too few samples for an estimate); "
			 "{access.never_chunks} never accessed";
	result_field(self->result, "access.mode", NULL, VALUE_TEXT,
		     value_text(access_mode_word(model->image.access)),
		     "how accesses were recorded: none, exact, adaptive or valgrind");
	result_field(self->result, "access.chunks", some ? "accessed" : NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->chunks)),
		     "chunks whose accesses were measured", .remark = remark);
	result_field(self->result, "access.reads", NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->reads)), "reads of these chunks");
	result_field(self->result, "access.writes", NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->writes)), "writes to these chunks");
	add_interval(self, false);
	add_interval(self, true);
	result_field(self->result, "access.read_bytes", NULL, VALUE_BYTES,
		     value_if(some, value_number(sums->read_bytes)), "bytes read");
	result_field(self->result, "access.written_bytes", NULL, VALUE_BYTES,
		     value_if(some, value_number(sums->written_bytes)), "bytes written");
	result_field(self->result, "access.never_chunks", NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->never_chunks)),
		     "measured chunks that were neither read nor written");
	result_field(self->result, "access.never_bytes", NULL, VALUE_BYTES,
		     value_if(some, value_number(sums->never_bytes)), "their bytes");
	result_field(self->result, "access.estimated_chunks", NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->estimated_chunks)),
		     "measured chunks whose counts are estimates");
	result_field(self->result, "access.lower_bound_chunks", NULL, VALUE_COUNT,
		     value_if(some, value_number(sums->lower_bound_chunks)),
		     "measured chunks that uninstrumented code may also have accessed");
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
		struct strbuf name = {0};

		for (const char *at = fault_names[i]; *at; at++)
			strbuf_add_char(&name, (char)tolower((u8)*at));
		result_add_field(self->result,
				 (struct result_column)COLUMN(result_take(self->result, &name),
							      NULL, VALUE_COUNT,
							      "counted by the recorder"),
				 value_number(model->has_end ? model->end.totals.faults[i] : 0));
	}
}

struct result *analyse_summary(const struct model *model, const struct summary_query *query,
			       struct err *err)
{
	struct builder self = {.result = result_new(RESULT_RECORD, "report", ""),
			       .model = model,
			       .query = query};
	struct call_costs costs;

	if (!self.result)
		return result_made(NULL, err, "the summary");
	add_head(&self);
	add_flow(&self);
	add_peak(&self);
	add_kept(&self);
	if (add_temporary(&self, err) < 0) {
		result_free(self.result);
		return NULL;
	}
	add_places(&self);
	add_calls(&self);
	call_costs_find(&costs, model);
	add_time(&self, &costs.all);
	add_rss(&self);
	add_access(&self);
	add_quality(&self);
	add_caveats(self.result, model, query->info);
	return result_made(self.result, err, "the summary");
}

static u64 size_class(u64 size) { return size ? (u64)1 << (63 - __builtin_clzll(size)) : 0; }

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
	struct result *table = result_table("sizes", "Sizes", columns);
	bool keeps = !model_keeps_nothing(model);
	u64 count;
	struct model_size *sizes = model_sizes_sorted(model, &count), class = {0};

	for (u64 i = 0; table && i < count; i++) {
		u64 first = size_class(sizes[i].size);

		class.units += sizes[i].units;
		class.bytes += sizes[i].bytes;
		class.live_units += keeps ? sizes[i].live_units : 0;
		class.live_bytes += keeps ? sizes[i].live_bytes : 0;
		if (i + 1 < count && size_class(sizes[i + 1].size) == first)
			continue;
		result_row(table, value_number(first), value_units(model, class.units),
			   value_number(class.bytes), value_units(model, class.live_units),
			   value_number(class.live_bytes));
		class = (struct model_size){0};
	}
	if (table) {
		table->hidden_in_text = true;
		table->failed |= !sizes;
	}
	free(sizes);
	return result_made(table, err, "the size classes");
}
