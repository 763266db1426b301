/* SPDX-License-Identifier: MIT
 * Puts leaks, growth and misuse together.
 * Host. */
#include "study/analysis/leaks/report.h"

#include "study/analysis/summary/summary.h"
#include "study/result/field.h"

int leak_report_make(struct leak_report *self, const struct stack_source *source,
		     const struct trace_info *info, const struct growth_query *growth,
		     struct suppressions *suppressions, struct err *err)
{
	int status = leaks_find(source, suppressions, &self->leaks, err);

	if (status == 0)
		status = growth_find(source->model, growth, &self->growth, err);
	if (status == 0)
		status = misuse_find(source, info, &self->misuse, err);
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
	return self->misuse.unknown ? value_unknown() : value_number(number);
}

static void add_fields(struct result *result, const struct leak_report *self)
{
	result_add_field(result,
			 (struct result_column)COLUMN("growing_points", NULL, VALUE_COUNT,
						      "points that grow until the end of the run"),
			 value_number(self->growth.rows.count));
	result_add_field(result,
			 (struct result_column)COLUMN("growth_not_judged", NULL, VALUE_TEXT,
						      "why growth could not be judged"),
			 value_text(self->growth.not_judged));
	result_add_field(result,
			 (struct result_column)COLUMN("misuse_certain", NULL, VALUE_COUNT,
						      "wrong calls"),
			 misuse_value(self, self->misuse.certain));
	result_add_field(result,
			 (struct result_column)COLUMN("misuse_possible", NULL, VALUE_COUNT,
						      "calls that may be wrong"),
			 misuse_value(self, self->misuse.possible));
	result_add_field(result,
			 (struct result_column)COLUMN("misuse_not_judged", NULL, VALUE_COUNT,
						      "frees of blocks that may have been "
						      "allocated during a pause"),
			 misuse_value(self, self->misuse.not_judged));
}

struct result *leak_report_result(const struct leak_report *self, const struct stack_source *source,
				  const struct suppressions *suppressions,
				  const struct leak_report_query *query, struct err *err)
{
	struct result *result =
		leaks_result(source, &self->leaks, suppressions, &query->leaks, err);

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
	struct result_column column =
		COLUMN("leaks.bytes", "leaks", VALUE_BYTES,
		       "bytes lost, indirectly lost and possibly lost, without suppressed ones");

	column.hide_zero = true;
	column.remark = "in {leaks.chunks:chunk} lost or possibly lost; see 'heapwise leaks FILE'";
	result_add_field(report, column, scanned ? value_number(sum.bytes) : value_unknown());
	result_add_field(report,
			 (struct result_column)COLUMN("leaks.chunks", NULL, VALUE_COUNT,
						      "the same in chunks"),
			 scanned ? value_number(model_count(model, sum.chunks)) : value_unknown());
	column = (struct result_column)COLUMN("leaks.growing_points", "growth", VALUE_COUNT,
					      "points whose live bytes rise until the end");
	column.hide_zero = true;
	column.remark = "point(s) (grows|grow) until the end of the run; see 'heapwise leaks FILE'";
	result_add_field(report, column,
			 self->growth.not_judged ? value_unknown()
						 : value_number(self->growth.rows.count));
	column = (struct result_column)COLUMN("leaks.misuse", "misuse", VALUE_COUNT,
					      "wrong calls, including those that are not certain");
	column.hide_zero = true;
	column.remark = misuse_remark(self);
	result_add_field(report, column,
			 misuse_value(self, self->misuse.certain + self->misuse.possible));
	result_add_field(report,
			 (struct result_column)COLUMN("leaks.misuse_possible", NULL, VALUE_COUNT,
						      "those that are not certain"),
			 misuse_value(self, self->misuse.possible));
}
