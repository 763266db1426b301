/* SPDX-License-Identifier: MIT
 * What a check found, in sentences.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/findings/findings.h"

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

const struct budget *check_budget_of(const struct check *self, const struct check_row *row)
{
	return &self->query.budgets->list.data[row->budget];
}

static struct unit_text amount(enum compare_metric metric, u64 value)
{
	return compare_metric_is_bytes(metric) ? units_bytes(value) : units_count(value);
}

/* The pattern as the user wrote it, without ^ and $. */
void budget_add_scope(const struct budget *budget, struct strbuf *out)
{
	strbuf_add(out, scope_nouns[budget->scope]);
	if (budget->scope == BUDGET_PROGRAM)
		return;
	strbuf_add_char(out, ' ');
	strbuf_add_bytes(out, budget->pattern + 1, strlen(budget->pattern) - 2);
}

void check_subject(const struct check *self, const struct check_row *row, struct strbuf *out)
{
	const struct budget *budget = check_budget_of(self, row);

	strbuf_addf(out, "%s%s of ", row->growth ? "growth of " : "", metric_nouns[row->metric]);
	budget_add_scope(budget, out);
	if (budget->name)
		strbuf_addf(out, " (%s)", budget->name);
}

static void add_percent(struct strbuf *out, u64 part, u64 whole)
{
	if (whole)
		strbuf_addf(out, " (%s)", units_percent(units_share(part, whole)).text);
}

/* The value, with all digits where it would look like its limit. */
void check_add_value(const struct check_row *row, struct strbuf *out)
{
	struct unit_text value = amount(row->metric, row->value),
			 limit = amount(row->metric, row->limit);

	strbuf_add(out, value.text);
	if (row->over && strcmp(value.text, limit.text) == 0)
		strbuf_addf(out, " (%s bytes)", units_count(row->value).text);
}

void check_add_limit(const struct check *self, const struct check_row *row, struct strbuf *out)
{
	strbuf_add(out, amount(row->metric, row->limit).text);
	if (row->growth)
		strbuf_addf(out, " (%s and %s)", amount(row->metric, row->base).text,
			    units_percent(check_budget_of(self, row)->growth).text);
}

void check_add_excess(const struct check_row *row, struct strbuf *out)
{
	strbuf_add(out, amount(row->metric, row->value - row->limit).text);
	add_percent(out, row->value - row->limit, row->limit);
}

void check_sentence(const struct check *self, const struct check_row *row, struct strbuf *out)
{
	check_add_value(row, out);
	strbuf_add(out, row->over ? ", " : " of ");
	if (row->over) {
		check_add_excess(row, out);
		strbuf_add(out, " above the limit of ");
	}
	check_add_limit(self, row, out);
}

/* Paths below the sources' folder are told from there: hosts of sources know no other. */
const char *check_path(const char *root, const char *path)
{
	size_t length = root ? strlen(root) : 0;

	while (length && root[length - 1] == '/')
		length--;
	if (length && strncmp(path, root, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

void check_add_share(const struct check_row *row, const struct check_culprit *culprit,
		     struct strbuf *out)
{
	strbuf_add(out, amount(row->metric, culprit->value).text);
	if (row->growth)
		strbuf_addf(out, ", was %s", amount(row->metric, culprit->base).text);
	else
		add_percent(out, culprit->value, row->value);
}

/* Where a culprit is, as a developer looks for it: "parse (src/parse.c:12), called by main: 1.5
 * MiB". */
void check_add_place(const struct check *self, const struct check_row *row,
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
		strbuf_addf(out, " (%s:%u)", check_path(self->query.root, place.own.file),
			    place.own.line);
	if (*place.caller.function)
		strbuf_addf(out, ", called by %s", place.caller.function);
	strbuf_add(out, ": ");
	check_add_share(row, culprit, out);
}

void check_say_incomplete(const struct check *self, u32 which, struct strbuf *out)
{
	strbuf_addf(out, "the %s is incomplete: %s%s", which ? "baseline" : "recording",
		    strbuf_text(&self->incomplete[which]),
		    self->query.allow_incomplete ? "" : "; --allow-incomplete accepts it");
}

/* A program that did not come to its own end did less than it should. False if it did. */
bool check_say_end(const struct check *self, struct strbuf *out)
{
	const struct model *model = self->query.trace.source->model;

	if (model->has_end && model->end.how == IMAGE_KILLED)
		strbuf_addf(out,
			    "the program was killed by signal %d; numbers cover the run up to then",
			    model->end.value);
	else if (model->has_end && model->end.how == IMAGE_DETACHED)
		strbuf_add(
			out,
			"the recording was stopped before the program's end; numbers cover the run "
			"up to then");
	return out->count != 0;
}

const char *check_rule(const struct check_row *row)
{
	return row->growth ? "max-growth" : budget_limit_name(row->metric);
}
