/* SPDX-License-Identifier: MIT
 * What is served, and how far it is; names for completion; stacks. Runs on threads of the
 * server. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/atomics.h"
#include "show/serve/reply.h"
#include "study/layout/suggest.h"

/* ---- status ---- */

static const char *state_word(enum study_state state)
{
	static const char *const words[] = {[STUDY_WAITING] = "indexing",
					    [STUDY_LOADING] = "indexing",
					    [STUDY_READY] = "ready",
					    [STUDY_FAILED] = "error"};

	return words[state];
}

static struct study_progress progress_of(const struct api *api, u32 slot)
{
	return api->renewals[slot] ? renewal_progress(api->renewals[slot])
				   : study_progress(api->traces[slot]);
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

static void put_trace(struct json *json, const struct api *api, u32 slot)
{
	struct study_progress progress = progress_of(api, slot);
	const struct study *trace = api->traces[slot];
	struct study_file file = study_file(api->traces[slot]);
	bool live = is_live(api, slot);

	put_object(json, NULL, FIELD("id", file.id), FIELD("name", trace->name),
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
		struct study_progress one = progress_of(api, i);

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
	struct json *json = &call->json;
	bool live = false;

	for (u32 i = 0; i < count; i++)
		live |= is_live(call->api, i);
	call->epoch = call->api->renewals[0] ? renewal_epoch(call->api->renewals[0]) : 0;
	if (!reply_begin(call, false))
		return;
	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("state", live ? "live" : state_word(progress.state)),
		   FIELD("phase", progress.phase), FIELD("progress", progress.share),
		   FIELD("version", call->api->version), FIELD("editor", call->api->editor.name));
	json_open_flat(json, "traces", '[');
	for (u32 i = 0; i < count; i++)
		put_trace(json, call->api, i);
	json_close(json, ']');
	json_close(json, '}');
	reply_end(call);
}

/* ---- trace ---- */

static const char *arch_name(u32 machine)
{
	return machine == 62 ? "x86_64" : machine == 183 ? "aarch64" : "unknown";
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* By the libraries that were loaded: the first one that stands in for the C library's allocator, or
 * that one. NULL if nobody can tell, as of a program without libraries. */
static const char *allocator_name(const struct model *model)
{
	static const char *const names[][2] = {{"libjemalloc", "jemalloc"},
					       {"libmimalloc", "mimalloc"},
					       {"libtcmalloc", "tcmalloc"},
					       {"libsnmalloc", "snmalloc"},
					       {"libhoard", "hoard"},
					       {"ld-musl", "musl"},
					       {"libc.so", "glibc"}};
	const struct modmap *map = &model->contexts.modules;

	for (u32 k = 0; k < sizeof names / sizeof *names; k++)
		for (u32 i = 0; i < map->module_count; i++)
			if (map->modules[i].told && strncmp(file_name(map->modules[i].path),
							    names[k][0], strlen(names[k][0])) == 0)
				return names[k][1];
	return NULL;
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

static void put_build_ids(struct json *json, const struct model *model)
{
	const struct modmap *map = &model->contexts.modules;

	json_open_flat(json, "build_ids", '[');
	for (u32 i = 0; i < map->module_count; i++) {
		const struct modmap_module *module = &map->modules[i];
		char text[2 * 32 + 1] = "";

		if (!module->told)
			continue;
		for (u32 k = 0; k < module->build_id_bytes && k < 32; k++)
			snprintf(text + 2 * k, 3, "%02x", module->build_id[k]);
		put_object(json, NULL,
			   FIELD("path", *module->path ? module->path : model->image.program),
			   NAME("build_id", text));
	}
	json_close(json, ']');
}

static void put_caps(struct json *json, const struct study *trace, bool live)
{
	const struct model *model = trace->model;
	bool lines = false;

	for (u64 i = 0; i < trace->symbols.count && !lines; i++)
		lines = trace->symbols.entries[i].frame_count &&
			trace->symbols.entries[i].frames[0].line;
	put_object(json, "caps", FLAG("stacks", model->image.flags & HW_RUN_ALLOC_STACKS),
		   FLAG("free_stacks", model->image.flags & HW_RUN_FREE_STACKS),
		   FLAG("access", model->has_access),
		   FIELD("access_mode", access_mode_word(model->image.access)),
		   FLAG("types", model->types.count || lines),
		   FLAG("threads", model->threads.count), FLAG("source", lines),
		   FLAG("realloc", model->kinds[HW_REALLOC]),
		   FLAG("routines", trace->info.routines), FLAG("chunks", !model->aggregated),
		   FLAG("sampled", model->image.sample_bytes), FLAG("rss", model->usage.count),
		   FLAG("lisp", model_is_collected(model)), FLAG("live", live));
}

static void put_counts(struct json *json, const struct study *trace)
{
	const struct model *model = trace->model;

	put_object(json, "counts", FIELD("chunks", trace->all.chunks),
		   FIELD("points", model->points.count), FIELD("functions", count_functions(trace)),
		   FIELD("types", model->types.count), FIELD("modules", count_modules(model)),
		   FIELD("threads", model->threads.count));
}

void api_trace(struct call *call)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;

	if (!reply_begin(call, false))
		return;
	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("id", call->trace->id), FIELD("name", call->trace->name),
		   FIELD("program", model->image.program), FIELD("cmdline", model->image.command),
		   FIELD("pid", model->image.pid), SOME("start_wall", 0), /* is not recorded */
		   SOME("written", written_at(call->trace)),
		   FIELD("bytes", study_file(call->trace).bytes),
		   FIELD("events", call->trace->info.events),
		   FIELD("duration_ns", model_duration_ns(call->trace->model)),
		   FIELD("clock", tick_clock_known(&model->clock) ? "ns" : "ticks"),
		   FIELD("arch", arch_name(model->image.arch)),
		   FIELD("allocator", allocator_name(model)), FIELD("image", model->image.number),
		   FIELD("images", call->trace->info.images), FLAG("complete", model->has_end));
	put_build_ids(json, model);
	put_caps(json, call->trace, call->api->feed && call->slot == 0);
	put_counts(json, call->trace);
	json_close(json, '}');
	reply_end(call);
}

/* ---- names ---- */

void api_suggest(struct call *call)
{
	const char *word = call_text(call, "kind"), *text = call_text(call, "s");
	struct suggest_query query = {.kind = SUGGEST_FN, .text = text ? text : "", .limit = 20};
	struct suggestions list = {0};
	struct err err = {0};

	if (word && !suggest_kind_parse(word, &query.kind)) {
		call_bad(call, "kind", "fn, type, module, file or thread");
		return;
	}
	if (!call_number(call, "n", 1, 500, &query.limit))
		return;
	if (suggestions_make(&list, call->trace, &query, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, list.found > list.rows.count)) {
		json_open_flat(&call->json, "data", '[');
		for (u64 i = 0; i < list.rows.count; i++)
			put_object(&call->json, NULL, FIELD("label", list.rows.data[i].label),
				   FIELD("count", list.rows.data[i].count),
				   FIELD("bytes", list.rows.data[i].bytes));
		json_close(&call->json, ']');
		reply_end(call);
	}
	suggestions_release(&list);
}

void api_stack(struct call *call)
{
	u64 point;

	if (!call_index(call, 0, "point", call->trace->model->points.count, &point) ||
	    !reply_begin(call, false))
		return;
	json_open_flat(&call->json, "data", '{');
	json_number(&call->json, "point", point);
	put_stack(call, "frames", call->trace->model->points.data[point].frame);
	json_close(&call->json, '}');
	reply_end(call);
}
