/* SPDX-License-Identifier: MIT
 * A report as a tick of the Live view: an object of JSON on one line, of 4 kB at most. Host. */
#define _GNU_SOURCE
#include "show/serve/tick.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/render/fields.h"
#include "show/serve/feed.h"

enum { NAME_BYTES = 160, ROW_BYTES = 3 * NAME_BYTES + 200 };

/* In a second, to a tenth. */
static struct named_value rate(const char *name, u64 count, u64 interval_ns)
{
	double per_second = interval_ns ? (double)count * 1e9 / (double)interval_ns : 0;

	return FIELD(name, round(per_second * 10) / 10);
}

static double overhead(const struct watch_report *report)
{
	double cost = (double)report->interval_cost_ns, cpu = (double)report->interval_cpu_ns;

	return !report->monitored ? NAN : cpu > 0 ? round(1e4 * cost / cpu) / 100 : 0;
}

static void put_seconds(struct json *json, const void *times_ns, u64 i)
{
	json_real(json, NULL, (double)((const u64 *)times_ns)[i] / 1e9);
}

/* What cannot be measured is null, not 0. */
static void put_numbers(struct json *json, const struct watch_report *report,
			const struct policy_options *policy)
{
	u32 states = policy->kind == POLICY_ALL ? 0 : policy->states;
	u64 interval_ns = report->interval_ns;

	put_fields(json, FIELD("t", report->elapsed_ns),
		   rate("malloc_s", report->mallocs, interval_ns),
		   rate("free_s", report->frees, interval_ns),
		   rate("realloc_s", report->reallocs, interval_ns),
		   FIELD("live", report->live_areas), FIELD("live_bytes", report->live_bytes),
		   FIELD("monitored", report->armed_areas),
		   FIELD("monitored_bytes", report->armed_bytes),
		   FIELD("overhead_pct", overhead(report)),
		   field_if(report->monitored, FIELD("working_set", report->working_bytes)),
		   field_if(report->monitored,
			    FIELD("working_unknown", report->working_unknown_bytes)),
		   NUMBERS("age", report->ages, WATCH_AGES),
		   NUMBERS("age_bytes", report->age_bytes, WATCH_AGES),
		   FIELD("age_unknown", report->unknown_areas),
		   FIELD("age_unknown_bytes", report->unknown_bytes),
		   NUMBERS("thr", report->thresholds, states),
		   LIST("thr_states", states, put_seconds, policy->states_ns),
		   NUMBERS("sizes", report->sizes, WATCH_SIZES),
		   OBJECT("suspects", FIELD("n", report->stale_areas),
			  FIELD("bytes", report->stale_bytes),
			  field_if(report->scanned, FIELD("lost", report->lost_areas)),
			  field_if(report->scanned, FIELD("lost_bytes", report->lost_bytes))));
}

/* The innermost frame that is not the recorder's. */
static const struct watch_frame *place_of(const struct watch_stack *stack)
{
	u32 at = 0;

	while (at + 1 < stack->frames && strstr(stack->frame[at].module, "/libheapwise"))
		at++;
	return stack->frames ? &stack->frame[at] : NULL;
}

/* As much of a name as there is room for. */
struct short_text {
	char text[NAME_BYTES + 1];
};

static struct short_text shortened(const char *text)
{
	struct short_text cut;

	snprintf(cut.text, sizeof(cut.text), "%s", text ? text : "");
	return cut;
}

static void put_point(struct json *json, struct watch_names *names, const struct watch_point *point)
{
	static const struct watch_name unknown;
	const struct watch_frame *place = place_of(&point->stack);
	const struct watch_name *known = place ? watch_names_look(names, place) : NULL;
	const struct watch_name *name = known ? known : &unknown;
	const char *function = name->function ? name->function : name->text;

	put_object(json, NULL, FIELD("point", point->number),
		   field_if(function, FIELD("fn", shortened(function).text)),
		   field_if(name->file, FIELD("file", shortened(name->file).text)),
		   SOME("line", name->line), FIELD("own", point->bytes),
		   FIELD("total", point->line_bytes), FIELD("n", point->areas),
		   FIELD("delta", point->growth_bytes));
}

/* As many rows as there is room for. */
static void put_top(struct json *json, const size_t *bytes, struct watch_names *names,
		    const struct watch_report *report)
{
	json_open_flat(json, "top", '[');
	for (u32 i = 0; i < report->top_count; i++) {
		fflush(json->out);
		if (*bytes + ROW_BYTES > FEED_TICK_BYTES)
			break;
		put_point(json, names, &report->top[i]);
	}
	json_close(json, ']');
}

char *tick_make(const struct watch_report *report, const struct policy_options *policy,
		struct watch_names *names)
{
	char *text = NULL;
	size_t bytes = 0;
	struct json json = {.out = open_memstream(&text, &bytes)};

	if (!json.out)
		return NULL;
	json_open_flat(&json, NULL, '{');
	put_numbers(&json, report, policy);
	put_top(&json, &bytes, names, report);
	json_close(&json, '}');
	if (fclose(json.out) == 0)
		return text;
	free(text);
	return NULL;
}
