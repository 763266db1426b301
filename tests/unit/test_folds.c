/* SPDX-License-Identifier: MIT
 * Which functions are folded into their callers, and where a finding is then. */
#include <stdio.h>

#include "study/analysis/findings/findings.h"
#include "study/analysis/places/folds.h"
#include "unit/test_access.h"

/* Function i calls from address base + 16 * (i + 1), as all tests of analyses have it. */
enum { MAIN, CALLERS, CALLER_COUNT = 8, WRAPPER = CALLERS + CALLER_COUNT, OUTER, NAMES };

struct program {
	struct feed feed;
	const char *names[NAMES];
	struct symbol_frame frames[NAMES];
	struct symbol_entry entries[NAMES];
	struct symbol_table symbols;
	struct stack_source source;
	struct wrappers asked;
	struct folds folds;
	u32 contexts;
};

static void begin(struct program *self, const char *wrapper)
{
	static const char *const callers[CALLER_COUNT] = {"parse", "load", "draw", "save", "scan", "sort", "send", "wait"};

	*self = (struct program){.feed = feed_new(), .contexts = NAMES};
	self->names[MAIN] = "main";
	for (u32 i = 0; i < CALLER_COUNT; i++)
		self->names[CALLERS + i] = callers[i];
	self->names[WRAPPER] = wrapper;
	self->names[OUTER] = "outer";
	tell_functions(&self->feed, NAMES);
}

/* The context of a function that another context calls; 0 = nobody. */
static u32 called(struct program *self, u32 function, u32 by)
{
	tell_context(&self->feed, ++self->contexts, by, pc_of(PROGRAM_BASE, function + 1));
	return self->contexts;
}

/* A stack from main on, through functions; UINT32_MAX ends it. */
static u32 stack(struct program *self, const u32 *functions)
{
	u32 context = called(self, MAIN, 0);

	for (; *functions != UINT32_MAX; functions++)
		context = called(self, *functions, context);
	return context;
}
#define STACK(self, ...) stack(self, (const u32[]){__VA_ARGS__, UINT32_MAX})

static void allocate(struct program *self, u32 context, u64 size) { tell_alloc(&self->feed, HW_MALLOC, context, size); }

/* Callers of the wrapper, the first ones; each asks for `step` bytes more than the one before. */
static void through(struct program *self, u32 callers, u64 size, u64 step)
{
	for (u32 i = 0; i < callers; i++)
		allocate(self, STACK(self, CALLERS + i, WRAPPER), size + step * i);
}

static void finish(struct program *self)
{
	end_at(&self->feed, 100000);
	self->symbols = named_table(self->names, NAMES, self->frames, self->entries);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
	told(&self->feed, folds_find(&self->folds, &self->source, &self->asked, &self->feed.err));
	self->source.folds = &self->folds;
}

static void release(struct program *self)
{
	wrappers_release(&self->asked);
	folds_release(&self->folds);
	model_free(self->feed.model);
}

/* "parse < main" */
static const char *place(const struct program *self, u32 point)
{
	static char text[200];
	struct finding_place place = finding_place(&self->source, self->feed.model->points.data[point].frame);

	snprintf(text, sizeof text, "%s%s%s", place.own.function, *place.caller.function ? " < " : "", place.caller.function);
	return text;
}

TEST(rule, "a wrapper is one by its name, or if many functions allocate many sizes through it")
{
	static const struct {
		const char *name;
		u32 callers;
		u64 step;
		bool folded;
		enum fold_why why;
	} rows[] = {
		{"xmalloc", 1, 0, true, FOLD_NAME},
		{"sqlite3DbMallocRaw", 1, 0, true, FOLD_NAME},
		{"sqlite3Malloc.part.0", 1, 0, true, FOLD_NAME},
		{"PyMem_RawCalloc", 1, 0, true, FOLD_NAME},
		{"g_strdup", 1, 0, true, FOLD_NAME},
		{"util::Heap::realloc(void*, unsigned long)", 1, 0, true, FOLD_NAME},
		/* what it allocates may be its own choice */
		{"jv_mem_alloc", 1, 0, false, FOLD_NAME},
		{"jv_mem_alloc", 2, 0, false, FOLD_NAME},
		{"jv_mem_alloc", 2, 8, true, FOLD_NAME},
		{"node_alloc", 8, 0, false, FOLD_NAME},
		{"test_malloc", 1, 0, false, FOLD_NAME},
		/* names that say nothing */
		{"PyUnicode_New", 8, 100, true, FOLD_FORM},
		{"PyUnicode_New", 5, 100, true, FOLD_FORM},
		{"PyUnicode_New", 4, 100, false, FOLD_FORM},
		{"node_new", 8, 0, false, FOLD_FORM},
		{"node_new", 8, 1, false, FOLD_FORM}, /* nearly one size */
		{"xfree", 1, 0, false, FOLD_FORM},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct program program;
		bool ok;

		begin(&program, rows[i].name);
		through(&program, rows[i].callers, 64, rows[i].step);
		finish(&program);
		ok = CHECK_EQ(program.folds.rows.count, rows[i].folded);
		ok = CHECK_EQ(folds_hold(&program.folds, "/elsewhere/prog", rows[i].name, 0), rows[i].folded) && ok;
		if (rows[i].folded && program.folds.rows.count) {
			ok = CHECK_EQ(program.folds.rows.data[0].why, rows[i].why) && ok;
			ok = CHECK_EQ(program.folds.rows.data[0].callers, rows[i].callers) && ok;
			ok = CHECK_STR(place(&program, 0), "parse < main") && ok;
		} else {
			ok = CHECK_EQ(strncmp(place(&program, 0), rows[i].name, strlen(rows[i].name)), 0) && ok;
		}
		if (!ok)
			fprintf(stderr, "# %s of %u callers\n", rows[i].name, rows[i].callers);
		release(&program);
	}
}

TEST(direct, "a function whose callers allocate rather without it is no wrapper")
{
	struct program program;

	begin(&program, "read_item");
	through(&program, 8, 64, 100);
	for (u32 i = 0; i < 4; i++)
		for (u32 k = 0; k < 3; k++)
			allocate(&program, STACK(&program, CALLERS + i), 32);
	finish(&program);
	CHECK_EQ(program.folds.rows.count, 0);
	release(&program);
}

TEST(nested, "a wrapper around a wrapper is folded, too, and both are told")
{
	struct program program;

	begin(&program, "xmalloc");
	for (u32 i = 0; i < CALLER_COUNT; i++)
		allocate(&program, STACK(&program, CALLERS + i, OUTER, WRAPPER), 16 << i);
	finish(&program);
	CHECK_EQ(program.folds.rows.count, 2);
	CHECK_STR(place(&program, 0), "parse < main");
	CHECK_STR(place(&program, 7), "wait < main");
	release(&program);
}

TEST(all_wrappers, "where all functions of a stack are wrappers the innermost is the place")
{
	struct program program;

	begin(&program, "xmalloc");
	program.names[OUTER] = "xcalloc";
	allocate(&program, STACK(&program, CALLERS, OUTER, WRAPPER), 10);
	allocate(&program, called(&program, WRAPPER, called(&program, OUTER, 0)), 10); /* the outer frames were cut off */
	finish(&program);
	CHECK_EQ(program.folds.rows.count, 2);
	CHECK_STR(place(&program, 0), "parse < main");
	CHECK_STR(place(&program, 1), "xmalloc < xcalloc");
	release(&program);
}

TEST(inside, "a function without a name that a wrapper calls is part of the wrapper")
{
	struct program program;

	begin(&program, "");
	program.names[OUTER] = "sqlite3Malloc";
	allocate(&program, STACK(&program, CALLERS, OUTER, WRAPPER), 10);
	allocate(&program, STACK(&program, CALLERS + 1, WRAPPER), 10);
	finish(&program);
	CHECK_EQ(program.folds.rows.count, 1);
	CHECK_STR(place(&program, 0), "parse < main");
	CHECK_STR(place(&program, 1), " < load");
	release(&program);
}

TEST(nameless, "a call without a name is part of its callers if many places allocate many sizes through it")
{
	static const struct {
		const char *wrapper;
		u32 places; /* none has a name */
		u64 step;
		bool folded;
	} rows[] = {
		{"", 10, 100, true},
		{"", 9, 100, false},
		{"", 10, 0, false}, /* one size: it makes something */
		{"PyUnicode_New", 10, 100, false}, /* they may all be in one function */
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct program program;
		struct finding_place place;

		begin(&program, rows[i].wrapper);
		for (u32 k = 0; k < rows[i].places; k++)
			allocate(&program, STACK(&program, NAMES + k, WRAPPER), 64 + rows[i].step * k);
		finish(&program);
		place = finding_place(&program.source, program.feed.model->points.data[0].frame);
		CHECK_EQ(program.folds.rows.count, rows[i].folded);
		CHECK_STR(place.own.function, rows[i].folded ? "" : rows[i].wrapper);
		CHECK_STR(place.caller.function, rows[i].folded ? "main" : "");
		release(&program);
	}
}

TEST(beside, "a call without a name beside a wrapper without a name needs no many callers")
{
	enum { FAR = 200 }; /* 16 bytes of code each */
	static const struct {
		u64 step;
		u32 at;
		const char *own; /* "" = the wrapper, at which caller it is not */
		bool folded;
	} rows[] = {
		{100, OUTER + 1, "parse", true},
		{0, OUTER + 1, "", false}, /* one size: it makes something */
		{100, FAR, "", false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct program program;
		struct finding_place place;

		begin(&program, "");
		allocate(&program, STACK(&program, CALLERS, rows[i].at), 64);
		allocate(&program, STACK(&program, CALLERS + 1, rows[i].at), 64 + rows[i].step);
		for (u32 k = 0; k < 10; k++)
			allocate(&program, STACK(&program, 2 * FAR + k, WRAPPER), 64 + 100 * k);
		finish(&program);
		place = finding_place(&program.source, program.feed.model->points.data[0].frame);
		CHECK_EQ(program.folds.rows.count, 1 + rows[i].folded);
		CHECK_STR(place.own.function, rows[i].own);
		release(&program);
	}
}

TEST(asked, "functions that the user names are wrappers whatever their form")
{
	struct program program;

	begin(&program, "grab");
	told(&program.feed, wrappers_add(&program.asked, "nothing,gra*", &program.feed.err));
	through(&program, 1, 64, 0);
	finish(&program);
	CHECK_EQ(program.folds.rows.count, 1);
	CHECK_EQ(program.folds.rows.data[0].why, FOLD_ASKED);
	CHECK_STR(place(&program, 0), "parse < main");
	release(&program);
}

TEST(recursion, "a function that calls itself is said once, however deep")
{
	struct program program;

	begin(&program, "walk");
	allocate(&program, STACK(&program, CALLERS, WRAPPER, WRAPPER, WRAPPER), 10);
	allocate(&program, STACK(&program, CALLERS, WRAPPER), 10);
	finish(&program);
	CHECK_STR(place(&program, 0), "walk < parse");
	CHECK_STR(place(&program, 1), "walk < parse");
	release(&program);
}

TEST(listed, "the list says which functions and why, and one line the first ones")
{
	struct program program;
	struct result *result = result_new(RESULT_RECORD, "report", "");

	begin(&program, "PyUnicode_New");
	through(&program, 8, 64, 64);
	finish(&program);
	folds_add(&program.folds, program.feed.model, result);
	CHECK_EQ(result->caveats.count, 1);
	CHECK_STR(result->caveats.data[0], "shown as part of its callers: PyUnicode_New (8 functions allocate 64 B to 512 B "
					   "through it); --no-fold shows it");
	CHECK_EQ(result->parts.count, 1);
	CHECK_STR(cell(result->parts.data[0], 0, "function")->text, "PyUnicode_New");
	CHECK_STR(cell(result->parts.data[0], 0, "why")->text, "callers");
	CHECK_EQ(cell(result->parts.data[0], 0, "callers")->number, 8);
	CHECK_EQ(cell(result->parts.data[0], 0, "max_mean_bytes")->number, 512);
	result_free(result);
	release(&program);
}
