/* SPDX-License-Identifier: MIT
 * Graphs of pointers: to a file and back, in blocks, past damage, and how large they are. */
#include "test_trace.h"

#include "format/tracefile.h"
#include "host/trace/block.h"
#include "host/trace/graphs.h"
#include "host/trace/guard.h"

/* ---- blocks in memory ---- */

struct blocks {
	struct guard *guard; /* large: one for all, to which each decoding is another image */
	u32 decoded;
	VEC(struct parcel *) parcels;
	u64 contents; /* the first so many are of contents, */
	u64 numbers;  /* and then so many of numbers */
	u64 graphs;   /* that were told while they were read */
	u64 with_contents, with_numbers;
	const struct stream_graph *want;
	bool same;
};

static bool same_graph(const struct stream_graph *a, const struct stream_graph *b)
{
	u64 nodes = a->chunk_count + a->root_count;

	if (a->ticks != b->ticks || a->chunk_count != b->chunk_count || a->root_count != b->root_count ||
	    memcmp(a->starts, b->starts, (nodes + 1) * sizeof *a->starts) ||
	    (nodes && a->starts[nodes] && memcmp(a->edges, b->edges, a->starts[nodes] * sizeof *a->edges)) ||
	    (a->chunk_count && memcmp(a->chunks, b->chunks, a->chunk_count * sizeof *a->chunks)))
		return false;
	for (u64 i = 0; i < a->root_count; i++) {
		const struct stream_root *x = &a->roots[i], *y = &b->roots[i];

		if (x->kind != y->kind || x->tid != y->tid || x->address != y->address || x->bytes != y->bytes ||
		    x->code != y->code || strcmp(x->name, y->name) != 0)
			return false;
	}
	if (b->numbers && a->numbers &&
	    (a->number_count != b->number_count ||
	     (a->number_count && memcmp(a->numbers, b->numbers, a->number_count * sizeof *a->numbers))))
		return false;
	return !b->contents || !a->contents || !a->chunk_count ||
	       memcmp(a->contents, b->contents, a->chunk_count * sizeof *a->contents) == 0;
}

static int see_graph(void *self, const struct stream_graph *graph, struct err *err)
{
	struct blocks *blocks = self;

	(void)err;
	blocks->graphs++;
	blocks->with_contents += graph->contents != NULL;
	blocks->with_numbers += graph->numbers != NULL;
	blocks->same = blocks->want && same_graph(graph, blocks->want);
	return 0;
}

static void encode(struct blocks *to, const struct stream_graph *graph)
{
	struct graph_place place = {0};
	u64 next = 0, row = 0;

	while (graph->contents && (next < graph->chunk_count || !row)) {
		struct parcel *parcel = contents_take(graph, &next, &row);

		if (!parcel || !vec_push(&to->parcels, parcel))
			FAIL("out of memory");
		to->contents++;
	}
	next = row = 0;
	while (graph->numbers && (next < graph->number_count || !row)) {
		struct parcel *parcel = numbers_take(graph, &next, &row);

		if (!parcel || !vec_push(&to->parcels, parcel))
			FAIL("out of memory");
		to->numbers++;
	}
	do {
		struct parcel *parcel = graph_take(graph, &place);

		if (!parcel || !vec_push(&to->parcels, parcel))
			FAIL("out of memory");
	} while (!graph_is_written(graph, &place));
	to->want = graph;
}

/* Reads all blocks but `without`; the status of the last one. */
static int decode(struct blocks *blocks, u64 without)
{
	struct stream_sink sink = {.self = blocks, .graph = see_graph};
	struct graph_gather gather = {.guard = blocks->guard ? blocks->guard : guard_new(&sink)};
	struct err err = {0};
	int status = 0;

	if (!gather.guard)
		FAIL("out of memory");
	blocks->guard = gather.guard;
	guard_enter(gather.guard, blocks->decoded++);
	blocks->graphs = blocks->with_contents = blocks->with_numbers = 0;
	blocks->same = false;
	for (u64 i = 0; i < blocks->parcels.count; i++) {
		const struct raw_block *raw = &blocks->parcels.data[i]->raw;
		const struct block block = {raw->payload, raw->bytes, raw->items};

		if (i != without && status == 0)
			status = i < blocks->contents ? contents_gather(&gather, &block, &err)
				 : i < blocks->contents + blocks->numbers ? numbers_gather(&gather, &block, &err)
									  : graph_tell(&gather, &block, &err);
	}
	graph_gather_release(&gather);
	graph_rows_release(&gather);
	return status;
}

static void blocks_release(struct blocks *blocks)
{
	for (u64 i = 0; i < blocks->parcels.count; i++)
		free(blocks->parcels.data[i]);
	vec_release(&blocks->parcels);
	guard_free(blocks->guard);
}

static void check_same(const struct stream_graph *graph)
{
	struct blocks blocks = {0};

	encode(&blocks, graph);
	CHECK_EQ(decode(&blocks, UINT64_MAX), 0);
	CHECK_EQ(blocks.graphs, 1);
	CHECK(blocks.same);
	blocks_release(&blocks);
}

TEST(any_graph, "graphs of any numbers come back as they were")
{
	for (u64 seed = 1; seed < 200; seed++) {
		TELLER(teller) = {.random = seed * 77 + 1, .ticks = seed};
		struct drawn_graph drawn = {0};

		draw_graph(&teller, &drawn, seed % 50, seed % 7, seed % 20);
		check_same(&drawn.graph);
		drawn_graph_release(&drawn);
	}
}

TEST(nothing, "a graph without nodes comes back, and one without pointers")
{
	const u64 starts[3] = {0}, chunk = NO_CHUNK - 1;
	const struct stream_root root = {.name = ""};

	check_same(&(struct stream_graph){.ticks = 5, .starts = starts});
	check_same(&(struct stream_graph){
		.chunk_count = 1, .root_count = 1, .chunks = &chunk, .roots = &root, .starts = starts});
}

TEST(many_blocks, "a node with more pointers than a block holds, and more nodes, come back")
{
	TELLER(teller) = {.random = 5};
	struct drawn_graph drawn = {0};
	u64 chunks = HW_BLOCK_NODES_MAX + 5;

	draw_graph(&teller, &drawn, chunks, 2, 1);
	for (u64 i = 0; i < 2 * HW_BLOCK_EDGES_MAX + 7; i++)
		CHECK(vec_push(&drawn.edges, (struct stream_edge){(u32)(i % chunks), UINT32_MAX, 1}));
	drawn.starts.data[chunks + 2] = drawn.edges.count;
	drawn.graph.edges = drawn.edges.data;
	check_same(&drawn.graph);
	drawn_graph_release(&drawn);
}

/* ---- damage ---- */

TEST(missing_block, "a graph of which a block is missing is not told")
{
	TELLER(teller) = {.random = 6};
	struct drawn_graph drawn = {0};
	struct blocks blocks = {0};

	draw_graph(&teller, &drawn, 3 * HW_BLOCK_NODES_MAX, 2, 1);
	encode(&blocks, &drawn.graph);
	CHECK(blocks.parcels.count >= 3);
	for (u64 i = 0; i < blocks.parcels.count; i++) {
		CHECK_EQ(decode(&blocks, i), 0);
		CHECK_EQ(blocks.graphs, 0);
	}
	CHECK_EQ(decode(&blocks, UINT64_MAX), 0);
	CHECK_EQ(blocks.graphs, 1);
	blocks_release(&blocks);
	drawn_graph_release(&drawn);
}

TEST(bad_payload, "a payload that is cut, or says another number of pointers, is damaged")
{
	TELLER(teller) = {.random = 7};
	struct drawn_graph drawn = {0};
	struct blocks blocks = {0};
	struct raw_block *raw;
	u64 bytes;

	draw_graph(&teller, &drawn, 20, 5, 4);
	encode(&blocks, &drawn.graph);
	raw = &blocks.parcels.data[0]->raw;
	bytes = raw->bytes;
	for (raw->bytes = 0; raw->bytes < bytes; raw->bytes++)
		CHECK_EQ(decode(&blocks, UINT64_MAX), BLOCK_CONTENT);
	raw->items++;
	CHECK_EQ(decode(&blocks, UINT64_MAX), BLOCK_CONTENT);
	raw->items -= 2;
	CHECK_EQ(decode(&blocks, UINT64_MAX), BLOCK_CONTENT);
	raw->items = HW_BLOCK_EDGES_MAX + 1;
	CHECK_EQ(decode(&blocks, UINT64_MAX), BLOCK_CONTENT);
	CHECK_EQ(blocks.graphs, 0);
	blocks_release(&blocks);
	drawn_graph_release(&drawn);
}

TEST(any_byte, "a payload with any byte changed is some graph, or damaged")
{
	TELLER(teller) = {.random = 8};
	struct drawn_graph drawn = {0};
	struct blocks blocks = {0};
	struct parcel *parcel;

	draw_graph(&teller, &drawn, 12, 3, 4);
	encode(&blocks, &drawn.graph);
	parcel = blocks.parcels.data[0];
	for (u64 i = 0; i < parcel->raw.bytes; i++) {
		for (u32 change = 1; change < 256; change++) {
			int status;

			parcel->payload[i] ^= (u8)change;
			status = decode(&blocks, UINT64_MAX);
			CHECK(status == 0 || status == BLOCK_CONTENT);
			parcel->payload[i] ^= (u8)change;
		}
	}
	CHECK_EQ(decode(&blocks, UINT64_MAX), 0);
	CHECK(blocks.same);
	blocks_release(&blocks);
	drawn_graph_release(&drawn);
}

/* ---- contents ---- */

/* Of each chunk something or nothing. */
static struct stream_content *draw_contents(struct teller *teller, u64 count, u64 groups)
{
	struct stream_content *contents = calloc(count + 1, sizeof *contents);

	if (!contents)
		FAIL("out of memory");
	for (u64 i = 0; i < count; i++) {
		if (draw(teller, 3))
			contents[i].group = (u32)draw(teller, groups) | (draw(teller, 9) ? 0 : CONTENT_REPEATED);
		if (!draw(teller, 5))
			contents[i].untouched_pages = (u32)draw(teller, 1000);
	}
	return contents;
}

TEST(contents, "contents of any chunks come back with their graph, and those of many")
{
	for (u64 seed = 1; seed < 60; seed++) {
		TELLER(teller) = {.random = seed * 31 + 1, .ticks = seed};
		u64 count = seed == 59 ? 3 * HW_BLOCK_CONTENTS_MAX : seed % 50;
		struct drawn_graph drawn = {0};
		struct blocks blocks = {0};

		draw_graph(&teller, &drawn, count, 1, 1);
		drawn.graph.contents = draw_contents(&teller, count, 1 + seed);
		encode(&blocks, &drawn.graph);
		CHECK_EQ(decode(&blocks, UINT64_MAX), 0);
		CHECK_EQ(blocks.with_contents, 1);
		CHECK(blocks.same);
		/* without one of their blocks the graph is told alone */
		for (u64 i = 0; i < blocks.contents; i++) {
			CHECK_EQ(decode(&blocks, i), 0);
			CHECK_EQ(blocks.graphs, 1);
			CHECK_EQ(blocks.with_contents, 0);
		}
		blocks_release(&blocks);
		free((void *)drawn.graph.contents);
		drawn_graph_release(&drawn);
	}
}

/* The first block with any byte changed, cut, or with another number of rows. */
static void check_damage(struct blocks *blocks, u32 rows_max)
{
	struct parcel *parcel = blocks->parcels.data[0];
	u64 bytes;

	for (u64 i = 0; i < parcel->raw.bytes; i++) {
		for (u32 change = 1; change < 256; change++) {
			int status;

			parcel->payload[i] ^= (u8)change;
			status = decode(blocks, UINT64_MAX);
			CHECK(status == 0 || status == BLOCK_CONTENT);
			parcel->payload[i] ^= (u8)change;
		}
	}
	bytes = parcel->raw.bytes;
	for (parcel->raw.bytes = 0; parcel->raw.bytes < bytes; parcel->raw.bytes++)
		CHECK_EQ(decode(blocks, UINT64_MAX), BLOCK_CONTENT);
	parcel->raw.items++;
	CHECK_EQ(decode(blocks, UINT64_MAX), BLOCK_CONTENT);
	parcel->raw.items = rows_max + 1;
	CHECK_EQ(decode(blocks, UINT64_MAX), BLOCK_CONTENT);
}

TEST(bad_contents, "contents that are cut, or with any byte changed, are some contents or damaged")
{
	TELLER(teller) = {.random = 11};
	struct drawn_graph drawn = {0};
	struct blocks blocks = {0};

	draw_graph(&teller, &drawn, 30, 1, 1);
	drawn.graph.contents = draw_contents(&teller, 30, 5);
	encode(&blocks, &drawn.graph);
	check_damage(&blocks, HW_BLOCK_CONTENTS_MAX);
	blocks_release(&blocks);
	free((void *)drawn.graph.contents);
	drawn_graph_release(&drawn);
}

/* ---- numbers ---- */

/* Beside each node at most so many. */
static struct stream_number *draw_numbers(struct teller *teller, struct stream_graph *graph, u64 most)
{
	u64 nodes = graph->chunk_count + graph->root_count;
	struct stream_number *numbers = calloc(nodes * most + 1, sizeof *numbers);

	if (!numbers)
		FAIL("out of memory");
	for (u64 i = 0; i < nodes; i++) {
		u64 from = draw(teller, 9) ? 0 : 5;

		for (u64 k = draw(teller, most + 1); k; k--, from += 8 * (1 + draw(teller, 3)))
			numbers[graph->number_count++] = (struct stream_number){
				number_place((u32)i, (u32)from), 1 + draw_number(teller) / 2};
	}
	graph->numbers = numbers;
	return numbers;
}

TEST(numbers, "numbers of any nodes come back with their graph, and none, and many")
{
	for (u64 seed = 1; seed < 60; seed++) {
		TELLER(teller) = {.random = seed * 41 + 1, .ticks = seed};
		u64 count = seed == 59 ? HW_BLOCK_NUMBERS_MAX : seed % 50;
		struct drawn_graph drawn = {0};
		struct blocks blocks = {0};
		struct stream_number *numbers;

		draw_graph(&teller, &drawn, count, seed % 3, 1);
		numbers = draw_numbers(&teller, &drawn.graph, seed == 58 ? 0 : 4);
		encode(&blocks, &drawn.graph);
		CHECK(blocks.numbers >= 1 + (seed == 59));
		CHECK_EQ(decode(&blocks, UINT64_MAX), 0);
		CHECK_EQ(blocks.with_numbers, 1);
		CHECK(blocks.same);
		/* without one of their blocks the graph is told alone */
		for (u64 i = 0; i < blocks.numbers; i++) {
			CHECK_EQ(decode(&blocks, i), 0);
			CHECK_EQ(blocks.graphs, 1);
			CHECK_EQ(blocks.with_numbers, 0);
		}
		blocks_release(&blocks);
		free(numbers);
		drawn_graph_release(&drawn);
	}
}

TEST(bad_numbers, "numbers that are cut, or with any byte changed, are some numbers or damaged")
{
	TELLER(teller) = {.random = 12};
	struct drawn_graph drawn = {0};
	struct blocks blocks = {0};
	struct stream_number *numbers;

	draw_graph(&teller, &drawn, 30, 1, 1);
	numbers = draw_numbers(&teller, &drawn.graph, 3);
	encode(&blocks, &drawn.graph);
	check_damage(&blocks, HW_BLOCK_NUMBERS_MAX);
	blocks_release(&blocks);
	free(numbers);
	drawn_graph_release(&drawn);
}

/* ---- in a file ---- */

enum { LOST = HW_BLOCK_EVENTS_MAX, CHUNKS = LOST + 10 };

static void tell_events_of(struct stream_sink *sink, u64 count)
{
	struct err err = {0};

	CHECK_EQ(sink->image(sink->self, &(struct stream_image){.program = "p", .command = "p"}, &err), 0);
	CHECK_EQ(sink->thread(sink->self, &(struct stream_thread){.tid = 1}, &err), 0);
	for (u64 i = 0; i < count; i++) {
		struct event e = {.kind = HW_MALLOC, .ticks = i, .address = 4096 + 64 * i, .size = 32, .chunk = i};

		CHECK_EQ(sink->events(sink->self, &e, 1, &err), 0);
	}
}

/* The first block of events is changed. */
static void lose_events(const char *path)
{
	struct hw_block_header header;
	TEXT(bytes);
	struct err err = {0};
	u64 at = sizeof(struct hw_trace_header);

	CHECK_EQ(io_read_file(path, 1 << 30, &bytes, &err), 0);
	for (;; at += sizeof header + header.stored_bytes) {
		memcpy(&header, bytes.text + at, sizeof header);
		if (header.type == HW_BLOCK_EVENTS)
			break;
	}
	bytes.text[at + sizeof header] ^= 1;
	CHECK_EQ(io_write_file(path, bytes.text, bytes.count, &err), 0);
}

TEST(lost_chunks, "a graph of which chunks were lost has the others by their new numbers")
{
	/* 0 and LOST - 1 are in the first block of events, the other two in the second */
	const u64 chunks[] = {0, LOST - 1, LOST + 2, LOST + 5}, starts[] = {0, 2, 3, 5, 5, 6};
	const struct stream_edge edges[] = {{2, 0, 0}, {3, 8, 0}, {2, 0, 0}, {1, 0, 0}, {3, 16, 4}, {2, 24, 0}};
	const struct stream_root root = {.kind = ROOT_DATA, .name = "p"};
	const struct stream_content contents[] = {{2, 0}, {3, 0}, {2, 7}, {3, 0}};
	const struct stream_number numbers[] = {{number_place(0, 8), 5}, {number_place(2, 24), 6}, {number_place(4, 32), 7}};
	const struct stream_graph graph = {9, 4, 1, chunks, &root, starts, edges, contents, numbers, 3, NULL};
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_sink sink = trace_writer_sink(writer);
	const struct trace_read_options salvage = {.image = TRACE_ALL_IMAGES};
	struct trace_info info = {0};
	struct err err = {0};
	LOG(got);

	tell_events_of(&sink, CHUNKS);
	CHECK_EQ(sink.graph(sink.self, &graph, &err), 0);
	close_or_fail(writer);
	lose_events(path);
	CHECK_EQ(read_story(path, &salvage, &got, &info, &err), 0);
	CHECK_EQ(info.damaged_blocks, 1);
	CHECK_EQ(info.graphs, 1);
	CHECK_STR(strbuf_text(&got.graphs),
		  "9\n2: 16->5+4 is 2, 7\n5: is 3, 0\nroot 0 tid 0 0+0 code 0 'p': 24->2+0\n"
		  "node 0+24 has 6\nnode 2+32 has 7\n");
}

/* Records with a few pointers each, to any others: what is hardest to pack. */
TEST(size, "a pointer to any of a hundred thousand chunks takes at most six bytes")
{
	enum { MANY = 100000, EACH = 3 };
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_sink sink = trace_writer_sink(writer);
	TELLER(teller) = {.random = 9};
	struct drawn_graph drawn = {0};
	struct trace_reader *reader;
	struct err err = {0};
	u64 bytes;

	tell_events_of(&sink, 1);
	for (u64 i = 0; i < MANY; i++)
		CHECK(vec_push(&drawn.chunks, i));
	for (u64 i = 0; i < MANY; i++) {
		CHECK(vec_push(&drawn.starts, drawn.edges.count));
		for (u32 k = 0; k < EACH; k++) {
			struct stream_edge edge = {(u32)draw(&teller, MANY), 16 * k, 0};

			CHECK(vec_push(&drawn.edges, edge));
		}
	}
	CHECK(vec_push(&drawn.starts, drawn.edges.count));
	drawn.graph = (struct stream_graph){1, MANY, 0, drawn.chunks.data, NULL, drawn.starts.data, drawn.edges.data, NULL, NULL, 0, NULL};
	CHECK_EQ(sink.graph(sink.self, &drawn.graph, &err), 0);
	close_or_fail(writer);
	reader = trace_open(path, &err);
	CHECK(reader);
	bytes = trace_info(reader)->file_bytes;
	printf("%.2f bytes a pointer\n", (double)bytes / (MANY * EACH));
	CHECK(bytes <= 6ull * MANY * EACH);
	trace_close(reader);
	drawn_graph_release(&drawn);
}
