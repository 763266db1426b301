/* SPDX-License-Identifier: MIT
 * What a check found, as problems for those who watch over builds.
 * Host. */
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/findings/findings.h"

const struct problem_rule check_rules[] = {
	{"max-peak", "Live bytes must stay within the limit at any moment."},
	{"max-bytes", "The requested bytes must stay within the limit."},
	{"max-allocs", "The number of allocations must stay within the limit."},
	{"max-kept", "Bytes that are never freed must stay within the limit."},
	{"max-temporary",
	 "Chunks freed before the next allocation of their thread must stay within the limit."},
	{"max-growth", "Numbers must not grow beyond the baseline by more than the limit."},
	{"incomplete", "The recording must contain every event; otherwise the limits cannot be "
		       "checked."},
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

		check_add_place(self, row, culprit, &text);
		places[i] =
			(struct problem_place){.file = list_copy(list, check_path(self->query.root,
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
	struct problem problem = {.rule = check_rule(row),
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
		check_say_incomplete(self, which, &text);
	}
	problem.message = list_text(list, &text);
	problems_add(list, &problem);
	strbuf_release(&text);
}

static void add_end(const struct check *self, struct problem_list *list, const char *source)
{
	struct strbuf text = {0}, message = {0};

	if (check_say_end(self, &text)) {
		strbuf_addf(&message, "%s: %s", source, strbuf_text(&text));
		problems_add(list, &(struct problem){.rule = "incomplete",
						     .subject = "end of the program",
						     .source = source,
						     .message = list_text(list, &message),
						     .level = PROBLEM_NOTE});
	}
	strbuf_release(&text);
	strbuf_release(&message);
}

int check_problems(const struct check *self, struct problem_list *list, struct err *err)
{
	const char *source = list_copy(list, self->query.trace.label);

	add_incomplete(self, 0, list, source);
	if (self->query.baseline)
		add_incomplete(self, 1, list, list_copy(list, self->query.baseline->label));
	add_end(self, list, source);
	for (u64 i = 0; i < self->rows.count; i++)
		add_problem(self, &self->rows.data[i], list, source);
	return list->failed ? err_memory_for(err, "the result of a check") : 0;
}
