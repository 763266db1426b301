/* SPDX-License-Identifier: MIT
 * Budgets: what files say, what patterns match, what is above. */
#include <stdlib.h>

#include "study/analysis/budget/budget.h"
#include "unit/test_analysis.h"

static int parse(struct budgets *budgets, const char *text, struct err *err)
{
	int status = budgets_init(budgets, err);

	return status < 0 ? status
			  : budgets_parse(budgets, text, strlen(text), "dir/heap.toml", err);
}

TEST(files, "limits of the program and of its parts are read")
{
	static const char text[] =
		"max-peak = \"64M\"\nmax-allocs = 1_000\nmax-kept = 0\n"
		"max-growth = \"2.5%\"\nbaseline = \"old.hwt\"\n"
		"[[budget]]\nfunction = \"parse_*\"\nmax-peak = \"4M\"\nname = \"parser\"\n"
		"[[budget]]\ntype = 'std::vector<*>'\nmax-growth = 200\n"
		"growth-of = ['peak', 'temporary']\n";
	struct budgets budgets = {0};
	struct err err = {0};
	const struct budget *at;

	if (parse(&budgets, text, &err) < 0)
		FAIL("%s", err.text);
	at = budgets.list.data;
	CHECK_EQ(budgets.list.count, 3);
	CHECK_EQ(at[0].max[COMPARE_PEAK], 64 << 20);
	CHECK_EQ(at[0].max[COMPARE_ALLOCATIONS], 1000);
	CHECK(at[0].has[COMPARE_KEPT] && at[0].max[COMPARE_KEPT] == 0 && !at[0].has[COMPARE_BYTES]);
	CHECK(at[0].growth > 0.0249 && at[0].growth < 0.0251);
	CHECK_EQ(at[0].growth_of, BUDGET_GROWTH_OF);
	CHECK_STR(budgets.baseline, "dir/old.hwt");
	CHECK_EQ(at[1].scope, BUDGET_FUNCTION);
	CHECK_STR(at[1].name, "parser");
	CHECK_EQ(at[1].line, 6);
	CHECK_EQ(at[2].scope, BUDGET_TYPE);
	CHECK(at[2].growth == 2);
	CHECK_EQ(at[2].growth_of, 1u << COMPARE_PEAK | 1u << COMPARE_TEMPORARY);
	CHECK(budgets_have_types(&budgets) && budgets_have_growth(&budgets) &&
	      budgets_have_limits(&budgets));
	budgets_release(&budgets);
}

TEST(mistakes, "what a file says wrong is refused, never passed over")
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"max-paek = 1", "heap.toml:1:1: unknown key 'max-paek': did you mean max-peak"},
		{"function = 'f'", "heap.toml:1:1: 'function' has no meaning here"},
		{"\nmax-peak = 'much'", "heap.toml:2:12: max-peak must be a size"},
		{"max-peak = -1", "max-peak must be a size"},
		{"max-peak = 1.5", "max-peak must be a size"},
		{"max-peak = true", "max-peak must be a size"},
		{"max-allocs = '7'", "max-allocs must be a number"},
		{"max-growth = 'little'", "max-growth must be a percentage"},
		{"max-growth = -1", "max-growth must be a percentage"},
		{"growth-of = 'peak'", "growth-of must be an array"},
		{"growth-of = []", "growth-of must be an array"},
		{"growth-of = ['peak', 'size']", "heap.toml:1:22: growth-of must list"},
		{"baseline = 7", "baseline must be a string, not integer"},
		{"[budget]", "only [[budget]] tables"},
		{"[[budgets]]", "only [[budget]] tables"},
		{"[[budget]]", "needs a function"},
		{"[[budget]]\nmax-peak = 1", "needs a function"},
		{"[[budget]]\nfunction = 'f'", "needs a limit"},
		{"[[budget]]\nfunction = ''\nmax-peak = 1", "an empty one"},
		{"[[budget]]\nfunction = 'f'\ntype = 't'\nmax-peak = 1",
		 "heap.toml:3:1: this budget already has a function"},
		{"[[budget]]\nfunction = 'f'\nbaseline = 't'\nmax-peak = 1",
		 "'baseline' has no meaning in a budget"},
		{"max-peak = ", "expected a value"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct budgets budgets = {0};
		struct err err = {0};
		int status = parse(&budgets, rows[i].text, &err);

		if (!CHECK_EQ(status, ERR_INPUT) || !CHECK(strstr(err.text, rows[i].says) != NULL))
			fprintf(stderr, "# row %u: %s\n", i, err.text);
		budgets_release(&budgets);
	}
}

TEST(patterns,
     "stars match, names of functions also without parameters, paths also without folders")
{
	static const struct {
		enum budget_scope scope;
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{BUDGET_FUNCTION, "^parse_*$", "parse_line", true},
		{BUDGET_FUNCTION, "^parse_*$", "reparse_line", false},
		{BUDGET_FUNCTION, "^ns::f$", "ns::f(int, char)", true},
		{BUDGET_FUNCTION, "^f$", "ns::f(int)", false},
		{BUDGET_FUNCTION, "^*$", "anything at all", true},
		{BUDGET_MODULE, "^libz.so*$", "/usr/lib/libz.so.1", true},
		{BUDGET_MODULE, "^/usr/lib/*$", "/usr/lib/libz.so.1", true},
		{BUDGET_MODULE, "^z$", "/usr/lib/libz.so.1", false},
		{BUDGET_FILE, "^*.cpp$", "src/a.cpp", true},
		{BUDGET_FILE, "^src/*$", "src/a.cpp", true},
		{BUDGET_TYPE, "^std::vector<*>$", "std::vector<int>", true},
		{BUDGET_TYPE, "^vector<*>$", "std::vector<int>", false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct budget budget = {.scope = rows[i].scope, .pattern = rows[i].pattern};

		if (!CHECK_EQ(budget_matches(&budget, rows[i].name), rows[i].matches))
			fprintf(stderr, "# %s on %s\n", rows[i].pattern, rows[i].name);
	}
}

/* ---- checks of a hand-made recording ---- */

/* main calls left and right; both call make. left: 3 × 100, freed; right: 2 × 1,000, one kept. The
 * parts have their peaks at different times; events share their times. */
struct sample {
	struct feed feed;
	struct symbol_frame frames[8];
	struct symbol_entry entries[8];
	struct symbol_table symbols;
	struct stack_source source;
	struct event events[16];
	u32 count;
};

static void keep_event(struct sample *self, u8 kind, u32 context, u64 size, u64 chunk)
{
	struct event event = {.ticks = 2000,
			      .kind = kind,
			      .context = context,
			      .size = size,
			      .chunk = chunk,
			      .address = 0x1000 + 16 * chunk};

	self->events[self->count++] = event;
	tell_event(&self->feed, event);
}

static int stream_sample(void *data, const struct stream_sink *sink, struct err *err)
{
	struct sample *self = data;

	return sink->events(sink->self, self->events, self->count, err);
}

static void make_sample(struct sample *self, bool ended)
{
	static const char *const names[] = {"main", "left(int)", "right", "make"};

	self->feed = feed_new();
	tell_module(&self->feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_thread(&self->feed, 0);
	self->symbols = named_table(names, 4, self->frames, self->entries);
	tell_context(&self->feed, 1, 0, pc_of(PROGRAM_BASE, 1));
	tell_context(&self->feed, 2, 1, pc_of(PROGRAM_BASE, 2));
	tell_context(&self->feed, 3, 2, pc_of(PROGRAM_BASE, 4));
	tell_context(&self->feed, 4, 1, pc_of(PROGRAM_BASE, 3));
	tell_context(&self->feed, 5, 4, pc_of(PROGRAM_BASE, 4));
	for (u64 i = 0; i < 3; i++)
		keep_event(self, HW_MALLOC, 3, 100, i);
	for (u64 i = 0; i < 3; i++)
		keep_event(self, HW_FREE, 0, 100, i);
	keep_event(self, HW_MALLOC, 5, 1000, 3);
	keep_event(self, HW_MALLOC, 5, 1000, 4);
	keep_event(self, HW_FREE, 0, 1000, 3);
	if (ended)
		tell_end(&self->feed, IMAGE_EXITED);
	else
		model_finish(self->feed.model);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
}

static struct budget_trace trace_of(struct sample *self)
{
	return (struct budget_trace){.source = &self->source,
				     .label = "t.hwt",
				     .stream = stream_sample,
				     .stream_self = self};
}

static struct check checked(struct sample *sample, const struct budgets *budgets,
			    const struct budget_trace *baseline)
{
	struct check check = {0};
	struct err err = {0};
	struct check_query query = {.budgets = budgets,
				    .trace = trace_of(sample),
				    .baseline = baseline,
				    .top = 3};

	if (check_run(&check, &query, &err) < 0)
		FAIL("%s", err.text);
	return check;
}

TEST(limits, "values are those of the program and of its parts, exact to the byte")
{
	static const struct {
		const char *text;
		u64 value;
		bool over;
		u64 culprits;
	} rows[] = {
		{"max-peak = 2000", 2000, false, 0},
		{"max-peak = 1999", 2000, true, 1},
		{"max-bytes = 2299", 2300, true, 2},
		{"max-allocs = 4", 5, true, 2},
		{"max-kept = 1000", 1000, false, 0},
		{"max-kept = 999", 1000, true, 1},
		{"max-temporary = 0", 1, true, 1}, /* the last of left, freed at once */
		{"[[budget]]\nfunction = 'left'\nmax-peak = 299", 300, true, 1},
		{"[[budget]]\nfunction = 'left'\nmax-kept = 0", 0, false, 0},
		{"[[budget]]\nfunction = 'right'\nmax-peak = 2000", 2000, false, 0},
		{"[[budget]]\nfunction = 'right'\nmax-kept = 0", 1000, true, 1},
		{"[[budget]]\nfunction = 'ma*'\nmax-peak = 0", 2000, true, 2},
		{"[[budget]]\nmodule = 'prog'\nmax-allocs = 0", 5, true, 2},
		{"[[budget]]\nfile = 'prog.c'\nmax-bytes = 0", 2300, true, 2},
		{"[[budget]]\nfunction = 'nobody'\nmax-bytes = 0", 0, false, 0},
	};
	struct sample sample = {0};

	make_sample(&sample, true);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct budgets budgets = {0};
		struct err err = {0};
		struct check check;
		bool right;

		if (parse(&budgets, rows[i].text, &err) < 0)
			FAIL("%s", err.text);
		check = checked(&sample, &budgets, NULL);
		right = CHECK_EQ(check.rows.count, 1) &&
			CHECK_EQ(check.rows.data[0].value, rows[i].value);
		right &= CHECK_EQ(check.failed, rows[i].over);
		right &= CHECK_EQ(check.rows.data[0].count, rows[i].culprits);
		if (!right)
			fprintf(stderr, "# %s\n", rows[i].text);
		check_release(&check);
		budgets_release(&budgets);
	}
	model_free(sample.feed.model);
}

TEST(growth, "growth is counted from the baseline, and from nothing any is too much")
{
	static const char text[] =
		"max-growth = '0%'\n[[budget]]\nfunction = 'left'\nmax-growth = 50\n";
	struct sample sample = {0}, same = {0}, empty = {0};
	struct budgets budgets = {0};
	struct budget_trace baseline;
	struct check check;
	struct err err = {0};

	make_sample(&sample, true);
	make_sample(&same, true);
	baseline = trace_of(&same);
	if (parse(&budgets, text, &err) < 0)
		FAIL("%s", err.text);
	check = checked(&sample, &budgets, &baseline);
	CHECK_EQ(check.rows.count, 8);
	CHECK(!check.failed);
	check_release(&check);

	empty.feed = feed_new();
	tell_end(&empty.feed, IMAGE_EXITED);
	empty.source.model = empty.feed.model;
	baseline = trace_of(&empty);
	check = checked(&sample, &budgets, &baseline);
	CHECK_EQ(check.over, 7); /* left keeps nothing now as then */
	CHECK(check.failed);
	check_release(&check);
	budgets_release(&budgets);
	model_free(same.feed.model);
	model_free(empty.feed.model);
	model_free(sample.feed.model);
}

TEST(incomplete, "a recording that breaks off does not pass unless that is allowed")
{
	struct budgets budgets = {0};
	struct sample sample = {0};
	struct problem_list list = {.rules = check_rules, .rule_count = check_rule_count};
	struct check check = {0};
	struct err err = {0};

	make_sample(&sample, false);
	if (parse(&budgets, "max-peak = 5000", &err) < 0)
		FAIL("%s", err.text);
	check = checked(&sample, &budgets, NULL);
	CHECK(check.failed && !check.over);
	CHECK_EQ(check_problems(&check, &list, &err), 0);
	CHECK_EQ(problems_count(&list, PROBLEM_ERROR), 1);
	check.query.allow_incomplete = true;
	CHECK_EQ(check_problems(&check, &list, &err), 0);
	CHECK_EQ(problems_count(&list, PROBLEM_NOTE), 1);
	problems_release(&list);
	check_release(&check);
	budgets_release(&budgets);
	model_free(sample.feed.model);
}
