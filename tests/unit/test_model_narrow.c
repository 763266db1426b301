/* SPDX-License-Identifier: MIT
 * Parts of models: each sum is that of a model which was told of the chosen chunks alone. */
#include "study/model/narrow.h"
#include "unit/test_model.h"

enum { CHUNKS = 3000, CONTEXTS = 12 };

struct life {
	u64 size, born, died; /* ticks; died 0 = never */
	u32 context, thread;
	u8 kind;
};

static u64 random_state = 1;

static u64 draw(u64 limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % limit;
}

static void make_lives(struct life *lives, u64 seed)
{
	u64 ticks = 1000;

	random_state = seed;
	for (u32 i = 0; i < CHUNKS; i++) {
		ticks += draw(4); /* several at one moment */
		lives[i] = (struct life){.size = draw(5) ? draw(5000) : 0,
					 .born = ticks,
					 .died = draw(10) ? ticks + draw(i % 7 ? 40 : 4000) : 0,
					 .context = 1 + (u32)draw(CONTEXTS),
					 .thread = (u32)draw(3),
					 .kind = draw(4) ? HW_MALLOC : HW_CALLOC};
	}
}

static void tell_one(struct feed *feed, const struct life *life, u64 chunk, bool end)
{
	struct event event = {.ticks = end ? life->died : life->born,
			      .kind = end ? HW_FREE : life->kind,
			      .context = life->context,
			      .size = life->size,
			      .chunk = chunk,
			      .address = 0x1000 + 64 * chunk};

	feed->thread = life->thread;
	tell_event(feed, event);
}

/* Tells the lives of which the bit is set, moment by moment: what ends then, and then what begins. */
static struct feed feed_lives(const struct life *lives, const u64 *words, u64 sample_bytes)
{
	struct feed feed = {.model = model_new()};
	u64 last = lives[CHUNKS - 1].born + 5000;

	feed.sink = model_sink(feed.model);
	tell_image(&feed, sample_bytes);
	tell_module(&feed, 0, 0x100000, 0, "/bin/prog");
	for (u32 i = 1; i <= CONTEXTS; i++)
		tell_context(&feed, i, i > 6 ? i - 6 : 0, 0x100000 + 0x10 * i + 1);
	for (u32 i = 0; i < 3; i++)
		tell_thread(&feed, i);
	for (u64 now = 1000; now <= last; now++) {
		for (u64 i = 0; i < CHUNKS; i++)
			if (words[i / 64] >> (i % 64) & 1 && lives[i].died == now &&
			    lives[i].born < now)
				tell_one(&feed, &lives[i], i, true);
		for (u64 i = 0; i < CHUNKS && lives[i].born <= now; i++) {
			if (!(words[i / 64] >> (i % 64) & 1) || lives[i].born != now)
				continue;
			tell_one(&feed, &lives[i], i, false);
			if (lives[i].died == now)
				tell_one(&feed, &lives[i], i, true);
		}
	}
	feed.ticks = last;
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

static void choose(u64 *words, u64 seed, u64 share)
{
	random_state = seed;
	for (u64 i = 0; i < CHUNKS; i++)
		if (draw(100) < share)
			words[i / 64] |= 1ull << (i % 64);
}

/* Temporary chunks are those of the whole: what lay between is not chosen away. */
static void check_points(const struct model *part, const struct model *alone)
{
	u64 count = 0;

	for (u32 context = 1; context <= CONTEXTS; context++) {
		u32 point = model_point_of(part, context).index;
		u32 known = context < alone->context_points.count
				    ? alone->context_points.data[context]
				    : 0;
		const struct model_point *a = &part->points.data[point], *b;

		CHECK_EQ(model_point_is_empty(part, point), !known);
		if (!known)
			continue;
		count++;
		b = &alone->points.data[known - 1];
		CHECK_EQ(a->allocations, b->allocations);
		CHECK_EQ(a->bytes, b->bytes);
		CHECK_EQ(a->frees, b->frees);
		CHECK_EQ(a->freed_bytes, b->freed_bytes);
		CHECK_EQ(a->live_bytes, b->live_bytes);
		CHECK_EQ(a->live_chunks, b->live_chunks);
		CHECK_EQ(a->peak_bytes, b->peak_bytes);
		CHECK_EQ(a->peak_chunks, b->peak_chunks);
		CHECK_EQ(a->peak_ticks, b->peak_ticks);
		CHECK_EQ(a->at_peak_bytes, b->at_peak_bytes);
		CHECK_EQ(a->at_peak_chunks, b->at_peak_chunks);
	}
	CHECK_EQ(model_point_count(part), count);
	CHECK_EQ(alone->points.count, count);
}

static void check_same(const struct model *part, const struct model *alone)
{
	const struct model_totals *a = &part->totals, *b = &alone->totals;

	CHECK_EQ(a->allocations, b->allocations);
	CHECK_EQ(a->bytes, b->bytes);
	CHECK_EQ(a->frees, b->frees);
	CHECK_EQ(a->freed_bytes, b->freed_bytes);
	CHECK_EQ(a->live_bytes, b->live_bytes);
	CHECK_EQ(a->live_chunks, b->live_chunks);
	CHECK_EQ(a->peak_bytes, b->peak_bytes);
	CHECK_EQ(a->peak_chunks, b->peak_chunks);
	CHECK_EQ(a->peak_ticks, b->peak_ticks);
	CHECK_EQ(part->recorded_allocations, alone->recorded_allocations);
	CHECK_EQ(part->recorded_bytes, alone->recorded_bytes);
	CHECK_EQ(part->recorded_frees, alone->recorded_frees);
	CHECK_EQ(part->kinds[HW_MALLOC], alone->kinds[HW_MALLOC]);
	CHECK_EQ(part->kinds[HW_CALLOC], alone->kinds[HW_CALLOC]);
	CHECK_EQ(part->last_ticks, alone->last_ticks);
	CHECK_EQ(part->timeline.current, alone->timeline.current);
	CHECK(memcmp(part->timeline.bucket, alone->timeline.bucket,
		     sizeof *part->timeline.bucket * (alone->timeline.current + 1)) == 0);
	for (u32 i = 0; i < 3; i++) {
		CHECK_EQ(part->threads.data[i].allocations, alone->threads.data[i].allocations);
		CHECK_EQ(part->threads.data[i].bytes, alone->threads.data[i].bytes);
		CHECK_EQ(part->threads.data[i].frees, alone->threads.data[i].frees);
	}
	check_points(part, alone);
}

TEST(alone, "a part is what a program with the chosen chunks alone would have been")
{
	static const u64 shares[] = {0, 1, 10, 50, 99, 100};
	static struct life lives[CHUNKS];
	u64 all[CHUNK_PAGE / 64];

	memset(all, 0xff, sizeof all);
	for (u32 i = 0; i < sizeof shares / sizeof *shares; i++) {
		u64 words[CHUNK_PAGE / 64] = {0}, sample = i % 2 ? 0 : 512;
		struct narrow_query query = {.words = words};
		struct feed whole, alone;
		struct model *part;

		make_lives(lives, i + 1);
		choose(words, i + 100, shares[i]);
		whole = feed_lives(lives, all, sample);
		alone = feed_lives(lives, words, sample);
		part = model_narrow(whole.model, &query, &whole.err);
		if (!part)
			FAIL("%s", whole.err.text);
		check_same(part, alone.model);
		CHECK_EQ(whole.model->points.count, CONTEXTS);
		model_free(part);
		model_free(whole.model);
		model_free(alone.model);
	}
}

TEST(window, "peaks of a window are those inside of it")
{
	static struct life lives[CHUNKS];
	u64 all[CHUNK_PAGE / 64], most = 0, at = 0, live = 0;
	struct narrow_query query = {.words = all, .from_ticks = 2000, .to_ticks = 3500};
	struct feed whole;
	struct model *part;

	memset(all, 0xff, sizeof all);
	make_lives(lives, 7);
	whole = feed_lives(lives, all, 0);
	part = model_narrow(whole.model, &query, &whole.err);
	if (!part)
		FAIL("%s", whole.err.text);
	/* After all that happens at a moment; what ends is first, so that nothing is higher in between but chunks of no life. */
	for (u64 now = 2000; now <= 3500; now++) {
		live = 0;
		for (u32 i = 0; i < CHUNKS; i++)
			live += lives[i].born <= now && (!lives[i].died || lives[i].died > now)
					? lives[i].size
					: 0;
		if (live > most) {
			most = live;
			at = now;
		}
	}
	CHECK(part->totals.peak_bytes >= most && part->totals.peak_bytes <= most + 5000);
	CHECK(part->totals.peak_ticks >= 2000 && part->totals.peak_ticks <= 3500);
	CHECK(at != 0);
	CHECK_EQ(part->totals.bytes, whole.model->totals.bytes);
	CHECK_EQ(part->totals.live_bytes, whole.model->totals.live_bytes);
	live = 0;
	for (u64 i = 0; i < part->points.count; i++)
		live += part->points.data[i].at_peak_bytes;
	CHECK_EQ(live, part->totals.peak_bytes);
	model_free(part);
	model_free(whole.model);
}

TEST(backwards, "a chunk that ends before it begins, by its stamps, harms nothing")
{
	u64 words[CHUNK_PAGE / 64] = {7};
	struct narrow_query query = {.words = words};
	struct feed feed = feed_new();
	struct model *part;

	tell_module(&feed, 0, 0x100000, 0, "/bin/prog");
	tell_context(&feed, 1, 0, 0x100011);
	for (u64 i = 0; i < 3; i++) {
		tell_event(&feed, (struct event){.kind = HW_MALLOC,
						 .context = 1,
						 .size = 100,
						 .chunk = i,
						 .ticks = 5000 + i});
		tell_event(&feed, (struct event){.kind = HW_FREE,
						 .size = 100,
						 .chunk = i,
						 .ticks = i == 1 ? 1 : 4000});
	}
	tell_end(&feed, IMAGE_EXITED);
	part = model_narrow(feed.model, &query, &feed.err);
	if (!part)
		FAIL("%s", feed.err.text);
	CHECK_EQ(part->totals.peak_bytes, 100);
	CHECK_EQ(part->totals.live_bytes, 0);
	CHECK_EQ(part->totals.frees, 3);
	model_free(part);
	model_free(feed.model);
}
