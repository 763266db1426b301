/* SPDX-License-Identifier: MIT
 * Puts leaks, growth and misuse together.
 * Host. */
#include "study/analysis/leaks/report.h"

#include "study/analysis/summary/summary.h"
#include "study/result/field.h"

int leak_report_make(struct leak_report *self, const struct stack_source *source,
		     const struct leak_report_query *query, struct err *err)
{
	struct growth_query growth = query->growth ? *query->growth : growth_defaults();
	int status = leaks_find(source, query->suppressions, &self->leaks, err);

	if (status == 0)
		status = growth_find(source->model, &growth, source->growth, &self->growth, err);
	if (status == 0)
		status = misuse_find(source, query->info, &self->misuse, err);
	return status;
}

int leak_report_make_brief(struct leak_report *self, const struct stack_source *source,
			   const struct trace_info *info, struct err *err)
{
	struct suppressions suppressions = {0};
	struct leak_report_query query = {.info = info, .suppressions = &suppressions};
	int status = suppressions_add_builtin(&suppressions, err);

	if (status == 0)
		status = leak_report_make(self, source, &query, err);
	suppressions_release(&suppressions);
	return status;
}

void leak_report_release(struct leak_report *self)
{
	leak_table_release(&self->leaks);
	growth_table_release(&self->growth);
	misuse_table_release(&self->misuse);
}

static struct value misuse_value(const struct leak_report *self, u64 number)
{
	return value_if(!self->misuse.unknown, value_number(number));
}

static void add_fields(struct result *result, const struct leak_report *self)
{
	result_field(result, "growing_points", NULL, VALUE_COUNT,
		     value_number(self->growth.rows.count),
		     "points that grow until the end of the run");
	result_field(result, "growth_not_judged", NULL, VALUE_TEXT,
		     value_text(self->growth.not_judged), "why growth could not be judged");
	result_field(result, "misuse_certain", NULL, VALUE_COUNT,
		     misuse_value(self, self->misuse.certain), "wrong calls");
	result_field(result, "misuse_possible", NULL, VALUE_COUNT,
		     misuse_value(self, self->misuse.possible), "calls that may be wrong");
	result_field(result, "misuse_not_judged", NULL, VALUE_COUNT,
		     misuse_value(self, self->misuse.not_judged),
		     "frees of blocks that may have been allocated during a pause");
}

struct result *leak_report_result(const struct leak_report *self, const struct stack_source *source,
				  const struct leak_report_query *query, struct err *err)
{
	struct result *result =
		leaks_result(source, &self->leaks, query->suppressions, &query->leaks, err);

	if (!result)
		return NULL;
	add_fields(result, self);
	add_caveats(result, source->model, query->info);
	result_add_part(result, growth_result(source, &self->growth, query->leaks.top, err));
	result_add_part(result, misuse_result(source, &self->misuse, query->leaks.top, err));
	return result_made(result, err, "the leaks");
}

/* What is worth a look: everything but what is reachable or unknown. */
static struct leak_sum leaked(const struct leak_report *self)
{
	struct leak_sum sum = {0};

	for (u32 i = CLASS_POSSIBLE; i <= CLASS_LOST; i++) {
		sum.chunks += self->leaks.classes[i].chunks;
		sum.bytes += self->leaks.classes[i].bytes;
	}
	return sum;
}

static const char *misuse_remark(const struct leak_report *self)
{
	if (!self->misuse.possible)
		return "wrong call(s) of free and the like; see 'heapwise leaks FILE'";
	return "wrong call(s) of free and the like, {leaks.misuse_possible} not certain; see "
	       "'heapwise leaks FILE'";
}

void leak_report_mention(const struct leak_report *self, const struct model *model,
			 struct result *report)
{
	bool scanned = model->scan.state == SCAN_DONE && !model->aggregated;
	struct leak_sum sum = leaked(self);

	result_field(report, "leaks.bytes", "leaks", VALUE_BYTES,
		     value_if(scanned, value_number(sum.bytes)),
		     "bytes lost, indirectly lost and possibly lost, without suppressed ones",
		     .hide_zero = true,
		     .remark = "in {leaks.chunks:chunk} lost or possibly lost; see 'heapwise leaks "
			       "FILE'");
	result_field(report, "leaks.chunks", NULL, VALUE_COUNT,
		     value_if(scanned, value_units(model, sum.chunks)), "the same in chunks");
	result_field(report, "leaks.possible_bytes", NULL, VALUE_BYTES,
		     value_if(scanned, value_number(self->leaks.classes[CLASS_POSSIBLE].bytes)),
		     "those that are only possibly lost");
	result_field(report, "leaks.growing_points", "growth", VALUE_COUNT,
		     value_if(!self->growth.not_judged, value_number(self->growth.rows.count)),
		     "points whose live bytes rise until the end", .hide_zero = true,
		     .remark = "point(s) (grows|grow) until the end of the run; see 'heapwise "
			       "leaks FILE'");
	result_field(report, "leaks.misuse", "misuse", VALUE_COUNT,
		     misuse_value(self, self->misuse.certain + self->misuse.possible),
		     "wrong calls, including those that are not certain", .hide_zero = true,
		     .remark = misuse_remark(self));
	result_field(report, "leaks.misuse_possible", NULL, VALUE_COUNT,
		     misuse_value(self, self->misuse.possible), "those that are not certain");
}
