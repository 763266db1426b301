/* SPDX-License-Identifier: MIT
 * The pointers of scans in a model: from a trace, beside an index, past damage, and only on wish. */
#include "test_trace.h"

#include "format/tracefile.h"
#include "study/model/graphs.h"
#include "study/model/index.h"

enum { CHUNKS = HW_BLOCK_EVENTS_MAX + 10 };

static const u64 chunks[] = {1, HW_BLOCK_EVENTS_MAX + 1}, starts[] = {0, 0, 1, 2};
static const struct stream_edge edges[] = {{0, 8, 4}, {1, 16, 0}};
static const struct stream_root root = {ROOT_DATA, 0, 0x1000, 64, 0, "/bin/p"};

/* Two scans: the first found one root and no pointer. */
static const char *write_file(void)
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_sink sink = trace_writer_sink(writer);
	const u64 none[4] = {0};
	struct stream_graph first = {.ticks = 5,
				     .chunk_count = 2,
				     .root_count = 1,
				     .chunks = chunks,
				     .roots = &root,
				     .starts = none};
	struct stream_graph second = {.ticks = 9,
				      .chunk_count = 2,
				      .root_count = 1,
				      .chunks = chunks,
				      .roots = &root,
				      .starts = starts,
				      .edges = edges};
	struct err err = {0};

	CHECK_EQ(sink.image(sink.self, &(struct stream_image){.program = "p", .command = "p"},
			    &err),
		 0);
	CHECK_EQ(sink.thread(sink.self, &(struct stream_thread){.tid = 1}, &err), 0);
	for (u64 i = 0; i < CHUNKS; i++) {
		struct event e = {.kind = HW_MALLOC,
				  .ticks = i,
				  .address = 4096 + 64 * i,
				  .size = 32,
				  .chunk = i};

		CHECK_EQ(sink.events(sink.self, &e, 1, &err), 0);
	}
	CHECK_EQ(sink.graph(sink.self, &first, &err), 0);
	CHECK_EQ(sink.graph(sink.self, &second, &err), 0);
	CHECK_EQ(sink.image_end(sink.self, &(struct stream_image_end){.ticks = CHUNKS}, &err), 0);
	close_or_fail(writer);
	return path;
}

static struct model *open_model(const char *path, struct model_options how)
{
	struct model *model = model_new();
	struct err err = {0};

	how.image = TRACE_LAST_IMAGE;
	if (model_open(model, path, &how, &err) < 0)
		FAIL("%s", err.text);
	return model;
}

static void check_graphs(const struct model *model)
{
	const struct stream_graph *newest;

	CHECK_EQ(model->graphs.count, 2);
	newest = &model->graphs.data[1];
	CHECK_EQ(model->graphs.data[0].ticks, 5);
	CHECK_EQ(newest->ticks, 9);
	CHECK_EQ(newest->chunk_count, 2);
	for (u32 i = 0; i < 2; i++) {
		CHECK_EQ(graph_chunk(newest, i), chunks[i]);
		CHECK_EQ(graph_find(newest, chunks[i]), graph_node(newest, i));
	}
	CHECK_EQ(graph_find(newest, 2), UINT32_MAX);
	/* the root leads to the second, which leads to the first */
	CHECK_EQ(newest->chunks[0], chunks[1]);
	CHECK_EQ(newest->starts[0], 0);
	CHECK_EQ(newest->starts[1], 1);
	CHECK_EQ(newest->starts[2], 1);
	CHECK_EQ(newest->starts[3], 2);
	CHECK_EQ(newest->edges[0].target, 1);
	CHECK_EQ(newest->edges[0].from, 8);
	CHECK_EQ(newest->edges[0].to, 4);
	CHECK_EQ(newest->edges[1].target, 0);
	CHECK_EQ(newest->edges[1].from, 16);
	CHECK_STR(newest->roots[0].name, "/bin/p");
}

TEST(on_wish, "a model has the pointers of all scans if it is asked to, with an index and without")
{
	const char *path = write_file();
	struct index_made made = {0};
	struct model *model = open_model(path, (struct model_options){0});

	CHECK_EQ(model->graphs.count, 0);
	model_free(model);
	model = open_model(path, (struct model_options){.graphs = true});
	check_graphs(model);
	model_free(model);
	model = open_model(path, (struct model_options){.graphs = true,
							.write_index = true,
							.made = &made});
	CHECK(made.bytes > 0);
	CHECK(model->store != NULL || model->order.count > 0);
	check_graphs(model);
	model_free(model);
}

/* The first block of events is changed: chunk 1 is lost, the other one is number 1 then. */
TEST(damaged, "a model of a damaged trace has them by its own numbers of chunks")
{
	const char *path = write_file();
	struct hw_block_header header;
	struct model *model;
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
	model = open_model(path, (struct model_options){.graphs = true});
	CHECK_EQ(model->graphs.count, 2);
	CHECK_EQ(model->graphs.data[1].chunk_count, 1);
	CHECK_EQ(model->graphs.data[1].chunks[0], 1);
	CHECK_EQ(model->graphs.data[1].starts[2], 1);
	CHECK_EQ(model->graphs.data[1].edges[0].target, 0);
	model_free(model);
}

TEST(sink, "a model that is told keeps what it was told")
{
	struct model *model = model_new();
	struct stream_sink sink = model_sink(model);
	struct stream_graph graph = {.ticks = 9,
				     .chunk_count = 2,
				     .root_count = 1,
				     .chunks = chunks,
				     .roots = &root,
				     .starts = starts,
				     .edges = edges};
	struct err err = {0};

	CHECK_EQ(sink.image(model, &(struct stream_image){.program = "p", .command = "p"}, &err),
		 0);
	CHECK_EQ(sink.graph(model, &graph, &err), 0);
	CHECK_EQ(sink.graph(model, &graph, &err), 0);
	CHECK_EQ(model->graphs.count, 2);
	CHECK_EQ(sink.image(model, &(struct stream_image){.program = "q", .command = "q"}, &err),
		 0);
	CHECK_EQ(model->graphs.count, 0);
	model_free(model);
}
