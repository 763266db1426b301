/* SPDX-License-Identifier: MIT
 * A report as a tick of the Live view: an object of JSON on one line, of 4 kB at most. Host. */
#define _GNU_SOURCE
#include "show/serve/tick.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/json.h"
#include "show/serve/feed.h"

enum { NAME_BYTES = 160, ROW_BYTES = 3 * NAME_BYTES + 200 };

static void numbers(struct json *json, const char *key, const u64 *values, u32 count)
{
	json_open_flat(json, key, '[');
	for (u32 i = 0; i < count; i++)
		json_number(json, NULL, values[i]);
	json_close(json, ']');
}

/* In a second, to a tenth. */
static void rate(struct json *json, const char *key, u64 count, u64 interval_ns)
{
	double per_second = interval_ns ? (double)count * 1e9 / (double)interval_ns : 0;

	json_real(json, key, round(per_second * 10) / 10);
}

static void put_heap(struct json *json, const struct watch_report *report)
{
	json_number(json, "t", report->elapsed_ns);
	rate(json, "malloc_s", report->mallocs, report->interval_ns);
	rate(json, "free_s", report->frees, report->interval_ns);
	rate(json, "realloc_s", report->reallocs, report->interval_ns);
	json_number(json, "live", report->live_areas);
	json_number(json, "live_bytes", report->live_bytes);
}

/* What cannot be measured is null, not 0. */
static void put_monitoring(struct json *json, const struct watch_report *report)
{
	double cost = (double)report->interval_cost_ns, cpu = (double)report->interval_cpu_ns;

	json_number(json, "monitored", report->armed_areas);
	json_number(json, "monitored_bytes", report->armed_bytes);
	json_real(json, "overhead_pct",
		  !report->monitored ? NAN
		  : cpu > 0          ? round(1e4 * cost / cpu) / 100
				     : 0);
	if (report->monitored) {
		json_number(json, "working_set", report->working_bytes);
		json_number(json, "working_unknown", report->working_unknown_bytes);
	} else {
		json_null(json, "working_set");
		json_null(json, "working_unknown");
	}
	numbers(json, "age", report->ages, WATCH_AGES);
	numbers(json, "age_bytes", report->age_bytes, WATCH_AGES);
	json_number(json, "age_unknown", report->unknown_areas);
	json_number(json, "age_unknown_bytes", report->unknown_bytes);
}

static void put_thresholds(struct json *json, const struct watch_report *report,
			   const struct policy_options *policy)
{
	u32 count = policy->kind == POLICY_ALL ? 0 : policy->states;

	numbers(json, "thr", report->thresholds, count);
	json_open_flat(json, "thr_states", '[');
	for (u32 i = 0; i < count; i++)
		json_real(json, NULL, (double)policy->states_ns[i] / 1e9);
	json_close(json, ']');
}

static void put_suspects(struct json *json, const struct watch_report *report)
{
	json_open_flat(json, "suspects", '{');
	json_number(json, "n", report->stale_areas);
	json_number(json, "bytes", report->stale_bytes);
	if (report->scanned) {
		json_number(json, "lost", report->lost_areas);
		json_number(json, "lost_bytes", report->lost_bytes);
	} else {
		json_null(json, "lost");
		json_null(json, "lost_bytes");
	}
	json_close(json, '}');
}

/* The innermost frame that is not the recorder's. */
static const struct watch_frame *place_of(const struct watch_stack *stack)
{
	u32 at = 0;

	while (at + 1 < stack->frames && strstr(stack->frame[at].module, "/libheapwise"))
		at++;
	return stack->frames ? &stack->frame[at] : NULL;
}

static void put_short(struct json *json, const char *key, const char *text)
{
	char cut[NAME_BYTES + 1];

	snprintf(cut, sizeof(cut), "%s", text ? text : "");
	json_text(json, key, text ? cut : NULL);
}

static void put_point(struct json *json, struct watch_names *names, const struct watch_point *point)
{
	const struct watch_frame *place = place_of(&point->stack);
	const struct watch_name *name = place ? watch_names_look(names, place) : NULL;

	json_open_flat(json, NULL, '{');
	json_number(json, "point", point->number);
	put_short(json, "fn", name ? name->function ? name->function : name->text : NULL);
	put_short(json, "file", name ? name->file : NULL);
	if (name && name->line)
		json_number(json, "line", name->line);
	else
		json_null(json, "line");
	json_number(json, "own", point->bytes);
	json_number(json, "total", point->line_bytes);
	json_number(json, "n", point->areas);
	json_signed(json, "delta", point->growth_bytes);
	json_close(json, '}');
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
	put_heap(&json, report);
	put_monitoring(&json, report);
	put_thresholds(&json, report, policy);
	numbers(&json, "sizes", report->sizes, WATCH_SIZES);
	put_suspects(&json, report);
	put_top(&json, &bytes, names, report);
	json_close(&json, '}');
	if (fclose(json.out) == 0)
		return text;
	free(text);
	return NULL;
}
