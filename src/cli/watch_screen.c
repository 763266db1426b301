/* SPDX-License-Identifier: MIT
 * A report of `heapwise watch` as a screen of plain ANSI, and the text after the program's end. Host.
 * ANSI and not ncurses: the terminal is the program's, too, and nothing of it is to be taken over. */
#include "base/units.h"
#include "cli/watch_show.h"

enum { BAR = 40, ROWS_SHOWN = 6, FRAMES_SHOWN = 5 };

static const char *const age_names[WATCH_AGES] = {"< 1 s", "< 2 s", "< 4 s", "< 8 s", "< 16 s", "< 32 s", "more"};

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

static void show_head(const struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "heapwise watch  %s  policy %s  overhead %s (now %s)\n", units_ns(report->elapsed_ns).text,
		self->policy, units_percent(units_share(report->cost_ns, report->cpu_ns)).text,
		units_percent(units_share(report->interval_cost_ns, report->interval_cpu_ns)).text);
	fprintf(self->out, "mallocs/s %.0f  frees/s %.0f  reallocs/s %.0f\n",
		rate(report->mallocs, report->interval_ns), rate(report->frees, report->interval_ns),
		rate(report->reallocs, report->interval_ns));
	fprintf(self->out, "live %s areas, %s, mean %s; touched in this interval %s\n",
		units_count(report->live_areas).text, units_bytes(report->live_bytes).text,
		units_bytes(report->live_areas ? report->live_bytes / report->live_areas : 0).text,
		units_bytes(report->working_bytes).text);
	fprintf(self->out, "monitored %s areas, %s in %s units; hits %s, arms %s\n",
		units_count(report->armed_areas).text, units_bytes(report->armed_bytes).text,
		units_count(report->armed_units).text, units_count(report->hits).text,
		units_count(report->arms).text);
}

static void show_ages(const struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\nuntouched for   areas        bytes\n");
	for (u32 i = 0; i < WATCH_AGES; i++) {
		fprintf(self->out, "%8s %12s %12s ", age_names[i], units_count(report->ages[i]).text,
			units_bytes(report->age_bytes[i]).text);
		bar(self->out, report->ages[i], report->live_areas);
		fputc('\n', self->out);
	}
}

static void show_thresholds(const struct watch_show *self, const struct watch_report *report)
{
	if (self->options->kind != POLICY_LADDER)
		return;
	fprintf(self->out, "thresholds:");
	for (u32 i = 0; i < self->options->states; i++)
		fprintf(self->out, "  %s %s", units_ns(self->options->states_ns[i]).text,
			units_count(report->thresholds[i]).text);
	fputc('\n', self->out);
}

static void show_stack(struct watch_show *self, const struct watch_point *point, u32 most)
{
	for (u32 i = 0; i < point->stack.frames && i < most; i++)
		fprintf(self->out, "%s%s", i ? " < " : "", watch_names_find(&self->names, &point->stack.frame[i]));
	fputc('\n', self->out);
}

static void show_points(struct watch_show *self, const struct watch_report *report, u32 rows, u32 frames)
{
	fprintf(self->out, "\nuntouched for %s: %s areas, %s\n", units_ns(self->options->leak_after_ns).text,
		units_count(report->stale_areas).text, units_bytes(report->stale_bytes).text);
	for (u32 i = 0; i < report->suspects_count && i < rows; i++) {
		const struct watch_point *point = &report->suspects[i];

		fprintf(self->out, "%10s in %s of %s areas, up to %s: ", units_bytes(point->stale_bytes).text,
			units_count(point->stale_areas).text, units_count(point->areas).text,
			units_ns(point->oldest_ns).text);
		if (report->scanned)
			fprintf(self->out, "%s lost, %s reachable: ", units_count(point->lost_areas).text,
				units_count(point->stale_areas - point->lost_areas).text);
		show_stack(self, point, frames);
	}
}

static void show_growth(struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\ngrown most in this interval\n");
	for (u32 i = 0; i < report->growth_count && i < ROWS_SHOWN; i++) {
		const struct watch_point *point = &report->growth[i];

		fprintf(self->out, "%10s to %s: ", units_bytes((u64)point->growth_bytes).text,
			units_bytes(point->bytes).text);
		show_stack(self, point, 3);
	}
}

void watch_show_screen(struct watch_show *self, const struct watch_report *report)
{
	fprintf(self->out, "\033[H\033[J");
	show_head(self, report);
	show_ages(self, report);
	show_thresholds(self, report);
	show_points(self, report, ROWS_SHOWN, 3);
	show_growth(self, report);
	fflush(self->out);
}

void watch_show_summary(struct watch_show *self, const struct watch_report *report)
{
	show_head(self, report);
	show_ages(self, report);
	show_thresholds(self, report);
	show_points(self, report, WATCH_ROWS, FRAMES_SHOWN);
	fflush(self->out);
}
