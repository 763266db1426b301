/* SPDX-License-Identifier: MIT
 * Keeps the stream's contract while reading. Runs on the host. Never lets an id through that was
 * not told, never stops reading for one. */
#include "host/trace/guard.h"

#include <stdlib.h>
#include <string.h>

/* A set of context ids: ids are dense where they are used, but a bad file may name any. */
enum { SET_PAGE_BITS = 1 << 16, SET_PAGES = 1 << 16 };

/* Most placeholders for one gap of lost threads or modules: as many as a facts block can hold. */
enum { PLACEHOLDERS_MAX = 1 << 14 };

struct guard {
	struct stream_sink out;
	u64 *contexts[SET_PAGES]; /* bit per told context */
	u32 pages_end;            /* pages from here on are NULL */
	u32 image;                /* that is being told */
	bool entered, told, ended;
	u64 threads, modules; /* told in this image */
	u64 lost_names;
};

struct guard *guard_new(const struct stream_sink *out)
{
	struct guard *guard = calloc(1, sizeof(*guard));

	if (guard)
		guard->out = *out;
	return guard;
}

static void forget_contexts(struct guard *guard)
{
	for (u32 i = 0; i < guard->pages_end; i++) {
		free(guard->contexts[i]);
		guard->contexts[i] = NULL;
	}
	guard->pages_end = 0;
}

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	forget_contexts(guard);
	free(guard);
}

u64 guard_lost_names(const struct guard *guard) { return guard->lost_names; }

bool guard_enter(struct guard *guard, u32 image)
{
	if (guard->entered && image == guard->image)
		return !guard->ended;
	if (guard->entered && image < guard->image)
		return false;
	guard->entered = true;
	guard->image = image;
	guard->told = guard->ended = false;
	guard->threads = guard->modules = 0;
	forget_contexts(guard);
	return true;
}

static inline bool context_known(const struct guard *guard, u32 id)
{
	const u64 *page = guard->contexts[id / SET_PAGE_BITS];

	return page && page[id % SET_PAGE_BITS / 64] >> (id % 64) & 1;
}

static int context_add(struct guard *guard, u32 id, struct err *err)
{
	u64 **page = &guard->contexts[id / SET_PAGE_BITS];

	if (!*page)
		*page = calloc(SET_PAGE_BITS / 64, sizeof(u64));
	if (!*page)
		return err_memory(err);
	if (guard->pages_end <= id / SET_PAGE_BITS)
		guard->pages_end = id / SET_PAGE_BITS + 1;
	(*page)[id % SET_PAGE_BITS / 64] |= 1ull << (id % 64);
	return 0;
}

static int tell_image(struct guard *guard, const struct stream_image *image, struct err *err)
{
	if (!guard->entered || guard->told) {
		guard->lost_names++;
		return 0;
	}
	guard->told = true;
	return stream_tell(&guard->out, image, image, err);
}

/* Before anything of an image is told, the image is. 1 = go on, 0 = drop, else the sink's error. */
static int need_image(struct guard *guard, struct err *err)
{
	const struct stream_image unknown = {.program = "", .command = ""};
	int status;

	if (!guard->entered || guard->ended) {
		guard->lost_names++;
		return 0;
	}
	if (guard->told)
		return 1;
	guard->lost_names++;
	status = tell_image(guard, &unknown, err);
	return status < 0 ? status : 1;
}

/* False if to include index would take too many placeholders. */
static bool gap_is_small(u64 next, u64 index) { return index < next + PLACEHOLDERS_MAX; }

static int tell_lost_modules(struct guard *guard, u32 before, struct err *err)
{
	int status = 0;

	while (guard->modules < before && status == 0) {
		struct stream_module lost = {.id = (u32)guard->modules++, .path = ""};

		guard->lost_names++;
		status = stream_tell(&guard->out, module, &lost, err);
	}
	return status;
}

static int tell_module(struct guard *guard, const struct stream_module *module, struct err *err)
{
	int status;

	if (!gap_is_small(guard->modules, module->id)) {
		guard->lost_names++;
		return 0;
	}
	status = tell_lost_modules(guard, module->id, err);
	if (status < 0)
		return status;
	if (module->id == guard->modules)
		guard->modules++;
	return stream_tell(&guard->out, module, module, err);
}

static int tell_lost_threads(struct guard *guard, u32 before, struct err *err)
{
	int status = 0;

	while (guard->threads < before && status == 0) {
		struct stream_thread lost = {.index = (u32)guard->threads++};

		guard->lost_names++;
		status = stream_tell(&guard->out, thread, &lost, err);
	}
	return status;
}

static int tell_thread(struct guard *guard, const struct stream_thread *thread, struct err *err)
{
	int status;

	if (thread->index < guard->threads || !gap_is_small(guard->threads, thread->index)) {
		guard->lost_names++;
		return 0;
	}
	status = tell_lost_threads(guard, thread->index, err);
	if (status < 0)
		return status;
	guard->threads++;
	return stream_tell(&guard->out, thread, thread, err);
}

/* Every id once and parents first: so what is told is a tree. */
static int tell_context(struct guard *guard, const struct stream_context *context, struct err *err)
{
	struct stream_context good = *context;
	int status;

	if (good.id == 0 || context_known(guard, good.id)) {
		guard->lost_names++;
		return 0;
	}
	if (good.parent && !context_known(guard, good.parent)) {
		guard->lost_names++;
		good.parent = 0;
	}
	status = context_add(guard, good.id, err);
	if (status < 0)
		return status;
	return stream_tell(&guard->out, contexts, &good, 1, err);
}

/* How many of them, from the first on, need nothing put right: they are told in one call. */
static u64 good_contexts(struct guard *guard, const struct stream_context *contexts, u64 count)
{
	u64 i;

	for (i = 0; i < count; i++) {
		const struct stream_context *c = &contexts[i];

		if (c->id == 0 || context_known(guard, c->id) ||
		    (c->parent && !context_known(guard, c->parent)) ||
		    context_add(guard, c->id, NULL) < 0)
			break;
	}
	return i;
}

int guard_contexts(struct guard *guard, const struct stream_context *contexts, u64 count,
		   struct err *err)
{
	int status = need_image(guard, err);

	if (status <= 0)
		return status;
	status = 0;
	while (count && status == 0) {
		u64 good = good_contexts(guard, contexts, count);

		if (good && guard->out.contexts)
			status = guard->out.contexts(guard->out.self, contexts, good, err);
		contexts += good;
		count -= good;
		if (count && status == 0) {
			status = tell_context(guard, contexts++, err);
			count--;
		}
	}
	return status;
}

static bool rows_known(const struct guard *guard, const struct stream_aggregate *rows, u64 count)
{
	for (u64 i = 0; i < count; i++) {
		if (rows[i].context && !context_known(guard, rows[i].context))
			return false;
	}
	return true;
}

int guard_aggregates(struct guard *guard, const struct stream_aggregate *rows, u64 count,
		     struct err *err)
{
	int status = need_image(guard, err);

	if (status <= 0 || !guard->out.aggregates)
		return status < 0 ? status : 0;
	if (rows_known(guard, rows, count))
		return guard->out.aggregates(guard->out.self, rows, count, err);
	status = 0;
	for (u64 i = 0; i < count && status == 0; i++) {
		struct stream_aggregate row = rows[i];

		if (row.context && !context_known(guard, row.context)) {
			guard->lost_names++;
			row.context = 0;
		}
		status = guard->out.aggregates(guard->out.self, &row, 1, err);
	}
	return status;
}

int guard_scan(struct guard *guard, const struct stream_scan *scan,
	       const struct stream_class *classes, u64 count, struct err *err)
{
	int status = need_image(guard, err);

	return status <= 0 ? status : stream_tell(&guard->out, scan, scan, classes, count, err);
}

int guard_graph(struct guard *guard, const struct stream_graph *graph, struct err *err)
{
	int status = need_image(guard, err);

	return status <= 0 ? status : stream_tell(&guard->out, graph, graph, err);
}

int guard_accesses(struct guard *guard, const struct stream_access *rows, u64 count,
		   struct err *err)
{
	int status = need_image(guard, err);

	return status <= 0 ? status : stream_tell(&guard->out, accesses, rows, count, err);
}

int guard_types(struct guard *guard, const struct stream_type *rows, u64 count, struct err *err)
{
	int status = need_image(guard, err);

	return status <= 0 ? status : stream_tell(&guard->out, types, rows, count, err);
}

/* A note may be about the whole file: it needs no image. */
int guard_note(struct guard *guard, const char *key, const char *value, struct err *err)
{
	return stream_tell(&guard->out, note, key, value, err);
}

int guard_fact(struct guard *guard, enum hw_fact tag, const void *fact, struct err *err)
{
	const struct stream_sink *out = &guard->out;
	int status = tag == HW_FACT_IMAGE ? 1 : need_image(guard, err);

	if (status <= 0)
		return status;
	switch (tag) {
	case HW_FACT_IMAGE: return tell_image(guard, fact, err);
	case HW_FACT_MODULE: return tell_module(guard, fact, err);
	case HW_FACT_THREAD: return tell_thread(guard, fact, err);
	case HW_FACT_CLOCK: return stream_tell(out, clock, fact, err);
	case HW_FACT_USAGE: return stream_tell(out, usage, fact, err);
	case HW_FACT_MEMORY: return stream_tell(out, memory, fact, err);
	case HW_FACT_NAME: return stream_tell(out, name, fact, err);
	case HW_FACT_IMAGE_END: guard->ended = true; return stream_tell(out, image_end, fact, err);
	default: return 0;
	}
}

/* The thread that is told in place of one that was not. */
static int need_thread(struct guard *guard, u32 *thread, struct err *err)
{
	if (!gap_is_small(guard->threads, *thread)) {
		guard->lost_names++;
		*thread = 0;
		if (guard->threads)
			return 0;
	}
	return tell_lost_threads(guard, *thread + 1, err);
}

int guard_events(struct guard *guard, struct event *events, u64 count, struct err *err)
{
	int status = need_image(guard, err);

	if (status <= 0)
		return status;
	for (u64 i = 0; i < count; i++) {
		struct event *e = &events[i];

		if (unlikely(e->context && !context_known(guard, e->context))) {
			guard->lost_names++;
			e->context = 0;
		}
		if (unlikely(e->thread >= guard->threads)) {
			status = need_thread(guard, &e->thread, err);
			if (status < 0)
				return status;
		}
	}
	return stream_tell(&guard->out, events, events, count, err);
}

int guard_routines(struct guard *guard, struct stream_routine *rows, u64 count, struct err *err)
{
	int status = need_image(guard, err);

	if (status <= 0)
		return status;
	for (u64 i = 0; i < count; i++) {
		if (likely(rows[i].thread < guard->threads))
			continue;
		status = need_thread(guard, &rows[i].thread, err);
		if (status < 0)
			return status;
	}
	return stream_tell(&guard->out, routines, rows, count, err);
}
