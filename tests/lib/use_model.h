/* SPDX-License-Identifier: MIT
 * Makes use of all that a model has, as the report does: for tests of models that may hold anything. */
#ifndef LIB_USE_MODEL_H
#define LIB_USE_MODEL_H

#include <stdio.h>
#include <string.h>

#include "study/analysis/resident/bill_result.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/looks.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/report/marks.h"
#include "study/analysis/report/points.h"
#include "study/analysis/memoro/scores.h"
#include "study/analysis/summary/summary.h"
#include "study/result/result.h"

static inline u64 use_stack(const struct result_stack *stack)
{
	u64 sum = 0;

	for (u32 i = 0; i < stack->count; i++)
		sum += strlen(stack->frames[i].function) + strlen(stack->frames[i].file) +
		       strlen(stack->frames[i].module);
	return sum;
}

/* Reads every value. As text or JSON it would take most of a fuzzer's time. */
static inline u64 use_cells(const struct result *result)
{
	u64 sum = 0;

	for (u64 i = 0; i < result->cells.count; i++) {
		const struct value *value = &result->cells.data[i];
		enum value_type type = result->columns.data[i % result->columns.count].type;

		if (!value->known)
			continue;
		if (type == VALUE_TEXT || type == VALUE_PATH)
			sum += strlen(value->text);
		else
			sum += type == VALUE_STACK ? use_stack(value->stack) : value->number;
	}
	for (u64 i = 0; i < result->caveats.count; i++)
		sum += strlen(result->caveats.data[i]);
	for (u64 i = 0; i < result->parts.count; i++)
		sum += use_cells(result->parts.data[i]);
	return sum;
}

/* Takes the result over; NULL is nothing. */
static inline void use_result(struct result *result)
{
	if (result && !result_failed(result) && use_cells(result) == 4000000007u)
		puts("strange");
	result_free(result);
}

static inline void use_findings(const struct stack_source *source, const struct trace_info *info)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE};
	struct findings_show show = {.top = 10};
	struct leak_report leaks = {0};
	struct findings findings = {0};
	struct err err = {0};

	if (leak_report_make_brief(&leaks, source, info, &err) == 0 &&
	    findings_find(&findings, source, &leaks, &query, &err) == 0)
		use_result(findings_result(&findings, source, &show, &err));
	findings_release(&findings);
	leak_report_release(&leaks);
}

static inline void use_bill(const struct stack_source *source)
{
	const struct model *model = source->model;
	struct bill bill = {0};
	struct err err = {0};

	if (!model->memory.count)
		return;
	if (bill_make(&bill, model, &model->memory.data[model->memory.count - 1], &err) == 0)
		use_result(bill_result(&bill, source, 0, &err));
	bill_release(&bill);
	use_result(resident_looks_result(model, &err));
	use_result(resident_by_size_result(model, &model->memory.data[0], &err));
}

static inline void use_model(const struct model *model, const struct trace_info *info)
{
	struct symbol_table none = {0};
	struct stack_source source = {.model = model, .symbols = &none, .depth = 8, .fold = true};
	struct summary_query query = {.info = info};
	struct err err = {0};

	use_result(analyse_summary(model, &query, &err));
	for (u32 by = 0; by < POINTS_MEASURES; by++)
		use_result(analyse_points(&source,
					  &(struct points_query){.by = (enum points_by)by,
								 .top = 20,
								 .temporary_slack = by},
					  &err));
	use_result(analyse_sizes(model, &err));
	use_result(analyse_marks(model, &err));
	use_result(analyse_snapshots(&source, 5, &err));
	use_findings(&source, info);
	use_bill(&source);
	for (u64 i = 0; i < model->chunks.count; i++) {
		struct chunk_access access;
		struct chunk_type type;

		model_chunk_access(model, i, &access);
		if (model_chunk_type(model, i, &type) && model->types.data[type.type][0] == '\1')
			puts("strange");
	}
}

#endif
