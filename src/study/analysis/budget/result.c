/* SPDX-License-Identifier: MIT
 * What a check found, as results.
 * Host. */
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "study/result/field.h"

enum {
	AT_STATUS,
	AT_SUBJECT,
	AT_IS,
	AT_BY,
	AT_MAY,
	AT_SENTENCE,
	AT_RULE,
	AT_SCOPE,
	AT_PATTERN,
	AT_NAME,
	AT_METRIC,
	AT_UNIT,
	AT_GROWTH,
	AT_VALUE,
	AT_LIMIT,
	AT_BASE,
	AT_OVER_BY,
	AT_OVER,
	AT_LINE,
	COLUMNS
};

static const struct result_column limit_columns[COLUMNS] = {
	[AT_STATUS] = COLUMN("status", "status", VALUE_TEXT, "over or within"),
	[AT_SUBJECT] = COLUMN("subject", "what", VALUE_TEXT, "what the limit applies to"),
	[AT_IS] = COLUMN("is", "is", VALUE_TEXT, "measured value, as text"),
	[AT_MAY] = COLUMN("may", "limit", VALUE_TEXT, "limit, as text"),
	[AT_BY] = COLUMN("by", "above by", VALUE_TEXT, "excess over the limit, as text"),
	[AT_SENTENCE] = COLUMN("text", NULL, VALUE_TEXT, "the row as one sentence"),
	[AT_RULE] = COLUMN("rule", NULL, VALUE_TEXT, "key or option that sets the limit"),
	[AT_SCOPE] = COLUMN("scope", NULL, VALUE_TEXT, "program, function, type, module or file"),
	[AT_PATTERN] = COLUMN("pattern", NULL, VALUE_TEXT, "its name; none for the program"),
	[AT_NAME] = COLUMN("name", NULL, VALUE_TEXT, "name given to the budget"),
	[AT_METRIC] =
		COLUMN("metric", NULL, VALUE_TEXT, "bytes, allocations, peak, kept or temporary"),
	[AT_UNIT] = COLUMN("unit", NULL, VALUE_TEXT, "unit of value, limit, base and over_by"),
	[AT_GROWTH] = COLUMN("growth", NULL, VALUE_SHARE, "allowed growth; none = no such limit"),
	[AT_VALUE] = COLUMN("value", NULL, VALUE_COUNT, "measured value"),
	[AT_LIMIT] = COLUMN("limit", NULL, VALUE_COUNT, "limit"),
	[AT_BASE] = COLUMN("base", NULL, VALUE_COUNT, "value in the baseline; only for growth"),
	[AT_OVER_BY] =
		COLUMN("over_by", NULL, VALUE_COUNT, "excess over the limit; 0 = within the limit"),
	[AT_OVER] = COLUMN("over", NULL, VALUE_BOOL, "whether the limit is exceeded"),
	[AT_LINE] =
		COLUMN("line", NULL, VALUE_ID, "line in the budget file; none = set by an option"),
};

/* Copies and empties the text. */
static const char *take_copy(struct result *table, struct strbuf *text)
{
	const char *copy = result_copy(table, strbuf_text(text));

	if (text->failed)
		table->failed = true;
	strbuf_clear(text);
	return copy;
}

static void add_limit(struct result *table, const struct check *self, const struct check_row *from,
		      struct strbuf *text)
{
	static const char *const scopes[BUDGET_SCOPES] = {"program", "function", "type", "module",
							  "file"};
	const struct budget *budget = check_budget_of(self, from);
	const char *subject, *sentence, *is, *may, *by = NULL, *pattern = NULL;
	struct value *row;

	check_subject(self, from, text);
	subject = take_copy(table, text);
	check_add_value(from, text);
	is = take_copy(table, text);
	check_add_limit(self, from, text);
	may = take_copy(table, text);
	if (from->over) {
		check_add_excess(from, text);
		by = take_copy(table, text);
	}
	check_sentence(self, from, text);
	sentence = take_copy(table, text);
	if (budget->pattern)
		pattern = arena_copy_text(&table->arena, budget->pattern + 1,
					  strlen(budget->pattern) - 2);
	row = result_add_row(table);
	if (!row)
		return;
	row[AT_STATUS] = value_text(from->over ? "over" : "within");
	row[AT_SUBJECT] = value_text(subject);
	row[AT_IS] = value_text(is);
	row[AT_MAY] = value_text(may);
	row[AT_BY] = value_text(by);
	row[AT_SENTENCE] = value_text(sentence);
	row[AT_RULE] = value_text(check_rule(from));
	row[AT_SCOPE] = value_text(scopes[budget->scope]);
	row[AT_PATTERN] = value_text(pattern);
	row[AT_NAME] = value_text(budget->name ? result_copy(table, budget->name) : NULL);
	row[AT_METRIC] = value_text(compare_metric_name(from->metric));
	row[AT_UNIT] = value_text(compare_metric_is_bytes(from->metric) ? "bytes" : "count");
	row[AT_GROWTH] = from->growth ? value_real(budget->growth) : value_unknown();
	row[AT_VALUE] = value_number(from->value);
	row[AT_LIMIT] = value_number(from->limit);
	row[AT_BASE] = from->growth ? value_number(from->base) : value_unknown();
	row[AT_OVER_BY] = value_number(from->over ? from->value - from->limit : 0);
	row[AT_OVER] = value_number(from->over);
	row[AT_LINE] = budget->line ? value_number(budget->line) : value_unknown();
}

static struct result *limits_of(const struct check *self)
{
	struct result *table = result_new(RESULT_TABLE, "limits", "Limits");
	struct strbuf text = {0};

	if (!table)
		return NULL;
	result_set_columns(table, limit_columns, COLUMNS);
	for (u32 over = 1; over < 2; over--) /* those that are exceeded first */
		for (u64 i = 0; i < self->rows.count; i++)
			if (self->rows.data[i].over == over)
				add_limit(table, self, &self->rows.data[i], &text);
	strbuf_release(&text);
	return table;
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
	struct result *table = result_new(RESULT_TABLE, "culprits", "Most of it");
	struct strbuf text = {0};

	if (!table)
		return NULL;
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	table->hidden_in_text = !self->culprits.count;
	for (u64 i = 0; i < self->rows.count; i++)
		for (u64 k = 0; k < self->rows.data[i].count; k++) {
			const struct check_row *of = &self->rows.data[i];
			const struct check_culprit *from = &self->culprits.data[of->first + k];
			const struct result_stack *stack =
				stack_of(self->query.trace.source, from->frame, table);
			const char *subject, *much;
			struct value *row;

			check_subject(self, of, &text);
			subject = take_copy(table, &text);
			strbuf_add(&text, check_amount(of->metric, from->value).text);
			if (of->growth)
				strbuf_addf(&text, ", was %s",
					    check_amount(of->metric, from->base).text);
			else
				check_add_percent(&text, from->value, of->value);
			much = take_copy(table, &text);
			row = result_add_row(table);
			if (!row)
				break;
			row[0] = value_text(subject);
			row[1] = value_text(much);
			row[2] = value_text(check_rule(of));
			row[3] = value_number(from->value);
			row[4] = of->growth ? value_number(from->base) : value_unknown();
			row[5] = value_stack(stack);
		}
	strbuf_release(&text);
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

static const char *title_of(const struct check *self, struct result *record, struct strbuf *text)
{
	if (self->over)
		strbuf_addf(text, "%s of %s %s exceeded", units_count(self->over).text,
			    units_things(self->rows.count, "limit(s)").text,
			    self->over == 1 ? "is" : "are");
	else
		strbuf_addf(text, "%s%s",
			    units_things(self->rows.count, "limit(s) (holds|hold)").text,
			    self->failed ? " for the part that was recorded" : "");
	return take_copy(record, text);
}

static void add_head(struct result *record, const struct check *self)
{
	const struct model *model = self->query.trace.source->model;
	struct strbuf text = {0};

	record->title = title_of(self, record, &text);
	result_field(record, "file", "trace", VALUE_TEXT,
		     value_text(result_copy(record, self->query.trace.label)), "checked trace");
	result_field(record, "baseline", "baseline", VALUE_TEXT,
		     self->query.baseline
			     ? value_text(result_copy(record, self->query.baseline->label))
			     : value_unknown(),
		     "baseline trace");
	result_field(record, "program", NULL, VALUE_PATH,
		     model->has_image ? value_text(result_copy(record, model->image.program))
				      : value_unknown(),
		     "its program");
	result_field(record, "passed", NULL, VALUE_BOOL, value_number(!self->failed),
		     "whether the check passed");
	result_field(record, "checked", NULL, VALUE_COUNT, value_number(self->rows.count),
		     "checked limits");
	result_field(record, "over", NULL, VALUE_COUNT, value_number(self->over),
		     "exceeded limits");
	result_field(record, "hidden_kept_bytes", NULL, VALUE_BYTES,
		     value_number(self->sets.data[0].hidden_bytes),
		     "bytes that the C and C++ libraries keep on purpose; not counted as kept");
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
	if (record && !result_failed(record))
		return record;
	result_free(record);
	err_memory_for(err, "the result of a check");
	return NULL;
}
