/* SPDX-License-Identifier: MIT
 * What is served, and how far it is; names for completion; stacks. Runs on threads of the
 * server. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/atomics.h"
#include "host/base/path.h"
#include "show/serve/api.h"
#include "study/analysis/places/allocator.h"
#include "study/layout/suggest.h"
#include "study/model/durations.h"
#include "study/layout/weigh.h"

/* ---- status ---- */

static const char *state_word(enum study_state state)
{
	static const char *const words[] = {[STUDY_WAITING] = "indexing",
					    [STUDY_LOADING] = "indexing",
					    [STUDY_READY] = "ready",
					    [STUDY_FAILED] = "error"};

	return words[state];
}

static bool is_live(const struct api *api, u32 slot)
{
	return api->renewals[slot] && !renewal_is_complete(api->renewals[slot]);
}

/* When the file was last written, in seconds since 1970: the end of the recording, unless it was
 * copied since. 0 = nobody knows. */
static u64 written_at(const struct study *trace)
{
	struct stat status;

	return stat(trace->path, &status) == 0 ? (u64)status.st_mtime : 0;
}

static u64 bytes_of(const struct study *trace, u64 otherwise)
{
	struct stat status;

	return stat(trace->path, &status) == 0 ? (u64)status.st_size : otherwise;
}

static void put_trace(struct json *json, const void *list, u64 i)
{
	const struct api *api = list;
	u32 slot = (u32)i;
	struct study_progress progress = api_progress(api, slot);
	const struct study *trace = api->traces[slot];
	struct study_file file = study_file(api->traces[slot]);
	bool live = is_live(api, slot);
	/* a trace that is renewed may go while it is looked at */
	bool whole = progress.state == STUDY_READY && !api->renewals[slot];

	put_object(json, NULL, FIELD("id", file.id), FIELD("name", trace->name),
		   NAME("program", whole ? trace->model->image.program : ""),
		   SOME("written", written_at(trace)),
		   /* or it has no name */
		   field_if(trace->how.index != INDEX_IGNORE, FIELD("path", trace->path)),
		   FIELD("bytes", live ? bytes_of(trace, file.bytes) : file.bytes),
		   FIELD("state", live ? "live" : state_word(progress.state)),
		   FIELD("phase", progress.phase), FIELD("progress", progress.share),
		   field_if(progress.state == STUDY_FAILED, FIELD("message", progress.err.text)));
}

/* Of all traces the one that is least far. */
static struct study_progress progress_of_all(const struct api *api)
{
	struct study_progress worst = {.state = STUDY_READY, .phase = "ready", .share = 1};

	for (u32 i = 0; i < api->count; i++) {
		struct study_progress one = api_progress(api, i);

		if (one.state == STUDY_FAILED)
			return one;
		if (one.state < worst.state ||
		    (one.state == worst.state && one.share < worst.share))
			worst = one;
	}
	return worst;
}

void api_status(struct call *call)
{
	struct study_progress progress = progress_of_all(call->api);
	u32 count = load_acquire(&call->api->count);
	bool live = false;

	for (u32 i = 0; i < count; i++)
		live |= is_live(call->api, i);
	call->epoch = call->api->renewals[0] ? renewal_epoch(call->api->renewals[0]) : 0;
	reply_object(call, false, FIELD("state", live ? "live" : state_word(progress.state)),
		     FIELD("phase", progress.phase), FIELD("progress", progress.share),
		     FIELD("version", call->api->version), FIELD("editor", call->api->editor.name),
		     LIST("traces", count, put_trace, call->api));
}

/* ---- trace ---- */

static const char *arch_name(u32 machine)
{
	return machine == 62 ? "x86_64" : machine == 183 ? "aarch64" : "unknown";
}

static u64 count_functions(const struct study *trace)
{
	struct map seen = {0};
	u64 count;

	for (u64 i = 0; i < trace->symbols.count; i++) {
		const struct symbol_entry *entry = &trace->symbols.entries[i];

		for (u32 k = 0; entry->image == trace->stacks.image && k < entry->frame_count; k++)
			map_put(&seen, hash_text(HASH_START, entry->frames[k].function), 1);
	}
	count = map_count(&seen);
	map_release(&seen);
	return count;
}

static u64 count_modules(const struct model *model)
{
	struct module_list modules = {0};
	u64 count = module_list_fill(&modules, model) ? modules.rows.count : 0;

	module_list_release(&modules);
	return count;
}

static void put_build_id(struct json *json, const void *list, u64 i)
{
	const struct model *model = list;
	const struct modmap_module *module = &model->contexts.modules.modules[i];
	char text[2 * 32 + 1] = "";

	if (!module->told)
		return;
	for (u32 k = 0; k < module->build_id_bytes && k < 32; k++)
		snprintf(text + 2 * k, 3, "%02x", module->build_id[k]);
	put_object(json, NULL, FIELD("path", *module->path ? module->path : model->image.program),
		   NAME("build_id", text));
}

static struct named_value caps_field(struct call *call)
{
	const struct study *trace = call->trace;
	const struct model *model = trace->model;
	bool lines = false;

	for (u64 i = 0; i < trace->symbols.count && !lines; i++)
		lines = trace->symbols.entries[i].frame_count &&
			trace->symbols.entries[i].frames[0].line;
	return KEPT("caps", call, FLAG("stacks", model->image.flags & HW_RUN_ALLOC_STACKS),
		    FLAG("free_stacks", model->image.flags & HW_RUN_FREE_STACKS),
		    FLAG("access", model->has_access),
		    FIELD("access_mode", access_mode_word(model->image.access)),
		    FLAG("types", model->types.count || lines),
		    FLAG("threads", model->threads.count), FLAG("source", lines),
		    FLAG("realloc", model->kinds[HW_REALLOC]),
		    FLAG("routines", trace->info.routines), FLAG("chunks", !model->aggregated),
		    FLAG("sampled", model->image.sample_bytes), FLAG("rss", model->usage.count),
		    FLAG("lost", !view_metric_missing(model, METRIC_LOST)),
		    FLAG("resident", !view_metric_missing(model, METRIC_RESIDENT)),
		    FLAG("owners", trace->info.graphs), FLAG("lisp", model_is_collected(model)),
		    FLAG("live", call->api->feed && call->slot == 0),
		    FLAG("notes", !trace_is_nameless(call->api->traces[call->slot]->path)));
}

/* What recording added to the program's time; 0 = not known. */
static u64 recording_ns(const struct study *trace)
{
	const struct model *model = trace->model;

	if (model->image.sample_bytes || model->has_access || trace->info.routines ||
	    model_is_collected(model))
		return 0;
	return trace->info.events * RECORDED_EVENT_NS;
}

void api_trace(struct call *call)
{
	struct study *trace = call->trace;
	const struct model *model = trace->model;
	const struct stream_image *image = &model->image;

	reply_object(call, false, FIELD("id", trace->id), FIELD("name", trace->name),
		     FIELD("program", image->program), FIELD("cmdline", image->command),
		     FIELD("pid", image->pid), SOME("start_wall", 0), /* is not recorded */
		     SOME("written", written_at(trace)), FIELD("bytes", study_file(trace).bytes),
		     FIELD("events", trace->info.events), SOME("recording_ns", recording_ns(trace)),
		     FIELD("duration_ns", model_duration_ns(model)),
		     FIELD("clock", tick_clock_known(&model->clock) ? "ns" : "ticks"),
		     FIELD("arch", arch_name(image->arch)),
		     FIELD("allocator", allocator_name(model)), FIELD("image", image->number),
		     FIELD("images", trace->info.images), FLAG("complete", model->has_end),
		     LIST("build_ids", model->contexts.modules.module_count, put_build_id, model),
		     caps_field(call),
		     OBJECT("counts", FIELD("chunks", trace->all.chunks),
			    FIELD("points", model->points.count),
			    FIELD("functions", count_functions(trace)),
			    FIELD("types", model->types.count),
			    FIELD("modules", count_modules(model)),
			    FIELD("threads", model->threads.count)));
}

/* ---- names ---- */

static void put_suggestion(struct json *json, const void *rows, u64 i)
{
	const struct suggestion *row = &((const struct suggestion *)rows)[i];

	put_object(json, NULL, FIELD("label", row->label), FIELD("count", row->count),
		   FIELD("bytes", row->bytes));
}

void api_suggest(struct call *call)
{
	const char *text = call_text(call, "s");
	struct suggest_query query = {.kind = SUGGEST_FN, .text = text ? text : "", .limit = 20};
	struct suggestions list = {0};
	struct err err = {0};

	if (!call_choice(call, "kind", suggest_kind_parse, &query.kind,
			 "fn, type, module, file or thread") ||
	    !call_number(call, "n", 1, 500, &query.limit))
		return;
	if (suggestions_make(&list, call->trace, &query, &err) < 0)
		call_fail(call, &err);
	else
		reply_list(call, list.found > list.rows.count, list.rows.count, put_suggestion,
			   list.rows.data);
	suggestions_release(&list);
}

void api_stack(struct call *call)
{
	const struct model *model = call->trace->model;
	u64 point;

	if (call_index(call, 0, "point", model->points.count, &point))
		reply_object(call, false, FIELD("point", point),
			     field_stack("frames", call, model->points.data[point].frame));
}
