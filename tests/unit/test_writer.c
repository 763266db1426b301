/* SPDX-License-Identifier: MIT
 * The writer library: what is told is what the model has; what cannot be meant is refused. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "heapwise/writer.h"
#include "lib/test.h"
#include "host/trace/reader.h"
#include "host/trace/symtab.h"

/* What a trace has, counted. */
struct counted {
	u64 births, deaths, unknown, bytes, types, reads, writes, low, high;
	struct stream_totals totals;
};

static int count_events(void *self_, const struct event *events, u64 count, struct err *err)
{
	struct counted *self = self_;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		self->births += events[i].kind == HW_POOL;
		self->bytes += events[i].kind == HW_POOL ? events[i].size : 0;
		self->deaths += events[i].kind == HW_POOL_FREE && events[i].chunk != NO_CHUNK;
		self->unknown += events[i].kind == HW_POOL_FREE && events[i].chunk == NO_CHUNK;
	}
	return 0;
}

static int count_types(void *self_, const struct stream_type *rows, u64 count, struct err *err)
{
	struct counted *self = self_;

	(void)rows;
	(void)err;
	self->types += count;
	return 0;
}

static int count_accesses(void *self_, const struct stream_access *rows, u64 count, struct err *err)
{
	struct counted *self = self_;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		self->reads += rows[i].reads;
		self->writes += rows[i].writes;
		self->low += rows[i].low;
		self->high += rows[i].high;
	}
	return 0;
}

static int keep_totals(void *self_, const struct stream_image_end *end, struct err *err)
{
	struct counted *self = self_;

	(void)err;
	self->totals = end->totals;
	return 0;
}

static const char *file(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/objects.hwt", test_folder());
	return path;
}

static void read_back(struct counted *counted)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct stream_sink sink = {.self = counted,
				   .events = count_events,
				   .types = count_types,
				   .accesses = count_accesses,
				   .image_end = keep_totals};
	struct err err = {0};
	struct trace_reader *reader = trace_open(file(), &err);

	memset(counted, 0, sizeof(*counted));
	if (!reader || trace_read(reader, &how, &sink, &err) < 0)
		FAIL("%s", err.text);
	trace_close(reader);
}

static struct heapwise_writer *open_writer(int flags)
{
	struct heapwise_writer *writer = heapwise_writer_open(file(), "unit", flags);

	if (!writer)
		FAIL("%s", strerror(errno));
	return writer;
}

TEST(objects, "objects, types, functions and stacks are those that were told")
{
	struct heapwise_writer *writer = open_writer(0);
	u32 outer = heapwise_writer_function(writer, "outer", "a.x", 1),
	    inner = heapwise_writer_function(writer, "inner", NULL, 0);
	u32 stack = heapwise_writer_stack(writer, heapwise_writer_stack(writer, 0, outer), inner);
	u32 type = heapwise_writer_type(writer, "cons");
	struct symbol_table symbols = {0};
	struct counted counted;
	struct err err = {0};

	CHECK(outer && inner && outer != inner && stack && type);
	CHECK_EQ(heapwise_writer_function(writer, "outer", "a.x", 1), outer);
	CHECK(heapwise_writer_function(writer, "outer", "a.x", 2) != outer);
	CHECK_EQ(heapwise_writer_stack(writer, heapwise_writer_stack(writer, 0, outer), inner),
		 stack);
	CHECK_EQ(heapwise_writer_type(writer, "cons"), type);
	for (u64 i = 1; i <= 1000; i++)
		CHECK_EQ(heapwise_writer_alloc(writer, i * 16, 24, stack, i % 2 ? type : 0), 0);
	for (u64 i = 2; i <= 1000; i += 2)
		CHECK_EQ(heapwise_writer_free(writer, i * 16, 0), 0);
	CHECK_EQ(heapwise_writer_move(writer, 16, 32, 100, stack), 0);
	CHECK_EQ(heapwise_writer_close(writer), 0);
	read_back(&counted);
	CHECK_EQ(counted.births, 1001);
	CHECK_EQ(counted.deaths, 501);
	CHECK_EQ(counted.bytes, 1000 * 24 + 100);
	CHECK_EQ(counted.types, 501); /* a moved object keeps its type */
	CHECK_EQ(counted.totals.allocations, 1001);
	CHECK_EQ(counted.totals.kept_chunks, 500);
	CHECK_EQ(counted.totals.kept_bytes, 499 * 24 + 100);
	CHECK_EQ(counted.totals.peak_chunks, 1000);
	CHECK_EQ(trace_read_symbols(file(), &symbols, &err), 0);
	CHECK_EQ(symbols.count, 3);
	CHECK_STR(symbols.entries[0].frames[0].function, "outer");
	symbol_table_release(&symbols);
}

TEST(accesses, "accesses are added up for each object")
{
	struct heapwise_writer *writer = open_writer(HEAPWISE_WRITER_ACCESSES);
	struct counted counted;

	heapwise_writer_alloc(writer, 64, 100, 0, 0);
	heapwise_writer_alloc(writer, 640, 100, 0, 0);
	CHECK_EQ(heapwise_writer_access(writer, 64, 8, 4, 1), 0);
	CHECK_EQ(heapwise_writer_access(writer, 64, 96, 4, 0), 0);
	CHECK_EQ(heapwise_writer_access(writer, 640, 50, 10, 0), 0);
	CHECK_EQ(heapwise_writer_access(writer, 64, 98, 4, 0), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(heapwise_writer_access(writer, 65, 0, 4, 0), -1);
	CHECK_EQ(errno, ENOENT);
	heapwise_writer_free(writer, 640, 0);
	CHECK_EQ(heapwise_writer_close(writer), 0);
	read_back(&counted);
	CHECK_EQ(counted.reads, 2);
	CHECK_EQ(counted.writes, 1);
	CHECK_EQ(counted.low, 8 + 50);
	CHECK_EQ(counted.high, 100 + 60);
}

TEST(refused, "what cannot be meant is refused, and the trace stays whole")
{
	struct heapwise_writer *writer = open_writer(0);
	struct counted counted;

	CHECK_EQ(heapwise_writer_alloc(writer, 0, 1, 0, 0), -1);
	CHECK_EQ(heapwise_writer_alloc(writer, 16, 1, 7, 0), -1);
	CHECK_EQ(heapwise_writer_alloc(writer, 16, 1, 0, 7), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(heapwise_writer_alloc(writer, 16, 1, 0, 0), 0);
	CHECK_EQ(heapwise_writer_alloc(writer, 16, 1, 0, 0), -1);
	CHECK_EQ(errno, EEXIST);
	CHECK_EQ(heapwise_writer_free(writer, 17, 0), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(heapwise_writer_move(writer, 17, 18, 1, 0), -1);
	CHECK_EQ(heapwise_writer_access(writer, 16, 0, 1, 0), -1); /* none were announced */
	CHECK_EQ(heapwise_writer_stack(writer, 9, 1), 0);
	CHECK_EQ(heapwise_writer_close(writer), 0);
	read_back(&counted);
	CHECK_EQ(counted.births, 1);
	CHECK_EQ(counted.unknown, 1);
	CHECK_EQ(counted.totals.unknown_frees, 1);
	CHECK(!heapwise_writer_open("/nowhere/x.hwt", "unit", 0));
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(heapwise_writer_close(NULL), -1);
}

static void *tell(void *writer)
{
	static u64 next = 1;

	for (u32 i = 0; i < 5000; i++) {
		u64 address = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) * 16;

		heapwise_writer_alloc(writer, address, 8, 0,
				      heapwise_writer_type(writer, "shared"));
		heapwise_writer_free(writer, address, 0);
	}
	return NULL;
}

TEST(threads, "threads may tell at the same time")
{
	struct heapwise_writer *writer = open_writer(0);
	struct counted counted;
	pthread_t threads[4];

	for (u32 i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, tell, writer), 0);
	for (u32 i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(heapwise_writer_close(writer), 0);
	read_back(&counted);
	CHECK_EQ(counted.births, 20000);
	CHECK_EQ(counted.deaths, 20000);
	CHECK_EQ(counted.types, 20000);
}
