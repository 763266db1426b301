/* SPDX-License-Identifier: MIT
 * Ticks of a program that runs: what is kept of them, and what viewers get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "show/serve/feed.h"

static struct feed feed;

static void push(u64 count)
{
	for (u64 i = 0; i < count; i++) {
		char *text = malloc(32);

		snprintf(text, 32, "{\"n\": %llu}", (unsigned long long)feed.newest + 1);
		feed_push(&feed, (feed.newest + 1) * 1000, text);
	}
}

/* All that is there to be read without waiting, up to so many pieces. */
static void read_some(struct answer_stream *stream, char *to, size_t room, u32 pieces)
{
	size_t got, at = 0;

	while (pieces-- && (got = stream->read(stream->self, to + at, room - at - 1)))
		at += got;
	to[at] = 0;
}

TEST(ring_is_bounded, "of any number of ticks 3,600 are kept as they are, and few of those before")
{
	struct feed_history history;
	u64 first, last;

	feed_init(&feed);
	push(1000000);
	CHECK(feed.older_count <= FEED_OLDER);
	CHECK(feed_history_read(&feed, 0, FEED_TICKS + FEED_OLDER, &history));
	CHECK_EQ(history.found, FEED_TICKS + feed.older_count);
	CHECK_EQ(history.texts.count, history.found);
	CHECK_EQ(sscanf(history.texts.data[0], "{\"n\": %llu}", (unsigned long long *)&first), 1);
	CHECK_EQ(sscanf(history.texts.data[history.texts.count - 1], "{\"n\": %llu}",
			(unsigned long long *)&last),
		 1);
	CHECK_EQ(last, 1000000);
	CHECK(first <= 2000); /* the beginning is not forgotten */
	feed_history_release(&history);
	CHECK(feed_history_read(&feed, 999000 * 1000, 100, &history));
	CHECK_EQ(history.found, 1001);
	CHECK(history.texts.count <= 100 && history.texts.count >= 50);
	CHECK_STR(history.texts.data[history.texts.count - 1], "{\"n\": 1000000}");
	feed_history_release(&history);
	feed_release(&feed);
}

TEST(history_of_nothing, "before the first tick there is no history, and a viewer waits for it")
{
	struct feed_history history;
	struct request request = {0};
	struct answer_stream stream;
	char text[4096];

	feed_init(&feed);
	CHECK(feed_history_read(&feed, 0, 10, &history));
	CHECK_EQ(history.texts.count, 0);
	feed_history_release(&history);
	CHECK(feed_stream_open(&feed, &request, &stream));
	push(1);
	read_some(&stream, text, sizeof text, 2);
	CHECK(strstr(text, "event: tick\nid: 1\ndata: {\"n\": 1}\n\n"));
	stream.free(stream.self);
	CHECK_EQ(feed.streams, 0);
	feed_release(&feed);
}

TEST(viewers, "a viewer gets what he has not, a slow one the newest and how many he missed")
{
	static const struct {
		const char *last;  /* Last-Event-ID */
		u64 before, after; /* ticks until he comes, and until he reads */
		const char *first; /* what he reads then */
		u32 pieces;
	} rows[] = {
		{NULL, 5, 0, "event: tick\nid: 5\n", 2},
		{NULL, 5, 3, "event: tick\nid: 5\n", 2},
		{"3", 5, 0, "event: tick\nid: 4\n", 2},
		{"3", 100, 0, "event: tick\nid: 4\n", 2},
		{"0", 100, 0, "event: tick\nid: 1\n", 2},
		{"100", 100, 1, "event: tick\nid: 101\n", 2},
		{"101", 100, 0, "event: tick\nid: 100\n", 2},
		{"-1", 100, 0, "event: tick\nid: 100\n", 2},
		{"1x", 100, 0, "event: tick\nid: 100\n", 2},
		{"1", 4000, 0, "event: gap\ndata: {\"missed\":399}\n\nevent: tick\nid: 401\n", 2},
		{NULL, 5, 8, "event: gap\ndata: {\"missed\":8}\n\nevent: tick\nid: 13\n", 2},
		{NULL, 5, 5000, "event: gap\ndata: {\"missed\":5000}\n\nevent: tick\nid: 5005\n",
		 2},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct request request = {.last_event = rows[i].last};
		struct answer_stream stream;
		char text[8192];

		feed_init(&feed);
		push(rows[i].before);
		CHECK(feed_stream_open(&feed, &request, &stream));
		push(rows[i].after);
		read_some(&stream, text, sizeof text, rows[i].pieces);
		test_check(strstr(text, rows[i].first) == text + strlen("retry: 1000\n\n"),
			   __FILE__, __LINE__, "row %u: '%s'", i, text);
		stream.free(stream.self);
		feed_release(&feed);
	}
}

TEST(ends, "after the last event a stream ends, and one that comes later gets only that")
{
	struct request request = {0}, knows = {.last_event = "2"};
	struct answer_stream stream;
	char text[4096];

	feed_init(&feed);
	push(2);
	feed_end(&feed, strdup("{\"exit\": 0}"));
	CHECK(feed_stream_open(&feed, &request, &stream));
	read_some(&stream, text, sizeof text, 10);
	CHECK_STR(text, "retry: 1000\n\nevent: tick\nid: 2\ndata: {\"n\": 2}\n\nevent: end\ndata: "
			"{\"exit\": 0}\n\n");
	stream.free(stream.self);
	CHECK(feed_stream_open(&feed, &knows, &stream));
	read_some(&stream, text, sizeof text, 10);
	CHECK_STR(text, "retry: 1000\n\nevent: end\ndata: {\"exit\": 0}\n\n");
	stream.free(stream.self);
	feed_close(&feed);
	CHECK(!feed_stream_open(&feed, &request, &stream));
	feed_release(&feed);
}

TEST(crowd, "more viewers than there is room for are turned away")
{
	struct answer_stream streams[FEED_STREAMS + 1];
	struct request request = {0};
	char text[64];

	feed_init(&feed);
	for (u32 i = 0; i < FEED_STREAMS; i++)
		CHECK(feed_stream_open(&feed, &request, &streams[i]));
	CHECK(!feed_stream_open(&feed, &request, &streams[FEED_STREAMS]));
	streams[0].free(streams[0].self);
	CHECK(feed_stream_open(&feed, &request, &streams[0]));
	read_some(&streams[1], text, 8, 1); /* a piece at a time */
	CHECK_STR(text, "retry: ");
	for (u32 i = 0; i < FEED_STREAMS; i++)
		streams[i].free(streams[i].self);
	feed_release(&feed);
}
