/* SPDX-License-Identifier: MIT
 * Queries of what is unknown: a comparison with it is false, also !=, of chunks and of joined rows. */
#include <stdio.h>

#include "study/query/engine.h"
#include "unit/test_access.h"

static const char *const names[] = {"main"};

struct heap {
	struct feed feed;
	struct symbol_frame frames[1];
	struct symbol_entry entries[1];
	struct symbol_table symbols;
	struct query_engine *engine;
};

static void tell_chunk(struct feed *feed, u32 allocated_by)
{
	tell_alloc(feed, HW_MALLOC, allocated_by, 32);
}

static void tell_freed(struct feed *feed, u32 allocated_by, u32 freed_by)
{
	u64 chunk = tell_alloc(feed, HW_MALLOC, allocated_by, 32);

	tell_event(feed, (struct event){.kind = HW_FREE,
					.context = freed_by,
					.chunk = chunk,
					.address = 0x1000 + 16 * chunk});
}

/* Context 1 is main, 2 a function without a name; 0 has no stack. */
static struct heap *heap_new(void)
{
	struct heap *heap = calloc(1, sizeof *heap);
	struct query_trace trace;

	heap->feed = feed_new();
	tell_module(&heap->feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_module(&heap->feed, 1, LIBRARY_BASE, 0, "/usr/lib/libhelp.so.1");
	tell_context(&heap->feed, 1, 0, pc_of(PROGRAM_BASE, 1));
	tell_context(&heap->feed, 2, 0, pc_of(LIBRARY_BASE, 1));
	tell_thread(&heap->feed, 0);
	tell_freed(&heap->feed, 1, 1);
	tell_freed(&heap->feed, 1, 2);
	tell_freed(&heap->feed, 2, 0);
	tell_chunk(&heap->feed, 0);
	tell_end(&heap->feed, IMAGE_EXITED);
	heap->symbols = named_table(names, 1, heap->frames, heap->entries);
	trace = (struct query_trace){.model = heap->feed.model,
				     .symbols = &heap->symbols,
				     .name = "/tmp/one.hwt",
				     .thresholds = THRESHOLDS_DEFAULT};
	heap->engine = query_engine_new(&trace, 1);
	if (!heap->engine)
		FAIL("no engine");
	return heap;
}

static void heap_free(struct heap *heap)
{
	query_engine_free(heap->engine);
	model_free(heap->feed.model);
	free(heap);
}

static struct result *rows_of(struct heap *heap, const char *text)
{
	struct query_options options = {0};
	struct query_error error = {0};
	struct result *result = NULL;

	if (query_run(heap->engine, text, &options, &result, &error) < 0)
		FAIL("%s: column %u: %s", text, error.at + 1, error.message);
	return result;
}

/* The chunks of a condition, asked of chunks or of rows of one chunk each. */
static u64 chunks_of(struct heap *heap, const char *stages, const char *condition)
{
	struct result *result;
	char text[200];
	u64 chunks;

	snprintf(text, sizeof text, "all | %swhere %s", stages, condition);
	result = rows_of(heap, text);
	chunks = number(result, "matched.chunks");
	result_free(result);
	return chunks;
}

static const struct {
	const char *condition;
	u64 chunks;
} cases[] = {
	{"free_stack == \"main\"", 1},
	{"free_stack != \"main\"", 1},
	{"free_stack != \"other\"", 2},
	{"not free_stack == \"main\"", 3},
	{"not free_stack ~ \"main\"", 3},
	{"known(free_stack)", 2},
	{"stack == \"main\"", 2},
	{"stack != \"main\"", 1},
	{"not stack == \"main\"", 2},
	{"known(stack)", 3},
	{"stack_file != \"other.c\"", 2},
	{"known(stack_file)", 2},
	{"stack_module != \"/bin/prog\"", 1},
	{"known(stack_module)", 3},
	{"file != \"other.c\"", 2},
	{"free_fn != \"main\"", 1},
	{"free_file != \"other.c\"", 1},
	{"free != 60min or free == 60min", 3},
	{"others != 1000", 3},
	{"free_thread != 9", 3},
	{"type != \"T\"", 0},
	{"thread_name != \"T\"", 0},
	{"reads != 1", 0},
	{"color != red", 0},
};

TEST(unknown_differs, "a comparison with what is unknown is false, also !=")
{
	struct heap *heap = heap_new();

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *condition = cases[i].condition;
		u64 of_chunks = chunks_of(heap, "", condition);
		u64 of_rows = chunks_of(heap, "join chunk | ", condition);

		if (of_chunks != cases[i].chunks || of_rows != cases[i].chunks)
			FAIL("%s: %llu chunks, %llu rows", condition, (unsigned long long)of_chunks,
			     (unsigned long long)of_rows);
	}
	heap_free(heap);
}

TEST(unknown_counts, "count() counts the stacks that are known")
{
	struct heap *heap = heap_new();
	struct result *result = rows_of(heap, "all | agg count(stack), count(free_stack)");
	const struct result *rows = result->parts.data[0];

	CHECK_EQ(cell(rows, 0, "count(stack)")->number, 3);
	CHECK_EQ(cell(rows, 0, "count(free_stack)")->number, 2);
	result_free(result);
	heap_free(heap);
}
