/* SPDX-License-Identifier: MIT
 * What a check found, as results.
 * Host. */
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "study/result/field.h"

/* The columns of limits in their order. */
struct cells {
	struct value status, subject, is, by, may, sentence, rule, scope, pattern, name, metric,
		unit, growth, value, limit, base, over_by, over, line;
};

static const struct result_column limit_columns[] = {
	COLUMN("status", "status", VALUE_TEXT, "over or within"),
	COLUMN("subject", "what", VALUE_TEXT, "what the limit applies to"),
	COLUMN("is", "is", VALUE_TEXT, "measured value, as text"),
	COLUMN("by", "above by", VALUE_TEXT, "excess over the limit, as text"),
	COLUMN("may", "limit", VALUE_TEXT, "limit, as text"),
	COLUMN("text", NULL, VALUE_TEXT, "the row as one sentence"),
	COLUMN("rule", NULL, VALUE_TEXT, "key or option that sets the limit"),
	COLUMN("scope", NULL, VALUE_TEXT, "program, function, type, module or file"),
	COLUMN("pattern", NULL, VALUE_TEXT, "its name; none for the program"),
	COLUMN("name", NULL, VALUE_TEXT, "name given to the budget"),
	COLUMN("metric", NULL, VALUE_TEXT, "bytes, allocations, peak, kept or temporary"),
	COLUMN("unit", NULL, VALUE_TEXT, "unit of value, limit, base and over_by"),
	COLUMN("growth", NULL, VALUE_SHARE, "allowed growth; none = no such limit"),
	COLUMN("value", NULL, VALUE_COUNT, "measured value"),
	COLUMN("limit", NULL, VALUE_COUNT, "limit"),
	COLUMN("base", NULL, VALUE_COUNT, "value in the baseline; only for growth"),
	COLUMN("over_by", NULL, VALUE_COUNT, "excess over the limit; 0 = within the limit"),
	COLUMN("over", NULL, VALUE_BOOL, "whether the limit is exceeded"),
	COLUMN("line", NULL, VALUE_ID, "line in the budget file; none = set by an option"),
};

static struct value taken(struct result *table, struct strbuf *text)
{
	return value_text(result_take(table, text));
}

static void add_limit(struct result *table, const struct check *self, const struct check_row *from)
{
	static const char *const scopes[BUDGET_SCOPES] = {"program", "function", "type", "module",
							  "file"};
	const struct budget *budget = check_budget_of(self, from);
	struct cells *row = result_cells(table);
	struct strbuf text = {0};

	if (!row)
		return;
	row->status = value_text(from->over ? "over" : "within");
	check_subject(self, from, &text);
	row->subject = taken(table, &text);
	check_add_value(from, &text);
	row->is = taken(table, &text);
	check_add_limit(self, from, &text);
	row->may = taken(table, &text);
	if (from->over) {
		check_add_excess(from, &text);
		row->by = taken(table, &text);
	}
	check_sentence(self, from, &text);
	row->sentence = taken(table, &text);
	row->rule = value_text(check_rule(from));
	row->scope = value_text(scopes[budget->scope]);
	if (budget->pattern)
		row->pattern = value_text(arena_copy_text(&table->arena, budget->pattern + 1,
							  strlen(budget->pattern) - 2));
	row->name = result_text(table, budget->name);
	row->metric = value_text(compare_metric_name(from->metric));
	row->unit = value_text(compare_metric_is_bytes(from->metric) ? "bytes" : "count");
	row->growth = value_if(from->growth, value_real(budget->growth));
	row->value = value_number(from->value);
	row->limit = value_number(from->limit);
	row->base = value_if(from->growth, value_number(from->base));
	row->over_by = value_number(from->over ? from->value - from->limit : 0);
	row->over = value_number(from->over);
	row->line = value_some(budget->line);
}

static struct result *limits_of(const struct check *self)
{
	struct result *table = result_table("limits", "Limits", limit_columns);

	for (u32 over = 1; table && over < 2; over--) /* those that are exceeded first */
		for (u64 i = 0; i < self->rows.count; i++)
			if (self->rows.data[i].over == over)
				add_limit(table, self, &self->rows.data[i]);
	return table;
}

static void add_culprit(struct result *table, const struct check *self, const struct check_row *of,
			const struct check_culprit *from)
{
	struct strbuf subject = {0}, amount = {0};

	check_subject(self, of, &subject);
	check_add_share(of, from, &amount);
	result_row(table, taken(table, &subject), taken(table, &amount), value_text(check_rule(of)),
		   value_number(from->value), value_if(of->growth, value_number(from->base)),
		   value_stack(stack_of(self->query.trace.source, from->frame, table)));
}

static struct result *culprits_of(const struct check *self)
{
	static const struct result_column columns[] = {
		COLUMN("subject", "where", VALUE_TEXT, "exceeded limit"),
		COLUMN("amount", "how much", VALUE_TEXT,
		       "share of the value at this place, as text"),
		COLUMN("rule", NULL, VALUE_TEXT, "key or option that sets the limit"),
		COLUMN("value", NULL, VALUE_COUNT, "the same as a number"),
		COLUMN("base", NULL, VALUE_COUNT, "the same in the baseline; only for growth"),
		COLUMN("stack", "stack", VALUE_STACK,
		       "stack that allocates; innermost frame first"),
	};
	struct result *table = result_table("culprits", "Most of it", columns);

	if (!table)
		return NULL;
	table->hidden_in_text = !self->culprits.count;
	for (u64 i = 0; i < self->rows.count; i++)
		for (u64 k = 0; k < self->rows.data[i].count; k++)
			add_culprit(table, self, &self->rows.data[i],
				    &self->culprits.data[self->rows.data[i].first + k]);
	return table;
}

/* Budgets of which nothing in the trace is: a name may be misspelt. */
static void say_unmatched(const struct check *self, struct result *record)
{
	struct strbuf text = {0};

	for (u64 i = 1; i < self->sets.count; i++) {
		if (self->sets.data[i].matched)
			continue;
		strbuf_clear(&text);
		budget_add_scope(&self->query.budgets->list.data[i], &text);
		result_add_caveat(record, "no allocation matches %s (line %u of the budget file)",
				  strbuf_text(&text), self->query.budgets->list.data[i].line);
	}
	strbuf_release(&text);
}

static void say_of_baseline(const struct check *self, struct result *record)
{
	const struct model *now = self->query.trace.source->model, *before;

	if (!self->query.baseline)
		return;
	before = self->query.baseline->source->model;
	if (strcmp(compare_program_name(now), compare_program_name(before)) != 0)
		result_add_caveat(record, "the programs differ: %s here, %s in the baseline",
				  compare_program_name(now), compare_program_name(before));
	if (!now->image.sample_bytes != !before->image.sample_bytes)
		result_add_caveat(record,
				  "only one of recording and baseline is sampled: small growth may "
				  "be chance");
}

static const char *title_of(const struct check *self, struct result *record)
{
	if (self->over)
		return result_format(record, "%s of %s %s exceeded", units_count(self->over).text,
				     units_things(self->rows.count, "limit(s)").text,
				     self->over == 1 ? "is" : "are");
	return result_format(record, "%s%s",
			     units_things(self->rows.count, "limit(s) (holds|hold)").text,
			     self->failed ? " for the part that was recorded" : "");
}

static bool limits_kept(const struct check *self)
{
	bool kept = false;

	for (u64 i = 0; i < self->rows.count; i++)
		kept |= self->rows.data[i].metric == COMPARE_KEPT;
	return kept;
}

static void add_head(struct result *record, const struct check *self)
{
	const struct check_query *query = &self->query;
	const struct model *model = query->trace.source->model;
	struct strbuf text = {0};

	record->title = title_of(self, record);
	result_field(record, "file", "trace", VALUE_TEXT, result_text(record, query->trace.label),
		     "checked trace");
	result_field(record, "baseline", "baseline", VALUE_TEXT,
		     result_text(record, query->baseline ? query->baseline->label : NULL),
		     "baseline trace");
	result_field(record, "program", NULL, VALUE_PATH,
		     result_text(record, model->has_image ? model->image.program : NULL),
		     "its program");
	result_field(record, "passed", NULL, VALUE_BOOL, value_number(!self->failed),
		     "whether the check passed");
	result_field(record, "checked", NULL, VALUE_COUNT, value_number(self->rows.count),
		     "checked limits");
	result_field(record, "over", NULL, VALUE_COUNT, value_number(self->over),
		     "exceeded limits");
	result_field(record, "hidden_kept_bytes", limits_kept(self) ? "suppressed" : NULL,
		     VALUE_BYTES, value_number(self->sets.data[0].hidden_bytes),
		     "bytes that the C and C++ libraries keep on purpose; not counted as kept",
		     .hide_zero = true,
		     .remark = "kept by the C and C++ libraries; limits do not count it");
	result_field(record, "complete", NULL, VALUE_BOOL,
		     value_number(!self->incomplete[0].count && !self->incomplete[1].count),
		     "whether every event is in trace and baseline");
	for (u32 i = 0; i < 2; i++)
		if (self->incomplete[i].count) {
			check_say_incomplete(self, i, &text);
			result_add_caveat(record, "%s", strbuf_text(&text));
			strbuf_clear(&text);
		}
	if (check_say_end(self, &text))
		result_add_caveat(record, "%s", strbuf_text(&text));
	strbuf_release(&text);
}

struct result *check_result(struct check *self, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "check", NULL);

	if (record) {
		add_head(record, self);
		say_unmatched(self, record);
		say_of_baseline(self, record);
		add_caveats(record, self->query.trace.source->model, self->query.trace.info);
		result_add_part(record, limits_of(self));
		result_add_part(record, culprits_of(self));
	}
	return result_made(record, err, "the result of a check");
}
