/* SPDX-License-Identifier: MIT
 * The ranked list: what is on it, in which order, in which words. */
#include <stdio.h>

#include "study/analysis/findings/findings.h"
#include "host/base/strbuf.h"
#include "show/render/render.h"
#include "unit/test_access.h"

enum { RUN = 100000000 }; /* 100 ms */

static const char *const names[] = {"alpha", "beta", "gamma", "delta"};

struct found {
	struct feed feed;
	struct symbol_frame frames[4];
	struct symbol_entry entries[4];
	struct symbol_table symbols;
	struct stack_source source;
	struct findings findings;
	struct result *texts;
	u64 run_ns;
};

static void begin(struct found *self)
{
	*self = (struct found){.feed = feed_new(), .texts = result_new(RESULT_RECORD, "", ""), .run_ns = RUN};
	tell_functions(&self->feed, 4);
	self->symbols = named_table(names, 4, self->frames, self->entries);
	for (u32 i = 0; i < 4; i++)
		self->frames[i].line = 10 * (i + 1);
}

static void finish_as(struct found *self, bool all)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE,
				       .all = all};

	end_at(&self->feed, self->run_ns);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
	told(&self->feed,
	     findings_make(&self->findings, &self->source, NULL, &query, &self->feed.err));
}

static void finish(struct found *self) { finish_as(self, true); }

static void release(struct found *self)
{
	findings_release(&self->findings);
	result_free(self->texts);
	model_free(self->feed.model);
}

static const char *text(struct found *self, u64 row)
{
	if (row >= self->findings.rows.count)
		FAIL("no finding %u", (unsigned)row);
	return finding_text(&self->findings.rows.data[row], self->feed.model, self->texts);
}

static const char *where(struct found *self, u64 row)
{
	return finding_where(&self->findings.rows.data[row], &self->source, self->texts);
}

/* A chunk that lives for the whole run but for its last 10 ns. */
static void lives(struct found *self, u32 context, u64 size, u64 reads, u64 writes, u64 bytes)
{
	u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, context, size);

	access_at(&self->feed, chunk, 1, RUN - 11, reads, writes, bytes, 0);
	free_at(&self->feed, RUN - 10, chunk, size);
}

/* ---- sentences ---- */

static void one_of_512(struct found *self)
{
	for (u32 i = 0; i < 20; i++)
		lives(self, 1, 512, 1, 1, 1);
}
/* Each accesses byte 0, and one of bytes 16 to 35. */
static void named_bytes(struct found *self)
{
	for (u32 i = 0; i < 20; i++) {
		u64 map[HW_MAP_WORDS] = {1 | 1ull << (16 + i)};
		u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, 1, 512);
		struct stream_access row = {.chunk = chunk,
					    .first_ticks = START + 1,
					    .last_ticks = START + RUN - 11,
					    .reads = 1,
					    .writes = 1,
					    .high = 17 + i,
					    .covered_bytes = 2,
					    .map = map};

		told(&self->feed, self->feed.sink.accesses(self->feed.sink.self, &row, 1,
							   &self->feed.err));
		free_at(&self->feed, RUN - 10, chunk, 512);
	}
}
static void of_all_sizes(struct found *self)
{
	lives(self, 1, 400, 1, 1, 4), lives(self, 1, 624, 1, 1, 8);
}
static void unused(struct found *self)
{
	lives(self, 1, 100, 0, 0, 0), lives(self, 1, 50, 1, 1, 50);
}
static void written(struct found *self) { lives(self, 1, 1024, 0, 5, 1024); }
static void was_read(struct found *self) { lives(self, 1, 8, 5, 0, 8), lives(self, 1, 8, 5, 0, 8); }
static void early(struct found *self)
{
	u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, 1, 8);

	access_at(&self->feed, chunk, 60000000, 99000000, 1, 1, 8, 0);
	free_at(&self->feed, 99000000, chunk, 8);
}
static void late(struct found *self)
{
	u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, 1, 8);

	access_at(&self->feed, chunk, 0, 9000000, 1, 1, 8, 0);
	free_at(&self->feed, 99000000, chunk, 8);
}
static void turns(struct found *self, u64 life, bool other)
{
	for (u64 i = 0; i < 1000; i++) {
		u64 chunk = alloc_at(&self->feed, 10000 * i, HW_MALLOC, 1, 64), second = 0;

		if (other)
			second = alloc_at(&self->feed, 10000 * i + 1, HW_MALLOC, 1, 64);
		free_at(&self->feed, 10000 * i + life, chunk, 64);
		if (other)
			free_at(&self->feed, 10000 * i + 1 + life, second, 64);
	}
}
static void churn(struct found *self) { turns(self, 4000, true); }
static void temporary(struct found *self) { turns(self, 4000, false); }
static void growing(struct found *self)
{
	u64 before = 0;

	for (u32 i = 0; i <= 11; i++) {
		u64 chunk = alloc_at(&self->feed, 1000 * i, HW_MALLOC, 1, 16 << i);

		if (i > 0)
			free_at(&self->feed, 1000 * i + 10, before, 16 << (i - 1));
		before = chunk;
	}
	free_at(&self->feed, RUN - 10, before, 16 << 11);
}
static void zero(struct found *self)
{
	for (u32 i = 0; i < 5; i++)
		free_at(&self->feed, RUN - 10, alloc_at(&self->feed, i, HW_MALLOC, 1, 0), 0);
}
static void kept(struct found *self)
{
	alloc_at(&self->feed, 0, HW_MALLOC, 1, 512);
	alloc_at(&self->feed, 0, HW_MALLOC, 1, 512);
}
static void kept_once(struct found *self) { alloc_at(&self->feed, 0, HW_MALLOC, 1, 512); }
static void scanned(struct found *self, u8 chunk_class)
{
	struct stream_class rows[2] = {{0, chunk_class}, {1, chunk_class}};
	struct stream_scan scan = {.state = SCAN_DONE, .reason = "", .chunks = 2};

	kept(self);
	told(&self->feed,
	     self->feed.sink.scan(self->feed.sink.self, &scan, rows, 2, &self->feed.err));
}
static void lost(struct found *self) { scanned(self, CLASS_LOST); }
static void reachable(struct found *self) { scanned(self, CLASS_REACHABLE); }
static void fine(struct found *self) { lives(self, 1, 64, 9, 9, 64); }
static void freed_twice(struct found *self)
{
	u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, 1, 8);

	free_at(&self->feed, 100, chunk, 8);
	tell_event(&self->feed, (struct event){.ticks = START + 200,
					       .kind = HW_FREE,
					       .chunk = NO_CHUNK,
					       .context = 2,
					       .address = 0x100000});
}

/* Somebody frees past the recorder. */
static void implied(struct found *self)
{
	u64 chunk = alloc_at(&self->feed, 0, HW_MALLOC, 3, 8);

	tell_event(&self->feed, (struct event){.ticks = START + 50, .kind = HW_FREE, .flags = EVENT_IMPLIED, .chunk = chunk, .size = 8});
}

static void freed_twice_perhaps(struct found *self)
{
	freed_twice(self);
	implied(self);
}

static const struct {
	const char *name;
	void (*tell)(struct found *self);
	const char *kind, *text; /* NULL = nothing is found */
	enum confidence confidence;
} rows[] = {
	{"1 of 512", one_of_512, "coverage",
	 "Only 1 of 512 bytes is ever used, in 20 of 20 chunks: allocate only what is needed.",
	 SURE_MEASURED},
	{"2 of 512, which are named", named_bytes, "coverage",
	 "Only 2 of 512 bytes are ever used, in 20 of 20 chunks; bytes 1-15,36-511 are used in "
	 "none of 20: allocate only what is needed.",
	 SURE_MEASURED},
	{"sizes differ", of_all_sizes, "coverage",
	 "Only 12 B of 1.0 KiB are ever used, in 2 of 2 chunks: allocate only what is needed.",
	 SURE_MEASURED},
	{"unused", unused, "unused",
	 "1 of 2 chunks (100 B) was never accessed: allocate only when the memory is needed.",
	 SURE_MEASURED},
	{"write-only", written, "write_only",
	 "The only chunk (1.0 KiB) was written but never read: do not fill memory that nothing reads.",
	 SURE_MEASURED},
	{"read-only", was_read, "read_only",
	 "All 2 chunks (16 B) were read but never written: share one constant instead.",
	 SURE_MEASURED},
	{"early", early, "early",
	 "Allocated on average 60.0 ms before the first use, in 1 of 1 chunk: allocate just before the first use.",
	 SURE_MEASURED},
	{"late", late, "late",
	 "Held on average 90.0 ms after the last use, in 1 of 1 chunk: free right after the last use.",
	 SURE_MEASURED},
	{"churn", churn, "churn",
	 "Allocated and freed 2,000 times, on average after 4.0 us: reuse one buffer.",
	 SURE_MEASURED},
	{"temporary", temporary, "churn",
	 "Allocated and freed 1,000 times, on average after 4.0 us, before the next allocation: "
	 "use the "
	 "stack, or reuse one buffer.",
	 SURE_MEASURED},
	{"growing", growing, "growing",
	 "Grew 11 times from 16 B to 32.0 KiB: reserve the final size first.", SURE_INFERRED},
	{"no bytes", zero, "zero_size", "5 allocations of 0 bytes: skip the call when the size is 0.",
	 SURE_MEASURED},
	{"kept", kept, "kept",
	 "All 2 chunks (1.0 KiB) were never freed: free the memory, unless it must live as long as the program.",
	 SURE_INFERRED},
	{"lost", lost, "leak",
	 "All 2 chunks (1.0 KiB) were never freed, and nothing points to them any more: free the memory "
	 "before the last pointer to it is gone.",
	 SURE_MEASURED},
	{"reachable", reachable, "kept",
	 "All 2 chunks (1.0 KiB) were never freed, though pointers to them remain: free the memory when it is no longer needed.",
	 SURE_INFERRED},
	{"one kept chunk", kept_once, NULL, NULL, 0},
	{"nothing wrong", fine, NULL, NULL, 0},
	{"double free", freed_twice, "misuse",
	 "Frees a block that was freed before: give the block one owner, and clear the pointer after free.",
	 SURE_MEASURED},
	{"double free, or a gap", freed_twice_perhaps, "misuse",
	 "Frees a block that was freed before, unless an unrecorded call of the allocator explains it: give the block "
	 "one owner, and clear the pointer after free.",
	 SURE_INFERRED},
};

TEST(sentences, "each kind of finding says what was seen, with its numbers, and the usual repair")
{
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct found found;
		bool ok;

		begin(&found);
		rows[i].tell(&found);
		finish(&found);
		ok = CHECK_EQ(found.findings.rows.count, rows[i].kind != NULL);
		if (found.findings.rows.count && rows[i].kind) {
			const struct finding *first = &found.findings.rows.data[0];

			ok = CHECK_STR(finding_kind_name(first->kind), rows[i].kind) && ok;
			ok = CHECK_STR(text(&found, 0), rows[i].text) && ok;
			ok = CHECK_EQ(first->confidence, rows[i].confidence) && ok;
		}
		if (!ok)
			fprintf(stderr, "# %s\n", rows[i].name);
		release(&found);
	}
}

/* ---- the list ---- */

TEST(order, "errors come first, then what saves most; what would save little is left out and counted")
{
	struct found found;

	begin(&found);
	lives(&found, 1, 100000, 0, 1, 100000); /* the costliest, never read */
	lives(&found, 2, 30000, 0, 1, 30000);
	lives(&found, 3, 500, 0, 1, 500); /* 0.4 % */
	freed_twice(&found);
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 3);
	CHECK_EQ(found.findings.rows.data[0].kind, FINDING_MISUSE);
	CHECK_STR(where(&found, 1), "alpha (prog.c:10)");
	CHECK_STR(where(&found, 2), "beta (prog.c:20)");
	CHECK_EQ(found.findings.below, 1);
	CHECK(found.findings.rows.data[1].saving.share > 0.99); /* one after the other: it alone is the peak */
	CHECK_EQ(found.findings.rows.data[1].level, LEVEL_COSTLY);
	CHECK_EQ(found.findings.rows.data[2].level, LEVEL_MINOR); /* a large share of little */
	release(&found);
}

enum { MS = 1000000 };

/* The chunk, to be freed later. */
static u64 alloc_ms(struct found *self, u32 context, u64 ms, u64 size) { return alloc_at(&self->feed, ms * MS, HW_MALLOC, context, size); }
static void free_ms(struct found *self, u64 ms, u64 chunk, u64 size) { free_at(&self->feed, ms * MS, chunk, size); }

static const struct finding *found_at(struct found *self, u64 row, const char *kind, u32 level, const char *says)
{
	const struct finding *finding = &self->findings.rows.data[row];

	if (row >= self->findings.rows.count)
		FAIL("no finding %u", (unsigned)row);
	CHECK_STR(finding_kind_name(finding->kind), kind);
	CHECK_EQ(finding->level, level);
	CHECK_STR(text(self, row), says);
	return finding;
}

TEST(peak, "what holds most of the peak is told, as a burst if it is there only briefly")
{
	static const struct {
		u64 to, size;
		const char *kind, *text; /* NULL = nothing is found */
		u32 level;
	} cases[] = {
		{98, 9 << 20, "peak", "Holds 9.0 MiB at the peak: hold less at once, or store it more compactly.", LEVEL_LOOK},
		{98, 3 << 20, "peak", "Holds 3.0 MiB at the peak: hold less at once, or store it more compactly.", LEVEL_LOOK},
		{98, 1 << 20, NULL, NULL, 0},
		{45, 9 << 20, "burst",
		 "Holds 9.0 MiB at the peak, at least half of it for only 4.2 % of the run: work in smaller pieces.", LEVEL_COSTLY},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct found found;
		u64 chunks[3];

		begin(&found);
		chunks[0] = alloc_ms(&found, 2, 0, 1 << 20);
		chunks[1] = alloc_ms(&found, 3, 0, 1 << 20);
		chunks[2] = alloc_ms(&found, 1, 40, cases[i].size);
		free_ms(&found, cases[i].to, chunks[2], cases[i].size);
		free_ms(&found, 99, chunks[0], 1 << 20);
		free_ms(&found, 99, chunks[1], 1 << 20);
		finish_as(&found, false);
		CHECK_EQ(found.findings.rows.count, cases[i].kind != NULL);
		if (cases[i].kind)
			found_at(&found, 0, cases[i].kind, cases[i].level, cases[i].text);
		release(&found);
	}
}

TEST(alike, "where no place holds most of the peak, blocks of one size may")
{
	struct found found;

	begin(&found);
	for (u32 i = 0; i < 3000; i++) {
		alloc_ms(&found, 1 + i % 3, 0, 1024);
		if (i % 3 == 0)
			alloc_ms(&found, 4, 0, 500 + i);
	}
	finish_as(&found, false);
	found_at(&found, 0, "peak", LEVEL_LOOK,
		 "Chunks of 1,024 bytes, from 3 stacks, hold 2.9 MiB at the peak: hold less at once, or store it more compactly.");
	release(&found);
}

TEST(arena, "where no caller of an arena holds most of the peak, the arena is told")
{
	struct found found;

	begin(&found);
	for (u32 i = 0; i < 3; i++)
		tell_context(&found.feed, 11 + i, 1 + i, pc_of(PROGRAM_BASE, 4)); /* delta, called by each other one */
	for (u32 i = 0; i < 300; i++) {
		alloc_ms(&found, 11 + i % 3, 0, i % 2 ? 4096 : 8192);
		alloc_ms(&found, 1 + i % 3, 0, 500 + i);
	}
	finish_as(&found, false);
	found_at(&found, 0, "peak", LEVEL_LOOK,
		 "An arena filled by 3 stacks holds 1.8 MiB at the peak, in chunks of 4.0 KiB to 8.0 KiB: put less into it, or free it sooner; "
		 "--no-fold shows who fills it.");
	CHECK_STR(where(&found, 0), "delta (prog.c:40)");
	release(&found);
}

TEST(entry, "where nothing else holds most of the peak, the program's call of a library may")
{
	struct found found;

	begin(&found);
	/* beta calls the library's function 9, and that its functions 5 to 8 */
	tell_context(&found.feed, 10, 2, pc_of(LIBRARY_BASE, 9));
	for (u32 i = 0; i < 4; i++)
		tell_context(&found.feed, 11 + i, 10, pc_of(LIBRARY_BASE, 5 + i));
	for (u32 i = 0; i < 3000; i++)
		alloc_ms(&found, 11 + i % 4, 0, 500 + i);
	alloc_ms(&found, 1, 0, 100000);
	finish_as(&found, false);
	found_at(&found, 0, "peak", LEVEL_LOOK,
		 "What this call makes the library allocate, from 4 stacks, holds 5.7 MiB at the peak: hold less at once, or store it more "
		 "compactly.");
	CHECK_STR(where(&found, 0), "libhelp.so.1+0x90, called by beta (prog.c:20)");
	release(&found);
}

TEST(resident, "what stays resident after it was freed is told at the place that freed it, with what would give it back")
{
	enum { COUNT = 4096, SIZE = 4096 };
	static const struct {
		u32 stays; /* every so many chunks stay */
		u64 ms;    /* when the others go, of 1,000 */
		const char *kind; /* NULL = it is the program's end, or under Valgrind, and no finding */
		const char *repair;
		u32 access;
	} cases[] = {
		{2, 2, "left_behind", "allocate long-lived memory apart from short-lived memory", ACCESS_NONE},
		{64, 2, "not_given_back", "call malloc_trim() afterwards, or free in reverse order of allocation", ACCESS_NONE},
		{64, 600, "not_given_back", "call malloc_trim() afterwards, or free in reverse order of allocation", ACCESS_NONE},
		{64, 750, NULL, NULL, ACCESS_NONE},
		{64, 2, NULL, NULL, ACCESS_VALGRIND},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct finding *row = NULL;
		struct found found;
		static u64 chunks[COUNT];

		begin(&found);
		for (u32 k = 0; k < COUNT; k++)
			chunks[k] = alloc_ms(&found, 1, 1, k % cases[i].stays ? SIZE : 16);
		for (u32 k = 0; k < COUNT; k++)
			if (k % cases[i].stays)
				free_ms(&found, cases[i].ms, chunks[k], SIZE);
		found.run_ns = 1000ull * MS;
		for (u64 ms = 1; ms < 1000; ms += 10)
			told(&found.feed, found.feed.sink.usage(found.feed.sink.self,
								&(struct stream_usage){START + ms * MS, 12 << 20, 40 << 20}, &found.feed.err));
		found.feed.model->image.access = cases[i].access;
		finish_as(&found, false);
		for (u64 k = 0; k < found.findings.rows.count; k++)
			if (finding_stays(&found.findings.rows.data[k]))
				row = &found.findings.rows.data[k];
		CHECK_EQ(row != NULL, cases[i].kind != NULL);
		if (row && cases[i].kind) {
			CHECK_STR(finding_kind_name(row->kind), cases[i].kind);
			CHECK_STR(where(&found, (u64)(row - found.findings.rows.data)), "alpha (prog.c:10)");
			CHECK_STR(finding_repair(row), cases[i].repair);
		}
		release(&found);
	}
}

TEST(resident_late, "what the allocator kept only after all was freed, at the end, is not said to have stayed")
{
	enum { MIB = 1 << 20, COUNT = 6 };
	static const struct stream_resident looked[] = {
		{1ull << 40, 6 * MIB, 6 * MIB, MEMORY_BREAK, 0},
		{1ull << 41, 20 * MIB, 20 * MIB, MEMORY_MODULE, 0},
	};
	struct found found;
	u64 chunks[COUNT];

	begin(&found);
	found.run_ns = 1000ull * MS;
	free_ms(&found, 1, alloc_ms(&found, 2, 0, MIB), MIB);
	for (u64 ms = 1; ms < 1000; ms += 10) { /* code, and what is live: a block more in each sixth of the run */
		u64 rss = (20 + ms / 160 + 1) * MIB - (ms == 501 ? 4096 : 0);

		if (ms % 160 == 1 && ms / 160 < COUNT)
			chunks[ms / 160] = alloc_ms(&found, 1, ms, MIB);
		told(&found.feed, found.feed.sink.usage(found.feed.sink.self, &(struct stream_usage){START + ms * MS, rss, 40 * MIB},
							&found.feed.err));
	}
	for (u32 i = 0; i < COUNT; i++)
		free_ms(&found, 995, chunks[i], MIB);
	told(&found.feed, found.feed.sink.memory(found.feed.sink.self,
						 &(struct stream_memory){.ticks = START + 998ull * MS, .rss_bytes = 26 * MIB, .moment = MEMORY_END, .rows = looked, .count = 2},
						 &found.feed.err));
	finish_as(&found, true);
	for (u64 i = 0; i < found.findings.rows.count; i++)
		CHECK(!finding_stays(&found.findings.rows.data[i]));
	release(&found);
}

/* A block of each page of [1 << 40, + pages) stays, and nothing else of these pages; one at 1 << 41 is there from a time on. */
static void comb_ms(struct found *self, u32 pages, u64 other_bytes, u64 other_ms)
{
	for (u32 i = 0; i < pages; i++)
		tell_event(&self->feed, (struct event){.ticks = START + 1,
						       .kind = HW_MALLOC,
						       .context = 1,
						       .size = 64,
						       .chunk = self->feed.chunks++,
						       .address = (1ull << 40) + 4096 * i + 16});
	free_ms(self, 2, alloc_ms(self, 2, 1, 12 << 20), 12 << 20);
	if (other_ms)
		tell_event(&self->feed, (struct event){.ticks = START + other_ms * MS,
						       .kind = HW_MALLOC,
						       .context = 3,
						       .size = other_bytes,
						       .chunk = self->feed.chunks++,
						       .address = 1ull << 41});
}

TEST(resident_drowned, "what holds free memory is told, however much is live or mapped besides")
{
	enum { MIB = 1 << 20, PAGES = 2048 };
	static const struct {
		u64 other_ms; /* when a live block is there; 0 = it is a mapping without one */
	} cases[] = {{0}, {500}};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		u64 other_ms = cases[i].other_ms;
		struct stream_resident seen[] = {
			{1ull << 40, PAGES * 4096, PAGES * 4096, MEMORY_BREAK, 0},
			{1ull << 41, 20 * MIB, 20 * MIB, MEMORY_ANONYMOUS, 0},
		};
		struct stream_memory look = {.ticks = START + 520 * MS, .rss_bytes = 28 * MIB, .rows = seen, .count = 2};
		const struct finding *row = NULL;
		struct found found;

		begin(&found);
		found.run_ns = 1000ull * MS;
		comb_ms(&found, PAGES, 20 * MIB, other_ms);
		for (u64 ms = 1; ms < 1000; ms += 10)
			told(&found.feed, found.feed.sink.usage(found.feed.sink.self,
								&(struct stream_usage){START + ms * MS, ms < other_ms ? 8 * MIB : 28 * MIB, 40 * MIB},
								&found.feed.err));
		told(&found.feed, found.feed.sink.memory(found.feed.sink.self, &look, &found.feed.err));
		finish_as(&found, false);
		for (u64 k = 0; k < found.findings.rows.count; k++)
			if (finding_stays(&found.findings.rows.data[k]))
				row = &found.findings.rows.data[k];
		CHECK(row != NULL);
		if (row) {
			CHECK_STR(finding_kind_name(row->kind), "pinned");
			CHECK_STR(where(&found, (u64)(row - found.findings.rows.data)), "alpha (prog.c:10)");
		}
		release(&found);
	}
}

TEST(resident_caches, "pages that caches of threads hold are not said to be what malloc_trim gives back")
{
	enum { PAGES = 4096, MIB = 1 << 20 };
	static const struct {
		u32 every; /* so many pages have a block in a cache */
		u64 pages; /* of the finding, less the blocks */
		const char *repair;
	} cases[] = {{4, PAGES - PAGES / 4, "call malloc_trim() afterwards, or free in reverse order of allocation"},
		     {1, PAGES, "keep fewer blocks for each thread: GLIBC_TUNABLES=glibc.malloc.tcache_count=2, or use fewer threads"}};
	static struct stream_cached cached[PAGES];

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		u64 address = 1ull << 40, chunk;
		struct stream_resident seen = {address, PAGES * 4096, PAGES * 4096, MEMORY_BREAK, 0};
		struct stream_memory look = {.ticks = START + 520 * MS, .rss_bytes = 16 * MIB, .rows = &seen, .count = 1, .cached = cached};
		const struct finding *row = NULL;
		struct found found;

		begin(&found);
		found.run_ns = 1000ull * MS;
		chunk = found.feed.chunks++;
		tell_event(&found.feed, (struct event){.ticks = START + 1, .kind = HW_MALLOC, .context = 1, .size = 16 * MIB - 64, .chunk = chunk, .address = address + 32});
		tell_event(&found.feed, (struct event){.ticks = START + 2, .kind = HW_FREE, .context = 1, .size = 16 * MIB - 64, .chunk = chunk, .address = address + 32});
		for (u32 k = 0; k < PAGES; k += cases[i].every)
			cached[look.cached_count++] = (struct stream_cached){address + 4096 * k + 64, 32, 7};
		look.caches_read = 2;
		for (u64 ms = 1; ms < 1000; ms += 10)
			told(&found.feed, found.feed.sink.usage(found.feed.sink.self, &(struct stream_usage){START + ms * MS, 16 * MIB, 40 * MIB},
								&found.feed.err));
		told(&found.feed, found.feed.sink.memory(found.feed.sink.self, &look, &found.feed.err));
		finish_as(&found, false);
		for (u64 k = found.findings.rows.count; k-- > 0;)
			if (finding_stays(&found.findings.rows.data[k]))
				row = &found.findings.rows.data[k];
		CHECK(row != NULL);
		if (row) {
			CHECK_STR(finding_kind_name(row->kind), "not_given_back");
			CHECK_STR(finding_repair(row), cases[i].repair);
			CHECK_EQ(row->bytes, cases[i].pages * 4096);
		}
		release(&found);
	}
}

TEST(resident_huge, "free memory in huge pages is said to be glibc's doing if glibc asked for them")
{
	enum { PAGES = 4096, MIB = 1 << 20 };
	static const struct {
		u64 libc_bytes;
		bool used; /* a block has lain everywhere */
		const char *repair, *text;
	} cases[] = {{16 * MIB, false, "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 undoes it", "glibc's huge pages hold 16.0 MiB of free memory"},
		     {9 * MIB, true, "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 undoes it", "glibc's huge pages hold 16.0 MiB of free memory"},
		     {8 * MIB, true, "turn transparent huge pages off for this program: prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)",
		      "Huge pages kept 16.0 MiB of free memory resident"}};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		u64 address = 1ull << 40, chunk;
		struct stream_resident seen = {address, PAGES * 4096, PAGES * 4096, MEMORY_BREAK, 0};
		struct stream_memory look = {.ticks = START + 520 * MS, .rss_bytes = 16 * MIB, .huge_bytes = 16 * MIB,
					     .libc_huge_bytes = cases[i].libc_bytes, .rows = &seen, .count = 1};
		const struct finding *row = NULL;
		struct found found;
		const char *says;

		begin(&found);
		found.run_ns = 1000ull * MS;
		chunk = found.feed.chunks++;
		tell_event(&found.feed, (struct event){.ticks = START + 1, .kind = HW_MALLOC, .context = 1, .size = 64, .chunk = chunk, .address = address + 16});
		chunk = found.feed.chunks++;
		for (u32 kind = HW_MALLOC; cases[i].used; kind = HW_FREE) {
			tell_event(&found.feed, (struct event){.ticks = START + 2 + (kind == HW_FREE), .kind = kind, .context = 2, .size = 15 * MIB, .chunk = chunk, .address = address + 4096});
			if (kind == HW_FREE)
				break;
		}
		for (u64 ms = 1; ms < 1000; ms += 10)
			told(&found.feed, found.feed.sink.usage(found.feed.sink.self, &(struct stream_usage){START + ms * MS, 16 * MIB, 40 * MIB},
								&found.feed.err));
		told(&found.feed, found.feed.sink.memory(found.feed.sink.self, &look, &found.feed.err));
		finish_as(&found, false);
		for (u64 k = found.findings.rows.count; k-- > 0;)
			if (finding_stays(&found.findings.rows.data[k]))
				row = &found.findings.rows.data[k];
		if (!row)
			FAIL("row %u: no finding", i);
		CHECK_STR(finding_kind_name(row->kind), "not_given_back");
		CHECK_STR(finding_repair(row), cases[i].repair);
		says = text(&found, (u64)(row - found.findings.rows.data));
		if (strncmp(says, cases[i].text, strlen(cases[i].text)) != 0)
			FAIL("row %u: %s", i, says);
		release(&found);
	}
}

TEST(explained, "what says why bytes are there stands for what says that they hold the peak")
{
	struct found found;

	begin(&found);
	for (u32 i = 0; i < 4; i++)
		lives(&found, 1, 1 << 20, 0, 0, 0);
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 1);
	CHECK_STR(finding_kind_name(found.findings.rows.data[0].kind), "unused");
	release(&found);
}

TEST(rising, "in a short run what grew to its end is told; what ends to grow is not")
{
	struct found found;

	begin(&found);
	for (u64 i = 0; i < 99; i++) {
		alloc_ms(&found, 1, i, 20000);
		if (i < 30)
			alloc_ms(&found, 2, i, 50000);
	}
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 2);
	found_at(&found, 0, "growth", LEVEL_LOOK,
		 "Live bytes grew to 1.8 MiB until the end of this short run: limit the size, or free what is no longer needed.");
	found_at(&found, 1, "kept", LEVEL_MINOR,
		 "All 30 chunks (1.4 MiB) were never freed: free the memory, unless it must live as long as the program.");
	release(&found);
}

TEST(rising_possible, "in a short run, too, what grew and has interior pointers only is growth, not a leak")
{
	static struct stream_class classes[99];
	struct found found;

	begin(&found);
	for (u64 i = 0; i < 99; i++)
		classes[i] = (struct stream_class){alloc_ms(&found, 1, i, 20000), CLASS_POSSIBLE};
	told(&found.feed, found.feed.sink.scan(found.feed.sink.self, &(struct stream_scan){.state = SCAN_DONE, .reason = ""}, classes, 99,
					       &found.feed.err));
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 1);
	CHECK_STR(finding_kind_name(found.findings.rows.data[0].kind), "growth");
	release(&found);
}

TEST(possible, "what only chains with an interior pointer lead to may be in use")
{
	struct stream_class classes[2];
	struct found found;

	begin(&found);
	for (u64 i = 0; i < 2; i++)
		classes[i] = (struct stream_class){alloc_ms(&found, 1, 0, 20000), CLASS_POSSIBLE};
	told(&found.feed, found.feed.sink.scan(found.feed.sink.self, &(struct stream_scan){.state = SCAN_DONE, .reason = ""}, classes, 2,
					       &found.feed.err));
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 1);
	found_at(&found, 0, "leak", LEVEL_MINOR,
		 "All 2 chunks (39.1 KiB) were never freed, and only interior pointers lead to them: free the memory, unless its start can still "
		 "be found.");
	release(&found);
}

TEST(indirect, "what only lost chunks lead to counts where they are lost; if that is at several places, where it was allocated")
{
	static const struct {
		u32 second;
		u64 count;
		const char *where, *text;
	} cases[] = {
		{1, 1, "alpha (prog.c:10)",
		 "All 2 chunks (128 B) were never freed, and nothing points to them any more, nor to 1.9 MiB that only they lead to: free the memory "
		 "before the last pointer to it is gone."},
		{2, 3, "gamma (prog.c:30)",
		 "All 20 chunks (1.9 MiB) were never freed, and only lost chunks point to them: free it together with the memory that points to it."},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct stream_class classes[22];
		struct found found;

		begin(&found);
		classes[0] = (struct stream_class){alloc_ms(&found, 1, 0, 64), CLASS_LOST};
		classes[1] = (struct stream_class){alloc_ms(&found, cases[i].second, 0, 64), CLASS_LOST};
		for (u32 k = 2; k < 22; k++)
			classes[k] = (struct stream_class){alloc_ms(&found, 3, 0, 100000), CLASS_INDIRECT};
		told(&found.feed, found.feed.sink.scan(found.feed.sink.self, &(struct stream_scan){.state = SCAN_DONE, .reason = ""}, classes,
						       22, &found.feed.err));
		finish(&found);
		CHECK_EQ(found.findings.rows.count, cases[i].count);
		found_at(&found, 0, "leak", LEVEL_COSTLY, cases[i].text);
		CHECK_STR(where(&found, 0), cases[i].where);
		release(&found);
	}
}

TEST(copies, "what is in memory twice is said with its contents; those of two stacks may be the same")
{
	struct finding one = {.kind = FINDING_TWICE, .points = 1, .chunks = 9, .of_chunks = 12, .bytes = 900, .different = 3};
	struct found found;

	begin(&found);
	CHECK_STR(finding_text(&one, found.feed.model, found.texts),
		  "9 of 12 chunks (900 B) had the same bytes as another chunk at the scan, with 3 contents in all: "
		  "keep one copy of each content, and share it.");
	one.points = 2;
	CHECK_STR(finding_seen(&one, found.feed.model, found.texts),
		  "9 of 12 chunks (900 B) had the same bytes as another chunk at the scan, with at most 3 contents in all");
	release(&found);
}

TEST(trend, "what grows is costly, with a forecast, only in a run that is long enough for one")
{
	static const struct {
		u64 step_ms;
		const char *text;
		u32 level;
	} cases[] = {
		/* what is said of a run does not depend on which side of a second it ends */
		{1, "Live bytes grew to 2.3 MiB until the end of this short run: limit the size, or free what is no longer needed.", LEVEL_LOOK},
		{7, "Live bytes grew to 2.3 MiB until the end of this short run: limit the size, or free what is no longer needed.", LEVEL_LOOK},
		{9, "Live bytes grew to 2.3 MiB until the end of this short run: limit the size, or free what is no longer needed.", LEVEL_LOOK},
		{60, "Live bytes grew to 2.3 MiB until the end of this short run: limit the size, or free what is no longer needed.", LEVEL_LOOK},
		{200, "Live bytes grow until the end, by 97.0 KiB a second (1 GiB in 3 h 00 min): limit the size, or free what is no longer needed.",
		 LEVEL_COSTLY},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct found found;

		begin(&found);
		found.run_ns = 128 * cases[i].step_ms * MS; /* two chunks in each of the 64 steps */
		for (u64 k = 0; k < 128; k++)
			alloc_ms(&found, 1, k * cases[i].step_ms, 20000);
		finish_as(&found, false);
		found_at(&found, 0, "growth", cases[i].level, cases[i].text);
		release(&found);
	}
}

TEST(thanks, "of a level what is lost comes first, then what holds the peak, then waste, then time")
{
	static const char *const kinds[] = {"leak", "write_only", "churn"};
	struct found found;
	u64 chunk;

	begin(&found);
	alloc_ms(&found, 1, 0, 3 << 20);
	chunk = alloc_ms(&found, 2, 0, 3 << 20);
	alloc_ms(&found, 4, 0, 1 << 20);
	access_at(&found.feed, chunk, 1, RUN - 11, 0, 1, 3 << 20, 0);
	for (u64 i = 0; i < 300000; i++)
		free_at(&found.feed, 300 * i + 100, alloc_at(&found.feed, 300 * i, HW_MALLOC, 3, 64), 64);
	free_ms(&found, 95, chunk, 3 << 20);
	told(&found.feed, found.feed.sink.scan(found.feed.sink.self, &(struct stream_scan){.state = SCAN_DONE, .reason = ""},
					       &(struct stream_class){0, CLASS_LOST}, 1, &found.feed.err));
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 3);
	for (u64 i = 0; i < 3 && i < found.findings.rows.count; i++)
		CHECK_STR(finding_kind_name(found.findings.rows.data[i].kind), kinds[i]);
	CHECK_STR(finding_saves(&found.findings.rows.data[0], found.texts), "3.0 MiB, 42.9 % of the peak");
	CHECK_STR(finding_saves(&found.findings.rows.data[2], found.texts), "about 15.0 ms, 15.0 % of CPU time");
	release(&found);
}

TEST(small_peak, "who holds the peak of a small program comes after what its calls cost")
{
	struct found found;

	begin(&found);
	lives(&found, 2, 300000, 1, 1, 300000);
	for (u64 i = 0; i < 60000; i++)
		free_at(&found.feed, 1600 * i + 100, alloc_at(&found.feed, 1600 * i, HW_MALLOC, 1, 64), 64);
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK_STR(finding_kind_name(found.findings.rows.data[0].kind), "churn");
	CHECK_EQ(found.findings.rows.data[1].level, LEVEL_MINOR);
	CHECK_STR(finding_kind_name(found.findings.rows.data[1].kind), "peak");
	release(&found);
}

TEST(untimed_calls, "calls of which too few were timed save no more than all CPU time")
{
	struct found found;

	begin(&found);
	found.run_ns = 1000000;
	for (u64 i = 0; i < 60000; i++)
		free_at(&found.feed, 16 * i + 8, alloc_at(&found.feed, 16 * i, HW_MALLOC, 1, 64), 64);
	finish(&found);
	CHECK(found.findings.untimed);
	CHECK_STR(finding_saves(&found.findings.rows.data[0], found.texts), "about 1.0 ms, 100.0 % of CPU time");
	release(&found);
}

TEST(order_of_doubts, "an error that a gap in the recording would explain comes last")
{
	struct found found;

	begin(&found);
	lives(&found, 1, 100000, 0, 1, 100000);
	freed_twice_perhaps(&found);
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK_STR(where(&found, 0), "alpha (prog.c:10)");
	CHECK_EQ(found.findings.rows.data[1].kind, FINDING_MISUSE);
	release(&found);
}

TEST(merged, "stacks that end in the same two frames of the program are one finding")
{
	struct found found;

	begin(&found);
	tell_context(&found.feed, 5, 1, pc_of(PROGRAM_BASE, 3)); /* gamma, called by alpha */
	tell_context(&found.feed, 6, 2, pc_of(PROGRAM_BASE, 3)); /* gamma, called by beta */
	tell_context(&found.feed, 7, 2, pc_of(PROGRAM_BASE, 1)); /* alpha, called by beta */
	tell_context(&found.feed, 8, 7, pc_of(PROGRAM_BASE, 3)); /* gamma, alpha, beta */
	lives(&found, 5, 100, 0, 1, 100);
	lives(&found, 6, 100, 0, 1, 100);
	lives(&found, 8, 300, 0, 1, 300);
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK_EQ(found.findings.rows.data[0].points, 2);
	CHECK_EQ(found.findings.rows.data[0].bytes, 400);
	CHECK_STR(where(&found, 0), "gamma (prog.c:30), called by alpha (prog.c:10)");
	CHECK_STR(where(&found, 1), "gamma (prog.c:30), called by beta (prog.c:20)");
	CHECK_STR(text(&found, 0), "All 2 chunks (400 B) were written but never read: do not fill memory that nothing reads.");
	release(&found);
}

TEST(kept_each, "stacks that keep one chunk each at the same place are one finding, with the bytes of all")
{
	struct found found;

	begin(&found);
	for (u32 i = 0; i < 3; i++) {
		tell_context(&found.feed, 11 + 3 * i, 0, pc_of(PROGRAM_BASE, 4) + 16 * i);
		tell_context(&found.feed, 12 + 3 * i, 11 + 3 * i, pc_of(PROGRAM_BASE, 2));
		tell_context(&found.feed, 13 + 3 * i, 12 + 3 * i, pc_of(PROGRAM_BASE, 1));
		alloc_at(&found.feed, 0, HW_MALLOC, 13 + 3 * i, 80000);
	}
	alloc_at(&found.feed, 0, HW_MALLOC, 3, 150000); /* the only one of its place */
	alloc_at(&found.feed, 0, HW_MALLOC, 4, 150001);
	finish_as(&found, false);
	CHECK_EQ(found.findings.rows.count, 1);
	CHECK_STR(where(&found, 0), "alpha (prog.c:10), called by beta (prog.c:20)");
	CHECK_STR(text(&found, 0), "All 3 chunks (234 KiB) were never freed: free the memory, unless it must live as long as the program.");
	release(&found);
}

TEST(place, "the place is the program's own code, not the library that allocates for it")
{
	struct found found;

	begin(&found);
	tell_module(&found.feed, 2, 0x300000, 0, "/usr/lib/libc.so.6");
	tell_context(&found.feed, 5, 4, 0x300101);
	lives(&found, 5, 100, 0, 1, 100);
	finish(&found);
	CHECK_STR(where(&found, 0), "delta (prog.c:40)");
	release(&found);
}

TEST(headers,
     "an inlined function of the C++ library's headers is the library's, whatever its name")
{
	struct found found;

	begin(&found);
	found.frames[0] =
		(struct symbol_frame){"allocate", "/usr/bin/../include/c++/12/bits/new_allocator.h",
				      137, true, 0};
	found.frames[1] = (struct symbol_frame){"fill", "/src/include/c++/own.h", 7, true, 0};
	tell_context(&found.feed, 5, 3, pc_of(PROGRAM_BASE, 1)); /* allocate, called by gamma */
	tell_context(&found.feed, 6, 4, pc_of(PROGRAM_BASE, 1)); /* allocate, called by delta */
	lives(&found, 5, 200, 0, 1, 200);
	lives(&found, 6, 100, 0, 1, 100);
	lives(&found, 2, 50, 0, 1, 50);
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 3);
	CHECK_STR(where(&found, 0), "gamma (prog.c:30)");
	CHECK_STR(where(&found, 1), "delta (prog.c:40)");
	CHECK_STR(where(&found, 2), "fill (own.h:7)");
	release(&found);
}

TEST(brief, "memory that is asked for in vain counts by what it takes at the peak, not by how often it is asked for")
{
	struct found found;

	begin(&found);
	for (u64 i = 0; i < 1000; i++) {
		u64 chunk = alloc_at(&found.feed, 10000 * i, HW_MALLOC, 1, 512);

		access_at(&found.feed, chunk, 10000 * i + 1, 10000 * i + 9, 1, 1, 1, 0);
		free_at(&found.feed, 10000 * i + 10, chunk, 512);
	}
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK_EQ(found.findings.rows.data[0].kind, FINDING_COVERAGE);
	CHECK_EQ(found.findings.rows.data[0].saving.unit, SAVING_PEAK_BYTES);
	CHECK_EQ((u64)found.findings.rows.data[0].saving.amount, 511);
	CHECK_EQ(found.findings.rows.data[1].kind, FINDING_CHURN);
	release(&found);
}

TEST(parts, "of the parts of a container the one that wastes most is told by itself")
{
	struct found found;

	begin(&found);
	tell_context(&found.feed, 5, 1, pc_of(PROGRAM_BASE, 3)); /* gamma, called by alpha */
	tell_context(&found.feed, 6, 2, pc_of(PROGRAM_BASE, 1)); /* alpha, called by beta */
	tell_context(&found.feed, 7, 6, pc_of(PROGRAM_BASE, 3)); /* gamma, alpha, beta */
	for (u32 i = 0; i < 3; i++) {
		lives(&found, 5, 64, 1, 1, 8);
		lives(&found, 7, 512, 1, 1, 1);
	}
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 1);
	CHECK_STR(text(&found, 0),
		  "Only 27 B of 1.7 KiB are ever used, in 6 of 6 chunks, 1 of 512 bytes in 3 of "
		  "them: allocate only what is needed.");
	release(&found);
}

static void tell_plain(struct found *self, const char *paths)
{
	told(&self->feed, self->feed.sink.note(self->feed.sink.self, "access_uninstrumented", paths,
					       &self->feed.err));
}

TEST(plain, "where a library is not instrumented, what was not seen is inferred at most")
{
	static const struct {
		const char *paths;
		enum confidence confidence;
	} cases[] = {
		{"/usr/lib/libc.so.6\n/usr/lib/libstdc++.so.6", SURE_MEASURED},
		{"/usr/lib/libc.so.6\n/usr/lib/libz.so.1\n/lib64/ld-linux-x86-64.so.2",
		 SURE_INFERRED},
	};

	for (u32 i = 0; i < 2; i++) {
		struct found found;

		begin(&found);
		tell_plain(&found, cases[i].paths);
		lives(&found, 1, 100, 0, 0, 0);
		finish(&found);
		CHECK_EQ(found.findings.rows.count, 1);
		CHECK_EQ(found.findings.rows.data[0].confidence, cases[i].confidence);
		release(&found);
	}
}

TEST(handed, "what a library may read, or fill, is not called written or read only")
{
	static const struct {
		const char *note, *paths;
		u32 findings;
	} cases[] = {
		{"access_uninstrumented", "/usr/lib/libc.so.6\n/usr/lib/libstdc++.so.6", 2},
		{"access_uninstrumented", "/usr/lib/libc.so.6\n/usr/lib/libz.so.1", 0},
		{"access_unchecked", "/opt/program", 0},
	};

	for (u32 i = 0; i < 3; i++) {
		struct found found;

		begin(&found);
		told(&found.feed,
		     found.feed.sink.note(found.feed.sink.self, cases[i].note, cases[i].paths, &found.feed.err));
		lives(&found, 1, 100, 0, 1, 100);
		lives(&found, 2, 100, 1, 0, 100);
		finish(&found);
		CHECK_EQ(found.findings.rows.count, cases[i].findings);
		release(&found);
	}
}

TEST(unseen, "what a library without instrumentation allocates for itself is not called unused")
{
	static const struct symbol_frame duplicate = {"__strdup", "", 0, false, 0};
	static const struct {
		u32 context;
		const char *where; /* NULL = no finding */
	} cases[] = {
		{2, "beta (prog.c:20)"},  {5, NULL}, {6, NULL}, {7, "gamma (prog.c:30)"},
		{8, "alpha (prog.c:10)"}, {9, NULL},
	};

	for (u32 i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct found found;

		begin(&found);
		found.entries[3] = (struct symbol_entry){.module = 2,
							 .address = 0x20,
							 .frames = &duplicate,
							 .frame_count = 1};
		tell_module(&found.feed, 2, 0x300000, 0, "/usr/lib/libc.so.6");
		tell_module(&found.feed, 3, 0x400000, 0, "/usr/lib/libstdc++.so.6");
		tell_context(&found.feed, 5, 1, pc_of(LIBRARY_BASE, 3)); /* libhelp */
		tell_context(&found.feed, 6, 1, 0x300011);               /* libc for itself */
		tell_context(&found.feed, 7, 3, 0x300021);               /* strdup for gamma */
		tell_context(&found.feed, 8, 1, 0x400011);               /* libstdc++ for alpha */
		tell_context(&found.feed, 9, 6, 0x300021);               /* strdup for libc */
		tell_context(&found.feed, 10, 0, 0x400021);              /* libstdc++ for itself */
		tell_plain(&found, "/usr/lib/libc.so.6\n/usr/lib/libstdc++.so.6\n"
				   "/usr/lib/libhelp.so.1");
		lives(&found, cases[i].context, 100, 0, 0, 0);
		finish(&found);
		if (CHECK_EQ(found.findings.rows.count, cases[i].where != NULL) && cases[i].where)
			CHECK_STR(where(&found, 0), cases[i].where);
		release(&found);
	}
}

TEST(foreign, "what the C library does for itself is no finding, but for errors")
{
	struct found found;

	begin(&found);
	tell_module(&found.feed, 2, 0x300000, 0, "/usr/lib/libc.so.6");
	tell_context(&found.feed, 5, 0, 0x300101);
	lives(&found, 5, 100, 0, 1, 100);
	alloc_at(&found.feed, 10, HW_MALLOC, 5, 8);
	told(&found.feed,
	     found.feed.sink.scan(found.feed.sink.self,
				  &(struct stream_scan){.state = SCAN_DONE, .reason = ""},
				  &(struct stream_class){1, CLASS_LOST}, 1, &found.feed.err));
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 1);
	CHECK_EQ(found.findings.rows.data[0].kind, FINDING_LEAK);
	release(&found);
}

TEST(idle, "what is never read, or leaks, is not called late as well")
{
	struct found found;
	u64 chunk;

	begin(&found);
	chunk = alloc_at(&found.feed, 0, HW_MALLOC, 1, 100);
	access_at(&found.feed, chunk, 1, 2, 0, 1, 100, 0);
	free_at(&found.feed, RUN - 10, chunk, 100);
	chunk = alloc_at(&found.feed, 0, HW_MALLOC, 2, 100);
	access_at(&found.feed, chunk, 1, 2, 1, 1, 100, 0);
	told(&found.feed,
	     found.feed.sink.scan(found.feed.sink.self,
				  &(struct stream_scan){.state = SCAN_DONE, .reason = ""},
				  &(struct stream_class){1, CLASS_LOST}, 1, &found.feed.err));
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK_EQ(found.findings.rows.data[0].kind, FINDING_LEAK);
	CHECK_EQ(found.findings.rows.data[1].kind, FINDING_WRITE_ONLY);
	release(&found);
}

TEST(nameless, "without names and without stacks there is still a place")
{
	struct found found;

	begin(&found);
	lives(&found, 0, 100, 0, 1, 100);
	found.symbols.count = 0;
	lives(&found, 1, 50, 0, 1, 50);
	finish(&found);
	CHECK_STR(where(&found, 0), "unknown place");
	CHECK_STR(where(&found, 1), "prog+0x10");
	release(&found);
}

TEST(ids, "an id stays the same when lines move and numbers change, and no two are equal")
{
	struct found first, second;

	begin(&first);
	begin(&second);
	lives(&first, 1, 100, 0, 1, 100);
	lives(&first, 2, 50, 0, 1, 50);
	for (u32 i = 0; i < 4; i++)
		second.frames[i].line += 7;
	lives(&second, 1, 10, 0, 1, 10);
	lives(&second, 2, 50, 0, 1, 50);
	finish(&first);
	finish(&second);
	CHECK_STR(first.findings.rows.data[0].id, second.findings.rows.data[1].id);
	CHECK_STR(first.findings.rows.data[1].id, second.findings.rows.data[0].id);
	CHECK(strcmp(first.findings.rows.data[0].id, first.findings.rows.data[1].id) != 0);
	CHECK(strncmp(first.findings.rows.data[0].id, "write_only-", 11) == 0);
	release(&first);
	release(&second);
}

TEST(same_function, "two places in one function have ids of their own")
{
	struct found found;

	begin(&found);
	found.frames[1].function = "alpha"; /* another line of it */
	lives(&found, 1, 100, 0, 1, 100);
	lives(&found, 2, 100, 0, 1, 100);
	finish(&found);
	CHECK_EQ(found.findings.rows.count, 2);
	CHECK(strcmp(found.findings.rows.data[0].id, found.findings.rows.data[1].id) != 0);
	release(&found);
}

TEST(uncertain, "accesses that are a lower bound never give more than an inferred finding")
{
	struct found found;
	u64 chunk;

	begin(&found);
	chunk = alloc_at(&found.feed, 0, HW_MALLOC, 1, 100);
	access_at(&found.feed, chunk, 0, 0, 0, 0, 0, ACCESS_LOWER_BOUND);
	finish(&found);
	CHECK_EQ(found.findings.rows.data[0].kind, FINDING_UNUSED);
	CHECK_EQ(found.findings.rows.data[0].confidence, SURE_INFERRED);
	release(&found);
}

TEST(result, "the table has the costs, the report the totals and what is not known")
{
	struct found found;
	struct findings_show show = {.top = 1, .stacks = true};
	struct result *report;
	const struct result *table;
	FILE *out = fopen("/dev/null", "w");
	struct text_style style = {.width = 100};

	begin(&found);
	temporary(&found);
	lives(&found, 2, 100000, 0, 1, 100000);
	finish(&found);
	report = findings_report(&found.findings, &found.source, NULL, &show, &found.feed.err);
	if (!report || !out)
		FAIL("%s", found.feed.err.text);
	CHECK_EQ(number(report, "found"), 2);
	CHECK_EQ(number(report, "allocations"), 1001);
	table = report->parts.data[0];
	CHECK_EQ(result_rows(table), 1);
	CHECK_STR(table->title, "Findings, the first 1 of 2");
	CHECK_STR(cell(table, 0, "function")->text, "beta");
	CHECK_EQ(cell(table, 0, "line")->number, 20);
	CHECK_EQ(cell(table, 0, "mean_bytes")->number, 100000);
	render_text(report, &style, out);
	result_free(report);
	fclose(out);
	release(&found);
}
