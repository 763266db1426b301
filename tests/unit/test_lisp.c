/* SPDX-License-Identifier: MIT
 * The tables of mprof of a Lisp: categories by type, the start apart, collected and never kept. */
#include "study/analysis/leaks/leaks.h"
#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/direct.h"
#include "study/analysis/summary/summary.h"
#include "unit/test_mprof.h"

TEST(categories, "types fall into the categories of the paper")
{
	static const struct {
		const char *type;
		enum lisp_category category;
	} rows[] = {
		{"cons", LISP_CONS},
		{"double-float", LISP_FLOAT},
		{"single-float", LISP_FLOAT},
		{"complex double-float", LISP_FLOAT},
		{"complex", LISP_OTHER}, /* of rationals */
		{"structure NODE", LISP_STRUCTURE},
		{"structure slots", LISP_STRUCTURE},
		{"instance POINT", LISP_STRUCTURE},
		{"instance", LISP_STRUCTURE},
		{"vector", LISP_STRUCTURE},
		{"vector data", LISP_STRUCTURE},
		{"base-string", LISP_STRUCTURE},
		{"bignum", LISP_OTHER},
		{"structures", LISP_OTHER},
		{"data", LISP_OTHER},
		{"", LISP_OTHER},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_EQ(lisp_category(rows[i].type), rows[i].category);
	CHECK_STR(lisp_letter(LISP_FLOAT), "f");
}

static void tell_type(struct program *self, u64 chunk, u32 name)
{
	struct stream_type type = {.chunk = chunk, .identity = name, .count = 1, .source = TYPE_DECLARED};
	struct feed *feed = &self->feed;

	told(feed, feed->sink.types(feed->sink.self, &type, 1, &feed->err));
}

static void tell_name(struct program *self, u32 id, const char *text)
{
	struct feed *feed = &self->feed;

	told(feed, feed->sink.name(feed->sink.self, &(struct stream_name){id, text}, &feed->err));
}

/* Two conses and a float by MAKE, of which a cons is collected; and the start. */
static struct program *lisp_program(bool startup)
{
	struct program *program = program_new();
	u64 chunk;

	program->feed.model->image.flags |= HW_RUN_LISP;
	tell_name(program, 1, "cons");
	tell_name(program, 2, "double-float");
	tell_type(program, allocate(program, LISP_START, 1000), 1);
	chunk = allocate(program, "MAIN>MAKE", 16);
	tell_type(program, chunk, 1);
	tell_type(program, allocate(program, "MAIN>MAKE", 16), 1);
	tell_type(program, allocate(program, "MAIN>MAKE", 32), 2);
	release(program, chunk, 16);
	program_end(program);
	mprof_calls_release(&program->calls);
	if (mprof_calls_read_lisp(&program->calls, &program->source, startup, &program->feed.err) < 0)
		FAIL("%s", program->feed.err.text);
	return program;
}

TEST(direct, "sums of a function are by category, and collected instead of kept")
{
	struct program *program = lisp_program(false);
	const struct mprof_calls *calls = &program->calls;
	struct result *table = analyse_mprof_direct(calls, &program->feed.err);

	CHECK_EQ(calls->all.bytes, 64);
	CHECK_EQ(calls->all.calls, 3);
	CHECK_EQ(calls->all.sizes[LISP_CONS], 32);
	CHECK_EQ(calls->all.sizes[LISP_FLOAT], 32);
	CHECK_EQ(calls->kept.bytes, 16);
	CHECK_EQ(calls->kept.sizes[LISP_CONS], 16);
	CHECK_EQ(calls->startup.bytes, 1000);
	CHECK_EQ(table->cells.count / table->columns.count, 2); /* no row of the start */
	CHECK_STR(table->columns.data[2].name, "cons");
	CHECK_STR(table->columns.data[2].label, "c");
	CHECK_STR(table->columns.data[6].name, "collected_bytes");
	result_free(table);
	program_free(program);
}

TEST(startup, "the start is in the tables if it is asked for")
{
	struct program *program = lisp_program(true);

	CHECK_EQ(program->calls.all.bytes, 1064);
	CHECK_EQ(program->calls.startup.bytes, 0);
	program_free(program);
}

TEST(types, "types are listed with what was collected of them")
{
	struct program *program = lisp_program(false);
	struct result *table = analyse_lisp_types(&program->calls, MPROF_VERBOSE, &program->feed.err);
	const struct value *row = table->cells.data;

	CHECK_EQ(table->cells.count / table->columns.count, 3);
	for (u32 i = 0; i < 2; i++, row += table->columns.count)
		if (strcmp(row[0].text, "cons") == 0) {
			CHECK_EQ(row[2].number, 2);
			CHECK_EQ(row[3].number, 32);
			CHECK_EQ(row[5].number, 1);
			CHECK_EQ(row[6].number, 16);
		}
	CHECK_EQ(row[2].number, 3);
	result_free(table);
	program_free(program);
}

TEST(kept, "nothing of a Lisp is kept or leaked")
{
	struct program *program = lisp_program(true);
	struct leak_table leaks = {0};

	CHECK(model_keeps_nothing(program->feed.model));
	CHECK_EQ(leaks_find(&program->source, NULL, &leaks, &program->feed.err), 0);
	CHECK_EQ(leaks.rows.count, 0);
	for (u64 i = 0; i < 4; i++)
		CHECK(chunk_at(&program->feed.model->chunks, i)->end[i] != CHUNK_KEPT);
	program_free(program);
}
