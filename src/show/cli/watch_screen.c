/* SPDX-License-Identifier: MIT
 * A report of `heapwise watch` as a screen of plain ANSI, and the text after the program's end.
 * Host.
 * ANSI and not ncurses: the terminal is the program's, too, and nothing of it is to be taken
 * over. */
#include <stdlib.h>
#include <string.h>

#include "host/base/units.h"
#include "show/cli/watch_show.h"

enum { BAR = 40, ROWS_SHOWN = 6, FRAMES_SHOWN = 5 };

static const char *const age_names[WATCH_AGES] = {"< 1 s",  "< 2 s",  "< 4 s", "< 8 s",
						  "< 16 s", "< 32 s", "more"};

static void bar(FILE *out, u64 part, u64 whole)
{
	u64 length = whole ? part * BAR / whole : 0;

	for (u64 i = 0; i < BAR; i++)
		fputc(i < length ? '#' : ' ', out);
}

static double rate(u64 count, u64 interval_ns)
{
	return interval_ns ? (double)count * 1e9 / (double)interval_ns : 0;
}

static const char *areas(u64 count) { return count == 1 ? "area" : "areas"; }

static void show_head(const struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "heapwise watch  %s  policy %s  overhead %s (now %s)\n",
		units_ns(report->elapsed_ns).text, self->policy,
		units_percent(units_share(report->cost_ns, report->cpu_ns)).text,
		units_percent(units_share(report->interval_cost_ns, report->interval_cpu_ns)).text);
	fprintf(self->out, "mallocs/s %.0f  frees/s %.0f  reallocs/s %.0f\n",
		rate(report->mallocs, report->interval_ns),
		rate(report->frees, report->interval_ns),
		rate(report->reallocs, report->interval_ns));
	fprintf(self->out, "live %s %s, %s, mean %s; touched in this interval %s, unknown %s\n",
		units_count(report->live_areas).text, areas(report->live_areas),
		units_bytes(report->live_bytes).text,
		units_bytes(report->live_areas ? report->live_bytes / report->live_areas : 0).text,
		units_bytes(report->working_bytes).text,
		units_bytes(report->working_unknown_bytes).text);
	fprintf(self->out, "monitored %s %s, %s in %s %s; hits %s, arms %s\n",
		units_count(report->armed_areas).text, areas(report->armed_areas),
		units_bytes(report->armed_bytes).text, units_count(report->armed_units).text,
		report->armed_units == 1 ? "unit" : "units", units_count(report->hits).text,
		units_count(report->arms).text);
}

static void show_age(const struct watch_show *self, const char *name, u64 areas, u64 bytes, u64 all)
{
	fprintf(self->out, "%8s %12s %12s ", name, units_count(areas).text,
		units_bytes(bytes).text);
	bar(self->out, areas, all);
	fputc('\n', self->out);
}

static void show_ages(const struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\n%s   areas        bytes\n",
		self->writes ? "unwritten for" : "untouched for");
	for (u32 i = 0; i < WATCH_AGES; i++)
		show_age(self, age_names[i], report->ages[i], report->age_bytes[i],
			 report->live_areas);
	show_age(self, "unknown", report->unknown_areas, report->unknown_bytes, report->live_areas);
}

static void show_thresholds(const struct watch_show *self, const struct watch_report *report)
{
	if (self->options->kind == POLICY_ALL)
		return;
	fprintf(self->out,
		self->options->kind == POLICY_MPC ? "hit expected within:" : "thresholds:");
	for (u32 i = 0; i < self->options->states; i++)
		fprintf(self->out, "  %s %s", units_ns(self->options->states_ns[i]).text,
			units_count(report->thresholds[i]).text);
	fputc('\n', self->out);
}

/* Without the frames of the recorder itself, and of the signal that it gets. */
static bool is_ours(struct watch_show *self, const struct watch_frame *frame)
{
	return strstr(frame->module, "/libheapwise") ||
	       strncmp(watch_names_find(&self->names, frame), "__restore_rt ", 13) == 0;
}

static void show_stack(struct watch_show *self, const struct watch_stack *stack, u32 most)
{
	u32 shown = 0;

	for (u32 i = 0; i < stack->frames && shown < most; i++)
		if (!is_ours(self, &stack->frame[i]))
			fprintf(self->out, "%s%s", shown++ ? " < " : "",
				watch_names_find(&self->names, &stack->frame[i]));
}

/* ---- suspects -------------------------------------------------------------------------------- */

static bool is_wanted(struct watch_show *self, const struct watch_stack *stack)
{
	if (!self->view.filter[0])
		return true;
	for (u32 i = 0; i < stack->frames; i++)
		if (strcasestr(watch_names_find(&self->names, &stack->frame[i]), self->view.filter))
			return true;
	return false;
}

static u64 sort_key(const struct watch_point *point, u32 sort)
{
	return sort == WATCH_BY_AREAS  ? point->stale_areas
	       : sort == WATCH_BY_AGE  ? point->oldest_ns
	       : sort == WATCH_BY_HITS ? UINT64_MAX - point->hits
				       : point->stale_bytes;
}

/* The numbers of the suspects in the order of the view, those that the filter leaves; how many
 * there are. */
static u32 order(struct watch_show *self, const struct watch_report *report, u32 rows[WATCH_ROWS])
{
	u32 count = 0;

	for (u32 i = 0; i < report->suspects_count; i++) {
		u64 key = sort_key(&report->suspects[i], self->view.sort);
		u32 at = count;

		if (!is_wanted(self, &report->suspects[i].stack))
			continue;
		for (; at && sort_key(&report->suspects[rows[at - 1]], self->view.sort) < key; at--)
			rows[at] = rows[at - 1];
		rows[at] = i;
		count++;
	}
	return count;
}

static void show_point(struct watch_show *self, const struct watch_report *report,
		       const struct watch_point *point, u32 frames)
{
	u64 reachable = point->stale_areas - point->lost_areas - point->unknown_areas;
	bool untouched = !report->scanned || reachable || point->unknown_areas;

	fprintf(self->out, "%10s in %s of %s %s: ", units_bytes(point->stale_bytes).text,
		units_count(point->stale_areas).text, units_count(point->areas).text,
		areas(point->areas));
	if (report->scanned && point->lost_areas)
		fprintf(self->out, "%s lost%s", units_count(point->lost_areas).text,
			untouched ? ", " : ": ");
	if (report->scanned && reachable)
		fprintf(self->out, "%s reachable but ", units_count(reachable).text);
	if (untouched)
		fprintf(self->out, "untouched for %s: ", units_ns(point->oldest_ns).text);
	if (point->type)
		fprintf(self->out, "%s: ", watch_names_type(&self->names, &point->type_at));
	show_stack(self, &point->stack, frames);
	fputc('\n', self->out);
}

static void show_points(struct watch_show *self, const struct watch_report *report, u32 rows,
			u32 frames)
{
	static const char *const sorts[WATCH_SORTS] = {"bytes", "areas", "age", "fewest hits"};
	u32 numbers[WATCH_ROWS], count = order(self, report, numbers);

	fprintf(self->out, "\nuntouched for %s: %s %s, %s",
		units_ns(self->options->leak_after_ns).text, units_count(report->stale_areas).text,
		areas(report->stale_areas), units_bytes(report->stale_bytes).text);
	if (self->view.sort)
		fprintf(self->out, "  by %s", sorts[self->view.sort]);
	if (self->view.filter[0])
		fprintf(self->out, "  with \"%s\"", self->view.filter);
	fputc('\n', self->out);
	if (report->main_returned && report->stale_areas && report->scanned_ns)
		fprintf(self->out,
			"lost or reachable: at the last scan before main returned, at %s\n",
			units_ns(report->scanned_ns).text);
	else if (report->main_returned && report->stale_areas)
		fprintf(self->out, "no scan before main returned: which are lost is unknown\n");
	for (u32 i = 0; i < count && i < rows; i++)
		show_point(self, report, &report->suspects[numbers[i]], frames);
	for (u32 i = 0; i < report->types_count && i < rows; i++)
		if (report->types[i].type)
			fprintf(self->out, "%10s in %s %s of type %s\n",
				units_bytes(report->types[i].stale_bytes).text,
				units_count(report->types[i].stale_areas).text,
				areas(report->types[i].stale_areas),
				watch_names_type(&self->names, &report->types[i].at));
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void show_growth(struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\ngrown most in this interval\n");
	for (u32 i = 0; i < report->growth_count && i < ROWS_SHOWN; i++) {
		const struct watch_point *point = &report->growth[i];

		if (!is_wanted(self, &point->stack))
			continue;
		fprintf(self->out, "%10s to %s: ", units_bytes((u64)point->growth_bytes).text,
			units_bytes(point->bytes).text);
		show_stack(self, &point->stack, 3);
		fputc('\n', self->out);
	}
}

static void show_rare(struct watch_show *self, const struct watch_report *report, u32 rows)
{
	u32 shown = 0;

	fprintf(self->out, "\n"
			   "least used\n");
	for (u32 i = 0; i < report->rare_count && shown < rows; i++) {
		const struct watch_area *area = &report->rare[i];

		if (!is_wanted(self, &area->made))
			continue;
		shown++;
		fprintf(self->out, "%10s %.2f hits/s, last %s ago: ", units_bytes(area->size).text,
			area->rate, units_ns(area->age_ns).text);
		show_stack(self, &area->made, 2);
		if (area->touched.frames) {
			fprintf(self->out, "; touched by ");
			show_stack(self, &area->touched, 2);
		}
		fputc('\n', self->out);
	}
}

static void show_sizes(const struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "sizes:");
	for (u32 i = 0; i < WATCH_SIZES; i++)
		if (report->sizes[i] * 50 >= report->live_areas && report->sizes[i])
			fprintf(self->out, "  %s+ %s", units_bytes((u64)1 << i).text,
				units_count(report->sizes[i]).text);
	fputc('\n', self->out);
}

static void show_keys(const struct watch_show *self)
{
	const struct watch_view *view = &self->view;

	if (view->typing)
		fprintf(self->out,
			"\n"
			"filter: %s_   (Enter applies it, Esc clears it)\n",
			view->filter);
	else if (view->help)
		fprintf(self->out, "\n"
				   "p pause   s sort by bytes, areas, age or fewest hits   / "
				   "filter by function name, Esc clears it\n"
				   "w write a trace of live memory   q end the program   h hide "
				   "this help\n");
	else
		fprintf(self->out, "\n%sh help\n", view->paused ? "PAUSED   " : "");
	if (view->message[0])
		fprintf(self->out, "%s\n", view->message);
}

void watch_show_screen(struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\033[H\033[J");
	show_head(self, report);
	show_sizes(self, report);
	show_ages(self, report);
	show_thresholds(self, report);
	show_points(self, report, ROWS_SHOWN, 3);
	watch_show_grown(self);
	show_growth(self, report);
	show_rare(self, report, 4);
	if (self->keys)
		show_keys(self);
	fflush(self->out);
}

/* All that the program and Heapwise have used; what the program's own allocator would have taken is
 * part of it. */
static void show_cost(const struct watch_show *self, const struct watch_report *report)
{
	if (!report->cpu_ns)
		return;
	fprintf(self->out,
		"\nCPU time: program %s, of which allocator calls (Heapwise's heap, "
		"recording) about %s, monitoring %s;",
		units_ns(report->cpu_ns).text, units_ns(report->calls_ns).text,
		units_ns(report->cost_ns).text);
	fprintf(self->out, " Heapwise itself %s\n", units_ns(report->monitor_ns).text);
}

void watch_show_summary(struct watch_show *self, const struct watch_report *report)
{
	self->view = (struct watch_view){.paused = false};
	show_head(self, report);
	show_ages(self, report);
	show_thresholds(self, report);
	show_points(self, report, WATCH_ROWS, FRAMES_SHOWN);
	show_rare(self, report, ROWS_SHOWN);
	show_cost(self, report);
	watch_show_grown(self);
	fflush(self->out);
}
