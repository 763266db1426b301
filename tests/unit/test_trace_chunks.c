/* SPDX-License-Identifier: MIT
 * The table of live chunks against plain arrays, while pages fill, are packed and go. */
#include "host/base/map.h"
#include "lib/test.h"
#include "host/trace/chunks.h"

enum { CHUNKS = 10 * CHUNK_PAGE + 100 };

/* Takes the chunks that `dies` names, in an order that jumps about, and checks each. */
static void take_all(struct chunks *chunks, bool (*dies)(u64), bool *live)
{
	for (u64 i = 0, chunk = 1; i < CHUNKS; i++, chunk = (chunk + 7919) % CHUNKS) {
		u64 address = 0, size = 0;
		bool taken;

		if (!dies(chunk))
			continue;
		taken = chunks_take(chunks, chunk, &address, &size);
		if (taken != live[chunk] || (taken && (address != hash_u64(chunk) || size != chunk * 3)))
			FAIL("chunk %llu", (unsigned long long)chunk);
		live[chunk] = false;
	}
}

static bool most(u64 chunk) { return hash_u64(chunk) % 64; }
static bool half_of_rest(u64 chunk) { return hash_u64(chunk) % 128 == 0 || chunk < 2 * CHUNK_PAGE; }
static bool rest(u64 chunk) { return chunk || true; }

TEST(packed, "a chunk that outlives its neighbours keeps its address and size")
{
	static bool live[CHUNKS];
	struct chunks chunks = {0};
	u64 pages = 0;

	for (u64 i = 0; i < CHUNKS; i++) {
		CHECK(chunks_add(&chunks, hash_u64(i), i * 3));
		live[i] = true;
	}
	take_all(&chunks, most, live);
	for (u64 i = 0; i < chunks.pages_count; i++)
		pages += chunks.pages[i] && chunks.pages[i]->packed;
	CHECK_EQ(pages, 10); /* the last one is still being filled */
	take_all(&chunks, half_of_rest, live);
	CHECK(!chunks.pages[0] && !chunks.pages[1]);
	CHECK(!chunks_take(&chunks, 5, &pages, &pages));
	take_all(&chunks, rest, live);
	for (u64 i = 0; i < 10; i++)
		CHECK(!chunks.pages[i]);
	CHECK(chunks_add(&chunks, 11, 22));
	chunks_release(&chunks);
}

TEST(packed_when_full, "a page whose chunks died while it was filled is packed when the next one begins")
{
	struct chunks chunks = {0};
	u64 address = 0, size = 0;

	for (u64 i = 0; i <= CHUNK_PAGE; i++) {
		CHECK(chunks_add(&chunks, i + 1, i));
		if (i % 100 && i < CHUNK_PAGE)
			CHECK(chunks_take(&chunks, i, &address, &size));
	}
	CHECK(chunks.pages[0]->packed);
	CHECK(chunks_take(&chunks, 300, &address, &size));
	CHECK_EQ(address, 301);
	CHECK(!chunks_take(&chunks, 301, &address, &size));
	chunks_release(&chunks);
}
