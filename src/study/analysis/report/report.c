/* SPDX-License-Identifier: MIT
 * Puts the report together.
 * Host. */
#include "study/analysis/report/report.h"

#include "study/analysis/findings/findings.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/report/marks.h"
#include "study/analysis/resident/series.h"
#include "study/analysis/summary/summary.h"

/* What 'heapwise leaks' would find, in a line each, and what 'heapwise findings' would begin
 * with. */
static int add_findings(const struct stack_source *source, const struct report_query *query,
			struct result *report, struct err *err)
{
	struct findings_query limits = {.thresholds = THRESHOLDS_DEFAULT,
					.min_share = FINDINGS_MIN_SHARE,
					.pointers = query->pointers};
	struct findings_show show = {.top = query->top};
	struct leak_report leaks = {0};
	struct findings findings = {0};
	int status = leak_report_make_brief(&leaks, source, query->info, err);

	if (status == 0)
		status = findings_find(&findings, source, &leaks, &limits, err);
	if (status == 0) {
		leak_report_mention(&leaks, source->model, report);
		result_add_part(report, findings_result(&findings, source, &show, err));
	}
	findings_release(&findings);
	leak_report_release(&leaks);
	return status;
}

static void add_memory(const struct model *model, struct result *report, struct err *err)
{
	struct resident_series series = {0};

	if (resident_series_make(&series, model, err) < 0) {
		result_add_part(report, NULL);
		return;
	}
	result_add_part(report, analyse_resident_drawn(model, &series, err));
	result_add_part(report, analyse_resident_over_time(model, &series, err));
	resident_series_release(&series);
}

static void add_lists(const struct stack_source *source, const struct report_query *query,
		      struct result *report, struct err *err)
{
	u32 first = query->one_list ? query->by : 0;
	u32 end = query->one_list ? first + 1 : POINTS_MEASURES;

	for (u32 i = first; i < end; i++) {
		struct points_query points = {.by = (enum points_by)i,
					      .top = query->top,
					      .temporary_slack = query->temporary_slack};

		result_add_part(report, analyse_points(source, &points, err));
	}
	result_add_part(report, analyse_sizes(source->model, err));
	add_memory(source->model, report, err);
	result_add_part(report, analyse_marks(source->model, err));
	result_add_part(report, analyse_snapshots(source, query->top, err));
	folds_add(source->folds, source->model, report);
}

struct result *analyse_report(const struct stack_source *source, const struct report_query *query,
			      struct err *err)
{
	struct summary_query totals = {.info = query->info,
				       .image = query->image,
				       .temporary_slack = query->temporary_slack};
	struct result *report = analyse_summary(source->model, &totals, err);

	if (!report)
		return NULL;
	if (add_findings(source, query, report, err) == 0) {
		add_lists(source, query, report, err);
		if (!result_failed(report))
			return report;
		if (!err->code)
			err_memory(err);
	}
	result_free(report);
	return NULL;
}
