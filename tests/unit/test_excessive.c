/* SPDX-License-Identifier: MIT
 * Allocation objects, wrappers and both methods over hand-made models. One tick is one ns. */
#include <math.h>

#include "study/analysis/emad/excessive.h"
#include "study/model/durations.h"
#include "unit/test_mprof.h"

static struct excessive_query query_for(const struct wrappers *wrappers)
{
	return (struct excessive_query){
		.methods = BY_BOTH, .floor = 0.01, .seed = 1, .restarts = 10, .wrappers = wrappers};
}

/* count chunks, each freed after life ns by the other stack. */
static void churn(struct program *self, const char *stack, u64 size, u64 count, u64 life,
		  const char *destroyer)
{
	for (u64 i = 0; i < count; i++) {
		u64 chunk = allocate(self, stack, size);

		tell_event(&self->feed, (struct event){.kind = HW_FREE,
						       .ticks = self->feed.ticks + life,
						       .context = context_of(self, destroyer),
						       .chunk = chunk,
						       .size = size,
						       .address = 0x1000 + 16 * chunk});
		self->feed.ticks += life;
	}
}

static void finish(struct program *self)
{
	struct stream_clock pair = {.ticks = self->feed.ticks + 10,
				    .ns = 5000 + self->feed.ticks + 10 - 1000};

	told(&self->feed, self->feed.sink.clock(self->feed.sink.self, &pair, &self->feed.err));
	program_end(self);
	self->source.fold = false;
}

static struct excessive judge(struct program *self, const struct excessive_query *query)
{
	struct excessive found;

	if (excessive_find(&found, &self->source, query, &self->feed.err) < 0)
		FAIL("%s", self->feed.err.text);
	return found;
}

TEST(objects,
     "objects are told by size, caller and destroyer; size 0 is one, and so is what is kept")
{
	struct wrappers none = {0};
	struct program *program = program_new();
	struct object_table objects = {0};

	churn(program, "main>make", 8, 3, 100, "main>drop");
	churn(program, "main>other>make", 8, 1, 300, "main>drop");
	churn(program, "main>make", 8, 2, 100, "main>toss");
	churn(program, "main>make", 0, 2, 100, "main>drop");
	allocate(program, "main>make", 8);
	finish(program);
	if (objects_find(&objects, &program->source, &none, &program->feed.err) < 0)
		FAIL("%s", program->feed.err.text);
	CHECK_EQ(objects.rows.count, 4);
	CHECK_EQ(objects.rows.data[0].units, 4);
	CHECK(fabs(object_life_ns(&objects, &objects.rows.data[0]) - 160) < 11);
	CHECK_STR(object_routine(&objects, objects.rows.data[0].caller), "make");
	CHECK_STR(object_routine(&objects, objects.rows.data[1].destroyer), "toss");
	CHECK_EQ(objects.rows.data[2].size, 0);
	CHECK(!object_is_freed(&objects.rows.data[3]));
	objects_release(&objects);
	program_free(program);
}

static const struct value *cell(const struct result *table, u64 row, const char *name)
{
	for (u64 i = 0; i < table->columns.count; i++)
		if (strcmp(table->columns.data[i].name, name) == 0 && row < result_rows(table))
			return result_cell(table, row, i);
	FAIL("no row %u with %s", (unsigned)row, name);
}

TEST(mixed_origin, "an object that comes through several wrappers is named by the most frequent one")
{
	struct wrappers automatic = {.automatic = true};
	struct program *program = program_new();
	struct excessive_query query = query_for(&automatic);
	struct excessive found;
	struct result *data;

	churn(program, "main>std::vector::push_back", 24, 1, 100, "main>xfree");
	churn(program, "main>std::unordered_map::insert", 24, 6, 100, "main>sqlite3_free");
	churn(program, "main>xmalloc", 24, 3, 100, "main>xfree");
	churn(program, "main>other>xmalloc", 24, 2, 100, "main>xfree");
	finish(program);
	found = judge(program, &query);
	data = excessive_data(&found, &program->feed.err);
	CHECK_EQ(result_rows(data), 2);
	for (u32 i = 0; i < 2; i++) {
		bool mixed = strcmp(cell(data, i, "caller")->text, "main") == 0;

		CHECK_STR(cell(data, i, "via")->text, mixed ? "std::unordered_map::insert" : "xmalloc");
		CHECK_STR(cell(data, i, "freed_via")->text, mixed ? "sqlite3_free" : "xfree");
		CHECK(fabs(cell(data, i, "via_share")->real - (mixed ? 0.6 : 1)) < 1e-9);
		CHECK_EQ(strstr(cell(data, i, "via")->shown, "others") != NULL, mixed);
	}
	result_free(data);
	excessive_release(&found);
	program_free(program);
}

TEST(wrappers, "wrappers are told by their names, and a destroyer of something is none")
{
	static const struct {
		const char *name;
		bool allocates, frees;
	} rows[] = {
		{"xmalloc", true, false},
		{"sqlite3DbMallocRawNN", true, false},
		{"operator new(unsigned long)", true, true},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)", true, true},
		{"ns::Pool<int>::allocate(unsigned long)", true, false},
		{"__strdup", true, false},
		{"sqlite3DbFreeNN", false, true},
		{"sqlite3_free", false, true},
		{"xfree", false, true},
		{"ns::Pool<int>::deallocate(void*)", false, true},
		{"list_free", false, false},
		{"sqlite3ExprDelete", false, false},
		{"make_foo(Allocator&)", false, false},
		{"Pool<alloc>::get()", false, false},
		{"main", false, false},
	};
	struct wrappers automatic = {0}, listed = {0};

	CHECK_EQ(wrappers_parse(&automatic, "auto", NULL), 0);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (wrappers_allocates(&automatic, rows[i].name) != rows[i].allocates)
			FAIL("%s allocates: %d", rows[i].name, !rows[i].allocates);
		if (wrappers_frees(&automatic, rows[i].name) != rows[i].frees)
			FAIL("%s frees: %d", rows[i].name, !rows[i].frees);
	}
	CHECK_EQ(wrappers_parse(&listed, "my_get*,put", NULL), 0);
	CHECK(wrappers_allocates(&listed, "my_get_one(int)"));
	CHECK(wrappers_frees(&listed, "put"));
	CHECK(!wrappers_allocates(&listed, "output"));
	CHECK(!wrappers_allocates(&listed, "xmalloc"));
	CHECK_EQ(wrappers_parse(&listed, "a,,b", NULL), ERR_USAGE);
	wrappers_release(&automatic);
	wrappers_release(&listed);
}

/* Eight ordinary objects: few, or long-lived. */
static void background(struct program *self)
{
	static const char *const stacks[] = {"main>a", "main>b", "main>c", "main>d"};

	for (u32 i = 0; i < 4; i++) {
		churn(self, stacks[i], 100 + i, 200 + 10 * i, 1000000, "main>end");
		churn(self, stacks[i], 500 + i, 1, 5000000, "main>end");
	}
}

TEST(listing_2,
     "both methods find what is frequent and short-lived, by its caller behind a wrapper")
{
	struct wrappers wrappers = {.automatic = true};
	struct excessive_query query = query_for(&wrappers);
	struct program *program = program_new();
	struct excessive found;
	struct result *result;

	background(program);
	churn(program, "main>loop>xmalloc", 4, 20000, 20, "main>loop>xfree");
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.rows.count, 9);
	CHECK_EQ(found.found_both, 1);
	CHECK_EQ(found.found.count, 1);
	CHECK_STR(object_routine(&found.objects,
				 found.objects.rows.data[found.rows.data[0].object].caller),
		  "loop");
	CHECK_EQ(found.guilty, 0);
	result = excessive_result(&found, &program->feed.err);
	CHECK(result && result_field(result, "excessive")->number == 1);
	result_free(result);
	excessive_release(&found);
	/* --mu: 0 finds what is above Q3, which is two of nine */
	query.has_mu = true;
	query.mu = 0;
	found = judge(program, &query);
	CHECK_EQ(found.found_iqr, 2);
	excessive_release(&found);
	program_free(program);
}

TEST(section_4_6, "few very short-lived objects fool the ratio and not the clusters")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;

	background(program);
	churn(program, "main>start", 16, 8, 20, "main>start");
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.found.count, 0);
	CHECK_EQ(found.rows.data[0].set_aside, BY_IQR);
	CHECK_EQ(found.rows.data[0].reason, REASON_RARE);
	excessive_release(&found);
	query.paper = true;
	found = judge(program, &query);
	CHECK_EQ(found.found_kmeans, 0);
	CHECK_EQ(found.found_iqr, 1);
	CHECK_EQ(found.set_aside.count, 0);
	CHECK_EQ(found.guilty, UINT32_MAX);
	excessive_release(&found);
	program_free(program);
}

/* Frequent objects with lives around 20 µs, a cluster of rare ones whose mean is a little lower, and
 * lasting ones: SQLite without its lookaside. */
static void spread(struct program *self, u64 rare_life, u64 rare_count)
{
	static const char *const often[] = {"main>a", "main>b", "main>c", "main>d", "main>e"},
				 *const few[] = {"main>f", "main>g", "main>h", "main>i"};

	for (u32 i = 0; i < 5; i++)
		churn(self, often[i], 64, 2000, 2000ull << (2 * i), often[i]);
	for (u32 i = 0; i < 4; i++)
		churn(self, few[i], 64, rare_count, rare_life << (2 * i), few[i]);
	for (u32 i = 0; i < 4; i++)
		churn(self, few[i], 512, 2, 1000000000ull + 90000000 * i, few[i]);
}

TEST(equal_lives, "lives that differ by less than their spread are equal, but by the paper's words")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;

	query.methods = BY_KMEANS;
	query.k = 3;
	spread(program, 3000, 3);
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.found_kmeans, 5);
	CHECK_EQ(found.clusters.members[1], 4);
	CHECK(found.apart[1] < 0 && found.apart[1] > -1);
	excessive_release(&found);
	query.paper = true;
	found = judge(program, &query);
	CHECK_EQ(found.found_kmeans, 0);
	excessive_release(&found);
	program_free(program);
}

TEST(rare_member, "a member of the excessive cluster with less than the floor of all allocations is set aside")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;

	query.methods = BY_KMEANS;
	query.k = 2;
	spread(program, 3000, 10);
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.clusters.members[0], 9);
	CHECK_EQ(found.found_kmeans, 5);
	CHECK_EQ(found.set_aside.count, 4);
	for (u32 i = 0; i < 4; i++)
		CHECK_EQ(found.rows.data[found.set_aside.data[i]].reason, REASON_RARE);
	excessive_release(&found);
	query.paper = true;
	found = judge(program, &query);
	CHECK_EQ(found.found_kmeans, 9);
	excessive_release(&found);
	program_free(program);
}

TEST(no_evidence,
     "a cluster that is clearly shorter-lived speaks against, a handful of chunks does not")
{
	static const struct {
		u64 rare_count, found;
	} rows[] = {{3, 5}, {100, 0}};

	for (u32 i = 0; i < 2; i++) {
		struct wrappers none = {0};
		struct excessive_query query = query_for(&none);
		struct program *program = program_new();
		struct excessive found;

		query.methods = BY_KMEANS;
		query.k = 3;
		spread(program, 1, rows[i].rare_count);
		finish(program);
		found = judge(program, &query);
		if (found.found_kmeans != rows[i].found || found.apart[1] > -1)
			FAIL("%llu rare chunks: %llu found, apart %g",
			     (unsigned long long)rows[i].rare_count,
			     (unsigned long long)found.found_kmeans, found.apart[1]);
		excessive_release(&found);
		program_free(program);
	}
}

TEST(lasting, "what is frequent and lives long has a high ratio and is set aside")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;
	u64 first;

	query.methods = BY_IQR;
	query.has_mu = true;
	query.mu = 3;
	background(program);
	first = allocate(program, "main>build", 32);
	for (u32 i = 1; i < 20000; i++)
		allocate(program, "main>build", 32);
	for (u32 i = 0; i < 20000; i++)
		tell_event(&program->feed,
			   (struct event){.kind = HW_FREE,
					  .ticks = program->feed.ticks + 10000000,
					  .context = context_of(program, "main>end"),
					  .chunk = first + i,
					  .size = 32,
					  .address = 0x1000 + 16 * (first + i)});
	program->feed.ticks += 10000000;
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.found.count, 0);
	if (found.set_aside.count != 1)
		FAIL("%llu set aside", (unsigned long long)found.set_aside.count);
	CHECK_EQ(found.rows.data[found.set_aside.data[0]].reason, REASON_LASTS);
	excessive_release(&found);
	program_free(program);
}

TEST(slowed, "a run that instrumentation made longer is judged by numbers, whatever it made of the time")
{
	static const struct {
		u64 rest_ns, routines, found;
		u32 access;
	} rows[] = {
		{1000000, 0, 1, ACCESS_NONE},     {20000000000, 0, 0, ACCESS_NONE},  {20000000000, 9, 1, ACCESS_NONE},
		{900000000000, 9, 1, ACCESS_NONE}, {20000000000, 0, 1, ACCESS_EXACT},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct wrappers none = {0};
		struct trace_info info = {.routines = rows[i].routines};
		struct excessive_query query = query_for(&none);
		struct program *program = program_new();
		struct excessive found;
		struct strbuf verdict = {0};

		query.info = &info;
		background(program);
		churn(program, "main>loop", 4, 20000, 20, "main>loop");
		for (u32 call = 0; call < DURATION_CALLS_MIN; call++) {
			tell_event(&program->feed, (struct event){.kind = HW_DURATION, .aux = HW_MALLOC, .size = 1000});
			tell_event(&program->feed, (struct event){.kind = HW_DURATION, .aux = HW_FREE, .size = 1000});
		}
		program->feed.ticks += rows[i].rest_ns;
		finish(program);
		program->feed.model->image.access = rows[i].access;
		found = judge(program, &query);
		excessive_verdict(&found, &verdict);
		if (found.found.count != rows[i].found)
			FAIL("row %u: %s", i, strbuf_text(&verdict));
		CHECK_EQ(strstr(strbuf_text(&verdict), "of the run") != NULL, i == 0);
		strbuf_release(&verdict);
		excessive_release(&found);
		program_free(program);
	}
}

TEST(varied, "a caller whose sizes vary is found by all of them together, though each alone is rare")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;
	struct strbuf verdict = {0};
	struct result *result;

	background(program);
	for (u32 i = 0; i < 2000; i++)
		churn(program, "main>grow", 1000 + i, 10, 20, "main>grow");
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.rows.count, 2008);
	CHECK_EQ(found.found.count, 0);
	CHECK_EQ(found.varied.count, 1);
	excessive_verdict(&found, &verdict);
	CHECK(strstr(strbuf_text(&verdict), "1 caller is excessive with all sizes together. They account for 20,000 allocations"));
	result = excessive_result(&found, &program->feed.err);
	CHECK_EQ(result_field(result, "excessive")->number, 1);
	result_free(result);
	excessive_release(&found);
	query.by_caller = true;
	found = judge(program, &query);
	CHECK_EQ(found.rows.count, 5);
	CHECK_EQ(found.found_both, 1);
	CHECK(found.callers == NULL);
	result = excessive_data(&found, &program->feed.err);
	CHECK_STR(cell(result, 0, "caller")->text, "grow");
	CHECK_EQ(cell(result, 0, "least_bytes")->number, 1000);
	CHECK_EQ(cell(result, 0, "most_bytes")->number, 2999);
	CHECK_EQ(cell(result, 0, "size_bytes")->number, 2000);
	CHECK_EQ(cell(result, 0, "frequency")->number, 20000);
	result_free(result);
	excessive_release(&found);
	strbuf_release(&verdict);
	program_free(program);
}

TEST(too_few, "fewer than four objects are judged one by one, and not at all by the paper's rule")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;

	churn(program, "main>a", 4, 1000, 20, "main>a");
	churn(program, "main>b", 4, 2, 20, "main>b");
	churn(program, "main>c", 4, 3, 20, "main>c");
	finish(program);
	found = judge(program, &query);
	CHECK(!found.enough);
	CHECK_EQ(found.found.count, 1);
	CHECK_EQ((u64)found.rows.data[found.found.data[0]].frequency, 1000);
	CHECK_EQ(found.rows.data[found.found.data[0]].found_by, BY_FLOOR);
	excessive_release(&found);
	query.paper = true;
	found = judge(program, &query);
	CHECK_EQ(found.found.count, 0);
	excessive_release(&found);
	program_free(program);
}

TEST(nothing, "a program without allocations is not judged")
{
	struct wrappers none = {0};
	struct excessive_query query = query_for(&none);
	struct program *program = program_new();
	struct excessive found;
	struct result *result;

	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.rows.count, 0);
	result = excessive_result(&found, &program->feed.err);
	CHECK(result != NULL);
	result_free(result);
	excessive_release(&found);
	program_free(program);
}
