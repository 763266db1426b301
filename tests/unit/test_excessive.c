/* SPDX-License-Identifier: MIT
 * Allocation objects, wrappers and both methods over hand-made models. One tick is one ns. */
#include <math.h>

#include "analysis/excessive.h"
#include "unit/test_mprof.h"

static struct excessive_query query_for(const struct wrappers *wrappers)
{
	return (struct excessive_query){.methods = BY_BOTH,
					.floor = 0.01,
					.seed = 1,
					.restarts = 10,
					.wrappers = wrappers};
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
	CHECK(result && result_field(result, "found")->number == 1);
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
	churn(program, "main>start", 16, 5, 20, "main>start");
	finish(program);
	found = judge(program, &query);
	CHECK_EQ(found.found_kmeans, 0);
	CHECK_EQ(found.found_iqr, 1);
	CHECK_EQ(found.guilty, UINT32_MAX);
	excessive_release(&found);
	program_free(program);
}

TEST(too_few, "fewer than four objects are not judged")
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
