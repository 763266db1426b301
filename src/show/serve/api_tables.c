/* SPDX-License-Identifier: MIT
 * What the commands of heapwise print, over HTTP: the same results, rendered as JSON. Runs on
 * threads of the server; analyses take turns. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "study/analysis/leaks/report.h"
#include "study/analysis/report/report.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/findings/unnamed.h"
#include "show/serve/api.h"

enum { ROWS_MAX = 500 };

static void lock(struct call *call) { pthread_mutex_lock(&call->trace->analysis_lock); }
static void unlock(struct call *call) { pthread_mutex_unlock(&call->trace->analysis_lock); }

static u32 image_number(const struct call *call)
{
	return call->trace->info.images ? (u32)call->trace->info.images - 1 : 0;
}

/* ---- report ---- */

void api_report(struct call *call)
{
	struct report_query query = {.info = &call->trace->info,
				     .pointers = study_pointers(call->trace),
				     .image = image_number(call),
				     .top = 5};
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &query.top) ||
	    !call_number(call, "slack", 0, UINT32_MAX, &query.temporary_slack) ||
	    !call_choice(call, "by", points_by_parse, &query.by,
			 "bytes, peak, kept, temporary or count"))
		return;
	query.one_list = call_text(call, "by");
	if (study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = analyse_report(&source, &query, &err);
		unlock(call);
		if (result)
			unnamed_add_caveat(&source, false, result);
	}
	reply_result(call, result, &err);
}

/* ---- scores, findings, leaks ---- */

void api_scores(struct call *call)
{
	struct scores_query query = {.top = 10,
				     .thresholds = THRESHOLDS_DEFAULT,
				     .info = &call->trace->info};
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &query.top) ||
	    !call_bool(call, "all", &query.all_inferences) ||
	    !call_choice(call, "by", scores_by_parse, &query.by,
			 "severity, bytes, count, lifetime, usage or useful"))
		return;
	if (study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = analyse_scores(&source, &query, &err);
		unlock(call);
	}
	reply_result(call, result, &err);
}

void api_findings(struct call *call)
{
	struct findings_show show = {.top = 10, .stacks = true};
	const struct findings *findings;
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &show.top))
		return;
	findings = study_findings(call->trace, &err);
	if (findings && study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = findings_report(findings, &source, &call->trace->info, &show, &err);
		unlock(call);
		if (result)
			unnamed_add_caveat(&source, false, result);
	}
	reply_result(call, result, &err);
}

static bool kinds_read(struct call *call, u32 *kinds)
{
	const char *text = call_text(call, "kinds");

	if (!text)
		text = "lost,indirect,possible,unknown";
	while (*text) {
		char word[32];
		size_t bytes = strcspn(text, ",");

		if (bytes >= sizeof word)
			return call_bad(call, "kinds", "leak kinds separated by commas");
		memcpy(word, text, bytes);
		word[bytes] = 0;
		if (!leaks_kind_parse(word, kinds))
			return call_bad(call, "kinds",
					"lost, indirect, possible, reachable, unknown or all, "
					"separated by commas");
		text += bytes;
		text += *text == ',';
	}
	return true;
}

void api_leaks(struct call *call)
{
	struct suppressions suppressions = {0};
	struct leak_report_query query = {.leaks = {.top = 20},
					  .info = &call->trace->info,
					  .suppressions = &suppressions};
	struct leak_report report = {0};
	struct result *result = NULL;
	struct err err = {0};

	if (!kinds_read(call, &query.leaks.kinds) ||
	    !call_number(call, "top", 0, ROWS_MAX, &query.leaks.top))
		return;
	lock(call);
	if (suppressions_add_builtin(&suppressions, &err) == 0 &&
	    leak_report_make(&report, &call->trace->stacks, &query, &err) == 0)
		result = leak_report_result(&report, &call->trace->stacks, &query, &err);
	unlock(call);
	reply_result(call, result, &err);
	leak_report_release(&report);
	suppressions_release(&suppressions);
}
