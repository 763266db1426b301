/* SPDX-License-Identifier: MIT
 * For the tests of indexes: traces to make them of, and whether two models are the same. */
#ifndef UNIT_TEST_INDEX_H
#define UNIT_TEST_INDEX_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"
#include "lib/test.h"
#include "study/model/index.h"
#include "study/model/index_file.h"
#include "dev/synth/synth.h"
#include "host/trace/block.h"

#ifndef HELPER
#define HELPER __attribute__((unused)) static
#endif

HELPER const char *synthetic_trace(const char *name, u64 chunks, u64 points, bool access)
{
	static char path[512];
	struct synth_options how = {.path = path,
				    .chunks = chunks,
				    .points = points,
				    .threads = 3,
				    .types = 40,
				    .access = access,
				    .seed = chunks,
				    .kept = 0.02};
	struct synth_result made;
	struct err err = {0};

	snprintf(path, sizeof path, "%s/%s", test_folder(), name);
	if (synth_write(&how, &made, &err) < 0)
		FAIL("%s", err.text);
	synth_result_release(&made);
	return path;
}

HELPER const char *index_trace(const char *name, u64 chunks)
{
	return synthetic_trace(name, chunks, chunks / 20 + 1, true);
}

HELPER struct model *open_model(const char *path, const struct model_options *options)
{
	struct model *model = model_new();
	struct err err = {0};

	if (!model || model_open(model, path, options, &err) < 0)
		FAIL("cannot open %s: %s", path, err.text);
	return model;
}

HELPER struct model *open_by_index(const char *path, int image)
{
	struct model_options options = {.image = image};

	return open_model(path, &options);
}

HELPER struct model *open_by_trace(const char *path, int image)
{
	struct model_options options = {.image = image, .no_index = true};

	return open_model(path, &options);
}

HELPER void build_index(const char *path, int image, struct index_made *made)
{
	struct model_options options = {.image = image};
	struct err err = {0};

	if (index_build(path, &options, made, &err) < 0)
		FAIL("%s", err.text);
}

#define SAME_BYTES(a, b, field) CHECK(memcmp(&(a)->field, &(b)->field, sizeof(a)->field) == 0)

HELPER void check_same_chunks(const struct model *a, const struct model *b)
{
	CHECK_EQ(a->chunks.count, b->chunks.count);
	CHECK_EQ(a->chunks.pages.count, b->chunks.pages.count);
	for (u64 i = 0; i < a->chunks.pages.count && i < b->chunks.pages.count; i++) {
		const struct chunk_page *x = a->chunks.pages.data[i], *y = b->chunks.pages.data[i];

		CHECK(!x == !y && (!x || memcmp(x, y, sizeof *x) == 0));
	}
	for (u64 i = 0; i < a->chunks.count; i++) {
		struct chunk_access access[2];
		struct chunk_type type[2];
		bool same = model_chunk_access(a, i, &access[0]) ==
				    model_chunk_access(b, i, &access[1]) &&
			    model_chunk_type(a, i, &type[0]) == model_chunk_type(b, i, &type[1]);

		same = same && access[0].reads == access[1].reads &&
		       access[0].covered == access[1].covered &&
		       access[0].last_ticks == access[1].last_ticks &&
		       type[0].type == type[1].type && type[0].count == type[1].count &&
		       type[0].identity == type[1].identity;
		if (!same)
			FAIL("chunk %llu", (unsigned long long)i);
	}
}

HELPER void check_same_contexts(const struct model *a, const struct model *b)
{
	CHECK_EQ(a->contexts.nodes.count, b->contexts.nodes.count);
	CHECK_EQ(a->contexts.told, b->contexts.told);
	/* All of them, so that those are placed, too, which nobody has asked for. */
	for (u32 i = 0; i < a->contexts.nodes.count; i++) {
		struct frame_id x, y;
		const struct frame *f, *g;

		CHECK(model_place(a, i, &x, NULL) == 0 && model_place(b, i, &y, NULL) == 0);
		if (x.index != y.index)
			FAIL("context %u is at %u and at %u", i, x.index, y.index);
		if (!a->contexts.frames.count)
			continue;
		f = context_table_frame(&a->contexts, x);
		g = context_table_frame(&b->contexts, y);
		if (f->address != g->address || f->module != g->module ||
		    f->identity != g->identity || f->parent != g->parent)
			FAIL("the frame of context %u differs", i);
	}
	CHECK_EQ(a->contexts.modules.module_count, b->contexts.modules.module_count);
	for (u32 i = 0; i < a->contexts.modules.module_count; i++) {
		const struct modmap_module *x = modmap_module(&a->contexts.modules, i);
		const struct modmap_module *y = modmap_module(&b->contexts.modules, i);

		CHECK(!x == !y);
		CHECK(!x || (strcmp(x->path, y->path) == 0 && x->start == y->start &&
			     x->build_id_bytes == y->build_id_bytes && x->end == y->end &&
			     memcmp(x->build_id, y->build_id, x->build_id_bytes) == 0));
	}
}

HELPER void check_same_points(const struct model *a, const struct model *b)
{
	CHECK_EQ(a->points.count, b->points.count);
	for (u64 i = 0; i < a->points.count; i++) {
		const struct model_point *x = &a->points.data[i], *y = &b->points.data[i];

		/* up to its frame a point is numbers without gaps */
		if (memcmp(x, y, offsetof(struct model_point, frame)) != 0 ||
		    x->frame.index != y->frame.index || x->kind != y->kind)
			FAIL("point %llu", (unsigned long long)i);
	}
	CHECK_EQ(a->maps.count, b->maps.count);
	CHECK(!a->maps.count ||
	      memcmp(a->maps.data, b->maps.data, a->maps.count * sizeof *a->maps.data) == 0);
}

HELPER void check_same_rest(const struct model *a, const struct model *b)
{
	SAME_BYTES(a, b, totals);
	SAME_BYTES(a, b, kinds);
	SAME_BYTES(a, b, access);
	SAME_BYTES(a, b, timeline);
	SAME_BYTES(a, b, failed);
	SAME_BYTES(a, b, end.totals);
	CHECK_STR(a->image.program, b->image.program);
	CHECK_STR(a->image.command, b->image.command);
	CHECK_EQ(a->image.number, b->image.number);
	CHECK_EQ(a->last_ticks, b->last_ticks);
	CHECK_EQ(a->has_end, b->has_end);
	CHECK_EQ(a->events, b->events);
	CHECK_EQ(a->count_shift, b->count_shift);
	CHECK_EQ(a->aggregated, b->aggregated);
	CHECK_EQ(a->scan.state, b->scan.state);
	CHECK_STR(a->scan.reason, b->scan.reason);
	CHECK_EQ(a->threads.count, b->threads.count);
	for (u64 i = 0; i < a->threads.count; i++)
		CHECK_STR(a->threads.data[i].name, b->threads.data[i].name);
	CHECK_EQ(a->marks.count, b->marks.count);
	for (u64 i = 0; i < a->marks.count; i++)
		CHECK(strcmp(a->marks.data[i].name, b->marks.data[i].name) == 0 &&
		      a->marks.data[i].live_bytes == b->marks.data[i].live_bytes);
	CHECK_EQ(a->snapshot_points.count, b->snapshot_points.count);
	CHECK_EQ(a->notes.count, b->notes.count);
	for (u64 i = 0; i < a->notes.count; i++)
		CHECK_STR(a->notes.data[i].value, b->notes.data[i].value);
	CHECK_EQ(a->types.count, b->types.count);
	CHECK_EQ(a->usage.count, b->usage.count);
	CHECK_EQ(a->misfits.unknown.count, b->misfits.unknown.count);
	CHECK_EQ(a->misfits.mismatches.count, b->misfits.mismatches.count);
	CHECK_EQ(model_duration_ns(a), model_duration_ns(b));
}

HELPER void check_same_models(const struct model *a, const struct model *b)
{
	check_same_rest(a, b);
	check_same_points(a, b);
	check_same_chunks(a, b);
	check_same_contexts(a, b);
}

/* The whole index as bytes, to be changed and written again. */
HELPER u64 read_index(const char *path, u8 **bytes)
{
	struct strbuf text = {0};
	struct err err = {0};
	u64 count;

	if (io_read_file(path, 1 << 30, &text, &err) < 0)
		FAIL("%s", err.text);
	count = text.count;
	*bytes = (u8 *)strbuf_take(&text);
	return count;
}

HELPER void write_index(const char *path, const u8 *bytes, u64 count)
{
	struct err err = {0};

	if (io_write_file(path, bytes, count, &err) < 0)
		FAIL("%s", err.text);
}

/* Makes the checksums right, as someone would who wants to be believed. */
HELPER void seal_index(u8 *bytes)
{
	struct index_header header;

	memcpy(&header, bytes, sizeof header);
	header.small_checksum = checksum(bytes + header.small_offset, header.small_bytes);
	index_header_seal(&header);
	memcpy(bytes, &header, sizeof header);
}

#endif
