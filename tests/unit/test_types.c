/* SPDX-License-Identifier: MIT
 * Types of chunks: to a file and back, past damage; which block a pointer is in; in the model, with names;
 * and what a symbol's name says. */
#include <string.h>

#include "format/tracefile.h"
#include "lib/test.h"
#include "study/model/model.h"
#include "live/drain/correlate.h"
#include "host/symbols/type_symbols.h"
#include "host/trace/block.h"
#include "host/trace/decode.h"
#include "host/trace/guard.h"
#include "host/trace/typenames.h"
#include "host/trace/types.h"
#include "host/trace/writer.h"

/* ---- rows ---- */

struct book {
	struct stream_type rows[4096];
	u64 count;
};

static int book_types(void *self, const struct stream_type *rows, u64 count, struct err *err)
{
	struct book *book = self;

	(void)err;
	for (u64 i = 0; i < count && book->count < 4096; i++)
		book->rows[book->count++] = rows[i];
	return 0;
}

static bool same_row(const struct stream_type *a, const struct stream_type *b)
{
	return a->chunk == b->chunk && a->identity == b->identity && a->count == b->count &&
	       a->offset == b->offset && a->source == b->source;
}

static const struct stream_type rows[] = {
	{.chunk = 0, .identity = 0x401000, .count = 1, .source = TYPE_DECLARED},
	{.chunk = 7, .identity = 5, .source = TYPE_DECLARED},
	{.chunk = 7, .identity = UINT64_MAX, .count = UINT64_MAX, .offset = UINT32_MAX, .source = 15},
	{.chunk = UINT64_MAX - 1, .identity = 1, .offset = 8, .source = TYPE_VTABLE},
	{.chunk = 3, .identity = 0x401000, .count = 9, .source = TYPE_VTABLE},
};
enum { ROWS = sizeof rows / sizeof *rows };

static u64 encode(u8 *out)
{
	struct types types = {0};
	struct parcel *parcel;
	u64 bytes;

	for (u32 i = 0; i < ROWS; i++)
		types_add(&types, &rows[i]);
	parcel = types_take(&types);
	if (!parcel)
		FAIL("out of memory");
	bytes = parcel->raw.bytes;
	memcpy(out, parcel->payload, bytes);
	free(parcel);
	columns_release(&types.columns);
	return bytes;
}

static int decode(const u8 *payload, u64 bytes, u32 items, struct book *book)
{
	struct stream_sink sink = {.self = book, .types = book_types};
	struct chunk_reading to = {NULL, guard_new(&sink), &(u64){0}};
	struct err err = {0};
	int status;

	if (!to.guard)
		FAIL("out of memory");
	guard_enter(to.guard, 0);
	status = types_tell(&to, &(struct block){payload, bytes, items}, &err);
	guard_free(to.guard);
	return status;
}

TEST(any_row, "rows of any numbers come back as they were")
{
	static struct book book;
	u8 payload[512];
	u64 bytes = encode(payload);

	CHECK_EQ(decode(payload, bytes, ROWS, &book), 0);
	CHECK_EQ(book.count, ROWS);
	for (u32 i = 0; i < ROWS; i++)
		CHECK(same_row(&book.rows[i], &rows[i]));
}

TEST(bad_payload, "a payload that is cut, or says another number of rows, is damaged")
{
	static struct book book;
	u8 payload[512];
	u64 bytes = encode(payload);

	for (u64 cut = 0; cut < bytes; cut++)
		CHECK_EQ(decode(payload, cut, ROWS, &book), BLOCK_CONTENT);
	CHECK_EQ(decode(payload, bytes, ROWS - 1, &book), BLOCK_CONTENT);
	CHECK_EQ(decode(payload, bytes, ROWS + 1, &book), BLOCK_CONTENT);
	CHECK_EQ(decode(payload, bytes, HW_BLOCK_TYPES_MAX + 1, &book), BLOCK_CONTENT);
}

/* ---- a file with names ---- */

static const char *path(void)
{
	static char text[4096];

	snprintf(text, sizeof text, "%s/types.hwt", test_folder());
	return text;
}

static void write_file(void)
{
	struct err err = {0};
	struct trace_writer *writer = trace_writer_open(path(), NULL, &err);
	struct stream_sink sink = trace_writer_sink(writer);
	struct stream_image image = {.number = 3, .program = "p", .command = "p"};
	struct stream_thread thread = {.tid = 1};
	struct stream_name name = {.id = 5, .text = "struct five"};
	struct stream_image_end end = {.ticks = 90};
	const struct type_name names[] = {
		{3, 0, 0x401000, "First"},
		{2, 0, 0x401000, "OfAnotherImage"},
		{3, TYPE_NO_MODULE, 0x402000, "Wrong"},
		{3, TYPE_NO_MODULE, 0x402000, "Second"},
		{3, 0, 0x409000, "NobodyHasIt"},
	};
	const struct stream_type told[] = {
		{.chunk = 0, .identity = 0x401000, .count = 1, .source = TYPE_DECLARED},
		{.chunk = 1, .identity = 5, .count = 2, .source = TYPE_DECLARED},
		{.chunk = 2, .identity = 0x402000, .source = TYPE_VTABLE, .offset = 8},
		{.chunk = 3, .identity = 0x401000, .source = TYPE_VTABLE},
		{.chunk = 3, .identity = 0x402000, .count = 7, .source = TYPE_DECLARED},
		{.chunk = 4, .identity = 0x499000, .source = TYPE_DECLARED}, /* has no name */
		{.chunk = 1, .identity = 5, .count = 3, .source = TYPE_DECLARED},
		{.chunk = 99, .identity = 5, .source = TYPE_DECLARED}, /* no such chunk */
	};

	CHECK_EQ(sink.image(sink.self, &image, &err), 0);
	CHECK_EQ(sink.thread(sink.self, &thread, &err), 0);
	CHECK_EQ(sink.name(sink.self, &name, &err), 0);
	for (u64 i = 0; i < 6; i++) {
		struct event e = {.kind = HW_MALLOC, .ticks = 10 + i, .address = 0x1000 + 64 * i,
				  .size = 32, .chunk = i};

		CHECK_EQ(sink.events(sink.self, &e, 1, &err), 0);
	}
	CHECK_EQ(sink.types(sink.self, told, sizeof told / sizeof *told, &err), 0);
	CHECK_EQ(sink.image_end(sink.self, &end, &err), 0);
	CHECK_EQ(trace_writer_close(writer, &err), 0);
	CHECK_EQ(trace_write_type_names(path(), names, sizeof names / sizeof *names, &err), 0);
}

static const char *type_at(const struct model *model, u64 chunk, struct chunk_type *type)
{
	return model_chunk_type(model, chunk, type) ? model->types.data[type->type] : "-";
}

TEST(model, "a chunk has the type that was declared, else the one that was found, under its name")
{
	struct model *model = model_new();
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct trace_info info;
	struct chunk_type type;
	struct err err = {0};

	write_file();
	CHECK_EQ(model_load(model, path(), &how, &info, &err), 0);
	CHECK_EQ(info.types, 8);
	CHECK_EQ(info.lost_types, 1);
	CHECK_STR(type_at(model, 0, &type), "First");
	CHECK_EQ(type.count, 1);
	CHECK_STR(type_at(model, 1, &type), "struct five");
	CHECK_EQ(type.count, 3);
	CHECK_STR(type_at(model, 2, &type), "Second");
	CHECK_EQ(type.source, TYPE_VTABLE);
	CHECK_EQ(type.offset, 8);
	CHECK_STR(type_at(model, 3, &type), "Second");
	CHECK_EQ(type.source, TYPE_DECLARED);
	CHECK(type_table_get(&model->type_table, type_table_cell(&model->type_table, 3),
			     TYPE_VTABLE, &type));
	CHECK_STR(model->types.data[type.type], "First");
	CHECK_STR(type_at(model, 4, &type), "-");
	CHECK_STR(type_at(model, 5, &type), "-");
	CHECK_STR(type_at(model, UINT64_MAX, &type), "-");
	CHECK_EQ(model->types.count, 3);
	model_free(model);
}

/* ---- which block ---- */

struct heap {
	struct correlator *correlator;
	struct book book;
	struct err err;
	u64 ticks;
};

static struct heap *heap_new(void)
{
	struct heap *heap = calloc(1, sizeof(*heap));
	struct stream_sink sink = {.self = &heap->book, .types = book_types};

	heap->correlator = correlator_new(&sink, false);
	return heap;
}

static void feed(struct heap *heap, u32 thread, u8 kind, u64 address, u64 size, u32 count)
{
	struct told_record told = {.record = {.ticks = ++heap->ticks, .kind = kind,
					      .address = address, .size = size, .context = count},
				   .thread = thread};

	CHECK_EQ(correlator_feed(heap->correlator, &told, 1, &heap->err), 0);
}

/* "chunk:identity+offset*count …" of all that was told */
static const char *finish(struct heap *heap)
{
	static char text[1024];
	u64 used = 0;

	CHECK_EQ(correlator_finish(heap->correlator, &heap->err), 0);
	text[0] = 0;
	for (u64 i = 0; i < heap->book.count && used < sizeof text; i++) {
		const struct stream_type *row = &heap->book.rows[i];

		used += (u64)snprintf(text + used, sizeof text - used, "%s%u:%u+%u*%u", i ? " " : "",
				      (unsigned)row->chunk, (unsigned)row->identity, row->offset,
				      (unsigned)row->count);
	}
	return text;
}

static void heap_free(struct heap *heap)
{
	correlator_free(heap->correlator);
	free(heap);
}

TEST(covered, "a pointer into a block names the block, and one beside it none")
{
	struct heap *heap = heap_new();

	feed(heap, 0, HW_NEW, 0x10000, 40, 0);      /* 0 */
	feed(heap, 0, HW_NEW, 0x10030, 100, 0);     /* 1 */
	feed(heap, 0, HW_NEW, 0x20000, 60000, 0);   /* 2 */
	feed(heap, 0, HW_NEW, 0x7000000, 1ull << 30, 0); /* 3: in the spill */
	feed(heap, 0, HW_NEW, 0x30000, 0, 0);       /* 4 */
	feed(heap, 0, HW_NEW, 0x40010, 8, 0);       /* 5 */
	feed(heap, 0, HW_NEW, 0x40018, 8, 0);       /* 6: shares a cell with 5 */
	feed(heap, 0, HW_TYPE, 0x10000, 11, 1);
	feed(heap, 0, HW_TYPE, 0x10027, 12, 0);
	feed(heap, 0, HW_TYPE, 0x10028, 99, 0);
	feed(heap, 0, HW_TYPE, 0x10038, 13, 5);
	feed(heap, 0, HW_TYPE, 0x20000 + 59999, 14, 0);
	feed(heap, 0, HW_TYPE, 0x20000 + 60000, 99, 0);
	feed(heap, 0, HW_TYPE, 0x7000008, 15, 0);
	feed(heap, 0, HW_TYPE, 0x30000, 16, 0);
	feed(heap, 0, HW_TYPE, 0x30001, 99, 0);
	feed(heap, 0, HW_TYPE, 0x40017, 17, 0);
	feed(heap, 0, HW_TYPE, 0x40018, 18, 0);
	feed(heap, 0, HW_TYPE, 8, 99, 0);
	feed(heap, 0, HW_TYPE, UINT64_MAX, 99, 0);
	CHECK_STR(finish(heap), "0:11+0*1 0:12+39*0 1:13+8*5 2:14+59999*0 3:15+8*0 4:16+0*0 5:17+7*0 "
				"6:18+0*0");
	CHECK_EQ(correlator_unknown_types(heap->correlator), 5);
	heap_free(heap);
}

TEST(waiting, "a type waits with the allocation that it belongs to")
{
	struct heap *heap = heap_new();

	feed(heap, 0, HW_NEW, 0x10000, 32, 0); /* chunk 0 */
	feed(heap, 0, HW_TYPE, 0x10000, 11, 1);
	feed(heap, 1, HW_NEW, 0x10000, 48, 0); /* before the free that gave it the address */
	feed(heap, 1, HW_TYPE, 0x10008, 12, 3);
	feed(heap, 1, HW_DELETE, 0x10000, 0, 0);
	feed(heap, 1, HW_NEW, 0x10000, 64, 0);
	feed(heap, 1, HW_TYPE, 0x10000, 13, 1);
	feed(heap, 2, HW_DELETE, 0x10000, 0, 0);
	CHECK_STR(finish(heap), "0:11+0*1 1:12+8*3 2:13+0*1");
	heap_free(heap);
}

TEST(late, "a type does not go to a block that is younger")
{
	struct heap *heap = heap_new();

	feed(heap, 0, HW_NEW, 0x10000, 32, 0);
	heap->ticks += 100;
	feed(heap, 0, HW_DELETE, 0x10000, 0, 0);
	feed(heap, 1, HW_NEW, 0x10000, 32, 0);
	heap->ticks -= 60;
	feed(heap, 2, HW_TYPE, 0x10000, 11, 1);
	CHECK_STR(finish(heap), "");
	CHECK_EQ(correlator_unknown_types(heap->correlator), 1);
	heap_free(heap);
}

/* ---- names ---- */

TEST(symbols, "the symbol of a type, or of its vtable, says its name")
{
	static const struct {
		const char *symbol, *type;
	} cases[] = {
		{"_ZN8heapwise6detail8type_tagI3PodE4hereE", "Pod"},
		{"_ZN8heapwise6detail8type_tagIiE4hereE@@VERS", "int"},
		{"_ZN8heapwise6detail8type_tagISt6vectorIiSaIiEEE4hereE",
		 "std::vector<int, std::allocator<int> >"},
		{"_ZN8heapwise6detail8type_tagIP3PodE4hereE", "Pod*"},
		{"_ZTV6Circle", "Circle"},
		{"_ZTVN2ns1AIiEE", "ns::A<int>"},
		{"_ZTI6Circle", "Circle"}, /* what stripped files have */
		{"_ZN8heapwise6detail8type_tagI", NULL},
		{"main", NULL},
		{"", NULL},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *type = type_of_symbol(cases[i].symbol);

		CHECK_STR(type ? type : "-", cases[i].type ? cases[i].type : "-");
		free(type);
	}
}
