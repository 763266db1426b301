/* SPDX-License-Identifier: MIT
 * What tests of analyses share: one module whose functions have names, and the way into results. */
#ifndef UNIT_TEST_ANALYSIS_H
#define UNIT_TEST_ANALYSIS_H

#include "study/analysis/places/stacks.h"
#include "unit/test_model.h"

enum { PROGRAM_BASE = 0x100000, LIBRARY_BASE = 0x200000 };

/* A block at a place; its number. */
static inline u64 tell_block(struct feed *feed, u32 context, u64 address, u64 size)
{
	tell_event(feed, (struct event){.kind = HW_MALLOC,
					.context = context,
					.size = size,
					.chunk = feed->chunks,
					.address = address});
	return feed->chunks++;
}

static inline void tell_block_end(struct feed *feed, u64 chunk, u64 address, u64 size)
{
	tell_event(feed, (struct event){.kind = HW_FREE,
					.size = size,
					.chunk = chunk,
					.address = address});
}

/* Function number i of the program is called from address base + 16 * i; see named_table. */
static inline u64 pc_of(u64 base, u32 function) { return base + 16 * function + 1; }

/* Contexts 1 … count: function i of the program, called by nobody. */
static inline void tell_functions(struct feed *feed, u32 count)
{
	tell_module(feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_module(feed, 1, LIBRARY_BASE, 0, "/usr/lib/libhelp.so.1");
	for (u32 i = 1; i <= count; i++)
		tell_context(feed, i, 0, pc_of(PROGRAM_BASE, i));
}

/* A table with one name for each function i + 1 of the program; frames and entries are the
 * caller's, of `count` each. */
static inline struct symbol_table named_table(const char *const *names, u32 count,
					      struct symbol_frame *frames,
					      struct symbol_entry *entries)
{
	for (u32 i = 0; i < count; i++) {
		frames[i] = (struct symbol_frame){.function = names[i], .file = "src/prog.c"};
		entries[i] = (struct symbol_entry){.module = 0,
						   .address = 16 * (i + 1),
						   .frames = &frames[i],
						   .frame_count = 1};
	}
	return (struct symbol_table){.entries = entries, .count = count};
}

static inline void tell_clock(struct feed *feed, u64 ticks, u64 ns)
{
	struct stream_clock pair = {.ticks = ticks, .ns = ns};

	told(feed, feed->sink.clock(feed->sink.self, &pair, &feed->err));
}

static inline void tell_scan(struct feed *feed, u32 state, const char *reason,
			     const struct stream_class *classes, u64 count)
{
	struct stream_scan scan = {.state = state,
				   .reason = reason,
				   .roots_bytes = 4096,
				   .chunks = count,
				   .scan_ns = 77};

	told(feed, feed->sink.scan(feed->sink.self, &scan, classes, count, &feed->err));
}

/* A look just after the last event. */
static inline void tell_memory(struct feed *feed, const struct stream_resident *rows, u64 count)
{
	struct stream_memory memory = {.ticks = feed->ticks + 1,
				       .moment = MEMORY_END,
				       .rows = rows,
				       .count = count};

	for (u64 i = 0; i < count; i++)
		memory.rss_bytes += rows[i].resident_bytes;
	told(feed, feed->sink.memory(feed->sink.self, &memory, &feed->err));
}

/* The same of memory in one piece, with blocks in caches of two threads. */
static inline void tell_caches(struct feed *feed, const struct stream_resident *row, const struct stream_cached *cached, u64 count)
{
	struct stream_memory memory = {.ticks = feed->ticks + 1,
				       .moment = MEMORY_END,
				       .rss_bytes = row->resident_bytes,
				       .rows = row,
				       .count = 1,
				       .cached = cached,
				       .cached_count = count,
				       .caches_read = 2};

	told(feed, feed->sink.memory(feed->sink.self, &memory, &feed->err));
}

/* The value of a named column in a row of a table. */
static inline const struct value *cell(const struct result *table, u64 row, const char *name)
{
	for (u64 i = 0; i < table->columns.count; i++)
		if (strcmp(table->columns.data[i].name, name) == 0 && row < result_rows(table))
			return result_cell(table, row, i);
	FAIL("no row %u with %s", (unsigned)row, name);
}

static inline u64 number(const struct result *record, const char *name)
{
	const struct value *value = result_field(record, name);

	if (!value || !value->known)
		FAIL("no field %s", name);
	return value->number;
}

#endif
