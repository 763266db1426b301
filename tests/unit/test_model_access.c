/* SPDX-License-Identifier: MIT
 * Accesses in the model: rows by chunk, sums by point, rows that come twice, late, or for nobody. */
#include "host/base/bytemap.h"
#include "test_model.h"

static void tell_access(struct feed *feed, struct stream_access row)
{
	told(feed, feed->sink.accesses(feed->sink.self, &row, 1, &feed->err));
}

TEST(without, "a model without accesses says so of every chunk")
{
	struct feed feed = feed_new();
	struct chunk_access access;
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	CHECK(!feed.model->has_access);
	CHECK(!model_chunk_access(feed.model, a, &access));
	CHECK(!access.known);
	CHECK(!model_chunk_access(feed.model, UINT64_MAX, &access));
	CHECK_EQ(feed.model->accesses.cells.pages.count, 0);
	model_free(feed.model);
}

TEST(row, "a chunk has what was told of it, before or after its end")
{
	struct feed feed = feed_new();
	struct chunk_access access;
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10), b = tell_alloc(&feed, HW_MALLOC, 0, 20);

	tell_access(&feed, (struct stream_access){.chunk = b, .first_ticks = 1020,
						  .last_ticks = 1025, .reads = 3, .writes = 4,
						  .read_bytes = 12, .written_bytes = 32, .low = 2,
						  .high = 18, .covered_bytes = 9,
						  .flags = ACCESS_SHARED | ACCESS_ESTIMATED});
	tell_free(&feed, HW_FREE, a, 10);
	tell_free(&feed, HW_FREE, b, 20);
	tell_access(&feed, (struct stream_access){.chunk = a, .covered_bytes = UINT64_MAX});
	tell_end(&feed, IMAGE_EXITED);
	CHECK(feed.model->has_access);
	CHECK(model_chunk_access(feed.model, b, &access));
	CHECK_EQ(access.first_ticks, 1020);
	CHECK_EQ(access.last_ticks, 1025);
	CHECK_EQ(access.reads, 3);
	CHECK_EQ(access.writes, 4);
	CHECK_EQ(access.read_bytes, 12);
	CHECK_EQ(access.written_bytes, 32);
	CHECK_EQ(access.low, 2);
	CHECK_EQ(access.high, 18);
	CHECK_EQ(access.covered, 9);
	CHECK_EQ(access.flags, ACCESS_SHARED | ACCESS_ESTIMATED);
	CHECK(access.known);
	CHECK(model_chunk_access(feed.model, a, &access));
	CHECK_EQ(access.first_ticks, 0);
	CHECK_EQ(access.covered, UINT64_MAX);
	model_free(feed.model);
}

TEST(sums, "points and the program have the sums of their measured chunks")
{
	struct feed feed = feed_new();
	const struct access_sums *first, *all = &feed.model->access;
	u64 read, written, never;

	tell_context(&feed, 1, 0, 0x500000);
	tell_context(&feed, 2, 0, 0x600000);
	read = tell_alloc(&feed, HW_MALLOC, 1, 100);
	written = tell_alloc(&feed, HW_MALLOC, 1, 200);
	never = tell_alloc(&feed, HW_MALLOC, 2, 400);
	tell_alloc(&feed, HW_MALLOC, 2, 800); /* not measured */
	tell_access(&feed, (struct stream_access){.chunk = read, .first_ticks = 1, .last_ticks = 2,
						  .reads = 5, .read_bytes = 40,
						  .covered_bytes = 50, .flags = ACCESS_SHARED});
	tell_access(&feed, (struct stream_access){.chunk = written, .first_ticks = 1,
						  .last_ticks = 2, .writes = 7,
						  .written_bytes = 56, .covered_bytes = UINT64_MAX,
						  .flags = ACCESS_LOWER_BOUND});
	tell_access(&feed, (struct stream_access){.chunk = never, .covered_bytes = UINT64_MAX});
	first = &feed.model->points.data[model_point_of(feed.model, 1).index].access;
	CHECK_EQ(first->chunks, 2);
	CHECK_EQ(first->bytes, 300);
	CHECK_EQ(first->reads, 5);
	CHECK_EQ(first->writes, 7);
	CHECK_EQ(first->read_bytes, 40);
	CHECK_EQ(first->written_bytes, 56);
	CHECK_EQ(first->accessed_chunks, 2);
	CHECK_EQ(first->unread_chunks, 1);
	CHECK_EQ(first->unread_bytes, 200);
	CHECK_EQ(first->unwritten_bytes, 100);
	CHECK_EQ(first->never_chunks, 0);
	CHECK_EQ(first->covered_bytes, 50);
	CHECK_EQ(first->covered_of_bytes, 100);
	CHECK_EQ(first->shared_chunks, 1);
	CHECK_EQ(first->lower_bound_chunks, 1);
	CHECK_EQ(all->chunks, 3);
	CHECK_EQ(all->bytes, 700);
	CHECK_EQ(all->never_chunks, 1);
	CHECK_EQ(all->never_bytes, 400);
	model_free(feed.model);
}

/* A chunk of 64 bytes, first accessed at that time, with estimated reads. */
static void tell_estimate(struct feed *feed, u64 ticks, u64 reads)
{
	u64 chunk = tell_alloc(feed, HW_MALLOC, 0, 64);

	tell_access(feed, (struct stream_access){.chunk = chunk, .first_ticks = ticks,
						 .last_ticks = ticks + 1, .reads = reads, .writes = 1,
						 .covered_bytes = UINT64_MAX,
						 .flags = ACCESS_ESTIMATED});
}

TEST(interval, "a sum of estimates has an interval by what differs between stretches, if there are enough")
{
	struct feed feed = feed_new();
	struct access_interval found;
	struct chunk_access access;

	CHECK_EQ((u64)access_interval(&feed.model->access, false).high, 0);
	for (u64 i = 1; i <= 9; i++)
		tell_estimate(&feed, i << 24, 650);
	found = access_interval(&feed.model->access, false);
	CHECK_EQ((u64)found.low, 9 * (650 / 64 + 650 % 64));
	CHECK(found.high != found.high);
	tell_estimate(&feed, 10ull << 24, 650);
	tell_estimate(&feed, 10ull << 24, 650); /* in the same one */
	tell_estimate(&feed, 10ull << 24, 3);
	found = access_interval(&feed.model->access, false);
	/* 1.96 * sqrt(9 * 650^2 + 1303^2) = 4596.3 */
	CHECK_EQ((u64)found.low, 7153 - 4597);
	CHECK_EQ((u64)found.high, 7153 + 4597);
	CHECK(model_chunk_access(feed.model, 0, &access));
	CHECK_EQ(access_least(&access, access.reads), 20);
	CHECK(!access_knows_threads(&access));
	model_free(feed.model);
}

TEST(twice, "the later of two rows for a chunk counts, in its sums too")
{
	struct feed feed = feed_new();
	struct chunk_access access;
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);
	u64 wide = 1ull << 40;

	tell_access(&feed, (struct stream_access){.chunk = a, .covered_bytes = 1});
	tell_access(&feed, (struct stream_access){.chunk = a, .first_ticks = 1, .last_ticks = 9,
						  .reads = wide, .read_bytes = wide * 8,
						  .covered_bytes = UINT64_MAX});
	CHECK_EQ(feed.model->access.reads, wide);
	CHECK(model_chunk_access(feed.model, a, &access));
	CHECK_EQ(access.reads, wide);
	CHECK_EQ(access.read_bytes, wide * 8);
	CHECK_EQ(access.covered, UINT64_MAX);
	tell_access(&feed, (struct stream_access){.chunk = a, .first_ticks = 1, .last_ticks = 9,
						  .reads = 2, .read_bytes = 16,
						  .covered_bytes = 8});
	CHECK(model_chunk_access(feed.model, a, &access));
	CHECK_EQ(access.reads, 2);
	CHECK_EQ(access.covered, 8);
	CHECK_EQ(feed.model->access.reads, 2);
	CHECK_EQ(feed.model->access.read_bytes, 16);
	CHECK_EQ(feed.model->access.chunks, 1);
	CHECK_EQ(feed.model->access.never_chunks, 0);
	CHECK_EQ(feed.model->access.covered_bytes, 8);
	CHECK_EQ(feed.model->access.covered_of_bytes, 10);
	CHECK_EQ(feed.model->accesses.count, 1);
	model_free(feed.model);
}

TEST(nobody, "a row of a chunk that was never told is counted and sizes nothing")
{
	struct feed feed = feed_new();
	struct chunk_access access;

	tell_alloc(&feed, HW_MALLOC, 0, 10);
	tell_access(&feed, (struct stream_access){.chunk = 1, .reads = 1});
	tell_access(&feed, (struct stream_access){.chunk = UINT64_MAX, .reads = 1});
	tell_access(&feed, (struct stream_access){.chunk = 1ull << 60, .reads = 1});
	CHECK_EQ(feed.model->strange_accesses, 3);
	CHECK_EQ(feed.model->access.reads, 0);
	CHECK(!model_chunk_access(feed.model, 1, &access));
	model_free(feed.model);
}

TEST(wide, "numbers that do not fit into 32 bits are kept whole, each by itself")
{
	static const struct chunk_access rows[] = {
		{.reads = 1ull << 32}, {.writes = 1ull << 33}, {.read_bytes = UINT64_MAX},
		{.written_bytes = 1ull << 50}, {.low = 1ull << 35, .high = 1ull << 36},
		{.covered = UINT32_MAX}, {.covered = UINT64_MAX, .flags = 1 << 20},
		{.reads = UINT32_MAX, .writes = UINT32_MAX, .covered = UINT32_MAX - 1},
		{.first_ticks = UINT64_MAX, .last_ticks = UINT64_MAX, .covered = UINT64_MAX},
	};
	enum { COUNT = sizeof rows / sizeof *rows };
	struct access_table table = {0};

	for (u64 i = 0; i < COUNT; i++)
		CHECK(access_table_put(&table, i * 20000, &rows[i]));
	for (u64 i = 0; i < COUNT; i++) {
		struct chunk_access got;

		CHECK(access_table_get(&table, i * 20000, &got));
		CHECK_EQ(got.reads, rows[i].reads);
		CHECK_EQ(got.writes, rows[i].writes);
		CHECK_EQ(got.read_bytes, rows[i].read_bytes);
		CHECK_EQ(got.written_bytes, rows[i].written_bytes);
		CHECK_EQ(got.low, rows[i].low);
		CHECK_EQ(got.high, rows[i].high);
		CHECK_EQ(got.covered, rows[i].covered);
		CHECK_EQ(got.flags, rows[i].flags);
		CHECK_EQ(got.first_ticks, rows[i].first_ticks);
		CHECK(!access_table_get(&table, i * 20000 + 1, &got));
	}
	CHECK_EQ(table.count, COUNT);
	CHECK_EQ(table.wide.count, 7);
	access_table_release(&table);
}

TEST(images, "a further image begins without accesses")
{
	struct feed feed = feed_new();
	struct chunk_access access;
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	tell_access(&feed, (struct stream_access){.chunk = a, .reads = 1, .covered_bytes = 1});
	tell_end(&feed, IMAGE_EXEC);
	tell_image(&feed, 0);
	tell_alloc(&feed, HW_MALLOC, 0, 10);
	CHECK(!feed.model->has_access);
	CHECK(!model_chunk_access(feed.model, 0, &access));
	CHECK_EQ(feed.model->access.reads, 0);
	model_free(feed.model);
}

static const struct point_map *map_of(struct feed *feed, u32 context)
{
	return model_point_map(feed->model, model_point_of(feed->model, context));
}

TEST(point_maps, "a point knows which bytes of its chunks were accessed while they have one size")
{
	struct feed feed = feed_new();
	u64 words[HW_MAP_WORDS] = {0x101}, same[5];

	for (u32 i = 1; i <= 4; i++)
		tell_context(&feed, i, 0, 0x500000 * i);
	for (u32 i = 0; i < 5; i++)
		same[i] = tell_alloc(&feed, HW_MALLOC, 1, 100);
	tell_access(&feed, (struct stream_access){.chunk = same[0], .high = 9, .covered_bytes = 2,
						  .map = words});
	tell_access(&feed, (struct stream_access){.chunk = same[1], .low = 98, .high = 100,
						  .covered_bytes = 2});
	tell_access(&feed, (struct stream_access){.chunk = same[2], .covered_bytes = 0});
	tell_access(&feed, (struct stream_access){.chunk = same[3], .covered_bytes = UINT64_MAX});
	/* told again */
	words[0] = 0x103;
	tell_access(&feed, (struct stream_access){.chunk = same[0], .high = 9, .covered_bytes = 3,
						  .map = words});
	CHECK_EQ(map_of(&feed, 1)->size, 100);
	CHECK_EQ(map_of(&feed, 1)->chunks, 3);
	CHECK_EQ(map_of(&feed, 1)->words[0], 0x103);
	CHECK_EQ(map_of(&feed, 1)->words[1], 3ull << 34);
	/* two sizes; too large; bytes that nobody names */
	tell_access(&feed, (struct stream_access){.chunk = tell_alloc(&feed, HW_MALLOC, 2, 8),
						  .high = 8, .covered_bytes = 8});
	CHECK_EQ(map_of(&feed, 2)->size, 8);
	tell_access(&feed, (struct stream_access){.chunk = tell_alloc(&feed, HW_MALLOC, 2, 9),
						  .high = 8, .covered_bytes = 8});
	CHECK(!map_of(&feed, 2));
	tell_access(&feed, (struct stream_access){.chunk = tell_alloc(&feed, HW_MALLOC, 3, 1025),
						  .high = 8, .covered_bytes = 8});
	CHECK(!map_of(&feed, 3));
	tell_access(&feed, (struct stream_access){.chunk = same[4], .high = 10, .covered_bytes = 5});
	CHECK(!map_of(&feed, 1));
	/* nobody should say so */
	tell_access(&feed, (struct stream_access){.chunk = tell_alloc(&feed, HW_MALLOC, 4, 8),
						  .high = 1ull << 40, .covered_bytes = 1ull << 40});
	CHECK(!map_of(&feed, 4));
	model_free(feed.model);
}

/* "size: read; written × chunks" of each pattern that a chunk has. */
static const char *patterns_of(struct feed *feed, struct strbuf *text)
{
	strbuf_clear(text);
	for (u64 i = 0; i < feed->model->patterns.rows.count; i++) {
		const struct access_pattern *pattern = &feed->model->patterns.rows.data[i];

		if (!pattern->chunks)
			continue;
		strbuf_addf(text, "%s%u%s: ", text->count ? ", " : "", pattern->size,
			    pattern->mixed ? " mixed" : pattern->sided ? "" : " unsided");
		bytemap_add_ranges(text, pattern->sides[HW_SIDE_READ], HW_MAP_BYTES, true, 0);
		strbuf_add(text, "; ");
		bytemap_add_ranges(text, pattern->sides[HW_SIDE_WRITTEN], HW_MAP_BYTES, true, 0);
		strbuf_addf(text, " × %lu", (unsigned long)pattern->chunks);
	}
	return strbuf_text(text);
}

TEST(patterns, "chunks of a point that are used in the same way are counted together")
{
	struct feed feed = feed_new();
	u64 all[HW_MAP_WORDS] = {0xf0f}, read[HW_MAP_WORDS] = {0xf00}, chunks[4];
	struct stream_access row = {.high = 12, .covered_bytes = 8, .map = all, .sided = true,
				    .side_bytes = {4, 8}, .side_maps = {read, NULL}};
	struct strbuf text = {0};

	tell_context(&feed, 1, 0, 0x500000);
	for (u32 i = 0; i < 4; i++)
		chunks[i] = tell_alloc(&feed, HW_MALLOC, 1, i < 3 ? 16 : 24);
	for (u32 i = 0; i < 4; i++) {
		row.chunk = chunks[i];
		tell_access(&feed, row);
	}
	CHECK_STR(patterns_of(&feed, &text), "16: 8-11; 0-3,8-11 × 3, 24: 8-11; 0-3,8-11 × 1");
	/* more is known of one; of another it is not known which bytes they were */
	row = (struct stream_access){.chunk = chunks[0], .high = 16, .covered_bytes = 16, .sided = true,
				     .side_bytes = {16, 0}};
	tell_access(&feed, row);
	row = (struct stream_access){.chunk = chunks[1], .high = 16, .covered_bytes = 16, .sided = true,
				     .side_bytes = {16, 3}};
	tell_access(&feed, row);
	CHECK_STR(patterns_of(&feed, &text),
		  "16: 8-11; 0-3,8-11 × 1, 24: 8-11; 0-3,8-11 × 1, 16: 0-15;  × 1");
	/* not told apart */
	row = (struct stream_access){.chunk = chunks[1], .high = 16, .covered_bytes = 16};
	tell_access(&feed, row);
	CHECK_STR(patterns_of(&feed, &text), "16: 8-11; 0-3,8-11 × 1, 24: 8-11; 0-3,8-11 × 1, "
					     "16: 0-15;  × 1, 16 unsided: 0-15; 0-15 × 1");
	strbuf_release(&text);
	model_free(feed.model);
}

TEST(many_patterns, "chunks that are used in more ways than are kept are joined")
{
	enum { WAYS = POINT_PATTERNS_MAX + 50 };
	struct feed feed = feed_new();
	struct access_pattern last;

	tell_context(&feed, 1, 0, 0x500000);
	for (u32 i = 0; i < WAYS; i++) {
		u64 all[HW_MAP_WORDS] = {1 | (u64)(i + 1) << 8};
		u64 bytes = (u64)__builtin_popcountll(all[0]);

		tell_access(&feed, (struct stream_access){.chunk = tell_alloc(&feed, HW_MALLOC, 1, 64),
							  .high = 64, .covered_bytes = bytes, .map = all,
							  .sided = true, .side_bytes = {bytes, 0}});
	}
	CHECK_EQ(feed.model->patterns.rows.count, POINT_PATTERNS_MAX + 1);
	last = feed.model->patterns.rows.data[POINT_PATTERNS_MAX];
	CHECK(last.mixed);
	CHECK_EQ(last.chunks, 50);
	CHECK_EQ(last.sides[HW_SIDE_WRITTEN][0], 0);
	CHECK_EQ(last.sides[HW_SIDE_READ][0], 0x43f01); /* 1025 to 1074, by 256 */
	model_free(feed.model);
}
