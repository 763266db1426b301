/* SPDX-License-Identifier: MIT
 * What a check found, in sentences, as results, and as problems.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "analysis/budget.h"
#include "analysis/findings.h"
#include "analysis/summary.h"
#include "base/units.h"

/* ---- sentences ---- */

static const char *const metric_nouns[COMPARE_METRICS] = {[COMPARE_BYTES] = "bytes",
							  [COMPARE_ALLOCATIONS] = "allocations",
							  [COMPARE_PEAK] = "peak",
							  [COMPARE_KEPT] = "kept bytes",
							  [COMPARE_TEMPORARY] = "temporary chunks"};
static const char *const scope_nouns[BUDGET_SCOPES] = {[BUDGET_PROGRAM] = "the program",
						       [BUDGET_FUNCTION] = "function",
						       [BUDGET_TYPE] = "type",
						       [BUDGET_MODULE] = "module",
						       [BUDGET_FILE] = "file"};

static const struct budget *budget_of(const struct check *self, const struct check_row *row)
{
	return &self->query.budgets->list.data[row->budget];
}

static struct unit_text amount(enum compare_metric metric, u64 value)
{
	return compare_metric_is_bytes(metric) ? units_bytes(value) : units_count(value);
}

/* The pattern as the user wrote it, without ^ and $. */
static void add_scope(const struct budget *budget, struct strbuf *out)
{
	strbuf_add(out, scope_nouns[budget->scope]);
	if (budget->scope == BUDGET_PROGRAM)
		return;
	strbuf_add_char(out, ' ');
	strbuf_add_bytes(out, budget->pattern + 1, strlen(budget->pattern) - 2);
}

void check_subject(const struct check *self, const struct check_row *row, struct strbuf *out)
{
	const struct budget *budget = budget_of(self, row);

	strbuf_addf(out, "%s%s of ", row->growth ? "growth of " : "", metric_nouns[row->metric]);
	add_scope(budget, out);
	if (budget->name)
		strbuf_addf(out, " (%s)", budget->name);
}

static void add_percent(struct strbuf *out, u64 part, u64 whole)
{
	if (whole)
		strbuf_addf(out, " (%s)", units_percent(units_share(part, whole)).text);
}

/* The value, with all digits where it would look like its limit. */
static void add_value(const struct check_row *row, struct strbuf *out)
{
	struct unit_text value = amount(row->metric, row->value),
			 limit = amount(row->metric, row->limit);

	strbuf_add(out, value.text);
	if (row->over && strcmp(value.text, limit.text) == 0)
		strbuf_addf(out, " (%s bytes)", units_count(row->value).text);
}

static void add_limit_text(const struct check *self, const struct check_row *row,
			   struct strbuf *out)
{
	strbuf_add(out, amount(row->metric, row->limit).text);
	if (row->growth)
		strbuf_addf(out, " (%s and %s)", amount(row->metric, row->base).text,
			    units_percent(budget_of(self, row)->growth).text);
}

static void add_excess(const struct check_row *row, struct strbuf *out)
{
	strbuf_add(out, amount(row->metric, row->value - row->limit).text);
	add_percent(out, row->value - row->limit, row->limit);
}

void check_sentence(const struct check *self, const struct check_row *row, struct strbuf *out)
{
	add_value(row, out);
	strbuf_add(out, row->over ? ", " : " of ");
	if (row->over) {
		add_excess(row, out);
		strbuf_add(out, " above the limit of ");
	}
	add_limit_text(self, row, out);
}

/* Paths below the sources' folder are told from there: hosts of sources know no other. */
static const char *path_from(const char *root, const char *path)
{
	size_t length = root ? strlen(root) : 0;

	while (length && root[length - 1] == '/')
		length--;
	if (length && strncmp(path, root, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

/* Where a culprit is, as a developer looks for it: "parse (src/parse.c:12), called by main: 1.5 MiB". */
static void add_place(const struct check *self, const struct check_row *row,
		      const struct check_culprit *culprit, struct strbuf *out)
{
	struct finding_place place = finding_place(self->query.trace.source, culprit->frame);
	const char *slash = strrchr(place.own.module, '/');

	if (*place.own.function)
		strbuf_add(out, place.own.function);
	else
		strbuf_addf(out, "%s+0x%" PRIx64,
			    slash               ? slash + 1
			    : *place.own.module ? place.own.module
						: "(no stack)",
			    place.own.offset);
	if (*place.own.file)
		strbuf_addf(out, " (%s:%u)", path_from(self->query.root, place.own.file),
			    place.own.line);
	if (*place.caller.function)
		strbuf_addf(out, ", called by %s", place.caller.function);
	strbuf_addf(out, ": %s", amount(row->metric, culprit->value).text);
	if (row->growth)
		strbuf_addf(out, ", was %s", amount(row->metric, culprit->base).text);
	else
		add_percent(out, culprit->value, row->value);
}

static void say_incomplete(const struct check *self, u32 which, struct strbuf *out)
{
	strbuf_addf(out, "the %s is incomplete: %s%s", which ? "baseline" : "recording",
		    strbuf_text(&self->incomplete[which]),
		    self->query.allow_incomplete
			    ? ""
			    : "; --allow-incomplete lets it pass all the same");
}

/* ---- results ---- */

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
	[AT_SUBJECT] = COLUMN("subject", "what", VALUE_TEXT, "what is limited"),
	[AT_IS] = COLUMN("is", "is", VALUE_TEXT, "what it is, in words"),
	[AT_MAY] = COLUMN("may", "limit", VALUE_TEXT, "what it may be, in words"),
	[AT_BY] = COLUMN("by", "above by", VALUE_TEXT, "how much it is above, in words"),
	[AT_SENTENCE] = COLUMN("text", NULL, VALUE_TEXT, "all of this in one sentence"),
	[AT_RULE] = COLUMN("rule", NULL, VALUE_TEXT, "key or option that sets the limit"),
	[AT_SCOPE] = COLUMN("scope", NULL, VALUE_TEXT, "program, function, type, module or file"),
	[AT_PATTERN] = COLUMN("pattern", NULL, VALUE_TEXT, "which of them; none for the program"),
	[AT_NAME] = COLUMN("name", NULL, VALUE_TEXT, "name that the budget was given"),
	[AT_METRIC] =
		COLUMN("metric", NULL, VALUE_TEXT, "bytes, allocations, peak, kept or temporary"),
	[AT_UNIT] = COLUMN("unit", NULL, VALUE_TEXT, "of value, limit, base and over_by"),
	[AT_GROWTH] =
		COLUMN("growth", NULL, VALUE_SHARE, "growth that is allowed; none = no such limit"),
	[AT_VALUE] = COLUMN("value", NULL, VALUE_COUNT, "what it is"),
	[AT_LIMIT] = COLUMN("limit", NULL, VALUE_COUNT, "what it may be"),
	[AT_BASE] =
		COLUMN("base", NULL, VALUE_COUNT, "what it is in the baseline; only with growth"),
	[AT_OVER_BY] = COLUMN("over_by", NULL, VALUE_COUNT, "how much it is above; 0 = it is not"),
	[AT_OVER] = COLUMN("over", NULL, VALUE_BOOL, "whether it is above"),
	[AT_LINE] = COLUMN("line", NULL, VALUE_ID, "of the file with budgets; none = an option"),
};

static const char *rule_of(const struct check_row *row)
{
	return row->growth ? "max-growth" : budget_limit_name(row->metric);
}

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
	const struct budget *budget = budget_of(self, from);
	const char *subject, *sentence, *is, *may, *by = NULL, *pattern = NULL;
	struct value *row;

	check_subject(self, from, text);
	subject = take_copy(table, text);
	add_value(from, text);
	is = take_copy(table, text);
	add_limit_text(self, from, text);
	may = take_copy(table, text);
	if (from->over) {
		add_excess(from, text);
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
	row[AT_RULE] = value_text(rule_of(from));
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
		COLUMN("subject", "where", VALUE_TEXT, "limit that is exceeded"),
		COLUMN("amount", "how much", VALUE_TEXT, "how much of it is here"),
		COLUMN("rule", NULL, VALUE_TEXT, "key or option that sets the limit"),
		COLUMN("value", NULL, VALUE_COUNT, "the same as a number"),
		COLUMN("base", NULL, VALUE_COUNT, "the same in the baseline; only with growth"),
		COLUMN("stack", "stack", VALUE_STACK, "who allocates; innermost frame first"),
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
			strbuf_add(&text, amount(of->metric, from->value).text);
			if (of->growth)
				strbuf_addf(&text, ", was %s", amount(of->metric, from->base).text);
			else
				add_percent(&text, from->value, of->value);
			much = take_copy(table, &text);
			row = result_add_row(table);
			if (!row)
				break;
			row[0] = value_text(subject);
			row[1] = value_text(much);
			row[2] = value_text(rule_of(of));
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
		add_scope(&self->query.budgets->list.data[i], &text);
		result_add_caveat(record, "no allocation is of %s (line %u of the budgets)",
				  strbuf_text(&text), self->query.budgets->list.data[i].line);
	}
	strbuf_release(&text);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void say_of_baseline(const struct check *self, struct result *record)
{
	const struct model *now = self->query.trace.source->model, *before;

	if (!self->query.baseline)
		return;
	before = self->query.baseline->source->model;
	if (strcmp(last_part(now->image.program), last_part(before->image.program)) != 0)
		result_add_caveat(record, "the programs differ: %s, and %s in the baseline",
				  last_part(now->image.program), last_part(before->image.program));
	if (!now->image.sample_bytes != !before->image.sample_bytes)
		result_add_caveat(record,
				  "only one of recording and baseline is sampled: small growth "
				  "is chance");
}

static const char *title_of(const struct check *self, struct result *record)
{
	struct strbuf text = {0};

	if (self->over)
		strbuf_addf(&text, "%s of %s limit%s exceeded", units_count(self->over).text,
			    units_count(self->rows.count).text,
			    self->rows.count == 1 ? " is" : "s are");
	else
		strbuf_addf(&text, "%s limit%s kept%s", units_count(self->rows.count).text,
			    self->rows.count == 1 ? " is" : "s are",
			    self->failed ? ", as far as is known" : "");
	return take_copy(record, &text);
}

static void add(struct result *record, const char *name, const char *label, enum value_type type,
		struct value value, const char *meaning)
{
	result_add_field(record, (struct result_column)COLUMN(name, label, type, meaning), value);
}

static void add_head(struct result *record, const struct check *self)
{
	const struct model *model = self->query.trace.source->model;
	struct strbuf text = {0};

	record->title = title_of(self, record);
	add(record, "file", "trace", VALUE_TEXT,
	    value_text(result_copy(record, self->query.trace.label)), "trace that was checked");
	add(record, "baseline", "baseline", VALUE_TEXT,
	    self->query.baseline ? value_text(result_copy(record, self->query.baseline->label))
				 : value_unknown(),
	    "trace that growth is counted from");
	add(record, "program", NULL, VALUE_PATH,
	    model->has_image ? value_text(result_copy(record, model->image.program))
			     : value_unknown(),
	    "its program");
	add(record, "passed", NULL, VALUE_BOOL, value_number(!self->failed),
	    "whether the check passed");
	add(record, "checked", NULL, VALUE_COUNT, value_number(self->rows.count),
	    "limits that were checked");
	add(record, "over", NULL, VALUE_COUNT, value_number(self->over),
	    "limits that are exceeded");
	add(record, "complete", NULL, VALUE_BOOL,
	    value_number(!self->incomplete[0].count && !self->incomplete[1].count),
	    "whether every event is in trace and baseline");
	for (u32 i = 0; i < 2; i++)
		if (self->incomplete[i].count) {
			say_incomplete(self, i, &text);
			result_add_caveat(record, "%s", strbuf_text(&text));
			strbuf_clear(&text);
		}
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
	err_set(err, ERR_MEMORY, "out of memory for the result of a check");
	return NULL;
}

/* ---- problems ---- */

const struct problem_rule check_rules[] = {
	{"max-peak", "The most live bytes at any moment must stay within the limit."},
	{"max-bytes", "The bytes requested in all must stay within the limit."},
	{"max-allocs", "The number of allocations must stay within the limit."},
	{"max-kept", "Bytes that are never freed must stay within the limit."},
	{"max-temporary",
	 "Chunks that are freed before the next allocation of their thread must stay within "
	 "the limit."},
	{"max-growth", "The numbers must not grow against the baseline by more than the limit."},
	{"incomplete", "The recording must hold every event, or the limits cannot be judged."},
};
const u32 check_rule_count = sizeof check_rules / sizeof *check_rules;

/* NULL (and the list failed) if there is no memory. */
static const char *list_text(struct problem_list *list, struct strbuf *text)
{
	const char *copy = text->failed ? NULL : arena_copy(&list->arena, strbuf_text(text));

	if (!copy)
		list->failed = true;
	strbuf_clear(text);
	return copy ? copy : "";
}

static const char *list_copy(struct problem_list *list, const char *text)
{
	const char *copy = arena_copy(&list->arena, text);

	if (!copy)
		list->failed = true;
	return copy ? copy : "";
}

static void add_places(const struct check *self, const struct check_row *row,
		       struct problem_list *list, struct problem *problem)
{
	struct problem_place *places =
		arena_new_array(&list->arena, struct problem_place, row->count);
	struct strbuf text = {0};

	for (u64 i = 0; places && i < row->count; i++) {
		const struct check_culprit *culprit = &self->culprits.data[row->first + i];
		struct finding_place place =
			finding_place(self->query.trace.source, culprit->frame);

		add_place(self, row, culprit, &text);
		places[i] =
			(struct problem_place){.file = list_copy(list, path_from(self->query.root,
										 place.own.file)),
					       .line = place.own.line,
					       .function = list_copy(list, place.own.function),
					       .text = list_text(list, &text)};
	}
	list->failed |= !places;
	problem->places = places;
	problem->place_count = places ? (u32)row->count : 0;
	strbuf_release(&text);
}

static void add_problem(const struct check *self, const struct check_row *row,
			struct problem_list *list, const char *source)
{
	struct problem problem = {.rule = rule_of(row),
				  .source = source,
				  .level = row->over ? PROBLEM_ERROR : PROBLEM_NONE};
	struct strbuf text = {0};

	check_subject(self, row, &text);
	problem.subject = list_text(list, &text);
	strbuf_addf(&text, "%s: %s: ", source, problem.subject);
	check_sentence(self, row, &text);
	problem.message = list_text(list, &text);
	add_places(self, row, list, &problem);
	problems_add(list, &problem);
	strbuf_release(&text);
}

static void add_incomplete(const struct check *self, u32 which, struct problem_list *list,
			   const char *source)
{
	struct problem problem = {.rule = "incomplete",
				  .subject = which ? "completeness of the baseline"
						   : "completeness of the recording",
				  .source = source};
	struct strbuf text = {0};

	if (self->incomplete[which].count) {
		problem.level = self->query.allow_incomplete ? PROBLEM_NOTE : PROBLEM_ERROR;
		strbuf_addf(&text, "%s: ", source);
		say_incomplete(self, which, &text);
	}
	problem.message = list_text(list, &text);
	problems_add(list, &problem);
	strbuf_release(&text);
}

int check_problems(const struct check *self, struct problem_list *list, struct err *err)
{
	const char *source = list_copy(list, self->query.trace.label);

	add_incomplete(self, 0, list, source);
	if (self->query.baseline)
		add_incomplete(self, 1, list, list_copy(list, self->query.baseline->label));
	for (u64 i = 0; i < self->rows.count; i++)
		add_problem(self, &self->rows.data[i], list, source);
	return list->failed ? err_set(err, ERR_MEMORY, "out of memory for the result of a check")
			    : 0;
}
