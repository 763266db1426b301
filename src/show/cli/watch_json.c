/* SPDX-License-Identifier: MIT
 * A report of `heapwise watch` as one line of JSON. Host. */
#include <string.h>

#include "show/cli/watch_show.h"
#include "host/base/json.h"
#include "show/render/render.h"

/* Without the frames of the recorder itself, and of the signal that it gets. */
static void stack_write(struct watch_show *self, struct json *json, const char *key,
			const struct watch_stack *stack)
{
	json_open(json, key, '[');
	for (u32 i = 0; i < stack->frames; i++) {
		const char *name = watch_names_find(&self->names, &stack->frame[i]);

		if (!strstr(stack->frame[i].module, "/libheapwise") &&
		    strncmp(name, "__restore_rt ", 13) != 0)
			json_text(json, NULL, name);
	}
	json_close(json, ']');
}

static void point_write(struct watch_show *self, struct json *json, const struct watch_point *point,
			bool scanned)
{
	json_open(json, NULL, '{');
	json_number(json, "context", point->context);
	json_number(json, "areas", point->areas);
	json_number(json, "bytes", point->bytes);
	json_number(json, "stale_areas", point->stale_areas);
	json_number(json, "stale_bytes", point->stale_bytes);
	if (scanned)
		json_number(json, "lost_areas", point->lost_areas);
	if (scanned)
		json_number(json, "unknown_areas", point->unknown_areas);
	if (point->type)
		json_text(json, "type", watch_names_type(&self->names, &point->type_at));
	json_number(json, "oldest_ms", point->oldest_ns / 1000000);
	json_number(json, "hits", point->hits);
	json_signed(json, "growth_bytes", point->growth_bytes);
	stack_write(self, json, "stack", &point->stack);
	json_close(json, '}');
}

struct points {
	const char *key;
	const struct watch_point *rows;
	u32 count;
	bool scanned; /* it is known which of their areas are lost */
};

static void points_write(struct watch_show *self, struct json *json, struct points points)
{
	json_open(json, points.key, '[');
	for (u32 i = 0; i < points.count; i++)
		point_write(self, json, &points.rows[i], points.scanned);
	json_close(json, ']');
}

static void numbers_write(struct json *json, const char *key, const u64 *numbers, u32 count)
{
	json_open(json, key, '[');
	for (u32 i = 0; i < count; i++)
		json_number(json, NULL, numbers[i]);
	json_close(json, ']');
}

static double share(u64 part, u64 whole) { return whole ? (double)part / (double)whole : 0; }

static void heap_write(struct json *json, const struct watch_report *report)
{
	json_number(json, "report", report->number);
	json_bool(json, "last", report->last);
	json_number(json, "elapsed_ms", report->elapsed_ns / 1000000);
	json_number(json, "interval_ms", report->interval_ns / 1000000);
	json_number(json, "mallocs", report->mallocs);
	json_number(json, "frees", report->frees);
	json_number(json, "reallocs", report->reallocs);
	json_number(json, "live_areas", report->live_areas);
	json_number(json, "live_bytes", report->live_bytes);
	json_real(json, "mean_size", share(report->live_bytes, report->live_areas));
	json_number(json, "points", report->points);
	json_number(json, "working_bytes", report->working_bytes);
	json_number(json, "working_unknown_bytes", report->working_unknown_bytes);
	numbers_write(json, "sizes_log2", report->sizes, WATCH_SIZES);
	numbers_write(json, "ages_s_1_2_4_8_16_32_more", report->ages, WATCH_AGES);
	numbers_write(json, "age_bytes", report->age_bytes, WATCH_AGES);
	json_number(json, "age_unknown_areas", report->unknown_areas);
	json_number(json, "age_unknown_bytes", report->unknown_bytes);
}

static void monitoring_write(const struct watch_show *self, struct json *json,
			     const struct watch_report *report)
{
	json_text(json, "policy", self->policy);
	json_text(json, "sees", self->writes ? "writes" : "accesses");
	json_number(json, "units", report->units);
	json_number(json, "armed_units", report->armed_units);
	json_number(json, "armed_areas", report->armed_areas);
	json_number(json, "armed_bytes", report->armed_bytes);
	json_number(json, "hits", report->hits);
	json_number(json, "kernel_hits", report->kernel_hits);
	json_number(json, "arms", report->arms);
	json_number(json, "refusals", report->refusals);
	json_number(json, "floods", report->floods);
	json_number(json, "around", report->around);
	json_real(json, "armed_byte_s", report->armed_byte_s);
	json_real(json, "live_byte_s", report->live_byte_s);
	json_number(json, "cost_ns", report->cost_ns);
	json_number(json, "arming_ns", report->arming_ns);
	json_number(json, "opening_ns", report->opening_ns);
	json_number(json, "cpu_ns", report->cpu_ns);
	json_number(json, "calls_ns", report->calls_ns);
	json_number(json, "heapwise_ns", report->monitor_ns);
	json_real(json, "overhead", share(report->cost_ns, report->cpu_ns));
	json_real(json, "interval_overhead",
		  share(report->interval_cost_ns, report->interval_cpu_ns));
	json_open(json, "thresholds", '[');
	for (u32 i = 0; i < self->options->states && self->options->kind != POLICY_ALL; i++) {
		json_open(json, NULL, '{');
		json_number(json, "ms", self->options->states_ns[i] / 1000000);
		json_number(json, "units", report->thresholds[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void area_write(struct watch_show *self, struct json *json, const struct watch_area *area,
		       bool rare)
{
	json_open(json, NULL, '{');
	json_number(json, "address", area->address);
	json_number(json, "size", area->size);
	json_number(json, "age_ms", area->age_ns / 1000000);
	json_number(json, "life_ms", area->life_ns / 1000000);
	json_number(json, "hits", area->hits);
	if (rare)
		json_real(json, "hits_per_s", area->rate);
	json_number(json, "context", area->context);
	if (rare)
		stack_write(self, json, "stack", &area->made);
	if (area->touched.frames)
		stack_write(self, json, "touched_by", &area->touched);
	json_close(json, '}');
}

static void areas_write(struct watch_show *self, struct json *json,
			const struct watch_report *report)
{
	json_open(json, "oldest", '[');
	for (u32 i = 0; i < report->oldest_count; i++)
		area_write(self, json, &report->oldest[i], false);
	json_close(json, ']');
	json_open(json, "rare", '[');
	for (u32 i = 0; i < report->rare_count; i++)
		area_write(self, json, &report->rare[i], true);
	json_close(json, ']');
}

static void types_write(struct watch_show *self, struct json *json,
			const struct watch_report *report)
{
	json_open(json, "suspect_types", '[');
	for (u32 i = 0; i < report->types_count; i++) {
		const struct watch_type *type = &report->types[i];

		json_open(json, NULL, '{');
		json_text(json, "type",
			  type->type ? watch_names_type(&self->names, &type->at) : "");
		json_number(json, "stale_areas", type->stale_areas);
		json_number(json, "stale_bytes", type->stale_bytes);
		if (report->scanned)
			json_number(json, "lost_areas", type->lost_areas);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void watch_show_json(struct watch_show *self, const struct watch_report *report)
{
	struct json json = {.out = self->out};

	json_open_flat(&json, NULL, '{');
	heap_write(&json, report);
	monitoring_write(self, &json, report);
	json_number(&json, "stale_areas", report->stale_areas);
	json_number(&json, "stale_bytes", report->stale_bytes);
	if (report->scanned)
		json_number(&json, "lost_areas", report->lost_areas);
	if (report->scanned_ns)
		json_number(&json, "scanned_ns", report->scanned_ns);
	json_number(&json, "scans", report->scans);
	json_real(&json, "scan_ms", (double)report->scan_ns / 1e6);
	points_write(self, &json,
		     (struct points){"suspects", report->suspects, report->suspects_count,
				     report->scanned});
	points_write(self, &json,
		     (struct points){"growth", report->growth, report->growth_count, false});
	if (self->grown->table)
		render_json_rows(&json, "grown", self->grown->table);
	types_write(self, &json, report);
	areas_write(self, &json, report);
	json_close(&json, '}');
	json_end(&json);
	fflush(self->out);
}
